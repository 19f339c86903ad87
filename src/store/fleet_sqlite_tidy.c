/* fleet_sqlite_tidy.c - rows that are too old go, an hour of a server at a time, after their sums were kept; free pages are
 * given back. */
#include <stdint.h>
#include <string.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/sqlite.h"

#define LATEST_NS    (120 * (int64_t)NS_PER_S)
#define TOGETHER_NS  (20 * NS_PER_MS)
#define SPARE_PAGES  1024 /* free pages that may stay, beside a quarter of the file */
#define VACUUM_PAGES 512
#define PLACES_KEPT  64

/* How long rows of a kind stay at least, so that what is summed out of them is summed first. */
static struct fleet_limits effective(const struct fleet_limits *limits)
{
	const uint64_t day_ns = (uint64_t)FLEET_DAY_NS, hour_ns = (uint64_t)FLEET_HOUR_NS;
	struct fleet_limits l = *limits;

	if (l.raw_ns < hour_ns + LATEST_NS)
		l.raw_ns = hour_ns + LATEST_NS;
	if (l.runs_ns < hour_ns + LATEST_NS)
		l.runs_ns = hour_ns + LATEST_NS;
	if (l.hourly_ns < l.raw_ns + day_ns)
		l.hourly_ns = l.raw_ns + day_ns;
	if (l.daily_ns < l.hourly_ns + day_ns)
		l.daily_ns = l.hourly_ns + day_ns;
	if (l.daily_ns < l.runs_ns + day_ns)
		l.daily_ns = l.runs_ns + day_ns;
	return l;
}

/* Where the horizon of a table is to be: a whole day for sums of hours, since days are summed out of them. */
static int64_t horizon_at(const struct fleet_table *t, struct wall now,
			  const struct fleet_limits *limits)
{
	uint64_t keep_ns = fleet_keep_ns(t->keep, limits);
	int64_t unit_ns =
		t->keep == KEEP_HOURLY || t->keep == KEEP_DAILY ? FLEET_DAY_NS : FLEET_HOUR_NS;

	if (keep_ns == 0 || keep_ns >= (uint64_t)now.ns || now.ns < 0 ||
	    fleet_time_column(t->table) == t->table->field_count)
		return INT64_MIN;
	return fleet_floor_ns(now.ns - (int64_t)keep_ns, unit_ns);
}

/* Are rows of this table before `at_ns` not summed yet? `place` is that of raw rows or of hours. */
static int has_marks(struct fleet_sqlite *f, size_t place, int64_t at_ns, bool *out,
		     struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_HAS_MARK, err);
	const struct fleet_table *t = &fleet_tables[place];
	const struct table *raw = t->hourly != NULL ? t->table : NULL;
	int rc;

	for (size_t i = 0; i < fleet_table_count && raw == NULL; i++)
		if (fleet_tables[i].hourly == t->table && fleet_tables[i].daily != NULL)
			raw = fleet_tables[i].table;
	*out = false;
	if (raw == NULL)
		return 0;
	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int(stmt, 1, raw == t->table ? 1 : 2);
	sqlite3_bind_text(stmt, 2, raw->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, at_ns);
	rc = sqlite3_step(stmt);
	*out = rc == SQLITE_ROW;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fleet_fail(f, sqlite3_extended_errcode(f->db), "tidy", err);
	sqlite3_reset(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : err->code;
}

static int move_horizon(struct fleet_sqlite *f, size_t place, int64_t at_ns, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_HORIZON, err);
	int rc;

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_text(stmt, 1, fleet_tables[place].table->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, at_ns);
	rc = fleet_step(f, stmt, "tidy", err);
	if (rc == 0)
		f->horizons[place].before_ns = at_ns;
	return rc;
}

/* Each in a transaction of its own: from then on who comes late is added to the sums. */
static int move_horizons(struct fleet_sqlite *f, struct wall now, const struct fleet_limits *limits,
			 struct fleet_tidied *out, struct err *err)
{
	for (size_t i = 0; i < fleet_table_count; i++) {
		int64_t at_ns = horizon_at(&fleet_tables[i], now, limits);
		bool has_any = false;
		int rc;

		if (at_ns <= f->horizons[i].before_ns)
			continue;
		rc = has_marks(f, i, at_ns, &has_any, err);
		if (rc == 0 && !has_any)
			rc = move_horizon(f, i, at_ns, err);
		if (rc != 0)
			return rc;
		out->is_more |= has_any;
	}
	return 0;
}

/* The first number a statement gives; *out_has: whether there is one. */
static int ask(struct fleet_sqlite *f, sqlite3_stmt *stmt, int64_t bound, int64_t *out,
	       bool *out_has, struct err *err)
{
	int rc;

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, bound);
	rc = sqlite3_step(stmt);
	*out_has = rc == SQLITE_ROW;
	if (*out_has)
		*out = sqlite3_column_int64(stmt, 0);
	else if (rc != SQLITE_DONE)
		fleet_fail(f, sqlite3_extended_errcode(f->db), "tidy", err);
	sqlite3_reset(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : err->code;
}

/* Rows of one server before the horizon: an hour's worth where they lie by time, else all. *out_is_done: it has none. */
static int forget_some(struct fleet_sqlite *f, size_t place, uint32_t server,
		       struct fleet_tidied *out, bool *out_is_done, struct err *err)
{
	const struct table *t = fleet_tables[place].table;
	int64_t to_ns = f->horizons[place].before_ns, oldest_ns = 0;
	sqlite3_stmt *stmt = fleet_stmt_of(f, place, TABLE_FORGET, err);
	bool has_any = true;
	int rc = 0;

	*out_is_done = true;
	if (fleet_is_by_time(t)) {
		rc = ask(f, fleet_stmt_of(f, place, TABLE_OLDEST, err), server, &oldest_ns,
			 &has_any, err);
		if (rc != 0 || !has_any || oldest_ns >= to_ns)
			return rc;
		if (fleet_floor_ns(oldest_ns, FLEET_HOUR_NS) + FLEET_HOUR_NS < to_ns) {
			to_ns = fleet_floor_ns(oldest_ns, FLEET_HOUR_NS) + FLEET_HOUR_NS;
			*out_is_done = false;
		}
	}
	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, server);
	sqlite3_bind_int64(stmt, 2, to_ns);
	rc = fleet_step(f, stmt, "tidy", err);
	if (rc == 0)
		out->dropped_rows += (uint64_t)sqlite3_changes64(f->db);
	return rc;
}

static int all_gone(struct fleet_sqlite *f, size_t place, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_GONE, err);
	int rc;

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, f->horizons[place].before_ns);
	sqlite3_bind_text(stmt, 2, fleet_tables[place].table->name, -1, SQLITE_STATIC);
	rc = fleet_step(f, stmt, "tidy", err);
	if (rc == 0)
		f->horizons[place].gone_ns = f->horizons[place].before_ns;
	return rc;
}

/* One transaction of a table's old rows, server after server from f->drop_server on. */
static int forget_together(struct fleet_sqlite *f, size_t place, struct fleet_tidied *out,
			   struct err *err)
{
	struct mono until = { fleet_mono_now().ns + TOGETHER_NS };
	int rc = fleet_begin(f, err);

	while (rc == 0 && !fleet_is_over(until)) {
		int64_t server = 0;
		bool has_any = false, is_done = true;

		rc = ask(f, fleet_stmt_of(f, place, TABLE_SERVER, err), (int64_t)f->drop_server - 1,
			 &server, &has_any, err);
		if (rc == 0 && !has_any) {
			rc = all_gone(f, place, err);
			f->drop_server = 0;
			break;
		}
		if (rc == 0)
			rc = forget_some(f, place, (uint32_t)server, out, &is_done, err);
		f->drop_server = (uint32_t)server + (is_done ? 1 : 0);
	}
	if (rc == 0)
		return fleet_commit(f, err);
	fleet_rollback(f);
	return rc;
}

/* Free pages go back to the file system when they are many; a quarter of the file is used again soon. */
static int give_pages_back(struct fleet_sqlite *f, struct mono deadline, struct fleet_tidied *out,
			   struct err *err)
{
	int64_t pages = 0, free_pages = 0;
	bool has_any;

	for (;;) {
		SCOPED(sqlite_finalize_scoped) sqlite3_stmt *all = NULL;
		SCOPED(sqlite_finalize_scoped) sqlite3_stmt *free_ones = NULL;
		char sql[64];
		int rc = sqlite3_prepare_v2(f->db, "PRAGMA page_count", -1, &all, NULL);

		if (rc == SQLITE_OK)
			rc = sqlite3_prepare_v2(f->db, "PRAGMA freelist_count", -1, &free_ones,
						NULL);
		if (rc != SQLITE_OK)
			return fleet_fail(f, rc, "tidy", err);
		rc = ask(f, all, 0, &pages, &has_any, err);
		if (rc == 0)
			rc = ask(f, free_ones, 0, &free_pages, &has_any, err);
		if (rc != 0 || free_pages <= SPARE_PAGES || free_pages <= pages / 4)
			return rc;
		if (fleet_is_over(deadline)) {
			out->is_more = true;
			return 0;
		}
		sqlite3_snprintf((int)sizeof(sql), sql, "PRAGMA incremental_vacuum(%d)",
				 VACUUM_PAGES);
		rc = sqlite_run(f->db, sql);
		if (rc != SQLITE_OK)
			return fleet_fail(f, rc, "tidy", err);
	}
}

static int forget_places(struct fleet_sqlite *f, struct err *err)
{
	char sql[160];
	int rc;

	sqlite3_snprintf(
		(int)sizeof(sql), sql,
		"DELETE FROM place WHERE slot < (SELECT max(slot) FROM place AS other WHERE "
		"other.reading = place.reading) - %d",
		PLACES_KEPT);
	rc = sqlite_run(f->db, sql);
	return rc == SQLITE_OK ? 0 : fleet_fail(f, rc, "tidy", err);
}

int fleet_drop_old(struct fleet_sqlite *f, struct wall now, const struct fleet_limits *limits,
		   struct mono deadline, struct fleet_tidied *out, struct err *err)
{
	int rc = move_horizons(f, now, limits, out, err);

	while (rc == 0) {
		const struct horizon *h = &f->horizons[f->drop_place];

		while (rc == 0 && h->gone_ns < h->before_ns && !fleet_is_over(deadline))
			rc = forget_together(f, f->drop_place, out, err);
		if (h->gone_ns < h->before_ns) {
			out->is_more = true;
			break;
		}
		f->drop_server = 0;
		f->drop_place = (f->drop_place + 1) % fleet_table_count;
		if (f->drop_place == 0)
			break;
	}
	return rc;
}

int fleet_sqlite_tidy(void *db, struct wall now, const struct fleet_limits *limits,
		      uint64_t budget_ns, struct fleet_tidied *out, struct err *err)
{
	struct mono deadline = { fleet_mono_now().ns + budget_ns };
	struct fleet_limits keep = effective(limits);
	struct fleet_tidied tidied = { 0 };
	struct fleet_sqlite *f = db;
	int rc = fleet_sum_marked(f, now, deadline, &tidied, err);

	if (rc == 0 && !tidied.is_more)
		rc = fleet_drop_old(f, now, &keep, deadline, &tidied, err);
	if (rc == 0)
		rc = fleet_shrink_payloads(f, keep.payload_bytes, deadline, &tidied, err);
	if (rc == 0 && !tidied.is_more)
		rc = fleet_sweep(f, now, &keep, deadline, &tidied, err);
	if (rc == 0)
		rc = forget_places(f, err);
	if (rc == 0)
		rc = give_pages_back(f, deadline, &tidied, err);
	if (rc == 0)
		*out = tidied;
	return rc;
}
