/* watchlist_room.c - bytes of a watch are bounded: neighbours merge, and where one window row of each is still too much,
 * neighbouring steps of histograms do. */
#include <errno.h>

#include "core/watchlist_parts.h"

#define AXIS_LEAST   18u /* columns below which histograms become coarse before neighbours merge on */
#define COARSE_FIRST 2u	  /* bits they may lose for that: 12 steps an octave */
#define LEAST_BYTES  226u /* a window row with the largest numbers and the coarsest histogram */

bool watchlist_has_room(const struct watchlist *w, uint64_t bytes, uint32_t rows)
{
	uint64_t least = w->fixed_bytes + (uint64_t)(w->count + rows) * LEAST_BYTES;

	return least <= w->settings.room_bytes && bytes <= w->settings.room_bytes - least;
}

void watchlist_count_bytes(struct watchlist *w, struct watched *watched, uint32_t at,
			   uint64_t before)
{
	uint64_t now = watchlist_row_bytes(&watched->calls.rows[at]);

	watched->window_bytes += now - before;
	w->window_bytes += now - before;
	if (at < watched->clean)
		watched->clean = at;
}

static void count_all_bytes(struct watchlist *w, struct watched *watched)
{
	w->window_bytes -= watched->window_bytes;
	watched->window_bytes = 0;
	for (uint32_t i = 0; i < watched->calls.count; i++)
		watchlist_count_bytes(w, watched, i, 0);
	watched->clean = 0;
}

/* Merges the rows of those that are behind. */
static int catch_up(struct watchlist *w)
{
	for (uint32_t i = 0; i < w->count && w->is_behind; i++) {
		struct watched *watched = w->rows[i];
		struct calls *calls = &watched->calls;
		int status = 0;

		if (calls->rows == NULL || calls->windows_in_row == w->windows_in_row)
			continue;
		while (status == 0 && calls->windows_in_row < w->windows_in_row)
			status = calls_halve(calls);
		count_all_bytes(w, watched);
		if (status < 0)
			return status;
	}
	w->is_behind = false;
	return 0;
}

static int halve(struct watchlist *w)
{
	w->windows_in_row *= 2;
	w->is_merged = w->is_behind = true;
	return catch_up(w);
}

static void coarsen(struct watchlist *w)
{
	w->coarse++;
	for (uint32_t i = 0; i < w->count; i++) {
		struct watched *watched = w->rows[i];

		for (uint32_t row = 0; row < watched->calls.count; row++)
			histogram_coarsen(&watched->calls.rows[row].histogram, w->coarse);
		count_all_bytes(w, watched);
	}
}

static uint64_t axis(const struct watchlist *w)
{
	return w->windows / w->windows_in_row + 1;
}

/* One step towards fewer bytes. -ENOSPC: there is none. */
static int shrink(struct watchlist *w)
{
	if (axis(w) > AXIS_LEAST)
		return halve(w);
	if (w->coarse >= COARSE_FIRST && axis(w) > 1)
		return halve(w);
	if (w->coarse == HISTOGRAM_MOST_COARSE)
		return -ENOSPC;
	coarsen(w);
	return 0;
}

void watchlist_make_room(struct watchlist *w)
{
	int status = catch_up(w);

	while (status == 0 && axis(w) > CALLS_MOST_ROWS)
		status = halve(w);
	while (status == 0 && w->fixed_bytes + w->window_bytes > w->settings.room_bytes)
		status = shrink(w);
}
