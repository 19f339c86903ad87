/* budget.h - how a size limit is shared out. Pure.
 *
 * The limit holds for the database, -wal and -shm together. One save may touch every page, and then -wal holds
 * each once; so of a limit L the database gets B pages and -wal B frames:
 *   4096 B + (32 + 4120 B) + 32768 for each 4096 frames or part of them (-shm) <= L.
 * 4 MiB: B = 506. What the B pages hold, at worst, in bytes (2 of each row are the cell's pointer):
 *   slot 70 · context 401 · node 16 · frame 32 and its strings · ledger window 98 · 30 pages: label, schema, inner nodes
 * Rows come and go in any order, so a page counts as three quarters full (random order was seen to fill 80 %); strings
 * as half, since cells over half a page lie alone. Of what is left beside slots, ledger and the 30 pages, contexts get
 * 30.5 %, nodes 18.5 %, frames 12.5 % and strings 38.5 %. test_store_fit fills every limit with the worst rows in random
 * order. Should coming and going still leave pages emptier than that, a save that meets B packs them first. */
#ifndef TARE_STORE_BUDGET_H
#define TARE_STORE_BUDGET_H

#include <stdint.h>

#include "core/err.h"
#include "core/profile.h"

#define BUDGET_PAGE_BYTES 4096u

struct budget {
	uint32_t pages;	    /* B: most pages of the database */
	uint64_t wal_bytes; /* most bytes of -wal */
	uint64_t shm_bytes; /* most bytes of -shm */
};

/* Shares out `limit_bytes`. Too small a limit gives 0 pages. */
struct budget budget_of(uint64_t limit_bytes);

/* The largest limits of a profile for `limit_bytes` and `slots`. -EINVAL: not a power of two from 16 to 65536;
 * -ENOSPC: they do not fit, and the message has the number that does, or the smallest size. */
int budget_fit(uint64_t limit_bytes, uint32_t slots, struct profile_limits *out, struct err *err);

/* The same for a run with tasks: of what is left contexts get 12.5 %, nodes 16 %, frames 10 %, strings 30.5 %, and tasks
 * 31 %, tasks_settings.room_bytes. */
int budget_fit_tasks(uint64_t limit_bytes, uint32_t slots, struct profile_limits *out,
		     uint64_t *out_room_bytes, struct err *err);

/* Bytes for all rows of a watch in `limit_bytes`, as core/watchlist.h counts them: three quarters of the pages that label,
 * watch row, schema, inner nodes and ledger leave: its rows grow in their places, and pages part. -ENOSPC: under the
 * smallest limit for a watch, 1 MB. */
int budget_fit_watch(uint64_t limit_bytes, uint64_t *out_room_bytes, struct err *err);

#endif
