/* test_prove.c - pairs of runs without and with measuring: what they say, and when they say nothing. Runs are made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prove.h"
#include "core/scoped.h"
#include "core/units.h"

#define SECOND	  NS_PER_S
#define MOST_RUNS 100u

/* A job of a second whose runs differ by up to `noise` to each side; measuring takes `taken` more, of which the label says
 * `claimed`. Both are shares of the bare run. */
struct made {
	double noise, taken, claimed;
};

static double draw(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

static uint64_t run_of(struct rng *r, const struct made *made, double more)
{
	return (uint64_t)(1e9 * (1 + more) * (1 + made->noise * (2 * draw(r) - 1)));
}

static void make_pairs(struct rng *r, const struct made *made, struct prove_pair *out,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		out[i] = (struct prove_pair){ .bare_ns = run_of(r, made, 0),
					      .with_ns = run_of(r, made, made->taken),
					      .claim_ns = made->claimed > 0
								  ? (uint64_t)(1e9 * made->claimed)
								  : 0,
					      .has_claim = made->claimed >= 0 };
}

static struct prove_found judged(const struct prove_pair *pairs, uint32_t count)
{
	struct prove_found found;

	assert_int_equal(prove_judge(pairs, count, &found), 0);
	return found;
}

static void pairs_come_in_both_orders_and_each_two_balance(void **state)
{
	bool order[MOST_RUNS], again[MOST_RUNS];
	struct rng coins;
	uint32_t first = 0;

	(void)state;
	rng_seed(&coins, 7);
	prove_order(&coins, order, MOST_RUNS);
	for (uint32_t i = 0; i < MOST_RUNS; i += 2) {
		assert_true(order[i] != order[i + 1]);
		first += order[i];
	}
	/* A coin for each two: neither always ABBA nor always BAAB. */
	assert_in_range(first, 10, 40);
	rng_seed(&coins, 7);
	prove_order(&coins, again, MOST_RUNS);
	assert_memory_equal(order, again, sizeof(order));
}

/* Ratios 1.01, 1.02 ... 1.06: by the tables of the signed rank, six pairs reach from the least to the greatest. */
static void six_pairs_by_hand(void **state)
{
	struct prove_pair pairs[6];
	struct prove_found found;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		pairs[i] =
			(struct prove_pair){ 100 * SECOND, (101 + i) * SECOND, 3 * SECOND, true };
	found = judged(pairs, 6);
	assert_int_equal(found.slowdown.pairs, 6);
	assert_true(found.slowdown.has_interval);
	assert_float_equal(found.slowdown.value, 0.035, 0.0002);
	assert_float_equal(found.slowdown.error, 0.025, 0.0003);
	/* 18 s are ours, beside 600 s without. */
	assert_float_equal(found.claim, 18.0 / 600, 1e-9);
}

/* Ten pairs: the interval leaves out the 8 least and the 8 greatest of 55 means (Hollander, Wolfe and Chicken, table A.4). */
static void ten_pairs_leave_eight_means_out_at_each_end(void **state)
{
	struct prove_pair pairs[10];
	double means[55];
	size_t n = 0;
	struct prove_slowdown s;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		pairs[i] = (struct prove_pair){ .bare_ns = SECOND,
						.with_ns = SECOND + (i * i + 1) * NS_PER_MS };
	for (uint32_t i = 0; i < 10; i++)
		for (uint32_t k = i; k < 10; k++) {
			double mean = (log((double)pairs[i].with_ns / 1e9) +
				       log((double)pairs[k].with_ns / 1e9)) /
				      2;
			size_t at = n++;

			for (; at > 0 && means[at - 1] > mean; at--)
				means[at] = means[at - 1];
			means[at] = mean;
		}
	assert_int_equal(prove_slowdown_of(pairs, 10, &s), 0);
	assert_float_equal(s.value, expm1(means[27]), 1e-12);
	assert_float_equal(s.error, fmax(s.value - expm1(means[8]), expm1(means[46]) - s.value),
			   1e-12);
}

static void fewer_than_six_pairs_give_no_interval(void **state)
{
	struct made made = { .noise = 0.001, .taken = 0.5, .claimed = 0.01 };
	struct prove_pair pairs[6];
	struct prove_found found;
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	make_pairs(&r, &made, pairs, 6);
	for (uint32_t count = 0; count < PROVE_LEAST_PAIRS; count++) {
		found = judged(pairs, count);
		assert_false(found.slowdown.has_interval);
		assert_int_equal(found.verdict, count == 0 ? PROVE_NO_CLAIM : PROVE_CANNOT_TELL);
		if (count > 0)
			assert_int_equal(found.more_pairs, PROVE_LEAST_PAIRS - count);
	}
	assert_int_equal(judged(pairs, 6).verdict, PROVE_UNDERSTATES);
}

static void the_verdict_follows_the_interval(void **state)
{
	static const struct {
		const char *name;
		struct made made;
		enum prove_verdict want;
	} cases[] = {
		{ "what is claimed is what is taken", { 0.002, 0.02, 0.02 }, PROVE_INSIDE },
		{ "half is claimed", { 0.002, 0.02, 0.01 }, PROVE_UNDERSTATES },
		{ "twice is claimed", { 0.002, 0.02, 0.04 }, PROVE_OVERSTATES },
		{ "a small claim beside large noise", { 0.1, 0.0, 0.0004 }, PROVE_CANNOT_TELL },
		{ "a claim that is in the interval, as half of it would be",
		  { 0.05, 0.02, 0.02 },
		  PROVE_CANNOT_TELL },
		{ "large noise, and far more is taken", { 0.1, 0.5, 0.01 }, PROVE_UNDERSTATES },
		{ "nothing was measured", { 0.002, 0.02, -1 }, PROVE_NO_CLAIM },
		{ "it was measured, and nothing is claimed",
		  { 0.002, 0.02, 0 },
		  PROVE_UNDERSTATES },
		{ "nothing is claimed, and nothing seen", { 0.002, 0, 0 }, PROVE_CANNOT_TELL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct prove_pair pairs[20];
		struct rng r;

		print_message("%s\n", cases[i].name);
		rng_seed(&r, 3 + i);
		make_pairs(&r, &cases[i].made, pairs, 20);
		assert_int_equal(judged(pairs, 20).verdict, cases[i].want);
	}
}

/* As many pairs as were asked for do tell, and an eighth of them do not. */
static void the_pairs_asked_for_are_enough(void **state)
{
	struct made made = { .noise = 0.02, .taken = 0.02, .claimed = 0.02 };
	static struct prove_pair pairs[PROVE_MOST_PAIRS];
	struct prove_found few;
	struct rng r;

	(void)state;
	rng_seed(&r, 11);
	make_pairs(&r, &made, pairs, PROVE_MOST_PAIRS);
	few = judged(pairs, 8);
	assert_int_equal(few.verdict, PROVE_CANNOT_TELL);
	assert_in_range(few.more_pairs, 4, 60);
	assert_int_equal(judged(pairs, 8 + 2 * (uint32_t)few.more_pairs).verdict, PROVE_INSIDE);
	assert_true(judged(pairs, PROVE_MOST_PAIRS).slowdown.error < few.slowdown.error / 4);
}

/* In 95 of 100 sets of pairs the truth is in the interval. */
static void the_interval_holds_the_truth_as_often_as_it_says(void **state)
{
	static const uint32_t counts[] = { 6, 10, 20, 60 };
	struct made made = { .noise = 0.05, .taken = 0.02 };

	(void)state;
	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		uint32_t held = 0;
		struct rng r;

		rng_seed(&r, 5);
		for (uint32_t i = 0; i < 1000; i++) {
			struct prove_pair pairs[60];
			struct prove_slowdown s;

			make_pairs(&r, &made, pairs, counts[c]);
			assert_int_equal(prove_slowdown_of(pairs, counts[c], &s), 0);
			held += fabs(s.value - made.taken) <= s.error;
		}
		print_message("%u pairs: %u of 1000\n", counts[c], held);
		assert_in_range(held, 935, 1000);
	}
}

/* Runs that another program got into move the middle by less than the interval. */
static void stray_runs_do_not_move_the_middle(void **state)
{
	struct made made = { .noise = 0.01, .taken = 0.02, .claimed = 0.02 };
	struct prove_pair pairs[20];
	struct prove_slowdown s;
	struct rng r;

	(void)state;
	rng_seed(&r, 2);
	make_pairs(&r, &made, pairs, 20);
	pairs[3].with_ns *= 3;
	pairs[12].with_ns *= 2;
	assert_int_equal(prove_slowdown_of(pairs, 20, &s), 0);
	assert_true(fabs(s.value - made.taken) < s.error && s.error < 0.01);
}

static void a_pair_that_took_no_time_says_nothing(void **state)
{
	struct made made = { .noise = 0.002, .taken = 0.02, .claimed = 0.02 };
	struct prove_pair pairs[21];
	struct prove_found found;
	struct rng r;

	(void)state;
	rng_seed(&r, 4);
	make_pairs(&r, &made, pairs, 20);
	pairs[20] = (struct prove_pair){ .bare_ns = 0, .with_ns = SECOND, .claim_ns = SECOND };
	found = judged(pairs, 21);
	assert_int_equal(found.slowdown.pairs, 20);
	assert_float_equal(found.claim, judged(pairs, 20).claim, 1e-12);
}

static void the_largest_number_of_pairs_has_room(void **state)
{
	static struct prove_pair pairs[PROVE_MOST_PAIRS];
	struct made made = { .noise = 0.05, .taken = 0.01, .claimed = 0.01 };
	struct rng r;

	(void)state;
	rng_seed(&r, 6);
	make_pairs(&r, &made, pairs, PROVE_MOST_PAIRS);
	assert_true(judged(pairs, PROVE_MOST_PAIRS).slowdown.error < 0.005);
}

static void words_say_what_was_found(void **state)
{
	static const struct {
		struct prove_found found;
		const char *want;
	} cases[] = {
		{ { { 10, 0.023, 0.004, true }, 0.021, PROVE_INSIDE, 0 },
		  "inside: the label claims +2.1 %, measured +2.3 % ± 0.4" },
		{ { { 10, 0.033, 0.004, true }, 0.021, PROVE_UNDERSTATES, 0 },
		  "the label understates by 1.2 % of the job's CPU time: measured +3.3 % ± 0.4, "
		  "claimed +2.1 %" },
		{ { { 10, -0.001, 0.004, true }, 0.021, PROVE_OVERSTATES, 0 },
		  "the label overstates by 2.2 % of the job's CPU time: measured -0.1 % ± 0.4, "
		  "claimed +2.1 %" },
		{ { { 10, 0.01, 0.03, true }, 0.0004, PROVE_CANNOT_TELL, 224990 },
		  "cannot tell: the runs differ too much, ± 3 % beside the +0.04 % that the label "
		  "claims; about 224,990 more pairs would tell" },
		{ { { 5, 0.01, 0, false }, 0.0004, PROVE_CANNOT_TELL, 1 },
		  "cannot tell: 5 pairs give no interval; about 1 more pair would tell" },
		{ { { 1, 0.01, 0, false }, 0.0004, PROVE_CANNOT_TELL, 5 },
		  "cannot tell: 1 pair gives no interval; about 5 more pairs would tell" },
		{ { { 10, 0.01, 0.003, true }, 0, PROVE_NO_CLAIM, 0 },
		  "cannot tell: the label claims nothing, the cost in the kernel was not "
		  "measured" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;
		char *nbsp;

		prove_put_verdict(&t, &cases[i].found);
		while ((nbsp = strstr(t.bytes, TEXT_NBSP)) != NULL) {
			*nbsp = ' ';
			memmove(nbsp + 1, nbsp + 2, strlen(nbsp + 2) + 1);
		}
		assert_string_equal(t.bytes, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_come_in_both_orders_and_each_two_balance),
		cmocka_unit_test(six_pairs_by_hand),
		cmocka_unit_test(ten_pairs_leave_eight_means_out_at_each_end),
		cmocka_unit_test(fewer_than_six_pairs_give_no_interval),
		cmocka_unit_test(the_verdict_follows_the_interval),
		cmocka_unit_test(the_pairs_asked_for_are_enough),
		cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
		cmocka_unit_test(stray_runs_do_not_move_the_middle),
		cmocka_unit_test(a_pair_that_took_no_time_says_nothing),
		cmocka_unit_test(the_largest_number_of_pairs_has_room),
		cmocka_unit_test(words_say_what_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
