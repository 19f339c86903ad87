/* test_task_tree.c - who works on which task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/task_tree.h"

static void a_child_works_on_what_its_maker_works_on(void **state)
{
	struct task_tree *t;

	(void)state;
	assert_int_equal(task_tree_open(&t), 0);
	assert_true(task_tree_add(t, 100, 0));
	assert_true(task_tree_add(t, 101, 100));
	assert_true(task_tree_add(t, 102, 101));
	assert_int_equal(task_tree_task(t, 102), 0);
	assert_int_equal(task_tree_set(t, 100, 7), 0);
	assert_int_equal(task_tree_task(t, 102), 7);
	assert_int_equal(task_tree_set(t, 101, 8), 0);
	assert_int_equal(task_tree_task(t, 102), 8);
	assert_int_equal(task_tree_own(t, 102), 0);
	assert_int_equal(task_tree_set(t, 101, 0), 8);
	assert_int_equal(task_tree_task(t, 102), 7);
	assert_int_equal(task_tree_parent(t, 102), 101);
	task_tree_close(t);
}

static void it_goes_on_when_those_between_have_ended(void **state)
{
	struct task_tree *t;

	(void)state;
	assert_int_equal(task_tree_open(&t), 0);
	task_tree_add(t, 100, 0);
	task_tree_add(t, 101, 100);
	task_tree_add(t, 102, 101);
	task_tree_set(t, 100, 7);
	task_tree_set(t, 101, 8);
	assert_int_equal(task_tree_remove(t, 101), 8);
	assert_int_equal(task_tree_task(t, 102), 7);
	assert_int_equal(task_tree_task(t, 101), 0);
	assert_false(task_tree_has(t, 101));
	assert_int_equal(task_tree_parent(t, 102), 0);
	task_tree_close(t);
}

static void a_number_that_is_used_again_is_another_process(void **state)
{
	struct task_tree *t;

	(void)state;
	assert_int_equal(task_tree_open(&t), 0);
	task_tree_add(t, 100, 0);
	task_tree_set(t, 100, 7);
	task_tree_add(t, 101, 100);
	task_tree_add(t, 100, 0);
	assert_int_equal(task_tree_task(t, 100), 0);
	assert_int_equal(task_tree_task(t, 101), 0);
	assert_int_equal(task_tree_set(t, 55, 9), 0);
	assert_int_equal(task_tree_task(t, 55), 0);
	task_tree_close(t);
}

/* A job that makes processes for ever takes no memory for ever. */
static void ended_ones_that_nobody_needs_are_forgotten(void **state)
{
	struct task_tree *t;
	uint32_t at = 0, count = 0;

	(void)state;
	assert_int_equal(task_tree_open(&t), 0);
	task_tree_add(t, 1, 0);
	for (uint32_t i = 2; i < 1000000; i++) {
		assert_true(task_tree_add(t, i, i - 1));
		task_tree_remove(t, i - 1);
		if (i % 200 == 0) { /* a new line of processes */
			task_tree_remove(t, i);
			assert_true(task_tree_add(t, i, 0));
		}
	}
	while (task_tree_next(t, &at) != 0)
		count++;
	assert_int_equal(count, 1);
	task_tree_close(t);
}

static void too_many_are_refused(void **state)
{
	struct task_tree *t;

	(void)state;
	assert_int_equal(task_tree_open(&t), 0);
	for (uint32_t i = 1; i <= TASK_TREE_MOST; i++)
		assert_true(task_tree_add(t, i, i / 2));
	assert_false(task_tree_add(t, TASK_TREE_MOST + 1, 1));
	task_tree_set(t, 1, 3);
	assert_int_equal(task_tree_task(t, TASK_TREE_MOST), 3);
	task_tree_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_works_on_what_its_maker_works_on),
		cmocka_unit_test(it_goes_on_when_those_between_have_ended),
		cmocka_unit_test(a_number_that_is_used_again_is_another_process),
		cmocka_unit_test(ended_ones_that_nobody_needs_are_forgotten),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
