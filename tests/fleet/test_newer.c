/* test_newer.c - what later releases of PostgreSQL tell: I/O by kind of backend (16), plans of any parameter (16), since when an entry is counted
 * (17). An older server says so by what it has, and the test counts as skipped. */
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
	stage_open(&stage, "track_io_timing = on\nautovacuum = off");
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	stage_run(&stage, NULL,
		  "CREATE TABLE sales (id int, v text) PARTITION BY RANGE (id);"
		  "CREATE TABLE sales_one PARTITION OF sales FOR VALUES FROM (0) TO (1000);"
		  "CREATE TABLE sales_two PARTITION OF sales FOR VALUES FROM (1000) TO (2000);"
		  "INSERT INTO sales SELECT i, 'x' FROM generate_series(1, 1999) i; ANALYZE sales");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

/* Skips a test where the answer to `sql` is 0; `what` is the reason. */
static void need(const char *sql, const char *what)
{
	if (stage_number(&stage, NULL, sql) != 0)
		return;
	print_message("skipped: this server has no %s\n", what);
	skip();
}

static void run_times(const char *sql, int times)
{
	PGconn *conn = stage_connect(&stage, NULL, NULL);

	for (int i = 0; i < times; i++)
		PQclear(PQexec(conn, sql));
	PQfinish(conn);
}

static bool is(struct str s, const char *chars)
{
	return s.len == strlen(chars) && memcmp(s.bytes, chars, s.len) == 0;
}

static void io_is_told_by_kind_of_backend(void **state)
{
	const struct io_row *clients = NULL;
	struct fleet_batch b;
	struct visits v;

	(void)state;
	need("SELECT count(*) FROM pg_class WHERE relname = 'pg_stat_io'", "pg_stat_io");
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(run_of(&b, READING_IO)->outcome, RUN_SUCCESS);
	assert_int_equal(count_of(&b, &table_io, BLOCK_PUT), 0);
	fleet_batch_free(&b);
	stage_run(&stage, NULL,
		  "CREATE TABLE written AS SELECT i FROM generate_series(1, 50000) i; CHECKPOINT");
	visits_go(&v, CADENCE_GATED, &b);
	for (size_t i = 0; i < count_of(&b, &table_io, BLOCK_PUT); i++) {
		const struct io_row *row = row_of(&b, &table_io, i);

		if (is(row->backend, "client backend") && is(row->object, "relation") &&
		    is(row->context, "normal"))
			clients = row;
	}
	assert_non_null(clients);
	assert_int_equal(clients->life, DELTA_SAME);
	assert_true(clients->span_ns > 0);
	assert_true(IS_MEASURED(clients->counters[IO_HITS]) &&
		    clients->counters[IO_HITS].value > 0);
	assert_true(IS_MEASURED(clients->counters[IO_READ_BYTES]));
	if (clients->counters[IO_READS].value > 0)
		assert_true(clients->counters[IO_READ_BYTES].value >=
			    clients->counters[IO_READS].value * 8192);
	fleet_batch_free(&b);
	visits_close(&v);
}

static void an_entry_made_anew_is_whole_over_its_own_span(void **state)
{
	const struct statement_row *row;
	struct fleet_batch b;
	struct visits v;
	uint64_t whole_span_ns;
	int64_t id;

	(void)state;
	need("SELECT count(*) FROM pg_attribute WHERE attrelid = 'pg_stat_statements'::regclass "
	     "AND attname = 'stats_since'",
	     "stats_since");
	run_times("SELECT max(id) FROM sales", 50);
	id = queryid_of(&stage, NULL, "SELECT max(id) FROM sales");
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	stage_run(&stage, NULL, "SELECT pg_sleep(0.5)");
	stage_run(&stage, NULL,
		  "SELECT pg_stat_statements_reset(userid, dbid, queryid) FROM pg_stat_statements "
		  "WHERE starts_with(query, 'SELECT max(id) FROM sales')");
	/* More calls than before: only its beginning says that it is another life. */
	run_times("SELECT max(id) FROM sales", 70);
	run_times("SELECT min(id) FROM sales", 1);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, id);
	assert_non_null(row);
	assert_int_equal(row->life, DELTA_BEGAN);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 70);
	whole_span_ns = row->span_ns;
	fleet_batch_free(&b);
	run_times("SELECT max(id) FROM sales", 3);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, id);
	assert_non_null(row);
	assert_int_equal(row->life, DELTA_SAME);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 3);
	print_message("began %.3f s before the visit that saw it\n", (double)whole_span_ns / 1e9);
	assert_true(whole_span_ns > 0);
	fleet_batch_free(&b);
	visits_close(&v);
}

static void columns_renamed_in_17_are_read(void **state)
{
	const struct statement_row *row;
	struct fleet_batch b;
	struct visits v;
	int64_t id;

	(void)state;
	need("SELECT count(*) FROM pg_attribute WHERE attrelid = 'pg_stat_statements'::regclass "
	     "AND attname = 'shared_blk_read_time'",
	     "shared_blk_read_time");
	visits_open(&v, &stage, NULL, NULL);
	run_times("SELECT count(v) FROM sales", 1);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times("SELECT count(v) FROM sales", 2);
	id = queryid_of(&stage, NULL, "SELECT count(v) FROM sales");
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, id);
	assert_non_null(row);
	assert_true(IS_MEASURED(row->counters[STATEMENT_READ_NS]));
	assert_true(IS_MEASURED(row->counters[STATEMENT_WRITE_NS]));
	assert_true(IS_MEASURED(row->counters[STATEMENT_JIT_NS]));
	assert_true(IS_MEASURED(row->counters[STATEMENT_TEMP_READ_NS]));
	fleet_batch_free(&b);
	visits_close(&v);
}

/* With NULLs no partition is left of the plan; a generic one has them all. */
static void a_partitioned_table_has_the_plan_of_any_parameter(void **state)
{
	const struct plan_row *plan = NULL;
	struct fleet_batch b;
	struct visits v;
	const char *removed;
	int64_t id;
	char *text;

	(void)state;
	need("SELECT (current_setting('server_version_num')::int >= 160000)::int",
	     "EXPLAIN (GENERIC_PLAN)");
	visits_open(&v, &stage, NULL, NULL);
	visits_go(&v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
	run_times("SELECT v FROM sales WHERE id = 5", 3);
	id = queryid_of(&stage, NULL, "SELECT v FROM sales WHERE id");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	for (size_t i = 0; i < count_of(&b, &table_plan, BLOCK_PUT); i++) {
		const struct plan_row *row = row_of(&b, &table_plan, i);

		if (row->key.queryid == id)
			plan = row;
	}
	assert_non_null(plan);
	assert_true(plan->is_generic);
	text = payload_of(&b, &plan->plan);
	assert_non_null(text);
	assert_non_null(strstr(text, "sales_one"));
	assert_non_null(strstr(text, "sales_two"));
	removed = strstr(text, "Subplans Removed\":");
	assert_true(removed == NULL || removed[strlen("Subplans Removed\":")] == '0');
	free(text);
	fleet_batch_free(&b);
	visits_close(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_is_told_by_kind_of_backend),
		cmocka_unit_test(an_entry_made_anew_is_whole_over_its_own_span),
		cmocka_unit_test(columns_renamed_in_17_are_read),
		cmocka_unit_test(a_partitioned_table_has_the_plan_of_any_parameter),
	};

	return cmocka_run_group_tests_name("newer", tests, open_stage, close_stage);
}
