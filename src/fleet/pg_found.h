/* pg_found.h - what a capture found of a statement, into the batch and the visit's memory. */
#ifndef TARE_FLEET_PG_FOUND_H
#define TARE_FLEET_PG_FOUND_H

#include "fleet/cells.h"
#include "fleet/pg_body.h"
#include "fleet/plans.h"

/* A plan: stored when it is new, its last sight refreshed hourly; a reason why there is none: stored with when to try again.
 * Negative: no memory. */
int pg_found_keep(struct pg_body *b, const struct plan_found *found);

#endif
