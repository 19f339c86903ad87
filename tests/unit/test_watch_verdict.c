/* test_watch_verdict.c - a watch's answer in one sentence, and which rule speaks first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_verdict.h"

/* One thread's 10 s: 45,454 calls of 22 µs are 10 %. */
static const struct build_calls a_tenth = { .calls = 45505, .ns = 22000, .interval = 8 };
static const struct build_calls a_little = {
	.calls = 801, .ns = 5100, .spread_ns = 500, .interval = 8
};

static void says(struct build_watch *b, const char *want)
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, 0, UINT64_MAX, &a, &err), 0);
	watch_verdict_put(&t, &b->r, &a);
	for (char *c = t.bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	assert_string_equal(text_chars(&t), want);
}

static void add(struct build_watch *b, const char *name, const struct build_calls *did)
{
	uint32_t id = build_watched(b, name)->id;

	build_same(b, id, 0, 360, did);
}

static void add_frames(struct build_watch *b, uint64_t slow_ns)
{
	const struct build_calls frames = { .calls = 200, .ns = 50000100, .interval = 1 };
	struct watched_row *row = build_watched(b, "frame");

	row->kind = WATCHED_FRAME;
	b->r.watch.slow_ns = slow_ns;
	b->r.watch.frames = 72000;
	build_same(b, row->id, 0, 360, &frames);
}

/* `count` slow frames every 97th, `part_ns` of 60 ms in `id`. */
static void add_slow(struct build_watch *b, uint64_t count, uint32_t id, uint64_t part_ns)
{
	for (uint64_t i = 0; i < count; i++) {
		build_slow(b, 97 * i, (60 + i % 5) * NS_PER_MS);
		build_part(b, id, part_ns + i % 3 * NS_PER_MS);
	}
}

static void a_slow_frame_is_mostly_one_function(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;

	(void)state;
	build_watch_begin(&b);
	add(&b, "Pathfinder::findPath(Map const&)", &a_tenth);
	add_frames(&b, 50 * NS_PER_MS);
	add_slow(&b, 40, 0, 34 * NS_PER_MS);
	says(&b, "Of a slow frame, 56.4 % ± 0.6 is Pathfinder::findPath");
}

static void without_frames_the_largest_share_of_the_run_is_said(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	const struct build_calls hot = {
		.calls = 600001, .ns = 2300, .spread_ns = 1000, .interval = 300
	};

	(void)state;
	build_watch_begin(&b);
	add(&b, "Script::onMovement", &hot);
	add(&b, "Chat::filter", &a_little);
	says(&b, "Script::onMovement takes 13.20 % ± 0.01 of the run, 2.20 µs a call");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_frame_is_mostly_one_function),
		cmocka_unit_test(without_frames_the_largest_share_of_the_run_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
