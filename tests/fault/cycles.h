/* cycles.h - a made-up collector's work: the batch of each cycle, always the same, into a fleet's store in SQLite or into its
 * spool, and the count of what both hold at the end. */
#ifndef TARE_TESTS_CYCLES_H
#define TARE_TESTS_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "store/fleet_store.h"
#include "store/spool.h"

#define CYCLES_MOST 4096

/* Raw rows for two days, hours for five: both go while a test runs. */
extern const struct fleet_limits cycles_limits;

/* When a cycle is. Some batches bear a time days before it. */
int64_t cycles_wall_ns(uint64_t cycle);

/* The batch of a cycle, owned by the caller. -ENOMEM. */
int cycles_batch(uint64_t cycle, struct fleet_batch *out, struct err *err);

/* Writes it; the same into the spool. */
int cycles_put(void *db, uint64_t cycle, struct err *err);
int cycles_spool(struct spool *s, uint64_t cycle, struct err *err);

/* All that waits goes into the store, three at a time. */
int cycles_drain(void *db, struct spool *s, struct err *err);

/* What the store says of itself at the end. */
struct cycles_counted {
	bool has_run[CYCLES_MOST];
	uint64_t runs, calls;
};

/* Opens both, drains the spool, sums everything into days, and counts. */
int cycles_count(const char *store, const char *spool, struct cycles_counted *out, struct err *err);

/* The calls that belong to the runs that are there: counted.calls, when each was counted once. */
uint64_t cycles_calls(const struct cycles_counted *counted);

#endif
