/* colony.h - a small colony that lives by ticks: twelve systems over one world. Deterministic: the same seed gives the same
 * colony on every machine. */
#ifndef COLONY_H
#define COLONY_H

#include <stdint.h>

#define COLONY_ANTS    8192u
#define COLONY_SIDE    96u /* the world is a square */
#define COLONY_SYSTEMS 12u
#define COLONY_RARE    97u /* every so many ticks, the paths are found anew */

struct ant {
	uint16_t x, y;
	int16_t hunger, age;
	uint8_t load, task;
};

struct colony {
	uint64_t tick, random;
	struct ant ants[COLONY_ANTS];
	uint16_t food[COLONY_SIDE][COLONY_SIDE];
	uint16_t scent[COLONY_SIDE][COLONY_SIDE];
	uint16_t path[COLONY_SIDE][COLONY_SIDE]; /* steps to the nest */
	uint32_t stock, born, died;
	int32_t warmth;
};

/* A young colony. */
void colony_init(struct colony *colony, uint64_t seed);

/* One tick: every system once. */
void colony_tick(struct colony *colony);

/* A number made of all that the colony is: equal numbers, equal colonies. */
uint64_t colony_digest(const struct colony *colony);

#endif
