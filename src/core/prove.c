/* prove.c - pairs of runs, their middle with its interval, and the verdict on a claim. */
#include "core/prove.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z95	    1.959963984540054
#define TAIL	    0.025 /* of an interval of 95 %, at each end */
#define EXACT_PAIRS 50u	  /* up to here ranks are counted, beyond they are as good as normal */
#define EXACT_SUMS  (EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1)
#define TELLS_HALF  0.5 /* of the claim: an interval as wide to each side can still tell */
#define MOST_ASKED  1e9 /* pairs; more is no advice */

void prove_order(struct rng *coins, bool *is_with_first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		is_with_first[i] = i % 2 == 0 ? rng_coin(coins, 1, 2) : !is_with_first[i - 1];
}

/* The largest sum of ranks that `pairs` fair coins stay at or under with at most TAIL; -1: there is none. */
static int64_t rank_sum_exact(uint32_t pairs)
{
	double chance[EXACT_SUMS] = { 1 };
	uint32_t sums = 0;
	double below = 0;

	for (uint32_t rank = 1; rank <= pairs; rank++) {
		sums += rank;
		for (uint32_t s = sums + 1; s-- > 0;)
			chance[s] = (chance[s] + (s >= rank ? chance[s - rank] : 0)) / 2;
	}
	for (uint32_t s = 0; s <= sums; s++) {
		below += chance[s];
		if (below > TAIL)
			return (int64_t)s - 1;
	}
	return -1;
}

static int64_t rank_sum(uint32_t pairs)
{
	double n = pairs;

	if (pairs <= EXACT_PAIRS)
		return rank_sum_exact(pairs);
	return (int64_t)(n * (n + 1) / 4 - Z95 * sqrt(n * (n + 1) * (2 * n + 1) / 24) - 0.5);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The logarithms of the ratios; returns how many. */
static uint32_t take_ratios(const struct prove_pair *pairs, uint32_t count, double *out)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].bare_ns > 0 && pairs[i].with_ns > 0)
			out[used++] = log((double)pairs[i].with_ns / (double)pairs[i].bare_ns);
	return used;
}

/* The mean of each two, each with itself too, in order of size. Returns how many. */
static size_t means_by_two(const double *ratios, uint32_t count, double *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = i; k < count; k++)
			out[n++] = (ratios[i] + ratios[k]) / 2;
	qsort(out, n, sizeof(*out), by_size);
	return n;
}

static struct prove_slowdown slowdown_of(const double *means, size_t n, uint32_t pairs)
{
	struct prove_slowdown s = { .pairs = pairs };
	int64_t beyond = rank_sum(pairs);

	if (n == 0)
		return s;
	s.value = expm1((means[(n - 1) / 2] + means[n / 2]) / 2);
	if (beyond < 0)
		return s;
	s.has_interval = true;
	s.error = fmax(s.value - expm1(means[beyond]),
		       expm1(means[n - 1 - (size_t)beyond]) - s.value);
	return s;
}

int prove_slowdown_of(const struct prove_pair *pairs, uint32_t count, struct prove_slowdown *out)
{
	size_t room = (size_t)count * (count + 1) / 2;
	double *ratios = calloc((size_t)count + 1, sizeof(*ratios));
	double *means = calloc(room + 1, sizeof(*means));
	uint32_t used;

	if (ratios == NULL || means == NULL) {
		free(ratios);
		free(means);
		return -ENOMEM;
	}
	used = take_ratios(pairs, count, ratios);
	*out = slowdown_of(means, means_by_two(ratios, used, means), used);
	free(ratios);
	free(means);
	return 0;
}

static bool has_claim(const struct prove_pair *pairs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].has_claim)
			return true;
	return false;
}

/* What the label says is ours, beside what the job takes without us. */
static double claim_of(const struct prove_pair *pairs, uint32_t count)
{
	double ours = 0, bare = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (pairs[i].bare_ns == 0 || pairs[i].with_ns == 0)
			continue;
		ours += (double)pairs[i].claim_ns;
		bare += (double)pairs[i].bare_ns;
	}
	return bare > 0 ? ours / bare : 0;
}

/* An interval becomes half as wide with four times the pairs. */
static uint64_t more_pairs(const struct prove_slowdown *s, double claim)
{
	double ratio = s->error / (claim * TELLS_HALF);
	double pairs = s->pairs;

	if (!s->has_interval)
		return PROVE_LEAST_PAIRS - s->pairs;
	if (claim <= 0) /* no interval is narrow enough beside nothing */
		return 0;
	pairs = fmin(ceil(pairs * ratio * ratio) - pairs, MOST_ASKED);
	return pairs < 1 ? 1 : (uint64_t)pairs;
}

static enum prove_verdict verdict_of(const struct prove_slowdown *s, double claim)
{
	if (!s->has_interval)
		return PROVE_CANNOT_TELL;
	if (claim < s->value - s->error)
		return PROVE_UNDERSTATES;
	if (claim > s->value + s->error)
		return PROVE_OVERSTATES;
	return claim > 0 && s->error <= claim * TELLS_HALF ? PROVE_INSIDE : PROVE_CANNOT_TELL;
}

int prove_judge(const struct prove_pair *pairs, uint32_t count, struct prove_found *out)
{
	struct prove_found found = { .claim = claim_of(pairs, count) };

	if (prove_slowdown_of(pairs, count, &found.slowdown) < 0)
		return -ENOMEM;
	found.verdict =
		has_claim(pairs, count) ? verdict_of(&found.slowdown, found.claim) : PROVE_NO_CLAIM;
	if (found.verdict == PROVE_CANNOT_TELL)
		found.more_pairs = more_pairs(&found.slowdown, found.claim);
	*out = found;
	return 0;
}
