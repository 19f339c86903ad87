/* test_coin.c - which waits are looked at: the rate holds, and the weight is one over the chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/coin.h"
#include "core/rng.h"
#include "core/scoped.h"

#define SEEDS 200u
#define RATE  1000u

static void n_brings_what_was_seen_to_the_rate(void **state)
{
	static const struct {
		const char *name;
		uint32_t seen;
		uint64_t past_ns;
		uint32_t rate, want;
	} cases[] = {
		{ "under the rate: every one", 10, 1000000000, 100, 1 },
		{ "at the rate: every one", 100, 1000000000, 100, 1 },
		{ "a little over it: rounded up, so that the rate holds", 101, 1000000000, 100, 2 },
		{ "20,000 in a tenth of a second at 100", 20000, 100000000, 100, 2000 },
		{ "none seen", 0, 100000000, 100, 1 },
		{ "a window of a month is one of minutes", 1000000, 2592000000000000, 1, 910 },
		{ "nothing may be looked at", 5, 100000000, 0, COIN_MOST },
		{ "more than can be thinned", UINT32_MAX, 100000000, 1, COIN_MOST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(coin_one_in(cases[i].seen, cases[i].past_ns, cases[i].rate),
				 cases[i].want);
	}
}

static void n_is_settled_by_the_window_before(void **state)
{
	struct coin c = { 0 };
	uint64_t now_ns = 1;

	(void)state;
	for (int i = 0; i < 1000; i++) /* none is taken: no burst */
		assert_int_equal(coin_settle(&c, now_ns += 100000, 1000), 1);
	assert_int_equal(coin_settle(&c, now_ns += 100000, 1000), 10); /* 10,000 a second */
	now_ns += 10 * COIN_WINDOW_NS;
	assert_int_equal(coin_settle(&c, now_ns, 1000), 1); /* one in a second */
}

static void a_burst_doubles_n_when_twice_a_windows_looks_are_taken(void **state)
{
	struct coin c = { 0 };
	uint64_t now_ns = 1;

	(void)state;
	for (int i = 0; i < 21; i++) { /* a window has 10 at this rate */
		assert_int_equal(coin_settle(&c, ++now_ns, 100), 1);
		assert_true(coin_falls(&c, 0));
	}
	assert_int_equal(coin_settle(&c, ++now_ns, 100), 2);
	c.one_in = COIN_MOST;
	c.taken = 1000;
	assert_int_equal(coin_settle(&c, ++now_ns, 100), COIN_MOST);
}

static void a_coin_of_one_always_falls_and_one_of_n_in_one_nth(void **state)
{
	struct coin c = { .one_in = 1 };
	uint64_t fell = 0;

	(void)state;
	assert_true(coin_falls(&c, 0));
	assert_true(coin_falls(&c, UINT32_MAX));
	c.one_in = 10;
	for (uint64_t i = 0; i < 1000; i++)
		fell += coin_falls(&c, (uint32_t)(i * (UINT32_MAX / 1000)));
	assert_in_range(fell, 99, 101);
}

/* A thread's day: bursts of short waits, each with a long one behind it, which is when a budget has been spent. */
static double estimate_of_long(uint64_t seed, uint32_t rate, double *out_truth, uint64_t *out_taken)
{
	struct coin c = { 0 };
	struct rng r;
	uint64_t now_ns = 1, long_ns = 0;
	double estimate_ns = 0;

	rng_seed(&r, seed);
	for (int burst = 0; burst < 300; burst++) {
		for (int i = 0; i <= 400; i++) {
			uint64_t ns = i < 400 ? 5000 + rng_below(&r, 30000)
					      : 20000000 + rng_below(&r, 40000000);
			uint32_t one_in = coin_settle(&c, now_ns, rate);
			bool is_looked_at = coin_falls(&c, (uint32_t)rng_next(&r));

			now_ns += ns + 2000;
			*out_taken += is_looked_at;
			if (i < 400)
				continue;
			long_ns += ns;
			estimate_ns += is_looked_at ? (double)one_in * (double)ns : 0;
		}
	}
	*out_truth = (double)long_ns;
	return estimate_ns;
}

static void long_waits_behind_bursts_of_short_ones_are_not_overstated(void **state)
{
	double sum = 0, squares = 0, mean, error;
	uint64_t taken = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		double truth = 0, ratio = estimate_of_long(seed, RATE, &truth, &taken) / truth;

		sum += ratio;
		squares += ratio * ratio;
	}
	mean = sum / SEEDS;
	error = sqrt((squares / SEEDS - mean * mean) / SEEDS);
	print_message("mean %.4f, its error %.4f\n", mean, error);
	assert_true(fabs(mean - 1) < 4 * error);
	assert_true(error < .02);
	/* 18 s each; in bursts at most twice the rate */
	assert_in_range(taken / SEEDS, RATE, 2 * RATE * 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(n_brings_what_was_seen_to_the_rate),
		cmocka_unit_test(n_is_settled_by_the_window_before),
		cmocka_unit_test(a_burst_doubles_n_when_twice_a_windows_looks_are_taken),
		cmocka_unit_test(a_coin_of_one_always_falls_and_one_of_n_in_one_nth),
		cmocka_unit_test(long_waits_behind_bursts_of_short_ones_are_not_overstated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
