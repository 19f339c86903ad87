/* watch_analysis.c - each watched row over the range, put in order, and what is true of all of them. */
#include "core/watch_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/analysis.h"
#include "core/pace.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_parts.h"
#include "core/watch_words.h"

/* One reading of a recording. */
struct reading {
	const struct recording *r;
	struct watch_analysis *a;
	struct watch_scratch *scratch; /* owned */
	struct watch_span *spans;      /* owned: by place in the recording */
	uint32_t *place_of;	       /* owned: place in the recording -> answer */
	uint64_t row_ns;
	bool is_whole;
};

static void reading_free(struct reading *d)
{
	watch_scratch_close(d->scratch);
	free(d->spans);
	free(d->place_of);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t row_length_ns(const struct recording *r)
{
	uint64_t windows = r->watch.windows_in_row > 0 ? r->watch.windows_in_row : 1;

	return times(r->watch.window_ns > 0 ? r->watch.window_ns : NS_PER_S, windows);
}

uint64_t watch_window_starts_ns(const struct recording *r, const struct window_row *window)
{
	return times(window->at, row_length_ns(r));
}

/* Where the last window ended. One that was open when an unfinished recording was saved is in no row. */
static uint64_t run_ends_ns(const struct recording *r)
{
	uint64_t ends_ns = times(r->watch.windows, r->watch.window_ns);

	if (r->watch.windows > 0 && (r->label.is_finished || r->label.elapsed_ns < ends_ns))
		return r->label.elapsed_ns;
	return ends_ns;
}

/* The range in whole rows. */
static int set_range(struct reading *d, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	uint64_t ends_ns = run_ends_ns(d->r);
	uint64_t rows_before = from_ns / d->row_ns;
	uint64_t rows_to = to_ns / d->row_ns + (to_ns % d->row_ns > 0);
	uint64_t last_ns = times(rows_to, d->row_ns);

	d->is_whole = from_ns == 0 && to_ns >= ends_ns;
	if (!d->is_whole && (from_ns >= to_ns || from_ns >= ends_ns))
		return err_set(err, -EINVAL, "cannot look at that range: no window lies in it");
	d->a->from_ns = times(rows_before, d->row_ns);
	d->a->to_ns = last_ns < ends_ns ? last_ns : ends_ns;
	d->a->range_ns = d->a->to_ns - d->a->from_ns;
	return 0;
}

/* What the row's calls were charged, beside what they would be by its costs. */
static double dearer_of(const struct watched_row *row, const struct window_row *windows,
			uint32_t count)
{
	struct pace_costs costs = watch_costs_of(row);
	double by_costs_ps = 0;

	for (uint32_t i = 0; i < count; i++)
		by_costs_ps +=
			(double)pace_charge_ps(&costs, windows[i].calls + windows[i].never_timed,
					       windows[i].firsts + windows[i].others);
	return by_costs_ps > 0 ? fmax((double)row->charged_ps / by_costs_ps, 1) : 1;
}

/* The windows of a row that are in the range. */
static struct watch_span find_span(const struct reading *d, const struct watched_row *row)
{
	uint32_t count, from = 0, to;
	const struct window_row *windows = watch_windows(d->r, row->id, &count);
	struct watch_span span = { .row_ns = d->row_ns,
				   .floor_ns = (row->floor_ps + PS_PER_NS / 2) / PS_PER_NS };

	span.dearer = dearer_of(row, windows, count);
	to = count;
	while (!d->is_whole && from < to &&
	       watch_window_starts_ns(d->r, &windows[from]) < d->a->from_ns)
		from++;
	while (!d->is_whole && to > from &&
	       watch_window_starts_ns(d->r, &windows[to - 1]) >= d->a->to_ns)
		to--;
	span.windows = windows != NULL ? windows + from : NULL;
	span.count = to - from;
	return span;
}

/* ---- order ---- */

static bool is_function(const struct watched_row *row)
{
	return row->kind == WATCHED_PROBE || row->kind == WATCHED_SCOPE;
}

/* Groups in the order that watch_analysis.h says. */
static int group_of(const struct watched_answer *answer)
{
	bool was_called = answer->pooled.calls + answer->pooled.never_timed > 0;

	if (answer->row->why_not.len > 0 && !was_called)
		return 4;
	if (!is_function(answer->row))
		return 3;
	if (answer->own_ns.is_known)
		return 0;
	return was_called ? 1 : 2;
}

static int descending(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_answers(const void *x, const void *y)
{
	const struct watched_answer *a = x, *b = y;
	int order = group_of(a) - group_of(b);

	if (order == 0 && group_of(a) == 4)
		return (a->id > b->id) - (a->id < b->id);
	if (order == 0)
		order = descending(a->own_ns.value, b->own_ns.value);
	if (order == 0)
		order = descending(a->count.value, b->count.value);
	if (order == 0)
		order = str_compare(a->row->name, b->row->name);
	return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

static void sort_answers(struct reading *d)
{
	struct watch_analysis *a = d->a;

	qsort(a->rows, a->count, sizeof(*a->rows), compare_answers);
	for (uint32_t i = 0; i < a->count; i++) {
		int group = group_of(&a->rows[i]);

		a->timed += group == 0;
		a->called += group <= 1;
		a->functions += group <= 2;
		a->watched += group <= 3;
		d->place_of[a->rows[i].row - d->r->watched] = i;
	}
}

/* May the order of two rows be another without their probes? */
static bool is_doubtful(const struct watched_answer *answer, const struct watched_answer *other)
{
	double doubt = WATCH_COST_DOUBT * (answer->taken_off_ns + other->taken_off_ns);
	double reach = doubt + watch_together(answer->own_ns.error, other->own_ns.error);

	return fabs(answer->own_ns.value - other->own_ns.value) <= reach;
}

/* What was taken off for probes is only as sure as their cost. Under a twentieth of what is left it is no matter. */
static void judge_ranks(struct watch_analysis *a)
{
	for (uint32_t i = 0; i < a->timed; i++) {
		struct watched_answer *answer = &a->rows[i];
		double off_ns = answer->taken_off_ns, left_ns = answer->own_ns.value;

		answer->cannot_rank = off_ns > 0 && off_ns >= left_ns;
		if (answer->cannot_rank || WATCH_COST_DOUBT * off_ns < 0.05 * left_ns)
			continue;
		for (uint32_t k = 0; k < a->timed && !answer->cannot_rank; k++)
			answer->cannot_rank = k != i && is_doubtful(answer, &a->rows[k]);
	}
}

/* ---- all rows together ---- */

static void find_frame(struct reading *d)
{
	struct watch_analysis *a = d->a;

	for (uint32_t i = a->functions; i < a->watched; i++) {
		const struct watched_answer *answer = &a->rows[i];

		if (answer->row->kind != WATCHED_FRAME)
			continue;
		if (a->has_frames && answer->count.value <= a->rows[a->frame].count.value)
			continue;
		a->has_frames = true;
		a->frame = i;
	}
	if (!a->has_frames)
		return;
	a->frames = watch_whole(a->rows[a->frame].count.value);
	if (d->is_whole && d->r->watch.frames > a->frames)
		a->frames = d->r->watch.frames;
	a->frames_ns = a->rows[a->frame].calls.total_ns;
	for (uint32_t i = 0; i < a->functions; i++)
		a->rows[i].share_of_frame =
			watch_part_of(a->rows[i].own_ns.value, a->rows[i].own_ns.error,
				      a->frames_ns, a->rows[i].own_ns);
}

static void sum_up(struct watch_analysis *a)
{
	struct estimate all = { .is_known = a->timed > 0 || a->called == 0, .has_error = true };

	for (uint32_t i = 0; i < a->timed; i++) {
		all.value += a->rows[i].own_ns.value;
		all.error = watch_together(all.error, a->rows[i].own_ns.error);
		all.has_error &= a->rows[i].own_ns.has_error;
	}
	for (uint32_t i = 0; i < a->timed; i++)
		if (a->rows[i].calls.is_below_floor)
			a->all_at_most_of_run +=
				a->rows[i].at_most_of_run - a->rows[i].share_of_run.value;
	a->all_of_run = watch_part_of(all.value, all.error, (double)a->range_ns, all);
	a->all_at_most_of_run += a->all_of_run.value + a->all_of_run.error;
	a->all_is_at_least = a->called > a->timed;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].row->floor_ps > a->floor_ps)
			a->floor_ps = a->rows[i].row->floor_ps;
}

static void weigh_price(const struct recording *r, struct watch_analysis *a)
{
	uint64_t charged_ns = r->watch.charged_ps / PS_PER_NS;

	/* The label's is the same by another road; who wrote only one of them is not believed less. */
	if (charged_ns < r->label.kernel_ns)
		charged_ns = r->label.kernel_ns;
	if (__builtin_add_overflow(r->label.own_cpu_ns, charged_ns, &a->spent_ns))
		a->spent_ns = UINT64_MAX;
	a->price = analysis_price(r, a->spent_ns);
}

/* Finds each row's windows; the most that one has are room for all. */
static int find_spans(struct reading *d)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < d->a->count; i++) {
		d->a->rows[i].row = &d->r->watched[i];
		d->a->rows[i].id = d->r->watched[i].id;
		d->spans[i] = find_span(d, &d->r->watched[i]);
		if (d->spans[i].count > most)
			most = d->spans[i].count;
	}
	return watch_scratch_open(most, &d->scratch);
}

/* Pools each row's windows, and finds how long the range really was. */
static int pool_rows(struct reading *d)
{
	struct watch_analysis *a = d->a;

	for (uint32_t i = 0; i < a->count; i++) {
		struct watched_answer *answer = &a->rows[i];
		int status = watch_pool(d->spans[i].windows, d->spans[i].count, d->scratch,
					&answer->pooled);
		if (status < 0)
			return status;
		if (answer->pooled.span_ns > a->range_ns)
			a->range_ns = answer->pooled.span_ns; /* windows that ended late */
	}
	return 0;
}

static int judge_rows(struct reading *d)
{
	struct watch_analysis *a = d->a;
	int status = 0;

	for (uint32_t i = 0; i < a->count && status == 0; i++) {
		watch_judge_row(a, &d->spans[i], &a->rows[i]);
		/* Mean and percentile of each are a test. */
		d->spans[i].alpha = 0.05 / (2.0 * a->count);
		status = watch_judge_growth(&d->spans[i], d->scratch, &a->rows[i]);
	}
	return status;
}

static int read_all(struct reading *d)
{
	int status = find_spans(d);

	if (status == 0)
		status = pool_rows(d);
	if (status == 0)
		status = judge_rows(d);
	if (status < 0)
		return status;
	sort_answers(d);
	judge_ranks(d->a);
	find_frame(d);
	sum_up(d->a);
	weigh_price(d->r, d->a);
	return watch_judge_slow(d->r, d->place_of, d->is_whole, d->a);
}

int watch_analysis_open(const struct recording *r, uint64_t from_ns, uint64_t to_ns,
			struct watch_analysis *out, struct err *err)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(reading_free) struct reading d = { .r = r, .a = &a, .row_ns = row_length_ns(r) };
	size_t room = (size_t)r->watched_count + 1;
	int status = set_range(&d, from_ns, to_ns, err);

	if (status < 0)
		return status;
	a.rows = calloc(room, sizeof(*a.rows));
	d.spans = calloc(room, sizeof(*d.spans));
	d.place_of = calloc(room, sizeof(*d.place_of));
	if (a.rows == NULL || d.spans == NULL || d.place_of == NULL)
		status = -ENOMEM;
	if (status == 0) {
		a.count = r->watched_count;
		status = read_all(&d);
	}
	if (status < 0)
		return err_set(err, status, "cannot read the recording: out of memory");
	*out = a;
	a = WATCH_ANALYSIS_EMPTY;
	return 0;
}

void watch_analysis_free(struct watch_analysis *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		calls_row_free(&a->rows[i].pooled);
	free(a->rows);
	*a = WATCH_ANALYSIS_EMPTY;
}

const struct watched_answer *watch_slow_largest(const struct watch_analysis *a)
{
	const struct watched_answer *largest = NULL;

	for (uint32_t i = 0; i < a->functions; i++) {
		const struct watched_answer *answer = &a->rows[i];

		if (answer->slow_share.is_known && answer->slow_share.value > 0 &&
		    (largest == NULL || answer->slow_share.value > largest->slow_share.value))
			largest = answer;
	}
	return largest;
}
