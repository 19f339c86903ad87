/* test_profile.c - one task's profile: what is kept, who gets which weight, and that none is lost. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile_stage.h"

static void limits_that_cannot_work_are_refused_with_their_name(void **state)
{
	static const struct {
		const char *want;
		struct profile_limits limits;
		uint64_t base_ns;
	} cases[] = {
		{ "7 slots", { 7, 64, { 64, 64, 1024 } }, BASE_NS },
		{ "131072 slots", { 131072, 64, { 64, 64, 1024 } }, BASE_NS },
		{ "base period", { 16, 64, { 64, 64, 1024 } }, 0 },
		{ "15 contexts", { 16, 15, { 64, 64, 1024 } }, BASE_NS },
		{ "63 nodes", { 16, 16, { 63, 64, 1024 } }, BASE_NS },
		{ "1023 bytes", { 16, 16, { 64, 64, 1023 } }, BASE_NS },
		{ "that large", { 16, 16, { UINT32_MAX, 64, 1024 } }, BASE_NS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct profile_settings settings = { .limits = cases[i].limits,
						     .base_ns = cases[i].base_ns };
		struct profile *p = NULL;
		struct err err = ERR_EMPTY;

		assert_int_equal(profile_open(&settings, &p, &err), -EINVAL);
		assert_non_null(strstr(err.msg, cases[i].want));
		assert_null(p);
	}
	profile_close(NULL);
}

static void a_path_that_is_all_there_is_has_it_all(void **state)
{
	struct profile_settings settings = roomy(3);
	struct stage s;

	(void)state;
	stage_open(&s, &settings);
	for (int n = 0; n < 100; n++)
		assert_true(run(&s, "t;main"));
	assert_true(weight_of(entry_of(&s, "t;main")) == s.given_ns);
	assert_int_equal(entry_of(&s, "t;main")->uncertain_ns, 0);
	assert_int_equal(entry_of(&s, "t;main")->kept, 100);
	assert_whole(&s);
	assert_references_are_owned(&s);
	profile_close(s.profile);
}

static void a_kept_tick_without_a_stack_goes_to_no_stack(void **state)
{
	struct profile_settings settings = roomy(4);
	struct tick tick = { .from_ns = 5, .at_ns = 5, .weight_ns = 77 };
	struct stage s;

	(void)state;
	stage_open(&s, &settings);
	assert_true(give(&s, &tick, NULL, 0));
	assert_int_equal(weight_of(entry_of(&s, "[no stack]")), 77);
	assert_whole(&s);
	profile_close(s.profile);
}

static void a_tick_without_weight_is_counted_and_no_more(void **state)
{
	struct profile_settings settings = roomy(4);
	struct tick tick = { .from_ns = 5, .at_ns = 5, .weight_ns = 0 };
	struct label label = { .pid = 0 };
	struct stage s;

	(void)state;
	stage_open(&s, &settings);
	assert_false(give(&s, &tick, NULL, 0));
	profile_label(s.profile, &label);
	assert_int_equal(label.ticks, 1);
	assert_int_equal(label.kept, 0);
	assert_whole(&s);
	profile_close(s.profile);
}

static void every_nanosecond_stays_through_skipping_halving_and_merging(void **state)
{
	struct profile_settings settings = roomy(5);
	struct stage s;
	uint32_t halvings = 0;

	(void)state;
	stage_open(&s, &settings);
	for (int n = 0; n < 60000; n++) {
		char text[64];
		uint64_t i = rng_below(&s.world, 200);

		snprintf(text, sizeof(text), "t;main;f%d;g%d", (int)i % 20, (int)i);
		if (n % 1000 == 999) {
			struct frame path[4];
			struct tick wait = { .from_ns = s.clock_ns,
					     .state = STATE_WAITING,
					     .weight_ns = rng_below(&s.world, 900 * BASE_NS) };

			wait.at_ns = s.clock_ns += wait.weight_ns + 3;
			give(&s, &wait, path, made_path(text, path, 4));
		}
		run(&s, text);
		if (profile_timeline(s.profile)->halvings == halvings && n % 997 != 0)
			continue;
		halvings = profile_timeline(s.profile)->halvings;
		assert_whole(&s);
	}
	assert_true(halvings >= 10);
	assert_true(profile_contexts(s.profile)->merges > 1000);
	assert_whole(&s);
	assert_references_are_owned(&s);
	profile_close(s.profile);
}

static void the_open_group_is_unsampled_until_it_closes(void **state)
{
	struct profile_settings settings = roomy(6);
	struct changes c = CHANGES_EMPTY;
	struct tick tick = { .weight_ns = BASE_NS };
	struct frame path[2];
	struct stage s;
	uint64_t unsampled_ns = 0;

	(void)state;
	stage_open(&s, &settings);
	for (int n = 0; n < 8192 + 8192 + 1; n++) {
		tick.from_ns = tick.at_ns = s.clock_ns += BASE_NS;
		give(&s, &tick, path, made_path("t;main", path, 2));
	}
	assert_int_equal(profile_changes(s.profile, TASK_RUN, &c), 0);
	for (uint32_t i = 0; i < c.slot_count; i++)
		unsampled_ns += c.slots[i].unsampled_ns;
	assert_true(unsampled_ns == BASE_NS); /* one in four now, and one is there */
	for (int n = 0; n < 3; n++) {
		tick.from_ns = tick.at_ns = s.clock_ns += BASE_NS;
		give(&s, &tick, path, made_path("t;main", path, 2));
	}
	assert_true(weight_of(entry_of(&s, "t;main")) == s.given_ns);
	assert_whole(&s);
	changes_free(&c);
	profile_close(s.profile);
}

/* So many waits of a base period: groups of waiting are then long. */
static void wait_often(struct stage *s, int count)
{
	struct frame path[2];
	struct tick wait = { .state = STATE_WAITING, .weight_ns = BASE_NS };

	for (int n = 0; n < count; n++) {
		wait.from_ns = s->clock_ns;
		wait.at_ns = s->clock_ns += BASE_NS;
		give(s, &wait, path, made_path("t;main", path, 2));
	}
}

static void a_long_wait_stands_for_all_its_groups_and_counts_once(void **state)
{
	struct profile_settings settings = roomy(7);
	struct frame path[3];
	struct stage s;
	struct tick wait = { .state = STATE_WAITING, .weight_ns = 100003 * BASE_NS };
	uint64_t before;

	(void)state;
	stage_open(&s, &settings);
	wait_often(&s, 40001);
	before = s.wanted;
	wait.from_ns = s.clock_ns;
	wait.at_ns = s.clock_ns + wait.weight_ns;
	assert_true(give(&s, &wait, path, made_path("t;main;wait", path, 3)));
	assert_int_equal(s.wanted, before + 1);
	assert_true(weight_of(entry_of(&s, "t;main;wait")) >= wait.weight_ns - 2 * 8 * BASE_NS);
	assert_int_equal(entry_of(&s, "t;main;wait")->kept, 1);
	assert_whole(&s);
	assert_references_are_owned(&s);
	profile_close(s.profile);
}

/* One wait is cut into three groups' parts, each spread over its own time: as evenly as if it were one. */
static void the_parts_of_a_wait_lie_one_behind_the_other(void **state)
{
	struct profile_settings settings = roomy(7);
	struct frame path[3];
	struct stage s;
	struct tick wait = { .state = STATE_WAITING, .weight_ns = 100003 * BASE_NS };
	const struct timeline *t;

	(void)state;
	stage_open(&s, &settings);
	wait_often(&s, 40001);
	wait.from_ns = s.clock_ns;
	wait.at_ns = s.clock_ns + wait.weight_ns;
	give(&s, &wait, path, made_path("t;main;wait", path, 3));
	t = profile_timeline(s.profile);
	for (uint32_t i = 0; i < t->used; i++) {
		uint64_t waited_ns = t->slots[i].weight_ns[STATE_WAITING] +
				     t->slots[i].pending_ns[STATE_WAITING];

		if (i * t->span_ns < wait.from_ns || (i + 1) * t->span_ns > wait.at_ns)
			continue;
		assert_in_range(waited_ns, t->span_ns - 2, t->span_ns + 2);
	}
	profile_close(s.profile);
}

/* Of a thread that only runs and one that only waits, neither gets the other's state. */
static void a_path_that_only_ran_has_not_waited(void **state)
{
	struct profile_settings settings = roomy(8);
	struct stage s;
	uint64_t waited_ns = 0, got_ns;

	(void)state;
	stage_open(&s, &settings);
	for (int n = 0; n < 60000; n++) {
		struct frame path[2];
		struct tick wait = { .state = STATE_WAITING, .weight_ns = BASE_NS / 2 };

		run(&s, "ran;main");
		wait.from_ns = wait.at_ns = s.clock_ns;
		waited_ns += wait.weight_ns;
		give(&s, &wait, path, made_path("waited;main", path, 2));
	}
	assert_true(entry_of(&s, "ran;main")->weight_ns[STATE_WAITING] == 0);
	assert_true(entry_of(&s, "waited;main")->weight_ns[STATE_RUNNING] == 0);
	got_ns = entry_of(&s, "waited;main")->weight_ns[STATE_WAITING];
	assert_true(fabs((double)got_ns / (double)waited_ns - 1) < .05);
	assert_whole(&s);
	profile_close(s.profile);
}

/* A wait a millisecond beside one busy thread: what is kept of running is as if nobody waited. */
static void waiting_takes_nothing_from_how_well_running_is_known(void **state)
{
	struct profile_settings settings = roomy(31);
	struct label alone = { .pid = 0 }, beside = { .pid = 0 };

	(void)state;
	for (int waits = 0; waits <= 10; waits += 10) {
		struct label *label = waits == 0 ? &alone : &beside;
		struct stage s;
		uint64_t ran_kept = 0;

		stage_open(&s, &settings);
		for (int n = 0; n < 30000; n++) {
			struct tick tick = { .weight_ns = BASE_NS };
			struct frame path[2];
			size_t depth = made_path("t;main", path, 2);

			tick.from_ns = tick.at_ns = s.clock_ns += BASE_NS;
			ran_kept += give(&s, &tick, path, depth);
			for (int i = 0; i < waits; i++) {
				tick.state = STATE_WAITING;
				tick.weight_ns = BASE_NS / 10;
				give(&s, &tick, path, depth);
			}
		}
		profile_label(s.profile, label);
		label->kept = ran_kept;
		assert_whole(&s);
		profile_close(s.profile);
	}
	assert_int_equal(alone.one_in, 4);
	assert_int_equal(beside.one_in, 4);
	assert_in_range(beside.kept, alone.kept - 1, alone.kept + 1);
}

static void a_sleeper_keeps_its_precision(void **state)
{
	struct profile_settings settings = roomy(9);
	struct label label = { .pid = 0 };
	struct stage s;

	(void)state;
	settings.limits.slots = 1024;
	stage_open(&s, &settings);
	for (int n = 0; n < 36000; n++) { /* a tick a second, 10 h */
		s.clock_ns += 99 * BASE_NS;
		run(&s, n % 2 == 0 ? "t;main;a" : "t;main;b");
	}
	profile_label(s.profile, &label);
	assert_in_range(label.kept, 16788 * 98 / 100, 16788 * 101 / 100);
	assert_int_equal(label.one_in, 8);
	assert_int_equal(profile_timeline(s.profile)->halvings, 12);
	profile_close(s.profile);
}

static void batches_are_equal_spans_of_the_run_and_halve_with_it(void **state)
{
	static const uint32_t slot_counts[] = { 16, 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(slot_counts); i++) {
		struct profile_settings settings = roomy(10);
		uint32_t batches = slot_counts[i] < BATCH_COUNT ? slot_counts[i] : BATCH_COUNT;
		struct label label = { .pid = 0 };
		struct stage s;

		settings.limits.slots = slot_counts[i];
		stage_open(&s, &settings);
		for (int n = 0; n < 1000; n++) {
			struct frame path[2];
			struct tick tick = { .weight_ns = BASE_NS };
			const struct timeline *t = profile_timeline(s.profile);

			tick.from_ns = tick.at_ns = s.clock_ns += BASE_NS;
			give(&s, &tick, path, made_path("t;main", path, 2));
			for (uint32_t b = 0; b < BATCH_COUNT; b++) {
				uint32_t per_batch = t->count / batches;
				uint64_t want_ns = 0;

				for (uint32_t j = 0; b < batches && j < per_batch; j++)
					want_ns += sum_of(t->slots[b * per_batch + j].weight_ns);
				assert_true(entry_of(&s, "t;main")->batch_ns[b] == want_ns);
			}
		}
		profile_label(s.profile, &label);
		assert_int_equal(label.batches, batches);
		profile_close(s.profile);
	}
}

static void lost_samples_are_counted_where_they_were_lost(void **state)
{
	struct profile_settings settings = roomy(22);
	struct stage s;

	(void)state;
	stage_open(&s, &settings);
	profile_lost(s.profile, 3 * BASE_NS, 17);
	profile_lost(s.profile, 100 * BASE_NS, 1); /* beyond the last slot: it halves */
	assert_int_equal(profile_timeline(s.profile)->slots[1].lost, 17);
	assert_int_equal(profile_timeline(s.profile)->slots[49].lost, 1);
	profile_close(s.profile);
}

static void the_same_input_and_seed_give_the_same_profile(void **state)
{
	struct label label[2] = { { .pid = 0 }, { .pid = 0 } };
	uint64_t shown[2] = { 0, 0 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct profile_settings settings = roomy(23);
		const struct timeline *t;
		struct stage s;

		stage_open(&s, &settings);
		for (int n = 0; n < 20000; n++) {
			char text[32];

			snprintf(text, sizeof(text), "t;f%d", (int)rng_below(&s.world, 100));
			run(&s, text);
		}
		profile_label(s.profile, &label[round]);
		t = profile_timeline(s.profile);
		for (uint32_t i = 0; i < t->used; i++)
			shown[round] = shown[round] * 31 + t->slots[i].node;
		profile_close(s.profile);
	}
	assert_true(label[0].rng_0 == label[1].rng_0 && label[0].rng_3 == label[1].rng_3);
	assert_true(shown[0] == shown[1]);
}

/* The share of the paths "t;f0" to "t;f29" by contexts and by slots. */
static void shares_of_30(const struct stage *s, double out[2])
{
	const struct contexts *c = profile_contexts(s->profile);
	const struct timeline *t = profile_timeline(s->profile);
	char name[32];

	out[0] = out[1] = 0;
	for (uint32_t i = 0; i < c->capacity; i++) {
		if (c->entries[i].node == PATHS_NONE)
			continue;
		name_of(s, c->entries[i].node, name, sizeof(name));
		if (strtoul(name + 1, NULL, 10) < 30)
			out[0] += (double)weight_of(&c->entries[i]) / (double)s->given_ns;
	}
	for (uint32_t i = 0; i < t->used; i++) {
		name_of(s, t->slots[i].node, name, sizeof(name));
		if (strtoul(name + 1, NULL, 10) < 30)
			out[1] += (double)sum_of(t->slots[i].weight_ns) / (double)s->given_ns;
	}
}

/* Through skipping, halving and merging together: the mean over seeds is the truth. */
static void shares_are_unbiased_in_contexts_and_in_slots(void **state)
{
	enum { SEEDS = 40, TICKS = 20000 };
	double sum[2] = { 0, 0 }, squares[2] = { 0, 0 }, truth = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct profile_settings settings = roomy(seed);
		struct stage s;
		double got[2];

		stage_open(&s, &settings);
		rng_seed(&s.world, 1); /* the same stream each time */
		truth = 0;
		for (int n = 0; n < TICKS; n++) {
			char text[32];
			struct frame path[2];
			uint64_t i = rng_below(&s.world, 300);
			struct tick tick = { .weight_ns = i < 30 ? 3 * BASE_NS / 2 : BASE_NS };

			snprintf(text, sizeof(text), "t;f%d", (int)i);
			tick.from_ns = tick.at_ns = s.clock_ns += tick.weight_ns;
			give(&s, &tick, path, made_path(text, path, 2));
			truth += i < 30 ? (double)tick.weight_ns : 0;
		}
		truth /= (double)s.given_ns;
		shares_of_30(&s, got);
		for (int k = 0; k < 2; k++) {
			sum[k] += got[k];
			squares[k] += got[k] * got[k];
		}
		profile_close(s.profile);
	}
	for (int k = 0; k < 2; k++) {
		double mean = sum[k] / SEEDS;
		double error = sqrt((squares[k] / SEEDS - mean * mean) / (SEEDS - 1));

		assert_true(fabs(mean - truth) <= 4 * error + 1e-4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_that_cannot_work_are_refused_with_their_name),
		cmocka_unit_test(a_path_that_is_all_there_is_has_it_all),
		cmocka_unit_test(a_kept_tick_without_a_stack_goes_to_no_stack),
		cmocka_unit_test(a_tick_without_weight_is_counted_and_no_more),
		cmocka_unit_test(every_nanosecond_stays_through_skipping_halving_and_merging),
		cmocka_unit_test(the_open_group_is_unsampled_until_it_closes),
		cmocka_unit_test(a_long_wait_stands_for_all_its_groups_and_counts_once),
		cmocka_unit_test(a_path_that_only_ran_has_not_waited),
		cmocka_unit_test(waiting_takes_nothing_from_how_well_running_is_known),
		cmocka_unit_test(a_sleeper_keeps_its_precision),
		cmocka_unit_test(batches_are_equal_spans_of_the_run_and_halve_with_it),
		cmocka_unit_test(lost_samples_are_counted_where_they_were_lost),
		cmocka_unit_test(the_same_input_and_seed_give_the_same_profile),
		cmocka_unit_test(shares_are_unbiased_in_contexts_and_in_slots),
		cmocka_unit_test(the_parts_of_a_wait_lie_one_behind_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
