/* units.c - numbers with units, read and shown. Digits are done by hand: no locale, no floating point. */
#include "core/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"

#define WIDE(x)		((unsigned __int128)(x))
#define FRACTION_DIGITS 18u
#define SHARE_MAX_PPM	(64 * PPM)

struct unit {
	const char *name;
	uint64_t of; /* how many of the base unit */
};

/* A decimal number as it was written: whole + part / scale. */
struct decimal {
	uint64_t whole;
	uint64_t part, scale;
	bool is_huge; /* the whole part has no room */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, a point and digits at most. Returns where the number ends; NULL: there is none. Digits beyond the 18th
 * behind the point are below everything we measure and are read over. */
static const char *read_decimal(const char *text, struct decimal *out)
{
	*out = (struct decimal){ .scale = 1 };
	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++) {
		if (__builtin_mul_overflow(out->whole, 10, &out->whole) ||
		    __builtin_add_overflow(out->whole, (uint64_t)(*text - '0'), &out->whole))
			out->is_huge = true;
	}
	if (*text != '.')
		return text;
	if (!is_digit(*++text))
		return NULL;
	for (unsigned digits = 0; is_digit(*text); text++, digits++) {
		if (digits >= FRACTION_DIGITS)
			continue;
		out->part = out->part * 10 + (uint64_t)(*text - '0');
		out->scale *= 10;
	}
	return text;
}

/* number x `of`, to the nearest. -ERANGE: over `max`; -EINVAL: it would become 0 and is not. */
static int scale_decimal(const struct decimal *number, uint64_t of, uint64_t max, uint64_t *out)
{
	unsigned __int128 sum = WIDE(number->whole) * of +
				(WIDE(number->part) * of + number->scale / 2) / number->scale;

	if (number->is_huge || sum > max)
		return -ERANGE;
	if (sum == 0 && number->part != 0)
		return -EINVAL;
	*out = (uint64_t)sum;
	return 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Like strcmp, for ASCII letters of either case, whatever the locale says of them. */
static int differ_but_for_case(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) - lower(*b);
}

/* A number, at most one blank, and one of the units. */
static int parse(const char *text, const struct unit *units, size_t count,
		 int (*differ)(const char *, const char *), uint64_t max, uint64_t *out)
{
	struct decimal number;
	const char *unit = read_decimal(text, &number);

	if (unit == NULL)
		return -EINVAL;
	if (unit[0] == ' ' && unit[1] != '\0')
		unit++;
	for (size_t i = 0; i < count; i++)
		if (differ(unit, units[i].name) == 0)
			return scale_decimal(&number, units[i].of, max, out);
	return -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *out_ns)
{
	static const struct unit units[] = {
		{ "ns", 1 },
		{ "us", NS_PER_US },
		{ "\u00b5s", NS_PER_US }, /* micro sign */
		{ "\u03bcs", NS_PER_US }, /* Greek mu */
		{ "ms", NS_PER_MS },
		{ "s", NS_PER_S },
		{ "min", 60 * NS_PER_S },
		{ "m", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S },
		{ "d", 86400 * NS_PER_S },
	};

	return parse(text, units, ARRAY_LEN(units), strcmp, UINT64_MAX, out_ns);
}

int units_parse_size(const char *text, uint64_t *out_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", UINT64_C(1) << 10 },
		{ "KB", UINT64_C(1) << 10 },
		{ "KiB", UINT64_C(1) << 10 },
		{ "M", UINT64_C(1) << 20 },
		{ "MB", UINT64_C(1) << 20 },
		{ "MiB", UINT64_C(1) << 20 },
		{ "G", UINT64_C(1) << 30 },
		{ "GB", UINT64_C(1) << 30 },
		{ "GiB", UINT64_C(1) << 30 },
		{ "T", UINT64_C(1) << 40 },
		{ "TB", UINT64_C(1) << 40 },
		{ "TiB", UINT64_C(1) << 40 },
	};

	return parse(text, units, ARRAY_LEN(units), differ_but_for_case, UINT64_MAX, out_bytes);
}

int units_parse_share(const char *text, uint64_t *out_ppm)
{
	static const struct unit units[] = {
		{ "%", PPM / 100 },
		{ "ppm", 1 },
	};

	return parse(text, units, ARRAY_LEN(units), strcmp, SHARE_MAX_PPM, out_ppm);
}

int units_parse_count(const char *text, uint64_t *out_count)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);

	if (end == NULL || *end != '\0' || number.scale != 1)
		return -EINVAL;
	return scale_decimal(&number, 1, UINT64_MAX, out_count);
}

/* value / of, to the nearest. */
static uint64_t nearest(uint64_t value, uint64_t of)
{
	return (uint64_t)((WIDE(value) + of / 2) / of);
}

/* value / of with at most three significant digits and no zeros at the end, then `tail`. */
static void put_three_digits(uint64_t value, const struct unit *unit, char *out_text, size_t size)
{
	uint64_t hundredths = (uint64_t)((WIDE(value) * 100 + unit->of / 2) / unit->of);
	uint64_t tenths = (uint64_t)((WIDE(value) * 10 + unit->of / 2) / unit->of);

	if (hundredths < 1000 && hundredths % 10 != 0)
		snprintf(out_text, size, "%u.%02u%s", (unsigned)(hundredths / 100),
			 (unsigned)(hundredths % 100), unit->name);
	else if (tenths < 1000 && tenths % 10 != 0)
		snprintf(out_text, size, "%u.%u%s", (unsigned)(tenths / 10),
			 (unsigned)(tenths % 10), unit->name);
	else
		snprintf(out_text, size, "%llu%s", (unsigned long long)nearest(value, unit->of),
			 unit->name);
}

/* Two neighbouring units, the second left out when it is 0. */
static void put_two_parts(uint64_t count, unsigned per_first, const char *first, const char *second,
			  char *out_text, size_t size)
{
	unsigned long long whole = count / per_first;
	unsigned rest = (unsigned)(count % per_first);

	if (rest == 0)
		snprintf(out_text, size, "%llu %s", whole, first);
	else
		snprintf(out_text, size, "%llu %s %u %s", whole, first, rest, second);
}

void units_format_duration(uint64_t ns, char *out_text, size_t size)
{
	static const struct unit units[] = {
		{ " ns", 1 },
		{ " \u00b5s", NS_PER_US },
		{ " ms", NS_PER_MS },
	};
	static const struct unit seconds = { " s", NS_PER_S };
	uint64_t s = nearest(ns, NS_PER_S), min = nearest(ns, 60 * NS_PER_S);

	for (size_t i = 0; ns != 0 && i < ARRAY_LEN(units); i++)
		if (nearest(ns, units[i].of) < 1000) {
			put_three_digits(ns, &units[i], out_text, size);
			return;
		}
	if (nearest(ns, NS_PER_S / 10) < 600)
		put_three_digits(ns, &seconds, out_text, size);
	else if (s < 3600)
		put_two_parts(s, 60, "min", "s", out_text, size);
	else if (min < 24 * 60)
		put_two_parts(min, 60, "h", "min", out_text, size);
	else
		put_two_parts(nearest(ns, 3600 * NS_PER_S), 24, "d", "h", out_text, size);
}

void units_format_clock(uint64_t ns, char *out_text, size_t size)
{
	uint64_t s = ns / NS_PER_S, days = s / 86400;
	char text[48];

	snprintf(text, sizeof(text), "%llu d ", (unsigned long long)days);
	snprintf(out_text, size, "%s%02u:%02u:%02u", days == 0 ? "" : text,
		 (unsigned)(s / 3600 % 24), (unsigned)(s / 60 % 60), (unsigned)(s % 60));
}

/* The unit a size is shown in, and how fine: 10 is one digit behind the point. */
struct size_unit {
	struct unit unit;
	unsigned scale;
};

/* How many of the smallest that can be shown, to the nearest. */
static uint64_t size_shown(uint64_t bytes, const struct size_unit *in)
{
	return (uint64_t)((WIDE(bytes) * in->scale + in->unit.of / 2) / in->unit.of);
}

static const struct size_unit *size_unit_of(uint64_t bytes)
{
	static const struct size_unit units[] = {
		{ { "bytes", 1 }, 1 },
		{ { "KB", UINT64_C(1) << 10 }, 1 },
		{ { "MB", UINT64_C(1) << 20 }, 10 },
		{ { "GB", UINT64_C(1) << 30 }, 100 },
		{ { "TB", UINT64_C(1) << 40 }, 100 },
	};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) &&
	       size_shown(bytes, &units[i]) >= UINT64_C(1024) * units[i].scale)
		i++;
	return &units[i];
}

/* The number alone; what is there and would show as 0 is "under" the smallest that can be shown. */
static void put_size(uint64_t bytes, const struct size_unit *in, char *out_text, size_t size)
{
	uint64_t shown = size_shown(bytes, in);
	const char *under = "";

	if (shown == 0 && bytes != 0) {
		under = "under ";
		shown = 1;
	}
	if (in->scale == 1)
		snprintf(out_text, size, "%s%llu", under, (unsigned long long)shown);
	else
		snprintf(out_text, size, "%s%llu.%0*u", under,
			 (unsigned long long)(shown / in->scale), in->scale == 10 ? 1 : 2,
			 (unsigned)(shown % in->scale));
}

void units_format_size(uint64_t bytes, char *out_text, size_t size)
{
	const struct size_unit *in = size_unit_of(bytes);
	char text[48];

	put_size(bytes, in, text, sizeof(text));
	snprintf(out_text, size, "%s %s", text, bytes == 1 ? "byte" : in->unit.name);
}

void units_format_size_of(uint64_t bytes, uint64_t limit_bytes, char *out_text, size_t size)
{
	const struct size_unit *in = size_unit_of(limit_bytes);
	char used[48], limit[48];

	put_size(bytes, in, used, sizeof(used));
	put_size(limit_bytes, in, limit, sizeof(limit));
	snprintf(out_text, size, "%s of %s %s", used, limit, in->unit.name);
}

void units_format_count(uint64_t count, char *out_text, size_t size)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "k", UINT64_C(1000) },
		{ "M", UINT64_C(1000000) },
		{ "G", UINT64_C(1000000000) },
		{ "T", UINT64_C(1000000000000) },
		{ "P", UINT64_C(1000000000000000) },
		{ "E", UINT64_C(1000000000000000000) },
	};
	size_t i = 0;

	while (nearest(count, units[i].of) >= 1000)
		i++;
	put_three_digits(count, &units[i], out_text, size);
}

void units_format_exact(uint64_t count, char *out_text, size_t size)
{
	char text[32];
	size_t at = sizeof(text) - 1;

	text[at] = '\0';
	for (unsigned digits = 0; digits == 0 || count != 0; digits++, count /= 10) {
		if (digits != 0 && digits % 3 == 0)
			text[--at] = ',';
		text[--at] = (char)('0' + count % 10);
	}
	snprintf(out_text, size, "%s", text + at);
}

void units_format_price(uint64_t ppm, char *out_text, size_t size)
{
	uint64_t hundredths = nearest(ppm, 100);

	if (hundredths == 0 && ppm != 0)
		snprintf(out_text, size, "under 0.01 %%");
	else
		snprintf(out_text, size, "%llu.%02u %%", (unsigned long long)(hundredths / 100),
			 (unsigned)(hundredths % 100));
}

/* Civil date of a day since 1970-01-01, after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms":
 * years begin in March, so that the leap day is the last of its year. */
static void date_of_day(int64_t day, int *out_year, unsigned *out_month, unsigned *out_day)
{
	int64_t since = day + 719468; /* from 0000-03-01; every wall clock is later */
	int64_t era = since / 146097;
	int64_t of_era = since % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* 0 is March */

	*out_day = (unsigned)(of_year - (153 * month + 2) / 5 + 1);
	*out_month = (unsigned)(month < 10 ? month + 3 : month - 9);
	*out_year = (int)(year + era * 400 + (*out_month <= 2));
}

void units_format_wall(struct wall at, char *out_text, size_t size)
{
	int64_t s = at.ns / (int64_t)NS_PER_S - (at.ns % (int64_t)NS_PER_S < 0);
	int64_t day = s / 86400 - (s % 86400 < 0);
	unsigned of_day = (unsigned)(s - day * 86400), month, day_of_month;
	int year;

	date_of_day(day, &year, &month, &day_of_month);
	snprintf(out_text, size, "%04d-%02u-%02u %02u:%02u:%02u UTC", year, month, day_of_month,
		 of_day / 3600, of_day / 60 % 60, of_day % 60);
}
