/* budget.c - pages and frames out of a size limit, and rows out of pages. */
#include "store/budget.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/ledger.h"
#include "core/tasks.h"
#include "core/units.h"

#define WAL_HEADER_BYTES 32u
#define WAL_FRAME_BYTES	 (BUDGET_PAGE_BYTES + 24u)
#define SHM_BLOCK_BYTES	 32768u
#define SHM_FIRST_FRAMES 4062u /* frames that the first block indexes, beside its header */
#define SHM_BLOCK_FRAMES 4096u

#define MAX_PAGES (UINT32_C(1) << 30)

/* Worst bytes a row. */
#define SLOT_BYTES     70u
#define CONTEXT_BYTES  401u
#define NODE_BYTES     16u
#define FRAME_BYTES    32u
#define LEDGER_BYTES   98u
#define FIXED_BYTES    (30u * BUDGET_PAGE_BYTES)
#define WATCH_BYTES    (48u * BUDGET_PAGE_BYTES) /* the same of a watch: five texts more */
#define WATCH_SMALLEST (UINT64_C(1) << 20)

struct budget_fits {
	struct profile_limits run;
	uint64_t task_bytes;
};

/* Shares of what is left, in thousandths. */
struct shares {
	uint32_t contexts, nodes, frames, names, tasks;
};
static const struct shares of_run = { 305, 185, 125, 385, 0 };
static const struct shares of_tasks = { 125, 160, 100, 305, 310 };

#define MIN_CONTEXTS	  64u
#define MAX_CONTEXTS	  16384u
#define MAX_ROWS	  (UINT32_C(1) << 22) /* ids of three bytes */
#define MIN_NAME_BYTES	  (4 * STR_MAX_BYTES)
#define MAX_NAME_BYTES	  (UINT32_C(1) << 30)
#define SLOTS_PER_CONTEXT 16u /* at most: a finer time axis than paths to show on it is of no use */
#define SMALLEST_STEP	  (64u * 1024u)
#define LARGEST_SMALLEST  (UINT64_C(1) << 24)

static uint64_t shm_bytes(uint64_t frames)
{
	uint64_t blocks = 1;

	if (frames > SHM_FIRST_FRAMES)
		blocks += (frames - SHM_FIRST_FRAMES + SHM_BLOCK_FRAMES - 1) / SHM_BLOCK_FRAMES;
	return blocks * SHM_BLOCK_BYTES;
}

static uint64_t wal_bytes(uint64_t frames)
{
	return WAL_HEADER_BYTES + frames * WAL_FRAME_BYTES;
}

struct budget budget_of(uint64_t limit_bytes)
{
	uint64_t pages = limit_bytes / (BUDGET_PAGE_BYTES + WAL_FRAME_BYTES);

	if (pages > MAX_PAGES)
		pages = MAX_PAGES;
	while (pages > 0 &&
	       pages * BUDGET_PAGE_BYTES + wal_bytes(pages) + shm_bytes(pages) > limit_bytes) {
		uint64_t over = pages * BUDGET_PAGE_BYTES + wal_bytes(pages) + shm_bytes(pages) -
				limit_bytes;
		uint64_t step = 1 + over / (2 * (BUDGET_PAGE_BYTES + WAL_FRAME_BYTES));

		pages -= step < pages ? step : pages;
	}
	if (pages == 0)
		return (struct budget){ .pages = 0 };
	return (struct budget){ (uint32_t)pages, wal_bytes(pages), shm_bytes(pages) };
}

/* Bytes that rows take in pages three quarters full. */
static uint64_t spread(uint64_t bytes)
{
	return bytes + bytes / 3;
}

static uint32_t at_most(uint64_t value, uint32_t most)
{
	return value < most ? (uint32_t)value : most;
}

static bool try_fit(uint64_t limit_bytes, uint32_t slots, const struct shares *shares,
		    struct budget_fits *out)
{
	uint64_t have = (uint64_t)budget_of(limit_bytes).pages * BUDGET_PAGE_BYTES;
	uint64_t fixed = FIXED_BYTES + spread((uint64_t)LEDGER_WINDOWS * LEDGER_BYTES) +
			 spread((uint64_t)slots * SLOT_BYTES);
	uint64_t left = have > fixed ? (have - fixed) / 1000 : 0;
	struct profile_limits limits = { .slots = slots };
	uint64_t task_bytes = left * shares->tasks / 4 * 3;

	limits.contexts = at_most(left * shares->contexts / spread(CONTEXT_BYTES), MAX_CONTEXTS) &
			  ~UINT32_C(15);
	limits.paths.nodes = at_most(left * shares->nodes / spread(NODE_BYTES), MAX_ROWS);
	limits.paths.frames = at_most(left * shares->frames / spread(FRAME_BYTES), MAX_ROWS);
	limits.paths.name_bytes = at_most(left * shares->names / 2, MAX_NAME_BYTES);
	if (shares->tasks > 0 && task_bytes < TASKS_LEAST_ROOM)
		return false;
	if (limits.contexts < MIN_CONTEXTS || limits.contexts < slots / SLOTS_PER_CONTEXT ||
	    limits.paths.name_bytes < MIN_NAME_BYTES)
		return false;
	*out = (struct budget_fits){ limits, task_bytes };
	return true;
}

static void say_what_fits(uint64_t limit_bytes, uint32_t slots, const struct shares *shares,
			  struct err *err)
{
	struct budget_fits ignored;
	uint64_t bytes = SMALLEST_STEP;
	char size[32], smallest[32];

	units_format_size(limit_bytes, size, sizeof(size));
	for (uint32_t fewer = slots / 2; fewer >= TIMELINE_MIN_SLOTS; fewer /= 2) {
		if (!try_fit(limit_bytes, fewer, shares, &ignored))
			continue;
		err_set(err, -ENOSPC, "cannot fit %u slots into %s: %u fit", slots, size, fewer);
		err_works(err, "--slots %u keeps the whole run in the same size", fewer);
		err_mend(err, "--slots %u, or a larger --max-size", fewer);
		return;
	}
	while (bytes < LARGEST_SMALLEST && !try_fit(bytes, TIMELINE_MIN_SLOTS, shares, &ignored))
		bytes += SMALLEST_STEP;
	snprintf(smallest, sizeof(smallest), "%lluKB", (unsigned long long)(bytes / 1024));
	err_set(err, -ENOSPC, "cannot fit a recording into %llu bytes: the smallest size is %s",
		(unsigned long long)limit_bytes, smallest);
	err_mend(err, "--max-size %s or more", smallest);
}

static int fit(uint64_t limit_bytes, uint32_t slots, const struct shares *shares,
	       struct budget_fits *out, struct err *err)
{
	if (slots < TIMELINE_MIN_SLOTS || slots > TIMELINE_MAX_SLOTS || (slots & (slots - 1)) != 0)
		return err_set(err, -EINVAL,
			       "cannot use %u slots: a power of two from %u to %u is needed", slots,
			       TIMELINE_MIN_SLOTS, TIMELINE_MAX_SLOTS);
	if (try_fit(limit_bytes, slots, shares, out))
		return 0;
	say_what_fits(limit_bytes, slots, shares, err);
	return -ENOSPC;
}

int budget_fit(uint64_t limit_bytes, uint32_t slots, struct profile_limits *out, struct err *err)
{
	struct budget_fits fits;
	int code = fit(limit_bytes, slots, &of_run, &fits, err);

	if (code == 0)
		*out = fits.run;
	return code;
}

int budget_fit_tasks(uint64_t limit_bytes, uint32_t slots, struct profile_limits *out,
		     uint64_t *out_room_bytes, struct err *err)
{
	struct budget_fits fits;
	int code = fit(limit_bytes, slots, &of_tasks, &fits, err);

	if (code == 0) {
		*out = fits.run;
		*out_room_bytes = fits.task_bytes;
	}
	return code;
}

int budget_fit_watch(uint64_t limit_bytes, uint64_t *out_room_bytes, struct err *err)
{
	uint64_t have = (uint64_t)budget_of(limit_bytes).pages * BUDGET_PAGE_BYTES;

	if (limit_bytes < WATCH_SMALLEST) {
		err_set(err, -ENOSPC,
			"cannot fit a watch into %llu bytes: the smallest size is 1MB",
			(unsigned long long)limit_bytes);
		err_mend(err, "--max-size 1MB or more");
		return -ENOSPC;
	}
	*out_room_bytes =
		(have - WATCH_BYTES - spread((uint64_t)LEDGER_WINDOWS * LEDGER_BYTES)) / 4 * 3;
	return 0;
}
