/* findings.h - what the reader should know beside the answer: a title, its evidence in numbers, and where to look
 * next. Pointers, not proofs. Each rule is one row of a table in findings.c; the order is fixed. Pure. */
#ifndef TARE_CORE_FINDINGS_H
#define TARE_CORE_FINDINGS_H

#include "core/analysis.h"
#include "core/text.h"

#define FINDINGS_MAX 32u

struct finding {
	const char *id;	       /* for programs, never changes: "broken_stacks"; static */
	struct text title;     /* UTF-8, foreign names made harmless, no full stop */
	struct text evidence;  /* whole sentences */
	struct text look_next; /* "Look next at ..." */
};

struct findings {
	struct finding rows[FINDINGS_MAX];
	size_t count; /* 0: nothing stands out */
};

/* Tries every rule. -ENOMEM. `out` is filled by the caller with zeros or has been freed. */
int findings_open(const struct recording *r, const struct analysis *a, struct findings *out,
		  struct err *err);

/* Every id a finding can have, in order, for the JSON schema. `index` from 0; NULL behind the last. */
const char *findings_id(size_t index);

/* ---- findings_row.c: what every list of rules needs ---- */

/* Takes the finding that a rule has filled in the row at the end. -ENOMEM when its texts are not whole: all are freed. */
int findings_take(struct findings *out, const char *id, struct err *err);

/* The rule "unfinished" of every instrument: `missing` says what came later, "What came later is not in it.". False, and
 * nothing is written, for a recording that was finished. */
bool findings_say_unfinished(const struct label *label, const char *missing, struct finding *out);

/* Accepts the empty value, and may run twice. */
void findings_free(struct findings *f);

#endif
