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
	if (fabs(value - 1) > tolerance)
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
	const char *argv[] = { busy, "threads", "4", "500", NULL };

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, 4 * NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 8000);
	watch_end(&w);
	assert_true(w.facts.is_over);
	assert_false(w.facts.is_derived);
	assert_false(w.went_back);
	assert_threads_weigh_their_cpu_time(0.02);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
	assert_near_one("clock by CPU time", ratio(w.facts.clock_ns, watch_cpu_ns(&w)), 0.02);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread_weighs_its_cpu_time),
	};

	busy = argc > 1 ? argv[1] : "busy";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
