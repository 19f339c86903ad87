/* test_watch_memory.c - rows and frames while memory runs out: nothing is lost, nothing counts twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/calls.h"
#include "core/frames.h"
#include "core/units.h"
#include "failing_alloc.h"

#define WINDOWS 40u
#define STEPS	30u

static int add_window(struct calls *calls, uint64_t window)
{
	struct calls_seen seen = { .calls = STEPS * 8,
				   .span_ns = NS_PER_S,
				   .covered_ns = NS_PER_S,
				   .others = STEPS,
				   .weight = STEPS * 8,
				   .weight_squared = STEPS * 64 };
	struct histogram times = HISTOGRAM_EMPTY;
	int status = 0;

	for (uint32_t i = 0; i < STEPS && status == 0; i++)
		status = histogram_add(&times, (uint32_t)window * 3 + i * 20, 8);
	if (status == 0)
		status = calls_add(calls, window, &seen, &times);
	histogram_free(&times);
	return status;
}

static void assert_whole(const struct calls *calls, uint64_t windows)
{
	struct calls_row all = { 0 };

	for (uint32_t i = 0; i < calls->count; i++)
		assert_int_equal(calls_pool(&all, &calls->rows[i]), 0);
	assert_int_equal(all.calls, windows * STEPS * 8);
	assert_int_equal(all.histogram.weight, windows * STEPS * 8);
	calls_row_free(&all);
}

static void a_window_that_could_not_be_added_is_added_at_the_next_try(void **state)
{
	long tries = 0, failures = 0;

	(void)state;
	for (long n = 0; n < 12; n++) {
		struct calls calls;

		assert_int_equal(calls_open(&calls, 5), 0);
		for (uint64_t window = 0; window < WINDOWS;) {
			fails_at = allocations + n;

			int status = add_window(&calls, window);

			fails_at = -1;
			assert_true(status == 0 || status == -ENOMEM);
			tries++;
			failures += status != 0;
			assert_whole(&calls, window + (status == 0));
			if (status != 0) { /* this time there is memory */
				assert_int_equal(add_window(&calls, window), 0);
				assert_whole(&calls, window + 1);
			}
			window++;
		}
		calls_close(&calls);
	}
	assert_true(failures > 50 && failures < tries);
}

static void no_memory_is_said_at_the_start(void **state)
{
	struct calls calls = CALLS_EMPTY;
	struct frames frames = { 0 };
	struct frames_thread thread = { 0 };

	(void)state;
	fails_at = allocations;
	assert_int_equal(calls_open(&calls, 5), -ENOMEM);
	fails_at = allocations;
	assert_int_equal(frames_open(&frames, 1, 1), -ENOMEM);
	for (long n = 0; n < 2; n++) {
		fails_at = allocations + n;
		assert_int_equal(frames_thread_open(&thread, 3), -ENOMEM);
	}
	fails_at = -1;
	calls_close(&calls);
	frames_close(&frames);
	frames_thread_close(&thread);
}

static void a_frame_without_memory_is_not_counted(void **state)
{
	struct frames frames;
	struct frames_frame frame = { .duration_ns = 500, .other_ns = 500 };

	(void)state;
	assert_int_equal(frames_open(&frames, 1, 1), 0);
	fails_at = allocations;
	assert_int_equal(frames_add(&frames, &frame), -ENOMEM);
	fails_at = -1;
	assert_int_equal(frames.count + frames.slow + frames.durations.weight, 0);
	assert_int_equal(frames_add(&frames, &frame), 0);
	assert_int_equal(frames.count, 1);
	frames_close(&frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_could_not_be_added_is_added_at_the_next_try),
		cmocka_unit_test(no_memory_is_said_at_the_start),
		cmocka_unit_test(a_frame_without_memory_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
