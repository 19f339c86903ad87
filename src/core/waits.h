/* waits.h - what a thread's waits weigh. Of each thread the sums by state are exact: running, waiting and runnable together are the
 * time since it was first seen. Where it waited is known of some waits: all that are long, and of the others one in N (coin.h).
 *
 * A long wait stands for itself. A short one that was looked at is n × its length, an unbiased estimate of what all short waits
 * took (Horvitz and Thompson, 1952); `exact` less long ones is what they did take. Where the estimate is over that, a look is
 * scaled down by the ratio of the two sums over the run so far: a ratio estimator, biased by no more than the estimate's own
 * relative variance (Cochran, "Sampling Techniques", 6.8). Where it is under, nothing is scaled up, since one look must not
 * stand for waits of another kind that will be looked at later; what no look covers in the end is a named rest. So what was
 * given never is above the exact sum, and with the rest is equal to it. In slices no wait is certain, however long: each stands
 * for the uncovered time before its slice, too. Pure, one thread at a time. */
#ifndef TARE_CORE_WAITS_H
#define TARE_CORE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame.h"
#include "core/units.h"

#define WAITS_LONG_NS NS_PER_S /* a wait of so long, or longer, is never without its stack */

/* The sums of one thread. The empty value is all zero. */
struct waits {
	uint64_t exact_ns[STATE_COUNT]; /* by the kernel's account */
	uint64_t long_ns[STATE_COUNT];	/* of long waits: known one by one, and given */
	uint64_t open_ns; /* of the wait under way, which is not known to be short yet */
	uint64_t looked_ns[STATE_COUNT]; /* of short ones: n × length of all looks */
	uint64_t given_ns[STATE_COUNT];	 /* of short ones */
};

/* One wait that was looked at. Its length is parted: from leaving the CPU to being woken, and from there to running. */
struct wait {
	uint64_t waiting_ns, runnable_ns;
	uint32_t one_in; /* N when the coin fell; 1: it was certain */
	uint64_t
		scale_ppm; /* in slices: what one stands for of the whole time; 0: all of it was covered */
};

/* What the kernel's account says of a thread: all since it was first seen. */
struct waits_account {
	uint64_t wall_ns, running_ns, runnable_ns;
	uint64_t
		open_ns; /* how long the wait under way has lasted, as far as it was not given yet */
};

/* Takes the account. The wait is what is left of the wall: clocks that disagree by some ns make no sum negative. */
void waits_tell(struct waits *w, const struct waits_account *account);

/* Counts a short wait that was looked at. All looks of a round are counted before any is weighed. */
void waits_count(struct waits *w, const struct wait *wait);

/* What a counted wait weighs in one state: give so much to its stack. May be 0. */
uint64_t waits_weigh(struct waits *w, const struct wait *wait, enum state state);

/* A long wait, or a part of one: given as it is. */
void waits_give(struct waits *w, enum state state, uint64_t ns);

/* How many waits a second may be looked at next, when `spent_ns` went into it in a window and `allowed_ns` may. Over it: half as
 * many at once, but one. Under half of it: a quarter more, up to `most`. */
uint32_t waits_next_rate(uint32_t rate, uint64_t spent_ns, uint64_t allowed_ns, uint32_t most);

/* What no look has covered so far; at the end it is given to a path that says so. */
uint64_t waits_rest(const struct waits *w, enum state state);

#endif
