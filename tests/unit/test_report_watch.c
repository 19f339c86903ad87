/* test_report_watch.c - the table of a watch's report, at any width, and what is no number in it. */
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

/* ---- the table ---- */

static void ten_functions_are_shown_and_the_rest_is_counted(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g",
					     "h", "i", "j", "k", "l", "m" };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		build_watched(&d.b, names[i]);
		build_same(&d.b, (uint32_t)i, 0, 4, &plain);
	}
	desk_open(&d);
	assert_int_equal(watch_table(&d.screen, &d.report, false), 3);
	assert_int_equal(lines_of(desk_printed(&d)), 1 + 10);
	desk_paper(&d, 80, false);
	assert_int_equal(watch_table(&d.screen, &d.report, true), 0);
	assert_has(&d, "\nm ");
}

static void frames_are_no_row_of_the_table(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	desk_open(&d);
	watch_table(&d.screen, &d.report, true);
	assert_lacks(&d, "World::tick");
	assert_has(&d, "  of all frames\n");
}

static void a_table_has_one_unit_in_which_over_has_room(void **state)
{
	static const struct build_calls longer = { .calls = 3, .ns = 800000000, .interval = 1 };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_same(&d.b, 0, 0, 40, &plain);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "   p50 µs      p99 µs ");
	desk_free(&d);

	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_watched(&d.b, "g");
	build_same(&d.b, 0, 0, 40, &plain);
	build_same(&d.b, 1, 0, 1, &longer);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "   p50 ms      p99 ms ");
	assert_has(&d, "        —    over" NBSP "794 ");
	assert_has(&d, "     0.04        0.05 ");
}

static void what_was_never_timed_has_no_number_but_its_calls(void **state)
{
	static const struct build_calls threw = { .calls = 3 }, often = { .calls = 1234567 };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "Chat::filter");
	build_watched(&d.b, "often");
	build_calls(&d.b, 0, 3, &threw);
	build_calls(&d.b, 1, 3, &often);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "\nChat::filter                    3        – (+3 calls never timed) — "
		       "not measured\n");
	assert_has(&d, "\noften                   1,234,567        – (+1,234,567 calls never timed)"
		       "    —\n");
}

static void rows_of_one_name_are_told_apart(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "tick");
	build_watched(&d.b, "tick(int)");
	build_watched(&d.b, "other");
	d.b.r.watched[0].kind = WATCHED_SCOPE;
	d.b.r.watched[1].module = (struct str)STR_LITERAL("colony");
	d.b.r.watched[2].module = (struct str)STR_LITERAL("alone");
	for (uint32_t i = 0; i < 3; i++)
		build_same(&d.b, i, 0, 4, &plain);
	desk_open(&d);
	watch_table(&d.screen, &d.report, true);
	assert_has(&d, "the scope of libtare\n");
	assert_has(&d, "the function in colony\n");
	assert_lacks(&d, "in alone");
}

static void what_is_counted_only_says_why_and_has_no_interval(void **state)
{
	static const struct build_calls counted = { .calls = 3 };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "hand_over");
	build_calls(&d.b, 0, 3, &counted);
	d.b.r.watched[0].mode =
		(struct str)STR_LITERAL("counting: it can switch stacks (co_switch)");
	d.b.r.watched[0].interval = 8;
	desk_open(&d);
	watch_table(&d.screen, &d.report, true);
	watch_details(&d.screen, &d.report, &d.report.watch->rows[0]);
	assert_has(&d, "counted only: it can switch stacks (co_switch)");
	assert_has(&d, "second");
	assert_lacks(&d, "now one in");
}

static void numbers_say_which_calls_they_are_of(void **state)
{
	static const struct build_calls threw = { .calls = 3 };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_same(&d.b, 0, 0, 10, &plain);
	build_calls(&d.b, 0, 11, &threw);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "                           8,003        8");
	assert_has(&d, "\n  numbers are of 8,000 (+3 calls never timed)\n");
}

static void what_did_not_run_is_a_measured_0(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "\nf                               0                                       "
		       "     0\n");
}

static void below_the_floor_there_is_a_bound_and_never_a_number(void **state)
{
	static const struct build_calls tiny = {
		.calls = 9000, .ns = 150, .spread_ns = 20, .interval = 8
	};
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_same(&d.b, 0, 0, 36, &tiny);
	d.b.r.watch.windows = 36;
	d.b.r.label.elapsed_ns = 36 * BUILD_WINDOW_NS;
	desk_open(&d);
	watch_table(&d.screen, &d.report, true);
	assert_has(&d, "below floor    at most 0.01" NBSP "%\n");
	assert_has(&d, "at" NBSP "most" NBSP "0.01" NBSP "% of the run");
	assert_has(&d, "total at" NBSP "most" NBSP "48.6" NBSP "ms");
	assert_has(&d, "mean  below" NBSP "floor");
	assert_has(&d, "max   below" NBSP "floor\n");
}

static void slices_slowed_calls_and_few_calls_are_said_under_the_row(void **state)
{
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	watch_kind_world(&d.b);
	d.b.r.watch.refused = 7;
	d.b.r.watch.allowed_rate = 8700;
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d,
		   "\n  in slices, 2.0" NBSP "% covered · at" NBSP "least" NBSP "400,000 a" NBSP
		   "second: its probe takes 32.0" NBSP "%\n  of the time · no "
		   "interval keeps it inside the price, which allows 8,700\n  a" NBSP "second\n");
	assert_has(&d, "\n  coarse, 16 timed\n");
}

static void calls_of_slices_have_three_digits_and_their_error(void **state)
{
	static const struct build_calls part = { .calls = 8123,
						 .ns = 40000,
						 .spread_ns = 9000,
						 .interval = 8,
						 .covered_ns = 5 * NS_PER_S };
	static const struct build_calls more = { .calls = 9123,
						 .ns = 40000,
						 .spread_ns = 9000,
						 .interval = 8,
						 .covered_ns = 5 * NS_PER_S };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	for (uint32_t at = 0; at < 40; at++)
		build_calls(&d.b, 0, at, at % 2 > 0 ? &part : &more);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "                         690,000        8");
	assert_has(&d, "% covered, ±" NBSP);
	assert_lacks(&d, "689,");
}

static void a_place_that_cannot_be_told_is_marked(void **state)
{
	static const struct build_calls caller = { .calls = 800,
						   .ns = 40000,
						   .spread_ns = 900,
						   .interval = 8,
						   .own_part = 0.1,
						   .probe_ns = 30000 };
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_same(&d.b, 0, 0, 40, &caller);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "\n  cannot rank: its place depends on what probes inside it took\n");
}

static void the_interval_is_a_span_when_it_changed(void **state)
{
	static const struct build_calls later = {
		.calls = 800, .ns = 40000, .spread_ns = 9000, .interval = 84
	};
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, "f");
	build_same(&d.b, 0, 0, 20, &plain);
	build_same(&d.b, 0, 20, 40, &later);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, "32,000     8…84 ");
}

static void a_wide_terminal_makes_names_whole_and_then_adds_numbers(void **state)
{
	static const char name[] = "a_function_with_a_name_of_forty_one_letters";
	SCOPED(desk_free) struct desk d = DESK_EMPTY;

	(void)state;
	build_watch_begin(&d.b);
	build_watched(&d.b, name);
	build_same(&d.b, 0, 0, 40, &plain);
	desk_open(&d);
	watch_table(&d.screen, &d.report, false);
	assert_lacks(&d, name);
	assert_lacks(&d, "mean");
	desk_paper(&d, 100, false);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, name);
	assert_lacks(&d, "mean");
	desk_paper(&d, 150, false);
	watch_table(&d.screen, &d.report, false);
	assert_has(&d, name);
	assert_has(&d, "          mean µs             total          max\n");
	assert_lacks(&d, "a second");
}

/* Every line of what was printed fits. */
static void assert_fits(struct desk *d, const char *what)
{
	const char *line = desk_printed(d);

	while (*line != '\0') {
		size_t len = strcspn(line, "\n");

		if (text_columns(line, len) > d->screen.columns)
			fail_msg("%s: wider than %u columns: %.*s", what, d->screen.columns,
				 (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void print_everything(struct desk *d)
{
	struct err err = ERR_EMPTY;
	char name[64];

	watch_head(&d->screen, &d->report);
	watch_table(&d->screen, &d->report, false);
	watch_table(&d->screen, &d->report, true);
	watch_frames(&d->screen, &d->report, false);
	watch_frames(&d->screen, &d->report, true);
	watch_grown(&d->screen, &d->report);
	watch_label(&d->screen, &d->report);
	for (uint32_t i = 0; i < d->b.r.watched_count; i++) {
		struct str whole = d->b.r.watched[i].name;

		snprintf(name, sizeof(name), "%.*s", (int)whole.len, whole.bytes);
		assert_int_equal(watch_over_time(&d->screen, &d->report, name, &err), 0);
	}
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	static void (*const kinds[])(struct build_watch * b) = { watch_kind_world,
								 watch_kind_nothing };

	static const unsigned widths[] = { 70, 71, 75, 79, 80, 81, 100, 131, 200 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		SCOPED(desk_free) struct desk d = DESK_EMPTY;

		kinds[k](&d.b);
		for (uint32_t i = 0; i < d.b.r.window_count; i++)
			if (d.b.r.windows[i].at > 40 && d.b.r.windows[i].at % 40 > 0)
				d.b.r.windows[i].calls += 99000000; /* wide counts too */
		desk_open(&d);
		for (size_t w = 0; w < ARRAY_LEN(widths); w++)
			for (int is_ascii = 0; is_ascii < 2; is_ascii++) {
				desk_paper(&d, widths[w], is_ascii);
				print_everything(&d);
				assert_fits(&d, is_ascii ? "ASCII" : "UTF-8");
			}
	}
}

/* ---- percentiles ---- */

static void an_open_percentile_is_its_lower_end(void **state)
{
	static const struct {
		const char *name;
		struct percentile p;
		bool is_below_floor;
		const char *want;
	} cases[] = {
		{ "its interval",
		  { 43100, 42700, 43500, true, false },
		  false,
		  "43.1" NBSP "µs" NBSP "±" NBSP "0.4" },
		{ "the upper end is open",
		  { 43100, 42700, 90000, true, true },
		  false,
		  "over" NBSP "42.7" NBSP "µs" },
		{ "both are",
		  { 43100, 0, 90000, true, true },
		  false,
		  "—" NBSP "cannot" NBSP "know" },
		{ "below the floor", { 12, 10, 14, true, false }, true, "below" NBSP "floor" },
		{ "nothing was timed", { 0 }, false, "—" NBSP "not" NBSP "measured" },
		{ "no clock tells less than a nanosecond",
		  { 380, 380, 380, true, false },
		  false,
		  "380" NBSP "ns" NBSP "±" NBSP "1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", cases[i].name);
		watch_put_percentile(&t, &cases[i].p, cases[i].is_below_floor);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_functions_are_shown_and_the_rest_is_counted),
		cmocka_unit_test(frames_are_no_row_of_the_table),
		cmocka_unit_test(a_table_has_one_unit_in_which_over_has_room),
		cmocka_unit_test(what_was_never_timed_has_no_number_but_its_calls),
		cmocka_unit_test(rows_of_one_name_are_told_apart),
		cmocka_unit_test(what_is_counted_only_says_why_and_has_no_interval),
		cmocka_unit_test(numbers_say_which_calls_they_are_of),
		cmocka_unit_test(what_did_not_run_is_a_measured_0),
		cmocka_unit_test(below_the_floor_there_is_a_bound_and_never_a_number),
		cmocka_unit_test(slices_slowed_calls_and_few_calls_are_said_under_the_row),
		cmocka_unit_test(calls_of_slices_have_three_digits_and_their_error),
		cmocka_unit_test(a_place_that_cannot_be_told_is_marked),
		cmocka_unit_test(the_interval_is_a_span_when_it_changed),
		cmocka_unit_test(a_wide_terminal_makes_names_whole_and_then_adds_numbers),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(an_open_percentile_is_its_lower_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
