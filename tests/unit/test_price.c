/* test_price.c - the price controller, window by window and over simulated days. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/price.h"
#include "core/scoped.h"

#define MS	NS_PER_MS
#define HALF	5000u /* 0.5 % in millionths: 5 ms a second */
#define BASE_NS (10 * MS)
#define MAX_NS	(10 * NS_PER_S)
#define DAY	86400u

/* A target: looking at it for a second at period p costs `hot_ns` x base / p. */
static uint64_t cost_at(uint64_t hot_ns, uint64_t period_ns)
{
	return hot_ns * (BASE_NS / 1000) / (period_ns / 1000);
}

static uint64_t window(struct price *p, uint64_t sample_ns, uint64_t once_ns, uint64_t fixed_ns)
{
	struct price_spent spent = { NS_PER_S, sample_ns, once_ns, fixed_ns };

	return price_next_period(p, &spent);
}

static void one_window_moves_the_period_as_the_rule_says(void **state)
{
	static const struct {
		const char *name;
		struct price_spent spent;
		uint64_t period_ns, want_ns;
	} cases[] = {
		{ "exactly the price: kept", { NS_PER_S, 5 * MS, 0, 0 }, 40 * MS, 40 * MS },
		{ "a nanosecond over: doubled", { NS_PER_S, 5 * MS + 1, 0, 0 }, 40 * MS, 80 * MS },
		{ "far over: doubled, not more", { NS_PER_S, 500 * MS, 0, 0 }, 40 * MS, 80 * MS },
		{ "the fixed part leaves less", { NS_PER_S, 3 * MS, 0, 3 * MS }, 40 * MS, 80 * MS },
		{ "what it leaves is used up: kept",
		  { NS_PER_S, 2 * MS, 0, 3 * MS },
		  40 * MS,
		  40 * MS },
		{ "fixed and samples together over", { NS_PER_S, 1, 0, 5 * MS }, 40 * MS, 80 * MS },
		{ "the fixed part alone over: kept",
		  { NS_PER_S, 4 * MS, 0, 6 * MS },
		  40 * MS,
		  40 * MS },
		{ "and samples alone over too", { NS_PER_S, 6 * MS, 0, 6 * MS }, 40 * MS, 80 * MS },
		{ "a save of 30 ms: kept", { NS_PER_S, 4 * MS, 30 * MS, 0 }, 40 * MS, 40 * MS },
		{ "its spread counts", { NS_PER_S, 4 * MS, 601 * MS, 0 }, 40 * MS, 80 * MS },
		{ "half a window, half the price",
		  { NS_PER_S / 2, 3 * MS, 0, 0 },
		  40 * MS,
		  80 * MS },
		{ "half a window, half of it", { NS_PER_S / 2, 2 * MS, 0, 0 }, 40 * MS, 40 * MS },
		{ "a minute, sixty times the price",
		  { 60 * NS_PER_S, 300 * MS, 0, 0 },
		  40 * MS,
		  40 * MS },
		{ "a minute over it", { 60 * NS_PER_S, 301 * MS, 0, 0 }, 40 * MS, 80 * MS },
		{ "a minute has sixty parts of a save",
		  { 60 * NS_PER_S, 241 * MS, 600 * MS, 0 },
		  40 * MS,
		  80 * MS },
		{ "one cheap window: kept", { NS_PER_S, 0, 0, 0 }, 40 * MS, 40 * MS },
		{ "the longest period: kept", { NS_PER_S, 6 * MS, 0, 0 }, MAX_NS, MAX_NS },
		{ "near the longest: not beyond", { NS_PER_S, 6 * MS, 0, 0 }, MAX_NS - 1, MAX_NS },
		{ "no time has passed: kept", { 0, 6 * MS, 0, 0 }, 40 * MS, 40 * MS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct price p;

		print_message("%s\n", cases[i].name);
		price_init(&p, HALF, BASE_NS, MAX_NS);
		p.period_ns = cases[i].period_ns;
		assert_int_equal(price_next_period(&p, &cases[i].spent), cases[i].want_ns);
		assert_int_equal(p.period_ns, cases[i].want_ns);
		assert_int_equal(p.is_fixed_over, cases[i].spent.fixed_ns > 5 * MS);
	}
}

static void the_tenth_quiet_window_shrinks_by_an_eighth_down_to_the_base(void **state)
{
	struct price p;
	uint64_t want_ns = 80 * MS;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	p.period_ns = want_ns;
	for (unsigned i = 1; i <= 60; i++) {
		if (i >= 10)
			want_ns -= want_ns / 8;
		if (want_ns < BASE_NS)
			want_ns = BASE_NS;
		assert_int_equal(window(&p, 1 * MS, 0, 0), want_ns);
	}
	assert_int_equal(p.period_ns, BASE_NS);
}

static void a_window_of_a_quarter_begins_the_count_anew(void **state)
{
	struct price p;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	p.period_ns = 80 * MS;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(window(&p, i % 10 == 9 ? 5 * MS / 4 : 0, 0, 0), 80 * MS);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(window(&p, 0, 0, 0), 80 * MS);
	assert_int_equal(window(&p, 0, 0, 0), 70 * MS);
	assert_int_equal(window(&p, 6 * MS, 0, 0), 140 * MS);
	assert_int_equal(window(&p, 0, 0, 0), 140 * MS);
}

static void saves_and_start_up_are_spread_over_ten_minutes_and_then_forgotten(void **state)
{
	struct price p;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	p.period_ns = 40 * MS;
	/* 600 ms of start-up: 1 ms a second, so that 4 ms are left for samples */
	assert_int_equal(window(&p, 4 * MS, 600 * MS, 0), 40 * MS);
	for (unsigned i = 1; i < 600; i++)
		assert_int_equal(window(&p, 4 * MS, 0, 0), 40 * MS);
	assert_int_equal(p.once_sum_ns, 0);
	assert_int_equal(window(&p, 5 * MS, 0, 0), 40 * MS);
	/* within the ten minutes the fifth millisecond is too much */
	price_init(&p, HALF, BASE_NS, MAX_NS);
	p.period_ns = 40 * MS;
	for (unsigned i = 0; i < 599; i++)
		window(&p, 4 * MS, i == 0 ? 600 * MS : 0, 0);
	assert_int_equal(window(&p, 5 * MS, 0, 0), 80 * MS);
}

static void windows_of_any_length_forget_after_ten_minutes(void **state)
{
	static const uint64_t lengths_ns[] = { NS_PER_S / 3, 900 * MS,	     1100 * MS,
					       7 * NS_PER_S, 599 * NS_PER_S, 5000 * NS_PER_S };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths_ns); i++) {
		struct price_spent spent = { .window_ns = lengths_ns[i], .once_ns = 600 * MS };
		uint64_t passed_ns = 0;
		struct price p;

		price_init(&p, HALF, BASE_NS, MAX_NS);
		price_next_period(&p, &spent);
		spent.once_ns = 0;
		passed_ns = lengths_ns[i];
		for (; p.once_sum_ns != 0 && passed_ns < 6000 * NS_PER_S;
		     passed_ns += lengths_ns[i])
			price_next_period(&p, &spent);
		assert_true(passed_ns >= 600 * NS_PER_S);
		assert_true(passed_ns < 600 * NS_PER_S + lengths_ns[i] + NS_PER_S);
	}
}

static void one_save_of_30_ms_does_not_double_the_period(void **state)
{
	struct price p;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	for (unsigned i = 0; i < 7200; i++)
		assert_int_equal(window(&p, 3 * MS, i % 60 == 59 ? 30 * MS : 0, 0), BASE_NS);
}

static void a_fixed_part_over_the_price_is_said_only_while_it_lasts(void **state)
{
	struct price p;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	p.period_ns = 80 * MS;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(window(&p, 0, 0, 6 * MS), 80 * MS);
		assert_true(p.is_fixed_over);
	}
	window(&p, 0, 0, 5 * MS);
	assert_false(p.is_fixed_over);
}

/* A day at a steady cost; returns how often the period changed in its second half. */
static unsigned steady_day(struct price *p, uint64_t hot_ns)
{
	unsigned changes = 0;

	for (unsigned i = 0; i < DAY; i++) {
		uint64_t before_ns = p->period_ns;

		window(p, cost_at(hot_ns, before_ns), i % 60 == 59 ? 10 * MS : 0, MS / 2);
		changes += i >= DAY / 2 && p->period_ns != before_ns;
	}
	return changes;
}

static void a_steady_target_settles_and_never_swings(void **state)
{
	(void)state;
	for (uint64_t hot_ns = MS / 10; hot_ns < 400 * MS; hot_ns = hot_ns * 5 / 4) {
		struct price p;

		price_init(&p, HALF, BASE_NS, MAX_NS);
		assert_int_equal(steady_day(&p, hot_ns), 0);
		assert_true(cost_at(hot_ns, p.period_ns) <= 5 * MS);
		if (hot_ns <= 4 * MS)
			assert_int_equal(p.period_ns, BASE_NS);
		else /* and no coarser than it must be */
			assert_true(cost_at(hot_ns, p.period_ns) >= 1 * MS);
	}
}

static void a_hot_then_quiet_target_moves_the_period_both_ways(void **state)
{
	struct price p;
	unsigned up = 0, down = 0;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	for (unsigned hour = 0; hour < 24; hour++)
		for (unsigned i = 0; i < 3600; i++) {
			uint64_t hot_ns = hour % 2 == 0 ? 100 * MS : 1 * MS;
			uint64_t before_ns = p.period_ns;

			window(&p, cost_at(hot_ns, before_ns), 0, 0);
			up += p.period_ns > before_ns;
			down += p.period_ns < before_ns;
			if (i == 3599)
				assert_int_equal(p.period_ns, hour % 2 == 0 ? 320 * MS : BASE_NS);
		}
	/* 20 x over: five doublings an hour; 32 x down in eighths: 26 steps and the clamp */
	assert_int_equal(up, 12 * 5);
	assert_int_equal(down, 12 * 26);
}

/* The worst target we can think of: quiet until the period is back at the base, then as hot as it can. */
static void a_target_hot_in_bursts_takes_no_more_than_the_price(void **state)
{
	(void)state;
	for (uint64_t hot_ns = 10 * MS; hot_ns <= 1000 * MS; hot_ns *= 10) {
		uint64_t spent_ns = 0, base_windows = 0;
		bool is_hot = false;
		struct price p;

		price_init(&p, HALF, BASE_NS, MAX_NS);
		for (unsigned i = 0; i < DAY; i++) {
			if (p.period_ns == BASE_NS)
				is_hot = true;
			else if (cost_at(hot_ns, p.period_ns) <= 5 * MS)
				is_hot = false;
			base_windows += p.period_ns == BASE_NS;
			uint64_t cost_ns = is_hot ? cost_at(hot_ns, p.period_ns) : 0;
			spent_ns += cost_ns;
			window(&p, cost_ns, 0, 0);
		}
		assert_true(base_windows > 50); /* it did come back, and was hot again */
		assert_true(spent_ns <= DAY * 5 * MS + 2 * hot_ns);
	}
}

static void what_was_taken_beyond_the_price_is_made_good_before_it_shrinks(void **state)
{
	struct price p;

	(void)state;
	price_init(&p, HALF, BASE_NS, MAX_NS);
	assert_int_equal(window(&p, 105 * MS, 0, 0), 20 * MS);
	for (unsigned i = 0; i < 19; i++) /* 100 ms at 5 ms a window */
		assert_int_equal(window(&p, 0, 0, 0), 20 * MS);
	assert_int_equal(window(&p, 0, 0, 0), 20 * MS - 20 * MS / 8);
	/* one outrage is forgotten after ten minutes' worth, 3 s */
	price_init(&p, HALF, BASE_NS, MAX_NS);
	window(&p, 60 * NS_PER_S, 0, 0);
	assert_int_equal(p.debt_ns, 3 * NS_PER_S);
}

static void saves_keep_their_distance_and_their_part_of_the_price(void **state)
{
	static const struct {
		const char *name;
		uint64_t since_ns, kept, last_ns;
		bool want;
	} cases[] = {
		{ "never closer than a second", NS_PER_S - 1, 100000, 0, false },
		{ "200 kept", NS_PER_S, 200, 0, true },
		{ "199 kept", 59 * NS_PER_S, 199, 0, false },
		{ "a minute, nothing kept", 60 * NS_PER_S, 0, 0, true },
		{ "a hair under a minute", 60 * NS_PER_S - 1, 0, 0, false },
		{ "30 ms are a quarter of the price at 24 s", 24 * NS_PER_S, 200, 30 * MS, true },
		{ "and more before", 24 * NS_PER_S - 1, 200, 30 * MS, false },
		{ "a dear save still comes after a minute", 60 * NS_PER_S, 200, NS_PER_S, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(
			price_save_is_due(HALF, cases[i].since_ns, cases[i].kept, cases[i].last_ns),
			cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_window_moves_the_period_as_the_rule_says),
		cmocka_unit_test(the_tenth_quiet_window_shrinks_by_an_eighth_down_to_the_base),
		cmocka_unit_test(a_window_of_a_quarter_begins_the_count_anew),
		cmocka_unit_test(saves_and_start_up_are_spread_over_ten_minutes_and_then_forgotten),
		cmocka_unit_test(windows_of_any_length_forget_after_ten_minutes),
		cmocka_unit_test(one_save_of_30_ms_does_not_double_the_period),
		cmocka_unit_test(a_fixed_part_over_the_price_is_said_only_while_it_lasts),
		cmocka_unit_test(a_steady_target_settles_and_never_swings),
		cmocka_unit_test(a_hot_then_quiet_target_moves_the_period_both_ways),
		cmocka_unit_test(a_target_hot_in_bursts_takes_no_more_than_the_price),
		cmocka_unit_test(what_was_taken_beyond_the_price_is_made_good_before_it_shrinks),
		cmocka_unit_test(saves_keep_their_distance_and_their_part_of_the_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
