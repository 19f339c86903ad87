/* test_watch_measure.c - what calls cost is measured on while they are watched; and the last reading of a source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watch_fake.h"

/* What a trap costs changes with what else runs on the core. */
static void costs_are_measured_on_for_a_part_of_the_price_and_charge_the_window(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *a;

	(void)state;
	a = put(&t.probes, "a", &nop5, 1000);
	put(&t.inside, "scope", &scope, 1000);
	t.probes.measure_ns = 400 * NS_PER_US;
	begin(&t, true);
	start(&t, &t.probes);
	start(&t, &t.inside);
	a->costs.hook_ps = 700000;
	window(&t);
	assert_true(row_of(&t, "a")->charged_ps >= 9990 * (uint64_t)(700000 + nop5.untimed_ps));
	assert_int_equal(row_of(&t, "a")->hook_ps, nop5.hook_ps);
	for (int i = 0; i < 9; i++)
		window(&t);
	assert_true(t.probes.measures > 20);
	/* A fortieth of 1 % of the 100 s, and the first ones. */
	assert_true(t.probes.child_cpu_ns <= 25 * NS_PER_MS + 3 * t.probes.measure_ns);
	assert_int_equal(t.sources.measured_cpu_ns, t.probes.child_cpu_ns);
	assert_int_equal(t.inside.points[0].calibrations, 0); /* would start a child each time */
}

static void a_dear_price_does_not_buy_more_measuring_than_a_window_needs(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.probes, "a", &nop5, 10);
	t.probes.measure_ns = 1;
	begin(&t, true);
	start(&t, &t.probes);
	for (int i = 0; i < 150; i++) {
		pass(&t, NS_PER_MS);
		watch_sources_look(&t.sources);
	}
	assert_in_range(t.probes.measures, 1, 2);
	for (int i = 0; i < 10; i++)
		window(&t);
	assert_in_range(t.probes.measures, 200, 520);
}

/* A name that came and a call that was made just before the end are in the last reading. */
static void what_a_process_did_until_its_end_is_in_the_last_window(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.inside, "early", &scope, 1000);
	begin(&t, true);
	start(&t, &t.inside);
	window(&t);
	put(&t.inside, "late", &scope, 0)->ended_calls = 0;
	t.inside.points[1].calls = 5;
	t.inside.is_over = true;
	assert_int_equal(watch_sources_turn(&t.sources, t.price_ppm, true, &t.turned), 0);
	assert_true(t.inside.is_last);
	assert_true(t.inside.is_closed);
	assert_non_null(row_of(&t, "late"));
	assert_true(t.turned.calls >= 5);
}

/* It ends between the reading and the next look at it: what it did in between is not lost. */
static void a_source_is_closed_only_after_a_reading_of_all_it_did(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.inside, "a", &scope, 1000);
	begin(&t, true);
	start(&t, &t.inside);
	t.inside.ends_at_turn = true;
	window(&t);
	assert_true(t.inside.is_over);
	assert_false(t.inside.is_closed);
	window(&t);
	assert_true(t.inside.is_closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			costs_are_measured_on_for_a_part_of_the_price_and_charge_the_window),
		cmocka_unit_test(a_dear_price_does_not_buy_more_measuring_than_a_window_needs),
		cmocka_unit_test(what_a_process_did_until_its_end_is_in_the_last_window),
		cmocka_unit_test(a_source_is_closed_only_after_a_reading_of_all_it_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
