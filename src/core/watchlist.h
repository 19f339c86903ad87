/* watchlist.h - everything that one recording watches: what each row is, its calls window by window, its pace, slow frames,
 * and what all of it has cost. It joins pace, calls and frames as profile.h joins the parts of `record`. Bytes are bounded:
 * when the rows of all windows would take more than their room, neighbours merge, for all rows alike. Pure: time, seeds and
 * costs are passed in. One thread. */
#ifndef TARE_CORE_WATCHLIST_H
#define TARE_CORE_WATCHLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/calls.h"
#include "core/err.h"
#include "core/frames.h"
#include "core/pace.h"
#include "core/recording.h"

#define WATCHLIST_MOST 1024u /* rows */

struct watchlist_settings {
	struct pace_limits limits;
	uint64_t window_ns;  /* > 0: spans of all windows but the last */
	uint64_t room_bytes; /* for window rows as the store keeps them */
	uint64_t slow_ns;    /* frames from here on are slow; 0: none is */
	uint64_t seed;
	bool may_slice;
};

struct watchlist; /* opaque */

/* -EINVAL, -ENOMEM. */
int watchlist_open(const struct watchlist_settings *settings, struct watchlist **out,
		   struct err *err);

/* Accepts NULL. */
void watchlist_close(struct watchlist *w);

/* Adds a row, copies its strings, and gives it its id: 0, 1, 2 … A row with `why_not` is only listed; any other is paced
 * from its costs. May be called while it runs. -ENOSPC: there are WATCHLIST_MOST; -ENOMEM. */
int watchlist_add(struct watchlist *w, const struct watched_row *row, uint32_t *out_id);

/* How many rows were added; ids are 0 … count - 1. */
uint32_t watchlist_count(const struct watchlist *w);

/* The row, for reading its facts. */
const struct watched_row *watchlist_row(const struct watchlist *w, uint32_t id);

/* New costs, measured (0: unmeasured) and assumed: in force from the next window on. */
void watchlist_set_costs(struct watchlist *w, uint32_t id, const struct pace_costs *measured,
			 const struct pace_costs *assumed, uint64_t floor_ps);

/* It is watched no more, and why: copied. An empty text: it is again. -ENOMEM. */
int watchlist_set_why_not(struct watchlist *w, uint32_t id, struct str why_not);

/* What is in force: interval, share, slices. */
const struct pace_watch *watchlist_pace(const struct watchlist *w, uint32_t id);

/* What a row did in the window that ends, once a window for every row that is watched; then watchlist_turn(). The
 * histogram is only read. `losses`: what was abandoned, backwards and clamped in this window. */
struct watchlist_losses {
	uint64_t abandoned, backwards, clamped;
};
int watchlist_seen(struct watchlist *w, uint32_t id, const struct calls_seen *seen,
		   const struct histogram *histogram, const struct watchlist_losses *losses);

/* Ends the window: charges all calls by the costs in force, and sets pace for the next. Rows of WATCHED_FRAME and
 * WATCHED_TASK are charged, not paced. */
struct watchlist_turned {
	uint64_t charged_ps; /* of this window */
	uint64_t calls, timed;
	struct pace_judged judged; /* `loudest` is an id */
};
int watchlist_turn(struct watchlist *w, uint64_t window_ns, struct watchlist_turned *out);

/* A slow frame with its parts by id. -ENOMEM: it is counted, not kept. */
int watchlist_slow(struct watchlist *w, const struct frames_frame *frame, uint32_t tid,
		   uint64_t number);

/* The watchlist's part of the watch row: windows, frames, calls, timed, charged_ps, refused and so on. */
void watchlist_label(const struct watchlist *w, struct watch_row *row);

/* Appends what changed since watchlist_saved(); strings and histograms are borrowed until the next call that changes it.
 * The watch row is the caller's. -ENOMEM: `out` is as it was. */
int watchlist_changes(const struct watchlist *w, struct changes *out);

/* What watchlist_changes() gave is saved. */
void watchlist_saved(struct watchlist *w);

/* Bytes that a window row takes in the store, at most. */
uint64_t watchlist_row_bytes(const struct calls_row *row);

/* The row as the store keeps it, and back; the histogram is borrowed. */
struct window_row watchlist_window_row(uint32_t id, const struct calls_row *row);
struct calls_row watchlist_calls_row(const struct window_row *row);

#endif
