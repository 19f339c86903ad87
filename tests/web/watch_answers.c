/* watch_answers.c - what core says of recordings of a watch that are made here, beside the data that their pages get: one JSON
 * object a recording, for several ranges of it. web/test/watch.test.ts asks the page's script the same. Numbers in words come
 * with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/make_watch.h"
#include "cli/report_page_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"

#define MS	 NS_PER_MS
#define HALVINGS 10u

/* Intervals, slices, own parts and tails that differ from window to window, and gaps; the same each time. */
static void make_ragged(struct build_watch *b)
{
	uint64_t state = 20251128;

	for (uint32_t f = 0; f < 9; f++) {
		static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
		uint32_t id = build_watched(b, names[f])->id;

		for (uint32_t at = f; at < 360; at++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			uint64_t dice = state >> 33;

			if (dice % 5 == 0)
				continue;
			build_calls(
				b, id, at,
				&(struct build_calls){
					.calls = 1 + dice % (f < 3 ? 40 : 4000),
					.ns = 300 + dice % 997 * (1 + f * 40),
					.spread_ns = 100 + dice % 13,
					.interval = dice % 17 == 0 ? 0 : 1u << dice % (f + 2),
					.first_ns = 900 + dice % 5000,
					.own_part = f % 2 == 0 ? 0 : 0.3 + (double)(dice % 7) / 10,
					.probe_ns = f % 3 == 0 ? 40 : 0,
					.covered_ns = f == 4 ? BUILD_WINDOW_NS / (1 + dice % 9) : 0,
					.tail_ns = f == 5 ? 80 * MS : 0 });
		}
	}
	b->r.watched[4].is_sliced = true;
	b->r.watched[2].kind = WATCHED_FRAME;
	b->r.watched[3].kind = WATCHED_SCOPE;
	b->r.watch.slow_ns = 2 * MS;
	for (uint64_t i = 0; i < 60; i++) {
		struct slow_row *slow = build_slow(b, 7 * i, (3 + i % 11) * MS);

		slow->start_ns = i * 59 * NS_PER_S + i % 7;
		slow->is_worst = i % 11 == 10 && i < 60;
		slow->is_scaled = i == 17;
		build_part(b, (uint32_t)(i % 2), (1 + i % 2) * MS);
		if (i % 3 == 0)
			build_part(b, 3, MS / 2 + i);
	}
	b->r.watch.slow = 300; /* more than were kept */
}

/* ---- what core says ---- */

static void put_estimate(struct json *j, const char *key, const struct estimate *e)
{
	json_key(j, key);
	json_open_array(j);
	json_double(j, e->value);
	json_double(j, e->error);
	json_bool(j, e->is_known);
	json_bool(j, e->has_error);
	json_close(j);
}

static void put_percentile(struct json *j, const char *key, const struct percentile *p,
			   bool is_below_floor)
{
	json_key(j, key);
	json_open_array(j);
	json_u64(j, p->ns);
	json_u64(j, p->low_ns);
	json_u64(j, p->high_ns);
	json_bool(j, p->is_known);
	json_bool(j, p->is_open);
	json_bool(j, is_below_floor);
	json_close(j);
}

static void put_answer(struct json *j, const struct watched_answer *answer)
{
	const struct calls_estimate *e = &answer->calls;
	const struct estimate total = { e->total_ns, e->total_error_ns, e->has_total,
					e->has_error };
	const struct estimate mean = { e->mean_ns, e->mean_error_ns, e->has_total, e->has_error };

	json_open_object(j);
	json_put_u64(j, "timed", e->timed);
	json_put_double(j, "covered", answer->covered);
	json_put_u64(j, "maxNs", e->max_ns);
	json_put_bool(j, "isCoarse", e->is_coarse);
	json_put_bool(j, "isBelowFloor", e->is_below_floor);
	json_put_u64(j, "intervalLeast", answer->interval_least);
	json_put_u64(j, "intervalLargest", answer->interval_largest);
	put_estimate(j, "count", &answer->count);
	put_estimate(j, "total", &total);
	put_estimate(j, "mean", &mean);
	put_estimate(j, "own", &answer->own_ns);
	put_estimate(j, "ofRun", &answer->share_of_run);
	put_estimate(j, "ofRunWithCallees", &answer->total_of_run);
	put_estimate(j, "ofFrames", &answer->share_of_frame);
	put_estimate(j, "ofSlow", &answer->slow_share);
	json_put_u64(j, "largest", answer->frames_largest);
	put_percentile(j, "p50", &answer->p50, answer->p50_below_floor);
	put_percentile(j, "p90", &answer->p90, answer->p90_below_floor);
	put_percentile(j, "p99", &answer->p99, answer->p99_below_floor);
	json_close(j);
}

/* In the order of `order`, an analysis of the whole run. */
static void put_range(struct json *j, const struct recording *r, const struct watch_analysis *order,
		      const int range[2])
{
	SCOPED(watch_analysis_free) struct watch_analysis a = WATCH_ANALYSIS_EMPTY;
	struct err err = ERR_EMPTY;
	bool is_whole = range[1] < 0;

	if (watch_analysis_open(r, is_whole ? 0 : (uint64_t)range[0] * BUILD_WINDOW_NS,
				is_whole ? UINT64_MAX : ((uint64_t)range[1] + 1) * BUILD_WINDOW_NS,
				&a, &err) != 0)
		return;
	json_open_object(j);
	json_key(j, "range");
	if (is_whole) {
		json_null(j);
	} else {
		json_open_array(j);
		json_i64(j, range[0]);
		json_i64(j, range[1]);
		json_close(j);
	}
	json_put_u64(j, "rangeNs", a.range_ns);
	json_put_u64(j, "frames", a.frames);
	json_put_double(j, "framesNs", a.frames_ns);
	put_estimate(j, "slow", &a.slow.count);
	put_estimate(j, "unnamed", &a.slow.unnamed);
	json_put_bool(j, "isAtLeast", a.slow.is_at_least);
	json_key(j, "functions");
	json_open_array(j);
	for (uint32_t i = 0; i < order->count; i++)
		for (uint32_t k = 0; k < a.count; k++)
			if (a.rows[k].id == order->rows[i].id)
				put_answer(j, &a.rows[k]);
	json_close(j);
	json_close(j);
}

static void put_ranges(struct json *j, const struct recording *r,
		       const struct watch_analysis *whole)
{
	static const int ranges[][2] = { { 0, -1 },  { 0, 359 }, { 0, 0 },     { 5, 5 },
					 { 10, 29 }, { 40, 43 }, { 100, 299 }, { 355, 359 } };

	json_key(j, "answers");
	json_open_array(j);
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		put_range(j, r, whole, ranges[i]);
	json_close(j);
}

static void put_data(struct json *j, const struct page *page)
{
	struct err err = ERR_EMPTY;

	json_open_object(j);
	if (watch_page_data(j, page, &err) != 0)
		exit(2);
	json_close(j);
}

static void put_recording(struct json *j, const char *name, void (*make)(struct build_watch *b))
{
	SCOPED(watch_analysis_free) struct watch_analysis whole = WATCH_ANALYSIS_EMPTY;
	const struct findings findings = { .count = 0 };
	struct err err = ERR_EMPTY;
	struct build_watch b;

	build_watch_begin(&b);
	make(&b);
	build_watch_sort(&b);
	if (watch_analysis_open(&b.r, 0, UINT64_MAX, &whole, &err) != 0)
		exit(2);

	struct report report = {
		.recording = &b.r, .watch = &whole, .findings = &findings, .path = "made"
	};
	struct page page = { .owner = &report, .findings = &findings, .path = "made" };

	json_open_object(j);
	json_put_chars(j, "name", name);
	json_key(j, "page");
	put_data(j, &page);
	json_key(j, "halved");
	json_open_array(j);
	for (page.halvings = 1; page.halvings <= HALVINGS; page.halvings++)
		put_data(j, &page);
	json_close(j);
	put_ranges(j, &b.r, &whole);
	json_close(j);
	build_watch_free(&b);
}

/* ---- numbers in words ---- */

static void end_words(struct json *j, struct text *t)
{
	json_chars(j, text_chars(t));
	json_close(j);
	text_free(t);
}

static void put_durations(struct json *j)
{
	static const double errors[] = { -1, 0, 1e-4, 0.003, 0.04, 0.2, 1.3, 900 };

	json_key(j, "durations");
	json_open_array(j);
	for (double ns = 0.4; ns < 4e12; ns *= 2.37)
		for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
			double error = errors[i] < 0 ? MEASURED_NO_ERROR : errors[i] * ns;
			struct text t = TEXT_EMPTY;

			json_open_array(j);
			json_double(j, ns);
			json_double(j, error);
			measured_put_duration(&t, ns, error);
			end_words(j, &t);
		}
	json_close(j);
}

static void put_shares(struct json *j)
{
	static const double errors[] = { 0, 1e-5, 4e-4, 0.0096, 0.013, 0.4 };

	json_key(j, "shares");
	json_open_array(j);
	for (double share = 0.00001; share < 30; share *= 1.71)
		for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
			struct text t = TEXT_EMPTY;

			json_open_array(j);
			json_double(j, share);
			json_double(j, errors[i]);
			measured_put_share(&t, share, errors[i], true);
			end_words(j, &t);
		}
	json_close(j);
}

static void put_counts(struct json *j)
{
	json_key(j, "counts");
	json_open_array(j);
	for (uint64_t count = 1; count < UINT64_C(4000000000000); count = count * 19 / 7 + 1) {
		struct text many = TEXT_EMPTY, number = TEXT_EMPTY;

		json_open_array(j);
		json_u64(j, count);
		measured_put_many(&many, count);
		json_chars(j, text_chars(&many));
		measured_put_number(&number, (double)count / 100);
		text_free(&many);
		end_words(j, &number);
	}
	json_close(j);
}

int main(void)
{
	struct json j;

	json_begin(&j, json_to_file, stdout, 2);
	json_open_object(&j);
	json_key(&j, "recordings");
	json_open_array(&j);
	put_recording(&j, "colony", make_colony);
	put_recording(&j, "probes", make_probes);
	put_recording(&j, "ragged", make_ragged);
	put_recording(&j, "unfinished", make_watch_unfinished);
	put_recording(&j, "refused", make_watch_refused);
	put_recording(&j, "empty", make_watch_empty);
	json_close(&j);
	put_durations(&j);
	put_shares(&j);
	put_counts(&j);
	json_close(&j);
	return json_end(&j) == 0 && fflush(stdout) == 0 ? 0 : 2;
}
