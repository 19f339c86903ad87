/* steps.h - a histogram as a short blob, as the store keeps it. Empty: no bytes. Else its coarse bits, then for each step
 * its distance from the step before (the first: from step 0) in steps of 2^coarse, and its weight; all LEB128. Pure. */
#ifndef TARE_CORE_STEPS_H
#define TARE_CORE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/leb128.h"

/* Steps are in order: only the first one's distance can be long, or there are few. */
#define STEPS_MAX_BYTES (1u + 2u + BUCKET_COUNT * (1u + LEB128_MAX_BYTES))

/* How many bytes the blob of `h` has. */
size_t steps_bytes(const struct histogram *h);

/* Writes `h` to `out`, which has room for steps_bytes(h). Returns the length; SIZE_MAX: a weight is 2^63 or more. */
size_t steps_encode(const struct histogram *h, uint8_t *out);

/* Reads what steps_encode() wrote into the empty `out`, which then owns its steps; foreign bytes are checked, and memory is
 * taken once for what is there. -EBADMSG: cut off, a step beyond the last or not above the one before, a weight of 0, a
 * number that is not the shortest, weights of 2^63 or more together; -ENOMEM; `out` is then untouched. */
int steps_decode(const uint8_t *bytes, size_t len, struct histogram *out);

#endif
