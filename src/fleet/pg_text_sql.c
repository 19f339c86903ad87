/* pg_text_sql.c - the question for texts of statements, and its rows. */
#include <errno.h>

#include "fleet/cells.h"
#include "fleet/pg_body.h"

/* Columns of the answer. */
enum text_column {
	TEXT_DBID,
	TEXT_USERID,
	TEXT_QUERYID,
	TEXT_TOPLEVEL,
	TEXT_BYTES,
	TEXT_IS_OWN,
	TEXT_DATABASE,
	TEXT_ROLE,
	TEXT_TEXT,
	TEXT_ROLE_PATH,
	TEXT_DATABASE_PATH,
};

/* A search path that a role or database was given; ours are those of both, of the role, of the database, of all. */
static void put_path(struct text *sql, const char *which)
{
	text_printf(
		sql,
		", (SELECT substr(c, 13) FROM pg_db_role_setting g, unnest(g.setconfig) c"
		" WHERE starts_with(c, 'search_path=') AND %s ORDER BY g.setdatabase DESC LIMIT 1)",
		which);
}

static void put_arrays(struct pg_body *b, const struct text_wanted *wanted, size_t count)
{
	for (size_t i = 0; i < 4; i++) {
		text_clear(&b->params[i]);
		text_put(&b->params[i], "{");
	}
	for (size_t i = 0; i < count; i++) {
		const struct statement_key *key = &wanted[i].key;
		const char *comma = i > 0 ? "," : "";

		text_printf(&b->params[0], "%s%u", comma, key->dbid);
		text_printf(&b->params[1], "%s%u", comma, key->userid);
		text_printf(&b->params[2], "%s%lld", comma, (long long)key->queryid);
		text_printf(&b->params[3], "%s%s", comma, key->is_toplevel ? "t" : "f");
	}
	for (size_t i = 0; i < 4; i++)
		text_put(&b->params[i], "}");
}

int pg_ask_texts(struct pg_body *b, const struct text_wanted *wanted, size_t count, uint64_t budget,
		 struct ask *out)
{
	bool has_toplevel = pg_has_column(b->statement_columns, "toplevel");
	uint64_t most = b->settings.limits.payload_bytes < budget ? b->settings.limits.payload_bytes
								  : budget;
	struct text *sql = &b->sql;

	put_arrays(b, wanted, count);
	text_clear(sql);
	text_put(sql, "SELECT " PG_MARK " s.dbid, s.userid, s.queryid, s.toplevel, s.size, s.own,"
		      " d.datname, r.rolname, CASE WHEN NOT s.own AND s.size <= ");
	text_printf(sql, "%llu AND s.together <= %llu THEN s.query END", (unsigned long long)most,
		    (unsigned long long)budget);
	put_path(sql, "g.setrole = s.userid AND g.setdatabase IN (0, s.dbid)");
	put_path(sql, "g.setrole = 0 AND g.setdatabase IN (0, s.dbid)");
	text_printf(
		sql,
		" FROM (SELECT t.*, sum(CASE WHEN t.own OR t.size > %llu THEN 0 ELSE t.size END)"
		" OVER (ORDER BY t.n) AS together FROM (SELECT p.dbid, p.userid, p.queryid, %s AS "
		"toplevel,"
		" p.query, octet_length(p.query) AS size, w.n,"
		" p.userid = me.oid AND (position('" PG_MARK "' IN left(p.query, " PG_MARK_WITHIN
		")) > 0 OR right(p.query, " PG_MARK_LENGTH ") = '" PG_MARK "') AS own"
		" FROM pg_roles me, ",
		(unsigned long long)most, has_toplevel ? "p.toplevel" : "true");
	pg_put_name(sql, b->facts.statements_schema);
	text_printf(sql,
		    ".pg_stat_statements(true) p JOIN unnest($1::oid[], $2::oid[], $3::int8[], "
		    "$4::bool[])"
		    " WITH ORDINALITY w(dbid, userid, queryid, toplevel, n) ON p.dbid = w.dbid"
		    " AND p.userid = w.userid AND p.queryid = w.queryid%s WHERE me.rolname = "
		    "current_user) t) s"
		    " LEFT JOIN pg_database d ON d.oid = s.dbid LEFT JOIN pg_roles r ON r.oid = "
		    "s.userid",
		    has_toplevel ? " AND p.toplevel = w.toplevel" : "");
	out->param_count = 4;
	for (size_t i = 0; i < 4; i++) {
		if (b->params[i].has_failed)
			return -ENOMEM;
		out->params[i] = text_chars(&b->params[i]);
	}
	return pg_body_ask(b, out, TEXT_COLUMNS);
}

bool pg_read_text(const struct cell *cells, struct text_found *out)
{
	struct counter bytes = cell_counter(cells[TEXT_BYTES]);
	struct cell path =
		cells[cells[TEXT_ROLE_PATH].bytes != NULL ? TEXT_ROLE_PATH : TEXT_DATABASE_PATH];

	*out = (struct text_found){ .key.is_toplevel = cell_bool(cells[TEXT_TOPLEVEL]) };
	if (!cell_u32(cells[TEXT_DBID], &out->key.dbid) ||
	    !cell_u32(cells[TEXT_USERID], &out->key.userid) ||
	    !cell_i64(cells[TEXT_QUERYID], &out->key.queryid))
		return false;
	out->bytes = IS_MEASURED(bytes) ? bytes.value : 0;
	out->is_own = cell_bool(cells[TEXT_IS_OWN]);
	out->has_text = cells[TEXT_TEXT].bytes != NULL;
	out->text = (struct str){ cells[TEXT_TEXT].bytes, cells[TEXT_TEXT].len };
	out->database = cell_str(cells[TEXT_DATABASE]);
	out->user = cell_str(cells[TEXT_ROLE]);
	out->search_path = cell_str(path);
	return true;
}
