/* delta.h - two readings of counters: a difference with its span, or the reason why there is none. Pure; rules of `collect`,
 * "Deltas". A difference is never negative, and a life is never taken for a span. */
#ifndef TARE_CORE_DELTA_H
#define TARE_CORE_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fleet.h"

#define DELTA_GAP_MOST_NS (UINT64_C(3600) * 1000000000) /* over it there is no difference */
#define DELTA_LOOK_BACK_NS \
	(UINT64_C(900) * 1000000000) /* baselines older than this are not taken from the store */

/* A reading of a server as a whole, at one moment. */
struct delta_visit {
	uint64_t system_id;	   /* 0: not known */
	int64_t at_server_ns;	   /* the server's own clock */
	int64_t started_server_ns; /* postmaster start */
	int64_t reset_server_ns;   /* 0: not known */
	uint64_t evictions;	   /* entries that fell out so far; UINT64_MAX: not known */
	bool is_complete;	   /* all rows were seen: what is not there was not there */
};

/* One row's counters at one visit. */
struct delta_row {
	int64_t since_ns; /* when the server began to count this row, by its clock; 0: not known */
	const struct counter *counters; /* borrowed */
	size_t count;			/* the same for both */
};

struct delta {
	enum delta_life life;
	uint64_t span_ns; /* 0: cannot know */
	bool is_idle;	  /* (0, span): truly idle, not to be stored */
};

/* What two visits say of each other, before any row is looked at: DELTA_SAME, or what happened between them: FIRST (`before`
 * is NULL), OTHER, RESTARTED, CLOCK, GAP, RESET. */
enum delta_life delta_between(const struct delta_visit *before, const struct delta_visit *now);

/* The difference of one row. `old` NULL: it was not there at the last visit. `out` has row->count counters: the difference, or
 * NOT_MEASURED throughout when span_ns is 0. A counter not measured in either is not measured in the difference. The whole value is
 * given where the row provably began behind the last visit: its since_ns says so, all were reset behind it, it was absent from a
 * complete reading, or a counter is smaller than before (those of one life never go down). span_ns is then what it covers at most. */
struct delta delta_row_between(const struct delta_visit *before, const struct delta_visit *now,
			       const struct delta_row *old, const struct delta_row *row,
			       struct counter *out);

#endif
