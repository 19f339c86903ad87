/* test_lib_frames.c - libtare's frames, slow frames and tasks, seen by a recorder through the mapping. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib_stage.h"

#define US 1000u
#define MS 1000000u

/* Frame 5 of 10 spends 5 ms in "hot", the others next to nothing. */
static void run_frames(void)
{
	tare_frame();
	for (int i = 0; i < 10; i++) {
		{
			TARE_WATCH("update");
			stage_spin(20 * US);
			{
				TARE_WATCH("hot");
				stage_spin(i == 5 ? 5 * MS : 10 * US);
			}
		}
		tare_frame();
	}
}

static void the_time_between_two_marks_is_a_frame(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_row row;
	struct mapping_slow slow;
	uint32_t tid;

	(void)state;
	run_frames();
	mapping_reader_turn(reader);
	row = stage_row(reader, "frame");
	assert_int_equal(row.calls, 10);
	assert_int_equal(row.others, 10);
	assert_true(row.max_ns >= 5 * MS);
	assert_false(mapping_reader_take_slow(reader, &slow, &tid));
	stage_close();
}

static void a_slow_frame_is_kept_with_its_largest_parts(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 4 * MS);
	struct mapping_slow slow;
	bool has_hot = false;
	uint32_t tid;

	(void)state;
	run_frames();
	mapping_reader_turn(reader);
	while (!has_hot && mapping_reader_take_slow(reader, &slow, &tid)) {
		uint64_t sum_ns = slow.others_ns;

		assert_int_equal(tid, gettid());
		assert_true(slow.ns >= 4 * MS);
		for (uint32_t i = 0; i < slow.part_count; i++)
			sum_ns += slow.parts[i].own_ns;
		assert_true(sum_ns <= slow.ns);
		has_hot = slow.part_count >= 2 && slow.parts[0].id == stage_id(reader, "hot") &&
			  slow.parts[0].own_ns >= 5 * MS;
	}
	assert_true(has_hot);
	/* Exclusive: what lies in "hot" is not in "update" too. */
	assert_int_equal(slow.parts[1].id, stage_id(reader, "update"));
	assert_true(slow.parts[1].own_ns >= 20 * US && slow.parts[1].own_ns < 3 * MS);
	stage_close();
}

static void a_scope_over_a_boundary_is_cut_at_it(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 2 * MS);
	struct mapping_slow first, second;
	uint32_t tid;

	(void)state;
	tare_frame();
	{
		TARE_WATCH("long one");
		stage_spin(3 * MS);
		tare_frame();
		stage_spin(5 * MS);
	}
	tare_frame();
	mapping_reader_turn(reader);
	assert_true(mapping_reader_take_slow(reader, &first, &tid));
	assert_true(mapping_reader_take_slow(reader, &second, &tid));
	assert_int_equal(first.part_count, 1);
	assert_int_equal(second.part_count, 1);
	assert_true(first.parts[0].own_ns >= 3 * MS && first.parts[0].own_ns <= first.ns);
	assert_true(second.parts[0].own_ns >= 5 * MS && second.parts[0].own_ns <= second.ns);
	assert_int_equal(first.parts[0].timed, 0);
	assert_int_equal(second.parts[0].timed, 1);
	stage_close();
}

static void slow_frames_that_nobody_takes_are_counted(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 1);
	struct mapping_slow slow;
	uint32_t tid, taken = 0;

	(void)state;
	for (int i = 0; i <= 40; i++)
		tare_frame();
	mapping_reader_turn(reader);
	while (mapping_reader_take_slow(reader, &slow, &tid))
		taken++;
	assert_int_equal(taken, MAPPING_SLOW);
	assert_int_equal(mapping_reader_loss(reader).slow, 40 - MAPPING_SLOW);
	stage_close();
}

static void *other_thread(void *unused)
{
	for (int i = 0; i < 100; i++) {
		TARE_WATCH("elsewhere");
		stage_spin(50 * US);
	}
	return unused;
}

static void other_threads_do_not_mix_in(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 1 * MS);
	struct mapping_slow slow;
	pthread_t thread;
	uint32_t tid;

	(void)state;
	tare_frame();
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, NULL);
	tare_frame();
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "elsewhere").calls, 100);
	assert_true(mapping_reader_take_slow(reader, &slow, &tid));
	assert_int_equal(slow.part_count, 0);
	stage_close();
}

static void no_frame_spans_a_time_without_a_recorder(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_shared *shared = stage_map();

	(void)state;
	tare_frame();
	shared->orders.window = 0;
	tare_frame();
	mapping_reader_turn(reader);
	tare_frame();
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "frame").calls, 0);
	munmap(shared, sizeof(*shared));
	reader = stage_attach(1, 0);
	tare_frame();
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "frame").calls, 0);
	stage_close();
}

static void a_task_lasts_until_its_end_or_the_next_one(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	struct mapping_row row;
	char text[MAPPING_NAME_BYTES];
	enum mapping_kind kind;

	(void)state;
	tare_task_end();
	assert_int_equal(tare_task_begin("first task"), 0);
	stage_spin(2 * MS);
	assert_int_equal(tare_task_begin("second task"), 0);
	stage_spin(1 * MS);
	tare_task_end();
	tare_task_end();
	mapping_reader_turn(reader);
	row = stage_row(reader, "first task");
	assert_int_equal(row.calls, 1);
	assert_true(row.weighted_ns >= 2 * MS && row.max_ns == row.weighted_ns);
	row = stage_row(reader, "second task");
	assert_int_equal(row.calls, 1);
	assert_true(row.weighted_ns >= 1 * MS);
	assert_true(mapping_reader_name(reader, stage_id(reader, "second task"), &kind, text));
	assert_int_equal(kind, MAPPING_TASK);
	stage_close();
	assert_int_equal(tare_task_begin("nobody sees it"), 0);
	tare_task_end();
}

/* Runs last: afterwards all names are taken. */
static void a_name_without_a_place_is_lost_and_said(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	int refused = 0;
	char name[300];

	(void)state;
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < 300; i++) {
		int status;

		snprintf(name, sizeof(name), "task %d", i);
		name[strlen(name)] = 'x';
		name[sizeof(name) - 1] = '\0';
		status = tare_task_begin(name);
		assert_true(status == 0 || status == -ENOMEM);
		refused += status != 0;
		tare_task_end();
	}
	for (int i = 0; i < 10; i++) {
		TARE_WATCH("no place for this one");
	}
	mapping_reader_turn(reader);
	assert_int_equal(mapping_reader_names(reader), MAPPING_NAMES);
	assert_in_range(refused, 45, 60);
	assert_true(mapping_reader_loss(reader).names > 0);
	stage_attach(8, 0); /* another window: the rest of what was lost is told */
	for (int i = 0; i < 600; i++) {
		TARE_WATCH("no place for this one");
	}
	assert_true(mapping_reader_loss(stage_reader).calls >= 512);
	stage_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_between_two_marks_is_a_frame),
		cmocka_unit_test(a_slow_frame_is_kept_with_its_largest_parts),
		cmocka_unit_test(a_scope_over_a_boundary_is_cut_at_it),
		cmocka_unit_test(slow_frames_that_nobody_takes_are_counted),
		cmocka_unit_test(other_threads_do_not_mix_in),
		cmocka_unit_test(no_frame_spans_a_time_without_a_recorder),
		cmocka_unit_test(a_task_lasts_until_its_end_or_the_next_one),
		cmocka_unit_test(a_name_without_a_place_is_lost_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
