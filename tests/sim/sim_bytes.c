/* sim_bytes.c - ten minutes, ten hours and thirty days at 100 Hz through the store: recordings of one size, by a process of
 * one size.
 * Usage: sim_bytes [PATHS [ALPHA]]; exit status 1 when the largest is over 15 % above the smallest, when one was over
 * its limit, when memory, descriptors or threads grew from one simulated hour to another, or when a recording is not what the profile was. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ledger.h"
#include "core/scoped.h"
#include "core/units.h"
#include "fault/place.h"
#include "sim/drive.h"
#include "sim/flat.h"
#include "store/store.h"

#define LIMIT_BYTES (UINT64_C(4) << 20)
#define NAME	    "run.tare"

static const struct {
	const char *name;
	uint64_t ticks;
} runs[] = {
	{ "10 minutes", 60000 },
	{ "10 hours", 3600000 },
	{ "30 days", 259200000 },
};

/* What the recorder is to the profile: it saves, and keeps the ledger. */
struct saver {
	struct place place;
	void *db;
	struct changes changes;
	struct ledger ledger;
	struct label label;
	struct err err;
	uint64_t windows, saves, most_bytes, cpu_ns;
	struct flat flat;
};

static uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void add_windows(struct saver *s, uint64_t at_ns)
{
	for (; s->windows < at_ns / NS_PER_S; s->windows++) {
		struct ledger_row window = { .window_ns = NS_PER_S,
					     .sample_ns = 3 * NS_PER_MS,
					     .kernel_ns = NS_PER_MS + s->windows % 1000,
					     .ticks = 100,
					     .kept = 10,
					     .period_ns = 10 * NS_PER_MS };

		ledger_add(&s->ledger, &window);
	}
}

static int save(void *owner, struct profile *p, uint64_t at_ns)
{
	struct saver *s = owner;
	struct store_saved saved;
	uint64_t from_ns = cpu_now_ns();
	int code;

	add_windows(s, at_ns);
	changes_reset(&s->changes);
	code = profile_changes(p, TASK_RUN, &s->changes);
	if (code == 0)
		code = ledger_changes(&s->ledger, &s->changes);
	profile_label(p, &s->label);
	s->label.elapsed_ns = at_ns;
	s->label.saves = ++s->saves;
	if (code == 0)
		code = store_sqlite.save(s->db, &s->label, &s->changes, &saved, &s->err);
	if (code != 0 || saved.is_paused)
		return code != 0 ? code : -1;
	profile_saved(p);
	ledger_saved(&s->ledger);
	s->cpu_ns += cpu_now_ns() - from_ns;
	flat_look(&s->flat, at_ns);
	if (saved.bytes > s->most_bytes)
		s->most_bytes = saved.bytes;
	return 0;
}

/* Does the file hold all the weight? */
static bool is_whole(struct saver *s, const struct sim_seen *seen, uint64_t *out_bytes)
{
	struct recording r = RECORDING_EMPTY;
	uint64_t slots_ns = 0, contexts_ns = 0;

	if (store_sqlite.load(place_file(&s->place, NAME), &r, &s->err) != 0) {
		printf("%s\n", s->err.msg);
		return false;
	}
	for (uint32_t i = 0; i < r.slot_count; i++)
		slots_ns += r.slots[i].running_ns + r.slots[i].unsampled_ns;
	for (uint32_t i = 0; i < r.context_count; i++)
		contexts_ns += r.contexts[i].certain_ns + r.contexts[i].uncertain_ns;
	*out_bytes = r.file_bytes;
	printf("  %u slots, %u contexts, %u nodes, %u frames, %u windows\n", r.slot_count,
	       r.context_count, r.node_count, r.frame_count, r.ledger_count);
	recording_free(&r);
	return slots_ns == seen->clock_ns && contexts_ns + seen->unsampled_ns == seen->clock_ns;
}

static bool run_one(size_t i, const struct stacks *stacks, struct saver *s, uint64_t *out_bytes)
{
	const struct store_limits limits = { LIMIT_BYTES, true };
	struct sim_run run = { .name = runs[i].name,
			       .ticks = runs[i].ticks,
			       .every_ns = 10 * NS_PER_MS,
			       .settings = sim_settings(i + 1) };
	struct sim_seen seen;
	uint64_t from_ns;
	bool is_good;

	if (store_sqlite.fit(LIMIT_BYTES, 1024, &run.settings.limits, &s->err) != 0 ||
	    store_sqlite.create(place_file(&s->place, NAME), &limits, &s->db, &s->err) != 0)
		return false;
	is_good = sim_drive(&run, stacks, save, s, &seen) == 0;
	from_ns = cpu_now_ns();
	store_sqlite.close(s->db);
	from_ns = cpu_now_ns() - from_ns;
	if (!is_good || !is_whole(s, &seen, out_bytes)) {
		printf("%s: NOT WHOLE %s\n", run.name, s->err.msg);
		return false;
	}
	printf("%s: %" PRIu64 " bytes, at most %" PRIu64 " while it was written (%s), %" PRIu64
	       " saves of %.2f ms CPU, closed in %.2f ms CPU\n",
	       run.name, *out_bytes, s->most_bytes,
	       s->most_bytes <= LIMIT_BYTES ? "in the limit" : "OVER", s->saves,
	       (double)s->cpu_ns / 1e6 / (double)s->saves, (double)from_ns / 1e6);
	return (s->flat.looks == 0 || flat_is(&s->flat, run.name)) && s->most_bytes <= LIMIT_BYTES;
}

int main(int argc, char **argv)
{
	unsigned long paths = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000;
	double alpha = argc > 2 ? strtod(argv[2], NULL) : 1.0;
	uint64_t least = UINT64_MAX, most = 0;
	struct stacks stacks = { .paths = 0 };
	struct place place;
	bool is_good = true;

	if (paths < 1 || paths > 1000000 || stacks_init(&stacks, (uint32_t)paths, alpha) < 0 ||
	    !place_make(&place)) {
		fprintf(stderr, "sim_bytes: cannot make %lu paths\n", paths);
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct saver s = { .place = place, .changes = CHANGES_EMPTY };
		uint64_t bytes = 0;

		is_good &= ledger_init(&s.ledger) == 0 && run_one(i, &stacks, &s, &bytes);
		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
		ledger_free(&s.ledger);
		changes_free(&s.changes);
	}
	is_good &= most * 100 <= least * 115;
	printf("largest over smallest: %.3f (at most 1.15)\n", (double)most / (double)least);
	place_remove(&place);
	stacks_free(&stacks);
	return is_good ? 0 : 1;
}
