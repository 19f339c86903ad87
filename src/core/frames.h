/* frames.h - the time between two marks is a frame: how long frames are, what they are made of, and which were slow.
 * Pure: times are passed in. Parts are exclusive (a function's own time) and add up to the frame, with `other` as the
 * rest. One thread at a time; a frames_thread belongs to one thread of the target, so that others do not mix in. */
#ifndef TARE_CORE_FRAMES_H
#define TARE_CORE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/rng.h"

#define FRAMES_MOST_PARTS 8u	/* contributors of a slow frame by name */
#define FRAMES_MOST_KEPT  1000u /* slow frames, the worst among them */
#define FRAMES_WORST	  10u
#define FRAMES_MOST_DEPTH 64u

/* One part: a watched function's own time. */
struct frames_part {
	uint64_t ns;
	uint32_t function;
};

/* A frame and its largest parts, largest first. parts + rest + other = duration, always. */
struct frames_frame {
	uint64_t start_ns, duration_ns;
	struct frames_part parts[FRAMES_MOST_PARTS];
	uint32_t part_count;
	uint64_t rest_ns;  /* further watched functions */
	uint64_t other_ns; /* what is not watched */
	bool is_scaled; /* estimated parts were more than the frame, and were scaled down to it */
	/* Whoever has them may fill them; frames_add() keeps them. */
	uint32_t tid;
	uint64_t number; /* of its thread's frames */
	/* Given by frames_add() to a frame that is kept: 0 … most - 1, its own while it is; then another's. */
	uint32_t place;
};

/* All frames of a target. */
struct frames {
	uint64_t slow_ns; /* a frame of so long, or longer, is slow */
	uint64_t count, total_ns, max_ns;
	uint64_t slow, scaled;	    /* how many were; those beyond the kept ones are only counted */
	struct histogram durations; /* weight 1 each */
	struct frames_frame *
		kept; /* owned: the worst, longest first, then a uniform sample of the other slow ones */
	uint32_t worst_count, sample_count;
	uint64_t offered; /* slow frames that are not among the worst */
	uint32_t
		most; /* to be kept: FRAMES_MOST_KEPT, or fewer, more than FRAMES_WORST, from the start on */
	struct rng rng;
};

/* Takes all memory for slow frames at once. -ENOMEM. */
int frames_open(struct frames *frames, uint64_t slow_ns, uint64_t seed);

/* Accepts the all-zero value, and may run twice. */
void frames_close(struct frames *frames);

/* Makes a frame from each function's own time, `own_ns[function]`, in any order; estimates from a sample may add up to
 * more than the frame and are then scaled down. */
struct frames_frame frames_make(uint64_t start_ns, uint64_t duration_ns, const uint64_t *own_ns,
				uint32_t functions);

/* Counts a frame, and keeps it when it is slow: among the 10 worst, else by a coin (Vitter, "Random sampling with a
 * reservoir", 1985, algorithm R). -ENOMEM: it was not counted. */
int frames_add(struct frames *frames, const struct frames_frame *frame);

/* Kept slow frame number `i` of worst_count + sample_count; NULL beyond. Borrowed until the next frames_add(). */
const struct frames_frame *frames_kept(const struct frames *frames, uint32_t i);

/* Where one thread of the target is. */
struct frames_thread {
	uint32_t open[FRAMES_MOST_DEPTH]; /* functions, outermost first */
	uint32_t depth;
	uint64_t too_deep; /* entries beyond, not yet left */
	uint32_t *deep;	   /* owned: the same by function */
	uint64_t *own_ns;  /* owned: by function, of the running frame */
	uint32_t functions;
	uint64_t start_ns, last_ns;
	bool has_started;     /* a first mark was seen */
	uint64_t unclosed;    /* scopes that a scope around them, or its own caller, had to close */
	uint64_t stray;	      /* exits without an entry */
	uint64_t passed_over; /* entries deeper than FRAMES_MOST_DEPTH */
	uint64_t backwards;   /* readings of a clock that went back, dropped */
};

/* `functions` are numbered 0 … functions - 1. -ENOMEM; -EINVAL for none. */
int frames_thread_open(struct frames_thread *thread, uint32_t functions);

/* Accepts the all-zero value, and may run twice. */
void frames_thread_close(struct frames_thread *thread);

/* The thread enters `function` at `now_ns`. An unknown function is passed over. */
void frames_enter(struct frames_thread *thread, uint32_t function, uint64_t now_ns);

/* The thread leaves `function`: what is open inside it is closed with it. */
void frames_leave(struct frames_thread *thread, uint32_t function, uint64_t now_ns);

/* A mark: ends the running frame and begins the next. Open scopes stay open and go on in the next. True with a frame in
 * `out_frame`; false at the first mark, and when the clock went back. */
bool frames_mark(struct frames_thread *thread, uint64_t now_ns, struct frames_frame *out_frame);

#endif
