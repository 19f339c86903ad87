/* test_report_watch_parts.c - a watch's report beside its table: the head, slow frames, windows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "report_desk.h"
#include "watch_kinds.h"

#define NBSP TEXT_NBSP

static const struct build_calls plain = {
	.calls = 800, .ns = 40000, .spread_ns = 9000, .interval = 8
};

/* ---- the head ---- */

static void a_call_with_its_hook_is_never_cheaper(void **state)
{
	static const struct {
		const char *name;
		struct watched_row row;
		struct watch_cost want;
	} cases[] = {
		{ "all measured",
		  { .untimed_ps = 200, .hook_ps = 600, .extra_ps = 400, .assumed_hook_ps = 9 },
		  { 800, 1200, 800, 1200 } },
		{ "in process there is no hook",
		  { .untimed_ps = 400, .extra_ps = 24600 },
		  { 400, 25000, 400, 25000 } },
		{ "the hook was not measured: neither was a call",
		  { .untimed_ps = 200, .extra_ps = 400, .assumed_hook_ps = 5000 },
		  { 0, 0, 5200, 5600 } },
		{ "counting was not measured",
		  { .hook_ps = 600, .extra_ps = 400, .assumed_untimed_ps = 40 },
		  { 0, 0, 640, 1040 } },
		{ "timing was not measured",
		  { .untimed_ps = 200, .hook_ps = 600, .assumed_extra_ps = 700 },
		  { 800, 0, 800, 1500 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct watch_cost cost = watch_cost(&cases[i].row);

		print_message("%s\n", cases[i].name);
		assert_memory_equal(&cost, &cases[i].want, sizeof(cost));
		assert_true(cost.untimed_ps == 0 || cost.untimed_ps >= cases[i].row.untimed_ps);
	}
}

static void a_price_says_what_kind_of_number_it_is(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	desk_open(&d);
	assert_string_equal(watch_price_bound(&d.report), "with hooks");
	d.b.r.watched[3].extra_ps = 0;
	assert_string_equal(watch_price_bound(&d.report), "partly assumed");
	for (uint32_t i = 0; i < d.b.r.watched_count; i++) {
		d.b.r.watched[i].extra_ps = 1;
		d.b.r.watched[i].hook_ps = d.b.r.watched[i].assumed_hook_ps = 0;
	}
	assert_string_equal(watch_price_bound(&d.report), "calibrated");
	d.a.spent_ns = 0;
	watch_head(&d.screen, &d.report);
	assert_has(&d, "price   — not measured; the limit is 1.00 %");
}

static void an_unmeasured_cost_is_told_with_what_is_assumed(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f")->untimed_ps = 0;
	desk_open(&d);
	watch_head(&d.screen, &d.report);
	assert_has(&d, "a call  untimed unmeasured" NBSP "(640" NBSP "ns" NBSP "assumed), timed "
		       "unmeasured" NBSP "(1,040" NBSP "ns" NBSP "assumed)\n");
	desk_free(&d);

	build_watch_begin(&d.b);
	build_watched(&d.b, "f")->untimed_ps = 0;
	build_watched(&d.b, "g")->untimed_ps = 0;
	d.b.r.watched[1].hook_ps = 4000000;
	desk_open(&d);
	watch_head(&d.screen, &d.report);
	assert_has(&d,
		   "a call  untimed unmeasured (640.0" NBSP "ns to 4,040.0" NBSP "ns assumed), ");
	desk_free(&d);

	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_watched(&d.b, "g")->hook_ps = 4000000;
	build_watched(&d.b, "h")->extra_ps = 0;
	desk_open(&d);
	watch_head(&d.screen, &d.report);
	assert_has(&d, "a call  untimed 800.0" NBSP "ns to 4,200.0" NBSP "ns, timed 1,200.0" NBSP
		       "ns to 4,600.0" NBSP "ns, some\n        unmeasured · session, nop5");
}

static void what_was_lost_is_named(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	desk_open(&d);
	watch_put_lost(&t, &d.report);
	assert_string_equal(text_chars(&t), "0");
	text_clear(&t);
	d.b.r.watch.lost_calls = 1200;
	d.b.r.watch.lost_returns = 4;
	d.b.r.watch.lost_slow = d.b.r.watch.lost_names = d.b.r.watch.torn = 1;
	d.b.r.watch.lost_places = 2;
	watch_put_lost(&t, &d.report);
	assert_string_equal(text_chars(&t),
			    "1,200" NBSP "calls, 4" NBSP "returns, 1" NBSP "slow frame, 1" NBSP
			    "name, 2" NBSP "places, 1" NBSP "torn reading");
}

static void what_is_not_watched_says_why_with_its_sign(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_nothing(&d.b);
	desk_open(&d);
	watch_head(&d.screen, &d.report);
	assert_has(&d, "rights  vfs_write ⊘ not allowed: needs CAP_PERFMON · Gpu::submit — inlined "
		       "away\n");
	assert_has(&d, "· 1 more: tare\n        report --all\n");
	assert_lacks(&d, "a call");
	desk_paper(&d, 80, false);
	assert_int_equal(watch_table(&d.screen, &d.report, false), 0);
	assert_string_equal(desk_printed(&d), "");
	watch_table(&d.screen, &d.report, true);
	assert_has(&d, "\nno_such_function — not found: no function of world is called so\n");
}

static void a_target_that_was_attached_to_tells_only_an_end_nobody_asked_for(void **state)
{
	static const struct {
		const char *ended_by, *want;
		bool is_attached, is_finished;
	} cases[] = {
		{ "interrupt", ", pid 41 on host, 1" NBSP "h\n", true, true },
		{ "detached", ", pid 41 on host, 1" NBSP "h\n", true, true },
		{ "exit", ", pid 41 on host, 1" NBSP "h, until it ended\n", true, true },
		{ "", ", pid 41 on host, 1" NBSP "h, unfinished\n", true, false },
		{ "exit", " on host, 1" NBSP "h, status 0\n", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(desk_free) struct desk d = DESK_EMPTY;

		build_watch_begin(&d.b);
		d.b.r.label.ended_by =
			(struct str){ cases[i].ended_by, (uint32_t)strlen(cases[i].ended_by) };
		d.b.r.label.is_attached = cases[i].is_attached;
		d.b.r.label.is_finished = cases[i].is_finished;
		desk_open(&d);
		watch_head(&d.screen, &d.report);
		assert_has(&d, cases[i].want);
	}
}

/* ---- slow frames ---- */

static void slow_frames_stand_longest_first_with_what_is_not_watched_last(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;
	const char *longest, *next;

	(void)state;
	watch_kind_world(&d.b);
	desk_open(&d);
	watch_frames(&d.screen, &d.report, true);
	longest = strstr(desk_printed(&d), "134" NBSP "ms");
	next = strstr(desk_printed(&d), "125" NBSP "ms");
	assert_true(longest != NULL && next != NULL && longest < next);
	assert_has(&d, "   Pathfinder::findPath" NBSP "56" NBSP "%, World::updateEntities" NBSP
		       "15" NBSP "%,\n                       Script::onMovement" NBSP "5" NBSP
		       "%, other 24" NBSP "%\n");
	assert_int_equal(lines_of(desk_printed(&d)), 5 + 23 * 2);
}

static void ten_slow_frames_are_shown_and_parts_without_room_are_counted(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	desk_open(&d);
	watch_frames(&d.screen, &d.report, false);
	assert_int_equal(lines_of(desk_printed(&d)), 5 + 10 + 1);
	assert_has(&d, "…findPath" NBSP "56" NBSP "%, …updateEntities" NBSP "15" NBSP
		       "%, 1 more, other 24" NBSP "%\n");
	assert_has(&d, "\n13 more kept: tare report --slow\n");
	assert_has(&d, "\nslices  functions in slices are in other while they are not attached\n");
}

static void frames_that_were_not_slow_are_a_measured_0(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	d.b.r.slow_count = d.b.r.slow_part_count = 0;
	d.b.r.watch.slow = 0;
	desk_open(&d);
	watch_frames(&d.screen, &d.report, false);
	assert_has(&d, "frames  No frame over 50" NBSP "ms in 86,400. That is a measured 0.\n");
	assert_lacks(&d, "largest parts");
	assert_lacks(&d, "rhythm");
	d.b.r.watch.slow_ns = 0;
	watch_frames(&d.screen, &d.report, false);
	assert_has(&d, "frames  86,400" NBSP "frames; which are slow was not asked for.\n");
}

static void slow_frames_beyond_those_kept_are_counted(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	d.b.r.watch.slow = 4000;
	desk_open(&d);
	watch_frames(&d.screen, &d.report, false);
	assert_has(&d, "frames  4,000 of 86,400" NBSP "frames took 50" NBSP
		       "ms or longer; 23 of them are kept: the\n        worst, and others by "
		       "chance.\n");
}

/* ---- windows ---- */

static void open_windows(struct desk *d, const char *name, int want)
{
	struct err err = ERR_EMPTY;

	assert_int_equal(watch_over_time(&d->screen, &d->report, name, &err), want);
	assert_int_equal(err.code, want);
}

static void a_pause_is_a_measured_0_and_what_was_not_watched_is_none(void **state)
{
	static const struct build_calls part = { .calls = 800,
						 .ns = 40000,
						 .spread_ns = 9000,
						 .interval = 8,
						 .covered_ns = 5 * NS_PER_S };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	d.b.r.watch.windows = 20;
	build_watched(&d.b, "f");
	build_calls(&d.b, 0, 3, &plain);
	build_calls(&d.b, 0, 4, &part);
	build_calls(&d.b, 0, 5, &part);
	d.b.r.windows[2].calls = d.b.r.windows[2].covered_ns = 0;
	desk_open(&d);
	open_windows(&d, "f", 0);
	assert_has(&d, "\n03:20:00             0   did not run, 3 windows\n");
	assert_has(&d, "\n03:20:30           800       100       8           40 ±" NBSP "3");
	assert_has(&d, "\n03:20:40         1,600       100       8 ");
	assert_has(&d, "\n03:20:50 — not watched\n");
	assert_has(&d, "\n03:21:00             0   did not run, 14 windows\n");
}

static void a_function_is_found_by_its_whole_name_before_a_part_of_one(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "run(int)");
	build_watched(&d.b, "rerun(int)");
	build_watched(&d.b, "rerun(long)");
	build_watched(&d.b, "walk");
	desk_open(&d);
	open_windows(&d, "run", 0);
	assert_has(&d, "\nrun ");
	assert_lacks(&d, "\nrerun ");
	desk_paper(&d, 80, false);
	open_windows(&d, "rerun", 0);
	assert_has(&d, "\nrerun ");
	assert_int_equal(lines_of(desk_printed(&d)), 2 * (2 + 1 + 2) + 1);
	open_windows(&d, "wal", 0);
	open_windows(&d, "un", -EINVAL);
	open_windows(&d, "jump", -ENOENT);
}

static void a_run_of_days_has_dates(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	watch_put_second(&t, &d.b.r.label, 61 * NS_PER_S);
	assert_string_equal(text_chars(&t), "03:21:01");
	text_clear(&t);
	d.b.r.label.elapsed_ns = 24 * 3600 * NS_PER_S;
	watch_put_second(&t, &d.b.r.label, 61 * NS_PER_S);
	assert_string_equal(text_chars(&t), "11-28 03:21:01");
	text_clear(&t);
	watch_put_second(&t, &d.b.r.label, UINT64_MAX);
	assert_int_equal(t.len, 14);
	desk_open(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_with_its_hook_is_never_cheaper),
		cmocka_unit_test(a_price_says_what_kind_of_number_it_is),
		cmocka_unit_test(an_unmeasured_cost_is_told_with_what_is_assumed),
		cmocka_unit_test(what_was_lost_is_named),
		cmocka_unit_test(what_is_not_watched_says_why_with_its_sign),
		cmocka_unit_test(a_target_that_was_attached_to_tells_only_an_end_nobody_asked_for),
		cmocka_unit_test(slow_frames_stand_longest_first_with_what_is_not_watched_last),
		cmocka_unit_test(ten_slow_frames_are_shown_and_parts_without_room_are_counted),
		cmocka_unit_test(frames_that_were_not_slow_are_a_measured_0),
		cmocka_unit_test(slow_frames_beyond_those_kept_are_counted),
		cmocka_unit_test(a_pause_is_a_measured_0_and_what_was_not_watched_is_none),
		cmocka_unit_test(a_function_is_found_by_its_whole_name_before_a_part_of_one),
		cmocka_unit_test(a_run_of_days_has_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
