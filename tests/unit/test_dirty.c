/* test_dirty.c - which rows changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/dirty.h"
#include "core/scoped.h"

static void marked_rows_come_in_order_and_no_others(void **state)
{
	static const uint32_t marked[] = { 0, 5, 63, 64, 128, 199 };
	struct dirty d;
	uint32_t at = 0;

	(void)state;
	assert_int_equal(dirty_init(&d, 200), 0);
	assert_int_equal(dirty_next(&d, 0), 200);
	for (size_t i = 0; i < ARRAY_LEN(marked); i++)
		dirty_set(&d, marked[i]);
	for (size_t i = 0; i < ARRAY_LEN(marked); i++) {
		at = dirty_next(&d, at);
		assert_int_equal(at++, marked[i]);
	}
	assert_int_equal(dirty_next(&d, at), 200);
	dirty_clear(&d);
	assert_int_equal(dirty_next(&d, 0), 200);
	dirty_free(&d);
}

static void rows_below_an_end_are_marked_up_to_it_exactly(void **state)
{
	static const uint32_t ends[] = { 0, 1, 63, 64, 65, 128, 150 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct dirty d;
		uint32_t count = 0;

		assert_int_equal(dirty_init(&d, 150), 0);
		dirty_set_below(&d, ends[i]);
		for (uint32_t at = dirty_next(&d, 0); at < 150; at = dirty_next(&d, at + 1))
			assert_int_equal(at, count++);
		assert_int_equal(count, ends[i]);
		dirty_free(&d);
	}
}

static void all_rows_means_no_row_beyond_the_last(void **state)
{
	struct dirty d;

	(void)state;
	assert_int_equal(dirty_init(&d, 65), 0);
	dirty_set_all(&d);
	assert_int_equal(dirty_next(&d, 64), 64);
	assert_int_equal(dirty_next(&d, 65), 65);
	assert_int_equal(d.words[1], 1);
	dirty_free(&d);
}

static void nothing_to_mark_is_no_crash_and_free_runs_twice(void **state)
{
	struct dirty d = DIRTY_EMPTY;

	(void)state;
	dirty_clear(&d);
	assert_int_equal(dirty_init(&d, 0), 0);
	dirty_set_all(&d);
	assert_int_equal(dirty_next(&d, 0), 0);
	dirty_free(&d);
	dirty_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_rows_come_in_order_and_no_others),
		cmocka_unit_test(rows_below_an_end_are_marked_up_to_it_exactly),
		cmocka_unit_test(all_rows_means_no_row_beyond_the_last),
		cmocka_unit_test(nothing_to_mark_is_no_crash_and_free_runs_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
