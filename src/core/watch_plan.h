/* watch_plan.h - when each point of a watch is attached: cuts a function whose counting alone takes the price, in its first
 * window too; plans slices for what is too hot, and says when to look next. And what the recorder's own work leaves of the
 * price. Pure: time (CLOCK_MONOTONIC, ns), calls and costs are passed in. One thread. */
#ifndef TARE_CORE_WATCH_PLAN_H
#define TARE_CORE_WATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pace.h"
#include "core/slices.h"

#define WATCH_PLAN_LOOK_NS   UINT64_C(250000000)  /* looks are no further apart */
#define WATCH_PLAN_SOON_NS   UINT64_C(20000000)	  /* nor closer, but for a window's end */
#define WATCH_PLAN_CALM_NS   UINT64_C(1000000000) /* where nothing can be detached */
#define WATCH_PLAN_DETACH_NS UINT64_C(90000000)	  /* until a detach was seen */
#define WATCH_PLAN_SPREAD_NS UINT64_C(600000000000)
#define WATCH_PLAN_NEVER_NS  UINT64_MAX
#define WATCH_PLAN_LEAST_PART \
	10u /* watching keeps one in so many parts of the price, whatever we cost */

/* Where one point stands. */
struct watch_plan_point {
	struct pace_costs costs; /* in force */
	bool can_detach;	 /* false in process */
	bool is_attached;
	bool is_sliced;
	bool is_over;		  /* for good */
	struct slices_need need;  /* of the slice that runs, or of the next */
	struct slices_plan slice; /* with is_sliced */
	uint64_t since_ns;	  /* of the last attach or detach, or the window's start */
	uint64_t until_ns;	  /* detached: when to attach again */
	uint64_t slice_ns,
		slice_ps; /* of the slice that runs or ran: its length when it has ended, its spending */
	uint64_t covered_ns;		 /* of this window, before since_ns */
	uint64_t calls, timed, spent_ps; /* of this window, as last looked at */
	uint64_t since_calls;		 /* of this window, at since_ns */
	uint64_t head_calls,
		head_ns; /* calls that came while it was attached, and how long that took */
	uint64_t looked_ns;
	uint64_t before_ns, before_ps, before_calls; /* between the last two looks */
	uint64_t since_look_ps, since_look_calls;
};

struct watch_plan {
	struct watch_plan_point *points; /* owned */
	size_t count, room;
	uint64_t window_ns;	  /* planned length */
	uint64_t window_start_ns; /* of the running one */
	uint64_t price_ppm;
	uint64_t detach_ns; /* the slowest seen */
};
#define WATCH_PLAN_EMPTY ((struct watch_plan){ 0 })

enum watch_plan_act { WATCH_PLAN_NOTHING, WATCH_PLAN_ATTACH, WATCH_PLAN_DETACH };

/* What a change of a point looked like from outside. */
struct watch_plan_change {
	bool is_attached;	      /* now */
	uint64_t began_ns, ended_ns;  /* of the system calls */
	uint64_t calls_before, calls; /* of this window: seen at `began_ns` and at `ended_ns` */
	uint64_t timed;
};

/* Starts the first window. `window_ns` > 0. */
void watch_plan_init(struct watch_plan *plan, uint64_t window_ns, uint64_t price_ppm,
		     uint64_t now_ns);

/* Accepts the empty value, and may run twice. */
void watch_plan_free(struct watch_plan *plan);

/* Adds a point that is not attached yet; its number is the count before. -ENOMEM. */
int watch_plan_add(struct watch_plan *plan, const struct pace_costs *costs, bool can_detach);

/* It is attached now, for the first time. */
void watch_plan_started(struct watch_plan *plan, size_t point, uint64_t now_ns);

/* Tells what a point did in this window up to now. Looks that come too soon after one another count as one. */
void watch_plan_look(struct watch_plan *plan, size_t point, uint64_t now_ns, uint64_t calls,
		     uint64_t timed);

/* What is due: once all points were looked at, ask until it says nothing; do it, and tell by watch_plan_changed().
 * Detached are: a slice whose time or money is spent; a point that has spent the whole price of the window, when counting
 * it alone will pass that, or when twice the price is spent; and, when all together have, the one that spends most, as long
 * as counting them would end half over it. Timing ends by itself when its share is spent: who is only timed too often stays
 * attached, and loses no call. */
enum watch_plan_act watch_plan_due(const struct watch_plan *plan, uint64_t now_ns,
				   size_t *out_point);

/* A point was attached or detached. What was covered while that went on is taken from the calls it added, at the rate of
 * the time around it. */
void watch_plan_changed(struct watch_plan *plan, size_t point,
			const struct watch_plan_change *change);

/* It could not be attached or detached, and is watched no more. */
void watch_plan_fail(struct watch_plan *plan, size_t point);

/* How much of the running window the point was attached, up to now. */
uint64_t watch_plan_covered_ns(const struct watch_plan *plan, size_t point, uint64_t now_ns);

/* Ends the window for one point: what pace made of it. Do it for all, then watch_plan_turn(). */
void watch_plan_follow(struct watch_plan *plan, size_t point, const struct pace_watch *pace,
		       uint64_t now_ns);

/* Begins the next window, at what may then be spent; the first one too, when it was not begun by watch_plan_init(). */
void watch_plan_turn(struct watch_plan *plan, uint64_t price_ppm, uint64_t now_ns);

/* When to look next: the window's end at the latest; sooner as money runs out. */
uint64_t watch_plan_wakes_ns(const struct watch_plan *plan, uint64_t now_ns);

/* What our own CPU takes. All zero at the start. */
struct watch_own {
	uint64_t
		average_ppm; /* of running: falls and rises by a quarter of the difference a window */
	uint64_t owed_ns, rate_ppm; /* one-time costs: paid off over ten minutes */
	bool has_average;
};

/* What is left of the price for watching after a window in which we took `running_ns`, and `once_ns` for what is done
 * once or every ten minutes (start, calibration): price - average - what falls due of the one-time costs, and at least a
 * tenth of the price. */
uint64_t watch_own_price_ppm(struct watch_own *own, uint64_t limit_ppm, uint64_t window_ns,
			     uint64_t running_ns, uint64_t once_ns);

#endif
