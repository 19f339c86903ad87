/* test_gap.c - which calls are timed: equally likely everywhere, so that patterns and cold first calls are estimated
 * within their error. Seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "made_calls.h"

static const struct pace_costs in_process = { .untimed_ps = 1, .extra_ps = 150000 };

static uint64_t one_us(uint64_t place, void *owner)
{
	(void)place;
	(void)owner;
	return NS_PER_US;
}

static uint64_t alternating(uint64_t place, void *owner)
{
	const uint64_t *period = owner;

	return place % *period == 0 ? 100000 : 1000;
}

static void every_place_of_the_window_is_equally_likely(void **state)
{
	static const uint32_t intervals[] = { 1, 2, 3, 8, 17 };
	enum { windows = 30000, places = 70 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
		struct pace_watch watch = { .costs = in_process,
					    .interval = intervals[i],
					    .share_ps = UINT64_MAX / 2 };
		uint64_t weights[places] = { 0 };
		struct made made = {
			.random = i, .time = one_us, .weights = weights, .places = places
		};
		double sd = sqrt((intervals[i] - 1.0) / windows);

		for (int window = 0; window < windows; window++)
			made_window(&made, &watch, 4096, places);
		for (size_t place = 0; place < places; place++) {
			double inclusion = (double)weights[place] / windows; /* x N */

			assert_true(fabs(inclusion - 1) <= (place == 0 ? 0 : 4.5 * sd));
		}
		histogram_free(&made.histogram);
	}
}

static void gaps_are_in_their_range_and_their_mean_is_the_interval(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (uint32_t interval = 1; interval <= 4096; interval *= 4) {
		double sum = 0, sum_first = 0;

		for (int i = 0; i < 20000; i++) {
			uint32_t first = gap_first(&random, interval);
			uint32_t later = gap_later(&random, interval);

			assert_in_range(first, 1, 2 * interval - 1);
			assert_in_range(later, 1, 2 * interval - 1);
			sum += later;
			sum_first += first;
		}
		assert_true(fabs(sum / 20000 / interval - 1) < .02);
		assert_true(fabs(sum_first / 20000 / ((2 * interval + 1) / 3.0) - 1) < .03);
	}
}

/* Of 400,000 timed calls, those that find a timed one `behind` calls later, each with its weight: as many as there are. */
static void a_call_behind_a_timed_one_stands_for_as_many_as_it_should(void **state)
{
	static const uint32_t intervals[] = { 1, 2, 8, 33 };
	const uint32_t rounds = 400000;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
		uint32_t most = 2 * intervals[i] - 1, seen[66] = { 0 };
		uint64_t random = 7 + i;

		for (uint32_t round = 0; round < rounds; round++)
			for (uint32_t at = gap_later(&random, intervals[i]); at <= most;
			     at += gap_later(&random, intervals[i]))
				seen[at]++;
		for (uint32_t behind = 1; behind <= most; behind++) {
			uint32_t weight = gap_weight_behind(intervals[i], behind);
			double sum = (double)seen[behind] * weight / rounds;
			double rounding = 0.5 / weight; /* weights are whole numbers */

			assert_true(fabs(sum - 1) <=
				    4.5 * sqrt(weight / (double)rounds) + rounding);
		}
		assert_int_equal(gap_weight_behind(intervals[i], most + 1), intervals[i]);
		assert_int_equal(gap_weight_behind(intervals[i], 0), intervals[i]);
	}
}

/* How often of 1,000 windows the total is within its error; the mean of all totals must be the truth. */
static uint32_t count_held(struct made *made, const struct pace_watch *watch, uint64_t calls)
{
	uint32_t held = 0, known = 0;
	double bias = 0, squares = 0;

	uint64_t true_ns = 0;

	for (uint64_t place = 0; place < calls; place++)
		true_ns += made->time(place, made->owner);
	for (int window = 0; window < 1000; window++) {
		struct calls rows;

		assert_int_equal(calls_open(&rows, 1), 0);
		made_window(made, watch, 4096, calls);
		assert_int_equal(calls_add(&rows, 0, &made->seen, &made->histogram), 0);

		struct calls_estimate e = calls_estimate(&rows.rows[0], 0);
		double off = e.total_ns - (double)true_ns;

		calls_close(&rows);
		if (!e.has_error)
			continue;
		known++;
		held += fabs(off) <= e.total_error_ns + 1;
		bias += off;
		squares += off * off;
	}
	assert_true(known > 900);
	assert_true(fabs(bias / known) <= 4.5 * sqrt(squares / known / known) + 1);
	histogram_free(&made->histogram);
	return held * 1000 / known;
}

static void a_pattern_with_the_interval_as_its_period_is_estimated_within_its_error(void **state)
{
	static const uint64_t periods[] = { 2, 4, 8, 16, 24 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(periods); i++) {
		uint64_t period = periods[i];
		struct pace_watch watch = { .costs = in_process,
					    .interval = 8,
					    .share_ps = UINT64_MAX / 2 };
		struct made made = { .random = 11, .time = alternating, .owner = &period };
		uint32_t held = count_held(&made, &watch, 4000);

		print_message("period %u: %u in 1000\n", (unsigned)period, held);
		assert_true(held >= 930);
	}
}

static void a_pattern_is_estimated_within_its_error_while_the_interval_doubles_too(void **state)
{
	uint64_t period = 16;
	struct pace_watch watch = { .costs = in_process,
				    .interval = 8,
				    .share_ps = in_process.extra_ps * 200 };
	struct made made = { .random = 12, .time = alternating, .owner = &period };
	uint32_t held = count_held(&made, &watch, 6000);

	(void)state;
	print_message("%u in 1000, doubled %u times\n", held, made.doubled);
	assert_true(made.doubled >= 2);
	assert_true(held >= 930);
}

/* The first call is ten times as dear; the others differ by up to a half. */
static uint64_t cold_first(uint64_t place, void *owner)
{
	uint64_t *random = owner;

	return place == 0 ? 10000 : 750 + gap_random(random) % 500;
}

static void a_cold_first_call_is_no_part_of_the_mean(void **state)
{
	static const uint64_t calls[] = { 3, 20, 200 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct pace_watch watch = { .costs = in_process,
					    .interval = 8,
					    .share_ps = UINT64_MAX / 2 };
		uint64_t random = 9;
		struct made made = { .random = 13 + i, .time = cold_first, .owner = &random };
		uint32_t held = 0;

		for (int run = 0; run < 300; run++) { /* 40 windows each, pooled */
			struct calls rows;
			struct calls_row all = { 0 };

			assert_int_equal(calls_open(&rows, 1), 0);
			for (uint64_t window = 0; window < 40; window++) {
				made_window(&made, &watch, 4096, calls[i]);
				assert_int_equal(
					calls_add(&rows, window, &made.seen, &made.histogram), 0);
			}
			assert_int_equal(calls_pool(&all, &rows.rows[0]), 0);

			struct calls_estimate e = calls_estimate(&all, 0);
			double truth = 40 * (10000 + (double)(calls[i] - 1) * 999.5);
			double spread = 145 * sqrt(40 * (double)calls[i]); /* the made times' own */

			assert_true(e.has_error);
			held += fabs(e.total_ns - truth) <= e.total_error_ns + spread;
			calls_row_free(&all);
			calls_close(&rows);
		}
		print_message("%u calls a window: %u in 300\n", (unsigned)calls[i], held);
		assert_true(held >= 280);
		histogram_free(&made.histogram);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_of_the_window_is_equally_likely),
		cmocka_unit_test(gaps_are_in_their_range_and_their_mean_is_the_interval),
		cmocka_unit_test(a_call_behind_a_timed_one_stands_for_as_many_as_it_should),
		cmocka_unit_test(
			a_pattern_with_the_interval_as_its_period_is_estimated_within_its_error),
		cmocka_unit_test(
			a_pattern_is_estimated_within_its_error_while_the_interval_doubles_too),
		cmocka_unit_test(a_cold_first_call_is_no_part_of_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
