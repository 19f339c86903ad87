/* calls.c - rows of one function's windows. A row's own interval is nearly one number, so what a variance needs with the
 * square of the weight is its sum with the weight times that number: then rows add up. */
#include "core/calls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/scoped.h"
#include "core/stats.h"

#define TWO_TO_32 4294967296.0

int calls_open(struct calls *calls, uint32_t most)
{
	if (most == 0 || most > CALLS_MOST_ROWS)
		return -EINVAL;

	struct calls_row *rows = calloc(most, sizeof(*rows));

	if (rows == NULL)
		return -ENOMEM;
	*calls = (struct calls){ .rows = rows, .most = most, .windows_in_row = 1 };
	return 0;
}

void calls_row_free(struct calls_row *row)
{
	histogram_free(&row->histogram);
	*row = (struct calls_row){ 0 };
}

void calls_close(struct calls *calls)
{
	for (uint32_t i = 0; i < calls->count; i++)
		calls_row_free(&calls->rows[i]);
	free(calls->rows);
	*calls = CALLS_EMPTY;
}

int calls_pool(struct calls_row *into, const struct calls_row *from)
{
	int status = histogram_merge(&into->histogram, &from->histogram);

	if (status < 0)
		return status;
	into->calls += from->calls;
	into->never_timed += from->never_timed;
	into->span_ns += from->span_ns;
	into->covered_ns += from->covered_ns;
	into->firsts += from->firsts;
	into->first_ns += from->first_ns;
	into->first_own_ns += from->first_own_ns;
	into->others += from->others;
	into->weight += from->weight;
	into->weight_squared += from->weight_squared;
	into->weighted_ns += from->weighted_ns;
	into->weighted_own_ns += from->weighted_own_ns;
	into->probe_ns += from->probe_ns;
	for (int i = 0; i < 3; i++)
		into->variance[i] += from->variance[i];
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	if (from->interval > into->interval)
		into->interval = from->interval;
	return 0;
}

static bool is_sound(const struct calls_seen *seen)
{
	return seen->firsts <= seen->calls && seen->still_open <= seen->calls - seen->firsts &&
	       seen->covered_ns <= seen->span_ns && seen->weight >= seen->others &&
	       (seen->others > 0 || seen->weighted_ns == 0);
}

bool calls_row_is_sound(const struct calls_row *row)
{
	const uint64_t all[] = { row->calls,	row->never_timed,     row->span_ns,
				 row->first_ns, row->first_own_ns,    row->weight_squared,
				 row->probe_ns, row->weighted_ns,     row->weighted_own_ns,
				 row->max_ns,	row->histogram.weight };
	uint64_t of_firsts = row->first_ns | row->first_own_ns;
	uint64_t of_others =
		row->weight | row->weight_squared | row->weighted_ns | row->weighted_own_ns;
	uint64_t of_timed = row->calls | row->max_ns | row->probe_ns;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] > INT64_MAX)
			return false;
	for (int i = 0; i < 3; i++)
		if (!isfinite(row->variance[i]) || row->variance[i] < 0)
			return false;
	return row->firsts <= row->calls && row->others <= row->calls - row->firsts &&
	       row->covered_ns <= row->span_ns && row->weight >= row->others &&
	       row->weight_squared >= row->weight && (row->firsts > 0 || of_firsts == 0) &&
	       (row->others > 0 || of_others == 0) &&
	       (row->firsts + row->others > 0 || of_timed == 0);
}

/* The row of one window, without its histogram. */
static struct calls_row row_of(const struct calls_seen *seen)
{
	bool is_timed = seen->firsts + seen->others > 0;
	struct calls_row row = {
		.calls = is_timed ? seen->calls - seen->still_open : 0,
		.never_timed = is_timed ? seen->still_open : seen->calls,
		.span_ns = seen->span_ns,
		.covered_ns = seen->covered_ns,
		.firsts = seen->firsts,
		.first_ns = seen->first_ns,
		.first_own_ns = seen->first_own_ns,
		.others = seen->others,
		.weight = seen->weight,
		.weight_squared = seen->weight_squared,
		.weighted_ns = seen->weighted_ns,
		.weighted_own_ns = seen->weighted_own_ns,
		.probe_ns = seen->probe_ns,
		.max_ns = seen->max_ns,
		.interval = seen->interval,
	};

	if (seen->weight == 0)
		return row;

	double beyond_one = (double)seen->weight_squared / (double)seen->weight - 1;

	row.variance[0] = beyond_one * (double)seen->weight;
	row.variance[1] = beyond_one * (double)seen->weighted_ns;
	row.variance[2] =
		beyond_one * ((double)seen->squares.high * TWO_TO_32 + (double)seen->squares.low);
	return row;
}

/* Merges what falls into one row; what could not be merged stays as it is. */
int calls_halve(struct calls *calls)
{
	uint32_t kept = 0;

	/* First all that can fail: the histograms' room. A half merged one would count twice. */
	for (uint32_t i = 1; i < calls->count; i++) {
		struct calls_row *row = &calls->rows[i], *before = row - 1;

		if (row->at / 2 != before->at / 2)
			continue;

		int status = histogram_merge(&before->histogram, &row->histogram);

		if (status < 0)
			return status;
		histogram_free(&row->histogram);
	}
	for (uint32_t i = 0; i < calls->count; i++) {
		struct calls_row row = calls->rows[i];

		row.at /= 2;
		if (kept > 0 && calls->rows[kept - 1].at == row.at)
			(void)calls_pool(&calls->rows[kept - 1],
					 &row); /* no histogram: cannot fail */
		else
			calls->rows[kept++] = row;
	}
	for (uint32_t i = kept; i < calls->count; i++)
		calls->rows[i] = (struct calls_row){ 0 };
	calls->count = kept;
	calls->windows_in_row *= 2;
	return 0;
}

int calls_add(struct calls *calls, uint64_t window, const struct calls_seen *seen,
	      const struct histogram *histogram)
{
	struct calls_row row = row_of(seen);

	row.histogram = *histogram; /* borrowed: only read */
	if (!is_sound(seen) || !calls_row_is_sound(&row))
		return -EINVAL;
	while (window / calls->windows_in_row >= calls->most) {
		int status = calls_halve(calls);

		if (status < 0)
			return status;
	}
	row.at = window / calls->windows_in_row;

	uint64_t last_at = calls->count > 0 ? calls->rows[calls->count - 1].at : 0;

	if (row.at < last_at)
		return -EINVAL;
	if (seen->calls == 0 && seen->covered_ns == seen->span_ns)
		return 0;
	if (calls->count > 0 && last_at == row.at)
		return calls_pool(&calls->rows[calls->count - 1], &row);

	struct calls_row fresh = { .at = row.at };
	int status = calls_pool(&fresh, &row);

	if (status < 0)
		return status;
	calls->rows[calls->count++] = fresh;
	return 0;
}

/* Student's t for a number of degrees that need not be whole. */
static double t95(double independent)
{
	return stats_t95(independent < 2 ? 1 : (size_t)(independent - 1 + 1e-6));
}

/* Half width of the mean of the others: the ratio estimator's variance (Cochran, 6.4), where each call stands for
 * interval - 1 that were not timed; at interval 1 nothing is left unknown. */
static double mean_error_ns(const struct calls_row *row, double mean_ns, double independent)
{
	double weight = (double)row->weight;
	double sum = row->variance[2] - 2 * mean_ns * row->variance[1] +
		     mean_ns * mean_ns * row->variance[0];

	return t95(independent) * sqrt(fmax(sum, 0) * independent / (independent - 1)) / weight;
}

/* Takes the floor off `count` readings; what would be negative is 0 and counted. */
static double less_floor(double sum_ns, double count, uint64_t floor_ns, uint64_t *clamped)
{
	double net_ns = sum_ns - count * (double)floor_ns;

	if (net_ns >= 0)
		return net_ns;
	(*clamped)++;
	return 0;
}

static void estimate_total(const struct calls_row *row, uint64_t floor_ns, struct calls_estimate *e)
{
	double rest = (double)(row->calls - row->firsts);
	double mean_ns = 0, own_ns = 0;

	e->has_total = row->others > 0 || (rest <= 0 && row->firsts > 0);
	if (!e->has_total)
		return;
	if (row->others > 0) {
		mean_ns = (double)row->weighted_ns / (double)row->weight;
		own_ns = (double)row->weighted_own_ns / (double)row->weight;
	}
	e->total_ns = less_floor((double)row->first_ns + rest * mean_ns, (double)row->calls,
				 floor_ns, &e->clamped);
	e->own_ns = less_floor((double)row->first_own_ns + rest * own_ns, (double)row->calls,
			       floor_ns, &e->clamped);
	e->mean_ns = e->total_ns / (double)row->calls;
	e->has_error =
		rest <= 0 || e->independent >= 2 || (row->others > 0 && row->variance[0] <= 0);
	if (rest > 0 && e->has_error && row->variance[0] > 0)
		e->total_error_ns = rest * mean_error_ns(row, mean_ns, e->independent);
	e->mean_error_ns = e->total_error_ns / (double)row->calls;
	e->is_coarse = rest > 0 && row->variance[0] > 0 && e->independent < STATS_COARSE_BELOW;
	e->is_below_floor = e->mean_ns < (double)floor_ns;
}

struct calls_estimate calls_estimate(const struct calls_row *row, uint64_t floor_ns)
{
	struct calls_estimate e = { .calls = (double)row->calls,
				    .never_timed = row->never_timed,
				    .timed = row->firsts + row->others,
				    .covered = 1 };

	if (row->weight_squared > 0)
		e.independent =
			(double)row->weight * (double)row->weight / (double)row->weight_squared;
	estimate_total(row, floor_ns, &e);
	if (e.timed > 0)
		e.max_ns = (uint64_t)less_floor((double)row->max_ns, 1, floor_ns, &e.clamped);
	if (row->covered_ns < row->span_ns) {
		double grow =
			row->covered_ns > 0 ? (double)row->span_ns / (double)row->covered_ns : 0;

		e.is_estimate = true;
		e.covered = (double)row->covered_ns / (double)row->span_ns;
		e.calls *= grow;
		e.total_ns *= grow;
		e.total_error_ns *= grow;
		e.own_ns *= grow;
	}
	return e;
}

static uint64_t less_floor_ns(uint64_t ns, uint64_t floor_ns)
{
	return ns > floor_ns ? ns - floor_ns : 0;
}

struct percentile calls_percentile(const struct calls_row *row, double part, uint64_t floor_ns,
				   bool *out_is_below_floor)
{
	double weight = (double)row->firsts + (double)row->weight;
	double squared = (double)row->firsts + (double)row->weight_squared;
	double independent = squared > 0 ? weight * weight / squared : 0;
	struct percentile p = histogram_percentile(&row->histogram, part, independent, row->max_ns);

	p.ns = less_floor_ns(p.ns, floor_ns);
	p.low_ns = less_floor_ns(p.low_ns, floor_ns);
	p.high_ns = less_floor_ns(p.high_ns, floor_ns);
	*out_is_below_floor = p.is_known && p.ns < floor_ns;
	return p;
}
