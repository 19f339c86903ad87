/* test_fleet_words.c - the verdict of a fleet, and what stands out. */
#include "core/fleet_findings.h"
#include "core/fleet_words.h"
#include "core/scoped.h"
#include "made_fleet_rows.h"

static struct fleet_analysis fleet;
static struct findings findings;

static int set_up(void **state)
{
	const struct server_row server = { .server = 1, .name = STR_LITERAL("shop-1"), .seat = 0 };

	(void)state;
	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &fleet), 0);
	take(&fleet, &table_server, &server);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	findings_free(&findings);
	fleet_analysis_free(&fleet);
	return 0;
}

static void take_visits(uint32_t server, uint64_t well, uint64_t failed, const char *reason)
{
	struct run_row run = { .server = server, .reading = READING_VISIT, .at_wall_ns = 100 * S };

	for (uint64_t i = 0; i < well; i++)
		take(&fleet, &table_run, &run);
	run.outcome = RUN_ERROR;
	run.reason = (struct str){ reason, (uint32_t)strlen(reason) };
	for (uint64_t i = 0; i < failed; i++)
		take(&fleet, &table_run, &run);
}

/* No-break spaces as blanks. */
static void text_is(const struct text *t, const char *want)
{
	char plain[2048];
	size_t used = 0;

	for (size_t i = 0; i < t->len && used < sizeof(plain) - 1; i++) {
		bool is_nbsp = i + 1 < t->len && memcmp(t->bytes + i, TEXT_NBSP, 2) == 0;

		plain[used++] = is_nbsp ? ' ' : t->bytes[i];
		i += is_nbsp;
	}
	plain[used] = '\0';
	assert_string_equal(plain, want);
}

static void verdict_is(const char *want)
{
	struct text t = TEXT_EMPTY;

	fleet_verdict_put(&t, &fleet);
	text_is(&t, want);
	text_free(&t);
}

static const struct finding *finding_of(const char *id)
{
	struct err err = ERR_EMPTY;

	findings_free(&findings);
	assert_int_equal(fleet_findings_open(&fleet, &findings, &err), 0);
	for (size_t i = 0; i < findings.count; i++)
		if (strcmp(findings.rows[i].id, id) == 0)
			return &findings.rows[i];
	return NULL;
}

static void close_with_text(const char *text)
{
	assert_int_equal(fleet_analysis_close_input(&fleet), 0);
	if (fleet.statement_count > 0)
		fleet.statements[0].text = (struct str){ text, (uint32_t)strlen(text) };
}

static void a_change_of_plan_that_cost_is_the_verdict(void **state)
{
	struct plan_row cheap = planned(1, 1, 50, 200), dear = planned(2, 2, 300, 400);
	struct statement_row before = ran(1, 100, 10, 3), after = ran(1, 360, 10, 120);
	const struct finding *f;

	(void)state;
	take(&fleet, &table_plan, &cheap);
	take(&fleet, &table_plan, &dear);
	take(&fleet, &table_statement, &before);
	take(&fleet, &table_statement, &after);
	close_with_text("select *\n\t from  orders where id = $1;\n");
	verdict_is("A call takes 40 times as long since its plan changed: select * from orders "
		   "where id = $1 on shop-1, 12 ms for 300 µs");
	f = finding_of("plan_changed");
	assert_non_null(f);
	text_is(&f->title, "Slower since its plan changed: select * from orders where id = $1");
	text_is(&f->evidence, "On shop-1 a call took 300 µs in the mean of 10 calls, and 12 ms in "
			      "the mean of 10 calls since "
			      "1970-01-01 00:05:00 UTC.");
}

static void few_calls_or_little_time_tell_no_change(void **state)
{
	struct plan_row cheap = planned(1, 1, 50, 200), dear = planned(2, 2, 300, 400);
	struct statement_row before = ran(1, 100, 10, 3), after = ran(1, 360, 9, 120);

	(void)state;
	take(&fleet, &table_plan, &cheap);
	take(&fleet, &table_plan, &dear);
	take(&fleet, &table_statement, &before);
	take(&fleet, &table_statement, &after);
	close_with_text("select 1");
	assert_null(finding_of("plan_changed"));
}

static void the_largest_statement_is_the_verdict(void **state)
{
	struct statement_row row = ran(1, 100, 20, 1000), other = ran(1, 100, 1, 3000);

	(void)state;
	other.key.queryid = 5;
	take(&fleet, &table_statement, &row);
	take(&fleet, &table_statement, &other);
	close_with_text("call nightly()");
	verdict_is("75.0 % of 4 s of statement time is call nightly() on shop-1, 3 s a call");
}

static void no_statement_may_stand_out(void **state)
{
	(void)state;
	for (int i = 1; i <= 20; i++) {
		struct statement_row row = ran(1, 100, 1, 100);

		row.key.queryid = i;
		take(&fleet, &table_statement, &row);
	}
	close_with_text("select 1");
	verdict_is("No statement stands out: the largest is select 1 on shop-1, 5.0 %");
}

static void nothing_measured_and_nothing_ran_are_two_verdicts(void **state)
{
	struct run_row run = {
		.server = 1, .reading = READING_VISIT, .at_wall_ns = 100 * S, .outcome = RUN_ERROR
	};

	(void)state;
	take(&fleet, &table_run, &run);
	verdict_is("Nothing was measured: no visit went well");
	run.outcome = RUN_SUCCESS;
	run.at_wall_ns = 220 * S;
	take(&fleet, &table_run, &run);
	close_with_text("");
	verdict_is("Nothing ran on 1 server in 2 min");
}

static void a_text_is_harmless_and_on_one_line(void **state)
{
	struct text t = TEXT_EMPTY;
	struct fleet_statement s = { .key = select_key,
				     .text = STR_LITERAL("select\x1b[31m 1 \n\n -- x") };

	(void)state;
	fleet_put_statement(&t, &s, 60);
	text_is(&t, "select\\x1b[31m 1 -- x");
	text_clear(&t);
	s.text = STR_EMPTY;
	fleet_put_statement(&t, &s, 60);
	text_is(&t, "[-77]");
	text_clear(&t);
	s.key.queryid = 0;
	fleet_put_statement(&t, &s, 60);
	text_is(&t, "[no privilege]");
	text_free(&t);
}

static void a_server_that_was_never_reached_is_said_with_its_reason(void **state)
{
	const struct finding *f;

	(void)state;
	take_visits(1, 0, 3, "cannot connect: connection refused");
	close_with_text("");
	f = finding_of("unreached");
	assert_non_null(f);
	text_is(&f->title, "Nothing is known of shop-1");
	text_is(&f->evidence, "None of 3 visits went well: cannot connect: connection refused.");
	assert_null(finding_of("failing"));
}

static void one_visit_in_twenty_may_fail(void **state)
{
	(void)state;
	take_visits(1, 190, 10, "deadline");
	take_visits(2, 94, 6, "deadline");
	close_with_text("");
	text_is(&finding_of("failing")->title, "Visits fail on server 2");
	text_is(&findings.rows[0].evidence, "6 of 100 visits did not go well: deadline.");
}

static void what_is_not_allowed_is_said_with_the_way_to_mend_it(void **state)
{
	struct run_row run = { .server = 1,
			       .reading = READING_FUNCTIONS,
			       .at_wall_ns = S,
			       .outcome = RUN_PERMISSIONS };
	const struct finding *f;

	(void)state;
	run.sqlstate = STR_LITERAL("42501");
	take(&fleet, &table_run, &run);
	close_with_text("");
	f = finding_of("permissions");
	text_is(&f->title, "Not allowed: functions on shop-1");
	text_is(&f->evidence, "1 of 1 run were refused (42501).");
	text_is(&f->look_next, "Look next at: tare collect --grants");
}

static void hidden_statements_are_a_share_of_the_time(void **state)
{
	struct statement_row seen = ran(1, 100, 1, 75), hidden = ran(1, 100, 9, 25);

	(void)state;
	hidden.key = (struct statement_key){ 0, 0, 0, true };
	take(&fleet, &table_statement, &seen);
	take(&fleet, &table_statement, &hidden);
	close_with_text("select 1");
	text_is(&finding_of("hidden")->evidence, "25.0 % of its statement time is one sum, [no "
						 "privilege]: the role may not see whose it is.");
}

static void missed_captures_are_said(void **state)
{
	struct run_row run = { .server = 1,
			       .reading = READING_STATEMENTS,
			       .at_wall_ns = S,
			       .capture = CAPTURE_SCHEDULED };

	(void)state;
	take(&fleet, &table_run, &run);
	close_with_text("");
	assert_null(finding_of("missed"));
	run.capture = CAPTURE_MISSED;
	take(&fleet, &table_run, &run);
	text_is(&finding_of("missed")->evidence, "1 of 2 tries; most of them on shop-1.");
}

static void collecting_over_1_percent_of_a_cpu_is_dear(void **state)
{
	struct run_row run = { .server = 1, .reading = READING_STATEMENTS, .at_wall_ns = S };

	(void)state;
	take(&fleet, &table_run, &run);
	run.at_wall_ns = 101 * S;
	run.server_ns = NS_PER_S;
	take(&fleet, &table_run, &run);
	close_with_text("");
	assert_null(finding_of("dear")); /* 1 % of 100 s */
	run.server_ns = NS_PER_MS * 10;
	take(&fleet, &table_run, &run);
	text_is(&finding_of("dear")->evidence, "1.01 s of its time in 1 min 40 s: 1.01 %.");
}

static void reading_that_is_not_timed_is_no_zero(void **state)
{
	struct database_row row = {
		.server = 1, .at_wall_ns = S, .name = STR_LITERAL("shop"), .span_ns = 1
	};

	(void)state;
	for (int i = 0; i < DATABASE_COUNTERS; i++)
		row.counters[i] = NOT_MEASURED;
	row.counters[DATABASE_READ] = COUNTER(5000);
	row.counters[DATABASE_READ_NS] = COUNTER(0);
	take(&fleet, &table_database, &row);
	close_with_text("");
	text_is(&finding_of("not_timed")->title, "Reading is not timed on shop-1");
	row.counters[DATABASE_READ_NS] = COUNTER(77);
	take(&fleet, &table_database, &row);
	assert_null(finding_of("not_timed"));
}

static void waits_for_locks_are_said_with_who_holds_them(void **state)
{
	struct blocking_row row = { .server = 1,
				    .at_wall_ns = S,
				    .pid = 7,
				    .blocker_pid = 8,
				    .relation = STR_LITERAL("public.orders"),
				    .blocker_state = STR_LITERAL("idle in transaction"),
				    .waited_ns = 3 * NS_PER_S };

	(void)state;
	take(&fleet, &table_blocking, &row);
	close_with_text("");
	text_is(&finding_of("blocking")->evidence,
		"1 wait was seen. It had lasted 3 s, on shop-1, for public.orders: backend 7 "
		"waits for 8, which is idle in transaction.");
}

static void differences_that_could_not_be_taken_are_counted(void **state)
{
	struct statement_row row = ran(1, 100, 1, 1);

	(void)state;
	take(&fleet, &table_statement, &row);
	row.span_ns = 0;
	row.life = DELTA_RESTARTED;
	take(&fleet, &table_statement, &row);
	close_with_text("select 1");
	text_is(&finding_of("no_difference")->evidence,
		"1 of 2 rows of statements have none; the last because the server was started "
		"again.");
}

static void a_changed_setting_is_said_with_both_values(void **state)
{
	struct setting_change_row row = { .server = 1,
					  .at_wall_ns = S,
					  .name = STR_LITERAL("work_mem"),
					  .before = STR_LITERAL("4MB"),
					  .after = STR_LITERAL("64MB") };

	(void)state;
	take(&fleet, &table_setting_change, &row);
	close_with_text("");
	text_is(&finding_of("settings_changed")->evidence, "On shop-1 it was 4MB and is 64MB.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_change_of_plan_that_cost_is_the_verdict, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(few_calls_or_little_time_tell_no_change, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_largest_statement_is_the_verdict, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_statement_may_stand_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_measured_and_nothing_ran_are_two_verdicts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_text_is_harmless_and_on_one_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_server_that_was_never_reached_is_said_with_its_reason, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_visit_in_twenty_may_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_allowed_is_said_with_the_way_to_mend_it,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(hidden_statements_are_a_share_of_the_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missed_captures_are_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(collecting_over_1_percent_of_a_cpu_is_dear, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(reading_that_is_not_timed_is_no_zero, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(waits_for_locks_are_said_with_who_holds_them,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(differences_that_could_not_be_taken_are_counted,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_changed_setting_is_said_with_both_values, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
