/* sim_interval.c - a 50/30/20 spinner through a profile: the 95 % interval that batch means give must hold the truth
 * in at least 90 of 100 runs, and be at most 1.5 times as wide as independent samples of equal weight would give: as many
 * as were kept, and at most the 11,000 that what is kept of a long run is worth.
 * Usage: sim_interval [RUNS]; exit status 1 when it is not so. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/scoped.h"
#include "core/stats.h"
#include "core/units.h"
#include "sim/drive.h"

#define PARTS	   3
#define WORTH_MOST 11000.0

static const struct {
	const char *name;
	uint64_t ticks;
	uint64_t period; /* ticks in which the parts take turns; 0: each tick is drawn */
} cases[] = {
	{ "10 s, random", 1000, 0 },	    { "1 minute, random", 6000, 0 },
	{ "10 minutes, random", 60000, 0 }, { "10 minutes, turns of 0.1 s", 60000, 10 },
	{ "1 hour, random", 360000, 0 },
};

static const double chances[PARTS] = { .5, .3, .2 };

/* What one run says about the parts. */
struct seen {
	struct share shares[PARTS];
	double truth[PARTS]; /* of the process, not of the run, when ticks are drawn */
	uint64_t kept;
};

static uint32_t part_at(uint64_t tick, uint64_t period, struct rng *world)
{
	uint64_t at = period == 0 ? rng_below(world, 100) : tick % period * 100 / period;

	return at < 50 ? 0 : at < 80 ? 1 : 2;
}

static void make_paths(struct frame paths[PARTS][2])
{
	for (uint32_t i = 0; i < PARTS; i++) {
		paths[i][0] = (struct frame){ .kind = FRAME_THREAD, .name = STR_LITERAL("spin") };
		paths[i][1] = (struct frame){ .kind = FRAME_NATIVE, .name = { &"abc"[i], 1 } };
		paths[i][0].key = frame_key(&paths[i][0], 0);
		paths[i][1].key = frame_key(&paths[i][1], 0);
	}
}

static void look(const struct profile *p, struct frame paths[PARTS][2], struct seen *out)
{
	const struct contexts *c = profile_contexts(p);
	uint64_t whole_ns[BATCH_COUNT] = { 0 };
	struct label label = { .pid = 0 };

	profile_label(p, &label);
	out->kept = label.kept;
	for (uint32_t i = 0; i < c->capacity; i++) {
		for (int b = 0; b < BATCH_COUNT; b++)
			whole_ns[b] += c->entries[i].batch_ns[b];
	}
	for (uint32_t i = 0; i < PARTS; i++) {
		uint32_t entry = contexts_find(c, paths_find(profile_paths(p), paths[i], 2));
		const struct context *e = &c->entries[entry];

		out->shares[i] =
			stats_share(e->batch_ns, whole_ns, label.batches, e->kept, label.kept);
	}
}

static bool run_once(size_t which, uint64_t seed, struct seen *out)
{
	struct profile_settings settings = sim_settings(seed);
	struct frame paths[PARTS][2];
	struct profile *p;
	struct rng world;
	uint64_t at_ns = 0;

	if (profile_open(&settings, &p, NULL) < 0)
		return false;
	make_paths(paths);
	rng_seed(&world, ~seed);
	*out = (struct seen){ .kept = 0 };
	for (uint64_t n = 0; n < cases[which].ticks; n++) {
		uint32_t part = part_at(n, cases[which].period, &world);
		struct tick tick = { .weight_ns =
					     9 * NS_PER_MS + rng_below(&world, 2 * NS_PER_MS + 1) };

		tick.from_ns = tick.at_ns = at_ns += tick.weight_ns;
		profile_add(p, &tick, profile_wants(p, &tick) ? paths[part] : NULL, 2);
		out->truth[part] += (double)tick.weight_ns;
	}
	for (uint32_t i = 0; i < PARTS; i++)
		out->truth[i] =
			cases[which].period == 0 ? chances[i] : out->truth[i] / (double)at_ns;
	look(p, paths, out);
	profile_close(p);
	return true;
}

static bool run_case(size_t which, unsigned long runs)
{
	double held = 1e9, widest = 0;
	unsigned long holds[PARTS] = { 0 };
	double width[PARTS] = { 0 };

	for (unsigned long n = 0; n < runs; n++) {
		struct seen seen;

		if (!run_once(which, n + 1, &seen))
			return false;
		for (uint32_t i = 0; i < PARTS; i++) {
			double p = chances[i];
			double theory =
				1.96 * sqrt(p * (1 - p) / fmin((double)seen.kept, WORTH_MOST));

			holds[i] +=
				fabs(seen.shares[i].value - seen.truth[i]) <= seen.shares[i].error;
			width[i] += seen.shares[i].error / theory / (double)runs;
		}
	}
	for (uint32_t i = 0; i < PARTS; i++) {
		held = fmin(held, 100.0 * (double)holds[i] / (double)runs);
		widest = fmax(widest, width[i]);
	}
	printf("%s: the interval holds in %.1f %% of runs at least, and is at most %.2f times as "
	       "wide as theory\n",
	       cases[which].name, held, widest);
	return held >= 90 && widest <= 1.5;
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	bool is_good = runs > 0;

	for (size_t i = 0; i < ARRAY_LEN(cases) && runs > 0; i++)
		is_good &= run_case(i, runs);
	return is_good ? 0 : 1;
}
