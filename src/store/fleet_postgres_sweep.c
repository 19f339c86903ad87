/* fleet_postgres_sweep.c - payloads that no row names, or that are too much together; places of old slots. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres_tidy.h"

int pg_tidy_rest(struct tidy *t, struct err *err)
{
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	return pg_command(&t->p->wire, "DELETE FROM tare.place WHERE at < now() - interval '1 day'",
			  err);
}
