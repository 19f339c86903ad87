/* steps.c - histograms to and from bytes. */
#include "core/steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

size_t steps_bytes(const struct histogram *h)
{
	size_t bytes = h->count > 0;
	uint32_t before = 0;

	for (uint32_t i = 0; i < h->count; i++) {
		bytes += leb128_bytes((h->steps[i].at - before) >> h->coarse);
		bytes += leb128_bytes(h->steps[i].weight);
		before = h->steps[i].at;
	}
	return bytes;
}

size_t steps_encode(const struct histogram *h, uint8_t *out)
{
	uint32_t before = 0;
	size_t len = 0;

	if (h->count > 0)
		len += leb128_put(out, h->coarse);
	for (uint32_t i = 0; i < h->count; i++) {
		if (h->steps[i].weight > INT64_MAX)
			return SIZE_MAX;
		len += leb128_put(out + len, (h->steps[i].at - before) >> h->coarse);
		len += leb128_put(out + len, h->steps[i].weight);
		before = h->steps[i].at;
	}
	return len;
}

/* Numbers end at bytes without a continuation bit: so many there are, at most. */
static size_t count_numbers(const uint8_t *bytes, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += (bytes[i] & 0x80) == 0;
	return count;
}

/* Reads one step at `bytes`; returns how many bytes it took, 0 for none. */
static size_t take_step(const uint8_t *bytes, size_t len, struct histogram *h)
{
	bool is_first = h->count == 0;
	uint64_t distance, weight, at = is_first ? 0 : h->steps[h->count - 1].at;
	size_t used = leb128_get(bytes, len, &distance), more;

	if (used == 0 || distance >= BUCKET_COUNT || (distance == 0 && !is_first))
		return 0;
	at += distance << h->coarse;
	more = leb128_get(bytes + used, len - used, &weight);
	if (more == 0 || weight == 0 || at >= BUCKET_COUNT || weight > INT64_MAX - h->weight)
		return 0;
	h->steps[h->count++] = (struct histogram_step){ .weight = weight, .at = (uint32_t)at };
	h->weight += weight;
	return used + more;
}

int steps_decode(const uint8_t *bytes, size_t len, struct histogram *out)
{
	struct histogram h = HISTOGRAM_EMPTY;
	size_t numbers, at, used;

	if (len == 0) {
		*out = h;
		return 0;
	}
	numbers = count_numbers(bytes, len);
	if (len > STEPS_MAX_BYTES || numbers < 3 || numbers % 2 == 0 ||
	    numbers / 2 > BUCKET_COUNT || bytes[0] > HISTOGRAM_MOST_COARSE)
		return -EBADMSG;
	h.coarse = bytes[0];
	h.capacity = (uint32_t)(numbers / 2);
	h.steps = calloc(h.capacity, sizeof(*h.steps));
	if (h.steps == NULL)
		return -ENOMEM;
	for (at = 1; at < len && h.count < h.capacity; at += used) {
		used = take_step(bytes + at, len - at, &h);
		if (used == 0)
			break;
	}
	if (at != len || h.count != h.capacity) {
		histogram_free(&h);
		return -EBADMSG;
	}
	*out = h;
	return 0;
}
