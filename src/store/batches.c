/* batches.c - weights over equal spans, as pairs of an index and a LEB128 value. */
#include "store/batches.h"

#include <errno.h>
#include <string.h>

#include "core/leb128.h"

size_t batches_encode(const uint64_t batch_ns[BATCH_COUNT], uint8_t *out)
{
	size_t len = 0;

	for (size_t i = 0; i < BATCH_COUNT; i++) {
		uint64_t value = batch_ns[i];

		if (value == 0)
			continue;
		if (value > INT64_MAX)
			return SIZE_MAX;
		out[len++] = (uint8_t)i;
		len += leb128_put(out + len, value);
	}
	return len;
}

int batches_decode(const uint8_t *bytes, size_t len, uint64_t out_ns[BATCH_COUNT])
{
	uint64_t batch_ns[BATCH_COUNT] = { 0 };
	int last = -1;

	if (len > BATCHES_MAX_BYTES)
		return -EBADMSG;
	for (size_t at = 0; at < len;) {
		uint8_t i = bytes[at++];

		if (i >= BATCH_COUNT || (int)i <= last)
			return -EBADMSG;

		size_t used = leb128_get(bytes + at, len - at, &batch_ns[i]);

		if (used == 0 || batch_ns[i] == 0)
			return -EBADMSG;
		at += used;
		last = i;
	}
	memcpy(out_ns, batch_ns, sizeof(batch_ns));
	return 0;
}
