/* pg_databases.c - databases, by pg_stat_database: each cycle. */
#include <errno.h>
#include <string.h>

#include "core/leb128.h"
#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

static const struct pg_column columns[DATABASE_COUNTERS] = {
	[DATABASE_COMMITS] = { { "xact_commit" }, false, true },
	[DATABASE_ROLLBACKS] = { { "xact_rollback" }, false, true },
	[DATABASE_READ] = { { "blks_read" }, false, true },
	[DATABASE_HIT] = { { "blks_hit" }, false, true },
	[DATABASE_RETURNED] = { { "tup_returned" }, false, true },
	[DATABASE_FETCHED] = { { "tup_fetched" }, false, true },
	[DATABASE_INSERTED] = { { "tup_inserted" }, false, true },
	[DATABASE_UPDATED] = { { "tup_updated" }, false, true },
	[DATABASE_DELETED] = { { "tup_deleted" }, false, true },
	[DATABASE_CONFLICTS] = { { "conflicts" }, false, true },
	[DATABASE_TEMP_FILES] = { { "temp_files" }, false, true },
	[DATABASE_TEMP_BYTES] = { { "temp_bytes" }, false, true },
	[DATABASE_DEADLOCKS] = { { "deadlocks" }, false, true },
	[DATABASE_READ_NS] = { { "blk_read_time" }, true, true },
	[DATABASE_WRITE_NS] = { { "blk_write_time" }, true, true },
	[DATABASE_SESSION_NS] = { { "session_time" }, true, true },
	[DATABASE_ACTIVE_NS] = { { "active_time" }, true, true },
	[DATABASE_IDLE_IN_TRANSACTION_NS] = { { "idle_in_transaction_time" }, true, true },
	[DATABASE_SESSIONS] = { { "sessions" }, false, true },
};

enum database_column { DB_ID, DB_NAME, DB_BACKENDS, DB_SINCE, DB_COLUMNS };

static int databases_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	struct text *sql = &b->sql;

	(void)err;
	if (!pg_body_wants(b, READING_DATABASES) || b->phase > 0)
		return 0;
	counted_begin(b, COUNTED_DATABASES, 0, EVICTIONS_UNKNOWN);
	text_clear(sql);
	text_put(sql, "SELECT " PG_MARK " datid, datname, numbackends");
	pg_put_moment(sql, "stats_reset");
	pg_ask_columns(sql, columns, DATABASE_COUNTERS, b->database_columns);
	text_put(sql, " FROM pg_stat_database");
	return pg_body_ask(b, out, DB_COLUMNS + DATABASE_COUNTERS);
}

static int databases_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	const struct counted_memory *m = &b->server->counted[COUNTED_DATABASES];
	struct counter counters[DATABASE_COUNTERS];
	uint8_t key[LEB128_MAX_BYTES];
	struct counted_row row = { key,
				   0,
				   cell_time_ns(cells[DB_SINCE]),
				   counters,
				   DATABASE_COUNTERS,
				   m->has_before ? &m->before : NULL,
				   true };
	struct database_row out = { .server = b->server->id,
				    .at_wall_ns = b->settings.at.ns,
				    .name = cell_str(cells[DB_NAME]),
				    .backends = UINT32_MAX };
	struct remembered *here;
	struct delta delta;
	int code;

	(void)count;
	if (!cell_u32(cells[DB_ID], &out.dbid)) {
		b->now[COUNTED_DATABASES].bad_rows++;
		return 0;
	}
	cell_u32(cells[DB_BACKENDS], &out.backends);
	if (out.dbid != 0 && names_put(&b->names, out.dbid, false, out.name) != 0)
		return -ENOMEM;
	row.key_len = leb128_put(key, out.dbid);
	pg_read_columns(columns, DATABASE_COUNTERS, cells + DB_COLUMNS, counters);
	code = counted_take(b, COUNTED_DATABASES, &row, &delta, out.counters, &here);
	if (code <= 0)
		return code;
	out.life = delta.life;
	out.span_ns = delta.span_ns;
	return fleet_batch_add(b->batch, &table_database, BLOCK_PUT, &out);
}

static int databases_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	(void)err;
	b->phase++;
	if (!a->is_ok) {
		counted_drop(b, COUNTED_DATABASES);
		return 0;
	}
	b->now[COUNTED_DATABASES].visit.is_complete = a->rows <= b->settings.limits.rows;
	return counted_end(b, COUNTED_DATABASES, NULL, NULL);
}

const struct pg_step pg_step_databases = { READING_DATABASES, databases_ask, NULL, databases_row,
					   databases_ended };
