/* test_pace.c - intervals, shares of the price and slices, rule by rule, and the table of numeric checks on made
 * programs. Seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "made_calls.h"

#define MOST_WATCHES 12u
#define TENTH	     1000u /* 10 % of a price of 1 %, in millionths */
#define MS	     NS_PER_MS

static const struct pace_costs in_process = { .untimed_ps = 1, .extra_ps = 150000 };

/* A target with up to 12 watched functions. */
struct target {
	struct pace_limits limits;
	struct pace_watch watches[MOST_WATCHES];
	struct made made[MOST_WATCHES];
	struct pace_seen seen[MOST_WATCHES];
	struct pace_judged judged;
	size_t count;
};

static uint64_t five_ms(uint64_t place, void *owner)
{
	(void)place;
	(void)owner;
	return 5 * MS;
}

static void target_open(struct target *t, size_t count, uint64_t price_ppm)
{
	*t = (struct target){ .limits = { price_ppm, PACE_GIVEN, PACE_MOST }, .count = count };
	for (size_t i = 0; i < count; i++) {
		t->watches[i].costs = in_process;
		t->made[i].time = five_ms;
		t->made[i].random = i + 1;
	}
	pace_start(&t->limits, WINDOW_NS, t->watches, count);
}

static void target_close(struct target *t)
{
	for (size_t i = 0; i < t->count; i++)
		histogram_free(&t->made[i].histogram);
}

/* A window of so many calls each; returns what all spent, in millionths of one CPU. */
static double target_window(struct target *t, const uint64_t *calls)
{
	double spent_ps = 0;

	for (size_t i = 0; i < t->count; i++) {
		made_window(&t->made[i], &t->watches[i], t->limits.most, calls[i]);
		t->seen[i] = made_seen(&t->made[i]);
		spent_ps += (double)pace_charge_ps(&t->watches[i].costs, t->seen[i].calls,
						   t->seen[i].timed);
	}
	t->judged = pace_next_window(&t->limits, WINDOW_NS, t->watches, t->seen, t->count, true);
	return spent_ps / ((double)WINDOW_NS * PS_PER_NS) * PPM;
}

/* ---- the table ---- */

static void twenty_calls_beside_two_million_are_counted_and_timed_in_every_window(void **state)
{
	struct target t;
	struct calls calls;
	struct calls_row all = { 0 };

	(void)state;
	target_open(&t, 2, TENTH);
	assert_int_equal(calls_open(&calls, CALLS_MOST_ROWS), 0);
	for (uint64_t window = 0; window < 5; window++) {
		uint64_t called[] = { window < 4 ? 20 : 1, 2000000 };

		(void)target_window(&t, called);
		assert_int_equal(calls_add(&calls, window, &t.made[0].seen, &t.made[0].histogram),
				 0);

		struct calls_estimate e = calls_estimate(&calls.rows[window], 0);

		assert_true(e.calls == (double)called[0]);
		assert_true(e.has_total);
		if (window < 4) {
			assert_true(e.timed >= 2);
			assert_true(fabs(e.total_ns - 100e6) <= 0.01e6);
		}
		assert_int_equal(calls_pool(&all, &calls.rows[window]), 0);
	}

	struct calls_estimate e = calls_estimate(&all, 0);

	assert_true(e.calls == 81);
	assert_true(fabs(e.total_ns - 405e6) <= 0.01e6);
	assert_int_equal(t.watches[0].interval, PACE_GIVEN);
	calls_row_free(&all);
	calls_close(&calls);
	target_close(&t);
}

static void two_million_calls_are_inside_the_price_from_the_second_window_on(void **state)
{
	static const uint64_t hot[] = { 2000000 }, quiet[] = { 100 };
	struct target t;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		target_open(&t, 1, TENTH);
		t.made[0].random = seed;
		assert_true(target_window(&t, hot) <= 2 * TENTH);
		for (int window = 2; window < 6; window++) {
			assert_true(target_window(&t, hot) <= 1.05 * TENTH);
			assert_true(t.seen[0].timed < 100000);
		}
		(void)target_window(&t, quiet);
		for (int window = 2; window < 6; window++) {
			(void)target_window(&t, quiet);
			assert_true(t.seen[0].timed >= 7);
		}
		target_close(&t);
	}
}

static void three_calls_a_window_are_timed_in_every_window(void **state)
{
	static const uint64_t three[] = { 3 };
	struct target t;

	(void)state;
	target_open(&t, 1, TENTH);
	for (int window = 0; window < 20; window++) {
		(void)target_window(&t, three);
		assert_true(t.seen[0].timed >= 1);
		assert_int_equal(t.made[0].seen.firsts, 1);
		assert_int_equal(t.watches[0].interval, 8);
	}
	target_close(&t);
}

static void a_window_without_calls_keeps_the_interval(void **state)
{
	static const uint64_t hot[] = { 200000 }, none[] = { 0 };
	struct target t;

	(void)state;
	target_open(&t, 1,
		    TENTH / 10); /* such that 200,000 calls need more than the given interval */
	(void)target_window(&t, hot);

	uint32_t interval = t.watches[0].interval;

	assert_true(interval > PACE_GIVEN);
	for (int window = 2; window <= 5; window++) {
		double spent = target_window(&t, window % 2 == 0 ? none : hot);

		assert_int_equal(t.watches[0].interval, interval);
		assert_true(spent <= 1.05 * TENTH / 10);
	}
	target_close(&t);

	target_open(&t, 1, TENTH);
	for (int window = 1; window <= 5; window++) {
		double spent = target_window(&t, window % 2 == 0 ? none : hot);

		if (window > 1)
			assert_true(spent <= 1.05 * TENTH);
	}
	target_close(&t);
}

static void a_burst_ten_times_as_hot_costs_at_most_twice_the_share_and_then_the_share(void **state)
{
	static const uint64_t warm[] = { 200000 }, hot[] = { 2000000 };
	struct target t;

	(void)state;
	target_open(&t, 1, TENTH);
	(void)target_window(&t, warm);
	assert_true(target_window(&t, warm) <= 1.05 * TENTH);
	assert_true(target_window(&t, hot) <= 2 * TENTH);
	assert_true(target_window(&t, hot) <= 1.05 * TENTH);
	target_close(&t);
}

static void twelve_functions_one_at_five_million_a_second_are_not_sliced(void **state)
{
	struct pace_limits limits = { 10000, 8, 4096 };
	struct pace_watch watches[12];
	struct pace_seen seen[12];

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		watches[i].costs = (struct pace_costs){ .untimed_ps = 400, .extra_ps = 150000 };
		seen[i] = (struct pace_seen){ i == 5 ? 50000000 : 1, 1, WINDOW_NS };
	}
	pace_start(&limits, WINDOW_NS, watches, 12);

	struct pace_judged judged = pace_next_window(&limits, WINDOW_NS, watches, seen, 12, true);

	assert_int_equal(judged.sliced, 0);
	assert_int_equal(judged.ran, 12);
	assert_in_range(judged.left_ps, 69999000000, 70000000000); /* 0.7 % of 10 s */
	assert_int_equal(watches[5].interval, 1286);
	assert_int_equal(watches[0].interval, 8);
}

/* ---- the price ---- */

static void four_hot_functions_together_keep_the_price_too(void **state)
{
	static const uint64_t hot[] = { 2000000, 2000000, 2000000, 2000000 };
	static const uint64_t warm[] = { 200000, 200000, 200000, 200000 };
	static const uint64_t one[] = { 2000000, 0, 0, 0 }, none[] = { 0, 0, 0, 0 };
	struct target t;

	(void)state;
	target_open(&t, 4, TENTH);
	assert_true(target_window(&t, hot) <= 2 * TENTH);
	assert_true(target_window(&t, hot) <= 1.05 * TENTH);
	(void)target_window(&t, warm);
	assert_true(target_window(&t, warm) <= 1.05 * TENTH);
	assert_true(target_window(&t, hot) <= 2 * TENTH);
	assert_true(target_window(&t, hot) <= 1.05 * TENTH);
	assert_true(target_window(&t, one) <= 1.05 * TENTH);
	assert_true(target_window(&t, one) <= 1.05 * TENTH);
	assert_true(target_window(&t, hot) <= 2 * TENTH); /* three wake together */
	assert_true(target_window(&t, hot) <= 1.05 * TENTH);
	(void)target_window(&t, none);
	assert_true(target_window(&t, hot) <= 2 * TENTH);
	target_close(&t);
}

static void three_that_never_ran_wake_beside_a_hot_one_inside_twice_the_price(void **state)
{
	static const uint64_t one[] = { 20000000, 0, 0, 0 };
	static const uint64_t all[] = { 100000000, 20000000, 20000000, 20000000 };
	struct target t;

	(void)state;
	target_open(&t, 4, 10 * TENTH);
	(void)target_window(&t, one);
	(void)target_window(&t, one);
	assert_true(target_window(&t, all) <= 2 * 10 * TENTH);
	target_close(&t);
}

static void calls_that_grow_by_five_percent_stay_within_105_percent(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < 60; round++) {
		struct target t;
		uint64_t calls[4];
		size_t count = 1 + gap_random(&random) % 4;

		target_open(&t, count, 200 + gap_random(&random) % 20000);
		for (size_t i = 0; i < count; i++) {
			t.watches[i].costs = (struct pace_costs){
				.untimed_ps = 1 + gap_random(&random) % 400,
				.extra_ps = 20000 + gap_random(&random) % 2000000,
			};
			calls[i] = 1000 + gap_random(&random) % 1000000;
		}
		(void)target_window(&t, calls);
		for (int window = 0; window < 2 && t.judged.sliced == 0; window++) {
			for (size_t i = 0; i < count; i++)
				calls[i] += calls[i] / 20;

			double spent = target_window(&t, calls);

			if (t.judged.left_ps > 0)
				assert_true(spent <= 1.05 * (double)t.limits.price_ppm);
		}
		target_close(&t);
	}
}

/* Functions that sleep, wake and burst at random, up to a hundredfold. */
static void whatever_bursts_do_no_window_costs_over_twice_the_price(void **state)
{
	uint64_t random = 8;

	(void)state;
	for (int run = 0; run < 60; run++) {
		struct target t;
		size_t count = 1 + gap_random(&random) % MOST_WATCHES;

		target_open(&t, count, TENTH / 4);
		for (int window = 0; window < 12; window++) {
			static const uint64_t loads[] = { 0, 0, 3, 500, 20000, 200000, 2000000 };
			uint64_t calls[MOST_WATCHES];

			for (size_t i = 0; i < count; i++)
				calls[i] = loads[gap_random(&random) % ARRAY_LEN(loads)];
			assert_true(target_window(&t, calls) <= 2 * TENTH / 4.0);
			assert_int_equal(t.judged.sliced, 0);
		}
		target_close(&t);
	}
}

static void one_hot_function_never_thins_out_a_rare_one(void **state)
{
	static const uint64_t calls[] = { 50000000, 100 };
	struct target t;

	(void)state;
	target_open(&t, 2, TENTH);
	for (int window = 0; window < 5; window++) {
		(void)target_window(&t, calls);
		assert_int_equal(t.watches[1].interval, PACE_GIVEN);
		assert_true(t.watches[0].interval > 100);
	}
	target_close(&t);
}

static void the_interval_is_what_the_formula_says(void **state)
{
	static const struct {
		const char *name;
		uint64_t calls[3], extra_ps, untimed_ps;
		uint32_t want;
	} cases[] = {
		/* S' = 9 ms a window of 10 s at 0.1 %. */
		{ "alone: 10,000 calls of 9 us", { 10000, 0, 0 }, 9000000, 1, 11 },
		{ "exactly divided", { 10001, 0, 0 }, 9000000, 0, 11 },
		{ "alone: 10 x 9 ms a window", { 10000, 0, 0 }, 9000000, 0, 10 },
		{ "two ran: twice that", { 10000, 1, 0 }, 9000000, 0, 20 },
		{ "three ran: three times", { 10000, 1, 1 }, 9000000, 0, 30 },
		{ "counting takes 3 ms of 9", { 10000, 0, 0 }, 9000000, 300000, 15 },
		{ "never below the given", { 100, 0, 0 }, 9000000, 0, 8 },
		{ "never above the most", { 100000000, 0, 0 }, 9000000, 0, 4096 },
		{ "0.05 ns a pair: adaptation is on", { 3600000000, 0, 0 }, 50, 0, 20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pace_limits limits = { TENTH, 8, 4096 };
		struct pace_watch watches[3];
		struct pace_seen seen[3];

		print_message("%s\n", cases[i].name);
		for (size_t j = 0; j < 3; j++) {
			watches[j].costs = (struct pace_costs){ .untimed_ps = cases[i].untimed_ps,
								.extra_ps = cases[i].extra_ps };
			seen[j] = (struct pace_seen){ cases[i].calls[j], 1, WINDOW_NS };
		}
		pace_start(&limits, WINDOW_NS, watches, 3);
		(void)pace_next_window(&limits, WINDOW_NS, watches, seen, 3, false);
		assert_int_equal(watches[0].interval, cases[i].want);
	}
}

static void a_cost_that_reads_0_is_unmeasured_and_the_assumed_one_is_used(void **state)
{
	static const struct pace_costs assumed = { 40000, 150000, 1000000 };
	static const struct pace_costs nothing = { 0, 0, 0 }, all = { 300, 50, 7 };
	struct pace_costs costs = pace_costs_in_force(&nothing, &assumed);

	(void)state;
	assert_int_equal(pace_charge_ps(&costs, 1000, 10), 1000 * 1040000 + 10 * 150000);
	costs = pace_costs_in_force(&all, &assumed);
	assert_int_equal(pace_charge_ps(&costs, 1000, 10), 1000 * 307 + 10 * 50);
	assert_int_equal(pace_charge_ps(&costs, UINT64_MAX, 1), UINT64_MAX);
}

static void inside_a_window_the_interval_doubles_at_the_share_and_each_further_part(void **state)
{
	static const uint64_t want[] = { 1000, 1400, 1600, 1700, 1750, 1775 };
	struct pace_watch watch = { .costs = in_process, .interval = 8, .share_ps = 150000 * 1000 };
	struct made made = { .random = 1, .time = five_ms };

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(gap_limit(1000, i), want[i]);
	assert_int_equal(gap_limit(1000, 64), 1800);
	assert_int_equal(gap_limit(0, 3), 0);
	assert_int_equal(gap_limit(4, 0), 4); /* a share may be a few timed calls */
	assert_int_equal(gap_limit(4, 1), 6);
	assert_int_equal(gap_limit(4, 2), 7);
	assert_int_equal(gap_limit(UINT64_MAX, 0), UINT64_MAX);
	assert_int_equal(gap_doubled(8, 4096), 16);
	assert_int_equal(gap_doubled(3000, 4096), 4096);

	/* The first limit is reached with the 1,000th timed call, at about call 8,000; the second with the 1,400th, at
	 * about 14,400. */
	made_window(&made, &watch, 4096, 7000);
	assert_int_equal(made.doubled, 0);
	made_window(&made, &watch, 4096, 12000);
	assert_int_equal(made.doubled, 1);
	assert_int_equal(made.seen.interval, 16);
	made_window(&made, &watch, 4096, 100000000);
	assert_true(made.seen.firsts + made.seen.others < 1800 + 100000000 / 4096 + 500);
	histogram_free(&made.histogram);
}

static void a_share_is_at_least_one_timed_call(void **state)
{
	static const struct {
		uint64_t share_ps, extra_ps;
		uint32_t want;
	} cases[] = {
		{ 150000000, 150000, 1000 },   { 149999, 150000, 1 }, { 0, 150000, 1 },
		{ UINT64_MAX, 1, UINT32_MAX }, { 299999, 150000, 1 }, { 1000, 0, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pace_watch watch = { .costs.extra_ps = cases[i].extra_ps,
					    .share_ps = cases[i].share_ps };

		assert_int_equal(pace_share_timed(&watch), cases[i].want);
	}
}

/* ---- slices ---- */

static struct pace_judged judge(struct pace_watch *watches, const struct pace_seen *seen,
				size_t count, bool may_slice)
{
	struct pace_limits limits = { 10000, 8, 4096 };

	return pace_next_window(&limits, WINDOW_NS, watches, seen, count, may_slice);
}

static void where_no_interval_helps_the_loudest_is_watched_in_slices(void **state)
{
	/* Price 100 ms a window. 5 us a call: 200,000 calls take 1 s, 10,000 take 50 ms, 1,000 take 5 ms. */
	static const struct pace_costs trap = { .untimed_ps = 5000000, .extra_ps = 1000000 };
	struct pace_watch watches[3] = { { .costs = trap }, { .costs = trap }, { .costs = trap } };
	struct pace_seen seen[3] = { { 1000, 1, WINDOW_NS },
				     { 200000, 1, WINDOW_NS },
				     { 1000, 1, WINDOW_NS } };
	struct pace_limits limits = { 10000, 8, 4096 };

	(void)state;
	pace_start(&limits, WINDOW_NS, watches, 3);

	struct pace_judged judged = judge(watches, seen, 3, true);

	assert_int_equal(judged.loudest, 1);
	assert_int_equal(judged.sliced, 1);
	assert_true(watches[1].is_sliced && !watches[0].is_sliced && !watches[2].is_sliced);
	assert_int_equal(watches[1].slice_ps, UINT64_C(55000000000)); /* 90 - 25 - 10 ms */
	assert_int_equal(judged.left_ps, INT64_C(25000000000));	      /* a quarter */

	/* A second that leaves too little goes into slices too; both share. */
	seen[0].calls = 10000; /* 90 - 25 - 5 - 50: under the 15 that slices get */
	seen[1] = (struct pace_seen){ 0, 0, 0 };
	judged = judge(watches, seen, 3, true);
	assert_int_equal(judged.sliced, 2);
	assert_true(watches[0].is_sliced && watches[1].is_sliced);
	assert_int_equal(watches[0].slice_ps, UINT64_C(30000000000));
	assert_int_equal(judged.left_ps, INT64_C(25000000000));
}

static void two_loud_ones_are_sliced_at_once(void **state)
{
	static const struct pace_costs trap = { .untimed_ps = 5000000, .extra_ps = 1000000 };
	struct pace_watch watches[2] = { { .costs = trap }, { .costs = trap } };
	struct pace_seen seen[2] = { { 200000, 1, WINDOW_NS }, { 100000, 1, WINDOW_NS } };
	struct pace_limits limits = { 10000, 8, 4096 };

	(void)state;
	pace_start(&limits, WINDOW_NS, watches, 2);
	assert_int_equal(judge(watches, seen, 2, true).sliced, 2);
	assert_int_equal(watches[0].slice_ps, UINT64_C(32500000000));
}

static void what_cannot_be_detached_is_never_sliced(void **state)
{
	static const struct pace_costs trap = { .untimed_ps = 5000000, .extra_ps = 1000000 };
	struct pace_watch watches[2] = { { .costs = trap }, { .costs = trap } };
	struct pace_seen seen[2] = { { 200000, 1, WINDOW_NS }, { 100000, 1, WINDOW_NS } };
	struct pace_limits limits = { 10000, 8, 4096 };

	(void)state;
	pace_start(&limits, WINDOW_NS, watches, 2);
	watches[0].is_fixed = true;
	assert_int_equal(judge(watches, seen, 2, true).sliced, 1);
	assert_true(!watches[0].is_sliced && watches[1].is_sliced);
	assert_int_equal(watches[0].interval, 4096);
	watches[1].is_fixed = true;
	watches[1].is_sliced = false;
	assert_int_equal(judge(watches, seen, 2, false).is_refused, false);
}

static void slices_end_when_counting_everything_leaves_a_quarter_of_the_price(void **state)
{
	static const struct {
		const char *name;
		uint64_t calls, covered_ns;
		bool want;
	} cases[] = {
		{ "65 ms of 100: a quarter is left", 13000, WINDOW_NS, false },
		{ "a call more", 13001, WINDOW_NS, true },
		{ "a tenth covered: ten times as loud", 1301, WINDOW_NS / 10, true },
		{ "a tenth covered, and quiet", 1300, WINDOW_NS / 10, false },
		{ "not attached at all: as before", 0, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pace_watch watch = { .costs = { .untimed_ps = 5000000, .extra_ps = 1 },
					    .interval = 8,
					    .is_sliced = true,
					    .load_ps = UINT64_C(1000000000000) };
		struct pace_seen seen = { cases[i].calls, 1, cases[i].covered_ns };

		print_message("%s\n", cases[i].name);
		(void)judge(&watch, &seen, 1, true);
		assert_int_equal(watch.is_sliced, cases[i].want);
	}
}

static void where_slices_are_refused_the_rate_that_the_price_allows_is_told(void **state)
{
	struct pace_watch watches[2] = {
		{ .costs = { .untimed_ps = 4000000, .extra_ps = 4096, .hook_ps = 999999 } },
		{ .costs = { .untimed_ps = 1000000, .extra_ps = 1 } }
	};
	struct pace_seen seen[2] = { { 200000, 1, WINDOW_NS }, { 40000, 1, WINDOW_NS } };
	struct pace_limits limits = { 10000, 8, 4096 };

	(void)state;
	pace_start(&limits, WINDOW_NS, watches, 2);

	struct pace_judged judged = judge(watches, seen, 2, false);

	assert_true(judged.is_refused);
	assert_int_equal(judged.sliced, 0);
	assert_int_equal(judged.allowed_rate, 1000); /* (90 - 40) ms / 5 us / 10 s */
	assert_int_equal(watches[0].interval, 4096);
	assert_true(judged.left_ps < 0);

	seen[0].calls = 9000; /* 45 ms: 5 are left */
	assert_false(judge(watches, seen, 2, false).is_refused);
	seen[0].calls = 10000; /* just nothing is left */
	watches[0].costs.hook_ps = 1000000;
	judged = judge(watches, seen, 2, false);
	assert_int_equal(judged.left_ps, 0);
	assert_true(judged.is_refused);
}

static void a_largest_interval_that_is_still_over_the_price_is_no_help_either(void **state)
{
	struct pace_watch watch = { .costs = { .untimed_ps = 1, .extra_ps = 50000000 } };
	struct pace_seen seen = { 10000000, 1, WINDOW_NS }; /* 500 s, / 4096 = 122 ms */
	struct pace_limits limits = { 10000, 8, 4096 };

	(void)state;
	pace_start(&limits, WINDOW_NS, &watch, 1);
	assert_true(judge(&watch, &seen, 1, false).is_refused);
	seen.calls = 8000000; /* 98 ms */
	assert_false(judge(&watch, &seen, 1, false).is_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			twenty_calls_beside_two_million_are_counted_and_timed_in_every_window),
		cmocka_unit_test(two_million_calls_are_inside_the_price_from_the_second_window_on),
		cmocka_unit_test(three_calls_a_window_are_timed_in_every_window),
		cmocka_unit_test(a_window_without_calls_keeps_the_interval),
		cmocka_unit_test(
			a_burst_ten_times_as_hot_costs_at_most_twice_the_share_and_then_the_share),
		cmocka_unit_test(twelve_functions_one_at_five_million_a_second_are_not_sliced),
		cmocka_unit_test(four_hot_functions_together_keep_the_price_too),
		cmocka_unit_test(three_that_never_ran_wake_beside_a_hot_one_inside_twice_the_price),
		cmocka_unit_test(calls_that_grow_by_five_percent_stay_within_105_percent),
		cmocka_unit_test(whatever_bursts_do_no_window_costs_over_twice_the_price),
		cmocka_unit_test(one_hot_function_never_thins_out_a_rare_one),
		cmocka_unit_test(the_interval_is_what_the_formula_says),
		cmocka_unit_test(a_cost_that_reads_0_is_unmeasured_and_the_assumed_one_is_used),
		cmocka_unit_test(
			inside_a_window_the_interval_doubles_at_the_share_and_each_further_part),
		cmocka_unit_test(a_share_is_at_least_one_timed_call),
		cmocka_unit_test(where_no_interval_helps_the_loudest_is_watched_in_slices),
		cmocka_unit_test(two_loud_ones_are_sliced_at_once),
		cmocka_unit_test(what_cannot_be_detached_is_never_sliced),
		cmocka_unit_test(slices_end_when_counting_everything_leaves_a_quarter_of_the_price),
		cmocka_unit_test(where_slices_are_refused_the_rate_that_the_price_allows_is_told),
		cmocka_unit_test(a_largest_interval_that_is_still_over_the_price_is_no_help_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
