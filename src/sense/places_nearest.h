/* places_nearest.h - names like one that was not found: "did you mean". Pure. */
#ifndef TARE_SENSE_PLACES_NEAREST_H
#define TARE_SENSE_PLACES_NEAREST_H

#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"

#define NEAREST_COUNT	  3u
#define NEAREST_MAX_BYTES 128u /* longer names are not compared */

struct nearest {
	char names[NEAREST_COUNT][NEAREST_MAX_BYTES];
	uint32_t lengths[NEAREST_COUNT];
	uint32_t scores[NEAREST_COUNT];
	size_t count;
};

/* How many letters must be changed, added, dropped or swapped with their neighbour; `most` + 1 when it is more. Both have
 * NEAREST_MAX_BYTES at most. The distance of optimal string alignment, in a band around the diagonal. */
uint32_t nearest_distance(struct str a, struct str b, uint32_t most);

/* Keeps `name` if it is like `wanted` and nearer than one that is kept. */
void nearest_offer(struct nearest *n, struct str wanted, struct str name);

#endif
