/* places_inlined.h - is what has no symbol known to the debug information as a function that the compiler put into its
 * callers? A child without rights reads it (sandbox.h), for a bounded time. One thread. */
#ifndef TARE_SENSE_PLACES_INLINED_H
#define TARE_SENSE_PLACES_INLINED_H

#include <stdbool.h>
#include <stdint.h>

#include "sense/places_pattern.h"

#define INLINED_MAX_BYTES  (UINT64_C(96) << 20) /* of debug sections, unpacked */
#define INLINED_MAX_WISHES 64u

/* Looks in the file behind `fd` (borrowed) for `count` patterns, at most INLINED_MAX_WISHES, and returns a bit for each that
 * means a function which is inlined wherever it is used. 0 also when there is no debug information, or too much of it. Takes
 * no longer than `most_ms`, and adds what it took to *spent_ms. */
uint64_t inlined_find(int fd, struct pattern *const *patterns, size_t count, uint32_t most_ms,
		      uint32_t *spent_ms);

#endif
