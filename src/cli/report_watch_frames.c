/* report_watch_frames.c - how long frames are, which were slow, and what those were made of. */
#include <stdlib.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"

/* Columns of the table; its parts take what is left. */
enum { LENGTH_END = 20, PARTS_AT = 23, DATE_COLUMNS = 6, NAME_COLUMNS = 32, SHORT_NAME = 18 };

void watch_put_percent(struct text *t, uint64_t part, uint64_t whole)
{
	double percent = whole > 0 ? 100 * (double)part / (double)whole : 0;

	if (part > 0 && percent < 0.5)
		text_put(t, "under" TEXT_NBSP "1" TEXT_NBSP "%");
	else
		text_printf(t, "%.0f" TEXT_NBSP "%%", percent);
}

/* A part of a slow frame: "Pathfinder::findPath 56 %". */
static void put_part(struct text *t, struct str name, size_t columns, uint64_t ns, uint64_t whole)
{
	text_put_function(t, text_without_arguments(name), columns);
	text_put(t, TEXT_NBSP);
	watch_put_percent(t, ns, whole);
}

/* The named parts of a frame, from the place where they stand in the recording. */
struct parts {
	const struct slow_part_row *rows;
	uint32_t count;
};

static struct parts parts_of(const struct recording *rec, uint32_t slow)
{
	uint32_t low = 0, high = rec->slow_part_count;
	struct parts parts;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rec->slow_parts[middle].slow < slow)
			low = middle + 1;
		else
			high = middle;
	}
	parts = (struct parts){ .rows = rec->slow_parts + low };
	while (low + parts.count < rec->slow_part_count && parts.rows[parts.count].slow == slow)
		parts.count++;
	return parts;
}

/* What is not in named parts: further functions that are watched, and what is not watched. */
static void put_others(struct text *t, const struct slow_row *slow)
{
	if (slow->rest_ns > 0) {
		text_put(t, "rest ");
		watch_put_percent(t, slow->rest_ns, slow->duration_ns);
		text_put(t, ", ");
	}
	text_put(t, "other ");
	watch_put_percent(t, slow->other_ns, slow->duration_ns);
	if (slow->is_scaled)
		text_put(t, ", scaled");
}

static size_t columns_of(const struct screen *s, const struct text *t)
{
	SCOPED(text_free) struct text plain = TEXT_EMPTY;

	text_put(&plain, text_chars(t));
	if (s->is_ascii)
		text_make_ascii(&plain);
	return text_columns(text_chars(&plain), plain.len);
}

/* As many parts as `room` columns hold beside the others, at least one, and how many more there are. Returns that. */
static uint32_t put_parts(struct text *t, const struct screen *s, const struct recording *rec,
			  const struct slow_row *slow, size_t room, size_t name_columns)
{
	struct parts parts = parts_of(rec, slow->id);
	SCOPED(text_free) struct text others = TEXT_EMPTY;
	uint32_t shown = 0;
	size_t taken;

	put_others(&others, slow);
	taken = columns_of(s, &others);
	for (; shown < parts.count; shown++) {
		const struct slow_part_row *row = &parts.rows[shown];
		const struct watched_row *watched = recording_watched(rec, row->watched);
		SCOPED(text_free) struct text part = TEXT_EMPTY;
		size_t more = shown + 1 < parts.count ? sizeof("8 more, ") - 1 : 0;

		put_part(&part, watched != NULL ? watched->name : STR_EMPTY, name_columns,
			 row->own_ns, slow->duration_ns);
		text_put(&part, ", ");
		if (shown > 0 && taken + columns_of(s, &part) + more > room)
			break;
		text_put(t, text_chars(&part));
		taken += columns_of(s, &part);
	}
	if (shown < parts.count)
		text_printf(t, "%u more, ", parts.count - shown);
	text_put(t, text_chars(&others));
	return parts.count - shown;
}

static size_t shift_of(const struct label *label)
{
	SCOPED(text_free) struct text when = TEXT_EMPTY;

	watch_put_second(&when, label, 0);
	return when.len > 8 ? DATE_COLUMNS : 0;
}

static void print_slow(struct screen *s, const struct report *r, const struct slow_row *slow,
		       bool shows_all)
{
	const struct label *label = &r->recording->label;
	SCOPED(text_free) struct text when = TEXT_EMPTY;
	SCOPED(text_free) struct text length = TEXT_EMPTY;
	SCOPED(text_free) struct text parts = TEXT_EMPTY;
	size_t shift = shift_of(label), parts_at = PARTS_AT + shift;
	size_t room = shows_all ? SIZE_MAX / 2 : s->columns - parts_at;

	watch_put_second(&when, label, slow->start_ns);
	screen_put(s, text_chars(&when));
	measured_put_duration(&length, (double)slow->duration_ns, MEASURED_NO_ERROR);
	screen_put_right(s, text_chars(&length), LENGTH_END + shift);
	screen_to(s, parts_at);
	if (put_parts(&parts, s, r->recording, slow, room, NAME_COLUMNS) > 0) {
		text_clear(&parts); /* shorter names, then, and more of them */
		put_parts(&parts, s, r->recording, slow, room, SHORT_NAME);
	}
	screen_wrap(s, text_chars(&parts), parts_at);
	s->has_failed |= when.has_failed || length.has_failed || parts.has_failed;
}

int watch_longest_first(const void *a, const void *b)
{
	const struct slow_row *x = *(const struct slow_row *const *)a;
	const struct slow_row *y = *(const struct slow_row *const *)b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void print_table(struct screen *s, const struct report *r, bool shows_all)
{
	const struct recording *rec = r->recording;
	const struct slow_row **order = calloc(rec->slow_count, sizeof(*order));
	uint32_t shown = rec->slow_count;
	size_t shift = shift_of(&rec->label);
	char line[64];

	if (order == NULL) {
		s->has_failed = true;
		return;
	}
	for (uint32_t i = 0; i < rec->slow_count; i++)
		order[i] = &rec->slow[i];
	qsort(order, rec->slow_count, sizeof(*order), watch_longest_first);
	if (!shows_all && shown > WATCH_FIRST_SLOW)
		shown = WATCH_FIRST_SLOW;
	screen_put(s, "slow frames");
	screen_put_right(s, "length", LENGTH_END + shift);
	screen_to(s, PARTS_AT + shift);
	screen_put(s, "largest parts");
	screen_end(s);
	for (uint32_t i = 0; i < shown; i++)
		print_slow(s, r, order[i], shows_all);
	free(order);
	if (shown == rec->slow_count)
		return;
	snprintf(line, sizeof(line), "%u more kept: tare report --slow", rec->slow_count - shown);
	screen_put(s, line);
	screen_end(s);
}

void watch_put_frames(struct text *t, const struct recording *rec)
{
	const struct watch_row *w = &rec->watch;

	if (w->slow_ns == 0) {
		text_put_counted(t, w->frames, "frame");
		text_put(t, "; which are slow was not asked for.");
		return;
	}
	if (w->slow == 0) {
		text_put(t, "No frame over ");
		text_put_duration(t, w->slow_ns);
		text_put(t, " in ");
		text_put_exact(t, w->frames);
		text_put(t, ". That is a measured 0.");
		return;
	}
	text_put_exact(t, w->slow);
	text_put(t, " of ");
	text_put_counted(t, w->frames, "frame");
	text_put(t, " took ");
	text_put_duration(t, w->slow_ns);
	text_put(t, " or longer; ");
	if (rec->slow_count >= w->slow)
		text_put(t, w->slow == 1 ? "it is kept." : "all of them are kept.");
	else {
		text_put_exact(t, rec->slow_count);
		text_put(t, " of them are kept: the worst, and others by chance.");
	}
}

/* "p50 13.1 ms ± 0.1 · p99 18.2 ms ± 0.4 · longest 132 ms" */
static void put_lengths(struct text *t, const struct watched_answer *frame)
{
	text_put(t, "p50" TEXT_NBSP);
	watch_put_percentile(t, &frame->p50, false);
	text_put(t, " · p99" TEXT_NBSP);
	watch_put_percentile(t, &frame->p99, false);
	text_put(t, " · longest" TEXT_NBSP);
	measured_put_duration(t, (double)frame->pooled.max_ns, MEASURED_NO_ERROR);
}

static void put_rhythm(struct text *t, const struct rhythm *rhythm)
{
	text_put(t, "every ");
	text_put_counted(t, rhythm->every, "frame");
	text_put(t, ": ");
	text_put_exact(t, rhythm->hits);
	text_put(t, " of ");
	text_put_counted(t, rhythm->of, "gap");
	text_put(t, " between slow ones fit");
}

static void print_line(struct screen *s, const char *key, const struct text *value)
{
	screen_put(s, key);
	screen_to(s, HEAD_VALUE_AT);
	screen_wrap(s, text_chars(value), HEAD_VALUE_AT);
	s->has_failed |= value->has_failed;
}

static bool has_slices(const struct recording *rec)
{
	for (uint32_t i = 0; i < rec->watched_count; i++)
		if (rec->watched[i].is_sliced)
			return true;
	return false;
}

void watch_frames(struct screen *s, const struct report *r, bool shows_all)
{
	const struct watch_analysis *a = r->watch;
	SCOPED(text_free) struct text counts = TEXT_EMPTY;
	SCOPED(text_free) struct text lengths = TEXT_EMPTY;
	SCOPED(text_free) struct text rhythm = TEXT_EMPTY;
	SCOPED(text_free) struct text slices = TEXT_EMPTY;

	if (!a->has_frames)
		return;
	watch_put_frames(&counts, r->recording);
	print_line(s, "frames", &counts);
	if (a->rows[a->frame].p50.is_known) {
		put_lengths(&lengths, &a->rows[a->frame]);
		print_line(s, "length", &lengths);
	}
	if (a->slow.rhythm.is_known) {
		put_rhythm(&rhythm, &a->slow.rhythm);
		print_line(s, "rhythm", &rhythm);
	}
	if (r->recording->slow_count == 0)
		return;
	if (has_slices(r->recording)) {
		text_put(&slices, "functions in slices are in other while they are not attached");
		print_line(s, "slices", &slices);
	}
	print_table(s, r, shows_all);
}
