/* test_runner.c - the runner over a real PostgreSQL, with bodies whose questions the test chooses: no two runs at once, budgets, restarts, the
 * gate, looks beside a stalled body. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/loop.h"
#include "fleet/runner_desk.h"
#include "fleet/stage.h"

static struct stage stage = STAGE_EMPTY;
static struct desk *desk; /* of the test that runs */

static int start(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, "postgres", "CREATE ROLE watcher LOGIN");
	return 0;
}

static int end(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static int before(void **state)
{
	(void)state;
	desk = calloc(1, sizeof(*desk));
	desk->settings = desk_settings();
	return desk == NULL;
}

static int after(void **state)
{
	(void)state;
	desk_close(desk);
	free(desk);
	return 0;
}

static void add(uint32_t id, const char *body_sql)
{
	desk_add(desk, id, stage.sockets, "5432");
	desk->made[id]->body_sql = body_sql;
}

static struct runner_server server_of(uint32_t id)
{
	struct runner_server servers[DESK_SERVERS];

	assert_true(id < runner_servers(desk->runner, servers, DESK_SERVERS));
	return servers[id];
}

static void a_run_never_overlaps_its_predecessor(void **state)
{
	(void)state;
	desk_open(desk);
	add(0, "SELECT pg_sleep(0.8)");
	desk_turn_until(desk, 0, 6);
	assert_true(desk_count(desk, 0, RUN_SKIPPED, "in flight") >= 2);
	assert_true(desk_count(desk, 0, RUN_SUCCESS, "") >= 2);
	assert_int_equal(desk->made[0]->opened - desk->made[0]->commits <= 1, true);
	for (unsigned i = 1; i < desk->counts[0]; i++)
		assert_int_not_equal(desk->visits[0][i].cycle, desk->visits[0][i - 1].cycle);
}

static void over_its_budget_a_visit_ships_nothing_and_the_capture_stays_due(void **state)
{
	(void)state;
	desk->settings.budget_ns = 1200 * NS_PER_MS;
	desk->settings.query_ns = 20 * NS_PER_S;
	desk->settings.one_in = 1;
	desk_open(desk);
	add(0, "SELECT pg_sleep(9)");
	desk_turn_until(desk, 0, 3);
	assert_true(desk_count(desk, 0, RUN_ABANDONED, "over its budget of 1 s") >= 1);
	for (unsigned i = 0; i < desk->counts[0]; i++)
		assert_true(desk->visits[0][i].is_alone);
	assert_int_equal(desk->made[0]->commits, 0);
	assert_false(server_of(0).is_captured);
	assert_true(server_of(0).is_in_lane);
	assert_int_equal(desk->visits[0][0].capture, CAPTURE_MISSED);
}

static void a_body_that_has_not_captured_leaves_it_due(void **state)
{
	(void)state;
	desk->settings.one_in = 1;
	desk_open(desk);
	add(0, "SELECT 1");
	desk->made[0]->capture_sql = "SELECT 1/0";
	desk_turn_until(desk, 0, 3);
	for (unsigned i = 0; i < desk->counts[0]; i++)
		assert_int_equal(desk->visits[0][i].capture, CAPTURE_MISSED);
	assert_int_equal(desk_count(desk, 0, RUN_SUCCESS, ""), desk->counts[0]);
	assert_false(server_of(0).is_captured);
	desk->made[0]->capture_sql = "SELECT 1";
	desk_turn_until(desk, 0, desk->counts[0] + 2);
	assert_true(server_of(0).is_captured);
	assert_int_equal(desk->visits[0][desk->counts[0] - 1].capture, CAPTURE_SCHEDULED);
}

static void a_restart_between_two_visits_costs_no_visit(void **state)
{
	unsigned commits;

	(void)state;
	desk->settings.cycle_ns = 2 * NS_PER_S;
	desk_open(desk);
	add(0, "SELECT 1");
	desk_turn_until(desk, 0, 1);
	commits = desk->made[0]->commits;
	stage_stop(&stage, 'f');
	stage_start(&stage);
	desk_turn_until(desk, 0, 2);
	assert_int_equal(desk_count(desk, 0, RUN_SUCCESS, ""), desk->counts[0]);
	assert_int_equal(desk->made[0]->new_connections, 2);
	assert_true(desk->made[0]->commits > commits);
}

static void a_connection_that_dies_unseen_costs_no_visit(void **state)
{
	(void)state;
	desk->settings.cycle_ns = 60 * NS_PER_S;
	desk_open(desk);
	add(0, "SELECT 1");
	runner_start_now(desk->runner);
	desk_turn_until(desk, 0, 1);
	stage_run(&stage, NULL,
		  "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
		  "application_name = 'tare'");
	runner_start_now(desk->runner); /* before the loop has seen it */
	desk_turn_until(desk, 0, 2);
	assert_int_equal(desk_count(desk, 0, RUN_SUCCESS, ""), 2);
	assert_int_equal(desk->made[0]->new_connections, 2);
}

static void a_server_killed_in_a_visit_is_an_error_without_memory_and_comes_back(void **state)
{
	(void)state;
	desk->settings.backoff_most_ns = NS_PER_S;
	desk_open(desk);
	add(0, "SELECT pg_sleep(0.7)");
	while (desk->made[0]->opened == 0)
		desk_turn(desk, 20 * NS_PER_MS);
	desk_turn(desk, 200 * NS_PER_MS);
	stage_stop(&stage, 'k');
	desk_turn_until(desk, 0, 1);
	assert_int_equal(desk->visits[0][0].outcome, RUN_ERROR);
	assert_int_equal(desk->made[0]->commits, 0);
	assert_true(server_of(0).is_in_lane);
	assert_non_null(strstr(desk->said[0], "failing, visited with pauses"));
	stage_start(&stage);
	while (desk->made[0]->commits == 0 && desk->counts[0] < 20)
		desk_turn(desk, 100 * NS_PER_MS);
	assert_int_equal(desk->made[0]->commits, 1);
	assert_false(server_of(0).is_in_lane);
	assert_non_null(strstr(desk->said[desk->said_count - 1], "answers again"));
}

static void a_server_that_gives_nothing_is_failing_and_a_missing_right_is_not(void **state)
{
	(void)state;
	desk_open(desk);
	add(0, "SELECT 1 / 0");
	add(1, "SELECT missing");
	desk_turn_until(desk, 0, 1);
	desk_turn_until(desk, 1, 1);
	assert_int_equal(desk->visits[0][0].outcome, RUN_ERROR);
	assert_true(server_of(0).is_in_lane);
	assert_int_equal(desk->visits[1][0].outcome, RUN_PERMISSIONS);
	assert_false(server_of(1).is_in_lane);
}

static void while_a_body_stalls_a_second_connection_looks(void **state)
{
	(void)state;
	desk->settings.cycle_ns = 5 * NS_PER_S;
	desk->settings.query_ns = 20 * NS_PER_S;
	desk_open(desk);
	add(0, "SELECT 1");
	runner_start_now(desk->runner);
	desk_turn_until(desk, 0, 1);
	assert_int_equal(desk->made[0]->looks, 1); /* behind the body: nothing was known before */
	desk->made[0]->body_sql = "SELECT pg_sleep(3.5)";
	desk_turn_until(desk, 0, 2);
	assert_int_equal(desk->visits[0][1].outcome, RUN_SUCCESS);
	/* One before, one behind, and two or three beside. */
	assert_in_range(desk->made[0]->looks, 1 + 4, 1 + 5);
	assert_int_equal(stage_number(&stage, NULL,
				      "SELECT count(*) FROM pg_stat_activity WHERE "
				      "application_name = 'tare'"),
			 1);
}

static void each_slot_captures_its_seats_and_no_others(void **state)
{
	struct runner_status status;
	unsigned captures = 0;

	(void)state;
	desk_open(desk);
	for (uint32_t id = 0; id < 10; id++)
		add(id, "SELECT 1");
	desk_turn(desk, 4600 * NS_PER_MS);
	runner_status(desk->runner, &status);
	assert_int_equal(status.n, 4);
	/* 10 servers at N = 4: [2, 2, 3, 3] in whatever order. */
	assert_int_equal(status.slot_scheduled[0] + status.slot_scheduled[1] +
				 status.slot_scheduled[2] + status.slot_scheduled[3],
			 10);
	for (int back = 0; back < 4; back++)
		assert_in_range(status.slot_scheduled[back], 2, 3);
	assert_int_equal(status.last_captures, status.slot_scheduled[1]);
	for (uint32_t id = 0; id < 10; id++) {
		for (unsigned i = 0; i < desk->counts[id]; i++) {
			bool is_seats = (desk->visits[id][i].cycle + id) % 4 == 0;

			/* Not before a turn after first sight; then in its slot, each time. */
			if (desk->visits[id][i].capture == CAPTURE_SCHEDULED) {
				assert_true(is_seats);
				captures++;
			} else if (i >= 4) {
				assert_false(is_seats);
			}
		}
		assert_true(desk->marks[id] >= 2);
	}
	assert_true(captures >= 14);
	assert_int_equal(desk->places_asked, 0);
}

static void an_owed_capture_needs_a_place(void **state)
{
	struct err err = ERR_EMPTY;
	unsigned at;

	(void)state;
	desk->has_no_places = true;
	desk_open(desk);
	add(0, "SELECT 1");
	desk->made[0]->capture_sql = "SELECT 1/0";
	desk_turn_until(desk, 0, 9); /* tried in its slot, in vain: owed from then on */
	assert_true(desk->places_asked > 0);
	for (unsigned i = 0; i < desk->counts[0]; i++)
		assert_true(desk->visits[0][i].capture == CAPTURE_GATED ||
			    (desk->visits[0][i].capture == CAPTURE_MISSED &&
			     desk->visits[0][i].cycle % 4 == 0));
	at = desk->counts[0];
	desk->has_no_places = false;
	desk->made[0]->capture_sql = "SELECT 1";
	desk_turn_until(desk, 0, at + 3);
	assert_true(server_of(0).is_captured);
	/* N = 1, live: every visit captures. */
	desk->settings.one_in = 1;
	assert_int_equal(runner_set(desk->runner, &desk->settings, &err), 0);
	at = desk->counts[0] + 1;
	desk_turn_until(desk, 0, at + 3);
	for (; at < desk->counts[0]; at++)
		assert_int_equal(desk->visits[0][at].capture, CAPTURE_SCHEDULED);
}

static void at_most_c_servers_are_visited_at_once(void **state)
{
	(void)state;
	desk->settings.at_once = 3;
	desk_open(desk);
	for (uint32_t id = 0; id < 12; id++)
		add(id, "SELECT pg_sleep(0.2)");
	runner_start_now(desk->runner);
	assert_true(runner_is_busy(desk->runner));
	desk_turn(desk, 1200 * NS_PER_MS);
	assert_int_equal(desk->most_visiting, 3);
	for (uint32_t id = 0; id < 12; id++)
		assert_int_equal(desk_count(desk, id, RUN_ERROR, ""), 0);
}

static void a_server_that_leaves_or_moves_ends_its_visit_without_a_row(void **state)
{
	struct server_settings elsewhere = { .name = (char[]){ "s1" },
					     .host = (char[]){ "/nowhere" },
					     .port = (char[]){ "1" },
					     .user = (char[]){ "watcher" } };
	struct cadence_mark mark = { 0 };
	struct err err = ERR_EMPTY;
	struct runner_status status;

	(void)state;
	desk->settings.cycle_ns = 20 * NS_PER_S;
	desk->settings.query_ns = 20 * NS_PER_S;
	desk_open(desk);
	add(0, "SELECT pg_sleep(5)");
	add(1, "SELECT pg_sleep(5)");
	runner_start_now(desk->runner);
	desk_turn(desk, 300 * NS_PER_MS);
	runner_drop_server(desk->runner, 0);
	runner_drop_server(desk->runner, 0);
	assert_int_equal(runner_put_server(desk->runner, 1, 1, &elsewhere, NULL, &mark, &err), 0);
	runner_status(desk->runner, &status);
	assert_int_equal(status.servers, 1);
	assert_int_equal(status.visiting, 0);
	/* At most that a run which fell due meanwhile was skipped. */
	for (uint32_t id = 0; id < 2; id++)
		assert_int_equal(desk_count(desk, id, RUN_SKIPPED, "in flight"), desk->counts[id]);
	desk_turn(desk, 200 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_run_never_overlaps_its_predecessor, before,
						after),
		cmocka_unit_test_setup_teardown(
			over_its_budget_a_visit_ships_nothing_and_the_capture_stays_due, before,
			after),
		cmocka_unit_test_setup_teardown(a_body_that_has_not_captured_leaves_it_due, before,
						after),
		cmocka_unit_test_setup_teardown(a_restart_between_two_visits_costs_no_visit, before,
						after),
		cmocka_unit_test_setup_teardown(a_connection_that_dies_unseen_costs_no_visit,
						before, after),
		cmocka_unit_test_setup_teardown(
			a_server_killed_in_a_visit_is_an_error_without_memory_and_comes_back,
			before, after),
		cmocka_unit_test_setup_teardown(
			a_server_that_gives_nothing_is_failing_and_a_missing_right_is_not, before,
			after),
		cmocka_unit_test_setup_teardown(while_a_body_stalls_a_second_connection_looks,
						before, after),
		cmocka_unit_test_setup_teardown(each_slot_captures_its_seats_and_no_others, before,
						after),
		cmocka_unit_test_setup_teardown(an_owed_capture_needs_a_place, before, after),
		cmocka_unit_test_setup_teardown(at_most_c_servers_are_visited_at_once, before,
						after),
		cmocka_unit_test_setup_teardown(
			a_server_that_leaves_or_moves_ends_its_visit_without_a_row, before, after),
	};

	return cmocka_run_group_tests(tests, start, end);
}
