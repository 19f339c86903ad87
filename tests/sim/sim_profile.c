/* sim_profile.c - ten minutes, ten hours and thirty days at 100 Hz, and a sleeper, through a profile: how many
 * samples each keeps, and whether every nanosecond is still there.
 * Usage: sim_profile [PATHS [ALPHA]]; exit status 1 when a number is not what the rules say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sim/drive.h"

static const struct {
	const char *name;
	uint64_t ticks, every_ns, want_kept;
	bool is_jittered;
} runs[] = {
	{ "10 minutes", 60000, 10 * NS_PER_MS, 19788, false },
	{ "10 minutes, jittered", 60000, 10 * NS_PER_MS, 19788, true },
	{ "10 hours", 3600000, 10 * NS_PER_MS, 43895, false },
	{ "30 days", 259200000, 10 * NS_PER_MS, 69350, false },
	{ "a sleeper, 10 hours", 36000, NS_PER_S, 16788, false },
};

/* Within 1 %; a jittered tick can stand for two small groups at once, which saves another percent. */
static bool is_near(uint64_t value, uint64_t want, bool is_jittered)
{
	return value * 100 >= want * (is_jittered ? 98 : 99) && value * 100 <= want * 101;
}

static bool run_one(size_t i, const struct stacks *stacks)
{
	struct sim_run run = {
		.name = runs[i].name,
		.ticks = runs[i].ticks,
		.every_ns = runs[i].every_ns,
		.is_jittered = runs[i].is_jittered,
		.settings = sim_settings(i + 1),
	};
	struct sim_seen seen;
	clock_t before = clock();

	if (sim_drive(&run, stacks, NULL, NULL, &seen) < 0) {
		printf("%s: cannot run\n", run.name);
		return false;
	}

	double ns = (double)(clock() - before) * 1e9 / CLOCKS_PER_SEC / (double)run.ticks;
	bool is_kept = is_near(seen.label.kept, runs[i].want_kept, run.is_jittered);

	printf("%s: %" PRIu64 " ticks, kept %" PRIu64 " (want %" PRIu64
	       " +- 1 %%: %s), one in %" PRIu64 ", %" PRIu32 " halvings, slots of %.2f s, %" PRIu32
	       " contexts, %" PRIu64 " merges, %" PRIu64
	       " saves, unsampled %.2f s, sums %s, %.1f ns a tick\n",
	       run.name, run.ticks, seen.label.kept, runs[i].want_kept, is_kept ? "yes" : "NO",
	       seen.label.one_in, seen.halvings, (double)seen.label.slot_ns / 1e9, seen.contexts,
	       seen.label.merges, seen.saves, (double)seen.unsampled_ns / 1e9,
	       seen.is_exact ? "exact" : "WRONG", ns);
	return is_kept && seen.is_exact;
}

int main(int argc, char **argv)
{
	unsigned long paths = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000;
	double alpha = argc > 2 ? strtod(argv[2], NULL) : 1.0;
	struct stacks stacks = { .paths = 0 };
	bool is_good = true;

	if (paths < 1 || paths > 1000000 || stacks_init(&stacks, (uint32_t)paths, alpha) < 0) {
		fprintf(stderr, "sim_profile: cannot make %lu paths\n", paths);
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		is_good &= run_one(i, &stacks);
	stacks_free(&stacks);
	return is_good ? 0 : 1;
}
