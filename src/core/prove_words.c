/* prove_words.c - what pairs of runs say of a claim, in words. */
#include <math.h>

#include "core/measured.h"
#include "core/prove.h"

#define PLUS_MINUS "\xc2\xb1"
#define PERCENT	   TEXT_NBSP "%"
#define PER_CENT   TEXT_NBSP "%%" /* in a format */

const char *prove_word(enum prove_verdict verdict)
{
	static const char *const words[] = {
		[PROVE_INSIDE] = "inside",	   [PROVE_UNDERSTATES] = "understates",
		[PROVE_OVERSTATES] = "overstates", [PROVE_CANNOT_TELL] = "cannot tell",
		[PROVE_NO_CLAIM] = "no claim",
	};

	return words[verdict];
}

static int digits_of(const struct prove_slowdown *s)
{
	return s->has_interval ? text_digits(s->error * 100) : 2;
}

/* A claim is told to two digits that count, however wide the interval is: 0.04 % beside ± 3. */
static int claim_digits(double claim)
{
	return claim >= 0.1 ? 0 : claim >= 0.01 ? 1 : 2;
}

static int more_digits(int a, int b)
{
	return a > b ? a : b;
}

static void put_error(struct text *t, const struct prove_slowdown *s)
{
	int digits = digits_of(s);

	text_printf(t, PLUS_MINUS TEXT_NBSP "%.*f", digits,
		    text_round_error(s->error * 100, digits));
}

void prove_put_slowdown(struct text *t, const struct prove_slowdown *s)
{
	if (!s->has_interval) {
		text_put(t, "\xe2\x80\x94" TEXT_NBSP "cannot know");
		return;
	}
	text_printf(t, "%+.*f" PER_CENT TEXT_NBSP, digits_of(s), s->value * 100);
	put_error(t, s);
}

void prove_put_claim(struct text *t, const struct prove_found *f)
{
	int digits = more_digits(digits_of(&f->slowdown), claim_digits(f->claim));

	if (f->verdict == PROVE_NO_CLAIM)
		text_put(t, "not measured");
	else if (f->claim * 100 < 0.005)
		text_put(t, "under" TEXT_NBSP "0.01" PERCENT);
	else
		text_printf(t, "%+.*f" PER_CENT, digits, f->claim * 100);
}

static void put_outside(struct text *t, const struct prove_found *f, const char *verb)
{
	double off = fabs(f->slowdown.value - f->claim) * 100;

	text_printf(t, "the label %s by ", verb);
	text_printf(t, "%.*f" PER_CENT " of the job's CPU time: measured ", digits_of(&f->slowdown),
		    off);
	prove_put_slowdown(t, &f->slowdown);
	text_put(t, ", claimed ");
	prove_put_claim(t, f);
}

static void put_more_pairs(struct text *t, uint64_t more)
{
	if (more == 0)
		return;
	text_put(t, "; about ");
	measured_put_many(t, more);
	text_put(t, more == 1 ? " more pair would tell" : " more pairs would tell");
}

static void put_cannot_tell(struct text *t, const struct prove_found *f)
{
	text_put(t, "cannot tell: ");
	if (!f->slowdown.has_interval) {
		text_put_counted(t, f->slowdown.pairs, "pair");
		text_printf(t, " give%s no interval", f->slowdown.pairs == 1 ? "s" : "");
	} else {
		text_put(t, "the runs differ too much, ");
		put_error(t, &f->slowdown);
		text_put(t, PERCENT " beside the ");
		prove_put_claim(t, f);
		text_put(t, " that the label claims");
	}
	put_more_pairs(t, f->more_pairs);
}

void prove_put_verdict(struct text *t, const struct prove_found *f)
{
	switch (f->verdict) {
	case PROVE_INSIDE:
		text_put(t, "inside: the label claims ");
		prove_put_claim(t, f);
		text_put(t, ", measured ");
		prove_put_slowdown(t, &f->slowdown);
		break;
	case PROVE_UNDERSTATES:
		put_outside(t, f, "understates");
		break;
	case PROVE_OVERSTATES:
		put_outside(t, f, "overstates");
		break;
	case PROVE_CANNOT_TELL:
		put_cannot_tell(t, f);
		break;
	case PROVE_NO_CLAIM:
		text_put(t, "cannot tell: the label claims nothing, the cost in the kernel was not "
			    "measured");
		break;
	}
}
