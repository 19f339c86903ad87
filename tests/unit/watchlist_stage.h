/* watchlist_stage.h - a watchlist with made functions (made_calls.h), and a store in memory: what watchlist_changes() gives is
 * put into it as the store does, so that what stands there is what a reader would see. */
#ifndef TARE_TESTS_WATCHLIST_STAGE_H
#define TARE_TESTS_WATCHLIST_STAGE_H

#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/watchlist.h"
#include "made_calls.h"

#define STAGE_MOST 12u
#define ROOM_BYTES (UINT64_C(1) << 20)

struct stage {
	struct watchlist *w;
	struct made made[STAGE_MOST];
	uint32_t count, most;
	struct watchlist_turned turned; /* of the last window */
	/* the store: window rows by (watched, at) */
	struct window_row *kept;
	uint32_t kept_count;
	struct changes changes; /* of the last save */
};

static inline uint64_t stage_five_ms(uint64_t place, void *owner)
{
	(void)place;
	(void)owner;
	return 5 * NS_PER_MS;
}

/* Pairs of 50 ns with a look-up of 100 ns, untimed nearly 0: the numbers of the table. */
static inline struct watched_row stage_row(const char *name)
{
	return (struct watched_row){ .kind = WATCHED_SCOPE,
				     .name = { name, (uint32_t)strlen(name) },
				     .untimed_ps = 1,
				     .extra_ps = 150000 };
}

static inline struct watchlist_settings stage_settings(uint64_t price_ppm)
{
	return (struct watchlist_settings){ .limits = { price_ppm, PACE_GIVEN, PACE_MOST },
					    .window_ns = WINDOW_NS,
					    .room_bytes = ROOM_BYTES,
					    .seed = 1,
					    .may_slice = true };
}

static inline void stage_open_with(struct stage *s, uint32_t count,
				   const struct watchlist_settings *settings)
{
	*s = (struct stage){ .count = count, .most = settings->limits.most };
	s->changes = CHANGES_EMPTY;
	assert_int_equal(watchlist_open(settings, &s->w, NULL), 0);
	for (uint32_t i = 0; i < count; i++) {
		struct watched_row row = stage_row("f");
		uint32_t id;

		assert_int_equal(watchlist_add(s->w, &row, &id), 0);
		assert_int_equal(id, i);
		s->made[i].time = stage_five_ms;
		s->made[i].random = i + 1;
	}
}

static inline void stage_open(struct stage *s, uint32_t count, uint64_t price_ppm)
{
	const struct watchlist_settings settings = stage_settings(price_ppm);

	stage_open_with(s, count, &settings);
}

static inline void stage_forget(struct stage *s)
{
	for (uint32_t i = 0; i < s->kept_count; i++)
		histogram_free(&s->kept[i].histogram);
	s->kept_count = 0;
}

static inline void stage_close(struct stage *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		histogram_free(&s->made[i].histogram);
	stage_forget(s);
	free(s->kept);
	changes_free(&s->changes);
	watchlist_close(s->w);
}

/* A window of so many calls each; returns what all cost, in millionths of one CPU. */
static inline double stage_window(struct stage *s, const uint64_t *calls)
{
	for (uint32_t i = 0; i < s->count; i++) {
		made_window(&s->made[i], watchlist_pace(s->w, i), s->most, calls[i]);
		assert_int_equal(
			watchlist_seen(s->w, i, &s->made[i].seen, &s->made[i].histogram, NULL), 0);
	}
	assert_int_equal(watchlist_turn(s->w, WINDOW_NS, &s->turned), 0);
	return (double)s->turned.charged_ps / ((double)WINDOW_NS * PS_PER_NS) * PPM;
}

/* A window of `calls` calls of which the first and `others` more were timed, at interval 8. */
static inline struct calls_seen stage_seen_of(uint64_t calls, uint64_t others)
{
	return (struct calls_seen){ .calls = calls,
				    .span_ns = WINDOW_NS,
				    .covered_ns = WINDOW_NS,
				    .firsts = calls > 0,
				    .first_ns = calls > 0 ? 700 : 0,
				    .others = others,
				    .weight = others * 8,
				    .weight_squared = others * 64,
				    .weighted_ns = others * 8 * 500,
				    .max_ns = calls > 0 ? 900 : 0,
				    .interval = 8 };
}

static inline int stage_see(struct stage *s, uint32_t id, const struct calls_seen *seen)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	int status;

	assert_int_equal(histogram_add(&histogram, bucket_of(500), seen->firsts + seen->weight), 0);
	status = watchlist_seen(s->w, id, seen, &histogram, NULL);
	histogram_free(&histogram);
	return status;
}

static inline void stage_turn(struct stage *s)
{
	assert_int_equal(watchlist_turn(s->w, WINDOW_NS, &s->turned), 0);
}

static inline void stage_turn_of(struct stage *s, uint32_t id, uint64_t calls)
{
	struct calls_seen seen = stage_seen_of(calls, calls / 8);

	assert_int_equal(stage_see(s, id, &seen), 0);
	stage_turn(s);
}

static inline uint64_t stage_timed(const struct stage *s, uint32_t id)
{
	return s->made[id].seen.firsts + s->made[id].seen.others;
}

/* Puts one row where it belongs, as INSERT OR REPLACE does. */
static inline void stage_put(struct stage *s, const struct window_row *row)
{
	struct window_row *place = NULL;

	for (uint32_t i = 0; i < s->kept_count; i++)
		if (s->kept[i].watched == row->watched && s->kept[i].at == row->at)
			place = &s->kept[i];
	if (place == NULL) {
		s->kept = reallocarray(s->kept, s->kept_count + 1u, sizeof(*s->kept));
		assert_non_null(s->kept);
		place = &s->kept[s->kept_count++];
		place->histogram = HISTOGRAM_EMPTY;
	}

	struct histogram histogram = place->histogram;

	*place = *row;
	place->histogram = HISTOGRAM_EMPTY;
	histogram_free(&histogram);
	assert_int_equal(histogram_merge(&place->histogram, &row->histogram), 0);
}

/* Saves what changed. */
static inline void stage_save(struct stage *s)
{
	changes_reset(&s->changes);
	assert_int_equal(watchlist_changes(s->w, &s->changes), 0);
	if (s->changes.windows_merged)
		stage_forget(s);
	for (uint32_t i = 0; i < s->changes.window_count; i++)
		stage_put(s, &s->changes.windows[i]);
	watchlist_saved(s->w);
}

/* All rows of one function that stand in the store, pooled: free it. */
static inline struct calls_row stage_pooled(const struct stage *s, uint32_t id)
{
	struct calls_row all = { 0 };

	for (uint32_t i = 0; i < s->kept_count; i++) {
		struct calls_row row = watchlist_calls_row(&s->kept[i]);

		assert_true(calls_row_is_sound(&row));
		if (s->kept[i].watched == id)
			assert_int_equal(calls_pool(&all, &row), 0);
	}
	return all;
}

/* What stands in the store of one window of one function; NULL: no row. */
static inline const struct window_row *stage_kept(const struct stage *s, uint32_t id, uint32_t at)
{
	for (uint32_t i = 0; i < s->kept_count; i++)
		if (s->kept[i].watched == id && s->kept[i].at == at)
			return &s->kept[i];
	return NULL;
}

#endif
