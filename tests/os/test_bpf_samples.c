/* test_bpf_samples.c - engine `bpf`: what its samples weigh, how far their stacks reach, what they take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/bpf.h"
#include "watch.h"

#define BYTES_MOST 250u /* of the ring, a sample of about 16 frames */
#define SAMPLE_NS  (30 * NS_PER_US)
#define CHILDREN   158
#define CHILD_MS   5
#define HZ_99_NS   (NS_PER_S / 99)

static const char *busy; /* the target program */
static struct watch w;

static struct bpf_sampler *engine(void)
{
	return (struct bpf_sampler *)w.sampler;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static void assert_near_one(const char *what, double value, double tolerance)
{
	print_message("%s: %.4f\n", what, value);
	if (WATCH_JUDGES && fabs(value - 1) > tolerance)
		fail_msg("%s is %.4f, over %.3f from 1", what, value, tolerance);
}

/* A run of which the engine is looked at before it is closed. */
static void watch_until_over(const char *const argv[], uint64_t period_ns, const char *off)
{
	watch_start(&w, argv);
	watch_open(&w, period_ns, off, false);
	watch_go(&w);
	watch_run(&w, 20000);
	assert_true(w.facts.is_over);
}

static void every_thread_weighs_its_cpu_time(void **state)
{
	const char *argv[] = { busy, "threads", "4", "900", NULL };
	char what[64];

	(void)state;
	watch_whole(&w, argv, 4 * NS_PER_MS, NULL);
	assert_string_equal(w.facts.name, "bpf");
	assert_string_equal(w.facts.children, "");
	assert_false(w.facts.is_derived);
	assert_false(w.facts.is_jittered);
	assert_false(w.went_back);
	for (size_t i = 0; i < w.thread_count; i++) {
		if (w.threads[i].cpu_ns < 50 * NS_PER_MS)
			continue;
		snprintf(what, sizeof(what), "weight of thread %u by its CPU time",
			 w.threads[i].tid);
		assert_near_one(what, ratio(w.threads[i].weight_ns, w.threads[i].cpu_ns), 0.02);
	}
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
	assert_near_one("clock by CPU time", ratio(w.facts.clock_ns, watch_cpu_ns(&w)), 0.01);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

/* The kernel adds a thread's time up every 4 ms or so: shorter periods must not find most ticks without weight. */
static void a_period_below_the_kernels_own_tick_gives_all_its_samples(void **state)
{
	const char *argv[] = { busy, "threads", "1", "500", NULL };

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, NULL);
	assert_near_one("ticks by periods", ratio(w.ticks * w.facts.period_ns, w.facts.clock_ns),
			0.2);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
}

static void stacks_reach_their_end_in_the_kernel(void **state)
{
	const char *argv[] = { busy, "threads", "2", "1500", NULL };
	struct record_counts counts;

	(void)state;
	watch_until_over(argv, NS_PER_MS, NULL);
	counts = bpf_counts(engine());
	print_message("%llu of %llu ticks whole, %llu walked on by us\n",
		      (unsigned long long)w.whole, (unsigned long long)w.ticks,
		      (unsigned long long)counts.left);
	assert_true(w.ticks > 0);
	assert_measured(w.whole * 1000 >= w.ticks * 995);
	assert_true(w.depth_max >= 4);
	/* At first nothing is known; then no copy of a stack is needed any more. */
	assert_measured(counts.left * 3 <= counts.samples);
	watch_end(&w);
}

static void kernel_ticks_have_kernel_frames_above_their_callers(void **state)
{
	const char *argv[] = { busy, "kernel", "300", NULL };

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, NULL);
	if (w.kernel_stacks[0] != '\0') {
		print_message("kernel stacks: %s\n", w.kernel_stacks);
		skip();
	}
	assert_measured(w.kernel_frames > w.ticks / 2);
	assert_measured(w.whole * 100 >= w.ticks * 99);
	assert_near_one("weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.03);
}

static void kernel_frames_can_be_switched_off(void **state)
{
	const char *argv[] = { busy, "kernel", "100", NULL };

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, "kernel");
	assert_string_equal(w.kernel_stacks, "switched off");
	assert_int_equal(w.kernel_frames, 0);
	assert_true(w.ticks > 0);
}

/* Frame by frame, what the kernel walked by rows is what a walk over a copy of the stack gives. */
static void expect_like_walks(const char *const argv[], bool is_told)
{
	uint64_t compared, unlike;

	if (is_told)
		watch_start(&w, argv);
	else
		watch_start_waiting(&w, argv);
	watch_open(&w, NS_PER_MS, "trust", !is_told);
	if (is_told)
		watch_go(&w);
	else
		watch_let_exec(&w);
	watch_run(&w, 20000);
	compared = engine()->compared;
	unlike = engine()->unlike;
	print_message("%s: %llu walks compared, %llu differ\n", argv[0],
		      (unsigned long long)compared, (unsigned long long)unlike);
	watch_end(&w);
	assert_measured(compared >= 100);
	assert_true(unlike * 100 <= compared);
}

static void walks_in_the_kernel_are_like_walks_over_a_copy(void **state)
{
	const char *threads[] = { busy, "threads", "2", "300", NULL };
	const char *reads[] = { busy, "kernel", "300", NULL };
	const char *python[] = { "/usr/bin/python3", "-c",
				 "import json\nfor i in range(1500): json.dumps(list(range(5000)))",
				 NULL };

	const char *php[] = { "/usr/bin/php", "-n", "-r",
			      "for ($i = 0; $i < 20000; $i++) json_encode(range(1, 2000));", NULL };

	(void)state;
	expect_like_walks(threads, true);
	expect_like_walks(reads, true);
	if (access(python[0], X_OK) == 0)
		expect_like_walks(python, false);
	if (access(php[0], X_OK) == 0)
		expect_like_walks(php, false);
}

/* Inherited events begin anew with every child and see none of these. */
static void children_of_half_a_period_are_seen_as_often_as_they_run(void **state)
{
	const char *argv[] = { busy, "forks", "158", "5", NULL };
	double want = (double)CHILDREN * CHILD_MS * NS_PER_MS / (double)HZ_99_NS;
	double of_children, spread = 4 * sqrt(want * 0.5);
	uint64_t ticks = 0;

	(void)state;
	watch_whole(&w, argv, HZ_99_NS, NULL);
	for (size_t i = 0; i < w.thread_count; i++)
		ticks += w.threads[i].tid != (uint32_t)w.pid ? w.threads[i].ticks : 0;
	of_children = (double)ticks * (double)w.facts.period_ns / (double)HZ_99_NS;
	print_message("%llu ticks of children, %.0f expected, +- %.0f\n", (unsigned long long)ticks,
		      want, spread);
	assert_int_equal(w.life[LIFE_FORK], CHILDREN);
	assert_measured(fabs(of_children - want) <= spread);
	assert_near_one("all weight by the task's clock", ratio(w.weight_ns, w.facts.clock_ns),
			0.25);
	/* What forks and ends take is on the clock, and told by nobody. */
	assert_near_one("clock by CPU time", ratio(w.facts.clock_ns, watch_cpu_ns(&w)), 0.25);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

static void ticks_nobody_wants_still_weigh(void **state)
{
	const char *argv[] = { busy, "threads", "2", "200", NULL };

	(void)state;
	watch_unwanted(&w, argv, NS_PER_MS);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.02);
}

static void a_sample_takes_little_room_and_little_time(void **state)
{
	const char *argv[] = { busy, "threads", "1", "600", NULL };
	uint64_t bytes;

	(void)state;
	watch_until_over(argv, 4 * NS_PER_MS, NULL);
	assert_true(engine()->walked_count > 0);
	bytes = engine()->walked_bytes / engine()->walked_count;
	print_message("%llu bytes a sample of up to %llu frames, %llu ns, %llu samples\n",
		      (unsigned long long)bytes, (unsigned long long)w.depth_max,
		      (unsigned long long)(w.facts.costs.tick_ps / PS_PER_NS),
		      (unsigned long long)bpf_counts(engine()).samples);
	assert_true(bytes <= BYTES_MOST);
	assert_true(w.facts.is_kernel_measured);
	assert_true(w.facts.kernel_ns > 0);
	assert_measured(w.facts.costs.tick_ps <= SAMPLE_NS * PS_PER_NS);
	watch_end(&w);
}

/* The kernel counts what our program takes, not what coming to it takes: of a tick that is most. */
static void coming_to_the_program_is_charged_too(void **state)
{
	const char *argv[] = { busy, "threads", "1", "600", NULL };
	struct record_counts counts;
	struct err err = ERR_EMPTY;
	uint64_t bare_ps;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, 4 * NS_PER_MS, NULL, false);
	assert_int_equal(watch_engine->calibrate(w.sampler, &err), 0);
	watch_go(&w);
	watch_run(&w, 20000);
	watch_engine->facts(w.sampler, &w.facts); /* of now: the last tick may have come since */
	counts = bpf_counts(engine());
	bare_ps = engine()->bare_tick_ps;
	print_message("%.2f us to come to it; %llu of %llu ticks met the job\n",
		      (double)bare_ps / 1e6, (unsigned long long)counts.met,
		      (unsigned long long)engine()->due);
	assert_in_range(counts.met, counts.samples,
			counts.samples + counts.lost + counts.placeless + counts.samples / 10 + 5);
	/* Of each CPU, busy or not. */
	assert_measured(engine()->due >=
			counts.met * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 9 / 10);
	assert_int_equal(w.facts.missed_ns, (engine()->due - counts.met) * bare_ps / PS_PER_NS);
	assert_int_equal(w.facts.kernel_ns,
			 bpf_took_ns(engine()) + counts.met * bare_ps / PS_PER_NS);
	watch_end(&w);
	if (bare_ps == 0)
		skip(); /* unmeasured on a busy machine */
	assert_in_range(bare_ps, 200 * PS_PER_NS, 60000 * PS_PER_NS);
}

/* Where the kernel may not be asked to count, the programs count themselves. */
static void what_it_takes_is_measured_also_without_the_kernels_count(void **state)
{
	const char *argv[] = { busy, "threads", "1", "200", NULL };

	(void)state;
	watch_until_over(argv, 2 * NS_PER_MS, "bpf_stats");
	assert_true(w.facts.is_kernel_measured);
	assert_true(w.facts.kernel_ns > 0);
	assert_int_equal(w.facts.kernel_ns, bpf_counts(engine()).took_ns);
	watch_end(&w);
}

/* Ten times longer; of few ticks on a busy machine the number varies. */
static void a_new_period_holds_at_once(void **state)
{
	const char *argv[] = { busy, "threads", "1", "800", NULL };
	struct err err = ERR_EMPTY;
	uint64_t before, before_ns, after_ns;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, 2 * NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 300);
	assert_int_equal(sampler_bpf.set_period(w.sampler, 20 * NS_PER_MS, &w.sink, &err), 0);
	before = w.ticks;
	before_ns = w.weight_ns;
	watch_run(&w, 20000);
	after_ns = w.weight_ns - before_ns;
	print_message("%llu ticks before, %llu after\n", (unsigned long long)before,
		      (unsigned long long)(w.ticks - before));
	assert_near_one("ticks before", ratio(before * 2 * NS_PER_MS, before_ns), 0.5);
	assert_near_one("ticks after", ratio((w.ticks - before) * 20 * NS_PER_MS, after_ns), 0.7);
	watch_end(&w);
	assert_near_one("all weight by CPU time", ratio(w.weight_ns, watch_cpu_ns(&w)), 0.1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread_weighs_its_cpu_time),
		cmocka_unit_test(a_period_below_the_kernels_own_tick_gives_all_its_samples),
		cmocka_unit_test(stacks_reach_their_end_in_the_kernel),
		cmocka_unit_test(walks_in_the_kernel_are_like_walks_over_a_copy),
		cmocka_unit_test(kernel_ticks_have_kernel_frames_above_their_callers),
		cmocka_unit_test(kernel_frames_can_be_switched_off),
		cmocka_unit_test(children_of_half_a_period_are_seen_as_often_as_they_run),
		cmocka_unit_test(ticks_nobody_wants_still_weigh),
		cmocka_unit_test(a_sample_takes_little_room_and_little_time),
		cmocka_unit_test(coming_to_the_program_is_charged_too),
		cmocka_unit_test(what_it_takes_is_measured_also_without_the_kernels_count),
		cmocka_unit_test(a_new_period_holds_at_once),
	};

	busy = argc > 1 ? argv[1] : "busy";
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
		print_message("this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)\n");
		return 77;
	}
	watch_engine = &sampler_bpf;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
