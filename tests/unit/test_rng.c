/* test_rng.c - the coins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/rng.h"
#include "core/scoped.h"

static void the_generator_is_xoshiro256_starstar(void **state)
{
	static const uint64_t want[] = { 11520, 0, 1509978240, UINT64_C(1215971899390074240) };
	struct rng r = { { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_true(rng_next(&r) == want[i]);
}

static void a_seed_is_spread_by_splitmix64(void **state)
{
	static const uint64_t want[] = { UINT64_C(6457827717110365317),
					 UINT64_C(3203168211198807973),
					 UINT64_C(9817491932198370423),
					 UINT64_C(4593380528125082431) };
	struct rng r;

	(void)state;
	rng_seed(&r, 1234567);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_true(r.s[i] == want[i]);
}

static void the_same_seed_gives_the_same_draws_and_seed_0_is_as_good(void **state)
{
	struct rng a, b, other;
	uint64_t bits = 0;

	(void)state;
	rng_seed(&a, 0);
	rng_seed(&b, 0);
	rng_seed(&other, 1);
	for (int i = 0; i < 64; i++) {
		uint64_t draw = rng_next(&a);

		assert_true(draw == rng_next(&b));
		assert_true(draw != rng_next(&other));
		bits |= draw;
	}
	assert_true(bits == UINT64_MAX);
}

static void a_draw_is_below_its_bound(void **state)
{
	static const uint64_t bounds[] = { 1, 2, 3, 10, 1000003, UINT64_C(1) << 40, UINT64_MAX };
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		for (int n = 0; n < 1000; n++)
			assert_true(rng_below(&r, bounds[i]) < bounds[i]);
	}
}

static void small_draws_are_equally_often(void **state)
{
	struct rng r;
	int seen[6] = { 0 };

	(void)state;
	rng_seed(&r, 4);
	for (int n = 0; n < 60000; n++)
		seen[rng_below(&r, 6)]++;
	for (int i = 0; i < 6; i++)
		assert_in_range(seen[i], 10000 - 4 * 92, 10000 + 4 * 92); /* 4 standard errors */
}

/* Of 2^64 words onto 3 x 2^62 results, every third would come twice as often if none were rejected. */
static void no_result_is_favoured_when_the_bound_does_not_divide_the_words(void **state)
{
	const uint64_t bound = UINT64_C(3) << 62;
	struct rng r;
	int seen[3] = { 0 };

	(void)state;
	rng_seed(&r, 5);
	for (int n = 0; n < 30000; n++)
		seen[rng_below(&r, bound) % 3]++;
	for (int i = 0; i < 3; i++)
		assert_in_range(seen[i], 10000 - 4 * 82, 10000 + 4 * 82);
}

static void a_coin_falls_in_proportion(void **state)
{
	static const struct {
		uint64_t part, whole;
		int low, high; /* of 40,000; 4 standard errors */
	} cases[] = {
		{ 1, 4, 10000 - 4 * 87, 10000 + 4 * 87 },
		{ 3, 4, 30000 - 4 * 87, 30000 + 4 * 87 },
		{ UINT64_C(1) << 62, UINT64_C(1) << 63, 20000 - 400, 20000 + 400 },
	};
	struct rng r;

	(void)state;
	rng_seed(&r, 6);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int heads = 0;

		for (int n = 0; n < 40000; n++)
			heads += rng_coin(&r, cases[i].part, cases[i].whole);
		assert_in_range(heads, cases[i].low, cases[i].high);
	}
}

static void what_is_certain_is_not_drawn(void **state)
{
	struct rng r, before;

	(void)state;
	rng_seed(&r, 7);
	before = r;
	assert_false(rng_coin(&r, 0, 0));
	assert_false(rng_coin(&r, 0, 9));
	assert_true(rng_coin(&r, 9, 9));
	assert_memory_equal(&r, &before, sizeof(r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_generator_is_xoshiro256_starstar),
		cmocka_unit_test(a_seed_is_spread_by_splitmix64),
		cmocka_unit_test(the_same_seed_gives_the_same_draws_and_seed_0_is_as_good),
		cmocka_unit_test(a_draw_is_below_its_bound),
		cmocka_unit_test(small_draws_are_equally_often),
		cmocka_unit_test(no_result_is_favoured_when_the_bound_does_not_divide_the_words),
		cmocka_unit_test(a_coin_falls_in_proportion),
		cmocka_unit_test(what_is_certain_is_not_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
