/* test_watch_growth.c - what grew over the run, where, and what only looks like it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_analysis.h"
#include "core/watch_parts.h"

static void open_all(struct build_watch *b, struct watch_analysis *a)
{
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, 0, UINT64_MAX, a, &err), 0);
}

static bool is_near(double value, double want, double off)
{
	if (fabs(value - want) <= off)
		return true;
	print_message("%.9g is not %.9g\n", value, want);
	return false;
}

/* 1,601 calls of 10 µs ± 2 µs, a fiftieth of them longer. */
static struct build_calls calm(void)
{
	return (struct build_calls){
		.calls = 1601, .ns = 10100, .spread_ns = 2000, .interval = 8, .tail_ns = 700100
	};
}

static void a_step_of_p99_is_found_where_it_is(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = calm();

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 200, &did);
	did.tail_ns = 2400100;
	build_same(&b, 0, 200, 360, &did);
	open_all(&b, &a);

	const struct growth *g = &a.rows[0].p99_growth;

	assert_true(g->has_grown && g->is_step);
	assert_int_equal(g->at_ns, 2000 * NS_PER_S);
	assert_true(is_near(g->from_ns, 700e3, 15e3));
	assert_true(is_near(g->to_ns, 2400e3, 50e3));
	assert_true(g->error_ns > 0 && g->error_ns < 100e3);
}

static void a_step_of_the_mean_is_found_where_it_is(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = { .calls = 801, .ns = 10100, .spread_ns = 2000, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 90, &did);
	did.ns = 15100;
	build_same(&b, 0, 90, 360, &did);
	open_all(&b, &a);

	const struct growth *g = &a.rows[0].mean_growth;

	/* Before and after, also where the step lies within the first third. */
	assert_true(g->has_grown && g->is_step);
	assert_int_equal(g->at_ns, 900 * NS_PER_S);
	assert_true(is_near(g->from_ns, 10000, 100) && is_near(g->to_ns, 15000, 150));
	assert_true(a.rows[0].p99_growth.has_grown);
}

static void what_grows_little_by_little_is_no_step(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = { .calls = 801, .spread_ns = 2000, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	for (uint32_t at = 0; at < 360; at++) {
		did.ns = 10100 + at * 100;
		build_calls(&b, 0, at, &did);
	}
	open_all(&b, &a);

	const struct growth *g = &a.rows[0].mean_growth;

	/* The first and the last third. */
	assert_true(g->has_grown && !g->is_step);
	assert_true(is_near(g->from_ns, 16000, 150) && is_near(g->to_ns, 40000, 200));
	assert_true(is_near((double)g->at_ns, 1800e9, 1e9));
	g = &a.rows[0].p99_growth;
	assert_true(g->has_grown && !g->is_step);
}

static void what_stays_shrinks_or_grows_by_less_than_a_fifth_has_not_grown(void **state)
{
	static const uint64_t last_ns[] = { 10100, 5100, 11900 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(last_ns); i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		struct build_calls did = { .calls = 401, .ns = 10100, .interval = 8 };

		build_watch_begin(&b);
		build_watched(&b, "f");
		build_same(&b, 0, 0, 180, &did);
		did.ns = last_ns[i];
		build_same(&b, 0, 180, 360, &did);
		open_all(&b, &a);
		assert_false(a.rows[0].mean_growth.has_grown || a.rows[0].p99_growth.has_grown);
	}
}

static void eight_windows_are_too_few(void **state)
{
	(void)state;
	for (uint32_t windows = 8; windows <= 9; windows++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		struct build_calls did = { .calls = 4001, .ns = 10100, .interval = 8 };

		build_watch_begin(&b);
		build_watched(&b, "f");
		build_same(&b, 0, 0, windows / 2, &did);
		did.ns = 90100;
		build_same(&b, 0, windows / 2, windows, &did);
		open_all(&b, &a);
		assert_int_equal(a.rows[0].mean_growth.has_grown, windows == 9);
	}
}

static void windows_without_timed_calls_are_left_out(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = { .calls = 801, .ns = 10100, .interval = 8 };
	const struct build_calls thrown = { .calls = 3 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	for (uint32_t at = 0; at < 60; at++) {
		did.ns = at < 30 ? 10100 : 40100;
		build_calls(&b, 0, at, at % 3 == 0 ? &thrown : &did);
	}
	open_all(&b, &a);
	assert_true(a.rows[0].mean_growth.has_grown && a.rows[0].mean_growth.is_step);
	assert_int_equal(a.rows[0].mean_growth.at_ns, 310 * NS_PER_S);
}

static void calls_under_the_floor_do_not_grow(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = { .calls = 801, .ns = 110, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 180, &did);
	did.ns = 180;
	build_same(&b, 0, 180, 360, &did);
	open_all(&b, &a);
	assert_false(a.rows[0].mean_growth.has_grown || a.rows[0].p99_growth.has_grown);
}

static void a_p99_whose_upper_end_is_open_has_not_grown(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = { .calls = 17, .ns = 10100, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 180, &did);
	did.ns = 40100;
	build_same(&b, 0, 180, 360, &did);
	open_all(&b, &a);
	/* 120 windows of two and a first: 270 independent ones, and 99 % of 367 are needed. */
	assert_true(a.rows[0].mean_growth.has_grown);
	assert_false(a.rows[0].p99_growth.has_grown);
}

/* Each window of each function has its own mean, up to twice another's: nothing grows, whatever the calls allow. */
static void windows_that_differ_by_chance_do_not_grow(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	uint64_t random = 5;
	uint32_t grown = 0, by_calls_alone = 0;

	(void)state;
	build_watch_begin(&b);
	b.r.watch.windows = 12;
	b.r.label.elapsed_ns = 120 * NS_PER_S;
	for (uint32_t id = 0; id < 1000; id++) {
		double mean[2] = { 0 };

		build_watched(&b, "f");
		for (uint32_t at = 0; at < 12; at++) {
			struct build_calls did = { .calls = 161,
						   .ns = 10000 + gap_random(&random) % 20000,
						   .interval = 8 };

			build_calls(&b, id, at, &did);
			if (at < 4 || at >= 8)
				mean[at / 6] += (double)did.ns / 4;
		}
		by_calls_alone += mean[1] > 1.2 * mean[0];
	}
	open_all(&b, &a);
	for (uint32_t i = 0; i < a.count; i++)
		grown += a.rows[i].mean_growth.has_grown;
	/* One in twenty recordings may have one; that of this seed has none. */
	assert_true(by_calls_alone > 100);
	assert_int_equal(grown, 0);
}

static void quantiles_of_t_are_those_of_the_tables(void **state)
{
	static const struct {
		double df, alpha, want;
	} cases[] = {
		{ 1, 0.05, 12.706 },	{ 1, 0.0001, 6366.2 },	{ 2, 0.05, 4.3027 },
		{ 2, 0.001, 31.599 },	{ 3, 0.05, 3.1824 },	{ 3, 0.001, 12.924 },
		{ 5, 0.0001, 11.178 },	{ 10, 0.001, 4.5869 },	{ 30, 0.05, 2.0423 },
		{ 30, 0.0001, 4.4824 }, { 120, 0.001, 3.3735 }, { 100000, 0.0001, 3.8906 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_true(is_near(watch_quantile_t(cases[i].df, cases[i].alpha), cases[i].want,
				    2e-3 * cases[i].want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_of_p99_is_found_where_it_is),
		cmocka_unit_test(a_step_of_the_mean_is_found_where_it_is),
		cmocka_unit_test(what_grows_little_by_little_is_no_step),
		cmocka_unit_test(what_stays_shrinks_or_grows_by_less_than_a_fifth_has_not_grown),
		cmocka_unit_test(eight_windows_are_too_few),
		cmocka_unit_test(windows_without_timed_calls_are_left_out),
		cmocka_unit_test(calls_under_the_floor_do_not_grow),
		cmocka_unit_test(a_p99_whose_upper_end_is_open_has_not_grown),
		cmocka_unit_test(windows_that_differ_by_chance_do_not_grow),
		cmocka_unit_test(quantiles_of_t_are_those_of_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
