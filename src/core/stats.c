/* stats.c - batch means, and the floor below them. */
#include "core/stats.h"

#include <math.h>

#include "core/scoped.h"

#define Z95 1.959963984540054

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
