/* vlq.c - whole numbers as letters. */
#include "format/vlq.h"

#define BITS 5u
#define MORE 32u

void vlq_put(struct text *t, uint64_t value)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[(64 + BITS - 1) / BITS];
	size_t len = 0;

	do {
		uint64_t low = value & (MORE - 1);

		value >>= BITS;
		out[len++] = letters[low | (value > 0 ? MORE : 0)];
	} while (value > 0);
	text_add(t, out, len);
}

void vlq_put_signed(struct text *t, int64_t value)
{
	uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value;

	vlq_put(t, magnitude << 1 | (value < 0));
}
