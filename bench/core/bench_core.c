/* bench_core.c - what one sample costs in core: of a path that is known (the usual case), of one that is new while
 * everything is full, and of a tick that is skipped. Best of 7 rounds, in CPU time, in ns; one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/profile.h"
#include "core/units.h"
#include "sim/drive.h"

#define ROUNDS	  7
#define PATHS	  64u
#define MAX_DEPTH 40u
#define NEW_PATHS 100000u

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Stacks of exactly `depth` frames. */
struct fixed_paths {
	struct frame (*frames)[MAX_DEPTH]; /* owned */
	uint32_t depth;
};

static bool make_paths(struct fixed_paths *f, const struct stacks *stacks, uint32_t depth)
{
	struct rng r;

	rng_seed(&r, 7);
	f->depth = depth;
	f->frames = calloc(PATHS, sizeof(*f->frames));
	for (uint32_t i = 0; f->frames != NULL && i < PATHS; i++) {
		f->frames[i][0] = stacks->thread;
		for (uint32_t j = 1; j < depth; j++)
			f->frames[i][j] = j < depth / 2 ? stacks->functions[j]
							: stacks->functions[rng_below(&r, 1000)];
	}
	return f->frames != NULL;
}

static void add(struct profile *p, uint64_t i, const struct frame *path, size_t depth)
{
	struct tick tick = { .at_ns = i * 10000, .weight_ns = 10 * NS_PER_MS };

	tick.from_ns = tick.at_ns;
	if (profile_wants(p, &tick))
		profile_add(p, &tick, path, depth);
	else
		profile_add(p, &tick, NULL, 0);
}

/* `count` distinct paths in turn, again and again: all known after the first round. */
static double known_ns(const struct stacks *stacks, uint32_t depth, uint32_t count)
{
	struct profile_settings settings = sim_settings(1);
	struct fixed_paths paths;
	struct profile *p;
	double best = 1e18;
	uint64_t n = 0;

	settings.keeps_all = true;
	if (!make_paths(&paths, stacks, depth) || profile_open(&settings, &p, NULL) < 0)
		exit(2);
	for (int round = 0; round <= ROUNDS; round++) {
		double before = cpu_ns();

		for (uint32_t i = 0; i < 200000; i++)
			add(p, ++n, paths.frames[i % count], depth);
		if (round > 0 && cpu_ns() - before < best)
			best = cpu_ns() - before;
	}
	profile_close(p);
	free(paths.frames);
	return best / 200000;
}

static double skipped_ns(void)
{
	struct profile_settings settings = sim_settings(1);
	struct profile *p;
	double best = 1e18;
	uint64_t n = 0;

	if (profile_open(&settings, &p, NULL) < 0)
		exit(2);
	for (; n < 100 * 1000 * 1000; n++)
		add(p, n, NULL, 0);
	for (int round = 0; round < ROUNDS; round++) {
		double before = cpu_ns();

		for (uint32_t i = 0; i < 1000000; i++)
			add(p, ++n, NULL, 0);
		if (cpu_ns() - before < best)
			best = cpu_ns() - before;
	}
	profile_close(p);
	return best / 1000000;
}

/* Every sample is of a path never seen, contexts and arena are full. */
static double new_ns(void)
{
	struct profile_settings settings = sim_settings(1);
	struct stacks stacks = { .paths = 0 };
	struct frame path[STACKS_MAX_DEPTH];
	struct profile *p;
	double spent = 0;

	settings.keeps_all = true;
	if (stacks_init(&stacks, NEW_PATHS, 0) < 0 || profile_open(&settings, &p, NULL) < 0)
		exit(2);
	for (uint32_t i = 0; i < NEW_PATHS; i++) {
		uint32_t depth = stacks_path(&stacks, i, path);
		double before = cpu_ns();

		add(p, i, path, depth);
		if (i >= NEW_PATHS / 2)
			spent += cpu_ns() - before;
	}
	profile_close(p);
	stacks_free(&stacks);
	return spent * 2 / NEW_PATHS;
}

int main(void)
{
	struct stacks stacks = { .paths = 0 };

	if (stacks_init(&stacks, 1, 0) < 0)
		return 2;
	printf("known sample, 20 frames, 1 path: %.0f ns\n", known_ns(&stacks, 20, 1));
	printf("known sample, 20 frames, %u paths in turn: %.0f ns\n", PATHS,
	       known_ns(&stacks, 20, PATHS));
	printf("known sample, 40 frames, %u paths in turn: %.0f ns\n", PATHS,
	       known_ns(&stacks, 40, PATHS));
	printf("new path, everything full: %.0f ns (with two reads of the clock)\n", new_ns());
	printf("skipped tick: %.1f ns\n", skipped_ns());
	stacks_free(&stacks);
	return 0;
}
