/* watchlist.c - the rows of a watch: what each is, and its costs. */
#include "core/watchlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/gap.h"
#include "core/scoped.h"
#include "core/watchlist_parts.h"

#define SLOW_SHARE 4u /* slow frames take a quarter of the room at most */
#define SLOW_LEAST 20u

bool watched_is_paced(const struct watched *watched)
{
	return watched->row.why_not.len == 0 && watched->row.kind != WATCHED_FRAME &&
	       watched->row.kind != WATCHED_TASK;
}

uint64_t watchlist_sum(uint64_t sum, uint64_t value)
{
	return value > INT64_MAX - sum ? INT64_MAX : sum + value;
}

static int open_frames(struct watchlist *w)
{
	uint64_t most = w->settings.room_bytes / SLOW_SHARE / watchlist_slow_bytes();
	int status;

	if (w->settings.slow_ns == 0)
		return 0;
	status = frames_open(&w->frames, w->settings.slow_ns, w->settings.seed);
	if (status < 0)
		return status;
	if (most < SLOW_LEAST)
		most = SLOW_LEAST;
	if (most < w->frames.most)
		w->frames.most = (uint32_t)most;
	w->fixed_bytes = w->frames.most * watchlist_slow_bytes();
	w->slow_saved = calloc(w->frames.most, sizeof(*w->slow_saved));
	return w->slow_saved == NULL ? -ENOMEM : 0;
}

int watchlist_open(const struct watchlist_settings *settings, struct watchlist **out,
		   struct err *err)
{
	const struct pace_limits *limits = &settings->limits;
	struct watchlist *w;

	if (settings->window_ns == 0 || limits->given == 0 || limits->most < limits->given ||
	    limits->most > GAP_MAX_INTERVAL)
		return err_set(err, -EINVAL, "cannot time one call in %u to %u", limits->given,
			       limits->most);
	w = calloc(1, sizeof(*w));
	if (w != NULL) {
		w->settings = *settings;
		w->windows_in_row = 1;
		w->refused = NO_ID;
	}
	if (w == NULL || open_frames(w) < 0) {
		watchlist_close(w);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*out = w;
	return 0;
}

static void watched_free(struct watched *watched)
{
	if (watched == NULL)
		return;
	calls_close(&watched->calls);
	free(watched->text);
	free(watched->why_not);
	free(watched);
}

void watchlist_close(struct watchlist *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; i < w->count; i++)
		watched_free(w->rows[i]);
	free(w->rows);
	free(w->paces);
	free(w->seen);
	free(w->ids);
	free(w->slow_saved);
	frames_close(&w->frames);
	free(w);
}

/* Puts a copy of `text` at *place, and moves *place behind it. */
static struct str copy_text(struct str text, char **place)
{
	struct str copy = { *place, text.len < STR_MAX_BYTES ? text.len : STR_MAX_BYTES };

	if (copy.len > 0)
		memcpy(*place, text.bytes, copy.len);
	*place += copy.len;
	return copy;
}

static int copy_texts(struct watched *watched)
{
	struct watched_row *row = &watched->row;
	struct str *const texts[] = { &row->name,    &row->symbol, &row->module,
				      &row->pattern, &row->mode,   &row->first };
	size_t bytes = 1;
	char *place;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		bytes += texts[i]->len;
	watched->text = malloc(bytes);
	watched->why_not = malloc(row->why_not.len + (size_t)1);
	if (watched->text == NULL || watched->why_not == NULL)
		return -ENOMEM;
	place = watched->text;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = copy_text(*texts[i], &place);
	place = watched->why_not;
	row->why_not = copy_text(row->why_not, &place);
	return 0;
}

/* Room in all arrays for one more row. */
static int grow(struct watchlist *w)
{
	uint32_t capacity = w->capacity == 0 ? 16 : w->capacity * 2;
	struct watched **rows;
	struct pace_watch *paces;
	struct pace_seen *seen;
	uint32_t *ids;

	if (w->count < w->capacity)
		return 0;
	/* An array that has grown stays so when the next has no memory. */
	rows = reallocarray(w->rows, capacity, sizeof(*rows));
	w->rows = rows != NULL ? rows : w->rows;
	paces = reallocarray(w->paces, capacity, sizeof(*paces));
	w->paces = paces != NULL ? paces : w->paces;
	seen = reallocarray(w->seen, capacity, sizeof(*seen));
	w->seen = seen != NULL ? seen : w->seen;
	ids = reallocarray(w->ids, capacity, sizeof(*ids));
	w->ids = ids != NULL ? ids : w->ids;
	if (rows == NULL || paces == NULL || seen == NULL || ids == NULL)
		return -ENOMEM;
	w->capacity = capacity;
	return 0;
}

/* A row begins with the given interval and an even part of the price. Before anything was seen all share evenly again. */
static void start_pace(struct watchlist *w, struct watched *fresh)
{
	uint32_t paced = 0;

	for (uint32_t i = 0; i < w->count; i++)
		paced += watched_is_paced(w->rows[i]);
	for (uint32_t i = 0; i < w->count; i++) {
		struct watched *watched = w->rows[i];

		if (watched != fresh && (w->windows > 0 || !watched_is_paced(watched)))
			continue;
		pace_start(&w->settings.limits, w->settings.window_ns, &watched->pace, 1);
		if (watched_is_paced(watched)) {
			watched->pace.share_ps /= paced > 0 ? paced : 1;
		} else {
			watched->pace.interval = 1; /* each is timed */
			watched->pace.share_ps = UINT64_MAX;
		}
		watched->row.interval = watched->row.why_not.len == 0 ? watched->pace.interval : 0;
	}
}

static struct pace_costs costs_of(const struct watched *watched)
{
	const struct watched_row *row = &watched->row;
	const struct pace_costs assumed = { row->assumed_untimed_ps, row->assumed_extra_ps,
					    row->assumed_hook_ps };

	return pace_costs_in_force(&watched->measured, &assumed);
}

/* A row of its own, with copies of all strings. NULL: out of memory. */
static struct watched *watched_make(const struct watched_row *row, uint32_t id)
{
	struct watched *watched = calloc(1, sizeof(*watched));

	if (watched == NULL)
		return NULL;
	watched->row = *row;
	if (copy_texts(watched) < 0) {
		watched_free(watched);
		return NULL;
	}
	watched->row.id = id;
	watched->is_dirty = true;
	watched->measured = (struct pace_costs){ row->untimed_ps, row->extra_ps, row->hook_ps };
	watched->pace.costs = watched->next_costs = costs_of(watched);
	watched->pace.is_fixed = row->kind == WATCHED_SCOPE; /* part of the program */
	return watched;
}

int watchlist_add(struct watchlist *w, const struct watched_row *row, uint32_t *out_id)
{
	struct watched *watched;

	if (row->kind > WATCHED_FRAME || row->offset > INT64_MAX)
		return -EINVAL;
	if (w->count == WATCHLIST_MOST || !watchlist_has_room(w, watchlist_watched_bytes(row), 1))
		return -ENOSPC;
	watched = watched_make(row, w->count);
	if (watched == NULL || grow(w) < 0) {
		watched_free(watched);
		return -ENOMEM;
	}
	w->rows[w->count++] = watched;
	w->fixed_bytes += watchlist_watched_bytes(&watched->row);
	start_pace(w, watched);
	watchlist_make_room(w);
	*out_id = watched->row.id;
	return 0;
}

int watchlist_replace(struct watchlist *w, uint32_t id, const struct watched_row *row)
{
	struct watched *old = w->rows[id], *watched;

	if (old->row.why_not.len == 0 || old->calls.count > 0 || old->calls_ever > 0)
		return -EINVAL;
	if (!watchlist_has_room(w, watchlist_watched_bytes(row), 1))
		return -ENOSPC;
	watched = watched_make(row, id);
	if (watched == NULL)
		return -ENOMEM;
	w->fixed_bytes -= watchlist_watched_bytes(&old->row);
	w->fixed_bytes += watchlist_watched_bytes(&watched->row);
	w->rows[id] = watched;
	watched_free(old);
	start_pace(w, watched);
	watchlist_make_room(w);
	return 0;
}

uint32_t watchlist_count(const struct watchlist *w)
{
	return w->count;
}

const struct watched_row *watchlist_row(const struct watchlist *w, uint32_t id)
{
	return &w->rows[id]->row;
}

const struct pace_watch *watchlist_pace(const struct watchlist *w, uint32_t id)
{
	return &w->rows[id]->pace;
}

/* Takes a newly measured cost, if it was, and the lowest for the row. */
static void take_cost(uint64_t measured_ps, uint64_t *last_ps, uint64_t *lowest_ps)
{
	if (measured_ps == 0)
		return;
	*last_ps = measured_ps;
	if (*lowest_ps == 0 || measured_ps < *lowest_ps)
		*lowest_ps = measured_ps;
}

void watchlist_set_costs(struct watchlist *w, uint32_t id, const struct pace_costs *measured,
			 const struct pace_costs *assumed, uint64_t floor_ps)
{
	struct watched *watched = w->rows[id];
	struct watched_row *row = &watched->row;

	take_cost(measured->untimed_ps, &watched->measured.untimed_ps, &row->untimed_ps);
	take_cost(measured->extra_ps, &watched->measured.extra_ps, &row->extra_ps);
	take_cost(measured->hook_ps, &watched->measured.hook_ps, &row->hook_ps);
	row->assumed_untimed_ps = assumed->untimed_ps;
	row->assumed_extra_ps = assumed->extra_ps;
	row->assumed_hook_ps = assumed->hook_ps;
	row->floor_ps = floor_ps > 0 ? floor_ps : row->floor_ps;
	watched->next_costs = costs_of(watched);
	if (watched->calls_ever == 0)
		watched->pace.costs = watched->next_costs;
	watched->is_dirty = true;
}

int watchlist_set_why_not(struct watchlist *w, uint32_t id, struct str why_not)
{
	struct watched *watched = w->rows[id];
	uint64_t before = watchlist_watched_bytes(&watched->row);
	struct watched_row changed = watched->row;
	char *text = malloc(why_not.len + (size_t)1), *place = text;

	if (text == NULL)
		return -ENOMEM;
	changed.why_not = copy_text(why_not, &place);

	uint64_t now = watchlist_watched_bytes(&changed);

	if (now > before && !watchlist_has_room(w, now - before, 0)) {
		free(text);
		return -ENOSPC;
	}
	free(watched->why_not);
	watched->why_not = text;
	watched->row = changed;
	watched->is_dirty = true;
	w->fixed_bytes += now - before;
	start_pace(w, watched);
	watchlist_make_room(w);
	return 0;
}

void watchlist_label(const struct watchlist *w, struct watch_row *row)
{
	row->window_ns = w->settings.window_ns;
	row->windows = w->windows;
	row->windows_in_row = w->windows_in_row;
	row->interval_given = w->settings.limits.given;
	row->interval_most = w->settings.limits.most;
	row->slow_ns = w->settings.slow_ns;
	row->slow = w->frames.slow;
	row->scaled = w->frames.scaled;
	row->calls = w->calls;
	row->timed = w->timed;
	row->charged_ps = w->charged_ps;
	row->allowed_rate = w->allowed_rate;
	row->refused = w->refused;
	row->lost_calls = w->lost_calls;
	row->lost_slow = w->lost_slow;
	row->torn = w->torn;
	row->frames = 0;
	for (uint32_t i = 0; i < w->count; i++)
		if (w->rows[i]->row.kind == WATCHED_FRAME)
			row->frames = watchlist_sum(row->frames, w->rows[i]->calls_ever);
}
