/* pg_facts.c - what a PostgreSQL server is: once a connection; and the moment of a visit by its own clock: each time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

enum fact_column {
	FACT_VERSION,
	FACT_VERSION_TEXT,
	FACT_ROLE,
	FACT_DATABASE,
	FACT_DBID,
	FACT_ROLEID,
	FACT_IS_SUPERUSER,
	FACT_SEES_ALL,
	FACT_TIMES_IO,
	FACT_TRACKS_FUNCTIONS,
	FACT_DATABASE_COLUMNS,
	FACT_IO_COLUMNS,
	FACT_HAS_QUERY_ID,
	FACT_HAS_WAIT_START,
	FACT_COLUMNS
};

/* Names of a view's columns, with commas around each; NULL: there is no such view. */
static void put_column_names(struct text *sql, const char *view)
{
	text_printf(sql,
		    ", (SELECT ',' || string_agg(attname::text, ',') || ',' FROM pg_attribute"
		    " WHERE attrelid = to_regclass('pg_catalog.%s') AND attnum > 0 AND NOT "
		    "attisdropped)",
		    view);
}

static void put_has_column(struct text *sql, const char *view, const char *column)
{
	text_printf(sql,
		    ", EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'pg_catalog.%s'::regclass"
		    " AND attname = '%s')",
		    view, column);
}

static int ask_facts(struct pg_body *b, struct ask *out)
{
	struct text *sql = &b->sql;

	text_clear(sql);
	text_put(sql, "SELECT " PG_MARK " current_setting('server_version_num'), "
		      "current_setting('server_version'), current_user,"
		      " d.datname, d.oid, r.oid, r.rolsuper,"
		      " r.rolsuper OR pg_has_role('pg_read_all_stats', 'USAGE'),"
		      " current_setting('track_io_timing')::bool,"
		      " current_setting('track_functions') <> 'none'");
	put_column_names(sql, "pg_stat_database");
	put_column_names(sql, "pg_stat_io");
	put_has_column(sql, "pg_stat_activity", "query_id");
	put_has_column(sql, "pg_locks", "waitstart");
	/* The role's own time limit is kept where it is the tighter one. */
	text_put(sql, " FROM pg_database d, pg_roles r,"
		      " (SELECT set_config('statement_timeout', CASE WHEN s.setting::int8 BETWEEN "
		      "1 AND 30000"
		      " THEN s.setting ELSE '30000' END, false) FROM pg_settings s"
		      " WHERE s.name = 'statement_timeout') limits"
		      " WHERE d.datname = current_database() AND r.rolname = current_user");
	return pg_body_ask(b, out, FACT_COLUMNS);
}

static int ask_system(struct pg_body *b, struct ask *out)
{
	text_clear(&b->sql);
	text_put(&b->sql, "SELECT " PG_MARK " system_identifier FROM pg_control_system()");
	return pg_body_ask(b, out, 1);
}

static int facts_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	(void)err;
	if (!b->needs_facts || b->phase > 1)
		return 0;
	return b->phase == 0 ? ask_facts(b, out) : ask_system(b, out);
}

static int take_facts(struct pg_body *b, const struct cell *cells)
{
	struct server_facts *f = &b->facts;
	int64_t version;

	if (!cell_i64(cells[FACT_VERSION], &version) || version < 90000 || version > 10000000 ||
	    !cell_u32(cells[FACT_DBID], &f->dbid) || !cell_u32(cells[FACT_ROLEID], &f->roleid))
		return -EPROTO;
	f->version = (int)version;
	cell_copy(cells[FACT_VERSION_TEXT], f->version_text, sizeof(f->version_text));
	cell_copy(cells[FACT_ROLE], f->role, sizeof(f->role));
	cell_copy(cells[FACT_DATABASE], f->database, sizeof(f->database));
	f->is_superuser = cell_bool(cells[FACT_IS_SUPERUSER]);
	f->sees_all = cell_bool(cells[FACT_SEES_ALL]);
	f->times_io = cell_bool(cells[FACT_TIMES_IO]);
	f->tracks_functions = cell_bool(cells[FACT_TRACKS_FUNCTIONS]);
	cell_copy(cells[FACT_DATABASE_COLUMNS], b->database_columns, sizeof(b->database_columns));
	cell_copy(cells[FACT_IO_COLUMNS], b->io_columns, sizeof(b->io_columns));
	f->has_io_view = b->io_columns[0] != '\0';
	f->has_query_id = cell_bool(cells[FACT_HAS_QUERY_ID]);
	f->has_wait_start = cell_bool(cells[FACT_HAS_WAIT_START]);
	f->system_id = 0;
	return 0;
}

static int facts_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	int64_t system_id;

	(void)count;
	if (b->phase == 0)
		return take_facts(b, cells);
	if (cell_i64(cells[0], &system_id) && system_id > 0)
		b->facts.system_id = (uint64_t)system_id;
	return 0;
}

static int facts_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	/* Without the system's id a restored copy under the same name is told apart by its start only. */
	if (b->phase == 0 && (!a->is_ok || a->rows != 1))
		return err_set(err, -EPROTO, "cannot read what server %u is (%s)", b->server->id,
			       a->sqlstate[0] != '\0' ? a->sqlstate
						      : "an answer that cannot be read");
	b->phase++;
	return 0;
}

const struct pg_step pg_step_facts = { READING_VISIT, facts_ask, NULL, facts_row, facts_ended };

enum moment_column {
	MOMENT_NOW,
	MOMENT_STARTED,
	MOMENT_LOADED,
	MOMENT_IS_STANDBY,
	MOMENT_SCHEMA,
	MOMENT_VERSION,
	MOMENT_STATEMENT_COLUMNS,
	MOMENT_HAS_INFO,
	MOMENT_COLUMNS
};

static int moment_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	struct text *sql = &b->sql;

	(void)err;
	if (b->phase > 0)
		return 0;
	text_clear(sql);
	text_put(sql, "SELECT " PG_MARK " (extract(epoch FROM clock_timestamp()) * 1000000)::int8");
	pg_put_moment(sql, "pg_postmaster_start_time()");
	pg_put_moment(sql, "pg_conf_load_time()");
	/* An extension can be updated, moved or dropped between two visits. */
	text_put(sql, ", pg_is_in_recovery(), n.nspname, e.extversion,"
		      " (SELECT ',' || string_agg(a.attname::text, ',') || ',' FROM pg_class c"
		      " JOIN pg_attribute a ON a.attrelid = c.oid"
		      " WHERE c.relnamespace = n.oid AND c.relname = 'pg_stat_statements'"
		      " AND a.attnum > 0 AND NOT a.attisdropped),"
		      " EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid"
		      " AND c.relname = 'pg_stat_statements_info')"
		      " FROM (SELECT 1) one LEFT JOIN (pg_extension e JOIN pg_namespace n"
		      " ON n.oid = e.extnamespace) ON e.extname = 'pg_stat_statements'");
	return pg_body_ask(b, out, MOMENT_COLUMNS);
}

static int moment_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	struct server_facts *f = &b->facts;

	(void)count;
	f->clock_server_ns = cell_time_ns(cells[MOMENT_NOW]);
	f->started_server_ns = cell_time_ns(cells[MOMENT_STARTED]);
	if (f->clock_server_ns == 0 || f->started_server_ns == 0)
		return -EPROTO;
	f->ahead_ns = f->clock_server_ns - b->settings.at.ns;
	b->loaded_server_ns = cell_time_ns(cells[MOMENT_LOADED]);
	f->is_standby = cell_bool(cells[MOMENT_IS_STANDBY]);
	cell_copy(cells[MOMENT_SCHEMA], f->statements_schema, sizeof(f->statements_schema));
	cell_copy(cells[MOMENT_VERSION], f->statements_version, sizeof(f->statements_version));
	cell_copy(cells[MOMENT_STATEMENT_COLUMNS], b->statement_columns,
		  sizeof(b->statement_columns));
	b->has_info = cell_bool(cells[MOMENT_HAS_INFO]);
	return 0;
}

static int moment_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	b->phase++;
	if (a->is_ok && a->rows == 1)
		return 0;
	return err_set(err, -EPROTO, "cannot read the clock of server %u (%s)", b->server->id,
		       a->sqlstate[0] != '\0' ? a->sqlstate : "an answer that cannot be read");
}

const struct pg_step pg_step_moment = { READING_VISIT, moment_ask, NULL, moment_row, moment_ended };
