/* watch_parts.h - the parts of watch_analysis.h, for its .c files only: which windows are looked at, growth of one row, slow
 * frames of all. */
#ifndef TARE_CORE_WATCH_PARTS_H
#define TARE_CORE_WATCH_PARTS_H

#include "core/watch_analysis.h"

/* Histograms of many windows, added up step by step. */
struct watch_dense {
	uint64_t weight[BUCKET_COUNT];
	uint32_t low, high; /* cells in use: [low, high) */
};

/* What is needed only while reading: one for all rows. */
struct watch_scratch {
	struct watch_dense dense;
	double *values, *weights, *p99_ns; /* owned: by window of a row */
	uint32_t *places;		   /* owned: which windows those are */
};

/* `windows`: the most that one row has. -ENOMEM. */
int watch_scratch_open(uint32_t windows, struct watch_scratch **out);

/* Accepts NULL. */
void watch_scratch_close(struct watch_scratch *scratch);

/* The windows of one row that are in the range. */
struct watch_span {
	const struct window_row *windows; /* borrowed */
	uint32_t count;
	uint64_t row_ns; /* elapsed time of one row of windows */
	uint64_t floor_ns;
	double dearer; /* than by the row's costs, which are the lowest measured, its calls were charged: at least 1 */
	double alpha; /* two-sided chance of one test to be wrong: of all tests together, one in twenty */
};

/* The sum of windows with its histogram. `out` is empty, and is the caller's to free also on failure. -ENOMEM. */
int watch_pool(const struct window_row *windows, uint32_t count, struct watch_scratch *scratch,
	       struct calls_row *out);

/* Two errors that have nothing to do with each other, as one: their squares add. */
double watch_together(double a, double b);

/* The same, but not known where a foreign file's sums gave no number, and without an error where they gave none. */
struct estimate watch_sound(struct estimate e);

/* A part of `whole` that is as much known as `like` is. Not known when `whole` is not over 0. */
struct estimate watch_part_of(double value, double error, double whole, struct estimate like);

/* The costs of the row that were in force first, or the lowest measured since. */
struct pace_costs watch_costs_of(const struct watched_row *row);

/* Fills all of the answer that needs no other row, from its pooled windows; the range's time is known. */
void watch_judge_row(const struct watch_analysis *a, const struct watch_span *span,
		     struct watched_answer *answer);

/* Fills both growths of the answer. -ENOMEM. */
int watch_judge_growth(const struct watch_span *span, struct watch_scratch *scratch,
		       struct watched_answer *answer);

/* Fills slow_share and frames_largest of all answers, and `slow` of the analysis, whose range and rows are known; `is_whole`: all of them, not only those of the range; `place_of`
 * gives the answer of a watched row by its place in the recording. -ENOMEM. */
int watch_judge_slow(const struct recording *r, const uint32_t *place_of, bool is_whole,
		     struct watch_analysis *a);

/* A slow frame's place in its thread. */
struct watch_mark {
	uint32_t tid;
	uint64_t number;
};

/* Finds the distance at which marks come, with some missing and some too many. Sorts them. -ENOMEM. */
int watch_find_rhythm(struct watch_mark *marks, uint32_t count, struct rhythm *out);

/* Student's t for a two-sided chance of `alpha` (above 0, below 1) to be outside; df >= 1. Hill, "Algorithm 396", 1970. */
double watch_quantile_t(double df, double alpha);

#endif
