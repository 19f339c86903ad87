/* watch_analysis.h - what a watch's rows say: each function over a range of the run, its share of run and frame, slow
 * frames, their rhythm, and what grew. Read only; report, page and compare take their numbers from here. Pure. */
#ifndef TARE_CORE_WATCH_ANALYSIS_H
#define TARE_CORE_WATCH_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/calls.h"
#include "core/err.h"
#include "core/recording.h"
#include "core/stats.h"

/* A number with the half width of its 95 % interval. */
struct estimate {
	double value, error;
	bool is_known;	/* false: nothing was timed */
	bool has_error; /* false: too few timed to tell */
};

/* How a percentile or mean moved over the run. */
struct growth {
	bool has_grown; /* the change is larger than both errors together */
	double from_ns, to_ns, error_ns;
	uint64_t at_ns; /* elapsed: where it changed most */
};

/* One watched row over the whole range. */
struct watched_answer {
	uint32_t id;
	const struct watched_row *row; /* borrowed from the recording */
	struct calls_row pooled;       /* owned */
	struct calls_estimate calls;
	struct percentile p50, p90, p99;
	bool p50_below_floor, p90_below_floor, p99_below_floor;
	struct estimate share_of_run; /* of elapsed time: of one CPU or thread */
	struct estimate
		share_of_frame;	    /* own time per time of all frames; not known without frames */
	struct estimate slow_share; /* of the time of the slow frames kept */
	double a_second;
	bool is_at_least; /* a_second: probes slow down what they count */
	bool cannot_rank; /* what probes inside it took is as much as what is left: its place in the order cannot be told */
	uint32_t interval_least, interval_largest; /* ever in force */
	struct growth mean, p99_growth;
};

/* Slow frames that come at equal distances. */
struct rhythm {
	bool is_known;
	uint64_t every;	   /* frames */
	uint64_t hits, of; /* how many gaps are a multiple of it, of how many */
};

struct watch_analysis {
	struct watched_answer *
		rows; /* owned; largest own time first, those never timed last, those not watched behind */
	uint32_t count;
	uint32_t watched;  /* rows before those not watched */
	uint64_t floor_ps; /* largest of the rows */
	bool has_frames;
	uint32_t frame; /* index of the frame's row, with has_frames */
	struct rhythm rhythm;
	struct estimate all_of_run; /* own time of all functions together */
	struct estimate price;	    /* share of one CPU: own CPU and what was charged */
};

/* From 0 to UINT64_MAX: the whole run. Ranges are whole windows. -ENOMEM, -EINVAL: no window in the range. */
int watch_analysis_open(const struct recording *r, uint64_t from_ns, uint64_t to_ns,
			struct watch_analysis *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void watch_analysis_free(struct watch_analysis *a);

#endif
