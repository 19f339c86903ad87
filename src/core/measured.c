/* measured.c - what was measured of calls, in words. */
#include "core/measured.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"

#define PLUS_MINUS "\xc2\xb1"
#define DASH	   "\xe2\x80\x94"
#define PERCENT	   TEXT_NBSP "%"

#define MOST_SHOWN   1e12 /* of a unit; more is shown as this */
#define NUMBER_BYTES 20u  /* "1,000,000,000,000", or "10,000,000,000.00" */

static const struct {
	const char *name;
	double ns;
} units[] = {
	[MEASURED_NS] = { "ns", 1 },
	[MEASURED_US] = { "\u00b5s", 1e3 },
	[MEASURED_MS] = { "ms", 1e6 },
	[MEASURED_S] = { "s", 1e9 },
};

const char *measured_unit_name(enum measured_unit unit)
{
	return units[unit].name;
}

enum measured_unit measured_unit_of(double ns)
{
	size_t unit = ARRAY_LEN(units) - 1;

	/* 999.7 µs would be shown as 1,000 µs. */
	while (unit > 0 && ns < units[unit].ns * 0.9995)
		unit--;
	return (enum measured_unit)unit;
}

/* Writes a number with so many digits behind the point, its whole part in groups of three. */
static void put_number(double value, int digits, char out[NUMBER_BYTES])
{
	uint64_t scale = digits == 0 ? 1 : digits == 1 ? 10 : 100;
	double least = fmin(fmax(value, 0), MOST_SHOWN / (double)scale);
	uint64_t steps = (uint64_t)(least * (double)scale + 0.5);
	unsigned part = (unsigned)(steps % scale);
	size_t len;

	units_format_exact(steps / scale, out, NUMBER_BYTES);
	if (digits == 0)
		return;
	len = strlen(out);
	out[len++] = '.';
	if (digits == 2)
		out[len++] = (char)('0' + part / 10);
	out[len++] = (char)('0' + part % 10);
	out[len] = '\0';
}

/* Columns that a whole number takes, in groups of three. */
static size_t width_of(double value)
{
	char number[NUMBER_BYTES];

	put_number(value, 0, number);
	return strlen(number);
}

enum measured_unit measured_unit_for(double least_ns, double most_ns, unsigned columns)
{
	enum measured_unit unit = measured_unit_of(least_ns);

	while (unit < MEASURED_S && width_of(most_ns / units[unit].ns) > columns)
		unit++;
	return unit;
}

/* The least that so many digits tell apart. */
static double step_of(int digits)
{
	return digits == 0 ? 1 : digits == 1 ? 0.1 : 0.01;
}

/* What is above an upper end, in so many digits: rounded up. */
static void put_upper(double upper, int digits, char out[NUMBER_BYTES])
{
	double step = step_of(digits);

	put_number(ceil(upper / step - 1e-9) * step, digits, out);
}

/* The nearest number with three digits that count. */
static double three_digits(double value)
{
	double step = 1;

	value = fmin(value, MOST_SHOWN);
	while (value / step >= 999.5)
		step *= 10;
	return floor(value / step + 0.5) * step;
}

static void put_three_digits(double value, bool is_whole, char out[NUMBER_BYTES])
{
	if (value >= 99.95 || is_whole)
		put_number(value >= 999.5 ? three_digits(value) : value, 0, out);
	else if (value > 0 && value < 0.005)
		snprintf(out, NUMBER_BYTES, "under" TEXT_NBSP "0.01");
	else
		put_number(value, value >= 9.995 ? 1 : 2, out);
}

/* A value and its error in any unit of which `mark` is the sign. */
static struct text_share with_error(double value, double error, const char *mark)
{
	struct text_share out = { .error = "" };
	char number[NUMBER_BYTES];
	int digits;

	error = fmin(fmax(error, 0), MOST_SHOWN); /* a foreign file's may be no number */
	digits = text_digits(error);
	if (error > value || value < step_of(digits) / 2) {
		put_upper(value + error, digits, number);
		snprintf(out.number, sizeof(out.number), "under" TEXT_NBSP "%s%s", number, mark);
		return out;
	}
	put_number(value, digits, number);
	snprintf(out.number, sizeof(out.number), "%s%s", number, mark);
	put_number(text_round_error(error, digits), digits, number);
	snprintf(out.error, sizeof(out.error), PLUS_MINUS TEXT_NBSP "%s", number);
	return out;
}

struct text_share measured_duration(double ns, double error_ns, enum measured_unit unit)
{
	double value = ns / units[unit].ns, error = error_ns / units[unit].ns;
	struct text_share out = { .error = "" };
	char number[NUMBER_BYTES];

	if (error_ns >= 0 && ns > 0)
		return with_error(value, error, "");
	put_three_digits(value, unit == MEASURED_NS, number);
	snprintf(out.number, sizeof(out.number), "%s", number);
	return out;
}

void measured_put_duration(struct text *t, double ns, double error_ns)
{
	/* Of an error that is larger only the upper end is told. */
	enum measured_unit unit = measured_unit_of(error_ns > ns ? ns + error_ns : ns);
	struct text_share parts = measured_duration(ns, error_ns, unit);

	text_put(t, parts.number);
	text_printf(t, TEXT_NBSP "%s", units[unit].name);
	if (parts.error[0] != '\0')
		text_printf(t, TEXT_NBSP "%s", parts.error);
}

/* "12.3 %", and a part of it that would round to 0 is "under 0.01 %". */
static struct text_share exact_share(double percent)
{
	struct text_share out = { .number = "0" };
	char number[NUMBER_BYTES];

	if (percent <= 0)
		return out;
	put_number(percent, percent < 0.095 ? 2 : 1, number);
	snprintf(out.number, sizeof(out.number), "%s%s",
		 percent < 0.005 ? "under" TEXT_NBSP "0.01" : number, PERCENT);
	return out;
}

struct text_share measured_share(double value, double error, bool has_error)
{
	if (!has_error)
		return (struct text_share){ .number = "cannot know", .is_unknown = true };
	if (error <= 0)
		return exact_share(value * 100);
	return with_error(value * 100, error * 100, PERCENT);
}

void measured_put_share(struct text *t, double value, double error, bool has_error)
{
	struct text_share parts = measured_share(value, error, has_error);

	if (parts.is_unknown)
		text_put(t, DASH TEXT_NBSP);
	text_put(t, parts.number);
	if (parts.error[0] != '\0')
		text_printf(t, TEXT_NBSP "%s", parts.error);
}

/* "1,396.2", and "40" for a whole one when `is_short`. */
static void put_tenths(uint64_t ps, bool is_short, char *out, size_t size)
{
	uint64_t tenths = ps / 100 + (ps % 100 >= 50);
	char whole[40];

	units_format_exact(tenths / 10, whole, sizeof(whole));
	if (is_short && tenths % 10 == 0)
		snprintf(out, size, "%s", whole);
	else
		snprintf(out, size, "%s.%u", whole, (unsigned)(tenths % 10));
}

void measured_put_cost(struct text *t, uint64_t measured_ps, uint64_t assumed_ps)
{
	char number[48];

	if (measured_ps == 0) {
		put_tenths(assumed_ps, true, number, sizeof(number));
		text_printf(t, "unmeasured" TEXT_NBSP "(%s" TEXT_NBSP "ns" TEXT_NBSP "assumed)",
			    number);
		return;
	}
	put_tenths(measured_ps, false, number, sizeof(number));
	text_printf(t, "%s" TEXT_NBSP "ns", measured_ps < 50 ? "under" TEXT_NBSP "0.1" : number);
}

void measured_put_number(struct text *t, double value)
{
	char number[NUMBER_BYTES];

	put_three_digits(value, value <= 0, number);
	text_put(t, number);
}

void measured_put_many(struct text *t, uint64_t count)
{
	static const struct {
		const char *name;
		double of;
	} words[] = { { "million", 1e6 }, { "billion", 1e9 }, { "trillion", 1e12 } };
	char number[NUMBER_BYTES];
	size_t i = 0;

	if (count < 1000000) {
		text_put_exact(t, count);
		return;
	}
	while (i + 1 < ARRAY_LEN(words) && (double)count / words[i].of >= 999.5)
		i++;
	put_three_digits((double)count / words[i].of, false, number);
	text_printf(t, "%s" TEXT_NBSP "%s", number, words[i].name);
}
