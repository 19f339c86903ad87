/* known.h - known issues of versions that wrote recordings, each proven by the recording's own rows before it is said. A
 * version alone proves nothing. Nothing is released yet: the table is empty but for tests, which bring their own. Pure. */
#ifndef TARE_CORE_KNOWN_H
#define TARE_CORE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/recording.h"
#include "core/text.h"

/* What the rows say. The order is that of certainty. */
enum known_verdict {
	KNOWN_NOT_AFFECTED, /* say nothing */
	KNOWN_POSSIBLE,	    /* its rows fit, and fit what is right too: a neutral note */
	KNOWN_PROVEN,	    /* its rows cannot be otherwise */
};

struct known_issue {
	const char *id;	      /* for programs, never changes */
	const char *fixed_in; /* version from which it is gone: digits and points */
	/* Looks at the rows; called for versions before fixed_in, and for those without one that can be read. */
	enum known_verdict (*judge)(const struct recording *r);
	const char *proven;   /* the note: one sentence, no full stop */
	const char *possible; /* the neutral one */
};

/* All issues that released versions have: `known_issue_count` rows, then one without an id. */
extern const struct known_issue known_issues[];
extern const size_t known_issue_count;

/* What is to be said of `issue`; KNOWN_NOT_AFFECTED for a version from fixed_in on. */
enum known_verdict known_judge(const struct known_issue *issue, const struct recording *r);

/* Is `version` surely `fixed_in` or later? Numbers between points are compared as numbers, so 0.10 is after 0.9; missing
 * ones are 0. A version that does not begin with a number is not; nor is one that is equal but for what follows its
 * numbers ("0.10.0-rc1"). */
bool known_is_since(struct str version, const char *fixed_in);

/* Does what is printed as `printed` (to a step of `step`) lie under `truth`? Half a step of rounding is allowed for. */
bool known_is_understated(double printed, double step, double truth);

/* Is the charge of any watched row less than its calls must have cost by the costs on the label, hook included? Proven: a
 * charge ÷ calls that lies under them (costs are printed to 0.1 ns), where they were measured once; where they were
 * measured again and may have risen, under half of them; a charge of 0 always. Possible: the costs are not on the label,
 * or were assumed, so that the charge can only agree with a guess. Not affected: else, and without calls. */
enum known_verdict known_charge(const struct recording *r);

#endif
