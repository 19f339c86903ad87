/* batches.c - weights over equal spans, as pairs of an index and a LEB128 value. */
#include "store/batches.h"

#include <errno.h>
#include <string.h>

#define VALUE_MAX_BYTES 9u /* of seven bits: 63 bits */

size_t batches_encode(const uint64_t batch_ns[BATCH_COUNT], uint8_t *out)
{
	size_t len = 0;

	for (size_t i = 0; i < BATCH_COUNT; i++) {
		uint64_t left = batch_ns[i];

		if (left == 0)
			continue;
		if (left > INT64_MAX)
			return SIZE_MAX;
		out[len++] = (uint8_t)i;
		for (; left >= 0x80; left >>= 7)
			out[len++] = (uint8_t)(left | 0x80);
		out[len++] = (uint8_t)left;
	}
	return len;
}

/* One value at `bytes[*at]`; 0 when it is none. */
static uint64_t decode_value(const uint8_t *bytes, size_t len, size_t *at)
{
	uint64_t value = 0;

	for (size_t i = 0; i < VALUE_MAX_BYTES && *at < len; i++) {
		uint8_t byte = bytes[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0)
			return byte == 0 ? 0
					 : value; /* a last group of zero is not the shortest way */
	}
	return 0;
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
		batch_ns[i] = decode_value(bytes, len, &at);
		if (batch_ns[i] == 0)
			return -EBADMSG;
		last = i;
	}
	memcpy(out_ns, batch_ns, sizeof(batch_ns));
	return 0;
}
