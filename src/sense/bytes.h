/* bytes.h - reads numbers from foreign bytes, little-endian, never past their end. */
#ifndef TARE_SENSE_BYTES_H
#define TARE_SENSE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A place in a run of bytes. Once `is_bad`, every read gives 0. Borrowed. */
struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

/* The run of `len` bytes at `start`. */
static inline struct bytes bytes_of(const uint8_t *start, size_t len)
{
	return (struct bytes){ start, start + len, false };
}

/* How many are left; 0 once a read was bad. */
static inline size_t bytes_left(const struct bytes *b)
{
	return b->is_bad ? 0 : (size_t)(b->end - b->at);
}

/* The next `count` bytes, skipped; NULL when there are fewer. */
static inline const uint8_t *bytes_skip(struct bytes *b, uint64_t count)
{
	const uint8_t *start = b->at;

	if (count > bytes_left(b)) {
		b->is_bad = true;
		return NULL;
	}
	b->at += count;
	return start;
}

/* The next `size` bytes (1 to 8) as an unsigned number. */
static inline uint64_t bytes_fixed(struct bytes *b, size_t size)
{
	const uint8_t *start = bytes_skip(b, size);
	uint64_t value = 0;

	if (start != NULL)
		memcpy(&value, start, size);
	return value;
}

/* The next `size` bytes (1 to 8) as a signed number. */
static inline int64_t bytes_signed(struct bytes *b, size_t size)
{
	unsigned unused_bits = 64 - 8 * (unsigned)size;

	return (int64_t)(bytes_fixed(b, size) << unused_bits) >> unused_bits;
}

/* ULEB128; bits over 64 are dropped. */
static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)bytes_fixed(b, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

/* SLEB128; bits over 64 are dropped. */
static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)bytes_fixed(b, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

#endif
