/* visits.h - visits of one server, one after the other, as the collector would do them: for tests of the readings. */
#ifndef TARE_TESTS_FLEET_VISITS_H
#define TARE_TESTS_FLEET_VISITS_H

#include "core/fleet_batch.h"
#include "fleet/stage.h"
#include "fleet/visit.h"

struct visits {
	struct server *server; /* owned */
	struct drive drive;
	struct visit_limits limits;
	uint32_t readings;
	uint64_t cycle;
	int64_t later_ns; /* added to the wall clock */
	bool is_new;	  /* the next visit is on a new connection */
	bool has_captured;
};

/* The first visit is on a new connection. */
void visits_open(struct visits *v, const struct stage *stage, const char *user,
		 const char *database);

/* One visit, committed; fails the test when it does not go well. `out` is the caller's (fleet_batch_free). */
void visits_go(struct visits *v, enum cadence_answer capture, struct fleet_batch *out);

/* One visit that may fail, committed only when it goes well. */
int visits_try(struct visits *v, enum cadence_answer capture, struct fleet_batch *out,
	       struct err *err);

void visits_close(struct visits *v);

/* The run row of a reading; NULL: none. */
const struct run_row *run_of(const struct fleet_batch *b, enum reading_id reading);

/* Rows of a table in a batch. */
size_t count_of(const struct fleet_batch *b, const struct table *t, enum block_verb verb);
const void *row_of(const struct fleet_batch *b, const struct table *t, size_t i);

/* A counter of all statement rows together; what is not measured counts 0. */
uint64_t sum_of(const struct fleet_batch *b, enum statement_counter counter);

/* The queryid of the one statement whose text begins so, in pg_stat_statements of `database`. */
int64_t queryid_of(const struct stage *s, const char *database, const char *beginning);

/* The statement row of a queryid; NULL: none. */
const struct statement_row *statement_of(const struct fleet_batch *b, int64_t queryid);

/* The last query row of a queryid; NULL: none. */
const struct query_row *query_of(const struct fleet_batch *b, int64_t queryid);

/* The content of a payload, unpacked, NUL-terminated, owned by the caller (free); NULL: not in the batch. */
char *payload_of(const struct fleet_batch *b, const struct digest *digest);

#endif
