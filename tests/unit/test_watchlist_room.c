/* test_watchlist_room.c - a watchlist within its bytes: what gives way first, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/rng.h"
#include "watchlist_stage.h"

#define PRICE 10000u

/* Rows of one window each with `steps` steps anywhere. */
static void fill_window(struct stage *s, struct rng *rng, uint32_t steps)
{
	for (uint32_t id = 0; id < watchlist_count(s->w); id++) {
		struct calls_seen seen = stage_seen_of(1000000, 100000);
		struct histogram histogram = HISTOGRAM_EMPTY;

		for (uint32_t i = 0; i < steps; i++)
			assert_int_equal(histogram_add(&histogram,
						       (uint32_t)rng_below(rng, BUCKET_COUNT), 700),
					 0);
		assert_int_equal(watchlist_seen(s->w, id, &seen, &histogram, NULL), 0);
		histogram_free(&histogram);
	}
	stage_turn(s);
}

static uint64_t bytes_kept(const struct stage *s)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->kept_count; i++) {
		struct calls_row row = watchlist_calls_row(&s->kept[i]);

		bytes += watchlist_row_bytes(&row);
	}
	for (uint32_t id = 0; id < watchlist_count(s->w); id++)
		bytes += watchlist_watched_bytes(watchlist_row(s->w, id));
	return bytes;
}

static void rows_never_take_more_bytes_than_their_room(void **state)
{
	static const struct {
		uint64_t room_bytes;
		uint32_t rows, steps, windows;
	} cases[] = {
		{ 200000, 12, 5, 300 }, { 200000, 12, 200, 100 }, { 30000, 12, 1504, 40 },
		{ 6000, 12, 1504, 40 }, { 30000, 2, 30, 600 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct watchlist_settings settings = stage_settings(PRICE);
		struct watch_row label = { 0 };
		struct rng rng;
		struct stage s;

		rng_seed(&rng, 4);
		settings.room_bytes = cases[i].room_bytes;
		stage_open_with(&s, cases[i].rows, &settings);
		for (uint32_t window = 0; window < cases[i].windows; window++) {
			fill_window(&s, &rng, cases[i].steps);
			stage_save(&s);
			assert_true(bytes_kept(&s) <= cases[i].room_bytes);
		}
		watchlist_label(s.w, &label);
		print_message("%u rows in %llu of %llu bytes, %llu windows in a row, coarse %u\n",
			      s.kept_count, (unsigned long long)bytes_kept(&s),
			      (unsigned long long)cases[i].room_bytes,
			      (unsigned long long)label.windows_in_row, s.kept[0].histogram.coarse);
		for (uint32_t id = 0; id < cases[i].rows; id++) {
			struct calls_row all = stage_pooled(&s, id);

			assert_int_equal(all.calls, cases[i].windows * 1000000);
			assert_int_equal(all.histogram.weight,
					 (uint64_t)cases[i].windows * cases[i].steps * 700);
			calls_row_free(&all);
		}
		stage_close(&s);
	}
}

static void while_there_is_room_histograms_stay_fine_and_windows_apart(void **state)
{
	struct watch_row label = { 0 };
	struct rng rng;
	struct stage s;

	(void)state;
	rng_seed(&rng, 4);
	stage_open(&s, 12, PRICE); /* a megabyte: 12 functions of 40 steps, an hour */
	for (uint32_t window = 0; window < 180; window++)
		fill_window(&s, &rng, 40);
	stage_save(&s);
	watchlist_label(s.w, &label);
	assert_int_equal(label.windows_in_row, 1);
	for (uint32_t i = 0; i < s.kept_count; i++)
		assert_int_equal(s.kept[i].histogram.coarse, 0);
	stage_close(&s);
}

static void neighbours_merge_before_histograms_lose_anything(void **state)
{
	struct watchlist_settings settings = stage_settings(PRICE);
	struct watched_row late = stage_row("late");
	uint32_t id;
	struct watch_row label = { 0 };
	struct rng rng;
	struct stage s;

	(void)state;
	rng_seed(&rng, 4);
	settings.room_bytes = 100000;
	stage_open_with(&s, 12, &settings);
	for (uint32_t window = 0; window < 64; window++)
		fill_window(&s, &rng, 10);
	stage_save(&s);
	watchlist_label(s.w, &label);
	assert_true(label.windows_in_row > 1);
	assert_true(s.kept_count / 12 >= 9);
	assert_int_equal(s.kept[0].histogram.coarse, 0);
	/* A row that comes now has rows as long as the others'. */
	assert_int_equal(watchlist_add(s.w, &late, &id), 0);
	stage_turn_of(&s, id, 10);
	stage_save(&s);
	watchlist_label(s.w, &label);
	assert_non_null(stage_kept(&s, id, (uint32_t)(64 / label.windows_in_row)));
	stage_close(&s);
}

static void a_row_that_has_no_room_is_refused(void **state)
{
	static char long_name[STR_MAX_BYTES + 10];
	struct watchlist_settings settings = stage_settings(PRICE);
	struct watched_row row = stage_row("f");
	struct stage s;
	uint32_t id = 77;

	(void)state;
	memset(long_name, 'x', sizeof(long_name));
	settings.room_bytes = 15000;
	stage_open_with(&s, 12, &settings);
	row.name = (struct str){ long_name, sizeof(long_name) };
	assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	assert_int_equal(watchlist_row(s.w, id)->name.len, STR_MAX_BYTES); /* cut there */
	id = 77;
	assert_int_equal(watchlist_add(s.w, &row, &id), -ENOSPC);
	assert_int_equal(id, 77);
	assert_int_equal(watchlist_count(s.w), 13);
	assert_int_equal(watchlist_set_why_not(s.w, 3, (struct str)STR_LITERAL("gone")), 0);
	assert_int_equal(watchlist_set_why_not(s.w, 4, row.name), -ENOSPC);
	assert_int_equal(watchlist_row(s.w, 4)->why_not.len, 0);
	stage_close(&s);

	settings.room_bytes = UINT64_C(1) << 30;
	stage_open_with(&s, 0, &settings);
	row = stage_row("f");
	row.kind = 4;
	assert_int_equal(watchlist_add(s.w, &row, &id), -EINVAL);
	row = stage_row("f");
	row.offset = UINT64_C(1) << 63;
	assert_int_equal(watchlist_add(s.w, &row, &id), -EINVAL);
	row = stage_row("f");
	for (uint32_t i = 0; i < WATCHLIST_MOST; i++)
		assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	assert_int_equal(watchlist_add(s.w, &row, &id), -ENOSPC);
	stage_close(&s);
}

static void a_row_has_its_own_copies_and_stays_where_it_is(void **state)
{
	char text[] = "name|symbol|module|pattern|mode|first";
	struct watched_row row = { .name = { text, 4 },
				   .symbol = { text + 5, 6 },
				   .module = { text + 12, 6 },
				   .pattern = { text + 19, 7 },
				   .mode = { text + 27, 4 },
				   .first = { text + 32, 5 } };
	const struct watched_row *first;
	struct stage s;
	uint32_t id;

	(void)state;
	stage_open(&s, 0, PRICE);
	assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	first = watchlist_row(s.w, id);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(watchlist_add(s.w, &row, &id), 0);
	memset(text, '?', sizeof(text));
	assert_ptr_equal(first, watchlist_row(s.w, 0));
	assert_memory_equal(first->name.bytes, "name", 4);
	assert_memory_equal(first->symbol.bytes, "symbol", 6);
	assert_memory_equal(first->module.bytes, "module", 6);
	assert_memory_equal(first->pattern.bytes, "pattern", 7);
	assert_memory_equal(first->mode.bytes, "mode", 4);
	assert_memory_equal(first->first.bytes, "first", 5);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_never_take_more_bytes_than_their_room),
		cmocka_unit_test(while_there_is_room_histograms_stay_fine_and_windows_apart),
		cmocka_unit_test(neighbours_merge_before_histograms_lose_anything),
		cmocka_unit_test(a_row_that_has_no_room_is_refused),
		cmocka_unit_test(a_row_has_its_own_copies_and_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
