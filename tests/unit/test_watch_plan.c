/* test_watch_plan.c - what is too hot is detached in time, watched in slices, and counted for what it was covered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_plan.h"

#define WINDOW_NS (10 * NS_PER_S)
#define PRICE_PPM 10000u
#define PRICE_PS  units_ppm_of(WINDOW_NS *PS_PER_NS, PRICE_PPM)
#define ATTACH_NS (12 * NS_PER_MS)
#define DETACH_NS (60 * NS_PER_MS)
#define MOST	  8u

/* Functions that are called at steady rates, and what is attached to them. */
struct sim {
	struct watch_plan plan;
	struct pace_limits limits;
	struct pace_watch watches[MOST];
	double rate[MOST];
	double calls[MOST], timed[MOST]; /* of this window */
	bool is_on[MOST];
	size_t count;
	uint64_t now_ns, spent_ps, detaches, attaches;
	uint64_t longest_ns; /* between two looks while anything is attached */
	bool may_slice;
};

static const struct pace_costs nop5 = { 126000, 820000, 450000 };
static const struct pace_costs trap = { 115000, 1000000, 5400000 };
static const struct pace_costs inside = { 400, 25000, 0 };

static void sim_add(struct sim *s, const struct pace_costs *costs, double rate, bool can_detach)
{
	size_t i = s->count++;

	if (i == 0) {
		s->now_ns = 100 * NS_PER_S;
		s->limits = (struct pace_limits){ PRICE_PPM, 8, 4096 };
		watch_plan_init(&s->plan, WINDOW_NS, PRICE_PPM, s->now_ns);
	}
	s->watches[i] = (struct pace_watch){ .costs = *costs };
	s->rate[i] = rate;
	s->is_on[i] = true;
	assert_int_equal(watch_plan_add(&s->plan, costs, can_detach), 0);
	watch_plan_started(&s->plan, i, s->now_ns);
	pace_start(&s->limits, WINDOW_NS, s->watches, s->count);
}

/* Time passes; what is attached counts, and times no more than its share. */
static void pass(struct sim *s, uint64_t ns)
{
	for (size_t i = 0; i < s->count; i++) {
		double calls = s->is_on[i] ? s->rate[i] * (double)ns / 1e9 : 0;
		double most = (double)pace_share_timed(&s->watches[i]);
		double timed = calls / s->watches[i].interval;

		if (s->timed[i] + timed > most)
			timed = most > s->timed[i] ? most - s->timed[i] : 0;
		s->calls[i] += calls;
		s->timed[i] += timed;
	}
	s->now_ns += ns;
}

static uint64_t charged(const struct sim *s, size_t i)
{
	return pace_charge_ps(&s->watches[i].costs, (uint64_t)s->calls[i], (uint64_t)s->timed[i]);
}

static void change(struct sim *s, size_t i, bool is_on)
{
	struct watch_plan_change change = { .is_attached = is_on,
					    .began_ns = s->now_ns,
					    .calls_before = (uint64_t)s->calls[i] };

	if (is_on) {
		pass(s, ATTACH_NS / 2);
		s->is_on[i] = true;
		pass(s, ATTACH_NS / 2);
		s->attaches++;
	} else {
		pass(s, DETACH_NS / 2);
		s->is_on[i] = false;
		pass(s, DETACH_NS / 2);
		s->detaches++;
	}
	change.ended_ns = s->now_ns;
	change.calls = (uint64_t)s->calls[i];
	change.timed = (uint64_t)s->timed[i];
	watch_plan_changed(&s->plan, i, &change);
}

static void look(struct sim *s)
{
	enum watch_plan_act act;
	size_t at = 0;

	for (size_t i = 0; i < s->count; i++)
		watch_plan_look(&s->plan, i, s->now_ns, (uint64_t)s->calls[i],
				(uint64_t)s->timed[i]);
	for (int i = 0; i < 20; i++) {
		act = watch_plan_due(&s->plan, s->now_ns, &at);
		if (act == WATCH_PLAN_NOTHING)
			return;
		change(s, at, act == WATCH_PLAN_ATTACH);
	}
	fail_msg("the plan never has enough");
}

/* One window up to its end; returns what it spent. */
static uint64_t window(struct sim *s)
{
	struct pace_seen seen[MOST];
	uint64_t spent_ps = 0, end_ns = s->plan.window_start_ns + WINDOW_NS;

	while (s->now_ns < end_ns) {
		uint64_t wakes_ns = watch_plan_wakes_ns(&s->plan, s->now_ns);

		assert_true(wakes_ns <= end_ns);
		if (wakes_ns - s->now_ns > s->longest_ns && wakes_ns > s->now_ns)
			s->longest_ns = wakes_ns - s->now_ns;
		pass(s, wakes_ns > s->now_ns ? wakes_ns - s->now_ns : 1);
		look(s);
	}
	for (size_t i = 0; i < s->count; i++) {
		spent_ps += charged(s, i);
		seen[i] = (struct pace_seen){ (uint64_t)s->calls[i], (uint64_t)s->timed[i],
					      watch_plan_covered_ns(&s->plan, i, s->now_ns) };
	}
	pace_next_window(&s->limits, s->now_ns - s->plan.window_start_ns, s->watches, seen,
			 s->count, s->may_slice);
	for (size_t i = 0; i < s->count; i++) {
		watch_plan_follow(&s->plan, i, &s->watches[i], s->now_ns);
		s->calls[i] = s->timed[i] = 0;
	}
	watch_plan_turn(&s->plan, PRICE_PPM, s->now_ns);
	s->spent_ps += spent_ps;
	return spent_ps;
}

static void sim_free(struct sim *s)
{
	watch_plan_free(&s->plan);
}

static void one_that_is_far_over_the_price_is_detached_in_its_first_window(void **state)
{
	static const struct {
		const char *name;
		double rate;
		const struct pace_costs *costs;
	} cases[] = {
		{ "a full CPU of traps", 180000, &trap },
		{ "a full CPU of nop5", 1700000, &nop5 },
		{ "ten times the price", 18000, &trap },
		{ "three times the price", 5400, &trap },
		{ "a third over the price", 19500, &nop5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(sim_free) struct sim s = { .may_slice = true };

		print_message("%s\n", cases[i].name);
		sim_add(&s, cases[i].costs, cases[i].rate, true);
		assert_true(window(&s) <= PRICE_PS * 2);
		assert_true(s.spent_ps >= PRICE_PS * 4 / 10);
		assert_int_equal(s.detaches, 1);
	}
}

static void one_inside_the_price_is_left_alone(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &nop5, 9000, true);
	sim_add(&s, &nop5, 0, true);
	for (int i = 0; i < 20; i++)
		window(&s);
	assert_int_equal(s.detaches, 0);
	assert_true(s.spent_ps <= 20 * PRICE_PS);
	assert_int_equal(s.longest_ns, WATCH_PLAN_LOOK_NS);
}

static void what_spends_the_price_at_the_very_end_of_a_window_is_let_go_on(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &nop5, 15200, true);
	assert_in_range(window(&s), PRICE_PS * 101 / 100, PRICE_PS * 108 / 100);
	assert_int_equal(s.detaches, 0);
}

/* Timing every call takes the price early in the first window; counting them would not. */
static void what_can_be_counted_within_the_price_loses_no_call(void **state)
{
	static const double rates[] = { 6750, 10125, 15188 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		SCOPED(sim_free) struct sim s = { .may_slice = true };

		sim_add(&s, &nop5, rates[i], true);
		s.limits.given = 1;
		pace_start(&s.limits, WINDOW_NS, s.watches, s.count);
		assert_true(window(&s) <= 2 * PRICE_PS);
		print_message("%.0f a second: spent %.2f of the price\n", rates[i],
			      (double)s.spent_ps / PRICE_PS);
		assert_int_equal(s.detaches, 0);
		for (int w = 0; w < 5; w++)
			assert_true(window(&s) <= PRICE_PS * 108 / 100);
		assert_int_equal(s.detaches, 0);
	}
}

static void all_together_stay_under_twice_the_price_in_their_first_window(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	for (int i = 0; i < 4; i++)
		sim_add(&s, &nop5, 9000, true); /* each alone is inside */
	assert_true(window(&s) <= 2 * PRICE_PS);
	print_message("%u detached, spent %.2f\n", (unsigned)s.detaches,
		      (double)s.spent_ps / PRICE_PS);
	assert_true(s.detaches > 0 && s.detaches < 4);
}

static void a_burst_is_cut_in_the_window_that_it_comes_in(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &trap, 10, true);
	for (int i = 0; i < 3; i++)
		window(&s);
	s.rate[0] = 180000;
	assert_true(window(&s) <=
		    3 * PRICE_PS); /* looks are 250 ms apart while it is quiet: 2.5 x the price */
	assert_int_equal(s.detaches, 1);
}

static void slices_of_a_second_or_more_keep_the_price_over_time(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };
	uint64_t slices, windows = 200;

	(void)state;
	sim_add(&s, &trap, 180000, true);
	window(&s);
	s.spent_ps = 0;
	slices = s.attaches;
	for (uint64_t i = 0; i < windows; i++)
		window(&s);
	slices = s.attaches - slices;
	print_message("%u slices, spent %.3f of the price\n", (unsigned)slices,
		      (double)s.spent_ps / (double)(windows * PRICE_PS));
	assert_true(slices >= 8);
	assert_true(s.spent_ps <= windows * PRICE_PS);
	/* A second of a full CPU each, detach included. */
	assert_true(s.spent_ps >= slices * NS_PER_S * 8 / 10 * PS_PER_NS);
}

static void what_the_window_before_slices_spent_is_paid_for(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &nop5, 35000, true); /* counting alone takes twice the price */
	for (int i = 0; i < 4; i++)
		window(&s);
	assert_true(s.watches[0].is_sliced);
	assert_true(s.spent_ps <= 4 * PRICE_PS);
}

static void slices_leave_the_others_attached(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &trap, 180000, true);
	sim_add(&s, &nop5, 2000, true);
	for (int i = 0; i < 100; i++) {
		window(&s);
		assert_true(s.is_on[1]);
	}
}

static void slices_end_when_it_is_quiet_again(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &trap, 180000, true);
	for (int i = 0; i < 3; i++)
		window(&s);
	assert_false(s.is_on[0]);
	s.rate[0] = 10;
	for (int i = 0; i < 60 && !(s.is_on[0] && !s.watches[0].is_sliced); i++)
		window(&s);
	assert_true(s.is_on[0]);
	s.detaches = 0;
	for (int i = 0; i < 20; i++)
		window(&s);
	assert_int_equal(s.detaches, 0);
}

static void what_cannot_be_detached_is_looked_at_and_left(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };
	uint64_t now_ns;

	(void)state;
	sim_add(&s, &inside, 100e6, false);
	now_ns = s.now_ns;
	assert_int_equal(watch_plan_wakes_ns(&s.plan, now_ns), now_ns + WATCH_PLAN_CALM_NS);
	for (int i = 0; i < 5; i++)
		window(&s);
	assert_int_equal(s.detaches, 0);
}

static void covered_time_is_that_in_which_calls_were_counted(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };
	double counted, covered_s;

	(void)state;
	sim_add(&s, &trap, 180000, true);
	for (int i = 0; i < 40; i++) {
		while (s.now_ns + NS_PER_S < s.plan.window_start_ns + WINDOW_NS) {
			pass(&s, 50 * NS_PER_MS);
			look(&s);
		}
		counted = s.calls[0];
		covered_s = (double)watch_plan_covered_ns(&s.plan, 0, s.now_ns) / 1e9;
		if (counted > 0 && !s.is_on[0]) {
			double rate = counted / covered_s;

			assert_true(rate > 0.99 * s.rate[0] && rate < 1.01 * s.rate[0]);
		}
		window(&s);
	}
}

static void covered_time_never_exceeds_the_window(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };

	(void)state;
	sim_add(&s, &trap, 20000, true);
	for (int i = 0; i < 50; i++) {
		uint64_t start_ns = s.plan.window_start_ns;

		while (s.now_ns < start_ns + WINDOW_NS - NS_PER_S) {
			pass(&s, 100 * NS_PER_MS);
			look(&s);
			assert_true(watch_plan_covered_ns(&s.plan, 0, s.now_ns) <=
				    s.now_ns - start_ns);
		}
		window(&s);
	}
}

static void looks_come_closer_as_the_price_runs_out(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };
	uint64_t before_ns;

	(void)state;
	sim_add(&s, &trap, 180000, true);
	assert_int_equal(watch_plan_wakes_ns(&s.plan, s.now_ns), s.now_ns + WATCH_PLAN_SOON_NS);
	s.rate[0] = 100;
	pass(&s, WATCH_PLAN_SOON_NS);
	look(&s);
	assert_int_equal(watch_plan_wakes_ns(&s.plan, s.now_ns), s.now_ns + WATCH_PLAN_LOOK_NS);
	s.rate[0] = 72000; /* 0.4 of a CPU: the price of the window in 250 ms */
	pass(&s, WATCH_PLAN_SOON_NS);
	look(&s);
	before_ns = watch_plan_wakes_ns(&s.plan, s.now_ns) - s.now_ns;
	assert_true(before_ns < 100 * NS_PER_MS && before_ns >= WATCH_PLAN_SOON_NS);
}

static void what_failed_is_never_due_again(void **state)
{
	SCOPED(sim_free) struct sim s = { .may_slice = true };
	size_t at;

	(void)state;
	sim_add(&s, &trap, 180000, true);
	watch_plan_fail(&s.plan, 0);
	s.is_on[0] = false;
	pass(&s, NS_PER_S);
	assert_int_equal(watch_plan_due(&s.plan, s.now_ns, &at), WATCH_PLAN_NOTHING);
	for (int i = 0; i < 3; i++)
		window(&s);
	assert_int_equal(s.attaches, 0);
}

static void our_own_work_is_taken_off_the_price(void **state)
{
	struct watch_own own = { 0 };

	(void)state;
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 20 * NS_PER_MS, 0), 8000);
	/* It changes by a quarter of the difference a window. */
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 60 * NS_PER_MS, 0), 7000);
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 0, 0), 7750);
}

static void a_tenth_of_the_price_is_left_whatever_we_take(void **state)
{
	struct watch_own own = { 0 };

	(void)state;
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 5 * NS_PER_S, 0), 1000);
	assert_true(watch_own_price_ppm(&own, 1, WINDOW_NS, 5 * NS_PER_S, 0) > 0);
}

static void one_time_costs_are_paid_off_over_ten_minutes(void **state)
{
	struct watch_own own = { 0 };
	uint64_t taken_ppm = 0;

	(void)state;
	/* 1.2 s over ten minutes: 0.2 %. */
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 0, 1200 * NS_PER_MS), 8000);
	for (int i = 0; i < 120; i++)
		taken_ppm += 10000 - watch_own_price_ppm(&own, 10000, WINDOW_NS, 0, 0);
	assert_in_range(taken_ppm, 59 * 2000, 60 * 2000);
	assert_int_equal(watch_own_price_ppm(&own, 10000, WINDOW_NS, 0, 0), 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_far_over_the_price_is_detached_in_its_first_window),
		cmocka_unit_test(one_inside_the_price_is_left_alone),
		cmocka_unit_test(what_spends_the_price_at_the_very_end_of_a_window_is_let_go_on),
		cmocka_unit_test(what_can_be_counted_within_the_price_loses_no_call),
		cmocka_unit_test(all_together_stay_under_twice_the_price_in_their_first_window),
		cmocka_unit_test(a_burst_is_cut_in_the_window_that_it_comes_in),
		cmocka_unit_test(slices_of_a_second_or_more_keep_the_price_over_time),
		cmocka_unit_test(what_the_window_before_slices_spent_is_paid_for),
		cmocka_unit_test(slices_leave_the_others_attached),
		cmocka_unit_test(slices_end_when_it_is_quiet_again),
		cmocka_unit_test(what_cannot_be_detached_is_looked_at_and_left),
		cmocka_unit_test(covered_time_is_that_in_which_calls_were_counted),
		cmocka_unit_test(covered_time_never_exceeds_the_window),
		cmocka_unit_test(looks_come_closer_as_the_price_runs_out),
		cmocka_unit_test(what_failed_is_never_due_again),
		cmocka_unit_test(our_own_work_is_taken_off_the_price),
		cmocka_unit_test(a_tenth_of_the_price_is_left_whatever_we_take),
		cmocka_unit_test(one_time_costs_are_paid_off_over_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
