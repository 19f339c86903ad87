/* test_sampler.c - looks at a real server: who waits for whose lock, for how long, and what runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/visits.h"

static struct stage stage;

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL,
		  "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2); CREATE ROLE "
		  "plain LOGIN");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

/* So many looks of a visit; the rows are in `out`. */
static void look(const char *user, int times, struct fleet_batch *out)
{
	struct visit_settings settings = { .at = { 1000000000 },
					   .cycle = 1,
					   .readings = (1U << READING_COUNT) - 1,
					   .limits = VISIT_LIMITS_DEFAULT };
	struct drive drive = { .stage = &stage, .user = user };
	struct script script = { 0 };
	struct err err = ERR_EMPTY;
	struct server *server;

	*out = FLEET_BATCH_EMPTY;
	assert_int_equal(server_open(7, &server), 0);
	assert_int_equal(pg_sampler_open(server, &settings, &script, &err), 0);
	for (int i = 0; i < times; i++) {
		if (i > 0)
			pg_sampler_again(&script);
		if (drive_script(&drive, &script, &err) != 0)
			fail_msg("%s", err.msg);
	}
	assert_int_equal(pg_sampler_end(&script, out, &err), 0);
	pg_sampler_close(&script);
	drive_close(&drive);
	server_close(server);
}

/* A connection that has sent a statement and does not wait for its end. */
static PGconn *begin(const char *first, const char *then)
{
	PGconn *conn = stage_connect(&stage, NULL, NULL);

	if (first != NULL)
		PQclear(PQexec(conn, first));
	assert_int_equal(PQsendQuery(conn, then), 1);
	return conn;
}

static void wait_until(const char *sql, int64_t want)
{
	struct timespec pause = { 0, 20000000 };

	for (int i = 0; i < 500 && stage_number(&stage, NULL, sql) != want; i++)
		nanosleep(&pause, NULL);
}

#define SLEEPING "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"

static void wake_all(void)
{
	stage_run(&stage, NULL,
		  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = "
		  "'PgSleep'");
	wait_until(SLEEPING, 0);
}

#define WAITING "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

static void a_chain_of_locks_is_seen_from_its_head_to_its_tail(void **state)
{
	PGconn *head = begin("BEGIN; UPDATE t SET id = id WHERE id = 1", "SELECT 1"), *second,
	       *third;
	struct fleet_batch b;
	const struct blocking_row *row;
	const struct wait_row *wait;
	int head_pid = PQbackendPID(head);
	bool has_second = false, has_third = false, has_wait = false;

	(void)state;
	while (PQisBusy(head))
		PQconsumeInput(head);
	PQclear(PQgetResult(head));
	PQclear(PQgetResult(head));
	second = begin("BEGIN; UPDATE t SET id = id WHERE id = 2",
		       "UPDATE t SET id = id WHERE id = 1");
	wait_until(WAITING, 1);
	third = begin(NULL, "UPDATE t SET id = id WHERE id = 2");
	wait_until(WAITING, 2);
	look(NULL, 2, &b);
	for (size_t i = 0; i < count_of(&b, &table_blocking, BLOCK_PUT); i++) {
		row = row_of(&b, &table_blocking, i);
		if (row->pid == (uint32_t)PQbackendPID(second)) {
			has_second = true;
			assert_int_equal(row->blocker_pid, head_pid);
			assert_int_equal(row->blocked_behind, 1);
			assert_memory_equal(row->blocker_state.bytes, "idle in transaction", 19);
			assert_true(row->waited_ns > 0);
			assert_true(row->queryid != 0);
		}
		if (row->pid == (uint32_t)PQbackendPID(third)) {
			has_third = true;
			assert_int_equal(row->blocker_pid, PQbackendPID(second));
			assert_int_equal(row->blocked_behind, 0);
		}
	}
	assert_true(has_second && has_third);
	for (size_t i = 0; i < count_of(&b, &table_wait, BLOCK_PUT); i++) {
		wait = row_of(&b, &table_wait, i);
		has_wait = has_wait || (wait->wait_type.len == 4 &&
					memcmp(wait->wait_type.bytes, "Lock", 4) == 0 &&
					wait->looks == 2 && wait->seen >= 2);
	}
	assert_true(has_wait);
	fleet_batch_free(&b);
	PQfinish(third);
	PQfinish(second);
	PQfinish(head);
	wait_until(WAITING, 0);
}

static void looks_of_ours_and_idle_backends_are_not_seen(void **state)
{
	PGconn *idle = stage_connect(&stage, NULL, NULL),
	       *other = stage_connect_tare(&stage, NULL, NULL);
	struct fleet_batch b;

	(void)state;
	assert_int_equal(PQsendQuery(other, "SELECT pg_sleep(30)"), 1);
	wait_until(SLEEPING, 1);
	look(NULL, 1, &b);
	for (size_t i = 0; i < count_of(&b, &table_wait, BLOCK_PUT); i++) {
		const struct wait_row *row = row_of(&b, &table_wait, i);

		assert_false(row->state.len == 4 && memcmp(row->state.bytes, "idle", 4) == 0);
		assert_false(row->wait_event.len == 7 &&
			     memcmp(row->wait_event.bytes, "PgSleep", 7) == 0);
	}
	fleet_batch_free(&b);
	wake_all();
	PQfinish(other);
	PQfinish(idle);
}

static void without_rights_it_is_said_what_is_hidden(void **state)
{
	PGconn *busy = begin(NULL, "SELECT pg_sleep(30)");
	struct fleet_batch b;
	bool is_hidden = false;

	(void)state;
	wait_until(SLEEPING, 1);
	look("plain", 1, &b);
	for (size_t i = 0; i < count_of(&b, &table_wait, BLOCK_PUT); i++) {
		const struct wait_row *row = row_of(&b, &table_wait, i);

		is_hidden = is_hidden ||
			    memmem(row->state.bytes, row->state.len, "[no privilege]", 14) != NULL;
	}
	assert_true(is_hidden);
	assert_int_equal(run_of(&b, READING_ACTIVITY)->outcome, RUN_SUCCESS);
	fleet_batch_free(&b);
	wake_all();
	PQfinish(busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_of_locks_is_seen_from_its_head_to_its_tail),
		cmocka_unit_test(looks_of_ours_and_idle_backends_are_not_seen),
		cmocka_unit_test(without_rights_it_is_said_what_is_hidden),
	};

	return cmocka_run_group_tests_name("sampler", tests, open_stage, close_stage);
}
