/* test_lib_times.c - what libtare makes of the times it reads: the clock is the test's own, so that no other program on the
 * machine counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib_stage.h"

#define US 1000u

static uint64_t made_ns; /* the time; 0: the true one */

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	if (made_ns == 0)
		return __real_clock_gettime(clock, out);
	*out = (struct timespec){ .tv_sec = (time_t)(made_ns / 1000000000u),
				  .tv_nsec = (long)(made_ns % 1000000000u) };
	return 0;
}

/* Attaches, and from now on time passes only where a test says so. */
static struct mapping_reader *attach(uint32_t interval)
{
	struct mapping_reader *reader;
	struct mapping_shared *shared;

	made_ns = 0;
	reader = stage_attach(interval, 0);
	shared = stage_map();
	shared->orders.tick_scale = 0;
	munmap(shared, sizeof(*shared));
	made_ns = 1000000000u;
	return reader;
}

static void work(uint64_t ns)
{
	made_ns += ns;
}

static double total_of(const struct mapping_row *row)
{
	return (double)row->first_ns +
	       (double)(row->calls - row->firsts) * (double)row->weighted_ns / (double)row->weights;
}

static void times_are_exact_to_the_nanosecond(void **state)
{
	struct mapping_reader *reader = attach(1);
	struct mapping_row row;

	(void)state;
	for (uint32_t i = 1; i <= 10; i++) {
		TARE_WATCH("exact");
		work(i * 100);
	}
	mapping_reader_turn(reader);
	row = stage_row(reader, "exact");
	assert_int_equal(row.first_ns, 100);
	assert_int_equal(row.weighted_ns, 5400);
	assert_int_equal(row.max_ns, 1000);
	assert_int_equal(row.squares.low + (row.squares.high << 32), 3840000);
	assert_int_equal(row.weights_squared, 9);
	stage_close();
}

/* Alternating with the interval's own period: one call in eight is ten times dearer. */
static void a_pattern_with_the_interval_as_its_period_is_not_followed(void **state)
{
	struct mapping_reader *reader = attach(8);
	struct mapping_row row;
	double truth = 0;

	(void)state;
	for (int i = 0; i < 80000; i++) {
		TARE_WATCH("pattern");
		work(i % 8 == 0 ? 10 * US : US);
		truth += i % 8 == 0 ? 10 * US : US;
	}
	mapping_reader_turn(reader);
	row = stage_row(reader, "pattern");
	assert_int_equal(row.calls, 80000);
	assert_in_range(row.others, 9500, 10500);
	/* 10,000 timed of mean 2.1 and deviation 3: 0.03, and six of them */
	assert_true(total_of(&row) > 0.91 * truth && total_of(&row) < 1.09 * truth);
	stage_close();
}

static void a_cold_first_call_is_not_in_the_mean(void **state)
{
	struct mapping_reader *reader = attach(8);

	(void)state;
	for (int w = 0; w < 20; w++) {
		struct mapping_row row;

		for (int i = 0; i < 200; i++) {
			TARE_WATCH("cold");
			work(i == 0 ? 10 * US : US);
		}
		mapping_reader_turn(reader);
		row = stage_row(reader, "cold");
		assert_int_equal(row.first_ns, 10 * US);
		assert_true(row.others > 0);
		assert_int_equal(total_of(&row), 209 * US);
	}
	stage_close();
}

static void what_lies_directly_inside_is_not_a_scopes_own(void **state)
{
	struct mapping_reader *reader = attach(1);
	struct mapping_row outer, middle, inner;

	(void)state;
	for (int i = 0; i < 100; i++) {
		TARE_WATCH("outer");
		work(10 * US);
		for (int k = 0; k < 2; k++) {
			TARE_WATCH("middle");
			work(2 * US);
			{
				TARE_WATCH("inner");
				work(4 * US);
			}
		}
	}
	mapping_reader_turn(reader);
	outer = stage_row(reader, "outer");
	middle = stage_row(reader, "middle");
	inner = stage_row(reader, "inner");
	assert_int_equal(outer.weighted_ns - outer.nested_ns, 99 * 10 * US);
	assert_int_equal(outer.first_ns - outer.first_nested_ns, 10 * US);
	assert_int_equal(middle.weighted_ns - middle.nested_ns, 199 * 2 * US);
	assert_int_equal(middle.first_ns - middle.first_nested_ns, 2 * US);
	assert_int_equal(inner.nested_ns + inner.first_nested_ns, 0);
	stage_close();
}

/* Calls that are not timed stand between: what lies in them is theirs, and a timed one stands for the others. */
static void sampled_scopes_inside_are_weighed(void **state)
{
	struct mapping_reader *reader = attach(4);
	struct mapping_row around;
	double share;

	(void)state;
	for (int i = 0; i < 40000; i++) {
		TARE_WATCH("around");
		work(10 * US);
		{
			TARE_WATCH("between");
			work(10 * US);
			{
				TARE_WATCH("within");
				work(20 * US);
			}
		}
	}
	mapping_reader_turn(reader);
	around = stage_row(reader, "around");
	share = ((double)around.weighted_ns - (double)around.nested_ns) /
		(double)around.weighted_ns;
	assert_true(share > 0.19 && share < 0.31); /* 10 of 40 µs */
	stage_close();
}

static void a_clock_that_goes_back_is_dropped_and_counted(void **state)
{
	struct mapping_reader *reader = attach(1);
	struct mapping_row row;

	(void)state;
	for (int i = 0; i < 10; i++) {
		TARE_WATCH("back");
		made_ns += i == 5 ? -1 : 100;
	}
	mapping_reader_turn(reader);
	row = stage_row(reader, "back");
	assert_int_equal(row.calls, 10);
	assert_int_equal(row.backwards, 1);
	assert_int_equal(row.firsts + row.others, 9);
	assert_int_equal(row.weighted_ns + row.first_ns, 900);
	stage_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact_to_the_nanosecond),
		cmocka_unit_test(a_pattern_with_the_interval_as_its_period_is_not_followed),
		cmocka_unit_test(a_cold_first_call_is_not_in_the_mean),
		cmocka_unit_test(what_lies_directly_inside_is_not_a_scopes_own),
		cmocka_unit_test(sampled_scopes_inside_are_weighed),
		cmocka_unit_test(a_clock_that_goes_back_is_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
