/* watch_row.c - what one row's windows say of it alone. */
#include "core/watch_parts.h"

#include <math.h>

#include "core/pace.h"
#include "core/units.h"

#define SPREAD_WINDOWS 6u /* fewer do not tell how much own time differs between them */

double watch_together(double a, double b)
{
	return sqrt(a * a + b * b);
}

struct estimate watch_sound(struct estimate e)
{
	if (!e.is_known || !isfinite(e.value))
		return (struct estimate){ 0 };
	if (!isfinite(e.error))
		e.has_error = false;
	if (!e.has_error)
		e.error = 0;
	return e;
}

struct estimate watch_part_of(double value, double error, double whole, struct estimate like)
{
	if (!like.is_known || whole <= 0)
		return (struct estimate){ 0 };
	return watch_sound((struct estimate){ value / whole, error / whole, true, like.has_error });
}

/* Calls, also those of the time that slices left out: the ratio of calls to covered time and how it differs between
 * windows (Cochran, 6.4), less for the part that was seen (2.6). */
static struct estimate count_calls(const struct watch_span *span, const struct calls_row *pooled)
{
	double calls = (double)pooled->calls + (double)pooled->never_timed;
	double covered = (double)pooled->covered_ns, all = (double)pooled->span_ns;
	struct estimate e = { calls, 0, true, true };
	double squares = 0, seen = 0;

	if (pooled->covered_ns >= pooled->span_ns)
		return e;
	e.value = calls * all / covered; /* not covered at all: no number */
	for (uint32_t i = 0; i < span->count; i++) {
		const struct window_row *w = &span->windows[i];
		double residual = (double)w->calls + (double)w->never_timed -
				  calls / covered * (double)w->covered_ns;

		squares += residual * residual;
		seen += w->covered_ns > 0;
	}
	e.has_error = seen >= 2;
	if (e.has_error)
		e.error = stats_t95((size_t)seen - 1) * sqrt(squares * seen / (seen - 1)) *
			  sqrt((all - covered) * all) / covered;
	return watch_sound(e);
}

/* Half width of the mean own time of the others, from how neighbouring windows differ: the successive differences of
 * systematic samples (Wolter, "Introduction to Variance Estimation", 8.2), which a slow drift leaves alone. 0: too few. */
static double own_spread_ns(const struct watch_span *span, const struct calls_row *pooled)
{
	double mean_ns = (double)pooled->weighted_own_ns / (double)pooled->weight;
	double squares = 0, before = 0, count = 0;

	for (uint32_t i = 0; i < span->count; i++) {
		const struct window_row *w = &span->windows[i];
		double residual = (double)w->weighted_own_ns - mean_ns * (double)w->weight;

		if (w->weight == 0)
			continue;
		if (count > 0)
			squares += (residual - before) * (residual - before);
		before = residual;
		count++;
	}
	if (count < SPREAD_WINDOWS)
		return 0;
	return stats_t95((size_t)count - 1) * sqrt(squares / 2 * count / (count - 1)) /
	       (double)pooled->weight;
}

/* Own time. Where it is less than the total its squares were not kept: its part of the total's error at least, and the
 * spread between windows; with too few of those all of the total's error. */
static struct estimate own_time(const struct watch_span *span, const struct watched_answer *answer)
{
	const struct calls_estimate *calls = &answer->calls;
	const struct calls_row *pooled = &answer->pooled;
	struct estimate e = { .is_known = calls->has_total, .has_error = calls->has_error };
	double rest = (double)(pooled->calls - pooled->firsts), spread_ns;

	if (!e.is_known)
		return e;
	e.value = calls->own_ns;
	e.error = calls->total_error_ns;
	if (!e.has_error || pooled->weight == 0 || calls->own_ns >= calls->total_ns)
		return watch_sound(e);
	spread_ns = own_spread_ns(span, pooled) * rest / fmax(calls->covered, 1e-9);
	if (spread_ns > 0)
		e.error = fmax(spread_ns, e.error * calls->own_ns / calls->total_ns);
	return watch_sound(e);
}

/* In slices, how many calls there were is a doubt of its own. */
static void add_doubt_of_count(struct watched_answer *answer)
{
	double part = answer->count.value > 0 ? answer->count.error / answer->count.value : 0;

	if (!answer->calls.is_estimate)
		return;
	answer->calls.has_error &= answer->count.has_error;
	answer->own_ns.has_error &= answer->count.has_error;
	answer->calls.total_error_ns =
		watch_together(answer->calls.total_error_ns, part * answer->calls.total_ns);
	answer->own_ns.error = watch_together(answer->own_ns.error, part * answer->own_ns.value);
	answer->own_ns = watch_sound(answer->own_ns);
}

struct pace_costs watch_costs_of(const struct watched_row *row)
{
	const struct pace_costs measured = { row->untimed_ps, row->extra_ps, row->hook_ps };
	const struct pace_costs assumed = { row->assumed_untimed_ps, row->assumed_extra_ps,
					    row->assumed_hook_ps };

	return pace_costs_in_force(&measured, &assumed);
}

/* How often it is called. A probe's time is not the program's: without it the same calls would have taken so much less. */
static void judge_rate(uint64_t watched_ns, double dearer, struct watched_answer *answer)
{
	const struct calls_row *pooled = &answer->pooled;
	const struct pace_costs costs = watch_costs_of(answer->row);
	uint64_t calls = pooled->calls + pooled->never_timed;
	double charge_ns = dearer *
			   (double)pace_charge_ps(&costs, calls, pooled->firsts + pooled->others) /
			   (double)PS_PER_NS;

	if (watched_ns == 0)
		return;
	answer->counted_a_second = (double)calls / (double)watched_ns * (double)NS_PER_S;
	answer->slowed = fmin(charge_ns / (double)watched_ns, 1);
	answer->is_at_least = answer->slowed > WATCH_SLOWED_MOST;
	answer->a_second = answer->counted_a_second;
	if (!answer->is_at_least)
		answer->a_second /= 1 - answer->slowed;
}

static void judge_firsts(struct watched_answer *answer, uint64_t floor_ns)
{
	const struct calls_row *pooled = &answer->pooled;
	double rest = (double)(pooled->calls - pooled->firsts) / fmax(answer->calls.covered, 1e-9);

	if (pooled->firsts > 0) {
		answer->first_mean_ns.is_known = true;
		answer->first_mean_ns.value = fmax(
			(double)pooled->first_ns / (double)pooled->firsts - (double)floor_ns, 0);
	}
	if (pooled->weight > 0 && answer->calls.has_total) {
		answer->later_mean_ns.is_known = true;
		answer->later_mean_ns.value = fmax(
			(double)pooled->weighted_ns / (double)pooled->weight - (double)floor_ns, 0);
		answer->later_mean_ns.has_error = answer->calls.has_error && rest > 0;
		answer->later_mean_ns.error = answer->calls.total_error_ns / rest;
		answer->later_mean_ns = watch_sound(answer->later_mean_ns);
	}
}

static void judge_intervals(const struct watch_span *span, struct watched_answer *answer)
{
	for (uint32_t i = 0; i < span->count; i++) {
		uint32_t interval = span->windows[i].interval;

		if (interval == 0)
			continue;
		if (answer->interval_least == 0 || interval < answer->interval_least)
			answer->interval_least = interval;
		if (interval > answer->interval_largest)
			answer->interval_largest = interval;
	}
	if (answer->interval_least == 0)
		answer->interval_least = answer->interval_largest = answer->row->interval;
}

void watch_judge_row(const struct watch_analysis *a, const struct watch_span *span,
		     struct watched_answer *answer)
{
	const struct calls_row *pooled = &answer->pooled;
	uint64_t unseen_ns = pooled->span_ns - pooled->covered_ns;
	uint64_t watched_ns = a->range_ns > unseen_ns ? a->range_ns - unseen_ns : 0;
	double rest = (double)(pooled->calls - pooled->firsts);

	answer->calls = calls_estimate(pooled, span->floor_ns);
	answer->calls.has_error &= isfinite(answer->calls.total_error_ns);
	answer->count = count_calls(span, pooled);
	answer->covered = a->range_ns > 0 ? (double)watched_ns / (double)a->range_ns : 1;
	answer->p50 = calls_percentile(pooled, 0.5, span->floor_ns, &answer->p50_below_floor);
	answer->p90 = calls_percentile(pooled, 0.9, span->floor_ns, &answer->p90_below_floor);
	answer->p99 = calls_percentile(pooled, 0.99, span->floor_ns, &answer->p99_below_floor);
	answer->own_ns = own_time(span, answer);
	add_doubt_of_count(answer);
	answer->share_of_run = watch_part_of(answer->own_ns.value, answer->own_ns.error,
					     (double)a->range_ns, answer->own_ns);
	answer->total_of_run = watch_part_of(
		answer->calls.total_ns, answer->calls.total_error_ns, (double)a->range_ns,
		(struct estimate){ .is_known = answer->calls.has_total,
				   .has_error = answer->calls.has_error });
	answer->taken_off_ns = (double)pooled->probe_ns / fmax(answer->calls.covered, 1e-9);
	if (pooled->weight > 0)
		answer->taken_off_ns *= rest / (double)pooled->weight;
	answer->rows = span->count;
	if (a->range_ns > 0)
		answer->at_most_of_run = calls_estimate(pooled, 0).own_ns / (double)a->range_ns;
	judge_rate(watched_ns, span->dearer, answer);
	judge_firsts(answer, span->floor_ns);
	judge_intervals(span, answer);
}
