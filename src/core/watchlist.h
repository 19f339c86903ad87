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
	uint64_t room_bytes; /* for all rows as the store keeps them: store_ops.fit_watch() */
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

/* Adds a row, copies its strings (cut at STR_MAX_BYTES), and gives it its id: 0, 1, 2 … A row with `why_not` is only
 * listed; any other is paced from its costs. May be called while it runs. -ENOSPC: there are WATCHLIST_MOST, or it and a
 * window row of each have no room; -EINVAL: no such kind or offset; -ENOMEM. */
int watchlist_add(struct watchlist *w, const struct watched_row *row, uint32_t *out_id);

/* What was only listed, and never watched, is another row from now on, under the same id: a name that was not found and
 * then came. -EINVAL: it was watched; -ENOSPC; -ENOMEM. */
int watchlist_replace(struct watchlist *w, uint32_t id, const struct watched_row *row);

/* How many rows were added; ids are 0 … count - 1. */
uint32_t watchlist_count(const struct watchlist *w);

/* The row, for reading its facts. */
const struct watched_row *watchlist_row(const struct watchlist *w, uint32_t id);

/* New costs, measured (0: unmeasured) and assumed: in force from the next window on, or at once before anything was seen.
 * What reads 0 keeps what was measured before. The row has the lowest of all, so that no window is charged under it. */
void watchlist_set_costs(struct watchlist *w, uint32_t id, const struct pace_costs *measured,
			 const struct pace_costs *assumed, uint64_t floor_ps);

/* What all may take together from the next window on: the price less what the recorder itself takes. */
void watchlist_set_price(struct watchlist *w, uint64_t price_ppm);

/* It is watched no more, and why: copied. An empty text: it is again, from the given interval on. -ENOSPC: the text has no
 * room; -ENOMEM. */
int watchlist_set_why_not(struct watchlist *w, uint32_t id, struct str why_not);

/* What is in force: interval, share, slices. */
const struct pace_watch *watchlist_pace(const struct watchlist *w, uint32_t id);

/* What was abandoned, backwards and clamped in a window. */
struct watchlist_losses {
	uint64_t abandoned, backwards, clamped;
};

/* What a row did in the window that ends, once a window for every row that is watched; then watchlist_turn(). The
 * histogram is only read. More timed than called: the calls began in earlier windows, and come from there. -EINVAL: numbers
 * that cannot be, or too large to add up below 2^63; -ENOMEM: it may be tried again in this window. What could not be taken
 * is in watchlist_label(), and nowhere else. */
int watchlist_seen(struct watchlist *w, uint32_t id, const struct calls_seen *seen,
		   const struct histogram *histogram, const struct watchlist_losses *losses);

/* A window that ended. */
struct watchlist_turned {
	uint64_t charged_ps; /* of this window */
	uint64_t calls, timed;
	struct pace_judged judged; /* `loudest` is an id; the number of rows when none ran */
};

/* Ends the window: charges all calls by the costs in force, and sets pace for the next. Rows of WATCHED_FRAME and
 * WATCHED_TASK are charged, not paced: what they took is off the price of the others. -EINVAL: window_ns is 0. */
int watchlist_turn(struct watchlist *w, uint64_t window_ns, struct watchlist_turned *out);

/* A slow frame with its parts by id; one under slow_ns is passed over. Of those kept each has an id, its own while it is.
 * -EINVAL: parts that do not add up, are not the largest first, or of no row; -ENOMEM. It counts as lost then. */
int watchlist_slow(struct watchlist *w, const struct frames_frame *frame, uint32_t tid,
		   uint64_t number);

/* The watchlist's part of the watch row: windows, frames, calls, timed, charged_ps, refused and so on; of torn, lost_calls and
 * lost_slow what it could not take itself, to which the sources' own is to be added. */
void watchlist_label(const struct watchlist *w, struct watch_row *row);

/* Appends what changed since watchlist_saved(); strings and histograms are borrowed until the next call that changes it.
 * Between windows: after watchlist_turn(). The watch row is the caller's. -ENOMEM: `out` is as it was. */
int watchlist_changes(const struct watchlist *w, struct changes *out);

/* What watchlist_changes() gave is saved. */
void watchlist_saved(struct watchlist *w);

/* Bytes that a window row takes in the store, at most. */
uint64_t watchlist_row_bytes(const struct calls_row *row);

/* The same of a watched row, whose numbers may still grow, and of a slow frame with its parts. */
uint64_t watchlist_watched_bytes(const struct watched_row *row);
uint64_t watchlist_slow_bytes(void);

/* The row as the store keeps it, and back; the histogram is borrowed. */
struct window_row watchlist_window_row(uint32_t id, const struct calls_row *row);
struct calls_row watchlist_calls_row(const struct window_row *row);

#endif
