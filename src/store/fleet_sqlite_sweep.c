/* fleet_sqlite_sweep.c - what no time column drops: once a day, server after server, what nobody names any more; and payloads
 * over their size, the longest unseen first. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/sqlite.h"

#define AT_A_TIME 64

/* The times before which things of a server are too old. */
struct ages {
	int64_t raw_ns, hourly_ns, daily_ns, day_ns;
};

/* What the rows that a statement changes are. */
enum swept {
	SWEPT_ROWS,
	SWEPT_PAYLOADS,
	SWEPT_COUNT, /* nothing went */
};

/* One statement a row: of server ?1, before ?2. */
static const struct {
	const char *sql;
	size_t age; /* offset in struct ages */
	enum swept what;
} sweeps[] = {
	{ "DELETE FROM plan WHERE server = ?1 AND seen_wall_ns < ?2",
	  offsetof(struct ages, hourly_ns), SWEPT_ROWS },
	{ "DELETE FROM query WHERE server = ?1 AND seen_wall_ns < ?2",
	  offsetof(struct ages, daily_ns), SWEPT_ROWS },
	/* A statement that was not tried for so long is no candidate any more. */
	{ "DELETE FROM no_plan WHERE server = ?1 AND again_wall_ns < ?2",
	  offsetof(struct ages, raw_ns), SWEPT_ROWS },
	{ "UPDATE about SET payload_bytes = payload_bytes - ifnull((SELECT sum(length(content)) "
	  "FROM "
	  "payload WHERE server = ?1 AND seen_wall_ns < ?2 AND digest NOT IN (SELECT text FROM "
	  "query "
	  "WHERE server = ?1 AND text IS NOT NULL UNION ALL SELECT plan FROM plan WHERE server = "
	  "?1)), 0)",
	  offsetof(struct ages, raw_ns), SWEPT_COUNT },
	{ "DELETE FROM payload WHERE server = ?1 AND seen_wall_ns < ?2 AND digest NOT IN (SELECT "
	  "text "
	  "FROM query WHERE server = ?1 AND text IS NOT NULL UNION ALL SELECT plan FROM plan WHERE "
	  "server = ?1)",
	  offsetof(struct ages, raw_ns), SWEPT_PAYLOADS },
	/* Baselines are of no use an hour after the last visit. */
	{ "DELETE FROM baseline WHERE server = ?1 AND reading IN (SELECT reading FROM life WHERE "
	  "server = ?1 AND at_wall_ns < ?2)",
	  offsetof(struct ages, day_ns), SWEPT_ROWS },
};

/* Of a server that has left and was not seen since ?2. */
#define HAS_LEFT                                                                               \
	"server = ?1 AND EXISTS (SELECT 1 FROM server WHERE server = ?1 AND seat IS NULL AND " \
	"seen_wall_ns < ?2)"
static const struct {
	const char *sql;
	size_t age;
} farewells[] = {
	{ "DELETE FROM capture WHERE " HAS_LEFT, offsetof(struct ages, raw_ns) },
	{ "DELETE FROM baseline WHERE " HAS_LEFT, offsetof(struct ages, raw_ns) },
	{ "DELETE FROM life WHERE " HAS_LEFT, offsetof(struct ages, raw_ns) },
	{ "DELETE FROM setting WHERE " HAS_LEFT, offsetof(struct ages, raw_ns) },
	{ "DELETE FROM no_plan WHERE " HAS_LEFT, offsetof(struct ages, raw_ns) },
	/* Its name stays while any row speaks of it. */
	{ "DELETE FROM server WHERE " HAS_LEFT
	  " AND NOT EXISTS (SELECT 1 FROM cost WHERE cost.server = ?1) AND NOT EXISTS (SELECT 1 "
	  "FROM run "
	  "WHERE run.server = ?1)",
	  offsetof(struct ages, daily_ns) },
};

static int64_t age_at(const struct ages *a, size_t offset)
{
	return *(const int64_t *)((const char *)a + offset);
}

/* Runs SQL about one server; *out_changed: rows. */
static int about_server(struct fleet_sqlite *f, const char *sql, uint32_t server, int64_t before_ns,
			uint64_t *out_changed, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "tidy", err);
	sqlite3_bind_int64(stmt, 1, server);
	sqlite3_bind_int64(stmt, 2, before_ns);
	rc = fleet_step(f, stmt, "tidy", err);
	if (rc == 0)
		*out_changed = (uint64_t)sqlite3_changes64(f->db);
	return rc;
}

static int number(struct fleet_sqlite *f, const char *sql, int64_t bound, int64_t *out,
		  bool *out_has, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "tidy", err);
	sqlite3_bind_int64(stmt, 1, bound);
	rc = sqlite3_step(stmt);
	*out_has = rc == SQLITE_ROW;
	if (*out_has)
		*out = sqlite3_column_int64(stmt, 0);
	return rc == SQLITE_ROW || rc == SQLITE_DONE
		       ? 0
		       : fleet_fail(f, sqlite3_extended_errcode(f->db), "tidy", err);
}

static int sweep_server(struct fleet_sqlite *f, uint32_t server, const struct ages *ages,
			struct fleet_tidied *out, struct err *err)
{
	int64_t before = 0, after = 0;
	uint64_t changed = 0;
	bool has_any;
	int rc = number(f, "SELECT payload_bytes FROM about", 0, &before, &has_any, err);

	for (size_t i = 0; i < ARRAY_LEN(sweeps) && rc == 0; i++) {
		rc = about_server(f, sweeps[i].sql, server, age_at(ages, sweeps[i].age), &changed,
				  err);
		if (rc == 0 && sweeps[i].what == SWEPT_PAYLOADS)
			out->dropped_payloads += changed;
		else if (rc == 0 && sweeps[i].what == SWEPT_ROWS)
			out->dropped_rows += changed;
	}
	for (size_t i = 0; i < ARRAY_LEN(farewells) && rc == 0; i++) {
		rc = about_server(f, farewells[i].sql, server, age_at(ages, farewells[i].age),
				  &changed, err);
		if (rc == 0)
			out->dropped_rows += changed;
	}
	if (rc == 0)
		rc = number(f, "SELECT payload_bytes FROM about", 0, &after, &has_any, err);
	if (rc == 0 && before > after)
		out->freed_bytes += (uint64_t)(before - after);
	return rc;
}

/* One server in one transaction; *out_is_done: it was the last. */
static int sweep_next(struct fleet_sqlite *f, struct wall now, const struct ages *ages,
		      struct fleet_tidied *out, bool *out_is_done, struct err *err)
{
	int64_t server = 0;
	uint64_t changed;
	bool has_any = false;
	int rc = fleet_begin(f, err);

	if (rc == 0)
		rc = number(f,
			    "SELECT server FROM server WHERE server >= ? ORDER BY server LIMIT 1",
			    f->sweep_server, &server, &has_any, err);
	if (rc == 0 && has_any)
		rc = sweep_server(f, (uint32_t)server, ages, out, err);
	else if (rc == 0)
		rc = about_server(f, "UPDATE about SET swept_wall_ns = ?2 WHERE ?1 = 0", 0, now.ns,
				  &changed, err);
	if (rc == 0)
		rc = fleet_commit(f, err);
	if (rc != 0) {
		fleet_rollback(f);
		return rc;
	}
	*out_is_done = !has_any;
	f->sweep_server = has_any ? (uint32_t)server + 1 : 0;
	return 0;
}

static int64_t before(struct wall now, uint64_t keep_ns)
{
	return keep_ns < (uint64_t)INT64_MAX ? now.ns - (int64_t)keep_ns : INT64_MIN;
}

int fleet_sweep(struct fleet_sqlite *f, struct wall now, const struct fleet_limits *limits,
		struct mono deadline, struct fleet_tidied *out, struct err *err)
{
	const struct ages ages = { before(now, limits->raw_ns), before(now, limits->hourly_ns),
				   before(now, limits->daily_ns), now.ns - FLEET_DAY_NS };
	bool is_done = false, has_any;
	int64_t swept_ns = 0;
	int rc = number(f, "SELECT swept_wall_ns FROM about", 0, &swept_ns, &has_any, err);

	/* A clock that went back does not stop it for longer than it went. */
	if (rc != 0 || (swept_ns <= now.ns && now.ns - swept_ns < FLEET_DAY_NS))
		return rc;
	while (rc == 0 && !is_done && !fleet_is_over(deadline))
		rc = sweep_next(f, now, &ages, out, &is_done, err);
	out->is_more |= !is_done;
	return rc;
}

/* A payload that may go. */
struct aged {
	int64_t server, bytes;
	uint8_t digest[sizeof(struct digest)];
};

/* Those that were not seen for the longest time, by their index. */
static int find_aged(struct fleet_sqlite *f, struct aged out[AT_A_TIME], size_t *out_count,
		     struct err *err)
{
	static const char sql[] =
		"SELECT server, digest, length(content) FROM payload ORDER BY seen_wall_ns LIMIT ?";
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	*out_count = 0;
	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "tidy", err);
	sqlite3_bind_int(stmt, 1, AT_A_TIME);
	while (*out_count < AT_A_TIME && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct aged *a = &out[(*out_count)++];
		const void *digest = sqlite3_column_blob(stmt, 1);

		if (digest == NULL || sqlite3_column_bytes(stmt, 1) != (int)sizeof(a->digest))
			return err_set(err, -EBADMSG,
				       "cannot tidy '%s': it is damaged: table payload", f->path);
		a->server = sqlite3_column_int64(stmt, 0);
		memcpy(a->digest, digest, sizeof(a->digest));
		a->bytes = sqlite3_column_int64(stmt, 2);
	}
	return rc == SQLITE_ROW || rc == SQLITE_DONE
		       ? 0
		       : fleet_fail(f, sqlite3_extended_errcode(f->db), "tidy", err);
}

/* Some of the payloads that were not seen for the longest time, until so many bytes are gone. */
static int shrink_some(struct fleet_sqlite *f, int64_t over_bytes, struct fleet_tidied *out,
		       int64_t *out_bytes, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	struct aged aged[AT_A_TIME];
	size_t count = 0;
	int rc = sqlite3_prepare_v2(f->db, "DELETE FROM payload WHERE server = ? AND digest = ?",
				    -1, &stmt, NULL);

	*out_bytes = 0;
	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "tidy", err);
	rc = find_aged(f, aged, &count, err);
	for (size_t i = 0; i < count && rc == 0 && *out_bytes < over_bytes; i++) {
		sqlite3_bind_int64(stmt, 1, aged[i].server);
		sqlite3_bind_blob(stmt, 2, aged[i].digest, sizeof(aged[i].digest), SQLITE_STATIC);
		rc = fleet_step(f, stmt, "tidy", err);
		*out_bytes += aged[i].bytes;
		out->dropped_payloads++;
	}
	return rc;
}

int fleet_shrink_payloads(struct fleet_sqlite *f, uint64_t limit_bytes, struct mono deadline,
			  struct fleet_tidied *out, struct err *err)
{
	int64_t bytes = 0, gone = 0;
	uint64_t dropped = UINT64_MAX;
	bool has_any;
	int rc = number(f, "SELECT payload_bytes FROM about", 0, &bytes, &has_any, err);

	/* One that was dropped already has no bytes, and goes by its age too. */
	while (rc == 0 && dropped != out->dropped_payloads && bytes > 0 &&
	       (uint64_t)bytes > limit_bytes) {
		sqlite3_stmt *count = fleet_stmt(f, FLEET_PAYLOAD_BYTES, err);

		if (fleet_is_over(deadline)) {
			out->is_more = true;
			return 0;
		}
		rc = count == NULL ? err->code : fleet_begin(f, err);
		if (rc != 0)
			return rc;
		dropped = out->dropped_payloads;
		rc = shrink_some(f, bytes - (int64_t)limit_bytes, out, &gone, err);
		sqlite3_bind_int64(count, 1, -gone);
		if (rc == 0)
			rc = fleet_step(f, count, "tidy", err);
		if (rc == 0)
			rc = fleet_commit(f, err);
		else
			fleet_rollback(f);
		bytes -= gone;
		out->freed_bytes += rc == 0 ? (uint64_t)gone : 0;
	}
	return rc;
}
