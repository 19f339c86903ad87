/* test_waits.c - what a thread's waits weigh: never more than they took, and with the rest exactly that. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/coin.h"
#include "core/scoped.h"
#include "core/waits.h"
#include "profile_stage.h"

static void running_waiting_and_runnable_are_the_wall(void **state)
{
	static const struct {
		const char *name;
		struct waits_account told;
		uint64_t want[STATE_COUNT]; /* running, waiting, runnable */
	} cases[] = {
		{ "the wait is what is left", { 1000, 300, 100, 0 }, { 300, 600, 100 } },
		{ "one that always runs", { 1000, 1000, 0, 0 }, { 1000, 0, 0 } },
		{ "a clock that is ahead", { 1000, 1003, 0, 0 }, { 1000, 0, 0 } },
		{ "a run queue that is ahead", { 1000, 900, 150, 0 }, { 900, 0, 100 } },
		{ "not begun", { 0, 5, 5, 0 }, { 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct waits w = { 0 };

		print_message("%s\n", cases[i].name);
		waits_tell(&w, &cases[i].told);
		for (int s = 0; s < STATE_COUNT; s++)
			assert_int_equal(w.exact_ns[s], cases[i].want[s]);
	}
}

static void a_wait_that_was_certain_weighs_what_it_took(void **state)
{
	struct waits_account told = { .wall_ns = 1000, .running_ns = 300, .runnable_ns = 100 };
	struct wait waits[] = { { 400, 60, 1, 0 }, { 200, 40, 1, 0 } };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		waits_count(&w, &waits[i]);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_int_equal(waits_weigh(&w, &waits[i], STATE_WAITING), waits[i].waiting_ns);
		assert_int_equal(waits_weigh(&w, &waits[i], STATE_RUNNABLE), waits[i].runnable_ns);
	}
	assert_int_equal(waits_rest(&w, STATE_WAITING), 0);
	assert_int_equal(waits_rest(&w, STATE_RUNNABLE), 0);
}

static void looks_that_estimate_too_much_are_scaled_to_the_sum(void **state)
{
	struct waits_account told = { .wall_ns = 1000 };
	struct wait a = { 300, 0, 4, 0 }, b = { 400, 0, 2, 0 };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	waits_count(&w, &a);
	waits_count(&w, &b);
	assert_int_equal(waits_weigh(&w, &a, STATE_WAITING), 600); /* 1200 of 2000 */
	assert_int_equal(waits_weigh(&w, &b, STATE_WAITING), 400);
	assert_int_equal(waits_rest(&w, STATE_WAITING), 0);
}

static void looks_that_estimate_too_little_leave_a_rest_with_a_name(void **state)
{
	struct waits_account told = { .wall_ns = 1000 };
	struct wait a = { 30, 0, 10 };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	waits_count(&w, &a);
	assert_int_equal(waits_weigh(&w, &a, STATE_WAITING), 300);
	assert_int_equal(waits_rest(&w, STATE_WAITING), 700);
}

static void a_long_wait_stands_for_itself_and_leaves_the_short_ones_theirs(void **state)
{
	struct waits_account told = { .wall_ns = 10 * NS_PER_S + 500 };
	struct wait a = { 100, 0, 20 };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	waits_give(&w, STATE_WAITING, 4 * NS_PER_S); /* in parts, while it lasts */
	waits_give(&w, STATE_WAITING, 6 * NS_PER_S);
	waits_count(&w, &a);
	assert_int_equal(waits_weigh(&w, &a, STATE_WAITING), 500); /* not 2000 */
	assert_int_equal(waits_rest(&w, STATE_WAITING), 0);
}

static void a_wait_under_way_is_not_given_to_the_short_ones(void **state)
{
	struct waits_account told = { .wall_ns = 1000, .open_ns = 900 };
	struct wait a = { 100, 0, 5 };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	waits_count(&w, &a);
	assert_int_equal(waits_weigh(&w, &a, STATE_WAITING), 100);
	assert_int_equal(waits_rest(&w, STATE_WAITING), 900);
}

static void a_wait_in_a_slice_stands_for_the_rest_before_it(void **state)
{
	struct waits_account told = { .wall_ns = 16 * NS_PER_S };
	struct wait a = { 3 * NS_PER_MS, NS_PER_MS, 2, 16 * PPM };
	struct waits w = { 0 };

	(void)state;
	told.runnable_ns = NS_PER_S;
	waits_tell(&w, &told);
	waits_count(&w, &a);
	assert_int_equal(waits_weigh(&w, &a, STATE_WAITING), 2 * 16 * 3 * NS_PER_MS);
	assert_int_equal(waits_weigh(&w, &a, STATE_RUNNABLE), 2 * 16 * NS_PER_MS);
}

static void sums_that_have_no_room_are_as_large_as_can_be(void **state)
{
	struct waits_account told = { .wall_ns = 1000 };
	struct wait a = { UINT64_MAX / 2, 0, 60000 };
	struct waits w = { 0 };

	(void)state;
	waits_tell(&w, &told);
	waits_count(&w, &a);
	waits_count(&w, &a);
	assert_true(w.looked_ns[STATE_WAITING] == UINT64_MAX);
	assert_in_range(waits_weigh(&w, &a, STATE_WAITING), 999, 1000);
}

/* A thread that waits in two places, and what was given to each. */
struct place {
	uint64_t truth_ns, given_ns;
};

/* A second of its life: bursts, and now and then a pause. */
static void live(struct rng *r, struct coin *c, struct waits *w, struct waits_account *told,
		 struct place places[2], uint32_t rate, uint64_t *now_ns)
{
	struct wait looked[4096];
	int at[4096], count = 0;

	for (uint64_t end_ns = *now_ns + NS_PER_S; *now_ns < end_ns;) {
		int place = rng_below(r, 100) == 0;
		uint64_t ns = place ? 5000000 + rng_below(r, 5000000) : 30000 + rng_below(r, 60000);
		uint32_t one_in = coin_settle(c, *now_ns, rate);

		if (coin_falls(c, (uint32_t)rng_next(r)) && count < 4096) {
			looked[count] = (struct wait){ ns, 0, one_in, 0 };
			at[count++] = place;
		}
		*now_ns += ns + 10000;
		places[place].truth_ns += ns;
		told->wall_ns += ns + 10000;
		told->running_ns += 10000;
	}
	waits_tell(w, told);
	for (int i = 0; i < count; i++)
		waits_count(w, &looked[i]);
	for (int i = 0; i < count; i++)
		places[at[i]].given_ns += waits_weigh(w, &looked[i], STATE_WAITING);
	assert_true(places[0].given_ns + places[1].given_ns + waits_rest(w, STATE_WAITING) ==
		    w->exact_ns[STATE_WAITING]);
}

static void shares_of_waiting_are_right_and_the_sum_is_exact(void **state)
{
	double sum = 0, squares = 0, rest = 0, mean, error;

	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct place places[2] = { { 0, 0 }, { 0, 0 } };
		struct waits_account told = { 0 };
		struct waits w = { 0 };
		struct coin c = { 0 };
		struct rng r;
		uint64_t now_ns = 1;
		double truth, given;

		rng_seed(&r, seed);
		for (int second = 0; second < 40; second++)
			live(&r, &c, &w, &told, places, 300, &now_ns);
		assert_true(places[0].truth_ns + places[1].truth_ns == w.exact_ns[STATE_WAITING]);
		truth = (double)places[1].truth_ns /
			(double)(places[0].truth_ns + places[1].truth_ns);
		given = (double)places[1].given_ns /
			(double)(places[0].given_ns + places[1].given_ns);
		sum += given - truth;
		squares += (given - truth) * (given - truth);
		rest += (double)waits_rest(&w, STATE_WAITING) / (double)w.exact_ns[STATE_WAITING] /
			30;
	}
	mean = sum / 30;
	error = sqrt(squares / 30 - mean * mean);
	print_message("share off by %.4f on average, %.4f in one run; rest %.4f\n", mean, error,
		      rest);
	assert_true(fabs(mean) < .01);
	assert_true(error < .03);
	assert_true(rest < .05);
}

/* As it is given while it lasts: in parts that double, and are half a minute at most. */
static void a_wait_of_five_hours_fills_five_hours_of_slots(void **state)
{
	const uint64_t hours_ns = 5 * 3600 * NS_PER_S, before_ns = 600 * NS_PER_S;
	struct profile_settings settings = roomy(12);
	const struct timeline *t;
	struct frame path[3];
	struct stage s;
	uint64_t part_ns = NS_PER_S, span_ns;

	(void)state;
	settings.limits.slots = 1024;
	stage_open(&s, &settings);
	for (uint64_t given_ns = 0; given_ns < hours_ns; given_ns += part_ns) {
		struct tick wait = { .from_ns = before_ns + given_ns, .state = STATE_WAITING };

		if (given_ns > 0)
			part_ns = given_ns < 30 * NS_PER_S ? given_ns : 30 * NS_PER_S;
		if (part_ns > hours_ns - given_ns)
			part_ns = hours_ns - given_ns;
		wait.at_ns = wait.from_ns + part_ns;
		wait.weight_ns = part_ns;
		give(&s, &wait, path, made_path("t;main;read", path, 3));
	}
	assert_whole(&s);
	t = profile_timeline(s.profile);
	span_ns = t->span_ns;
	for (uint32_t i = 0; i < t->used; i++) {
		uint64_t from_ns = i * span_ns, to_ns = from_ns + span_ns;
		uint64_t waited_ns = t->slots[i].weight_ns[STATE_WAITING] +
				     t->slots[i].pending_ns[STATE_WAITING];

		if (to_ns <= before_ns)
			assert_int_equal(waited_ns, 0);
		else if (from_ns >= before_ns && to_ns <= before_ns + hours_ns)
			assert_in_range(waited_ns, span_ns - 4, span_ns + 4);
	}
	assert_true(weight_of(entry_of(&s, "t;main;read")) >= hours_ns - 60 * NS_PER_S);
	profile_close(s.profile);
}

static void what_waits_take_stays_inside_what_they_may(void **state)
{
	static const struct {
		const char *name;
		uint32_t rate;
		uint64_t spent_ns, allowed_ns;
		uint32_t want;
	} cases[] = {
		{ "over it: half as many", 300, 101, 100, 150 },
		{ "never none: a long run is better than nothing", 1, 101, 100, 1 },
		{ "exactly it: as many", 300, 100, 100, 300 },
		{ "half of it: as many", 300, 50, 100, 300 },
		{ "under half of it: a quarter more", 300, 49, 100, 376 },
		{ "up to the most", 990, 0, 100, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(waits_next_rate(cases[i].rate, cases[i].spent_ns,
						 cases[i].allowed_ns, 1000),
				 cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_waiting_and_runnable_are_the_wall),
		cmocka_unit_test(a_wait_that_was_certain_weighs_what_it_took),
		cmocka_unit_test(looks_that_estimate_too_much_are_scaled_to_the_sum),
		cmocka_unit_test(looks_that_estimate_too_little_leave_a_rest_with_a_name),
		cmocka_unit_test(a_long_wait_stands_for_itself_and_leaves_the_short_ones_theirs),
		cmocka_unit_test(a_wait_under_way_is_not_given_to_the_short_ones),
		cmocka_unit_test(a_wait_in_a_slice_stands_for_the_rest_before_it),
		cmocka_unit_test(sums_that_have_no_room_are_as_large_as_can_be),
		cmocka_unit_test(shares_of_waiting_are_right_and_the_sum_is_exact),
		cmocka_unit_test(a_wait_of_five_hours_fills_five_hours_of_slots),
		cmocka_unit_test(what_waits_take_stays_inside_what_they_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
