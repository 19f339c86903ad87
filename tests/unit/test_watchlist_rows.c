/* test_watchlist_rows.c - what a watchlist gives to the store: only what changed, and every call once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watchlist_stage.h"

#define PRICE 10000u

/* ---- what changed ---- */

static void only_what_changed_goes_out(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 3, PRICE);
	stage_turn_of(&s, 1, 100);
	stage_save(&s);
	assert_int_equal(s.changes.watched_count, 3); /* all are new */
	assert_int_equal(s.changes.window_count, 1);
	assert_int_equal(s.changes.windows[0].watched, 1);
	assert_int_equal(s.changes.windows[0].at, 0);
	assert_false(s.changes.windows_merged);
	stage_save(&s);
	assert_int_equal(s.changes.watched_count + s.changes.window_count, 0);
	stage_turn(&s); /* nothing ran */
	stage_save(&s);
	assert_int_equal(s.changes.watched_count + s.changes.window_count, 0);
	stage_turn_of(&s, 2, 50);
	stage_save(&s);
	assert_int_equal(s.changes.watched_count, 1);
	assert_int_equal(s.changes.watched[0].id, 2);
	assert_true(s.changes.watched[0].charged_ps > 0);
	assert_int_equal(s.changes.window_count, 1);
	assert_int_equal(s.changes.windows[0].at, 2);
	stage_close(&s);
}

static void what_is_not_saved_goes_out_again(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	for (uint32_t i = 1; i <= 3; i++) {
		stage_turn_of(&s, 0, 100);
		changes_reset(&s.changes);
		assert_int_equal(watchlist_changes(s.w, &s.changes), 0);
		assert_int_equal(s.changes.window_count, i);
	}
	watchlist_saved(s.w);
	stage_turn_of(&s, 0, 100);
	stage_save(&s);
	assert_int_equal(s.changes.window_count, 1);
	stage_close(&s);
}

static void a_row_that_grew_goes_out_again_and_those_before_it_do_not(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	for (uint32_t i = 0; i < CALLS_MOST_ROWS + 1; i++)
		stage_turn_of(&s, 0, 100);
	stage_save(&s);
	assert_true(s.changes.windows_merged);
	assert_int_equal(s.kept_count, 181); /* 361 windows in rows of two */
	stage_turn_of(&s, 0, 100);
	stage_save(&s);
	assert_false(s.changes.windows_merged);
	assert_int_equal(s.changes.window_count, 1);
	assert_int_equal(s.changes.windows[0].at, 180);
	assert_int_equal(s.changes.windows[0].calls, 200);
	assert_int_equal(s.kept_count, 181);
	stage_close(&s);
}

static void all_rows_merge_at_the_same_window_also_one_that_came_late(void **state)
{
	struct watched_row late = stage_row("late");
	struct watch_row label = { 0 };
	struct stage s;
	uint32_t id;

	(void)state;
	stage_open(&s, 2, PRICE);
	for (uint32_t window = 0; window < 4000; window++) {
		struct calls_seen seen = stage_seen_of(10, 1);

		if (window == 1000)
			assert_int_equal(watchlist_add(s.w, &late, &id), 0);
		if (window % 7 == 0)
			assert_int_equal(stage_see(&s, 0, &seen), 0);
		if (window == 3)
			assert_int_equal(stage_see(&s, 1, &seen), 0);
		if (window > 3000)
			assert_int_equal(stage_see(&s, id, &seen), 0);
		stage_turn(&s);
		if (window % 100 == 0)
			stage_save(&s);
	}
	stage_save(&s);
	watchlist_label(s.w, &label);
	assert_int_equal(label.windows, 4000);
	assert_int_equal(label.windows_in_row, 16);
	for (uint32_t id_of = 0; id_of < 3; id_of++) {
		static const uint64_t want[] = { 572 * 10, 10, 999 * 10 };
		struct calls_row all = stage_pooled(&s, id_of);

		assert_int_equal(all.calls, want[id_of]);
		assert_int_equal(all.histogram.weight, want[id_of] / 10 * 9);
		calls_row_free(&all);
	}
	/* The late one began to run in window 3001, which is in row 187. */
	assert_null(stage_kept(&s, id, 186));
	assert_int_equal(stage_kept(&s, id, 187)->calls, 7 * 10);
	assert_int_equal(stage_kept(&s, 1, 0)->calls, 10);
	stage_close(&s);
}

static void without_memory_nothing_is_appended_and_nothing_is_forgotten(void **state)
{
	struct stage s;
	struct changes full = CHANGES_EMPTY;

	(void)state;
	stage_open(&s, 1, PRICE);
	stage_turn_of(&s, 0, 100);
	full.window_count = full.window_room = UINT32_MAX; /* no row more */
	full.watched_count = 0;
	assert_int_equal(watchlist_changes(s.w, &full), -ENOMEM);
	assert_int_equal(full.window_count, UINT32_MAX);
	assert_int_equal(full.watched_count, 0);
	full.window_count = full.window_room = 0;
	changes_free(&full);
	stage_save(&s);
	assert_int_equal(s.changes.window_count, 1);
	stage_close(&s);
}

/* ---- calls longer than a window ---- */

static void a_call_longer_than_a_window_is_counted_once_and_its_time_is_known(void **state)
{
	struct calls_seen begins = stage_seen_of(1, 0), ends = stage_seen_of(1, 0);
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	begins.firsts = begins.first_ns = begins.max_ns = 0;
	ends.calls = 0;
	ends.first_ns = ends.max_ns = 3 * WINDOW_NS;
	assert_int_equal(stage_see(&s, 0, &begins), 0);
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(stage_kept(&s, 0, 0)->never_timed, 1);
	stage_turn(&s);
	stage_turn(&s);
	assert_int_equal(stage_see(&s, 0, &ends), 0);
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(s.kept_count, 1); /* no row of a window in which it did not begin */
	assert_int_equal(stage_kept(&s, 0, 0)->calls, 1);
	assert_int_equal(stage_kept(&s, 0, 0)->never_timed, 0);
	assert_int_equal(stage_kept(&s, 0, 0)->first_ns, 3 * WINDOW_NS);
	assert_int_equal(stage_kept(&s, 0, 0)->span_ns, WINDOW_NS);
	stage_close(&s);
}

static void calls_across_the_end_of_a_window_are_counted_once(void **state)
{
	struct calls_seen first = stage_seen_of(20, 18), second = stage_seen_of(20, 20);
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	first.others = 18; /* one of 20 is still running, and all are timed */
	assert_int_equal(stage_see(&s, 0, &first), 0);
	stage_turn(&s);
	assert_int_equal(stage_see(&s, 0, &second), 0); /* 21 ended */
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(stage_kept(&s, 0, 0)->calls, 19);
	assert_int_equal(stage_kept(&s, 0, 1)->calls, 21);
	watchlist_label(s.w, &label);
	assert_int_equal(label.calls, 40);
	/* More than were ever called cannot have ended. */
	second.others = 30;
	assert_int_equal(stage_see(&s, 0, &second), -EINVAL);
	assert_int_equal(stage_kept(&s, 0, 0)->calls + stage_kept(&s, 0, 1)->calls, 40);
	stage_close(&s);
}

static void a_call_across_each_end_of_many_windows_is_counted_once(void **state)
{
	struct calls_seen first = stage_seen_of(20, 18), middle = stage_seen_of(20, 19),
			  last = stage_seen_of(20, 20);
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	assert_int_equal(stage_see(&s, 0, &first), 0); /* one goes on */
	stage_turn(&s);
	stage_save(&s);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stage_see(&s, 0, &middle),
				 0); /* that one ended, another goes on */
		stage_turn(&s);
		stage_save(&s);
	}
	assert_int_equal(stage_see(&s, 0, &last), 0);
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(stage_kept(&s, 0, 0)->calls, 19);
	assert_int_equal(stage_kept(&s, 0, 3)->calls, 20);
	assert_int_equal(stage_kept(&s, 0, 4)->calls, 21);
	stage_close(&s);
}

/* ---- numbers that cannot be ---- */

static void numbers_that_cannot_be_are_refused_and_nothing_is_counted(void **state)
{
	static const struct {
		const char *name;
		size_t member;
		uint64_t value;
	} cases[] = {
		{ "more firsts than calls", offsetof(struct calls_seen, firsts), 101 },
		{ "more others than calls", offsetof(struct calls_seen, others), 100 },
		{ "covered longer than it lasted", offsetof(struct calls_seen, covered_ns),
		  WINDOW_NS + 1 },
		{ "less weight than timed ones", offsetof(struct calls_seen, weight), 11 },
		{ "calls beyond 63 bits", offsetof(struct calls_seen, calls), UINT64_MAX },
		{ "calls that add up beyond 63 bits", offsetof(struct calls_seen, calls),
		  INT64_MAX },
		{ "time beyond 63 bits", offsetof(struct calls_seen, weighted_ns),
		  UINT64_C(1) << 63 },
		{ "own time beyond 63 bits", offsetof(struct calls_seen, weighted_own_ns),
		  UINT64_C(1) << 63 },
		{ "time of firsts beyond 63 bits", offsetof(struct calls_seen, first_ns),
		  UINT64_C(1) << 63 },
		{ "a span beyond 63 bits", offsetof(struct calls_seen, span_ns),
		  UINT64_C(1) << 63 },
		{ "time of probes beyond 63 bits", offsetof(struct calls_seen, probe_ns),
		  UINT64_C(1) << 63 },
		{ "squares beyond 63 bits", offsetof(struct calls_seen, weight_squared),
		  UINT64_C(1) << 63 },
		{ "a longest beyond 63 bits", offsetof(struct calls_seen, max_ns),
		  UINT64_C(1) << 63 },
		{ "time of firsts without firsts", offsetof(struct calls_seen, firsts), 0 },
		{ "an interval beyond the largest", offsetof(struct calls_seen, interval), 65537 },
	};
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	stage_turn_of(&s, 0, 1); /* no call of it is left untimed */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct calls_seen seen = stage_seen_of(100, 12);
		char *at = (char *)&seen + cases[i].member;

		print_message("%s\n", cases[i].name);
		if (cases[i].member == offsetof(struct calls_seen, interval))
			seen.interval = (uint32_t)cases[i].value;
		else
			memcpy(at, &cases[i].value, sizeof(cases[i].value));
		assert_int_equal(stage_see(&s, 0, &seen), -EINVAL);
	}
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(s.kept_count, 1);
	watchlist_label(s.w, &label);
	assert_int_equal(label.calls, 1);
	assert_int_equal(label.torn, ARRAY_LEN(cases));
	assert_int_equal(label.lost_calls, 0);
	stage_close(&s);
}

static void a_reading_between_two_writes_is_no_reason_to_lose_a_window(void **state)
{
	struct calls_seen seen = stage_seen_of(100, 12);
	struct stage s;

	(void)state;
	stage_open(&s, 1, PRICE);
	seen.weight = seen.weight_squared + 1;
	assert_int_equal(stage_see(&s, 0, &seen), 0);
	stage_turn(&s);
	stage_save(&s);
	assert_true(stage_kept(&s, 0, 0)->variance_0 >= 0);
	/* Nor is the longest of a window in which none was timed. */
	seen = stage_seen_of(7, 0);
	seen.firsts = seen.first_ns = 0;
	assert_int_equal(stage_see(&s, 0, &seen), 0);
	stage_turn(&s);
	stage_save(&s);
	assert_int_equal(stage_kept(&s, 0, 1)->never_timed, 7);
	assert_int_equal(stage_kept(&s, 0, 1)->max_ns, 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_changed_goes_out),
		cmocka_unit_test(what_is_not_saved_goes_out_again),
		cmocka_unit_test(a_row_that_grew_goes_out_again_and_those_before_it_do_not),
		cmocka_unit_test(all_rows_merge_at_the_same_window_also_one_that_came_late),
		cmocka_unit_test(without_memory_nothing_is_appended_and_nothing_is_forgotten),
		cmocka_unit_test(a_call_longer_than_a_window_is_counted_once_and_its_time_is_known),
		cmocka_unit_test(calls_across_the_end_of_a_window_are_counted_once),
		cmocka_unit_test(a_call_across_each_end_of_many_windows_is_counted_once),
		cmocka_unit_test(numbers_that_cannot_be_are_refused_and_nothing_is_counted),
		cmocka_unit_test(a_reading_between_two_writes_is_no_reason_to_lose_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
