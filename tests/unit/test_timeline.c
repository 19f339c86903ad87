/* test_timeline.c - slots that halve: every nanosecond stays, and who is shown is drawn in proportion. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/timeline.h"
#include "made_paths.h"

#define BASE_NS UINT64_C(10000000)
#define NAMES	6

/* A timeline with its paths: six functions that are held all the time. */
struct stage {
	struct timeline timeline;
	struct paths *paths;
	struct rng rng;
	uint32_t nodes[NAMES]; /* "a" .. "f" */
	uint64_t clock_ns;     /* elapsed */
	uint64_t put_ns;       /* all weight ever put */
};

static void stage_open(struct stage *s, uint32_t slots, uint64_t seed)
{
	const struct paths_limits limits = { 64, 64, 1024 };
	static const char names[] = "abcdef";

	*s = (struct stage){ .paths = NULL };
	assert_int_equal(paths_open(&limits, &s->paths), 0);
	assert_int_equal(timeline_init(&s->timeline, slots, BASE_NS), 0);
	rng_seed(&s->rng, seed);
	for (int i = 0; i < NAMES; i++) {
		struct frame f = made_frame(names + i, 1);

		assert_int_equal(paths_add(s->paths, &f, 1, &s->nodes[i]), 0);
	}
}

/* Every reference must have come back. */
static void stage_close(struct stage *s)
{
	timeline_free(&s->timeline, s->paths);
	for (int i = 0; i < NAMES; i++) {
		assert_int_equal(paths_references(s->paths, s->nodes[i]), 1);
		paths_unref(s->paths, s->nodes[i]);
	}
	assert_int_equal(paths_used(s->paths).nodes, 0);
	paths_close(s->paths);
	timeline_free(&s->timeline, NULL);
}

static void put(struct stage *s, uint64_t from_ns, uint64_t at_ns, enum state state,
		uint64_t weight_ns)
{
	timeline_reach(&s->timeline, s->paths, &s->rng, at_ns);
	timeline_put(&s->timeline, from_ns, at_ns, state, weight_ns);
	s->put_ns += weight_ns;
}

static void close_group(struct stage *s, int name)
{
	for (int state = 0; state < STATE_COUNT; state++)
		timeline_close_group(&s->timeline, s->paths, &s->rng,
				     &(struct timeline_group){ state, s->nodes[name] }, NULL, NULL);
}

/* One sample of a running thread that is its own group. */
static void sample(struct stage *s, int name, uint64_t weight_ns)
{
	s->clock_ns += weight_ns;
	put(s, s->clock_ns, s->clock_ns, STATE_RUNNING, weight_ns);
	close_group(s, name);
}

static uint64_t weight_of(const struct slot *slot)
{
	uint64_t sum = 0;

	for (int i = 0; i < STATE_COUNT; i++)
		sum += slot->weight_ns[i] + slot->pending_ns[i];
	return sum;
}

static uint64_t total(const struct timeline *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->count; i++)
		sum += weight_of(&t->slots[i]);
	return sum;
}

/* The weight of slots that show this name. */
static double share_of(const struct stage *s, int name)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->timeline.used; i++) {
		if (s->timeline.slots[i].node == s->nodes[name])
			sum += weight_of(&s->timeline.slots[i]);
	}
	return (double)sum / (double)total(&s->timeline);
}

static void only_powers_of_two_from_16_to_65536_are_slots(void **state)
{
	static const uint32_t bad[] = { 0, 1, 7, 8, 15, 17, 24, 1000, 65535, 131072 };
	struct timeline t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(timeline_init(&t, bad[i], BASE_NS), -EINVAL);
	assert_int_equal(timeline_init(&t, 16, 0), -EINVAL);
	assert_int_equal(timeline_init(&t, 16, 1), 0);
	timeline_free(&t, NULL);
	assert_int_equal(timeline_init(&t, 65536, BASE_NS), 0);
	timeline_free(&t, NULL);
}

static void a_slot_is_open_at_its_start_and_closed_at_its_end(void **state)
{
	static const struct {
		uint64_t at_ns;
		uint32_t want;
	} cases[] = {
		{ 0, 0 },	    { 1, 0 },		{ BASE_NS, 0 },
		{ BASE_NS + 1, 1 }, { 2 * BASE_NS, 1 }, { 16 * BASE_NS, 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stage s;

		stage_open(&s, 16, 1);
		put(&s, cases[i].at_ns, cases[i].at_ns, STATE_RUNNING, 5);
		assert_int_equal(s.timeline.halvings, 0);
		assert_int_equal(s.timeline.used, cases[i].want + 1);
		assert_int_equal(weight_of(&s.timeline.slots[cases[i].want]), 5);
		stage_close(&s);
	}
}

static void beyond_the_last_slot_it_halves_as_often_as_needed(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 16, 1);
	for (int i = 0; i < 16; i++)
		sample(&s, i % NAMES, BASE_NS);
	assert_int_equal(s.timeline.halvings, 0);
	assert_int_equal(timeline_reach(&s.timeline, s.paths, &s.rng, 16 * BASE_NS + 1), 1);
	assert_int_equal(s.timeline.used, 8);
	assert_int_equal(s.timeline.span_ns, 2 * BASE_NS);
	assert_int_equal(timeline_reach(&s.timeline, s.paths, &s.rng, 1000 * BASE_NS), 5);
	assert_int_equal(s.timeline.span_ns, 64 * BASE_NS);
	assert_int_equal(s.timeline.used, 1);
	assert_int_equal(weight_of(&s.timeline.slots[0]), 16 * BASE_NS);
	stage_close(&s);
}

static void the_sum_is_exact_after_every_halving(void **state)
{
	struct stage s;
	uint32_t halvings = 0, seen = 0;

	(void)state;
	stage_open(&s, 64, 2);
	for (int n = 0; n < 100000; n++) {
		uint64_t weight_ns = BASE_NS - 1000 + rng_below(&s.rng, 2001);

		s.clock_ns += weight_ns;
		if (n % 100 == 0)
			put(&s, s.clock_ns - s.clock_ns / 3, s.clock_ns, STATE_WAITING,
			    1 + rng_below(&s.rng, 999999));
		else
			put(&s, s.clock_ns, s.clock_ns, (enum state)(n % 3), weight_ns);
		if (n % 3 == 0)
			close_group(&s, n % NAMES);
		if (s.timeline.halvings == halvings)
			continue;
		halvings = s.timeline.halvings;
		seen++;
		assert_true(total(&s.timeline) == s.put_ns);
	}
	assert_true(seen >= 10);
	assert_true(total(&s.timeline) == s.put_ns);
	stage_close(&s);
}

/* How often "a" is shown by the only slot after weights of 1 (a) and 3 (b), in this order of arrival. */
static int shows_a(bool first_is_a, uint32_t halvings)
{
	int shown = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct stage s;

		stage_open(&s, 16, seed);
		for (int n = 0; n < 2; n++) {
			int name = (n == 0) == first_is_a ? 0 : 1;
			uint64_t at_ns = halvings == 0 ? 1 : 1 + (uint64_t)n * BASE_NS;

			put(&s, at_ns, at_ns, STATE_RUNNING, name == 0 ? 1000 : 3000);
			close_group(&s, name);
		}
		for (uint32_t i = 0; i < halvings; i++)
			timeline_halve(&s.timeline, s.paths, &s.rng);
		shown += s.timeline.slots[0].node == s.nodes[0];
		stage_close(&s);
	}
	return shown;
}

static void weights_of_1_and_3_are_shown_1_in_4_in_the_open_slot(void **state)
{
	(void)state;
	assert_in_range(shows_a(true, 0), 1000 - 4 * 27, 1000 + 4 * 27);
	assert_in_range(shows_a(false, 0), 1000 - 4 * 27, 1000 + 4 * 27);
}

static void weights_of_1_and_3_are_shown_1_in_4_after_merging(void **state)
{
	(void)state;
	assert_in_range(shows_a(true, 1), 1000 - 4 * 27, 1000 + 4 * 27);
	assert_in_range(shows_a(false, 1), 1000 - 4 * 27, 1000 + 4 * 27);
	assert_in_range(shows_a(true, 4), 1000 - 4 * 27, 1000 + 4 * 27);
}

/* At every instant: in the middle of an open slot, right before and after a halving. */
static void a_slot_shows_x_with_its_part_of_the_weight_at_every_instant(void **state)
{
	static const int stops[] = { 1, 2, 3, 15, 16, 17, 18, 33, 40, 61 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
		double want = 0, weight = 0, got = 0;

		for (uint64_t seed = 0; seed < 400; seed++) {
			struct stage s;

			stage_open(&s, 16, seed);
			want = weight = 0;
			for (int n = 0; n < stops[i]; n++) {
				uint64_t weight_ns = n % 3 == 0 ? 3 * BASE_NS / 4 : BASE_NS / 4;

				sample(&s, n % 3 == 0 ? 0 : 1, weight_ns);
				want += n % 3 == 0 ? (double)weight_ns : 0;
				weight += (double)weight_ns;
			}
			got += share_of(&s, 0) / 400;
			stage_close(&s);
		}
		want /= weight;
		/* one slot at worst: a coin of variance p (1 - p) */
		assert_true((got - want) * (got - want) * 400 <= 16 * want * (1 - want) + 1e-12);
	}
}

static void jobs_with_periods_of_2_4_and_6_keep_their_shares(void **state)
{
	static const struct {
		const char *name;
		int period[6], len;
		double want; /* of name 0 */
	} cases[] = {
		{ "period 2: .50", { 0, 1 }, 2, .50 },
		{ "period 4: .25", { 0, 1, 2, 3 }, 4, .25 },
		{ "period 6: .50", { 0, 0, 0, 1, 2, 3 }, 6, .50 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double mean = 0;

		print_message("%s\n", cases[i].name);
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct stage s;

			stage_open(&s, 1024, seed);
			for (int n = 0; n < 32768; n++)
				sample(&s, cases[i].period[n % cases[i].len], BASE_NS);
			mean += share_of(&s, 0) / 5;
			stage_close(&s);
		}
		/* 5 x 1024 slots: 4 standard errors of the worst case are .028 */
		assert_true(mean > cases[i].want - .028 && mean < cases[i].want + .028);
	}
}

/* One call of 100,000 periods among 100,000 samples of one period: half of the run. */
static void a_blocked_call_keeps_its_half(void **state)
{
	double mean = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct stage s;
		uint64_t blocked_at = seed * 30000;
		uint64_t spread_ns = seed % 2 * 100000 * BASE_NS; /* or all of it in one slot */

		stage_open(&s, 1024, seed);
		for (uint64_t n = 0; n < 100000; n++) {
			if (n == blocked_at) {
				s.clock_ns += 100000 * BASE_NS;
				put(&s, s.clock_ns - spread_ns, s.clock_ns, STATE_WAITING,
				    100000 * BASE_NS);
				close_group(&s, 0);
			}
			sample(&s, 1 + (int)(n % 5), BASE_NS);
		}
		assert_true(total(&s.timeline) == 200000 * BASE_NS);
		assert_true(share_of(&s, 0) > .49 && share_of(&s, 0) < .51);
		mean += share_of(&s, 0) / 4;
		stage_close(&s);
	}
	assert_true(mean > .498 && mean < .502);
}

static void a_wait_fills_its_hours_and_the_remainder_goes_to_the_last(void **state)
{
	const uint64_t hour_ns = UINT64_C(3600000000000), span_ns = BASE_NS << 11; /* 20.48 s */
	struct stage s;
	uint32_t last;

	(void)state;
	stage_open(&s, 1024, 1);
	put(&s, 0, 5 * hour_ns, STATE_WAITING, 5 * hour_ns - 12345);
	assert_int_equal(s.timeline.span_ns, span_ns);
	last = s.timeline.used - 1;
	assert_int_equal(last, 5 * hour_ns / span_ns);
	for (uint32_t i = 0; i < last; i++)
		assert_int_equal(weight_of(&s.timeline.slots[i]),
				 span_ns - 15); /* 12345 x span / 5 h: 14.04 */
	assert_true(weight_of(&s.timeline.slots[last]) ==
		    5 * hour_ns - 12345 - (span_ns - 15) * last);
	assert_true(total(&s.timeline) == s.put_ns);
	close_group(&s, 2);
	for (uint32_t i = 0; i <= last; i++)
		assert_int_equal(s.timeline.slots[i].node, s.nodes[2]);
	stage_close(&s);
}

static void a_spread_begins_and_ends_inside_slots(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 16, 1);
	put(&s, BASE_NS / 2, 3 * BASE_NS + BASE_NS / 4, STATE_WAITING, 1100);
	assert_int_equal(s.timeline.slots[0].pending_ns[STATE_WAITING], 200);
	assert_int_equal(s.timeline.slots[1].pending_ns[STATE_WAITING], 400);
	assert_int_equal(s.timeline.slots[2].pending_ns[STATE_WAITING], 400);
	assert_int_equal(s.timeline.slots[3].pending_ns[STATE_WAITING], 100);
	stage_close(&s);
}

static void told(void *owner, uint32_t slot, uint64_t weight_ns)
{
	uint64_t *by_slot = owner;

	by_slot[slot] += weight_ns;
}

static void weight_is_pending_until_the_group_of_its_state_closes(void **state)
{
	struct timeline_group group = { .state = STATE_RUNNING };
	struct stage s;
	uint64_t by_slot[16] = { 0 };

	(void)state;
	stage_open(&s, 16, 1);
	put(&s, BASE_NS, BASE_NS, STATE_RUNNING, 7);
	put(&s, 5 * BASE_NS, 5 * BASE_NS, STATE_WAITING, 9);
	assert_int_equal(s.timeline.slots[0].node, PATHS_NONE);
	assert_int_equal(s.timeline.slots[0].weight_ns[STATE_RUNNING], 0);
	group.node = s.nodes[3];
	timeline_close_group(&s.timeline, s.paths, &s.rng, &group, told, by_slot);
	assert_int_equal(by_slot[0], 7);
	assert_int_equal(by_slot[4], 0); /* another state's group is still open */
	assert_int_equal(s.timeline.slots[0].weight_ns[STATE_RUNNING], 7);
	assert_int_equal(s.timeline.slots[0].pending_ns[STATE_RUNNING], 0);
	assert_int_equal(s.timeline.slots[4].pending_ns[STATE_WAITING], 9);
	assert_int_equal(s.timeline.slots[4].node, PATHS_NONE);
	group.state = STATE_WAITING;
	timeline_close_group(&s.timeline, s.paths, &s.rng, &group, told, by_slot);
	assert_int_equal(by_slot[4], 9);
	assert_int_equal(s.timeline.slots[4].node, s.nodes[3]);
	assert_int_equal(s.timeline.slots[2].node, PATHS_NONE);
	group.node = s.nodes[1];
	timeline_close_group(&s.timeline, s.paths, &s.rng, &group, told, by_slot);
	assert_int_equal(by_slot[4], 9); /* nothing was pending */
	stage_close(&s);
}

static void weight_that_is_pending_through_a_halving_still_closes(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 16, 1);
	put(&s, 3 * BASE_NS, 3 * BASE_NS, STATE_RUNNING, 7);
	timeline_halve(&s.timeline, s.paths, &s.rng);
	assert_int_equal(s.timeline.slots[1].pending_ns[STATE_RUNNING], 7);
	close_group(&s, 4);
	assert_int_equal(s.timeline.slots[1].weight_ns[STATE_RUNNING], 7);
	assert_int_equal(s.timeline.slots[1].node, s.nodes[4]);
	stage_close(&s);
}

static void kept_and_lost_are_counted_apart_and_survive_halving(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s, 16, 1);
	timeline_count_kept(&s.timeline, 1);
	timeline_count_kept(&s.timeline, BASE_NS + 1);
	timeline_count_lost(&s.timeline, BASE_NS + 1, 40);
	timeline_count_lost(&s.timeline, 1, UINT64_MAX);
	timeline_halve(&s.timeline, s.paths, &s.rng);
	assert_int_equal(s.timeline.slots[0].kept, 2);
	assert_int_equal(s.timeline.slots[0].lost, UINT32_MAX); /* saturates, never starts again */
	stage_close(&s);
}

/* What a reader has who got only the changes. */
struct shadow {
	struct slot_row rows[64];
	bool has[64];
};

static void save(struct shadow *shadow, struct stage *s, struct changes *c)
{
	changes_reset(c);
	assert_int_equal(timeline_changes(&s->timeline, TASK_RUN, c), 0);
	for (uint32_t i = 0; i < 64; i++)
		shadow->has[i] = shadow->has[i] && i < c->slots_from;
	for (uint32_t i = 0; i < c->slot_count; i++) {
		shadow->rows[c->slots[i].id] = c->slots[i];
		shadow->has[c->slots[i].id] = true;
	}
	timeline_saved(&s->timeline);
}

static void assert_shadows(const struct shadow *shadow, const struct timeline *t)
{
	for (uint32_t i = 0; i < 64; i++) {
		const struct slot *slot = &t->slots[i];
		const struct slot_row *row = &shadow->rows[i];

		assert_int_equal(shadow->has[i], i < t->used);
		if (!shadow->has[i])
			continue;
		assert_int_equal(row->task, TASK_RUN);
		assert_int_equal(row->node, slot->node == PATHS_NONE ? NO_ID : slot->node);
		assert_true(row->running_ns == slot->weight_ns[STATE_RUNNING]);
		assert_true(row->waiting_ns == slot->weight_ns[STATE_WAITING]);
		assert_true(row->runnable_ns == slot->weight_ns[STATE_RUNNABLE]);
		assert_true(row->running_ns + row->waiting_ns + row->runnable_ns +
				    row->unsampled_ns ==
			    weight_of(slot));
		assert_int_equal(row->kept, slot->kept);
		assert_int_equal(row->lost, slot->lost);
	}
}

static void changes_bring_a_copy_up_to_date(void **state)
{
	static struct shadow shadow;
	struct changes c = CHANGES_EMPTY;
	struct stage s;
	struct rng world;

	(void)state;
	memset(&shadow, 0, sizeof(shadow));
	rng_seed(&world, 3);
	stage_open(&s, 64, 3);
	for (int n = 0; n < 3000; n++) {
		s.clock_ns += rng_below(&world, 3 * BASE_NS);
		put(&s, s.clock_ns - rng_below(&world, s.clock_ns + 1), s.clock_ns,
		    (enum state)(n % 3), rng_below(&world, BASE_NS));
		if (rng_below(&world, 2) == 0)
			close_group(&s, n % NAMES);
		if (rng_below(&world, 4) == 0)
			timeline_count_kept(&s.timeline, s.clock_ns);
		if (rng_below(&world, 9) == 0)
			timeline_count_lost(&s.timeline, s.clock_ns, 3);
		if (rng_below(&world, 60) == 0)
			s.clock_ns += s.clock_ns / 7;
		if (rng_below(&world, 5) > 0)
			continue;
		save(&shadow, &s, &c);
		assert_shadows(&shadow, &s.timeline);
	}
	save(&shadow, &s, &c);
	save(&shadow, &s, &c);
	assert_int_equal(c.slot_count, 0);
	assert_int_equal(c.slots_from, NO_ID);
	changes_free(&c);
	stage_close(&s);
}

static void no_memory_for_the_changes_forgets_none(void **state)
{
	struct changes c = CHANGES_EMPTY;
	struct stage s;

	(void)state;
	stage_open(&s, 16, 3);
	sample(&s, 0, BASE_NS);
	timeline_halve(&s.timeline, s.paths, &s.rng);
	c.slot_count = c.slot_room = UINT32_MAX;
	assert_int_equal(timeline_changes(&s.timeline, TASK_RUN, &c), -ENOMEM);
	c.slot_count = c.slot_room = 0;
	assert_int_equal(timeline_changes(&s.timeline, TASK_RUN, &c), 0);
	assert_int_equal(c.slot_count, 1);
	assert_int_equal(c.slots_from, 1);
	changes_free(&c);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_powers_of_two_from_16_to_65536_are_slots),
		cmocka_unit_test(a_slot_is_open_at_its_start_and_closed_at_its_end),
		cmocka_unit_test(beyond_the_last_slot_it_halves_as_often_as_needed),
		cmocka_unit_test(the_sum_is_exact_after_every_halving),
		cmocka_unit_test(weights_of_1_and_3_are_shown_1_in_4_in_the_open_slot),
		cmocka_unit_test(weights_of_1_and_3_are_shown_1_in_4_after_merging),
		cmocka_unit_test(a_slot_shows_x_with_its_part_of_the_weight_at_every_instant),
		cmocka_unit_test(jobs_with_periods_of_2_4_and_6_keep_their_shares),
		cmocka_unit_test(a_blocked_call_keeps_its_half),
		cmocka_unit_test(a_wait_fills_its_hours_and_the_remainder_goes_to_the_last),
		cmocka_unit_test(a_spread_begins_and_ends_inside_slots),
		cmocka_unit_test(weight_is_pending_until_the_group_of_its_state_closes),
		cmocka_unit_test(kept_and_lost_are_counted_apart_and_survive_halving),
		cmocka_unit_test(changes_bring_a_copy_up_to_date),
		cmocka_unit_test(no_memory_for_the_changes_forgets_none),
		cmocka_unit_test(weight_that_is_pending_through_a_halving_still_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
