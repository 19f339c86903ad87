/* report_watch_json.c - the report of a watch as one JSON object, in the order of the tables in report_watch_schema.c. Rows
 * are written from the tables of core/fields.h. A number that is not there is null, and a member NAME_reason beside it says
 * why: null never means 0. */
#include <errno.h>

#include "cli/report_json.h"
#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_verdict.h"
#include "core/watchlist.h"

static const char not_timed[] = "nothing was timed";
static const char too_few[] = "too few were timed to tell";
static const char no_frames[] = "no frame was marked";

/* The members "value" and "error"; `why_not`: the reason when it is not known. */
static void put_value(struct json *j, const struct estimate *e, const char *why_not)
{
	if (e->is_known)
		json_put_double(j, "value", e->value);
	else
		report_put_null(j, "value", why_not);
	if (e->is_known && e->has_error)
		json_put_double(j, "error", e->error);
	else
		report_put_null(j, "error", e->is_known ? too_few : why_not);
}

static void put_estimate(struct json *j, const char *key, const struct estimate *e,
			 const char *why_not)
{
	json_key(j, key);
	json_open_object(j);
	put_value(j, e, why_not);
	json_close(j);
}

/* A share, and the words for it. */
static void put_share(struct json *j, const char *key, const struct estimate *e,
		      const char *why_not)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	if (e->is_known)
		measured_put_share(&words, e->value, e->error, e->has_error);
	else
		text_put(&words, "— not measured");
	json_key(j, key);
	json_open_object(j);
	put_value(j, e, why_not);
	json_put_chars(j, "words", text_chars(&words));
	json_close(j);
	if (words.has_failed)
		json_fail(j, -ENOMEM);
}

static void put_percentile(struct json *j, const char *key, const struct percentile *p,
			   bool is_below_floor, const char *why_not)
{
	json_key(j, key);
	json_open_object(j);
	if (p->is_known) {
		json_put_u64(j, "ns", p->ns);
		json_put_u64(j, "low_ns", p->low_ns);
	} else {
		report_put_null(j, "ns", why_not);
		report_put_null(j, "low_ns", why_not);
	}
	if (p->is_known && !p->is_open)
		json_put_u64(j, "high_ns", p->high_ns);
	else
		report_put_null(j, "high_ns", p->is_known ? too_few : why_not);
	json_put_bool(j, "is_below_floor", is_below_floor);
	json_close(j);
}

static struct estimate mean_of(const struct calls_estimate *e)
{
	return (struct estimate){ e->mean_ns, e->mean_error_ns, e->has_total, e->has_error };
}

static struct estimate total_of(const struct calls_estimate *e)
{
	return (struct estimate){ e->total_ns, e->total_error_ns, e->has_total, e->has_error };
}

static const char *why_no_total(const struct calls_estimate *e)
{
	return e->timed == 0 ? not_timed : "only first calls were timed";
}

static void put_max(struct json *j, const struct calls_estimate *e)
{
	if (e->timed > 0)
		json_put_u64(j, "max_ns", e->max_ns);
	else
		report_put_null(j, "max_ns", not_timed);
}

static void put_growth(struct json *j, const char *key, const struct growth *g)
{
	static const char *const numbers[] = { "from_ns", "to_ns", "error_ns", "at_ns" };

	json_key(j, key);
	json_open_object(j);
	json_put_bool(j, "has_grown", g->has_grown);
	json_put_bool(j, "is_step", g->is_step);
	if (g->has_grown) {
		json_put_double(j, "from_ns", g->from_ns);
		json_put_double(j, "to_ns", g->to_ns);
		json_put_double(j, "error_ns", g->error_ns);
		json_put_u64(j, "at_ns", g->at_ns);
	}
	for (size_t i = 0; !g->has_grown && i < ARRAY_LEN(numbers); i++)
		report_put_null(j, numbers[i], "it did not grow");
	json_close(j);
}

static void put_intervals(struct json *j, const struct watched_answer *row)
{
	if (row->calls.timed > 0) {
		json_put_u64(j, "interval_least", row->interval_least);
		json_put_u64(j, "interval_largest", row->interval_largest);
	} else {
		report_put_null(j, "interval_least", not_timed);
		report_put_null(j, "interval_largest", not_timed);
	}
}

static void put_window(struct json *j, const struct recording *rec, const struct watched_row *row,
		       const struct window_row *window)
{
	uint64_t floor_ns = (row->floor_ps + PS_PER_NS / 2) / PS_PER_NS;
	const struct calls_row calls = watchlist_calls_row(window);
	struct calls_estimate e = calls_estimate(&calls, floor_ns);
	struct estimate mean = mean_of(&e);
	struct percentile p;
	bool is_below;

	json_open_object(j);
	json_put_u64(j, "start_ns", watch_window_starts_ns(rec, window));
	json_put_u64(j, "span_ns", window->span_ns);
	json_put_u64(j, "covered_ns", window->covered_ns);
	json_put_u64(j, "calls", window->calls);
	json_put_u64(j, "never_timed", window->never_timed);
	json_put_u64(j, "timed", e.timed);
	if (e.timed > 0)
		json_put_u64(j, "interval", window->interval);
	else
		report_put_null(j, "interval", not_timed);
	put_estimate(j, "mean_ns", &mean, why_no_total(&e));
	p = calls_percentile(&calls, 0.5, floor_ns, &is_below);
	put_percentile(j, "p50", &p, is_below, not_timed);
	p = calls_percentile(&calls, 0.99, floor_ns, &is_below);
	put_percentile(j, "p99", &p, is_below, not_timed);
	put_max(j, &e);
	json_close(j);
}

static void put_windows(struct json *j, const struct recording *rec, const struct watched_row *row)
{
	uint32_t count = 0;
	const struct window_row *windows = watch_windows(rec, row->id, &count);

	json_key(j, "windows");
	json_open_array(j);
	for (uint32_t i = 0; i < count; i++)
		put_window(j, rec, row, &windows[i]);
	json_close(j);
}

static void put_numbers(struct json *j, const struct report *r, const struct watched_answer *row)
{
	const struct calls_estimate *e = &row->calls;
	const char *why_not = why_no_total(e);
	const char *why_no_frame = r->watch->has_frames ? why_not : no_frames;
	struct estimate total = total_of(e), mean = mean_of(e);

	put_estimate(j, "calls", &row->count, not_timed);
	json_put_double(j, "covered", row->covered);
	json_put_u64(j, "timed", e->timed);
	json_put_u64(j, "never_timed", e->never_timed);
	put_estimate(j, "total_ns", &total, why_not);
	put_estimate(j, "own_ns", &row->own_ns, why_not);
	put_estimate(j, "mean_ns", &mean, why_not);
	put_percentile(j, "p50", &row->p50, row->p50_below_floor, not_timed);
	put_percentile(j, "p90", &row->p90, row->p90_below_floor, not_timed);
	put_percentile(j, "p99", &row->p99, row->p99_below_floor, not_timed);
	put_max(j, e);
	json_put_bool(j, "is_below_floor", e->is_below_floor);
	json_put_bool(j, "is_coarse", e->is_coarse);
	put_share(j, "share_of_run", &row->share_of_run, why_not);
	put_share(j, "total_of_run", &row->total_of_run, why_not);
	put_share(j, "share_of_frame", &row->share_of_frame, why_no_frame);
	put_share(j, "slow_share", &row->slow_share,
		  r->watch->has_frames ? "no slow frame was kept" : no_frames);
	json_put_u64(j, "frames_largest", row->frames_largest);
	json_put_double(j, "a_second", row->a_second);
	json_put_double(j, "counted_a_second", row->counted_a_second);
	json_put_bool(j, "is_at_least", row->is_at_least);
	json_put_double(j, "slowed", row->slowed);
	json_put_double(j, "taken_off_ns", row->taken_off_ns);
	json_put_bool(j, "cannot_rank", row->cannot_rank);
}

static void put_function(struct json *j, const struct report *r, const struct watched_answer *row)
{
	json_open_object(j);
	report_put_row(j, &table_watched, row->row, &r->recording->label);
	put_numbers(j, r, row);
	put_intervals(j, row);
	put_growth(j, "mean_growth", &row->mean_growth);
	put_growth(j, "p99_growth", &row->p99_growth);
	json_key(j, "histogram");
	report_put_steps(j, &row->pooled.histogram);
	put_windows(j, r->recording, row->row);
	json_close(j);
}

static void put_functions(struct json *j, const struct report *r)
{
	json_key(j, "functions");
	json_open_array(j);
	for (uint32_t i = 0; i < r->watch->count; i++)
		put_function(j, r, &r->watch->rows[i]);
	json_close(j);
}

static void put_rhythm(struct json *j, const struct rhythm *rhythm)
{
	static const char *const names[] = { "every", "hits", "of" };
	const uint64_t values[] = { rhythm->every, rhythm->hits, rhythm->of };

	json_key(j, "rhythm");
	json_open_object(j);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (rhythm->is_known)
			json_put_u64(j, names[i], values[i]);
		else
			report_put_null(j, names[i], "no rhythm was found");
	json_close(j);
}

/* All frames, also where there are none: then it says so. */
static void put_frames(struct json *j, const struct report *r)
{
	static const struct percentile none = { .is_known = false };
	const struct watch_analysis *a = r->watch;
	const struct watched_answer *frame = a->has_frames ? &a->rows[a->frame] : NULL;
	const char *why_not = frame == NULL ? no_frames : not_timed;

	json_key(j, "frames");
	json_open_object(j);
	json_put_u64(j, "count", a->frames);
	json_put_double(j, "all_ns", a->frames_ns);
	put_percentile(j, "p50", frame != NULL ? &frame->p50 : &none, false, why_not);
	put_percentile(j, "p90", frame != NULL ? &frame->p90 : &none, false, why_not);
	put_percentile(j, "p99", frame != NULL ? &frame->p99 : &none, false, why_not);
	if (frame != NULL)
		put_max(j, &frame->calls);
	else
		report_put_null(j, "max_ns", no_frames);
	put_estimate(j, "slow", &a->slow.count,
		     frame == NULL ? no_frames : "none of the range was kept");
	json_put_u64(j, "kept", r->recording->slow_count);
	put_share(j, "unnamed", &a->slow.unnamed,
		  frame == NULL ? no_frames : "no slow frame was kept");
	put_rhythm(j, &a->slow.rhythm);
	json_close(j);
}

/* The place in "functions" of a watched row; the count when there is none. */
static uint32_t place_of(const struct watch_analysis *a, uint32_t id)
{
	uint32_t i = 0;

	while (i < a->count && a->rows[i].id != id)
		i++;
	return i;
}

static void put_part(struct json *j, const struct report *r, const struct slow_part_row *part)
{
	uint32_t place = place_of(r->watch, part->watched);

	json_open_object(j);
	if (place < r->watch->count)
		json_put_u64(j, "function", place);
	else
		report_put_null(j, "function", "it was not recorded");
	json_put_u64(j, "own_ns", part->own_ns);
	json_close(j);
}

static void put_slow_frames(struct json *j, const struct report *r)
{
	const struct recording *rec = r->recording;
	uint32_t part = 0;

	json_key(j, "slow_frames");
	json_open_array(j);
	for (uint32_t i = 0; i < rec->slow_count; i++) {
		json_open_object(j);
		report_put_row(j, &table_slow_frame, &rec->slow[i], &rec->label);
		json_key(j, "parts");
		json_open_array(j);
		while (part < rec->slow_part_count && rec->slow_parts[part].slow < rec->slow[i].id)
			part++;
		for (; part < rec->slow_part_count && rec->slow_parts[part].slow == rec->slow[i].id;
		     part++)
			put_part(j, r, &rec->slow_parts[part]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

static void put_totals(struct json *j, const struct watch_analysis *a)
{
	json_key(j, "totals");
	json_open_object(j);
	json_put_u64(j, "range_ns", a->range_ns);
	put_share(j, "all_of_run", &a->all_of_run, not_timed);
	json_put_bool(j, "all_is_at_least", a->all_is_at_least);
	if (a->floor_ps > 0)
		json_put_u64(j, "floor_ps", a->floor_ps);
	else
		report_put_null(j, "floor_ps", "not measured");
	json_put_u64(j, "watched", a->watched);
	json_put_u64(j, "not_watched", a->count - a->watched);
	json_close(j);
}

int watch_json(FILE *out, const struct report *r)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	const struct recording *rec = r->recording;
	const struct report_price price = {
		.share = r->watch->price,
		.spent_ns = r->watch->spent_ns,
		.label = &rec->label,
		.bound = watch_price_bound(r),
	};
	struct json j;

	json_begin(&j, json_to_file, out, 2);
	watch_verdict_put(&verdict, rec, r->watch);
	if (verdict.has_failed)
		json_fail(&j, -ENOMEM);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", REPORT_SCHEMA_VERSION);
	json_put_chars(&j, "verdict", text_chars(&verdict));
	json_key(&j, "label");
	json_open_object(&j);
	report_put_row(&j, &table_recording, &rec->label, &rec->label);
	json_close(&j);
	json_key(&j, "watch");
	json_open_object(&j);
	report_put_row(&j, &table_watch, &rec->watch, &rec->label);
	json_close(&j);
	json_put_chars(&j, "file", r->path);
	json_put_u64(&j, "file_bytes", rec->file_bytes);
	report_put_price(&j, &price);
	put_totals(&j, r->watch);
	report_put_findings(&j, r->findings);
	put_functions(&j, r);
	put_frames(&j, r);
	put_slow_frames(&j, r);
	report_put_ledger(&j, rec);
	json_put_u64(&j, "replaced_bytes", j.replaced);
	json_close(&j);
	return json_end(&j);
}
