/* test_watch_hostile.c - numbers that a store lets through and no program made: every answer stays a number in its bounds, and
 * a sentence is said. Under sanitizers this also shows that no conversion overflows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_watch.h"
#include "core/calls.h"
#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_findings.h"
#include "core/watch_verdict.h"
#include "core/watchlist.h"

/* 0, small, large or in between: sums of a hundred stay below 2^63, as the store asks. */
static uint64_t any(uint64_t *random)
{
	uint64_t bits = (uint64_t)gap_random(random) << 32 | gap_random(random);

	switch (gap_random(random) % 6) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return UINT64_C(1) << 55;
	default:
		return bits >> (9 + gap_random(random) % 55);
	}
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

static void any_window(struct build_watch *b, uint64_t *random, uint32_t id, uint32_t at)
{
	struct window_row *w = build_calls(b, id, at, &(struct build_calls){ .calls = 1 });
	uint64_t calls = any(random);

	histogram_free(&w->histogram);
	*w = (struct window_row){
		.watched = id,
		.at = at,
		.calls = calls,
		.never_timed = any(random),
		.span_ns = any(random),
		.firsts = at_most(any(random), calls),
		.max_ns = any(random),
		.probe_ns = any(random),
		.interval = gap_random(random) % (GAP_MAX_INTERVAL + 1),
	};
	w->covered_ns = at_most(any(random), w->span_ns);
	w->others = at_most(any(random), calls - w->firsts);
	if (w->firsts > 0) {
		w->first_ns = any(random);
		w->first_own_ns = any(random);
	}
	if (w->others > 0) {
		w->weight = w->others + any(random);
		w->weight_squared = w->weight + any(random);
		w->weighted_ns = any(random);
		w->weighted_own_ns = any(random);
		w->variance_0 = (double)any(random);
		w->variance_1_ns = (double)any(random) * 1e200;
		w->variance_2_ns2 = (double)any(random) * 1e250;
	}
	if (w->firsts + w->others == 0)
		w->calls = w->max_ns = w->probe_ns = 0;
	for (uint32_t i = gap_random(random) % 6; i > 0; i--)
		assert_int_equal(histogram_add(&w->histogram, gap_random(random) % BUCKET_COUNT,
					       any(random)),
				 0);

	struct calls_row row = watchlist_calls_row(w);

	assert_true(calls_row_is_sound(&row));
}

static void any_slow(struct build_watch *b, uint64_t *random)
{
	for (uint32_t i = gap_random(random) % 12; i > 0; i--) {
		struct slow_row *slow = build_slow(b, any(random), any(random));

		slow->tid = gap_random(random) % 3;
		slow->start_ns = any(random);
		slow->is_worst = gap_random(random) % 2 == 0;
		slow->rest_ns = at_most(any(random), slow->other_ns);
		slow->other_ns -= slow->rest_ns;
		for (uint32_t part = gap_random(random) % 3; part > 0; part--)
			build_part(b, gap_random(random) % b->r.watched_count,
				   at_most(any(random), slow->other_ns));
	}
	b->r.watch.slow = any(random);
}

static void any_watched(struct build_watch *b, uint64_t *random)
{
	struct watched_row *row = gap_random(random) % 5 == 0 ? build_unwatched(b, "u", "why")
							      : build_watched(b, "\xff\x1b");

	row->kind = gap_random(random) % 4;
	row->floor_ps = any(random);
	row->untimed_ps = any(random);
	row->hook_ps = any(random);
	row->extra_ps = any(random);
	row->assumed_untimed_ps = any(random);
	row->charged_ps = any(random);
	row->abandoned = any(random);
	row->backwards = any(random);
}

static void any_recording(struct build_watch *b, uint64_t *random)
{
	uint32_t rows = 1 + gap_random(random) % 5;

	build_watch_begin(b);
	b->r.label.elapsed_ns = any(random);
	b->r.label.started_wall_ns = (int64_t)any(random);
	b->r.label.is_finished = gap_random(random) % 2 == 0;
	b->r.label.own_cpu_ns = any(random);
	b->r.watch.window_ns = any(random);
	b->r.watch.windows = any(random);
	b->r.watch.windows_in_row = 1 + any(random);
	b->r.watch.slow_ns = any(random);
	b->r.watch.frames = any(random);
	b->r.watch.lost_calls = any(random);
	for (uint32_t i = 0; i < rows; i++)
		any_watched(b, random);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t at = 0, count = gap_random(random) % 16; at < count; at++)
			any_window(b, random, i, at * (1 + gap_random(random) % 20));
	/* Keys are unique in a store. */
	build_watch_sort(b);
	any_slow(b, random);
	b->r.watch.charged_ps = any(random);
	if (gap_random(random) % 4 == 0)
		b->r.watch.refused = gap_random(random) % rows;
}

static void assert_estimate(struct estimate e, double most)
{
	assert_true(isfinite(e.value) && e.value >= 0 && e.value <= most);
	assert_true(isfinite(e.error) && e.error >= 0);
	assert_true(e.is_known || (e.value == 0 && e.error == 0 && !e.has_error));
}

static void assert_answer(const struct watched_answer *answer)
{
	assert_estimate(answer->count, INFINITY);
	assert_estimate(answer->own_ns, INFINITY);
	assert_estimate(answer->share_of_run, INFINITY);
	assert_estimate(answer->total_of_run, INFINITY);
	assert_estimate(answer->share_of_frame, INFINITY);
	assert_estimate(answer->slow_share, 1);
	assert_in_range((uint64_t)(answer->covered * 1000), 0, 1000);
	assert_in_range((uint64_t)(answer->slowed * 1000), 0, 1000);
	assert_true(isfinite(answer->a_second) && answer->a_second >= answer->counted_a_second);
	assert_true(isfinite(answer->taken_off_ns) && answer->taken_off_ns >= 0);
	assert_true(answer->interval_least <= answer->interval_largest);
}

static void answers_stay_numbers_whatever_is_in_the_rows(void **state)
{
	uint64_t random = 42;

	(void)state;
	for (int run = 0; run < 3000; run++) {
		SCOPED(build_watch_free) struct build_watch b;
		SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
		SCOPED(findings_free) struct findings f = { .count = 0 };
		SCOPED(text_free) struct text t = TEXT_EMPTY;
		struct err err = ERR_EMPTY;
		uint64_t from_ns, to_ns;

		any_recording(&b, &random);
		from_ns = run % 2 == 0 ? 0 : any(&random);
		to_ns = run % 2 == 0 ? UINT64_MAX : any(&random);
		if (watch_analysis_open(&b.r, from_ns, to_ns, &a, &err) != 0)
			continue;
		for (uint32_t i = 0; i < a.count; i++)
			assert_answer(&a.rows[i]);
		assert_estimate(a.slow.count, INFINITY);
		assert_estimate(a.slow.unnamed, 1);
		assert_estimate(a.all_of_run, INFINITY);
		assert_true(a.timed <= a.called && a.called <= a.functions);
		assert_true(a.functions <= a.watched && a.watched <= a.count);
		watch_verdict_put(&t, &b.r, &a);
		assert_true(t.len > 0 && strchr(text_chars(&t), '\x1b') == NULL);
		assert_null(strstr(text_chars(&t), "nan"));
		assert_int_equal(watch_findings_open(&b.r, &a, &f, &err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_stay_numbers_whatever_is_in_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
