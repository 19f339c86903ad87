/* test_clock_steps.c - a clock that is set, and a machine that sleeps, leave a mark; nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/clock_steps.h"
#include "core/scoped.h"

#define HOUR_NS (3600 * (int64_t)NS_PER_S)
#define NOON_NS (INT64_C(1700000000) * (int64_t)NS_PER_S)

/* A run of readings a second apart; before second 5 the clock is set and the machine sleeps. */
static struct clock_steps run(int64_t set_ns, uint64_t sleep_ns, int64_t drift_ns)
{
	struct clock_steps s = { .has_last = false };
	struct clock_reading now = { { 77 * NS_PER_S }, { NOON_NS }, 99 * NS_PER_S };

	for (int i = 0; i < 10; i++) {
		if (i == 5) {
			now.wall.ns += set_ns + (int64_t)sleep_ns;
			now.boot_ns += sleep_ns;
		}
		clock_steps_look(&s, &now);
		now.mono.ns += NS_PER_S;
		now.boot_ns += NS_PER_S;
		now.wall.ns += (int64_t)NS_PER_S + drift_ns;
	}
	return s;
}

static void what_is_set_or_slept_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		int64_t set_ns;
		uint64_t sleep_ns;
		uint64_t want_steps;
		int64_t want_ns;
	} cases[] = {
		{ "nothing happens", 0, 0, 0, 0 },
		{ "an hour on", HOUR_NS, 0, 1, HOUR_NS },
		{ "an hour back", -HOUR_NS, 0, 1, -HOUR_NS },
		{ "a sleep of an hour is no step", 0, HOUR_NS, 0, 0 },
		{ "an hour of sleep, and set back by one", -HOUR_NS, HOUR_NS, 1, -HOUR_NS },
		{ "half a second", (int64_t)NS_PER_S / 2, 0, 1, (int64_t)NS_PER_S / 2 },
		{ "less is keeping it right", (int64_t)NS_PER_S / 2 - 1, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct clock_steps s = run(cases[i].set_ns, cases[i].sleep_ns, 0);

		print_message("%s\n", cases[i].name);
		assert_int_equal(s.steps, cases[i].want_steps);
		assert_int_equal(s.largest_ns, cases[i].want_ns);
		assert_int_equal(s.suspended_ns, cases[i].sleep_ns);
		assert_int_equal(s.largest_at_ns, cases[i].want_steps > 0 ? 5 * NS_PER_S : 0);
	}
}

static void a_clock_that_is_slewed_is_not_set(void **state)
{
	(void)state;
	assert_int_equal(run(0, 0, 500000).steps, 0); /* 500 ppm, as fast as NTP does it */
	assert_int_equal(run(0, 0, -500000).steps, 0);
}

static void the_largest_step_stays(void **state)
{
	struct clock_steps s = { .has_last = false };
	struct clock_reading now = { { 1 }, { NOON_NS }, 0 };
	static const int64_t sets_ns[] = { 0, 2 * HOUR_NS, -3 * HOUR_NS, HOUR_NS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sets_ns); i++) {
		now.wall.ns += sets_ns[i];
		clock_steps_look(&s, &now);
		now.mono.ns += NS_PER_S;
		now.wall.ns += (int64_t)NS_PER_S;
	}
	assert_int_equal(s.steps, 3);
	assert_int_equal(s.largest_ns, -3 * HOUR_NS);
	assert_int_equal(s.largest_at_ns, 2 * NS_PER_S);
	assert_int_equal(s.suspended_ns, 0); /* that clock is not known */
}

static void absurd_clocks_overflow_nothing(void **state)
{
	struct clock_steps s = { .has_last = false };
	struct clock_reading ends[] = { { { 0 }, { INT64_MIN }, UINT64_MAX },
					{ { UINT64_MAX / 4 }, { INT64_MAX }, 1 },
					{ { 5 }, { INT64_MIN }, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		clock_steps_look(&s, &ends[i]);
	assert_int_equal(s.steps, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_or_slept_is_told_apart),
		cmocka_unit_test(a_clock_that_is_slewed_is_not_set),
		cmocka_unit_test(the_largest_step_stays),
		cmocka_unit_test(absurd_clocks_overflow_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
