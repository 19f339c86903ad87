/* test_watchlist.c - the numeric table of the rules through a whole watchlist, its charges and its pace. Seeds are fixed. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watchlist_stage.h"

#define TENTH 1000u /* 10 % of a price of 1 %, in millionths */

/* ---- the table ---- */

static void twenty_calls_beside_two_million_are_counted_and_timed_in_every_window(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 2, TENTH);
	for (uint32_t window = 0; window < 5; window++) {
		uint64_t called[] = { window < 4 ? 20 : 1, 2000000 };

		(void)stage_window(&s, called);
		stage_save(&s);

		struct calls_row row = watchlist_calls_row(stage_kept(&s, 0, window));
		struct calls_estimate e = calls_estimate(&row, 0);

		assert_true(e.calls == (double)called[0]);
		assert_true(window == 4 || e.timed >= 2);
		assert_true(fabs(e.total_ns - (window < 4 ? 100e6 : 5e6)) <= 0.01e6);
	}

	struct calls_row all = stage_pooled(&s, 0);
	struct calls_estimate e = calls_estimate(&all, 0);

	assert_true(e.calls == 81);
	assert_true(fabs(e.total_ns - 405e6) <= 0.01e6);
	assert_int_equal(watchlist_row(s.w, 0)->interval, PACE_GIVEN);
	calls_row_free(&all);
	stage_close(&s);
}

static void two_million_calls_are_inside_the_price_from_the_second_window_on(void **state)
{
	static const uint64_t hot[] = { 2000000 }, quiet[] = { 100 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, TENTH);
	assert_true(stage_window(&s, hot) <= 2 * TENTH);
	for (int window = 2; window < 6; window++) {
		assert_true(stage_window(&s, hot) <= 1.05 * TENTH);
		assert_true(stage_timed(&s, 0) < 100000);
	}
	(void)stage_window(&s, quiet);
	for (int window = 2; window < 6; window++) {
		(void)stage_window(&s, quiet);
		assert_true(stage_timed(&s, 0) >= 7);
	}
	stage_close(&s);
}

static void three_calls_a_window_are_timed_in_every_window(void **state)
{
	static const uint64_t three[] = { 3 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, TENTH);
	for (uint32_t window = 0; window < 20; window++) {
		(void)stage_window(&s, three);
		stage_save(&s);
		assert_true(stage_kept(&s, 0, window)->firsts >= 1);
		assert_int_equal(watchlist_row(s.w, 0)->interval, 8);
	}
	stage_close(&s);
}

static void a_burst_after_a_window_without_calls_does_not_start_dear(void **state)
{
	static const uint64_t hot[] = { 200000 }, none[] = { 0 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, TENTH);
	for (uint32_t window = 0; window < 5; window++) {
		double spent = stage_window(&s, window % 2 == 1 ? none : hot);

		assert_true(window == 0 || spent <= 1.05 * TENTH);
		stage_save(&s);
		assert_int_equal(stage_kept(&s, 0, window) == NULL, window % 2 == 1);
	}
	stage_close(&s);
}

static void a_burst_ten_times_as_hot_costs_at_most_twice_the_share_and_then_the_share(void **state)
{
	static const uint64_t warm[] = { 200000 }, hot[] = { 2000000 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, TENTH);
	(void)stage_window(&s, warm);
	assert_true(stage_window(&s, warm) <= 1.05 * TENTH);
	assert_true(stage_window(&s, hot) <= 2 * TENTH);
	assert_true(stage_window(&s, hot) <= 1.05 * TENTH);
	stage_close(&s);
}

static void calls_that_were_never_timed_have_a_row_and_no_total(void **state)
{
	static const uint64_t thirty[] = { 30 };
	const struct calls_seen thrown = { .calls = 3,
					   .span_ns = WINDOW_NS,
					   .covered_ns = WINDOW_NS };
	const struct watchlist_losses losses = { .abandoned = 3 };
	struct histogram empty = HISTOGRAM_EMPTY;
	struct stage s;

	(void)state;
	stage_open(&s, 1, TENTH);
	assert_int_equal(watchlist_seen(s.w, 0, &thrown, &empty, &losses), 0);
	assert_int_equal(watchlist_turn(s.w, WINDOW_NS, &s.turned), 0);
	(void)stage_window(&s, thirty);
	stage_save(&s);
	assert_int_equal(stage_kept(&s, 0, 0)->calls, 0);
	assert_int_equal(stage_kept(&s, 0, 0)->never_timed, 3);
	assert_int_equal(watchlist_row(s.w, 0)->abandoned, 3);

	struct calls_row all = stage_pooled(&s, 0);
	struct calls_estimate e = calls_estimate(&all, 0);

	assert_true(e.calls == 30 && e.never_timed == 3);
	assert_true(fabs(e.total_ns - 150e6) < 1);
	calls_row_free(&all);
	stage_close(&s);
}

static void twelve_functions_one_at_five_million_a_second_are_not_sliced(void **state)
{
	const struct watchlist_settings settings = stage_settings(10 * TENTH);
	struct histogram empty = HISTOGRAM_EMPTY;
	struct stage s;

	(void)state;
	stage_open_with(&s, 0, &settings);
	for (uint32_t i = 0; i < 12; i++) {
		struct watched_row row = stage_row("f");
		struct calls_seen seen = { .calls = i == 5 ? 50000000 : 1,
					   .span_ns = WINDOW_NS,
					   .covered_ns = WINDOW_NS,
					   .firsts = 1,
					   .first_ns = 100 };
		uint32_t id;

		row.untimed_ps = 400;
		assert_int_equal(watchlist_add(s.w, &row, &id), 0);
		assert_int_equal(watchlist_seen(s.w, id, &seen, &empty, NULL), 0);
	}
	assert_int_equal(watchlist_turn(s.w, WINDOW_NS, &s.turned), 0);
	assert_int_equal(s.turned.judged.sliced, 0);
	assert_int_equal(s.turned.judged.ran, 12);
	assert_int_equal(s.turned.judged.loudest, 5);
	assert_in_range(s.turned.judged.left_ps, 69999000000, 70000000000); /* 0.7 % of 10 s */
	assert_int_equal(watchlist_row(s.w, 5)->interval, 1286);
	assert_int_equal(watchlist_row(s.w, 5)->interval_changes, 1);
	assert_int_equal(watchlist_row(s.w, 0)->interval, 8);
	assert_int_equal(watchlist_row(s.w, 0)->interval_changes, 0);
	stage_close(&s);
}

static void twelve_functions_keep_a_price_of_one_percent(void **state)
{
	static const uint64_t hot[12] = { 2000000, 20,	   500, 100000, 3,	1000000,
					  40000,   200000, 7,	60000,	800000, 90 };
	uint64_t hotter[12];
	struct stage s;

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		hotter[i] = hot[i] * 10;
	stage_open(&s, 12, 10 * TENTH);
	assert_true(stage_window(&s, hot) <= 2 * 10 * TENTH);
	assert_true(stage_window(&s, hot) <= 1.05 * 10 * TENTH);
	assert_true(stage_window(&s, hotter) <= 2 * 10 * TENTH);
	assert_true(stage_window(&s, hotter) <= 1.05 * 10 * TENTH);
	assert_true(s.turned.charged_ps > 0);
	stage_close(&s);
}

/* ---- charges ---- */

static const struct calls_seen thousand = { .calls = 1000,
					    .span_ns = WINDOW_NS,
					    .covered_ns = WINDOW_NS,
					    .firsts = 1,
					    .first_ns = 50,
					    .others = 100,
					    .weight = 1000,
					    .weight_squared = 10000,
					    .weighted_ns = 70000,
					    .max_ns = 90,
					    .interval = 10 };

/* A window in which row `id` did so; returns its charge. */
static uint64_t turn_of(struct stage *s, uint32_t id, const struct calls_seen *seen)
{
	struct histogram histogram = HISTOGRAM_EMPTY;

	if (seen->firsts + seen->others > 0)
		assert_int_equal(histogram_add(&histogram, 60, seen->firsts + seen->weight), 0);
	assert_int_equal(watchlist_seen(s->w, id, seen, &histogram, NULL), 0);
	assert_int_equal(watchlist_turn(s->w, WINDOW_NS, &s->turned), 0);
	histogram_free(&histogram);
	return s->turned.charged_ps;
}

static void a_call_is_charged_as_counted_with_its_hook_and_timed_ones_on_top(void **state)
{
	static const struct pace_costs measured = { 300, 24000, 700000 }, assumed = { 1, 1, 1 };
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	stage_open(&s, 2, 100 * TENTH);
	watchlist_set_costs(s.w, 1, &measured, &assumed, 19000);
	assert_int_equal(turn_of(&s, 1, &thousand), 1000 * 700300 + 101 * 24000);
	assert_int_equal(s.turned.calls, 1000);
	assert_int_equal(s.turned.timed, 101);
	assert_int_equal(watchlist_row(s.w, 1)->charged_ps, s.turned.charged_ps);
	assert_int_equal(watchlist_row(s.w, 0)->charged_ps, 0);
	assert_int_equal(watchlist_row(s.w, 1)->floor_ps, 19000);
	(void)turn_of(&s, 1, &thousand);
	watchlist_label(s.w, &label);
	assert_int_equal(label.charged_ps, 2 * (1000 * 700300 + 101 * 24000));
	assert_int_equal(label.calls, 2000);
	assert_int_equal(label.timed, 202);
	assert_int_equal(label.windows, 2);
	assert_int_equal(label.windows_in_row, 1);
	assert_int_equal(label.window_ns, WINDOW_NS);
	assert_int_equal(label.interval_given, 8);
	assert_int_equal(label.interval_most, 4096);
	assert_int_equal(label.refused, NO_ID);
	assert_int_equal(label.frames, 0);
	stage_close(&s);
}

static void what_is_unmeasured_is_charged_and_paced_as_assumed_and_never_0(void **state)
{
	static const struct pace_costs nothing = { 0, 0, 0 }, assumed = { 40000, 150000, 0 };
	struct watched_row row = stage_row("f");
	struct stage s;
	uint32_t id;

	(void)state;
	stage_open(&s, 0, TENTH);
	row.untimed_ps = row.extra_ps = 0;
	row.assumed_untimed_ps = 40000;
	row.assumed_extra_ps = 150000;
	assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	assert_int_equal(watchlist_pace(s.w, id)->costs.extra_ps, 150000);
	assert_int_equal(turn_of(&s, id, &thousand), 1000 * 40000 + 101 * 150000);
	watchlist_set_costs(s.w, id, &nothing, &assumed, 0);
	assert_int_equal(turn_of(&s, id, &thousand), 1000 * 40000 + 101 * 150000);
	assert_int_equal(watchlist_row(s.w, id)->untimed_ps, 0); /* and says so */
	stage_close(&s);
}

static void new_costs_are_in_force_from_the_next_window_on(void **state)
{
	static const struct pace_costs dear = { 9000, 50000, 0 }, none = { 0, 0, 0 };
	struct stage s;

	(void)state;
	stage_open(&s, 1, 100 * TENTH);
	assert_int_equal(watchlist_seen(s.w, 0, &thousand, &(struct histogram){ 0 }, NULL), 0);
	watchlist_set_costs(s.w, 0, &dear, &none, 0);
	assert_int_equal(watchlist_turn(s.w, WINDOW_NS, &s.turned), 0);
	assert_int_equal(s.turned.charged_ps, 1000 * 1 + 101 * 150000);
	assert_int_equal(watchlist_pace(s.w, 0)->costs.untimed_ps, 9000);
	assert_int_equal(turn_of(&s, 0, &thousand), 1000 * 9000 + 101 * 50000);
	/* A part that could not be measured this time keeps what was. */
	watchlist_set_costs(s.w, 0, &none, &none, 0);
	assert_int_equal(turn_of(&s, 0, &thousand), 1000 * 9000 + 101 * 50000);
	assert_int_equal(turn_of(&s, 0, &thousand), 1000 * 9000 + 101 * 50000);
	stage_close(&s);
}

static void no_window_is_charged_under_the_untimed_cost_on_the_label(void **state)
{
	static const uint64_t untimed_ps[] = { 5000, 9000, 2000, 0, 7000, 400, 11000 };
	static const struct pace_costs none = { 0, 0, 0 };
	uint64_t charges[ARRAY_LEN(untimed_ps)];
	struct stage s;

	(void)state;
	stage_open(&s, 0, 100 * TENTH);
	for (uint32_t i = 0; i < ARRAY_LEN(untimed_ps); i++) {
		struct pace_costs costs = { untimed_ps[i], 100, 0 };
		struct watched_row row = stage_row("f");
		uint32_t id = 0;

		row.untimed_ps = 0;
		if (i == 0)
			assert_int_equal(watchlist_add(s.w, &row, &id), 0);
		watchlist_set_costs(s.w, 0, &costs, &none, 0);
		charges[i] = turn_of(&s, 0, &thousand);
	}
	assert_int_equal(watchlist_row(s.w, 0)->untimed_ps, 400);
	for (uint32_t i = 0; i < ARRAY_LEN(untimed_ps); i++)
		assert_true(charges[i] / 1000 >= watchlist_row(s.w, 0)->untimed_ps);
	stage_close(&s);
}

static void frames_and_tasks_are_charged_and_not_paced(void **state)
{
	static const uint32_t kinds[] = { WATCHED_FRAME, WATCHED_TASK };
	struct stage s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct calls_seen hot = thousand;
		struct watched_row row = stage_row("tick");
		struct watch_row label = { 0 };
		uint32_t id;

		row.kind = kinds[i];
		row.untimed_ps = 60000;
		stage_open(&s, 1, TENTH);
		assert_int_equal(watchlist_add(s.w, &row, &id), 0);
		assert_int_equal(watchlist_pace(s.w, id)->interval, 1);
		assert_int_equal(pace_share_timed(watchlist_pace(s.w, id)), UINT32_MAX);
		assert_int_equal(watchlist_pace(s.w, 0)->share_ps, WINDOW_NS); /* all of 0.1 % */
		hot.calls = 100000;					       /* 6 ms of 10 */
		assert_int_equal(watchlist_seen(s.w, 0, &thousand, &(struct histogram){ 0 }, NULL),
				 0);
		(void)turn_of(&s, id, &hot);
		assert_int_equal(watchlist_row(s.w, id)->interval, 1);
		assert_int_equal(watchlist_row(s.w, id)->charged_ps,
				 UINT64_C(100000) * 60000 + 101 * 150000);
		/* What they took is not there for the others. */
		assert_int_equal(s.turned.judged.ran, 1);
		assert_in_range(s.turned.judged.left_ps, 3500000000, 3600000000);
		watchlist_label(s.w, &label);
		assert_int_equal(label.frames, kinds[i] == WATCHED_FRAME ? 100000 : 0);
		stage_close(&s);
	}
}

static void too_hot_without_slices_is_refused_with_the_rate_that_the_price_allows(void **state)
{
	struct watchlist_settings settings = stage_settings(10 * TENTH);
	struct calls_seen hot = { .calls = 20000000,
				  .span_ns = WINDOW_NS,
				  .covered_ns = WINDOW_NS };
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	settings.may_slice = false;
	stage_open_with(&s, 3, &settings);
	assert_int_equal(watchlist_set_why_not(s.w, 1, (struct str)STR_LITERAL("gone")), 0);
	watchlist_set_costs(s.w, 2, &(struct pace_costs){ 1000000, 400000, 0 },
			    &(struct pace_costs){ 0 }, 0);
	(void)turn_of(&s, 2, &hot);
	assert_true(s.turned.judged.is_refused);
	(void)turn_of(&s, 0, &thousand); /* later quiet: what was refused stays said */
	watchlist_label(s.w, &label);
	assert_int_equal(label.refused, 2);
	assert_in_range(label.allowed_rate, 8900, 9000); /* 0.9 % of a second / 1.0001 us */
	assert_false(watchlist_row(s.w, 2)->is_sliced);
	stage_close(&s);

	settings.may_slice = true;
	stage_open_with(&s, 3, &settings);
	watchlist_set_costs(s.w, 2, &(struct pace_costs){ 1000000, 400000, 0 },
			    &(struct pace_costs){ 0 }, 0);
	(void)turn_of(&s, 2, &hot);
	assert_true(watchlist_pace(s.w, 2)->is_sliced);
	assert_true(watchlist_row(s.w, 2)->is_sliced);
	watchlist_label(s.w, &label);
	assert_int_equal(label.refused, NO_ID);
	stage_close(&s);
}

static void what_is_not_watched_is_listed_and_has_no_share(void **state)
{
	struct watched_row row = stage_row("gone");
	struct stage s;
	uint32_t id;

	(void)state;
	stage_open(&s, 1, TENTH);
	row.why_not = (struct str)STR_LITERAL("not found");
	assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	assert_int_equal(watchlist_row(s.w, id)->interval, 0);
	assert_int_equal(watchlist_pace(s.w, 0)->share_ps, WINDOW_NS);
	/* It comes after all. */
	assert_int_equal(watchlist_set_why_not(s.w, id, STR_EMPTY), 0);
	assert_int_equal(watchlist_row(s.w, id)->interval, 8);
	assert_int_equal(watchlist_pace(s.w, 0)->share_ps, WINDOW_NS / 2);
	(void)turn_of(&s, 0, &thousand);
	/* And goes again, while the other one runs. */
	assert_int_equal(watchlist_set_why_not(s.w, id, (struct str)STR_LITERAL("unloaded")), 0);
	assert_int_equal(watchlist_row(s.w, id)->why_not.len, 8);
	(void)turn_of(&s, 0, &thousand);
	assert_in_range(watchlist_pace(s.w, 0)->share_ps, WINDOW_NS - 1000, WINDOW_NS);
	stage_close(&s);
}

static void charges_and_losses_of_all_rows_together_stay_below_63_bits(void **state)
{
	struct calls_seen hostile = { .calls = INT64_MAX / 4,
				      .span_ns = WINDOW_NS,
				      .covered_ns = WINDOW_NS };
	const struct watchlist_losses losses = { INT64_MAX, UINT64_MAX, 3 };
	struct histogram empty = HISTOGRAM_EMPTY;
	struct watch_row label = { 0 };
	uint64_t charged_ps = 0, lost = 0;
	struct stage s;

	(void)state;
	stage_open(&s, 3, TENTH);
	for (uint32_t id = 0; id < 3; id++) {
		watchlist_set_costs(s.w, id, &(struct pace_costs){ 1000000, 1, 1 },
				    &(struct pace_costs){ 0 }, 0);
		assert_int_equal(watchlist_seen(s.w, id, &hostile, &empty, &losses), 0);
	}
	assert_int_equal(watchlist_turn(s.w, WINDOW_NS, &s.turned), 0);
	for (uint32_t id = 0; id < 3; id++) {
		const struct watched_row *row = watchlist_row(s.w, id);

		charged_ps += row->charged_ps;
		lost += row->abandoned + row->backwards + row->clamped;
	}
	watchlist_label(s.w, &label);
	assert_int_equal(charged_ps, INT64_MAX);
	assert_int_equal(label.charged_ps, INT64_MAX);
	assert_int_equal(lost, INT64_MAX);
	stage_close(&s);
}

static void settings_that_cannot_be_are_refused(void **state)
{
	struct watchlist_settings good = stage_settings(TENTH), bad[4];
	struct watchlist *w = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].window_ns = 0;
	bad[1].limits.given = 0;
	bad[2].limits.most = 7;
	bad[3].limits.most = 65537;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(watchlist_open(&bad[i], &w, &err), -EINVAL);
		assert_null(w);
	}
	assert_int_equal(watchlist_open(&good, &w, &err), 0);
	assert_int_equal(watchlist_turn(w, 0, NULL), -EINVAL);
	watchlist_close(w);
	watchlist_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			twenty_calls_beside_two_million_are_counted_and_timed_in_every_window),
		cmocka_unit_test(two_million_calls_are_inside_the_price_from_the_second_window_on),
		cmocka_unit_test(three_calls_a_window_are_timed_in_every_window),
		cmocka_unit_test(a_burst_after_a_window_without_calls_does_not_start_dear),
		cmocka_unit_test(
			a_burst_ten_times_as_hot_costs_at_most_twice_the_share_and_then_the_share),
		cmocka_unit_test(calls_that_were_never_timed_have_a_row_and_no_total),
		cmocka_unit_test(twelve_functions_one_at_five_million_a_second_are_not_sliced),
		cmocka_unit_test(twelve_functions_keep_a_price_of_one_percent),
		cmocka_unit_test(a_call_is_charged_as_counted_with_its_hook_and_timed_ones_on_top),
		cmocka_unit_test(what_is_unmeasured_is_charged_and_paced_as_assumed_and_never_0),
		cmocka_unit_test(new_costs_are_in_force_from_the_next_window_on),
		cmocka_unit_test(no_window_is_charged_under_the_untimed_cost_on_the_label),
		cmocka_unit_test(frames_and_tasks_are_charged_and_not_paced),
		cmocka_unit_test(
			too_hot_without_slices_is_refused_with_the_rate_that_the_price_allows),
		cmocka_unit_test(what_is_not_watched_is_listed_and_has_no_share),
		cmocka_unit_test(charges_and_losses_of_all_rows_together_stay_below_63_bits),
		cmocka_unit_test(settings_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
