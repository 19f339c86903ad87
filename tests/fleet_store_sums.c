/* fleet_store_sums.c - hours and days: every row is counted once in its sum, also one that comes late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/recording.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "fleet_store_stage.h"

#define MINUTE_NS INT64_C(60000000000)

/* Raw 2 days, hours 5 days, days 20 days, runs 3 days. */
static const struct fleet_limits short_limits = { (uint64_t)(2 * DAY_NS), (uint64_t)(5 * DAY_NS),
						  (uint64_t)(20 * DAY_NS), (uint64_t)(3 * DAY_NS),
						  UINT64_C(1) << 30 };

static struct statement_row statement(uint32_t server, int64_t at_ns, int64_t queryid)
{
	struct statement_row row = { .server = server,
				     .at_wall_ns = at_ns,
				     .key = { 5, 10, queryid, true },
				     .life = DELTA_SAME,
				     .span_ns = (uint64_t)MINUTE_NS };

	for (size_t i = 0; i < STATEMENT_COUNTERS; i++)
		row.counters[i] = NOT_MEASURED;
	return row;
}

static void put_statement(void *db, struct statement_row *row, uint64_t cycle)
{
	struct fleet_batch b = batch_of(row->server, cycle, &table_statement, row);

	batch_add_run(&b, row->at_wall_ns);
	assert_false(put_one(db, &b));
}

static void an_hour_is_summed_when_it_is_over(void **state)
{
	struct statement_row row;
	const struct statement_row *sum;
	struct found found;
	void *db = stage_fresh();

	(void)state;
	for (int i = 0; i < 3; i++) {
		row = statement(1, BASE_NS + i * MINUTE_NS, 77);
		row.life = i == 0 ? DELTA_BEGAN : DELTA_SAME;
		row.longest_ns = i == 1 ? 900 : 100;
		row.counters[STATEMENT_CALLS] = COUNTER(10);
		/* Measured once: that is the sum. */
		if (i == 2)
			row.counters[STATEMENT_ROWS] = COUNTER(5);
		put_statement(db, &row, (uint64_t)i);
	}
	row = statement(1, BASE_NS + HOUR_NS, 77);
	row.counters[STATEMENT_CALLS] = COUNTER(1000);
	put_statement(db, &row, 60);
	tidy_all(db, BASE_NS + HOUR_NS / 2, &short_limits);
	assert_int_equal(count_rows(db, &table_statement_hour), 0);
	tidy_all(db, BASE_NS + HOUR_NS + 5 * MINUTE_NS, &short_limits);
	found = found_rows(db, &table_statement_hour, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	sum = (struct statement_row *)found.rows;
	assert_int_equal(sum->at_wall_ns, BASE_NS);
	assert_int_equal(sum->life, 0);
	assert_int_equal(sum->span_ns, 3 * MINUTE_NS);
	assert_int_equal(sum->longest_ns, 900);
	assert_int_equal(sum->counters[STATEMENT_CALLS].value, 30);
	assert_int_equal(sum->counters[STATEMENT_ROWS].value, 5);
	assert_false(IS_MEASURED(sum->counters[STATEMENT_EXEC_NS]));
	found_free(&found);
	assert_int_equal(count_rows(db, &table_statement_day), 0);
	tidy_all(db, BASE_NS + DAY_NS + 5 * MINUTE_NS, &short_limits);
	found = found_rows(db, &table_statement_day, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	sum = (struct statement_row *)found.rows;
	assert_int_equal(sum->counters[STATEMENT_CALLS].value, 1030);
	assert_int_equal(sum->span_ns, 4 * MINUTE_NS);
	found_free(&found);
	suite->ops->close(db);
}

/* Three minutes with a function, a database, its I/O and a wait. */
static void put_every_kind(void *db)
{
	struct function_row function = { .server = 1,
					 .at_wall_ns = BASE_NS,
					 .dbid = 5,
					 .funcid = 6,
					 .database = STR_LITERAL("shop"),
					 .name = STR_LITERAL("public.f(integer)"),
					 .span_ns = 10,
					 .counters = { COUNTER(2), NOT_MEASURED, COUNTER(7) } };
	struct database_row database = {
		.server = 1, .at_wall_ns = BASE_NS, .dbid = 5, .span_ns = 10, .backends = 4
	};
	struct io_row io = { .server = 1,
			     .at_wall_ns = BASE_NS,
			     .backend = STR_LITERAL("client backend"),
			     .object = STR_LITERAL("relation"),
			     .context = STR_LITERAL("normal"),
			     .span_ns = 10 };
	struct wait_row wait = { .server = 1,
				 .at_wall_ns = BASE_NS,
				 .queryid = 3,
				 .wait_event = STR_LITERAL("DataFileRead"),
				 .seen = 4,
				 .looks = 60 };

	for (int i = 0; i < DATABASE_COUNTERS; i++)
		database.counters[i] = COUNTER(1);
	for (int i = 0; i < IO_COUNTERS; i++)
		io.counters[i] = COUNTER(3);
	for (uint64_t i = 0; i < 3; i++) {
		struct fleet_batch b = { .server = 1, .cycle = i };

		function.at_wall_ns = database.at_wall_ns = io.at_wall_ns = wait.at_wall_ns =
			BASE_NS + (int64_t)i * MINUTE_NS;
		database.backends = i == 0 ? 4 : i == 1 ? 9 : NO_ID;
		batch_add(&b, &table_function, &function);
		batch_add(&b, &table_database, &database);
		batch_add(&b, &table_io, &io);
		batch_add(&b, &table_wait, &wait);
		batch_add_run(&b, function.at_wall_ns);
		put_one(db, &b);
	}
}

static void every_kind_of_row_has_its_way_of_summing(void **state)
{
	struct found found;
	void *db = stage_fresh();

	(void)state;
	put_every_kind(db);
	tidy_all(db, BASE_NS + 2 * DAY_NS, &short_limits);
	found = found_rows(db, &table_function_day, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct function_row *)found.rows)->name.len, 17);
	assert_int_equal(((struct function_row *)found.rows)->counters[FUNCTION_CALLS].value, 6);
	assert_false(IS_MEASURED(((struct function_row *)found.rows)->counters[FUNCTION_TOTAL_NS]));
	found_free(&found);
	found = found_rows(db, &table_database_hour, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct database_row *)found.rows)->backends, 9);
	assert_int_equal(((struct database_row *)found.rows)->counters[DATABASE_SESSIONS].value, 3);
	found_free(&found);
	found = found_rows(db, &table_io_day, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct io_row *)found.rows)->counters[IO_FSYNC_NS].value, 9);
	found_free(&found);
	found = found_rows(db, &table_wait_hour, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct wait_row *)found.rows)->seen, 12);
	assert_int_equal(((struct wait_row *)found.rows)->looks, 180);
	found_free(&found);
	suite->ops->close(db);
}

static void runs_of_an_hour_become_its_cost(void **state)
{
	static const struct {
		uint32_t outcome, capture;
		uint64_t server_ns;
	} runs[] = {
		{ RUN_SUCCESS, CAPTURE_GATED, 10 }, { RUN_SUCCESS, CAPTURE_SCHEDULED, 100 },
		{ RUN_SUCCESS, CAPTURE_OWED, 50 },  { RUN_PERMISSIONS, CAPTURE_NONE, 1 },
		{ RUN_ERROR, CAPTURE_MISSED, 2 },   { RUN_ABANDONED, CAPTURE_MISSED, 3 },
		{ RUN_SKIPPED, CAPTURE_NONE, 0 },
	};
	const struct cost_row *cost;
	struct found found;
	void *db = stage_fresh();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct run_row run = { .server = 1,
				       .reading = READING_STATEMENTS,
				       .at_wall_ns = BASE_NS + (int64_t)i * MINUTE_NS,
				       .cycle = i,
				       .outcome = runs[i].outcome,
				       .capture = runs[i].capture,
				       .rows = 10,
				       .bytes = 1000,
				       .server_ns = runs[i].server_ns,
				       .own_ns = 7 };
		struct fleet_batch b = batch_of(1, i, &table_run, &run);

		run.reading = READING_DATABASES;
		batch_add(&b, &table_run, &run);
		put_one(db, &b);
	}
	tidy_all(db, BASE_NS + 2 * HOUR_NS, &short_limits);
	found = found_rows(db, &table_cost, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 2);
	cost = (struct cost_row *)found.rows;
	assert_int_equal(cost->reading, READING_STATEMENTS);
	assert_int_equal(cost->at_wall_ns, BASE_NS);
	assert_int_equal(cost->runs, 7);
	assert_int_equal(cost->captures, 2);
	assert_int_equal(cost->failures, 3);
	assert_int_equal(cost->skipped, 1);
	assert_int_equal(cost->server_ns, 166);
	assert_int_equal(cost->longest_server_ns, 100);
	assert_int_equal(cost->own_ns, 49);
	assert_int_equal(cost->rows, 70);
	assert_int_equal(cost->bytes, 7000);
	found_free(&found);
	suite->ops->close(db);
}

static void a_sum_that_has_no_room_is_the_largest_number_and_no_failure(void **state)
{
	struct found found;
	void *db = stage_fresh();

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		struct statement_row row = statement(1, BASE_NS + (int64_t)i * MINUTE_NS, 1);

		row.counters[STATEMENT_CALLS] = COUNTER(INT64_MAX - 5);
		put_statement(db, &row, i);
	}
	tidy_all(db, BASE_NS + 2 * DAY_NS, &short_limits);
	found = found_rows(db, &table_statement_day, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_true(((struct statement_row *)found.rows)->counters[STATEMENT_CALLS].value ==
		    INT64_MAX);
	found_free(&found);
	suite->ops->close(db);
}

static uint64_t calls_in(void *db, const struct table *t)
{
	struct found found = found_rows(db, t, &FLEET_RANGE_ALL);
	uint64_t calls = 0;

	for (size_t i = 0; i < found.count; i++)
		calls += ((struct statement_row *)found.rows)[i].counters[STATEMENT_CALLS].value;
	found_free(&found);
	return calls;
}

static void who_comes_late_is_counted_once_wherever_his_rows_would_be(void **state)
{
	static const struct {
		const char *name;
		int64_t late_ns; /* before now */
		bool has_raw, has_hour;
	} cases[] = {
		{ "his hour was summed, its rows are there", DAY_NS, true, true },
		{ "the rows of his hour are gone", 3 * DAY_NS, false, true },
		{ "the hours of his day are gone", 8 * DAY_NS, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		void *db = stage_fresh();
		int64_t at_ns = BASE_NS + 5 * MINUTE_NS;
		int64_t now_ns = BASE_NS + HOUR_NS / 2 + cases[i].late_ns + DAY_NS;
		struct statement_row row = statement(1, at_ns, 1);
		struct fleet_batch again;

		print_message("%s\n", cases[i].name);
		row.counters[STATEMENT_CALLS] = COUNTER(10);
		put_statement(db, &row, 1);
		tidy_all(db, now_ns - DAY_NS, &short_limits);
		/* The same hour, another visit; a restart of the collector lies between. */
		suite->ops->close(db);
		db = stage_open(FLEET_WRITE);
		row = statement(1, at_ns + MINUTE_NS, 1);
		row.counters[STATEMENT_CALLS] = COUNTER(5);
		put_statement(db, &row, 2);
		again = batch_of(1, 2, &table_statement, &row);
		batch_add_run(&again, row.at_wall_ns);
		assert_true(put_one(db, &again));
		assert_int_equal(calls_in(db, &table_statement), cases[i].has_raw ? 15 : 0);
		for (int times = 0; times < 2; times++)
			tidy_all(db, now_ns, &short_limits);
		assert_int_equal(calls_in(db, &table_statement_day), 15);
		if (cases[i].has_hour)
			assert_int_equal(calls_in(db, &table_statement_hour), 15);
		suite->ops->close(db);
	}
}

/* Visits at random times of 15 days, some days late, while it is tidied: at the end every call is in a day, once. */
static void whatever_the_order_of_visits_and_tidying_nothing_is_lost_or_doubled(void **state)
{
	uint64_t total[3] = { 0 };
	struct found found;
	struct rng r;
	void *db = stage_fresh();

	(void)state;
	rng_seed(&r, 3);
	for (uint64_t i = 0; i < 400; i++) {
		int64_t now_ns = BASE_NS + (int64_t)i * 15 * DAY_NS / 400;
		uint64_t late = rng_below(&r, 4) == 0 ? rng_below(&r, (uint64_t)(7 * DAY_NS))
						      : rng_below(&r, (uint64_t)HOUR_NS);
		int64_t at_ns = now_ns - (int64_t)late < BASE_NS ? now_ns : now_ns - (int64_t)late;
		uint32_t server = 1 + (uint32_t)rng_below(&r, 2);
		struct statement_row row = statement(server, at_ns, (int64_t)rng_below(&r, 3));
		uint64_t calls = rng_below(&r, 1000);

		row.counters[STATEMENT_CALLS] = COUNTER(calls);
		total[server] += calls;
		put_statement(db, &row, i);
		if (rng_below(&r, 4) == 0)
			tidy_all(db, now_ns, &short_limits);
		if (rng_below(&r, 40) == 0) {
			suite->ops->close(db);
			db = stage_open(FLEET_WRITE);
		}
	}
	tidy_all(db, BASE_NS + 16 * DAY_NS + HOUR_NS, &short_limits);
	found = found_rows(db, &table_statement_day, &FLEET_RANGE_ALL);
	for (size_t i = 0; i < found.count; i++) {
		const struct statement_row *row = &((struct statement_row *)found.rows)[i];

		assert_int_equal(row->at_wall_ns % DAY_NS, 0);
		total[row->server] -= row->counters[STATEMENT_CALLS].value;
	}
	found_free(&found);
	assert_int_equal(total[1], 0);
	assert_int_equal(total[2], 0);
	suite->ops->close(db);
}

int suite_sums(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_is_summed_when_it_is_over),
		cmocka_unit_test(every_kind_of_row_has_its_way_of_summing),
		cmocka_unit_test(runs_of_an_hour_become_its_cost),
		cmocka_unit_test(a_sum_that_has_no_room_is_the_largest_number_and_no_failure),
		cmocka_unit_test(who_comes_late_is_counted_once_wherever_his_rows_would_be),
		cmocka_unit_test(
			whatever_the_order_of_visits_and_tidying_nothing_is_lost_or_doubled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
