/* watch_sources.h - all sources of one watch as one: probes and libtare, and those that appear later. Joins their points
 * with rows of the watchlist and with the plan: looks, attaches, detaches, turns windows, gives orders. The clock is passed
 * in. One thread. */
#ifndef TARE_CLI_WATCH_SOURCES_H
#define TARE_CLI_WATCH_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/watch_plan.h"
#include "core/watchlist.h"
#include "sense/places.h"
#include "sense/watch_source.h"

#define WATCH_PARTS 16u /* sources in one watch; what appears beyond is not watched */

/* One point of a source. */
struct watch_point {
	uint32_t id; /* of the watchlist; NO_ID: not asked for, ordered to be as cheap as can be */
	uint32_t plan;		 /* its number there */
	struct pace_costs costs; /* in force, of one that was not asked for */
	uint64_t calls, timed;	 /* of this window, as last looked at */
	bool is_listed;		 /* its row only says why not */
};

/* One source with what belongs to it. */
struct watch_part {
	const struct watch_source_ops *ops;
	struct watch_source *source; /* NULL: closed */
	struct places places;	     /* owned: a source borrows them */
	struct watch_point *points;  /* owned */
	uint32_t count, room;
	uint64_t started_ns; /* 0: not yet */
	uint64_t early_ns;   /* how long before elapsed time 0 its own is 0 */
	bool can_detach;
	bool is_measured_on;		 /* children that live measure what its calls cost */
	struct watch_source_facts facts; /* as last asked; its words only while it is open */
};

struct watch_sources_settings {
	struct watchlist *list; /* borrowed */
	uint64_t window_ns, price_ppm;
	uint32_t interval_most;
	bool (*wants)(void *owner,
		      struct watched_row *row); /* was this point asked for? Sets its pattern */
	uint64_t (*now_ns)(void *owner);
	/* A row was added or has changed whether it is watched; may be NULL. */
	void (*told)(void *owner, const struct watched_row *row);
	void *owner;
};

struct watch_sources {
	struct watch_sources_settings settings;
	struct watch_part parts[WATCH_PARTS];
	uint32_t part_count;
	bool has_started;
	struct watch_plan plan;
	struct histogram histogram;		       /* of one point, used again */
	uint64_t look_at_ns, slow_at_ns, slow_wait_ns; /* when to look, and to fetch slow frames */
	uint64_t unasked_ps;   /* charged for points that were not asked for */
	uint64_t calls, timed; /* of closed windows */
	uint64_t calibrations;
	uint64_t measure_at_ns;	  /* when to measure a little more of what calls cost */
	uint64_t measured_cpu_ns; /* by children that live */
	uint64_t torn;		  /* windows of a point whose times could not be */
	uint32_t refused;	  /* watched row that was too hot; NO_ID: none */
	uint64_t allowed_rate;
};

/* What a closed window gave. */
struct watch_turned {
	uint64_t span_ns, charged_ps, calls, timed;
};

/* Starts the first window now. */
void watch_sources_init(struct watch_sources *w, const struct watch_sources_settings *settings);

/* Elapsed time begins `by_ns` later than the sources so far were told. */
void watch_sources_shift(struct watch_sources *w, uint64_t by_ns);

/* Closes all sources. Accepts the zeroed value, and may run twice. */
void watch_sources_close(struct watch_sources *w);

/* Takes over an open source and its places, and adds rows for its points with their costs; nothing is attached yet. On
 * failure the caller keeps both. -ENOSPC: there are WATCH_PARTS; -ENOMEM. */
int watch_sources_add(struct watch_sources *w, const struct watch_source_ops *ops,
		      struct watch_source *source, struct places *places);

/* Attaches all that was added and is not started yet. A source that cannot start is closed, its rows say why. Returns how
 * many points are watched. */
uint32_t watch_sources_start(struct watch_sources *w);

/* Looks at all points, does what the plan says is due, takes slow frames, adds rows for new points. */
void watch_sources_look(struct watch_sources *w);

/* When to look next. */
uint64_t watch_sources_wakes_ns(const struct watch_sources *w);

/* Ends the window. `price_ppm` may be spent in the next one; with `is_last` there is none, and calls that are open count.
 * -ENOMEM: a part of what was seen is lost. */
int watch_sources_turn(struct watch_sources *w, uint64_t price_ppm, bool is_last,
		       struct watch_turned *out);

/* Measures all costs again, each mode once. */
void watch_sources_calibrate(struct watch_sources *w);

/* Takes what was measured since the window began, for charging it: before watch_sources_turn(). */
void watch_sources_settle(struct watch_sources *w);

/* Calls and timed ones up to the last look. */
void watch_sources_live(const struct watch_sources *w, uint64_t *out_calls, uint64_t *out_timed);

/* Is any source open? */
bool watch_sources_has(const struct watch_sources *w, const struct watch_source_ops *ops);

/* What a call of a row costs at the given interval, in ps. */
uint64_t watch_call_ps(const struct watched_row *row, uint32_t interval);

#endif
