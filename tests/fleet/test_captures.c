/* test_captures.c - the capture half against a real server: plans of what ran, in every database, stored once; and nothing of it in a gated
 * visit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/visits.h"

static struct stage stage;

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, "track_functions = all");
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	stage_run(&stage, NULL, "CREATE DATABASE other");
	stage_run(&stage, NULL,
		  "CREATE TABLE t (id int, v text); INSERT INTO t SELECT i, 'x' FROM "
		  "generate_series(1, 20000) i; CREATE INDEX t_id ON t (id); ANALYZE t");
	stage_run(
		&stage, "other",
		"CREATE TABLE o (id int); CREATE FUNCTION g(a int) RETURNS int LANGUAGE plpgsql AS "
		"'BEGIN RETURN a; END'");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static void run_times(const char *database, const char *sql, int times)
{
	PGconn *conn = stage_connect(&stage, NULL, database);

	for (int i = 0; i < times; i++)
		PQclear(PQexec(conn, sql));
	PQfinish(conn);
}

static const struct plan_row *plan_of(const struct fleet_batch *b, int64_t queryid)
{
	for (size_t i = 0; i < count_of(b, &table_plan, BLOCK_PUT); i++) {
		const struct plan_row *row = row_of(b, &table_plan, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

static const struct no_plan_row *no_plan_of(const struct fleet_batch *b, int64_t queryid)
{
	for (size_t i = 0; i < count_of(b, &table_no_plan, BLOCK_PUT); i++) {
		const struct no_plan_row *row = row_of(b, &table_no_plan, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

static void a_plan_is_stored_once_and_a_changed_one_beside_it(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct plan_row *plan;
	int64_t id;
	char *text;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	fleet_batch_free(&b);
	run_times(NULL, "SELECT v FROM t WHERE id = 5", 5);
	id = queryid_of(&stage, NULL, "SELECT v FROM t WHERE id");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	plan = plan_of(&b, id);
	assert_non_null(plan);
	text = payload_of(&b, &plan->plan);
	assert_non_null(strstr(text, "t_id"));
	free(text);
	assert_true(v.has_captured);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->capture, CAPTURE_SCHEDULED);
	assert_true(run_of(&b, READING_PLANS)->new_plans >= 1);
	fleet_batch_free(&b);

	visits_go(&v, CADENCE_SCHEDULED, &b); /* what the test itself has asked is new */
	fleet_batch_free(&b);
	visits_go(&v, CADENCE_OWED, &b);
	assert_null(plan_of(&b, id));
	assert_int_equal(run_of(&b, READING_PLANS)->capture, CAPTURE_OWED);
	assert_int_equal(run_of(&b, READING_PLANS)->new_plans, 0);
	assert_true(run_of(&b, READING_PLANS)->plans >= 1);
	fleet_batch_free(&b);

	stage_run(&stage, NULL, "DROP INDEX t_id");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	plan = plan_of(&b, id);
	assert_non_null(plan);
	text = payload_of(&b, &plan->plan);
	assert_non_null(strstr(text, "Seq Scan"));
	free(text);
	fleet_batch_free(&b);
	stage_run(&stage, NULL, "CREATE INDEX t_id ON t (id)");
	visits_close(&v);
}

static void a_known_plan_is_refreshed_hourly_and_keeps_its_first_sight(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct plan_row *plan;
	int64_t id, first_ns;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	v.limits.reach_ns = UINT64_C(10000) * 1000000000;
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times(NULL, "SELECT max(v) FROM t WHERE id = 5", 5);
	id = queryid_of(&stage, NULL, "SELECT max(v) FROM t WHERE id");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	plan = plan_of(&b, id);
	assert_non_null(plan);
	first_ns = plan->first_wall_ns;
	fleet_batch_free(&b);
	v.later_ns = INT64_C(3700) * 1000000000;
	visits_go(&v, CADENCE_SCHEDULED, &b);
	plan = plan_of(&b, id);
	assert_non_null(plan);
	assert_int_equal(plan->first_wall_ns, first_ns);
	assert_true(plan->seen_wall_ns > first_ns + INT64_C(3600) * 1000000000);
	fleet_batch_free(&b);
	visits_close(&v);
}

static void plans_and_functions_of_other_databases_come_when_a_capture_enters_them(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct plan_row *plan;
	const struct function_row *function;
	uint64_t calls = 0;
	char *where;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times("other", "SELECT g(id) FROM o WHERE id = 3", 2);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	plan = plan_of(&b, queryid_of(&stage, NULL, "SELECT g(id) FROM o"));
	assert_non_null(plan);
	fleet_batch_free(&b);
	run_times("other", "SELECT g(4)", 6);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	for (size_t i = 0; i < count_of(&b, &table_function, BLOCK_PUT); i++) {
		function = row_of(&b, &table_function, i);
		if (memmem(function->name.bytes, function->name.len, "g(a integer)", 12) != NULL)
			calls += function->counters[FUNCTION_CALLS].value;
	}
	assert_int_equal(calls, 6);
	where = PQdb(v.drive.conn);
	assert_string_equal(where, "postgres"); /* home again */
	fleet_batch_free(&b);
	visits_close(&v);
}

static void what_cannot_be_planned_has_a_reason_and_is_not_asked_again_for_a_day(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct no_plan_row *none;
	int64_t gone, utility;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	v.limits.reach_ns = UINT64_C(200000) * 1000000000;
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times(NULL, "CREATE TABLE passing (id int)", 1);
	run_times(NULL, "SELECT count(*) FROM passing", 1);
	run_times(NULL, "DROP TABLE passing", 1);
	gone = queryid_of(&stage, NULL, "SELECT count(*) FROM passing");
	utility = queryid_of(&stage, NULL, "DROP TABLE passing");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	none = no_plan_of(&b, gone);
	assert_non_null(none);
	assert_int_equal(none->reason, PLAN_GONE);
	assert_memory_equal(none->sqlstate.bytes, "42P01", 5);
	none = no_plan_of(&b, utility);
	assert_non_null(none);
	assert_int_equal(none->reason, PLAN_UTILITY);
	assert_true(v.has_captured);
	fleet_batch_free(&b);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	assert_null(no_plan_of(&b, gone));
	assert_null(no_plan_of(&b, utility));
	fleet_batch_free(&b);
	v.later_ns = INT64_C(87000) * 1000000000;
	visits_go(&v, CADENCE_SCHEDULED, &b);
	none = no_plan_of(&b, gone);
	assert_non_null(none);
	assert_int_equal(none->tries, 2);
	fleet_batch_free(&b);
	visits_close(&v);
}

/* Every question that a visit asks. */
static void see_question(void *owner, const struct ask *ask)
{
	unsigned *dear = owner;

	if (ask->kind != ASK_QUERY || (ask->sql != NULL && (strstr(ask->sql, "EXPLAIN") != NULL ||
							    strstr(ask->sql, "query,") != NULL)))
		(*dear)++;
}

static void a_gated_visit_asks_for_no_plan(void **state)
{
	struct fleet_batch b;
	struct visits v;
	unsigned dear = 0;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times(NULL, "SELECT v FROM t WHERE id = 5", 5);
	for (int i = 0; i < 3; i++) { /* reads texts, and knows the questions that do so for ours */
		visits_go(&v, CADENCE_GATED, &b);
		fleet_batch_free(&b);
	}
	run_times(NULL, "SELECT v FROM t WHERE id = 5", 5);
	v.drive.on_ask = see_question;
	v.drive.owner = &dear;
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(dear, 0);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->capture, CAPTURE_GATED);
	assert_null(run_of(&b, READING_PLANS));
	assert_false(v.has_captured);
	assert_true(run_of(&b, READING_STATEMENTS)->candidates > 0);
	fleet_batch_free(&b);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	assert_true(dear > 0);
	fleet_batch_free(&b);
	visits_close(&v);
}

static void only_the_top_of_the_reach_is_planned_and_a_full_cap_is_logged(void **state)
{
	struct fleet_batch b;
	struct visits v;
	uint64_t all;
	int64_t dear;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	v.limits.candidates = 2;
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times(NULL, "SELECT id FROM t WHERE id = 1", 1);
	run_times(NULL, "SELECT v, id FROM t WHERE id = 1", 1);
	run_times(NULL, "SELECT sum(id) FROM t", 20);
	visits_go(&v, CADENCE_GATED, &b); /* ran in the cycle before the capture */
	assert_true(run_of(&b, READING_STATEMENTS)->at_cap);
	fleet_batch_free(&b);
	dear = queryid_of(&stage, NULL, "SELECT sum(id) FROM t");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	assert_non_null(plan_of(&b, dear));
	assert_int_equal(run_of(&b, READING_PLANS)->candidates, 2);
	assert_true(run_of(&b, READING_PLANS)->at_cap);
	fleet_batch_free(&b);
	v.limits.candidates = 1000;
	visits_go(&v, CADENCE_GATED, &b);
	all = run_of(&b, READING_STATEMENTS)->candidates;
	assert_false(run_of(&b, READING_STATEMENTS)->at_cap);
	fleet_batch_free(&b);
	v.later_ns = INT64_C(700) * 1000000000; /* over the reach */
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(all >= 3);
	assert_true(run_of(&b, READING_STATEMENTS)->candidates <= all - 3);
	fleet_batch_free(&b);
	visits_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_is_stored_once_and_a_changed_one_beside_it),
		cmocka_unit_test(a_known_plan_is_refreshed_hourly_and_keeps_its_first_sight),
		cmocka_unit_test(
			plans_and_functions_of_other_databases_come_when_a_capture_enters_them),
		cmocka_unit_test(
			what_cannot_be_planned_has_a_reason_and_is_not_asked_again_for_a_day),
		cmocka_unit_test(a_gated_visit_asks_for_no_plan),
		cmocka_unit_test(only_the_top_of_the_reach_is_planned_and_a_full_cap_is_logged),
	};

	return cmocka_run_group_tests_name("captures", tests, open_stage, close_stage);
}
