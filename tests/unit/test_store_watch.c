/* test_store_watch.c - a watch in the store: what was saved comes back, and its limit holds whatever comes.
 * Usage: test_store_watch [TIMES]   so many times the windows */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/ledger.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watchlist.h"
#include "fault/place.h"
#include "store/budget.h"
#include "store/store.h"

#define WINDOW_NS (10 * NS_PER_S)
#define KB	  UINT64_C(1024)

static struct place place;
static uint32_t times = 1;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

/* A watch under load. */
struct load {
	uint64_t limit_bytes;
	uint32_t rows, windows;
	uint32_t name_bytes;
	uint32_t ran_in; /* one row in so many runs in a window */
	uint32_t steps;	 /* of a window's histogram */
	uint32_t slow;	 /* slow frames a window */
	uint32_t save_every;
	uint32_t number_bits; /* numbers are random below 2^bits */
};

struct run {
	const struct load *load;
	struct watchlist *w;
	void *db;
	struct rng rng;
	uint32_t rows, frames; /* rows added, slow frames so far */
	uint64_t calls, saves;
};

static uint64_t number(struct run *r)
{
	return rng_below(&r->rng, UINT64_C(1) << r->load->number_bits);
}

/* Adds rows until there are enough, or no room. */
static void add_rows(struct run *r)
{
	static char text[STR_MAX_BYTES];
	const struct str name = { text, r->load->name_bytes };
	int rc = 0;

	memset(text, 'x', sizeof(text));
	while (r->rows < r->load->rows && rc == 0) {
		struct watched_row row = { .kind = WATCHED_PROBE,
					   .name = name,
					   .symbol = name,
					   .module = STR_LITERAL("libc.so.6"),
					   .pattern = STR_LITERAL("*"),
					   .mode = STR_LITERAL("session"),
					   .first = STR_LITERAL("other"),
					   .offset = INT64_MAX / 2,
					   .untimed_ps = 1000,
					   .extra_ps = 1000 };
		uint32_t id;

		rc = watchlist_add(r->w, &row, &id);
		r->rows += rc == 0;
	}
	assert_true(rc == 0 || rc == -ENOSPC);
}

/* A window of one row with numbers as large as they may be, and so many steps anywhere. */
static void see(struct run *r, uint32_t id)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct calls_seen seen = { .span_ns = WINDOW_NS,
				   .covered_ns = WINDOW_NS,
				   .firsts = 1 + number(r) / 8,
				   .first_ns = number(r),
				   .first_own_ns = number(r),
				   .others = 1 + number(r) / 8,
				   .weighted_ns = number(r),
				   .weighted_own_ns = number(r),
				   .squares = { number(r), number(r) },
				   .probe_ns = number(r),
				   .max_ns = number(r),
				   .interval = 4096 };

	seen.calls = seen.firsts + seen.others + number(r);
	seen.weight = seen.others + number(r);
	seen.weight_squared = seen.weight + number(r);
	for (uint32_t i = 0; i < r->load->steps; i++)
		assert_int_equal(histogram_add(&histogram,
					       (uint32_t)rng_below(&r->rng, BUCKET_COUNT),
					       1 + number(r) / BUCKET_COUNT),
				 0);
	assert_int_equal(watchlist_seen(r->w, id, &seen, &histogram, NULL), 0);
	r->calls += seen.calls;
	histogram_free(&histogram);
}

static void slow_frame(struct run *r)
{
	struct frames_frame frame = { .start_ns = r->frames * NS_PER_S,
				      .other_ns = NS_PER_S + number(r) % NS_PER_S,
				      .part_count = FRAMES_MOST_PARTS };

	frame.duration_ns = frame.other_ns;
	for (uint32_t i = 0; i < FRAMES_MOST_PARTS; i++) {
		frame.parts[i].function = (uint32_t)rng_below(&r->rng, r->rows);
		frame.parts[i].ns = 100 * NS_PER_S - i;
		frame.duration_ns += frame.parts[i].ns;
	}
	assert_int_equal(watchlist_slow(r->w, &frame, 4000000, r->frames++), 0);
}

static struct label longest_label(uint64_t saves)
{
	static char text[STR_MAX_BYTES];
	const struct str longest = { text, sizeof(text) };

	memset(text, 'x', sizeof(text));
	return (struct label){ .instrument = STR_LITERAL("watch"),
			       .command = longest,
			       .comm = longest,
			       .host = longest,
			       .kernel = longest,
			       .tare_version = longest,
			       .ended_by = longest,
			       .engine = longest,
			       .clock = longest,
			       .children = longest,
			       .kernel_stacks = longest,
			       .saves = saves };
}

static void save(struct run *r)
{
	static struct changes changes;
	struct label label = longest_label(++r->saves);
	struct watch_row *watch;
	struct store_saved saved;
	struct err err = ERR_EMPTY;

	changes_reset(&changes);
	assert_int_equal(watchlist_changes(r->w, &changes), 0);
	watch = changes_watch(&changes);
	assert_non_null(watch);
	watch->sources = watch->hook = watch->hook_why = watch->clock = watch->scope =
		label.command;
	watchlist_label(r->w, watch);
	for (uint32_t i = 0; i < LEDGER_WINDOWS; i++)
		*changes_ledger(&changes) =
			(struct ledger_row){ i,		number(r), number(r), number(r),
					     number(r), number(r), number(r), number(r),
					     number(r), number(r), number(r) };
	ok(store_sqlite.save(r->db, &label, &changes, &saved, &err), &err);
	watchlist_saved(r->w);
	assert_false(saved.is_paused);
	assert_true(saved.bytes <= r->load->limit_bytes);
	assert_true(place_bytes(&place, "watch.tare") <= r->load->limit_bytes);
	changes_free(&changes);
}

static void open_run(struct run *r, const struct load *load)
{
	const struct store_limits limits = { load->limit_bytes, true };
	struct watchlist_settings settings = { .limits = { 1000000, 8, 4096 },
					       .window_ns = WINDOW_NS,
					       .slow_ns = load->slow > 0,
					       .seed = 5,
					       .may_slice = true };
	struct err err = ERR_EMPTY;

	*r = (struct run){ .load = load };
	rng_seed(&r->rng, 17);
	ok(store_sqlite.fit_watch(load->limit_bytes, &settings.room_bytes, &err), &err);
	ok(watchlist_open(&settings, &r->w, &err), &err);
	ok(store_sqlite.create(place_file(&place, "watch.tare"), &limits, &r->db, &err), &err);
	add_rows(r);
}

/* Everything that was counted is there, and the file is whole. */
static void judge(const struct run *r)
{
	struct recording recording = RECORDING_EMPTY;
	struct watch_row label = { 0 };
	struct err err = ERR_EMPTY;
	uint64_t calls = 0, bytes = 0;
	uint32_t coarse = 0;

	ok(store_sqlite.load(place_file(&place, "watch.tare"), &recording, &err), &err);
	for (uint32_t i = 0; i < recording.window_count; i++) {
		const struct window_row *row = &recording.windows[i];
		struct calls_row as_counted = watchlist_calls_row(row);

		calls += row->calls + row->never_timed;
		bytes += watchlist_row_bytes(&as_counted);
		coarse = row->histogram.coarse > coarse ? row->histogram.coarse : coarse;
	}
	watchlist_label(r->w, &label);
	print_message("%u rows, %u windows of %llu in %u rows of %llu bytes, coarse %u, %u slow\n",
		      r->rows, r->load->windows, (unsigned long long)label.windows_in_row,
		      recording.window_count, (unsigned long long)bytes, coarse,
		      recording.slow_count);
	assert_int_equal(calls, r->calls);
	assert_int_equal(recording.watch.calls, r->calls);
	assert_int_equal(recording.watch.windows, r->load->windows);
	assert_int_equal(recording.watched_count, r->rows);
	assert_int_equal(recording.watch.slow, r->frames);
	recording_free(&recording);
}

static uint32_t pages(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	uint32_t count;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	count = (uint32_t)sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return count;
}

static void run_load(const struct load *load)
{
	struct watchlist_turned turned;
	struct run r;

	open_run(&r, load);
	for (uint32_t window = 0; window < load->windows; window++) {
		for (uint32_t id = 0; id < r.rows; id++)
			if (rng_below(&r.rng, load->ran_in) == 0)
				see(&r, id);
		for (uint32_t i = 0; i < load->slow; i++)
			slow_frame(&r);
		assert_int_equal(watchlist_turn(r.w, WINDOW_NS, &turned), 0);
		if (window % load->save_every == 0 || window == load->windows - 1)
			save(&r);
	}
	judge(&r);
	print_message("%u of %u pages\n", pages(place_file(&place, "watch.tare")),
		      budget_of(load->limit_bytes).pages);
	store_sqlite.close(r.db);
	judge(&r);
	watchlist_close(r.w);
}

static void the_limit_holds_with_the_most_rows_and_the_widest_histograms(void **state)
{
	static const struct load loads[] = {
		/* limit, rows, windows, name, ran in, steps, slow, save every, bits */
		{ 4096 * KB, 1024, 6, 30, 1, 40, 250, 1, 38 },
		{ 4096 * KB, 1024, 9, 60, 3, 60, 40, 1, 38 },
		{ 1024 * KB, 1024, 12, 20, 2, 30, 50, 2, 38 },
		{ 1024 * KB, 40, 80, 40, 1, 6, 5, 6, 38 },
		{ 1024 * KB, 12, 10, 4096, 1, 1504, 40, 2, 38 },
		{ 4096 * KB, 200, 12, 2040, 2, 100, 0, 2, 38 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
		struct load load = loads[i];

		load.windows *= times;
		run_load(&load);
	}
}

static void a_month_of_windows_merges_and_loses_no_call(void **state)
{
	static const struct load month = { 1024 * KB, 12, 259200, 20, 100, 3, 0, 9000, 36 };

	(void)state;
	run_load(&month);
}

static void a_watch_needs_a_megabyte(void **state)
{
	uint64_t room_bytes = 7, before = 0;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(store_sqlite.fit_watch((1u << 20) - 1, &room_bytes, &err), -ENOSPC);
	assert_int_equal(room_bytes, 7);
	assert_non_null(strstr(err.msg, "smallest size is 1MB"));
	assert_non_null(strstr(err.mend, "--max-size 1MB"));
	for (uint64_t bytes = 1u << 20; bytes < (UINT64_C(1) << 40); bytes += bytes / 5) {
		ok(store_sqlite.fit_watch(bytes, &room_bytes, &err), &err);
		assert_true(room_bytes > before && room_bytes < bytes);
		before = room_bytes;
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watch_needs_a_megabyte),
		cmocka_unit_test(the_limit_holds_with_the_most_rows_and_the_widest_histograms),
		cmocka_unit_test(a_month_of_windows_merges_and_loses_no_call),
	};
	int failed;

	if (argc > 1)
		times = (uint32_t)strtoul(argv[1], NULL, 10);
	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
