/* server.h - one monitored server as the collector remembers it between visits: what it is, its baselines, the texts and plans that are known.
 * Filled by scripts at each visit, and after a restart from rows of the store. One thread. */
#ifndef TARE_FLEET_SERVER_H
#define TARE_FLEET_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cadence.h"
#include "core/delta.h"
#include "core/fleet.h"
#include "core/fleet_batch.h"
#include "core/units.h"

/* What a connection says of its server, learnt once a connection. */
struct server_facts {
	int version; /* server_version_num: for words only; columns are chosen by looking */
	char version_text[64];
	uint64_t system_id;
	int64_t started_server_ns, clock_server_ns; /* its clock at the moment of the last visit */
	int64_t ahead_ns;			    /* this minus ours at the visit's beginning */
	char role[64], database[64];
	uint32_t roleid, dbid;
	bool is_standby, is_superuser;
	bool sees_all;		    /* pg_read_all_stats: other roles' texts and activity */
	char statements_schema[64]; /* of pg_stat_statements, by pg_extension; empty: not here */
	char statements_version[16];
	bool times_io, tracks_functions, has_io_view;
	bool has_query_id, has_wait_start; /* of pg_stat_activity; of pg_locks */
};

/* Settings of a visit, live: a change holds from the next visit on. */
struct visit_limits {
	uint32_t candidates;	/* statements that may be planned in one capture: 150 */
	uint64_t text_bytes;	/* budget of texts read in one visit: 1 MB */
	uint64_t payload_bytes; /* largest text or plan kept: 1 MB; of a larger one only the size */
	uint64_t plan_timeout_ns, lock_timeout_ns; /* 2 s; 100 ms at most */
	uint64_t rows;				   /* most rows of one answer: 100,000 */
	uint64_t reach_ns;			   /* how far back candidates go: 10 min */
	uint64_t look_ns; /* between two looks of the sampler: 1 s; 0: one look a visit */
};

#define VISIT_LIMITS_DEFAULT                                                          \
	((struct visit_limits){ 150, 1 << 20, 1 << 20, 2000000000, 100000000, 100000, \
				600000000000, 1000000000 })

struct server; /* opaque */

/* Makes an empty memory of a server. -ENOMEM. */
int server_open(uint32_t id, struct server **out);

/* Accepts NULL. */
void server_close(struct server *s);

/* Takes a row of table_life, table_baseline, table_query, table_plan, table_no_plan, table_payload or table_setting that the store
 * has of this server. Baselines older than DELTA_LOOK_BACK_NS at `now` are left out. -ENOMEM. */
int server_remember(struct server *s, const struct table *t, const void *row, struct wall now);

/* Bytes it holds. */
uint64_t server_bytes(const struct server *s);

#endif
