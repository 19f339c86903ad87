/* fleet_postgres_sweep.c - what no partition drops: once a day, server after server, what nobody names any more; and payloads over their
 * size, the longest unseen first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres_tidy.h"
#include "store/fleet_rules.h"

#define SHRINK_AT_ONCE 500

/* The times before which things of a server are too old. */
struct ages {
	int64_t raw_ns, hourly_ns, daily_ns, day_ns;
};

#define UNNAMED                                                                                 \
	" AND NOT EXISTS (SELECT 1 FROM tare.query q WHERE q.server = $1 AND q.text = "         \
	"o.digest) AND NOT EXISTS (SELECT 1 FROM tare.plan l WHERE l.server = $1 AND l.plan = " \
	"o.digest)"
/* Of a server that has left and was not seen since $2. */
#define HAS_LEFT                                                                                \
	"o.server = $1 AND EXISTS (SELECT 1 FROM tare.server s WHERE s.server = $1 AND s.seat " \
	"IS NULL AND s.seen_wall_ns < $2)"

/* Rows of server $1 that go when they are older than $2, and what they weigh. */
static const struct {
	const char *table, *where, *bytes;
	size_t age; /* offset in struct ages */
} sweeps[] = {
	{ "plan", "o.server = $1 AND o.seen_wall_ns < $2", "0", offsetof(struct ages, hourly_ns) },
	{ "query", "o.server = $1 AND o.seen_wall_ns < $2", "0", offsetof(struct ages, daily_ns) },
	/* A statement that was not tried for so long is no candidate any more. */
	{ "no_plan", "o.server = $1 AND o.again_wall_ns < $2", "0", offsetof(struct ages, raw_ns) },
	{ "payload", "o.server = $1 AND o.seen_wall_ns < $2" UNNAMED, "octet_length(o.content)",
	  offsetof(struct ages, raw_ns) },
	/* Baselines are of no use an hour after the last visit. */
	{ "baseline",
	  "o.server = $1 AND o.reading IN (SELECT reading FROM tare.life l WHERE l.server = $1 AND "
	  "l.at_wall_ns < $2)",
	  "0", offsetof(struct ages, day_ns) },
	{ "capture", HAS_LEFT, "0", offsetof(struct ages, raw_ns) },
	{ "baseline", HAS_LEFT, "0", offsetof(struct ages, raw_ns) },
	{ "life", HAS_LEFT, "0", offsetof(struct ages, raw_ns) },
	{ "setting", HAS_LEFT, "0", offsetof(struct ages, raw_ns) },
	{ "no_plan", HAS_LEFT, "0", offsetof(struct ages, raw_ns) },
	/* Its name stays while any row speaks of it. */
	{ "server",
	  HAS_LEFT " AND NOT EXISTS (SELECT 1 FROM tare.cost c WHERE c.server = $1) AND NOT EXISTS "
		   "(SELECT 1 FROM tare.run r WHERE r.server = $1)",
	  "0", offsetof(struct ages, daily_ns) },
};

static int64_t before(struct wall now, uint64_t keep_ns)
{
	return keep_ns < (uint64_t)INT64_MAX ? now.ns - (int64_t)keep_ns : INT64_MIN;
}

static int add_sweep(struct tidy *t, size_t i, int64_t server, const struct ages *ages,
		     struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	struct pg_args args = { .count = 0 };

	text_printf(&sql,
		    "WITH gone AS (DELETE FROM tare.\"%s\" o WHERE %s RETURNING %s AS n) "
		    "SELECT count(*), coalesce(sum(n), 0)::bigint FROM gone",
		    sweeps[i].table, sweeps[i].where, sweeps[i].bytes);
	pg_arg_i64(&args, server);
	pg_arg_i64(&args, *(const int64_t *)(const void *)((const char *)ages + sweeps[i].age));
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	return pg_pipe_add(&t->p->wire, text_chars(&sql), &args, err);
}

/* One server in one transaction. */
static int sweep_server(struct tidy *t, int64_t server, const struct ages *ages, struct err *err)
{
	PGresult *answers[ARRAY_LEN(sweeps)] = { NULL };
	struct pg_want wants[ARRAY_LEN(sweeps)];
	struct pg_wire *w = &t->p->wire;
	int rc;

	pg_deadline(w, PG_ROWS_MS);
	rc = pg_pipe_begin(w, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "BEGIN", NULL, err);
	for (size_t i = 0; i < ARRAY_LEN(sweeps); i++) {
		wants[i] = (struct pg_want){ w->piped, &answers[i] };
		if (rc == 0)
			rc = add_sweep(t, i, server, ages, err);
	}
	if (rc == 0)
		rc = pg_pipe_add(w, "COMMIT", NULL, err);
	if (rc == 0)
		rc = pg_pipe_end(w, wants, ARRAY_LEN(wants), err);
	for (size_t i = 0; i < ARRAY_LEN(sweeps); i++) {
		bool is_payload = strcmp(sweeps[i].table, "payload") == 0;
		uint64_t count = rc == 0 ? (uint64_t)pg_value_i64(answers[i], 0, 0) : 0;

		t->out.dropped_payloads += is_payload ? count : 0;
		t->out.dropped_rows += is_payload ? 0 : count;
		t->out.freed_bytes += rc == 0 ? (uint64_t)pg_value_i64(answers[i], 0, 1) : 0;
		PQclear(answers[i]);
	}
	return rc;
}

/* A number of the store itself. */
static int about(struct tidy *t, const char *sql, const struct pg_args *args, int64_t *out,
		 struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc;

	pg_deadline(&t->p->wire, PG_ROWS_MS);
	rc = pg_query(&t->p->wire, sql, args, &res, err);
	if (rc == 0 && out != NULL)
		*out = PQntuples(res) > 0 ? pg_value_i64(res, 0, 0) : 0;
	return rc;
}

static int sweep_all(struct tidy *t, const struct ages *ages, struct err *err)
{
	SCOPED(pg_result_free) PGresult *servers = NULL;
	struct pg_args args = { .count = 0 };
	int rc;

	pg_arg_i64(&args, t->p->sweep_server);
	rc = pg_query(&t->p->wire, "SELECT server FROM tare.server WHERE server >= $1 ORDER BY 1",
		      &args, &servers, err);
	for (int i = 0; rc == 0 && i < PQntuples(servers); i++) {
		t->p->sweep_server = pg_value_i64(servers, i, 0);
		if (pg_tidy_is_over(t)) {
			t->out.is_more = true;
			return 0;
		}
		rc = sweep_server(t, t->p->sweep_server, ages, err);
	}
	if (rc != 0)
		return rc;
	t->p->sweep_server = 0;
	args = (struct pg_args){ .count = 0 };
	pg_arg_i64(&args, t->now.ns);
	return about(t, "UPDATE tare.about SET swept_wall_ns = $1", &args, NULL, err);
}

static int sweep(struct tidy *t, struct err *err)
{
	const struct fleet_limits *l = &t->limits;
	const struct ages ages = { before(t->now, l->raw_ns), before(t->now, l->hourly_ns),
				   before(t->now, l->daily_ns), t->now.ns - FLEET_DAY_NS };
	int64_t swept_ns = 0;
	int rc = about(t, "SELECT swept_wall_ns FROM tare.about", NULL, &swept_ns, err);

	/* A clock that went back does not stop it for longer than it went. */
	if (rc != 0 || (swept_ns <= t->now.ns && t->now.ns - swept_ns < FLEET_DAY_NS))
		return rc;
	return sweep_all(t, &ages, err);
}

/* -- payloads over their size -- */

/* The payloads in rows from ... to of an answer, all of one server, unless one was seen meanwhile. */
static int drop_payloads(struct tidy *t, const PGresult *res, int from, int to, struct err *err)
{
	static const struct field column = { "digest", FIELD_DIGEST, 0, 1, NULL };
	static const struct table digests = { "digests", NULL, &column, 1, sizeof(struct digest) };
	SCOPED(pg_bytes_free) struct pg_bytes rows = { NULL, 0, 0, false };
	SCOPED(pg_bytes_free) struct pg_bytes array = { NULL, 0, 0, false };
	SCOPED(pg_result_free) PGresult *gone = NULL;
	struct pg_args args = { .count = 0 };
	int rc;

	for (int i = from; i < to; i++)
		if (PQgetlength(res, i, 1) == (int)sizeof(struct digest))
			pg_bytes_add(&rows, PQgetvalue(res, i, 1), sizeof(struct digest));
	if (rows.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	rc = pg_rows_array(&array, &digests, &column, rows.bytes, rows.used / sizeof(struct digest),
			   err);
	if (rc != 0)
		return rc;
	pg_arg_i64(&args, pg_value_i64(res, from, 0));
	pg_arg_bytes(&args, PG_BYTEA_ARRAY, array.bytes, array.used);
	pg_arg_i64(&args, pg_value_i64(res, to - 1, 3));
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	rc = pg_query(
		&t->p->wire,
		"WITH gone AS (DELETE FROM tare.payload WHERE server = $1 AND digest = ANY ($2) "
		"AND seen_wall_ns <= $3 RETURNING octet_length(content) AS n) "
		"SELECT count(*), coalesce(sum(n), 0)::bigint FROM gone",
		&args, &gone, err);
	if (rc != 0)
		return rc;
	t->out.dropped_payloads += (uint64_t)pg_value_i64(gone, 0, 0);
	t->out.freed_bytes += (uint64_t)pg_value_i64(gone, 0, 1);
	return 0;
}

/* Some of those that were not seen for the longest time, until `over` bytes are gone. *out_left: what is still over. */
static int shrink_some(struct tidy *t, int64_t over, int64_t *out_left, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	struct pg_args args = { .count = 0 };
	int from = 0, rc;

	pg_arg_i64(&args, SHRINK_AT_ONCE);
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	rc = pg_query(&t->p->wire,
		      "SELECT server, digest, octet_length(content)::bigint, seen_wall_ns FROM "
		      "tare.payload ORDER BY seen_wall_ns, server LIMIT $1",
		      &args, &res, err);
	for (int i = 0; rc == 0 && over > 0 && i < PQntuples(res); i++) {
		over -= pg_value_i64(res, i, 2);
		if (over > 0 && i + 1 < PQntuples(res) &&
		    pg_value_i64(res, i + 1, 0) == pg_value_i64(res, from, 0))
			continue;
		rc = drop_payloads(t, res, from, i + 1, err);
		from = i + 1;
	}
	*out_left = rc == 0 && PQntuples(res) > 0 ? over : 0;
	return rc;
}

static int shrink(struct tidy *t, struct err *err)
{
	uint64_t limit = t->limits.payload_bytes;
	int64_t bytes = 0, over;
	/* Files are never smaller than what is in them, and quickly asked for. */
	int rc = about(t, "SELECT pg_total_relation_size('tare.payload')", NULL, &bytes, err);

	if (rc == 0 && (uint64_t)bytes > limit)
		rc = about(
			t,
			"SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM tare.payload",
			NULL, &bytes, err);
	if (rc != 0 || (uint64_t)bytes <= limit)
		return rc;
	over = bytes - (int64_t)limit;
	while (rc == 0 && over > 0) {
		if (pg_tidy_is_over(t)) {
			t->out.is_more = true;
			return 0;
		}
		rc = shrink_some(t, over, &over, err);
	}
	return rc;
}

int pg_tidy_rest(struct tidy *t, struct err *err)
{
	int rc = shrink(t, err);

	if (rc == 0 && !t->out.is_more)
		rc = sweep(t, err);
	if (rc == 0)
		rc = about(t, "DELETE FROM tare.place WHERE at < now() - interval '1 day'", NULL,
			   NULL, err);
	return rc;
}
