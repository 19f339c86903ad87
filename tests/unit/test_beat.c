/* test_beat.c - places in the cycle, numbers of cycles over steps of the clock, and times between visits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/beat.h"
#include "core/rng.h"
#include "core/scoped.h"

#define CYCLE_NS (60 * NS_PER_S)
#define T0	 (INT64_C(1790000000) * (int64_t)NS_PER_S)

/* The most seats whose places lie within a hundredth of the cycle. `apart`: seats are 0, apart, 2 * apart ... */
static unsigned busiest_hundredth(unsigned count, unsigned apart)
{
	unsigned counts[100] = { 0 }, most = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned at = (unsigned)(beat_offset_ns(i * apart, CYCLE_NS) * 100 / CYCLE_NS);

		assert_true(at < 100);
		if (++counts[at] > most)
			most = counts[at];
	}
	return most;
}

static void a_cold_start_is_spread_over_the_cycle(void **state)
{
	static const unsigned counts[] = { 42, 100, 250, 1000, 5000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		assert_in_range(busiest_hundredth(counts[i], 1), (counts[i] + 99) / 100,
				counts[i] / 100 + 3);
}

static void the_captures_of_one_slot_are_spread_over_it_too(void **state)
{
	/* N from 2 to 12: no hundredth of the cycle has more than three times its share, and four. */
	(void)state;
	for (unsigned n = 2; n <= 12; n++)
		assert_in_range(busiest_hundredth(1000 / n, n), 1, 1000 / n / 100 * 3 + 4);
}

static void a_place_is_a_part_of_any_cycle(void **state)
{
	(void)state;
	for (uint32_t seat = 0; seat < 1000; seat++) {
		assert_true(beat_offset_ns(seat, CYCLE_NS) < CYCLE_NS);
		assert_in_range(beat_offset_ns(seat, CYCLE_NS),
				6 * beat_offset_ns(seat, CYCLE_NS / 6),
				6 * beat_offset_ns(seat, CYCLE_NS / 6) + 6);
	}
}

static void a_visit_is_due_once_a_cycle_at_its_place(void **state)
{
	struct beat b = { CYCLE_NS, 20 * NS_PER_S, BEAT_NONE };
	struct wall now = { T0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t cycle;

		now.ns += (int64_t)beat_wait_ns(&b, now);
		assert_int_equal(now.ns % (int64_t)CYCLE_NS, 20 * NS_PER_S);
		now.ns += (i % 7) * (int64_t)NS_PER_MS; /* woken a little late */
		cycle = beat_take(&b, now);
		assert_int_equal(cycle, now.ns / (int64_t)CYCLE_NS);
		assert_true(beat_at(&b, cycle).ns <= now.ns);
	}
}

static void a_start_before_its_place_is_visited_in_the_same_cycle(void **state)
{
	struct beat b = { CYCLE_NS, 20 * NS_PER_S, BEAT_NONE };
	int64_t begin_ns = T0 - T0 % (int64_t)CYCLE_NS;

	(void)state;
	assert_int_equal(beat_wait_ns(&b, (struct wall){ begin_ns + 5 * (int64_t)NS_PER_S }),
			 15 * NS_PER_S);
	assert_int_equal(beat_wait_ns(&b, (struct wall){ begin_ns + 25 * (int64_t)NS_PER_S }),
			 55 * NS_PER_S);
}

static void a_visit_woken_early_is_of_the_cycle_that_it_was_due_in(void **state)
{
	struct beat b = { CYCLE_NS, 20 * NS_PER_S, T0 / (int64_t)CYCLE_NS };
	struct wall due = beat_at(&b, b.cycle + 1);

	(void)state;
	assert_int_equal(beat_take(&b, (struct wall){ due.ns - 1000 }), T0 / (int64_t)CYCLE_NS + 1);
	assert_in_range(beat_wait_ns(&b, (struct wall){ due.ns - 1000 }), CYCLE_NS,
			CYCLE_NS + 1000);
}

static void a_restart_within_a_cycle_does_not_visit_twice_in_it(void **state)
{
	struct beat before = { CYCLE_NS, 20 * NS_PER_S, BEAT_NONE };
	struct wall now = { T0 - T0 % (int64_t)CYCLE_NS + 21 * (int64_t)NS_PER_S };
	int64_t cycle = beat_take(&before, now);

	(void)state;
	for (int64_t later = 0; later < 59; later++) {
		struct beat after = { CYCLE_NS, 20 * NS_PER_S, BEAT_NONE };
		struct wall back = { now.ns + later * (int64_t)NS_PER_S };

		back.ns += (int64_t)beat_wait_ns(&after, back);
		assert_true(beat_take(&after, back) > cycle);
	}
}

static void steps_of_the_clock_stop_no_visits_and_repeat_no_cycle(void **state)
{
	static const int64_t steps_s[] = { 3600, -3600, 30, -30, 90, -90, 86400, -86400, 59, -59 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps_s); i++) {
		struct beat b = { CYCLE_NS, 20 * NS_PER_S, BEAT_NONE };
		struct wall now = { T0 };
		int64_t last = BEAT_NONE;
		uint64_t mono_ns = 0, at_ns[100];

		print_message("%lld s\n", (long long)steps_s[i]);
		for (int visit = 0; visit < 100; visit++) {
			uint64_t wait_ns = beat_wait_ns(&b, now);
			int64_t cycle;

			assert_in_range(wait_ns, 1, CYCLE_NS * 3 / 2);
			now.ns += (int64_t)wait_ns;
			cycle = beat_take(&b, now);
			assert_true(cycle > last);
			last = cycle;
			at_ns[visit] = mono_ns += wait_ns;
			if (visit == 50)
				now.ns += steps_s[i] * (int64_t)NS_PER_S;
		}
		/* One wait is another; before and after it there is one visit a cycle. */
		assert_int_equal(at_ns[50] - at_ns[0], 50 * CYCLE_NS);
		assert_int_equal(at_ns[99] - at_ns[52], 47 * CYCLE_NS);
	}
}

static void times_between_visits_are_told_within_two_percent(void **state)
{
	static const uint64_t ms[] = { 1, 10, 1000, 10000, 60000, 113000, 600000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ms); i++) {
		struct spacing s = { .counts = { { 0 } } };
		uint64_t ns = ms[i] * NS_PER_MS;

		for (int n = 0; n < 100; n++)
			spacing_add(&s, (struct mono){ NS_PER_S }, ns);
		assert_in_range(spacing_ns(&s, (struct mono){ NS_PER_S }, 95), ns, ns + ns / 49);
	}
}

static void the_percentile_is_the_rank(void **state)
{
	struct spacing s = { .counts = { { 0 } } };
	struct mono now = { 5 * NS_PER_S };

	(void)state;
	assert_int_equal(spacing_ns(&s, now, 95), 0);
	for (int n = 0; n < 95; n++)
		spacing_add(&s, now, 60 * NS_PER_S);
	for (int n = 0; n < 5; n++)
		spacing_add(&s, now, 120 * NS_PER_S);
	assert_in_range(spacing_ns(&s, now, 95), 60 * NS_PER_S, 62 * NS_PER_S);
	spacing_add(&s, now, 120 * NS_PER_S);
	assert_in_range(spacing_ns(&s, now, 95), 120 * NS_PER_S, 123 * NS_PER_S);
	spacing_add(&s, now, UINT64_MAX);
	assert_true(spacing_ns(&s, now, 100) > 1000 * NS_PER_S);
}

static void after_ten_minutes_they_are_forgotten(void **state)
{
	struct spacing s = { .counts = { { 0 } } };

	(void)state;
	spacing_add(&s, (struct mono){ 30 * NS_PER_S }, NS_PER_S);
	spacing_add(&s, (struct mono){ 90 * NS_PER_S }, 2 * NS_PER_S);
	assert_in_range(spacing_ns(&s, (struct mono){ 599 * NS_PER_S }, 50), NS_PER_S,
			1030 * NS_PER_MS);
	assert_in_range(spacing_ns(&s, (struct mono){ 601 * NS_PER_S }, 50), 2 * NS_PER_S,
			2060 * NS_PER_MS);
	assert_int_equal(spacing_ns(&s, (struct mono){ 700 * NS_PER_S }, 50), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_start_is_spread_over_the_cycle),
		cmocka_unit_test(the_captures_of_one_slot_are_spread_over_it_too),
		cmocka_unit_test(a_place_is_a_part_of_any_cycle),
		cmocka_unit_test(a_visit_is_due_once_a_cycle_at_its_place),
		cmocka_unit_test(a_start_before_its_place_is_visited_in_the_same_cycle),
		cmocka_unit_test(a_visit_woken_early_is_of_the_cycle_that_it_was_due_in),
		cmocka_unit_test(a_restart_within_a_cycle_does_not_visit_twice_in_it),
		cmocka_unit_test(steps_of_the_clock_stop_no_visits_and_repeat_no_cycle),
		cmocka_unit_test(times_between_visits_are_told_within_two_percent),
		cmocka_unit_test(the_percentile_is_the_rank),
		cmocka_unit_test(after_ten_minutes_they_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
