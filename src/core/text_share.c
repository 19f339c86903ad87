/* text_share.c - numbers in words: a share with its error, never more digits than the error allows; and units. */
#include "core/text.h"

#include <stdio.h>

#include "core/units.h"

#define PLUS_MINUS "\xc2\xb1"
#define DASH	   "\xe2\x80\x94"

#define ROUNDED_OFF 0.15 /* of a step: as much may an error be rounded down */

int text_digits(double error_percent)
{
	return error_percent >= 1 ? 0 : error_percent >= 0.095 ? 1 : 2;
}

/* Rounds away from (up) or towards (down) zero at this many digits; what is a hair off a step counts as on it. */
static double round_at(double percent, int digits, bool is_up)
{
	double scale = digits == 0 ? 1 : digits == 1 ? 10 : 100;
	double steps = percent * scale;
	uint64_t floor_steps = steps <= 0 ? 0 : (uint64_t)(steps + 1e-9);

	if (is_up && steps > (double)floor_steps + 1e-9)
		floor_steps++;
	return (double)floor_steps / scale;
}

double text_round_error(double error_percent, int digits)
{
	double step = digits == 0 ? 1 : digits == 1 ? 0.1 : 0.01;
	double rounded = round_at(error_percent - ROUNDED_OFF * step, digits, true);

	return rounded > 0 ? rounded : step;
}

static void put_bound(struct text_share *out, const char *word, double percent, double error,
		      bool is_up)
{
	int digits = text_digits(error);

	snprintf(out->number, sizeof(out->number), "%s %.*f" TEXT_NBSP "%%", word, digits,
		 round_at(percent, digits, is_up));
}

struct text_share text_share(struct share share, uint64_t range_kept)
{
	struct text_share out = { .error = "" };
	double value = share.value * 100, error = share.error * 100;
	double rule_of_three = range_kept > 3 ? 300 / (double)range_kept : 100;
	int digits = text_digits(error);

	if (range_kept == 0 || (share.value > 0 && share.error >= 1)) {
		out.is_unknown = true;
		snprintf(out.number, sizeof(out.number), "cannot know");
	} else if (share.value <= 0) {
		out.is_none = true;
		put_bound(&out, "under", rule_of_three, rule_of_three, true);
	} else if (share.value >= 1) {
		put_bound(&out, "over", 100 - rule_of_three, rule_of_three, false);
	} else if (error > value) {
		double upper = value + error < 100 ? value + error : 100;

		put_bound(&out, "under", upper, error, true);
	} else {
		snprintf(out.number, sizeof(out.number), "%.*f" TEXT_NBSP "%%", digits, value);
		snprintf(out.error, sizeof(out.error), PLUS_MINUS TEXT_NBSP "%.*f", digits,
			 text_round_error(error, digits));
	}
	return out;
}

void text_put_share(struct text *t, struct share share, uint64_t range_kept)
{
	struct text_share parts = text_share(share, range_kept);

	if (parts.is_none)
		text_put(t, "none seen, ");
	if (parts.is_unknown)
		text_put(t, DASH TEXT_NBSP);
	text_put(t, parts.number);
	if (parts.error[0] != '\0')
		text_printf(t, TEXT_NBSP "%s", parts.error);
}

void text_put_exact_share(struct text *t, uint64_t part, uint64_t whole)
{
	double percent = whole > 0 ? 100 * (double)part / (double)whole : 0;

	if (part == 0)
		text_put(t, "0");
	else if (part >= whole)
		text_put(t, "100" TEXT_NBSP "%");
	else if (percent < 0.005)
		text_put(t, "under" TEXT_NBSP "0.01" TEXT_NBSP "%");
	else if (percent >= 99.95)
		text_put(t, "over" TEXT_NBSP "99.9" TEXT_NBSP "%");
	else
		text_printf(t, "%.*f" TEXT_NBSP "%%", percent < 0.095 ? 2 : 1, percent);
}

/* Appends words of ours whose blanks must not break a line. */
static void put_unbroken(struct text *t, const char *words)
{
	for (; *words != '\0'; words++)
		if (*words == ' ')
			text_put(t, TEXT_NBSP);
		else
			text_add(t, words, 1);
}

void text_put_duration(struct text *t, uint64_t ns)
{
	char words[64];

	units_format_duration(ns, words, sizeof(words));
	put_unbroken(t, words);
}

void text_put_exact(struct text *t, uint64_t count)
{
	char words[40];

	units_format_exact(count, words, sizeof(words));
	text_put(t, words);
}

void text_put_counted(struct text *t, uint64_t count, const char *word)
{
	text_put_exact(t, count);
	text_printf(t, TEXT_NBSP "%s%s", word, count == 1 ? "" : "s");
}

void text_put_size(struct text *t, uint64_t bytes)
{
	char words[64];

	units_format_size(bytes, words, sizeof(words));
	put_unbroken(t, words);
}

void text_put_price(struct text *t, uint64_t ppm)
{
	char words[64];

	units_format_price(ppm, words, sizeof(words));
	put_unbroken(t, words);
}
