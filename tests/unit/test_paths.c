/* test_paths.c - call paths in a fixed arena. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/paths.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "made_paths.h"

static struct paths *opened(uint32_t nodes, uint32_t frames, uint32_t name_bytes)
{
	const struct paths_limits limits = { nodes, frames, name_bytes };
	struct paths *p = NULL;

	assert_int_equal(paths_open(&limits, &p), 0);
	return p;
}

static int add(struct paths *p, const char *text, uint32_t *out_node)
{
	struct frame path[64];
	size_t depth = made_path(text, path, ARRAY_LEN(path));

	return paths_add(p, path, depth, out_node);
}

static uint32_t added(struct paths *p, const char *text)
{
	uint32_t node = PATHS_NONE;

	assert_int_equal(add(p, text, &node), 0);
	return node;
}

static uint32_t find(const struct paths *p, const char *text)
{
	struct frame path[64];

	return paths_find(p, path, made_path(text, path, ARRAY_LEN(path)));
}

/* The path of a node as text, deepest frame last. */
static void text_of(const struct paths *p, uint32_t node, char *out, size_t size)
{
	char deeper[512] = "";

	out[0] = '\0';
	for (; node != PATHS_NONE; node = paths_parent(p, node)) {
		struct frame f = paths_frame(p, paths_frame_id(p, node));

		snprintf(out, size, "%.*s%s%s", (int)f.name.len, f.name.bytes,
			 deeper[0] == '\0' ? "" : ";", deeper);
		snprintf(deeper, sizeof(deeper), "%s", out);
	}
}

static void assert_empty(const struct paths *p)
{
	struct paths_used used = paths_used(p);

	assert_int_equal(used.nodes, 0);
	assert_int_equal(used.frames, 0);
	assert_int_equal(used.name_bytes, 0);
}

static void limits_of_0_are_refused(void **state)
{
	static const struct paths_limits limits[] = { { 0, 1, 1 }, { 1, 0, 1 }, { 1, 1, 0 } };
	struct paths *p = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		assert_int_equal(paths_open(&limits[i], &p), -EINVAL);
	assert_null(p);
	paths_close(NULL);
}

static void paths_share_their_upper_part_and_their_frames(void **state)
{
	struct paths *p = opened(100, 100, 10000);
	uint32_t a = added(p, "thread;main;parse;next");
	uint32_t b = added(p, "thread;main;print;next");
	char text[512];

	(void)state;
	assert_int_equal(paths_used(p).nodes, 6);
	assert_int_equal(paths_used(p).frames, 5);
	assert_int_equal(paths_depth(p, a), 4);
	assert_int_equal(paths_frame_id(p, a), paths_frame_id(p, b));
	assert_int_equal(paths_parent(p, paths_parent(p, a)), paths_parent(p, paths_parent(p, b)));
	text_of(p, b, text, sizeof(text));
	assert_string_equal(text, "thread;main;print;next");
	paths_close(p);
}

static void a_known_path_is_the_same_node_and_counts_its_references(void **state)
{
	struct paths *p = opened(100, 100, 10000);
	uint32_t a = added(p, "thread;main");

	(void)state;
	assert_int_equal(added(p, "thread;main"), a);
	assert_int_equal(paths_references(p, a), 2);
	paths_unref(p, a);
	assert_int_equal(find(p, "thread;main"), a);
	paths_unref(p, a);
	assert_empty(p);
	paths_close(p);
}

static void looking_for_a_path_changes_nothing(void **state)
{
	struct paths *p = opened(100, 100, 10000);
	struct paths_used before, after;

	(void)state;
	added(p, "thread;main;parse");
	before = paths_used(p);
	assert_int_equal(find(p, "thread;main;print"), PATHS_NONE);
	assert_int_equal(find(p, "main"), PATHS_NONE);
	assert_int_equal(paths_find(p, NULL, 0), PATHS_NONE);
	assert_true(find(p, "thread;main") != PATHS_NONE); /* an inner node is a path too */
	after = paths_used(p);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(after.name_bytes, 6 + 4 + 5 + 3 * 3);
	paths_close(p);
}

static void the_stored_depth_ends_where_the_path_leaves_the_trie(void **state)
{
	static const struct {
		const char *path;
		size_t want;
	} cases[] = {
		{ "other", 0 },
		{ "thread", 1 },
		{ "thread;main;draw", 2 },
		{ "thread;main;parse", 3 },
		{ "thread;main;parse;deeper;still", 3 },
	};
	struct paths *p = opened(100, 100, 10000);
	struct frame path[8];

	(void)state;
	added(p, "thread;main;parse");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t depth = made_path(cases[i].path, path, ARRAY_LEN(path));

		assert_int_equal(paths_stored_depth(p, path, depth), cases[i].want);
	}
	paths_close(p);
}

static void a_node_goes_at_no_reference_and_no_child(void **state)
{
	struct paths *p = opened(100, 100, 10000);
	uint32_t inner = added(p, "thread;main");
	uint32_t leaf = added(p, "thread;main;parse;next");

	(void)state;
	paths_unref(p, inner); /* the leaf needs it */
	assert_int_equal(paths_used(p).nodes, 4);
	paths_ref(p, inner);
	paths_unref(p, leaf);
	assert_int_equal(paths_used(p).nodes, 2);
	assert_int_equal(find(p, "thread;main"), inner);
	paths_unref(p, inner);
	assert_empty(p);
	paths_close(p);
}

static void recursion_stores_one_frame_in_many_nodes(void **state)
{
	struct paths *p = opened(100, 3, 100);
	uint32_t node = added(p, "thread;f;f;f;f;f;f;g;f");
	uint32_t other = added(p, "thread;g");

	(void)state;
	assert_int_equal(paths_used(p).nodes, 10);
	assert_int_equal(paths_used(p).frames, 3);
	paths_unref(p, node);
	assert_int_equal(paths_used(p).frames, 2);
	paths_unref(p, other);
	assert_empty(p);
	paths_close(p);
}

static void what_has_no_room_changes_nothing(void **state)
{
	static const struct {
		const char *name;
		struct paths_limits limits;
	} cases[] = {
		{ "no node", { 4, 100, 1000 } },
		{ "no frame", { 100, 4, 1000 } },
		{ "no name", { 100, 100, 3 + 6 + 3 + 4 + 3 + 5 + 3 + 1 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct paths *p;
		uint32_t node, untouched = 77;
		struct paths_used before, after;

		print_message("%s\n", cases[i].name);
		assert_int_equal(paths_open(&cases[i].limits, &p), 0);
		node = added(p, "thread;main;parse");
		before = paths_used(p);
		assert_int_equal(add(p, "thread;main;draw;a_line", &untouched), -ENOSPC);
		after = paths_used(p);
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(untouched, 77);
		assert_int_equal(find(p, "thread;main;parse"), node);
		assert_int_equal(find(p, "thread;main;draw"), PATHS_NONE);
		paths_unref(p, node);
		assert_empty(p);
		paths_unref(p, added(p, "thread;main;draw")); /* there is room again */
		paths_close(p);
	}
}

static void a_path_of_30000_frames_goes_in_and_out(void **state)
{
	static struct frame path[30000];
	static char names[30000][8];
	struct paths *p = opened(30000, 30000, 30000 * 10);
	uint32_t node;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(path); i++) {
		int len = snprintf(names[i], sizeof(names[i]), "f%zu", i);

		path[i] = made_frame(names[i], (size_t)len);
	}
	assert_int_equal(paths_add(p, path, ARRAY_LEN(path), &node), 0);
	assert_int_equal(paths_depth(p, node), 30000);
	assert_int_equal(paths_find(p, path, ARRAY_LEN(path)), node);
	assert_int_equal(paths_stored_depth(p, path, 29999), 29999);
	paths_unref(p, node);
	assert_empty(p);
	paths_close(p);
}

static void names_hold_any_byte(void **state)
{
	struct paths *p = opened(600, 600, 100000);
	char name[256];
	struct frame path[2] = { made_frame("thread", 6) }, back;
	uint32_t node;

	(void)state;
	for (int i = 0; i < 256; i++)
		name[i] = (char)(255 - i);
	path[1] = made_frame(name, sizeof(name));
	path[1].file = (struct str){ name + 1, 255 };
	assert_int_equal(paths_add(p, path, 2, &node), 0);
	memset(name, 0, sizeof(name)); /* it was copied */
	back = paths_frame(p, paths_frame_id(p, node));
	assert_int_equal(back.name.len, 256);
	assert_int_equal(back.file.len, 255);
	for (int i = 0; i < 256; i++)
		assert_int_equal((unsigned char)back.name.bytes[i], 255 - i);
	assert_int_equal((unsigned char)back.file.bytes[0], 254);
	assert_int_equal(back.module.len, 3);
	assert_memory_equal(back.module.bytes, "job", 3);
	paths_close(p);
}

static void names_are_cut_at_4096_bytes(void **state)
{
	static char name[10000];
	struct paths *p = opened(16, 16, 20000);
	struct frame path[1];
	uint32_t node;

	(void)state;
	memset(name, 'x', sizeof(name));
	path[0] = made_frame(name, sizeof(name));
	assert_int_equal(paths_add(p, path, 1, &node), 0);
	assert_int_equal(paths_frame(p, paths_frame_id(p, node)).name.len, STR_MAX_BYTES);
	assert_int_equal(paths_find(p, path, 1), node);
	paths_close(p);
}

static void one_key_with_other_lengths_is_another_frame(void **state)
{
	struct paths *p = opened(16, 16, 1000);
	struct frame a = made_frame("short", 5), b = made_frame("longer", 6);
	uint32_t first, second;

	(void)state;
	b.key = a.key;
	assert_int_equal(paths_add(p, &a, 1, &first), 0);
	assert_int_equal(paths_add(p, &b, 1, &second), 0);
	assert_true(first != second);
	assert_int_equal(paths_frame(p, paths_frame_id(p, second)).name.len, 6);

	/* in the middle of a path as well */
	const struct frame through_a[] = { a, a, made_frame("x", 1) };
	const struct frame through_b[] = { a, b, made_frame("x", 1) };

	assert_int_equal(paths_add(p, through_a, 3, &first), 0);
	assert_int_equal(paths_find(p, through_b, 3), PATHS_NONE);
	paths_close(p);
}

/* Names come and go in an arena that is nearly full all the time. */
static void names_stay_whole_while_the_arena_is_compacted(void **state)
{
	enum { LIVE = 50, LEN = 100 };
	struct paths *p = opened(LIVE, LIVE, LIVE * (LEN + 3));
	uint32_t nodes[LIVE];
	char names[LIVE][LEN];
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	for (uint32_t n = 0; n < 20000; n++) {
		uint32_t i = n < LIVE ? n : (uint32_t)rng_below(&r, LIVE);
		size_t len = n < LIVE ? LEN : 1 + rng_below(&r, LEN);
		struct frame f;

		if (n >= LIVE)
			paths_unref(p, nodes[i]);
		memset(names[i], (int)(n % 251), sizeof(names[i]));
		memcpy(names[i], &n, len < sizeof(n) ? 0 : sizeof(n));
		f = made_frame(names[i], len);
		assert_int_equal(paths_add(p, &f, 1, &nodes[i]), 0);
		i = (uint32_t)rng_below(&r, n < LIVE ? n + 1 : LIVE);
		f = paths_frame(p, paths_frame_id(p, nodes[i]));
		assert_memory_equal(f.name.bytes, names[i], f.name.len);
		assert_memory_equal(f.module.bytes, "job", 3);
	}
	for (int i = 0; i < LIVE; i++)
		paths_unref(p, nodes[i]);
	assert_empty(p);
	paths_close(p);
}

static void names_never_take_more_than_their_limit(void **state)
{
	struct paths *p = opened(1000, 1000, 1000);
	char name[16];
	uint32_t node;
	int code = 0;

	(void)state;
	for (int i = 100; code == 0; i++) {
		struct frame f;

		snprintf(name, sizeof(name), "%d", i);
		f = made_frame(name, 3);
		code = paths_add(p, &f, 1, &node);
	}
	assert_int_equal(code, -ENOSPC);
	assert_int_equal(paths_used(p).name_bytes, 996); /* 166 of 3 and their modules */
	paths_close(p);
}

static void a_path_of_over_half_the_arena_is_too_big(void **state)
{
	struct paths *p = opened(16, 10, 80);
	struct frame path[16];
	size_t depth;

	(void)state;
	depth = made_path("t;a;b;c;d", path, ARRAY_LEN(path));
	assert_false(paths_is_too_big(p, path, depth)); /* 5 frames of 10, 20 bytes of 80 */
	depth = made_path("t;a;b;c;d;e", path, ARRAY_LEN(path));
	assert_true(paths_is_too_big(p, path, depth)); /* frames */
	depth = made_path("t;a;a;a;a;a;a;a", path, ARRAY_LEN(path));
	assert_false(paths_is_too_big(p, path, depth)); /* recursion is one frame */
	depth = made_path("t;a;a;a;a;a;a;a;a", path, ARRAY_LEN(path));
	assert_true(paths_is_too_big(p, path, depth)); /* nodes */
	depth = made_path("thread;a_name_of_thirty_two_bytes_ab", path, ARRAY_LEN(path));
	assert_true(paths_is_too_big(p, path, depth)); /* bytes: 6 + 29 + 2 x 3 */
	paths_close(p);
}

/* What a reader has who got only the changes. */
struct shadow {
	struct node_row nodes[64];
	char frame_names[64][16];
	bool has_node[64], has_frame[64];
};

static void apply(struct shadow *s, const struct changes *c)
{
	for (uint32_t i = 0; i < c->gone_node_count; i++)
		s->has_node[c->gone_nodes[i]] = false;
	for (uint32_t i = 0; i < c->gone_frame_count; i++)
		s->has_frame[c->gone_frames[i]] = false;
	for (uint32_t i = 0; i < c->node_count; i++) {
		s->nodes[c->nodes[i].id] = c->nodes[i];
		s->has_node[c->nodes[i].id] = true;
	}
	for (uint32_t i = 0; i < c->frame_count; i++) {
		const struct frame_row *f = &c->frames[i];

		snprintf(s->frame_names[f->id], sizeof(s->frame_names[0]), "%.*s", (int)f->name.len,
			 f->name.bytes);
		s->has_frame[f->id] = true;
	}
}

static void assert_shadows(const struct shadow *s, const struct paths *p, uint32_t node)
{
	for (; node != PATHS_NONE; node = paths_parent(p, node)) {
		uint32_t id = paths_frame_id(p, node);
		struct frame f = paths_frame(p, id);

		assert_true(s->has_node[node]);
		assert_int_equal(s->nodes[node].parent, paths_parent(p, node));
		assert_int_equal(s->nodes[node].frame, id);
		assert_true(s->has_frame[id]);
		assert_int_equal(strlen(s->frame_names[id]), f.name.len);
		assert_memory_equal(s->frame_names[id], f.name.bytes, f.name.len);
	}
}

static void changes_bring_a_copy_up_to_date(void **state)
{
	static struct shadow shadow;
	struct paths *p = opened(64, 64, 640);
	struct changes c = CHANGES_EMPTY;
	uint32_t held[8];
	size_t held_count = 0;
	struct rng r;

	(void)state;
	rng_seed(&r, 9);
	memset(&shadow, 0, sizeof(shadow));
	for (int n = 0; n < 5000; n++) {
		char text[64];
		uint32_t live[2] = { 0, 0 };

		snprintf(text, sizeof(text), "t;f%d;f%d;f%d", (int)rng_below(&r, 5),
			 (int)rng_below(&r, 9), (int)rng_below(&r, 99));
		if (held_count == ARRAY_LEN(held)) {
			size_t i = (size_t)rng_below(&r, held_count);

			paths_unref(p, held[i]);
			held[i] = held[--held_count];
		}
		held[held_count++] = added(p, text);
		if (rng_below(&r, 3) > 0)
			continue;
		changes_reset(&c);
		assert_int_equal(paths_changes(p, &c), 0);
		apply(&shadow, &c);
		paths_saved(p);
		for (size_t i = 0; i < held_count; i++)
			assert_shadows(&shadow, p, held[i]);
		for (int i = 0; i < 64; i++) {
			live[0] += shadow.has_node[i];
			live[1] += shadow.has_frame[i];
		}
		assert_int_equal(live[0], paths_used(p).nodes);
		assert_int_equal(live[1], paths_used(p).frames);
	}
	changes_reset(&c);
	assert_int_equal(paths_changes(p, &c), 0);
	paths_saved(p);
	changes_reset(&c);
	assert_int_equal(paths_changes(p, &c), 0);
	assert_int_equal(c.node_count + c.frame_count + c.gone_node_count + c.gone_frame_count, 0);
	changes_free(&c);
	paths_close(p);
}

static void no_memory_for_the_changes_forgets_none(void **state)
{
	struct paths *p = opened(16, 16, 1000);
	struct changes c = CHANGES_EMPTY;

	(void)state;
	paths_unref(p, added(p, "gone"));
	added(p, "thread;main");
	c.frame_count = c.frame_room = UINT32_MAX; /* no frame fits */
	assert_int_equal(paths_changes(p, &c), -ENOMEM);
	assert_int_equal(c.node_count, 0);
	assert_int_equal(c.gone_node_count, 0);
	c.frame_count = c.frame_room = 0;
	assert_int_equal(paths_changes(p, &c), 0);
	assert_int_equal(c.node_count, 2);
	assert_int_equal(c.frame_count, 2);
	changes_free(&c);
	paths_close(p);
}

static bool rename_frame(struct paths *p, const char *from, const char *to)
{
	struct frame f = made_frame(from, strlen(from)), t = made_frame(to, strlen(to));

	return paths_rename(p, &f, &t);
}

static void a_frame_that_got_its_name_is_shown_by_it_on_every_path(void **state)
{
	struct paths *p = opened(16, 16, 256);
	uint32_t one = added(p, "t;main;[job+0x10];leaf"), two = added(p, "t;[job+0x10]");
	struct changes c = CHANGES_EMPTY;
	char text[512];

	(void)state;
	paths_saved(p);
	assert_true(rename_frame(p, "[job+0x10]", "named_at_last"));
	text_of(p, one, text, sizeof(text));
	assert_string_equal(text, "t;main;named_at_last;leaf");
	text_of(p, two, text, sizeof(text));
	assert_string_equal(text, "t;named_at_last");
	assert_int_equal(paths_changes(p, &c), 0);
	assert_int_equal(c.frame_count, 1); /* and the next save tells it */
	assert_int_equal(c.node_count, 0);
	assert_false(rename_frame(p, "[job+0x10]", "again"));
	assert_false(rename_frame(p, "never there", "named"));
	/* The same place by its name, from now on. */
	added(p, "t;named_at_last");
	paths_unref(p, find(p, "t;named_at_last"));
	paths_unref(p, one);
	paths_unref(p, two);
	assert_empty(p);
	changes_free(&c);
	paths_close(p);
}

static void a_name_that_has_no_room_stays_what_it_was(void **state)
{
	struct paths *p = opened(16, 16, 16);
	uint32_t node = added(p, "t;[a+1]"); /* 1 + 5, and "job" twice */
	char text[512];

	(void)state;
	assert_false(rename_frame(p, "[a+1]", "12345678901"));
	text_of(p, node, text, sizeof(text));
	assert_string_equal(text, "t;[a+1]");
	assert_true(rename_frame(p, "[a+1]", "123456789"));
	text_of(p, node, text, sizeof(text));
	assert_string_equal(text, "t;123456789");
	assert_int_equal(paths_used(p).name_bytes, 16);
	paths_unref(p, node);
	assert_empty(p);
	paths_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_0_are_refused),
		cmocka_unit_test(paths_share_their_upper_part_and_their_frames),
		cmocka_unit_test(a_known_path_is_the_same_node_and_counts_its_references),
		cmocka_unit_test(looking_for_a_path_changes_nothing),
		cmocka_unit_test(the_stored_depth_ends_where_the_path_leaves_the_trie),
		cmocka_unit_test(a_node_goes_at_no_reference_and_no_child),
		cmocka_unit_test(recursion_stores_one_frame_in_many_nodes),
		cmocka_unit_test(what_has_no_room_changes_nothing),
		cmocka_unit_test(a_path_of_30000_frames_goes_in_and_out),
		cmocka_unit_test(names_hold_any_byte),
		cmocka_unit_test(names_are_cut_at_4096_bytes),
		cmocka_unit_test(one_key_with_other_lengths_is_another_frame),
		cmocka_unit_test(names_stay_whole_while_the_arena_is_compacted),
		cmocka_unit_test(a_path_of_over_half_the_arena_is_too_big),
		cmocka_unit_test(changes_bring_a_copy_up_to_date),
		cmocka_unit_test(no_memory_for_the_changes_forgets_none),
		cmocka_unit_test(names_never_take_more_than_their_limit),
		cmocka_unit_test(a_frame_that_got_its_name_is_shown_by_it_on_every_path),
		cmocka_unit_test(a_name_that_has_no_room_stays_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
