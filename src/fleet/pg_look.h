/* pg_look.h - what the sampler's looks have seen, gathered: equal waits are one row, chains of blocking are counted. Pure. */
#ifndef TARE_FLEET_PG_LOOK_H
#define TARE_FLEET_PG_LOOK_H

#include "core/text.h"
#include "fleet/cells.h"
#include "fleet/pg_own.h"
#include "fleet/server_parts.h"
#include "fleet/visit.h"

#define LOOK_NAME_BYTES 64
#define RELATION_BYTES	132

struct look_wait {
	uint32_t dbid, seen;
	int64_t queryid;
	char backend[LOOK_NAME_BYTES], state[LOOK_NAME_BYTES], type[LOOK_NAME_BYTES],
		event[LOOK_NAME_BYTES];
};

struct look_block {
	uint32_t look;
	struct blocking_row row; /* its strings are set at the end */
	char lock_type[LOOK_NAME_BYTES], lock_mode[LOOK_NAME_BYTES], relation[RELATION_BYTES],
		blocker_state[LOOK_NAME_BYTES];
};

struct pg_sampler {
	uint32_t id;
	struct visit_settings settings;
	unsigned phase;
	uint32_t look, looks; /* which one; how many of activity went well */
	bool has_query_id, has_wait_start, has_failed, sees_all;
	uint32_t expected_columns;
	struct text sql;
	struct look_wait *waits; /* owned */
	size_t wait_count, wait_room;
	struct look_block *blocks; /* owned */
	size_t block_count, block_room, look_from;
	struct run_row runs[2]; /* activity, blocking */
	bool has_run[2];
	char states[2][6];
};

/* Takes a row of the activity, of blocking. A row that cannot be read is left out. -ENOMEM. */
int look_take_wait(struct pg_sampler *s, const struct cell *cells);
int look_take_block(struct pg_sampler *s, const struct cell *cells);

/* The look's blocking rows are whole: counts who waits behind each. */
void look_end_blocking(struct pg_sampler *s);

/* All rows of the visit into the batch. -ENOMEM. */
int look_put_rows(struct pg_sampler *s, struct fleet_batch *batch);

/* Frees what was gathered. */
void look_free(struct pg_sampler *s);

#endif
