/* pace.h - how often a watched function is timed: its interval, chosen again after every window from its own calls and
 * costs and what the others that ran leave of the price. Pure; amounts of a window are in ps, as are costs. One thread at
 * a time. */
#ifndef TARE_CORE_PACE_H
#define TARE_CORE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_GIVEN 8u	 /* default least interval */
#define PACE_MOST  4096u /* default largest one */

/* What one call costs. A cost that reads 0 is unmeasured: 0 is never a cost. */
struct pace_costs {
	uint64_t untimed_ps; /* counting it: the real entry and exit that do not time */
	uint64_t extra_ps;   /* what timing adds */
	uint64_t hook_ps;    /* trampoline or trap, every call; 0 also where there is none */
};

/* What may be spent, and between which intervals. */
struct pace_limits {
	uint64_t price_ppm;   /* of one CPU, for all watches together */
	uint32_t given, most; /* 1 <= given <= most <= GAP_MAX_INTERVAL */
};

/* One watched function: what is in force for its next window. */
struct pace_watch {
	struct pace_costs costs; /* in force: pace_costs_in_force() */
	uint32_t interval;
	uint64_t
		share_ps; /* of a window: at this much timed spending the interval doubles (gap_limit()) */
	bool is_sliced;	   /* watched in slices: slices.h plans them */
	uint64_t slice_ps; /* sliced: what each window may take of it, on average */
	bool is_fixed;	   /* it cannot be detached: never sliced */
	uint64_t load_ps;  /* what counting all calls of a window costs, as last seen */
};

/* What one watch did in a window. */
struct pace_seen {
	uint64_t calls, timed;
	uint64_t covered_ns; /* how long it was attached; the window's length unless in slices */
};

/* How a window was judged. */
struct pace_judged {
	size_t ran; /* watches with calls: k */
	int64_t left_ps; /* S' of a window: 0.9 x price less counting; may be negative where slices are refused */
	size_t sliced;
	size_t loudest; /* the watch that counts dearest; the number of watches when none ran */
	uint64_t
		allowed_rate; /* with is_refused: calls a second of `loudest` that the price allows */
	bool is_refused;      /* no interval helps, and slices are not allowed: say the rate */
};

/* The costs to charge and to pace by: each that reads 0 is replaced by the assumed one. */
struct pace_costs pace_costs_in_force(const struct pace_costs *measured,
				      const struct pace_costs *assumed);

/* What a window's calls cost: calls x (untimed + hook) + timed x extra, in ps; saturates. */
uint64_t pace_charge_ps(const struct pace_costs *costs, uint64_t calls, uint64_t timed);

/* A watch's share as a number of timed calls of all its threads or CPUs together, for who counts those instead of
 * adding up costs: never 0, which may then stand for "no limit". */
uint32_t pace_share_timed(const struct pace_watch *watch);

/* Before the first window: every watch has the given interval and an even part of the price of a window of
 * `window_ns`. `costs` must be set. */
void pace_start(const struct pace_limits *limits, uint64_t window_ns, struct pace_watch *watches,
		size_t count);

/* Judges a window of `window_ns` > 0 and sets what is in force for the next. `watches` and `seen` have `count` rows.
 *
 * A watch that ran gets interval clamp(ceil(k x calls x extra / S'), given, most) and a k-th of the price that
 * counting leaves; one that did not keeps its interval (a burst must not start dear) and has an even part of a tenth of
 * the price to wake with, so that all bursts at once stay under 2 x price. When S' <= 0, or the largest interval is
 * still over the price, the watch that counts dearest is sliced (with `may_slice`), then the next, until what is not
 * sliced leaves the slices 15 % and timing 25 % of the price. Slices end when counting everything would leave 25 %. */
struct pace_judged pace_next_window(const struct pace_limits *limits, uint64_t window_ns,
				    struct pace_watch *watches, const struct pace_seen *seen,
				    size_t count, bool may_slice);

#endif
