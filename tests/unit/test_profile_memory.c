/* test_profile_memory.c - memory of a profile: all of it is taken at the start, and saves may fail for lack of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "profile_stage.h"

static void no_memory_is_said_and_leaks_nothing(void **state)
{
	struct profile_settings settings = roomy(1);
	struct profile *p = NULL;
	int failures = 0;

	(void)state;
	for (long n = 0; p == NULL; n++) {
		struct err err = ERR_EMPTY;

		fails_at = allocations + n;
		failures++;
		if (profile_open(&settings, &p, &err) < 0)
			assert_int_equal(err.code, -ENOMEM);
	}
	fails_at = -1;
	assert_in_range(failures, 10, 20);
	profile_close(p);
}

static void nothing_is_allocated_after_the_start(void **state)
{
	struct profile_settings settings = roomy(2);
	struct stage s;
	long before;

	(void)state;
	settings.limits.paths = (struct paths_limits){ 200, 100, 1500 };
	stage_open(&s, &settings);
	before = allocations;
	for (int n = 0; n < 20000; n++) {
		char text[64];

		snprintf(text, sizeof(text), "t;main;f%d;g%d", n % 70, n % 331);
		run(&s, text);
	}
	assert_int_equal(allocations, before);
	assert_true(profile_contexts(s.profile)->merges > 100);
	profile_close(s.profile);
}

/* What a reader has who got only the changes. */
struct shadow {
	struct slot_row slots[64];
	struct context_row contexts[64];
	bool has_slot[64], has_context[64], has_node[2048], has_frame[1024];
	uint32_t parent[2048], frame[2048];
};

static void apply(struct shadow *w, const struct changes *c)
{
	for (uint32_t i = 0; i < c->gone_node_count; i++)
		w->has_node[c->gone_nodes[i]] = false;
	for (uint32_t i = 0; i < c->gone_frame_count; i++)
		w->has_frame[c->gone_frames[i]] = false;
	for (uint32_t i = 0; i < c->gone_context_count; i++)
		w->has_context[c->gone_contexts[i]] = false;
	for (uint32_t i = 0; i < 64; i++)
		w->has_slot[i] = w->has_slot[i] && i < c->slots_from;
	for (uint32_t i = 0; i < c->node_count; i++) {
		w->has_node[c->nodes[i].id] = true;
		w->parent[c->nodes[i].id] = c->nodes[i].parent;
		w->frame[c->nodes[i].id] = c->nodes[i].frame;
	}
	for (uint32_t i = 0; i < c->frame_count; i++)
		w->has_frame[c->frames[i].id] = true;
	for (uint32_t i = 0; i < c->slot_count; i++) {
		w->has_slot[c->slots[i].id] = true;
		w->slots[c->slots[i].id] = c->slots[i];
	}
	for (uint32_t i = 0; i < c->context_count; i++) {
		w->has_context[c->contexts[i].id] = true;
		w->contexts[c->contexts[i].id] = c->contexts[i];
	}
}

static void assert_path_is_there(const struct shadow *w, uint32_t node)
{
	for (int steps = 0; node != NO_ID; node = w->parent[node], steps++) {
		assert_true(w->has_node[node]);
		assert_true(w->has_frame[w->frame[node]]);
		assert_true(steps < 10);
	}
}

/* The copy alone must add up, and hold every path it names. */
static void assert_copy_is_whole(const struct shadow *w, const struct stage *s)
{
	const struct timeline *t = profile_timeline(s->profile);
	uint64_t slots_ns = 0, unsampled_ns = 0, contexts_ns = 0;

	for (uint32_t i = 0; i < 64; i++) {
		if (w->has_slot[i]) {
			slots_ns += w->slots[i].running_ns + w->slots[i].waiting_ns +
				    w->slots[i].runnable_ns;
			unsampled_ns += w->slots[i].unsampled_ns;
			assert_int_equal(w->slots[i].node, t->slots[i].node);
			assert_path_is_there(w, w->slots[i].node);
		}
		if (w->has_context[i]) {
			contexts_ns += w->contexts[i].certain_ns + w->contexts[i].uncertain_ns;
			assert_path_is_there(w, w->contexts[i].node);
		}
	}
	assert_true(slots_ns + unsampled_ns == s->given_ns);
	assert_true(contexts_ns == slots_ns);
}

static void changes_bring_a_copy_up_to_date_though_saves_fail(void **state)
{
	static struct shadow copy;
	struct profile_settings settings = roomy(24);
	struct changes c = CHANGES_EMPTY;
	struct stage s;
	int failed = 0;

	(void)state;
	memset(&copy, 0, sizeof(copy));
	settings.limits.paths = (struct paths_limits){ 300, 150, 3000 };
	stage_open(&s, &settings);
	for (int n = 0; n < 30000; n++) {
		char text[64];

		snprintf(text, sizeof(text), "t;f%d;g%d", (int)rng_below(&s.world, 40),
			 (int)rng_below(&s.world, 40));
		run(&s, text);
		if (rng_below(&s.world, 40) > 0)
			continue;
		if (rng_below(&s.world, 3) == 0) { /* out of memory somewhere in between */
			changes_free(&c);
			fails_at = allocations + (long)rng_below(&s.world, 8);
			if (profile_changes(s.profile, TASK_RUN, &c) < 0) {
				assert_int_equal(c.node_count + c.slot_count + c.context_count, 0);
				assert_int_equal(c.slots_from, NO_ID);
				failed++;
			}
			fails_at = -1;
			continue; /* whatever was listed is not saved */
		}
		changes_reset(&c);
		assert_int_equal(profile_changes(s.profile, TASK_RUN, &c), 0);
		apply(&copy, &c);
		profile_saved(s.profile);
		assert_copy_is_whole(&copy, &s);
	}
	assert_true(failed > 50);
	changes_free(&c);
	profile_close(s.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_is_said_and_leaks_nothing),
		cmocka_unit_test(nothing_is_allocated_after_the_start),
		cmocka_unit_test(changes_bring_a_copy_up_to_date_though_saves_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
