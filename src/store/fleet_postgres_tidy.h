/* fleet_postgres_tidy.h - a tidying on its way, for the files that write it. Internal to the store. */
#ifndef TARE_STORE_FLEET_POSTGRES_TIDY_H
#define TARE_STORE_FLEET_POSTGRES_TIDY_H

#include "store/fleet_postgres_put.h"

struct tidy {
	struct pg_store *p;
	struct wall now;
	struct fleet_limits limits;
	struct mono began;
	uint64_t budget_ns;
	uint64_t units; /* of work that were begun */
	struct fleet_tidied out;
};

/* Asked before each unit of work: has it worked long enough? */
bool pg_tidy_is_over(struct tidy *t);

/* Moves the horizons to where rows have stayed long enough, and drops the partitions before them. */
int pg_tidy_parts(struct tidy *t, struct err *err);

/* Places of old slots, payloads that no row names or that are too much. */
int pg_tidy_rest(struct tidy *t, struct err *err);

#endif
