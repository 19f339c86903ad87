/* test_text_sql.c - what a statement is, how it parses again, and what is left of it without its constants. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static const struct {
	const char *text;
	enum plan_reason reason;
	const char *command;
} statements[] = {
	{ "select 1", PLAN_OK, "select" },
	{ "/* c */ (SELECT 1)", PLAN_OK, "select" },
	{ "-- x\n((( select 1) union select 2))", PLAN_OK, "select" },
	{ "/* a /* nested */ vacuum */ select 1", PLAN_OK, "select" },
	{ "WITH a AS (DELETE FROM t RETURNING *) INSERT INTO u SELECT * FROM a", PLAN_OK,
	  "insert" },
	{ "with recursive delete as (select 1), \"update\" as (select 2) select 1", PLAN_OK,
	  "select" },
	{ "INSERT INTO t VALUES ($1)", PLAN_OK, "insert" },
	{ "update t set a = $1", PLAN_OK, "update" },
	{ "DELETE FROM t", PLAN_OK, "delete" },
	{ "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", PLAN_OK, "merge" },
	{ "VALUES ($1)", PLAN_OK, "values" },
	{ "TABLE t", PLAN_OK, "table" },
	{ "select 1;", PLAN_OK, "select" },
	{ "select 1; -- done\n ; /* and out */", PLAN_OK, "select" },
	{ "select ';', $a$;$a$, \"a;b\", E'\\';' -- ;\n", PLAN_OK, "select" },
	{ "VACUUM t", PLAN_UTILITY, "vacuum" },
	{ "vacuum (analyze) secret_name", PLAN_UTILITY, "vacuum" },
	{ "COPY t FROM STDIN", PLAN_UTILITY, "copy" },
	{ "CALL p($1)", PLAN_UTILITY, "call" },
	{ "CREATE TABLE x AS SELECT 1", PLAN_UTILITY, "create table" },
	{ "create or replace function f() returns int begin atomic select 1; select 2; end",
	  PLAN_UTILITY, "create function" },
	{ "CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)", PLAN_UTILITY, "create index" },
	{ "create event trigger e on ddl_command_end execute function f()", PLAN_UTILITY,
	  "create event trigger" },
	{ "REFRESH MATERIALIZED VIEW v", PLAN_UTILITY, "refresh materialized view" },
	{ "COMMENT ON COLUMN t.a IS 'x'", PLAN_UTILITY, "comment" },
	{ "comment on table t is 'x'", PLAN_UTILITY, "comment table" },
	{ "BEGIN", PLAN_UTILITY, "begin" },
	{ "DECLARE c CURSOR FOR SELECT 1", PLAN_UTILITY, "declare" },
	{ "EXECUTE p(1)", PLAN_UTILITY, "execute" },
	{ "EXPLAIN (ANALYZE) DELETE FROM t", PLAN_UTILITY, "explain" },
	{ "ANALYZE SELECT", PLAN_UTILITY, "analyze" },
	{ "frobnicate canary", PLAN_UTILITY, "other" },
	{ "selectx", PLAN_UTILITY, "other" },
	{ "\"select\" 1", PLAN_UTILITY, "other" },
	{ "select 1; drop table x", PLAN_MANY, "select" },
	{ "select 1 /* ; */; /**/ select 2", PLAN_MANY, "select" },
	{ "", PLAN_NO_TEXT, "other" },
	{ " -- nothing\n /* here */ ;", PLAN_NO_TEXT, "other" },
	{ "<insufficient privilege>", PLAN_UTILITY, "other" },
	{ "select 'cut of", PLAN_NO_TEXT, "select" },
	{ "select $a$ cut of $", PLAN_NO_TEXT, "select" },
	{ "select \"cut of", PLAN_NO_TEXT, "select" },
	{ "select 1 /* cut of", PLAN_NO_TEXT, "select" },
	{ "/* cut of", PLAN_NO_TEXT, "other" },
};

static void a_statement_is_known_by_its_leading_word(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
		char command[64] = "?";

		print_message("%s\n", statements[i].text);
		assert_int_equal(
			plan_classify(str_of(statements[i].text), false, command, sizeof(command)),
			statements[i].reason);
		assert_string_equal(command, statements[i].command);
	}
}

static void a_text_that_was_cut_is_never_planned(void **state)
{
	(void)state;
	char command[8];

	assert_int_equal(plan_classify(STR_LITERAL("select 1"), true, command, sizeof(command)),
			 PLAN_NO_TEXT);
	assert_string_equal(command, "select");
	assert_int_equal(plan_classify(STR_LITERAL("vacuum"), true, NULL, 0), PLAN_UTILITY);
	assert_int_equal(plan_classify(STR_LITERAL("select 1\0; drop table x"), false, NULL, 0),
			 PLAN_NO_TEXT);
	assert_int_equal(plan_classify(STR_EMPTY, false, NULL, 0), PLAN_NO_TEXT);
}

static void a_typed_constant_that_became_a_parameter_becomes_a_cast(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "select interval $1", "select $1::interval" },
		{ "select INTERVAL $1 day to second, 2", "select $1::INTERVAL day to second, 2" },
		{ "select interval(3) $12", "select $12::interval(3)" },
		{ "where d < date $1 and x", "where d < $1::date and x" },
		{ "timestamp with time zone $1", "$1::timestamp with time zone" },
		{ "timestamp (3) without time zone $1", "$1::timestamp (3) without time zone" },
		{ "time with /* c */ time\nzone $2", "$2::time with /* c */ time\nzone" },
		{ "double precision $1", "$1::double precision" },
		{ "bigint $1, XID $2, Xml $3", "$1::bigint , $2::XID , $3::Xml" },
		{ "int8multirange $1, tsvector $2", "$1::int8multirange , $2::tsvector" },
		{ "dat $1, dates $2, a $3, zz $4", "dat $1, dates $2, a $3, zz $4" },
		{ "character varying(20) $1", "$1::character varying(20)" },
		{ "numeric(10, 2) $1", "$1::numeric(10, 2)" },
		{ "select s.mood $1", "select $1::s.mood" },
		{ "select \"My Mood\" $1", "select $1::\"My Mood\"" },
		{ "select pg_catalog.\"date\" $1", "select $1::pg_catalog.\"date\"" },
		{ "now() - interval $1 * $2", "now() - $1::interval * $2" },
		{ "select a.date, $1", "select a.date, $1" },
		{ "(date $1)", "($1::date )" },
		{ "select\"T\" $1", "select $1::\"T\"" },
		{ "date $1$a$b$a$", "$1::date $a$b$a$" },
		{ "limit $1 offset $2", "limit $1 offset $2" },
		{ "select 'interval $1', $a$date $1$a$", "select 'interval $1', $a$date $1$a$" },
		{ "select date /* $1 */ , $2", "select date /* $1 */ , $2" },
		{ "where name = $1", "where name = $1" },
		{ "select \"interval\" = $1", "select \"interval\" = $1" },
		{ "cast($1 as date), $2", "cast($1 as date), $2" },
		{ "time, $1 zone", "time, $1 zone" },
		{ "interval '1 day'", "interval '1 day'" },
		{ "interval", "interval" },
		{ "interval(", "interval(" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text out = TEXT_EMPTY;

		sql_rewrite_casts(cases[i][0], strlen(cases[i][0]), &out);
		assert_string_equal(text_chars(&out), cases[i][1]);
	}
}

static void constants_are_taken_out_and_names_stay(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "(t.id = 5)", "(t.id = ?)" },
		{ "((a)::text = ANY ('{x,y}'::text[]))", "((a)::text = ANY ('?'::text[]))" },
		{ "'it''s'::text", "'?'::text" },
		{ "E'a\\'b' || b", "'?' || b" },
		{ "U&'\\0041' UESCAPE '!'", "'?' UESCAPE '?'" },
		{ "b'101', x'1F', N'n'", "'?', '?', '?'" },
		{ "$q$it's$q$ || $$x$$", "'?' || '?'" },
		{ "$1 = $2", "$1 = $2" },
		{ "1.5e+10, .5, 0xFF, 1_000, 5.", "?, ?, ?, ?, ?" },
		{ "12abc", "?" },
		{ "t1.c2 = -3", "t1.c2 = -?" },
		{ "\"Col 1\" = 1", "\"Col 1\" = ?" },
		{ "a /* secret */ = b -- more", "a   = b  " },
		{ "'a'\n  'b' || c", "'?' || c" },
		{ "E'a' -- c\n 'b\\' || secret' || c", "'?' || c" },
		{ "(hashed SubPlan 12)", "(hashed SubPlan 12)" },
		{ "SubPlan 12345", "SubPlan ?" },
		{ "(x ? 'key')", "(x ? '?')" },
		{ "$$a$$$$b$$ || $$a$$\n'b'", "'?' || '?'\n" },
		{ "u&$$a$$", "u& '?'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text out = TEXT_EMPTY, again = TEXT_EMPTY;

		print_message("%s\n", cases[i][0]);
		assert_int_equal(sql_redact(cases[i][0], strlen(cases[i][0]), &out), 0);
		assert_string_equal(text_chars(&out), cases[i][1]);
		assert_int_equal(sql_redact(out.bytes, out.len, &again), 0);
		assert_string_equal(text_chars(&out), text_chars(&again));
	}
}

static void what_is_not_surely_sql_is_not_kept(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"'no end",  "$a$ no end", "a { b",	   "\\d t",	     "/* no end",
		"\"no end", "a\x01",	  "'C:\\' || 'x'", "'a\\'b secret'", "$ 1",
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text out = TEXT_EMPTY;

		print_message("%s\n", cases[i]);
		assert_int_equal(sql_redact(cases[i], strlen(cases[i]), &out), -EINVAL);
	}
}

static void utility_statements_keep_no_value_and_no_secret(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int code;
		const char *want;
	} cases[] = {
		{ "set work_mem = '64MB'", 0, "set work_mem = '?'" },
		{ "SET my.key TO canary, other", 0, "SET my.key TO ?, ?" },
		{ "alter database d set x.y = canary", 0, "alter database d set x.y = ?" },
		{ "set time zone 5", 0, "set time zone ?" },
		{ "create index i on t (a) where b = 'x' /* by canary */", 0,
		  "create index i on t (a) where b = '?'  " },
		{ "copy t from program 'curl -u canary'", 0, "copy t from program '?'" },
		{ "do $$ begin perform 'canary'; end $$", 0, "do '?'" },
		{ "select a from passwords where b = 'x'", 0,
		  "select a from passwords where b = '?'" },
		{ "", 0, "" },
		{ "alter role r password 'x'", -EPERM, NULL },
		{ "CREATE USER u ENCRYPTED PassWord 'x'", -EPERM, NULL },
		{ "create subscription s connection 'host=x' publication p", -EPERM, NULL },
		{ "alter /* c */ subscription s connection 'x'", -EPERM, NULL },
		{ "create user mapping for u server s options (user 'x')", -EPERM, NULL },
		{ "create server s foreign data wrapper w options (host 'x')", -EPERM, NULL },
		{ "select * from dblink('host=x password=y', 'select 1') as t(a int)", -EPERM,
		  NULL },
		{ "set my.secret_token = canary", -EPERM, NULL },
		{ "select 1; alter role r password 'x'", -EPERM, NULL },
		{ "vacuum 'no end", -EINVAL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *out = NULL;
		size_t len = 0;

		print_message("%s\n", cases[i].text);
		assert_int_equal(text_redact(str_of(cases[i].text), &out, &len), cases[i].code);
		if (cases[i].code == 0) {
			assert_string_equal(out, cases[i].want);
			assert_int_equal(len, strlen(out));
		} else {
			assert_null(out);
		}
		free(out);
	}
}

struct names {
	char all[512];
};

static void gather(void *owner, const char *name, size_t len)
{
	struct names *names = owner;

	snprintf(names->all + strlen(names->all), sizeof(names->all) - strlen(names->all), "%.*s ",
		 (int)len, name);
}

static void names_that_search_path_decides_on_are_found(void **state)
{
	(void)state;
	static const char text[] =
		"Select x.a, 'no' from Orders x join app.t on \"My\"\"T\".b = c.d "
		"where f($1) and $a$no$a$ = U&\"no\"";
	struct names names = { "" };

	sql_names(text, strlen(text), 100, gather, &names);
	assert_string_equal(names.all, "select from orders x join on where f and ");
	names.all[0] = '\0';
	sql_names(text, strlen(text), 2, gather, &names);
	assert_string_equal(names.all, "select from ");
	names.all[0] = '\0';
	sql_names("\"A\"\"b\"", 6, 2, gather, &names);
	assert_string_equal(names.all, "A\"b ");
}

static void a_name_cannot_leave_its_quotes(void **state)
{
	(void)state;
	SCOPED(text_free) struct text out = TEXT_EMPTY;

	sql_put_name(&out, "a\", evil", 8);
	assert_string_equal(text_chars(&out), "\"a\"\", evil\"");
}

static void parameters_are_counted_outside_of_quotes(void **state)
{
	(void)state;
	static const char text[] = "$2 '$9' $a$ $8 $a$ -- $7\n /* $6 */ \"$5\" a$4 E'\\'$3'";

	assert_int_equal(sql_params(text, strlen(text)), 2);
	assert_int_equal(sql_params("1", 1), 0);
	assert_int_equal(sql_params("$99999999999999999999", 21), 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_statement_is_known_by_its_leading_word),
		cmocka_unit_test(a_text_that_was_cut_is_never_planned),
		cmocka_unit_test(a_typed_constant_that_became_a_parameter_becomes_a_cast),
		cmocka_unit_test(constants_are_taken_out_and_names_stay),
		cmocka_unit_test(what_is_not_surely_sql_is_not_kept),
		cmocka_unit_test(utility_statements_keep_no_value_and_no_secret),
		cmocka_unit_test(names_that_search_path_decides_on_are_found),
		cmocka_unit_test(a_name_cannot_leave_its_quotes),
		cmocka_unit_test(parameters_are_counted_outside_of_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
