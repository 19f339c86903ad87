/* sim_unbiased.c - 20,000 call paths at three skews through a profile with room for 1,024: over 100 seeds of the coins
 * every estimate must mean the truth, within 4 standard errors: the heaviest paths, bins of lighter ones and whole
 * branches (inclusive), by contexts and by slots. And with every tick kept, `certain` is never above the truth.
 * Usage: sim_unbiased [SEEDS]; exit status 1 when an estimate is biased. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sim/drive.h"

#define PATHS	     20000u
#define TICKS	     60000u
#define ALONE	     40u /* heaviest paths, each for itself */
#define BINS	     20u
#define BRANCHES     16u
#define BRANCH_LEVEL 4
#define PARTS	     (ALONE + BINS + BRANCHES)
#define NODES	     131072u
#define WAYS	     2 /* by contexts, by slots */

/* One stream of ticks and what it truly holds. */
struct world {
	struct stacks stacks;
	uint32_t stream[TICKS];
	double true_ns[PATHS]; /* what had come when the last group closed */
	double all_ns[PATHS];  /* at the end */
	uint32_t bin[PATHS];   /* ALONE + BINS of them, by rank */
	uint32_t branch[PATHS];
	double sum[WAYS][PARTS], squares[WAYS][PARTS];
};

/* From half a base period to one and a half, but the same for a path. */
static uint64_t weight_ns(uint32_t path)
{
	return 5 * NS_PER_MS + path * UINT64_C(7919) % (10 * NS_PER_MS);
}

static struct profile_settings settings_for(uint64_t seed)
{
	struct profile_settings settings = sim_settings(seed);

	settings.limits.paths.nodes = NODES; /* so that nothing has to be cut */
	return settings;
}

static void give(const struct world *w, struct profile *p, uint32_t path, uint64_t at_ns)
{
	struct tick tick = { .from_ns = at_ns, .at_ns = at_ns, .weight_ns = weight_ns(path) };
	struct frame frames[STACKS_MAX_DEPTH];

	if (profile_wants(p, &tick))
		profile_add(p, &tick, frames, stacks_path(&w->stacks, path, frames));
	else
		profile_add(p, &tick, NULL, 0);
}

static struct profile *run_stream(const struct world *w, const struct profile_settings *settings)
{
	struct profile *p;
	uint64_t at_ns = 0;

	if (profile_open(settings, &p, NULL) < 0)
		return NULL;
	for (uint32_t n = 0; n < TICKS; n++) {
		at_ns += weight_ns(w->stream[n]);
		give(w, p, w->stream[n], at_ns);
	}
	return p;
}

/* The truth up to where the last group closed; groups close at the same places whatever the coins. */
static void learn_truth(struct world *w, uint64_t closed_ns)
{
	uint64_t left_ns = closed_ns;

	for (uint32_t n = 0; n < TICKS; n++) {
		uint64_t ns = weight_ns(w->stream[n]);

		w->all_ns[w->stream[n]] += (double)ns;
		ns = ns < left_ns ? ns : left_ns;
		w->true_ns[w->stream[n]] += (double)ns;
		left_ns -= ns;
	}
}

static const double *ranked_by;

static int by_weight(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (ranked_by[x] < ranked_by[y]) - (ranked_by[x] > ranked_by[y]);
}

static void sort_into_parts(struct world *w)
{
	static uint32_t order[PATHS];
	uint64_t branch_keys[BRANCHES] = { 0 };

	for (uint32_t i = 0; i < PATHS; i++)
		order[i] = i;
	ranked_by = w->true_ns;
	qsort(order, PATHS, sizeof(order[0]), by_weight);
	for (uint32_t rank = 0; rank < PATHS; rank++)
		w->bin[order[rank]] =
			rank < ALONE ? rank : ALONE + (rank - ALONE) * BINS / (PATHS - ALONE);
	for (uint32_t i = 0; i < PATHS; i++) {
		struct frame frames[STACKS_MAX_DEPTH];
		uint32_t b = 0;

		stacks_path(&w->stacks, i, frames);
		while (branch_keys[b] != 0 && branch_keys[b] != frames[BRANCH_LEVEL].key)
			b++;
		branch_keys[b] = frames[BRANCH_LEVEL].key;
		w->branch[i] = ALONE + BINS + b;
	}
}

static bool world_make(struct world *w, double alpha)
{
	struct profile_settings settings = settings_for(0);
	struct rng r;
	struct profile *p;
	uint64_t clock_ns = 0, unsampled_ns;
	bool is_exact;

	*w = (struct world){ .sum = { { 0 } } };
	if (stacks_init(&w->stacks, PATHS, alpha) < 0)
		return false;
	rng_seed(&r, 5);
	for (uint32_t n = 0; n < TICKS; n++) {
		w->stream[n] = stacks_draw(&w->stacks, &r);
		clock_ns += weight_ns(w->stream[n]);
	}
	p = run_stream(w, &settings);
	if (p == NULL)
		return false;
	is_exact = sim_is_exact(p, clock_ns, &unsampled_ns);
	profile_close(p);
	learn_truth(w, clock_ns - unsampled_ns);
	sort_into_parts(w);
	return is_exact;
}

/* Adds one seed's estimates. */
static void learn_estimates(struct world *w, const struct profile *p)
{
	static uint32_t path_of[NODES];
	const struct timeline *t = profile_timeline(p);
	double got[WAYS][PARTS] = { { 0 } };

	memset(path_of, 0xff, sizeof(path_of));
	for (uint32_t i = 0; i < PATHS; i++) {
		struct frame frames[STACKS_MAX_DEPTH];
		uint32_t depth = stacks_path(&w->stacks, i, frames);
		uint32_t node = paths_find(profile_paths(p), frames, depth);
		uint32_t entry =
			node == PATHS_NONE ? PATHS_NONE : contexts_find(profile_contexts(p), node);

		if (node != PATHS_NONE)
			path_of[node] = i;
		if (entry == PATHS_NONE)
			continue;
		got[0][w->bin[i]] += (double)profile_contexts(p)->totals_ns[entry];
		got[0][w->branch[i]] += (double)profile_contexts(p)->totals_ns[entry];
	}
	for (uint32_t i = 0; i < t->used; i++) {
		uint32_t path =
			t->slots[i].node == PATHS_NONE ? PATHS_NONE : path_of[t->slots[i].node];

		if (path == PATHS_NONE)
			continue;
		got[1][w->bin[path]] += (double)t->slots[i].weight_ns[STATE_RUNNING];
		got[1][w->branch[path]] += (double)t->slots[i].weight_ns[STATE_RUNNING];
	}
	for (int way = 0; way < WAYS; way++) {
		for (uint32_t k = 0; k < PARTS; k++) {
			w->sum[way][k] += got[way][k];
			w->squares[way][k] += got[way][k] * got[way][k];
		}
	}
}

/* How far, in standard errors, the worst estimate of one way is off. */
static double worst_of(const struct world *w, int way, uint64_t seeds)
{
	double truth[PARTS] = { 0 }, worst = 0;

	for (uint32_t i = 0; i < PATHS; i++) {
		truth[w->bin[i]] += w->true_ns[i];
		truth[w->branch[i]] += w->true_ns[i];
	}
	for (uint32_t k = 0; k < PARTS; k++) {
		double n = (double)seeds, mean = w->sum[way][k] / n;
		double error = sqrt(fmax(w->squares[way][k] / n - mean * mean, 0) / (n - 1));
		double off = fabs(mean - truth[k]);

		if (off > 1 && off > worst * error) /* a nanosecond is what doubles cannot tell */
			worst = off / error;
	}
	return worst;
}

static bool is_certain_true(const struct world *w, uint64_t seed)
{
	struct profile_settings settings = settings_for(seed);
	struct profile *p;
	bool is_true = true;

	settings.keeps_all = true;
	p = run_stream(w, &settings);
	if (p == NULL)
		return false;
	for (uint32_t i = 0; i < PATHS; i++) {
		struct frame frames[STACKS_MAX_DEPTH];
		uint32_t depth = stacks_path(&w->stacks, i, frames);
		uint32_t node = paths_find(profile_paths(p), frames, depth);
		uint32_t entry =
			node == PATHS_NONE ? PATHS_NONE : contexts_find(profile_contexts(p), node);

		if (entry != PATHS_NONE)
			is_true &= (double)profile_contexts(p)->entries[entry].certain_ns <=
				   w->all_ns[i];
	}
	profile_close(p);
	return is_true;
}

static bool check_skew(double alpha, uint64_t seeds)
{
	static struct world w;
	bool is_certain = true;
	double by_contexts, by_slots;

	if (!world_make(&w, alpha)) {
		printf("alpha %.1f: cannot run, or sums are not exact\n", alpha);
		stacks_free(&w.stacks);
		return false;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct profile_settings settings = settings_for(seed);
		struct profile *p = run_stream(&w, &settings);

		if (p == NULL)
			return false;
		learn_estimates(&w, p);
		profile_close(p);
	}
	for (uint64_t seed = 1; seed <= 4; seed++)
		is_certain &= is_certain_true(&w, seed);
	by_contexts = worst_of(&w, 0, seeds);
	by_slots = worst_of(&w, 1, seeds);
	printf("alpha %.1f: worst of %u estimates is %.2f standard errors off by contexts, %.2f by "
	       "slots; certain is %s the truth\n",
	       alpha, PARTS, by_contexts, by_slots, is_certain ? "never above" : "ABOVE");
	stacks_free(&w.stacks);
	return by_contexts <= 4 && by_slots <= 4 && is_certain;
}

int main(int argc, char **argv)
{
	static const double alphas[] = { 0.6, 1.0, 1.4 };
	unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	bool is_good = seeds >= 2;

	for (size_t i = 0; i < ARRAY_LEN(alphas) && seeds >= 2; i++)
		is_good &= check_skew(alphas[i], seeds);
	return is_good ? 0 : 1;
}
