/* known.h - known issues of versions that wrote recordings, each proven by the recording's own rows before it is said. A
 * version alone proves nothing. Nothing is released yet: the table is empty but for tests, which bring their own. Pure. */
#ifndef TARE_CORE_KNOWN_H
#define TARE_CORE_KNOWN_H

#include <stddef.h>

#include "core/recording.h"
#include "core/text.h"

enum known_verdict {
	KNOWN_NOT_AFFECTED, /* say nothing */
	KNOWN_POSSIBLE,	    /* its rows fit, and fit what is right too: a neutral note */
	KNOWN_PROVEN,	    /* its rows cannot be otherwise */
};

struct known_issue {
	const char *id;	      /* for programs, never changes */
	const char *fixed_in; /* version from which it is gone */
	enum known_verdict (*judge)(
		const struct recording *
			r); /* looks at the rows; called for versions before fixed_in and for those without one */
	const char *proven;   /* the note: one sentence, no full stop */
	const char *possible; /* the neutral one */
};

/* All issues that released versions have. */
extern const struct known_issue known_issues[];
extern const size_t known_issue_count;

/* What is to be said of `issue`; KNOWN_NOT_AFFECTED for a version from fixed_in on. */
enum known_verdict known_judge(const struct known_issue *issue, const struct recording *r);

/* Does a charge printed as `printed` (to a step of `step`) lie under `truth`? Half a step of rounding is allowed for. */
bool known_is_understated(double printed, double step, double truth);

#endif
