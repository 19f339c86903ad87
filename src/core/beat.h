/* beat.h - when a server's next visit is due, and the number of its cycle: every server has its own place in the cycle, by
 * its seat, so that a start is spread over a cycle and a restart changes nothing. And how far visits really are apart. Pure. */
#ifndef TARE_CORE_BEAT_H
#define TARE_CORE_BEAT_H

#include <stdint.h>

#include "core/units.h"

/* A server's rhythm. Its n-th cycle begins at n * cycle_ns + offset_ns since 1970, and ends where the next one begins. */
struct beat {
	uint64_t cycle_ns, offset_ns;
	int64_t cycle; /* of its last visit; BEAT_NONE: none yet */
};

#define BEAT_NONE INT64_MIN

/* The place in the cycle of a seat: seat * golden ratio, its fraction. Any number of seats is spread evenly (Weyl, 1916; the golden
 * ratio has the smallest gaps: Sos, 1958), also those of one phase, seats that are N apart. */
uint64_t beat_offset_ns(uint32_t seat, uint64_t cycle_ns);

/* From `now` to the next visit; > 0. After a step of the clock the pace stays that of a cycle. */
uint64_t beat_wait_ns(const struct beat *b, struct wall now);

/* The cycle of a visit that is due at `now`: time divided by the cycle, and always above the last one. Becomes the last one. */
int64_t beat_take(struct beat *b, struct wall now);

/* When cycle `cycle` begins. */
struct wall beat_at(const struct beat *b, int64_t cycle);

#define SPACING_PARTS 10u  /* one a minute */
#define SPACING_STEPS 720u /* of 2 %: 1 ms to 25 min */

/* Durations of the last ten minutes, in steps of 2 %: the times between two visits of a server. All zero: empty. */
struct spacing {
	uint32_t counts[SPACING_PARTS][SPACING_STEPS];
	int64_t minutes[SPACING_PARTS]; /* which minute each part counts */
};

/* One more. */
void spacing_add(struct spacing *s, struct mono now, uint64_t duration_ns);

/* The duration that `percent` of them are at or under, out to the end of its step; 0: there was none in ten minutes. */
uint64_t spacing_ns(const struct spacing *s, struct mono now, unsigned percent);

#endif
