/* test_watch_session.c - sources, watchlist and plan joined, over a source that is made up: calls and time are simulated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/watch_sources.h"
#include "core/scoped.h"
#include "core/units.h"

#define WINDOW_NS (10 * NS_PER_S)
#define PRICE_PPM 10000u
#define PRICE_PS  (WINDOW_NS * PS_PER_NS / 100)
#define ATTACH_NS (12 * NS_PER_MS)
#define DETACH_NS (60 * NS_PER_MS)
#define MOST	  8u
#define CALL_NS	  1500u

/* A function of the made-up source. */
struct fake_point {
	const char *name, *why_not, *fails; /* fails: the reason once it is to be attached */
	enum watched_kind kind;
	struct pace_costs costs;
	double rate;
	bool is_on;
	double calls, timed; /* of this window */
	uint64_t ended_calls, ended_timed;
	struct watch_order order;
	unsigned orders, attaches, detaches, calibrations;
};

struct watch_source {
	struct fake_point points[MOST];
	uint32_t count, slow_left;
	bool has_started, is_closed, is_over, start_fails, is_torn;
};

/* One simulated process with its clock. */
struct stage {
	struct watch_source probes, inside;
	struct watchlist *list;
	struct watch_sources sources;
	uint64_t now_ns, price_ppm, spent_ps, told, told_why;
	struct watch_turned turned;
	const char *unwanted;
};

static struct stage *on_stage; /* the clock and the calls are of one world */

static void source_passes(struct watch_source *s, uint64_t ns)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct fake_point *p = &s->points[i];
		double calls = p->is_on && s->has_started ? p->rate * (double)ns / 1e9 : 0;
		double timed = p->order.interval > 0 ? calls / p->order.interval : 0;
		double most = p->order.budget > 0 ? p->order.budget : calls;

		p->calls += calls;
		p->timed +=
			p->timed + timed > most ? (most > p->timed ? most - p->timed : 0) : timed;
	}
}

static void pass(struct stage *t, uint64_t ns)
{
	source_passes(&t->probes, ns);
	source_passes(&t->inside, ns);
	t->now_ns += ns;
}

/* ---- the made-up source ---- */

static uint32_t fake_points(struct watch_source *s)
{
	return s->count;
}

static struct str str_of(const char *chars)
{
	return chars != NULL ? (struct str){ chars, (uint32_t)strlen(chars) } : STR_EMPTY;
}

static void fake_describe(struct watch_source *s, uint32_t i, struct watched_row *out)
{
	const struct fake_point *p = &s->points[i];

	out->kind = p->kind;
	out->name = str_of(p->name);
	out->module = STR_LITERAL("made up");
	out->mode = STR_LITERAL("session");
	out->first = p->costs.hook_ps > 1000000 ? STR_LITERAL("other") : STR_LITERAL("nop5");
	out->why_not = str_of(p->why_not);
	if (s->has_started && p->fails != NULL)
		out->why_not = str_of(p->fails);
}

static int fake_costs(struct watch_source *s, uint32_t i, bool again, struct watch_costs *out)
{
	*out = (struct watch_costs){ .measured = s->points[i].costs, .assumed = { 1, 1, 1 } };
	s->points[i].calibrations += again;
	return 0;
}

static int fake_start(struct watch_source *s, struct err *err)
{
	if (s->start_fails)
		return err_set(err, -EPERM, "cannot attach: made up");
	s->has_started = true;
	for (uint32_t i = 0; i < s->count; i++)
		s->points[i].is_on = s->points[i].why_not == NULL && s->points[i].fails == NULL;
	return 0;
}

static void fake_order(struct watch_source *s, uint32_t i, const struct watch_order *order)
{
	s->points[i].order = *order;
	s->points[i].orders++;
}

static int fake_attach(struct watch_source *s, uint32_t i, bool is_on, struct err *err)
{
	struct fake_point *p = &s->points[i];

	if (s == &on_stage->inside)
		return err_set(err, -ENOTSUP, "cannot detach");
	if (is_on) {
		pass(on_stage, ATTACH_NS);
		p->attaches++;
	} else {
		pass(on_stage, DETACH_NS);
		p->detaches++;
	}
	p->is_on = is_on;
	return 0;
}

static void fake_peek(struct watch_source *s, uint32_t i, uint64_t *out_calls, uint64_t *out_timed)
{
	*out_calls = (uint64_t)s->points[i].calls;
	*out_timed = (uint64_t)s->points[i].timed;
}

static int fake_turn(struct watch_source *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct fake_point *p = &s->points[i];

		p->ended_calls = (uint64_t)p->calls;
		p->ended_timed = (uint64_t)p->timed;
		p->calls -= (double)p->ended_calls;
		p->timed = 0;
	}
	return 0;
}

static int fake_seen(struct watch_source *s, uint32_t i, uint64_t span_ns, struct calls_seen *out,
		     struct histogram *histogram, struct watchlist_losses *losses)
{
	const struct fake_point *p = &s->points[i];
	uint64_t firsts = p->ended_timed > 0, others = p->ended_timed - firsts;
	uint64_t n = p->order.interval;

	(void)losses;
	*out = (struct calls_seen){ .calls = p->ended_calls,
				    .span_ns = span_ns,
				    .covered_ns = span_ns,
				    .firsts = firsts,
				    .first_ns = firsts * CALL_NS,
				    .others = others,
				    .weight = others * n,
				    .weight_squared = others * n * n,
				    .weighted_ns = others * n * CALL_NS,
				    .max_ns = firsts * CALL_NS,
				    .interval = p->order.interval };
	if (s->is_torn)
		out->weight = 0;
	return p->ended_timed > 0 ? histogram_add(histogram, 100, p->ended_timed) : 0;
}

static bool fake_take_slow(struct watch_source *s, struct frames_frame *out, uint32_t *out_tid,
			   uint64_t *out_number)
{
	if (s->slow_left == 0)
		return false;
	s->slow_left--;
	*out = (struct frames_frame){ .duration_ns = 100 * NS_PER_MS,
				      .part_count = 2,
				      .parts = { { 60 * NS_PER_MS, 1 }, { 30 * NS_PER_MS, 0 } },
				      .other_ns = 10 * NS_PER_MS };
	*out_tid = 7;
	*out_number = s->slow_left;
	return true;
}

static void fake_facts(struct watch_source *s, struct watch_source_facts *out)
{
	*out = (struct watch_source_facts){ .name = "made up", .is_over = s->is_over };
}

static void fake_close(struct watch_source *s)
{
	if (s == NULL)
		return;
	s->is_closed = true;
	for (uint32_t i = 0; i < s->count; i++)
		s->points[i].is_on = false;
}

static const struct watch_source_ops fake_ops = {
	.name = "made up",
	.points = fake_points,
	.describe = fake_describe,
	.costs = fake_costs,
	.start = fake_start,
	.order = fake_order,
	.attach = fake_attach,
	.peek = fake_peek,
	.turn = fake_turn,
	.seen = fake_seen,
	.take_slow = fake_take_slow,
	.facts = fake_facts,
	.close = fake_close,
};

/* ---- the stage ---- */

static const struct pace_costs nop5 = { 126000, 820000, 450000 };
static const struct pace_costs trap = { 115000, 1000000, 5400000 };
static const struct pace_costs scope = { 400, 25000, 0 };

static struct fake_point *put(struct watch_source *s, const char *name,
			      const struct pace_costs *costs, double rate)
{
	struct fake_point *p = &s->points[s->count++];

	*p = (struct fake_point){ .name = name, .costs = *costs, .rate = rate };
	return p;
}

static bool wants(void *owner, struct watched_row *row)
{
	const struct stage *t = owner;

	row->pattern = row->name;
	return t->unwanted == NULL || row->name.len != strlen(t->unwanted) ||
	       memcmp(row->name.bytes, t->unwanted, row->name.len) != 0;
}

static uint64_t clock_of(void *owner)
{
	const struct stage *t = owner;

	return t->now_ns;
}

static void told(void *owner, const struct watched_row *row)
{
	struct stage *t = owner;

	t->told++;
	t->told_why += row->why_not.len > 0;
}

static void begin(struct stage *t, bool may_slice)
{
	struct watchlist_settings settings = { .limits = { PRICE_PPM, 8, 4096 },
					       .window_ns = WINDOW_NS,
					       .room_bytes = 1000000,
					       .slow_ns = 50 * NS_PER_MS,
					       .seed = 1,
					       .may_slice = may_slice };
	struct watch_sources_settings joined = { .window_ns = WINDOW_NS,
						 .price_ppm = PRICE_PPM,
						 .interval_most = 4096,
						 .wants = wants,
						 .now_ns = clock_of,
						 .told = told,
						 .owner = t };

	on_stage = t;
	t->now_ns = 50 * NS_PER_S;
	t->price_ppm = PRICE_PPM;
	assert_int_equal(watchlist_open(&settings, &t->list, NULL), 0);
	joined.list = t->list;
	watch_sources_init(&t->sources, &joined);
}

/* Takes a source in and starts it. Returns how many points are watched. */
static uint32_t start(struct stage *t, struct watch_source *s)
{
	assert_int_equal(watch_sources_add(&t->sources, &fake_ops, s, NULL), 0);
	if (s == &t->inside)
		t->sources.parts[t->sources.part_count - 1].can_detach = false;
	return watch_sources_start(&t->sources);
}

/* One window, with the looks that were asked for. Returns what it spent. */
static uint64_t window(struct stage *t)
{
	uint64_t end_ns = t->sources.plan.window_start_ns + WINDOW_NS;

	while (t->now_ns < end_ns) {
		uint64_t wakes_ns = watch_sources_wakes_ns(&t->sources);

		pass(t, wakes_ns > t->now_ns ? wakes_ns - t->now_ns : 1);
		watch_sources_look(&t->sources);
	}
	assert_int_equal(watch_sources_turn(&t->sources, t->price_ppm, &t->turned), 0);
	t->spent_ps += t->turned.charged_ps;
	return t->turned.charged_ps;
}

static void end(struct stage *t)
{
	watch_sources_close(&t->sources);
	watchlist_close(t->list);
}

static const struct watched_row *row_of(const struct stage *t, const char *name)
{
	for (uint32_t id = 0; id < watchlist_count(t->list); id++) {
		const struct watched_row *row = watchlist_row(t->list, id);

		if (row->name.len == strlen(name) &&
		    memcmp(row->name.bytes, name, row->name.len) == 0)
			return row;
	}
	return NULL;
}

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
