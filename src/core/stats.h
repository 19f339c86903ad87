/* stats.h - how sure a share is. Errors are half widths of 95 % intervals, from sums by batch (equal spans of the run).
 * A sampled share is judged within each batch: a phase of the run is no error of the samples in it. What is measured
 * window by window is judged by how it differs between them. Pure and thread-safe. */
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

/* The share of `part_ns` in `whole_ns`, which samples found: sums by batch, and `kept`, the samples of the whole in each
 * batch. The first `batches` are used. `part_kept`: samples of the part.
 *
 * The batches are strata in time (Cochran, "Sampling Techniques", 3rd ed., 5A.9): variance adds up from the samples
 * inside each, so a job that does one thing after another is not called unsure of either, and a batch whose samples
 * weigh more counts more. A batch's own share is drawn towards the run's by as much as two samples, so that few
 * samples never look like certainty. Fewer than 20 samples in the part, or beside it, have at least the error of as
 * many independent samples (Agresti and Coull, 1998); none, or all, at least 3 / kept, the rule of three (PAGE.md:
 * "none seen, under 300/n %"). No weight, or fewer than 5 samples: there is no way to know, and the error is 1.0. */
struct share stats_sampled_share(const uint64_t *part_ns, const uint64_t *whole_ns,
				 const uint64_t *kept, size_t batches, uint64_t part_kept);

/* ---- the same for what is measured window by window ----
 * The ratio estimator over equal spans (Cochran, 6.4) with Student's t for the spans there are.
 * Each span's residual is divided by 1 - its part of the whole (MacKinnon and White, 1985, "HC2"): the same as
 * Cochran's n / (n - 1) for equal spans, and right when a few spans hold most of the weight.
 *
 * The share of `part_ns` in `whole_ns`, both sums by batch. Only the first `batches` are used; empty ones say nothing
 * and are left out. `range_kept`: samples in the whole range. `part_kept`: of the part.
 *
 * The error is never under what `range_kept` independent samples would give (Agresti and Coull, 1998): the same
 * number of samples in each batch by chance would show as "± 0", and so would the one sample of a rare place if it
 * fell well. A part that is absent, or the whole, has at least 3 / range_kept: the rule of three, so that 0 and
 * 100 % never claim to be certain (PAGE.md: "none seen, under 300/n %").
 * No weight, no samples, or fewer than two batches with weight: there is no way to know, and the error is 1.0. */
struct share stats_share(const uint64_t *part_ns, const uint64_t *whole_ns, size_t batches,
			 uint64_t part_kept, uint64_t range_kept);

/* Student's t for a two-sided 95 % interval; df 0 gives infinity. */
double stats_t95(size_t df);

#endif
