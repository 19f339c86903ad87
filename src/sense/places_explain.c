/* places_explain.c - why a wish led to nothing. Only then all names are looked at again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/grow.h"
#include "sense/places_inlined.h"
#include "sense/places_nearest.h"
#include "sense/places_search.h"

#define MAX_DEMANGLED  20000u		 /* names */
#define MAX_CPU_NS     (300 * NS_PER_MS) /* for all names */
#define MAX_INLINED_MS 2000u		 /* for the debug information of all files */
#define CLOCK_EVERY    4096u		 /* names between two looks at the clock */
#define MAX_LISTED     5u		 /* files */

/* What was learned of one wish that led to nothing. */
struct missing {
	struct wish *wish;
	uint32_t index;		/* of the wish */
	uint32_t elsewhere;	/* a file that was not meant has it; NO_FILE: none */
	uint32_t other_version; /* a file has it in another version */
	bool is_inlined;
	uint32_t inlined_in;
	struct str wanted; /* without module, version, arguments and blanks */
	struct nearest nearest;
};

struct explaining {
	struct search *s;
	struct missing *missing;
	size_t count;
	size_t demangled, names;
	uint64_t end_ns;
	bool is_over;	     /* it took long enough */
	uint32_t inlined_ms; /* that reading debug information took */
};

static void missing_free(struct missing **missing)
{
	free(*missing);
}

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* One function's name beside one wish. */
static void compare(struct explaining *e, struct missing *m, uint32_t file,
		    const struct place_names_row *row)
{
	struct wish *w = m->wish;
	struct forms *forms = &e->s->forms;

	if (pattern_takes_name(&w->pattern, forms) == PATTERN_NO) {
		nearest_offer(&m->nearest, m->wanted,
			      forms->is_filled ? forms->plain : forms->symbol);
		return;
	}
	if (w->takes_file && m->other_version == NO_FILE)
		m->other_version = file;
	else if (!w->takes_file && m->elsewhere == NO_FILE &&
		 pattern_takes_version(&w->pattern, row->version, row->is_default))
		m->elsewhere = file;
}

static void compare_row(struct explaining *e, uint32_t file, const struct place_names_row *row)
{
	struct forms *forms = &e->s->forms;

	if (row->kind != PLACE_NAMES_FUNCTION && row->kind != PLACE_NAMES_IFUNC)
		return;
	if (++e->names % CLOCK_EVERY == 0 && cpu_ns() > e->end_ns)
		e->is_over = true;
	forms_set(forms, row->name);
	if (forms->is_cold || forms->is_thunk)
		return;
	if (forms->is_mangled && e->demangled < MAX_DEMANGLED) {
		e->demangled++;
		forms_fill(forms);
	}
	for (size_t i = 0; i < e->count; i++)
		if (e->missing[i].wish->pattern.kind == PATTERN_EXACT)
			compare(e, &e->missing[i], file, row);
}

/* Asks the debug information for those that are meant to be in this file. */
static void look_for_inlined(struct explaining *e, uint32_t file, int fd)
{
	struct pattern *patterns[INLINED_MAX_WISHES];
	struct missing *asked[INLINED_MAX_WISHES];
	size_t count = 0;
	uint64_t found;

	for (size_t i = 0; i < e->count && count < INLINED_MAX_WISHES; i++) {
		struct missing *m = &e->missing[i];

		if (!m->wish->takes_file || m->is_inlined || m->wish->pattern.kind != PATTERN_EXACT)
			continue;
		asked[count] = m;
		patterns[count++] = &m->wish->pattern;
	}
	if (count == 0 || e->inlined_ms >= MAX_INLINED_MS)
		return;
	found = inlined_find(fd, patterns, count, MAX_INLINED_MS - e->inlined_ms, &e->inlined_ms);
	for (size_t i = 0; i < count; i++) {
		if ((found >> i & 1) == 0)
			continue;
		asked[i]->is_inlined = true;
		asked[i]->inlined_in = file;
	}
}

/* Looks at all names of one file again. */
static void look_again(struct explaining *e, uint32_t at)
{
	const struct places_file *file = &e->s->files.items[at];
	struct str seen = { file->seen, (uint32_t)strlen(file->seen) };
	SCOPED(place_names_close) struct place_names names = PLACE_NAMES_EMPTY;
	SCOPED(fd_close) int fd = places_file_open(file);
	struct place_names_row row;

	if (fd < 0 || place_names_open(e->s->parser, fd, seen, &names) < 0)
		return;
	search_mark_wishes(e->s, at);
	while (!e->is_over && place_names_next(&names, &row))
		compare_row(e, at, &row);
	if (names.file.head.has_debug_info)
		look_for_inlined(e, at, fd);
	else if (names.debug_fd >= 0)
		look_for_inlined(e, at, names.debug_fd);
}

static void put_str(struct text *t, struct str s)
{
	text_add(t, s.bytes, s.len);
}

static void put_file(struct search *s, uint32_t file)
{
	put_str(&s->text, places_file_name(&s->files.items[file]));
}

/* "php8.2 or its 31 libraries" */
static void put_searched(struct search *s)
{
	size_t libraries = s->files.count - 1;

	put_file(s, 0);
	if (libraries > 0)
		text_printf(&s->text, " or its %zu librar%s", libraries,
			    libraries == 1 ? "y" : "ies");
}

/* "; did you mean zend_parse, zend_pass or pass_two?" */
static void put_nearest(struct text *t, const struct nearest *n)
{
	for (size_t i = 0; i < n->count; i++) {
		text_put(t, i == 0 ? "; did you mean " : i + 1 < n->count ? ", " : " or ");
		text_add(t, n->names[i], n->lengths[i]);
	}
	if (n->count > 0)
		text_put(t, "?");
}

/* No file is called so: which there are. */
static void put_files(struct search *s)
{
	for (uint32_t i = 0; i < s->files.count && i < MAX_LISTED; i++) {
		text_put(&s->text, i == 0 ? ": there is " : ", ");
		put_file(s, i);
	}
	if (s->files.count > MAX_LISTED)
		text_printf(&s->text, " and %zu more", s->files.count - MAX_LISTED);
}

static const char *why_unread(int error)
{
	if (error == -EACCES)
		return "not permitted";
	return error == -EIO ? "it kills our reader, or reading it never ends" : strerror(-error);
}

/* Files that were meant, and could not be read. */
static void put_unread(struct search *s, const struct wish *w)
{
	size_t count = 0;
	uint32_t first = NO_FILE;

	for (uint32_t i = 0; i < s->files.count; i++) {
		if (s->files.items[i].error == 0 || !search_takes_file(s, w, i))
			continue;
		first = first == NO_FILE ? i : first;
		count++;
	}
	if (count == 0)
		return;
	text_put(&s->text, "; ");
	put_file(s, first);
	if (count > 1)
		text_printf(&s->text, " and %zu more", count - 1);
	text_printf(&s->text, " could not be read: %s", why_unread(s->files.items[first].error));
}

static void say_other(struct search *s, const struct wish *w)
{
	put_file(s, w->seen_in);
	switch (w->seen) {
	case PLACE_NAMES_UNDEFINED:
		text_put(&s->text, " only calls it, and no file here has it");
		break;
	case PLACE_NAMES_LABEL:
		text_put(&s->text, " has it as a label, not as a function: what lies there may be "
				   "no instruction");
		break;
	default:
		text_put(&s->text, " has it as a variable, not as a function");
	}
}

static void say_elsewhere(struct search *s, const struct missing *m)
{
	if (m->wish->seen_in != NO_FILE && m->wish->seen == PLACE_NAMES_UNDEFINED) {
		put_file(s, m->wish->seen_in);
		text_put(&s->text, " only calls it; ");
	} else {
		text_put(&s->text, "not found there; ");
	}
	put_file(s, m->elsewhere);
	text_put(&s->text, " has it");
}

static void say_not_found(struct search *s, const struct missing *m)
{
	const struct wish *w = m->wish;
	bool is_meant = false;

	for (uint32_t i = 0; i < s->files.count; i++)
		is_meant = is_meant || search_takes_file(s, w, i);
	text_put(&s->text, "not found: ");
	if (!is_meant) {
		text_put(&s->text, "no file here is called ");
		put_str(&s->text, w->pattern.module);
		put_files(s);
		return;
	}
	text_put(&s->text, "no function of ");
	if (w->pattern.module.len > 0)
		put_str(&s->text, w->pattern.module);
	else
		put_searched(s);
	text_put(&s->text, w->pattern.kind == PATTERN_EXACT ? " is called so" : " fits it");
	put_nearest(&s->text, &m->nearest);
}

static void say(struct search *s, const struct missing *m)
{
	if (m->wish->pattern.regex.is_over) {
		text_put(&s->text, "this expression takes too long: it was given up, and what it "
				   "means is not all here");
	} else if (m->other_version != NO_FILE) {
		text_put(&s->text, "not found in this version; ");
		put_file(s, m->other_version);
		text_put(&s->text, " has it in another");
	} else if (m->is_inlined) {
		text_put(&s->text, "inlined away: the compiler put it into its callers in ");
		put_file(s, m->inlined_in);
	} else if (m->elsewhere != NO_FILE) {
		say_elsewhere(s, m);
	} else if (m->wish->seen_in != NO_FILE) {
		say_other(s, m->wish);
	} else {
		say_not_found(s, m);
		put_unread(s, m->wish);
	}
}

static int add_row(struct search *s, const struct missing *m)
{
	const struct pattern *p = &m->wish->pattern;
	struct found row = { .pattern = m->index, .file = NO_FILE, .first = PLACE_OTHER };
	void *found = s->found;
	int rc = grow(&found, &s->room, s->count + 1, SEARCH_MAX_FOUND + PATTERN_MAX_BYTES,
		      sizeof(row));

	if (rc < 0)
		return rc == -E2BIG ? 0 : rc;
	s->found = found;
	row.name = row.symbol = search_keep(s, p->name.bytes, p->name.len);
	row.why_not.at = s->text.len;
	say(s, m);
	row.why_not.len = (uint32_t)(s->text.len - row.why_not.at);
	s->found[s->count++] = row;
	return 0;
}

/* Returns how many of them are exact names: only for those there is more to say. */
static size_t list_missing(struct search *s, struct explaining *e)
{
	size_t exact = 0;

	for (uint32_t i = 0; i < s->wish_count; i++) {
		struct missing *m = &e->missing[e->count];
		const struct pattern *p = &s->wishes[i].pattern;

		if (s->wishes[i].has_found && !p->regex.is_over)
			continue;
		*m = (struct missing){ .wish = &s->wishes[i],
				       .index = i,
				       .elsewhere = NO_FILE,
				       .other_version = NO_FILE };
		m->wanted = text_without_arguments((struct str){ p->squeezed, p->squeezed_len });
		e->count++;
		exact += p->kind == PATTERN_EXACT;
	}
	return exact;
}

int search_explain(struct search *s)
{
	SCOPED(missing_free) struct missing *missing = calloc(s->wish_count, sizeof(*missing));
	struct explaining e = { .s = s, .missing = missing };
	size_t exact;
	int rc = 0;

	if (missing == NULL)
		return -ENOMEM;
	exact = list_missing(s, &e);
	e.end_ns = cpu_ns() + MAX_CPU_NS;
	for (uint32_t i = 0; exact > 0 && i < s->files.count; i++)
		look_again(&e, i);
	for (size_t i = 0; i < e.count && rc == 0; i++)
		rc = add_row(s, &missing[i]);
	return rc;
}
