/* drive.h - a whole run through a profile in simulation: ticks at a steady pace, jittered weights, saves when the
 * rules want them. Who wants to see the saves gives a function. */
#ifndef TARE_TESTS_SIM_DRIVE_H
#define TARE_TESTS_SIM_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile.h"
#include "sim/stacks.h"

struct sim_run {
	const char *name;
	uint64_t ticks;
	uint64_t every_ns; /* elapsed time from one tick to the next */
	bool is_jittered;  /* weights are base +- 10 %, else exactly the base */
	struct profile_settings settings;
};

struct sim_seen {
	struct label label; /* what the profile knows of it */
	uint32_t halvings, contexts;
	uint64_t saves;
	uint64_t clock_ns;     /* sum of all weights given */
	uint64_t unsampled_ns; /* of the open group */
	bool is_exact; /* slots added up to the clock after every halving and at the end, contexts to slots */
};

/* A save is due: after 200 kept samples, not within 1 s of the last one and not later than 60 s after it. Returns a
 * negative errno to end the run. */
typedef int (*sim_save_fn)(void *owner, struct profile *p, uint64_t at_ns);

/* Runs it; `save` may be NULL. A last save comes at the end. Returns 0, or what profile_open() or `save` returned. */
int sim_drive(const struct sim_run *run, const struct stacks *stacks, sim_save_fn save, void *owner,
	      struct sim_seen *out);

/* Do the slots of `p` add up to `clock_ns`, and its contexts to what is closed in them? */
bool sim_is_exact(const struct profile *p, uint64_t clock_ns, uint64_t *out_unsampled_ns);

/* Limits as a recording of 4 MiB has them, roughly. */
struct profile_settings sim_settings(uint64_t seed);

#endif
