/* batches.h - the weights of a context over equal spans of the run, as a short blob: for each weight that is not
 * zero its index (one byte) and its value (LEB128), in rising order. Pure. */
#ifndef TARE_STORE_BATCHES_H
#define TARE_STORE_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "core/recording.h"

/* An index and nine groups of seven bits a weight: weights stay below 2^63. */
#define BATCHES_MAX_BYTES (BATCH_COUNT * 10u)

/* Writes `batch_ns` to `out`, which has BATCHES_MAX_BYTES. Returns the length, or 0 for nothing but zeros;
 * SIZE_MAX when a weight is 2^63 or more. */
size_t batches_encode(const uint64_t batch_ns[BATCH_COUNT], uint8_t *out);

/* Reads what batches_encode wrote; foreign bytes are checked. -EBADMSG: cut off, out of order, a zero, a value of
 * 2^63 or more, or not the shortest way to write it; `out_ns` is then untouched. */
int batches_decode(const uint8_t *bytes, size_t len, uint64_t out_ns[BATCH_COUNT]);

#endif
