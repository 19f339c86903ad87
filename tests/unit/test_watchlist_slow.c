/* test_watchlist_slow.c - slow frames on their way to the store: each kept one has an id, its own for as long as it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/rng.h"
#include "watchlist_stage.h"

#define MS   NS_PER_MS
#define SLOW (50 * MS)

/* What stands in the store, by id. */
struct kept {
	struct slow_row rows[FRAMES_MOST_KEPT];
	uint64_t parts_ns[FRAMES_MOST_KEPT];
	uint32_t count;
};

static void open_slow(struct stage *s, uint64_t room_bytes)
{
	struct watchlist_settings settings = stage_settings(10000);

	settings.slow_ns = SLOW;
	settings.room_bytes = room_bytes;
	stage_open_with(s, 10, &settings);
}

/* A frame of which function `number` % 10 took most. */
static struct frames_frame frame_of(uint64_t number, uint64_t duration_ns)
{
	return (struct frames_frame){
		.start_ns = number * 100 * MS,
		.duration_ns = duration_ns,
		.parts = { { duration_ns / 2, (uint32_t)(number % 10) }, { duration_ns / 4, 3 } },
		.part_count = 2,
		.rest_ns = 5,
		.other_ns = duration_ns - duration_ns / 2 - duration_ns / 4 - 5,
		.is_scaled = number % 3 == 0
	};
}

static void slow(struct stage *s, uint64_t number, uint64_t duration_ns)
{
	struct frames_frame frame = frame_of(number, duration_ns);

	assert_int_equal(watchlist_slow(s->w, &frame, 41, number), 0);
}

/* Saves; a row that is put takes its id over, with its parts. */
static uint32_t save(struct stage *s, struct kept *kept)
{
	stage_save(s);
	assert_int_equal(s->changes.gone_slow_count, 0);
	for (uint32_t i = 0; i < s->changes.slow_count; i++) {
		const struct slow_row *row = &s->changes.slow[i];

		assert_true(row->id < FRAMES_MOST_KEPT);
		if (row->id >= kept->count)
			kept->count = row->id + 1;
		kept->rows[row->id] = *row;
		kept->parts_ns[row->id] = 0;
	}
	for (uint32_t i = 0; i < s->changes.slow_part_count; i++)
		kept->parts_ns[s->changes.slow_parts[i].slow] += s->changes.slow_parts[i].own_ns;
	return s->changes.slow_count;
}

/* The store has what frames.h would keep: the ten longest, no frame twice, each whole. */
static void assert_kept(const struct kept *kept, const uint64_t *duration_ns, uint64_t frames)
{
	uint32_t worst = 0;
	uint64_t least_ns = UINT64_MAX;

	for (uint32_t i = 0; i < kept->count; i++) {
		const struct slow_row *row = &kept->rows[i];

		assert_true(row->number < frames);
		assert_int_equal(row->duration_ns, duration_ns[row->number]);
		assert_int_equal(row->start_ns, row->number * 100 * MS);
		assert_int_equal(kept->parts_ns[i] + row->rest_ns + row->other_ns,
				 row->duration_ns);
		assert_int_equal(row->tid, 41);
		assert_int_equal(row->is_scaled, row->number % 3 == 0);
		worst += row->is_worst;
		if (row->is_worst && row->duration_ns < least_ns)
			least_ns = row->duration_ns;
		for (uint32_t j = 0; j < i; j++)
			assert_true(kept->rows[j].number != row->number);
	}
	assert_int_equal(worst, frames < 10 ? frames : 10);
	for (uint32_t i = 0; i < kept->count; i++)
		assert_true(kept->rows[i].is_worst || kept->rows[i].duration_ns <= least_ns);
}

static void a_kept_frame_keeps_its_id_and_another_takes_over_that_of_one_that_went(void **state)
{
	enum { FRAMES = 3000, SAVES = 60 };
	static uint64_t duration_ns[FRAMES];
	static struct kept kept, before;
	struct watch_row label = { 0 };
	struct rng rng;
	struct stage s;
	uint64_t frames = 0, put = 0;

	(void)state;
	rng_seed(&rng, 9);
	kept.count = 0;
	open_slow(&s, UINT64_C(1) << 30);
	for (int i = 0; i < SAVES; i++) {
		uint32_t stayed = 0, changed;

		for (int j = 0; j < FRAMES / SAVES; j++, frames++) {
			duration_ns[frames] = SLOW + rng_below(&rng, 1000 * MS);
			slow(&s, frames, duration_ns[frames]);
		}
		before = kept;
		changed = save(&s, &kept);
		put += changed;
		for (uint32_t id = 0; id < before.count; id++)
			stayed += before.rows[id].number == kept.rows[id].number &&
				  before.rows[id].is_worst == kept.rows[id].is_worst;
		/* Nothing goes out but what is not there yet. */
		assert_int_equal(changed, kept.count - stayed);
		assert_kept(&kept, duration_ns, frames);
	}
	assert_int_equal(kept.count, FRAMES_MOST_KEPT);
	assert_true(put < 2500);
	assert_int_equal(save(&s, &kept), 0);
	watchlist_label(s.w, &label);
	assert_int_equal(label.slow, FRAMES);
	assert_int_equal(label.scaled, FRAMES / 3);
	assert_int_equal(label.slow_ns, SLOW);
	stage_close(&s);
}

static void where_room_is_short_fewer_are_kept(void **state)
{
	static uint64_t duration_ns[2000];
	static struct kept kept;
	struct stage s;

	(void)state;
	kept.count = 0;
	open_slow(&s, 100000);
	for (uint64_t i = 0; i < 2000; i++) {
		duration_ns[i] = SLOW + i % 97 * MS + i;
		slow(&s, i, duration_ns[i]);
	}
	(void)save(&s, &kept);
	assert_int_equal(kept.count, 100000 / 4 / watchlist_slow_bytes());
	assert_true(kept.count > 80);
	assert_kept(&kept, duration_ns, 2000);
	stage_close(&s);
}

static void a_frame_that_is_not_slow_is_passed_over(void **state)
{
	static struct kept kept;
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	kept.count = 0;
	open_slow(&s, ROOM_BYTES);
	slow(&s, 1, SLOW - 1);
	slow(&s, 2, SLOW);
	assert_int_equal(save(&s, &kept), 1);
	watchlist_label(s.w, &label);
	assert_int_equal(label.slow, 1);
	stage_close(&s);

	stage_open(&s, 10, 10000); /* none is */
	slow(&s, 1, UINT64_C(1) << 40);
	assert_int_equal(save(&s, &kept), 0);
	stage_close(&s);
}

static void frames_that_cannot_be_are_refused_and_not_counted(void **state)
{
	struct frames_frame bad[8];
	struct watch_row label = { 0 };
	struct stage s;

	(void)state;
	open_slow(&s, ROOM_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = frame_of(7, 60 * MS);
	bad[0].other_ns++;		 /* more than the frame */
	bad[1].parts[0].ns = UINT64_MAX; /* beyond 64 bits together */
	bad[2].parts[0].ns = 10 * MS;	 /* not the largest first */
	bad[2].parts[1].ns = 35 * MS;
	bad[3].parts[1].function = 10; /* there are ten */
	bad[4].part_count = FRAMES_MOST_PARTS + 1;
	bad[5].duration_ns = UINT64_MAX;
	bad[6].start_ns = UINT64_MAX;
	bad[7].other_ns = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(watchlist_slow(s.w, &bad[i], 41, 7), -EINVAL);
	bad[0].other_ns--;
	assert_int_equal(watchlist_slow(s.w, &bad[0], 41, UINT64_MAX), -EINVAL);
	watchlist_label(s.w, &label);
	assert_int_equal(label.slow, 0);
	assert_int_equal(label.lost_slow, ARRAY_LEN(bad) + 1);
	assert_int_equal(watchlist_slow(s.w, &bad[0], 41, 7), 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_kept_frame_keeps_its_id_and_another_takes_over_that_of_one_that_went),
		cmocka_unit_test(where_room_is_short_fewer_are_kept),
		cmocka_unit_test(a_frame_that_is_not_slow_is_passed_over),
		cmocka_unit_test(frames_that_cannot_be_are_refused_and_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
