/* test_known.c - an issue of an old version is said when the recording's own rows show it, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/known.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_findings.h"

/* A made-up issue: up to 0.4 the charge left the hook out, and a slow frame that was open at the end of a window was counted
 * in no row. So a function's part of one slow frame may be more than all its rows together: that proves it too. */
static enum known_verdict judge_cost(const struct recording *r)
{
	for (uint32_t i = 0; i < r->slow_part_count; i++) {
		uint32_t count;
		const struct window_row *w = watch_windows(r, r->slow_parts[i].watched, &count);
		uint64_t all_ns = 0;

		for (uint32_t k = 0; k < count; k++)
			all_ns += w[k].first_ns + w[k].weighted_ns;
		if (known_is_understated((double)all_ns, 0, (double)r->slow_parts[i].own_ns))
			return KNOWN_PROVEN;
	}
	return known_charge(r);
}

static const struct known_issue cost = {
	.id = "cost_understated",
	.fixed_in = "0.4.0",
	.judge = judge_cost,
	.proven = "What watching cost is understated",
	.possible = "What watching cost may be understated",
};

static const struct build_calls did = { .calls = 1001, .ns = 5100, .interval = 8 };

/* Four functions of which each call was charged with `ps` picoseconds. */
static void charge(struct build_watch *b, uint64_t ps)
{
	for (uint32_t i = 0; i < b->r.watched_count; i++)
		b->r.watched[i].charged_ps = 1001 * 20 * ps;
}

static void begin(struct build_watch *b, const char *version)
{
	build_watch_begin(b);
	b->r.label.tare_version = (struct str){ version, (uint32_t)strlen(version) };
	for (uint32_t i = 0; i < 4; i++) {
		build_watched(b, "f");
		build_same(b, i, 0, 20, &did);
	}
}

static void many_rows(struct build_watch *b)
{
	charge(b, 200000); /* 0.2 of 0.8 µs */
}

static void one_row_of_many(struct build_watch *b)
{
	b->r.watched[2].charged_ps = 1001 * 20 * UINT64_C(200000);
}

static void one_slow_frame(struct build_watch *b)
{
	build_slow(b, 3, 500 * NS_PER_MS);
	build_part(b, 1, 400 * NS_PER_MS);
}

static void a_slow_frame_that_fits(struct build_watch *b)
{
	build_slow(b, 3, 500 * NS_PER_MS);
	build_part(b, 1, 90 * NS_PER_MS);
}

static void a_guess(struct build_watch *b)
{
	for (uint32_t i = 0; i < 4; i++)
		b->r.watched[i].untimed_ps = b->r.watched[i].hook_ps = 0;
	charge(b, 40000);
}

static void no_calls(struct build_watch *b)
{
	charge(b, 0);
	for (uint32_t i = 0; i < b->r.window_count; i++)
		histogram_free(&b->r.windows[i].histogram);
	b->r.window_count = 0;
}

static void the_label_is_kept(struct build_watch *b)
{
	(void)b;
}

static void no_label(struct build_watch *b)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct watched_row *w = &b->r.watched[i];

		w->untimed_ps = w->hook_ps = w->extra_ps = 0;
		w->assumed_untimed_ps = w->assumed_hook_ps = w->assumed_extra_ps = 0;
	}
}

static void no_label_and_no_charge(struct build_watch *b)
{
	no_label(b);
	charge(b, 0);
}

static void half_a_step_less(struct build_watch *b)
{
	charge(b, 800000 - 49);
}

static void more_than_half_a_step_less(struct build_watch *b)
{
	charge(b, 800000 - 51);
}

static void costs_that_rose(struct build_watch *b)
{
	b->r.watch.calibrations = 3;
	charge(b, 500000);
}

static void less_than_half_of_what_rose(struct build_watch *b)
{
	b->r.watch.calibrations = 3;
	charge(b, 399000);
}

static void two_modes_measured_once(struct build_watch *b)
{
	b->r.watch.calibrations = 2;
	b->r.watched[3].first = (struct str)STR_LITERAL("other");
	charge(b, 500000);
}

static void an_issue_is_said_of_what_its_rows_show(void **state)
{
	static const struct {
		const char *name, *version;
		void (*change)(struct build_watch *b);
		enum known_verdict want;
	} cases[] = {
		{ "proven by many rows", "0.3.9", many_rows, KNOWN_PROVEN },
		{ "proven by one row of many", "0.3.9", one_row_of_many, KNOWN_PROVEN },
		{ "proven by one slow frame", "0.3.9", one_slow_frame, KNOWN_PROVEN },
		{ "a slow frame that fits", "0.3.9", a_slow_frame_that_fits, KNOWN_NOT_AFFECTED },
		{ "consistent with a guess", "0.3.9", a_guess, KNOWN_POSSIBLE },
		{ "no calls", "0.3.9", no_calls, KNOWN_NOT_AFFECTED },
		{ "a label that its rows keep", "0.3.9", the_label_is_kept, KNOWN_NOT_AFFECTED },
		{ "no label", "0.3.9", no_label, KNOWN_POSSIBLE },
		{ "no label and nothing charged", "0.3.9", no_label_and_no_charge, KNOWN_PROVEN },
		{ "no version at all, proven", "", many_rows, KNOWN_PROVEN },
		{ "no version at all, a guess", "", a_guess, KNOWN_POSSIBLE },
		{ "the version that has it fixed", "0.4.0", many_rows, KNOWN_NOT_AFFECTED },
		{ "a newer version", "0.10.0", many_rows, KNOWN_NOT_AFFECTED },
		{ "a newer version with a guess", "1.0", a_guess, KNOWN_NOT_AFFECTED },
		{ "half a rounding step less", "0.3.9", half_a_step_less, KNOWN_NOT_AFFECTED },
		{ "more than half a step less", "0.3.9", more_than_half_a_step_less, KNOWN_PROVEN },
		{ "costs that rose", "0.3.9", costs_that_rose, KNOWN_POSSIBLE },
		{ "less than half of what rose", "0.3.9", less_than_half_of_what_rose,
		  KNOWN_PROVEN },
		{ "two modes, each measured once", "0.3.9", two_modes_measured_once, KNOWN_PROVEN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(build_watch_free) struct build_watch b;

		print_message("%s\n", cases[i].name);
		begin(&b, cases[i].version);
		cases[i].change(&b);
		build_watch_sort(&b);
		assert_int_equal(known_judge(&cost, &b.r), cases[i].want);
	}
}

static void versions_are_compared_by_their_numbers(void **state)
{
	static const struct {
		const char *version, *fixed_in;
		bool is_since;
	} cases[] = {
		{ "0.9", "0.10", false },
		{ "0.10", "0.9", true },
		{ "0.10", "0.10", true },
		{ "0.10.0", "0.10", true },
		{ "0.10", "0.10.0", true },
		{ "0.10.1", "0.10", true },
		{ "0.10", "0.10.1", false },
		{ "1", "0.99.99", true },
		{ "00.010", "0.10", true },
		{ "0.10.0-rc1", "0.10.0", false },
		{ "0.10.1-rc1", "0.10.0", true },
		{ "0.10.0-5-gabcdef0", "0.9.7", true },
		{ "0.9.0-5-gabcdef0", "0.9.7", false },
		{ "18446744073709551616.0", "1.0", true },
		{ "0.99999999999999999999999", "0.10", true },
		{ "", "0.1", false },
		{ "v0.10", "0.1", false },
		{ "garbage", "0.1", false },
		{ ".", "0.1", false },
		{ "-1", "0.1", false },
		{ "1..2", "1.0.0", false }, /* cannot be read: not surely */
		{ "0.10 ", "0.10", false },
		{ "\xff\xfe", "0.1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str version = { cases[i].version, (uint32_t)strlen(cases[i].version) };

		print_message("'%s' since %s\n", cases[i].version, cases[i].fixed_in);
		assert_int_equal(known_is_since(version, cases[i].fixed_in), cases[i].is_since);
	}
	assert_false(known_is_since(STR_EMPTY, "0.1"));
	/* Not a byte behind its end is read. */
	assert_false(known_is_since((struct str){ "0.109", 3 }, "0.10"));
}

static void rounding_allows_for_half_a_step(void **state)
{
	(void)state;
	assert_false(known_is_understated(0.4, 0.1, 0.4499));
	assert_true(known_is_understated(0.4, 0.1, 0.4501));
	assert_false(known_is_understated(0.4, 0.1, 0.3));
	assert_true(known_is_understated(0.4, 0, 0.41));
}

static void nothing_is_released_so_nothing_is_known(void **state)
{
	(void)state;
	assert_int_equal(known_issue_count, 0);
	assert_null(known_issues[known_issue_count].id);
}

static void assert_known(const struct build_watch *b, const char *title, const char *evidence)
{
	SCOPED(findings_free) struct findings f = { .count = 0 };
	struct err err = ERR_EMPTY;

	assert_int_equal(watch_findings_known(&b->r, &cost, 1, &f, &err), 0);
	if (title == NULL) {
		assert_int_equal(f.count, 0);
		return;
	}
	assert_int_equal(f.count, 1);
	assert_string_equal(f.rows[0].id, "known_issue");
	assert_string_equal(text_chars(&f.rows[0].title), title);
	assert_string_equal(text_chars(&f.rows[0].evidence), evidence);
	assert_string_equal(text_chars(&f.rows[0].look_next),
			    "Look next at a new recording: tare 0.4.0 and later do not have it.");
}

static void a_known_issue_is_a_finding(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;

	(void)state;
	begin(&b, "0.3.\x1b[2J");
	assert_known(&b, NULL, NULL);
	many_rows(&b);
	assert_known(&b, "What watching cost is understated",
		     "The recording's own rows show it. It is by 0.3.\\x1b[2J.");
	a_guess(&b);
	b.r.label.tare_version = STR_EMPTY;
	assert_known(&b, "What watching cost may be understated",
		     "Its rows show it neither way. It is by an unknown version.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_issue_is_said_of_what_its_rows_show),
		cmocka_unit_test(versions_are_compared_by_their_numbers),
		cmocka_unit_test(rounding_allows_for_half_a_step),
		cmocka_unit_test(nothing_is_released_so_nothing_is_known),
		cmocka_unit_test(a_known_issue_is_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
