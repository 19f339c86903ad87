/* build_watch.c - small recordings of a watch by hand. */
#include "build_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/calls.h"
#include "core/pace.h"
#include "core/units.h"
#include "core/watchlist.h"

void build_watch_begin(struct build_watch *b)
{
	*b = (struct build_watch){ .r = {
		.label = {
			.instrument = STR_LITERAL("watch"),
			.command = STR_LITERAL("./world"),
			.comm = STR_LITERAL("world"),
			.host = STR_LITERAL("host"),
			.tare_version = STR_LITERAL("0.1.0"),
			.pid = 41,
			.cpu_count = 2,
			.started_wall_ns = INT64_C(1764300000000000000),
			.saved_wall_ns = INT64_C(1764303600000000000),
			.elapsed_ns = 3600 * NS_PER_S,
			.is_finished = true,
			.ended_by = STR_LITERAL("exit"),
			.price_limit_ppm = 10000,
			.own_cpu_ns = 18 * NS_PER_S,
			.writer_pid = 40,
		},
		.watch = {
			.sources = STR_LITERAL("probes"),
			.hook = STR_LITERAL("session"),
			.clock = STR_LITERAL("CLOCK_MONOTONIC"),
			.window_ns = BUILD_WINDOW_NS,
			.windows = 360,
			.windows_in_row = 1,
			.interval_given = 8,
			.interval_most = 4096,
			.calibrations = 1,
			.refused = NO_ID,
		},
		.file_bytes = 700 << 10,
	} };
}

/* One more row of an array that grows; pointers to older rows go stale. */
static void *more(void *rows, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return rows;
	*room = *room == 0 ? 64 : *room * 2;
	rows = realloc(rows, *room * size);
	assert_non_null(rows);
	return rows;
}

struct watched_row *build_watched(struct build_watch *b, const char *name)
{
	struct recording *r = &b->r;

	r->watched = more(r->watched, r->watched_count, &b->watched_room, sizeof(*r->watched));
	r->watched[r->watched_count] = (struct watched_row){
		.id = r->watched_count,
		.kind = WATCHED_PROBE,
		.name = { name, (uint32_t)strlen(name) },
		.symbol = { name, (uint32_t)strlen(name) },
		.module = STR_LITERAL("world"),
		.pattern = { name, (uint32_t)strlen(name) },
		.mode = STR_LITERAL("session"),
		.first = STR_LITERAL("nop5"),
		.untimed_ps = 200000,
		.hook_ps = 600000,
		.extra_ps = 400000,
		.floor_ps = 100000,
		.assumed_untimed_ps = 40000,
		.assumed_hook_ps = 600000,
		.assumed_extra_ps = 400000,
		.interval = 8,
	};
	return &r->watched[r->watched_count++];
}

struct watched_row *build_unwatched(struct build_watch *b, const char *name, const char *why_not)
{
	struct watched_row *row = build_watched(b, name);

	row->mode = STR_EMPTY;
	row->first = STR_EMPTY;
	row->why_not = (struct str){ why_not, (uint32_t)strlen(why_not) };
	return row;
}

/* Time number `i`: a saw tooth of eleven teeth around the mean, and now and then a long one. */
static uint64_t time_of(const struct build_calls *did, uint64_t i)
{
	if (did->tail_ns > 0 && i % 50 == 49)
		return did->tail_ns;
	return did->ns - did->spread_ns + did->spread_ns * (i * 7 % 11) / 5;
}

static void time_calls(const struct build_calls *did, struct calls_seen *seen,
		       struct histogram *times)
{
	uint64_t first_ns = did->first_ns > 0 ? did->first_ns : did->ns;
	double own = did->own_part > 0 ? did->own_part : 1;

	if (did->interval == 0 || did->calls == 0)
		return;
	seen->firsts = 1;
	seen->first_ns = first_ns;
	seen->first_own_ns = (uint64_t)(own * (double)first_ns);
	seen->max_ns = first_ns;
	seen->others = (did->calls - 1) / did->interval;
	assert_int_equal(histogram_add(times, bucket_of(first_ns), 1), 0);
	for (uint64_t i = 0; i < seen->others; i++) {
		uint64_t ns = time_of(did, i);

		seen->weight += did->interval;
		seen->weight_squared += (uint64_t)did->interval * did->interval;
		seen->weighted_ns += ns * did->interval;
		bucket_add_square(&seen->squares, ns, did->interval);
		if (ns > seen->max_ns)
			seen->max_ns = ns;
		assert_int_equal(histogram_add(times, bucket_of(ns), did->interval), 0);
	}
	seen->weighted_own_ns = (uint64_t)(own * (double)seen->weighted_ns);
	seen->probe_ns = did->probe_ns * seen->weight;
}

static void count_it(struct build_watch *b, struct watched_row *row, const struct calls_seen *seen)
{
	const struct pace_costs costs = { row->untimed_ps, row->extra_ps, row->hook_ps };
	uint64_t timed = seen->firsts + seen->others;
	uint64_t charge_ps = pace_charge_ps(&costs, seen->calls, timed);

	row->charged_ps += charge_ps;
	b->r.watch.charged_ps += charge_ps;
	b->r.watch.calls += seen->calls;
	b->r.watch.timed += timed;
}

struct window_row *build_calls(struct build_watch *b, uint32_t id, uint32_t at,
			       const struct build_calls *did)
{
	struct recording *r = &b->r;
	struct calls_seen seen = { .calls = did->calls,
				   .span_ns = BUILD_WINDOW_NS,
				   .covered_ns =
					   did->covered_ns > 0 ? did->covered_ns : BUILD_WINDOW_NS,
				   .interval = did->interval };
	struct histogram times = HISTOGRAM_EMPTY;
	struct calls calls;
	struct calls_row row;

	time_calls(did, &seen, &times);
	assert_int_equal(calls_open(&calls, 1), 0);
	assert_int_equal(calls_add(&calls, 0, &seen, &times), 0);
	histogram_free(&times);
	assert_int_equal(calls.count, 1);
	row = calls.rows[0];
	calls.rows[0] = (struct calls_row){ 0 };
	calls_close(&calls);
	count_it(b, &r->watched[id], &seen);
	r->windows = more(r->windows, r->window_count, &b->window_room, sizeof(*r->windows));
	r->windows[r->window_count] = watchlist_window_row(id, &row);
	r->windows[r->window_count].at = at;
	return &r->windows[r->window_count++];
}

void build_same(struct build_watch *b, uint32_t id, uint32_t from, uint32_t to,
		const struct build_calls *did)
{
	for (uint32_t at = from; at < to; at++)
		build_calls(b, id, at, did);
}

struct slow_row *build_slow(struct build_watch *b, uint64_t number, uint64_t duration_ns)
{
	struct recording *r = &b->r;

	r->slow = more(r->slow, r->slow_count, &b->slow_room, sizeof(*r->slow));
	r->slow[r->slow_count] = (struct slow_row){
		.id = r->slow_count,
		.tid = 41,
		.number = number,
		.start_ns = number * 50 * NS_PER_MS,
		.duration_ns = duration_ns,
		.other_ns = duration_ns,
	};
	r->watch.slow++;
	return &r->slow[r->slow_count++];
}

void build_part(struct build_watch *b, uint32_t watched, uint64_t own_ns)
{
	struct recording *r = &b->r;
	struct slow_row *slow = &r->slow[r->slow_count - 1];
	uint32_t place = 0;

	assert_true(own_ns <= slow->other_ns);
	slow->other_ns -= own_ns;
	for (uint32_t i = r->slow_part_count; i > 0 && r->slow_parts[i - 1].slow == slow->id; i--)
		place++;
	r->slow_parts =
		more(r->slow_parts, r->slow_part_count, &b->part_room, sizeof(*r->slow_parts));
	r->slow_parts[r->slow_part_count++] =
		(struct slow_part_row){ slow->id, place, watched, own_ns };
}

struct ledger_row *build_watch_ledger(struct build_watch *b, uint64_t spent_ns)
{
	struct recording *r = &b->r;

	r->ledger = more(r->ledger, r->ledger_count, &b->ledger_room, sizeof(*r->ledger));
	r->ledger[r->ledger_count] = (struct ledger_row){
		.id = r->ledger_count,
		.window_ns = BUILD_WINDOW_NS,
		.fixed_ns = spent_ns,
	};
	return &r->ledger[r->ledger_count++];
}

static int compare_windows(const void *x, const void *y)
{
	const struct window_row *a = x, *b = y;

	if (a->watched != b->watched)
		return a->watched < b->watched ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

void build_watch_sort(struct build_watch *b)
{
	if (b->r.window_count > 0)
		qsort(b->r.windows, b->r.window_count, sizeof(*b->r.windows), compare_windows);
}

void build_watch_free(struct build_watch *b)
{
	recording_free(&b->r);
}
