/* test_plan_paths.c - which relations a statement meant: search paths tried in order, ambiguity, proof; and one plan for a person. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/plan_desk.h"
#include "fleet/visit.h"

static struct stage stage;

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL,
		  "create extension pg_stat_statements;"
		  "create role app login; create role other login;"
		  "create schema a; create schema b; create schema app; create schema \"odd, \"\" "
		  "name\";"
		  "create table a.t (x int); create index a_x on a.t (x);"
		  "create table b.t (x int); create index b_x on b.t (x);"
		  "create table b.only_b (x int); create table app.mine (x int);"
		  "create table public.mine (x int); create table public.everywhere (x int);"
		  "create table a.everywhere (y int);"
		  "create table \"odd, \"\" name\".odd (x int);"
		  "create type b.mood as enum ('sad'); create function b.only_f(int) returns int "
		  "language sql as 'select $1';"
		  "grant usage on schema a, b, app, \"odd, \"\" name\" to app, other; "
		  "grant select on all tables in schema a, b, app, public to app, other;");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

struct expected {
	const char *text, *path, *user; /* of its settings; whose statement */
	enum plan_reason reason;
	const char *used;   /* NULL: none */
	const char *schema; /* that the plan must name; NULL: any */
};

static void check(const struct expected *e)
{
	struct desk d = desk_at(&stage);
	const struct desk_found *found;
	char schema[64];

	d.path = e->path;
	d.run_user = e->user;
	found = desk_plan_one(&d, e->text);
	print_message("%s: %d %s by %s\n", e->text, (int)found->reason, found->sqlstate,
		      found->path);
	assert_int_equal(found->reason, e->reason);
	if (e->used != NULL)
		assert_string_equal(found->path, e->used);
	snprintf(schema, sizeof(schema), "\"Schema\":\"%s\"", e->schema != NULL ? e->schema : "");
	if (e->schema != NULL)
		assert_non_null(strstr(found->redacted, schema));
	desk_clear(&d);
}

static void paths_are_tried_in_order_and_the_one_used_is_kept(void **state)
{
	static const struct expected cases[] = {
		/* The role's or database's setting decides. */
		{ "select x from t where x = $1", "b", NULL, PLAN_OK, "b", "b" },
		{ "select x from t where x = $1", "a, b", NULL, PLAN_OK, "a, b", "a" },
		{ "select x from t where x = $1", "nowhere, \"b\"", NULL, PLAN_OK, "nowhere, \"b\"",
		  "b" },
		{ "select x from odd", "\"odd, \"\" name\"", NULL, PLAN_OK, "\"odd, \"\" name\"",
		  NULL },
		/* "$user" is who ran it, never who we are. */
		{ "select mine.x from mine, t", "\"$user\", b", "app", PLAN_OK, "\"app\", b",
		  "app" },
		{ "select x from mine", "$user,public", "other", PLAN_OK, "\"other\", public",
		  "public" },
		{ "select x from mine", "$user, public", NULL, PLAN_OK, "public", "public" },
		/* A setting that does not do, or none: the preset, then who holds it. */
		{ "select x from only_b", "a", NULL, PLAN_OK, "\"b\", public", "b" },
		{ "select x from only_b", NULL, NULL, PLAN_OK, "\"b\", public", "b" },
		{ "select x from only_b", NULL, "app", PLAN_OK, "\"b\", \"app\", public", "b" },
		{ "select only_f($1), $2::mood", NULL, NULL, PLAN_OK, "\"b\", public", NULL },
		{ "select x from odd", NULL, NULL, PLAN_OK, "\"odd, \"\" name\", public", NULL },
		{ "select t.x from only_b, t", NULL, NULL, PLAN_OK, "\"b\", public", "b" },
		/* With a schema nothing is open. */
		{ "select x from a.t where x = $1", NULL, NULL, PLAN_OK, "public", "a" },
		{ "select t.x from a.t where t.x = $1", "b", NULL, PLAN_OK, "b", "a" },
		/* A list that is none, or one that hides everything. */
		{ "select x from only_b", ",,", NULL, PLAN_OK, "\"b\", public", "b" },
		{ "select x from only_b", "\"no end", NULL, PLAN_OK, "\"b\", public", "b" },
		{ "select $1", "", NULL, PLAN_OK, "public", NULL },
		{ "select x from t2", NULL, NULL, PLAN_GONE, NULL, NULL },
		{ "select x from t2", "b", NULL, PLAN_GONE, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static void two_paths_that_give_different_relations_are_ambiguous(void **state)
{
	static const struct expected cases[] = {
		/* In neither's default path, and two hold it: SET search_path = b cannot be seen afterwards. */
		{ "select x from t where x = $1", NULL, NULL, PLAN_AMBIGUOUS, "", NULL },
		{ "select x from t where x = $1", "nowhere", NULL, PLAN_AMBIGUOUS, "", NULL },
		/* The preset gives one, another schema another. */
		{ "select x from mine", NULL, NULL, PLAN_AMBIGUOUS, "", NULL },
		{ "update mine set x = $1", NULL, "other", PLAN_AMBIGUOUS, "", NULL },
		{ "update mine set x = $1", NULL, "app", PLAN_OK, "\"app\", public", "app" },
		/* One that does not fit the statement is no candidate. */
		{ "select x from everywhere", NULL, NULL, PLAN_OK, "public", "public" },
		{ "select y from everywhere", NULL, NULL, PLAN_OK, "\"a\", public", "a" },
		/* A name that others hold too, but that the statement does not look up. */
		{ "with t as (select 1 as x) select x from t", NULL, NULL, PLAN_OK, "public",
		  NULL },
		{ "select x as t from only_b", NULL, NULL, PLAN_OK, "\"b\", public", "b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static int64_t queryid_of(const char *like)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "select queryid from pg_stat_statements where query like '%s'",
		 like);
	return stage_number(&stage, NULL, sql);
}

static void the_servers_own_identifier_proves_a_path(void **state)
{
	PGconn *conn = stage_connect(&stage, NULL, NULL);
	const char *const value = "1";
	struct desk d = desk_at(&stage);
	const struct desk_found *found;

	(void)state;
	PQclear(PQexec(conn, "set search_path = b"));
	PQclear(PQexecParams(conn, "select x as proof from t where x = $1", 1, NULL, &value, NULL,
			     NULL, 0));
	PQfinish(conn);
	d.queryid = queryid_of("select x as proof%");
	assert_int_not_equal(d.queryid, 0);
	found = desk_plan_one(&d, "select x as proof from t where x = $1");
	assert_int_equal(found->reason, PLAN_OK);
	assert_string_equal(found->path, "\"b\", public");
	assert_non_null(strstr(found->redacted, "b_x"));
	assert_null(strstr(found->redacted, "Query Identifier"));
	desk_clear(&d);
}

static void a_temporary_table_of_another_session_is_gone(void **state)
{
	PGconn *conn = stage_connect(&stage, NULL, NULL);
	struct desk d = desk_at(&stage);

	(void)state;
	PQclear(PQexec(conn, "create temp table fleeting (x int)"));
	assert_int_equal(desk_plan_one(&d, "select * from fleeting")->reason, PLAN_GONE);
	desk_clear(&d);
	PQfinish(conn);
}

static void a_path_from_a_server_is_never_sql(void **state)
{
	static const char *const paths[] = {
		"public'; drop table victim; --",
		"public; drop table victim",
		"\"public\"; drop table victim",
		"public, \"$user\"'); drop table victim; --",
		"$user'; drop table victim",
		"pg_catalog.x",
		"'",
	};
	struct desk d = desk_at(&stage);

	(void)state;
	stage_run(&stage, NULL, "create table victim (x int)");
	d.run_user = "a\"; drop table victim; --";
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		d.path = paths[i];
		desk_plan_one(&d, "select x from victim");
		desk_clear(&d);
	}
	assert_int_equal(stage_number(&stage, NULL, "select count(*) from victim"), 0);
}

/* A hostile schema cannot put its own operators and functions under our questions. */
static void operators_of_a_hostile_path_are_not_ours(void **state)
{
	struct desk d = desk_at(&stage);

	(void)state;
	stage_run(
		&stage, NULL,
		"create schema evil; create table evil.log (x int);"
		"create function evil.note(text, text) returns bool language plpgsql as "
		"'begin raise exception ''ran''; end';"
		"create function evil.note(oid, oid) returns bool language plpgsql as "
		"'begin raise exception ''ran''; end';"
		"create operator evil.= (leftarg = text, rightarg = text, function = evil.note);"
		"create operator evil.= (leftarg = oid, rightarg = oid, function = evil.note);"
		"create operator evil.>= (leftarg = oid, rightarg = oid, function = evil.note);"
		"create function evil.array_length(regtype[], int) returns int language plpgsql as "
		"'begin raise exception ''ran''; end';"
		"create table evil.twice (x int); create table public.twice (x int)");
	d.path = "evil, pg_catalog";
	assert_int_equal(desk_plan_one(&d, "select x from twice")->reason, PLAN_OK);
	d.path = NULL;
	assert_int_equal(desk_plan_one(&d, "select x from twice")->reason, PLAN_AMBIGUOUS);
	desk_clear(&d);
}

/* A plan for a person. Returns the text, owned by the caller, or NULL. */
static char *plan_for_person(int64_t queryid, const char *user, uint32_t *out_reason,
			     char out_sqlstate[6])
{
	struct visit_limits limits = VISIT_LIMITS_DEFAULT;
	struct drive drive = { .stage = &stage, .user = user };
	struct script script = { .self = NULL };
	struct err err = ERR_EMPTY;
	const char *text;
	char *copy;

	assert_int_equal(pg_plan_open(queryid, &limits, &script, &err), 0);
	if (drive_script(&drive, &script, &err) != 0)
		fail_msg("%s", err.msg);
	drive_close(&drive);
	text = pg_plan_text(&script, out_reason, out_sqlstate);
	copy = text != NULL ? strdup(text) : NULL;
	pg_plan_close(&script);
	pg_plan_close(&script);
	return copy;
}

static void a_person_has_a_plan_by_its_queryid(void **state)
{
	PGconn *conn;
	uint32_t reason;
	char sqlstate[6], *plan;

	(void)state;
	stage_run(&stage, NULL, "create database elsewhere");
	stage_run(&stage, "elsewhere",
		  "create schema deep; create table deep.far (x int); grant usage on schema deep "
		  "to app;"
		  "grant select on deep.far to app; alter role app in database elsewhere set "
		  "search_path = deep;"
		  "alter role app set search_path = nowhere");
	conn = stage_connect(&stage, "app", "elsewhere");
	PQclear(PQexec(conn, "select x as person from far where x = 4711"));
	PQfinish(conn);
	plan = plan_for_person(queryid_of("select x as person%"), NULL, &reason, sqlstate);
	assert_int_equal(reason, PLAN_OK);
	assert_string_equal(sqlstate, "");
	assert_non_null(strstr(plan, "\"Schema\":\"deep\""));
	assert_null(strstr(plan, "4711"));
	free(plan);
	stage_run(&stage, "elsewhere", "drop table deep.far");
	plan = plan_for_person(queryid_of("select x as person%"), NULL, &reason, sqlstate);
	assert_null(plan);
	assert_int_equal(reason, PLAN_GONE);
	assert_string_equal(sqlstate, "42P01");
}

static void a_person_is_told_why_there_is_no_plan(void **state)
{
	uint32_t reason;
	char sqlstate[6];

	(void)state;
	assert_null(plan_for_person(12345, NULL, &reason, sqlstate));
	assert_int_equal(reason, PLAN_NO_TEXT);
	stage_run(&stage, NULL, "vacuum a.t");
	assert_null(plan_for_person(queryid_of("vacuum a.t"), NULL, &reason, sqlstate));
	assert_int_equal(reason, PLAN_UTILITY);
	stage_run(&stage, NULL, "select 1 as hidden");
	assert_null(plan_for_person(queryid_of("select $1 as hidden"), "other", &reason, sqlstate));
	assert_int_equal(reason, PLAN_NO_TEXT);
	stage_run(&stage, "elsewhere", "select 1, 2 as closed");
	stage_run(&stage, NULL, "alter database elsewhere allow_connections false");
	assert_null(
		plan_for_person(queryid_of("select $1, $2 as closed"), NULL, &reason, sqlstate));
	assert_int_equal(reason, PLAN_DATABASE);
	stage_run(&stage, NULL, "drop extension pg_stat_statements");
	assert_null(plan_for_person(1, NULL, &reason, sqlstate));
	assert_int_equal(reason, PLAN_NO_TEXT);
	stage_run(&stage, NULL, "create extension pg_stat_statements schema \"odd, \"\" name\"");
	assert_null(plan_for_person(1, NULL, &reason, sqlstate));
	assert_int_equal(reason, PLAN_NO_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_tried_in_order_and_the_one_used_is_kept),
		cmocka_unit_test(two_paths_that_give_different_relations_are_ambiguous),
		cmocka_unit_test(the_servers_own_identifier_proves_a_path),
		cmocka_unit_test(a_temporary_table_of_another_session_is_gone),
		cmocka_unit_test(a_path_from_a_server_is_never_sql),
		cmocka_unit_test(operators_of_a_hostile_path_are_not_ours),
		cmocka_unit_test(a_person_has_a_plan_by_its_queryid),
		cmocka_unit_test(a_person_is_told_why_there_is_no_plan),
	};

	return cmocka_run_group_tests(tests, open_stage, close_stage);
}
