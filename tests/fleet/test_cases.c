/* test_cases.c - the cases of others' trouble tickets, against real servers: no rights, evictions, resets and restarts, an old
 * extension, clocks, a standby, a role with a time limit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/visits.h"

static void run_times(const struct stage *s, const char *user, const char *database,
		      const char *sql, int times)
{
	PGconn *conn = stage_connect(s, user, database);

	for (int i = 0; i < times; i++) {
		PGresult *result = PQexec(conn, sql);

		if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		    PQresultStatus(result) != PGRES_COMMAND_OK)
			fail_msg("%s: %s", sql, PQerrorMessage(conn));
		PQclear(result);
	}
	PQfinish(conn);
}

static void visit_and_forget(struct visits *v)
{
	struct fleet_batch b;

	visits_go(v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
}

/* What two visits of two roles must have in common: everything that others ran. */
static uint64_t sum_without(const struct fleet_batch *b, enum statement_counter counter,
			    int64_t queryid)
{
	const struct statement_row *row = statement_of(b, queryid);

	return sum_of(b, counter) - (row != NULL ? row->counters[counter].value : 0);
}

static void without_rights_others_are_one_sum_and_totals_are_the_superusers(void **state)
{
	struct visits plain, super;
	struct fleet_batch p, s;
	struct stage stage;
	const struct statement_row *sum;
	int64_t own;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL,
		  "CREATE EXTENSION pg_stat_statements; CREATE ROLE plain LOGIN; CREATE ROLE a "
		  "LOGIN; CREATE ROLE b LOGIN; CREATE ROLE c LOGIN; CREATE ROLE super LOGIN "
		  "SUPERUSER");
	visits_open(&plain, &stage, "plain", NULL);
	visits_open(&super, &stage, "super", NULL);
	for (int i = 0; i < 2; i++) {
		visit_and_forget(&super);
		visit_and_forget(&plain);
	}
	run_times(&stage, "a", NULL, "SELECT 1 + 1", 11);
	run_times(&stage, "b", NULL, "SELECT 'x' || 'y', 1", 13);
	run_times(&stage, "c", NULL, "SELECT 1, 2, 3", 17);
	run_times(&stage, "plain", NULL, "SELECT 5 * 5 AS own", 3);
	own = queryid_of(&stage, NULL, "SELECT $1 * $2 AS own");
	visits_go(&plain, CADENCE_GATED, &p);
	visits_go(&super, CADENCE_GATED, &s);
	sum = statement_of(&p, 0);
	assert_non_null(sum);
	assert_int_equal(sum->life, DELTA_SAME);
	assert_int_equal(statement_of(&p, own)->counters[STATEMENT_CALLS].value, 3);
	/* The superuser sees the test's own questions as others', as does the sum; ours are left out of both but for those of the other
	 * collector, which each has: `plain` sees those of `super`, and the other way round. */
	assert_true(sum->counters[STATEMENT_CALLS].value >= 11 + 13 + 17);
	assert_int_equal(sum_without(&p, STATEMENT_CALLS, 0), 3);
	assert_true(sum_of(&s, STATEMENT_CALLS) >= 11 + 13 + 17 + 3);
	assert_int_equal(run_of(&p, READING_STATEMENTS)->outcome, RUN_SUCCESS);
	assert_non_null(memmem(run_of(&p, READING_STATEMENTS)->reason.bytes,
			       run_of(&p, READING_STATEMENTS)->reason.len, "pg_read_all_stats",
			       17));
	fleet_batch_free(&p);
	fleet_batch_free(&s);
	visits_close(&super);
	visits_close(&plain);
	stage_close(&stage);
}

/* Calls of all but `plain`, as the server itself counts them. */
static uint64_t calls_of_others(const struct stage *stage)
{
	return (uint64_t)stage_number(
		stage, NULL,
		"SELECT sum(calls) FROM pg_stat_statements WHERE userid <> 'plain'::regrole");
}

static void the_sum_of_others_is_what_the_superuser_counts(void **state)
{
	struct visits plain;
	struct fleet_batch p;
	struct stage stage;
	uint64_t before, after;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL,
		  "CREATE EXTENSION pg_stat_statements; CREATE ROLE plain LOGIN; CREATE ROLE a "
		  "LOGIN");
	visits_open(&plain, &stage, "plain", NULL);
	visit_and_forget(&plain);
	visit_and_forget(&plain);
	before = calls_of_others(&stage);
	run_times(&stage, "a", NULL, "SELECT 1 + 1", 100);
	after = calls_of_others(&stage);
	visits_go(&plain, CADENCE_GATED, &p);
	/* Of the two questions here one began before the visit's first reading and one after. */
	assert_in_range(statement_of(&p, 0)->counters[STATEMENT_CALLS].value, after - before,
			after - before + 1);
	fleet_batch_free(&p);
	visits_close(&plain);
	stage_close(&stage);
}

static void rights_that_are_given_or_taken_make_no_difference_of_a_whole_life(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements; CREATE ROLE plain LOGIN");
	run_times(&stage, NULL, NULL, "SELECT 1 + 1", 1000);
	visits_open(&v, &stage, "plain", NULL);
	visit_and_forget(&v);
	visit_and_forget(&v);
	stage_run(&stage, NULL, "GRANT pg_read_all_stats TO plain");
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(sum_of(&b, STATEMENT_CALLS) < 100);
	fleet_batch_free(&b);
	visit_and_forget(&v);
	stage_run(&stage, NULL, "REVOKE pg_read_all_stats FROM plain");
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(sum_of(&b, STATEMENT_CALLS) < 100);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

static void evicted_statements_that_come_back_never_give_negative_or_borrowed_numbers(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	const struct life_row *life = NULL;
	uint64_t evictions;
	PGconn *conn;
	char sql[4000];

	(void)state;
	stage_open(&stage, "pg_stat_statements.max = 100");
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	run_times(&stage, NULL, NULL, "SELECT 1 AS first_one", 50);
	visits_open(&v, &stage, NULL, NULL);
	visit_and_forget(&v);
	conn = stage_connect(&stage, NULL, NULL);
	for (int i = 1; i <= 300; i++) {
		size_t len = (size_t)snprintf(sql, sizeof(sql), "SELECT 1");

		for (int j = 0; j < i; j++)
			len += (size_t)snprintf(sql + len, sizeof(sql) - len, ", 1");
		for (int j = 0; j < 4; j++)
			PQclear(PQexec(conn, sql));
	}
	PQfinish(conn);
	run_times(&stage, NULL, NULL, "SELECT 1 AS first_one", 1000);
	visits_go(&v, CADENCE_GATED, &b);
	for (size_t i = 0; i < count_of(&b, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_of(&b, &table_statement, i);

		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			assert_true(!IS_MEASURED(row->counters[c]) ||
				    row->counters[c].value < UINT64_C(1) << 50);
		if (IS_MEASURED(row->counters[STATEMENT_CALLS]))
			assert_true(row->counters[STATEMENT_CALLS].value <= 1000);
	}
	for (size_t i = 0; i < count_of(&b, &table_life, BLOCK_PUT); i++) {
		const struct life_row *row = row_of(&b, &table_life, i);

		if (row->reading == READING_STATEMENTS)
			life = row;
	}
	assert_non_null(life);
	evictions =
		(uint64_t)stage_number(&stage, NULL, "SELECT dealloc FROM pg_stat_statements_info");
	assert_true(life->evictions > 0);
	assert_true(life->evictions <= evictions);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

static void resets_and_restarts_are_new_lives(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	const struct statement_row *row;
	char sql[256];
	int64_t one;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 500);
	one = queryid_of(&stage, NULL, "SELECT $1 AS one");
	visits_open(&v, &stage, NULL, NULL);
	visit_and_forget(&v);

	/* One statement is reset: a counter is smaller, so all that it has came since. */
	snprintf(sql, sizeof(sql), "SELECT pg_stat_statements_reset(0, 0, %lld)", (long long)one);
	stage_run(&stage, NULL, sql);
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 5);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, one);
	assert_non_null(row);
	assert_true(row->life == DELTA_SHRUNK || row->life == DELTA_BEGAN);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 5);
	fleet_batch_free(&b);

	/* All are: what came since is counted, and the reset is said. */
	stage_run(&stage, NULL, "SELECT pg_stat_statements_reset()");
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 7);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, one);
	assert_non_null(row);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 7);
	assert_non_null(memmem(run_of(&b, READING_STATEMENTS)->reason.bytes,
			       run_of(&b, READING_STATEMENTS)->reason.len, "reset", 5));
	fleet_batch_free(&b);

	/* A restart in the middle: counters survive it, the span is not known to be one. */
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 9);
	stage_stop(&stage, 'f');
	{
		struct err err = ERR_EMPTY;

		assert_int_equal(visits_try(&v, CADENCE_GATED, &b, &err), -ECONNRESET);
		fleet_batch_free(&b);
	}
	stage_start(&stage);
	visits_go(&v, CADENCE_GATED, &b);
	assert_null(statement_of(&b, one));
	assert_non_null(memmem(run_of(&b, READING_STATEMENTS)->reason.bytes,
			       run_of(&b, READING_STATEMENTS)->reason.len, "started again", 13));
	fleet_batch_free(&b);
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 2);
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(statement_of(&b, one)->counters[STATEMENT_CALLS].value, 2);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

static void an_old_extension_is_read_by_its_own_columns(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	const struct statement_row *row;
	int64_t one;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements VERSION '1.7'");
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 1);
	one = queryid_of(&stage, NULL, "SELECT $1 AS one");
	visits_open(&v, &stage, NULL, NULL);
	visit_and_forget(&v);
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 4);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	row = statement_of(&b, one);
	assert_non_null(row);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 4);
	assert_true(IS_MEASURED(row->counters[STATEMENT_EXEC_NS]));
	assert_false(IS_MEASURED(row->counters[STATEMENT_WAL_BYTES]));
	assert_false(IS_MEASURED(row->counters[STATEMENT_PLANS]));
	fleet_batch_free(&b);
	stage_run(&stage, NULL, "ALTER EXTENSION pg_stat_statements UPDATE");
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 4);
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, one);
	assert_non_null(row);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 4);
	assert_true(row->counters[STATEMENT_EXEC_NS].value < UINT64_C(1000000000));
	fleet_batch_free(&b);
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 4);
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(IS_MEASURED(statement_of(&b, one)->counters[STATEMENT_WAL_BYTES]));
	fleet_batch_free(&b);
	stage_run(&stage, NULL, "DROP EXTENSION pg_stat_statements");
	visits_go(&v, CADENCE_SCHEDULED, &b);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->outcome, RUN_SKIPPED);
	assert_int_equal(run_of(&b, READING_DATABASES)->outcome, RUN_SUCCESS);
	assert_false(v.has_captured);
	fleet_batch_free(&b);
	stage_run(&stage, NULL,
		  "CREATE SCHEMA \"odd \"\"name\"; CREATE EXTENSION pg_stat_statements SCHEMA "
		  "\"odd \"\"name\"");
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->outcome, RUN_SUCCESS);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

static void spans_are_of_the_servers_clock_and_its_distance_from_ours_is_kept(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	const struct server_facts *facts;
	const struct statement_row *row;
	struct timespec pause = { 0, 300000000 };
	int64_t one;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 1);
	one = queryid_of(&stage, NULL, "SELECT $1 AS one");
	visits_open(&v, &stage, NULL, NULL);
	v.later_ns = INT64_C(-3600) * 1000000000; /* the server is an hour ahead of us */
	visit_and_forget(&v);
	facts = server_facts_of(v.server);
	assert_non_null(facts);
	assert_true(llabs(facts->ahead_ns - INT64_C(3600) * 1000000000) < INT64_C(5000000000));
	run_times(&stage, NULL, NULL, "SELECT 1 AS one", 2);
	nanosleep(&pause, NULL);
	v.later_ns = INT64_C(3600) * 1000000000; /* ours jumps by two: its own span stays */
	visits_go(&v, CADENCE_GATED, &b);
	row = statement_of(&b, one);
	assert_non_null(row);
	assert_in_range(row->span_ns, UINT64_C(300000000), UINT64_C(30000000000));
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 2);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

static void a_standby_is_read_as_its_primary_is(void **state)
{
	struct stage primary, standby;
	struct fleet_batch b;
	struct visits v;

	(void)state;
	stage_open(&primary, NULL);
	stage_run(&primary, NULL,
		  "CREATE EXTENSION pg_stat_statements; CREATE TABLE t AS SELECT 1 AS x");
	stage_open_standby(&standby, &primary, NULL);
	visits_open(&v, &standby, NULL, NULL);
	visit_and_forget(&v);
	assert_true(server_facts_of(v.server)->is_standby);
	run_times(&standby, NULL, NULL, "SELECT x FROM t", 5);
	visits_go(&v, CADENCE_SCHEDULED, &b);
	assert_int_equal(statement_of(&b, queryid_of(&standby, NULL, "SELECT x FROM t"))
				 ->counters[STATEMENT_CALLS]
				 .value,
			 5);
	assert_true(count_of(&b, &table_plan, BLOCK_PUT) > 0);
	assert_true(v.has_captured);
	for (unsigned i = 0; i < READING_COUNT; i++)
		if (run_of(&b, i) != NULL)
			assert_true(run_of(&b, i)->outcome == RUN_SUCCESS ||
				    run_of(&b, i)->outcome == RUN_SKIPPED);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&standby);
	stage_close(&primary);
}

static void a_role_with_a_time_limit_keeps_it_and_its_visit_goes_on(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	const struct run_row *run;
	PGconn *holder;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL,
		  "CREATE EXTENSION pg_stat_statements; CREATE ROLE tight LOGIN; GRANT pg_monitor "
		  "TO tight;"
		  "ALTER ROLE tight SET statement_timeout = '100ms'");
	visits_open(&v, &stage, "tight", NULL);
	visit_and_forget(&v);
	{
		PGresult *result = PQexec(v.drive.conn, "SHOW statement_timeout");

		assert_string_equal(PQgetvalue(result, 0, 0), "100ms");
		PQclear(result);
	}
	/* A reading that takes longer: its view is being changed by somebody. */
	holder = stage_connect(&stage, NULL, NULL);
	PQclear(PQexec(holder, "SET allow_system_table_mods = on"));
	PQclear(PQexec(holder, "BEGIN"));
	PQclear(PQexec(holder, "ALTER VIEW pg_stat_database OWNER TO postgres"));
	visits_go(&v, CADENCE_GATED, &b);
	run = run_of(&b, READING_DATABASES);
	assert_int_equal(run->outcome, RUN_ERROR);
	assert_memory_equal(run->sqlstate.bytes, "57014", 5);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->outcome, RUN_SUCCESS);
	fleet_batch_free(&b);
	PQfinish(holder);
	visits_go(&v, CADENCE_GATED, &b);
	assert_int_equal(run_of(&b, READING_DATABASES)->outcome, RUN_SUCCESS);
	assert_true(count_of(&b, &table_database, BLOCK_PUT) > 0);
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rights_others_are_one_sum_and_totals_are_the_superusers),
		cmocka_unit_test(the_sum_of_others_is_what_the_superuser_counts),
		cmocka_unit_test(rights_that_are_given_or_taken_make_no_difference_of_a_whole_life),
		cmocka_unit_test(
			evicted_statements_that_come_back_never_give_negative_or_borrowed_numbers),
		cmocka_unit_test(resets_and_restarts_are_new_lives),
		cmocka_unit_test(an_old_extension_is_read_by_its_own_columns),
		cmocka_unit_test(spans_are_of_the_servers_clock_and_its_distance_from_ours_is_kept),
		cmocka_unit_test(a_standby_is_read_as_its_primary_is),
		cmocka_unit_test(a_role_with_a_time_limit_keeps_it_and_its_visit_goes_on),
	};

	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
