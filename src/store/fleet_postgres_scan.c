/* fleet_postgres_scan.c - rows by a cursor, piece by piece: one snapshot, bounded memory, and who has seen enough just stops. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_postgres.h"

#define FETCH_ROWS     1000
#define FETCH_PAYLOADS 50 /* each may have megabytes */

struct scan {
	struct pg_store *p;
	const struct table *t;
	struct pg_bytes text, row;
	char fetch[64];
	int fetch_rows;
};

static void scan_free(struct scan *s)
{
	pg_bytes_free(&s->text);
	pg_bytes_free(&s->row);
}

static void where(struct text *sql, struct pg_args *args, const char *column, const char *how)
{
	text_printf(sql, " %s \"%s\" %s $%d", args->count > 1 ? "AND" : "WHERE", column, how,
		    args->count);
}

static void where_key(struct text *sql, struct pg_args *args, const struct statement_key *key)
{
	pg_arg_i64(args, key->dbid);
	where(sql, args, "dbid", "=");
	pg_arg_i64(args, key->userid);
	where(sql, args, "userid", "=");
	pg_arg_i64(args, key->queryid);
	where(sql, args, "queryid", "=");
	pg_arg_bytes(args, PG_BOOL, key->is_toplevel ? "\1" : "\0", 1);
	where(sql, args, "is_toplevel", "=");
}

static void put_range(struct text *sql, struct pg_args *args, const struct table *t,
		      const struct fleet_range *range)
{
	bool has_time = pg_column(t, "at_wall_ns") != SIZE_MAX;

	if (range->server != NO_ID) {
		pg_arg_i64(args, range->server);
		where(sql, args, "server", "=");
	}
	if (has_time && range->from_wall_ns != 0) {
		pg_arg_i64(args, range->from_wall_ns);
		where(sql, args, "at_wall_ns", ">=");
	}
	if (has_time && range->to_wall_ns != INT64_MAX) {
		pg_arg_i64(args, range->to_wall_ns);
		where(sql, args, "at_wall_ns", "<");
	}
	if (range->key != NULL && pg_column(t, "is_toplevel") != SIZE_MAX)
		where_key(sql, args, range->key);
	if (range->digest != NULL && pg_column(t, "digest") != SIZE_MAX) {
		pg_arg_bytes(args, PG_BYTEA, range->digest->bytes, sizeof(range->digest->bytes));
		where(sql, args, "digest", "=");
	}
}

static void put_order(struct text *sql, const struct table *t)
{
	const char *before = " ORDER BY ";

	for (size_t i = 0; i < t->field_count; i++) {
		if (!t->fields[i].is_key)
			continue;
		text_printf(sql, "%s\"%s\"", before, t->fields[i].name);
		before = ", ";
	}
}

static int declare(struct scan *s, const struct fleet_range *range, struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	struct pg_args args = { .count = 0 };
	struct pg_wire *w = &s->p->wire;
	int rc = 0;

	text_printf(&sql, "DECLARE tare_%u NO SCROLL CURSOR FOR SELECT ", s->p->scans);
	pg_put_columns(&sql, s->t, "");
	text_printf(&sql, " FROM tare.\"%s\"", s->t->name);
	put_range(&sql, &args, s->t, range);
	put_order(&sql, s->t);
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (s->p->scans == 1)
		rc = pg_command(w, "BEGIN READ ONLY", err);
	return rc == 0 ? pg_query(w, text_chars(&sql), &args, NULL, err) : rc;
}

/* Gives the rows of one piece. *out_more: there may be more. */
static int give(struct scan *s, bool *out_more, fleet_row_fn *fn, void *owner, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc;

	pg_deadline(&s->p->wire, PG_ROWS_MS);
	rc = pg_query(&s->p->wire, s->fetch, NULL, &res, err);
	*out_more = rc == 0 && PQntuples(res) == s->fetch_rows;
	for (int i = 0; rc == 0 && i < PQntuples(res); i++) {
		rc = pg_row_read(res, i, s->t, s->row.bytes, &s->text, err);
		if (rc == 0)
			rc = fn(owner, s->row.bytes);
		if (rc == 0 && s->p->wire.conn == NULL)
			rc = err_set(err, -EHOSTUNREACH,
				     "cannot reach the store: the connection was lost");
	}
	return rc;
}

static int run(struct scan *s, const struct fleet_range *range, fleet_row_fn *fn, void *owner,
	       struct err *err)
{
	bool is_more = true;
	char close[32];
	int rc = declare(s, range, err);

	while (rc == 0 && is_more)
		rc = give(s, &is_more, fn, owner, err);
	if (rc != 0 || s->p->scans == 1)
		return rc;
	snprintf(close, sizeof(close), "CLOSE tare_%u", s->p->scans);
	return pg_command(&s->p->wire, close, err);
}

int pg_scan(void *db, const struct table *t, const struct fleet_range *range, fleet_row_fn *fn,
	    void *owner, struct err *err)
{
	SCOPED(scan_free) struct scan s = { .p = db, .t = t };
	int rc = 0;

	if (pg_table(t) == NULL)
		return err_set(err, -EINVAL, "cannot read table %s: it is none of a fleet's",
			       t->name);
	s.row.bytes = calloc(1, t->row_bytes);
	if (s.row.bytes == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	if (s.p->scans == 0)
		rc = pg_call(s.p, PG_ROWS_MS, err);
	if (rc != 0)
		return rc;
	s.p->scans++;
	s.fetch_rows = t == &table_payload ? FETCH_PAYLOADS : FETCH_ROWS;
	snprintf(s.fetch, sizeof(s.fetch), "FETCH %d FROM tare_%u", s.fetch_rows, s.p->scans);
	rc = run(&s, range, fn, owner, err);
	s.p->scans--;
	if (s.p->scans == 0)
		pg_abandon(s.p); /* nothing was written: any end will do */
	return rc;
}
