/* test_lane.c - pauses of failing servers, and what SQLSTATEs say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/lane.h"
#include "core/scoped.h"
#include "core/units.h"

static const struct lane_pauses pauses = { 10 * NS_PER_S, 600 * NS_PER_S };

static void each_pause_is_twice_the_one_before_up_to_the_cap(void **state)
{
	static const uint64_t want_s[] = { 10, 20, 40, 80, 160, 320, 600, 600, 600 };
	struct rng rng;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct lane lane = { 0 };

		rng_seed(&rng, seed);
		for (size_t i = 0; i < ARRAY_LEN(want_s); i++) {
			uint64_t pause_ns;

			lane_failed(&lane, &pauses, 5 * NS_PER_S, &rng);
			pause_ns = lane.until_mono_ns - 5 * NS_PER_S;
			assert_in_range(pause_ns, want_s[i] * NS_PER_S / 2, want_s[i] * NS_PER_S);
			assert_int_equal(lane.failures, i + 1);
		}
	}
}

static void servers_that_fail_together_do_not_come_back_together(void **state)
{
	struct rng rng;
	uint32_t tenths[10] = { 0 };

	(void)state;
	rng_seed(&rng, 1);
	for (int i = 0; i < 10000; i++) {
		struct lane lane = { 0 };

		lane_failed(&lane, &pauses, 0, &rng);
		tenths[(lane.until_mono_ns - 5 * NS_PER_S) * 10 / (5 * NS_PER_S + 1)]++;
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(tenths[i], 900, 1100);
}

static void one_failure_leads_into_the_lane_and_one_success_out_of_it(void **state)
{
	struct lane lane = { 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	assert_false(lane_is_in(&lane));
	assert_true(lane_may_try(&lane, 0));
	assert_false(lane_recovered(&lane));
	assert_true(lane_failed(&lane, &pauses, NS_PER_S, &rng));
	assert_false(lane_failed(&lane, &pauses, NS_PER_S, &rng)); /* is there already */
	assert_true(lane_is_in(&lane));
	assert_false(lane_may_try(&lane, lane.until_mono_ns - 1));
	assert_true(lane_may_try(&lane, lane.until_mono_ns));
	assert_true(lane_recovered(&lane));
	assert_true(lane_may_try(&lane, 0));
	assert_int_equal(lane.failures, 0);
}

static void a_cap_below_the_first_pause_is_the_pause(void **state)
{
	struct lane lane = { 0 };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (int i = 0; i < 70; i++) {
		lane_failed(&lane, &(struct lane_pauses){ 10 * NS_PER_S, NS_PER_S }, 0, &rng);
		assert_in_range(lane.until_mono_ns, NS_PER_S / 2, NS_PER_S);
	}
}

static void the_lane_is_half_as_wide_as_the_road_and_never_closed(void **state)
{
	(void)state;
	assert_int_equal(lane_places(20), 10);
	assert_int_equal(lane_places(5), 2);
	assert_int_equal(lane_places(1), 2);
	assert_int_equal(lane_places(1000), 500);
}

static void patience_is_four_times_what_visits_usually_take(void **state)
{
	(void)state;
	assert_int_equal(lane_patience_ns(0, false), NS_PER_S);
	assert_int_equal(lane_patience_ns(250 * NS_PER_MS, false), NS_PER_S);
	assert_int_equal(lane_patience_ns(251 * NS_PER_MS, false), 1004 * NS_PER_MS);
	assert_int_equal(lane_patience_ns(0, true), 5 * NS_PER_S);
	assert_int_equal(lane_patience_ns(2 * NS_PER_S, true), 8 * NS_PER_S);
	assert_true(lane_patience_ns(UINT64_MAX / 2, false) == UINT64_MAX);
}

static void an_sqlstate_says_what_to_do_with_the_connection(void **state)
{
	static const struct {
		const char sqlstate[6];
		enum lane_verdict want;
	} cases[] = {
		{ "", LANE_RECONNECT },	     { "08006", LANE_RECONNECT },
		{ "57P01", LANE_RECONNECT }, { "57P03", LANE_RECONNECT },
		{ "57014", LANE_KEEP },	     { "42501", LANE_KEEP },
		{ "53300", LANE_BACK_OFF },  { "53200", LANE_KEEP },
		{ "28P01", LANE_BACK_OFF },  { "28000", LANE_BACK_OFF },
		{ "3D000", LANE_BACK_OFF },  { "XX000", LANE_KEEP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].sqlstate);
		assert_int_equal(lane_judge(cases[i].sqlstate), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pause_is_twice_the_one_before_up_to_the_cap),
		cmocka_unit_test(servers_that_fail_together_do_not_come_back_together),
		cmocka_unit_test(one_failure_leads_into_the_lane_and_one_success_out_of_it),
		cmocka_unit_test(a_cap_below_the_first_pause_is_the_pause),
		cmocka_unit_test(the_lane_is_half_as_wide_as_the_road_and_never_closed),
		cmocka_unit_test(patience_is_four_times_what_visits_usually_take),
		cmocka_unit_test(an_sqlstate_says_what_to_do_with_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
