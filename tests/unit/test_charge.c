/* test_charge.c - what sampling takes on the job's account, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/charge.h"
#include "core/scoped.h"
#include "core/units.h"

#define MS NS_PER_MS
#define US NS_PER_US

static const struct charge_costs costs = { .tick_ps = 20000000,
					   .still_ps = 400000,
					   .in_ps = 4000000,
					   .out_ps = 8000000,
					   .jiffy_ns = 4 * MS };

static void a_timer_is_next_as_often_as_it_is_due_before_the_jiffy(void **state)
{
	static const struct {
		const char *name;
		uint64_t period_ns, jiffy_ns, want_ppm, lived_ns;
	} cases[] = {
		{ "a period of a jiffy: half of the time", 4 * MS, 4 * MS, 500000 },
		{ "a tenth of a jiffy: 95 in 100", 400 * US, 4 * MS, 950000 },
		{ "ten jiffies: one in twenty", 40 * MS, 4 * MS, 50000 },
		{ "no jiffies: always", 40 * MS, 0, 1000000 },
		{ "no period at all: always", 0, 4 * MS, 1000000 },
		{ "a thread that ends half a period before its timer is due: never", 40 * MS,
		  4 * MS, 0, 20 * MS },
		{ "one that ends two milliseconds before: half of a millisecond in 38", 40 * MS,
		  4 * MS, 13157, 38 * MS },
		{ "one that ends with its timer: as over many periods", 40 * MS, 4 * MS, 50000,
		  40 * MS },
		{ "one and a half periods: as much in half as much again", 40 * MS, 4 * MS, 33333,
		  60 * MS },
		{ "half of a period that is far shorter than a jiffy: nearly always", 400 * US,
		  4 * MS, 925000, 200 * US },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(
			charge_next_ppm(cases[i].period_ns, cases[i].jiffy_ns, cases[i].lived_ns),
			cases[i].want_ppm);
	}
}

static void a_window_is_charged_for_ticks_and_switches(void **state)
{
	static const struct {
		const char *name;
		struct charge_seen seen;
		struct charge want;
	} cases[] = {
		{ "ticks alone", { NS_PER_S, 100, 0, 10 * MS, NS_PER_S }, { 2 * MS, 0, 0 } },
		{ "switches of a job that keeps a CPU busy: to and from",
		  { NS_PER_S, 0, 1000, 4 * MS, NS_PER_S },
		  { 0, 6 * MS, 400 * US } },
		{ "of one that sleeps: what moving away takes falls on nobody",
		  { NS_PER_S, 0, 1000, 4 * MS, 0 },
		  { 0, 2 * MS, 200 * US } },
		{ "of one that runs a quarter of the time",
		  { NS_PER_S, 0, 1000, 4 * MS, NS_PER_S / 4 },
		  { 0, 3 * MS, 250 * US } },
		{ "two busy CPUs are no more than busy",
		  { NS_PER_S, 0, 1000, 4 * MS, 2 * NS_PER_S },
		  { 0, 6 * MS, 400 * US } },
		{ "of one that had a CPU a quarter of the time it asked for one: busy all the same",
		  { NS_PER_S, 0, 1000, 4 * MS, NS_PER_S / 4, NS_PER_S, 3 * NS_PER_S },
		  { 0, 6 * MS, 400 * US } },
		{ "ten times the period: a tenth of what it moves, and the rest stays",
		  { NS_PER_S, 0, 1000, 40 * MS, NS_PER_S },
		  { 0, 600 * US, 400 * US } },
		{ "of threads that end half a period before their timers are due: those never move",
		  { NS_PER_S, 0, 1000, 40 * MS, NS_PER_S, 200 * MS, 0, 10 },
		  { 0, 0, 400 * US } },
		{ "a window of no time",
		  { 0, 100, 1000, 4 * MS, 0 },
		  { 2 * MS, 2 * MS, 200 * US } },
		{ "nothing seen", { NS_PER_S, 0, 0, 4 * MS, NS_PER_S }, { 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct charge got = charge_window(&costs, &cases[i].seen);

		print_message("%s\n", cases[i].name);
		assert_int_equal(got.tick_ns, cases[i].want.tick_ns);
		assert_int_equal(got.switch_ns, cases[i].want.switch_ns);
		assert_int_equal(got.still_ns, cases[i].want.still_ns);
	}
}

static void what_was_not_measured_is_charged_as_nothing(void **state)
{
	const struct charge_costs none = { .jiffy_ns = 4 * MS };
	const struct charge_seen seen = { NS_PER_S, 100, 1000, 4 * MS, NS_PER_S };
	struct charge got = charge_window(&none, &seen);

	(void)state;
	assert_int_equal(got.tick_ns + got.switch_ns + got.still_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_is_next_as_often_as_it_is_due_before_the_jiffy),
		cmocka_unit_test(a_window_is_charged_for_ticks_and_switches),
		cmocka_unit_test(what_was_not_measured_is_charged_as_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
