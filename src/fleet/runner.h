/* runner.h - visits every server of a fleet each cycle: one thread, one loop, at most C servers at once, a deadline for every step. A hung,
 * slow, refusing or restarting server never delays another. */
#ifndef TARE_FLEET_RUNNER_H
#define TARE_FLEET_RUNNER_H

#include "core/err.h"
#include "core/fleet_batch.h"
#include "core/units.h"
#include "fleet/server.h"
#include "fleet/settings.h"

struct runner; /* opaque */

/* What the runner's owner does. Called from runner_turn() only. */
struct runner_owner {
	void *owner;
	/* A visit ended (SUCCESS, PERMISSIONS, ERROR, ABANDONED or SKIPPED: its run rows say so). What the batch holds is the owner's now:
	 * copy the struct, and free it by fleet_batch_free(); the struct itself is lent during the call. */
	void (*visited)(void *owner, struct fleet_batch *batch);
	/* One place for an owed capture, fleet-wide; false: none is left, or the store is away. May be NULL: one collector. */
	bool (*take_place)(void *owner, uint32_t reading, int64_t slot, uint32_t allowance);
	/* Something a person should know, once: a lane entered or left. Harmless for a terminal. May be NULL. */
	void (*say)(void *owner, const char *text);
};

/* A server of the fleet as the runner shows it. */
struct runner_server {
	uint32_t server, seat;
	const char *name;  /* borrowed until the next change of settings */
	bool is_in_lane;   /* failing: visited with pauses */
	uint32_t failures; /* in a row */
	char last_error[160];
	int64_t visited_wall_ns;  /* the last visit that ended well; 0: none */
	int64_t captured_wall_ns; /* 0: none yet */
	bool is_captured;	  /* false: captured_wall_ns is first sight */
	bool is_owed;
	bool is_scheduled;
	uint64_t run_ns; /* the last visit's wall time */
	uint64_t memory_bytes;
};

struct runner_status {
	struct wall at;
	uint64_t cycle_ns;
	uint32_t servers, in_lane, visiting, owed;
	uint32_t n_given, n, k; /* as set; in force; cycles in a turn slot */
	uint64_t p95_ns;	/* measured time between visits; 0: not yet */
	uint64_t
		model_ns; /* the model's, beside it: of servers that are not in the lane, as p95_ns */
	uint64_t run_ns; /* mean wall time of a visit, of the same */
	int64_t slot;
	uint32_t slot_scheduled
		[60]; /* servers scheduled in this slot, one slot ago, two ago ...: n of them count */
	uint32_t slot_captures; /* done in this slot so far */
	uint32_t last_captures; /* done in the slot before */
	uint64_t worst_age_ns;	/* oldest capture of a server that can be visited; 0: none */
	uint64_t visits, late, skipped, failures; /* since the start */
	uint64_t longest_turn_ns;
};

/* Starts with no server. `settings` is copied where needed. */
int runner_open(const struct collect_settings *settings, const struct runner_owner *owner,
		struct runner **out, struct err *err);

/* Takes over the pace that held when a collector of this fleet ran last (core/cadence.h). Before servers are put. */
void runner_resume(struct runner *r, uint32_t k, uint32_t k_before, uint32_t n);

/* Adds or changes a server; `id` and `seat` are the store's; `memory` becomes the runner's (NULL: it keeps the one it has). `mark` as the store
 * has it, or all zero: first sight; of a server that is there already the runner knows better. Other settings of where and how to connect
 * end a visit under way. -ENOMEM. */
int runner_put_server(struct runner *r, uint32_t id, uint32_t seat,
		      const struct server_settings *settings, struct server *memory,
		      const struct cadence_mark *mark, struct err *err);

/* Takes a server out; a visit under way is ended without a result. */
void runner_drop_server(struct runner *r, uint32_t id);

/* New settings, live. */
int runner_set(struct runner *r, const struct collect_settings *settings, struct err *err);

/* Waits for events up to `most_ns` and handles them. 0 or a negative errno that ends the runner. */
int runner_turn(struct runner *r, uint64_t most_ns, struct err *err);

/* A descriptor that is readable when runner_turn() has something to do, for an outer loop; -1: none. */
int runner_fd(const struct runner *r);

/* Every server once, from now, without cold-start spread: for --once. */
void runner_start_now(struct runner *r);

/* Whether a visit is under way or due now. */
bool runner_is_busy(const struct runner *r);

/* How the fleet stands. */
void runner_status(const struct runner *r, struct runner_status *out);

/* Fills up to `room` servers, in the order of their ids. Returns how many there are. */
size_t runner_servers(const struct runner *r, struct runner_server *out, size_t room);

/* Ends visits under way, closes connections. Accepts NULL. */
void runner_close(struct runner *r);

#endif
