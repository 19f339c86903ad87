/* test_stats.c - how sure a share is, against runs whose truth is known. Seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/stats.h"

#define RUNS	    2000u
#define MAX_BATCHES 32u
#define PERIOD_NS   UINT64_C(10000000)

static const double shares[] = { .5, .3, .2, .05 };

/* splitmix64: good enough to draw samples, and not the generator under test elsewhere. */
static double draw(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* A program whose samples are in a place of share `p`, each the same as the one before with probability `sticky`.
 * Batch b has samples[b] of them, each of weight[b] periods. */
struct program {
	double p, sticky;
	size_t batches;
	unsigned samples[MAX_BATCHES];
	uint64_t weight[MAX_BATCHES];
};

static struct program even_program(double p, double sticky, size_t batches, unsigned samples)
{
	struct program program = { .p = p, .sticky = sticky, .batches = batches };

	for (size_t b = 0; b < batches; b++) {
		program.samples[b] = samples;
		program.weight[b] = 1;
	}
	return program;
}

static struct share run_once(const struct program *program, uint64_t *seed)
{
	uint64_t part[MAX_BATCHES] = { 0 }, whole[MAX_BATCHES] = { 0 }, kept = 0, hits = 0;
	bool is_in = draw(seed) < program->p;

	for (size_t b = 0; b < program->batches; b++)
		for (unsigned i = 0; i < program->samples[b]; i++) {
			if (program->sticky == 0 || draw(seed) >= program->sticky)
				is_in = draw(seed) < program->p;
			whole[b] += program->weight[b] * PERIOD_NS;
			part[b] += is_in ? program->weight[b] * PERIOD_NS : 0;
			hits += is_in;
			kept++;
		}
	return stats_share(part, whole, program->batches, hits, kept);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Part of RUNS intervals that hold the truth, and the median half width. */
struct outcome {
	double held, width;
};

static struct outcome run_often(const struct program *program)
{
	static double widths[RUNS];
	unsigned held = 0;
	uint64_t seed = 20261129;

	for (unsigned run = 0; run < RUNS; run++) {
		struct share share = run_once(program, &seed);

		held += fabs(share.value - program->p) <= share.error;
		widths[run] = share.error;
	}
	qsort(widths, RUNS, sizeof(widths[0]), by_size);
	return (struct outcome){ (double)held / RUNS, widths[RUNS / 2] };
}

static double theory(double p, double n)
{
	return 1.959964 * sqrt(p * (1 - p) / n);
}

static void the_interval_holds_95_times_in_100_and_is_no_wider_than_it_must_be(void **state)
{
	static const size_t batches[] = { 16, 23, 32 };

	(void)state;
	for (size_t b = 0; b < ARRAY_LEN(batches); b++)
		for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
			unsigned samples = (unsigned)(1600 / batches[b]);
			struct program program = even_program(shares[i], 0, batches[b], samples);
			struct outcome got = run_often(&program);
			double n = (double)samples * (double)batches[b];
			double wide = got.width / theory(shares[i], n);

			print_message("%2zu batches, %.2f: held %.4f, width %.3f of theory\n",
				      batches[b], shares[i], got.held, wide);
			assert_true(got.held >= .93 && got.held <= .975);
			assert_true(wide >= .97 && wide <= 1.15);
		}
}

static void samples_that_follow_one_another_widen_the_interval(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct program program = even_program(shares[i], .8, 32, 100);
		struct outcome got = run_often(&program);
		double wide = got.width / theory(shares[i], 3200);

		print_message("%.2f: held %.4f, width %.3f of theory\n", shares[i], got.held, wide);
		assert_true(got.held >= .92 && got.held <= .975);
		assert_true(wide >= 2.7 && wide <= 3.3); /* sqrt((1 + .8) / (1 - .8)) = 3 */
	}
}

static void a_long_run_of_which_less_and_less_is_kept_is_judged_right(void **state)
{
	struct program program = even_program(0, 0, 32, 0);

	(void)state;
	/* one in D kept, D doubling with the length of the run: 640 ticks a batch */
	for (size_t b = 0; b < 32; b++) {
		program.weight[b] = b < 2 ? 1 : b < 4 ? 2 : b < 8 ? 4 : b < 16 ? 8 : 16;
		program.samples[b] = (unsigned)(640 / program.weight[b]);
	}
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		program.p = shares[i];
		struct outcome got = run_often(&program);

		print_message("%.2f: held %.4f, width %.4f\n", shares[i], got.held, got.width);
		assert_true(got.held >= .93 && got.held <= .975);
	}
}

static void a_run_with_nearly_all_its_weight_in_one_batch_is_judged_right(void **state)
{
	struct program program = even_program(0, 0, 32, 4);

	(void)state;
	program.samples[7] = 2000;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		program.p = shares[i];
		struct outcome got = run_often(&program);

		print_message("%.2f: held %.4f, width %.4f\n", shares[i], got.held, got.width);
		assert_true(got.held >= .93);
		assert_true(got.width < .2);
	}
}

static void a_rare_place_never_shows_a_collapsed_interval(void **state)
{
	static const double rare[] = { .01, .003, .001 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rare); i++) {
		struct program program = even_program(rare[i], 0, 32, 50);
		struct outcome got = run_often(&program);

		print_message("%.3f: held %.4f, width %.5f\n", rare[i], got.held, got.width);
		assert_true(got.held >= .93);
		assert_true(got.width <= 2.8 * theory(rare[i], 1600));
	}
}

static void even_spread_by_chance_is_no_certainty(void **state)
{
	uint64_t part[32], whole[32];

	(void)state;
	for (size_t b = 0; b < 32; b++) {
		part[b] = 1;
		whole[b] = 10;
	}
	struct share share = stats_share(part, whole, 32, 32, 320);
	assert_float_equal(share.value, .1, 1e-12);
	assert_true(share.error >= theory(.1, 320));
	assert_true(share.error <= 1.1 * theory(.1, 320));
}

/* One case by hand: two batches of weight 100, 60 and 40 in the part: residuals +-10, variance 2 x 100 / .5 / 200^2. */
static void two_batches_by_hand(void **state)
{
	static const uint64_t part[] = { 60, 40 }, whole[] = { 100, 100 };
	struct share share = stats_share(part, whole, 2, 100000, 200000);

	(void)state;
	assert_float_equal(share.value, .5, 1e-12);
	assert_float_equal(share.error, 12.7062 * .1, 1); /* clamped */
	assert_float_equal(share.error, 1, 1e-12);
	assert_int_equal(share.kept, 100000);
}

/* Four batches of 100 with 52, 50, 49, 49: residuals 2, 0, -1, -1; variance 6 / .75 / 400^2; t of 3. */
static void four_batches_by_hand(void **state)
{
	static const uint64_t part[] = { 52, 50, 49, 49 }, whole[] = { 100, 100, 100, 100 };
	struct share share = stats_share(part, whole, 4, 100000, 200000);

	(void)state;
	assert_float_equal(share.error, 3.1824 * sqrt(8) / 400, 1e-9);
}

static void empty_batches_say_nothing_wherever_they_are(void **state)
{
	static const uint64_t part[] = { 0, 52, 0, 50, 49, 0, 49, 0, 0 };
	static const uint64_t whole[] = { 0, 100, 0, 100, 100, 0, 100, 0, 0 };
	struct share share = stats_share(part, whole, ARRAY_LEN(part), 100000, 200000);

	(void)state;
	assert_float_equal(share.error, 3.1824 * sqrt(8) / 400, 1e-9);
}

static void only_the_batches_in_use_count(void **state)
{
	static const uint64_t part[] = { 52, 50, 49, 49, 0 }, whole[] = { 100, 100, 100, 100, 900 };

	(void)state;
	assert_float_equal(stats_share(part, whole, 4, 1, 200000).value, .5, 1e-12);
}

static void nothing_and_everything_are_never_claimed_to_be_certain(void **state)
{
	static const uint64_t none[8] = { 0 }, all[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	struct share absent = stats_share(none, all, 8, 0, 600);
	struct share whole = stats_share(all, all, 8, 600, 600);

	(void)state;
	assert_float_equal(absent.value, 0, 0);
	assert_float_equal(absent.error, 3.0 / 600, 1e-12);
	assert_float_equal(whole.value, 1, 0);
	assert_float_equal(whole.error, 3.0 / 600, 1e-12);
}

static void what_cannot_be_known_is_not_made_up(void **state)
{
	static const uint64_t none[4] = { 0 }, one[4] = { 0, 5, 0, 0 }, all[4] = { 9, 9, 9, 9 };
	static const struct {
		const char *name;
		const uint64_t *part, *whole;
		size_t batches;
		uint64_t kept;
		double want_value;
	} cases[] = {
		{ "no weight", none, none, 4, 0, 0 },
		{ "no batches", all, all, 0, 10, 0 },
		{ "one batch", one, one, 4, 1000, 1 },
		{ "one batch in use", one, all, 1, 1000, 0 },
		{ "no samples", one, all, 4, 0, 5.0 / 36 },
		{ "one sample", one, all, 4, 1, 5.0 / 36 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct share share = stats_share(cases[i].part, cases[i].whole, cases[i].batches, 0,
						 cases[i].kept);

		print_message("%s\n", cases[i].name);
		assert_float_equal(share.value, cases[i].want_value, 1e-12);
		assert_true(share.error >= .4 && share.error <= 1);
		if (cases[i].kept != 1)
			assert_float_equal(share.error, 1, 0);
	}
}

static void a_part_over_its_whole_is_still_a_share(void **state)
{
	static const uint64_t part[] = { 20, 20 }, whole[] = { 10, 10 };
	struct share share = stats_share(part, whole, 2, 5, 500);

	(void)state;
	assert_float_equal(share.value, 1, 0);
	assert_true(share.error > 0 && share.error <= 1);
}

static void fewer_than_100_samples_in_the_range_are_coarse(void **state)
{
	static const uint64_t part[] = { 5, 5 }, whole[] = { 10, 10 };

	(void)state;
	assert_true(stats_share(part, whole, 2, 50, 99).is_coarse);
	assert_false(stats_share(part, whole, 2, 50, 100).is_coarse);
}

/* ---- what is sampled: judged within each batch ---- */

/* One run of which batch b spends `p[b]` of its time in the part. Returns the share; *out_truth is the run's own. */
static struct share sample_once(const double *p, const struct program *program, uint64_t *seed,
				double *out_truth)
{
	uint64_t part[MAX_BATCHES] = { 0 }, whole[MAX_BATCHES] = { 0 }, kept[MAX_BATCHES] = { 0 },
		 hits = 0;
	double inside = 0, all = 0;

	for (size_t b = 0; b < program->batches; b++) {
		uint64_t each = program->weight[b] * PERIOD_NS;

		for (unsigned i = 0; i < program->samples[b]; i++) {
			bool is_in = draw(seed) < p[b];

			part[b] += is_in ? each : 0;
			hits += is_in;
		}
		whole[b] = program->samples[b] * each;
		kept[b] = program->samples[b];
		inside += p[b] * (double)whole[b];
		all += (double)whole[b];
	}
	*out_truth = inside / all;
	return stats_sampled_share(part, whole, kept, program->batches, hits);
}

static struct outcome sample_often(const double *p, const struct program *program)
{
	static double widths[RUNS];
	unsigned held = 0;
	uint64_t seed = 20261130;

	for (unsigned run = 0; run < RUNS; run++) {
		double truth;
		struct share share = sample_once(p, program, &seed, &truth);

		held += fabs(share.value - truth) <= share.error;
		widths[run] = share.error;
	}
	qsort(widths, RUNS, sizeof(widths[0]), by_size);
	return (struct outcome){ (double)held / RUNS, widths[RUNS / 2] };
}

static void a_steady_mix_is_judged_as_independent_samples_would_be(void **state)
{
	static const size_t batches[] = { 4, 16, 23, 32 };
	static const unsigned all[] = { 200, 1600 };

	(void)state;
	for (size_t b = 0; b < ARRAY_LEN(batches); b++)
		for (size_t i = 0; i < ARRAY_LEN(shares) * ARRAY_LEN(all); i++) {
			double share = shares[i / 2], p[MAX_BATCHES];
			unsigned samples = (unsigned)(all[i % 2] / batches[b]);
			struct program program = even_program(share, 0, batches[b], samples);

			for (size_t k = 0; k < MAX_BATCHES; k++)
				p[k] = share;
			struct outcome got = sample_often(p, &program);
			double wide =
				got.width / theory(share, (double)samples * (double)batches[b]);

			print_message(
				"%2zu batches of %3u, %.2f: held %.4f, width %.3f of theory\n",
				batches[b], samples, share, got.held, wide);
			assert_true(got.held >= .93 && got.held <= .99);
			assert_true(wide >= .97 && wide <= 1.25);
		}
}

static void a_phase_is_no_error(void **state)
{
	/* First one thing, then another, then a mix: 5,000 samples, of which a third is certain either way. */
	struct program program = even_program(0, 0, 30, 166);
	double p[MAX_BATCHES];

	(void)state;
	for (size_t b = 0; b < 30; b++)
		p[b] = b < 10 ? 1 : b < 20 ? 0 : .5;
	struct outcome got = sample_often(p, &program);

	print_message("held %.4f, half width %.4f\n", got.held, got.width);
	assert_true(got.held >= .95);
	assert_true(got.width <= theory(.5, 4980));	/* never more than a steady mix has */
	assert_true(got.width >= theory(.5, 1660) / 3); /* never less than its mixed third has */
}

static void samples_that_weigh_more_count_more(void **state)
{
	struct program program = even_program(0, 0, 32, 0);
	double p[MAX_BATCHES];

	(void)state;
	/* one in D kept, D doubling with the length of the run: 640 ticks a batch */
	for (size_t b = 0; b < 32; b++) {
		program.weight[b] = b < 2 ? 1 : b < 4 ? 2 : b < 8 ? 4 : b < 16 ? 8 : 16;
		program.samples[b] = (unsigned)(640 / program.weight[b]);
	}
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		for (size_t b = 0; b < 32; b++)
			p[b] = shares[i];
		struct outcome got = sample_often(p, &program);

		print_message("%.2f: held %.4f, width %.4f\n", shares[i], got.held, got.width);
		assert_true(got.held >= .935 && got.held <= .975);
	}
}

static void few_samples_never_look_certain(void **state)
{
	static const double rare[] = { .01, .003, .001 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rare); i++) {
		struct program program = even_program(rare[i], 0, 32, 50);
		double p[MAX_BATCHES];

		for (size_t b = 0; b < 32; b++)
			p[b] = rare[i];
		struct outcome got = sample_often(p, &program);

		print_message("%.3f: held %.4f, width %.5f\n", rare[i], got.held, got.width);
		assert_true(got.held >= .93);
		assert_true(got.width <= 2.8 * theory(rare[i], 1600));
	}
}

static void a_sampled_share_without_samples_is_not_known(void **state)
{
	static const uint64_t none[4] = { 0 }, part[4] = { 5, 0, 0, 0 }, all[4] = { 9, 9, 9, 9 },
			      kept[4] = { 30, 30, 30, 30 };

	(void)state;
	assert_float_equal(stats_sampled_share(part, none, kept, 4, 0).error, 1, 0);
	assert_float_equal(stats_sampled_share(part, all, none, 4, 0).error, 1, 0);
	assert_float_equal(stats_sampled_share(none, all, kept, 4, 0).error, 3.0 / 120, 1e-12);
	assert_float_equal(stats_sampled_share(all, all, kept, 4, 120).error, 3.0 / 120, 1e-12);
	assert_float_equal(stats_sampled_share(all, part, kept, 4, 120).value, 1, 0);
	assert_true(stats_sampled_share(part, all, kept, 3, 1).is_coarse);
	assert_false(stats_sampled_share(part, all, kept, 4, 1).is_coarse);
}

/* Weight without a sample of its own is judged with the samples beside it, wherever it is. */
static void a_batch_without_samples_joins_its_neighbour(void **state)
{
	static const uint64_t part[5] = { 50, 100, 50, 100, 50 },
			      whole[5] = { 100, 200, 100, 200, 100 };
	static const uint64_t kept[5] = { 0, 500, 0, 500, 0 };
	static const uint64_t joined_part[2] = { 150, 200 }, joined_whole[2] = { 300, 400 };
	static const uint64_t joined_kept[2] = { 500, 500 };

	(void)state;
	assert_float_equal(
		stats_sampled_share(part, whole, kept, 5, 500).error,
		stats_sampled_share(joined_part, joined_whole, joined_kept, 2, 500).error, 1e-12);
}

/* P(|T| <= t) by integrating the density: Simpson's rule over 4,000 steps. */
static double inside(double t, double df)
{
	double scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * acos(-1)), sum = 0;

	for (int i = 0; i <= 4000; i++) {
		double x = t * i / 4000;
		int times = i == 0 || i == 4000 ? 1 : i % 2 == 1 ? 4 : 2;

		sum += times * pow(1 + x * x / df, -(df + 1) / 2);
	}
	return 2 * scale * sum * t / 4000 / 3;
}

static void students_t_holds_95_in_100_for_every_df(void **state)
{
	(void)state;
	assert_true(isinf(stats_t95(0)));
	for (size_t df = 1; df < 200; df++)
		assert_float_equal(inside(stats_t95(df), (double)df), .95, 5e-6);
	assert_float_equal(stats_t95(1000000), 1.959964, 1e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_interval_holds_95_times_in_100_and_is_no_wider_than_it_must_be),
		cmocka_unit_test(samples_that_follow_one_another_widen_the_interval),
		cmocka_unit_test(a_long_run_of_which_less_and_less_is_kept_is_judged_right),
		cmocka_unit_test(a_run_with_nearly_all_its_weight_in_one_batch_is_judged_right),
		cmocka_unit_test(a_rare_place_never_shows_a_collapsed_interval),
		cmocka_unit_test(even_spread_by_chance_is_no_certainty),
		cmocka_unit_test(two_batches_by_hand),
		cmocka_unit_test(four_batches_by_hand),
		cmocka_unit_test(empty_batches_say_nothing_wherever_they_are),
		cmocka_unit_test(only_the_batches_in_use_count),
		cmocka_unit_test(nothing_and_everything_are_never_claimed_to_be_certain),
		cmocka_unit_test(what_cannot_be_known_is_not_made_up),
		cmocka_unit_test(a_part_over_its_whole_is_still_a_share),
		cmocka_unit_test(fewer_than_100_samples_in_the_range_are_coarse),
		cmocka_unit_test(a_steady_mix_is_judged_as_independent_samples_would_be),
		cmocka_unit_test(a_phase_is_no_error),
		cmocka_unit_test(samples_that_weigh_more_count_more),
		cmocka_unit_test(few_samples_never_look_certain),
		cmocka_unit_test(a_sampled_share_without_samples_is_not_known),
		cmocka_unit_test(a_batch_without_samples_joins_its_neighbour),
		cmocka_unit_test(students_t_holds_95_in_100_for_every_df),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
