/* test_calls.c - a function's rows: what they add up to, with which error, and what they do not claim. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "made_calls.h"

static const struct histogram nothing = HISTOGRAM_EMPTY;

/* A window in which the first call took `first_ns` and the others, all timed with `interval`, `other_ns` each. */
static struct calls_seen window_of(uint64_t calls, uint64_t first_ns, uint64_t others,
				   uint64_t other_ns, uint32_t interval)
{
	struct calls_seen seen = {
		.calls = calls,
		.span_ns = WINDOW_NS,
		.covered_ns = WINDOW_NS,
		.firsts = first_ns > 0,
		.first_ns = first_ns,
		.first_own_ns = first_ns / 2,
		.others = others,
		.weight = others * interval,
		.weight_squared = others * interval * interval,
		.weighted_ns = others * interval * other_ns,
		.weighted_own_ns = others * interval * other_ns / 2,
		.max_ns = first_ns > other_ns ? first_ns : other_ns,
		.interval = interval,
	};

	for (uint64_t i = 0; i < others; i++)
		bucket_add_square(&seen.squares, other_ns, interval);
	return seen;
}

static void open_rows(struct calls *calls, uint32_t most)
{
	assert_int_equal(calls_open(calls, most), 0);
}

static void add(struct calls *calls, uint64_t window, const struct calls_seen *seen)
{
	assert_int_equal(calls_add(calls, window, seen, &nothing), 0);
}

/* What all rows say together. */
static struct calls_estimate pool(const struct calls *calls, uint64_t floor_ns)
{
	struct calls_row all = { 0 };

	for (uint32_t i = 0; i < calls->count; i++)
		assert_int_equal(calls_pool(&all, &calls->rows[i]), 0);

	struct calls_estimate e = calls_estimate(&all, floor_ns);

	calls_row_free(&all);
	return e;
}

static void total_is_the_firsts_and_the_mean_of_the_others_for_the_rest(void **state)
{
	struct calls_seen one = window_of(100, 10000, 12, 1000, 8);
	struct calls_seen two = window_of(20, 10000, 3, 2000, 4);
	struct calls calls;

	(void)state;
	open_rows(&calls, 10);
	add(&calls, 0, &one);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(e.calls == 100 && e.timed == 13 && e.total_ns == 10000 + 99 * 1000.0);
	assert_true(e.mean_ns == e.total_ns / 100);
	assert_true(e.own_ns == 5000 + 99 * 500.0);
	assert_true(e.has_total && e.has_error && e.total_error_ns < 1);
	assert_int_equal(e.max_ns, 10000);

	/* Pooled: 118 calls at (96 x 1000 + 12 x 2000) / 108. */
	add(&calls, 1, &two);
	e = pool(&calls, 0);
	assert_true(fabs(e.total_ns - (20000 + 118 * 120000.0 / 108)) < 1e-6);
	calls_close(&calls);
	calls_close(&calls);
}

static void a_range_in_which_only_firsts_were_timed_has_a_total_only_without_others(void **state)
{
	struct calls_seen single = window_of(1, 5000, 0, 0, 8), two = window_of(2, 5000, 0, 0, 8);
	struct calls calls;

	(void)state;
	open_rows(&calls, 10);
	for (uint64_t window = 0; window < 3; window++)
		add(&calls, window, &single);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(e.has_total && e.total_ns == 15000 && e.has_error && e.total_error_ns == 0);
	add(&calls, 3, &two);
	e = pool(&calls, 0);
	assert_true(!e.has_total && !e.has_error && e.calls == 5);
	calls_close(&calls);
}

static void calls_never_timed_are_counted_and_are_in_no_other_number(void **state)
{
	struct calls_seen thrown = window_of(3, 0, 0, 0, 8), good = window_of(9, 100, 1, 200, 8);
	struct calls calls;

	(void)state;
	open_rows(&calls, 10);
	add(&calls, 0, &thrown);
	assert_int_equal(calls.count, 1);
	assert_int_equal(calls.rows[0].firsts + calls.rows[0].others, 0);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(!e.has_total && e.calls == 0 && e.never_timed == 3);
	add(&calls, 1, &good);
	e = pool(&calls, 0);
	assert_true(e.has_total && e.calls == 9 && e.never_timed == 3);
	assert_true(e.total_ns == 100 + 8 * 200);
	assert_true(!e.has_error); /* of one other nobody knows how they differ */
	calls_close(&calls);
}

static void calls_that_are_open_at_the_end_are_in_no_other_number(void **state)
{
	struct calls_seen last = window_of(9, 100, 1, 200, 8), none = window_of(2, 0, 0, 0, 8);
	struct calls calls;

	(void)state;
	last.calls += 2;
	last.still_open = 2;
	none.still_open = 2;
	open_rows(&calls, 10);
	add(&calls, 0, &last);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(e.has_total && e.calls == 9 && e.never_timed == 2);
	assert_true(e.total_ns == 100 + 8 * 200);
	add(&calls, 1, &none);
	e = pool(&calls, 0);
	assert_true(e.calls == 9 && e.never_timed == 4);
	last.still_open = 11; /* more than there were besides */
	assert_int_equal(calls_add(&calls, 2, &last, &(struct histogram){ 0 }), -EINVAL);
	calls_close(&calls);
}

static void a_window_in_which_it_did_not_run_has_no_row(void **state)
{
	struct calls_seen none = window_of(0, 0, 0, 0, 8), one = window_of(1, 7, 0, 0, 8);
	struct calls calls;

	(void)state;
	open_rows(&calls, 10);
	add(&calls, 0, &none);
	add(&calls, 1, &one);
	add(&calls, 2, &none);
	assert_int_equal(calls.count, 1);
	assert_int_equal(calls.rows[0].at, 1);
	calls_close(&calls);
}

static void the_error_is_that_of_the_others_by_hand(void **state)
{
	/* Interval 4, four others of 100, 200, 300, 400: mean 250, variance of the sample 16667; each stands for 3 that
	 * were not timed. t for 3 degrees: 3.1824. */
	struct calls_seen seen = window_of(17, 10, 4, 0, 4);
	struct calls calls;

	(void)state;
	seen.weighted_ns = 4 * 1000;
	for (uint64_t ns = 100; ns <= 400; ns += 100)
		bucket_add_square(&seen.squares, ns, 4);
	open_rows(&calls, 2);
	add(&calls, 0, &seen);

	struct calls_estimate e = pool(&calls, 0);
	double want = 16 * 3.1824 * sqrt(16666.667 / 4 * 3 / 4);

	assert_true(e.has_error && e.total_ns == 10 + 16 * 250.0);
	assert_true(fabs(e.total_error_ns - want) < want * 1e-4);
	assert_true(fabs(e.mean_error_ns - want / 17) < want * 1e-4);
	assert_true(fabs(e.independent - 4) < 1e-9);

	/* The same again: 8 others, variance 14286, t for 7 degrees. */
	add(&calls, 1, &seen);
	e = pool(&calls, 0);
	want = 32 * 2.3646 * sqrt(14285.714 / 8 * 3 / 4);
	assert_true(fabs(e.total_error_ns - want) < want * 1e-4);
	calls_close(&calls);
}

static void where_every_call_was_timed_there_is_no_error(void **state)
{
	struct calls_seen seen = window_of(3, 10, 2, 0, 1);
	struct calls calls;

	(void)state;
	seen.weighted_ns = 500;
	bucket_add_square(&seen.squares, 100, 1);
	bucket_add_square(&seen.squares, 400, 1);
	open_rows(&calls, 1);
	add(&calls, 0, &seen);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(e.has_error && e.total_error_ns == 0 && e.total_ns == 510);
	calls_close(&calls);
}

static void fewer_than_100_independent_calls_are_coarse(void **state)
{
	static const struct {
		const char *name;
		uint64_t calls, others;
		uint32_t interval;
		bool want;
	} cases[] = {
		{ "99 of 793", 793, 99, 8, true },
		{ "100 of 801", 801, 100, 8, false },
		{ "99 of 100, the first apart: all timed", 100, 99, 1, false },
		{ "only the first, and no other", 1, 0, 8, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct calls_seen seen =
			window_of(cases[i].calls, 10, cases[i].others, 10, cases[i].interval);
		struct calls calls;

		print_message("%s\n", cases[i].name);
		open_rows(&calls, 1);
		add(&calls, 0, &seen);
		assert_int_equal(pool(&calls, 0).is_coarse, cases[i].want);
		calls_close(&calls);
	}
}

static void the_timing_floor_is_taken_off_and_nothing_is_negative(void **state)
{
	static const struct {
		const char *name;
		uint64_t ns;
		double want_total_ns;
		uint64_t clamped;
		bool is_below;
	} cases[] = {
		{ "well over it", 1000, 9 * 981, 0, false },
		{ "twice it: just not below", 38, 9 * 19, 0, false },
		{ "a 2 ns function", 21, 9 * 2, 0, true },
		{ "its own reading: a measured 0", 19, 0, 0, true },
		{ "under it: 0, and counted", 18, 0, 3, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct calls_seen seen = window_of(9, cases[i].ns, 1, cases[i].ns, 8);
		struct calls calls;

		print_message("%s\n", cases[i].name);
		seen.first_own_ns = seen.first_ns;
		seen.weighted_own_ns = seen.weighted_ns;
		open_rows(&calls, 1);
		add(&calls, 0, &seen);

		struct calls_estimate e = pool(&calls, 19);

		assert_true(fabs(e.total_ns - cases[i].want_total_ns) < 1e-6);
		assert_true(e.total_ns >= 0 && e.own_ns >= 0);
		assert_int_equal(e.clamped, cases[i].clamped);
		assert_int_equal(e.is_below_floor, cases[i].is_below);
		calls_close(&calls);
	}
}

static void percentiles_are_less_the_floor_and_say_when_they_are_below_it(void **state)
{
	struct calls_seen seen = window_of(900, 50, 100, 30, 8);
	struct histogram times = HISTOGRAM_EMPTY;
	struct calls calls;
	bool is_below;

	(void)state;
	(void)histogram_add(&times, bucket_of(30), 8 * 90);
	(void)histogram_add(&times, bucket_of(50), 1 + 8 * 10);
	open_rows(&calls, 1);
	assert_int_equal(calls_add(&calls, 0, &seen, &times), 0);
	histogram_free(&times);

	struct percentile p = calls_percentile(&calls.rows[0], .5, 19, &is_below);

	assert_true(p.is_known && !p.is_open && is_below);
	assert_int_equal(p.ns, 11);
	p = calls_percentile(&calls.rows[0], .99, 19, &is_below);
	assert_int_equal(p.ns, 31);
	assert_true(p.is_open && !is_below); /* of 101 timed, none need be among the slowest 1 % */
	p = calls_percentile(&calls.rows[0], .5, 40, &is_below);
	assert_true(p.ns == 0 && p.low_ns == 0 && is_below);
	calls_close(&calls);
}

static void slices_are_estimates_with_their_covered_share(void **state)
{
	struct calls_seen seen = window_of(100, 100, 12, 100, 8), dark = window_of(0, 0, 0, 0, 8);
	struct calls calls;

	(void)state;
	seen.covered_ns = WINDOW_NS / 10;
	dark.covered_ns = 0;
	open_rows(&calls, 10);
	add(&calls, 0, &seen);
	add(&calls, 1, &dark);

	struct calls_estimate e = pool(&calls, 0);

	assert_true(e.is_estimate && fabs(e.covered - .05) < 1e-9);
	assert_true(fabs(e.calls - 2000) < 1e-6 && fabs(e.total_ns - 200000) < 1e-3);
	assert_true(fabs(e.mean_ns - 100) < 1e-6);
	calls_close(&calls);
}

static void at_most_so_many_rows_and_then_neighbours_merge(void **state)
{
	struct histogram one = HISTOGRAM_EMPTY;
	struct calls calls;
	uint64_t windows = 0;

	(void)state;
	(void)histogram_add(&one, 100, 8);
	open_rows(&calls, 360);
	for (uint64_t window = 0; window < 5000; window++) {
		struct calls_seen seen = window_of(10, 500, 1, window + 1, 8);

		if (window % 7 == 3)
			continue;
		windows++;
		assert_int_equal(calls_add(&calls, window, &seen, &one), 0);
		assert_true(calls.count <= 360);
	}
	assert_int_equal(calls.windows_in_row, 16);
	assert_int_equal(calls.count, (5000 + 15) / 16);

	struct calls_row all = { 0 };

	for (uint32_t i = 0; i < calls.count; i++) {
		assert_int_equal(calls.rows[i].at, i);
		assert_int_equal(calls_pool(&all, &calls.rows[i]), 0);
	}
	assert_int_equal(all.calls, windows * 10);
	assert_int_equal(all.firsts, windows);
	assert_int_equal(all.others, windows);
	assert_int_equal(all.first_ns, windows * 500);
	assert_int_equal(all.span_ns, windows * WINDOW_NS);
	assert_int_equal(all.max_ns, 5000);
	assert_int_equal(all.histogram.weight, windows * 8);
	assert_int_equal(all.histogram.count, 1);
	calls_row_free(&all);
	calls_close(&calls);
	histogram_free(&one);
}

static void merging_changes_nothing_that_a_range_says(void **state)
{
	uint64_t random = 4;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct calls wide, narrow;

		open_rows(&wide, 360);
		open_rows(&narrow, 3);
		for (uint64_t window = 0; window < 100; window++) {
			struct calls_seen seen = window_of(100, 1000, 1 + gap_random(&random) % 10,
							   1 + gap_random(&random) % 9000,
							   1 + gap_random(&random) % 20);

			add(&wide, window, &seen);
			add(&narrow, window, &seen);
		}

		struct calls_estimate a = pool(&wide, 19), b = pool(&narrow, 19);

		assert_true(narrow.count <= 3);
		assert_true(fabs(a.total_ns - b.total_ns) <= 1e-9 * a.total_ns);
		assert_true(fabs(a.total_error_ns - b.total_error_ns) <= 1e-6 * a.total_error_ns);
		assert_true(a.max_ns == b.max_ns && a.timed == b.timed);
		calls_close(&wide);
		calls_close(&narrow);
	}
}

static void windows_of_two_intervals_are_weighted_by_what_they_stand_for(void **state)
{
	/* 8,000 calls of 100 ns one in 80 timed, 100 calls of 9,000 ns one in 2: the mean is that of all calls. */
	struct calls_seen hot = window_of(8001, 100, 100, 100, 80);
	struct calls_seen rare = window_of(101, 9000, 50, 9000, 2);
	struct calls calls;

	(void)state;
	open_rows(&calls, 2);
	add(&calls, 0, &hot);
	add(&calls, 1, &rare);

	struct calls_estimate e = pool(&calls, 0);
	double truth = 8001 * 100.0 + 101 * 9000.0;

	assert_true(fabs(e.total_ns - truth) < 1);
	assert_true(fabs(e.independent - 8100.0 * 8100 / (100 * 6400 + 50 * 4)) < 1e-6);
	calls_close(&calls);
}

static void what_cannot_be_is_refused(void **state)
{
	struct calls_seen good = window_of(10, 5, 1, 5, 8), bad[5];
	struct calls calls;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].firsts = 11;
	bad[1].others = 10;
	bad[1].weight = 80;
	bad[1].weight_squared = 640;
	bad[2].covered_ns = WINDOW_NS + 1;
	bad[3].weight = 0;
	bad[4].others = 0;
	assert_int_equal(calls_open(&calls, 0), -EINVAL);
	assert_int_equal(calls_open(&calls, CALLS_MOST_ROWS + 1), -EINVAL);
	open_rows(&calls, 4);
	add(&calls, 2, &good);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(calls_add(&calls, 3, &bad[i], &nothing), -EINVAL);
	assert_int_equal(calls_add(&calls, 1, &good, &nothing), -EINVAL);
	assert_int_equal(calls.count, 1);
	assert_int_equal(calls.rows[0].calls, 10);
	calls_close(&calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(total_is_the_firsts_and_the_mean_of_the_others_for_the_rest),
		cmocka_unit_test(
			a_range_in_which_only_firsts_were_timed_has_a_total_only_without_others),
		cmocka_unit_test(calls_never_timed_are_counted_and_are_in_no_other_number),
		cmocka_unit_test(calls_that_are_open_at_the_end_are_in_no_other_number),
		cmocka_unit_test(a_window_in_which_it_did_not_run_has_no_row),
		cmocka_unit_test(the_error_is_that_of_the_others_by_hand),
		cmocka_unit_test(where_every_call_was_timed_there_is_no_error),
		cmocka_unit_test(fewer_than_100_independent_calls_are_coarse),
		cmocka_unit_test(the_timing_floor_is_taken_off_and_nothing_is_negative),
		cmocka_unit_test(percentiles_are_less_the_floor_and_say_when_they_are_below_it),
		cmocka_unit_test(slices_are_estimates_with_their_covered_share),
		cmocka_unit_test(at_most_so_many_rows_and_then_neighbours_merge),
		cmocka_unit_test(merging_changes_nothing_that_a_range_says),
		cmocka_unit_test(windows_of_two_intervals_are_weighted_by_what_they_stand_for),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
