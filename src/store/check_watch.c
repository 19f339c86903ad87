/* check_watch.c - references, numbers and sums of a watch's rows that came from elsewhere. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/calls.h"
#include "core/frames.h"
#include "core/gap.h"
#include "core/scoped.h"
#include "core/watchlist.h"
#include "store/check.h"

static int bad(struct err *err, const char *column, uint32_t row, const char *what)
{
	return err_set(err, -EBADMSG, "table %s, row %u: %s", column, row, what);
}

/* Adds, unless the sum reaches 2^63. */
static bool add(uint64_t *sum, uint64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

static int check_label(const struct recording *r, bool has_watch, struct err *err)
{
	const struct watch_row *w = &r->watch;
	uint32_t rows = r->watched_count | r->window_count | r->slow_count | r->slow_part_count;

	if (!has_watch)
		return rows == 0 ? 0 : err_set(err, -EBADMSG, "table watch has no row");
	if (w->windows_in_row == 0)
		return bad(err, "watch, column windows_in_row", 0, "out of range");
	if (w->interval_given > GAP_MAX_INTERVAL || w->interval_most > GAP_MAX_INTERVAL)
		return bad(err, "watch, column interval_most", 0, "out of range");
	if (w->refused != NO_ID && recording_watched(r, w->refused) == NULL)
		return bad(err, "watch, column refused", 0, "the watched row does not exist");
	return 0;
}

static int check_watched(const struct recording *r, struct err *err)
{
	uint64_t charged_ps = 0, losses = 0;

	if (r->watched_count > WATCHLIST_MOST)
		return err_set(err, -EBADMSG, "table watched has more rows than a watch");
	for (uint32_t i = 0; i < r->watched_count; i++) {
		const struct watched_row *w = &r->watched[i];

		if (w->kind > WATCHED_FRAME)
			return bad(err, "watched, column kind", w->id, "there is no such kind");
		if (w->interval > GAP_MAX_INTERVAL)
			return bad(err, "watched, column interval", w->id, "out of range");
		if (!add(&charged_ps, w->charged_ps))
			return bad(err, "watched, column charged_ps", w->id,
				   "the sum up to it is out of range");
		if (!add(&losses, w->abandoned) || !add(&losses, w->still_open) ||
		    !add(&losses, w->backwards) || !add(&losses, w->clamped))
			return bad(err, "watched, column abandoned", w->id,
				   "the sums up to it are out of range");
	}
	return 0;
}

/* Adds a window's numbers to the sums of all; false when one is out of range. */
static bool add_window(struct calls_row *sum, const struct window_row *w)
{
	return add(&sum->calls, w->calls) && add(&sum->never_timed, w->never_timed) &&
	       add(&sum->calls, w->never_timed) && add(&sum->span_ns, w->span_ns) &&
	       add(&sum->first_ns, w->first_ns) && add(&sum->first_own_ns, w->first_own_ns) &&
	       add(&sum->weight, w->firsts) && add(&sum->weight, w->weight) &&
	       add(&sum->weight_squared, w->weight_squared) &&
	       add(&sum->weighted_ns, w->weighted_ns) &&
	       add(&sum->weighted_own_ns, w->weighted_own_ns) && add(&sum->probe_ns, w->probe_ns) &&
	       add(&sum->histogram.weight, w->histogram.weight);
}

static int check_windows(const struct recording *r, struct err *err)
{
	struct calls_row sum = { 0 };

	for (uint32_t i = 0; i < r->window_count; i++) {
		const struct window_row *w = &r->windows[i];
		struct calls_row row = watchlist_calls_row(w);

		if (recording_watched(r, w->watched) == NULL)
			return bad(err, "window, column watched", i, "the row does not exist");
		if (w->at >= CALLS_MOST_ROWS)
			return bad(err, "window, column at", i, "out of range");
		if (w->interval > GAP_MAX_INTERVAL)
			return bad(err, "window, column interval", i, "out of range");
		if (!calls_row_is_sound(&row))
			return bad(err, "window, column calls", i,
				   "it and the columns beside it cannot be of the same calls");
		if (!add_window(&sum, w))
			return bad(err, "window, column calls", i,
				   "the sums up to it are out of range");
	}
	return 0;
}

/* The parts of one slow frame begin at `at`. */
static int check_parts(const struct recording *r, const struct slow_row *slow, uint32_t *at,
		       struct err *err)
{
	uint64_t sum_ns = 0, before_ns = UINT64_MAX;
	bool is_good = add(&sum_ns, slow->rest_ns) && add(&sum_ns, slow->other_ns);

	for (uint32_t place = 0; *at < r->slow_part_count && is_good; place++, (*at)++) {
		const struct slow_part_row *part = &r->slow_parts[*at];

		if (part->slow != slow->id)
			break;
		if (part->place != place || place >= FRAMES_MOST_PARTS)
			return bad(err, "slow_part, column place", *at, "out of order");
		if (recording_watched(r, part->watched) == NULL)
			return bad(err, "slow_part, column watched", *at, "the row does not exist");
		if (part->own_ns > before_ns)
			return bad(err, "slow_part, column own_ns", *at,
				   "more than that of the part before");
		before_ns = part->own_ns;
		is_good = add(&sum_ns, part->own_ns);
	}
	if (!is_good || sum_ns != slow->duration_ns)
		return bad(err, "slow_frame, column duration_ns", slow->id,
			   "its parts do not add up to it");
	return 0;
}

static int check_slow(const struct recording *r, struct err *err)
{
	uint64_t sum_ns = 0;
	uint32_t at = 0, worst = 0;

	if (r->slow_count > FRAMES_MOST_KEPT)
		return err_set(err, -EBADMSG, "table slow_frame has more rows than a watch keeps");
	for (uint32_t i = 0; i < r->slow_count; i++) {
		const struct slow_row *slow = &r->slow[i];
		int rc;

		/* Both tables are sorted: a part before this frame's belongs to none. */
		if (at < r->slow_part_count && r->slow_parts[at].slow < slow->id)
			break;
		rc = check_parts(r, slow, &at, err);
		if (rc != 0)
			return rc;
		worst += slow->is_worst;
		if (worst > FRAMES_WORST)
			return bad(err, "slow_frame, column is_worst", slow->id, "more than ten");
		if (!add(&sum_ns, slow->duration_ns) ||
		    slow->start_ns > INT64_MAX - slow->duration_ns)
			return bad(err, "slow_frame, column duration_ns", slow->id,
				   "the times up to it are out of range");
	}
	if (at < r->slow_part_count)
		return bad(err, "slow_part, column slow", at, "the slow frame does not exist");
	return 0;
}

int check_watch(const struct recording *r, bool has_watch, struct err *err)
{
	int rc = check_label(r, has_watch, err);

	if (rc == 0)
		rc = check_watched(r, err);
	if (rc == 0)
		rc = check_windows(r, err);
	return rc == 0 ? check_slow(r, err) : rc;
}
