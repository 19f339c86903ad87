/* fleet_sqlite_scan.c - rows of a fleet's store, in the order of their key. A reader's file is hostile until each row was
 * looked at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/sqlite.h"

#define VALUE_MOST_BYTES (80 << 20) /* a payload of 64 MB that does not compress */
#define PROGRESS_STEPS	 10000
#define LEAST_STEPS	 10000000u
#define STEPS_PER_BYTE	 64u

/* One scan. */
struct scan {
	struct fleet_sqlite *f;
	const struct table *table;
	const struct fleet_range *range;
	fleet_row_fn *fn;
	void *owner;
	struct err *err;
	sqlite3_stmt *rows,
		*times; /* owned; times: the next visit's, for one statement's history */
	struct rows_text text;
};

static void scan_free(struct scan *s)
{
	sqlite3_finalize(s->rows);
	sqlite3_finalize(s->times);
	free(s->text.bytes);
}

/* Nothing but reading our tables: no function, no pragma, no other schema. */
static int may(void *unused, int action, const char *table, const char *column,
	       const char *database, const char *trigger)
{
	(void)unused;
	(void)column;
	(void)database;
	if (trigger != NULL)
		return SQLITE_DENY;
	if (action == SQLITE_SELECT || action == SQLITE_TRANSACTION)
		return SQLITE_OK;
	if (action != SQLITE_READ || table == NULL)
		return SQLITE_DENY;
	return fleet_table_find(table, strlen(table)) != NULL ? SQLITE_OK : SQLITE_DENY;
}

static int is_endless(void *store)
{
	struct fleet_sqlite *f = store;

	if (f->steps_left < PROGRESS_STEPS)
		return 1;
	f->steps_left -= PROGRESS_STEPS;
	return 0;
}

static void look_at_file(const struct fleet_sqlite *f, int64_t *out_mtime_ns, int64_t *out_inode)
{
	struct stat st;

	*out_mtime_ns = *out_inode = 0;
	if (stat(f->path, &st) != 0)
		return;
	*out_mtime_ns = (int64_t)st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec;
	*out_inode = (int64_t)st.st_ino;
}

int fleet_reader_open(struct fleet_sqlite *f, struct err *err)
{
	unsigned version = 0;
	int rc;

	fleet_finalize(f);
	sqlite_close_scoped(&f->db);
	look_at_file(f, &f->seen_mtime_ns, &f->seen_inode);
	rc = sqlite_open_hostile(f->path, &f->db, &f->is_shared, err);
	if (rc != 0)
		return rc;
	sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, VALUE_MOST_BYTES);
	f->steps_left = LEAST_STEPS;
	sqlite3_progress_handler(f->db, PROGRESS_STEPS, is_endless, f);
	rc = sqlite_check_kind(f->db, f->path, &sqlite_fleet_kind, &version, err);
	if (rc == 0 && version < fleet_schema_newest) {
		err_set(err, -ENOTSUP, "cannot read '%s': its schema is older than this tare's",
			f->path);
		err_mend(err, "run `tare collect` on it once");
		rc = -ENOTSUP;
	}
	sqlite_run(f->db, "COMMIT");
	if (rc == 0)
		sqlite3_set_authorizer(f->db, may, NULL);
	return rc;
}

/* Was a file that was opened without locks written since? */
static bool is_stale(const struct fleet_sqlite *f)
{
	int64_t mtime_ns, inode;

	if (f->lock_fd >= 0 || f->is_shared)
		return false;
	look_at_file(f, &mtime_ns, &inode);
	return mtime_ns != f->seen_mtime_ns || inode != f->seen_inode;
}

/* Not in the middle of another scan. After a failure there is nothing to go on with. */
static bool must_reopen(const struct fleet_sqlite *f)
{
	return f->db == NULL || (sqlite3_get_autocommit(f->db) && is_stale(f));
}

static int scan_failed(struct scan *s, int rc)
{
	return fleet_fail(s->f, rc, "read", s->err);
}

/* One row to its taker. 0: go on. */
static int give(struct scan *s)
{
	char row[1024];
	int rc;

	if (s->table->row_bytes > sizeof(row))
		return err_set(s->err, -ERANGE, "a row of table %s is too long", s->table->name);
	memset(row, 0, s->table->row_bytes);
	s->text.used = s->text.steps = 0;
	rc = rows_read(s->rows, s->table, row, &s->text, s->err);
	if (rc != 0) {
		char inner[sizeof(s->err->msg)];

		memcpy(inner, s->err->msg, sizeof(inner));
		return err_set(s->err, rc, "cannot read '%s': it is damaged: %s", s->f->path,
			       inner);
	}
	rows_settle(s->table, row, 1, &s->text);
	return s->fn(s->owner, row);
}

static int give_all(struct scan *s)
{
	int step, rc = 0;

	while (rc == 0 && (step = sqlite3_step(s->rows)) == SQLITE_ROW)
		rc = give(s);
	if (rc == 0 && step != SQLITE_DONE)
		rc = scan_failed(s, sqlite3_extended_errcode(s->f->db));
	sqlite3_reset(s->rows);
	return rc;
}

static bool has_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return true;
	return false;
}

/* SELECT columns FROM t, with a condition for each part of the range. `is_exact_time`: at one time, ?2. */
static int prepare_rows(struct scan *s, bool is_exact_time)
{
	const struct fleet_range *r = s->range;
	const struct table *t = s->table;
	struct sql sql = { "" };
	int rc;

	sql_add(&sql, "SELECT ");
	sql_columns(&sql, t, "");
	sql_add(&sql, " FROM %s WHERE 1", t->name);
	if (r->server != NO_ID || fleet_is_by_time(t))
		sql_add(&sql, " AND server = ?1");
	if (is_exact_time)
		sql_add(&sql, " AND at_wall_ns = ?2");
	else if (fleet_time_column(t) < t->field_count)
		sql_add(&sql, " AND at_wall_ns >= ?2 AND at_wall_ns < ?3");
	if (r->key != NULL && has_column(t, "is_toplevel"))
		sql_add(&sql,
			" AND dbid = ?4 AND userid = ?5 AND queryid = ?6 AND is_toplevel = ?7");
	if (r->digest != NULL && t == &table_payload)
		sql_add(&sql, " AND digest = ?8");
	sql_add(&sql, " ORDER BY ");
	for (size_t i = 0; i < fleet_key_count(t); i++)
		sql_add(&sql, "%s%s", i > 0 ? ", " : "", t->fields[i].name);
	if (sql.is_over)
		return err_set(s->err, -ENAMETOOLONG, "table %s has too many columns", t->name);
	rc = sqlite3_prepare_v2(s->f->db, sql.text, -1, &s->rows, NULL);
	return rc == SQLITE_OK ? 0 : scan_failed(s, rc);
}

/* A number that the statement does not have is no error. */
static void bind_range(struct scan *s)
{
	const struct fleet_range *r = s->range;

	sqlite3_bind_int64(s->rows, 1, r->server);
	sqlite3_bind_int64(s->rows, 2, r->from_wall_ns);
	sqlite3_bind_int64(s->rows, 3, r->to_wall_ns);
	if (r->key != NULL) {
		sqlite3_bind_int64(s->rows, 4, r->key->dbid);
		sqlite3_bind_int64(s->rows, 5, r->key->userid);
		sqlite3_bind_int64(s->rows, 6, r->key->queryid);
		sqlite3_bind_int64(s->rows, 7, r->key->is_toplevel);
	}
	if (r->digest != NULL)
		sqlite3_bind_blob(s->rows, 8, r->digest->bytes, sizeof(r->digest->bytes),
				  SQLITE_STATIC);
}

/* A statement's history: its key ends with the statement, so each visit is looked up by itself. Two steps down the tree a
 * visit, instead of all statements of all visits, and no second index to be written with every row. */
static int scan_history(struct scan *s, uint32_t server)
{
	int64_t at_ns = s->range->from_wall_ns;
	int step, rc = 0;

	sqlite3_bind_int64(s->rows, 1, server);
	while (rc == 0) {
		sqlite3_reset(s->times);
		sqlite3_bind_int64(s->times, 1, server);
		sqlite3_bind_int64(s->times, 2, at_ns);
		sqlite3_bind_int64(s->times, 3, s->range->to_wall_ns);
		step = sqlite3_step(s->times);
		if (step != SQLITE_ROW)
			return step == SQLITE_DONE
				       ? 0
				       : scan_failed(s, sqlite3_extended_errcode(s->f->db));
		at_ns = sqlite3_column_int64(s->times, 0);
		sqlite3_bind_int64(s->rows, 2, at_ns);
		rc = give_all(s);
		if (at_ns == INT64_MAX)
			break;
		at_ns++;
	}
	return rc;
}

static int scan_server(struct scan *s, uint32_t server)
{
	if (s->times != NULL)
		return scan_history(s, server);
	sqlite3_bind_int64(s->rows, 1, server);
	return give_all(s);
}

/* The servers that have rows, one after the other, by a step down the tree each. */
static int scan_servers(struct scan *s)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *next = NULL;
	int64_t server = -1;
	struct sql sql = { "" };
	int step, rc;

	sql_add(&sql, "SELECT server FROM %s WHERE server > ? ORDER BY server LIMIT 1",
		s->table->name);
	rc = sqlite3_prepare_v2(s->f->db, sql.text, -1, &next, NULL);
	if (rc != SQLITE_OK)
		return scan_failed(s, rc);
	for (rc = 0; rc == 0;) {
		sqlite3_reset(next);
		sqlite3_bind_int64(next, 1, server);
		step = sqlite3_step(next);
		if (step != SQLITE_ROW)
			return step == SQLITE_DONE
				       ? 0
				       : scan_failed(s, sqlite3_extended_errcode(s->f->db));
		server = sqlite3_column_int64(next, 0);
		if (server >= NO_ID)
			return err_set(s->err, -EBADMSG,
				       "cannot read '%s': it is damaged: table %s", s->f->path,
				       s->table->name);
		rc = scan_server(s, (uint32_t)server);
	}
	return rc;
}

static int prepare_scan(struct scan *s)
{
	bool is_history = s->range->key != NULL && fleet_is_by_time(s->table) &&
			  has_column(s->table, "is_toplevel");
	struct sql sql = { "" };
	int rc = prepare_rows(s, is_history);

	if (rc != 0)
		return rc;
	bind_range(s);
	if (!is_history)
		return 0;
	sql_add(&sql,
		"SELECT at_wall_ns FROM %s WHERE server = ?1 AND at_wall_ns >= ?2 AND "
		"at_wall_ns < ?3 ORDER BY at_wall_ns LIMIT 1",
		s->table->name);
	rc = sqlite3_prepare_v2(s->f->db, sql.text, -1, &s->times, NULL);
	return rc == SQLITE_OK ? 0 : scan_failed(s, rc);
}

static int scan_all(struct scan *s)
{
	int rc = prepare_scan(s);

	if (rc != 0)
		return rc;
	if (s->range->server == NO_ID && fleet_is_by_time(s->table))
		return scan_servers(s);
	return s->range->server == NO_ID ? give_all(s) : scan_server(s, s->range->server);
}

/* Begins the snapshot, unless the taker of another scan asks. */
static int begin(struct fleet_sqlite *f, bool *out_is_outer, struct err *err)
{
	uint64_t bytes = 0;
	int rc = fleet_sqlite_size(f, &bytes, err);

	*out_is_outer = sqlite3_get_autocommit(f->db) != 0;
	f->steps_left = LEAST_STEPS + bytes * STEPS_PER_BYTE;
	if (rc != 0 || !*out_is_outer)
		return rc;
	rc = sqlite_run(f->db, "BEGIN");
	return rc == SQLITE_OK ? 0 : fleet_fail(f, rc, "read", err);
}

int fleet_sqlite_scan(void *db, const struct table *t, const struct fleet_range *range,
		      fleet_row_fn *fn, void *owner, struct err *err)
{
	SCOPED(scan_free)
	struct scan s = {
		.f = db,
		.table = t,
		.range = range,
		.fn = fn,
		.owner = owner,
		.err = err,
		.text.most = VALUE_MOST_BYTES + FLEET_TABLES_MOST * STR_MAX_BYTES,
	};
	bool is_outer = false;
	int rc;

	if (fleet_place(t) == fleet_table_count)
		return err_set(err, -EINVAL, "cannot read table %s: it is none of a fleet's",
			       t->name);
	rc = must_reopen(s.f) ? fleet_reader_open(s.f, err) : 0;
	if (rc == 0)
		rc = begin(s.f, &is_outer, err);
	if (rc == 0)
		rc = scan_all(&s);
	sqlite3_finalize(s.rows);
	sqlite3_finalize(s.times);
	s.rows = s.times = NULL;
	if (is_outer)
		sqlite_run(s.f->db, "COMMIT");
	if ((rc == 0 || rc == -EBADMSG) && is_stale(s.f))
		rc = err_set(err, -EAGAIN, "cannot read '%s': it changed meanwhile, try again",
			     s.f->path);
	return rc;
}
