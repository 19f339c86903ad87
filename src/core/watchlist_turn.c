/* watchlist_turn.c - what was seen in a window, its charge, and pace for the next one. */
#include <errno.h>

#include "core/gap.h"
#include "core/units.h"
#include "core/watchlist_parts.h"

/* Adds, unless the sum reaches 2^63. */
static bool add(uint64_t *sum, uint64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

/* Adds a window to the sums of all; false: one of them would reach 2^63. */
static bool add_sums(struct calls_row *sums, const struct calls_seen *seen,
		     const struct histogram *histogram)
{
	return add(&sums->calls, seen->calls) && add(&sums->span_ns, seen->span_ns) &&
	       add(&sums->first_ns, seen->first_ns) &&
	       add(&sums->first_own_ns, seen->first_own_ns) && add(&sums->weight, seen->firsts) &&
	       add(&sums->weight, seen->weight) &&
	       add(&sums->weight_squared, seen->weight_squared) &&
	       add(&sums->weighted_ns, seen->weighted_ns) &&
	       add(&sums->weighted_own_ns, seen->weighted_own_ns) &&
	       add(&sums->probe_ns, seen->probe_ns) &&
	       add(&sums->histogram.weight, histogram->weight);
}

/* Calls that ended in this window and began in an earlier one were counted there: `late` of them come over from that row. False:
 * it has not so many. */
static bool take_from(struct calls_row *giver, uint64_t late)
{
	uint64_t rest = giver->calls - giver->firsts - giver->others;
	uint64_t untimed = late < giver->never_timed ? late : giver->never_timed;

	if (late - untimed > rest)
		return false;
	giver->never_timed -= untimed;
	giver->calls -= late - untimed;
	return true;
}

/* The last row that has them; where each window begins with a call of the one before and ends in another, that may be some
 * rows back. NULL: there is none. */
static struct calls_row *find_giver(struct calls *calls, uint64_t late)
{
	for (uint32_t i = calls->count; i > 0; i--) {
		struct calls_row tried = calls->rows[i - 1];

		if (take_from(&tried, late))
			return &calls->rows[i - 1];
	}
	return NULL;
}

static int open_calls(struct watchlist *w, struct watched *watched)
{
	int status = 0;

	if (watched->calls.rows == NULL) {
		status = calls_open(&watched->calls, CALLS_MOST_ROWS);
		watched->calls.windows_in_row = w->windows_in_row;
	}
	return status;
}

/* So many of the timed calls began before the window. */
static uint64_t late_of(const struct calls_seen *seen)
{
	uint64_t timed = seen->firsts + seen->others;

	return timed > seen->calls ? timed - seen->calls : 0;
}

/* Adds the window to the row's own. Of its timed calls those that began before it come over from `giver`, NULL: there are
 * none. */
static int add_to_calls(struct watchlist *w, struct calls *calls, struct calls_row *giver,
			struct calls_seen *seen, const struct histogram *histogram)
{
	uint64_t late = late_of(seen), window = w->windows;
	struct calls_row before;
	int status;

	if (late == 0)
		return calls_add(calls, window, seen, histogram);
	if (giver == NULL)
		return -EINVAL;
	before = *giver;
	take_from(giver, late);
	if (seen->calls == 0) {
		/* Nothing ran but what began earlier: it belongs to the last row. */
		window = calls->rows[calls->count - 1].at * calls->windows_in_row;
		seen->span_ns = seen->covered_ns = 0;
	}
	seen->calls += late;
	status = calls_add(calls, window, seen, histogram);
	if (status < 0) {
		giver->never_timed = before.never_timed;
		giver->calls = before.calls;
	}
	return status;
}

static int add_window(struct watchlist *w, struct watched *watched, struct calls_seen seen,
		      const struct histogram *histogram)
{
	struct calls *calls = &watched->calls;
	uint32_t count = calls->count;
	struct calls_row *last = count > 0 ? &calls->rows[count - 1] : NULL;
	struct calls_row *giver = late_of(&seen) > 0 ? find_giver(calls, late_of(&seen)) : NULL;
	uint64_t before = last != NULL ? watchlist_row_bytes(last) : 0;
	uint64_t giver_before = giver != NULL ? watchlist_row_bytes(giver) : 0;
	int status = add_to_calls(w, calls, giver, &seen, histogram);

	if (status < 0 || calls->count == 0)
		return status;
	histogram_coarsen(&calls->rows[calls->count - 1].histogram, w->coarse);
	/* Changed: the row before when it grew, and the one from which calls came over. */
	if (last != NULL && (calls->count == count || giver == last))
		watchlist_count_bytes(w, watched, count - 1, before);
	if (giver != NULL && giver != last)
		watchlist_count_bytes(w, watched, (uint32_t)(giver - calls->rows), giver_before);
	if (calls->count > count)
		watchlist_count_bytes(w, watched, count, 0);
	return 0;
}

/* Adds a loss to a row, so that those of all rows together stay below 2^63. */
static void lose(struct watchlist *w, uint64_t *of_row, uint64_t lost)
{
	uint64_t before = w->losses;

	w->losses = watchlist_sum(before, lost);
	*of_row += w->losses - before;
}

static void count(struct watchlist *w, struct watched *watched, const struct calls_seen *seen,
		  const struct watchlist_losses *losses)
{
	struct watched_row *row = &watched->row;
	uint64_t timed = seen->firsts + seen->others;

	watched->calls_ever = watchlist_sum(watched->calls_ever, seen->calls);
	watched->seen.calls = watchlist_sum(watched->seen.calls, seen->calls);
	watched->seen.timed = watchlist_sum(watched->seen.timed, timed);
	watched->seen.covered_ns = seen->covered_ns;
	w->calls = watchlist_sum(w->calls, seen->calls);
	w->timed = watchlist_sum(w->timed, timed);
	lose(w, &row->still_open, seen->still_open);
	row->is_sliced |= !watched->pace.is_fixed && seen->covered_ns < seen->span_ns;
	if (losses != NULL) {
		lose(w, &row->abandoned, losses->abandoned);
		lose(w, &row->backwards, losses->backwards);
		lose(w, &row->clamped, losses->clamped);
	}
	watched->is_dirty = true;
}

static bool is_nothing(const struct calls_seen *seen, const struct watchlist_losses *losses)
{
	return seen->calls == 0 && seen->firsts + seen->others == 0 &&
	       seen->covered_ns == seen->span_ns &&
	       (losses == NULL || (losses->abandoned | losses->backwards | losses->clamped) == 0);
}

static int see(struct watchlist *w, struct watched *watched, const struct calls_seen *seen,
	       const struct histogram *histogram)
{
	struct calls_row sums = w->sums;
	struct calls_seen taken = *seen;
	int status;

	if (seen->interval > GAP_MAX_INTERVAL || !add_sums(&sums, seen, histogram))
		return -EINVAL;
	watchlist_make_room(w);
	if (w->is_behind)
		return -ENOMEM;
	if (taken.weight_squared < taken.weight)
		taken.weight_squared = taken.weight; /* read while one of the two was written */
	if (taken.firsts + taken.others == 0)
		taken.max_ns = 0; /* of a call that was not counted as timed */
	status = open_calls(w, watched);
	if (status == 0)
		status = add_window(w, watched, taken, histogram);
	if (status == 0)
		w->sums = sums;
	return status;
}

int watchlist_seen(struct watchlist *w, uint32_t id, const struct calls_seen *seen,
		   const struct histogram *histogram, const struct watchlist_losses *losses)
{
	struct watched *watched = w->rows[id];
	int status;

	if (is_nothing(seen, losses))
		return 0;
	status = see(w, watched, seen, histogram);
	w->torn += status == -EINVAL;
	watched->lost = status == -ENOMEM ? seen->calls : 0;
	if (status < 0)
		return status;
	count(w, watched, seen, losses);
	watchlist_make_room(w);
	return 0;
}

/* Charges what a row did, all rows together below 2^63, and puts its new costs in force. */
static uint64_t charge(struct watchlist *w, struct watched *watched)
{
	uint64_t before = w->charged_ps;
	uint64_t charge_ps =
		pace_charge_ps(&watched->pace.costs, watched->seen.calls, watched->seen.timed);

	w->charged_ps = watchlist_sum(before, charge_ps);
	watched->row.charged_ps += w->charged_ps - before;
	watched->pace.costs = watched->next_costs;
	return charge_ps;
}

/* The price that is left for what is paced, in millionths. */
static uint64_t price_left_ppm(const struct watchlist *w, uint64_t unpaced_ps, uint64_t window_ns)
{
	unsigned __int128 taken = (unsigned __int128)unpaced_ps * PPM;
	unsigned __int128 whole = (unsigned __int128)window_ns * PS_PER_NS;
	unsigned __int128 ppm = (taken + whole - 1) / whole;
	uint64_t price_ppm = w->settings.limits.price_ppm;

	return ppm < price_ppm ? price_ppm - (uint64_t)ppm : 1;
}

/* Puts what was decided in force. */
static void take_pace(struct watched *watched, const struct pace_watch *pace)
{
	watched->row.interval_changes += pace->interval != watched->pace.interval;
	watched->is_dirty |= pace->interval != watched->pace.interval ||
			     (pace->is_sliced && !watched->row.is_sliced);
	watched->pace = *pace;
	watched->row.interval = pace->interval;
	watched->row.is_sliced |= pace->is_sliced;
}

static struct pace_judged judge(struct watchlist *w, uint64_t unpaced_ps, uint64_t window_ns)
{
	struct pace_limits limits = w->settings.limits;
	struct pace_judged judged;
	uint32_t paced = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		if (!watched_is_paced(w->rows[i]))
			continue;
		w->paces[paced] = w->rows[i]->pace;
		w->seen[paced] = w->rows[i]->seen;
		w->ids[paced++] = i;
	}
	limits.price_ppm = price_left_ppm(w, unpaced_ps, window_ns);
	judged = pace_next_window(&limits, window_ns, w->paces, w->seen, paced,
				  w->settings.may_slice);
	for (uint32_t i = 0; i < paced; i++)
		take_pace(w->rows[w->ids[i]], &w->paces[i]);
	judged.loudest = judged.loudest < paced ? w->ids[judged.loudest] : w->count;
	return judged;
}

int watchlist_turn(struct watchlist *w, uint64_t window_ns, struct watchlist_turned *out)
{
	struct watchlist_turned turned = { 0 };
	uint64_t unpaced_ps = 0;

	if (window_ns == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < w->count; i++) {
		struct watched *watched = w->rows[i];
		uint64_t charge_ps = charge(w, watched);

		turned.charged_ps = watchlist_sum(turned.charged_ps, charge_ps);
		turned.calls = watchlist_sum(turned.calls, watched->seen.calls);
		turned.timed = watchlist_sum(turned.timed, watched->seen.timed);
		if (!watched_is_paced(watched))
			unpaced_ps = watchlist_sum(unpaced_ps, charge_ps);
	}
	turned.judged = judge(w, unpaced_ps, window_ns);
	if (turned.judged.is_refused) {
		w->refused = (uint32_t)turned.judged.loudest;
		w->allowed_rate = turned.judged.allowed_rate;
	}
	for (uint32_t i = 0; i < w->count; i++) {
		w->lost_calls = watchlist_sum(w->lost_calls, w->rows[i]->lost);
		w->rows[i]->lost = 0;
		w->rows[i]->seen = (struct pace_seen){ 0 };
	}
	w->windows++;
	watchlist_make_room(w);
	*out = turned;
	return 0;
}

/* Do the parts add up to the frame, the largest first, each of a row there is? */
static bool is_sound(const struct watchlist *w, const struct frames_frame *frame)
{
	uint64_t sum_ns = frame->rest_ns, before_ns = UINT64_MAX;

	if (frame->part_count > FRAMES_MOST_PARTS ||
	    frame->duration_ns > INT64_MAX / FRAMES_MOST_KEPT || frame->start_ns > INT64_MAX / 2)
		return false;
	for (uint32_t i = 0; i < frame->part_count; i++) {
		if (frame->parts[i].function >= w->count || frame->parts[i].ns > before_ns ||
		    __builtin_add_overflow(sum_ns, frame->parts[i].ns, &sum_ns))
			return false;
		before_ns = frame->parts[i].ns;
	}
	return frame->other_ns <= frame->duration_ns &&
	       sum_ns == frame->duration_ns - frame->other_ns;
}

int watchlist_slow(struct watchlist *w, const struct frames_frame *frame, uint32_t tid,
		   uint64_t number)
{
	struct frames_frame kept = *frame;
	int status = -EINVAL;

	if (w->settings.slow_ns == 0 || frame->duration_ns < w->settings.slow_ns)
		return 0;
	kept.tid = tid;
	kept.number = number;
	if (is_sound(w, frame) && number <= INT64_MAX)
		status = frames_add(&w->frames, &kept);
	w->lost_slow += status < 0;
	return status;
}

void watchlist_set_price(struct watchlist *w, uint64_t price_ppm)
{
	w->settings.limits.price_ppm = price_ppm;
}
