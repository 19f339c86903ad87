/* report_watch_table.c - the functions of a watch, one row each. Made for 80 columns; a wider terminal gives its columns to
 * names first, then to more numbers. */
#include <string.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"

/* Where columns of the table end at 80; all but names move with the width. */
enum { CALLS_END = 33, ONE_IN_END = 42, P50_AT = 43, P50_END = 51, BOTH_END = 60, P99_END = 63 };
enum { SHARE_NUMBER_END = 72, SHARE_END = 78, TABLE_COLUMNS = 80 };
#define LEAST_SHARE   0.00005	    /* less is "under" something already */
#define LARGEST_EXACT 99999999999.0 /* calls; more are told in three digits */

enum { MOST_COLUMNS = 7, OVER_COLUMNS = 6, NAMES_MOST = 60, LEAST_NAME = 8 };

/* A table as it is being printed: where it stands and in which units. */
struct table_at {
	struct screen *s;
	const struct report *r;
	int shift;		 /* of all columns but names */
	enum measured_unit unit; /* of p50, p99 and mean */
	size_t wide;		 /* columns of `watch_columns` that have room */
};

static size_t at(const struct table_at *t, size_t column)
{
	return (size_t)((ptrdiff_t)column + t->shift);
}

/* Is it a row of the table? Frames have their own place. */
static bool is_row(const struct watched_answer *row)
{
	return row->row->kind != WATCHED_FRAME;
}

/* ---- units of the columns ---- */

static void take_in(double ns, double *least, double *most)
{
	if (ns <= 0)
		return;
	if (*least <= 0 || ns < *least)
		*least = ns;
	if (ns > *most)
		*most = ns;
}

/* What stands in the cell of a percentile: the lower end where the upper one is open. */
static uint64_t shown_ns(const struct percentile *p, bool is_below_floor)
{
	return !p->is_known || is_below_floor ? 0 : p->is_open ? p->low_ns : p->ns;
}

/* One unit for all columns, so that they can be compared at a glance; "over" takes columns from its number. */
static void choose_unit(struct table_at *t, const struct watched_answer *rows, uint32_t count)
{
	double least = 0, most = 0, least_over = 0, most_over = 0;
	enum measured_unit unit;

	for (uint32_t i = 0; i < count; i++) {
		const struct watched_answer *row = &rows[i];
		double p99_ns = (double)shown_ns(&row->p99, row->p99_below_floor);

		if (count > 1 && !is_row(row))
			continue;
		take_in((double)shown_ns(&row->p50, row->p50_below_floor), &least, &most);
		take_in(p99_ns, &least, &most);
		if (row->p99.is_open)
			take_in(p99_ns, &least_over, &most_over);
	}
	t->unit = measured_unit_for(least, most, MOST_COLUMNS);
	unit = measured_unit_for(least, most_over, OVER_COLUMNS);
	if (unit > t->unit)
		t->unit = unit;
}

/* ---- one row ---- */

static void put_unit_header(const struct table_at *t, const char *word, size_t end)
{
	char header[32];

	snprintf(header, sizeof(header), "%s %s", word, measured_unit_name(t->unit));
	screen_put_right(t->s, header, at(t, end));
}

static void print_header(const struct table_at *t)
{
	size_t end = at(t, TABLE_COLUMNS);

	screen_put(t->s, "function");
	screen_put_right(t->s, "calls", at(t, CALLS_END));
	screen_put_right(t->s, "one in", at(t, ONE_IN_END));
	put_unit_header(t, "p50", P50_END);
	put_unit_header(t, "p99", P99_END);
	screen_put_right(t->s, t->r->watch->has_frames ? "of all frames" : "of the run",
			 at(t, SHARE_END));
	for (size_t i = 0; i < t->wide; i++) {
		end += watch_columns[i].width;
		if (watch_columns[i].has_unit)
			put_unit_header(t, watch_columns[i].header, end - (size_t)t->shift);
		else
			screen_put_right(t->s, watch_columns[i].header, end);
	}
	screen_end(t->s);
}

static void put_count(struct text *t, const struct watched_answer *row)
{
	if (row->covered < 1 || row->count.value > LARGEST_EXACT)
		watch_put_about(t, row->count.value);
	else
		text_put_exact(t, (uint64_t)row->count.value);
}

/* Columns by which the table must grow for this name to stand in it whole. */
static size_t needed_for(const struct watched_answer *row)
{
	SCOPED(text_free) struct text cells = TEXT_EMPTY;
	size_t columns;

	text_put_cut(&cells, text_without_arguments(row->row->name), NAMES_MOST);
	text_put(&cells, "  ");
	put_count(&cells, row);
	columns = text_columns(text_chars(&cells), cells.len);
	return columns > CALLS_END ? columns - CALLS_END : 0;
}

/* Shares out what a terminal has beyond 80 columns: first names become whole, then there are more numbers. */
static void share_out(struct table_at *t, const struct watched_answer *rows, uint32_t count)
{
	size_t extra = t->s->columns > TABLE_COLUMNS ? t->s->columns - TABLE_COLUMNS : 0;
	size_t names = 0;

	for (uint32_t i = 0; i < count; i++)
		if (is_row(&rows[i]) && needed_for(&rows[i]) > names)
			names = needed_for(&rows[i]);
	if (names > extra)
		names = extra;
	t->shift = t->s->columns < TABLE_COLUMNS ? (int)t->s->columns - TABLE_COLUMNS : (int)names;
	for (extra -= names; t->wide < watch_column_count; t->wide++) {
		if (watch_columns[t->wide].width > extra)
			break;
		extra -= watch_columns[t->wide].width;
	}
}

static void put_calls(const struct table_at *t, const struct watched_answer *row)
{
	SCOPED(text_free) struct text calls = TEXT_EMPTY;
	size_t end = at(t, CALLS_END), width;

	put_count(&calls, row);
	width = text_columns(text_chars(&calls), calls.len);
	screen_put_name(t->s, text_without_arguments(row->row->name),
			end > width + 2 + LEAST_NAME ? end - width - 2 : LEAST_NAME, true);
	if (row->row->kind == WATCHED_TASK && screen_column(t->s) + 7 + width + 2 <= end)
		screen_put(t->s, " (task)");
	screen_put_right(t->s, text_chars(&calls), end);
	t->s->has_failed |= calls.has_failed;
}

static void put_one_in(const struct table_at *t, const struct watched_answer *row)
{
	char words[32] = "–";

	if (row->calls.timed > 0 && row->interval_least == row->interval_largest)
		snprintf(words, sizeof(words), "%u", row->interval_largest);
	else if (row->calls.timed > 0)
		snprintf(words, sizeof(words), "%u…%u", row->interval_least, row->interval_largest);
	screen_put_right(t->s, words, at(t, ONE_IN_END));
}

/* Three digits, as a first look wants them; the errors are in the numbers under the row. */
static void put_percentile(const struct table_at *t, const struct percentile *p, size_t end)
{
	uint64_t ns = shown_ns(p, false);
	struct text_share parts = measured_duration((double)ns, MEASURED_NO_ERROR, t->unit);
	char words[48];

	if (p->is_open && p->low_ns == 0)
		snprintf(words, sizeof(words), "—");
	else if (strncmp(parts.number, "under", 5) == 0)
		snprintf(words, sizeof(words), "<0.01"); /* there is no room for the word */
	else
		snprintf(words, sizeof(words), "%s%s", p->is_open ? "over" TEXT_NBSP : "",
			 parts.number);
	screen_put_right(t->s, words, at(t, end));
}

static void put_percentiles(const struct table_at *t, const struct watched_answer *row)
{
	if (row->p99_below_floor) {
		screen_put_right(t->s, "below floor", at(t, BOTH_END));
		return;
	}
	if (row->p50_below_floor) {
		screen_to(t->s, at(t, P50_AT));
		screen_put(t->s, "below floor");
	} else {
		put_percentile(t, &row->p50, P50_END);
	}
	put_percentile(t, &row->p99, P99_END);
}

double watch_frame_at_most(const struct watch_analysis *a, const struct watched_answer *row)
{
	if (!a->has_frames || a->frames_ns <= 0)
		return row->at_most_of_run;
	return row->at_most_of_run * (double)a->range_ns / a->frames_ns;
}

static void put_share(const struct table_at *t, const struct watched_answer *row)
{
	const struct estimate *share =
		t->r->watch->has_frames ? &row->share_of_frame : &row->share_of_run;
	struct text_share parts =
		measured_share(share->value, share->error, share->is_known && share->has_error);
	char words[64];

	if (row->row->kind == WATCHED_TASK && t->r->watch->has_frames)
		return; /* tasks and frames have nothing to do with each other */
	if (share->is_known && row->calls.is_below_floor) {
		double most = watch_frame_at_most(t->r->watch, row);

		parts = measured_share(most, 0, true);
		snprintf(words, sizeof(words), "%s%s", most < LEAST_SHARE ? "" : "at most ",
			 parts.number);
		screen_put_right(t->s, words, at(t, SHARE_END));
	} else if (parts.error[0] != '\0') {
		screen_put_right(t->s, parts.number, at(t, SHARE_NUMBER_END));
		screen_to(t->s, at(t, SHARE_NUMBER_END + 1));
		screen_put(t->s, parts.error);
	} else {
		snprintf(words, sizeof(words), "%s%s", parts.is_unknown ? "—" TEXT_NBSP : "",
			 parts.number);
		screen_put_right(t->s, words, at(t, SHARE_END));
	}
}

/* "(+3 calls never timed) — not measured": there is no number for anything else. */
static void put_never_timed(const struct table_at *t, const struct watched_answer *row)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;
	size_t room = t->s->columns - at(t, P50_AT), width;

	text_put(&words, "(+");
	text_put_exact(&words, row->calls.never_timed);
	text_printf(&words, " call%s never timed)", row->calls.never_timed == 1 ? "" : "s");
	width = text_columns(text_chars(&words), words.len);
	screen_to(t->s, at(t, P50_AT));
	screen_put(t->s, text_chars(&words));
	if (width + sizeof(" - not measured") - 1 <= room)
		screen_put(t->s, " — not measured");
	else
		screen_put_right(t->s, "—", at(t, SHARE_END));
	t->s->has_failed |= words.has_failed;
}

static void put_wide(const struct table_at *t, const struct watched_answer *row)
{
	size_t end = at(t, TABLE_COLUMNS);

	for (size_t i = 0; i < t->wide; i++) {
		SCOPED(text_free) struct text cell = TEXT_EMPTY;

		end += watch_columns[i].width;
		watch_columns[i].put(&cell, t->unit, row);
		screen_put_right(t->s, text_chars(&cell), end);
		t->s->has_failed |= cell.has_failed;
	}
}

static void print_row(const struct table_at *t, const struct watched_answer *row)
{
	put_calls(t, row);
	if (row->count.value <= 0) {
		screen_put_right(t->s, "0", at(t, SHARE_END)); /* it did not run: a measured 0 */
	} else if (row->calls.timed == 0) {
		put_one_in(t, row);
		put_never_timed(t, row);
	} else {
		put_one_in(t, row);
		put_percentiles(t, row);
		put_share(t, row);
		put_wide(t, row);
	}
	screen_end(t->s);
}

static void print_notes(const struct table_at *t, const struct watched_answer *row)
{
	SCOPED(text_free) struct text notes = TEXT_EMPTY;

	watch_put_notes(&notes, t->r, row);
	if (notes.len > 0) {
		screen_to(t->s, 2);
		screen_wrap(t->s, text_chars(&notes), 2);
	}
	t->s->has_failed |= notes.has_failed;
}

static void print_not_watched(const struct table_at *t, const struct watched_answer *row)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	watch_put_why_not(&words, row->row);
	screen_wrap(t->s, text_chars(&words), 2);
	t->s->has_failed |= words.has_failed;
}

static void print_function(const struct table_at *t, const struct watched_answer *row,
			   bool has_details)
{
	print_row(t, row);
	print_notes(t, row);
	if (has_details)
		watch_details(t->s, t->r, row);
}

uint32_t watch_table(struct screen *s, const struct report *r, bool shows_all)
{
	const struct watch_analysis *a = r->watch;
	struct table_at t = { .s = s, .r = r };
	uint32_t functions = 0, count = 0;

	for (uint32_t i = 0; i < a->watched; i++) {
		functions += is_row(&a->rows[i]);
		if (shows_all || functions <= WATCH_FIRST_ROWS)
			count = i + 1;
	}
	share_out(&t, a->rows, count);
	choose_unit(&t, a->rows, count);
	if (functions > 0)
		print_header(&t);
	for (uint32_t i = 0; i < count; i++)
		if (is_row(&a->rows[i]))
			print_function(&t, &a->rows[i], shows_all);
	for (uint32_t i = a->watched; shows_all && i < a->count; i++)
		print_not_watched(&t, &a->rows[i]);
	return shows_all || functions <= WATCH_FIRST_ROWS ? 0 : functions - WATCH_FIRST_ROWS;
}

void watch_table_one(struct screen *s, const struct report *r, const struct watched_answer *row)
{
	struct table_at t = { .s = s, .r = r };

	share_out(&t, row, 1);
	choose_unit(&t, row, 1);
	print_header(&t);
	print_function(&t, row, true);
}
