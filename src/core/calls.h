/* calls.h - what became known of one watched function's calls, window by window: at most so many rows, then neighbours
 * merge; and what a range of rows says, with its error. One thread at a time. */
#ifndef TARE_CORE_CALLS_H
#define TARE_CORE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bucket.h"
#include "core/histogram.h"

#define CALLS_MOST_ROWS 360u

/* One window of one function as it was measured; threads and CPUs already added up. All times as read, the timing
 * floor not yet subtracted. */
struct calls_seen {
	uint64_t calls;	     /* every one */
	uint64_t still_open; /* of them: to be timed, and the recording ended first */
	uint64_t span_ns;    /* length of the window */
	uint64_t
		covered_ns; /* how much of it the function was attached; span_ns unless in slices */
	uint64_t firsts, first_ns, first_own_ns; /* timed first calls and their times */
	uint64_t others, weight,
		weight_squared; /* the other timed ones: how many, sums of intervals */
	uint64_t weighted_ns, weighted_own_ns; /* sums of interval x time */
	struct bucket_squares squares;	       /* sum of interval x time x time */
	uint64_t probe_ns; /* probes inside timed calls took so long: already taken off; weighted */
	uint64_t max_ns;
	uint32_t interval; /* in force at the end of the window */
};

/* One row: one window, or neighbours merged. Everything adds up but `max_ns` and `interval`. */
struct calls_row {
	uint64_t at; /* window number / windows in a row */
	uint64_t calls,
		never_timed; /* `calls` are those of windows in which any was timed; the others apart, and those that were
				open when the recording ended */
	uint64_t span_ns, covered_ns;
	uint64_t firsts, first_ns, first_own_ns;
	uint64_t others, weight, weight_squared, weighted_ns, weighted_own_ns;
	uint64_t probe_ns;
	double variance[3]; /* sums of interval x (interval - 1) x time^0, 1, 2 */
	uint64_t max_ns;
	uint32_t interval; /* the largest in force */
	struct histogram histogram;
};

/* All rows of one function. */
struct calls {
	struct calls_row *rows; /* owned */
	uint32_t count, most;
	uint64_t windows_in_row; /* a power of two */
};

#define CALLS_EMPTY ((struct calls){ 0 })

/* What a range says. Times are without the timing floor. */
struct calls_estimate {
	double calls;	      /* exact, but for slices: is_estimate */
	uint64_t never_timed; /* calls of windows in which none was timed: in no number below */
	uint64_t timed;
	double covered; /* share of the time that was watched, 1 unless in slices */
	double total_ns, total_error_ns, mean_ns,
		mean_error_ns; /* errors: half widths of 95 % intervals */
	double own_ns;	       /* total less watched callees */
	uint64_t max_ns;
	double independent; /* timed calls of equal weight that would tell as much */
	uint64_t clamped;   /* how many of total, own, max were under the floor and count as 0 */
	bool is_estimate;   /* calls and totals stand for unwatched time too */
	bool has_total;	    /* false: no call but firsts was timed, and there were others */
	bool has_error;	    /* false: too few timed to tell */
	bool is_coarse; /* under 100 independent ones: where few calls hold most time, errors may be too small */
	bool is_below_floor; /* the mean is under the timing floor */
};

/* `most` rows, 1 … CALLS_MOST_ROWS. -ENOMEM, -EINVAL. */
int calls_open(struct calls *calls, uint32_t most);

/* Accepts the empty value, and may run twice. */
void calls_close(struct calls *calls);

/* Adds window number `window` and its histogram, which is only read; windows come in order. A window without calls adds
 * no row unless it was not covered in full; add it all the same: when the axis has no room neighbours merge, and so all
 * functions do at the same window. -EINVAL: an older window, or numbers that cannot be; -ENOMEM: nothing was added. */
int calls_add(struct calls *calls, uint64_t window, const struct calls_seen *seen,
	      const struct histogram *histogram);

/* Merges neighbours once; for when bytes run short. Do it for all functions. -ENOMEM: nothing lost; call it again. */
int calls_halve(struct calls *calls);

/* Adds `from` to `into`: a range pools its rows so. -ENOMEM: nothing changed. */
int calls_pool(struct calls_row *into, const struct calls_row *from);

/* What a pooled row says: total = firsts + (calls - firsts) x the weighted mean of the others. */
struct calls_estimate calls_estimate(const struct calls_row *row, uint64_t floor_ns);

/* Percentile `part` of the row's calls less the timing floor, never under 0; `out_is_below_floor` says that it is under
 * the floor. */
struct percentile calls_percentile(const struct calls_row *row, double part, uint64_t floor_ns,
				   bool *out_is_below_floor);

/* Can these numbers be? What was never timed has no times, no more were timed than called, sums of squares are not under
 * sums, variances are finite and not negative, and all are below 2^63. */
bool calls_row_is_sound(const struct calls_row *row);

/* Accepts the empty row. */
void calls_row_free(struct calls_row *row);

#endif
