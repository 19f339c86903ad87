/* test_plans.c - plans of a real PostgreSQL, by the safe way: which statements have one, why the others have none, and that nothing is run,
 * written, or left behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/plan_desk.h"

static struct stage stage;

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	stage_run(
		&stage, NULL,
		"create table t (a int primary key, b text, c timestamptz, d int[]);"
		"insert into t select i, i::text, now(), array[i] from generate_series(1, 1000) i;"
		"create table other (a int, b text); create sequence s;"
		"create view v as select a, b from t where b = 'canary';"
		"create table parted (k int, x int) partition by list (k);"
		"create table parted_1 partition of parted for values in (1);"
		"create table parted_2 partition of parted for values in (2);"
		"create function slow(int) returns int immutable language plpgsql as "
		"'begin perform pg_sleep(20); return $1; end';"
		"create function writes() returns int volatile language sql as "
		"'insert into other values (1) returning 1';"
		"create function hides() returns int immutable language plpgsql as "
		"'begin return writes(); end';"
		"analyze;");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static void normalised_texts_have_a_plan_or_a_reason(void **state)
{
	static const struct {
		const char *text;
		enum plan_reason reason;
		const char *sqlstate;
	} cases[] = {
		{ "select $1, a from t", PLAN_OK, "" },
		{ "select * from t where a <= $1", PLAN_OK, "" },
		{ "select * from t where a in ($1, $2, $3) limit $4 offset $5", PLAN_OK, "" },
		{ "select * from t where a in ($1 /*, ... */)", PLAN_OK, "" },
		{ "select * from t where c > now() - interval $1", PLAN_OK, "" },
		{ "select date $1, timestamp with time zone $2, interval $3 day", PLAN_OK, "" },
		{ "select * from t where c > $1::timestamptz and b like $2", PLAN_OK, "" },
		{ "select $2 from t", PLAN_PARSE, "42P18" },
		{ "select $1 + $2", PLAN_PARSE, "42725" },
		{ "select 'hi' + $1", PLAN_PARSE, "42725" },
		{ "select unnest($1)", PLAN_PARSE, "42725" },
		{ "select unnest(d) from t where $1 = any (d)", PLAN_OK, "" },
		{ "with x as (select a from t where b = $1) select count(*) from x", PLAN_OK, "" },
		{ "/* c */ (select 1)", PLAN_OK, "" },
		{ "-- c\nvalues ($1), ($2)", PLAN_OK, "" },
		{ "table t", PLAN_OK, "" },
		{ "select a from v where b = $1", PLAN_OK, "" },
		{ "insert into t (a) values ($1) on conflict (a) do nothing", PLAN_OK, "" },
		{ "update t set b = $1 where a = $2", PLAN_OK, "" },
		{ "delete from t where a = $1 returning *", PLAN_OK, "" },
		{ "merge into t using other o on o.a = t.a when matched then delete", PLAN_OK, "" },
		{ "select nextval($1)", PLAN_OK, "" },
		{ "select * from t for update", PLAN_OK, "" },
		{ "select a from t where b = $1 group by a having count(*) > $2 order by 1",
		  PLAN_OK, "" },
		{ "select from where", PLAN_PARSE, "42601" },
		{ "select * from nowhere", PLAN_GONE, "42P01" },
		{ "select * from nowhere.t", PLAN_GONE, "42P01" },
		{ "select nothing from t", PLAN_GONE, "42703" },
		{ "select f_gone($1)", PLAN_GONE, "42883" },
		{ "select cast(a as t_gone) from t", PLAN_GONE, "42704" },
		{ "select * from pg_temp.mine", PLAN_GONE, "42P01" },
		{ "", PLAN_NO_TEXT, "" },
		{ "select 'cut", PLAN_NO_TEXT, "" },
		{ "vacuum t", PLAN_UTILITY, "" },
		{ "select 1; select 2", PLAN_MANY, "" },
	};
	const char *texts[ARRAY_LEN(cases)];
	struct desk d = desk_at(&stage);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		texts[i] = cases[i].text;
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(cases)), 0);
	assert_int_equal(d.count, ARRAY_LEN(cases));
	for (size_t i = 0; i < d.count; i++) {
		print_message("%s: %d %s\n", cases[i].text, (int)d.found[i].reason,
			      d.found[i].sqlstate);
		assert_int_equal(d.found[i].key.queryid, i + 1);
		assert_int_equal(d.found[i].reason, cases[i].reason);
		assert_string_equal(d.found[i].sqlstate, cases[i].sqlstate);
		assert_int_equal(d.found[i].redacted != NULL, cases[i].reason == PLAN_OK);
	}
	desk_clear(&d);
}

static void a_plan_is_generic_and_whole(void **state)
{
	struct desk d = desk_at(&stage);
	const struct desk_found *found = desk_plan_one(&d, "select b from t where a = $1");

	(void)state;
	assert_int_equal(found->reason, PLAN_OK);
	assert_non_null(strstr(found->redacted, "\"Node Type\":\"Index Scan\""));
	assert_non_null(strstr(found->redacted, "\"Index Cond\":\"(t.a = $1)\""));
	assert_null(strstr(found->redacted, "One-Time Filter"));
	assert_true(found->plan.total_cost > 0 && found->plan.plan_rows == 1);
	assert_in_range(found->plan.plan_bytes, strlen(found->redacted), 4096);
	assert_false(found->plan.is_generic);
	assert_string_equal(found->path, "public");
	assert_string_equal(found->settings, "");
	desk_clear(&d);
}

static void of_utilities_nothing_is_asked(void **state)
{
	static const char *const texts[] = {
		"vacuum",
		"copy t from stdin",
		"call p($1)",
		"begin",
		"create table x as select 1",
		"refresh materialized view m",
		"declare c cursor for select 1",
		"execute p",
		"explain analyze delete from t",
	};
	struct desk d = desk_at(&stage);

	(void)state;
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
	assert_int_equal(d.count, ARRAY_LEN(texts));
	assert_int_equal(d.asked, 0);
	for (size_t i = 0; i < d.count; i++)
		assert_int_equal(d.found[i].reason, PLAN_UTILITY);
	desk_clear(&d);
}

static void nothing_is_executed_and_nothing_is_written(void **state)
{
	static const char *const texts[] = {
		"insert into other values ($1, $2)",
		"update t set b = $1",
		"delete from t",
		"select nextval('s')",
		"select pg_advisory_lock($1)",
		"select writes()",
		"with x as (delete from t returning *) select * from x",
		"select hides()",
		"select a into stolen from t",
	};
	static const char count[] =
		"select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables";
	struct desk d = desk_at(&stage);
	int64_t before;

	(void)state;
	stage_run(&stage, NULL, "select pg_stat_force_next_flush()");
	before = stage_number(&stage, NULL, count);
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(d.found[i].reason, PLAN_OK);
	/* An IMMUTABLE function does run when it is planned: what it would write is refused, as the transaction is read only. */
	assert_int_equal(d.found[7].reason, PLAN_OTHER);
	assert_string_equal(d.found[7].sqlstate, "25006");
	desk_clear(&d);
	stage_run(&stage, NULL, "select pg_stat_force_next_flush()");
	assert_int_equal(stage_number(&stage, NULL, count), before);
	assert_int_equal(stage_number(&stage, NULL, "select count(*) from other"), 0);
	assert_int_equal(stage_number(&stage, NULL, "select last_value from s where not is_called"),
			 1);
	assert_int_equal(stage_number(&stage, NULL,
				      "select count(*) from pg_class where relname = 'stolen'"),
			 0);
	assert_int_equal(stage_number(&stage, NULL,
				      "select count(*) from pg_locks where locktype = 'advisory'"),
			 0);
}

static void a_second_statement_never_runs(void **state)
{
	static const char *const texts[] = {
		"select 1; drop table victim",
		"select 1;drop table victim;--",
		"select 1 where 'a' = 'b\\'; drop table victim; --'",
		"select 1 where 'a' = E'b\\'; drop table victim; --'; drop table victim",
		"select $x$ $x$; drop table victim",
		"select 1 /* /* */; drop table victim; -- */ */",
		"select 1 -- \r; drop table victim",
		"select U&'\\0027; drop table victim; --'",
		"select interval $1); drop table victim; --",
		"select 1) ; drop table victim",
		"(select 1); rollback; drop table victim; commit",
		"select \"\"\"\"; drop table victim",
		"with x as (select 1) select * from x; commit; drop table victim",
	};
	struct desk d = desk_at(&stage);

	(void)state;
	stage_run(&stage, NULL,
		  "create table victim (a int); create role old_ways superuser login;"
		  "alter role old_ways set standard_conforming_strings = off;"
		  "alter role old_ways set escape_string_warning = off");
	for (int old_ways = 0; old_ways < 2; old_ways++) {
		d.user = old_ways == 1 ? "old_ways" : NULL;
		assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
		for (size_t i = 0; i < ARRAY_LEN(texts); i++)
			assert_int_not_equal(d.found[i].reason == PLAN_OK &&
						     strstr(d.found[i].redacted, "victim") != NULL,
					     1);
		desk_clear(&d);
		assert_int_equal(stage_number(&stage, NULL, "select count(*) from victim"), 0);
	}
}

/* What plan_steps.c relies on, whatever our own scanner thinks of a text: the protocol itself takes one statement, with words of ours
 * before the text as without. */
static void the_protocol_refuses_a_second_statement_behind_any_text(void **state)
{
	const char *const befores[] = {
		"", "EXPLAIN (COSTS, FORMAT JSON, VERBOSE, SETTINGS) ",
		stage_number(&stage, NULL, "select current_setting('server_version_num')::int") <
				160000
			? "EXPLAIN (COSTS) "
			: "EXPLAIN (GENERIC_PLAN, FORMAT JSON, VERBOSE, SETTINGS) "
	};
	static const char *const texts[] = {
		"select 1; drop table victim",
		"select 1\n;\ndrop table victim",
		"(select 1); commit; drop table victim",
		"select 'a'; drop table victim; --'",
	};
	PGconn *conn = stage_connect(&stage, NULL, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(befores) * ARRAY_LEN(texts); i++) {
		char sql[256];
		PGresult *result;

		snprintf(sql, sizeof(sql), "%s%s", befores[i / ARRAY_LEN(texts)],
			 texts[i % ARRAY_LEN(texts)]);
		result = PQprepare(conn, "x", sql, 0, NULL);
		assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "42601");
		PQclear(result);
	}
	PQfinish(conn);
	assert_int_equal(stage_number(&stage, NULL, "select count(*) from victim"), 0);
}

static void a_lock_is_waited_for_a_tenth_of_a_second_at_most(void **state)
{
	static const char *const texts[] = { "select * from t where a = $1", "update t set b = $1",
					     "select * from other" };
	PGconn *holder = stage_connect(&stage, NULL, NULL);
	struct desk d = desk_at(&stage);

	(void)state;
	d.limits.lock_timeout_ns = 60000000000;
	PQclear(PQexec(holder, "begin"));
	PQclear(PQexec(holder, "lock table t in access exclusive mode"));
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
	PQfinish(holder);
	assert_int_equal(d.found[0].reason, PLAN_LOCK);
	assert_string_equal(d.found[0].sqlstate, "55P03");
	assert_int_equal(d.found[1].reason, PLAN_LOCK);
	assert_int_equal(d.found[2].reason, PLAN_OK);
	desk_clear(&d);
}

static void see_lock_timeout(void *owner, const struct ask *ask)
{
	for (uint32_t i = 0; i < ask->link_count; i++)
		if (strstr(ask->links[i].sql, "set_config('lock_timeout', $2, true)") != NULL)
			*(long *)owner = strtol(ask->links[i].params[1], NULL, 10);
}

static void timeouts_are_never_longer_than_the_roles_own(void **state)
{
	struct desk d = desk_at(&stage);
	long lock_ms = 0;

	(void)state;
	d.on_ask = see_lock_timeout;
	d.owner = &lock_ms;
	d.limits.lock_timeout_ns = 60000000000;
	desk_plan_one(&d, "select 1");
	assert_int_equal(lock_ms, 100);
	desk_clear(&d);
	stage_run(&stage, NULL,
		  "create role hasty superuser login; alter role hasty set statement_timeout = 150;"
		  "alter role hasty set lock_timeout = '7ms'");
	d.user = "hasty";
	d.limits.plan_timeout_ns = 60000000000;
	assert_int_equal(desk_plan_one(&d, "select slow(1)")->reason, PLAN_TIMEOUT);
	assert_int_equal(lock_ms, 7);
	desk_clear(&d);
}

static void what_takes_too_long_to_plan_is_given_up(void **state)
{
	static const char *const texts[] = { "select slow(1)", "select 1" };
	struct desk d = desk_at(&stage);

	(void)state;
	d.limits.plan_timeout_ns = 100000000;
	assert_int_equal(desk_plan(&d, texts, 2), 0);
	assert_int_equal(d.found[0].reason, PLAN_TIMEOUT);
	assert_string_equal(d.found[0].sqlstate, "57014");
	assert_int_equal(d.found[1].reason, PLAN_OK);
	desk_clear(&d);
}

static const char *const pruned[] = {
	"select * from parted where k = $1",
	"-- c\n(select * from parted where k = $1 and x = $2)",
	"select * from t join parted p on p.x = t.a where p.k = $1",
	"update parted set x = $1 where k = $2",
};

static void partitions_that_were_all_pruned_are_no_plan(void **state)
{
	struct desk d = desk_at(&stage);

	(void)state;
	d.version = 150000;
	assert_int_equal(desk_plan_one(&d, pruned[0])->reason, PLAN_PRUNED);
	assert_int_equal(desk_plan_one(&d, "select * from parted where x = $1")->reason, PLAN_OK);
	assert_int_equal(desk_plan_one(&d, pruned[2])->reason, PLAN_PRUNED);
	desk_clear(&d);
}

/* From 16 on the planner shows a generic plan itself, with every child. */
static void a_generic_plan_shows_what_pruning_hid(void **state)
{
	struct desk d = desk_at(&stage);

	(void)state;
	if (d.version < 160000) {
		/* This server has no GENERIC_PLAN: its refusal is no failure, and leaves nothing behind. */
		d.version = 160000;
		assert_int_equal(desk_plan_one(&d, pruned[0])->reason, PLAN_PRUNED);
		assert_int_equal(desk_plan_one(&d, "select 1")->reason, PLAN_OK);
		desk_clear(&d);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(pruned); i++) {
		const struct desk_found *found = desk_plan_one(&d, pruned[i]);

		assert_int_equal(found->reason, PLAN_OK);
		assert_true(found->plan.is_generic);
		assert_non_null(strstr(found->redacted, "parted_1"));
		assert_non_null(strstr(found->redacted, "parted_2"));
		assert_null(strstr(found->redacted, "Subplans Removed\":2"));
	}
	assert_false(desk_plan_one(&d, "select * from parted where x = $1")->plan.is_generic);
	assert_int_equal(stage_number(&stage, NULL, "select count(*) from parted"), 0);
	desk_clear(&d);
}

static void rights_decide_what_can_be_planned(void **state)
{
	struct desk d = desk_at(&stage);
	const struct desk_found *found;

	(void)state;
	stage_run(&stage, NULL,
		  "create role bare login; create role monitor login; grant pg_monitor to monitor;"
		  "create role reader login; grant pg_monitor, pg_read_all_data to reader;"
		  "create schema closed; create table closed.hidden (a int)");
	d.user = "bare";
	found = desk_plan_one(&d, "select * from t where a = $1");
	assert_int_equal(found->reason, PLAN_PERMISSION);
	assert_string_equal(found->sqlstate, "42501");
	assert_int_equal(desk_plan_one(&d, "select 1 + a from generate_series(1, $1) a")->reason,
			 PLAN_OK);
	/* It is there, but not for us: not "gone". */
	assert_int_equal(desk_plan_one(&d, "select * from hidden")->reason, PLAN_PERMISSION);
	desk_clear(&d);
	d.user = "monitor";
	assert_int_equal(desk_plan_one(&d, "select * from t")->reason, PLAN_PERMISSION);
	desk_clear(&d);
	d.user = "reader";
	assert_int_equal(desk_plan_one(&d, "select * from t")->reason, PLAN_OK);
	assert_int_equal(desk_plan_one(&d, "delete from t")->reason, PLAN_PERMISSION);
	desk_clear(&d);
}

static int by_text(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct digest));
}

static void costs_make_no_other_shape_and_a_dropped_index_does(void **state)
{
	static const char text[] = "select count(*) from shaped where a = $1";
	struct desk d = desk_at(&stage);
	struct digest shape, content;

	(void)state;
	stage_run(&stage, NULL,
		  "create table shaped as select i as a, i as b from generate_series(1, 10000) i;"
		  "create index shaped_a on shaped (a); analyze shaped");
	desk_plan_one(&d, text);
	shape = d.found[0].plan.shape;
	content = d.found[0].plan.plan;
	stage_run(&stage, NULL,
		  "insert into shaped select i, i from generate_series(10001, 300000) i; analyze "
		  "shaped");
	desk_plan_one(&d, text);
	assert_int_equal(by_text(&d.found[1].plan.shape, &shape), 0);
	assert_int_not_equal(by_text(&d.found[1].plan.plan, &content), 0);
	stage_run(&stage, NULL, "drop index shaped_a");
	desk_plan_one(&d, text);
	assert_int_not_equal(by_text(&d.found[2].plan.shape, &shape), 0);
	desk_clear(&d);
}

static void what_is_over_the_cap_is_a_size(void **state)
{
	struct desk d = desk_at(&stage);
	const struct desk_found *found;

	(void)state;
	d.limits.payload_bytes = 300;
	found = desk_plan_one(&d, "select b from t where a = $1");
	assert_int_equal(found->reason, PLAN_LARGE);
	assert_in_range(found->plan.plan_bytes, 301, 4096);
	assert_null(found->redacted);
	desk_clear(&d);
}

static void a_text_of_8_mb_is_planned_within_bounds(void **state)
{
	size_t room = (size_t)8 << 20, at;
	char *text = malloc(room + 64);
	struct desk d = desk_at(&stage);
	const struct desk_found *found;

	(void)state;
	assert_non_null(text);
	d.limits.plan_timeout_ns = 60000000000;
	at = (size_t)sprintf(text, "select * from t where a in (1000000");
	for (unsigned i = 0; at < room; i++)
		at += (size_t)sprintf(text + at, ",%u", 1000001 + i);
	strcpy(text + at, ")");
	found = desk_plan_one(&d, text);
	free(text);
	assert_int_equal(found->reason, PLAN_LARGE);
	assert_in_range(found->plan.plan_bytes, 1 << 20, 64 << 20);
	desk_clear(&d);
}

struct cutter {
	int after, asked;
};

static void cut_off(void *owner, const struct ask *ask)
{
	struct cutter *c = owner;

	(void)ask;
	if (c->asked++ == c->after)
		stage_run(&stage, NULL,
			  "select pg_terminate_backend(pid) from pg_stat_activity where "
			  "application_name = 'tare' and datname is not null");
}

static void a_connection_that_is_gone_ends_the_script(void **state)
{
	static const char *const texts[] = { "vacuum", "select 1", "select 2" };
	struct desk d = desk_at(&stage);

	(void)state;
	for (int after = 0; after < 4; after++) {
		struct cutter cutter = { after, 0 };

		d.on_ask = cut_off;
		d.owner = &cutter;
		assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), -ECONNRESET);
		assert_in_range(d.count, 0, 2);
		desk_clear(&d);
	}
}

static void whatever_ends_the_script_nothing_stays(void **state)
{
	static const char *const texts[] = { "select 1", "select * from nowhere",
					     "select * from t where a = $1", "select 2" };
	struct desk d = desk_at(&stage);

	(void)state;
	d.stop_with = -ENOSPC;
	for (d.stop_after = 1; d.stop_after <= 4; d.stop_after++) {
		assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), -ENOSPC);
		assert_int_equal(d.count, d.stop_after);
		desk_clear(&d);
	}
}

static void a_leftover_of_an_earlier_visit_is_dropped(void **state)
{
	struct desk d = desk_at(&stage);

	(void)state;
	d.conn = stage_connect_tare(&stage, NULL, NULL);
	PQclear(PQprepare(d.conn, "tare_plan", "select 1", 0, NULL));
	assert_int_equal(desk_plan_one(&d, "select 2")->reason, PLAN_OK);
	desk_clear(&d);
}

static void each_statement_is_told_of_once_in_few_questions(void **state)
{
	const char *texts[40];
	struct desk d = desk_at(&stage);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		texts[i] = "select * from t where a = $1";
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
	assert_int_equal(d.count, ARRAY_LEN(texts));
	/* Two for all, and one chain a statement. */
	assert_int_equal(d.asked, 2 + ARRAY_LEN(texts));
	desk_clear(&d);
}

/* standard_conforming_strings decides which $n are parameters: this server reads one where we read none, and the other way round. */
static void parameters_are_counted_by_the_server_when_it_reads_the_text_in_another_way(void **state)
{
	static const struct {
		const char *text;
		uint64_t questions;
	} cases[] = {
		{ "select 'a\\', ' , $1, 'x\\', '", 1 + 1 + 3 },
		{ "select $1, 'a\\', $2, ' , 'x\\', '", 1 + 1 + 3 },
		{ "select 'a\\', $1, ' , 'x\\', '", 1 + 1 + 1 }, /* none takes any number */
		{ "select $1, $2 where from", 1 + 1 + 1 + 1 },	 /* and one to leave it */
	};
	struct desk d = desk_at(&stage);

	(void)state;
	stage_run(&stage, NULL,
		  "create role other_ways superuser login;"
		  "alter role other_ways set standard_conforming_strings = off;"
		  "alter role other_ways set escape_string_warning = off");
	d.user = "other_ways";
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct desk_found *found = desk_plan_one(&d, cases[i].text);

		print_message("%s: %d %s, %d questions\n", cases[i].text, (int)found->reason,
			      found->sqlstate, (int)d.asked);
		assert_int_equal(found->reason, i < 3 ? PLAN_OK : PLAN_PARSE);
		assert_int_equal(d.asked, cases[i].questions);
	}
	desk_clear(&d);
}

struct idle_watch {
	PGconn *conn;
	int64_t left;
};

/* Before each question: what of ours is in a transaction, or holds a lock on a table. */
static void see_open_transactions(void *owner, const struct ask *ask)
{
	struct idle_watch *w = owner;
	PGresult *result = PQexec(
		w->conn, "select count(*) from pg_stat_activity where application_name = 'tare' "
			 "and state like 'idle in transaction%'");

	(void)ask;
	w->left += strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
}

static void between_two_plans_no_transaction_is_open(void **state)
{
	static const char *const texts[] = { "select * from t where a = $1", "select b from t",
					     "select * from parted where k = $1", "select 1" };
	struct desk d = desk_at(&stage);
	struct idle_watch watch = { stage_connect(&stage, NULL, NULL), 0 };

	(void)state;
	d.on_ask = see_open_transactions;
	d.owner = &watch;
	assert_int_equal(desk_plan(&d, texts, ARRAY_LEN(texts)), 0);
	assert_int_equal(watch.left, 0);
	PQfinish(watch.conn);
	desk_clear(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_two_plans_no_transaction_is_open),
		cmocka_unit_test(normalised_texts_have_a_plan_or_a_reason),
		cmocka_unit_test(a_plan_is_generic_and_whole),
		cmocka_unit_test(of_utilities_nothing_is_asked),
		cmocka_unit_test(nothing_is_executed_and_nothing_is_written),
		cmocka_unit_test(a_second_statement_never_runs),
		cmocka_unit_test(the_protocol_refuses_a_second_statement_behind_any_text),
		cmocka_unit_test(a_lock_is_waited_for_a_tenth_of_a_second_at_most),
		cmocka_unit_test(timeouts_are_never_longer_than_the_roles_own),
		cmocka_unit_test(what_takes_too_long_to_plan_is_given_up),
		cmocka_unit_test(partitions_that_were_all_pruned_are_no_plan),
		cmocka_unit_test(a_generic_plan_shows_what_pruning_hid),
		cmocka_unit_test(rights_decide_what_can_be_planned),
		cmocka_unit_test(costs_make_no_other_shape_and_a_dropped_index_does),
		cmocka_unit_test(what_is_over_the_cap_is_a_size),
		cmocka_unit_test(a_text_of_8_mb_is_planned_within_bounds),
		cmocka_unit_test(a_connection_that_is_gone_ends_the_script),
		cmocka_unit_test(whatever_ends_the_script_nothing_stays),
		cmocka_unit_test(a_leftover_of_an_earlier_visit_is_dropped),
		cmocka_unit_test(each_statement_is_told_of_once_in_few_questions),
		cmocka_unit_test(
			parameters_are_counted_by_the_server_when_it_reads_the_text_in_another_way),
	};

	return cmocka_run_group_tests(tests, open_stage, close_stage);
}
