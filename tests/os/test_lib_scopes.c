/* test_lib_scopes.c - libtare's scopes, seen by a recorder through the mapping. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib_stage.h"

#define US 1000u

static __thread volatile uint32_t sink;

static __attribute__((noinline)) void quick(void)
{
	TARE_WATCH("quick");
	sink++;
}

static void nothing_is_counted_before_a_recorder_comes(void **state)
{
	struct mapping_reader *reader;

	(void)state;
	for (int i = 0; i < 1000; i++)
		quick();
	assert_false(tare_is_watched());
	reader = stage_attach(8, 0);
	assert_true(tare_is_watched());
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "quick").calls, 0);
	stage_close();
	assert_false(tare_is_watched());
}

static void every_call_is_counted_and_the_first_of_each_window_is_timed(void **state)
{
	static const uint32_t calls[] = { 1, 2, 7, 100000, 3 };
	struct mapping_reader *reader = stage_attach(4096, 0);

	(void)state;
	for (size_t w = 0; w < sizeof(calls) / sizeof(calls[0]); w++) {
		struct mapping_row row;

		for (uint32_t i = 0; i < calls[w]; i++)
			quick();
		assert_true(mapping_reader_turn(reader) != 0);
		row = stage_row(reader, "quick");
		assert_int_equal(row.calls, calls[w]);
		assert_int_equal(row.firsts, 1);
		assert_true(row.others <= calls[w] / 1000);
	}
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "quick").calls, 0);
	assert_int_equal(stage_row(reader, "quick").max_ns, 0);
	stage_close();
}

static void the_recorder_sets_each_name_its_interval(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	uint32_t id;
	struct mapping_row row;

	(void)state;
	quick();
	id = stage_id(reader, "quick");
	mapping_reader_set(reader, id, 100, 0);
	mapping_reader_turn(reader);
	for (int i = 0; i < 100000; i++)
		quick();
	mapping_reader_turn(reader);
	row = stage_row(reader, "quick");
	assert_in_range(row.others, 850, 1150);
	assert_in_range(row.weights, 85000, 115000);

	/* 100 timed calls, then it doubles: never 1.8 times the budget. */
	mapping_reader_set(reader, id, 1, 100);
	mapping_reader_turn(reader);
	for (int i = 0; i < 100000; i++)
		quick();
	mapping_reader_turn(reader);
	row = stage_row(reader, "quick");
	assert_in_range(row.firsts + row.others, 150, 230);
	assert_int_equal(row.calls, 100000);
	stage_close();
}

static jmp_buf away;

static __attribute__((noinline)) void leaps(void)
{
	TARE_WATCH("leaps");
	longjmp(away, 1);
}

static void a_longjmp_out_leaves_nothing_open(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_row row;
	static volatile int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		if (setjmp(away) == 0)
			leaps();
	for (int k = 0; k < 100; k++) {
		TARE_WATCH("later");
		stage_spin(5 * US);
	}
	mapping_reader_turn(reader);
	row = stage_row(reader, "leaps");
	assert_int_equal(row.calls, 1000);
	assert_int_equal(row.firsts + row.others, 0);
	assert_in_range(row.abandoned, 999, 1000);
	row = stage_row(reader, "later");
	assert_int_equal(row.firsts + row.others, 100);
	assert_true(row.weighted_ns / row.weights < 1000 * US);
	assert_true(row.weighted_ns / row.weights >= 5 * US);
	stage_close();
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) uint32_t deep(uint32_t left)
{
	TARE_WATCH("deep");
	sink++;
	return left == 0 ? 0 : deep(left - 1) + 1;
}

static void recursion_is_counted_at_every_depth_and_timed_down_to_the_64th(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_row row;

	(void)state;
	assert_int_equal(deep(199), 199);
	mapping_reader_turn(reader);
	row = stage_row(reader, "deep");
	assert_int_equal(row.calls, 200);
	assert_int_equal(row.firsts + row.others, MAPPING_DEPTH);
	for (int i = 0; i < 10; i++)
		deep(0);
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "deep").others, 9);
	stage_close();
}

static void begin_and_end_close_what_was_left_open_inside(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);

	(void)state;
	for (int i = 0; i < 10; i++) {
		TARE_WATCH_BEGIN(whole, "whole");
		TARE_WATCH_BEGIN(never, "never ended");
		(void)never;
		TARE_WATCH_END(whole);
		TARE_WATCH_END(whole);
	}
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "whole").calls, 10);
	assert_int_equal(stage_row(reader, "whole").others, 9);
	assert_int_equal(stage_row(reader, "never ended").calls, 10);
	assert_int_equal(stage_row(reader, "never ended").others, 0);
	assert_int_equal(stage_row(reader, "never ended").abandoned, 10);
	stage_close();
}

static void the_histogram_holds_every_calls_weight(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	static uint32_t steps[BUCKET_COUNT];
	uint64_t mass = 0, long_mass = 0;
	uint32_t id;

	(void)state;
	for (int i = 0; i < 50; i++) {
		TARE_WATCH("steps");
		stage_spin(30 * US);
	}
	id = stage_id(reader, "steps");
	assert_true(mapping_reader_histogram(reader, id, steps));
	for (uint32_t at = 0; at < BUCKET_COUNT; at++) {
		mass += steps[at];
		if (bucket_low_ns(at) >= 29 * US)
			long_mass += steps[at];
	}
	assert_int_equal(mass, 50);
	assert_int_equal(long_mass, 50);
	assert_true(mapping_reader_histogram(reader, id, steps));
	assert_int_equal(steps[bucket_of(31 * US)], 0);
	assert_false(mapping_reader_histogram(reader, MAPPING_NAMES, steps));
	stage_close();
}

static void the_callers_errno_stays(void **state)
{

	(void)state;
	stage_attach(1, 1);
	errno = EXDEV;
	quick();
	{
		TARE_WATCH("a name that is new");
		sink++;
	}
	tare_frame();
	tare_frame();
	tare_task_begin("a task");
	tare_task_end();
	assert_int_equal(errno, EXDEV);
	stage_close();
}

static void one_recorder_at_a_time(void **state)
{
	struct mapping_reader *second = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	stage_attach(8, 0);
	assert_int_equal(mapping_reader_open(getpid(), &second, &err), -EBUSY);
	assert_null(second);
	stage_close();
	assert_int_equal(mapping_reader_open(getpid(), &second, &err), 0);
	mapping_reader_close(second);
	assert_int_equal(mapping_reader_open(1 << 29, &second, &err), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_counted_before_a_recorder_comes),
		cmocka_unit_test(every_call_is_counted_and_the_first_of_each_window_is_timed),
		cmocka_unit_test(the_recorder_sets_each_name_its_interval),
		cmocka_unit_test(a_longjmp_out_leaves_nothing_open),
		cmocka_unit_test(recursion_is_counted_at_every_depth_and_timed_down_to_the_64th),
		cmocka_unit_test(begin_and_end_close_what_was_left_open_inside),
		cmocka_unit_test(the_histogram_holds_every_calls_weight),
		cmocka_unit_test(the_callers_errno_stays),
		cmocka_unit_test(one_recorder_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
