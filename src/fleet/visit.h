/* visit.h - one visit of one server: its scripts in order, and the rows that come of them. Made by the runner at each cycle. */
#ifndef TARE_FLEET_VISIT_H
#define TARE_FLEET_VISIT_H

#include "core/cadence.h"
#include "core/err.h"
#include "core/fleet_batch.h"
#include "fleet/script.h"
#include "fleet/server.h"

struct visit_settings {
	struct wall at; /* the collector's clock at its beginning */
	uint64_t cycle; /* number of the cycle */
	enum cadence_answer
		capture;   /* of the statements reading; SQL is built from this answer only */
	uint32_t readings; /* bits by enum reading_id: what is switched on */
	struct visit_limits limits;
	struct payload_press *press; /* borrowed; NULL: payloads make their own */
};

/* Makes the body of a visit to a PostgreSQL server: facts (when `is_new_connection`), statements, functions, databases, io, settings, then the
 * plans when it captures. `batch` is borrowed and gets every row, the run rows too; `server` is borrowed and is changed only by
 * body_commit(), so that an abandoned visit leaves it as it was. */
int pg_body_open(struct server *server, const struct visit_settings *settings,
		 bool is_new_connection, struct fleet_batch *batch, struct script *out,
		 struct err *err);

/* The visit went well: what it learnt becomes the server's memory. */
int pg_body_commit(struct script *body, struct err *err);

/* What this capture came to: whether all candidates were tried. Before pg_body_close(). */
bool pg_body_has_captured(const struct script *body);

/* Accepts one that is all zero. */
void pg_body_close(struct script *body);

/* The sampler beside the body, on a connection of its own: one look at activity and blocking. Rows are gathered over the looks of a visit
 * by sampler_end(). */
int pg_sampler_open(struct server *server, const struct visit_settings *settings,
		    struct script *out, struct err *err);
/* Another look: the script begins anew. */
void pg_sampler_again(struct script *sampler);
/* Adds the rows of all looks and the sampler's run rows to the batch. */
int pg_sampler_end(struct script *sampler, struct fleet_batch *batch, struct err *err);
void pg_sampler_close(struct script *sampler);

/* The facts of the server, as the last visit saw them; NULL: never seen. Borrowed. */
const struct server_facts *server_facts_of(const struct server *s);

/* One plan for a person, ungated: renders, stores nothing. On a connection of its own; the text is found by queryid (of several roles' and
 * databases' the one called most), in its own database, by the same way and the same predicate as a capture's. -ENOMEM. */
int pg_plan_open(int64_t queryid, const struct visit_limits *limits, struct script *out,
		 struct err *err);

/* After the script is done: the plan's JSON without constants, borrowed until pg_plan_close(); or NULL with the reason (enum plan_reason) and
 * the SQLSTATE, "" when there is none. PLAN_NO_TEXT: no statement of this queryid is known, or pg_stat_statements is not in the database. */
const char *pg_plan_text(const struct script *plan, uint32_t *out_reason, char out_sqlstate[6]);

/* Accepts one that is all zero. */
void pg_plan_close(struct script *plan);

#endif
