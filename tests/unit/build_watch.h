/* build_watch.h - small recordings of a watch by hand, for tests of what reads them. Windows are made by calls.h from what
 * was seen in each, as the instrument makes them. */
#ifndef TARE_TEST_BUILD_WATCH_H
#define TARE_TEST_BUILD_WATCH_H

#include "core/recording.h"

#define BUILD_WINDOW_NS UINT64_C(10000000000)

struct build_watch {
	struct recording r;
	uint32_t watched_room, window_room, slow_room, part_room, ledger_room;
};

/* What a function did in one window: `calls` in all, the first timed with `first_ns`, and one in `interval` of the others, with
 * times that go up and down evenly by `spread_ns` around `ns`. */
struct build_calls {
	uint64_t calls, ns, spread_ns;
	uint32_t interval;   /* 0: nothing was timed */
	uint64_t first_ns;   /* 0: as the others */
	double own_part;     /* of each time; 0: all of it */
	uint64_t probe_ns;   /* taken off each timed call */
	uint64_t covered_ns; /* 0: all of the window */
	uint64_t tail_ns;    /* one timed call in 50 takes this; 0: none */
};

/* Begins one: finished, an hour of 360 windows of 10 s, one a row, a price of 1 % of which half is spent, from
 * 2025-11-28 03:20:00 UTC. */
void build_watch_begin(struct build_watch *b);

/* Adds a function: a probe of 800 ns a call, 400 more timed, with a floor of 100 ns. Returns its row, until the next call. */
struct watched_row *build_watched(struct build_watch *b, const char *name);

/* Adds one that is not watched. */
struct watched_row *build_unwatched(struct build_watch *b, const char *name, const char *why_not);

/* Adds window `at` of row `id`; the recording's calls and timed calls, and the row's charge, go up. */
struct window_row *build_calls(struct build_watch *b, uint32_t id, uint32_t at,
			       const struct build_calls *did);

/* The same in each window of [from, to). */
void build_same(struct build_watch *b, uint32_t id, uint32_t from, uint32_t to,
		const struct build_calls *did);

/* Adds a slow frame, which counts as one; its parts come next, largest first, and `other` is what they leave. */
struct slow_row *build_slow(struct build_watch *b, uint64_t number, uint64_t duration_ns);
void build_part(struct build_watch *b, uint32_t watched, uint64_t own_ns);

/* Adds a ledger window of 10 s. */
struct ledger_row *build_watch_ledger(struct build_watch *b, uint64_t spent_ns);

/* Puts all rows in the store's order; call it before the recording is read. */
void build_watch_sort(struct build_watch *b);

/* Accepts what build_watch_begin() made, and may run twice. */
void build_watch_free(struct build_watch *b);

#endif
