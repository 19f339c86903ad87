/* test_watch_analysis.c - what a watch's rows say of each function and of all. */
#include <errno.h>
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

static void open_range(struct build_watch *b, uint64_t from_ns, uint64_t to_ns,
		       struct watch_analysis *a)
{
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, from_ns, to_ns, a, &err), 0);
}

static void open_all(struct build_watch *b, struct watch_analysis *a)
{
	open_range(b, 0, UINT64_MAX, a);
}

static const struct watched_answer *answer_of(const struct watch_analysis *a, const char *name)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].row->name.len == strlen(name) &&
		    memcmp(a->rows[i].row->name.bytes, name, strlen(name)) == 0)
			return &a->rows[i];
	fail_msg("there is no %s", name);
	return NULL;
}

static bool is_near(double value, double want, double part)
{
	if (fabs(value - want) <= part * fabs(want))
		return true;
	print_message("%.9g is not %.9g\n", value, want);
	return false;
}

/* Does the interval hold the truth, and is it no wider than `most`? */
static bool holds(struct estimate e, double truth, double most)
{
	if (e.is_known && e.has_error && fabs(e.value - truth) <= e.error && e.error <= most)
		return true;
	print_message("%.9g +- %.3g, and not %.9g\n", e.value, e.error, truth);
	return false;
}

static uint32_t add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 360, did);
	return id;
}

static void a_function_has_its_own_time_as_share_of_the_run(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls busy = {
		.calls = 1000001, .ns = 2300, .spread_ns = 500, .interval = 800, .own_part = 0.5
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "busy", &busy);
	open_all(&b, &a);

	const struct watched_answer *f = answer_of(&a, "busy");

	/* 2,300 ns less a floor of 100: 2,200 in all, 1,050 of its own. */
	assert_true(is_near(f->count.value, 360000360, 0));
	assert_true(f->count.error == 0 && f->count.has_error && f->covered == 1);
	assert_true(is_near(f->total_of_run.value, 0.22, 0.001));
	assert_true(is_near(f->share_of_run.value, 0.105, 0.001));
	assert_true(f->share_of_run.error > 0 && f->share_of_run.error < 0.001);
	assert_true(is_near(f->at_most_of_run, 0.115, 0.001));
	assert_true(is_near(a.all_of_run.value, 0.105, 0.001));
	assert_true(is_near(f->calls.mean_ns, 2200, 0.001));
	assert_true(f->p50.is_known && is_near((double)f->p50.ns, 2200, 0.1));
	assert_int_equal(a.functions, 1);
	assert_int_equal(a.floor_ps, 100000);
	assert_false(f->mean_growth.has_grown || f->p99_growth.has_grown);
}

static void a_range_is_made_of_whole_windows(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis second = WATCH_ANALYSIS_EMPTY;
	SCOPED(watch_analysis_free) struct watch_analysis one = WATCH_ANALYSIS_EMPTY;
	const struct build_calls few = { .calls = 9, .ns = 10100, .interval = 8 };
	const struct build_calls many = { .calls = 17, .ns = 20100, .interval = 16 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 180, &few);
	build_same(&b, 0, 180, 360, &many);
	open_range(&b, 1800 * NS_PER_S, UINT64_MAX, &second);
	assert_true(second.rows[0].count.value == 180 * 17);
	assert_int_equal(second.from_ns, 1800 * NS_PER_S);
	assert_int_equal(second.to_ns, 3600 * NS_PER_S);
	assert_int_equal(second.range_ns, 1800 * NS_PER_S);
	assert_true(is_near(second.rows[0].share_of_run.value, 17 * 20e3 / 10e9, 1e-9));
	assert_int_equal(second.rows[0].interval_least, 16);
	/* What touches a window has all of it. */
	open_range(&b, 1799 * NS_PER_S, 1801 * NS_PER_S, &one);
	assert_true(one.rows[0].count.value == 9 + 17);
	assert_int_equal(one.from_ns, 1790 * NS_PER_S);
	assert_int_equal(one.to_ns, 1810 * NS_PER_S);
	assert_int_equal(one.rows[0].interval_least, 8);
	assert_int_equal(one.rows[0].interval_largest, 16);
	assert_int_equal(watch_window_starts_ns(&b.r, &b.r.windows[181]), 1810 * NS_PER_S);
}

static void a_range_without_a_window_is_refused(void **state)
{
	static const struct {
		uint64_t from_ns, to_ns;
	} ranges[] = {
		{ 3600 * NS_PER_S, UINT64_MAX },
		{ 5, 5 },
		{ 20 * NS_PER_S, 10 * NS_PER_S },
		{ UINT64_MAX, UINT64_MAX },
	};
	SCOPED(build_watch_free) struct build_watch b;
	struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;

	(void)state;
	build_watch_begin(&b);
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		assert_int_equal(
			watch_analysis_open(&b.r, ranges[i].from_ns, ranges[i].to_ns, &a, &err),
			-EINVAL);
	assert_string_equal(err.msg, "cannot look at that range: no window lies in it");
}

static void merged_windows_have_their_own_starts(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls few = { .calls = 9, .ns = 10100, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	b.r.watch.windows_in_row = 4;
	for (uint32_t at = 0; at < 90; at++)
		build_calls(&b, 0, at, &few)->span_ns = 4 * BUILD_WINDOW_NS;
	for (uint32_t at = 0; at < 90; at++)
		b.r.windows[at].covered_ns = 4 * BUILD_WINDOW_NS;
	open_range(&b, 41 * NS_PER_S, 42 * NS_PER_S, &a);
	assert_int_equal(a.from_ns, 40 * NS_PER_S);
	assert_int_equal(a.to_ns, 80 * NS_PER_S);
	assert_int_equal(a.rows[0].rows, 1);
	assert_true(a.rows[0].count.value == 9);
}

static void an_unfinished_run_ends_with_its_last_window(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(watch_analysis_free) struct watch_analysis late = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 9, .ns = 10100, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "f");
	build_same(&b, 0, 0, 3, &did);
	b.r.watch.windows = 3;
	b.r.label.is_finished = false;
	b.r.label.elapsed_ns = 39 * NS_PER_S;
	open_all(&b, &a);
	assert_int_equal(a.range_ns, 30 * NS_PER_S);
	/* Windows that ended late are as long as they were. */
	for (uint32_t i = 0; i < 3; i++)
		b.r.windows[i].span_ns = b.r.windows[i].covered_ns = 12 * NS_PER_S;
	open_all(&b, &late);
	assert_int_equal(late.range_ns, 36 * NS_PER_S);
}

static void rows_stand_in_the_order_of_what_is_known_of_them(void **state)
{
	static const char *const want[] = { "large",	   "a small one", "thrown",
					    "thrown less", "at rest",	  "frame",
					    "task",	   "gone",	  "inlined" };
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls large = { .calls = 81, .ns = 90000, .interval = 8 };
	const struct build_calls small = { .calls = 81, .ns = 50000, .interval = 8 };
	const struct build_calls frames = { .calls = 200, .ns = 50000000, .interval = 1 };
	const struct build_calls thrown = { .calls = 3 }, less = { .calls = 2 };

	(void)state;
	build_watch_begin(&b);
	build_unwatched(&b, "gone", "not found");
	build_unwatched(&b, "inlined", "inlined away");
	b.r.watched[add(&b, "frame", &frames)].kind = WATCHED_FRAME;
	build_watched(&b, "at rest");
	add(&b, "thrown less", &less);
	b.r.watched[add(&b, "a small one", &small)].kind = WATCHED_SCOPE;
	add(&b, "thrown", &thrown);
	build_watched(&b, "task")->kind = WATCHED_TASK;
	/* One that is watched no more is still a function with calls. */
	b.r.watched[add(&b, "large", &large)].why_not = (struct str)STR_LITERAL("its file went");
	b.r.watched[7].kind = WATCHED_TASK;
	build_same(&b, 7, 0, 360, &(struct build_calls){ .calls = 1, .ns = 9e9, .interval = 1 });
	open_all(&b, &a);
	assert_int_equal(a.count, ARRAY_LEN(want));
	for (uint32_t i = 0; i < a.count; i++)
		assert_ptr_equal(&a.rows[i], answer_of(&a, want[i]));
	assert_int_equal(a.timed, 2);
	assert_int_equal(a.called, 4);
	assert_int_equal(a.functions, 5);
	assert_int_equal(a.watched, 7);
	assert_true(a.has_frames && a.frame == 5);
	assert_true(a.all_is_at_least);
	assert_true(a.rows[2].calls.never_timed == 3 * 360 && !a.rows[2].own_ns.is_known);
	assert_true(a.rows[2].count.value == 3 * 360 && !a.rows[2].share_of_run.is_known);
	assert_true(a.rows[4].count.value == 0 && a.rows[4].count.has_error);
}

static void shares_of_frames_are_of_all_their_time(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	/* A frame is 25 ms, half of the time; the function 5 ms of its own in each, 10 ms with callees. */
	const struct build_calls frames = { .calls = 200, .ns = 25000100, .interval = 1 };
	const struct build_calls did = {
		.calls = 200, .ns = 10000100, .interval = 1, .own_part = 0.5
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	b.r.watched[add(&b, "frame", &frames)].kind = WATCHED_FRAME;
	b.r.watch.frames = 72001; /* one began in no window */
	open_all(&b, &a);
	assert_true(is_near(a.rows[0].share_of_frame.value, 0.2, 1e-4));
	assert_true(is_near(a.rows[0].share_of_run.value, 0.1, 1e-4));
	assert_true(is_near(a.rows[0].total_of_run.value, 0.2, 1e-4));
	assert_int_equal(a.frames, 72001);
	assert_true(is_near(a.frames_ns, 1800e9, 1e-9));
}

static void without_frames_no_share_of_a_frame_is_known(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 200, .ns = 5000, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	open_all(&b, &a);
	assert_false(a.has_frames || a.rows[0].share_of_frame.is_known);
	assert_false(a.rows[0].slow_share.is_known || a.slow.unnamed.is_known);
	assert_true(a.slow.count.is_known && a.slow.count.value == 0);
}

/* ---- slices ---- */

static void slices_estimate_calls_with_their_covered_share(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis even = WATCH_ANALYSIS_EMPTY;
	SCOPED(watch_analysis_free) struct watch_analysis uneven = WATCH_ANALYSIS_EMPTY;
	struct build_calls did = {
		.calls = 30000, .ns = 1100, .interval = 100, .covered_ns = 3 * NS_PER_S
	};
	uint64_t random = 7;
	double truth = 0;

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	open_all(&b, &even);
	/* 3 of 10 s, 10,000 a second: 36 million in all, and it is the same in every window. */
	assert_true(is_near(even.rows[0].covered, 0.3, 1e-9));
	assert_true(is_near(even.rows[0].count.value, 36e6, 1e-9));
	assert_true(even.rows[0].count.has_error && even.rows[0].count.error < 1);
	assert_true(is_near(even.rows[0].share_of_run.value, 0.01, 1e-3));
	build_watch_free(&b);

	/* A rate that differs between windows leaves a doubt about the time between slices. */
	build_watch_begin(&b);
	build_watched(&b, "f");
	for (uint32_t at = 0; at < 360; at++) {
		did.calls = 1000 + gap_random(&random) % 60000;
		truth += 10.0 / 3 * 31000;
		build_calls(&b, 0, at, &did);
	}
	open_all(&b, &uneven);
	assert_true(holds(uneven.rows[0].count, truth, 0.1 * truth));
	assert_true(uneven.rows[0].count.error > 0.03 * truth);
	assert_true(uneven.rows[0].own_ns.error / uneven.rows[0].own_ns.value >=
		    uneven.rows[0].count.error / uneven.rows[0].count.value);
}

static void a_function_that_was_never_covered_is_not_known(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls none = { .covered_ns = 1 };

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &none);
	for (uint32_t i = 0; i < b.r.window_count; i++)
		b.r.windows[i].covered_ns = 0;
	open_all(&b, &a);
	assert_false(a.rows[0].count.is_known || a.rows[0].own_ns.is_known);
	assert_true(a.rows[0].covered == 0 && a.rows[0].a_second == 0);
}

/* ---- rates ---- */

static void a_rate_is_corrected_for_the_time_of_its_probe(void **state)
{
	/* What one call costs, what the calibration says of it, and how often it runs without a probe. */
	static const struct {
		double cost_ns, said_ns, truth;
	} cases[] = {
		{ 900, 900, 100000 },  { 1000, 850, 100000 }, { 800, 1000, 100000 },
		{ 5500, 5500, 15000 }, { 6500, 5500, 15000 }, { 5000, 6000, 15000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		double slowed = cases[i].truth / (1 + cases[i].truth * cases[i].cost_ns / 1e9);
		const struct build_calls did = { .calls = (uint64_t)(slowed * 10),
						 .ns = 3000,
						 .interval = 4096 };
		struct watched_row *row;

		build_watch_begin(&b);
		row = build_watched(&b, "f");
		row->untimed_ps = 200000;
		row->hook_ps = (uint64_t)(cases[i].said_ns * 1000) - 200000;
		build_same(&b, 0, 0, 360, &did);
		open_all(&b, &a);
		assert_false(a.rows[0].is_at_least);
		assert_true(is_near(a.rows[0].a_second, cases[i].truth, 0.03));
		assert_true(is_near(a.rows[0].counted_a_second, slowed, 0.001));
	}
}

/* The row has the lowest costs of all that were measured while it ran; what its calls cost on average is its charge. */
static void a_rate_is_corrected_by_what_was_charged(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 250000, .ns = 3000, .interval = 4096 };
	struct watched_row *row;

	(void)state;
	build_watch_begin(&b);
	row = build_watched(&b, "f");
	row->untimed_ps = 200000;
	row->hook_ps = 3800000;
	build_same(&b, 0, 0, 360, &did);
	row->charged_ps += row->charged_ps / 2; /* 6 us a call, and 4 by its costs */
	open_all(&b, &a);
	assert_true(is_near(a.rows[0].slowed, 0.15, 0.01));
	assert_true(is_near(a.rows[0].a_second, 29412, 0.01));
	row->charged_ps /= 3; /* not less than by the lowest */
	watch_analysis_free(&a);
	open_all(&b, &a);
	assert_true(is_near(a.rows[0].slowed, 0.1, 0.01));
}

static void a_rate_that_its_probe_holds_back_is_said_as_at_least(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	/* 2,000,000 a second of 0.5 µs; with 0.8 µs of probe 769,231, in slices of a second. */
	const struct build_calls did = {
		.calls = 769231, .ns = 600, .interval = 4096, .covered_ns = 1 * NS_PER_S
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	open_all(&b, &a);
	assert_true(a.rows[0].is_at_least);
	assert_true(is_near(a.rows[0].slowed, 0.615, 0.01));
	assert_true(is_near(a.rows[0].a_second, 769231, 1e-6));
}

static void a_rate_counts_calls_that_were_never_timed(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls thrown = { .calls = 3 };

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &thrown);
	open_all(&b, &a);
	assert_true(is_near(a.rows[0].counted_a_second, 0.3, 1e-9));
}

/* ---- ranks ---- */

static void probes_inside_calls_may_leave_the_order_unknown(void **state)
{
	/* Of "heavy" 2,100 ns a call are left; "other" takes `other_ns`; `off_ns` was taken off for each. */
	static const struct {
		uint64_t other_ns, off_ns;
		bool cannot_rank;
	} cases[] = {
		{ 2500, 0, false },    /* nothing inside */
		{ 2120, 0, false },    /* near, but that is what errors are for */
		{ 90000, 2200, true }, /* as much as what is left */
		{ 2500, 1800, true },  /* a third of 1,800 reaches 2,500 */
		{ 9000, 1800, false }, /* the other is far */
		{ 2500, 300, false },  /* a third of it is under a twentieth */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		const struct build_calls heavy = {
			.calls = 80001, .ns = 2200, .interval = 800, .probe_ns = cases[i].off_ns
		};
		const struct build_calls other = { .calls = 80001,
						   .ns = cases[i].other_ns + 100,
						   .interval = 800 };

		build_watch_begin(&b);
		add(&b, "heavy", &heavy);
		add(&b, "other", &other);
		open_all(&b, &a);
		assert_true(is_near(answer_of(&a, "heavy")->taken_off_ns,
				    (double)cases[i].off_ns * 80000 * 360, 1e-6));
		assert_int_equal(answer_of(&a, "heavy")->cannot_rank, cases[i].cannot_rank);
		assert_false(answer_of(&a, "other")->cannot_rank);
	}
}

/* ---- own time ---- */

/* Mixed calls: own time is `own` of ten tenths on average but differs from call to call and from window to window. */
static void add_mixed(struct build_watch *b, uint32_t id, uint32_t windows, uint64_t *random)
{
	for (uint32_t at = 0; at < windows; at++) {
		const struct build_calls one = { .calls = 401, .ns = 10100, .interval = 8 };
		struct window_row *w = build_calls(b, id, at, &one);

		w->weighted_own_ns = 0;
		for (uint64_t i = 0; i < w->others; i++)
			w->weighted_own_ns += 8 * (100 + gap_random(random) % 4001);
		w->first_own_ns = 100 + 2000;
	}
}

static void own_time_has_the_error_of_what_differs_between_windows(void **state)
{
	uint64_t random = 11;
	int inside = 0, of = 60;

	(void)state;
	for (int i = 0; i < of; i++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		double truth = 40 * (2000 + 400 * 2000.0);

		build_watch_begin(&b);
		build_watched(&b, "f");
		b.r.watch.windows = 40;
		b.r.label.elapsed_ns = 400 * NS_PER_S;
		add_mixed(&b, 0, 40, &random);
		open_all(&b, &a);
		assert_true(a.rows[0].own_ns.error < 0.05 * truth);
		inside += fabs(a.rows[0].own_ns.value - truth) <= a.rows[0].own_ns.error;
	}
	print_message("%d of %d intervals hold the truth\n", inside, of);
	assert_true(inside >= 54);
}

static void without_callees_own_time_is_the_total_with_its_error(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = {
		.calls = 401, .ns = 10100, .spread_ns = 3000, .interval = 8
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	open_all(&b, &a);
	assert_true(a.rows[0].own_ns.value == a.rows[0].calls.total_ns);
	assert_true(a.rows[0].own_ns.error == a.rows[0].calls.total_error_ns);
	assert_true(a.rows[0].own_ns.error > 0);
}

static void errors_of_all_functions_add_by_their_squares(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = {
		.calls = 401, .ns = 10100, .spread_ns = 3000, .interval = 8
	};

	(void)state;
	build_watch_begin(&b);
	for (int i = 0; i < 4; i++)
		add(&b, "f", &did);
	open_all(&b, &a);
	assert_true(is_near(a.all_of_run.value, 4 * a.rows[0].share_of_run.value, 1e-9));
	assert_true(is_near(a.all_of_run.error, 2 * a.rows[0].share_of_run.error, 1e-9));
	assert_true(is_near(a.all_at_most_of_run, a.all_of_run.value + a.all_of_run.error, 1e-9));
}

static void calls_under_the_floor_take_at_most_what_they_read(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls tiny = { .calls = 100001, .ns = 90, .interval = 100 };

	(void)state;
	build_watch_begin(&b);
	add(&b, "tiny", &tiny);
	open_all(&b, &a);
	assert_true(a.rows[0].share_of_run.value == 0 && a.rows[0].calls.is_below_floor);
	assert_true(a.rows[0].p50_below_floor && a.rows[0].p99_below_floor);
	assert_true(is_near(a.rows[0].at_most_of_run, 100001 * 90 / 10e9, 1e-6));
	assert_true(is_near(a.all_at_most_of_run, a.rows[0].at_most_of_run, 1e-6));
}

static void first_calls_have_a_mean_of_their_own(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls cold = {
		.calls = 401, .ns = 1100, .spread_ns = 200, .interval = 8, .first_ns = 50100
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &cold);
	open_all(&b, &a);
	assert_true(a.rows[0].first_mean_ns.value == 50000);
	assert_true(holds(a.rows[0].later_mean_ns, 1000, 20));
}

/* ---- price ---- */

static void the_price_is_own_time_and_what_was_charged(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(watch_analysis_free) struct watch_analysis told = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 1001, .ns = 5100, .interval = 8 };
	uint64_t charged_ns = 360 * (1001 * UINT64_C(800) + 126 * UINT64_C(400));

	(void)state;
	build_watch_begin(&b);
	add(&b, "f", &did);
	for (uint64_t i = 0; i < 360; i++)
		build_watch_ledger(&b, (45 + i % 11) * NS_PER_MS);
	open_all(&b, &a);
	assert_int_equal(a.spent_ns, 18 * NS_PER_S + charged_ns);
	assert_true(is_near(a.price.value, (double)a.spent_ns / 3600e9, 1e-9));
	assert_true(a.price.error > 0 && a.price.error < 0.0005);
	/* Who keeps the charge only in the label is believed too; it is not counted twice. */
	b.r.label.kernel_ns = charged_ns + NS_PER_S;
	open_all(&b, &told);
	assert_int_equal(told.spent_ns, 19 * NS_PER_S + charged_ns);
}

static void an_empty_recording_is_read(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	build_watch_begin(&b);
	b.r.watch.windows = 0;
	b.r.watch.window_ns = 0;
	b.r.label.elapsed_ns = 0;
	open_all(&b, &a);
	assert_int_equal(a.count, 0);
	assert_int_equal(a.range_ns, 0);
	assert_false(a.all_of_run.is_known || a.slow.rhythm.is_known);
	watch_analysis_free(&a);
	watch_analysis_free(&a);
}

/* Where bytes ran short: a percentile reaches to the edges of the steps that there are, not of those that there were. */
static void coarse_steps_stay_coarse_when_windows_are_added_up(void **state)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(build_watch_free) struct build_watch b;
	const struct watched_answer *f;
	const struct histogram *h;

	(void)state;
	build_watch_begin(&b);
	add(&b, "f",
	    &(struct build_calls){ .calls = 900, .ns = 40000, .spread_ns = 9, .interval = 1 });
	for (uint32_t i = 0; i < b.r.window_count; i += 2)
		histogram_coarsen(&b.r.windows[i].histogram, 5);
	open_all(&b, &a);
	f = answer_of(&a, "f");
	h = &f->pooled.histogram;
	assert_int_equal(h->coarse, 5);
	assert_int_equal(h->count, 1);
	assert_int_equal(f->p50.low_ns, bucket_low_ns(h->steps[0].at) - 100);
	assert_true(f->p50.low_ns < 33000 &&
		    f->p50.ns > 33000); /* steps of 32: 32,768 to 54,442 ns */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_own_time_as_share_of_the_run),
		cmocka_unit_test(a_range_is_made_of_whole_windows),
		cmocka_unit_test(a_range_without_a_window_is_refused),
		cmocka_unit_test(merged_windows_have_their_own_starts),
		cmocka_unit_test(an_unfinished_run_ends_with_its_last_window),
		cmocka_unit_test(rows_stand_in_the_order_of_what_is_known_of_them),
		cmocka_unit_test(shares_of_frames_are_of_all_their_time),
		cmocka_unit_test(without_frames_no_share_of_a_frame_is_known),
		cmocka_unit_test(slices_estimate_calls_with_their_covered_share),
		cmocka_unit_test(a_function_that_was_never_covered_is_not_known),
		cmocka_unit_test(a_rate_is_corrected_for_the_time_of_its_probe),
		cmocka_unit_test(a_rate_is_corrected_by_what_was_charged),
		cmocka_unit_test(a_rate_that_its_probe_holds_back_is_said_as_at_least),
		cmocka_unit_test(a_rate_counts_calls_that_were_never_timed),
		cmocka_unit_test(probes_inside_calls_may_leave_the_order_unknown),
		cmocka_unit_test(own_time_has_the_error_of_what_differs_between_windows),
		cmocka_unit_test(without_callees_own_time_is_the_total_with_its_error),
		cmocka_unit_test(errors_of_all_functions_add_by_their_squares),
		cmocka_unit_test(calls_under_the_floor_take_at_most_what_they_read),
		cmocka_unit_test(first_calls_have_a_mean_of_their_own),
		cmocka_unit_test(the_price_is_own_time_and_what_was_charged),
		cmocka_unit_test(an_empty_recording_is_read),
		cmocka_unit_test(coarse_steps_stay_coarse_when_windows_are_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
