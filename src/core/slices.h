/* slices.h - a function too hot to be counted all the time is attached for a slice, then left alone until its period is
 * over. Plans slices and says when to cut one. Pure: time and spending are passed in. One thread at a time. */
#ifndef TARE_CORE_SLICES_H
#define TARE_CORE_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#define SLICES_LEAST_NS	 UINT64_C(1000000000)  /* a slice is planned for a second or more */
#define SLICES_PERIOD_NS UINT64_C(10000000000) /* and a period for a window or more */

/* What one function's slices are planned from. */
struct slices_need {
	uint64_t load_ps;   /* what counting all its calls costs in `window_ns` */
	uint64_t slice_ps;  /* what slices may take of each such window, on average */
	uint64_t window_ns; /* > 0 */
	uint64_t
		detach_ns; /* the slowest detach seen; calls go on being counted until it is done */
};

/* Attached for `attached_ns`, then detached until `period_ns` from the start of the slice is over. */
struct slices_plan {
	uint64_t attached_ns, period_ns;
	uint64_t allowed_ps; /* what the slice may spend, detach included */
	bool is_always;	     /* its load is inside what it may take: no slices */
	bool is_possible;    /* false: slice_ps is 0, no period is long enough */
};

/* Plans the next slice. The period is long enough that a slice of at least a second and its detach stay inside what it
 * may take at the load last seen. Only the last seen load can be known beforehand: slices_is_cut() holds the price when
 * it has grown. */
struct slices_plan slices_plan_next(const struct slices_need *need);

/* Must the running slice be cut now? When its time is over, or when what it has spent, and what the detach will add at the
 * rate since the last look, reach what the period allows. `spent_ps` since the start of the slice, `since_ps` and
 * `since_ns` since the last look; look at least every `detach_ns`. */
bool slices_is_cut(const struct slices_plan *plan, uint64_t attached_ns, uint64_t spent_ps,
		   uint64_t since_ps, uint64_t since_ns, uint64_t detach_ns);

/* How long to stay detached after a slice that spent `spent_ps` in `attached_ns`, detach included: the rest of the period,
 * or longer until what was spent is inside what the slices may take. */
uint64_t slices_rest_ns(const struct slices_plan *plan, const struct slices_need *need,
			uint64_t attached_ns, uint64_t spent_ps);

#endif
