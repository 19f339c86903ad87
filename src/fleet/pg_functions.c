/* pg_functions.c - functions and procedures of the database that we are in, by pg_stat_user_functions. Those of other databases are read
 * when a capture enters them. */
#include <errno.h>
#include <string.h>

#include "core/leb128.h"
#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

static const struct pg_column columns[FUNCTION_COUNTERS] = {
	[FUNCTION_CALLS] = { { "calls" }, false, true },
	[FUNCTION_TOTAL_NS] = { { "total_time" }, true, true },
	[FUNCTION_SELF_NS] = { { "self_time" }, true, true },
};

enum function_column { FUNC_ID, FUNC_NAME, FUNC_DATABASE, FUNC_SINCE, FUNC_COLUMNS };

int pg_ask_functions(struct pg_body *b, struct ask *out)
{
	struct text *sql = &b->sql;

	text_clear(sql);
	text_put(sql,
		 "SELECT " PG_MARK " f.funcid,"
		 " f.schemaname || '.' || f.funcname || '(' ||"
		 " coalesce(pg_get_function_identity_arguments(f.funcid), '') || ')', d.datname");
	pg_put_moment(sql, "d.stats_reset");
	pg_ask_columns(sql, columns, FUNCTION_COUNTERS, ",calls,total_time,self_time,");
	text_put(sql, " FROM pg_stat_user_functions f, pg_stat_database d"
		      " WHERE d.datname = current_database()");
	return pg_body_ask(b, out, FUNC_COLUMNS + FUNCTION_COUNTERS);
}

static int functions_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	(void)err;
	if (!pg_body_wants(b, READING_FUNCTIONS) || b->phase > 0)
		return 0;
	if (!b->facts.tracks_functions) {
		pg_body_fail(b, READING_FUNCTIONS, RUN_SKIPPED, "", "track_functions is none");
		return 0;
	}
	counted_begin(b, COUNTED_FUNCTIONS, 0, EVICTIONS_UNKNOWN);
	return pg_ask_functions(b, out);
}

static size_t pack_key(uint8_t *out, uint32_t dbid, uint32_t funcid)
{
	size_t len = leb128_put(out, dbid);

	return len + leb128_put(out + len, funcid);
}

int pg_take_function(struct pg_body *b, const struct cell *cells, uint32_t dbid,
		     const struct delta_visit *before, bool is_kept)
{
	struct counter counters[FUNCTION_COUNTERS];
	uint8_t key[2 * LEB128_MAX_BYTES];
	struct counted_row row = {
		key,	0,	cell_time_ns(cells[FUNC_SINCE]), counters, FUNCTION_COUNTERS,
		before, is_kept
	};
	struct function_row out = { .server = b->server->id,
				    .at_wall_ns = b->settings.at.ns,
				    .dbid = dbid,
				    .name = cell_str(cells[FUNC_NAME]),
				    .database = cell_str(cells[FUNC_DATABASE]) };
	struct remembered *here;
	struct delta delta;
	int code;

	if (!cell_u32(cells[FUNC_ID], &out.funcid)) {
		b->now[COUNTED_FUNCTIONS].bad_rows++;
		return 0;
	}
	row.key_len = pack_key(key, dbid, out.funcid);
	pg_read_columns(columns, FUNCTION_COUNTERS, cells + FUNC_COLUMNS, counters);
	code = counted_take(b, COUNTED_FUNCTIONS, &row, &delta, out.counters, &here);
	if (code <= 0)
		return code;
	out.life = delta.life;
	out.span_ns = delta.span_ns;
	return fleet_batch_add(b->batch, &table_function, BLOCK_PUT, &out);
}

static int functions_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	const struct counted_memory *m = &b->server->counted[COUNTED_FUNCTIONS];

	(void)count;
	return pg_take_function(b, cells, b->facts.dbid, m->has_before ? &m->before : NULL, true);
}

bool function_is_home(const struct pg_body *b, const struct remembered *row)
{
	uint64_t dbid;

	return leb128_get(row->bytes, row->key_len, &dbid) > 0 && dbid == b->facts.dbid;
}

static bool is_home(void *owner, const struct remembered *row)
{
	return function_is_home(owner, row);
}

static int functions_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	(void)err;
	b->phase++;
	if (!a->is_ok) {
		counted_drop(b, COUNTED_FUNCTIONS);
		return 0;
	}
	/* One that was never called has no row: what appears has begun. */
	b->now[COUNTED_FUNCTIONS].visit.is_complete = a->rows <= b->settings.limits.rows;
	return counted_end(b, COUNTED_FUNCTIONS, is_home, b);
}

const struct pg_step pg_step_functions = { READING_FUNCTIONS, functions_ask, NULL, functions_row,
					   functions_ended };
