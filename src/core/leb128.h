/* leb128.h - numbers below 2^63 as groups of seven bits, lowest first, as few as they need (DWARF 5, 7.6). Arithmetic
 * only. */
#ifndef TARE_CORE_LEB128_H
#define TARE_CORE_LEB128_H

#include <stddef.h>
#include <stdint.h>

#define LEB128_MAX_BYTES 9u /* of seven bits: 63 bits */

/* How many bytes `value` takes: 1 … LEB128_MAX_BYTES for what is below 2^63. */
static inline size_t leb128_bytes(uint64_t value)
{
	size_t bytes = 1;

	for (; value >= 0x80; value >>= 7)
		bytes++;
	return bytes;
}

/* Writes `value` to `out`, which has room, and returns how many bytes it took. */
static inline size_t leb128_put(uint8_t *out, uint64_t value)
{
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		out[len++] = (uint8_t)(value | 0x80);
	out[len++] = (uint8_t)value;
	return len;
}

/* Reads a number at `bytes`, of which `len` are left. Returns how many bytes it took; 0: it is cut off, 2^63 or more, or
 * not the shortest way to write it. */
static inline size_t leb128_get(const uint8_t *bytes, size_t len, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < LEB128_MAX_BYTES && i < len; i++) {
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if ((bytes[i] & 0x80) != 0)
			continue;
		if (bytes[i] == 0 && i > 0)
			return 0; /* a last group of zero is not the shortest way */
		*out = value;
		return i + 1;
	}
	return 0;
}

#endif
