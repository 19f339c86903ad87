/* store_postgres.h - for tests of the PostgreSQL engine: a database of its own, made-up visits, rows counted. */
#ifndef TARE_TESTS_FLEET_STORE_POSTGRES_H
#define TARE_TESTS_FLEET_STORE_POSTGRES_H

#include "core/fleet_batch.h"
#include "core/recording.h"
#include "fleet/stage.h"
#include "store/fleet_store.h"

#define DAWN_NS (INT64_C(20787) * 86400000000000) /* a day's start, 2026-11-30 */

/* An open store in a database of its own. */
struct pg_place {
	const struct fleet_store_ops *ops;
	void *db;
	char url[256];
	char database[64];
};

/* Makes database `name` in the cluster and opens the store for writing. Fails the test when it cannot. */
void pg_place_open(struct pg_place *out, const struct stage *stage, const char *name);
void pg_place_close(struct pg_place *p);

/* The URL of a database for a role (NULL: postgres). */
void pg_place_url(const struct stage *stage, const char *role, const char *database, char *out,
		  size_t size);

/* A visit of `server` in `cycle` at a time: two runs, a life, `statements` statements with their baselines and queries, waits, a text. */
void store_batch(struct fleet_batch *out, uint32_t server, uint64_t cycle, int64_t at_wall_ns,
		 uint32_t statements);

/* Puts it, alone; fails the test when that fails. Returns whether it was there. */
bool store_put(struct pg_place *p, const struct fleet_batch *batch);

/* Rows of a table. */
uint64_t store_count(struct pg_place *p, const struct table *t);

/* The sum of a counter of statement rows (STATEMENT_CALLS, ...) in `t`: table_statement, or one of its sums. */
uint64_t store_sum(struct pg_place *p, const struct table *t, unsigned counter);

#endif
