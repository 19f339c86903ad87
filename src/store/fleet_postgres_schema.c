/* fleet_postgres_schema.c - the schema `tare`: made and migrated in numbered steps under a lock, and checked column by column. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres.h"

#ifndef TARE_VERSION
#error "TARE_VERSION says which tare made a schema"
#endif

/* Doubles quotes for SQL. */
static void put_literal(struct text *sql, const char *words)
{
	text_put(sql, "'");
	for (; *words != '\0'; words++)
		text_add(sql, *words == '\'' ? "''" : words, *words == '\'' ? 2 : 1);
	text_put(sql, "'");
}

/* NULL stands for "not measured", "none", "not known" only where a member has such a value. */
static bool may_be_null(const struct field *f)
{
	return !f->is_key &&
	       (f->type == FIELD_U32 || f->type == FIELD_COUNTER || f->type == FIELD_DIGEST);
}

static void put_table(struct text *sql, const struct fleet_table *ft)
{
	const struct table *t = ft->table;

	text_printf(sql, "CREATE TABLE tare.\"%s\" (", t->name);
	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];

		text_printf(sql, "\"%s\" %s%s%s, ", f->name, pg_type_name(f),
			    f->type == FIELD_STR ? " COLLATE \"C\"" : "",
			    may_be_null(f) ? "" : " NOT NULL");
	}
	text_put(sql, "PRIMARY KEY (");
	pg_put_keys(sql, ft, "");
	if (pg_part_ns(ft) > 0)
		text_put(sql, ")) PARTITION BY RANGE (at_wall_ns);\n");
	else /* rows that change leave room for themselves on their page */
		text_put(sql, ")) WITH (fillfactor = 80);\n");
	text_printf(sql, "COMMENT ON TABLE tare.\"%s\" IS ", t->name);
	put_literal(sql, t->doc);
	text_put(sql, ";\n");
	for (size_t i = 0; i < t->field_count; i++) {
		text_printf(sql, "COMMENT ON COLUMN tare.\"%s\".\"%s\" IS ", t->name,
			    t->fields[i].name);
		put_literal(sql, t->fields[i].doc);
		text_put(sql, ";\n");
	}
}

static const char own_tables[] =
	/* Owed captures given in a slot, fleet-wide. */
	"CREATE TABLE tare.place (reading bigint, slot bigint, taken bigint NOT NULL, "
	"at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (reading, slot));\n"
	/* Hours and days of a server that got rows since they were last summed. */
	"CREATE TABLE tare.to_sum (server bigint, span_ns bigint, from_wall_ns bigint, "
	"puts bigint NOT NULL, PRIMARY KEY (server, span_ns, from_wall_ns)) WITH (fillfactor = "
	"80);\n"
	/* Rows before it have been dropped: what comes late is added to the sums, not summed anew. */
	"CREATE TABLE tare.dropped (name text PRIMARY KEY, before_wall_ns bigint NOT NULL);\n"
	/* The store itself: its last sweep, and strings that were cut on their way. */
	"CREATE TABLE tare.about (id bigint PRIMARY KEY, swept_wall_ns bigint NOT NULL, cut_strs "
	"bigint NOT NULL);\n"
	"INSERT INTO tare.about VALUES (1, 0, 0);\n"
	/* Runs of an hour, for their sum; what was not seen for the longest time goes first. */
	"CREATE INDEX run_time ON tare.run (server, at_wall_ns);\n"
	"CREATE INDEX payload_age ON tare.payload (seen_wall_ns);\n"
	/* Their content is compressed already. */
	"ALTER TABLE tare.payload ALTER COLUMN content SET STORAGE EXTERNAL;\n";

static int make_tables(struct pg_store *p, struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;

	for (size_t i = 0; i < fleet_table_count; i++)
		put_table(&sql, &fleet_tables[i]);
	text_put(&sql, own_tables);
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	return pg_command(&p->wire, text_chars(&sql), err);
}

const struct pg_migration pg_migrations[] = { { 1, make_tables } };
const size_t pg_migration_count = ARRAY_LEN(pg_migrations);

/* -- which one is there -- */

struct found {
	bool has_schema, has_versions;
	int64_t number; /* 0: none */
	char needs[64]; /* the tare that made it */
};

static int look_at_schema(struct pg_store *p, struct found *out, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc = pg_query(&p->wire,
			  "SELECT n.oid IS NOT NULL, c.oid IS NOT NULL FROM (SELECT 1) AS one "
			  "LEFT JOIN pg_namespace n ON n.nspname = 'tare' "
			  "LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r' "
			  "AND c.relname = 'migration'",
			  NULL, &res, err);

	if (rc != 0)
		return rc;
	if (PQntuples(res) != 1)
		return err_set(err, -EBADMSG, "cannot use the store: its catalog is not readable");
	out->has_schema = PQgetvalue(res, 0, 0)[0] != 0;
	out->has_versions = PQgetvalue(res, 0, 1)[0] != 0;
	return 0;
}

static int look(struct pg_store *p, struct found *out, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc;

	*out = (struct found){ .number = 0 };
	rc = look_at_schema(p, out, err);
	if (rc != 0 || !out->has_versions)
		return rc;
	rc = pg_query(&p->wire,
		      "SELECT number, needs FROM tare.migration ORDER BY number DESC LIMIT 1", NULL,
		      &res, err);
	if (rc != 0)
		return rc;
	if (PQntuples(res) == 1) {
		out->number = pg_value_i64(res, 0, 0);
		snprintf(out->needs, sizeof(out->needs), "%s", PQgetvalue(res, 0, 1));
	}
	return 0;
}

/* -- making and migrating -- */

/* The role's name, quoted for SQL, for advice. */
static void put_role(struct pg_store *p, struct text *out)
{
	const char *role = p->wire.conn != NULL ? PQuser(p->wire.conn) : NULL;
	char *quoted = role != NULL ? PQescapeIdentifier(p->wire.conn, role, strlen(role)) : NULL;

	text_put(out, quoted != NULL ? quoted : "THE_ROLE");
	PQfreemem(quoted);
}

static int refused(struct pg_store *p, bool has_schema, struct err *err)
{
	SCOPED(text_free) struct text role = TEXT_EMPTY;

	if (p->wire.conn == NULL)
		return -EHOSTUNREACH;
	put_role(p, &role);
	err_set(err, -EACCES, "cannot make the store: the role %s may not create %s",
		text_chars(&role), has_schema ? "tables in the schema tare" : "the schema tare");
	err_works(err, "the database is as it was");
	if (has_schema)
		err_mend(err,
			 "as an administrator: ALTER SCHEMA tare OWNER TO %s; and the tables in it",
			 text_chars(&role));
	else
		err_mend(err,
			 "as an administrator of this database: CREATE SCHEMA tare AUTHORIZATION "
			 "%s; "
			 "nothing else is needed",
			 text_chars(&role));
	return -EACCES;
}

static int run_steps(struct pg_store *p, const struct pg_migration *steps, size_t count,
		     struct err *err)
{
	struct pg_args args;
	struct found found;
	int rc = look(p, &found, err); /* another one may have been first */

	if (rc == 0 && !found.has_schema)
		rc = pg_command(&p->wire, "CREATE SCHEMA tare", err);
	if (rc == 0 && !found.has_versions)
		rc = pg_command(
			&p->wire,
			"CREATE TABLE tare.migration (number bigint PRIMARY KEY, needs text NOT "
			"NULL, at timestamptz NOT NULL DEFAULT now())",
			err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (steps[i].number <= found.number)
			continue;
		rc = steps[i].run(p, err);
		if (rc != 0)
			break;
		args = (struct pg_args){ .count = 0 };
		pg_arg_i64(&args, steps[i].number);
		pg_arg_bytes(&args, PG_TEXT, TARE_VERSION, sizeof(TARE_VERSION) - 1);
		rc = pg_query(&p->wire,
			      "INSERT INTO tare.migration (number, needs) VALUES ($1, $2)", &args,
			      NULL, err);
	}
	return rc == -EACCES ? refused(p, found.has_schema, err) : rc;
}

static int migrate(struct pg_store *p, const struct pg_migration *steps, size_t count,
		   struct err *err)
{
	struct pg_args lock = { .count = 0 };
	int rc;

	pg_deadline(&p->wire, PG_CALL_MS);
	pg_arg_i64(&lock, PG_LOCK_CLASS);
	pg_arg_i64(&lock, PG_LOCK_SCHEMA);
	rc = pg_command(&p->wire, "BEGIN", err);
	if (rc == 0)
		rc = pg_query(&p->wire, "SELECT pg_advisory_xact_lock($1::int, $2::int)", &lock,
			      NULL, err);
	if (rc == 0)
		rc = run_steps(p, steps, count, err);
	if (rc == 0)
		rc = pg_command(&p->wire, "COMMIT", err);
	if (rc != 0)
		pg_abandon(p);
	return rc;
}

/* -- checking -- */

static int newer(const struct found *found, int64_t ours, struct err *err)
{
	err_set(err, -ENOTSUP,
		"cannot use the store: its schema %" PRId64
		" needs tare %s or newer; this is tare %s, which knows schema %" PRId64,
		found->number, found->needs, TARE_VERSION, ours);
	err_works(err, "the store is untouched");
	return err_mend(err, "install that tare on this machine too");
}

static int older(const struct found *found, int64_t ours, struct err *err)
{
	err_set(err, -ENOTSUP,
		"cannot read the store: its schema %" PRId64 " is older than %" PRId64
		", which this tare knows",
		found->number, ours);
	return err_mend(err, "run the collector once with this tare: it migrates the store");
}

static int none(const struct found *found, struct err *err)
{
	if (found->has_schema && !found->has_versions)
		return err_set(
			err, -EBADMSG,
			"cannot read the store: the schema tare in this database is not of tare");
	err_set(err, -ENOENT, "cannot read the store: this database has none");
	return err_mend(err, "run the collector once: it makes the store");
}

/* Is there a column of `t` in a row of the catalog? */
static bool has_column(const PGresult *res, const struct table *t, const struct field *f)
{
	for (int i = 0; i < PQntuples(res); i++)
		if (strcmp(PQgetvalue(res, i, 0), t->name) == 0 &&
		    strcmp(PQgetvalue(res, i, 1), f->name) == 0)
			return pg_value_i64(res, i, 2) == (int64_t)pg_type_of(f);
	return false;
}

static int check_columns(struct pg_store *p, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc =
		pg_query(&p->wire,
			 "SELECT c.relname::text, a.attname::text, a.atttypid::bigint "
			 "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
			 "WHERE c.relnamespace = 'tare'::regnamespace AND NOT c.relispartition AND "
			 "c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped",
			 NULL, &res, err);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < fleet_table_count; i++) {
		const struct table *t = fleet_tables[i].table;

		for (size_t c = 0; c < t->field_count; c++)
			if (!has_column(res, t, &t->fields[c]))
				return err_set(
					err, -EBADMSG,
					"cannot use the store: its table %s has no column %s "
					"as this tare (%s) keeps it",
					t->name, t->fields[c].name, TARE_VERSION);
	}
	return 0;
}

static int check_encoding(struct pg_store *p, struct err *err)
{
	const char *encoding = PQparameterStatus(p->wire.conn, "server_encoding");

	if (encoding == NULL || strcmp(encoding, "UTF8") == 0 || strcmp(encoding, "SQL_ASCII") == 0)
		return 0;
	err_set(err, -EBADMSG,
		"cannot use the store: its database is in %.30s, which has no room for all names",
		encoding);
	return err_mend(err, "CREATE DATABASE tare ENCODING 'UTF8' TEMPLATE template0");
}

/* May not look into it. */
static int closed(struct pg_store *p, struct err *err)
{
	SCOPED(text_free) struct text role = TEXT_EMPTY;

	if (p->wire.conn == NULL)
		return -EHOSTUNREACH;
	put_role(p, &role);
	err_set(err, -EACCES, "cannot read the store: the role %s may not", text_chars(&role));
	return err_mend(
		err,
		"as its owner: GRANT USAGE ON SCHEMA tare TO %s; GRANT SELECT ON ALL TABLES "
		"IN SCHEMA tare TO %s",
		text_chars(&role), text_chars(&role));
}

int pg_schema_open(struct pg_store *p, const struct pg_migration *steps, size_t count,
		   struct err *err)
{
	int64_t ours = steps[count - 1].number;
	struct found found;
	int rc;

	pg_deadline(&p->wire, PG_CONNECT_MS);
	rc = check_encoding(p, err);
	if (rc == 0)
		rc = look(p, &found, err);
	if (rc == -EACCES)
		return closed(p, err);
	if (rc != 0)
		return rc;
	if (found.number > ours)
		return newer(&found, ours, err);
	if (found.number < ours && p->access == FLEET_READ)
		return found.number == 0 ? none(&found, err) : older(&found, ours, err);
	if (found.number < ours)
		rc = migrate(p, steps, count, err);
	if (rc != 0)
		return rc;
	pg_deadline(&p->wire, PG_CONNECT_MS);
	return check_columns(p, err);
}
