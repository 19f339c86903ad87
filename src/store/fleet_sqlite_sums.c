/* fleet_sqlite_sums.c - hours and days whose rows changed are summed again, out of all their rows: doing it twice changes
 * nothing. */
#include <errno.h>
#include <stdint.h>

#include "store/fleet_sqlite.h"

#define LATEST_NS   (120 * (int64_t)NS_PER_S) /* visits still come in after an hour's end */
#define TOGETHER_NS (20 * NS_PER_MS)	      /* of work in one transaction */

/* A sum in the making; it lies in SQLite's memory, zeroed. */
struct capped {
	int64_t sum;
	int has_any;
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void capped_step(sqlite3_context *of, int count, sqlite3_value **values)
{
	struct capped *c = sqlite3_aggregate_context(of, sizeof(*c));

	(void)count;
	if (c == NULL) {
		sqlite3_result_error_nomem(of);
		return;
	}
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	c->sum = add(c->sum, sqlite3_value_int64(values[0]));
	c->has_any = 1;
}

static void capped_end(sqlite3_context *of)
{
	const struct capped *c = sqlite3_aggregate_context(of, 0);

	if (c == NULL || !c->has_any)
		sqlite3_result_null(of);
	else
		sqlite3_result_int64(of, c->sum);
}

static void capped_add(sqlite3_context *of, int count, sqlite3_value **values)
{
	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		sqlite3_result_value(of, values[1]);
	else if (sqlite3_value_type(values[1]) == SQLITE_NULL)
		sqlite3_result_value(of, values[0]);
	else
		sqlite3_result_int64(
			of, add(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1])));
}

int fleet_add_functions(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function_v2(db, "capped_sum", 1, flags, NULL, NULL, capped_step,
					    capped_end, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function_v2(db, "capped_add", 2, flags, NULL, capped_add, NULL,
						NULL, NULL);
	return rc;
}

/* An hour or day of one server and table whose sum is not up to date. */
struct mark {
	int level;
	int64_t at_ns, to_ns;
	size_t place;
	uint32_t server;
};

/* The oldest mark of a level that is whole; *out_has: whether there is one. */
static int next_mark(struct fleet_sqlite *f, int level, int64_t whole_ns, struct mark *out,
		     bool *out_has, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_NEXT_MARK, err);
	const struct fleet_table *t;
	int rc;

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int(stmt, 1, level);
	sqlite3_bind_int64(stmt, 2, whole_ns);
	rc = sqlite3_step(stmt);
	*out_has = rc == SQLITE_ROW;
	if (rc == SQLITE_ROW) {
		t = fleet_table_find((const char *)sqlite3_column_text(stmt, 1),
				     (size_t)sqlite3_column_bytes(stmt, 1));
		*out = (struct mark){ .level = level,
				      .at_ns = sqlite3_column_int64(stmt, 0),
				      .place = t != NULL ? (size_t)(t - fleet_tables)
							 : fleet_table_count,
				      .server = (uint32_t)sqlite3_column_int64(stmt, 2) };
		out->to_ns = out->at_ns + (level == 1 ? FLEET_HOUR_NS : FLEET_DAY_NS);
	} else if (rc != SQLITE_DONE) {
		fleet_fail(f, sqlite3_extended_errcode(f->db), "sum in", err);
	}
	sqlite3_reset(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : err->code;
}

static int unmark(struct fleet_sqlite *f, const struct mark *m, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_UNMARK, err);

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int(stmt, 1, m->level);
	sqlite3_bind_int64(stmt, 2, m->at_ns);
	sqlite3_bind_text(stmt, 3, fleet_tables[m->place].table->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, m->server);
	return fleet_step(f, stmt, "sum in", err);
}

static int sum_mark(struct fleet_sqlite *f, const struct mark *m, struct fleet_tidied *out,
		    struct err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if (m->place == fleet_table_count)
		return err_set(err, -EBADMSG, "cannot sum in '%s': a table is unknown", f->path);
	stmt = fleet_stmt_of(f, m->place, m->level == 1 ? TABLE_SUM : TABLE_SUM_DAY, err);
	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, m->server);
	sqlite3_bind_int64(stmt, 2, m->at_ns);
	sqlite3_bind_int64(stmt, 3, m->to_ns);
	rc = fleet_step(f, stmt, "sum in", err);
	if (rc != 0)
		return rc;
	out->summed_rows += (uint64_t)sqlite3_changes64(f->db);
	rc = unmark(f, m, err);
	if (rc == 0 && m->level == 1 && fleet_tables[m->place].daily != NULL)
		rc = fleet_mark(f, 2, m->at_ns, m->place, m->server, err);
	return rc;
}

/* Marks of one level, as many as fit into one transaction. *out_is_done: there are no more. */
static int sum_some(struct fleet_sqlite *f, int level, int64_t whole_ns, struct fleet_tidied *out,
		    bool *out_is_done, struct err *err)
{
	struct mono until = { fleet_mono_now().ns + TOGETHER_NS };
	bool has_mark = true;
	struct mark mark = { 0 };
	int rc = fleet_begin(f, err);

	while (rc == 0 && has_mark && !fleet_is_over(until)) {
		rc = next_mark(f, level, whole_ns, &mark, &has_mark, err);
		if (rc == 0 && has_mark)
			rc = sum_mark(f, &mark, out, err);
	}
	*out_is_done = !has_mark;
	if (rc == 0)
		return fleet_commit(f, err);
	fleet_rollback(f);
	return rc;
}

int fleet_sum_marked(struct fleet_sqlite *f, struct wall now, struct mono deadline,
		     struct fleet_tidied *out, struct err *err)
{
	static const int64_t spans_ns[] = { FLEET_HOUR_NS, FLEET_DAY_NS };
	int rc = 0;

	for (int level = 1; level <= 2; level++) {
		int64_t whole_ns = now.ns - LATEST_NS - spans_ns[level - 1];
		bool is_done = false;

		while (rc == 0 && !is_done && !fleet_is_over(deadline))
			rc = sum_some(f, level, whole_ns, out, &is_done, err);
		if (rc != 0)
			return rc;
		out->is_more |= !is_done;
	}
	return 0;
}
