/* fleet_postgres_parts.c - partitions by days: looked up, made for late rows, made ahead. There is no default partition: one could not
 * be taken out beside writers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/scoped.h"
#include "store/fleet_postgres.h"

int64_t pg_part_start(int64_t at_wall_ns, int64_t part_ns)
{
	int64_t past = at_wall_ns % part_ns;

	past += past < 0 ? part_ns : 0;
	return at_wall_ns < INT64_MIN + past ? INT64_MIN : at_wall_ns - past;
}

void pg_put_part(struct text *sql, const struct pg_part *part)
{
	time_t at = (time_t)(part->from_wall_ns / (int64_t)NS_PER_S);
	struct tm day = { .tm_year = 0 };

	gmtime_r(&at, &day);
	text_printf(sql, "tare.\"%s_p%04d%02d%02d\"", fleet_tables[part->table].table->name,
		    day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

/* What is found moves one place forward: the days that are written stand in front. */
static const struct pg_part *part_of(struct pg_store *p, uint32_t table, int64_t from)
{
	for (size_t i = 0; i < p->part_count; i++) {
		struct pg_part found = p->parts[i];

		if (found.table != table || found.from_wall_ns != from)
			continue;
		if (i == 0)
			return &p->parts[0];
		p->parts[i] = p->parts[i - 1];
		p->parts[i - 1] = found;
		return &p->parts[i - 1];
	}
	return NULL;
}

static int remember(struct pg_store *p, struct pg_part part)
{
	if (p->part_count == p->part_room) {
		size_t room = p->part_room * 2 + 64;
		struct pg_part *parts = reallocarray(p->parts, room, sizeof(*parts));

		if (parts == NULL)
			return -ENOMEM;
		p->parts = parts;
		p->part_room = room;
	}
	p->parts[p->part_count++] = part;
	return 0;
}

/* "statement_p20261130" as a partition; false: it is none of ours. */
static bool parse_part(const char *name, struct pg_part *out)
{
	struct tm day = { .tm_isdst = 0 };
	const char *end;

	for (size_t i = 0; i < fleet_table_count; i++) {
		size_t len = strlen(fleet_tables[i].table->name);
		int64_t part_ns = pg_part_ns(&fleet_tables[i]);

		if (part_ns == 0 || strncmp(name, fleet_tables[i].table->name, len) != 0 ||
		    strncmp(name + len, "_p", 2) != 0)
			continue;
		end = strptime(name + len + 2, "%Y%m%d", &day);
		if (end == NULL || *end != '\0' || strlen(name + len) != 10)
			continue;
		*out = (struct pg_part){ .table = (uint32_t)i,
					 .from_wall_ns =
						 (int64_t)timegm(&day) * (int64_t)NS_PER_S };
		return true;
	}
	return false;
}

int pg_parts_look(struct pg_store *p, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	bool knows_pending = PQserverVersion(p->wire.conn) >= 140000;
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	int rc;

	text_printf(&sql,
		    "SELECT c.relname::text, i.inhrelid IS NOT NULL, %s FROM pg_class c LEFT JOIN "
		    "pg_inherits i ON i.inhrelid = c.oid WHERE c.relkind = 'r' AND "
		    "c.relnamespace = 'tare'::regnamespace AND c.relname ~ '_p[0-9]{8}$'",
		    knows_pending ? "coalesce(i.inhdetachpending, false)" : "false");
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	rc = pg_query(&p->wire, text_chars(&sql), NULL, &res, err);
	if (rc != 0)
		return rc;
	p->part_count = 0;
	for (int i = 0; i < PQntuples(res); i++) {
		struct pg_part part;

		if (!parse_part(PQgetvalue(res, i, 0), &part))
			continue;
		part.is_attached = PQgetvalue(res, i, 1)[0] != 0;
		part.is_pending = PQgetvalue(res, i, 2)[0] != 0;
		if (remember(p, part) != 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int64_t pg_part_end(const struct pg_part *part)
{
	int64_t part_ns = pg_part_ns(&fleet_tables[part->table]);

	return part->from_wall_ns > INT64_MAX - part_ns ? INT64_MAX : part->from_wall_ns + part_ns;
}

/* The first and the last number there is stand for all beyond. */
static void put_bound(struct text *sql, int64_t at, const char *beyond)
{
	if (at == INT64_MIN || at == INT64_MAX)
		text_put(sql, beyond);
	else
		text_printf(sql, "%" PRId64, at);
}

/* Takes in a table as a partition: readers and writers of the whole are not in the way. */
static void put_attach(struct text *sql, const struct pg_part *part)
{
	text_printf(sql, "ALTER TABLE tare.\"%s\" ATTACH PARTITION ",
		    fleet_tables[part->table].table->name);
	pg_put_part(sql, part);
	text_put(sql, " FOR VALUES FROM (");
	put_bound(sql, part->from_wall_ns, "MINVALUE");
	text_put(sql, ") TO (");
	put_bound(sql, pg_part_end(part), "MAXVALUE");
	text_put(sql, ")");
}

/* What is left of one that was taken out: before the horizon its rows are summed, and it goes; else somebody took it out by hand, and it
 * comes back with its rows. Returns whether it has gone. */
static bool put_old(struct text *sql, const struct pg_store *p, const struct pg_part *old)
{
	bool is_summed = pg_part_end(old) <= p->before[old->table];

	if (old->is_pending) {
		text_printf(sql, "ALTER TABLE tare.\"%s\" DETACH PARTITION ",
			    fleet_tables[old->table].table->name);
		pg_put_part(sql, old);
		text_put(sql, " FINALIZE; ");
	}
	if (is_summed) {
		text_put(sql, "DROP TABLE ");
		pg_put_part(sql, old);
		text_put(sql, "; ");
	}
	return is_summed;
}

/* One partition, inside a transaction under the lock. */
static int make(struct pg_store *p, uint32_t table, int64_t from, struct err *err)
{
	struct pg_part part = { .table = table, .from_wall_ns = from, .is_attached = true };
	const struct pg_part *old = part_of(p, table, from);
	SCOPED(text_free) struct text sql = TEXT_EMPTY;

	if (old != NULL && old->is_attached && !old->is_pending)
		return 0;
	if (old == NULL || put_old(&sql, p, old)) {
		text_put(&sql, "CREATE TABLE ");
		pg_put_part(&sql, &part);
		text_printf(&sql,
			    " (LIKE tare.\"%s\" INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING "
			    "INDEXES INCLUDING STORAGE); ",
			    fleet_tables[table].table->name);
	}
	put_attach(&sql, &part);
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	return pg_command(&p->wire, text_chars(&sql), err);
}

struct wanted {
	uint32_t table;
	int64_t from;
};

static int make_locked(struct pg_store *p, const struct wanted *wanted, size_t count,
		       struct err *err)
{
	struct pg_args lock = { .count = 0 };
	int rc = pg_command(&p->wire, "BEGIN", err);

	pg_arg_i64(&lock, PG_LOCK_CLASS);
	pg_arg_i64(&lock, PG_LOCK_PARTS);
	if (rc == 0)
		rc = pg_query(&p->wire, "SELECT pg_advisory_xact_lock($1::int, $2::int)", &lock,
			      NULL, err);
	if (rc == 0)
		rc = pg_parts_look(p, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = make(p, wanted[i].table, wanted[i].from, err);
	if (rc == 0)
		rc = pg_command(&p->wire, "COMMIT", err);
	if (rc == 0)
		return pg_parts_look(p, err);
	pg_abandon(p);
	p->part_count = 0;
	return rc;
}

static bool is_there(struct pg_store *p, uint32_t table, int64_t from)
{
	const struct pg_part *part = part_of(p, table, from);

	return part != NULL && part->is_attached && !part->is_pending;
}

int pg_part_for(struct pg_store *p, const struct fleet_table *ft, int64_t at_wall_ns,
		struct err *err)
{
	struct wanted wanted = { (uint32_t)(ft - fleet_tables), 0 };
	int64_t part_ns = pg_part_ns(ft);

	if (part_ns == 0)
		return 0;
	wanted.from = pg_part_start(at_wall_ns, part_ns);
	return is_there(p, wanted.table, wanted.from) ? 0 : make_locked(p, &wanted, 1, err);
}

int pg_parts_ahead(struct pg_store *p, struct wall now, struct err *err)
{
	struct wanted *wanted = calloc(fleet_table_count * 2, sizeof(*wanted));
	size_t count = 0;
	int rc;

	if (wanted == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < fleet_table_count; i++) {
		int64_t part_ns = pg_part_ns(&fleet_tables[i]);

		for (int64_t n = 0; part_ns > 0 && now.ns >= 0 && n < 2; n++) {
			int64_t from = pg_part_start(now.ns + n * part_ns, part_ns);

			if (!is_there(p, i, from))
				wanted[count++] = (struct wanted){ i, from };
		}
	}
	rc = count > 0 ? make_locked(p, wanted, count, err) : 0;
	free(wanted);
	return rc;
}
