/* watchlist_parts.h - what the files of a watchlist share. Internal to core/watchlist*.c. */
#ifndef TARE_CORE_WATCHLIST_PARTS_H
#define TARE_CORE_WATCHLIST_PARTS_H

#include "core/watchlist.h"

/* One row and what it did. */
struct watched {
	struct watched_row row; /* strings are in `text` and `why_not` */
	char *text, *why_not;	/* owned */
	struct calls calls;	/* empty until something was seen */
	uint64_t window_bytes;	/* of its window rows */
	struct pace_watch pace;
	struct pace_costs next_costs; /* in force after this window */
	struct pace_costs measured;   /* last measured, part by part */
	struct pace_seen seen;	      /* in this window */
	uint64_t calls_ever;
	uint64_t lost;	/* calls of this window that had no memory, unless they are seen again */
	uint32_t clean; /* window rows before this one are as they were saved */
	bool is_dirty;	/* its own row is not as it was saved */
};

/* The slow frame that was saved under an id. */
struct slow_saved {
	uint64_t number, start_ns;
	uint32_t tid;
	bool is_there, is_worst;
};

struct watchlist {
	struct watchlist_settings settings;
	struct watched **rows; /* owned, each too: they stay where they are */
	uint32_t count, capacity;
	uint64_t windows;	 /* that ended: the number of the running one */
	uint64_t windows_in_row; /* of all rows; one that had no memory to merge may be behind */
	uint32_t coarse;	 /* bits of all histograms */
	uint64_t fixed_bytes;	 /* watched rows, and slow frames */
	uint64_t window_bytes;
	struct calls_row sums; /* of all window rows: none may reach 2^63 */
	struct frames frames;
	struct slow_saved *slow_saved; /* owned: by place */
	/* Rows that are paced in this window, side by side. */
	struct pace_watch *paces; /* owned, as the next two */
	struct pace_seen *seen;
	uint32_t *ids;
	uint64_t calls, timed, charged_ps, losses, allowed_rate; /* of all rows */
	uint64_t lost_calls, lost_slow, torn;			 /* had no memory; could not be */
	uint32_t refused;
	bool is_merged; /* since the last save: all window rows go out again */
	bool is_behind; /* a row had no memory to merge */
};

/* Is it paced now: watched, and a function? */
bool watched_is_paced(const struct watched *watched);

/* Adds what came, saturating below 2^63. */
uint64_t watchlist_sum(uint64_t sum, uint64_t value);

/* Makes all window rows fewer or smaller until they have room. What had no memory is done at the next call. */
void watchlist_make_room(struct watchlist *w);

/* Are there `bytes` more, when all window rows are as small as they get and there are `rows` more? */
bool watchlist_has_room(const struct watchlist *w, uint64_t bytes, uint32_t rows);

/* Counts the bytes of row `at` of `watched` anew, which were `before`, and marks it as not saved. */
void watchlist_count_bytes(struct watchlist *w, struct watched *watched, uint32_t at,
			   uint64_t before);

#endif
