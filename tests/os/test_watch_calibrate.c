/* test_watch_calibrate.c - what watching is said to cost is what it costs: beside an independent timing of the same bodies, with
 * and without a busy neighbour; and what cannot be measured is said to be unmeasured. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/pace.h"
#include "core/units.h"
#include "sense/mapping.h"
#include "sense/probes.h"
#include "sense/watch_bodies.h"
#include "sense/watch_calibrate.h"

#define TIMINGS 10
#define TRIES	3
#define RUN_NS	NS_PER_MS

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

/* ps a call of a body, by our own clock: the fastest of ten. */
static double time_body(struct watch_bodies *bodies, uint32_t body)
{
	struct watch_body_told told;
	uint32_t calls = 8;
	double fastest_ps = 0;

	/* So many that asking for them does not count; twice, as what was interrupted takes longer. */
	for (uint64_t least_ns = 0; least_ns < RUN_NS;) {
		calls *= 2;
		assert_int_equal(watch_bodies_call(bodies, body, calls, &told), 0);
		least_ns = told.ns;
		assert_int_equal(watch_bodies_call(bodies, body, calls, &told), 0);
		least_ns = told.ns < least_ns ? told.ns : least_ns;
	}
	for (int i = 0; i < TIMINGS; i++) {
		uint64_t from_ns = now_ns();
		double ps;

		assert_int_equal(watch_bodies_call(bodies, body, calls, &told), 0);
		ps = (double)(now_ns() - from_ns) * 1000 / calls;
		if (i == 0 || ps < fastest_ps)
			fastest_ps = ps;
	}
	return fastest_ps;
}

/* What libtare is charged, and what its bodies take beside none by our own timing, ps a call: each the least of some tries
 * that take turns, so that a machine that is slower for a while is slower for both. */
struct pair {
	double charged, truth;
};

struct pairs {
	struct pair plain, counted, timed, task, frame;
};

static void lower(struct pair *pair, double charged, double truth)
{
	if (pair->truth == 0 || truth < pair->truth)
		pair->truth = truth;
	if (pair->charged == 0 || charged < pair->charged)
		pair->charged = charged;
}

/* What the watch takes of it. */
static struct pair beside(struct pair pair, struct pair plain)
{
	pair.truth -= plain.truth;
	return pair;
}

/* ps that a call is charged, when one in `interval` is timed. */
static double charge_of(const struct watch_costs *costs, uint64_t interval)
{
	struct pace_costs in_force = pace_costs_in_force(&costs->measured, &costs->assumed);

	return (double)pace_charge_ps(&in_force, interval, 1) / (double)interval;
}

static void try_once(struct pairs *pairs)
{
	struct watch_bodies bodies;
	struct mapping_reader *reader;
	struct watch_calibrated seen;

	assert_int_equal(watch_calibrate_inside(NULL, 1, &seen), 0);
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_int_equal(mapping_reader_open(bodies.pid, &reader, NULL), 0);
	mapping_reader_start(reader, MAPPING_MAX_INTERVAL, UINT32_MAX, 0);
	lower(&pairs->plain, 0, time_body(&bodies, WATCH_BODY_PLAIN));
	lower(&pairs->counted, charge_of(&seen.of[MAPPING_SCOPE], 4096),
	      time_body(&bodies, WATCH_BODY_COUNTED));
	mapping_reader_start(reader, 1, UINT32_MAX, 0);
	lower(&pairs->timed, charge_of(&seen.of[MAPPING_SCOPE], 1),
	      time_body(&bodies, WATCH_BODY_TIMED));
	lower(&pairs->task, charge_of(&seen.of[MAPPING_TASK], 1),
	      time_body(&bodies, WATCH_BODY_TASK));
	lower(&pairs->frame, charge_of(&seen.of[MAPPING_FRAME], 1),
	      time_body(&bodies, WATCH_BODY_FRAME));
	mapping_reader_close(reader);
	watch_bodies_close(&bodies);
}

/* Between a half and twice; a nanosecond is allowed for, which is what the place of code and stack makes. */
static void assert_agrees(const char *what, struct pair pair)
{
	print_message("%s: charged %.1f ns, in truth %.1f ns\n", what, pair.charged / 1000,
		      pair.truth / 1000);
	assert_true(pair.charged >= pair.truth / 2 - 1000);
	assert_true(pair.charged <= pair.truth * 2 + 1000);
}

static void compare_inside(void)
{
	struct pairs pairs = { .counted = { 0, 0 } };

	for (int i = 0; i < TRIES; i++)
		try_once(&pairs);
	assert_agrees("counted", beside(pairs.counted, pairs.plain));
	assert_agrees("timed", beside(pairs.timed, pairs.plain));
	assert_agrees("a task", beside(pairs.task, pairs.plain));
	assert_agrees("a frame", beside(pairs.frame, pairs.plain));
}

static void a_charge_agrees_with_an_independent_timing_of_the_same_bodies(void **state)
{
	(void)state;
	compare_inside();
}

static cpu_set_t all_cpus;
static pid_t neighbour;

/* Puts us on one CPU with a neighbour that never rests. */
static int begin_neighbour(void **state)
{
	cpu_set_t one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all_cpus), &all_cpus), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all_cpus))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	neighbour = fork();
	assert_true(neighbour >= 0);
	if (neighbour == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile uint64_t i = 0;; i++)
			;
	}
	return 0;
}

static int end_neighbour(void **state)
{
	(void)state;
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	return sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

static void a_charge_agrees_beside_a_busy_neighbour_on_the_same_cpu(void **state)
{
	(void)state;
	compare_inside();
}

/* All kinds of first instructions; where probes are not allowed the test says so. */
static void calibrate_probes(const char *switched_off, struct watch_costs out[PLACE_FIRSTS])
{
	const bool all[PLACE_FIRSTS] = { true, true, true };
	int status = watch_calibrate_probes(all, switched_off, out);

	if (status == -EPERM || status == -ENOTSUP || status == -EACCES) {
		print_message("probes cannot be used here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A process with probes of both kinds on bodies, for timing them ourselves. */
struct probed {
	struct watch_bodies bodies;
	struct watch_source *empty, *counting;
	struct place hooked, counted[2];
};

static struct place place_of(struct probed *p, uint32_t body, enum place_first first)
{
	struct watch_body_told told;

	assert_int_equal(watch_bodies_call(&p->bodies, body, 0, &told), 0);
	return (struct place){ .name = STR_LITERAL("body"),
			       .path = p->bodies.path,
			       .offset = told.offset,
			       .first = first };
}

static void open_probed(struct probed *p, enum place_first first, const char *switched_off)
{
	uint32_t body = WATCH_BODY_PROBED + WATCH_PROBED_COUNT * first;
	struct places hooked = { .rows = &p->hooked, .count = 1 };
	struct places counted = { .rows = p->counted, .count = 2 };
	struct watch_source_settings settings = { .interval = 65536, .switched_off = switched_off };
	struct watch_order rare = { .interval = 65536 }, always = { .interval = 1 };
	struct err err = ERR_EMPTY;

	assert_int_equal(watch_bodies_open(&p->bodies), 0);
	p->hooked = place_of(p, body + WATCH_PROBED_HOOKED, first);
	p->counted[0] = place_of(p, body + WATCH_PROBED_UNTIMED, first);
	p->counted[1] = place_of(p, body + WATCH_PROBED_TIMED, first);
	settings.pid = p->bodies.pid;
	settings.places = &hooked;
	assert_int_equal(probes_open_empty(&settings, &p->empty, &err), 0);
	settings.places = &counted;
	assert_int_equal(watch_source_probes.open(&settings, &p->counting, &err), 0);
	assert_int_equal(watch_source_probes.start(p->empty, &err), 0);
	assert_int_equal(watch_source_probes.start(p->counting, &err), 0);
	watch_source_probes.order(p->counting, 0, &rare);
	watch_source_probes.order(p->counting, 1, &always);
}

static void close_probed(struct probed *p)
{
	watch_source_probes.close(p->counting);
	watch_source_probes.close(p->empty);
	watch_bodies_close(&p->bodies);
}

/* What an untimed call and a timed one are charged, beside our own timing; and the hook alone. */
static void compare_probes(const char *switched_off)
{
	static const char *const kinds[PLACE_FIRSTS] = { "nop5", "push", "other" };
	struct pair untimed[PLACE_FIRSTS] = { { 0, 0 } }, timed[PLACE_FIRSTS] = { { 0, 0 } };
	struct pair hook[PLACE_FIRSTS] = { { 0, 0 } };

	for (int i = 0; i < 2; i++) {
		struct watch_costs costs[PLACE_FIRSTS];

		calibrate_probes(switched_off, costs);
		for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
			uint32_t body = WATCH_BODY_PROBED + WATCH_PROBED_COUNT * first;
			struct probed p = { .bodies = WATCH_BODIES_EMPTY };
			double plain;

			open_probed(&p, (enum place_first)first, switched_off);
			plain = time_body(&p.bodies, body + WATCH_PROBED_PLAIN);
			lower(&hook[first], (double)costs[first].measured.hook_ps,
			      time_body(&p.bodies, body + WATCH_PROBED_HOOKED) - plain);
			lower(&untimed[first], charge_of(&costs[first], 65536),
			      time_body(&p.bodies, body + WATCH_PROBED_UNTIMED) - plain);
			lower(&timed[first], charge_of(&costs[first], 1),
			      time_body(&p.bodies, body + WATCH_PROBED_TIMED) - plain);
			close_probed(&p);
		}
	}
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		print_message("begins with %s:\n", kinds[first]);
		assert_agrees("hook", hook[first]);
		assert_agrees("counted", untimed[first]);
		assert_agrees("timed", timed[first]);
	}
}

static void probes_are_charged_what_they_cost(void **state)
{
	(void)state;
	compare_probes(NULL);
}

static void probes_without_sessions_are_charged_what_they_cost(void **state)
{
	(void)state;
	compare_probes("session");
}

static void probes_are_charged_what_they_cost_beside_a_busy_neighbour(void **state)
{
	(void)state;
	compare_probes(NULL);
}

static void a_call_with_its_hook_is_never_cheaper_than_the_call(void **state)
{
	struct watch_costs costs[PLACE_FIRSTS];

	(void)state;
	calibrate_probes(NULL, costs);
	for (int first = 0; first < PLACE_FIRSTS; first++) {
		assert_true(costs[first].measured.hook_ps > 0);
		assert_true(charge_of(&costs[first], 1000000) >=
			    (double)costs[first].measured.untimed_ps);
		/* A timed empty function reads as less than what its probe costs, and as something. */
		assert_true(costs[first].floor_ps > 0);
		assert_true((double)costs[first].floor_ps < 2 * charge_of(&costs[first], 1));
	}
	assert_in_range(costs[0].cpu_ns, NS_PER_MS, 500 * NS_PER_MS);
}

static void probes_that_are_switched_off_are_unmeasured(void **state)
{
	const bool all[PLACE_FIRSTS] = { true, true, true };
	struct watch_costs costs[PLACE_FIRSTS], one;

	(void)state;
	assert_true(watch_calibrate_probes(all, "rdtsc,bpf", costs) < 0);
	assert_true(watch_calibrate_probe(PLACE_PUSH, "bpf", &one) < 0);
	for (int first = 0; first < PLACE_FIRSTS; first++) {
		assert_int_equal(costs[first].measured.hook_ps + costs[first].measured.untimed_ps +
					 costs[first].measured.extra_ps + costs[first].floor_ps,
				 0);
		assert_true(costs[first].assumed.hook_ps > 0 &&
			    costs[first].assumed.untimed_ps > 0 &&
			    costs[first].assumed.extra_ps > 0);
	}
	assert_int_equal(one.assumed.hook_ps,
			 watch_assumed_probes[WATCH_HOOKED_PAIR][PLACE_PUSH].hook_ps);
}

static void a_task_among_more_names_is_charged_more(void **state)
{
	struct watch_calibrated few, many;

	(void)state;
	assert_int_equal(watch_calibrate_inside(NULL, 1, &few), 0);
	assert_int_equal(watch_calibrate_inside(NULL, 230, &many), 0);
	assert_true(many.of[MAPPING_TASK].measured.extra_ps >
		    2 * few.of[MAPPING_TASK].measured.extra_ps);
	assert_int_equal(watch_calibrate_inside(NULL, UINT32_MAX, &many), 0);
}

static void the_clock_that_is_in_use_is_the_one_that_is_measured(void **state)
{
	struct watch_calibrated ticks, clock;

	(void)state;
	if (mapping_calibrate() == 0) {
		print_message("the kernel does not trust the CPU's counter here\n");
		skip();
	}
	assert_int_equal(watch_calibrate_inside(NULL, 1, &ticks), 0);
	assert_int_equal(watch_calibrate_inside("bpf,rdtsc", 1, &clock), 0);
	assert_true(clock.of[MAPPING_SCOPE].measured.extra_ps * 10 >
		    ticks.of[MAPPING_SCOPE].measured.extra_ps * 12);
}

static void a_body_that_fails_leaves_all_unmeasured(void **state)
{
	struct watch_body_price prices[] = { { WATCH_BODY_PLAIN, 7 }, { WATCH_BODY_FAILS, 7 } };
	struct watch_bodies bodies;

	(void)state;
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_int_equal(watch_bodies_measure(&bodies, prices, 2), -EPIPE);
	assert_int_equal(prices[0].ps + prices[1].ps, 0);
	watch_bodies_close(&bodies);
	watch_bodies_close(&bodies);
	assert_int_equal(watch_bodies_open(&bodies), 0);
	prices[1].body = WATCH_BODY_PROBED + 4 * PLACE_FIRSTS;
	assert_int_equal(watch_bodies_measure(&bodies, prices, 2), -ENOENT);
	assert_int_equal(prices[0].ps + prices[1].ps, 0);
	kill(bodies.pid, SIGKILL);
	prices[1].body = WATCH_BODY_COUNTED;
	assert_int_equal(watch_bodies_measure(&bodies, prices, 2), -EPIPE);
	assert_int_equal(prices[0].ps + prices[1].ps, 0);
	watch_bodies_close(&bodies);
}

static void a_body_that_hangs_is_ended_within_half_a_second_of_cpu(void **state)
{
	struct watch_body_price prices[] = { { WATCH_BODY_PLAIN, 7 }, { WATCH_BODY_HANGS, 7 } };
	struct watch_bodies bodies;

	(void)state;
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_true(watch_bodies_measure(&bodies, prices, 2) < 0);
	assert_int_equal(prices[0].ps + prices[1].ps, 0);
	assert_in_range(watch_bodies_close(&bodies), 100 * NS_PER_MS, 500 * NS_PER_MS);
}

static void measuring_takes_less_than_half_a_second_and_says_how_much(void **state)
{
	struct watch_calibrated seen;

	(void)state;
	assert_int_equal(watch_calibrate_inside(NULL, 200, &seen), 0);
	assert_in_range(seen.of[MAPPING_SCOPE].cpu_ns, NS_PER_MS, 500 * NS_PER_MS);
}

/* In a process of its own, where no file can be made. */
static void where_nothing_can_be_run_the_assumed_costs_are_named(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit none = { .rlim_cur = 3, .rlim_max = 3 };
		struct watch_calibrated seen;
		bool is_right = setrlimit(RLIMIT_NOFILE, &none) == 0 &&
				watch_calibrate_inside(NULL, 1, &seen) == -EMFILE;

		for (int i = 0; i < 3; i++)
			is_right = is_right && seen.of[i].measured.untimed_ps == 0 &&
				   seen.of[i].measured.extra_ps == 0 && seen.of[i].floor_ps == 0 &&
				   memcmp(&seen.of[i].assumed, &watch_assumed_inside[i],
					  sizeof(seen.of[i].assumed)) == 0;
		_exit(is_right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 3; i++)
		assert_true(watch_assumed_inside[i].untimed_ps > 0 &&
			    watch_assumed_inside[i].extra_ps > 0);
}

static volatile sig_atomic_t children_told;

static void count_child(int signal)
{
	(void)signal;
	children_told++;
}

static void we_are_no_host_of_libtare_and_our_callers_children_stay_its_own(void **state)
{
	struct sigaction count = { .sa_handler = count_child }, before;
	struct watch_calibrated seen;

	(void)state;
	sigaction(SIGCHLD, &count, &before);
	assert_int_equal(watch_calibrate_inside(NULL, 1, &seen), 0);
	sigaction(SIGCHLD, &before, NULL);
	assert_int_equal(children_told, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(mapping_find(getpid(), NULL), -ENOENT);
}

static void the_program_of_bodies_ends_with_who_runs_it(void **state)
{
	struct watch_bodies *bodies = mmap(NULL, sizeof(*bodies), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec pause = { .tv_nsec = 5 * NS_PER_MS };
	struct watch_body_told told;
	pid_t pid, body;

	(void)state;
	assert_true(bodies != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		_exit(watch_bodies_open(bodies) == 0 &&
				      watch_bodies_call(bodies, WATCH_BODY_PLAIN, 1, &told) == 0
			      ? 0
			      : 1);
	}
	waitpid(pid, NULL, 0);
	body = bodies->pid;
	munmap(bodies, sizeof(*bodies));
	assert_true(body > 0);
	for (int tries = 0; tries < 400 && kill(body, 0) == 0; tries++)
		nanosleep(&pause, NULL);
	assert_int_equal(kill(body, 0), -1);
}

static void a_floor_is_the_mean_of_all_but_the_slowest_twentieth(void **state)
{
	struct histogram histogram = HISTOGRAM_EMPTY;

	(void)state;
	assert_int_equal(watch_calibrate_floor_ps(&histogram), 0);
	histogram_add(&histogram, bucket_of(10), 50);
	histogram_add(&histogram, bucket_of(20), 45);
	histogram_add(&histogram, bucket_of(1000000), 5);
	assert_int_equal(watch_calibrate_floor_ps(&histogram), (50 * 10000 + 45 * 20000) / 95);
	histogram_free(&histogram);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_charge_agrees_with_an_independent_timing_of_the_same_bodies),
		cmocka_unit_test_setup_teardown(
			a_charge_agrees_beside_a_busy_neighbour_on_the_same_cpu, begin_neighbour,
			end_neighbour),
		cmocka_unit_test(probes_are_charged_what_they_cost),
		cmocka_unit_test(probes_without_sessions_are_charged_what_they_cost),
		cmocka_unit_test_setup_teardown(
			probes_are_charged_what_they_cost_beside_a_busy_neighbour, begin_neighbour,
			end_neighbour),
		cmocka_unit_test(a_call_with_its_hook_is_never_cheaper_than_the_call),
		cmocka_unit_test(probes_that_are_switched_off_are_unmeasured),
		cmocka_unit_test(a_task_among_more_names_is_charged_more),
		cmocka_unit_test(the_clock_that_is_in_use_is_the_one_that_is_measured),
		cmocka_unit_test(a_body_that_fails_leaves_all_unmeasured),
		cmocka_unit_test(a_body_that_hangs_is_ended_within_half_a_second_of_cpu),
		cmocka_unit_test(measuring_takes_less_than_half_a_second_and_says_how_much),
		cmocka_unit_test(where_nothing_can_be_run_the_assumed_costs_are_named),
		cmocka_unit_test(we_are_no_host_of_libtare_and_our_callers_children_stay_its_own),
		cmocka_unit_test(the_program_of_bodies_ends_with_who_runs_it),
		cmocka_unit_test(a_floor_is_the_mean_of_all_but_the_slowest_twentieth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
