/* calibrate_stage.h - what the tests of calibration share: an independent timing of the program of bodies, and a busy neighbour.
 * Include after cmocka.h. */
#ifndef TARE_TESTS_CALIBRATE_STAGE_H
#define TARE_TESTS_CALIBRATE_STAGE_H

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/pace.h"
#include "core/units.h"
#include "sense/watch_bodies.h"
#include "sense/watch_calibrate.h"

#define TIMINGS 10
#define RUN_NS	(NS_PER_MS / 2)

/* ps a call of a body in runs of half a millisecond: the fastest of ten. */
static inline double time_body(struct watch_bodies *bodies, uint32_t body)
{
	struct watch_body_told told;
	uint32_t calls = 8;
	double fastest_ps = 0;

	/* Of three runs the fastest: one that was interrupted is longer than its calls. */
	for (uint64_t run_ns = 0; run_ns < RUN_NS;) {
		calls *= 2;
		run_ns = UINT64_MAX;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(watch_bodies_call(bodies, body, calls, &told), 0);
			run_ns = told.ns < run_ns ? told.ns : run_ns;
		}
	}
	for (int i = 0; i < TIMINGS; i++) {
		double ps;

		assert_int_equal(watch_bodies_call(bodies, body, calls, &told), 0);
		ps = (double)told.ns * 1000 / calls;
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

static inline void lower(struct pair *pair, double charged, double truth)
{
	if (pair->truth == 0 || truth < pair->truth)
		pair->truth = truth;
	if (pair->charged == 0 || charged < pair->charged)
		pair->charged = charged;
}

/* What the watch takes of it. */
static inline struct pair beside(struct pair pair, struct pair plain)
{
	pair.truth -= plain.truth;
	return pair;
}

/* ps that a call is charged, when one in `interval` is timed. */
static inline double charge_of(const struct watch_costs *costs, uint64_t interval)
{
	struct pace_costs in_force = pace_costs_in_force(&costs->measured, &costs->assumed);

	return (double)pace_charge_ps(&in_force, interval, 1) / (double)interval;
}

/* Between a half and twice; a nanosecond is allowed for, which is what the place of code and stack makes. */
static inline void assert_agrees(const char *what, struct pair pair)
{
	print_message("%s: charged %.1f ns, in truth %.1f ns\n", what, pair.charged / 1000,
		      pair.truth / 1000);
	assert_true(pair.charged >= pair.truth / 2 - 1000);
	assert_true(pair.charged <= pair.truth * 2 + 1000);
}

static cpu_set_t all_cpus;
static pid_t neighbour;

/* Puts us on one CPU with a neighbour that never rests. */
static inline int begin_neighbour(void **state)
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

static inline int end_neighbour(void **state)
{
	(void)state;
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	return sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

#endif
