/* stats.h - how sure a share is. Errors are half widths of 95 % intervals from batch means (ratio estimator
 * over equal spans; Cochran, "Sampling Techniques", 3rd ed., 6.4), with Student's t for the spans there are. Pure. */
#ifndef TARE_CORE_STATS_H
#define TARE_CORE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATS_COARSE_BELOW 100u /* kept samples */

struct share {
	double value;	/* part / whole, 0 when whole is 0 */
	double error;	/* half width, same unit; 1.0 when there is no way to know */
	uint64_t kept;	/* samples behind the part */
	bool is_coarse; /* fewer than 100 kept samples in the range (not: of the part) */
};

/* The share of `part_ns` in `whole_ns`, both sums by batch. Only the first `batches` are used; trailing empty ones
 * are left out. `range_kept`: samples in the whole range. `part_kept`: of the part. */
struct share stats_share(const uint64_t *part_ns, const uint64_t *whole_ns, size_t batches,
			 uint64_t part_kept, uint64_t range_kept);

/* Student's t for a two-sided 95 % interval; df 0 gives infinity. */
double stats_t95(size_t df);

#endif
