/* test_fleet_analysis.c - rows of a fleet, added up. */
#include "made_fleet_rows.h"

static void counters_add_up_and_not_measured_is_no_zero(void **state)
{
	struct fleet_analysis a;
	struct statement_row row = ran(1, 100, 2, 10);

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_statement, &row);
	row.counters[STATEMENT_TEMP_READ] = COUNTER(7);
	take(&a, &table_statement, &row);
	row.counters[STATEMENT_TEMP_READ] = NOT_MEASURED;
	row.counters[STATEMENT_CALLS] = COUNTER(0);
	row.counters[STATEMENT_EXEC_NS] = COUNTER(0);
	take(&a, &table_statement, &row);
	row = ran(1, 160, 1, 0);
	row.span_ns = 0; /* cannot know */
	row.life = DELTA_RESTARTED;
	take(&a, &table_statement, &row);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statement_count, 1);
	assert_int_equal(a.statements[0].sums[STATEMENT_CALLS].value, 4);
	assert_int_equal(a.statements[0].sums[STATEMENT_TEMP_READ].value, 7);
	assert_false(IS_MEASURED(a.statements[0].sums[STATEMENT_WAL_BYTES]));
	assert_int_equal(a.statements[0].differences, 3);
	assert_int_equal(a.statements[0].unknown, 1);
	assert_int_equal(a.statements[0].last_life, DELTA_RESTARTED);
	assert_int_equal(a.statements[0].span_ns, 180 * NS_PER_S);
	assert_int_equal(a.exec_ns, 20 * NS_PER_MS);
	fleet_analysis_free(&a);
	fleet_analysis_free(&a);
}

static void statements_stand_by_their_time_and_apart_by_server_and_key(void **state)
{
	struct fleet_analysis a;
	struct statement_row first = ran(1, 100, 1, 10), second = ran(2, 100, 1, 30),
			     third = ran(1, 100, 1, 20);

	(void)state;
	third.key.is_toplevel = false;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_statement, &first);
	take(&a, &table_statement, &second);
	take(&a, &table_statement, &third);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statement_count, 3);
	assert_int_equal(a.statements[0].server, 2);
	assert_false(a.statements[1].key.is_toplevel);
	assert_int_equal(a.servers[0].server, 1); /* 30 ms as well, the lower number first */
	assert_int_equal(a.servers[0].exec_ns, 30 * NS_PER_MS);
	assert_int_equal(a.servers[0].statements, 2);
	fleet_analysis_free(&a);
}

static void a_change_of_plan_has_two_sides(void **state)
{
	struct fleet_analysis a;
	struct plan_row cheap = planned(1, 1, 50, 200), cheap_again = planned(2, 1, 90, 200),
			dear = planned(3, 2, 300, 400);
	struct statement_row before = ran(1, 100, 10, 10), within = ran(1, 300, 5, 500),
			     after = ran(1, 360, 10, 2000);

	(void)state;
	assert_int_equal(fleet_analysis_open(60 * S, 1000 * S, &a), 0);
	take(&a, &table_plan, &dear);
	take(&a, &table_plan, &cheap_again);
	take(&a, &table_plan, &cheap);
	take(&a, &table_statement, &before);
	take(&a, &table_statement, &within);
	take(&a, &table_statement, &after);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statements[0].plans, 3);
	assert_int_equal(a.statements[0].shapes, 2);
	assert_int_equal(a.statements[0].changed_wall_ns, 300 * S);
	assert_int_equal(a.statements[0].plan->plan.bytes[0], 3);
	assert_int_equal(a.statements[0].plan_before->plan.bytes[0], 2);
	assert_int_equal(
		fleet_mean_ns(a.statements[0].before.exec_ns, a.statements[0].before.calls),
		NS_PER_MS);
	assert_int_equal(fleet_mean_ns(a.statements[0].after.exec_ns, a.statements[0].after.calls),
			 200 * NS_PER_MS);
	assert_int_equal(a.servers[0].changes, 1);
	fleet_analysis_free(&a);
}

static void another_plan_of_the_same_shape_is_no_change(void **state)
{
	struct fleet_analysis a;
	struct plan_row first = planned(1, 1, 50, 100), second = planned(2, 1, 150, 200);
	struct statement_row row = ran(1, 100, 1, 1);

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_plan, &first);
	take(&a, &table_plan, &second);
	take(&a, &table_statement, &row);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statements[0].changed_wall_ns, 0);
	assert_null(a.statements[0].plan_before);
	assert_int_equal(a.servers[0].changes, 0);
	fleet_analysis_free(&a);
}

static void a_plan_that_came_back_is_no_dated_change(void **state)
{
	struct fleet_analysis a;
	struct plan_row first = planned(1, 1, 50, 500), second = planned(2, 2, 150, 200);
	struct statement_row row = ran(1, 100, 1, 1);

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_plan, &first);
	take(&a, &table_plan, &second);
	take(&a, &table_statement, &row);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statements[0].plan->plan.bytes[0], 1);
	assert_int_equal(a.statements[0].changed_wall_ns, 0);
	fleet_analysis_free(&a);
}

static void what_did_not_run_in_the_span_is_left_out(void **state)
{
	struct fleet_analysis a;
	struct query_row query = { .server = 1, .key = select_key };
	struct statement_row early = ran(1, 99, 1, 1), late = ran(1, 200, 1, 1);

	(void)state;
	assert_int_equal(fleet_analysis_open(100 * S, 200 * S, &a), 0);
	take(&a, &table_query, &query);
	take(&a, &table_statement, &early);
	take(&a, &table_statement, &late); /* to is not in it */
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.statement_count, 0);
	assert_int_equal(a.first_wall_ns, 0);
	fleet_analysis_free(&a);
}

static void a_statement_has_its_text_and_the_reason_why_it_has_no_plan(void **state)
{
	struct fleet_analysis a;
	struct query_row query = { .server = 1,
				   .key = select_key,
				   .command = STR_LITERAL("select") };
	struct no_plan_row no_plan = { .server = 1, .key = select_key, .reason = PLAN_LOCK };
	struct statement_row row = ran(1, 100, 1, 1);

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_query, &query);
	take(&a, &table_no_plan, &no_plan);
	take(&a, &table_statement, &row);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_memory_equal(a.statements[0].query->command.bytes, "select", 6);
	assert_int_equal(a.statements[0].no_plan->reason, PLAN_LOCK);
	assert_int_equal(a.servers[0].without_plan, 1);
	fleet_analysis_free(&a);
}

static void what_may_not_be_seen_counts_in_the_totals_and_is_named(void **state)
{
	struct fleet_analysis a;
	struct statement_row seen = ran(1, 100, 1, 10), hidden = ran(1, 100, 9, 90);

	(void)state;
	hidden.key = (struct statement_key){ 0, 0, 0, true };
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_statement, &seen);
	take(&a, &table_statement, &hidden);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.servers[0].exec_ns, 100 * NS_PER_MS);
	assert_int_equal(a.servers[0].hidden_exec_ns, 90 * NS_PER_MS);
	assert_int_equal(a.servers[0].hidden_calls, 9);
	assert_int_equal(a.servers[0].statements, 1);
	fleet_analysis_free(&a);
}

static void looks_of_a_visit_count_once(void **state)
{
	struct fleet_analysis a;
	struct wait_row lock = { .server = 1,
				 .at_wall_ns = 100 * S,
				 .wait_type = STR_LITERAL("Lock"),
				 .seen = 3,
				 .looks = 5 };
	struct wait_row cpu = { .server = 1, .at_wall_ns = 100 * S, .seen = 8, .looks = 5 };

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_wait, &lock);
	take(&a, &table_wait, &cpu);
	lock.queryid = 9; /* another statement that waits for the same */
	take(&a, &table_wait, &lock);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.servers[0].looks, 5);
	assert_int_equal(a.wait_count, 2);
	assert_int_equal(a.waits[0].seen, 8);
	assert_int_equal(a.waits[1].seen, 6);
	fleet_analysis_free(&a);
}

static void runs_are_counted_by_what_they_came_to(void **state)
{
	struct fleet_analysis a;
	struct run_row run = { .server = 1,
			       .reading = READING_STATEMENTS,
			       .at_wall_ns = 100 * S,
			       .server_ns = 10,
			       .capture = CAPTURE_GATED };

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	take(&a, &table_run, &run);
	run.capture = CAPTURE_OWED;
	run.server_ns = 200;
	run.at_wall_ns += S;
	take(&a, &table_run, &run);
	run.outcome = RUN_ERROR;
	run.capture = CAPTURE_MISSED;
	run.reason = STR_LITERAL("cannot connect");
	run.at_wall_ns += S;
	take(&a, &table_run, &run);
	run = (struct run_row){ .server = 1,
				.reading = READING_VISIT,
				.at_wall_ns = 100 * S,
				.outcome = RUN_SKIPPED,
				.server_ns = 1000 };
	take(&a, &table_run, &run);
	run.outcome = RUN_SUCCESS;
	take(&a, &table_run, &run);
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.readings[0].runs, 3);
	assert_int_equal(a.readings[0].captures, 1);
	assert_int_equal(a.readings[0].gated, 1);
	assert_int_equal(a.readings[0].missed, 1);
	assert_int_equal(a.readings[0].failures, 1);
	assert_int_equal(a.readings[0].capture_server_ns, 200);
	assert_int_equal(a.readings[0].longest_server_ns, 200);
	assert_memory_equal(a.readings[0].last_reason.bytes, "cannot connect", 14);
	assert_int_equal(a.readings[0].well_wall_ns, 101 * S);
	assert_int_equal(a.readings[0].last_wall_ns, 102 * S);
	assert_int_equal(a.readings[1].reading, READING_VISIT);
	assert_int_equal(a.readings[1].skipped, 1);
	assert_int_equal(a.servers[0].visits, 1);
	assert_int_equal(a.servers[0].skipped, 1);
	assert_int_equal(a.servers[0].well, 1);
	assert_int_equal(a.servers[0].server_ns,
			 410); /* of readings: a visit as a whole is not counted twice */
	fleet_analysis_free(&a);
}

static void a_thousand_servers_are_found_again(void **state)
{
	struct fleet_analysis a;

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &a), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t server = 1; server <= 1000; server++) {
			struct function_row row = { .server = server,
						    .at_wall_ns = 100 * S,
						    .funcid = 7,
						    .span_ns = 1,
						    .name = STR_LITERAL("f()") };

			row.counters[FUNCTION_CALLS] = COUNTER(1);
			row.counters[FUNCTION_TOTAL_NS] = NOT_MEASURED;
			row.counters[FUNCTION_SELF_NS] = COUNTER(server);
			take(&a, &table_function, &row);
		}
	assert_int_equal(fleet_analysis_close_input(&a), 0);
	assert_int_equal(a.function_count, 1000);
	assert_int_equal(a.functions[0].server, 1000);
	assert_int_equal(a.functions[999].sums[FUNCTION_CALLS].value, 2);
	assert_memory_equal(a.functions[0].name.bytes, "f()", 3);
	fleet_analysis_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_add_up_and_not_measured_is_no_zero),
		cmocka_unit_test(statements_stand_by_their_time_and_apart_by_server_and_key),
		cmocka_unit_test(a_change_of_plan_has_two_sides),
		cmocka_unit_test(another_plan_of_the_same_shape_is_no_change),
		cmocka_unit_test(a_plan_that_came_back_is_no_dated_change),
		cmocka_unit_test(what_did_not_run_in_the_span_is_left_out),
		cmocka_unit_test(a_statement_has_its_text_and_the_reason_why_it_has_no_plan),
		cmocka_unit_test(what_may_not_be_seen_counts_in_the_totals_and_is_named),
		cmocka_unit_test(looks_of_a_visit_count_once),
		cmocka_unit_test(runs_are_counted_by_what_they_came_to),
		cmocka_unit_test(a_thousand_servers_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
