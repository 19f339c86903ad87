/* made_server.h - a PostgreSQL server made of rows: answers the questions of a visit as a test says, without a connection. */
#ifndef TARE_TESTS_MADE_SERVER_H
#define TARE_TESTS_MADE_SERVER_H

#include "core/fleet_batch.h"
#include "fleet/script.h"
#include "fleet/visit.h"

#define MADE_CELLS 64u

struct made_statement {
	uint32_t dbid, userid;
	int64_t queryid; /* 0: hidden from us */
	uint64_t counters[STATEMENT_COUNTERS];
	const char *text; /* NULL: "SELECT 1" */
};

/* What a server would say. */
struct made_server {
	int64_t now_us, started_us, loaded_us, reset_us;
	int64_t evictions; /* -1: it has no pg_stat_statements_info */
	const char *since; /* of all statements; NULL: not known */
	struct made_statement statements[400];
	size_t count;
	const char *setting; /* value of work_mem */
	/* Alters a row before it is given: `question` is the SQL. May be NULL. */
	void (*spoil)(struct made_server *m, const char *question, struct cell *cells,
		      uint32_t *count);
	/* The SQLSTATE that a question fails with; NULL or "": it does not. May be NULL. */
	const char *(*fail)(struct made_server *m, const char *question);
	unsigned questions;
	bool has_asked_texts;
};

/* A server at a plain moment, with two statements of role 20 in database 5. */
void made_init(struct made_server *m);

/* One visit of `server`, committed unless `is_abandoned`. Returns what the script or the commit returned. */
int made_visit(struct made_server *m, struct server *server, struct visit_settings *settings,
	       bool is_new, bool is_abandoned, struct fleet_batch *out);

/* Carries any script; 0 or its failure. */
int made_carry(struct made_server *m, struct script *script, struct err *err);

#endif
