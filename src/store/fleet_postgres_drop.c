/* fleet_postgres_drop.c - what has stayed long enough: horizons first, then partitions, each taken out beside readers and writers and dropped
 * outside a transaction. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres_tidy.h"
#include "store/fleet_rules.h"

#define DETACH_MS 5000 /* for readers that began before; then it is finished at the next tidying */

/* Where the horizon of fleet_tables[i] is to be: whole days for what days are summed from; 0: nowhere yet. */
static int64_t horizon_of(const struct tidy *t, size_t i)
{
	enum fleet_keep keep = fleet_tables[i].keep;
	uint64_t keep_ns = fleet_keep_ns(keep, &t->limits);
	int64_t unit_ns = keep == KEEP_HOURLY || keep == KEEP_DAILY ? FLEET_DAY_NS : FLEET_HOUR_NS;

	if (pg_part_ns(&fleet_tables[i]) == 0 || keep_ns == 0 || t->now.ns <= 0 ||
	    (uint64_t)t->now.ns <= keep_ns)
		return 0;
	return fleet_floor_ns(t->now.ns - (int64_t)keep_ns, unit_ns);
}

/* The span by whose sums the rows of fleet_tables[i] are kept; 0: they are not summed. */
static int64_t span_of(size_t i)
{
	if (fleet_tables[i].hourly != NULL)
		return FLEET_HOUR_NS;
	for (size_t n = 0; n < fleet_table_count; n++)
		if (fleet_tables[n].hourly == fleet_tables[i].table &&
		    fleet_tables[n].daily != NULL)
			return FLEET_DAY_NS;
	return 0;
}

/* Only when all that is before it has been summed: who waits for a sum keeps his rows. */
static int add_horizon(struct tidy *t, size_t i, int64_t before, struct err *err)
{
	const char *name = fleet_tables[i].table->name;
	struct pg_args args = { .count = 0 };

	pg_arg_bytes(&args, PG_TEXT, name, strlen(name));
	pg_arg_i64(&args, before);
	pg_arg_i64(&args, span_of(i));
	return pg_pipe_add(
		&t->p->wire,
		"INSERT INTO tare.dropped (name, before_wall_ns) SELECT $1, $2 WHERE NOT EXISTS "
		"(SELECT 1 FROM tare.to_sum WHERE $3 > 0 AND span_ns <= $3 AND "
		"from_wall_ns < $2) ON CONFLICT (name) DO UPDATE SET before_wall_ns = "
		"greatest(tare.dropped.before_wall_ns, EXCLUDED.before_wall_ns)",
		&args, err);
}

/* While no put is on its way: the ones after see the new horizons. */
static int move_horizons(struct tidy *t, struct err *err)
{
	SCOPED(pg_result_free) PGresult *horizons = NULL;
	struct pg_wire *w = &t->p->wire;
	struct pg_args lock = { .count = 0 };
	struct pg_want want;
	int rc;

	pg_deadline(w, PG_ROWS_MS);
	pg_arg_i64(&lock, PG_LOCK_CLASS);
	pg_arg_i64(&lock, PG_LOCK_PUTS);
	rc = pg_pipe_begin(w, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "BEGIN", NULL, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "SELECT pg_advisory_xact_lock($1::int, $2::int)", &lock, err);
	for (size_t i = 0; rc == 0 && i < fleet_table_count; i++) {
		int64_t before = horizon_of(t, i);

		if (before > t->p->before[i])
			rc = add_horizon(t, i, before, err);
	}
	want = (struct pg_want){ w->piped, &horizons };
	if (rc == 0)
		rc = pg_pipe_add(w, PG_HORIZONS, NULL, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "COMMIT", NULL, err);
	if (rc == 0)
		rc = pg_pipe_end(w, &want, 1, err);
	return rc != 0 ? rc : pg_take_horizons(t->p, horizons);
}

/* Rows (as last counted by the server, else counted now) and bytes of what is about to go. */
static int weigh(struct tidy *t, const struct text *name, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	int rc;

	text_printf(&sql,
		    "SELECT CASE WHEN c.reltuples > 0 THEN c.reltuples::bigint ELSE (SELECT "
		    "count(*) FROM "
		    "%s) END, pg_total_relation_size(c.oid) FROM pg_class c WHERE c.oid = "
		    "to_regclass('%s')",
		    text_chars(name), text_chars(name));
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	rc = pg_query(&t->p->wire, text_chars(&sql), NULL, &res, err);
	if (rc != 0 || PQntuples(res) == 0)
		return rc;
	t->out.dropped_rows += (uint64_t)pg_value_i64(res, 0, 0);
	t->out.freed_bytes += (uint64_t)pg_value_i64(res, 0, 1);
	return 0;
}

static int detach(struct tidy *t, const struct pg_part *part, const struct text *name,
		  struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	struct err unheard = ERR_EMPTY;
	const char *how = part->is_pending ? " FINALIZE" : " CONCURRENTLY";
	char limit[64];
	int rc;

	if (PQserverVersion(t->p->wire.conn) < 140000)
		how = ""; /* 13 knows it only behind a lock */
	snprintf(limit, sizeof(limit), "SET statement_timeout = %d", DETACH_MS);
	text_printf(&sql, "ALTER TABLE tare.\"%s\" DETACH PARTITION %s%s",
		    fleet_tables[part->table].table->name, text_chars(name), how);
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	rc = pg_command(&t->p->wire, limit, err);
	if (rc == 0)
		rc = pg_command(&t->p->wire, text_chars(&sql), err);
	snprintf(limit, sizeof(limit), "SET statement_timeout = %d", (int)PG_ROWS_MS + 2000);
	if (t->p->wire.conn != NULL && pg_command(&t->p->wire, limit, &unheard) != 0)
		pg_disconnect(&t->p->wire);
	return rc;
}

static int drop(struct tidy *t, const struct pg_part *part, struct err *err)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY, sql = TEXT_EMPTY;
	int rc;

	pg_put_part(&name, part);
	text_printf(&sql, "DROP TABLE %s", text_chars(&name));
	if (name.has_failed || sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	rc = part->is_attached ? detach(t, part, &name, err) : 0;
	if (rc == -ETIMEDOUT && t->p->wire.conn != NULL) {
		t->out.is_more = true; /* somebody still reads it */
		*err = ERR_EMPTY;
		return 0;
	}
	if (rc == 0)
		rc = weigh(t, &name, err);
	return rc == 0 ? pg_command(&t->p->wire, text_chars(&sql), err) : rc;
}

/* Rows before the horizon in a partition that lasts longer than a day and is not over: server by server. */
static int trim(struct tidy *t, size_t i, struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY, each = TEXT_EMPTY;
	SCOPED(pg_result_free) PGresult *servers = NULL;
	int64_t before = t->p->before[i],
		from = pg_part_start(before, pg_part_ns(&fleet_tables[i]));
	const char *name = fleet_tables[i].table->name;
	struct pg_args args = { .count = 0 };
	int rc;

	text_printf(&sql,
		    "SELECT DISTINCT server FROM tare.\"%s\" WHERE at_wall_ns >= $1 AND at_wall_ns "
		    "< $2 ORDER BY 1",
		    name);
	text_printf(
		&each,
		"DELETE FROM tare.\"%s\" WHERE server = $3 AND at_wall_ns >= $1 AND at_wall_ns < "
		"$2",
		name);
	if (sql.has_failed || each.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	pg_arg_i64(&args, from);
	pg_arg_i64(&args, before);
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	rc = pg_query(&t->p->wire, text_chars(&sql), &args, &servers, err);
	for (int n = 0; rc == 0 && n < PQntuples(servers); n++) {
		SCOPED(pg_result_free) PGresult *gone = NULL;

		if (pg_tidy_is_over(t)) {
			t->out.is_more = true;
			return 0;
		}
		args.count = 2;
		pg_arg_i64(&args, pg_value_i64(servers, n, 0));
		pg_deadline(&t->p->wire, PG_ROWS_MS);
		rc = pg_query(&t->p->wire, text_chars(&each), &args, &gone, err);
		if (rc == 0)
			t->out.dropped_rows += strtoull(PQcmdTuples(gone), NULL, 10);
	}
	if (rc == 0)
		t->p->trimmed[i] = before;
	return rc;
}

static int trim_all(struct tidy *t, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < fleet_table_count && !t->out.is_more; i++)
		if (pg_part_ns(&fleet_tables[i]) > FLEET_DAY_NS &&
		    t->p->trimmed[i] < t->p->before[i])
			rc = trim(t, i, err);
	return rc;
}

static bool is_to_go(const struct tidy *t, const struct pg_part *part)
{
	return pg_part_end(part) <= t->p->before[part->table] || part->is_pending;
}

static int drop_all(struct tidy *t, struct err *err)
{
	bool has_any = false;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->p->part_count; i++) {
		struct pg_part part = t->p->parts[i];

		if (!is_to_go(t, &part))
			continue;
		if (pg_tidy_is_over(t)) {
			t->out.is_more = true;
			break;
		}
		has_any = true;
		rc = drop(t, &part, err);
	}
	return rc == 0 && has_any ? pg_parts_look(t->p, err) : rc;
}

int pg_tidy_parts(struct tidy *t, struct err *err)
{
	bool is_due = false;
	int rc = 0;

	for (size_t i = 0; i < fleet_table_count; i++)
		is_due |= horizon_of(t, i) > t->p->before[i];
	if (is_due)
		rc = move_horizons(t, err);
	for (size_t i = 0; i < fleet_table_count; i++) /* what came meanwhile is summed first */
		t->out.is_more |= horizon_of(t, i) > t->p->before[i];
	if (rc == 0)
		rc = drop_all(t, err);
	return rc == 0 ? trim_all(t, err) : rc;
}
