/* test_plan_canaries.c - 10,000 literals in every place of statements that are planned with their constants in them: none of them comes out, be it
 * in a plan, a setting, a path, a redacted text or a failure. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/plan_desk.h"

#define WORD_MARK	"CNRY"
#define CANARIES	10000
#define CANARIES_A_TEXT 64

static struct stage stage;

/* Each ` is a word that is unique, each # a number that is unique. */
static const char *const templates[] = {
	"select '`', 'it''s `', #, -#, #.#, #e3, '#'::int8",
	"select * from t where s = '`' and n = #",
	"select * from t where s in ('`', '`', '`', '`') and n in (#, #, #, #)",
	"select * from t where n = any ('{#,#,#}') or s = any (array['`', '`']) or n <> all "
	"(array[#, #])",
	"select * from t where s like '`%' and s not ilike '%`_' and s ~ '^`[0-9]+$' and s !~* "
	"'(`|x)'",
	"select * from t where s similar to '%`%' escape '!'",
	"select * from t where s = E'`\\n\\'`' or s = U&'`\\0041' or s = $$`$$ or s = $q$it's `$q$ "
	"or s = N'`'",
	"select * from t where s between '`' and '`' and n not between # and #",
	"select case when s = '`' then '`' when n > # then 'x`' else '`' end, coalesce(s, '`'), "
	"nullif(n, #) from t",
	"select greatest(n, #, #), substring(s from '`'), overlay(s placing '`' from #), "
	"position('`' in s) from t",
	"select concat(s, '`', #), lower('`' || s), repeat(s, #), left(s, #), format('%s`', s) "
	"from t",
	"select s from t where d > date '2020-01-01' + # and s <> '`' order by s || '`', n + # "
	"desc nulls last",
	"select count(*) from t group by s || '`', n % # having count(*) > # and max(s) "
	"< '`'",
	"select s, sum(n) over (partition by s || '`' order by n + # rows between # preceding and "
	"current row) from t",
	"select * from (values (#, '`'), (#, '`'), (#, '`')) v (a, b) where a > # and b <> '`'",
	"select * from generate_series(#, #) g, unnest(array['`', '`']) u where u <> '`'",
	"select * from t where j -> '`' ->> '`' = '`' and j @> '{\"`\": #}' and j ? '`' and j #> "
	"'{`,`}' is not null",
	"select jsonb_path_query(j, '$.x ? (@.a == \"`\")'), j['`'], j[#] from t",
	"select * from t where i = interval '# seconds' or i > '#:00:00' or i < make_interval(secs "
	"=> #)",
	"select * from t where b = '\\xdeadbeef' and s = '`' limit (select # + 0) offset #",
	"select * from t where (s, n) in (('`', #), ('`', #)) and row(n, s) > row(#, '`')",
	"select * from t where exists (select from u where u.s = t.s || '`' and u.n > #) and n = "
	"(select max(n) from u where s = '`')",
	"select * from t where n not in (select n from u where s = '`' and n > #)",
	"with w as materialized (select * from t where s > '`' and n < #) select * from w where s "
	"<> '`'",
	"with recursive r as (select # as k, '`'::text as w union all select k + #, w || '`' from "
	"r where k < #) select * from r",
	"select * from t join u on t.s = u.s || '`' and t.n = u.n + # left join v on v.s = t.s and "
	"v.n <> #",
	"select * from t tablesample system (0.#) repeatable (#) where s = '`'",
	"select * from v where s <> '`'",
	"select * from f('`', #)",
	"select inlined('`'), inlined(s), plain(s, '`', #) from t",
	"select * from guarded where s = '`'",
	"select * from parted where k = # or s = '`'",
	"select * from parted where k in (1, 2, #) and s > '`'",
	"select * from partial where n > # and s = '`'",
	"select * from remote where s = '`' and n > # order by s limit #",
	"select count(*) from remote where s like '`%' group by n having count(*) > #",
	"select * from filed where s = '`'",
	"insert into t (s, n) values ('`', #), ('`', #) on conflict (k) do update set s = "
	"excluded.s || '`' where t.n < #",
	"insert into u select s || '`', n + # from t where s = '`'",
	"update t set s = '`', n = t.n + # from u where u.s = t.s and u.n = # returning t.s || '`'",
	"delete from t using u where t.s = u.s and u.s = '`' returning #",
	"merge into t using u on t.s = u.s || '`' when matched and t.n > # then update set s = '`' "
	"when not matched then insert (s) values ('`')",
	"update remote set s = '`' where n = #",
	"select xmltable.* from t, xmltable('/`/x' passing x columns a text path '`', b int path "
	"'`' default #)",
	"select xmlelement(name foo, xmlattributes('`' as bar), '`'), b'101', x'1F', "
	"'`'::varchar(20), cast('#' as numeric(20,2)) from t",
	"select * from t where s collate \"C\" > '`' and s::name = '`' and to_tsvector('simple', "
	"s) @@ to_tsquery('`')",
	"select '`' as a /* ` # */ from t -- `\n where n = # /* /* ` */ # */",
	"select '`'\n  '`' from t where n = 0#",
	"select grouping(s), s from t where s <> '`' group by grouping sets ((s), (n % #), ())",
	"select string_agg(s, '`' order by n + #) filter (where s <> '`'), percentile_cont(0.#) "
	"within group (order by n) from t",
	"select distinct on (s || '`') s from t where n = #",
	"(select s from t where s = '`' union select '`' except select s from u where n = #) order "
	"by 1",
	"select * from t where p <@ box '(#,#),(#,#)' or p ~= point(#, #) or a[#] = '`' or a = "
	"'{`,`}' or a @> array['`']",
};

/* pg_stat_statements up to 15 keeps these as they came, CALL with its arguments too. */
static const char *const utilities[] = {
	"call p('`', #, -#, #.#, #e3, null, true)",
	"CALL s.p(a => '`', b => #::int8, c => array['`', E'`\n'], d => row('`', #), e => date "
	"'`')",
	"/* ` */ call p($$`$$, $q$it's `$q$, U&'`', N'`', B'1', X'#', interval '#' day) -- `",
	"call p((select '`' where # < #), variadic array[#, #], not '`' = '`', case when # > # "
	"then "
	"'`' end)",
	"call p('`'\n  '`', '\\x`'::bytea, ('{\"`\": #}'::jsonb) ->> '`', '`' collate \"C\")",
	"call p('it''s `', \"name\", '`' || lower('`')); call q('`')",
	"do $$begin perform '`'; call p('`', #); end$$",
	"do language plpgsql 'begin call p(''`''); end'",
	"execute p('`', #, '`')",
	"prepare p(text) as select '`', # from t where s = $1 and n > #",
	"explain (costs off) select * from t where s = '`' and n = #",
	"declare c cursor for select '`' from t where n = #",
	"fetch # from c",
	"copy (select '`', #) to program 'curl `'",
	"copy t from '/`/file' with (delimiter '`', null '`')",
	"notify c, '`'",
	"comment on table t is '`'",
	"create table x as select '`' as s, # as n",
	"create table x (s text default '`', n int check (n > #)) with (fillfactor = #)",
	"create procedure p() language sql begin atomic select '`', #; end",
	"create function f() returns text language sql as $f$select '`'$f$",
	"create view v as select * from t where s = '`' and n <> #",
	"create index on t (s) where s <> '`' and n > #",
	"create materialized view m as select '`', #",
	"alter table t alter s set default '`', add check (n > #), alter n set statistics #",
	"alter role r connection limit # valid until '`'",
	"alter role r in database d set a.b = `",
	"alter database d set a.b to `, '`', #",
	"alter system set archive_command = 'scp `'",
	"set a.b = `",
	"set local a.b to '`', `, #",
	"set session a.b = \"`\"",
	"set time zone `",
	"set session time zone '`'",
	"set time zone interval '#' hour to minute",
	"set search_path = `, \"`\"",
	"set role '`'",
	"set session authorization '`'",
	"security label on table t is '`'",
	"import foreign schema x from server y into z options (a '`')",
	"create foreign table x (s text) server y options (table_name '`', a '#')",
	"create rule r as on insert to t do instead insert into u values ('`', #)",
	"create trigger x before insert on t for each row when (new.s = '`') execute function "
	"f('`', #)",
	"create policy x on t using (s = '`' and n = #)",
	"create domain x as text default '`' check (value <> '`')",
	"create type x as enum ('`', '`')",
	"alter type x add value '`' before '`'",
	"create sequence x start # increment # maxvalue #",
	"create table x partition of y for values from ('`', #) to ('`', #)",
	"create publication x for table t where (s = '`')",
	"create statistics x on (s || '`'), n from t",
	"commit prepared '`'",
	"prepare transaction '`'",
	"vacuum (parallel #) t",
	"load '/`/lib.so'",
	"refresh materialized view m",
	"lock table t",
	"truncate t",
};

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	stage_run(
		&stage, NULL,
		"create extension postgres_fdw; create extension file_fdw;"
		"create server far foreign data wrapper postgres_fdw options (host 'CNRY-host');"
		"create user mapping for public server far options (user 'CNRY-user', password "
		"'CNRY-password');"
		"create foreign table remote (s text, n int8) server far options (table_name "
		"'remote');"
		"create server files foreign data wrapper file_fdw;"
		"create foreign table filed (s text) server files options (filename '/CNRY/file');"
		"create table t (k serial primary key, s text default 'CNRY-default', n int8, d "
		"date, j jsonb, i interval, b bytea, "
		"x xml, p point, a text[], check (s <> 'CNRY-check'));"
		"create table u (s text, n int8);"
		"insert into t (s, n) select 'x' || i, i from generate_series(1, 2000) i;"
		"insert into u select s, n from t;"
		"create index on t ((s || 'CNRY-expression'));"
		"create table partial (s text, n int8); create index on partial (n) where s > "
		"'CNRY-predicate';"
		"create view v as select s, n from t where s <> 'CNRY-view' and n <> 71234567;"
		"create function f(text, int8) returns setof t language sql stable as "
		"'select * from t where s = $1 and n = $2 and s <> ''CNRY-function''';"
		"create function inlined(text, text default 'CNRY-argument') returns text language "
		"sql immutable as "
		"'select $1 || ''CNRY-inlined'' || $2';"
		"create function plain(text, text, int8) returns text language plpgsql immutable "
		"as "
		"'begin return $1 || ''CNRY-plain''; end';"
		"create table guarded (s text); alter table guarded enable row level security;"
		"create policy p on guarded using (s <> 'CNRY-policy'); create role reader login;"
		"grant select, insert, update, delete on all tables in schema public to reader;"
		"grant usage on foreign server far to reader;"
		"create table parted (k int8, s text default 'CNRY-partition') partition by list "
		"(k);"
		"create table parted_1 partition of parted for values in (71234567);"
		"create table parted_2 partition of parted for values in (2);"
		"create table parted_3 partition of parted default; analyze;"
		"grant select, insert, update, delete on all tables in schema public to reader");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

/* A statement with its literals, and the literals. */
struct planted {
	char sql[2048];
	char literals[CANARIES_A_TEXT][24];
	size_t count;
};

static void plant(const char *template, unsigned *next, struct planted *out)
{
	size_t len = 0;
	char literal[24];

	out->count = 0;
	for (const char *c = template; *c != '\0'; c++) {
		assert_in_range(len, 0, sizeof(out->sql) - 64);
		if (*c != '`' && (*c != '#' || c[1] == '>')) {
			out->sql[len++] = *c;
			continue;
		}
		assert_in_range(out->count, 0, CANARIES_A_TEXT - 1);
		snprintf(literal, sizeof(literal), *c == '`' ? WORD_MARK "%06u" : "7%06u7",
			 ++*next);
		memcpy(out->literals[out->count++], literal, sizeof(literal));
		memcpy(out->sql + len, literal, strlen(literal));
		len += strlen(literal);
	}
	out->sql[len] = '\0';
}

static void look_for(const struct planted *planted, const char *chars)
{
	if (chars == NULL)
		return;
	if (strstr(chars, WORD_MARK) != NULL || strstr(chars, "71234567") != NULL)
		fail_msg("%s\ncame out in: %s", planted->sql, chars);
	for (size_t i = 0; i < planted->count; i++)
		if (strstr(chars, planted->literals[i]) != NULL)
			fail_msg("%s of %s\ncame out in: %s", planted->literals[i], planted->sql,
				 chars);
}

static void look_at_redacted_text(const struct planted *planted)
{
	struct str text = { planted->sql, (uint32_t)strlen(planted->sql) };
	char *redacted = NULL;
	size_t len;
	int code = text_redact(text, &redacted, &len);

	if (code != 0)
		fail_msg("%s: %d", planted->sql, code);
	look_for(planted, redacted);
	free(redacted);
}

/* One statement of each template. Returns how many had a plan. */
static size_t plan_all(struct desk *d, struct planted *planted, unsigned *next)
{
	const char *texts[ARRAY_LEN(templates)];
	size_t plans = 0;

	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		plant(templates[i], next, &planted[i]);
		look_at_redacted_text(&planted[i]);
		texts[i] = planted[i].sql;
	}
	if (desk_plan(d, texts, ARRAY_LEN(templates)) != 0)
		fail_msg("%s", d->err.msg);
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		const struct desk_found *found = &d->found[i];

		if (found->reason != PLAN_OK)
			print_message("%d %s %s\n", (int)found->reason, found->sqlstate,
				      planted[i].sql);
		look_for(&planted[i], found->redacted);
		look_for(&planted[i], found->path);
		look_for(&planted[i], found->settings);
		plans += found->reason == PLAN_OK;
	}
	desk_clear(d);
	return plans;
}

static void not_one_of_10000_literals_comes_out(void **state)
{
	static struct planted planted[ARRAY_LEN(templates)];
	struct desk d = desk_at(&stage);
	unsigned next = 0;

	(void)state;
	d.user = "reader";
	while (next < CANARIES)
		assert_int_equal(plan_all(&d, planted, &next), ARRAY_LEN(templates));
	print_message("%u literals\n", next);
}

static void not_one_literal_of_a_utility_statement_comes_out(void **state)
{
	static struct planted planted;
	unsigned next = 0;
	size_t kept = 0;

	(void)state;
	while (next < CANARIES)
		for (size_t i = 0; i < ARRAY_LEN(utilities); i++) {
			struct str text;
			char *redacted = NULL;
			size_t len;

			plant(utilities[i], &next, &planted);
			text = (struct str){ planted.sql, (uint32_t)strlen(planted.sql) };
			assert_int_not_equal(plan_classify(text, false, NULL, 0), PLAN_OK);
			if (text_redact(text, &redacted, &len) != 0)
				fail_msg("%s: nothing is left of it", planted.sql);
			look_for(&planted, redacted);
			kept++;
			free(redacted);
		}
	print_message("%u literals in %zu texts\n", next, kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_one_of_10000_literals_comes_out),
		cmocka_unit_test(not_one_literal_of_a_utility_statement_comes_out),
	};

	return cmocka_run_group_tests(tests, open_stage, close_stage);
}
