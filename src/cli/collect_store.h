/* collect_store.h - the store of a running collector, on a thread of its own: batches wait in a bounded queue, and on disk while the store is away;
 * each is written exactly once, in the order in which it came. The other functions are called on the main thread. */
#ifndef TARE_CLI_COLLECT_STORE_H
#define TARE_CLI_COLLECT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/fleet_batch.h"
#include "fleet/settings.h"
#include "store/fleet_store.h"

#define STORE_QUEUE_BYTES (UINT64_C(64) << 20) /* most that waits in memory */

struct collect_store; /* opaque */

/* How it stands. */
struct store_state {
	bool is_away;
	char why[256];			 /* why it is away; empty: it is there */
	uint64_t waiting, waiting_bytes; /* batches in memory */
	uint64_t spooled, spooled_bytes; /* batches on disk, and their files */
	uint64_t x_bytes;		 /* on disk */
	uint64_t puts, again, lost; /* written; were there already; could not be kept anywhere */
	uint64_t put_ns, longest_put_ns;
	uint64_t size_bytes;	    /* of the store itself, at the last look; 0: not known */
	struct fleet_tidied tidied; /* all together */
};

/* Work on the store's thread. -EHOSTUNREACH without running it: the store is away. */
typedef int store_work_fn(const struct fleet_store_ops *ops, void *db, void *owner,
			  struct err *err);

/* Starts the thread; opens the store there. Waits up to `wait_ns` for one that is away. `say` is called on the main thread only, from collect_store_turn().
 * -EBUSY, -ENOTSUP, -EBADMSG as fleet_store.h; -EHOSTUNREACH: it is still away. */
int collect_store_open(const struct collect_settings *settings, const char *url, uint64_t wait_ns,
		       struct collect_store **out, struct err *err);

/* New limits, live. */
void collect_store_set(struct collect_store *s, const struct collect_settings *settings);

/* Takes a batch over: *batch is empty afterwards. Never waits. */
void collect_store_put(struct collect_store *s, struct fleet_batch *batch);

/* Does work there and waits for it, at most `wait_ns`. -ETIMEDOUT: it was begun too late, and will not be begun. */
int collect_store_do(struct collect_store *s, store_work_fn *work, void *owner, uint64_t wait_ns,
		     struct err *err);

/* One place for an owed capture. Waits 50 ms at most, and not again in a slot in which that was too little. */
bool collect_store_take_place(struct collect_store *s, uint32_t reading, int64_t slot,
			      uint32_t allowance);

/* What it had to say since the last call, line by line: away, back, lost. */
void collect_store_turn(struct collect_store *s, void (*say)(void *owner, const char *text),
			void *owner);

/* A copy of how it stands. */
void collect_store_state(struct collect_store *s, struct store_state *out);

/* Lets it write what waits for `wait_ns` at most, puts the rest on disk, and ends the thread. Accepts NULL. */
void collect_store_close(struct collect_store *s, uint64_t wait_ns);

/* Opens a store for reading, without a thread: for cost and plan. Close it by (*out_ops)->close(). As fleet_store_ops.open(). */
int collect_store_read(const char *url, const char *password,
		       const struct fleet_store_ops **out_ops, void **out_db, struct err *err);

#endif
