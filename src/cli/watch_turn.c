/* watch_turn.c - looks at all points, does what the plan says, and turns windows. */
#include "cli/watch_part.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"

#define SLOW_MANY 4u /* slow frames in a look: look twice as often */
#define SLOW_FEW  2u

#define MEASURE_PART_OF 40u /* of the price is for measuring on */
#define MEASURE_MOST	50u /* times in a window */

/* ---- looking ---- */

/* Takes what waits, and returns how many. */
static uint32_t take_slow(struct watch_sources *w, struct watch_part *part)
{
	struct frames_frame frame;
	uint32_t tid, taken = 0;
	uint64_t number;

	watch_part_add_new(w, part); /* a frame may be of names that came with it */
	for (; part->ops->take_slow(part->source, &frame, &tid, &number); taken++) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < frame.part_count; i++) {
			struct frames_part piece = frame.parts[i];
			uint32_t id = piece.function < part->count ? part->points[piece.function].id
								   : NO_ID;

			if (id == NO_ID) { /* not asked for: one of the rest */
				frame.rest_ns += piece.ns;
				continue;
			}
			frame.parts[kept++] = (struct frames_part){ piece.ns, id };
		}
		frame.part_count = kept;
		frame.start_ns -= frame.start_ns < part->early_ns ? frame.start_ns : part->early_ns;
		watchlist_slow(w->settings.list, &frame, tid, number);
	}
	return taken;
}

static bool is_running(const struct watch_part *part)
{
	return part->source != NULL && part->started_ns != 0;
}

/* A source has room for a few slow frames of a thread: they are fetched the more often the more there are. */
static void take_all_slow(struct watch_sources *w, uint64_t now_ns)
{
	uint32_t taken = 0;

	for (uint32_t p = 0; p < w->part_count; p++)
		if (is_running(&w->parts[p]))
			taken += take_slow(w, &w->parts[p]);
	if (taken >= SLOW_MANY && w->slow_wait_ns > WATCH_PLAN_SOON_NS)
		w->slow_wait_ns /= 2;
	else if (taken < SLOW_FEW && w->slow_wait_ns < WATCH_PLAN_CALM_NS)
		w->slow_wait_ns += w->slow_wait_ns / 8 + 1;
	w->slow_at_ns = now_ns + w->slow_wait_ns;
}

static void look_at(struct watch_sources *w, struct watch_part *part, uint32_t i)
{
	struct watch_point *point = &part->points[i];
	uint64_t calls = 0, timed = 0;

	if (point->is_listed)
		return;
	part->ops->peek(part->source, i, &calls, &timed);
	point->calls = calls;
	point->timed = timed;
	watch_plan_look(&w->plan, point->plan, watch_sources_now(w), calls, timed);
}

/* The open part, and its point, that match. */
static struct watch_part *find_point(struct watch_sources *w, uint32_t id, size_t plan,
				     uint32_t *out_point)
{
	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];

		for (uint32_t i = 0; i < part->count; i++) {
			if (part->source == NULL ||
			    (id != NO_ID ? part->points[i].id != id : part->points[i].plan != plan))
				continue;
			*out_point = i;
			return part;
		}
	}
	return NULL;
}

/* Attaches or detaches a point and tells the plan what that looked like. */
static void change(struct watch_sources *w, size_t plan, bool is_on)
{
	struct watch_plan_change change = { .is_attached = is_on };
	struct err err = ERR_EMPTY;
	uint64_t timed;
	uint32_t i = 0;
	struct watch_part *part = find_point(w, NO_ID, plan, &i);

	if (part == NULL) {
		watch_plan_fail(&w->plan, plan);
		return;
	}
	part->ops->peek(part->source, i, &change.calls_before, &timed);
	change.began_ns = watch_sources_now(w);
	if (part->ops->attach(part->source, i, is_on, &err) < 0) {
		watch_part_say_why(w, &part->points[i],
				   (struct str){ err.msg, (uint32_t)strlen(err.msg) });
		return;
	}
	change.ended_ns = watch_sources_now(w);
	part->ops->peek(part->source, i, &change.calls, &change.timed);
	watch_plan_changed(&w->plan, plan, &change);
}

/* Each act changes what is due, so it ends: a point is detached and attached at most once a look. */
static void follow_plan(struct watch_sources *w)
{
	size_t most = 2 * w->plan.count, point = 0;

	for (size_t i = 0; i < most; i++) {
		enum watch_plan_act act = watch_plan_due(&w->plan, watch_sources_now(w), &point);

		if (act == WATCH_PLAN_NOTHING)
			return;
		change(w, point, act == WATCH_PLAN_ATTACH);
	}
}

/* What a trap costs changes while a recording runs, with what else runs on the same core: so the children that measured it at
 * first go on, at looks that are made anyway. */
void watch_sources_measure(struct watch_sources *w)
{
	uint64_t before_ns = w->measured_cpu_ns, cost_ns, wait_ns;

	w->measured_cpu_ns = 0;
	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];
		uint64_t cpu_ns = 0;

		if (is_running(part) && part->ops->measure != NULL)
			cpu_ns = part->ops->measure(part->source);
		part->is_measured_on = cpu_ns > 0;
		w->measured_cpu_ns += cpu_ns;
	}
	cost_ns = w->measured_cpu_ns > before_ns ? w->measured_cpu_ns - before_ns : 0;
	wait_ns = (uint64_t)((unsigned __int128)cost_ns * MEASURE_PART_OF * PPM /
			     (w->plan.price_ppm + 1));
	if (wait_ns < w->plan.window_ns / MEASURE_MOST)
		wait_ns = w->plan.window_ns / MEASURE_MOST;
	w->measure_at_ns = watch_sources_now(w) + wait_ns;
}

void watch_sources_look(struct watch_sources *w)
{
	uint64_t now_ns = watch_sources_now(w);

	if (now_ns >= w->measure_at_ns)
		watch_sources_measure(w);
	if (now_ns >= w->slow_at_ns)
		take_all_slow(w, now_ns);
	if (now_ns < w->look_at_ns)
		return;
	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];

		if (!is_running(part))
			continue;
		for (uint32_t i = 0; i < part->count; i++)
			look_at(w, part, i);
		watch_part_add_new(w, part);
	}
	follow_plan(w);
	now_ns = watch_sources_now(w);
	w->look_at_ns = watch_plan_wakes_ns(&w->plan, now_ns);
}

uint64_t watch_sources_wakes_ns(const struct watch_sources *w)
{
	uint64_t end_ns = w->plan.window_start_ns + w->plan.window_ns;
	uint64_t at_ns = w->look_at_ns < w->slow_at_ns ? w->look_at_ns : w->slow_at_ns;

	return at_ns < end_ns ? at_ns : end_ns;
}

/* ---- windows ---- */

/* Times that cannot be (a hostile process, or a reading between two writes) are dropped and counted; calls stay. */
static int see_calls_only(struct watch_sources *w, uint32_t id, const struct calls_seen *seen)
{
	struct calls_seen calls = { .calls = seen->calls,
				    .span_ns = seen->span_ns,
				    .covered_ns = seen->covered_ns,
				    .interval = seen->interval };
	struct watchlist_losses losses = { 0 };
	struct histogram none = HISTOGRAM_EMPTY;

	w->torn++;
	return watchlist_seen(w->settings.list, id, &calls, &none, &losses);
}

/* What one point did in the window that has ended. */
static int see_point(struct watch_sources *w, struct watch_part *part, uint32_t i, uint64_t span_ns,
		     uint64_t now_ns)
{
	struct watch_point *point = &part->points[i];
	struct watchlist_losses losses = { 0 };
	struct calls_seen seen = { 0 };
	int code;

	if (point->is_listed)
		return 0;
	w->histogram.count = 0;
	w->histogram.weight = 0;
	code = part->ops->seen(part->source, i, span_ns, &seen, &w->histogram, &losses);
	if (code < 0)
		return code;
	if (part->can_detach) {
		uint64_t covered_ns = watch_plan_covered_ns(&w->plan, point->plan, now_ns);

		seen.covered_ns = covered_ns < span_ns ? covered_ns : span_ns;
	}
	point->calls = point->timed = 0;
	if (point->id == NO_ID) {
		w->unasked_ps +=
			pace_charge_ps(&point->costs, seen.calls, seen.firsts + seen.others);
		return 0;
	}
	code = watchlist_seen(w->settings.list, point->id, &seen, &w->histogram, &losses);
	return code == -EINVAL ? see_calls_only(w, point->id, &seen) : code;
}

/* A refused row is watched no more. In process nothing can be detached: there the label alone tells. */
static void refuse(struct watch_sources *w, const struct pace_judged *judged)
{
	char why[128], rate[32];
	struct err err = ERR_EMPTY;
	uint32_t i = 0;
	struct watch_part *part = find_point(w, (uint32_t)judged->loudest, 0, &i);

	w->refused = (uint32_t)judged->loudest;
	w->allowed_rate = judged->allowed_rate;
	if (part == NULL || !part->can_detach ||
	    part->ops->attach(part->source, i, false, &err) < 0)
		return;
	units_format_exact(judged->allowed_rate, rate, sizeof(rate));
	snprintf(why, sizeof(why), "too hot: the price allows %s calls a second", rate);
	watch_part_say_why(w, &part->points[i], (struct str){ why, (uint32_t)strlen(why) });
}

static void follow_point(struct watch_sources *w, const struct watch_part *part, uint32_t i,
			 uint64_t now_ns)
{
	const struct watch_point *point = &part->points[i];

	if (point->is_listed)
		return;
	if (point->id != NO_ID)
		watch_plan_follow(&w->plan, point->plan,
				  watchlist_pace(w->settings.list, point->id), now_ns);
	watch_part_order(w, part, i);
}

/* Asks every source what it saw. A point's part of the window begins when its source was started. Whether it is over is asked
 * first: what its process did until then is in this reading, and names that it came to at its end are too. */
static int see_all(struct watch_sources *w, uint64_t now_ns, bool is_last)
{
	int worst = 0;

	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];
		uint64_t from_ns = part->started_ns > w->plan.window_start_ns
					   ? part->started_ns
					   : w->plan.window_start_ns;

		if (!is_running(part))
			continue;
		part->ops->facts(part->source, &part->facts);
		if (part->ops->turn(part->source, is_last) < 0)
			continue;
		watch_part_add_new(w, part);
		for (uint32_t i = 0; i < part->count; i++) {
			int code = see_point(w, part, i, now_ns > from_ns ? now_ns - from_ns : 1,
					     now_ns);

			worst = code < 0 ? code : worst;
		}
		take_slow(w, part);
	}
	return worst;
}

int watch_sources_turn(struct watch_sources *w, uint64_t price_ppm, bool is_last,
		       struct watch_turned *out)
{
	struct watchlist_turned turned = { 0 };
	uint64_t now_ns = watch_sources_now(w), unasked_ps = w->unasked_ps;
	uint64_t span_ns = now_ns > w->plan.window_start_ns ? now_ns - w->plan.window_start_ns : 1;
	int worst = see_all(w, now_ns, is_last);
	int code = watchlist_turn(w->settings.list, span_ns, &turned);

	if (turned.judged.is_refused && turned.judged.loudest < watchlist_count(w->settings.list))
		refuse(w, &turned.judged);
	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];

		if (!is_running(part))
			continue;
		for (uint32_t i = 0; i < part->count; i++)
			follow_point(w, part, i, now_ns);
		if (part->facts.is_over)
			watch_part_close(w, part);
	}
	watch_plan_turn(&w->plan, price_ppm, now_ns);
	w->look_at_ns = watch_plan_wakes_ns(&w->plan, now_ns);
	w->calls += turned.calls;
	w->timed += turned.timed;
	*out = (struct watch_turned){ .span_ns = span_ns,
				      .charged_ps = turned.charged_ps + w->unasked_ps - unasked_ps,
				      .calls = turned.calls,
				      .timed = turned.timed };
	return code < 0 ? code : worst;
}
