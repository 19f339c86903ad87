/* test_profile_room.c - what yields when room runs out, and what is left of a path that has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile_stage.h"

static void a_deep_path_keeps_its_root_and_its_end_with_a_marker_between(void **state)
{
	static struct frame path[30000];
	static char names[30000][8];
	struct profile_settings settings = roomy(11);
	const struct paths *p;
	struct tick tick = { .from_ns = 1, .at_ns = 1, .weight_ns = 9 };
	struct stage s;
	uint32_t node;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		int len = snprintf(names[i], sizeof(names[i]), "f%zu", i);

		path[i] = made_frame(names[i], (size_t)len);
	}
	settings.limits.paths = (struct paths_limits){ 2048, 2048, 65536 };
	stage_open(&s, &settings);
	give(&s, &tick, path, ARRAY_LEN(path));
	p = profile_paths(s.profile);
	node = profile_timeline(s.profile)->slots[0].node;
	assert_int_equal(paths_depth(p, node), PROFILE_MAX_DEPTH);
	for (uint32_t depth = PROFILE_MAX_DEPTH; depth > 0; depth--) {
		struct frame f = paths_frame(p, paths_frame_id(p, node));
		char want[32];

		if (depth == 257)
			snprintf(want, sizeof(want), "[cut 29489]");
		else
			snprintf(want, sizeof(want), "f%u",
				 depth < 257 ? depth - 1 : 30000 - (PROFILE_MAX_DEPTH - depth) - 1);
		assert_int_equal(f.name.len, strlen(want));
		assert_memory_equal(f.name.bytes, want, f.name.len);
		assert_int_equal(f.kind, depth == 257 ? FRAME_MARKER : FRAME_NATIVE);
		node = paths_parent(p, node);
	}
	assert_int_equal(node, PATHS_NONE);
	give(&s, &tick, path, PROFILE_MAX_DEPTH); /* the deepest that is not cut */
	assert_int_equal(paths_find(p, path, PROFILE_MAX_DEPTH) != PATHS_NONE, 1);
	assert_whole(&s);
	profile_close(s.profile);
}

/* Many paths, far more than there is room for, in an arena where one thing is scarce. */
static void whatever_runs_out_no_weight_is_lost_and_certain_is_true(void **state)
{
	static const struct {
		const char *name;
		struct profile_limits limits;
	} cases[] = {
		{ "entries", { 64, 16, { 4096, 4096, 100000 } } },
		{ "nodes", { 64, 64, { 64, 4096, 100000 } } },
		{ "frames", { 64, 64, { 4096, 64, 100000 } } },
		{ "names", { 64, 64, { 4096, 4096, 1024 } } },
		{ "all at once", { 16, 16, { 64, 64, 1024 } } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct profile_settings settings = roomy(12 + i);
		static uint64_t true_ns[500];
		struct stage s;

		print_message("%s\n", cases[i].name);
		memset(true_ns, 0, sizeof(true_ns));
		settings.limits = cases[i].limits;
		settings.keeps_all = true;
		stage_open(&s, &settings);
		for (int n = 0; n < 8000; n++) {
			char text[64];
			uint64_t path = rng_below(&s.world, 500), before_ns = s.given_ns;

			snprintf(text, sizeof(text), "t;main;f%d;g%d;h%d", (int)path / 50,
				 (int)path / 5, (int)path);
			run(&s, text);
			true_ns[path] += s.given_ns - before_ns;
		}
		assert_whole(&s);
		assert_references_are_owned(&s);
		for (int path = 0; path < 500; path++) {
			char text[64];
			const struct context *e;

			snprintf(text, sizeof(text), "t;main;f%d;g%d;h%d", path / 50, path / 5,
				 path);
			e = entry_of(&s, text);
			assert_true(e == NULL || e->certain_ns <= true_ns[path]);
		}
		profile_close(s.profile);
	}
}

/* A tick in slot `i` of a path that nobody else shares. */
static void run_own(struct stage *s, uint32_t i, size_t depth)
{
	char text[64];
	struct frame path[8];
	struct tick tick = { .weight_ns = BASE_NS };

	snprintf(text, sizeof(text), "a%u;b%u;c%u;d%u", i, i, i, i);
	made_path(text, path, ARRAY_LEN(path));
	tick.from_ns = tick.at_ns = (i + 1) * BASE_NS;
	give(s, &tick, path, depth);
}

static void contexts_yield_to_an_eighth_before_the_timeline_halves(void **state)
{
	struct profile_settings settings = roomy(20);
	const struct timeline *t;
	const struct contexts *c;
	struct stage s;

	(void)state;
	settings.limits = (struct profile_limits){ 64, 32, { 64, 64, 4096 } };
	stage_open(&s, &settings);
	t = profile_timeline(s.profile);
	c = profile_contexts(s.profile);
	for (uint32_t i = 0; i < 20; i++)
		run_own(&s, i, 3);
	assert_int_equal(paths_used(profile_paths(s.profile)).nodes, 62); /* two are free */
	assert_int_equal(c->merges, 0);
	run_own(&s, 20, 3); /* slots hold what the contexts let go */
	assert_int_equal(c->merges, 16);
	assert_int_equal(c->used, 32 / 8 + 1);
	assert_int_equal(t->halvings, 1);
	assert_int_equal(t->used, 11);
	assert_non_null(entry_of(&s, "a20;b20;c20"));
	assert_whole(&s);
	assert_references_are_owned(&s);
	profile_close(s.profile);
}

/* Halving again for the same path would cost every path after it as well. */
static void the_timeline_halves_once_a_path(void **state)
{
	struct profile_settings settings = roomy(20);
	const struct timeline *t;
	struct frame path[64];
	char names[64][4], name[32];
	struct stage s;
	struct tick tick = { .from_ns = 1, .at_ns = 1, .weight_ns = 1000 * BASE_NS };

	(void)state;
	settings.limits = (struct profile_limits){ 64, 32, { 128, 128, 4096 } };
	stage_open(&s, &settings);
	t = profile_timeline(s.profile);
	for (uint32_t i = 0; i < 42; i++)
		run_own(&s, i, 3);
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "y%d", i);
		path[i] = made_frame(names[i], strlen(names[i]));
	}
	give(&s, &tick, path, 64);
	assert_int_equal(t->halvings, 1);
	assert_int_equal(name_of(&s, t->slots[0].node, name, sizeof(name)), 1);
	assert_string_equal(name, "[cut 64]");
	assert_whole(&s);
	profile_close(s.profile);
}

/* Paths of 40 frames, all different, in an arena for six of them. */
static void deep_paths_leave_an_eighth_of_the_timeline(void **state)
{
	struct profile_settings settings = roomy(25);
	const struct timeline *t;
	struct frame path[40];
	char names[40][8];
	struct stage s;

	(void)state;
	settings.limits = (struct profile_limits){ 256, 64, { 256, 256, 65536 } };
	stage_open(&s, &settings);
	t = profile_timeline(s.profile);
	for (uint32_t n = 0; n < 256; n++) {
		struct tick tick = { .at_ns = (n + 1) * BASE_NS, .weight_ns = BASE_NS };

		tick.from_ns = tick.at_ns;
		for (uint32_t i = 0; i < ARRAY_LEN(path); i++) {
			snprintf(names[i], sizeof(names[i]), "%u.%u", n % 100, i);
			path[i] = made_frame(names[i], strlen(names[i]));
		}
		give(&s, &tick, path, ARRAY_LEN(path));
		assert_true(t->used >= 32 || n < 32);
	}
	assert_true(t->halvings > 0);
	assert_whole(&s);
	profile_close(s.profile);
}

static void contexts_yield_no_further_than_is_needed(void **state)
{
	struct profile_settings settings = roomy(21);
	const struct contexts *c;
	struct stage s;

	(void)state;
	settings.limits = (struct profile_limits){ 16, 32, { 64, 64, 4096 } };
	stage_open(&s, &settings);
	c = profile_contexts(s.profile);
	for (uint32_t i = 0; i < 20; i++)
		run_own(&s, i, 3); /* ten slots: about half of the paths are only contexts */
	run_own(&s, 20, 3);
	assert_in_range(c->merges, 1, 10);
	assert_int_equal(profile_timeline(s.profile)->halvings, 1); /* by time */
	assert_whole(&s);
	profile_close(s.profile);
}

/* Sixteen slots are not halved for anybody: a path that still has no room is cut. */
static void a_path_without_room_is_cut_at_its_deepest_stored_ancestor(void **state)
{
	static const struct {
		const char *name;
		uint32_t deep_paths; /* of the 16, have 4 nodes instead of 3 */
		const char *path;    /* 20 more frames follow */
		size_t depth;
		const char *want;
		uint32_t want_depth;
	} cases[] = {
		{ "a marker under the ancestor", 2, "a3;b3", 2, "[cut 20]", 3 },
		{ "no ancestor: a marker alone", 2, "x", 1, "[cut 21]", 1 },
		{ "no room for the marker: the ancestor", 14, "a3;b3", 2, "b3", 2 },
		{ "neither: the marker of our own", 14, "x", 1, "[cut]", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct profile_settings settings = roomy(22);
		struct tick tick = { .from_ns = 1, .at_ns = 1, .weight_ns = 1000 * BASE_NS };
		struct frame path[22];
		char names[20][4], name[32];
		struct stage s;

		print_message("%s\n", cases[i].name);
		settings.limits = (struct profile_limits){ 16, 16, { 64, 64, 4096 } };
		stage_open(&s, &settings);
		for (uint32_t slot = 0; slot < 16; slot++)
			run_own(&s, slot, slot < cases[i].deep_paths ? 4 : 3);
		made_path(cases[i].path, path, cases[i].depth);
		for (int j = 0; j < 20; j++) {
			snprintf(names[j], sizeof(names[j]), "y%d", j);
			path[cases[i].depth + (size_t)j] = made_frame(names[j], strlen(names[j]));
		}
		give(&s, &tick, path, cases[i].depth + 20);
		/* so heavy that its slot shows it */
		assert_int_equal(
			name_of(&s, profile_timeline(s.profile)->slots[0].node, name, sizeof(name)),
			cases[i].want_depth);
		assert_string_equal(name, cases[i].want);
		assert_int_equal(profile_timeline(s.profile)->halvings, 0);
		assert_int_equal(profile_contexts(s.profile)->used <= 3, 1);
		assert_whole(&s);
		assert_references_are_owned(&s);
		profile_close(s.profile);
	}
}

/* The deepest name of the path that a tick in slot `slot` is stored under. */
static uint32_t give_in_slot(struct stage *s, uint32_t slot, const struct frame *path, size_t depth,
			     char name[32])
{
	struct tick tick = { .weight_ns = BASE_NS };

	tick.from_ns = tick.at_ns = slot * BASE_NS + 1;
	give(s, &tick, path, depth);
	return name_of(s, profile_timeline(s->profile)->slots[slot].node, name, 32);
}

static void nothing_yields_to_a_path_of_over_half_the_arena(void **state)
{
	struct profile_settings settings = roomy(21);
	static struct frame path[1000];
	struct stage s;
	char name[32];

	(void)state;
	settings.limits.paths.nodes = 300;
	settings.limits.contexts = 16;
	stage_open(&s, &settings);
	for (size_t i = 0; i < ARRAY_LEN(path); i++)
		path[i] = made_frame(&"abcdefghijk"[i % 11], 1);
	run_own(&s, 8, 1); /* more contexts than must stay */
	run_own(&s, 9, 1);
	assert_int_equal(give_in_slot(&s, 0, path, 150, name), 150);
	assert_string_equal(name, "g");
	assert_int_equal(give_in_slot(&s, 1, path, 151, name), 151); /* one more node fits anyway */
	assert_int_equal(give_in_slot(&s, 2, path + 1, 160, name), 1);
	assert_string_equal(name, "[cut 160]");
	assert_int_equal(give_in_slot(&s, 3, path, 400, name), 152);
	assert_string_equal(name, "[cut 249]");
	/* deeper than the limit as well: the number says how many frames are missing in all */
	assert_int_equal(give_in_slot(&s, 4, path, 1000, name), 152);
	assert_string_equal(name, "[cut 849]");
	assert_int_equal(profile_contexts(s.profile)->merges, 0);
	assert_int_equal(profile_timeline(s.profile)->halvings, 0);
	assert_whole(&s);
	assert_references_are_owned(&s);
	profile_close(s.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deep_path_keeps_its_root_and_its_end_with_a_marker_between),
		cmocka_unit_test(whatever_runs_out_no_weight_is_lost_and_certain_is_true),
		cmocka_unit_test(contexts_yield_to_an_eighth_before_the_timeline_halves),
		cmocka_unit_test(contexts_yield_no_further_than_is_needed),
		cmocka_unit_test(a_path_without_room_is_cut_at_its_deepest_stored_ancestor),
		cmocka_unit_test(nothing_yields_to_a_path_of_over_half_the_arena),
		cmocka_unit_test(the_timeline_halves_once_a_path),
		cmocka_unit_test(deep_paths_leave_an_eighth_of_the_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
