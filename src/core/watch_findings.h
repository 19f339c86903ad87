/* watch_findings.h - what the reader of a watch should know beside the answer. As findings.h: a title, its evidence in
 * numbers, and where to look next; pointers, not proofs. Each rule is one row of a table in watch_findings.c; the order is
 * fixed. Freed by findings_free(). Pure. */
#ifndef TARE_CORE_WATCH_FINDINGS_H
#define TARE_CORE_WATCH_FINDINGS_H

#include "core/findings.h"
#include "core/known.h"
#include "core/watch_analysis.h"

/* Tries every rule, then the known issues. -ENOMEM. `out` is filled by the caller with zeros or has been freed. */
int watch_findings_open(const struct recording *r, const struct watch_analysis *a,
			struct findings *out, struct err *err);

/* Appends a note for each of `issues` that is proven or possible, while there is room: id "known_issue". -ENOMEM. */
int watch_findings_known(const struct recording *r, const struct known_issue *issues, size_t count,
			 struct findings *out, struct err *err);

/* Every id a finding can have, in order, for the JSON schema. `index` from 0; NULL behind the last. */
const char *watch_findings_id(size_t index);

#endif
