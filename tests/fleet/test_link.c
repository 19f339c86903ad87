/* test_link.c - links to a real PostgreSQL: what they ask, their deadlines and bounds, and what they never do. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fleet/link.h"
#include "fleet/link_scripts.h"
#include "fleet/stage.h"

static struct stage stage = STAGE_EMPTY;
static char socket_folder[72];
static struct server_settings server;
static struct link_limits limits;

static char *text(const char *fixed)
{
	static char pool[32][80];
	static unsigned at;
	char *out = pool[at++ % 32];

	snprintf(out, 80, "%s", fixed);
	return out;
}

static int start(void **state)
{
	(void)state;
	stage_open(&stage, "max_connections = 12\nsuperuser_reserved_connections = 3\n");
	snprintf(socket_folder, sizeof(socket_folder), "%s", stage.sockets);
	stage_run(&stage, "postgres", "CREATE ROLE watcher LOGIN");
	stage_run(&stage, "postgres", "CREATE DATABASE other");
	stage_run(&stage, "postgres", "CREATE DATABASE shut");
	stage_run(&stage, "postgres", "REVOKE CONNECT ON DATABASE shut FROM PUBLIC");
	server = (struct server_settings){ .name = text("made"),
					   .host = socket_folder,
					   .port = text("5432"),
					   .database = text("postgres"),
					   .user = text("watcher") };
	return 0;
}

static int before(void **state)
{
	(void)state;
	limits = LINK_LIMITS_DEFAULT;
	return 0;
}

static int end(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static int run(struct asked *a, struct err *err)
{
	struct script script = asked_script(a);

	*err = ERR_EMPTY;
	return link_drive(&server, &limits, &script, err);
}

/* One question. */
static struct asked ask(const char *sql)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = sql } },
			   .count = 1,
			   .stops_at = -1 };
	struct err err;

	assert_int_equal(run(&a, &err), 0);
	assert_int_equal(a.at, 1);
	return a;
}

static void a_session_is_read_only_and_looks_in_pg_catalog_only(void **state)
{
	static const struct {
		const char *sql, *want;
	} cases[] = {
		{ "SHOW application_name", "tare" },
		{ "SHOW client_encoding", "SQL_ASCII" },
		{ "SHOW search_path", "pg_catalog" },
		{ "SHOW default_transaction_read_only", "on" },
		{ "SHOW statement_timeout", "30s" },
		{ "SHOW datestyle", "ISO, MDY" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked a = ask(cases[i].sql);

		print_message("%s\n", cases[i].sql);
		assert_true(a.answers[0].is_ok);
		assert_string_equal(a.cells[0], cases[i].want);
	}
	assert_string_equal(ask("CREATE TABLE public.t (a int)").answers[0].sqlstate, "25006");
}

static void the_environment_changes_nothing(void **state)
{
	(void)state;
	setenv("PGOPTIONS", "-c search_path=public", 1);
	setenv("PGSERVICE", "nowhere", 1);
	setenv("PGHOSTADDR", "127.0.0.1", 1);
	setenv("PGUSER", "nobody", 1);
	setenv("PGAPPNAME", "other", 1);
	setenv("PGCLIENTENCODING", "LATIN1", 1);
	setenv("PGDATESTYLE", "German", 1);
	setenv("PGSSLMODE", "verify-full", 1);
	assert_string_equal(ask("SHOW search_path").cells[0], "pg_catalog");
	assert_string_equal(ask("SHOW datestyle").cells[0], "ISO, MDY");
	assert_string_equal(ask("SELECT current_user").cells[0], "watcher");
	unsetenv("PGOPTIONS");
	unsetenv("PGAPPNAME");
	unsetenv("PGCLIENTENCODING");
	unsetenv("PGSSLMODE");
}

static void parameters_are_bound_and_a_second_statement_is_refused(void **state)
{
	struct asked a = {
		.asks = { { .kind = ASK_QUERY,
			    .sql = "SELECT $1::text || $2::text",
			    .param_count = 2,
			    .params = { "'; DROP", "x" } },
			  { .kind = ASK_QUERY, .sql = "SELECT $1::text", .param_count = 1 },
			  { .kind = ASK_PREPARE, .name = "p", .sql = "SELECT 1; SELECT 2" },
			  { .kind = ASK_PREPARE, .name = "p", .sql = "SELECT 7 AS seven" },
			  { .kind = ASK_SIMPLE, .sql = "EXECUTE p" },
			  { .kind = ASK_QUERY, .sql = "SELECT 1 WHERE false" } },
		.count = 6,
		.stops_at = -1
	};
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_string_equal(a.cells[0], "'; DROPx");
	assert_string_equal(a.cells[1], "(null)");
	assert_string_equal(a.answers[2].sqlstate, "42601");
	assert_true(a.answers[3].is_ok);
	assert_string_equal(a.cells[4], "7");
	assert_string_equal(a.columns[4], "seven");
	assert_true(a.answers[5].is_ok);
	assert_int_equal(a.answers[5].rows, 0);
	assert_string_equal(a.columns[5], "?column?"); /* also without a row */
}

static void a_late_question_is_cancelled_and_the_next_is_answered(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_SIMPLE, .sql = "SET statement_timeout = 0" },
				     { .kind = ASK_QUERY,
				       .sql = "SELECT pg_sleep(20)",
				       .deadline_ns = 200 * NS_PER_MS },
				     { .kind = ASK_QUERY, .sql = "SELECT 2" } },
			   .count = 3,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_false(a.answers[1].is_ok);
	assert_true(a.answers[1].is_late);
	assert_string_equal(a.answers[1].sqlstate, "57014");
	assert_true(a.answers[1].elapsed_ns >= 200 * NS_PER_MS);
	assert_string_equal(a.cells[2], "2");
}

static void too_many_rows_or_bytes_end_the_connection(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY,
				       .sql = "SELECT generate_series(1, 1000)",
				       .most_rows = 1000 },
				     { .kind = ASK_QUERY,
				       .sql = "SELECT generate_series(1, 1001)",
				       .most_rows = 1000 } },
			   .count = 2,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_true(a.answers[0].is_ok);
	assert_int_equal(a.rows[0], 1000);
	assert_false(a.answers[1].is_ok);
	assert_non_null(strstr(a.answers[1].message, "more rows than allowed"));
	limits.answer_bytes = 1 << 20;
	a = ask("SELECT repeat('x', 500000) FROM generate_series(1, 3)");
	assert_non_null(strstr(a.answers[0].message, "larger than allowed"));
	limits.row_bytes = 1 << 20;
	limits.answer_bytes = 64 << 20;
	a = ask("SELECT repeat('x', 60000000)");
	assert_non_null(strstr(a.answers[0].message, "row is larger than allowed"));
	a = ask("SELECT repeat('x', 900000)");
	assert_true(a.answers[0].is_ok);
}

static void notices_are_swallowed_and_too_many_end_the_connection(void **state)
{
	static const char some[] =
		"DO $$BEGIN FOR i IN 1..100 LOOP RAISE NOTICE 'n'; END LOOP; END$$";
	static const char many[] =
		"DO $$BEGIN FOR i IN 1..100000 LOOP RAISE NOTICE 'n'; END LOOP; END$$";

	(void)state;
	assert_true(ask(some).answers[0].is_ok);
	assert_non_null(strstr(ask(many).answers[0].message, "more notices than allowed"));
}

static void enough_rows_drain_the_rest_quietly(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY,
				       .sql = "SELECT generate_series(1, 5000)" },
				     { .kind = ASK_QUERY, .sql = "SELECT 3" } },
			   .count = 2,
			   .stops_at = -1,
			   .enough_after = 10 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_int_equal(a.rows[0], 10);
	assert_int_equal(a.answers[0].rows, 5000);
	assert_true(a.answers[0].is_ok);
	assert_string_equal(a.cells[1], "3");
}

static void the_fastest_answer_is_taken_off_as_the_way_there_and_back(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = "SELECT 1" },
				     { .kind = ASK_QUERY, .sql = "SELECT 1" },
				     { .kind = ASK_QUERY, .sql = "SELECT 1" },
				     { .kind = ASK_QUERY, .sql = "SELECT pg_sleep(0.05)" } },
			   .count = 4,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(a.answers[3].trip_ns > 0);
		assert_true(a.answers[3].trip_ns <= a.answers[i].elapsed_ns);
	}
	assert_true(a.answers[3].elapsed_ns - a.answers[3].trip_ns > 40000000);
}

static void another_database_is_entered_by_one_connection_at_a_time(void **state)
{
	static const char here[] =
		"SELECT current_database()::text || ' ' || (SELECT count(*) FROM "
		"pg_stat_activity WHERE usename = 'watcher' AND pid <> pg_backend_pid())";
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = here },
				     { .kind = ASK_DATABASE, .name = "other" },
				     { .kind = ASK_QUERY, .sql = "SELECT pg_sleep(0.7)" },
				     { .kind = ASK_QUERY, .sql = here },
				     { .kind = ASK_DATABASE, .name = "shut" },
				     { .kind = ASK_DATABASE, .name = "no such'; --" },
				     { .kind = ASK_DATABASE, .name = "" },
				     { .kind = ASK_QUERY, .sql = "SELECT pg_sleep(0.7)" },
				     { .kind = ASK_QUERY, .sql = here } },
			   .count = 9,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	/* A backend that was left takes a moment to go: those of tests before this one are waited for. */
	for (int tries = 0;
	     tries < 100 &&
	     stage_number(&stage, NULL,
			  "SELECT count(*) FROM pg_stat_activity WHERE usename = 'watcher'") > 0;
	     tries++)
		usleep(50000);
	assert_int_equal(run(&a, &err), 0);
	assert_string_equal(a.cells[0], "postgres 0");
	assert_true(a.answers[1].is_ok);
	assert_string_equal(a.cells[3], "other 0");
	assert_string_equal(a.answers[4].sqlstate, "42501");
	assert_string_equal(a.answers[5].sqlstate, "3D000");
	assert_true(a.answers[6].is_ok);
	assert_string_equal(a.cells[8], "postgres 0");
}

static void who_cannot_be_let_in_says_why(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = "SELECT 1" } },
			   .count = 1,
			   .stops_at = -1 };
	char *user = server.user, *host = server.host;
	struct err err;

	(void)state;
	server.user = text("nobody");
	assert_int_equal(run(&a, &err), -EACCES);
	assert_non_null(strstr(err.msg, "role \"nobody\" does not exist"));
	server.user = user;
	server.host = text("/nowhere");
	assert_int_equal(run(&a, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "No such file"));
	server.host = text("no-such-host.invalid");
	assert_int_equal(run(&a, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "its name is not known"));
	server.host = host;
}

static void no_room_on_the_server_is_said_by_its_sqlstate(void **state)
{
	PGconn *taken[12];
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = "SELECT 1" } },
			   .count = 1,
			   .stops_at = -1 };
	struct err err;
	int count = 0;

	(void)state;
	while (count < 12 && (taken[count] = stage_connect_tare(&stage, "watcher", NULL)) != NULL)
		count++;
	assert_int_equal(run(&a, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "remaining connection slots"));
	while (count > 0)
		PQfinish(taken[--count]);
}

static void a_script_that_fails_ends_with_its_own_code(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY, .sql = "SELECT 1" },
				     { .kind = ASK_QUERY, .sql = "SELECT 1" } },
			   .count = 2 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), -ECANCELED);
	assert_string_equal(err.msg, "stopped on purpose");
	assert_int_equal(a.at, 1);
}

static void a_server_that_dies_in_an_answer_is_asked_no_further(void **state)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY,
				       .sql = "SELECT pg_sleep(10), generate_series(1, 10)" },
				     { .kind = ASK_QUERY, .sql = "SELECT 2" },
				     { .kind = ASK_QUERY, .sql = "SELECT 3" },
				     { .kind = ASK_QUERY, .sql = "SELECT 4" },
				     { .kind = ASK_QUERY, .sql = "SELECT 5" } },
			   .count = 5,
			   .stops_at = -1 };
	struct err err;
	pid_t killer = fork();

	(void)state;
	if (killer == 0) {
		usleep(300000);
		stage_stop(&stage, 'k');
		_exit(0);
	}
	assert_int_equal(run(&a, &err), -ENOTCONN);
	assert_false(a.answers[0].is_ok);
	assert_false(a.answers[1].is_ok);
	assert_true(a.at < 5);
	usleep(300000);
	stage_start(&stage);
}

/* Links of a chain are rows of one table; what came of each is seen at the server. */
static void a_chain_is_asked_at_once_and_ends_at_the_first_failure(void **state)
{
	static const struct ask good[] = {
		{ .kind = ASK_QUERY, .sql = "SELECT 5 AS five" },
		{ .kind = ASK_PREPARE, .name = "c", .sql = "SELECT $1::int AS six" },
		{ .kind = ASK_QUERY, .sql = "EXECUTE c(6)" },
		{ .kind = ASK_QUERY,
		  .sql = "SELECT $1::text",
		  .param_count = 1,
		  .params = { "7" } },
	};
	static const struct ask bad[] = {
		{ .kind = ASK_QUERY, .sql = "SELECT 1" },
		{ .kind = ASK_PREPARE, .name = "d", .sql = "SELECT 1; SELECT 2" },
		{ .kind = ASK_QUERY, .sql = "SELECT pg_advisory_lock(77)" },
	};
	struct asked a = { .asks = { { .kind = ASK_CHAIN, .links = good, .link_count = 4 },
				     { .kind = ASK_CHAIN, .links = bad, .link_count = 3 },
				     { .kind = ASK_QUERY,
				       .sql = "SELECT count(*) FROM pg_locks "
					      "WHERE locktype = 'advisory'" },
				     { .kind = ASK_CHAIN, .links = good, .link_count = 1 } },
			   .count = 4,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_true(a.answers[0].is_ok);
	assert_int_equal(a.answers[0].links_done, 4);
	assert_int_equal(a.rows[0], 3);
	assert_string_equal(a.columns[0], "text"); /* of the last one */
	assert_false(a.answers[1].is_ok);
	assert_int_equal(a.answers[1].links_done, 1);
	assert_string_equal(a.answers[1].sqlstate, "42601");
	assert_int_equal(a.rows[1], 1);
	assert_string_equal(a.cells[2], "0");
	assert_true(a.answers[3].is_ok);
	assert_string_equal(a.cells[3], "5");
}

static void a_late_chain_is_cancelled_and_what_is_behind_it_is_not_run(void **state)
{
	static const struct ask links[] = {
		{ .kind = ASK_QUERY, .sql = "SELECT 1" },
		{ .kind = ASK_QUERY, .sql = "SELECT pg_sleep(20)" },
		{ .kind = ASK_QUERY, .sql = "SELECT pg_advisory_lock(78)" },
	};
	struct asked a = { .asks = { { .kind = ASK_CHAIN,
				       .links = links,
				       .link_count = 3,
				       .deadline_ns = 200 * NS_PER_MS },
				     { .kind = ASK_QUERY,
				       .sql = "SELECT count(*) FROM pg_locks "
					      "WHERE locktype = 'advisory'" } },
			   .count = 2,
			   .stops_at = -1 };
	struct err err;

	(void)state;
	assert_int_equal(run(&a, &err), 0);
	assert_false(a.answers[0].is_ok);
	assert_true(a.answers[0].is_late);
	assert_int_equal(a.answers[0].links_done, 1);
	assert_string_equal(a.cells[1], "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_session_is_read_only_and_looks_in_pg_catalog_only, before),
		cmocka_unit_test_setup(the_environment_changes_nothing, before),
		cmocka_unit_test_setup(parameters_are_bound_and_a_second_statement_is_refused,
				       before),
		cmocka_unit_test_setup(a_late_question_is_cancelled_and_the_next_is_answered,
				       before),
		cmocka_unit_test_setup(too_many_rows_or_bytes_end_the_connection, before),
		cmocka_unit_test_setup(notices_are_swallowed_and_too_many_end_the_connection,
				       before),
		cmocka_unit_test_setup(enough_rows_drain_the_rest_quietly, before),
		cmocka_unit_test_setup(the_fastest_answer_is_taken_off_as_the_way_there_and_back,
				       before),
		cmocka_unit_test_setup(another_database_is_entered_by_one_connection_at_a_time,
				       before),
		cmocka_unit_test_setup(who_cannot_be_let_in_says_why, before),
		cmocka_unit_test_setup(no_room_on_the_server_is_said_by_its_sqlstate, before),
		cmocka_unit_test_setup(a_script_that_fails_ends_with_its_own_code, before),
		cmocka_unit_test_setup(a_chain_is_asked_at_once_and_ends_at_the_first_failure,
				       before),
		cmocka_unit_test_setup(a_late_chain_is_cancelled_and_what_is_behind_it_is_not_run,
				       before),
		cmocka_unit_test_setup(a_server_that_dies_in_an_answer_is_asked_no_further, before),
	};

	return cmocka_run_group_tests(tests, start, end);
}
