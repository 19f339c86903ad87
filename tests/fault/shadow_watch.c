/* shadow_watch.c - random changes of a watch, and what it must then look like. */
#include "fault/shadow_watch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/frames.h"

#define WINDOWS 24u /* rows of each */
#define SLOW	40u
#define STEPS	12u

struct slow_whole {
	struct slow_row row;
	struct slow_part_row parts[FRAMES_MOST_PARTS];
	uint32_t part_count;
};

struct mark {
	bool is_there, is_saved, is_dirty;
};

struct shadow_watch {
	uint32_t rows, name_bytes, number_bits;
	struct watch_row label;
	struct watched_row *watched;
	struct window_row *windows; /* by row, then place; histograms owned */
	struct mark *watched_marks, *window_marks;
	struct slow_whole slow[SLOW];
	struct mark slow_marks[SLOW];
	char *heap;
	uint32_t axis; /* places in use */
	bool is_merged;
};

struct shadow_watch *shadow_watch_open(uint32_t rows, uint32_t name_bytes, uint32_t number_bits)
{
	struct shadow_watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->rows = rows;
	w->name_bytes = name_bytes;
	w->number_bits = number_bits;
	w->label.windows_in_row = 1;
	w->label.refused = NO_ID;
	w->watched = calloc(rows, sizeof(*w->watched));
	w->watched_marks = calloc(rows, sizeof(*w->watched_marks));
	w->windows = calloc((size_t)rows * WINDOWS, sizeof(*w->windows));
	w->window_marks = calloc((size_t)rows * WINDOWS, sizeof(*w->window_marks));
	w->heap = calloc(rows, (size_t)name_bytes * 2);
	if (w->watched == NULL || w->watched_marks == NULL || w->windows == NULL ||
	    w->window_marks == NULL || w->heap == NULL) {
		shadow_watch_close(w);
		return NULL;
	}
	return w;
}

void shadow_watch_close(struct shadow_watch *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; w->windows != NULL && i < w->rows * WINDOWS; i++)
		histogram_free(&w->windows[i].histogram);
	free(w->watched);
	free(w->watched_marks);
	free(w->windows);
	free(w->window_marks);
	free(w->heap);
	free(w);
}

static uint64_t number(const struct shadow_watch *w, struct rng *rng)
{
	return rng_below(rng, UINT64_C(1) << (1 + rng_below(rng, w->number_bits)));
}

static struct str name_at(const struct shadow_watch *w, struct rng *rng, char *place)
{
	uint32_t len = (uint32_t)rng_below(rng, w->name_bytes);

	for (uint32_t i = 0; i < len; i++)
		place[i] = (char)(rng_below(rng, 8) == 0 ? rng_below(rng, 256)
							 : 'a' + rng_below(rng, 26));
	return (struct str){ place, len };
}

/* A row comes, or the numbers of one that is there change. Names stay. */
static void put_watched(struct shadow_watch *w, struct rng *rng, uint32_t id)
{
	struct watched_row *row = &w->watched[id];
	char *place = w->heap + (size_t)id * w->name_bytes * 2;

	if (!w->watched_marks[id].is_there) {
		*row = (struct watched_row){ .id = id,
					     .kind = (uint32_t)rng_below(rng, 4),
					     .name = name_at(w, rng, place),
					     .symbol = name_at(w, rng, place + w->name_bytes),
					     .module = STR_LITERAL("libc.so.6"),
					     .mode = STR_LITERAL("session"),
					     .offset = number(w, rng) };
	}
	row->untimed_ps = number(w, rng);
	row->floor_ps = number(w, rng);
	row->charged_ps = number(w, rng);
	row->interval = 1 + (uint32_t)rng_below(rng, 4096);
	row->is_sliced = rng_below(rng, 2) == 0;
	row->abandoned = number(w, rng);
	w->watched_marks[id].is_there = w->watched_marks[id].is_dirty = true;
}

/* What calls of `id` may have been in a window. */
static void put_window(struct shadow_watch *w, struct rng *rng, uint32_t id, uint32_t at)
{
	uint32_t i = id * WINDOWS + at;
	struct window_row *row = &w->windows[i];
	struct histogram histogram = row->histogram;

	histogram_free(&histogram);
	*row = (struct window_row){ .watched = id, .at = at, .span_ns = number(w, rng) };
	row->covered_ns = rng_below(rng, row->span_ns + 1);
	row->never_timed = number(w, rng);
	w->window_marks[i] = (struct mark){ true, w->window_marks[i].is_saved, true };
	if (rng_below(rng, 5) == 0)
		return;
	row->firsts = 1 + number(w, rng);
	row->first_ns = number(w, rng);
	row->first_own_ns = number(w, rng);
	row->others = number(w, rng);
	row->calls = row->firsts + row->others + number(w, rng);
	row->max_ns = number(w, rng);
	row->interval = 1 + (uint32_t)rng_below(rng, 4096);
	row->histogram.coarse = (uint32_t)rng_below(rng, 3);
	for (uint32_t step = 0; step < rng_below(rng, STEPS); step++)
		if (histogram_add(&row->histogram, (uint32_t)rng_below(rng, BUCKET_COUNT),
				  1 + number(w, rng)) < 0)
			abort();
	if (row->histogram.count == 0)
		row->histogram.coarse = 0; /* an empty one has no bytes */
	if (row->others == 0)
		return;
	row->weight = row->others + number(w, rng);
	row->weight_squared = row->weight + number(w, rng);
	row->weighted_ns = number(w, rng);
	row->variance_0 = (double)number(w, rng) / 3;
	row->variance_1_ns = (double)number(w, rng) * 1e9;
	row->variance_2_ns2 = (double)number(w, rng) * 1e18 / 7;
}

static void grow_window(struct shadow_watch *w, struct rng *rng)
{
	uint32_t id = (uint32_t)rng_below(rng, w->rows);

	if (!w->watched_marks[id].is_there)
		return;
	if (w->axis < WINDOWS && rng_below(rng, 3) == 0)
		w->axis++;
	if (w->axis > 0)
		put_window(w, rng, id, w->axis - 1);
	w->label.calls += number(w, rng);
}

/* Neighbours merge: everything that was saved is gone. */
static void merge(struct shadow_watch *w, struct rng *rng)
{
	for (uint32_t i = 0; i < w->rows * WINDOWS; i++) {
		bool stays = w->window_marks[i].is_there && i % WINDOWS < w->axis / 2;

		w->window_marks[i] = (struct mark){ .is_there = false };
		if (stays)
			put_window(w, rng, i / WINDOWS, i % WINDOWS);
	}
	w->axis /= 2;
	if (w->label.windows_in_row < UINT64_C(1) << 50)
		w->label.windows_in_row *= 2;
	w->is_merged = true;
}

static uint32_t pick_watched(const struct shadow_watch *w, struct rng *rng)
{
	uint32_t from = (uint32_t)rng_below(rng, w->rows);

	for (uint32_t i = 0; i < w->rows; i++)
		if (w->watched_marks[(from + i) % w->rows].is_there)
			return (from + i) % w->rows;
	return NO_ID;
}

/* A frame takes over an id, or one goes. */
static void change_slow(struct shadow_watch *w, struct rng *rng)
{
	uint32_t id = (uint32_t)rng_below(rng, SLOW), watched = pick_watched(w, rng);
	struct slow_whole *slow = &w->slow[id];
	uint64_t left_ns = number(w, rng);

	if (w->slow_marks[id].is_there && rng_below(rng, 3) == 0) {
		w->slow_marks[id].is_there = false;
		w->slow_marks[id].is_dirty = true;
		return;
	}
	*slow = (struct slow_whole){ .row = { .id = id,
					      .tid = 1 + (uint32_t)rng_below(rng, 100000),
					      .number = number(w, rng),
					      .start_ns = number(w, rng),
					      .rest_ns = number(w, rng),
					      .other_ns = number(w, rng),
					      .is_scaled = rng_below(rng, 2) == 0,
					      .is_worst = id < FRAMES_WORST } };
	slow->row.duration_ns = slow->row.rest_ns + slow->row.other_ns;
	if (watched != NO_ID)
		slow->part_count = (uint32_t)rng_below(rng, FRAMES_MOST_PARTS + 1);
	for (uint32_t i = 0; i < slow->part_count; i++) {
		slow->parts[i] = (struct slow_part_row){ id, i, watched, left_ns };
		slow->row.duration_ns += left_ns;
		left_ns /= 2;
	}
	w->slow_marks[id].is_there = w->slow_marks[id].is_dirty = true;
}

void shadow_watch_step(struct shadow_watch *w, struct rng *rng)
{
	w->label.timed++;
	w->label.sources = (struct str)STR_LITERAL("probes");
	switch (rng_below(rng, 40)) {
	case 0:
		merge(w, rng);
		break;
	case 1:
	case 2:
	case 3:
		put_watched(w, rng, (uint32_t)rng_below(rng, w->rows));
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		change_slow(w, rng);
		break;
	default:
		grow_window(w, rng);
	}
}

static bool put_slow(const struct slow_whole *slow, struct changes *out)
{
	struct slow_row *row = changes_slow(out);

	if (row == NULL)
		return false;
	*row = slow->row;
	for (uint32_t i = 0; i < slow->part_count; i++) {
		struct slow_part_row *part = changes_slow_part(out);

		if (part == NULL)
			return false;
		*part = slow->parts[i];
	}
	return true;
}

static bool slow_changes(struct shadow_watch *w, struct changes *out)
{
	for (uint32_t i = 0; i < SLOW; i++) {
		const struct mark *mark = &w->slow_marks[i];

		if (mark->is_dirty && mark->is_there && !put_slow(&w->slow[i], out))
			return false;
		if (mark->is_dirty && !mark->is_there && mark->is_saved) {
			uint32_t *id = changes_gone_slow(out);

			if (id == NULL)
				return false;
			*id = i;
		}
	}
	return true;
}

bool shadow_watch_changes(struct shadow_watch *w, struct changes *out)
{
	struct watch_row *label = changes_watch(out);

	if (label == NULL)
		return false;
	*label = w->label;
	for (uint32_t i = 0; i < w->rows; i++) {
		struct watched_row *row =
			w->watched_marks[i].is_dirty ? changes_watched(out) : NULL;

		if (row == NULL && w->watched_marks[i].is_dirty)
			return false;
		if (row != NULL)
			*row = w->watched[i];
	}
	for (uint32_t i = 0; i < w->rows * WINDOWS; i++) {
		bool goes_out = w->window_marks[i].is_there &&
				(w->window_marks[i].is_dirty || w->is_merged);
		struct window_row *row = goes_out ? changes_window(out) : NULL;

		if (row == NULL && goes_out)
			return false;
		if (row != NULL)
			*row = w->windows[i];
	}
	out->windows_merged |= w->is_merged;
	return slow_changes(w, out);
}

static void forget(struct mark *marks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		marks[i].is_saved = marks[i].is_there;
		marks[i].is_dirty = false;
	}
}

void shadow_watch_saved(struct shadow_watch *w)
{
	forget(w->watched_marks, w->rows);
	forget(w->window_marks, w->rows * WINDOWS);
	forget(w->slow_marks, SLOW);
	w->is_merged = false;
}

static bool is_same_str(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool is_same_watched(const struct watched_row *a, const struct watched_row *b)
{
	return a->id == b->id && a->kind == b->kind && is_same_str(a->name, b->name) &&
	       is_same_str(a->symbol, b->symbol) && is_same_str(a->module, b->module) &&
	       is_same_str(a->mode, b->mode) && a->offset == b->offset &&
	       a->untimed_ps == b->untimed_ps && a->floor_ps == b->floor_ps &&
	       a->charged_ps == b->charged_ps && a->interval == b->interval &&
	       a->is_sliced == b->is_sliced && a->abandoned == b->abandoned;
}

static bool is_same_histogram(const struct histogram *a, const struct histogram *b)
{
	if (a->count != b->count || a->weight != b->weight || a->coarse != b->coarse)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->steps[i].at != b->steps[i].at || a->steps[i].weight != b->steps[i].weight)
			return false;
	return true;
}

/* All members from `watched` to `interval`, between which nothing but numbers lies. */
static bool is_same_window(const struct window_row *a, const struct window_row *b)
{
	return memcmp(a, b, offsetof(struct window_row, interval)) == 0 &&
	       a->interval == b->interval && is_same_histogram(&a->histogram, &b->histogram);
}

static bool is_same_slow(const struct slow_row *a, const struct slow_row *b)
{
	return a->id == b->id && a->tid == b->tid && a->number == b->number &&
	       a->start_ns == b->start_ns && a->duration_ns == b->duration_ns &&
	       a->rest_ns == b->rest_ns && a->other_ns == b->other_ns &&
	       a->is_scaled == b->is_scaled && a->is_worst == b->is_worst;
}

static bool is_same_part(const struct slow_part_row *a, const struct slow_part_row *b)
{
	return a->slow == b->slow && a->place == b->place && a->watched == b->watched &&
	       a->own_ns == b->own_ns;
}

static const char *slow_differs(const struct shadow_watch *w, const struct recording *r)
{
	uint32_t at = 0, part = 0;

	for (uint32_t i = 0; i < SLOW; i++) {
		if (!w->slow_marks[i].is_there)
			continue;
		if (at == r->slow_count || !is_same_slow(&w->slow[i].row, &r->slow[at++]))
			return "slow_frame: a row is missing or differs";
		for (uint32_t j = 0; j < w->slow[i].part_count; j++, part++)
			if (part == r->slow_part_count ||
			    !is_same_part(&w->slow[i].parts[j], &r->slow_parts[part]))
				return "slow_part: a row is missing or differs";
	}
	return at == r->slow_count && part == r->slow_part_count ? "" : "slow: a row too many";
}

const char *shadow_watch_differs(const struct shadow_watch *w, const struct recording *r)
{
	uint32_t at = 0;

	if (w->label.timed > 0 &&
	    (r->watch.timed != w->label.timed || r->watch.calls != w->label.calls ||
	     r->watch.windows_in_row != w->label.windows_in_row ||
	     !is_same_str(r->watch.sources, w->label.sources)))
		return "watch: differs";
	for (uint32_t i = 0; i < w->rows; i++)
		if (w->watched_marks[i].is_there &&
		    (at == r->watched_count || !is_same_watched(&w->watched[i], &r->watched[at++])))
			return "watched: a row is missing or differs";
	if (at != r->watched_count)
		return "watched: a row too many";
	at = 0;
	for (uint32_t i = 0; i < w->rows * WINDOWS; i++)
		if (w->window_marks[i].is_there &&
		    (at == r->window_count || !is_same_window(&w->windows[i], &r->windows[at++])))
			return "window: a row is missing or differs";
	if (at != r->window_count)
		return "window: a row too many";
	return slow_differs(w, r);
}
