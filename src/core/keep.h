/* keep.h - one tick in D is kept. D is 1 at first and doubles after K = max(8192, 8 N) ticks, then after each
 * K/2 x D further ticks, so that the number kept grows with the logarithm of the run.
 * A group is D base periods of weight in order of arrival; a random nanosecond of it is drawn before looking,
 * and the tick whose weight covers it is kept and stands for the whole group (a random place would be biased for
 * unequal weights). With D = 1 every tick is its own group. Ticks are counted, not time: who sleeps stays precise. */
#ifndef TARE_CORE_KEEP_H
#define TARE_CORE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"

struct keep {
	uint64_t base_ns;     /* the base period */
	uint64_t one_in;      /* D */
	uint64_t first_ticks; /* K */
	uint64_t ticks;	      /* seen so far */
	uint64_t next_ticks;  /* D doubles when `ticks` reaches this */
	bool keeps_all;	      /* --full: D stays 1 */
	uint64_t group_ns;    /* weight of the open group; 0: none is open */
	uint64_t filled_ns;   /* of it, seen */
	uint64_t drawn_ns;    /* the drawn nanosecond, in [0, group_ns) */
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

/* Does a tick of this weight cover a drawn nanosecond? Draws for the groups it opens, so ask once a tick and
 * then take the same weight. */
bool keep_wants(struct keep *k, struct rng *r, uint64_t weight_ns);

/* Cuts the next part off `*left_ns` (> 0). Call until it is 0. Parts come in order of time. */
struct keep_part keep_take(struct keep *k, struct rng *r, uint64_t *left_ns);

#endif
