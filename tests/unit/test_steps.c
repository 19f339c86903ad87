/* test_steps.c - histograms as bytes: short, they come back, and foreign bytes are checked; and histograms made coarse. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "core/scoped.h"
#include "core/steps.h"

static void assert_same(const struct histogram *a, const struct histogram *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->weight, b->weight);
	assert_int_equal(a->coarse, b->coarse);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_int_equal(a->steps[i].at, b->steps[i].at);
		assert_int_equal(a->steps[i].weight, b->steps[i].weight);
	}
}

static size_t assert_comes_back(const struct histogram *h)
{
	static uint8_t bytes[STEPS_MAX_BYTES];
	struct histogram back = HISTOGRAM_EMPTY;
	size_t len = steps_encode(h, bytes);

	assert_int_equal(len, steps_bytes(h));
	assert_true(len <= STEPS_MAX_BYTES);
	assert_int_equal(steps_decode(bytes, len, &back), 0);
	assert_same(h, &back);
	histogram_free(&back);
	return len;
}

static struct histogram random_histogram(struct rng *rng, uint32_t steps, uint64_t weight)
{
	struct histogram h = HISTOGRAM_EMPTY;

	for (uint32_t i = 0; i < steps; i++)
		assert_int_equal(histogram_add(&h, (uint32_t)rng_below(rng, BUCKET_COUNT),
					       1 + rng_below(rng, weight)),
				 0);
	return h;
}

static void a_histogram_is_short_and_comes_back(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	assert_int_equal(assert_comes_back(&h), 0);
	assert_int_equal(histogram_add(&h, 0, 1), 0);
	assert_int_equal(assert_comes_back(&h), 3);
	assert_int_equal(histogram_add(&h, 100, 127), 0);
	assert_int_equal(assert_comes_back(&h), 5);
	assert_int_equal(histogram_add(&h, 1503, 128), 0);
	assert_int_equal(assert_comes_back(&h), 9);
	histogram_free(&h);
	for (uint32_t coarse = 0; coarse <= HISTOGRAM_MOST_COARSE; coarse++) {
		h = random_histogram(&rng, 50 + coarse * 300, UINT64_C(1) << 40);
		histogram_coarsen(&h, coarse);
		(void)assert_comes_back(&h);
		histogram_free(&h);
	}
}

static void the_fullest_histogram_fits_its_bytes(void **state)
{
	struct histogram h = HISTOGRAM_EMPTY;
	static uint8_t bytes[STEPS_MAX_BYTES];

	(void)state;
	for (uint32_t at = 0; at < BUCKET_COUNT; at++)
		assert_int_equal(histogram_add(&h, at, INT64_MAX / BUCKET_COUNT), 0);
	assert_in_range(assert_comes_back(&h), 13000, STEPS_MAX_BYTES);
	assert_int_equal(histogram_add(&h, 7, INT64_MAX), 0);
	assert_int_equal(steps_encode(&h, bytes), SIZE_MAX);
	histogram_free(&h);
}

static void merged_bytes_are_never_more_than_both(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (int i = 0; i < 200; i++) {
		uint32_t steps = 1 + (uint32_t)rng_below(&rng, 200);
		uint64_t weight = UINT64_C(1) << rng_below(&rng, 50);
		struct histogram a = random_histogram(&rng, steps, weight);
		struct histogram b = random_histogram(&rng, steps, weight);
		size_t both;

		histogram_coarsen(&a, (uint32_t)rng_below(&rng, 3));
		both = steps_bytes(&a) + steps_bytes(&b);
		assert_int_equal(histogram_merge(&a, &b), 0);
		assert_true(steps_bytes(&a) <= both);
		histogram_free(&a);
		histogram_free(&b);
	}
}

static void foreign_bytes_are_checked(void **state)
{
	static const struct {
		const char *name;
		uint8_t bytes[24];
		size_t len;
	} bad[] = {
		{ "nothing but how coarse it is", { 0 }, 1 },
		{ "a step without a weight", { 0, 5 }, 2 },
		{ "a second step without a weight", { 0, 5, 1, 1 }, 4 },
		{ "coarser than there are steps", { 12, 0, 1 }, 3 },
		{ "a weight of 0", { 0, 5, 0 }, 3 },
		{ "the same step twice", { 0, 5, 1, 0, 1 }, 5 },
		{ "a step beyond the last", { 0, 0xe0, 0x0b, 1 }, 4 },
		{ "steps that add up beyond the last", { 0, 0xdf, 0x0b, 1, 1, 1 }, 6 },
		{ "coarse steps beyond the last", { 11, 1, 1 }, 3 },
		{ "a distance of 2^63 - 1",
		  { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1 },
		  11 },
		{ "a distance that is not the shortest", { 0, 0x85, 0, 1 }, 4 },
		{ "a weight that is not the shortest", { 0, 5, 0x81, 0 }, 4 },
		{ "a weight of ten bytes",
		  { 0, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
		  12 },
		{ "a weight cut off", { 0, 5, 0x81 }, 3 },
		{ "weights beyond 63 bits",
		  { 0, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1 },
		  13 },
	};
	struct histogram out = { .coarse = 42 };
	struct histogram good = HISTOGRAM_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		print_message("%s\n", bad[i].name);
		assert_int_equal(steps_decode(bad[i].bytes, bad[i].len, &out), -EBADMSG);
		assert_int_equal(out.coarse, 42);
	}
	assert_int_equal(steps_decode((const uint8_t[]){ 0, 0xdf, 0x0b, 1 }, 4, &good), 0);
	assert_int_equal(good.steps[0].at, 1503);
	histogram_free(&good);
}

static void any_bytes_are_refused_or_come_back(void **state)
{
	uint8_t bytes[64], again[64];
	uint32_t good = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 3);
	for (int i = 0; i < 200000; i++) {
		size_t len = rng_below(&rng, 9);
		struct histogram h = HISTOGRAM_EMPTY;

		for (size_t at = 0; at < len; at++)
			bytes[at] = (uint8_t)(rng_next(&rng) >> 40 & (at == 0 ? 15 : 0x9f));
		if (steps_decode(bytes, len, &h) != 0)
			continue;
		assert_int_equal(steps_encode(&h, again), len);
		assert_memory_equal(bytes, again, len);
		histogram_free(&h);
		good++;
	}
	assert_true(good > 1000);
}

/* ---- coarse ---- */

static void a_coarse_histogram_keeps_all_weight_in_wider_steps(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	for (uint32_t coarse = 1; coarse <= HISTOGRAM_MOST_COARSE; coarse++) {
		struct histogram h = random_histogram(&rng, 400, 1000);
		uint64_t weight = h.weight, sum = 0;
		uint32_t before = h.count;

		histogram_coarsen(&h, coarse);
		for (uint32_t i = 0; i < h.count; i++) {
			sum += h.steps[i].weight;
			assert_int_equal(h.steps[i].at % (1u << coarse), 0);
			assert_true(i == 0 || h.steps[i].at > h.steps[i - 1].at);
		}
		assert_int_equal(sum, weight);
		assert_int_equal(h.weight, weight);
		assert_true(h.count < before);
		if (coarse == HISTOGRAM_MOST_COARSE)
			assert_int_equal(h.count, 1);
		histogram_coarsen(&h, coarse - 1); /* it is never made fine again */
		assert_int_equal(h.coarse, coarse);
		histogram_free(&h);
	}
}

static void what_is_added_and_merged_takes_the_coarser_steps(void **state)
{
	struct histogram a, b, whole, empty = HISTOGRAM_EMPTY;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (uint32_t of_a = 0; of_a < 4; of_a++)
		for (uint32_t of_b = 0; of_b < 4; of_b++) {
			uint32_t coarser = of_a > of_b ? of_a : of_b;

			a = random_histogram(&rng, 100, 50);
			b = random_histogram(&rng, 100, 50);
			whole = HISTOGRAM_EMPTY;
			assert_int_equal(histogram_merge(&whole, &a), 0);
			assert_int_equal(histogram_merge(&whole, &b), 0);
			histogram_coarsen(&whole, coarser);
			histogram_coarsen(&a, of_a);
			histogram_coarsen(&b, of_b);
			assert_int_equal(histogram_merge(&a, &b), 0);
			assert_same(&a, &whole);
			histogram_free(&a);
			histogram_free(&b);
			histogram_free(&whole);
		}
	a = random_histogram(&rng, 5, 50);
	histogram_coarsen(&a, 3);
	assert_int_equal(histogram_merge(&empty, &a), 0);
	assert_same(&a, &empty);
	assert_int_equal(histogram_add(&a, 1503, 9), 0);
	assert_int_equal(a.steps[a.count - 1].at, 1496);
	histogram_free(&a);
	histogram_free(&empty);
}

static void percentiles_of_a_coarse_histogram_reach_to_the_edges_of_its_steps(void **state)
{
	uint32_t inside = 0, all = 0;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 6);
	for (uint32_t coarse = 0; coarse <= HISTOGRAM_MOST_COARSE; coarse++)
		for (uint32_t i = 0; i < 200; i++, all++) {
			uint64_t ns = 100 + rng_below(&rng, 1000000);
			struct histogram h = HISTOGRAM_EMPTY;
			struct percentile p;

			assert_int_equal(histogram_add(&h, bucket_of(ns), 1000), 0);
			histogram_coarsen(&h, coarse);
			p = histogram_percentile(&h, 0.5, 1000, UINT64_C(1) << 40);
			inside += p.is_known && p.low_ns <= ns && ns <= p.high_ns &&
				  p.low_ns <= p.ns && p.ns <= p.high_ns;
			assert_true(coarse > 0 || p.high_ns - p.low_ns <= ns / 40);
			histogram_free(&h);
		}
	assert_int_equal(inside, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_histogram_is_short_and_comes_back),
		cmocka_unit_test(the_fullest_histogram_fits_its_bytes),
		cmocka_unit_test(merged_bytes_are_never_more_than_both),
		cmocka_unit_test(foreign_bytes_are_checked),
		cmocka_unit_test(any_bytes_are_refused_or_come_back),
		cmocka_unit_test(a_coarse_histogram_keeps_all_weight_in_wider_steps),
		cmocka_unit_test(what_is_added_and_merged_takes_the_coarser_steps),
		cmocka_unit_test(percentiles_of_a_coarse_histogram_reach_to_the_edges_of_its_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
