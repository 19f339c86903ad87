/* prove.h - is what a label claims true? Runs of one job without and with measuring, in pairs, and the arithmetic that judges
 * them. What measuring takes from a job is small beside what two runs of it differ by: so pairs are ordered by coins, the
 * middle of them is taken where a stray run cannot move it far, and what cannot be told is said to be so. Pure. */
#ifndef TARE_CORE_PROVE_H
#define TARE_CORE_PROVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"
#include "core/text.h"

#define PROVE_LEAST_PAIRS 6u   /* fewer have no interval of 95 % */
#define PROVE_MOST_PAIRS  500u /* their means by two are 125,250 numbers */

/* One pair: what the job took without and with measuring, and how much of the latter the label says is ours. */
struct prove_pair {
	uint64_t bare_ns, with_ns;
	uint64_t claim_ns;
	bool has_claim; /* false: the label says that it was not measured */
};

/* How much more a job took with measuring, as a share of what it took without: 0.02 is 2 %. */
struct prove_slowdown {
	uint32_t pairs;	   /* that could be used */
	double value;	   /* may be below 0 */
	double error;	   /* half width of the 95 % interval */
	bool has_interval; /* false: too few pairs; then there is no error */
};

/* Numbers do not change: they stand in the JSON by their words only. */
enum prove_verdict {
	PROVE_INSIDE, /* the claim lies in the interval, and the interval is narrow enough to say so */
	PROVE_UNDERSTATES, /* the whole interval is above the claim */
	PROVE_OVERSTATES,  /* the whole interval is below the claim */
	PROVE_CANNOT_TELL, /* the claim lies in the interval, as one half or twice as large would */
	PROVE_NO_CLAIM,	   /* the label says that its part was not measured */
};

struct prove_found {
	struct prove_slowdown slowdown;
	double claim; /* by the label, of the same unit as the slowdown */
	enum prove_verdict verdict;
	uint64_t
		more_pairs; /* with PROVE_CANNOT_TELL: about so many more would tell; 0: not known */
};

/* Fills in the order of `count` pairs: is the run with measuring the first of its pair? Each two pairs that follow one another
 * are ABBA or BAAB, so that what drifts steadily, such as the heat of a machine, takes as much from both; which of the two,
 * a coin says. */
void prove_order(struct rng *coins, bool *is_with_first, uint32_t count);

/* The middle of what pairs say and its 95 % interval: Hodges and Lehmann's estimate over the logarithms of the ratios, and the
 * interval of Wilcoxon's signed ranks (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., 3.2 and 3.3):
 * nearly as narrow as Student's where runs scatter evenly, and not moved by the few that another program got into. Pairs with a time of 0 say
 * nothing. `count` up to PROVE_MOST_PAIRS. -ENOMEM: `out` is untouched. */
int prove_slowdown_of(const struct prove_pair *pairs, uint32_t count, struct prove_slowdown *out);

/* The same beside the claim, which is that of all pairs together. An interval wider than half the claim to each side proves
 * nothing: a label that says half of the truth would lie in it too. -ENOMEM: `out` is untouched. */
int prove_judge(const struct prove_pair *pairs, uint32_t count, struct prove_found *out);

/* The word for a verdict: "inside", "understates", "overstates", "cannot tell", "no claim". Static. */
const char *prove_word(enum prove_verdict verdict);

/* Appends "+2.3 % ± 0.4"; without an interval "— cannot know". */
void prove_put_slowdown(struct text *t, const struct prove_slowdown *s);

/* Appends what the label claims beside it: "+2.1 %", "not measured". As many digits as the interval has. */
void prove_put_claim(struct text *t, const struct prove_found *f);

/* Appends the sentence: "the label understates by 1.2 % of the job's CPU time ...". */
void prove_put_verdict(struct text *t, const struct prove_found *f);

#endif
