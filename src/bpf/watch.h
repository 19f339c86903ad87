/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - what the programs that count and time calls in the kernel share with who reads them: arrays that both map, plain
 * structs of fixed layout. Nothing in them is ever reset: a window is the difference of two readings. Raw nanoseconds and
 * picoseconds; each word is read and written whole. */
#ifndef TARE_BPF_WATCH_H
#define TARE_BPF_WATCH_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define WATCH_DEPTH  64u /* open timed calls of a thread: the kernel returns from no more either */
#define WATCH_POINTS 1025u /* WATCHLIST_MOST and the frame */
#define WATCH_LINE   64
#define WATCH_COUNTED \
	UINT32_C(0x80000000) /* in a cookie, with the point: its calls are only counted */
#define WATCH_NO_POINT	UINT32_C(0xffffffff)
#define WATCH_DOUBLED	12u   /* from interval 1 to WATCH_INTERVAL */
#define WATCH_INTERVAL	4096u /* an interval doubles no further, unless more was ordered */
#define WATCH_SLOW_RING (256u * 1024u)

/* One for all. User space writes the first line. */
struct watch_control {
	uint64_t window;  /* number of the running one, from 1 */
	uint64_t slow_ns; /* frames from here on are kept; 0: none */
	uint64_t spare[6];
	uint64_t open;	      /* timed calls that have not ended; may be too high, never too low */
	uint64_t lost_places; /* threads for which there was no memory: their call was not timed */
	uint64_t
		lost_returns; /* not timed: deeper than WATCH_DEPTH timed calls, or not on their thread's own stack */
	uint64_t lost_slow; /* slow frames that found the ring full */
	uint64_t spare_open[4];
};

/* One a point, of all CPUs. User space writes the first line. */
struct watch_point {
	uint64_t interval; /* >= 1 */
	uint64_t budget;   /* timed calls in a window until the interval doubles; 0: no end */
	uint64_t untimed_ps, timed_ps;	  /* what a call here costs who is timed around it */
	uint64_t floor_ns;		  /* what an empty function here reads as */
	uint64_t firsts_base, timed_base; /* `firsts`, `timed` when the window began */
	uint32_t epoch; /* another after each time it was detached: calls open then never end */
	uint32_t
		relink; /* number of the newer link while two of them have this point; 0: one has */
	uint64_t firsts, timed; /* ever begun */
	uint64_t spare[6];
};

/* One a CPU and point: index cpu x points + point. Lines 1 and on are between `begun` and `done`. */
struct watch_counter {
	uint64_t calls;	 /* ever entered on this CPU */
	uint64_t due;	 /* the call that is timed next */
	uint64_t window; /* of the last call */
	uint32_t weight; /* interval that the gap to `due` was drawn with */
	uint32_t doubled;
	uint64_t started; /* timed ones among `calls` */
	uint64_t spare[3];
	uint64_t begun, done; /* changes of what follows; not equal: one is under way */
	uint64_t firsts, first_ns, first_nested_ns; /* nested: in watched calls directly inside */
	uint64_t others, weights, weights_squared, weighted_ns, nested_ns;
	uint64_t squares_low, squares_high; /* struct bucket_squares */
	uint64_t probe_ns;	/* probes inside timed calls: already taken off; weighted */
	uint64_t abandoned;	/* begun and never ended: longjmp, throw, a thread's end */
	uint64_t backwards;	/* dropped: the clock went back */
	uint64_t max_ns[2];	/* of even and odd windows */
	uint64_t max_window[2]; /* and of which */
	uint64_t clamped;	/* took less than the probes inside should have cost: counts as 0 */
	uint64_t spare_last[4];
};

/* One a point: weight by step, as in bucket.h. */
struct watch_histogram {
	uint64_t weight[1504];
};

/* A thread's frame; a slow one comes through the ring as it is here, cut after the part of the last point. */
struct watch_frame {
	uint64_t start_ns, duration_ns;
	uint64_t number; /* of its thread's frames, from 0 */
	uint64_t tid;
	int64_t own_ns[WATCH_POINTS]; /* by point: estimates, which may be below 0 */
};

_Static_assert(sizeof(struct watch_control) == 2 * WATCH_LINE, "shared with the kernel");
_Static_assert(sizeof(struct watch_point) == 2 * WATCH_LINE, "shared with the kernel");
_Static_assert(sizeof(struct watch_counter) == 4 * WATCH_LINE, "shared with the kernel");

#endif
