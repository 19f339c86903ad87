/* test_perf_weights.c - what engine `perf` weighs, against the threads' own CPU clocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "watch.h"

static const char *busy; /* the target program */
static struct watch w;

static double ratio(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static void assert_near_one(const char *what, double value, double tolerance)
{
	print_message("%s: %.4f\n", what, value);
	/* On a crowded machine ticks are lost, and counted: as much may be missing at a thread's end. Too much never is right. */
	double lost = ratio(w.facts.lost_count * w.facts.period_ns, w.facts.clock_ns);

	if (WATCH_JUDGES && (value > 1 + tolerance || value + lost < 1 - tolerance))
		fail_msg("%s is %.4f, over %.3f from 1", what, value, tolerance);
}

/* Every thread's weight against what it says it took. */
static void assert_threads_weigh_their_cpu_time(double tolerance)
{
	char what[64];

	for (size_t i = 0; i < w.thread_count; i++) {
		if (w.threads[i].cpu_ns < 50 * NS_PER_MS)
			continue;
		snprintf(what, sizeof(what), "weight of thread %u by its CPU time",
			 w.threads[i].tid);
		assert_near_one(what, ratio(w.threads[i].weight_ns, w.threads[i].cpu_ns),
				tolerance);
	}
}

static void every_thread_weighs_its_cpu_time(void **state)
{
	const char *argv[] = { busy, "threads", "4", "900", NULL };

	(void)state;
	watch_whole(&w, argv, 4 * NS_PER_MS, NULL);
	assert_false(w.facts.is_derived);
	assert_false(w.went_back);
	assert_threads_weigh_their_cpu_time(0.02);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
	assert_near_one("clock by CPU time", ratio(w.facts.clock_ns, watch_cpu_ns(&w)), 0.02);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

static bool do_threads_weigh_their_cpu_time(double tolerance)
{
	bool are_near = true;

	for (size_t i = 0; i < w.thread_count; i++) {
		double near = ratio(w.threads[i].weight_ns, w.threads[i].cpu_ns);

		if (w.threads[i].cpu_ns >= 50 * NS_PER_MS)
			are_near = are_near && near > 1 - tolerance && near < 1 + tolerance;
	}
	return are_near;
}

/* They are times between ticks, so that a host that takes the CPU away is in them: on a busy one the second or third try tells. */
static void derived_weights_are_near_the_cpu_time(void **state)
{
	const char *argv[] = { busy, "threads", "4", "900", NULL };
	bool are_near = false;

	(void)state;
	for (int i = 0; i < 3 && !are_near; i++) {
		watch_whole(&w, argv, 4 * NS_PER_MS, "read_inherit,kernel");
		assert_true(w.facts.is_derived);
		assert_true(w.weight_ns <= w.facts.clock_ns);
		are_near = do_threads_weigh_their_cpu_time(0.05);
	}
	assert_threads_weigh_their_cpu_time(0.05);
}

/* Ticks in the kernel that we may not see must not be put on the next function in user mode. */
static void withheld_kernel_time_has_a_path_of_its_own(void **state)
{
	const char *argv[] = { busy, "kernel", "500", NULL };
	struct watch_thread *thread;

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, "kernel");
	assert_string_equal(w.kernel_stacks, "switched off");
	thread = watch_thread(&w, (uint32_t)w.pid);
	print_message("[kernel] %.3f of %.3f s\n", (double)thread->kernel_ns / 1e9,
		      (double)thread->cpu_ns / 1e9);
	/* Nearly all of it is read(2); what was never followed by a tick in user mode stays unsampled. */
	assert_measured(thread->kernel_ns >= w.weight_ns / 2);
	assert_true(w.weight_ns <= w.facts.clock_ns);
	assert_near_one("clock by CPU time", ratio(w.facts.clock_ns, thread->cpu_ns), 0.02);
}

static void kernel_ticks_have_kernel_frames_where_allowed(void **state)
{
	const char *argv[] = { busy, "kernel", "300", NULL };

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, NULL);
	if (w.kernel_stacks[0] != '\0') {
		print_message("kernel stacks: %s\n", w.kernel_stacks);
		skip();
	}
	assert_measured(w.kernel_frames > w.ticks / 2);
	assert_near_one("weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.03);
}

static void ticks_nobody_wants_still_weigh(void **state)
{
	const char *argv[] = { busy, "threads", "2", "200", NULL };

	(void)state;
	watch_unwanted(&w, argv, NS_PER_MS);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
}

static void native_stacks_reach_their_end(void **state)
{
	const char *argv[] = { busy, "threads", "2", "300", NULL };

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	print_message("%llu of %llu ticks whole\n", (unsigned long long)w.whole,
		      (unsigned long long)w.ticks);
	assert_measured(w.whole * 100 >= w.ticks * 99);
	assert_true(w.depth_max >= 4);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread_weighs_its_cpu_time),
		cmocka_unit_test(derived_weights_are_near_the_cpu_time),
		cmocka_unit_test(withheld_kernel_time_has_a_path_of_its_own),
		cmocka_unit_test(kernel_ticks_have_kernel_frames_where_allowed),
		cmocka_unit_test(ticks_nobody_wants_still_weigh),
		cmocka_unit_test(native_stacks_reach_their_end),
	};

	busy = argc > 1 ? argv[1] : "busy";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
