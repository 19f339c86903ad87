/* report_watch_head.c - the lines under the verdict of a watch: what ran, what looking cost, what is not watched. */
#include <string.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"

#define NAME_COLUMNS 40u
#define FIRST_RIGHTS 3u /* names by themselves; the rest is counted */

static bool is_word(struct str text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.bytes, word, text.len) == 0;
}

/* Of what was attached to, only an end that nobody asked for. */
static void put_ending(struct text *t, const struct label *label)
{
	if (label->is_attached && label->is_finished && !is_word(label->ended_by, "signal")) {
		if (is_word(label->ended_by, "exit"))
			text_put(t, ", until it ended");
		return;
	}
	text_put(t, ", ");
	head_put_ending(t, label);
}

static void put_ran(struct screen *s, const struct report *r)
{
	SCOPED(text_free) struct text more = TEXT_EMPTY;
	const struct watch_row *watch = &r->recording->watch;

	put_ending(&more, &r->recording->label);
	if (r->watch->has_frames) {
		text_put(&more, ", ");
		text_put_counted(&more, watch->frames, "frame");
		if (watch->slow_ns > 0) {
			text_put(&more, ", ");
			text_put_exact(&more, watch->slow);
			text_put(&more, " slow");
		}
	}
	head_ran(s, &r->recording->label, text_chars(&more));
	s->has_failed |= more.has_failed;
}

bool watch_is_hooked(const struct watched_row *row)
{
	return row->hook_ps > 0 || row->assumed_hook_ps > 0;
}

static bool is_watched(const struct watched_row *row)
{
	return row->why_not.len == 0;
}

struct watch_cost watch_cost(const struct watched_row *row)
{
	bool has_hook = watch_is_hooked(row);
	bool is_timed =
		watch_counted_why(row).len == 0; /* else a call costs what counting it does */
	struct watch_cost cost = {
		.untimed_ps = row->untimed_ps + row->hook_ps,
		.assumed_untimed_ps =
			(row->untimed_ps > 0 ? row->untimed_ps : row->assumed_untimed_ps) +
			(row->hook_ps > 0 || !has_hook ? row->hook_ps : row->assumed_hook_ps),
	};

	if (row->untimed_ps == 0 || (has_hook && row->hook_ps == 0))
		cost.untimed_ps = 0;
	cost.timed_ps = cost.untimed_ps > 0 && (row->extra_ps > 0 || !is_timed)
				? cost.untimed_ps + row->extra_ps
				: 0;
	cost.assumed_timed_ps = cost.assumed_untimed_ps +
				(row->extra_ps > 0 ? row->extra_ps : row->assumed_extra_ps);
	return cost;
}

bool watch_price_is_unmeasured(const struct report *r)
{
	return r->recording->label.elapsed_ns == 0 || r->watch->spent_ns == 0;
}

const char *watch_price_bound(const struct report *r)
{
	const struct recording *rec = r->recording;
	bool has_hooks = false;

	for (uint32_t i = 0; i < rec->watched_count; i++) {
		const struct watched_row *row = &rec->watched[i];

		if (!is_watched(row))
			continue;
		if (watch_cost(row).timed_ps == 0)
			return "partly assumed";
		has_hooks |= watch_is_hooked(row);
	}
	return has_hooks ? "with hooks" : "calibrated";
}

void watch_put_price(struct text *t, const struct report *r)
{
	bool is_unmeasured = watch_price_is_unmeasured(r);

	label_put_share_of_limit(t, r->watch->price, is_unmeasured,
				 r->recording->label.price_limit_ppm);
	if (!is_unmeasured)
		text_printf(t, ", %s", watch_price_bound(r));
}

void watch_put_lost(struct text *t, const struct report *r)
{
	const struct watch_row *w = &r->recording->watch;
	const struct {
		uint64_t count;
		const char *word;
	} parts[] = {
		{ w->lost_calls, "call" },	{ w->lost_returns, "return" },
		{ w->lost_slow, "slow frame" }, { w->lost_names, "name" },
		{ w->lost_places, "place" },	{ w->torn, "torn reading" },
	};
	bool is_first = true;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i].count == 0)
			continue;
		text_put(t, is_first ? "" : ", ");
		text_put_counted(t, parts[i].count, parts[i].word);
		is_first = false;
	}
	if (is_first)
		text_put(t, "0");
}

static void put_timed(struct text *t, const struct report *r)
{
	measured_put_many(t, r->recording->watch.timed);
	text_printf(t, " call%s, floor ", r->recording->watch.timed == 1 ? "" : "s");
	if (r->watch->floor_ps == 0)
		text_put(t, "unmeasured");
	else
		text_put_duration(t, (r->watch->floor_ps + PS_PER_NS / 2) / PS_PER_NS);
}

/* The least and the largest cost of all that is watched: of the measured ones, and of those that are assumed. */
struct span {
	struct watch_cost least, most, assumed_least, assumed_most;
	uint32_t measured_count, count;
	const struct watched_row *mode; /* of all of them; NULL: there are several */
};

static bool is_same_mode(const struct watched_row *a, const struct watched_row *b)
{
	return a->mode.len == b->mode.len && a->first.len == b->first.len &&
	       (a->mode.len == 0 || memcmp(a->mode.bytes, b->mode.bytes, a->mode.len) == 0) &&
	       (a->first.len == 0 || memcmp(a->first.bytes, b->first.bytes, a->first.len) == 0);
}

static void take_least(uint64_t *least, uint64_t value)
{
	if (*least == 0 || value < *least)
		*least = value;
}

static void take_most(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

static void widen(struct span *span, const struct watch_cost *cost)
{
	take_least(&span->assumed_least.untimed_ps, cost->assumed_untimed_ps);
	take_least(&span->assumed_least.timed_ps, cost->assumed_timed_ps);
	take_most(&span->assumed_most.untimed_ps, cost->assumed_untimed_ps);
	take_most(&span->assumed_most.timed_ps, cost->assumed_timed_ps);
	if (cost->timed_ps == 0)
		return;
	span->measured_count++;
	take_least(&span->least.untimed_ps, cost->untimed_ps);
	take_least(&span->least.timed_ps, cost->timed_ps);
	take_most(&span->most.untimed_ps, cost->untimed_ps);
	take_most(&span->most.timed_ps, cost->timed_ps);
}

static struct span costs_of(const struct recording *rec)
{
	struct span span = { .mode = NULL };

	for (uint32_t i = 0; i < rec->watched_count; i++) {
		const struct watched_row *row = &rec->watched[i];
		struct watch_cost cost = watch_cost(row);

		if (!is_watched(row))
			continue;
		if (span.count++ == 0)
			span.mode = row;
		else if (span.mode != NULL && !is_same_mode(span.mode, row))
			span.mode = NULL;
		widen(&span, &cost);
	}
	return span;
}

static void put_cost_span(struct text *t, uint64_t least_ps, uint64_t most_ps)
{
	measured_put_cost(t, least_ps, 0);
	if (most_ps / 100 == least_ps / 100)
		return;
	text_put(t, " to ");
	measured_put_cost(t, most_ps, 0);
}

/* "unmeasured (640 ns assumed)", "unmeasured (640.0 ns to 5,450.0 ns assumed)". */
static void put_assumed_span(struct text *t, uint64_t least_ps, uint64_t most_ps)
{
	if (most_ps / 100 == least_ps / 100) {
		measured_put_cost(t, 0, least_ps);
		return;
	}
	text_put(t, "unmeasured (");
	put_cost_span(t, least_ps, most_ps);
	text_put(t, " assumed)");
}

static void put_span(struct text *t, const struct span *span)
{
	text_put(t, "untimed ");
	if (span->measured_count > 0)
		put_cost_span(t, span->least.untimed_ps, span->most.untimed_ps);
	else
		put_assumed_span(t, span->assumed_least.untimed_ps, span->assumed_most.untimed_ps);
	text_put(t, ", timed ");
	if (span->measured_count > 0)
		put_cost_span(t, span->least.timed_ps, span->most.timed_ps);
	else
		put_assumed_span(t, span->assumed_least.timed_ps, span->assumed_most.timed_ps);
	if (span->measured_count > 0 && span->measured_count < span->count)
		text_put(t, ", some unmeasured");
}

/* "untimed 876.2 ns, timed 1,702.4 ns · session, nop5 · CLOCK_MONOTONIC": with what the hook takes. */
static void put_cost(struct screen *s, const struct report *r)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct span span = costs_of(r->recording);

	if (span.count == 0)
		return;
	put_span(&t, &span);
	text_put(&t, " · ");
	text_put_cut(&t, span.mode != NULL ? span.mode->mode : r->recording->watch.sources, 40);
	if (span.mode != NULL && span.mode->first.len > 0) {
		text_put(&t, ", ");
		text_put_cut(&t, span.mode->first, 24);
	}
	text_put(&t, " · ");
	text_put_cut(&t, r->recording->watch.clock, 40);
	screen_put(s, "a call");
	screen_to(s, HEAD_VALUE_AT);
	screen_wrap(s, text_chars(&t), HEAD_VALUE_AT);
	s->has_failed |= t.has_failed;
}

bool watch_is_denied(const struct watched_row *row)
{
	static const char denied[] = "not allowed";

	return row->why_not.len >= sizeof(denied) - 1 &&
	       memcmp(row->why_not.bytes, denied, sizeof(denied) - 1) == 0;
}

void watch_put_why_not(struct text *t, const struct watched_row *row)
{
	struct str name = row->name.len > 0 ? row->name : row->pattern;

	text_put_function(t, text_without_arguments(name), NAME_COLUMNS);
	text_put(t, watch_is_denied(row) ? " ⊘ " : " — ");
	text_put_cut(t, row->why_not, 200);
}

/* What was asked for and is not watched, by name. */
static void put_rights(struct screen *s, const struct report *r)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	uint32_t from = r->watch->watched, count = r->watch->count;

	if (from >= count)
		return;
	for (uint32_t i = from; i < count && i < from + FIRST_RIGHTS; i++) {
		if (i > from)
			text_put(&t, " · ");
		watch_put_why_not(&t, r->watch->rows[i].row);
	}
	if (count - from > FIRST_RIGHTS)
		text_printf(&t, " · %u more: tare report --all", count - from - FIRST_RIGHTS);
	screen_put(s, "rights");
	screen_to(s, HEAD_VALUE_AT);
	screen_wrap(s, text_chars(&t), HEAD_VALUE_AT);
	s->has_failed |= t.has_failed;
}

/* How it was hooked where that is not the best way, and what is left out of it. */
static void put_limits(struct screen *s, const struct watch_row *watch)
{
	SCOPED(text_free) struct text hook = TEXT_EMPTY;
	SCOPED(text_free) struct text scope = TEXT_EMPTY;

	if (watch->hook_why.len > 0) {
		text_put_cut(&hook, watch->hook, 40);
		text_put(&hook, ": ");
		text_put_cut(&hook, watch->hook_why, 200);
		screen_put(s, "hook");
		screen_to(s, HEAD_VALUE_AT);
		screen_wrap(s, text_chars(&hook), HEAD_VALUE_AT);
	}
	if (watch->scope.len > 0) {
		text_put_cut(&scope, watch->scope, 200);
		screen_put(s, "scope");
		screen_to(s, HEAD_VALUE_AT);
		screen_wrap(s, text_chars(&scope), HEAD_VALUE_AT);
	}
	s->has_failed |= hook.has_failed || scope.has_failed;
}

void watch_head(struct screen *s, const struct report *r)
{
	static const char *const first[2] = { "price", "size" };
	static const char *const second[2] = { "timed", "lost" };
	struct text values[2] = { TEXT_EMPTY, TEXT_EMPTY };

	put_ran(s, r);
	watch_put_price(&values[0], r);
	label_put_size(&values[1], r);
	head_pair(s, first, values);
	text_clear(&values[0]);
	text_clear(&values[1]);
	put_timed(&values[0], r);
	watch_put_lost(&values[1], r);
	head_pair(s, second, values);
	text_free(&values[0]);
	text_free(&values[1]);
	put_cost(s, r);
	put_limits(s, &r->recording->watch);
	put_rights(s, r);
}
