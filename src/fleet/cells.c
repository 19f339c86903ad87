/* cells.c - cells of an answer as numbers and names; nothing of a foreign text is trusted. */
#include "fleet/cells.h"

#include <string.h>

#include "core/units.h"

#define DIGITS_MOST 19 /* decimal digits that surely have room in 64 bits */

bool cell_i64(struct cell c, int64_t *out)
{
	uint64_t value = 0;
	bool is_negative = c.len > 0 && c.bytes[0] == '-';
	uint32_t at = is_negative ? 1 : 0;

	if (c.bytes == NULL || at == c.len)
		return false;
	for (; at < c.len; at++) {
		unsigned digit = (unsigned char)c.bytes[at] - (unsigned)'0';

		if (digit > 9 || value > ((uint64_t)INT64_MAX + is_negative - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool cell_u32(struct cell c, uint32_t *out)
{
	int64_t value;

	if (!cell_i64(c, &value) || value < 0 || value >= UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

struct counter cell_counter(struct cell c)
{
	int64_t value;

	return cell_i64(c, &value) && value >= 0 ? COUNTER((uint64_t)value) : NOT_MEASURED;
}

/* A decimal number on its way: digits * 10^exponent. */
struct decimal {
	uint64_t digits;
	int count; /* of significant digits */
	int exponent;
};

/* Digits behind the 19th are left out: they are worth less than float8 can tell. */
static void take_digit(struct decimal *d, unsigned digit, bool is_fraction)
{
	if (d->count == 0 && digit == 0) {
		d->exponent -= is_fraction;
		return;
	}
	if (d->count < DIGITS_MOST - 1) {
		d->digits = d->digits * 10 + digit;
		d->count++;
		d->exponent -= is_fraction;
	} else if (!is_fraction) {
		d->exponent++;
	}
}

static bool take_exponent(struct cell c, uint32_t at, struct decimal *d)
{
	int sign = 1, value = 0;

	if (at < c.len && (c.bytes[at] == '+' || c.bytes[at] == '-'))
		sign = c.bytes[at++] == '-' ? -1 : 1;
	if (at == c.len || c.len - at > 3)
		return false;
	for (; at < c.len; at++) {
		if (c.bytes[at] < '0' || c.bytes[at] > '9')
			return false;
		value = value * 10 + (c.bytes[at] - '0');
	}
	d->exponent += sign * value;
	return true;
}

static bool take_decimal(struct cell c, struct decimal *d)
{
	bool is_fraction = false, has_digit = false;

	if (c.bytes == NULL || c.len > 400)
		return false;
	for (uint32_t at = 0; at < c.len; at++) {
		char letter = c.bytes[at];

		if (letter >= '0' && letter <= '9') {
			take_digit(d, (unsigned)(letter - '0'), is_fraction);
			has_digit = true;
		} else if (letter == '.' && !is_fraction) {
			is_fraction = true;
		} else if ((letter == 'e' || letter == 'E') && has_digit) {
			return take_exponent(c, at + 1, d);
		} else {
			return false;
		}
	}
	return has_digit;
}

struct counter cell_counter_ms(struct cell c)
{
	struct decimal d = { 0 };
	unsigned __int128 value;

	if (!take_decimal(c, &d))
		return NOT_MEASURED;
	if (d.digits == 0)
		return COUNTER(0);
	d.exponent += 6; /* ms to ns */
	if (d.exponent > DIGITS_MOST)
		return NOT_MEASURED;
	value = d.digits;
	for (; d.exponent > 0; d.exponent--)
		value *= 10;
	for (; d.exponent < -1 && value > 0; d.exponent++)
		value /= 10;
	if (d.exponent == -1)
		value = (value + 5) / 10;
	return value <= INT64_MAX ? COUNTER((uint64_t)value) : NOT_MEASURED;
}

int64_t cell_time_ns(struct cell c)
{
	int64_t value;

	if (!cell_i64(c, &value) || value < 0 || value > INT64_MAX / (int64_t)NS_PER_US)
		return 0;
	return value * (int64_t)NS_PER_US;
}

bool cell_bool(struct cell c)
{
	return c.len == 1 && c.bytes[0] == 't';
}

struct str cell_str(struct cell c)
{
	if (c.bytes == NULL)
		return STR_EMPTY;
	return (struct str){ c.bytes, c.len < STR_MAX_BYTES ? c.len : STR_MAX_BYTES };
}

void cell_copy(struct cell c, char *out, uint32_t size)
{
	uint32_t len = c.bytes == NULL ? 0 : (uint32_t)strnlen(c.bytes, c.len);

	if (len > size - 1)
		len = size - 1;
	if (len > 0)
		memcpy(out, c.bytes, len);
	out[len] = '\0';
}
