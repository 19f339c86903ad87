/* shadow_watch.h - the part of a shadow that only a watch has: watched rows, windows and slow frames that change at random
 * and are always such as a watch can have. Internal to shadow.c. */
#ifndef TARE_TESTS_SHADOW_WATCH_H
#define TARE_TESTS_SHADOW_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/recording.h"
#include "core/rng.h"

struct shadow_watch; /* opaque; owned by whoever opened it */

/* At most so many watched rows, with names of at most `name_bytes` and numbers below 2^number_bits. NULL: out of memory. */
struct shadow_watch *shadow_watch_open(uint32_t rows, uint32_t name_bytes, uint32_t number_bits);

/* Accepts NULL. */
void shadow_watch_close(struct shadow_watch *w);

/* One random change. */
void shadow_watch_step(struct shadow_watch *w, struct rng *rng);

/* As shadow_changes(), shadow_saved() and shadow_differs(). */
bool shadow_watch_changes(struct shadow_watch *w, struct changes *out);
void shadow_watch_saved(struct shadow_watch *w);
const char *shadow_watch_differs(const struct shadow_watch *w, const struct recording *r);

#endif
