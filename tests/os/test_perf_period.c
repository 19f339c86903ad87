/* test_perf_period.c - changes of the period, the traps around it, and what is lost. */
#include <linux/perf_event.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/perf_open.h"
#include "watch.h"

static const char *busy; /* the target program */
static struct watch w;

static void set_period(uint64_t period_ns)
{
	struct err err = ERR_EMPTY;
	int error = sampler_perf.set_period(w.sampler, period_ns, &w.sink, &err);

	if (error != 0)
		fail_msg("%s", err.msg);
}

/* Ticks by CPU time, in periods, of what comes in the next `ms`. */
static double ticks_by_time(unsigned int ms, uint64_t period_ns)
{
	struct sampler_facts before, after;
	uint64_t ticks = w.ticks, lost = w.lost;

	sampler_perf.facts(w.sampler, &before);
	watch_run(&w, ms);
	sampler_perf.facts(w.sampler, &after);
	return (double)(w.ticks - ticks + w.lost - lost) * (double)period_ns /
	       (double)(after.clock_ns - before.clock_ns);
}

static void a_new_period_reaches_threads_that_inherited(void **state)
{
	const char *argv[] = { busy, "threads", "4", "500", NULL };

	(void)state;
	watch_start(&w, argv);
	w.skips_stacks = true;
	watch_open(&w, NS_PER_MS, NULL, false);
	watch_go(&w);
	assert_measured(fabs(ticks_by_time(300, NS_PER_MS) - 1) < 0.1);
	set_period(8 * NS_PER_MS);
	assert_measured(fabs(ticks_by_time(400, 8 * NS_PER_MS) - 1) < 0.35);
	set_period(NS_PER_MS);
	watch_run(&w, 20000);
	watch_end(&w);
	assert_true(w.facts.is_over);
	assert_int_equal(w.facts.period_ns, 938183); /* a prime off the beat of 1 ms */
	assert_false(w.facts.is_jittered);
	assert_false(w.went_back);
	print_message("weight %.4f of the CPU time, clock %.4f\n",
		      (double)w.weight_ns / (double)watch_cpu_ns(&w),
		      (double)w.facts.clock_ns / (double)watch_cpu_ns(&w));
	assert_measured((double)w.weight_ns < 1.03 * (double)watch_cpu_ns(&w));
	assert_measured(
		(double)(w.weight_ns + w.facts.lost_count * 8 * NS_PER_MS) >
		0.97 * (double)watch_cpu_ns(&w)); /* 8 ms: the longest period of this test */
	assert_measured(fabs((double)w.facts.clock_ns / (double)watch_cpu_ns(&w) - 1) < 0.02);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

static void children_forked_around_a_change_are_not_missed(void **state)
{
	const char *argv[] = { busy, "forks", "12", "40", NULL };

	(void)state;
	watch_start(&w, argv);
	w.skips_stacks = true;
	watch_open(&w, NS_PER_MS, NULL, false);
	watch_go(&w);
	for (uint64_t i = 0; i < 40 && !w.facts.is_over; i++) {
		watch_run(&w, 10);
		set_period(NS_PER_MS * (1 + i % 2));
	}
	watch_run(&w, 20000);
	watch_end(&w);
	assert_true(w.facts.is_over);
	print_message("clock %.4f of the CPU time\n",
		      (double)w.facts.clock_ns / (double)watch_cpu_ns(&w));
	assert_measured(fabs((double)w.facts.clock_ns / (double)watch_cpu_ns(&w) - 1) < 0.03);
	assert_true(w.weight_ns <= w.facts.clock_ns);
	assert_measured(w.weight_ns * 100 >= w.facts.clock_ns * 90);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t until_ns = cpu_ns() + ns;

	while (cpu_ns() < until_ns)
		for (volatile int i = 0; i < 10000; i++)
			;
}

struct trap {
	uint64_t told_ns, counted_ns; /* sums of PERF_SAMPLE_PERIOD; of differences of the value */
	uint64_t samples;
};

/* Sums up what an event on ourselves wrote since the last call: period, then value. */
static struct trap read_trap(struct perf_event_mmap_page *head, uint64_t *last_value_ns)
{
	const uint8_t *bytes = (const uint8_t *)head + sysconf(_SC_PAGESIZE);
	uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE), words[3];
	struct trap sum = { 0 };

	for (; head->data_tail < end; head->data_tail += words[0] >> 48) {
		memcpy(words, bytes + head->data_tail, sizeof(words));
		if ((uint32_t)words[0] != PERF_RECORD_SAMPLE)
			continue;
		sum.told_ns += words[1];
		sum.counted_ns += words[2] - *last_value_ns;
		*last_value_ns = words[2];
		sum.samples++;
	}
	return sum;
}

/* Why the engine neither uses PERF_SAMPLE_PERIOD nor PERF_EVENT_IOC_PERIOD. */
static void after_ioc_period_the_sample_tells_the_old_one(void **state)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = NS_PER_MS,
					.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
					.exclude_kernel = 1 };
	uint64_t longer_ns = 8 * NS_PER_MS, value_ns = 0;
	size_t map_bytes = 9 * (size_t)sysconf(_SC_PAGESIZE);
	int fd = perf_open_event(&attr, 0, -1);
	struct perf_event_mmap_page *head;
	struct trap sum;

	(void)state;
	if (fd < 0)
		skip();
	head = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(head, MAP_FAILED);
	spin(50 * NS_PER_MS);
	read_trap(head, &value_ns);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_PERIOD, &longer_ns), 0);
	spin(200 * NS_PER_MS);
	sum = read_trap(head, &value_ns);
	print_message("%llu samples: told %.3f s, counted %.3f s\n",
		      (unsigned long long)sum.samples, (double)sum.told_ns / 1e9,
		      (double)sum.counted_ns / 1e9);
	assert_true(sum.samples > 10 && sum.samples < 40); /* the new period holds... */
	assert_measured(sum.counted_ns > 160 * NS_PER_MS); /* ...and the value knows... */
	assert_true(sum.told_ns < sum.counted_ns / 2);	   /* ...but the sample tells 1 ms */
	munmap(head, map_bytes);
	close(fd);
}

static void what_a_tiny_ring_loses_is_counted_and_still_weighed(void **state)
{
	const char *argv[] = { busy, "threads", "2", "300", NULL };

	(void)state;
	watch_start(&w, argv);
	w.skips_stacks = true;
	watch_open(&w, 200 * NS_PER_US, "large_rings", false);
	watch_go(&w);
	for (int i = 0; i < 6; i++) {
		usleep(20000); /* a hundred ticks, with room for one */
		watch_run(&w, 1);
	}
	watch_run(&w, 20000);
	watch_end(&w);
	print_message("%llu ticks, %llu lost in %llu gaps\n", (unsigned long long)w.ticks,
		      (unsigned long long)w.facts.lost_count,
		      (unsigned long long)w.facts.lost_events);
	assert_measured(w.facts.lost_count > 100);
	assert_measured(w.facts.lost_events > 0);
	assert_measured(w.lost > 0 && w.lost <= w.facts.lost_count);
	assert_true(w.facts.is_over);
	assert_measured(fabs((double)w.weight_ns / (double)watch_cpu_ns(&w) - 1) < 0.1);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

static void periods_are_primes(void **state)
{
	static const struct {
		const char *name;
		uint64_t asked_ns, want_ns;
	} cases[] = {
		{ "10 ms", 10 * NS_PER_MS, 9381949 },
		{ "1 ms", NS_PER_MS, 938183 },
		{ "below what the kernel fires", 1, PERF_PERIOD_MIN_NS },
		{ "the least", 10008, PERF_PERIOD_MIN_NS },
		{ "10 s", 10 * NS_PER_S, UINT64_C(9381969991) },
		{ "over the most", UINT64_MAX, UINT64_C(938196999973) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(perf_prime_period(cases[i].asked_ns), cases[i].want_ns);
	}
}

static void a_tick_has_a_measured_price(void **state)
{
	const char *argv[] = { busy, "threads", "1", "1", NULL };
	struct timespec began, ended;
	struct err err = ERR_EMPTY;
	double took_ms;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, 10 * NS_PER_MS, NULL, false);
	clock_gettime(CLOCK_MONOTONIC, &began);
	assert_int_equal(sampler_perf.calibrate(w.sampler, &err), 0);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	watch_end(&w);
	took_ms = (double)(ended.tv_sec - began.tv_sec) * 1e3 +
		  (double)(ended.tv_nsec - began.tv_nsec) / 1e6;
	print_message("%.2f us a tick, measured in %.0f ms\n", (double)w.facts.costs.tick_ps / 1e6,
		      took_ms);
	/* About 50 on an idle machine, and given up when it takes too long. */
	assert_true(took_ms < 2000);
	/* On a busy machine it may be unmeasured; what is measured is believable. */
	if (w.facts.costs.tick_ps == 0)
		skip();
	assert_in_range(w.facts.costs.tick_ps, 300 * PS_PER_NS, 60000 * PS_PER_NS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_period_reaches_threads_that_inherited),
		cmocka_unit_test(children_forked_around_a_change_are_not_missed),
		cmocka_unit_test(after_ioc_period_the_sample_tells_the_old_one),
		cmocka_unit_test(what_a_tiny_ring_loses_is_counted_and_still_weighed),
		cmocka_unit_test(periods_are_primes),
		cmocka_unit_test(a_tick_has_a_measured_price),
	};

	busy = argc > 1 ? argv[1] : "busy";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
