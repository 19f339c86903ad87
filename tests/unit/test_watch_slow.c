/* test_watch_slow.c - what slow frames are made of, what those kept stand for, and whether they have a rhythm. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_analysis.h"
#include "core/watch_parts.h"

#define MS NS_PER_MS

static void open_range(struct build_watch *b, uint64_t from_ns, uint64_t to_ns,
		       struct watch_analysis *a)
{
	struct err err = ERR_EMPTY;

	build_watch_sort(b);
	assert_int_equal(watch_analysis_open(&b->r, from_ns, to_ns, a, &err), 0);
}

static void open_all(struct build_watch *b, struct watch_analysis *a)
{
	open_range(b, 0, UINT64_MAX, a);
}

/* The answer of a watched row. */
static const struct watched_answer *answer_of(const struct watch_analysis *a, uint32_t id)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].id == id)
			return &a->rows[i];
	fail();
	return NULL;
}

static bool is_near(double value, double want, double off)
{
	if (fabs(value - want) <= off)
		return true;
	print_message("%.9g is not %.9g\n", value, want);
	return false;
}

/* Three functions that run. */
static void begin(struct build_watch *b)
{
	const struct build_calls did = { .calls = 201, .ns = 5000, .interval = 1 };

	build_watch_begin(b);
	b->r.watch.slow_ns = 50 * MS;
	for (uint32_t i = 0; i < 3; i++) {
		build_watched(b, i == 0 ? "a" : i == 1 ? "b" : "c");
		build_same(b, i, 0, 4, &did);
	}
}

static void shares_of_slow_frames_are_by_their_time(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	for (uint64_t i = 0; i < 20; i++) {
		build_slow(&b, i * 7 + i * i, (i % 2 == 0 ? 60 : 140) * MS);
		build_part(&b, 0, (i % 2 == 0 ? 30 : 90) * MS);
		build_part(&b, 1, 10 * MS);
	}
	open_all(&b, &a);
	assert_false(a.slow.is_estimate || a.slow.is_at_least);
	/* a: 120 of 200 ms, b: 20, other: 60. */
	assert_true(is_near(answer_of(&a, 0)->slow_share.value, 0.6, 1e-9));
	assert_true(is_near(answer_of(&a, 1)->slow_share.value, 0.1, 1e-9));
	assert_true(is_near(a.slow.unnamed.value, 0.3, 1e-9));
	assert_int_equal(answer_of(&a, 0)->frames_largest, 20);
	assert_int_equal(answer_of(&a, 1)->frames_largest, 0);
	assert_true(a.slow.kept == 20 && a.slow.count.value == 20 && a.slow.count.error == 0);
	assert_ptr_equal(watch_slow_largest(&a), answer_of(&a, 0));
	/* Residuals are -6 and +6 ms of 100 ms: 2.093 x 6 x sqrt(20 / 19) / sqrt(20) / 100. */
	assert_true(is_near(answer_of(&a, 0)->slow_share.error, 0.0288, 0.0001));
	/* In none of 20 frames: at most 3 in 20, as it ran. */
	assert_true(is_near(answer_of(&a, 2)->slow_share.error, 0.15, 1e-9));
	assert_true(answer_of(&a, 2)->slow_share.value == 0);
}

static void the_worst_stand_for_themselves_and_the_others_for_many(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	for (uint64_t i = 0; i < 10; i++) {
		build_slow(&b, i * 1001, 1000 * MS)->is_worst = true;
		build_part(&b, 1, 1000 * MS);
	}
	for (uint64_t i = 0; i < 90; i++) {
		build_slow(&b, i * 757 + i * i % 31, 60 * MS);
		build_part(&b, 0, 30 * MS);
	}
	b.r.watch.slow = 10 + 9000;
	open_all(&b, &a);
	/* 10 s of b, and 9,000 x 60 ms of which a has half. Counted alike, b would have 65 %. */
	assert_true(is_near(answer_of(&a, 0)->slow_share.value, 270.0 / 550, 1e-9));
	assert_true(is_near(answer_of(&a, 1)->slow_share.value, 10.0 / 550, 1e-9));
	assert_true(a.slow.kept == 100 && a.slow.count.value == 9010 && a.slow.count.error == 0);
}

static void what_is_not_named_may_be_as_much_as_the_rest(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	for (uint64_t i = 0; i < 10; i++) {
		struct slow_row *slow = build_slow(&b, i * i * 3, 100 * MS);

		slow->rest_ns = 20 * MS;
		slow->other_ns -= 20 * MS;
		build_part(&b, 0, 50 * MS);
		build_part(&b, 1, 8 * MS);
	}
	open_all(&b, &a);
	/* c could have been 8 ms of the rest in each: more would have been named. */
	assert_true(answer_of(&a, 2)->slow_share.value == 0);
	assert_true(is_near(answer_of(&a, 2)->slow_share.error, 0.3 + 0.08, 1e-9));
	assert_true(is_near(answer_of(&a, 0)->slow_share.error, 0, 1e-9));
	assert_true(is_near(a.slow.unnamed.value, 0.22, 1e-9));
}

static void a_range_has_the_slow_frames_that_begin_in_it(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis all = WATCH_ANALYSIS_EMPTY;
	SCOPED(watch_analysis_free) struct watch_analysis part = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	for (uint64_t i = 0; i < 40; i++) {
		struct slow_row *slow = build_slow(&b, i, 100 * MS);

		slow->start_ns = i * NS_PER_S;
		slow->is_worst = i < 10;
		build_part(&b, i < 20 ? 0 : 1, 50 * MS);
	}
	open_range(&b, 0, 20 * NS_PER_S, &all);
	assert_true(all.slow.kept == 20 && all.slow.count.value == 20 && all.slow.count.error == 0);
	assert_true(is_near(answer_of(&all, 0)->slow_share.value, 0.5, 1e-9));
	assert_true(answer_of(&all, 1)->slow_share.value == 0);
	/* 30 were kept of 3,000 that are not among the worst: 10 of them, and the worst, lie in the range. */
	b.r.watch.slow = 3010;
	open_range(&b, 0, 20 * NS_PER_S, &part);
	assert_true(is_near(part.slow.count.value, 10 + 1000, 1e-9));
	assert_true(part.slow.count.error > 400 && part.slow.count.error < 600);
}

static void parts_of_scopes_stand_for_calls_that_were_not_timed(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 201, .ns = 5000, .interval = 8 };
	uint64_t random = 6;

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "a")->kind = WATCHED_SCOPE;
	build_same(&b, 0, 0, 4, &did);
	/* One call of 60 ms a frame of 100, of which one in eight was timed: 26 of 201 calls with the firsts. */
	for (uint64_t i = 0; i < 900; i++) {
		build_slow(&b, i, 100 * MS)->start_ns = i * 40 * MS;
		if (gap_random(&random) % 201 < 26)
			build_part(&b, 0, 60 * MS);
	}
	open_all(&b, &a);
	assert_true(a.slow.is_estimate && !a.slow.is_at_least);
	assert_true(answer_of(&a, 0)->slow_share.error < 0.12);
	assert_true(is_near(answer_of(&a, 0)->slow_share.value, 0.6,
			    answer_of(&a, 0)->slow_share.error));
	/* What frames have as `other` is 92 %: it holds the calls that were not timed. */
	assert_true(is_near(a.slow.unnamed.value, 1 - answer_of(&a, 0)->slow_share.value, 1e-9));
}

static void parts_of_probes_are_weighted_already_and_may_be_cut(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	const struct build_calls did = { .calls = 201, .ns = 5000, .interval = 8 };

	(void)state;
	build_watch_begin(&b);
	build_watched(&b, "a");
	build_same(&b, 0, 0, 4, &did);
	for (uint64_t i = 0; i < 16; i++) {
		build_slow(&b, i * i, 100 * MS)->is_scaled = i % 8 == 0;
		if (i % 8 == 0)
			build_part(&b, 0, 100 * MS); /* 480 */
	}
	open_all(&b, &a);
	assert_true(is_near(answer_of(&a, 0)->slow_share.value, 0.125, 1e-9));
	assert_true(a.slow.is_estimate && a.slow.is_at_least);
}

static void one_slow_frame_tells_no_error(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	build_slow(&b, 5, 100 * MS);
	build_part(&b, 0, 80 * MS);
	open_all(&b, &a);
	assert_true(is_near(answer_of(&a, 0)->slow_share.value, 0.8, 1e-9));
	assert_false(answer_of(&a, 0)->slow_share.has_error);
}

static void slow_frames_that_were_not_kept_are_counted(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	b.r.watch.slow = 5; /* memory ran out for them */
	open_all(&b, &a);
	assert_true(a.slow.kept == 0 && a.slow.count.value == 5);
	assert_false(a.slow.unnamed.is_known);
}

/* ---- rhythm ---- */

#define MOST_MARKS 1000u

struct made {
	struct watch_mark marks[MOST_MARKS];
	uint32_t count;
};

static void mark(struct made *m, uint32_t tid, uint64_t number)
{
	assert_true(m->count < MOST_MARKS);
	m->marks[m->count++] = (struct watch_mark){ tid, number };
}

/* Every 97th frame is slow. */
static void every_97th(struct made *m)
{
	for (uint64_t i = 0; i < 43; i++)
		mark(m, 1, 15 + 97 * i);
}

static void every_97th_but_one_is_late(struct made *m)
{
	every_97th(m);
	m->marks[20].number += 9;
}

static void a_third_is_missing(struct made *m)
{
	for (uint64_t i = 0; i < 60; i++)
		if (i * i % 7 != 1)
			mark(m, 1, 97 * i);
}

static void as_many_more_are_anywhere(struct made *m)
{
	uint64_t random = 3;

	every_97th(m);
	for (uint64_t i = 0; i < 20; i++)
		mark(m, 1, gap_random(&random) % (97 * 43));
}

static void each_goes_on_in_the_next(struct made *m)
{
	for (uint64_t i = 0; i < 40; i++) {
		mark(m, 1, 97 * i);
		mark(m, 1, 97 * i + 1);
		mark(m, 1, 97 * i + 2);
	}
}

static void no_gap_is_the_distance(struct made *m)
{
	for (uint64_t i = 0; i < 30; i++)
		mark(m, 1, 97 * (5 * i + (i % 2)));
}

static void two_threads(struct made *m)
{
	for (uint64_t i = 0; i < 40; i++)
		mark(m, 1 + i % 2, 97 * i + (i % 2) * 31);
}

static void a_timer_that_is_not_exact(struct made *m)
{
	uint64_t random = 5;

	for (uint64_t i = 0; i < 40; i++)
		mark(m, 1, 6000 * i + gap_random(&random) % 60);
}

static void few_of_very_many(struct made *m)
{
	uint64_t random = 9, at = 0;

	for (uint64_t i = 0; i < 990; i++) {
		at += 1 + gap_random(&random) % 199;
		mark(m, 1, 97 * at);
	}
}

static void five_at_97(struct made *m)
{
	for (uint64_t i = 0; i < 5; i++)
		mark(m, 1, 97 * i);
}

static void four_at_97(struct made *m)
{
	for (uint64_t i = 0; i < 4; i++)
		mark(m, 1, 97 * i);
}

static void every_other(struct made *m)
{
	for (uint64_t i = 0; i < 60; i++)
		mark(m, 1, 2 * i);
}

static void all_in_a_row(struct made *m)
{
	for (uint64_t i = 0; i < 60; i++)
		mark(m, 1, 500 + i);
}

static void a_burst_and_stray_ones(struct made *m)
{
	uint64_t random = 4;

	for (uint64_t i = 0; i < 30; i++)
		mark(m, 1, 500 + gap_random(&random) % 90);
	for (uint64_t i = 0; i < 10; i++)
		mark(m, 1, gap_random(&random) % 100000);
}

static void the_same_number_twice(struct made *m)
{
	for (uint64_t i = 0; i < 60; i++)
		mark(m, 1, 7);
}

static void the_ends_of_all_numbers(struct made *m)
{
	uint64_t random = 8;

	for (uint64_t i = 0; i < 60; i++) {
		uint64_t off = gap_random(&random) % 1000;

		mark(m, 1, i % 2 == 0 ? off : UINT64_MAX - off);
	}
}

static void a_rhythm_is_found_with_missing_and_extra_ones_and_only_then(void **state)
{
	static const struct {
		const char *name;
		void (*make)(struct made *m);
		uint64_t every, least_hits, of; /* every 0: no rhythm */
	} cases[] = {
		{ "every 97th", every_97th, 97, 42, 42 },
		{ "one is late: two gaps", every_97th_but_one_is_late, 97, 40, 42 },
		{ "a third is missing", a_third_is_missing, 97, 42, 42 },
		{ "20 more", as_many_more_are_anywhere, 97, 24, 62 },
		{ "each goes on in the next", each_goes_on_in_the_next, 97, 39, 39 },
		{ "no gap is the distance itself", no_gap_is_the_distance, 194, 29, 29 },
		{ "two threads", two_threads, 194, 38, 38 },
		{ "a timer that is not exact", a_timer_that_is_not_exact, 6000, 39, 39 },
		{ "990 of 99,000", few_of_very_many, 97, 989, 989 },
		{ "five are enough", five_at_97, 97, 4, 4 },
		{ "four are not", four_at_97, 0, 0, 3 },
		{ "every other", every_other, 2, 59, 59 },
		{ "all in a row are one", all_in_a_row, 0, 0, 0 },
		{ "a burst and stray ones", a_burst_and_stray_ones, 0, 0, 0 },
		{ "the same number twice", the_same_number_twice, 0, 0, 0 },
		{ "the ends of all numbers", the_ends_of_all_numbers, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m = { .count = 0 };
		struct rhythm rhythm = { 0 };

		print_message("%s\n", cases[i].name);
		cases[i].make(&m);
		assert_int_equal(watch_find_rhythm(m.marks, m.count, &rhythm), 0);
		assert_int_equal(rhythm.is_known, cases[i].every > 0);
		/* Exact but for the timer: its jitter is a hundredth. */
		assert_in_range(rhythm.every, cases[i].every,
				cases[i].every + cases[i].every / 1000);
		if (cases[i].every == 0)
			continue;
		assert_in_range(rhythm.hits, cases[i].least_hits, cases[i].of);
		assert_int_equal(rhythm.of, cases[i].of);
	}
}

/* As many slow frames as in real runs, anywhere: one in 10,000 may look like a rhythm. */
static void slow_frames_by_chance_have_no_rhythm(void **state)
{
	uint64_t random = 21;
	uint32_t found = 0;

	(void)state;
	for (int run = 0; run < 600; run++) {
		struct made m = { .count = 0 };
		struct rhythm rhythm = { 0 };
		uint32_t one_in = 2 + gap_random(&random) % 60, slow = 5 + gap_random(&random) % 60;

		for (uint32_t i = 0; i < slow; i++)
			mark(&m, 1, gap_random(&random) % (slow * one_in));
		assert_int_equal(watch_find_rhythm(m.marks, m.count, &rhythm), 0);
		found += rhythm.is_known;
	}
	assert_int_equal(found, 0);
}

static void the_rhythm_of_a_recording_is_that_of_its_slow_frames(void **state)
{
	SCOPED(build_watch_free) struct build_watch b;
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;

	(void)state;
	begin(&b);
	for (uint64_t i = 0; i < 43; i++)
		build_slow(&b, 97 * i, 60 * MS);
	open_all(&b, &a);
	assert_true(a.slow.rhythm.is_known);
	assert_int_equal(a.slow.rhythm.every, 97);
	assert_int_equal(a.slow.rhythm.hits, 42);
	assert_null(watch_slow_largest(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_slow_frames_are_by_their_time),
		cmocka_unit_test(the_worst_stand_for_themselves_and_the_others_for_many),
		cmocka_unit_test(what_is_not_named_may_be_as_much_as_the_rest),
		cmocka_unit_test(a_range_has_the_slow_frames_that_begin_in_it),
		cmocka_unit_test(parts_of_scopes_stand_for_calls_that_were_not_timed),
		cmocka_unit_test(parts_of_probes_are_weighted_already_and_may_be_cut),
		cmocka_unit_test(one_slow_frame_tells_no_error),
		cmocka_unit_test(slow_frames_that_were_not_kept_are_counted),
		cmocka_unit_test(a_rhythm_is_found_with_missing_and_extra_ones_and_only_then),
		cmocka_unit_test(slow_frames_by_chance_have_no_rhythm),
		cmocka_unit_test(the_rhythm_of_a_recording_is_that_of_its_slow_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
