/* test_histogram.c - the steps of durations, sparse histograms and percentiles with their errors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/gap.h"
#include "core/histogram.h"
#include "core/scoped.h"

static void every_duration_is_between_the_edges_of_its_step(void **state)
{
	uint32_t last = 0;

	(void)state;
	for (uint64_t ns = 0; ns < UINT64_C(1) << BUCKET_END; ns += 1 + ns / 4001) {
		uint32_t at = bucket_of(ns);

		assert_true(at == last || at == last + 1);
		assert_in_range(ns, bucket_low_ns(at), bucket_high_ns(at));
		last = at;
	}
	assert_int_equal(last, BUCKET_COUNT - 1);
}

static void steps_follow_one_another_without_a_hole(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < BUCKET_COUNT; at++) {
		assert_int_equal(bucket_of(bucket_low_ns(at)), at);
		assert_int_equal(bucket_of(bucket_high_ns(at)), at);
		assert_int_equal(bucket_low_ns(at + 1), bucket_high_ns(at) + 1);
	}
}

static void the_middle_of_a_step_is_within_105_in_10000_of_what_is_in_it(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < BUCKET_COUNT; at++) {
		uint64_t low = bucket_low_ns(at), high = bucket_high_ns(at);

		assert_true((high - low) * 10000 <= low * 210);
		if (at < BUCKET_EXACT)
			assert_int_equal(low, high);
	}
}

static void an_octave_has_48_steps(void **state)
{
	(void)state;
	for (uint32_t octave = BUCKET_FIRST; octave + 1 < BUCKET_END; octave++)
		assert_int_equal(
			bucket_of(UINT64_C(2) << octave) - bucket_of(UINT64_C(1) << octave), 48);
}

static void what_is_longer_than_the_last_step_is_in_it(void **state)
{
	(void)state;
	assert_int_equal(bucket_of(UINT64_C(1) << BUCKET_END), BUCKET_COUNT - 1);
	assert_int_equal(bucket_of(UINT64_MAX), BUCKET_COUNT - 1);
	assert_int_equal(bucket_low_ns(UINT32_MAX), UINT64_C(1) << BUCKET_END);
}

static void squares_of_any_duration_add_up(void **state)
{
	static const struct {
		uint64_t ns;
		uint32_t weight;
		double want;
	} cases[] = {
		{ 0, 8, 0 },
		{ 7, 3, 147 },
		{ 5000000, 4096, 5e6 * 5e6 * 4096 },
		{ 4294967295, 4096, 4294967295.0 * 4294967295.0 * 4096 },
		{ 60000000000, 8, 6e10 * 6e10 * 8 },
		{ UINT64_MAX, 1, 0x1p80 },
	};
	struct bucket_squares all = { 0, 0 };
	double want = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bucket_squares one = { 0, 0 };

		bucket_add_square(&one, cases[i].ns, cases[i].weight);
		bucket_add_square(&all, cases[i].ns, cases[i].weight);
		want += cases[i].want;
		assert_true((double)one.high * 0x1p32 + (double)one.low >= cases[i].want * .99999);
		assert_true((double)one.high * 0x1p32 + (double)one.low <= cases[i].want * 1.00001);
	}
	assert_true((double)all.high * 0x1p32 + (double)all.low >= want * .99999);
}

static void steps_are_kept_in_order_and_only_where_something_is(void **state)
{
	static const uint32_t ats[] = { 700, 3, 1503, 700, 64, 0, 65, 3, 900, 901, 902, 5 };
	struct histogram h = HISTOGRAM_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ats); i++)
		assert_int_equal(histogram_add(&h, ats[i], i + 1), 0);
	assert_int_equal(histogram_add(&h, 20, 0), 0);
	assert_int_equal(histogram_add(&h, BUCKET_COUNT, 1), -EINVAL);
	assert_int_equal(h.count, 10);
	assert_int_equal(h.weight, 12 * 13 / 2);
	for (uint32_t i = 1; i < h.count; i++)
		assert_true(h.steps[i - 1].at < h.steps[i].at);
	assert_int_equal(h.steps[1].at, 3);
	assert_int_equal(h.steps[1].weight, 2 + 8);
	histogram_free(&h);
	histogram_free(&h);
}

static void merged_histograms_are_what_one_would_have_been(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct histogram a = HISTOGRAM_EMPTY, b = HISTOGRAM_EMPTY, both = HISTOGRAM_EMPTY;
		uint32_t steps = 1 + gap_random(&random) % 60;

		for (uint32_t i = 0; i < steps; i++) {
			uint32_t at = gap_random(&random) % 90, weight = 1 + i % 7;

			(void)histogram_add(i % 3 == 0 ? &a : &b, at, weight);
			(void)histogram_add(&both, at, weight);
		}
		assert_int_equal(histogram_merge(&a, &b), 0);
		assert_int_equal(a.count, both.count);
		assert_int_equal(a.weight, both.weight);
		for (uint32_t i = 0; i < a.count; i++) {
			assert_int_equal(a.steps[i].at, both.steps[i].at);
			assert_int_equal(a.steps[i].weight, both.steps[i].weight);
		}
		histogram_free(&a);
		histogram_free(&b);
		histogram_free(&both);
	}
}

static void a_percentile_is_within_a_step_of_the_truth(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;

	(void)state;
	for (uint64_t ns = 1; ns <= 1000000; ns++)
		(void)histogram_add(&h, bucket_of(ns), 8);
	for (int percent = 1; percent < 100; percent++) {
		double want = percent * 10000.0;
		double got = (double)histogram_quantile_ns(&h, percent / 100.0);

		assert_true(got >= want * .999 && got <= want * 1.001);
	}
	histogram_free(&h);
}

/* Of 1,000 draws of `count` durations, how often the interval of `part` holds the truth. */
static uint32_t count_held(double part, uint32_t count, uint64_t *random, uint32_t *out_open)
{
	uint32_t held = 0;

	*out_open = 0;
	for (int round = 0; round < 1000; round++) {
		struct histogram h = HISTOGRAM_EMPTY;
		uint64_t max_ns = 0, truth = (uint64_t)(part * 1000000);

		for (uint32_t i = 0; i < count; i++) {
			uint64_t ns = gap_random(random) % 1000000;

			max_ns = ns > max_ns ? ns : max_ns;
			(void)histogram_add(&h, bucket_of(ns), 8);
		}

		struct percentile p = histogram_percentile(&h, part, count, max_ns);

		assert_true(p.is_known && p.low_ns <= p.ns && p.ns <= p.high_ns);
		*out_open += p.is_open;
		held += p.low_ns <= truth && (p.is_open || truth <= p.high_ns);
		histogram_free(&h);
	}
	return held;
}

static void a_percentile_holds_the_truth_95_times_in_100(void **state)
{
	static const struct {
		double part;
		uint32_t count;
		bool is_open;
	} cases[] = {
		{ .5, 3, true },   { .5, 10, false },  { .5, 100, false },  { .9, 20, true },
		{ .9, 60, false }, { .99, 100, true }, { .99, 500, false }, { .1, 10, false }
	};
	uint64_t random = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t open, held = count_held(cases[i].part, cases[i].count, &random, &open);

		print_message("p%g of %u: %u in 1000\n", cases[i].part * 100, cases[i].count, held);
		assert_int_equal(open, cases[i].is_open ? 1000 : 0);
		assert_true(held >= 930);
	}
}

static void the_interval_of_a_percentile_is_no_wider_than_it_must_be(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;

	(void)state;
	for (uint64_t ns = 1000; ns < 11000; ns++)
		(void)histogram_add(&h, bucket_of(ns), 1);

	struct percentile p = histogram_percentile(&h, .5, 10000, 11000);

	assert_in_range(p.ns, 5990, 6010);
	assert_in_range(p.low_ns, 5880,
			5900); /* 0.98 % of ranks, out to the edge of a step of 85 */
	assert_in_range(p.high_ns, 6098, 6144);
	histogram_free(&h);
}

static void nothing_timed_has_no_percentile(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;

	(void)state;
	assert_int_equal(histogram_quantile_ns(&h, .5), 0);
	assert_false(histogram_percentile(&h, .5, 0, 0).is_known);
	assert_false(histogram_percentile(&h, .5, 10, 0).is_known);
}

static void no_percentile_is_over_the_longest_seen(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;

	(void)state;
	(void)histogram_add(&h, bucket_of(1000000), 100);

	struct percentile p = histogram_percentile(&h, .9, 100, 1000000);

	assert_int_equal(p.high_ns, 1000000);
	assert_true(p.ns <= 1000000);
	histogram_free(&h);

	(void)histogram_add(&h, bucket_of(UINT64_C(100000000000)), 100);
	p = histogram_percentile(&h, .5, 100, UINT64_C(100000000000));
	assert_int_equal(p.high_ns, UINT64_C(100000000000));
	histogram_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_duration_is_between_the_edges_of_its_step),
		cmocka_unit_test(steps_follow_one_another_without_a_hole),
		cmocka_unit_test(the_middle_of_a_step_is_within_105_in_10000_of_what_is_in_it),
		cmocka_unit_test(an_octave_has_48_steps),
		cmocka_unit_test(what_is_longer_than_the_last_step_is_in_it),
		cmocka_unit_test(squares_of_any_duration_add_up),
		cmocka_unit_test(steps_are_kept_in_order_and_only_where_something_is),
		cmocka_unit_test(merged_histograms_are_what_one_would_have_been),
		cmocka_unit_test(a_percentile_is_within_a_step_of_the_truth),
		cmocka_unit_test(a_percentile_holds_the_truth_95_times_in_100),
		cmocka_unit_test(the_interval_of_a_percentile_is_no_wider_than_it_must_be),
		cmocka_unit_test(nothing_timed_has_no_percentile),
		cmocka_unit_test(no_percentile_is_over_the_longest_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
