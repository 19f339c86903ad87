/* histogram.h - a log-linear histogram of durations, sparse: only steps that hold something, in order. The steps are
 * bucket.h's, so the middle of a step is within 1.05 % of what is in it. One thread at a time. */
#ifndef TARE_CORE_HISTOGRAM_H
#define TARE_CORE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bucket.h"

struct histogram_step {
	uint64_t weight; /* never 0 */
	uint32_t at;
};

struct histogram {
	struct histogram_step *steps; /* owned, `at` rising */
	uint32_t count, capacity;
	uint64_t weight; /* of all steps */
	uint32_t
		coarse; /* every `at` is a multiple of 2^coarse, and stands for so many steps; 0 unless bytes ran short */
};

#define HISTOGRAM_EMPTY	      ((struct histogram){ 0 })
#define HISTOGRAM_MOST_COARSE 11u /* 2^11 steps are more than there are: one holds all */

/* A percentile with its 95 % interval. */
struct percentile {
	uint64_t ns, low_ns, high_ns;
	bool is_known; /* false: nothing was timed */
	bool is_open; /* too few timed for an upper end: `high_ns` is only the longest that was seen */
};

/* Accepts the empty value, and may run twice. */
void histogram_free(struct histogram *h);

/* Adds `weight` to step `at`; weight 0 adds nothing. -EINVAL: no such step; -ENOMEM: nothing changed. */
int histogram_add(struct histogram *h, uint32_t at, uint64_t weight);

/* Adds all of `from`, which may be empty and must not be `into`; the coarser of both then holds for `into`. -ENOMEM: no
 * weight changed. */
int histogram_merge(struct histogram *into, const struct histogram *from);

/* Makes `h` coarse to so many bits, where it is finer: neighbours become one step. No weight is lost; percentiles are read
 * out to the edges of the wider steps. */
void histogram_coarsen(struct histogram *h, uint32_t coarse);

/* The longest duration of the step at `at`, which may stand for many. */
uint64_t histogram_high_ns(const struct histogram *h, uint32_t at);

/* The duration that `part` (0 … 1) of the weight is at or under: even inside a step. 0 when empty. */
uint64_t histogram_quantile_ns(const struct histogram *h, double part);

/* Percentile `part` (above 0, below 1) of calls of which `timed` independent ones were timed, none longer than
 * `max_ns`. The interval is that of the rank (Wilson, 1927, and half a call to either side) read off the histogram (Woodruff, 1952), out to the edges of
 * its steps. An end that so few cannot show (the chance that all of them lie on one side is over 2.5 %) is 0 below,
 * and open above. */
struct percentile histogram_percentile(const struct histogram *h, double part, double timed,
				       uint64_t max_ns);

#endif
