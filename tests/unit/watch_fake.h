/* watch_fake.h - a source that is made up, for tests of what joins sources, watchlist and plan: calls and time are
 * simulated. Include after cmocka.h. */
#ifndef TARE_TESTS_WATCH_FAKE_H
#define TARE_TESTS_WATCH_FAKE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	bool has_started, is_closed, is_over, start_fails, is_torn, is_last, ends_at_turn;
	uint64_t child_cpu_ns,
		measure_ns; /* of a child that measures on: so far, and each time; 0: there is none */
	unsigned measures;
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

static inline void source_passes(struct watch_source *s, uint64_t ns)
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

static inline void pass(struct stage *t, uint64_t ns)
{
	source_passes(&t->probes, ns);
	source_passes(&t->inside, ns);
	t->now_ns += ns;
}

/* ---- the made-up source ---- */

static inline uint32_t fake_points(struct watch_source *s)
{
	return s->count;
}

static inline struct str str_of(const char *chars)
{
	return chars != NULL ? (struct str){ chars, (uint32_t)strlen(chars) } : STR_EMPTY;
}

static inline void fake_describe(struct watch_source *s, uint32_t i, struct watched_row *out)
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

static inline int fake_costs(struct watch_source *s, uint32_t i, bool again,
			     struct watch_costs *out)
{
	*out = (struct watch_costs){ .measured = s->points[i].costs, .assumed = { 1, 1, 1 } };
	s->points[i].calibrations += again;
	return 0;
}

static inline uint64_t fake_measure(struct watch_source *s)
{
	s->measures += s->measure_ns > 0;
	s->child_cpu_ns += s->measure_ns;
	return s->child_cpu_ns;
}

static inline int fake_start(struct watch_source *s, struct err *err)
{
	if (s->start_fails)
		return err_set(err, -EPERM, "cannot attach: made up");
	s->has_started = true;
	for (uint32_t i = 0; i < s->count; i++)
		s->points[i].is_on = s->points[i].why_not == NULL && s->points[i].fails == NULL;
	return 0;
}

static inline void fake_order(struct watch_source *s, uint32_t i, const struct watch_order *order)
{
	s->points[i].order = *order;
	s->points[i].orders++;
}

static inline int fake_attach(struct watch_source *s, uint32_t i, bool is_on, struct err *err)
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

static inline void fake_peek(struct watch_source *s, uint32_t i, uint64_t *out_calls,
			     uint64_t *out_timed)
{
	*out_calls = (uint64_t)s->points[i].calls;
	*out_timed = (uint64_t)s->points[i].timed;
}

static inline int fake_turn(struct watch_source *s, bool is_last)
{
	s->is_last = is_last;
	s->is_over |= s->ends_at_turn;
	for (uint32_t i = 0; i < s->count; i++) {
		struct fake_point *p = &s->points[i];

		p->ended_calls = (uint64_t)p->calls;
		p->ended_timed = (uint64_t)p->timed;
		p->calls -= (double)p->ended_calls;
		p->timed = 0;
	}
	return 0;
}

static inline int fake_seen(struct watch_source *s, uint32_t i, uint64_t span_ns,
			    struct calls_seen *out, struct histogram *histogram,
			    struct watchlist_losses *losses)
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

static inline bool fake_take_slow(struct watch_source *s, struct frames_frame *out,
				  uint32_t *out_tid, uint64_t *out_number)
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

static inline void fake_facts(struct watch_source *s, struct watch_source_facts *out)
{
	*out = (struct watch_source_facts){ .name = "made up", .is_over = s->is_over };
}

static inline void fake_close(struct watch_source *s)
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
	.measure = fake_measure,
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

static inline struct fake_point *put(struct watch_source *s, const char *name,
				     const struct pace_costs *costs, double rate)
{
	struct fake_point *p = &s->points[s->count++];

	*p = (struct fake_point){ .name = name, .costs = *costs, .rate = rate };
	return p;
}

static inline bool wants(void *owner, struct watched_row *row)
{
	const struct stage *t = owner;

	row->pattern = row->name;
	return t->unwanted == NULL || row->name.len != strlen(t->unwanted) ||
	       memcmp(row->name.bytes, t->unwanted, row->name.len) != 0;
}

static inline uint64_t clock_of(void *owner)
{
	const struct stage *t = owner;

	return t->now_ns;
}

static inline void told(void *owner, const struct watched_row *row)
{
	struct stage *t = owner;

	t->told++;
	t->told_why += row->why_not.len > 0;
}

static inline void begin(struct stage *t, bool may_slice)
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
static inline uint32_t start(struct stage *t, struct watch_source *s)
{
	assert_int_equal(watch_sources_add(&t->sources, &fake_ops, s, NULL), 0);
	if (s == &t->inside)
		t->sources.parts[t->sources.part_count - 1].can_detach = false;
	return watch_sources_start(&t->sources);
}

/* One window, with the looks that were asked for. Returns what it spent. */
static inline uint64_t window(struct stage *t)
{
	uint64_t end_ns = t->sources.plan.window_start_ns + WINDOW_NS;

	while (t->now_ns < end_ns) {
		uint64_t wakes_ns = watch_sources_wakes_ns(&t->sources);

		pass(t, wakes_ns > t->now_ns ? wakes_ns - t->now_ns : 1);
		watch_sources_look(&t->sources);
	}
	watch_sources_settle(&t->sources);
	assert_int_equal(watch_sources_turn(&t->sources, t->price_ppm, false, &t->turned), 0);
	t->spent_ps += t->turned.charged_ps;
	return t->turned.charged_ps;
}

static inline void end(struct stage *t)
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

#endif
