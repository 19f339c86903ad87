/* test_task_names.c - what stays of every name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/task_names.h"
#include "core/units.h"

static struct str text(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static void the_first_thousand_names_have_rows_of_their_own(void **state)
{
	struct task_names t;
	char name[16];
	uint32_t other;

	(void)state;
	assert_int_equal(task_names_init(&t, UINT64_MAX), 0);
	for (uint32_t i = 0; i < TASK_NAMES_MOST; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(task_names_find(&t, text(name)), i);
	}
	other = task_names_find(&t, text("late"));
	assert_int_equal(other, TASK_NAMES_MOST);
	assert_int_equal(task_names_find(&t, text("later")), other);
	assert_int_equal(task_names_find(&t, text("(other)")), other);
	assert_int_equal(task_names_find(&t, text("n7")), 7);
	assert_int_equal(t.names[other].row.name.len, 7);
	task_names_free(&t);
	task_names_free(&t);
}

static void names_that_have_no_room_are_counted_together(void **state)
{
	struct task_names t;
	uint32_t other;

	(void)state;
	assert_int_equal(task_names_init(&t, 100), 0);
	assert_int_equal(task_names_find(&t, text("a")), 0);
	other = task_names_find(&t, text("b"));
	task_names_begin(&t, other);
	task_names_begin(&t, task_names_find(&t, text("c")));
	assert_int_equal(t.names[other].row.begun, 2);
	assert_int_equal(t.count, 2);
	task_names_free(&t);
}

static void durations_are_counted_by_their_power_of_two(void **state)
{
	(void)state;
	assert_int_equal(task_log2_place(0), 0);
	assert_int_equal(task_log2_place((UINT64_C(1) << 15) - 1), 0);
	assert_int_equal(task_log2_place(UINT64_C(1) << 15), 1);
	assert_int_equal(task_log2_place(NS_PER_S), 29 - TASK_LOG2_FIRST);
	assert_int_equal(task_log2_place(UINT64_MAX), BATCH_COUNT - 1);
}

static void a_row_says_how_often_how_long_and_the_longest(void **state)
{
	struct task_names t;
	struct changes c = CHANGES_EMPTY;
	uint64_t bytes;

	(void)state;
	assert_int_equal(task_names_init(&t, UINT64_MAX), 0);
	task_names_find(&t, text("a"));
	bytes = t.bytes;
	for (uint64_t i = 1; i <= 3; i++) {
		task_names_begin(&t, 0);
		task_names_end(&t, 0, i * NS_PER_S);
	}
	assert_true(t.bytes > bytes);
	assert_int_equal(task_names_changes(&t, &c), 0);
	assert_int_equal(c.task_name_count, 1);
	assert_int_equal(c.task_names[0].ended, 3);
	assert_int_equal(c.task_names[0].total_ns, 6 * NS_PER_S);
	assert_int_equal(c.task_names[0].longest_ns, 3 * NS_PER_S);
	assert_int_equal(c.task_names[0].log2_count[29 - TASK_LOG2_FIRST], 1);
	assert_int_equal(c.task_names[0].log2_count[30 - TASK_LOG2_FIRST], 1);
	task_names_saved(&t);
	changes_reset(&c);
	assert_int_equal(task_names_changes(&t, &c), 0);
	assert_int_equal(c.task_name_count, 0);
	changes_free(&c);
	task_names_free(&t);
}

static void a_name_is_cut_between_two_letters(void **state)
{
	char name[400];

	(void)state;
	memset(name, 'x', sizeof(name));
	assert_int_equal(task_name_cut((struct str){ name, 255 }).len, 255);
	assert_int_equal(task_name_cut((struct str){ name, 400 }).len, 255);
	memcpy(name + 254, "\xe2\x82\xac", 3);
	assert_int_equal(task_name_cut((struct str){ name, 400 }).len, 254);
	memset(name, 0x80, sizeof(name)); /* no UTF-8: a name all the same */
	assert_in_range(task_name_cut((struct str){ name, 400 }).len, 252, 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_thousand_names_have_rows_of_their_own),
		cmocka_unit_test(names_that_have_no_room_are_counted_together),
		cmocka_unit_test(durations_are_counted_by_their_power_of_two),
		cmocka_unit_test(a_row_says_how_often_how_long_and_the_longest),
		cmocka_unit_test(a_name_is_cut_between_two_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
