/* watch_analysis.h - what a watch's rows say: each function over a range of the run, its share of run and frame, slow
 * frames, their rhythm, and what grew. Read only; report, page and compare take their numbers from here. Times are without
 * the timing floor. Memory and time are bounded by the recording's rows; the same recording gives the same order. Pure. */
#ifndef TARE_CORE_WATCH_ANALYSIS_H
#define TARE_CORE_WATCH_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/calls.h"
#include "core/err.h"
#include "core/recording.h"
#include "core/stats.h"

/* A probe that takes more of the time it covers than this slows what it counts too much to correct for: up to here costs that are
 * off by a tenth are 3 % of the rate. */
#define WATCH_SLOWED_MOST 0.25

/* Calibrated costs may be off by as much: what is taken off for probes inside a call is no surer than that. */
#define WATCH_COST_DOUBT 0.3

#define WATCH_RHYTHM_LEAST 5u /* slow frames; below, no rhythm can be told */

/* A number with the half width of its 95 % interval. An exact one has an error of 0. */
struct estimate {
	double value, error;
	bool is_known;	/* false: nothing was timed; the rest is 0 */
	bool has_error; /* false: too few timed to tell */
};

/* How a mean or percentile moved over the run. Never of fewer than nine windows with timed calls. */
struct growth {
	bool has_grown; /* by a fifth or more, and by more than all errors, many functions allowed for */
	bool is_step; /* at once: from and to are before and after `at_ns`; else little by little, and they are
			 * the first and the last third of the windows in which it ran */
	double from_ns, to_ns;
	double error_ns; /* of to - from */
	uint64_t at_ns;	 /* elapsed: where it changed most */
};

/* One watched row over the whole range. */
struct watched_answer {
	uint32_t id;
	const struct watched_row *row; /* borrowed from the recording */
	struct calls_row pooled;       /* owned */
	struct calls_estimate calls;   /* total, mean, max, never timed; see calls.h */
	struct estimate count;	       /* calls with those never timed: exact, but for slices */
	double covered; /* share of the range in which it was watched: 1, but for slices */
	struct percentile p50, p90, p99;
	bool p50_below_floor, p90_below_floor, p99_below_floor;
	struct estimate own_ns; /* own time: total less watched callees */
	struct estimate
		share_of_run; /* own time of the range's: 1 is one thread all the time, more are more */
	struct estimate total_of_run; /* the same with callees; each call of a recursion counts */
	struct estimate
		share_of_frame; /* own time of that of all frames; not known without frames */
	struct estimate
		slow_share; /* of the time of slow frames: what they all would say, by those kept */
	uint64_t frames_largest; /* kept slow frames of which it is the largest part */
	double a_second; /* calls, with those never timed, while it was watched; corrected for the time of its probe,
			  * as if calls came one after another: what was counted is counted_a_second */
	double counted_a_second;
	double slowed;	  /* share of the watched time that its probe took */
	bool is_at_least; /* a_second: slowed is over WATCH_SLOWED_MOST, and it is not corrected */
	double taken_off_ns; /* of probes inside its calls, over all calls: off total and own already */
	double at_most_of_run; /* own time of the run with the floor left in it: what calls under the floor take at most */
	bool cannot_rank; /* its place in the order cannot be told: what was taken off is as much as what is left, or so
			   * much that its doubt reaches another row's own time */
	struct estimate first_mean_ns, later_mean_ns; /* first calls of windows, and the others */
	uint32_t interval_least, interval_largest;    /* ever in force, by row */
	uint32_t rows;				      /* of windows, in the range */
	struct growth mean_growth, p99_growth;
};

/* Slow frames that come at equal distances. */
struct rhythm {
	bool is_known;
	uint64_t every;	   /* frames */
	uint64_t hits, of; /* how many gaps are a multiple of it, of how many */
};

/* Kept slow frames of the range, and what all of them stand for: the ten worst for themselves, each other one for as many
 * as its kind has slow frames to kept ones. */
struct slow_summary {
	uint64_t kept; /* in the range */
	struct estimate
		count; /* slow frames of the range; exact over the whole run, and when all are kept */
	struct estimate unnamed; /* share of their time that is in no watched function */
	bool is_estimate; /* not every call in them was timed: shares stand for those that were not, too */
	bool is_at_least; /* parts of some frames were scaled down to it, so shares are at least, unnamed at most */
	struct rhythm rhythm;
};

struct watch_analysis {
	struct watched_answer *
		rows; /* owned. First functions: largest own time first, then those called and never
				      * timed, then those not called; then tasks and frames; then those not watched */
	uint32_t functions;	 /* rows [0, functions): probes and scopes */
	uint32_t watched;	 /* rows [functions, watched): tasks and frames */
	uint32_t count;		 /* rows [watched, count): with why_not, and never called */
	uint32_t timed;		 /* rows [0, timed): functions with a known own time */
	uint32_t called;	 /* rows [timed, called): called, and own time not known */
	uint64_t from_ns, to_ns; /* the range, in whole rows of windows */
	uint64_t range_ns;	 /* its time: what shares of the run are of */
	uint64_t floor_ps;	 /* largest of the rows */
	bool has_frames;
	uint32_t frame;	  /* index of the frame's row, with has_frames */
	uint64_t frames;  /* in the range */
	double frames_ns; /* their time */
	struct slow_summary slow;
	struct estimate all_of_run; /* own time of all functions together */
	double all_at_most_of_run; /* upper end of that, with the floor left in rows whose mean is under it */
	bool all_is_at_least; /* some were called, and their time is not known */
	uint64_t spent_ns; /* what watching took over the whole run: own CPU and what was charged */
	struct share
		price; /* that, as a share of one CPU; the error comes from the ledger's windows, start-up aside;
			     * 1.0: too few windows to tell */
};

#define WATCH_ANALYSIS_EMPTY ((struct watch_analysis){ .rows = NULL })

/* Reads the rows of windows that touch [from_ns, to_ns), elapsed time; from 0 to UINT64_MAX: the whole run, which may have
 * no window at all. `out` borrows from `r`. -EINVAL: no window in the range; -ENOMEM. */
int watch_analysis_open(const struct recording *r, uint64_t from_ns, uint64_t to_ns,
			struct watch_analysis *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void watch_analysis_free(struct watch_analysis *a);

/* The rows of windows of one watched row, in order; `out_count` may be 0. Borrowed. */
const struct window_row *watch_windows(const struct recording *r, uint32_t id, uint32_t *out_count);

/* Elapsed time at which the row of windows begins. */
uint64_t watch_window_starts_ns(const struct recording *r, const struct window_row *window);

/* The function with the largest share of slow frames; NULL: none has any. */
const struct watched_answer *watch_slow_largest(const struct watch_analysis *a);

#endif
