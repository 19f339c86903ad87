/* test_readings.c - the readings of a visit against a real server: counts that are exact, texts read once, own statements left out. */
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
	stage_open(&stage, "track_functions = all\ntrack_io_timing = on");
	stage_run(
		&stage, NULL,
		"CREATE EXTENSION pg_stat_statements; CREATE TABLE t (id int PRIMARY KEY, v text);"
		"INSERT INTO t SELECT i, 'x' FROM generate_series(1, 1000) i; ANALYZE t;"
		"CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + 1; "
		"END'");
	stage_run(&stage, NULL, "CREATE DATABASE other");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static void run_times(const char *sql, int times)
{
	PGconn *conn = stage_connect(&stage, NULL, NULL);

	for (int i = 0; i < times; i++)
		PQclear(PQexec(conn, sql));
	PQfinish(conn);
}

static void a_first_sight_has_no_differences_and_the_second_visit_counts_exactly(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct statement_row *row;

	(void)state;
	run_times("SELECT v FROM t WHERE id = 5", 3);
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(count_of(&b, &table_statement, BLOCK_PUT), 0);
	assert_true(count_of(&b, &table_baseline, BLOCK_PUT) > 3);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->outcome, RUN_SUCCESS);
	fleet_batch_free(&b);

	run_times("SELECT v FROM t WHERE id = 7", 17);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, queryid_of(&stage, NULL, "SELECT v FROM t"));
	assert_non_null(row);
	assert_int_equal(row->life, DELTA_SAME);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 17);
	assert_int_equal(row->counters[STATEMENT_ROWS].value, 17);
	assert_true(row->span_ns > 0);
	assert_true(row->counters[STATEMENT_EXEC_NS].value > 0);
	fleet_batch_free(&b);

	visits_go(&v, CADENCE_GATED, &b);
	assert_null(statement_of(&b, queryid_of(&stage, NULL, "SELECT v FROM t")));
	fleet_batch_free(&b);
	visits_close(&v);
}

static void statements_of_ours_are_left_out_and_texts_are_read_once(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct query_row *query;
	char *text;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times("SELECT count(*) FROM t WHERE v = 'canary-literal'", 2);
	visits_go(&v, CADENCE_GATED, &b);
	query = query_of(&b, queryid_of(&stage, NULL, "SELECT count(*) FROM t WHERE v"));
	assert_non_null(query);
	assert_memory_equal(query->database.bytes, "postgres", 8);
	assert_memory_equal(query->command.bytes, "select", 6);
	text = payload_of(&b, &query->text);
	assert_non_null(text);
	assert_null(strstr(text, "canary-literal"));
	free(text);
	for (size_t i = 0; i < count_of(&b, &table_payload, BLOCK_PUT); i++) {
		text = payload_of(
			&b, &((const struct payload_row *)row_of(&b, &table_payload, i))->digest);
		assert_null(strstr(text, "/* tare */"));
		free(text);
	}
	fleet_batch_free(&b);
	run_times("SELECT count(*) FROM t WHERE v = 'canary-literal'", 2);
	visits_go(&v, CADENCE_GATED, &b);
	assert_non_null(
		statement_of(&b, queryid_of(&stage, NULL, "SELECT count(*) FROM t WHERE v")));
	assert_null(query_of(&b, queryid_of(&stage, NULL, "SELECT count(*) FROM t WHERE v")));
	fleet_batch_free(&b);
	visits_close(&v);
}

/* The statement's own words for each counter of ours, on this release. */
static const struct {
	enum statement_counter counter;
	const char *expression;
} words[] = {
	{ STATEMENT_CALLS, "calls" },
	{ STATEMENT_ROWS, "rows" },
	{ STATEMENT_EXEC_NS, "total_exec_time * 1000000" },
	{ STATEMENT_PLANS, "plans" },
	{ STATEMENT_PLAN_NS, "total_plan_time * 1000000" },
	{ STATEMENT_SHARED_HIT, "shared_blks_hit" },
	{ STATEMENT_SHARED_READ, "shared_blks_read" },
	{ STATEMENT_SHARED_DIRTIED, "shared_blks_dirtied" },
	{ STATEMENT_SHARED_WRITTEN, "shared_blks_written" },
	{ STATEMENT_LOCAL_HIT, "local_blks_hit" },
	{ STATEMENT_LOCAL_READ, "local_blks_read" },
	{ STATEMENT_LOCAL_DIRTIED, "local_blks_dirtied" },
	{ STATEMENT_LOCAL_WRITTEN, "local_blks_written" },
	{ STATEMENT_TEMP_READ, "temp_blks_read" },
	{ STATEMENT_TEMP_WRITTEN, "temp_blks_written" },
	{ STATEMENT_WAL_RECORDS, "wal_records" },
	{ STATEMENT_WAL_FPI, "wal_fpi" },
	{ STATEMENT_WAL_BYTES, "wal_bytes" },
};

static void each_counter_is_what_the_server_calls_it(void **state)
{
	static const char *const statements[] = {
		"INSERT INTO t SELECT i, 'y' FROM generate_series(100000, 103000) i",
		"SELECT count(*) FROM (SELECT v || id FROM t, generate_series(1, 60) ORDER BY 1) s",
		"SELECT count(*) FROM passing",
		"DELETE FROM t WHERE id >= 100000",
	};
	PGconn *conn = stage_connect(&stage, NULL, NULL);
	struct fleet_batch b;
	struct visits v;
	unsigned different = 0;

	(void)state;
	PQclear(PQexec(conn, "SET work_mem = '64kB'; SET temp_buffers = 100; SET "
			     "pg_stat_statements.track_planning = on"));
	PQclear(PQexec(conn, "CREATE TEMP TABLE passing AS SELECT i, repeat('x', 500) x FROM "
			     "generate_series(1, 20000) i"));
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	for (size_t i = 0; i < ARRAY_LEN(statements); i++)
		for (size_t j = 0; j <= i; j++)
			PQclear(PQexec(conn, statements[i]));
	visits_go(&v, CADENCE_GATED, &b);
	for (size_t i = 0; i < count_of(&b, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_of(&b, &table_statement, i);

		if (row->life != DELTA_BEGAN)
			continue;
		for (size_t j = 0; j < ARRAY_LEN(words); j++) {
			char sql[256];

			snprintf(sql, sizeof(sql),
				 "SELECT round(%s)::int8 FROM pg_stat_statements WHERE queryid = "
				 "%lld",
				 words[j].expression, (long long)row->key.queryid);
			assert_int_equal(row->counters[words[j].counter].value,
					 stage_number(&stage, NULL, sql));
			different += row->counters[words[j].counter].value > 0;
		}
	}
	assert_true(different > 20); /* most counters of all four statements have counted */
	fleet_batch_free(&b);
	visits_close(&v);
	PQfinish(conn);
}

static void functions_databases_and_settings_are_read(void **state)
{
	struct fleet_batch b;
	struct visits v;
	const struct function_row *function;
	const struct setting_change_row *change;
	bool has_calls = false;

	(void)state;
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(count_of(&b, &table_setting, BLOCK_PUT) > 200);
	fleet_batch_free(&b);
	run_times("SELECT f(1)", 9);
	stage_run(&stage, NULL, "ALTER SYSTEM SET work_mem = '5MB'");
	stage_run(&stage, NULL, "SELECT pg_reload_conf(), pg_sleep(0.2), pg_stat_clear_snapshot()");
	visits_go(&v, CADENCE_GATED, &b);
	for (size_t i = 0; i < count_of(&b, &table_function, BLOCK_PUT); i++) {
		function = row_of(&b, &table_function, i);
		has_calls = has_calls || (function->counters[FUNCTION_CALLS].value == 9 &&
					  function->name.len == strlen("public.f(a integer)"));
	}
	assert_true(has_calls);
	assert_true(count_of(&b, &table_database, BLOCK_PUT) > 0);
	assert_int_equal(count_of(&b, &table_setting_change, BLOCK_PUT), 1);
	change = row_of(&b, &table_setting_change, 0);
	assert_memory_equal(change->name.bytes, "work_mem", 8);
	assert_memory_equal(change->before.bytes, "4096", 4);
	assert_memory_equal(change->after.bytes, "5120", 4);
	fleet_batch_free(&b);
	visits_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_first_sight_has_no_differences_and_the_second_visit_counts_exactly),
		cmocka_unit_test(statements_of_ours_are_left_out_and_texts_are_read_once),
		cmocka_unit_test(each_counter_is_what_the_server_calls_it),
		cmocka_unit_test(functions_databases_and_settings_are_read),
	};

	return cmocka_run_group_tests_name("readings", tests, open_stage, close_stage);
}
