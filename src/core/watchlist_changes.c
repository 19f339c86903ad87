/* watchlist_changes.c - what of a watch the store does not have yet. */
#include <errno.h>

#include "core/watchlist_parts.h"

static int put_watched(const struct watchlist *w, struct changes *out)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct watched_row *row;

		if (!w->rows[i]->is_dirty)
			continue;
		row = changes_watched(out);
		if (row == NULL)
			return -ENOMEM;
		*row = w->rows[i]->row;
	}
	return 0;
}

static int put_windows(const struct watched *watched, uint32_t from, struct changes *out)
{
	for (uint32_t i = from; i < watched->calls.count; i++) {
		struct window_row *row = changes_window(out);

		if (row == NULL)
			return -ENOMEM;
		*row = watchlist_window_row(watched->row.id, &watched->calls.rows[i]);
	}
	return 0;
}

static bool is_saved(const struct slow_saved *saved, const struct frames_frame *frame,
		     bool is_worst)
{
	return saved->is_there && saved->tid == frame->tid && saved->number == frame->number &&
	       saved->start_ns == frame->start_ns && saved->is_worst == is_worst;
}

static int put_slow(const struct frames_frame *frame, bool is_worst, struct changes *out)
{
	struct slow_row *row = changes_slow(out);

	if (row == NULL)
		return -ENOMEM;
	*row = (struct slow_row){ .id = frame->place,
				  .tid = frame->tid,
				  .number = frame->number,
				  .start_ns = frame->start_ns,
				  .duration_ns = frame->duration_ns,
				  .rest_ns = frame->rest_ns,
				  .other_ns = frame->other_ns,
				  .is_scaled = frame->is_scaled,
				  .is_worst = is_worst };
	for (uint32_t i = 0; i < frame->part_count; i++) {
		struct slow_part_row *part = changes_slow_part(out);

		if (part == NULL)
			return -ENOMEM;
		*part = (struct slow_part_row){ frame->place, i, frame->parts[i].function,
						frame->parts[i].ns };
	}
	return 0;
}

static int put_all_slow(const struct watchlist *w, struct changes *out)
{
	const struct frames_frame *frame;

	for (uint32_t i = 0; (frame = frames_kept(&w->frames, i)) != NULL; i++) {
		bool is_worst = i < w->frames.worst_count;
		int status = 0;

		if (!is_saved(&w->slow_saved[frame->place], frame, is_worst))
			status = put_slow(frame, is_worst, out);
		if (status < 0)
			return status;
	}
	return 0;
}

int watchlist_changes(const struct watchlist *w, struct changes *out)
{
	struct changes before = *out;
	int status = w->is_behind ? -ENOMEM : put_watched(w, out);

	for (uint32_t i = 0; i < w->count && status == 0; i++) {
		const struct watched *watched = w->rows[i];

		status = put_windows(watched, w->is_merged ? 0 : watched->clean, out);
	}
	if (status == 0 && w->settings.slow_ns > 0)
		status = put_all_slow(w, out);
	if (status < 0)
		changes_rewind(out, &before);
	else
		out->windows_merged |= w->is_merged;
	return status;
}

void watchlist_saved(struct watchlist *w)
{
	const struct frames_frame *frame;

	for (uint32_t i = 0; i < w->count; i++) {
		w->rows[i]->is_dirty = false;
		w->rows[i]->clean = w->rows[i]->calls.count;
	}
	for (uint32_t i = 0; (frame = frames_kept(&w->frames, i)) != NULL; i++)
		w->slow_saved[frame->place] =
			(struct slow_saved){ .number = frame->number,
					     .start_ns = frame->start_ns,
					     .tid = frame->tid,
					     .is_there = true,
					     .is_worst = i < w->frames.worst_count };
	w->is_merged = false;
}
