/* test_fleet_time.c - when a fleet's time was spent, what of it is covered, and whose capture is owed. */
#include "core/fleet_time.h"

#include <math.h>

#include "core/fleet_turns.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "made_fleet_rows.h"

#define AT 600000 /* seconds since 1970: a whole minute and ten */

static struct run_row visited(uint32_t server, int64_t at_s)
{
	return (struct run_row){ .server = server,
				 .reading = READING_STATEMENTS,
				 .at_wall_ns = at_s * S,
				 .cycle = (uint64_t)at_s / 60 };
}

/* An analysis and its slots of the same rows: statements, then runs. */
struct made {
	struct fleet_analysis a;
	struct fleet_time t;
};

static void made_open(struct made *m, const struct statement_row *rows, size_t row_count,
		      const struct run_row *runs, size_t run_count)
{
	struct fleet_slots slots;
	struct run_row whole;

	assert_int_equal(fleet_analysis_open(0, INT64_MAX, &m->a), 0);
	for (size_t i = 0; i < row_count; i++)
		take(&m->a, &table_statement, &rows[i]);
	for (size_t i = 0; i < run_count; i++) {
		take(&m->a, &table_run, &runs[i]);
		whole = runs[i];
		whole.reading = READING_VISIT;
		take(&m->a, &table_run, &whole);
	}
	assert_int_equal(fleet_analysis_close_input(&m->a), 0);
	slots = fleet_slots_of(m->a.first_wall_ns, m->a.last_wall_ns, 60 * NS_PER_S);
	assert_int_equal(fleet_time_open(&m->a, &slots, 8, 8, &m->t), 0);
	for (size_t i = 0; i < row_count; i++)
		assert_int_equal(fleet_time_take(&m->t, &table_statement, &rows[i]), 0);
	for (size_t i = run_count; i-- > 0;) /* any order will do */
		assert_int_equal(fleet_time_take(&m->t, &table_run, &runs[i]), 0);
	fleet_time_close_input(&m->t);
}

static void made_free(struct made *m)
{
	fleet_time_free(&m->t);
	fleet_time_free(&m->t);
	fleet_analysis_free(&m->a);
}

static void slots_are_round_and_never_under_a_visit(void **state)
{
	static const struct {
		int64_t first_s, last_s;
		uint64_t visit_s, want_s;
		uint32_t want_count;
	} cases[] = {
		{ AT, AT + 3600, 60, 60, 61 }, /* an hour of minutes */
		{ AT, AT + 86400, 60, 600,
		  145 }, /* a day: 288 of 5 minutes would not hold the visit in front */
		{ AT, AT + 120, 5, 5, 25 },
		{ AT, AT + 120, 7, 10, 13 },
		{ AT, AT, 60, 60, 1 },
		{ AT, AT + 400 * 86400LL, 60, 172800, 201 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fleet_slots s = fleet_slots_of(cases[i].first_s * S, cases[i].last_s * S,
						      cases[i].visit_s * NS_PER_S);

		assert_int_equal(s.slot_ns, cases[i].want_s * NS_PER_S);
		assert_int_equal(s.count, cases[i].want_count);
		assert_true(s.from_wall_ns <= (cases[i].first_s - (int64_t)cases[i].visit_s) * S);
		assert_true(s.from_wall_ns + (int64_t)(s.slot_ns * s.count) >= cases[i].last_s * S);
	}
	assert_int_equal(fleet_slots_of(0, 0, 60 * NS_PER_S).count, 0);
	assert_int_equal(fleet_slots_of(1, INT64_MAX, 60 * NS_PER_S).count, 0); /* no real time */
	assert_int_equal(fleet_slots_of(AT * S, AT * S, UINT64_MAX).count, 1);
}

static void a_difference_is_spread_over_its_span_and_its_sum_is_exact(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 1, 1), ran(1, AT + 90, 10, 7) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 90) };
	struct fleet_cell sum;
	struct made m;

	(void)state;
	rows[1].span_ns = 90 * NS_PER_S;
	made_open(&m, rows, 2, runs, 2);
	assert_int_equal(m.t.slots.count, 3); /* (-60, 0], (0, 60], (60, 120] */
	assert_int_equal(m.t.statements[0].calls, 1);
	assert_int_equal(m.t.statements[1].calls, 6); /* 60 of 90 s */
	assert_int_equal(m.t.statements[2].calls, 4);
	assert_int_equal(m.t.all[1].exec_ns + m.t.all[2].exec_ns, 7 * NS_PER_MS);
	sum = fleet_time_sum(&m.t, m.t.statements);
	assert_int_equal(sum.calls, 11);
	assert_int_equal(sum.exec_ns, m.a.exec_ns);
	made_free(&m);
}

static void a_span_of_nonsense_stays_inside(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 3, 3), ran(1, AT + 60, 5, 5) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 60) };
	struct made m;

	(void)state;
	rows[0].span_ns = UINT64_MAX;
	made_open(&m, rows, 2, runs, 2);
	assert_int_equal(fleet_time_sum(&m.t, m.t.statements).calls, 8);
	made_free(&m);
}

static void a_visit_covers_the_time_since_the_one_before(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 1, 1) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 60), visited(1, AT + 300) };
	struct made m;

	(void)state;
	made_open(&m, rows, 1, runs, 3);
	/* Idle, or away for four minutes and back in the same life: its difference covers them. */
	assert_int_equal(m.t.covers[3].covered_ns, 60 * NS_PER_S);
	assert_true(fabs(fleet_time_covered(&m.t) - 1) < 1e-9);
	made_free(&m);
}

static void a_restart_covers_nothing_and_makes_shares_unsure(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 3, 30), ran(1, AT + 60, 3, 30),
					ran(1, AT + 120, 0, 0), ran(1, AT + 180, 3, 30) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 60), visited(1, AT + 120),
				  visited(1, AT + 180) };
	struct share share;
	struct made m;

	(void)state;
	rows[2].span_ns = 0;
	rows[2].life = DELTA_RESTARTED;
	made_open(&m, rows, 4, runs, 4);
	assert_int_equal(m.t.covers[2].covered_ns, 0);
	assert_int_equal(m.t.covers[2].present_ns, 60 * NS_PER_S);
	assert_int_equal(m.t.statements[2].unknown, 1);
	assert_true(fabs(fleet_time_covered(&m.t) - 0.75) < 1e-9);
	share = fleet_time_share(&m.t, 0);
	assert_true(fabs(share.value - 1) < 1e-9);
	assert_true(fabs(share.error - 0.25) < 1e-9); /* a quarter is not covered */
	made_free(&m);
}

static void a_statement_of_first_sight_breaks_nothing_of_its_server(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 0, 0), ran(1, AT + 60, 3, 30),
					ran(1, AT + 120, 0, 0), ran(1, AT + 180, 3, 30) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 60), visited(1, AT + 120),
				  visited(1, AT + 180) };
	struct made m;

	(void)state;
	rows[0].span_ns = rows[2].span_ns = 0;
	rows[0].life = DELTA_FIRST; /* in the first visit: nothing is in front of it */
	rows[2].life = DELTA_EVICTED;
	made_open(&m, rows, 4, runs, 4);
	assert_true(fabs(fleet_time_covered(&m.t) - 1) < 1e-9);
	assert_int_equal(fleet_time_sum(&m.t, m.t.statements).unknown, 2);
	assert_true(fabs(fleet_time_share(&m.t, 0).error - 0.25) < 1e-9); /* one of four minutes */
	made_free(&m);
}

static void over_an_hour_between_two_visits_is_a_hole(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 3, 30), ran(1, AT + 7260, 3, 30) };
	struct run_row runs[] = { visited(1, AT), visited(1, AT + 7200), visited(1, AT + 7260) };
	struct made m;

	(void)state;
	made_open(&m, rows, 2, runs, 3);
	assert_true(fabs(fleet_time_covered(&m.t) - 120.0 / 7320) < 1e-9);
	made_free(&m);
}

static void who_was_never_reached_is_no_part_of_what_is_covered(void **state)
{
	struct statement_row rows[] = { ran(1, AT, 3, 30), ran(1, AT + 60, 3, 30) };
	struct run_row runs[] = { visited(1, AT), visited(2, AT), visited(1, AT + 60),
				  visited(2, AT + 60) };
	struct made m;

	(void)state;
	runs[1].outcome = runs[3].outcome = RUN_ERROR;
	made_open(&m, rows, 2, runs, 4);
	assert_int_equal(m.a.server_count, 2);
	assert_true(fabs(fleet_time_covered(&m.t) - 1) < 1e-9);
	assert_true(fleet_time_covered_of(&m.t, 1) <= 0);
	assert_true(m.t.covers[m.t.slots.count].present_ns > 0);
	made_free(&m);
}

static void a_share_that_is_exact_has_no_error(void **state)
{
	static const struct {
		struct share share;
		const char *want;
	} cases[] = {
		{ { 0.4881, 0.006, 1, false }, "48.8" TEXT_NBSP "%" TEXT_NBSP "±" TEXT_NBSP "0.6" },
		{ { 0.4881, 0, 1, false }, "48.8" TEXT_NBSP "%" },
		{ { 0, 0, 1, false }, "0" },
		{ { 0.2, 1, 1, false }, "—" TEXT_NBSP "cannot know" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		fleet_time_put_share(&t, cases[i].share);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void a_cycle_is_what_its_number_says_unless_the_visits_say_otherwise(void **state)
{
	struct fleet_beat beat = { .server = 0 };
	struct run_row row = visited(1, 0);

	(void)state;
	assert_int_equal(fleet_beat_cycle_ns(&beat), 0);
	row.reading = READING_VISIT;
	for (int i = 0; i < 10; i++) {
		row.cycle = 28000000 + (uint64_t)i;
		row.at_wall_ns = (int64_t)row.cycle * 60 * S + 41 * S + i * (int64_t)NS_PER_MS;
		fleet_beat_take(&beat, &row);
	}
	assert_int_equal(fleet_beat_cycle_ns(&beat), 60 * NS_PER_S);
	assert_int_equal(fleet_beat_measured_ns(&beat), 60001 * NS_PER_MS);
	row.server = 2; /* another server's visit is no next one */
	row.cycle++;
	row.at_wall_ns += 3600 * S;
	fleet_beat_take(&beat, &row);
	assert_int_equal(fleet_beat_measured_ns(&beat), 60001 * NS_PER_MS);
	row.cycle = 12; /* numbers of another making */
	fleet_beat_take(&beat, &row);
	assert_int_equal(fleet_beat_cycle_ns(&beat), 60001 * NS_PER_MS);
}

/* 41 servers that have seats, a collector that captures one slot in four. */
static void turns_made(struct fleet_analysis *a, struct fleet_turns *t)
{
	struct collector_row minute = { .at_wall_ns = AT * S, .turn_slots = 1, .one_in = 4 };
	struct run_row run = visited(1, AT);

	assert_int_equal(fleet_analysis_open(0, INT64_MAX, a), 0);
	for (uint32_t i = 0; i < 41; i++) {
		struct server_row server = { .server = i + 1, .seat = i };

		take(a, &table_server, &server);
	}
	take(a, &table_collector, &minute);
	take(a, &table_run, &run);
	assert_int_equal(fleet_analysis_close_input(a), 0);
	fleet_turns_open(a, 60 * NS_PER_S, t);
}

static void a_cycle_of_nonsense_has_no_turn_slots(void **state)
{
	struct run_row run = visited(1, AT);
	struct fleet_analysis a;
	struct fleet_turns t;

	(void)state;
	turns_made(&a, &t);
	fleet_turns_open(&a, UINT64_MAX / 2 + 1, &t); /* twice as much is 0 */
	run.reading = READING_VISIT;
	fleet_turns_take(&t, &run);
	assert_int_equal(t.pace.n, 0);
	fleet_analysis_free(&a);
}

static void turn_slots_count_what_was_captured_and_know_their_most(void **state)
{
	struct run_row run = visited(1, AT);
	struct fleet_analysis a;
	struct fleet_turns t;

	(void)state;
	turns_made(&a, &t);
	assert_int_equal(t.most, 13); /* 11 + 2 */
	assert_int_equal(t.first, AT / 60 - 31);
	run.reading = READING_VISIT;
	run.capture = CAPTURE_SCHEDULED;
	fleet_turns_take(&t, &run);
	run.capture = CAPTURE_OWED;
	fleet_turns_take(&t, &run);
	run.at_wall_ns -= 60 * S;
	run.capture = CAPTURE_MISSED;
	fleet_turns_take(&t, &run);
	run.at_wall_ns -= 32 * 60 * S; /* too old to be shown */
	fleet_turns_take(&t, &run);
	run.at_wall_ns = AT * S;
	run.reading = READING_STATEMENTS; /* the same capture again */
	run.capture = CAPTURE_SCHEDULED;
	fleet_turns_take(&t, &run);
	assert_int_equal(t.turns[31].scheduled, 1);
	assert_int_equal(t.turns[31].owed, 1);
	assert_int_equal(t.turns[30].missed, 1);
	fleet_analysis_free(&a);
}

static void a_capture_is_owed_from_the_slot_it_was_due_in(void **state)
{
	struct server_row server = { .server = 1, .seat = 1 };
	struct capture_row capture = { .server = 1 };
	struct fleet_analysis a;
	struct fleet_turns t;
	int64_t since = 0;

	(void)state;
	turns_made(&a, &t); /* now is slot 10000, in which seats 0, 4, 8 have their turn */
	capture.captured_wall_ns = (AT - 60) * S; /* in its own turn, slot 9999 */
	assert_false(fleet_turns_is_owed(&t, &server, &capture, &since));
	capture.captured_wall_ns =
		(AT - 600) * S; /* slot 9990; its turns since: 9991, 9995, 9999 */
	assert_true(fleet_turns_is_owed(&t, &server, &capture, &since));
	assert_int_equal(since, 9991 * 60 * S);
	capture.captured_wall_ns = (AT - 540) * S; /* in its own turn, slot 9991 */
	assert_true(fleet_turns_is_owed(&t, &server, &capture, &since));
	assert_int_equal(since, 9995 * 60 * S);
	server.seat = 4; /* its turn is now: scheduled, not owed */
	assert_false(fleet_turns_is_owed(&t, &server, &capture, &since));
	server.seat = NO_ID;
	assert_false(fleet_turns_is_owed(&t, &server, &capture, &since));
	fleet_analysis_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_round_and_never_under_a_visit),
		cmocka_unit_test(a_difference_is_spread_over_its_span_and_its_sum_is_exact),
		cmocka_unit_test(a_span_of_nonsense_stays_inside),
		cmocka_unit_test(a_visit_covers_the_time_since_the_one_before),
		cmocka_unit_test(a_restart_covers_nothing_and_makes_shares_unsure),
		cmocka_unit_test(a_statement_of_first_sight_breaks_nothing_of_its_server),
		cmocka_unit_test(over_an_hour_between_two_visits_is_a_hole),
		cmocka_unit_test(who_was_never_reached_is_no_part_of_what_is_covered),
		cmocka_unit_test(a_share_that_is_exact_has_no_error),
		cmocka_unit_test(a_cycle_is_what_its_number_says_unless_the_visits_say_otherwise),
		cmocka_unit_test(a_cycle_of_nonsense_has_no_turn_slots),
		cmocka_unit_test(turn_slots_count_what_was_captured_and_know_their_most),
		cmocka_unit_test(a_capture_is_owed_from_the_slot_it_was_due_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
