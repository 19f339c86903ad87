/* keep.h - one tick in D is kept. D is 1 at first and doubles after K = max(8192, 8 N) ticks, then after each
 * K/2 x D further ticks, so that the number kept grows with the logarithm of the run.
 * A group is D base periods of weight in order of arrival; a random nanosecond of it is drawn before looking,
 * and the tick whose weight covers it is kept and stands for the whole group (a random place would be biased for
 * unequal weights). With D = 1 every tick is its own group. Ticks are counted, not time: who sleeps stays precise.
 * Pure, one thread at a time. */
#ifndef TARE_CORE_KEEP_H
#define TARE_CORE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"

struct keep {
	uint64_t base_ns;      /* the base period */
	uint64_t one_in;       /* D; takes effect when a group opens */
	uint64_t first_ticks;  /* K */
	uint64_t ticks;	       /* seen so far */
	uint64_t double_after; /* D doubles with the first tick after so many */
	bool keeps_all;	       /* --full: D stays 1 */
	uint64_t group_ns;     /* weight of the open group; 0: none is open */
	uint64_t filled_ns;    /* of it, seen */
	uint64_t drawn_ns;     /* the drawn nanosecond, in [0, group_ns) */
	bool has_next; /* the nanosecond of the group that this tick will open is drawn already */
	uint64_t next_drawn_ns;
};

/* One part of a tick: what falls into one group (or into a run of whole groups at once). */
struct keep_part {
	uint64_t weight_ns;
	bool covers; /* the drawn nanosecond is in this part: this tick stands for the group */
	bool closes; /* the group is full after this part */
};

/* `slots` is N. base_ns > 0. */
void keep_init(struct keep *k, uint64_t base_ns, uint32_t slots, bool keeps_all);

/* A new tick has arrived; call once a tick, before keep_wants and keep_take. */
void keep_tick(struct keep *k);

/* Does a tick of this weight cover a drawn nanosecond? Draws for the group it opens, so ask once a tick and
 * then take the same weight. A weight of 0 covers nothing. */
bool keep_wants(struct keep *k, struct rng *r, uint64_t weight_ns);

/* Cuts the next part off `*left_ns` (> 0), in order of time: the rest of the open group, then all whole groups
 * at once, then the beginning of a new one. Call until `*left_ns` is 0: at most three times a tick. */
struct keep_part keep_take(struct keep *k, struct rng *r, uint64_t *left_ns);

#endif
