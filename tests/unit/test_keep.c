/* test_keep.c - one tick in D, chosen before looking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/keep.h"
#include "core/scoped.h"

#define BASE_NS UINT64_C(10000000)

/* Gives one tick. Checks that asking and taking agree; returns whether it is kept. */
static bool give(struct keep *k, struct rng *r, uint64_t weight_ns)
{
	uint64_t left_ns = weight_ns, parts_ns = 0;
	bool wanted, covers = false;
	int parts = 0;

	keep_tick(k);
	wanted = keep_wants(k, r, weight_ns);
	while (left_ns > 0) {
		struct keep_part part = keep_take(k, r, &left_ns);

		covers |= part.covers;
		parts_ns += part.weight_ns;
		parts++;
	}
	assert_int_equal(wanted, covers);
	assert_true(parts_ns == weight_ns);
	assert_true(parts <= 3);
	return wanted;
}

static void equal_ticks_keep_a_number_that_grows_with_the_logarithm(void **state)
{
	static const struct {
		const char *name;
		uint64_t ticks;
		uint32_t slots;
		uint64_t want;
	} cases[] = {
		{ "10 min at 100 Hz", 60000, 1024, 19788 },
		{ "36,000 ticks, over however many hours", 36000, 1024, 16788 },
		{ "10 h at 100 Hz", 3600000, 1024, 43895 },
		{ "few slots: K is 8192 all the same", 60000, 16, 19788 },
		{ "many slots: K is 8 N", 600000, 8192, 168572 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct keep k;
		struct rng r;
		uint64_t kept = 0;

		print_message("%s\n", cases[i].name);
		rng_seed(&r, i);
		keep_init(&k, BASE_NS, cases[i].slots, false);
		for (uint64_t n = 0; n < cases[i].ticks; n++)
			kept += give(&k, &r, BASE_NS);
		assert_in_range(kept, cases[i].want * 99 / 100, cases[i].want * 101 / 100);
	}
}

static void d_doubles_after_k_and_then_after_each_half_k_times_d(void **state)
{
	static const struct {
		uint64_t after_ticks, want_one_in;
	} cases[] = {
		{ 1, 1 },     { 8192, 1 },  { 8193, 2 },  { 16384, 2 },	 { 16385, 4 },
		{ 32768, 4 }, { 32769, 8 }, { 65536, 8 }, { 65537, 16 }, { 131073, 32 },
	};
	struct keep k;
	size_t i = 0;

	(void)state;
	keep_init(&k, BASE_NS, 1024, false);
	for (uint64_t n = 1; i < ARRAY_LEN(cases); n++) {
		keep_tick(&k);
		if (n != cases[i].after_ticks)
			continue;
		assert_int_equal(k.one_in, cases[i].want_one_in);
		i++;
	}
}

static void at_first_every_tick_is_its_own_group_whatever_it_weighs(void **state)
{
	struct keep k;
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	keep_init(&k, BASE_NS, 1024, false);
	for (uint64_t n = 1; n <= 8192; n++) {
		uint64_t left_ns = n * 1000;

		keep_tick(&k);
		assert_true(keep_wants(&k, &r, left_ns));

		struct keep_part part = keep_take(&k, &r, &left_ns);

		assert_true(part.weight_ns == n * 1000);
		assert_true(part.covers);
		assert_true(part.closes);
		assert_true(left_ns == 0);
	}
}

static void full_keeps_every_tick(void **state)
{
	struct keep k;
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	keep_init(&k, BASE_NS, 1024, true);
	for (int n = 0; n < 100000; n++)
		assert_true(give(&k, &r, BASE_NS));
}

/* A keeper whose D is `one_in` for the next million ticks. */
static void start_at(struct keep *k, uint64_t one_in)
{
	keep_init(k, BASE_NS, 1024, false);
	k->one_in = one_in;
	k->double_after = UINT64_MAX;
}

static void each_group_has_exactly_one_sample(void **state)
{
	struct keep k;
	struct rng r, world;
	uint64_t in_group_ns = 0;
	int covered = 0;

	(void)state;
	rng_seed(&r, 2);
	rng_seed(&world, 3);
	start_at(&k, 8);
	for (int n = 0; n < 50000; n++) {
		uint64_t left_ns = BASE_NS / 2 + rng_below(&world, BASE_NS);

		keep_tick(&k);
		keep_wants(&k, &r, left_ns);
		while (left_ns > 0) {
			struct keep_part part = keep_take(&k, &r, &left_ns);

			in_group_ns += part.weight_ns;
			covered += part.covers;
			if (!part.closes)
				continue;
			assert_int_equal(covered, 1);
			assert_true(in_group_ns == 8 * BASE_NS);
			in_group_ns = 0;
			covered = 0;
		}
	}
}

/* A tick that weighs three times as much must stand for three times as much: a random place would give it half. */
static void unequal_weights_are_kept_in_proportion(void **state)
{
	struct keep k;
	struct rng r;
	int heavy = 0, light = 0;

	(void)state;
	rng_seed(&r, 4);
	start_at(&k, 16);
	for (int n = 0; n < 400000; n++) {
		bool is_heavy = n % 2 == 0;
		uint64_t left_ns = is_heavy ? 3 * BASE_NS / 2 : BASE_NS / 2;

		keep_tick(&k);
		keep_wants(&k, &r, left_ns);
		while (left_ns > 0) {
			bool covers = keep_take(&k, &r, &left_ns).covers;

			heavy += covers && is_heavy;
			light += covers && !is_heavy;
		}
	}
	assert_in_range(heavy + light, 24999, 25001);
	assert_in_range(heavy, 18750 - 4 * 69, 18750 + 4 * 69);
}

static void every_place_in_a_group_is_as_likely(void **state)
{
	struct keep k;
	struct rng r;
	int by_place[8] = { 0 };

	(void)state;
	rng_seed(&r, 5);
	start_at(&k, 8);
	for (int n = 0; n < 8 * 8000; n++)
		by_place[n % 8] += give(&k, &r, BASE_NS);
	for (int i = 0; i < 8; i++)
		assert_in_range(by_place[i], 1000 - 4 * 30, 1000 + 4 * 30);
}

static void a_heavy_tick_closes_all_its_groups_at_once(void **state)
{
	struct keep k;
	struct rng r;
	uint64_t left_ns = 1000 * 4 * BASE_NS + 3 * BASE_NS;
	struct keep_part part;

	(void)state;
	rng_seed(&r, 6);
	start_at(&k, 4);
	give(&k, &r, BASE_NS);
	keep_tick(&k);
	assert_true(keep_wants(&k, &r, left_ns));
	part = keep_take(&k, &r, &left_ns);
	assert_true(part.weight_ns == 3 * BASE_NS && part.closes);
	part = keep_take(&k, &r, &left_ns);
	assert_true(part.weight_ns == 999 * 4 * BASE_NS + 4 * BASE_NS && part.closes &&
		    part.covers);
	assert_true(left_ns == 0);
	left_ns = 4 * BASE_NS + 1;
	keep_tick(&k);
	assert_true(keep_wants(&k, &r, left_ns));
	part = keep_take(&k, &r, &left_ns);
	assert_true(part.weight_ns == 4 * BASE_NS && part.closes && part.covers);
	part = keep_take(&k, &r, &left_ns);
	assert_true(part.weight_ns == 1 && !part.closes);
	assert_true(left_ns == 0);
}

static void a_new_d_waits_for_the_next_group(void **state)
{
	struct keep k;
	struct rng r;
	uint64_t left_ns = 3 * BASE_NS;

	(void)state;
	rng_seed(&r, 7);
	start_at(&k, 4);
	give(&k, &r, BASE_NS);
	k.double_after = k.ticks;
	keep_tick(&k);
	assert_int_equal(k.one_in, 8);
	keep_wants(&k, &r, left_ns);
	assert_true(keep_take(&k, &r, &left_ns).closes);
	give(&k, &r, BASE_NS);
	assert_true(k.group_ns == 8 * BASE_NS);
}

static void no_weight_is_never_wanted(void **state)
{
	struct keep k;
	struct rng r;

	(void)state;
	rng_seed(&r, 8);
	keep_init(&k, BASE_NS, 1024, false);
	assert_false(give(&k, &r, 0));
	start_at(&k, 4);
	for (int n = 0; n < 100; n++) {
		assert_false(give(&k, &r, 0));
		give(&k, &r, BASE_NS / 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_ticks_keep_a_number_that_grows_with_the_logarithm),
		cmocka_unit_test(d_doubles_after_k_and_then_after_each_half_k_times_d),
		cmocka_unit_test(at_first_every_tick_is_its_own_group_whatever_it_weighs),
		cmocka_unit_test(full_keeps_every_tick),
		cmocka_unit_test(each_group_has_exactly_one_sample),
		cmocka_unit_test(unequal_weights_are_kept_in_proportion),
		cmocka_unit_test(every_place_in_a_group_is_as_likely),
		cmocka_unit_test(a_heavy_tick_closes_all_its_groups_at_once),
		cmocka_unit_test(a_new_d_waits_for_the_next_group),
		cmocka_unit_test(no_weight_is_never_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
