/* made_findings.h - cases of findings as tables of sentences: a quiet watch, one change, and what is then said. */
#ifndef TARE_TESTS_MADE_FINDINGS_H
#define TARE_TESTS_MADE_FINDINGS_H

#include <string.h>

#include "build_watch.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_findings.h"

/* 3 % of the run. */
static const struct build_calls even = {
	.calls = 30001, .ns = 10100, .spread_ns = 500, .interval = 300
};

static inline uint32_t add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 360, did);
	b->r.watch.charged_ps = 0; /* the price is a rule of its own */
	return id;
}

/* A watch with nothing to say about: two functions with 3 % of the run each, half a price. */
static inline void begin_quiet(struct build_watch *b)
{
	build_watch_begin(b);
	add(b, "f", &even);
	add(b, "g", &even);
}

struct finding_case {
	const char *name;
	void (*change)(struct build_watch *b);
	const char *ids;		  /* joined by blanks */
	const char *title;		  /* of the last one */
	const char *evidence, *look_next; /* parts of the last one */
};

static inline void plain_blanks(struct text *t)
{
	for (char *c = t->bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	t->len = t->bytes != NULL ? strlen(t->bytes) : 0;
}

static inline void assert_contains(struct text *t, const char *part)
{
	plain_blanks(t);
	if (strstr(text_chars(t), part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text_chars(t));
}

static inline void open_findings(struct build_watch *b, struct findings *f)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, 0, UINT64_MAX, &a, &err), 0);
	assert_int_equal(watch_findings_open(&b->r, &a, f, &err), 0);
}

static inline void check_style(const struct finding *row)
{
	const char *look = text_chars(&row->look_next);

	assert_memory_equal(look, "Look next at ", 13);
	assert_int_equal(look[strlen(look) - 1], '.');
	assert_int_equal(row->evidence.bytes[row->evidence.len - 1], '.');
	assert_true(row->title.bytes[row->title.len - 1] != '.');
	assert_null(strchr(text_chars(&row->title), '!'));
	assert_null(strchr(text_chars(&row->evidence), '!'));
}

/* Each case says what it should, in the way that findings are written. */
static inline void check_findings(const struct finding_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(findings_free) struct findings f = { .count = 0 };
		SCOPED(text_free) struct text ids = TEXT_EMPTY;

		print_message("%s\n", cases[i].name);
		begin_quiet(&b);
		cases[i].change(&b);
		open_findings(&b, &f);
		for (size_t n = 0; n < f.count; n++) {
			text_printf(&ids, "%s%s", n > 0 ? " " : "", f.rows[n].id);
			check_style(&f.rows[n]);
		}
		assert_string_equal(text_chars(&ids), cases[i].ids);
		if (f.count == 0)
			continue;
		plain_blanks(&f.rows[f.count - 1].title);
		assert_string_equal(text_chars(&f.rows[f.count - 1].title), cases[i].title);
		assert_contains(&f.rows[f.count - 1].evidence, cases[i].evidence);
		assert_contains(&f.rows[f.count - 1].look_next, cases[i].look_next);
	}
}

/* Is this id in any case? */
static inline bool is_met(const char *id, const struct finding_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(cases[i].ids, id) != NULL)
			return true;
	return false;
}

#endif
