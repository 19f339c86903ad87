/* test_frames.c - frames of made threads: what they are made of, which are kept, and what broken nesting does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/frames.h"
#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"

#define MS NS_PER_MS

enum { TICK, PATHS, AI, FUNCTIONS };

static void open_thread(struct frames_thread *thread)
{
	assert_int_equal(frames_thread_open(thread, FUNCTIONS), 0);
}

static uint64_t part_of(const struct frames_frame *frame, uint32_t function)
{
	for (uint32_t i = 0; i < frame->part_count; i++) {
		if (frame->parts[i].function == function)
			return frame->parts[i].ns;
	}
	return 0;
}

/* Parts, rest and other are the frame. */
static void assert_whole(const struct frames_frame *frame)
{
	uint64_t sum = frame->rest_ns + frame->other_ns;

	for (uint32_t i = 0; i < frame->part_count; i++) {
		sum += frame->parts[i].ns;
		if (i > 0)
			assert_true(frame->parts[i - 1].ns >= frame->parts[i].ns);
	}
	assert_int_equal(sum, frame->duration_ns);
}

static void parts_are_exclusive_and_add_up_to_the_frame(void **state)
{
	struct frames_thread thread;
	struct frames_frame frame;

	(void)state;
	open_thread(&thread);
	assert_false(frames_mark(&thread, 1000, &frame));
	frames_enter(&thread, TICK, 1010);  /* 10 of other before it */
	frames_enter(&thread, PATHS, 1030); /* 20 of tick */
	frames_enter(&thread, PATHS, 1050); /* recursion: 20 of paths */
	frames_leave(&thread, PATHS, 1090); /* 40 of paths */
	frames_leave(&thread, PATHS, 1095); /* 5 of paths */
	frames_leave(&thread, TICK, 1100);  /* 5 of tick */
	assert_true(frames_mark(&thread, 1200, &frame));
	assert_whole(&frame);
	assert_int_equal(frame.start_ns, 1000);
	assert_int_equal(frame.duration_ns, 200);
	assert_int_equal(part_of(&frame, TICK), 25);
	assert_int_equal(part_of(&frame, PATHS), 65);
	assert_int_equal(frame.other_ns, 110);
	assert_int_equal(frame.part_count, 2);
	assert_true(frames_mark(&thread, 1300, &frame));
	assert_int_equal(frame.other_ns, 100);
	assert_int_equal(frame.part_count, 0);
	frames_thread_close(&thread);
	frames_thread_close(&thread);
}

static void a_scope_over_a_mark_is_in_both_frames(void **state)
{
	struct frames_thread thread;
	struct frames_frame frame;

	(void)state;
	open_thread(&thread);
	(void)frames_mark(&thread, 0, &frame);
	frames_enter(&thread, AI, 70);
	assert_true(frames_mark(&thread, 100, &frame));
	assert_int_equal(part_of(&frame, AI), 30);
	frames_leave(&thread, AI, 120);
	assert_true(frames_mark(&thread, 200, &frame));
	assert_int_equal(part_of(&frame, AI), 20);
	assert_whole(&frame);
	frames_thread_close(&thread);
}

static void a_scope_closes_what_it_contains(void **state)
{
	struct frames_thread thread;
	struct frames_frame frame;

	(void)state;
	open_thread(&thread);
	(void)frames_mark(&thread, 0, &frame);
	frames_enter(&thread, TICK, 0);
	frames_enter(&thread, PATHS, 10);
	frames_enter(&thread, AI, 20);	  /* neither AI nor PATHS ends: longjmp */
	frames_leave(&thread, TICK, 50);  /* 30 of AI */
	frames_leave(&thread, PATHS, 60); /* was closed: a stray exit */
	assert_true(frames_mark(&thread, 100, &frame));
	assert_whole(&frame);
	assert_int_equal(part_of(&frame, TICK), 10);
	assert_int_equal(part_of(&frame, PATHS), 10);
	assert_int_equal(part_of(&frame, AI), 30);
	assert_int_equal(frame.other_ns, 50);
	assert_int_equal(thread.unclosed, 2);
	assert_int_equal(thread.stray, 1);
	assert_int_equal(thread.depth, 0);
	frames_thread_close(&thread);
}

static void two_hundred_deep_comes_back_out_and_a_jump_from_there_heals(void **state)
{
	struct frames_thread thread;
	struct frames_frame frame;
	uint64_t now_ns = 0;

	(void)state;
	open_thread(&thread);
	(void)frames_mark(&thread, 0, &frame);
	for (uint32_t i = 0; i < 200; i++)
		frames_enter(&thread, i % 2 == 0 ? PATHS : AI, now_ns += 10);
	for (uint32_t i = 200; i-- > 0;)
		frames_leave(&thread, i % 2 == 0 ? PATHS : AI, now_ns += 10);
	assert_int_equal(thread.depth, 0);
	assert_int_equal(thread.too_deep, 0);
	assert_int_equal(thread.stray + thread.unclosed, 0);
	assert_int_equal(thread.passed_over, 200 - FRAMES_MOST_DEPTH);
	assert_true(frames_mark(&thread, now_ns += 10, &frame));
	assert_whole(&frame);
	assert_int_equal(frame.other_ns, 20);

	frames_enter(&thread, TICK, now_ns);
	for (uint32_t i = 0; i < 100; i++)
		frames_enter(&thread, PATHS, now_ns);
	frames_leave(&thread, TICK, now_ns += 10);
	assert_int_equal(thread.depth, 0);
	assert_int_equal(thread.too_deep, 0);
	assert_int_equal(thread.unclosed, 100);
	frames_enter(&thread, PATHS, now_ns);
	frames_leave(&thread, PATHS, now_ns);
	assert_int_equal(thread.depth, 0);
	frames_thread_close(&thread);
}

static void a_thousand_jumps_leave_nothing_stuck(void **state)
{
	struct frames_thread thread;

	(void)state;
	open_thread(&thread);
	for (uint64_t i = 0; i < 1000; i++) {
		frames_enter(&thread, TICK, i);
		frames_enter(&thread, PATHS, i);
		frames_leave(&thread, TICK, i);
	}
	assert_int_equal(thread.depth, 0);
	assert_int_equal(thread.unclosed, 1000);
	frames_thread_close(&thread);
}

static void other_threads_do_not_mix_in(void **state)
{
	struct frames_thread one, two;
	struct frames_frame frame;

	(void)state;
	open_thread(&one);
	open_thread(&two);
	(void)frames_mark(&one, 0, &frame);
	frames_enter(&two, AI, 10);
	frames_enter(&one, TICK, 20);
	frames_leave(&two, AI, 80);
	frames_leave(&one, TICK, 90);
	assert_true(frames_mark(&one, 100, &frame));
	assert_int_equal(part_of(&frame, TICK), 70);
	assert_int_equal(part_of(&frame, AI), 0);
	frames_thread_close(&one);
	frames_thread_close(&two);
}

static void a_clock_that_goes_back_is_dropped_and_counted(void **state)
{
	struct frames_thread thread;
	struct frames_frame frame;

	(void)state;
	open_thread(&thread);
	(void)frames_mark(&thread, 1000, &frame);
	frames_enter(&thread, TICK, 900);
	frames_leave(&thread, TICK, 1050);
	assert_false(frames_mark(&thread, 1040, &frame));
	assert_int_equal(thread.backwards, 2);
	assert_true(frames_mark(&thread, 1100, &frame));
	assert_whole(&frame);
	assert_int_equal(part_of(&frame, TICK), 50);
	frames_thread_close(&thread);
}

static void an_unknown_function_is_passed_over(void **state)
{
	struct frames_thread thread;

	(void)state;
	assert_int_equal(frames_thread_open(&thread, 0), -EINVAL);
	open_thread(&thread);
	frames_enter(&thread, FUNCTIONS, 10);
	frames_leave(&thread, FUNCTIONS, 20);
	assert_int_equal(thread.depth, 0);
	assert_int_equal(thread.stray, 0);
	frames_thread_close(&thread);
}

static void a_frame_names_its_eight_largest_parts(void **state)
{
	uint64_t own_ns[] = { 5, 90, 0, 40, 7, 60, 70, 80, 50, 30, 20, 10 };
	struct frames_frame frame = frames_make(7, 1000, own_ns, ARRAY_LEN(own_ns));

	(void)state;
	assert_whole(&frame);
	assert_int_equal(frame.part_count, 8);
	assert_int_equal(frame.parts[0].function, 1);
	assert_int_equal(frame.parts[7].ns, 20);
	assert_int_equal(frame.rest_ns, 5 + 7 + 10);
	assert_int_equal(frame.other_ns, 1000 - 462);
	assert_false(frame.is_scaled);
}

static void estimates_over_the_frame_are_scaled_down_to_it(void **state)
{
	uint64_t own_ns[] = { 300, 100, 0 };
	struct frames_frame frame = frames_make(0, 200, own_ns, ARRAY_LEN(own_ns));

	(void)state;
	assert_whole(&frame);
	assert_true(frame.is_scaled);
	assert_int_equal(part_of(&frame, 0), 150);
	assert_int_equal(part_of(&frame, 1), 50);
	assert_int_equal(frame.other_ns, 0);

	own_ns[0] = own_ns[1] = own_ns[2] = UINT64_MAX;
	frame = frames_make(0, 200, own_ns, ARRAY_LEN(own_ns));
	assert_whole(&frame);
	own_ns[0] = own_ns[1] = own_ns[2] = 0;
	frame = frames_make(0, 0, own_ns, ARRAY_LEN(own_ns));
	assert_whole(&frame);
}

static struct frames_frame frame_of(uint64_t start_ns, uint64_t duration_ns)
{
	return (struct frames_frame){ .start_ns = start_ns,
				      .duration_ns = duration_ns,
				      .other_ns = duration_ns };
}

static void a_frame_of_the_limit_is_slow_and_a_shorter_one_is_not(void **state)
{
	struct frames frames;
	struct frames_frame fast = frame_of(0, 50 * MS - 1), slow = frame_of(1, 50 * MS);

	(void)state;
	assert_int_equal(frames_open(&frames, 50 * MS, 1), 0);
	assert_int_equal(frames_add(&frames, &fast), 0);
	assert_null(frames_kept(&frames, 0));
	assert_int_equal(frames_add(&frames, &slow), 0);
	assert_int_equal(frames_kept(&frames, 0)->start_ns, 1);
	assert_null(frames_kept(&frames, 1));
	assert_int_equal(frames.count, 2);
	assert_int_equal(frames.slow, 1);
	assert_int_equal(frames.total_ns, 100 * MS - 1);
	assert_int_equal(frames.max_ns, 50 * MS);
	assert_int_equal(frames.durations.weight, 2);
	frames_close(&frames);
	frames_close(&frames);
}

static void the_ten_worst_are_kept_and_of_the_others_each_with_the_same_chance(void **state)
{
	enum { runs = 60, many = 4000, worst_apart = 400 };
	static uint32_t kept[many];
	uint64_t by_tenth[10] = { 0 };

	(void)state;
	for (uint64_t run = 0; run < runs; run++) {
		struct frames frames;

		assert_int_equal(frames_open(&frames, 1, run), 0);
		for (uint64_t i = 0; i < many; i++) {
			/* Ten worst spread over the run, rising; the others differ only by their place. */
			bool is_worst = i % worst_apart == 77;
			struct frames_frame frame =
				frame_of(i, is_worst ? 1000000 + i : 100 + i % 13);

			assert_int_equal(frames_add(&frames, &frame), 0);
		}
		assert_int_equal(frames.slow, many);
		assert_int_equal(frames.worst_count + frames.sample_count, FRAMES_MOST_KEPT);
		for (uint32_t i = 0; i < FRAMES_WORST; i++)
			assert_int_equal(frames_kept(&frames, i)->start_ns,
					 (uint64_t)(9 - i) * worst_apart + 77);
		for (uint32_t i = FRAMES_WORST; i < FRAMES_MOST_KEPT; i++) {
			uint64_t at = frames_kept(&frames, i)->start_ns;

			assert_true(at % worst_apart != 77);
			kept[at]++;
			by_tenth[at * 10 / many]++;
		}
		assert_null(frames_kept(&frames, FRAMES_MOST_KEPT));
		frames_close(&frames);
	}
	/* 990 x 60 kept of 3,990 x 60: each tenth 5,940, standard deviation under 67; each frame 14.9 of 60, 3.3. */
	for (size_t i = 0; i < 10; i++)
		assert_in_range(by_tenth[i], 5940 - 300, 5940 + 300);
	for (size_t i = 0; i < many; i++)
		assert_true(kept[i] <= 34 && (kept[i] > 0 || i % worst_apart == 77));
}

static void a_frame_pushed_out_of_the_worst_has_the_chance_of_the_others(void **state)
{
	uint32_t kept_first = 0;

	(void)state;
	for (uint64_t run = 0; run < 300; run++) { /* rising: all but the last ten are pushed out */
		struct frames frames;

		assert_int_equal(frames_open(&frames, 1, run), 0);
		for (uint64_t i = 0; i < 1990; i++) {
			struct frames_frame frame = frame_of(i, 100 + i);

			(void)frames_add(&frames, &frame);
		}
		for (uint32_t i = FRAMES_WORST; frames_kept(&frames, i) != NULL; i++)
			kept_first += frames_kept(&frames, i)->start_ns < 10;
		frames_close(&frames);
	}
	assert_in_range(kept_first, 1350, 1650); /* 10 x 300 x 990 / 1980 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_exclusive_and_add_up_to_the_frame),
		cmocka_unit_test(a_scope_over_a_mark_is_in_both_frames),
		cmocka_unit_test(a_scope_closes_what_it_contains),
		cmocka_unit_test(two_hundred_deep_comes_back_out_and_a_jump_from_there_heals),
		cmocka_unit_test(a_thousand_jumps_leave_nothing_stuck),
		cmocka_unit_test(other_threads_do_not_mix_in),
		cmocka_unit_test(a_clock_that_goes_back_is_dropped_and_counted),
		cmocka_unit_test(an_unknown_function_is_passed_over),
		cmocka_unit_test(a_frame_names_its_eight_largest_parts),
		cmocka_unit_test(estimates_over_the_frame_are_scaled_down_to_it),
		cmocka_unit_test(a_frame_of_the_limit_is_slow_and_a_shorter_one_is_not),
		cmocka_unit_test(
			the_ten_worst_are_kept_and_of_the_others_each_with_the_same_chance),
		cmocka_unit_test(a_frame_pushed_out_of_the_worst_has_the_chance_of_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
