/* report_watch_detail.c - all numbers of one watched function, and what must be known beside them. */
#include <math.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"

double watch_percentile_error(const struct percentile *p)
{
	if (p->is_open || !p->is_known)
		return MEASURED_NO_ERROR;
	return fmax(((double)p->high_ns - (double)p->low_ns) / 2, 1);
}

void watch_put_percentile(struct text *t, const struct percentile *p, bool is_below_floor)
{
	if (!p->is_known)
		text_put(t, "—" TEXT_NBSP "not" TEXT_NBSP "measured");
	else if (is_below_floor)
		text_put(t, "below" TEXT_NBSP "floor");
	else if (!p->is_open)
		measured_put_duration(t, (double)p->ns, watch_percentile_error(p));
	else if (p->low_ns == 0)
		text_put(t, "—" TEXT_NBSP "cannot" TEXT_NBSP "know");
	else {
		text_put(t, "over" TEXT_NBSP);
		measured_put_duration(t, (double)p->low_ns, MEASURED_NO_ERROR);
	}
}

#define LEAST_SHARE  0.00005 /* less is "under" something already */
#define MOST_CALLS   1e18    /* an estimate is no surer */
#define LEAST_SLOWED 0.001   /* share of the time that a probe takes: less is not worth a word */

void watch_put_about(struct text *t, double count)
{
	if (count < 999500)
		measured_put_number(t, count < 99.5 ? ceil(count) : count);
	else
		measured_put_many(t, (uint64_t)fmin(count, MOST_CALLS));
}

/* Facts of one line are parted by a dot. */
static void part(struct text *t)
{
	if (t->len > 0)
		text_put(t, " · ");
}

static void put_rate(struct text *t, const struct watched_answer *row)
{
	if (row->is_at_least)
		text_put(t, "at" TEXT_NBSP "least" TEXT_NBSP);
	measured_put_number(t, row->a_second);
	text_put(t, " a" TEXT_NBSP "second");
}

/* "its probe takes 31 % of the time": what it slows down. */
static void put_slowed(struct text *t, const struct watched_answer *row)
{
	text_put(t, "its probe takes ");
	measured_put_share(t, row->slowed, 0, true);
	text_put(t, " of the time");
}

static void put_notes_of_calls(struct text *t, const struct watched_answer *row)
{
	const struct calls_estimate *e = &row->calls;

	if (row->row->why_not.len > 0) {
		part(t);
		text_put(t, "watched no more: ");
		text_put_cut(t, row->row->why_not, 200);
	}
	if (row->covered < 1 && row->count.value > 0) {
		part(t);
		text_put(t, "in slices, ");
		measured_put_share(t, row->covered, 0, true);
		text_put(t, " covered");
		if (row->count.has_error && row->count.error > 0) {
			text_put(t, ", ±" TEXT_NBSP);
			watch_put_about(t, row->count.error);
			text_put(t, " calls");
		}
	}
	if (row->is_at_least) {
		part(t);
		put_rate(t, row);
		text_put(t, ": ");
		put_slowed(t, row);
	}
	if (e->timed > 0 && e->never_timed > 0) {
		part(t);
		text_put(t, "numbers are of ");
		text_put_exact(t, row->pooled.calls);
		text_put(t, " (+");
		text_put_exact(t, e->never_timed);
		text_printf(t, " call%s never timed)", e->never_timed == 1 ? "" : "s");
	}
}

/* Two rows of one name: the function and a scope of libtare, or functions of two files. */
static bool has_twin(const struct watch_analysis *a, const struct watched_answer *row)
{
	struct str name = text_without_arguments(row->row->name);

	for (uint32_t i = 0; i < a->functions; i++) {
		const struct watched_row *other = a->rows[i].row;

		if (other->id != row->row->id && name.len > 0 &&
		    str_compare(text_without_arguments(other->name), name) == 0 &&
		    (other->kind != row->row->kind ||
		     str_compare(other->module, row->row->module) != 0))
			return true;
	}
	return false;
}

static void put_which(struct text *t, const struct watched_row *row)
{
	if (row->kind == WATCHED_SCOPE) {
		text_put(t, "the scope of libtare");
		return;
	}
	text_put(t, "the function in ");
	text_put_cut(t, row->module, WATCH_NAME_COLUMNS);
}

void watch_put_notes(struct text *t, const struct report *r, const struct watched_answer *row)
{
	const struct watch_row *watch = &r->recording->watch;
	const struct calls_estimate *e = &row->calls;
	struct str counted = watch_counted_why(row->row);

	put_notes_of_calls(t, row);
	if (has_twin(r->watch, row)) {
		part(t);
		put_which(t, row->row);
	}
	if (counted.len > 0) {
		part(t);
		text_put(t, "counted only: ");
		text_put_cut(t, counted, WATCH_WHY_COLUMNS);
	}
	if (watch->refused == row->id) {
		part(t);
		text_put(t, "no interval keeps it inside the price, which allows ");
		measured_put_many(t, watch->allowed_rate);
		text_put(t, " a" TEXT_NBSP "second");
	}
	if (e->timed > 0 && !e->has_total) {
		part(t);
		text_put(t, "only first calls were timed: its total cannot be known");
	} else if (e->timed > 0 && (e->is_coarse || !e->has_error)) {
		part(t);
		text_put(t, "coarse, ");
		text_put_exact(t, e->timed);
		text_put(t, " timed");
	}
	if (row->cannot_rank) {
		part(t);
		text_put(t, "cannot rank: its place depends on what probes inside it took");
	}
}

static double error_of(double error, bool has_error)
{
	return has_error ? error : MEASURED_NO_ERROR;
}

/* ---- all numbers: a grid of three columns, two on a narrow terminal ---- */

enum { GRID_AT = 4, SECOND_AT = 27, THIRD_AT = 50, KEY_COLUMNS = 6, GRID_ROWS = 4 };
enum { WIDE_GRID = 80, NARROW_SECOND_AT = 36 };

/* A sum without the floor; what is under it takes at most what was read. */
static void put_sum(struct text *t, double ns, double error_ns, double read_ns,
		    const struct watched_answer *row)
{
	if (!row->calls.has_total) {
		text_put(t, "—" TEXT_NBSP "cannot" TEXT_NBSP "know");
	} else if (row->calls.is_below_floor) {
		text_put(t, "at" TEXT_NBSP "most" TEXT_NBSP);
		measured_put_duration(t, read_ns, MEASURED_NO_ERROR);
	} else {
		measured_put_duration(t, ns, error_ns);
	}
}

static void put_timed(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	text_put_exact(t, row->calls.timed);
}

void watch_put_total(struct text *t, const struct watched_answer *row)
{
	const struct calls_estimate *e = &row->calls;

	put_sum(t, e->total_ns, error_of(e->total_error_ns, e->has_error),
		calls_estimate(&row->pooled, 0).total_ns, row);
}

static void put_total(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	watch_put_total(t, row);
}

static void put_own(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	put_sum(t, row->own_ns.value, error_of(row->own_ns.error, row->own_ns.has_error),
		calls_estimate(&row->pooled, 0).own_ns, row);
}

static void put_mean(struct text *t, const struct report *r, const struct watched_answer *row)
{
	const struct calls_estimate *e = &row->calls;

	(void)r;
	if (!e->has_total)
		text_put(t, "—" TEXT_NBSP "cannot" TEXT_NBSP "know");
	else if (e->is_below_floor)
		text_put(t, "below" TEXT_NBSP "floor");
	else
		measured_put_duration(t, e->mean_ns, error_of(e->mean_error_ns, e->has_error));
}

static void put_p50(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	watch_put_percentile(t, &row->p50, row->p50_below_floor);
}

static void put_p90(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	watch_put_percentile(t, &row->p90, row->p90_below_floor);
}

static void put_p99(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	watch_put_percentile(t, &row->p99, row->p99_below_floor);
}

void watch_put_max(struct text *t, const struct watched_answer *row)
{
	if (row->calls.max_ns * PS_PER_NS < row->row->floor_ps)
		text_put(t, "below" TEXT_NBSP "floor");
	else
		measured_put_duration(t, (double)row->calls.max_ns, MEASURED_NO_ERROR);
}

static void put_max(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	watch_put_max(t, row);
}

static void put_share(struct text *t, const struct estimate *share, const char *of)
{
	if (!share->is_known)
		return;
	measured_put_share(t, share->value, share->error, share->has_error);
	text_printf(t, " %s", of);
}

/* A share of what is under the floor: as it was read. */
static void put_most(struct text *t, double most, const char *of)
{
	text_put(t, most < LEAST_SHARE ? "" : "at" TEXT_NBSP "most" TEXT_NBSP);
	measured_put_share(t, most, 0, true);
	text_printf(t, " %s", of);
}

static void put_of_run(struct text *t, const struct report *r, const struct watched_answer *row)
{
	(void)r;
	if (row->calls.is_below_floor)
		put_most(t, row->at_most_of_run, "of the run");
	else
		put_share(t, &row->share_of_run, "of the run");
}

static void put_with_callees(struct text *t, const struct report *r,
			     const struct watched_answer *row)
{
	(void)r;
	if (row->total_of_run.value > row->share_of_run.value && !row->calls.is_below_floor)
		put_share(t, &row->total_of_run, "with callees");
}

static void put_of_frames(struct text *t, const struct report *r, const struct watched_answer *row)
{
	if (r->watch->has_frames && row->calls.is_below_floor)
		put_most(t, watch_frame_at_most(r->watch, row), "of all frames");
	else if (r->watch->has_frames)
		put_share(t, &row->share_of_frame, "of all frames");
}

static void put_of_slow(struct text *t, const struct report *r, const struct watched_answer *row)
{
	if (r->watch->has_frames)
		put_share(t, &row->slow_share, "of slow frames");
}

static const struct {
	const char *key;
	void (*put)(struct text *t, const struct report *r, const struct watched_answer *row);
} cells[3][GRID_ROWS] = {
	{ { "timed", put_timed },
	  { "total", put_total },
	  { "own", put_own },
	  { "mean", put_mean } },
	{ { "p50", put_p50 }, { "p90", put_p90 }, { "p99", put_p99 }, { "max", put_max } },
	{ { "", put_of_run },
	  { "", put_of_frames },
	  { "", put_of_slow },
	  { "", put_with_callees } },
};

/* The cell of column `which` in `line`, at a column of the screen. */
struct place {
	size_t which, line, from;
};

static void put_cell(struct screen *s, const struct report *r, const struct watched_answer *row,
		     struct place at)
{
	SCOPED(text_free) struct text value = TEXT_EMPTY;
	size_t which = at.which, line = at.line, from = at.from;

	cells[which][line].put(&value, r, row);
	if (value.len == 0)
		return;
	screen_to(s, from);
	screen_put(s, cells[which][line].key);
	if (cells[which][line].key[0] != '\0')
		screen_to(s, from + KEY_COLUMNS);
	screen_put(s, text_chars(&value));
	s->has_failed |= value.has_failed;
}

static void end_line(struct screen *s)
{
	if (screen_column(s) > 0)
		screen_end(s);
}

static void print_grid(struct screen *s, const struct report *r, const struct watched_answer *row)
{
	bool is_wide = s->columns >= WIDE_GRID;
	const size_t from[] = { GRID_AT, is_wide ? SECOND_AT : NARROW_SECOND_AT, THIRD_AT };

	for (size_t line = 0; line < GRID_ROWS; line++) {
		for (size_t which = 0; which < (is_wide ? 3 : 2); which++)
			put_cell(s, r, row, (struct place){ which, line, from[which] });
		end_line(s);
	}
	for (size_t line = 0; !is_wide && line < GRID_ROWS; line++) {
		put_cell(s, r, row, (struct place){ 2, line, from[line % 2] });
		if (line % 2 == 1)
			end_line(s);
	}
}

/* "2 timed calls never ended": a longjmp, a throw, the end of a thread. */
static void put_dropped(struct text *t, const struct watched_row *row)
{
	if (row->abandoned > 0) {
		part(t);
		text_put_counted(t, row->abandoned, "timed call");
		text_put(t, " never ended");
	}
	if (row->still_open > 0) {
		part(t);
		text_put_counted(t, row->still_open, "call");
		text_put(t, " still ran at the end, not timed");
	}
	if (row->backwards > 0) {
		part(t);
		text_put_exact(t, row->backwards);
		text_put(t, " dropped: the clock went back");
	}
	if (row->clamped > 0) {
		part(t);
		text_put_counted(t, row->clamped, "own time");
		text_put(t, " under 0, counted as 0");
	}
}

void watch_details(struct screen *s, const struct report *r, const struct watched_answer *row)
{
	SCOPED(text_free) struct text rest = TEXT_EMPTY;

	if (row->calls.timed > 0)
		print_grid(s, r, row);
	if (row->count.value > 0 && !row->is_at_least) {
		put_rate(&rest, row);
		if (row->slowed >= LEAST_SLOWED) {
			part(&rest);
			put_slowed(&rest, row);
		}
	}
	if (row->count.value > 0 && row->row->why_not.len == 0 &&
	    watch_counted_why(row->row).len == 0) {
		part(&rest);
		if (row->row->interval > 1)
			text_printf(&rest, "now one in" TEXT_NBSP "%u", row->row->interval);
		else
			text_put(&rest, "every call is timed");
	}
	put_dropped(&rest, row->row);
	if (rest.len > 0) {
		screen_to(s, GRID_AT);
		screen_wrap(s, text_chars(&rest), GRID_AT);
	}
	s->has_failed |= rest.has_failed;
}
