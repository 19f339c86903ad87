/* stats.c - errors within batches for what is sampled, between them for what is measured. */
#include "core/stats.h"

#include <math.h>

#include "core/scoped.h"

#define Z95		1.959963984540054
#define TOO_FEW_SAMPLES 5   /* below, nothing can be said */
#define FEW_SAMPLES	20  /* below, the binomial's own interval is the floor */
#define DRAWN_TO_WHOLE	2.0 /* samples' worth */

/* What the batches say, before any floor. */
struct batch_sums {
	double part, whole, whole_squared;
	size_t count; /* batches with weight */
};

double stats_t95(size_t df)
{
	static const double table[] = {
		INFINITY, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
		2.3060,	  2.2622,  2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314,
		2.1199,	  2.1098,  2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687,
		2.0639,	  2.0595,  2.0555, 2.0518, 2.0484, 2.0452, 2.0423, 2.0395,
	};
	double n = (double)df;

	if (df < ARRAY_LEN(table))
		return table[df];
	/* Cornish and Fisher's expansion: right to five digits from here on. */
	return Z95 + (2.372271 + (2.822499 + 2.555850 / n) / n) / n;
}

static struct batch_sums sum_batches(const uint64_t *part_ns, const uint64_t *whole_ns,
				     size_t batches)
{
	struct batch_sums sums = { 0 };

	for (size_t i = 0; i < batches; i++) {
		double whole = (double)whole_ns[i];

		sums.part += (double)part_ns[i];
		sums.whole += whole;
		sums.whole_squared += whole * whole;
		sums.count += whole_ns[i] != 0;
	}
	return sums;
}

/* Half width from the spread between batches; needs two with weight. Degrees of freedom are those of the batches'
 * weights: as many equal ones as would be this uneven, less one, and one at least. */
static double batch_error(const uint64_t *part_ns, const uint64_t *whole_ns, size_t batches,
			  const struct batch_sums *sums)
{
	double ratio = sums->part / sums->whole, variance = 0;
	double df = sums->whole * sums->whole / sums->whole_squared - 1;

	for (size_t i = 0; i < batches; i++) {
		double rest = (sums->whole - (double)whole_ns[i]) / sums->whole;
		double residual = (double)part_ns[i] - ratio * (double)whole_ns[i];

		if (whole_ns[i] != 0 && rest > 0)
			variance += residual * residual / rest;
	}
	/* Equal weights give a whole number but for the last bit. */
	return stats_t95(df < 1 ? 1 : (size_t)(df + 1e-6)) * sqrt(variance) / sums->whole;
}

/* Half width that so many independent samples would have. */
static double sample_error(double value, double kept)
{
	double middle = (value * kept + 2) / (kept + 4);
	double error = Z95 * sqrt(middle * (1 - middle) / (kept + 4));

	if (value <= 0 || value >= 1)
		return fmax(error, 3 / kept);
	return error;
}

struct share stats_share(const uint64_t *part_ns, const uint64_t *whole_ns, size_t batches,
			 uint64_t part_kept, uint64_t range_kept)
{
	struct batch_sums sums = sum_batches(part_ns, whole_ns, batches);
	struct share share = { .error = 1,
			       .kept = part_kept,
			       .is_coarse = range_kept < STATS_COARSE_BELOW };

	if (sums.whole <= 0)
		return share;
	share.value = fmin(sums.part / sums.whole, 1);
	if (sums.count < 2 || range_kept == 0)
		return share;
	share.error = fmax(batch_error(part_ns, whole_ns, batches, &sums),
			   sample_error(share.value, (double)range_kept));
	share.error = fmin(share.error, 1);
	return share;
}

/* Batches in a row with their samples; at least one. */
struct stratum {
	double part, whole, kept;
};

/* What one stratum adds to the variance; the divisor makes the sum right on average for a steady mix, however few
 * samples a stratum has. */
static double stratum_variance(const struct stratum *s, const struct batch_sums *sums)
{
	double run = fmin(sums->part / sums->whole, 1), drawn = s->kept + DRAWN_TO_WHOLE;
	double weight = s->whole / sums->whole;
	double own = s->whole > 0 ? fmin(s->part / s->whole, 1) : run;
	double share = (own * s->kept + run * DRAWN_TO_WHOLE) / drawn;

	return weight * weight * share * (1 - share) / (s->kept * (1 - s->kept / (drawn * drawn)));
}

/* Each batch is a stratum; one without a sample joins the next that has one (its weight came from a neighbour's
 * group), and what follows the last joins that. */
static double strata_variance(const uint64_t *part_ns, const uint64_t *whole_ns,
			      const uint64_t *kept, size_t batches, const struct batch_sums *sums)
{
	struct stratum open = { 0 };
	double variance = 0;
	size_t last = 0;

	for (size_t i = 0; i < batches; i++)
		last = kept[i] > 0 ? i : last;
	for (size_t i = 0; i < batches; i++) {
		open.part += (double)part_ns[i];
		open.whole += (double)whole_ns[i];
		open.kept += (double)kept[i];
		if (open.kept > 0 && (i < last || i + 1 == batches)) {
			variance += stratum_variance(&open, sums);
			open = (struct stratum){ 0 };
		}
	}
	return variance;
}

struct share stats_sampled_share(const uint64_t *part_ns, const uint64_t *whole_ns,
				 const uint64_t *kept, size_t batches, uint64_t part_kept)
{
	struct batch_sums sums = sum_batches(part_ns, whole_ns, batches);
	struct share share = { .error = 1, .kept = part_kept };
	double all = 0, part;

	for (size_t i = 0; i < batches; i++)
		all += (double)kept[i];
	share.is_coarse = all < STATS_COARSE_BELOW;
	if (sums.whole <= 0)
		return share;
	share.value = fmin(sums.part / sums.whole, 1);
	if (all < TOO_FEW_SAMPLES)
		return share;
	share.error = Z95 * sqrt(strata_variance(part_ns, whole_ns, kept, batches, &sums));
	part = share.value * all;
	if (part < FEW_SAMPLES || all - part < FEW_SAMPLES)
		share.error = fmax(share.error, sample_error(share.value, all));
	share.error = fmin(share.error, 1);
	return share;
}
