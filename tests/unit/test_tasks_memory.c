/* test_tasks_memory.c - tasks when memory runs out, at each allocation in turn: nothing that was weighed is lost, and a save that
 * could not be told is told the next time. */
#include <errno.h>
#include <stdlib.h>

#include "failing_alloc.h"
#include "tasks_stage.h"

static void no_memory_to_begin_with_is_said(void **state)
{
	struct tasks_settings settings = tasks_roomy();
	struct profile *run;
	struct tasks *tasks = NULL;
	int failures = 0;

	(void)state;
	assert_int_equal(profile_open(&settings.profile, &run, NULL), 0);
	for (long n = 0; tasks == NULL; n++) {
		struct err err = ERR_EMPTY;

		fails_at = allocations + n;
		failures++;
		if (tasks_open(&settings, run, &tasks, &err) < 0)
			assert_int_equal(err.code, -ENOMEM);
	}
	fails_at = -1;
	assert_in_range(failures, 5, 30);
	tasks_close(tasks);
	profile_close(run);
}

/* What is left of a task: its row, exact, whatever became of its profile. */
static void row_is_exact(struct tasks_stage *s, uint32_t task, uint64_t ticks)
{
	const struct task_row *row = tasks_row(s->tasks, task);

	if (task == TASKS_NONE)
		return;
	assert_non_null(row);
	assert_int_equal(row->ticks, ticks);
	assert_true(row->weight_ns == ticks * BASE_NS);
}

/* A job of three tasks, with the n-th allocation failing. Returns how many there were. */
static long job_with_a_failure(long n)
{
	enum { TICKS = 300 };
	struct tasks_settings settings = tasks_roomy();
	struct tasks_stage s;
	struct changes c = CHANGES_EMPTY;
	struct label label = { .pid = 0 };
	char name[16], path[32];
	uint32_t ids[3];
	long began;
	int code;

	settings.room_bytes = TASKS_LEAST_ROOM;
	tasks_stage_open(&s, &settings);
	began = allocations;
	fails_at = allocations + n;
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "task %u", i);
		ids[i] = stage_begin(&s, name);
		for (uint32_t k = 0; k < TICKS; k++) {
			snprintf(path, sizeof(path), "t;main;f%u", k % 60);
			stage_tick(&s, ids[i], path);
		}
		if (i < 2)
			stage_end(&s, ids[i]);
		row_is_exact(&s, ids[i], TICKS);
		changes_reset(&c);
		code = tasks_changes(s.tasks, &c);
		if (code == -ENOMEM) {
			assert_int_equal(c.task_count + c.task_name_count + c.slot_count, 0);
			code = tasks_changes(s.tasks, &c);
		}
		assert_int_equal(code, 0);
		assert_int_equal(c.task_count > 0, ids[i] != TASKS_NONE);
		assert_true(tasks_bytes(s.tasks) <= settings.room_bytes);
		tasks_saved(s.tasks);
	}
	tasks_label(s.tasks, &label);
	assert_int_equal(label.tasks, 3);
	assert_int_equal(label.tasks_unfollowed + tasks_count(s.tasks), 3);
	fails_at = -1;
	began = allocations - began;
	changes_free(&c);
	tasks_stage_close(&s);
	return began;
}

static void whichever_allocation_fails_nothing_weighed_is_lost(void **state)
{
	long n = 0;

	(void)state;
	while (n < job_with_a_failure(n))
		n++;
	assert_in_range(n, 30, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_to_begin_with_is_said),
		cmocka_unit_test(whichever_allocation_fails_nothing_weighed_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
