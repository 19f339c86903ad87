/* test_cadence_fleet.c - fleets over days: never a spike, nobody starved. Numbers of the rules stand in the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "made_fleet.h"

static struct made_fleet fleet; /* large */

static int ascending(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* The captures of the next n slots, the smallest first. */
static void slots_are(uint32_t n, const uint32_t *want)
{
	uint32_t got[CADENCE_N_MOST];

	for (uint32_t i = 0; i < n; i++)
		got[i] = fleet_cycle(&fleet);
	qsort(got, n, sizeof(*got), ascending);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}

static void forty_servers_capture_ten_in_the_first_slot_behind_first_sight(void **state)
{
	(void)state;
	fleet_begin(&fleet, 40, CADENCE_N_DEFAULT);
	assert_int_equal(fleet_cycle(&fleet), 10); /* gate removed: 40; inverted: 30 */
}

static void forty_two_servers_at_4_capture_10_10_11_11(void **state)
{
	(void)state;
	fleet_begin(&fleet, 42, 4);
	for (int round = 0; round < 50; round++)
		slots_are(4, (const uint32_t[]){ 10, 10, 11, 11 }); /* without a phase: 0 0 0 42 */
	assert_int_equal(fleet.owed, 0);
}

static void a_thousand_servers_are_spread_evenly_for_any_n(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 58; n += 3) {
		fleet_begin(&fleet, 1000, n);
		for (uint32_t slot = 0; slot < 2 * n; slot++)
			assert_in_range(fleet_cycle(&fleet), 1000 / n, (1000 + n - 1) / n);
	}
}

static void sixty_servers_at_an_n_of_600_capture_one_a_slot(void **state)
{
	(void)state;
	fleet_begin(&fleet, 60, cadence_n_of(600));
	fleet.pace.reach_ns = 100 * 3600 * NS_PER_S;
	cadence_pace_init(&fleet.pace, 60 * NS_PER_S, 100 * 3600 * NS_PER_S, cadence_n_of(600));
	assert_int_equal(fleet.pace.n, 60); /* clamp widened: 600 */
	assert_int_equal(fleet_cycle(&fleet), 1);
}

static void a_restart_within_the_slot_changes_nothing(void **state)
{
	struct made_fleet other;

	(void)state;
	fleet_begin(&fleet, 42, 4);
	for (int i = 0; i < 7; i++)
		fleet_cycle(&fleet);
	/* What is kept over a restart is marks and seats; slots come from the clock. */
	fleet_begin(&other, 42, 4);
	for (size_t i = 0; i < 42; i++)
		other.servers[i] = fleet.servers[i];
	other.now_ns = fleet.now_ns;
	other.slot = fleet.slot;
	for (int i = 0; i < 40; i++)
		assert_int_equal(fleet_cycle(&fleet), fleet_cycle(&other));
}

static void all_back_behind_an_outage_of_an_hour_make_no_spike(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 7; n++) {
		uint32_t slots = 0;

		fleet_begin(&fleet, 42, n);
		for (int i = 0; i < 20; i++)
			fleet_cycle(&fleet);
		fleet.now_ns +=
			(int64_t)(3600 * NS_PER_S); /* the collector was away: nobody was visited */
		fleet.worst_age = 0;
		do {
			assert_in_range(fleet_cycle(&fleet), 0, fleet_most(&fleet));
			slots++;
			fleet.worst_age = 0;
			fleet_look_at_ages(&fleet);
		} while (fleet.worst_age >= n && slots < 100);
		assert_in_range(slots, 1, n + 1); /* all are captured again within a turn */
	}
}

static void servers_that_come_back_together_make_no_spike(void **state)
{
	(void)state;
	fleet_begin(&fleet, 1000, 4);
	for (size_t i = 0; i < 1000; i++)
		fleet.fates[i] = FATE_DOWN;
	for (int i = 0; i < 60; i++)
		fleet_cycle(&fleet);
	for (size_t i = 0; i < 1000; i++)
		fleet.fates[i] = FATE_WELL;
	for (int i = 0; i < 20; i++)
		assert_in_range(fleet_cycle(&fleet), 200, fleet_most(&fleet));
	fleet.worst_age = 0;
	fleet_look_at_ages(&fleet);
	assert_in_range(fleet.worst_age, 0, 4);
}

/* The busiest slot of a fleet is ceil(n / N) for its seats, whatever came and went. */
static void busiest_is_even(const uint32_t *seats, size_t count, uint32_t n)
{
	struct cadence_pace pace;
	uint32_t busiest = 0;

	cadence_pace_init(&pace, NS_PER_S, 3600 * NS_PER_S, n);
	for (int64_t slot = 0; slot < n; slot++) {
		uint32_t scheduled = 0;

		for (size_t i = 0; i < count; i++)
			scheduled += cadence_is_scheduled(&pace, slot, seats[i], FLEET_SALT);
		busiest = scheduled > busiest ? scheduled : busiest;
	}
	assert_int_equal(busiest, (count + n - 1) / n);
}

static void any_joins_and_leaves_keep_the_busiest_slot_even(void **state)
{
	uint32_t seats[FLEET_MOST];
	size_t count = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	for (int step = 0; step < 3000; step++) {
		if (count == 0 || (count < 120 && rng_below(&rng, 2) == 0)) {
			seats[count] = cadence_free_seat(seats, count);
			count++;
		} else {
			size_t gone = rng_below(&rng, count);
			uint32_t left = seats[gone];
			size_t moves;

			seats[gone] = seats[--count];
			moves = cadence_fill_hole(seats, count, left);
			if (moves < count)
				seats[moves] = left;
		}
		if (count > 0)
			busiest_is_even(seats, count, 1 + (uint32_t)rng_below(&rng, 9));
	}
}

static void churn_and_changes_of_n_and_cycle_never_pass_the_cap(void **state)
{
	(void)state;
	fleet_begin(&fleet, 90, 4);
	for (int i = 0; i < 1440; i++) {
		if (rng_below(&fleet.rng, 10) == 0) {
			static const uint32_t ns[] = { 2, 3, 4, 5, 7, 12 };
			static const uint64_t cycles_ns[] = { 30 * NS_PER_S, 60 * NS_PER_S };
			uint64_t cycle_ns = cycles_ns[rng_below(&fleet.rng, 2)];

			cadence_pace_set(&fleet.pace, cycle_ns, 3600 * NS_PER_S,
					 ns[rng_below(&fleet.rng, ARRAY_LEN(ns))]);
			fleet.cadence_ns = cycle_ns;
			fleet.was_changed = true;
		}
		assert_in_range(fleet_cycle(&fleet), 0, fleet_most(&fleet));
	}
	/* Then all is as if nothing had been. */
	cadence_pace_set(&fleet.pace, 60 * NS_PER_S, 3600 * NS_PER_S, 4);
	fleet.cadence_ns = 60 * NS_PER_S;
	fleet.was_changed = true;
	for (int i = 0; i < 12; i++)
		fleet_cycle(&fleet);
	slots_are(4, (const uint32_t[]){ 22, 22, 23, 23 });
}

static void an_n_that_flaps_each_slot_starves_nobody(void **state)
{
	(void)state;
	fleet_begin(&fleet, 42, 4);
	for (int i = 0; i < 1440; i++) {
		cadence_pace_set(&fleet.pace, 60 * NS_PER_S, 3600 * NS_PER_S, i % 2 == 0 ? 4 : 5);
		fleet.was_changed = true;
		fleet_cycle(&fleet);
	}
	assert_in_range(fleet.worst_age, 4, 8);
}

static void a_real_cadence_of_113_s_on_a_cycle_of_60_s_starves_nobody(void **state)
{
	(void)state;
	fleet_begin(&fleet, 42, 4);
	fleet.cadence_ns = 113 * NS_PER_S;
	for (int i = 0; i < 11; i++)
		fleet_cycle(&fleet);
	assert_true(cadence_pace_turn(&fleet.pace, 113 * NS_PER_S));
	assert_int_equal(fleet.pace.k, 2); /* 113 <= 1.1 * 120 */
	fleet.was_changed = true;
	fleet.slot = -1;
	for (int i = 0; i < 8; i++)
		fleet_cycle(&fleet);
	fleet.worst_age = 0;
	for (int i = 0; i < 1000; i++)
		fleet_cycle(&fleet);
	/* With slots of one cycle half of the fleet waits over 8. */
	assert_in_range(fleet.worst_age, 3, 5);
}

/* The worst age of a day in slots, in the mean of ten days. The first `hopeless` of every three servers always fail. */
static double worst_age_with_failures(uint32_t n, uint32_t fail_ppm, size_t hopeless)
{
	int64_t sum = 0;

	for (uint64_t seed = 0; seed < 10; seed++) {
		fleet_begin(&fleet, 42, n);
		rng_seed(&fleet.rng, seed);
		fleet.fail_ppm = fail_ppm;
		for (size_t i = 0; i < hopeless; i++)
			fleet.fates[3 * i] = FATE_FAILS_ALWAYS;
		for (int i = 0; i < 1440; i++)
			assert_in_range(fleet_cycle(&fleet), 0, fleet_most(&fleet));
		sum += fleet.worst_age;
	}
	return (double)sum / 10;
}

/* The oldest capture first alone has 8 and 24 at N = 4, and 10 to 13 and 41 at N = 7; the last try first alone 51 and 92 at 50 %. */
static void failures_are_made_up_for(void **state)
{
	static const struct {
		uint32_t n, fail_ppm;
		double most;
	} cases[] = { { 4, 50000, 8 }, { 4, 500000, 24 }, { 7, 50000, 12 }, { 7, 500000, 41 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double age = worst_age_with_failures(cases[i].n, cases[i].fail_ppm, 0);

		print_message("N = %u, %u %% fail: %.1f\n", cases[i].n, cases[i].fail_ppm / 10000,
			      age);
		assert_true(age >= cases[i].n && age <= cases[i].most);
	}
}

/* With the oldest capture first alone: 16 and 54. */
static void servers_that_always_fail_take_no_place_from_others(void **state)
{
	double at_5, at_50;

	(void)state;
	at_5 = worst_age_with_failures(4, 50000, 6);
	at_50 = worst_age_with_failures(4, 500000, 6);
	print_message("six of 42 always fail: %.1f and %.1f\n", at_5, at_50);
	assert_true(at_5 >= 4 && at_5 <= 12);
	assert_true(at_50 >= 4 && at_50 <= 35);
}

/* Two collectors share a fleet: each sees its own servers, F and cap are the fleet's, places are counted in one place. */
static void several_collectors_share_the_places_of_a_slot(void **state)
{
	struct cadence_pace pace;
	uint32_t most, taken = 0, scheduled = 0;
	int64_t slot = 1000;

	(void)state;
	cadence_pace_init(&pace, NS_PER_S, 3600 * NS_PER_S, 4);
	for (uint32_t seat = 0; seat < 84; seat++)
		scheduled += cadence_is_scheduled(&pace, slot, seat, FLEET_SALT);
	most = cadence_allowance(&pace, 84, scheduled);
	assert_int_equal(most, 21 + 3 - 21);
	for (uint32_t tries = 0; tries < 60; tries++)
		taken += taken < most; /* UPDATE ... WHERE taken < allowance */
	assert_int_equal(scheduled + taken, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forty_servers_capture_ten_in_the_first_slot_behind_first_sight),
		cmocka_unit_test(forty_two_servers_at_4_capture_10_10_11_11),
		cmocka_unit_test(a_thousand_servers_are_spread_evenly_for_any_n),
		cmocka_unit_test(sixty_servers_at_an_n_of_600_capture_one_a_slot),
		cmocka_unit_test(a_restart_within_the_slot_changes_nothing),
		cmocka_unit_test(all_back_behind_an_outage_of_an_hour_make_no_spike),
		cmocka_unit_test(servers_that_come_back_together_make_no_spike),
		cmocka_unit_test(any_joins_and_leaves_keep_the_busiest_slot_even),
		cmocka_unit_test(churn_and_changes_of_n_and_cycle_never_pass_the_cap),
		cmocka_unit_test(an_n_that_flaps_each_slot_starves_nobody),
		cmocka_unit_test(a_real_cadence_of_113_s_on_a_cycle_of_60_s_starves_nobody),
		cmocka_unit_test(failures_are_made_up_for),
		cmocka_unit_test(servers_that_always_fail_take_no_place_from_others),
		cmocka_unit_test(several_collectors_share_the_places_of_a_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
