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

/* Accepts the empty value, and may run twice. */
void findings_free(struct findings *f);

/* Every id a finding can have, in order, for the JSON schema. `index` from 0; NULL behind the last. */
const char *findings_id(size_t index);

#endif
