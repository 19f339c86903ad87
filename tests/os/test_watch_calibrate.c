/* test_watch_calibrate.c - what watching is said to cost is what it costs: beside an independent timing of the same bodies, with
 * and without a busy neighbour; and what cannot be measured is said to be unmeasured. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "calibrate_stage.h"
#include "sense/mapping.h"

#define TRIES 3

struct pairs {
	struct pair plain, counted, timed, task, frame;
};

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

static void a_charge_agrees_beside_a_busy_neighbour_on_the_same_cpu(void **state)
{
	(void)state;
	compare_inside();
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

/* A moment when nothing else ran on the core does not tell for all, nor does a round that was interrupted. */
static void most_rounds_tell_and_neither_the_fastest_nor_the_slowest(void **state)
{
	static const struct {
		const char *name;
		uint32_t count;
		uint64_t ps[12], middle_ps;
	} cases[] = {
		{ "none", 0, { 0 }, 0 },
		{ "one", 1, { 7 }, 7 },
		{ "three: all", 3, { 9, 1, 2 }, 4 },
		{ "four: not the outermost", 4, { 900, 4, 6, 1 }, 5 },
		{ "half of them in a slow time: the mean", 8, { 5, 7, 5, 7, 5, 7, 5, 7 }, 6 },
		{ "twelve: a tenth at each end", 12, { 9, 9, 9, 9, 9, 0, 3, 3, 3, 3, 3, 99 }, 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ps[12];

		print_message("%s\n", cases[i].name);
		memcpy(ps, cases[i].ps, sizeof(ps));
		assert_int_equal(watch_bodies_middle(ps, cases[i].count), cases[i].middle_ps);
	}
}

/* Its limit of CPU time is one round's, not all rounds'. */
static void a_program_that_runs_on_is_not_ended_by_what_it_took_before(void **state)
{
	struct watch_bodies bodies;
	uint64_t ps = 0;

	(void)state;
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_int_equal(watch_bodies_round(&bodies, WATCH_BODY_PLAIN, 0, &ps), -EINVAL);
	for (int i = 0; i < 200 && bodies.cpu_ns < 600 * NS_PER_MS; i++) {
		int status = watch_bodies_round(&bodies, WATCH_BODY_PLAIN, 2000000, &ps);

		assert_true(status == 0 || status == -ETIMEDOUT);
	}
	assert_true(bodies.cpu_ns >= 600 * NS_PER_MS);
	assert_true(ps > 0);
	kill(bodies.pid, SIGKILL);
	assert_int_equal(watch_bodies_round(&bodies, WATCH_BODY_PLAIN, 1, &ps), -EPIPE);
	watch_bodies_close(&bodies);
}

static void a_body_that_hangs_is_ended_within_half_a_second_of_cpu(void **state)
{
	struct watch_body_price prices[] = { { WATCH_BODY_PLAIN, 7 }, { WATCH_BODY_HANGS, 7 } };
	struct watch_body_told told;
	struct watch_bodies bodies;

	(void)state;
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_true(watch_bodies_measure(&bodies, prices, 2) < 0);
	assert_int_equal(prices[0].ps + prices[1].ps, 0);
	/* On a busy machine our patience ends first. */
	for (int tries = 0; tries < 30; tries++)
		if (watch_bodies_call(&bodies, WATCH_BODY_PLAIN, 1, &told) == -EPIPE)
			break;
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
		cmocka_unit_test(a_task_among_more_names_is_charged_more),
		cmocka_unit_test(the_clock_that_is_in_use_is_the_one_that_is_measured),
		cmocka_unit_test(a_body_that_fails_leaves_all_unmeasured),
		cmocka_unit_test(most_rounds_tell_and_neither_the_fastest_nor_the_slowest),
		cmocka_unit_test(a_program_that_runs_on_is_not_ended_by_what_it_took_before),
		cmocka_unit_test(a_body_that_hangs_is_ended_within_half_a_second_of_cpu),
		cmocka_unit_test(measuring_takes_less_than_half_a_second_and_says_how_much),
		cmocka_unit_test(where_nothing_can_be_run_the_assumed_costs_are_named),
		cmocka_unit_test(we_are_no_host_of_libtare_and_our_callers_children_stay_its_own),
		cmocka_unit_test(the_program_of_bodies_ends_with_who_runs_it),
		cmocka_unit_test(a_floor_is_the_mean_of_all_but_the_slowest_twentieth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
