/* test_cadence.c - N, turn slots, effective N, due and scheduled: the rules one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/cadence.h"
#include "core/scoped.h"

#define MINUTE (60 * NS_PER_S)

static struct cadence_pace pace_of(uint32_t n)
{
	struct cadence_pace p;

	cadence_pace_init(&p, MINUTE, 10 * MINUTE, n);
	return p;
}

static struct cadence_mark at_slot(const struct cadence_pace *p, int64_t slot)
{
	int64_t at_ns = slot * (int64_t)cadence_slot_ns(p);

	return (struct cadence_mark){ at_ns, at_ns };
}

static void n_is_clamped_and_nothing_means_always(void **state)
{
	static const struct {
		int64_t setting;
		uint32_t n;
	} cases[] = { { 4, 4 },		 { 1, 1 }, { 60, 60 }, { 61, 60 },
		      { INT64_MAX, 60 }, { 0, 1 }, { -1, 1 },  { INT64_MIN, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(cadence_n_of(cases[i].setting), cases[i].n);
	assert_int_equal(CADENCE_N_DEFAULT, 4);
}

static void a_turn_slot_is_the_fewest_cycles_that_hold_the_cadence(void **state)
{
	static const struct {
		uint64_t p95_s;
		uint32_t k;
	} cases[] = { { 1, 1 },	  { 60, 1 },  { 66, 1 },  { 67, 2 },
		      { 113, 2 }, { 132, 2 }, { 133, 3 }, { 100000, 60 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cadence_pace p = pace_of(4);

		cadence_pace_turn(&p, cases[i].p95_s * NS_PER_S);
		assert_int_equal(p.k, cases[i].k);
	}
}

static void a_turn_slot_gets_shorter_only_behind_ten_calm_slots(void **state)
{
	struct cadence_pace p = pace_of(4);

	(void)state;
	cadence_pace_turn(&p, 300 * NS_PER_S);
	assert_int_equal(p.k, 5);
	for (int i = 0; i < 9; i++)
		cadence_pace_turn(&p, (i == 4 ? 150 : 50) * NS_PER_S);
	assert_int_equal(p.k, 5);
	cadence_pace_turn(&p, 50 * NS_PER_S);
	assert_int_equal(p.k, 3); /* what the worst of the ten needed */
	for (int i = 0; i < 9; i++)
		cadence_pace_turn(&p, 50 * NS_PER_S);
	cadence_pace_turn(&p, 170 * NS_PER_S); /* not calm: counts from the start */
	for (int i = 0; i < 9; i++)
		cadence_pace_turn(&p, 50 * NS_PER_S);
	assert_int_equal(p.k, 3);
	cadence_pace_turn(&p, 50 * NS_PER_S);
	assert_int_equal(p.k, 1);
}

static void a_turn_without_a_measurement_changes_nothing(void **state)
{
	struct cadence_pace p = pace_of(4);

	(void)state;
	cadence_pace_turn(&p, 113 * NS_PER_S);
	for (int i = 0; i < 30; i++)
		assert_false(cadence_pace_turn(&p, 0));
	assert_int_equal(p.k, 2);
}

static void effective_n_leaves_one_retry_within_the_reach(void **state)
{
	static const struct {
		uint32_t given;
		uint64_t p95_s;
		uint32_t n;
	} cases[] = {
		{ 4, 60, 4 },	/* (4 + 1) * 60 <= 600 */
		{ 9, 60, 9 },	/* (9 + 1) * 60 <= 600 */
		{ 10, 60, 9 },	/* (10 + 1) * 60 > 600 */
		{ 60, 60, 9 },	/* the setting may be more */
		{ 4, 113, 4 },	/* (4 + 1) * 120 <= 600 */
		{ 4, 133, 2 },	/* (2 + 1) * 180 <= 600 */
		{ 4, 1000, 1 }, /* never below 1 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cadence_pace p = pace_of(cases[i].given);

		cadence_pace_turn(&p, cases[i].p95_s * NS_PER_S);
		assert_int_equal(p.n, cases[i].n);
	}
}

static void effective_n_falls_at_once_and_rises_behind_ten_calm_slots(void **state)
{
	struct cadence_pace p = pace_of(4);
	int slots = 0;

	(void)state;
	assert_true(cadence_pace_turn(&p, 200 * NS_PER_S));
	assert_int_equal(p.n, 1);
	while (p.k > 1)
		cadence_pace_turn(&p, 60 * NS_PER_S);
	assert_int_equal(p.n, 1);
	while (p.n < 4 && slots < 100) {
		cadence_pace_turn(&p, 60 * NS_PER_S);
		slots++;
	}
	assert_int_equal(slots, 9); /* the slot in which k fell was calm as well */
}

/* N of 4 in slots of one cycle is 4; in slots of two 4, of three 2. */
static void a_restart_goes_on_at_the_pace_that_held(void **state)
{
	static const struct {
		const char *name;
		uint32_t k, k_before, n, want_k, want_n;
	} cases[] = {
		{ "nothing is known: from the start", 0, 0, 0, 1, 4 },
		{ "slots stay as long as they were", 3, 3, 2, 3, 2 },
		{ "N that waits for its calm slots goes on waiting", 1, 3, 2, 1, 2 },
		{ "N that a person has raised meanwhile rises at once", 1, 1, 2, 1, 4 },
		{ "N that a person has lowered meanwhile is low", 1, 3, 9, 1, 4 },
		{ "never longer than there is", 99, 99, 1, CADENCE_K_MOST, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cadence_pace p = pace_of(4);

		print_message("%s\n", cases[i].name);
		cadence_pace_resume(&p, cases[i].k, cases[i].k_before, cases[i].n);
		assert_int_equal(p.k, cases[i].want_k);
		assert_int_equal(p.n, cases[i].want_n);
	}
}

static void a_slot_is_a_time_and_not_a_count(void **state)
{
	struct cadence_pace p = pace_of(4);

	(void)state;
	assert_int_equal(cadence_slot(&p, (struct wall){ 0 }), 0);
	assert_int_equal(cadence_slot(&p, (struct wall){ (int64_t)MINUTE - 1 }), 0);
	assert_int_equal(cadence_slot(&p, (struct wall){ (int64_t)MINUTE }), 1);
	assert_int_equal(cadence_slot(&p, (struct wall){ -1 }), -1);
	p.k = 3;
	assert_int_equal(cadence_slot(&p, (struct wall){ (int64_t)(6 * MINUTE) }), 2);
}

static void due_is_another_turn_and_scheduled_its_first_slot(void **state)
{
	struct cadence_pace p = pace_of(4);
	struct cadence_mark mark =
		at_slot(&p, 100); /* seat 0, salt 0: turn 25 is slots 100 to 103 */

	(void)state;
	for (int64_t slot = 100; slot < 104; slot++)
		assert_false(cadence_is_due(&p, slot, 0, 0, &mark));
	for (int64_t slot = 104; slot < 120; slot++)
		assert_true(cadence_is_due(&p, slot, 0, 0, &mark));
	assert_true(cadence_is_scheduled(&p, 104, 0, 0));
	assert_false(cadence_is_scheduled(&p, 105, 0, 0));
	/* Another seat, and another reading's salt, move the turn. */
	assert_true(cadence_is_scheduled(&p, 103, 1, 0));
	assert_true(cadence_is_scheduled(&p, 103, 0, 1));
	assert_true(cadence_is_scheduled(&p, 102, UINT32_MAX, 3)); /* (2^32 - 1 + 3) mod 4 = 2 */
}

static enum cadence_answer answer_of(struct cadence_pace *p, int64_t slot, int64_t captured,
				     bool was_changed, bool has_place)
{
	struct cadence_server s = { 0, at_slot(p, captured), 0, true, has_place };

	return cadence_answer(p, true, slot, 0, was_changed, &s);
}

static void one_function_answers_for_switch_and_gate(void **state)
{
	struct cadence_pace p = pace_of(4);
	struct cadence_server s = { 0, at_slot(&p, 100), 0, true, true };

	(void)state;
	assert_int_equal(cadence_answer(&p, false, 104, 0, false, &s), CADENCE_OFF);
	assert_int_equal(answer_of(&p, 103, 100, false, true), CADENCE_GATED);
	assert_int_equal(answer_of(&p, 104, 100, false, false), CADENCE_SCHEDULED);
	assert_int_equal(answer_of(&p, 105, 100, false, false), CADENCE_GATED);
	assert_int_equal(answer_of(&p, 105, 100, false, true), CADENCE_OWED);
	/* When n, k or a seat changed, every due one is owed. */
	assert_int_equal(answer_of(&p, 104, 100, true, false), CADENCE_GATED);
	assert_int_equal(answer_of(&p, 104, 100, true, true), CADENCE_OWED);
}

static void an_n_of_1_is_as_if_there_were_no_gate(void **state)
{
	struct cadence_pace p = pace_of(1);

	(void)state;
	for (int64_t slot = 100; slot < 110; slot++)
		assert_int_equal(answer_of(&p, slot, slot, slot % 2 == 0, false),
				 CADENCE_SCHEDULED);
}

static void a_slot_tries_once(void **state)
{
	struct cadence_pace p = pace_of(4);
	struct cadence_server s = { 0, at_slot(&p, 100), 0, true, false };

	(void)state;
	s.mark.tried_wall_ns = at_slot(&p, 104).tried_wall_ns;
	assert_int_equal(cadence_answer(&p, true, 104, 0, false, &s), CADENCE_GATED);
	s.has_place = true;
	assert_int_equal(cadence_answer(&p, true, 105, 0, false, &s), CADENCE_OWED);
}

static void owed_ones_may_take_an_eighth_more(void **state)
{
	struct cadence_pace p = pace_of(4);

	(void)state;
	assert_int_equal(cadence_allowance(&p, 42, 10), 3); /* F = 11, and 2 */
	assert_int_equal(cadence_allowance(&p, 42, 11), 2);
	assert_int_equal(cadence_allowance(&p, 42, 20), 0);
	assert_int_equal(cadence_allowance(&p, 4, 1), 1);
	assert_int_equal(cadence_allowance(&p, 32, 8), 1);
	assert_int_equal(cadence_allowance(&p, 36, 9), 2);
}

static void places_go_to_the_oldest_captures_and_to_the_hopeless_last(void **state)
{
	struct cadence_pace p = pace_of(4);
	/* Slot 105: seat 3 is scheduled, phases 0 to 2 are owed. F = 2, so 2 + 1 - 1 places. */
	struct cadence_server s[] = {
		{ 0, at_slot(&p, 90), 0, true, false },	 { 1, at_slot(&p, 80), 0, true, false },
		{ 2, at_slot(&p, 85), 0, false, false }, { 3, at_slot(&p, 70), 0, true, false },
		{ 4, at_slot(&p, 80), 0, true, false },
	};

	(void)state;
	s[1].mark.tried_wall_ns = at_slot(&p, 104).tried_wall_ns;
	s[1].failures = CADENCE_HOPELESS;
	assert_int_equal(cadence_give_places(&p, 105, 0, false, 0, s, 5), 2);
	assert_false(s[1].has_place);
	assert_false(s[2].has_place);
	assert_false(s[3].has_place); /* scheduled: it needs none */
	assert_true(s[4].has_place);
	assert_true(s[0].has_place);
	assert_int_equal(cadence_give_places(&p, 105, 0, false, 1, s, 5), 1);
	assert_true(s[4].has_place);
	assert_false(s[0].has_place);
	s[1].failures--;
	assert_int_equal(cadence_give_places(&p, 105, 0, false, 0, s, 5), 2);
	assert_true(s[1].has_place);
	assert_true(s[4].has_place);
	/* All hopeless: longest since the last try first. */
	for (size_t i = 0; i < 5; i++)
		s[i].failures = CADENCE_HOPELESS;
	assert_int_equal(cadence_give_places(&p, 105, 0, false, 1, s, 5), 1);
	assert_true(s[4].has_place);
}

static void a_seat_is_the_lowest_free_one_and_the_highest_fills_a_hole(void **state)
{
	const uint32_t taken[] = { 5, 0, 1, 3 };
	uint32_t many[1500];

	(void)state;
	assert_int_equal(cadence_free_seat(NULL, 0), 0);
	assert_int_equal(cadence_free_seat(taken, 4), 2);
	for (uint32_t i = 0; i < 1500; i++)
		many[i] = 1499 - i;
	assert_int_equal(cadence_free_seat(many, 1500), 1500);
	assert_int_equal(cadence_fill_hole(taken, 4, 2), 0); /* seat 5 moves to 2 */
	assert_int_equal(cadence_fill_hole(taken, 4, 6), 4); /* nobody sits above */
	assert_int_equal(cadence_fill_hole(taken, 0, 0), 0);
}

static void a_change_of_settings_holds_at_once(void **state)
{
	struct cadence_pace p = pace_of(4);

	(void)state;
	cadence_pace_turn(&p, 113 * NS_PER_S);
	cadence_pace_set(&p, MINUTE, 10 * MINUTE, 2);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.k, 2);
	cadence_pace_set(&p, 10 * NS_PER_S, 10 * MINUTE, 7);
	assert_int_equal(p.n, 7);
	assert_int_equal(p.k, 1);
}

static void the_model_says_what_c_buys(void **state)
{
	(void)state;
	assert_int_equal(cadence_model_ns(42, 10 * NS_PER_S, 10, MINUTE), 72 * NS_PER_S);
	assert_int_equal(cadence_model_ns(42, 10 * NS_PER_S, 20, MINUTE), MINUTE);
	assert_int_equal(cadence_model_ns(42, 10 * NS_PER_S, 0, MINUTE), 450 * NS_PER_S);
	assert_true(cadence_model_ns(UINT32_MAX, UINT64_MAX, 1, MINUTE) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(n_is_clamped_and_nothing_means_always),
		cmocka_unit_test(a_turn_slot_is_the_fewest_cycles_that_hold_the_cadence),
		cmocka_unit_test(a_turn_slot_gets_shorter_only_behind_ten_calm_slots),
		cmocka_unit_test(a_turn_without_a_measurement_changes_nothing),
		cmocka_unit_test(effective_n_leaves_one_retry_within_the_reach),
		cmocka_unit_test(effective_n_falls_at_once_and_rises_behind_ten_calm_slots),
		cmocka_unit_test(a_restart_goes_on_at_the_pace_that_held),
		cmocka_unit_test(a_slot_is_a_time_and_not_a_count),
		cmocka_unit_test(due_is_another_turn_and_scheduled_its_first_slot),
		cmocka_unit_test(one_function_answers_for_switch_and_gate),
		cmocka_unit_test(an_n_of_1_is_as_if_there_were_no_gate),
		cmocka_unit_test(a_slot_tries_once),
		cmocka_unit_test(owed_ones_may_take_an_eighth_more),
		cmocka_unit_test(places_go_to_the_oldest_captures_and_to_the_hopeless_last),
		cmocka_unit_test(a_seat_is_the_lowest_free_one_and_the_highest_fills_a_hole),
		cmocka_unit_test(a_change_of_settings_holds_at_once),
		cmocka_unit_test(the_model_says_what_c_buys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
