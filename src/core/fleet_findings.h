/* fleet_findings.h - what the reader of a fleet should know beside the answer. As findings.h: a title, its evidence in numbers,
 * and where to look next. Each rule is one row of a table in fleet_findings.c; the order is fixed. Freed by findings_free(). Pure. */
#ifndef TARE_CORE_FLEET_FINDINGS_H
#define TARE_CORE_FLEET_FINDINGS_H

#include "core/findings.h"
#include "core/fleet_analysis.h"

#define FLEET_DEAR_PPM 10000u /* collecting takes over 1 % of one CPU of a server */

/* Tries every rule. -ENOMEM. `out` is filled by the caller with zeros or has been freed. */
int fleet_findings_open(const struct fleet_analysis *a, struct findings *out, struct err *err);

/* Every id a finding can have, in order, for the JSON schema. `index` from 0; NULL behind the last. */
const char *fleet_findings_id(size_t index);

/* ---- fleet_findings_cost.c: what collecting costs, and what it did not get ---- */

/* Rules: does it hold? Fills the finding. */
bool fleet_rule_unreached(const struct fleet_analysis *a, struct finding *out);
bool fleet_rule_failing(const struct fleet_analysis *a, struct finding *out);
bool fleet_rule_permissions(const struct fleet_analysis *a, struct finding *out);
bool fleet_rule_hidden(const struct fleet_analysis *a, struct finding *out);
bool fleet_rule_missed(const struct fleet_analysis *a, struct finding *out);
bool fleet_rule_dear(const struct fleet_analysis *a, struct finding *out);

#endif
