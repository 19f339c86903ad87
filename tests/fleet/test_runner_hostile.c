/* test_runner_hostile.c - a fleet of fine servers with one of each hostile way among them: each ends in its own words, and no fine one is
 * late or lost for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/fakepg.h"
#include "fleet/link.h"
#include "fleet/link_scripts.h"
#include "fleet/loop.h"
#include "fleet/runner_desk.h"

#define FINE	 24
#define CYCLES	 8
#define CYCLE_NS (2 * NS_PER_S)

/* One endpoint each, in this order; what is said of it, and how it ends. */
static const struct {
	const char *way, *reason, *sqlstate;
	enum run_outcome outcome;
} ways[] = {
	{ "silent=1", "does not let us in in time", "", RUN_ERROR },
	{ "trickle=1", "does not let us in in time", "", RUN_ERROR },
	{ "reset=1", "server closed the connection unexpectedly", "", RUN_ERROR },
	{ "refuse=1", "Connection refused", "", RUN_ERROR },
	{ "full=1", "sorry, too many clients already", "53300", RUN_ERROR },
	{ "notices=1", "more notices than allowed", "", RUN_ERROR },
	{ "lengths=1", "", "", RUN_ERROR },
	{ "huge=1", "row is larger than allowed", "", RUN_ERROR },
	{ "columns=1", "unexpected field count", "", RUN_ERROR },
	{ "errors=1", "permission denied for everything", "", RUN_PERMISSIONS },
	{ "late=1", "no answer in time", "", RUN_ERROR },
	{ "stall=1", "no answer in time", "", RUN_ERROR },
	{ "params=1", "", "", RUN_ERROR },
	{ "rows=1", "more rows than allowed", "", RUN_ERROR },
	{ "kerberos=1", "GSSAPI", "", RUN_ERROR },
	{ "rounds=1", "a million rounds of SCRAM", "", RUN_ERROR },
	{ "copy=1", "not what was asked for", "", RUN_ERROR },
	{ "restart=1", "", "57P", RUN_ERROR },
};

static struct desk desk;
static struct runner_status status;
static uint64_t longest_kerberos_ns;

static int run(void **state)
{
	char count[8], folder[64];
	const char *words[24] = { count, "150", "every=3" };
	pid_t fake;

	(void)state;
	snprintf(count, sizeof(count), "%u", (unsigned)(ARRAY_LEN(ways) + FINE));
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		words[i + 3] = ways[i].way;
	fake = desk_start_fake(folder, words);
	desk.settings = desk_settings();
	desk.settings.cycle_ns = CYCLE_NS;
	desk.settings.at_once = 40;
	desk_open(&desk);
	for (unsigned i = 0; i < ARRAY_LEN(ways) + FINE; i++) {
		char port[8];

		snprintf(port, sizeof(port), "%u", 10000 + i);
		desk_add(&desk, i, folder, port);
	}
	desk_turn(&desk, CYCLES * CYCLE_NS);
	runner_status(desk.runner, &status);
	desk_close(&desk);
	desk_stop_fake(fake, folder);
	for (unsigned i = 0; i < desk.counts[14]; i++)
		if (desk.visits[14][i].wall_ns > longest_kerberos_ns)
			longest_kerberos_ns = desk.visits[14][i].wall_ns;
	print_message("longest turn %.1f ms, %u in the lane, %llu late\n",
		      (double)status.longest_turn_ns / 1e6, status.in_lane,
		      (unsigned long long)status.late);
	return 0;
}

static void each_way_ends_in_its_own_words(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(ways); i++) {
		unsigned fitting = desk_count(&desk, i, ways[i].outcome, ways[i].reason);
		bool has_sqlstate = false;

		print_message("%s: '%s' '%s'\n", ways[i].way, desk.visits[i][0].sqlstate,
			      desk.visits[i][0].reason);
		assert_true(fitting > 0);
		for (unsigned n = 0; n < desk.counts[i]; n++)
			has_sqlstate |= strncmp(desk.visits[i][n].sqlstate, ways[i].sqlstate,
						strlen(ways[i].sqlstate)) == 0;
		assert_true(has_sqlstate);
	}
}

/* On a machine that is busy with other things a visit may be late; none may fail. */
static void fine_servers_are_visited_each_cycle_whatever_the_others_do(void **state)
{
	unsigned well = 0;

	(void)state;
	for (uint32_t i = ARRAY_LEN(ways); i < ARRAY_LEN(ways) + FINE; i++) {
		well += desk_count(&desk, i, RUN_SUCCESS, "");
		assert_int_equal(desk_count(&desk, i, RUN_SUCCESS, "") +
					 desk_count(&desk, i, RUN_SKIPPED, ""),
				 desk.counts[i]);
	}
	print_message("%u of %u\n", well, FINE * CYCLES);
	assert_in_range(well, FINE * CYCLES * 8 / 10, FINE * (CYCLES + 1));
}

static void a_server_that_only_refuses_questions_is_not_in_the_lane(void **state)
{
	(void)state;
	assert_in_range(desk_count(&desk, 9, RUN_PERMISSIONS, ""), CYCLES - 2, CYCLES + 1);
	assert_int_equal(desk_count(&desk, 9, RUN_SKIPPED, "failing"), 0);
}

static void failing_servers_are_tried_less_and_less_and_it_is_written_down(void **state)
{
	(void)state;
	/* Refused: no visit takes time, so every cycle that was not tried is a row that says so. */
	assert_in_range(desk.counts[3], CYCLES - 2, CYCLES + 1);
	assert_true(desk_count(&desk, 3, RUN_SKIPPED, "failing: next try in") >= 2);
	assert_true(desk_count(&desk, 3, RUN_ERROR, "") >= 2);
}

static void a_server_that_restarts_is_found_again(void **state)
{
	(void)state;
	assert_true(desk_count(&desk, ARRAY_LEN(ways) - 1, RUN_SUCCESS, "") >= 2);
}

static void kerberos_is_refused_without_asking_a_name_server(void **state)
{
	(void)state;
	print_message("%.1f ms\n", (double)longest_kerberos_ns / 1e6);
	assert_true(longest_kerberos_ns < NS_PER_S);
}

static void nothing_that_is_said_has_the_password(void **state)
{
	(void)state;
	assert_true(desk.said_count > 0);
	for (unsigned i = 0; i < desk.said_count; i++)
		assert_null(strstr(desk.said[i], "canary"));
	for (unsigned i = 0; i < ARRAY_LEN(ways); i++)
		for (unsigned n = 0; n < desk.counts[i]; n++)
			assert_null(strstr(desk.visits[i][n].reason, "canary"));
}

static void floods_cost_no_memory(void **state)
{
	FILE *from = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[128];

	(void)state;
	assert_non_null(from);
	while (fgets(line, sizeof(line), from) != NULL && sscanf(line, "VmHWM: %lu", &kb) != 1)
		;
	fclose(from);
	print_message("%lu KB\n", kb);
#if !defined(__SANITIZE_ADDRESS__)
	assert_in_range(kb, 1, 150 * 1024);
#endif
}

/* Several questions at once are no way around a bound: each way ends a chain as it ends a question. */
static void each_way_ends_a_chain_as_well(void **state)
{
	static const struct {
		const char *way, *message;
	} chained[] = {
		{ "reset=1", "" },
		{ "notices=1", "more notices than allowed" },
		{ "lengths=1", "" },
		{ "huge=1", "row is larger than allowed" },
		{ "columns=1", "unexpected field count" },
		{ "errors=1", "permission denied for everything" },
		{ "stall=1", "no answer in time" },
		{ "rows=1", "than allowed" },
		{ "copy=1", "not what was asked for" },
	};
	static const struct ask links[] = {
		{ .kind = ASK_QUERY, .sql = "SELECT a FROM pg_stat_statements(false)" },
		{ .kind = ASK_PREPARE, .name = "c", .sql = "SELECT b" },
		{ .kind = ASK_QUERY, .sql = "SELECT c, d" },
	};
	const char *words[16] = { "9", "150", "every=3" };
	struct link_limits limits = LINK_LIMITS_DEFAULT;
	char folder[64], port[8];
	pid_t fake;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chained); i++)
		words[i + 3] = chained[i].way;
	limits.query_ns = limits.drain_ns = 300 * NS_PER_MS;
	fake = desk_start_fake(folder, words);
	for (size_t i = 0; i < ARRAY_LEN(chained); i++) {
		struct asked a = {
			.asks = { { .kind = ASK_CHAIN, .links = links, .link_count = 3 } },
			.count = 1,
			.stops_at = -1
		};
		struct script script = asked_script(&a);
		struct server_settings server = { .name = port,
						  .host = folder,
						  .port = port,
						  .user = (char *)(uintptr_t) "tare" };
		struct err err = ERR_EMPTY;

		snprintf(port, sizeof(port), "%u", 10000 + (unsigned)i);
		link_drive(&server, &limits, &script, &err);
		print_message("%s: %u went well, %s\n", chained[i].way, a.answers[0].links_done,
			      a.answers[0].message);
		assert_false(a.answers[0].is_ok);
		assert_in_range(a.answers[0].links_done, 0, 2);
		assert_non_null(strstr(a.answers[0].message, chained[i].message));
	}
	desk_stop_fake(fake, folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_ends_in_its_own_words),
		cmocka_unit_test(fine_servers_are_visited_each_cycle_whatever_the_others_do),
		cmocka_unit_test(a_server_that_only_refuses_questions_is_not_in_the_lane),
		cmocka_unit_test(failing_servers_are_tried_less_and_less_and_it_is_written_down),
		cmocka_unit_test(a_server_that_restarts_is_found_again),
		cmocka_unit_test(kerberos_is_refused_without_asking_a_name_server),
		cmocka_unit_test(nothing_that_is_said_has_the_password),
		cmocka_unit_test(floods_cost_no_memory),
		cmocka_unit_test(each_way_ends_a_chain_as_well),
	};

	return cmocka_run_group_tests(tests, run, NULL);
}
