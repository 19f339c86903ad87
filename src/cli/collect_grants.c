/* collect_grants.c - `tare collect --grants`: the least-privilege SQL, reading by reading, and what each line gives. */
#include <errno.h>
#include <string.h>

#include "cli/collect.h"
#include "core/scoped.h"

/* %s is the role, as an SQL name. */
static const struct {
	const char *reading, *gives, *sql;
} grants[] = {
	{ NULL,
	  "A role that can log in, and do nothing else. Its password: \\password, or SCRAM through "
	  "a file (tare.conf, password = file:...).\n"
	  "-- Three connections: one for readings, one for the sampler beside them, one for a "
	  "person's tare collect plan.",
	  "CREATE ROLE %s LOGIN CONNECTION LIMIT 3;\n"
	  "ALTER ROLE %s SET default_transaction_read_only = on;" },
	{ NULL,
	  "The right to enter. Every role has it unless it was taken from PUBLIC; repeat it for "
	  "each database whose functions and plans are wanted.",
	  "GRANT CONNECT ON DATABASE postgres TO %s;" },
	{ "statements",
	  "The view itself, in the database that `database` names (its library must be in "
	  "shared_preload_libraries), and the numbers and texts\n"
	  "-- of other roles' statements: without it they stand in one sum, [no privilege].",
	  "CREATE EXTENSION IF NOT EXISTS pg_stat_statements;\nGRANT pg_read_all_stats TO %s;" },
	{ "functions",
	  "Needs no right. PostgreSQL counts functions only when it is told to: pl for the "
	  "procedural ones. It costs their calls a little.",
	  "-- ALTER SYSTEM SET track_functions = 'pl'; SELECT pg_reload_conf();" },
	{ "activity", "What other roles' backends do and wait for: pg_read_all_stats, given above.",
	  NULL },
	{ "blocking", "Who waits for whom: pg_read_all_stats, given above.", NULL },
	{ "databases", "Needs no right.", NULL },
	{ "settings",
	  "Settings that only superusers see, such as file names: without it the others are read.",
	  "GRANT pg_read_all_settings TO %s;" },
	{ "io", "Needs no right (PostgreSQL 16 and later).", NULL },
	{ "plans",
	  "Plans of SELECTs. Planning asks for the rights of running: this one lets the role READ "
	  "EVERY TABLE. tare never runs a\n"
	  "-- statement of others, only EXPLAIN without ANALYZE in a read-only transaction; but "
	  "who has the role's password can. Leave it out\n"
	  "-- and such statements have no plan, with the reason \"permission\"; everything else "
	  "works. Plans of INSERT, UPDATE and DELETE\n"
	  "-- would need pg_write_all_data: not worth it.",
	  "GRANT pg_read_all_data TO %s;" },
};

/* A name as SQL writes it: in quotes when it must be. */
static void put_name(struct text *out, const char *name)
{
	bool is_plain = name[0] != '\0' && strspn(name, "0123456789$") == 0 &&
			strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);

	if (is_plain) {
		text_put(out, name);
		return;
	}
	text_put(out, "\"");
	for (const char *at = name; *at != '\0'; at++) {
		text_add(out, at, 1);
		if (*at == '"')
			text_add(out, at, 1);
	}
	text_put(out, "\"");
}

static void put_sql(struct text *out, const char *sql, const char *role)
{
	for (const char *at = sql; *at != '\0';) {
		size_t len = strcspn(at, "%");

		text_add(out, at, len);
		at += len;
		if (*at == '\0')
			break;
		put_name(out, role);
		at += 2;
	}
	text_put(out, "\n");
}

int collect_grants(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(text_free) struct text out = TEXT_EMPTY;
	const char *role = o->argument != NULL ? o->argument : "tare";

	for (const char *at = role; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f) {
			err_set(err, -EINVAL,
				"cannot use this name for a role: it has control characters");
			return err_mend(err, "tare collect --grants ROLE");
		}
	text_put(&out, "-- What a PostgreSQL server should give the role of tare collect, and no "
		       "more. Run it as a superuser, in the database that\n"
		       "-- holds pg_stat_statements. pg_monitor would give the same as "
		       "pg_read_all_stats and pg_read_all_settings, and more.\n");
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		text_printf(&out, "\n-- %s%s%s\n",
			    grants[i].reading != NULL ? grants[i].reading : "",
			    grants[i].reading != NULL ? ": " : "", grants[i].gives);
		if (grants[i].sql != NULL)
			put_sql(&out, grants[i].sql, role);
	}
	if (out.has_failed)
		return err_set(err, -ENOMEM, "cannot print the grants: no memory");
	fputs(text_chars(&out), app->out);
	return EXIT_OK;
}
