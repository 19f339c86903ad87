/* test_watch_session.c - sources, watchlist and plan joined, over a source that is made up: calls and time are simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watch_fake.h"

/* ---- the rules ---- */

static void every_call_of_a_window_is_counted_and_charged(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *a;

	(void)state;
	a = put(&t.probes, "a", &nop5, 1000);
	begin(&t, true);
	assert_int_equal(start(&t, &t.probes), 1);
	window(&t);
	assert_in_range(t.turned.calls, 9990, 10010);
	assert_int_equal(t.turned.charged_ps,
			 pace_charge_ps(&a->costs, t.turned.calls, t.turned.timed));
	assert_int_equal(a->detaches, 0);
}

static void intervals_go_up_where_it_is_hot_and_stay_where_it_is_not(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *hot, *rare;

	(void)state;
	hot = put(&t.inside, "hot", &scope, 5e6);
	rare = put(&t.inside, "rare", &scope, 2);
	begin(&t, true);
	start(&t, &t.inside);
	for (int i = 0; i < 4; i++)
		assert_true(window(&t) <= 2 * PRICE_PS);
	assert_in_range(hot->order.interval, 30, 60);
	assert_int_equal(rare->order.interval, 8);
	assert_true(window(&t) <= PRICE_PS);
}

static void what_is_too_hot_is_sliced_and_the_price_holds(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *hot, *calm;

	(void)state;
	hot = put(&t.probes, "hot", &trap, 180000);
	calm = put(&t.probes, "calm", &nop5, 100);
	begin(&t, true);
	start(&t, &t.probes);
	assert_true(window(&t) <= 2 * PRICE_PS);
	assert_int_equal(hot->detaches, 1);
	for (int i = 0; i < 100; i++)
		window(&t);
	assert_true(t.spent_ps <= 101 * PRICE_PS + PRICE_PS);
	assert_true(hot->attaches > 2);
	assert_int_equal(calm->detaches, 0);
	assert_true(row_of(&t, "hot")->is_sliced);
}

static void without_slices_it_is_left_for_good_with_the_allowed_rate(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *hot;

	(void)state;
	hot = put(&t.probes, "hot", &trap, 180000);
	put(&t.probes, "calm", &nop5, 100);
	begin(&t, false);
	start(&t, &t.probes);
	for (int i = 0; i < 20; i++)
		window(&t);
	assert_false(hot->is_on);
	assert_int_equal(hot->attaches, 0);
	assert_true(row_of(&t, "hot")->why_not.len > 0);
	assert_int_equal(row_of(&t, "calm")->why_not.len, 0);
	assert_in_range(t.sources.allowed_rate, 1000, 1800); /* 0.9 % of a CPU at 5.5 us */
	assert_int_equal(t.told_why, 1);
}

static void probes_and_scopes_share_one_price(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.probes, "probed", &nop5, 8000);
	put(&t.inside, "scope", &scope, 3e6);
	begin(&t, true);
	start(&t, &t.probes);
	start(&t, &t.inside);
	window(&t);
	for (int i = 0; i < 5; i++)
		assert_true(window(&t) <= PRICE_PS * 105 / 100);
}

static void what_was_not_asked_for_is_charged_and_not_listed(void **state)
{
	SCOPED(end) struct stage t = { .unwanted = "other" };
	struct fake_point *other;

	(void)state;
	put(&t.inside, "wanted", &scope, 1000);
	other = put(&t.inside, "other", &scope, 1e6);
	begin(&t, true);
	assert_int_equal(start(&t, &t.inside), 1);
	assert_null(row_of(&t, "other"));
	assert_int_equal(other->order.interval, 4096);
	window(&t);
	assert_true(t.turned.charged_ps >= pace_charge_ps(&scope, 9900000, 0));
	assert_in_range(t.turned.calls, 9990, 10010);
}

static void a_point_that_cannot_be_attached_says_why(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *p;

	(void)state;
	put(&t.probes, "good", &nop5, 10);
	p = put(&t.probes, "bad", &nop5, 10);
	p->fails = "the kernel refused: made up";
	begin(&t, true);
	assert_int_equal(start(&t, &t.probes), 1);
	assert_true(row_of(&t, "bad")->why_not.len > 0);
	window(&t);
	assert_in_range(t.turned.calls, 90, 110);
}

static void a_source_that_cannot_start_is_closed_and_the_rest_goes_on(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.probes, "probed", &nop5, 10);
	put(&t.inside, "scope", &scope, 10);
	t.probes.start_fails = true;
	begin(&t, true);
	assert_int_equal(start(&t, &t.probes), 0);
	assert_true(t.probes.is_closed);
	assert_true(row_of(&t, "probed")->why_not.len > 0);
	assert_int_equal(start(&t, &t.inside), 1);
	window(&t);
	assert_in_range(t.turned.calls, 90, 110);
}

static void a_name_that_comes_later_gets_a_row_and_orders(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *late;

	(void)state;
	put(&t.inside, "first", &scope, 10);
	begin(&t, true);
	start(&t, &t.inside);
	window(&t);
	late = put(&t.inside, "late", &scope, 100);
	late->is_on = true;
	t.told = 0;
	window(&t);
	assert_non_null(row_of(&t, "late"));
	assert_true(late->orders > 0);
	assert_int_equal(t.told, 1);
}

static void a_source_that_comes_back_goes_on_in_its_old_rows(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct watch_source *again = &t.probes;
	uint32_t rows;

	(void)state;
	put(&t.inside, "tick", &scope, 100);
	begin(&t, true);
	start(&t, &t.inside);
	window(&t);
	rows = watchlist_count(t.list);
	t.inside.is_over = true;
	window(&t);
	assert_true(t.inside.is_closed);
	put(again, "tick", &scope, 100);
	assert_int_equal(start(&t, again), 1);
	window(&t);
	assert_int_equal(watchlist_count(t.list), rows);
	assert_in_range(t.turned.calls, 990, 1010);
}

static void a_name_that_was_not_found_and_comes_later_takes_its_row(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct watched_row missing = { .kind = WATCHED_PROBE,
				       .name = STR_LITERAL("late"),
				       .pattern = STR_LITERAL("late"),
				       .why_not = STR_LITERAL("not found") };
	uint32_t id;

	(void)state;
	put(&t.inside, "first", &scope, 10);
	begin(&t, true);
	assert_int_equal(watchlist_add(t.list, &missing, &id), 0);
	start(&t, &t.inside);
	window(&t);
	put(&t.inside, "late", &scope, 100)->is_on = true;
	window(&t);
	window(&t);
	assert_int_equal(watchlist_count(t.list), 2);
	assert_int_equal(row_of(&t, "late")->why_not.len, 0);
	assert_int_equal(row_of(&t, "late")->id, id);
	assert_in_range(t.turned.calls, 1090, 1110);
}

static void times_that_cannot_be_are_counted_and_the_calls_stay(void **state)
{
	SCOPED(end) struct stage t = { 0 };

	(void)state;
	put(&t.inside, "torn", &scope, 100);
	begin(&t, true);
	start(&t, &t.inside);
	t.inside.is_torn = true;
	window(&t);
	assert_in_range(t.turned.calls, 990, 1010);
	assert_int_equal(t.turned.timed, 0);
	assert_int_equal(t.sources.torn, 1);
}

static void slow_frames_name_their_parts_by_row(void **state)
{
	SCOPED(end) struct stage t = { .unwanted = "other" };
	SCOPED(changes_free) struct changes changes = CHANGES_EMPTY;

	(void)state;
	put(&t.inside, "other", &scope, 10);
	put(&t.inside, "wanted", &scope, 10);
	begin(&t, true);
	start(&t, &t.inside);
	t.inside.slow_left = 3;
	window(&t);
	assert_int_equal(watchlist_changes(t.list, &changes), 0);
	assert_int_equal(changes.slow_count, 3);
	assert_int_equal(changes.slow[0].rest_ns, 30 * NS_PER_MS);
	assert_int_equal(changes.slow_part_count, 3);
	assert_int_equal(changes.slow_parts[0].watched, 0);
	assert_int_equal(changes.slow_parts[0].own_ns, 60 * NS_PER_MS);
}

static void each_mode_is_calibrated_once_again(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	struct fake_point *a, *b, *c;

	(void)state;
	a = put(&t.probes, "a", &nop5, 10);
	b = put(&t.probes, "b", &nop5, 10);
	c = put(&t.probes, "c", &trap, 10);
	begin(&t, true);
	start(&t, &t.probes);
	c->costs.hook_ps += 1000000;
	watch_sources_calibrate(&t.sources);
	assert_int_equal(a->calibrations, 1);
	assert_int_equal(b->calibrations, 0);
	assert_int_equal(c->calibrations, 1);
	window(&t);
	window(&t);
	assert_int_equal(watchlist_pace(t.list, row_of(&t, "c")->id)->costs.hook_ps,
			 trap.hook_ps + 1000000);
}

static void what_the_recorder_takes_is_not_given_to_watching(void **state)
{
	SCOPED(end) struct stage t = { 0 };
	uint64_t full_ps;

	(void)state;
	put(&t.inside, "hot", &scope, 3e6);
	begin(&t, true);
	start(&t, &t.inside);
	for (int i = 0; i < 3; i++)
		full_ps = window(&t);
	t.price_ppm = PRICE_PPM / 2;
	watchlist_set_price(t.list, t.price_ppm);
	for (int i = 0; i < 3; i++)
		assert_true(window(&t) <= full_ps);
	assert_true(t.turned.charged_ps <= PRICE_PS / 2 * 105 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_of_a_window_is_counted_and_charged),
		cmocka_unit_test(intervals_go_up_where_it_is_hot_and_stay_where_it_is_not),
		cmocka_unit_test(what_is_too_hot_is_sliced_and_the_price_holds),
		cmocka_unit_test(without_slices_it_is_left_for_good_with_the_allowed_rate),
		cmocka_unit_test(probes_and_scopes_share_one_price),
		cmocka_unit_test(what_was_not_asked_for_is_charged_and_not_listed),
		cmocka_unit_test(a_point_that_cannot_be_attached_says_why),
		cmocka_unit_test(a_source_that_cannot_start_is_closed_and_the_rest_goes_on),
		cmocka_unit_test(a_name_that_comes_later_gets_a_row_and_orders),
		cmocka_unit_test(a_source_that_comes_back_goes_on_in_its_old_rows),
		cmocka_unit_test(a_name_that_was_not_found_and_comes_later_takes_its_row),
		cmocka_unit_test(times_that_cannot_be_are_counted_and_the_calls_stay),
		cmocka_unit_test(slow_frames_name_their_parts_by_row),
		cmocka_unit_test(each_mode_is_calibrated_once_again),
		cmocka_unit_test(what_the_recorder_takes_is_not_given_to_watching),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
