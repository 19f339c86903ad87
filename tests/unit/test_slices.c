/* test_slices.c - slices of what is too hot to be counted all the time: planned, cut, and paid for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/gap.h"
#include "core/scoped.h"
#include "core/slices.h"
#include "core/units.h"

#define WINDOW_NS (10 * NS_PER_S)
#define DETACH_NS (90 * NS_PER_MS)
#define MS_PS	  (NS_PER_MS * PS_PER_NS)

static void a_slice_is_a_second_or_more_and_its_period_pays_for_it(void **state)
{
	static const struct {
		const char *name;
		uint64_t load_ms, slice_ms, attached_ms, period_ms;
	} cases[] = {
		{ "a full CPU at 0.55 %: 1.09 s in 198 s", 10000, 55, 1000, 198182 },
		{ "ten CPUs", 100000, 55, 1000, 1981818 },
		{ "twice too loud: half of a window less the detach", 110, 55, 4910, 10000 },
		{ "just too loud", 56, 55, 9731, 10000 },
		{ "ten times too loud: a tenth would be under a second", 550, 55, 1000, 10900 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct slices_need need = { cases[i].load_ms * MS_PS, cases[i].slice_ms * MS_PS,
					    WINDOW_NS, DETACH_NS };
		struct slices_plan plan = slices_plan_next(&need);

		print_message("%s\n", cases[i].name);
		assert_true(plan.is_possible && !plan.is_always);
		assert_int_equal(plan.attached_ns / NS_PER_MS, cases[i].attached_ms);
		assert_int_equal((plan.period_ns + NS_PER_MS / 2) / NS_PER_MS, cases[i].period_ms);
		/* What the slice and its detach spend at this load is what the period allows. */
		assert_true((double)(plan.attached_ns + DETACH_NS) * (double)need.load_ps /
				    (double)WINDOW_NS <=
			    (double)plan.allowed_ps * 1.000001);
	}
}

static void a_load_inside_what_it_may_take_needs_no_slices(void **state)
{
	struct slices_need need = { 55 * MS_PS, 55 * MS_PS, WINDOW_NS, DETACH_NS };

	(void)state;
	assert_true(slices_plan_next(&need).is_always);
	need.load_ps++;
	assert_false(slices_plan_next(&need).is_always);
}

static void nothing_to_spend_allows_no_slice(void **state)
{
	struct slices_need need = { 55 * MS_PS, 0, WINDOW_NS, DETACH_NS };

	(void)state;
	assert_false(slices_plan_next(&need).is_possible);
}

static void a_slice_is_cut_when_its_time_or_its_price_is_over_detach_included(void **state)
{
	/* 1 s planned, 100 ms allowed. The last look was 100 ms ago. */
	static const struct slices_plan plan = { .attached_ns = NS_PER_S,
						 .period_ns = WINDOW_NS,
						 .allowed_ps = 100 * MS_PS };
	static const struct {
		const char *name;
		uint64_t attached_ms, spent_ms, since_ms;
		bool want;
	} cases[] = {
		{ "quiet, and its time not over", 999, 50, 1, false },
		{ "its time is over", 1000, 50, 1, true },
		{ "10 ms in the last 100: the detach adds 9, 99 in all", 500, 90, 10, false },
		{ "91 and 9 are what is allowed", 500, 91, 10, true },
		{ "a burst: 60 ms in 100, the detach would add 54", 500, 46, 60, true },
		{ "just inside", 500, 45, 60, false },
		{ "nothing since the last look", 500, 99, 0, false },
		{ "all spent", 500, 100, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(slices_is_cut(&plan, cases[i].attached_ms * NS_PER_MS,
					       cases[i].spent_ms * MS_PS, cases[i].since_ms * MS_PS,
					       100 * NS_PER_MS, DETACH_NS),
				 cases[i].want);
	}
	assert_false(slices_is_cut(&plan, 0, 0, 0, 0, DETACH_NS)); /* not yet looked at */
}

static void a_slice_that_spent_more_is_followed_by_a_longer_rest(void **state)
{
	struct slices_need need = { 550 * MS_PS, 50 * MS_PS, WINDOW_NS, DETACH_NS };
	struct slices_plan plan = slices_plan_next(&need);

	(void)state;
	assert_int_equal(slices_rest_ns(&plan, &need, NS_PER_S, plan.allowed_ps),
			 plan.period_ns - NS_PER_S);
	assert_int_equal(slices_rest_ns(&plan, &need, NS_PER_S / 2, 1),
			 plan.period_ns - NS_PER_S / 2);
	assert_int_equal(
		slices_rest_ns(&plan, &need, NS_PER_S, 4 * 50 * MS_PS), /* four windows' worth */
		4 * WINDOW_NS - NS_PER_S);
}

/* A function whose load changes at random between a twentieth and twenty times, looked at every 50 ms. */
static void over_many_slices_the_price_is_held_whatever_the_load_does(void **state)
{
	struct slices_need need = { 10000 * MS_PS, 55 * MS_PS, WINDOW_NS, DETACH_NS };
	uint64_t random = 1, look_ns = 50 * NS_PER_MS;
	double spent_ps = 0, time_ns = 0;

	(void)state;
	for (int slice = 0; slice < 2000; slice++) {
		struct slices_plan plan = slices_plan_next(&need);
		uint64_t times = 1 + gap_random(&random) % 400; /* twentieths of a CPU */
		uint64_t rate_ps = times * PS_PER_NS / 20, attached_ns = 0, slice_ps = 0;
		uint64_t look_ps = rate_ps * look_ns;

		if (plan.is_always) {
			plan.attached_ns = plan.period_ns = WINDOW_NS;
			plan.allowed_ps = need.slice_ps;
		}
		while (!slices_is_cut(&plan, attached_ns, slice_ps, slice_ps > 0 ? look_ps : 0,
				      look_ns, DETACH_NS)) {
			attached_ns += look_ns;
			slice_ps += look_ps;
		}
		attached_ns += DETACH_NS;
		slice_ps += rate_ps * DETACH_NS;
		spent_ps += (double)slice_ps;
		time_ns += (double)attached_ns;
		time_ns += (double)slices_rest_ns(&plan, &need, attached_ns, slice_ps);
		need.load_ps = rate_ps * WINDOW_NS;
	}
	assert_true(spent_ps / time_ns <= 1.0001 * (double)need.slice_ps / (double)WINDOW_NS);
	assert_true(spent_ps / time_ns >= 0.3 * (double)need.slice_ps / (double)WINDOW_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slice_is_a_second_or_more_and_its_period_pays_for_it),
		cmocka_unit_test(a_load_inside_what_it_may_take_needs_no_slices),
		cmocka_unit_test(nothing_to_spend_allows_no_slice),
		cmocka_unit_test(a_slice_is_cut_when_its_time_or_its_price_is_over_detach_included),
		cmocka_unit_test(a_slice_that_spent_more_is_followed_by_a_longer_rest),
		cmocka_unit_test(over_many_slices_the_price_is_held_whatever_the_load_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
