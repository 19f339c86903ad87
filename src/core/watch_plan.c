/* watch_plan.c - attach, detach, and when to look: all from numbers that others read. */
#include "core/watch_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "core/units.h"

typedef unsigned __int128 wide;

static uint64_t narrow(wide value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* value x part / whole; 0 of nothing. */
static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return whole > 0 ? narrow((wide)value * part / whole) : 0;
}

static uint64_t window_price_ps(const struct watch_plan *plan)
{
	return narrow((wide)plan->window_ns * plan->price_ppm * PS_PER_NS / PPM);
}

static uint64_t rest_of_window_ns(const struct watch_plan *plan, uint64_t now_ns)
{
	return less(plan->window_start_ns + plan->window_ns, now_ns);
}

void watch_plan_init(struct watch_plan *plan, uint64_t window_ns, uint64_t price_ppm,
		     uint64_t now_ns)
{
	*plan = (struct watch_plan){ .window_ns = window_ns,
				     .window_start_ns = now_ns,
				     .price_ppm = price_ppm,
				     .detach_ns = WATCH_PLAN_DETACH_NS };
}

void watch_plan_free(struct watch_plan *plan)
{
	free(plan->points);
	*plan = WATCH_PLAN_EMPTY;
}

int watch_plan_add(struct watch_plan *plan, const struct pace_costs *costs, bool can_detach)
{
	if (plan->count == plan->room) {
		size_t room = plan->room > 0 ? plan->room * 2 : 16;
		void *grown = reallocarray(plan->points, room, sizeof(*plan->points));

		if (grown == NULL)
			return -ENOMEM;
		plan->points = grown;
		plan->room = room;
	}
	plan->points[plan->count++] = (struct watch_plan_point){ .costs = *costs,
								 .can_detach = can_detach,
								 .until_ns = WATCH_PLAN_NEVER_NS };
	return 0;
}

void watch_plan_started(struct watch_plan *plan, size_t point, uint64_t now_ns)
{
	struct watch_plan_point *p = &plan->points[point];

	p->is_attached = true;
	p->since_ns = p->looked_ns = now_ns;
}

/* ---- looking ---- */

/* Books calls up to now to the window and to the slice; returns what they cost since the last look. */
static uint64_t book(struct watch_plan_point *p, uint64_t calls, uint64_t timed)
{
	uint64_t spent_ps = pace_charge_ps(&p->costs, calls, timed);
	uint64_t new_ps = less(spent_ps, p->spent_ps);

	p->since_look_calls += less(calls, p->calls);
	p->calls = calls;
	p->timed = timed;
	p->spent_ps = spent_ps > p->spent_ps ? spent_ps : p->spent_ps;
	p->slice_ps += new_ps;
	return new_ps;
}

void watch_plan_look(struct watch_plan *plan, size_t point, uint64_t now_ns, uint64_t calls,
		     uint64_t timed)
{
	struct watch_plan_point *p = &plan->points[point];

	p->since_look_ps += book(p, calls, timed);
	if (less(now_ns, p->looked_ns) < WATCH_PLAN_SOON_NS / 2)
		return; /* too short to tell a rate by */
	p->before_ps = p->since_look_ps;
	p->before_calls = p->since_look_calls;
	p->before_ns = less(now_ns, p->looked_ns);
	p->since_look_ps = p->since_look_calls = 0;
	p->looked_ns = now_ns;
}

/* What the point would spend in `ns` more, at the rate between the last two looks. */
static uint64_t ahead_ps(const struct watch_plan_point *p, uint64_t ns)
{
	return p->is_attached ? scale(p->before_ps, ns, p->before_ns) : 0;
}

/* What counting alone will have cost in this window `ns` from now, without a call timed. */
static uint64_t counting_ps(const struct watch_plan_point *p, uint64_t ns)
{
	uint64_t ahead = p->is_attached ? scale(p->before_calls, ns, p->before_ns) : 0;

	return pace_charge_ps(&p->costs, narrow((wide)p->calls + ahead), 0);
}

/* ---- what is due ---- */

/* Is it watched in slices, and not always after all? */
static bool is_in_slice(const struct watch_plan_point *p)
{
	return p->is_sliced && !p->slice.is_always;
}

static bool is_slice_over(const struct watch_plan *plan, const struct watch_plan_point *p,
			  uint64_t now_ns)
{
	if (!p->slice.is_possible)
		return true;
	return slices_is_cut(&p->slice, p->slice_ns + less(now_ns, p->since_ns), p->slice_ps,
			     p->before_ps, p->before_ns, plan->detach_ns);
}

/* A point that has spent the price of the window, and whose counting alone would end a tenth over it; or twice the price. */
static bool is_price_spent(const struct watch_plan *plan, const struct watch_plan_point *p,
			   uint64_t now_ns)
{
	uint64_t price_ps = window_price_ps(plan);
	uint64_t rest_ns = rest_of_window_ns(plan, now_ns);
	uint64_t detach_ns = rest_ns < plan->detach_ns ? rest_ns : plan->detach_ns;

	wide soon_ps = (wide)p->spent_ps + ahead_ps(p, detach_ns);

	if (soon_ps >= 2 * (wide)price_ps)
		return true;
	return soon_ps >= price_ps && counting_ps(p, rest_ns) >= (wide)price_ps + price_ps / 10;
}

/* When all together have spent the price, and counting them would end half over it: the one that spends most. A slice may take what
 * its period allows, so it counts with its part of a window. */
static size_t find_loudest(const struct watch_plan *plan, uint64_t now_ns)
{
	uint64_t rest_ns = rest_of_window_ns(plan, now_ns), price_ps = window_price_ps(plan);
	wide spent_ps = 0, end_ps = 0;
	size_t loudest = plan->count;
	uint64_t most_ps = price_ps / 16; /* what spends less would not help */

	for (size_t i = 0; i < plan->count; i++) {
		const struct watch_plan_point *p = &plan->points[i];
		uint64_t counting = counting_ps(p, rest_ns);
		uint64_t more_ps = less(counting, counting_ps(p, 0));

		if (is_in_slice(p)) {
			spent_ps += p->need.slice_ps;
			end_ps += p->need.slice_ps;
			continue;
		}
		spent_ps += p->spent_ps;
		end_ps += counting;
		if (!p->can_detach || more_ps <= most_ps)
			continue;
		most_ps = more_ps;
		loudest = i;
	}
	if (spent_ps < price_ps || end_ps < (wide)price_ps + price_ps / 2)
		return plan->count;
	return loudest;
}

static enum watch_plan_act act_of(const struct watch_plan *plan, const struct watch_plan_point *p,
				  uint64_t now_ns)
{
	bool is_spent;

	if (!p->can_detach || p->is_over)
		return WATCH_PLAN_NOTHING;
	if (!p->is_attached)
		return now_ns >= p->until_ns ? WATCH_PLAN_ATTACH : WATCH_PLAN_NOTHING;
	is_spent =
		is_in_slice(p) ? is_slice_over(plan, p, now_ns) : is_price_spent(plan, p, now_ns);
	return is_spent ? WATCH_PLAN_DETACH : WATCH_PLAN_NOTHING;
}

enum watch_plan_act watch_plan_due(const struct watch_plan *plan, uint64_t now_ns,
				   size_t *out_point)
{
	size_t loudest;

	for (size_t i = 0; i < plan->count; i++) {
		enum watch_plan_act act = act_of(plan, &plan->points[i], now_ns);

		if (act == WATCH_PLAN_NOTHING)
			continue;
		*out_point = i;
		return act;
	}
	loudest = find_loudest(plan, now_ns);
	if (loudest == plan->count)
		return WATCH_PLAN_NOTHING;
	*out_point = loudest;
	return WATCH_PLAN_DETACH;
}

/* ---- changes ---- */

/* When to attach again after a slice, or after the price of the window was spent. */
static void plan_rest(struct watch_plan_point *p)
{
	if (!p->is_sliced || !p->slice.is_possible)
		p->until_ns = WATCH_PLAN_NEVER_NS; /* the window's end decides */
	else if (p->slice.is_always)
		p->until_ns = p->since_ns;
	else
		p->until_ns =
			p->since_ns + slices_rest_ns(&p->slice, &p->need, p->slice_ns, p->slice_ps);
}

/* How long `calls` took at the rate since the last change; no longer than the system call that they came in. */
static uint64_t edge_ns(const struct watch_plan_point *p, const struct watch_plan_change *change,
			uint64_t calls, uint64_t most_ns)
{
	uint64_t ns = scale(calls, less(change->began_ns, p->since_ns),
			    less(change->calls_before, p->since_calls));

	return ns < most_ns ? ns : most_ns;
}

static void detached(struct watch_plan *plan, struct watch_plan_point *p,
		     const struct watch_plan_change *change)
{
	uint64_t took_ns = less(change->ended_ns, change->began_ns);
	uint64_t ran_ns = less(change->began_ns, p->since_ns) +
			  edge_ns(p, change, less(change->calls, change->calls_before), took_ns) +
			  edge_ns(p, change, p->head_calls, p->head_ns);

	p->covered_ns += ran_ns;
	p->slice_ns += ran_ns;
	book(p, change->calls, change->timed);
	p->is_attached = false;
	p->since_ns = change->ended_ns;
	p->head_calls = p->head_ns = 0;
	if (took_ns > plan->detach_ns)
		plan->detach_ns = took_ns;
	plan_rest(p);
}

static void attached(struct watch_plan_point *p, const struct watch_plan_change *change)
{
	p->is_attached = true;
	p->since_ns = change->ended_ns;
	p->since_calls = change->calls;
	p->head_calls = less(change->calls, change->calls_before);
	p->head_ns = less(change->ended_ns, change->began_ns);
	p->until_ns = WATCH_PLAN_NEVER_NS;
	p->slice_ns = p->slice_ps = 0;
	book(p, change->calls, change->timed);
}

void watch_plan_changed(struct watch_plan *plan, size_t point,
			const struct watch_plan_change *change)
{
	struct watch_plan_point *p = &plan->points[point];

	if (change->is_attached)
		attached(p, change);
	else
		detached(plan, p, change);
	p->looked_ns = change->ended_ns;
	p->before_ns = p->before_ps = p->before_calls = 0;
	p->since_look_ps = p->since_look_calls = 0;
}

void watch_plan_fail(struct watch_plan *plan, size_t point)
{
	struct watch_plan_point *p = &plan->points[point];

	p->is_over = true;
	p->is_attached = false;
	p->until_ns = WATCH_PLAN_NEVER_NS;
}

uint64_t watch_plan_covered_ns(const struct watch_plan *plan, size_t point, uint64_t now_ns)
{
	const struct watch_plan_point *p = &plan->points[point];

	return p->covered_ns + (p->is_attached ? less(now_ns, p->since_ns) : 0);
}

/* ---- windows ---- */

/* Books the time up to now to the window and to the slice. */
static void settle(struct watch_plan_point *p, uint64_t now_ns)
{
	if (p->is_attached) {
		p->covered_ns += less(now_ns, p->since_ns);
		p->slice_ns += less(now_ns, p->since_ns);
		p->since_ns = now_ns;
	}
}

/* In force for a slice that begins, or for the rest after one that is over. */
static void plan_slice(struct watch_plan_point *p)
{
	p->slice = slices_plan_next(&p->need);
	if (!p->is_attached)
		plan_rest(p);
}

static void follow_slices(struct watch_plan_point *p)
{
	if (!p->is_sliced) {
		/* It was watched from the window's start: that was a slice, it is over, and it is paid for. */
		p->is_sliced = true;
		plan_slice(p);
		p->slice.attached_ns = 0;
	} else if (!p->is_attached) {
		plan_slice(p);
	} else if (p->slice.is_always || !p->slice.is_possible) {
		p->slice_ns = p->slice_ps = 0;
		plan_slice(p);
	}
}

void watch_plan_follow(struct watch_plan *plan, size_t point, const struct pace_watch *pace,
		       uint64_t now_ns)
{
	struct watch_plan_point *p = &plan->points[point];

	p->costs = pace->costs;
	settle(p, now_ns);
	if (!p->can_detach)
		return;
	p->need = (struct slices_need){ .load_ps = pace->load_ps,
					.slice_ps = pace->slice_ps,
					.window_ns = plan->window_ns,
					.detach_ns = plan->detach_ns };
	if (pace->is_sliced) {
		follow_slices(p);
		return;
	}
	p->is_sliced = false;
	p->slice_ns = p->slice_ps = 0;
	p->until_ns = now_ns;
}

void watch_plan_turn(struct watch_plan *plan, uint64_t price_ppm, uint64_t now_ns)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct watch_plan_point *p = &plan->points[i];

		settle(p, now_ns);
		p->covered_ns = 0;
		p->calls = p->timed = p->spent_ps = 0;
		p->since_calls = p->head_calls = p->head_ns = 0;
		p->before_ns = p->before_ps = p->before_calls = 0;
		p->since_look_ps = p->since_look_calls = 0;
		p->looked_ns = now_ns;
	}
	plan->price_ppm = price_ppm;
	plan->window_start_ns = now_ns;
}

/* ---- when to look next ---- */

/* Looks come closer as what may be spent runs out: at half of the time that is left at the rate now. A point that was
 * attached a moment ago has no rate yet. */
static uint64_t look_after_ns(const struct watch_plan *plan, const struct watch_plan_point *p)
{
	bool is_planned = is_in_slice(p);
	uint64_t allowed_ps = is_planned ? p->slice.allowed_ps : window_price_ps(plan);
	uint64_t spent_ps = is_planned ? p->slice_ps : p->spent_ps;
	uint64_t most_ns = is_planned ? plan->detach_ns : WATCH_PLAN_LOOK_NS;
	uint64_t after_ns = most_ns < WATCH_PLAN_LOOK_NS ? most_ns : WATCH_PLAN_LOOK_NS;

	if (p->before_ns == 0)
		return WATCH_PLAN_SOON_NS;
	if (p->before_ps > 0) {
		uint64_t left_ns =
			less(scale(less(allowed_ps, spent_ps), p->before_ns, p->before_ps),
			     plan->detach_ns) /
			2;

		after_ns = left_ns < after_ns ? left_ns : after_ns;
	}
	return after_ns > WATCH_PLAN_SOON_NS ? after_ns : WATCH_PLAN_SOON_NS;
}

uint64_t watch_plan_wakes_ns(const struct watch_plan *plan, uint64_t now_ns)
{
	uint64_t wakes_ns = plan->window_start_ns + plan->window_ns;

	if (wakes_ns > now_ns + WATCH_PLAN_CALM_NS)
		wakes_ns = now_ns + WATCH_PLAN_CALM_NS;
	for (size_t i = 0; i < plan->count; i++) {
		const struct watch_plan_point *p = &plan->points[i];
		uint64_t at_ns = WATCH_PLAN_NEVER_NS;

		if (!p->can_detach)
			continue;
		if (p->is_attached)
			at_ns = p->looked_ns + look_after_ns(plan, p);
		else if (!p->is_over)
			at_ns = p->until_ns;
		wakes_ns = at_ns < wakes_ns ? at_ns : wakes_ns;
	}
	return wakes_ns;
}

/* ---- our own work ---- */

uint64_t watch_own_price_ppm(struct watch_own *own, uint64_t limit_ppm, uint64_t window_ns,
			     uint64_t running_ns, uint64_t once_ns)
{
	uint64_t running_ppm = scale(running_ns, PPM, window_ns);
	uint64_t least_ppm = limit_ppm / WATCH_PLAN_LEAST_PART, due_ppm;

	if (once_ns > 0) {
		own->owed_ns += once_ns;
		own->rate_ppm = scale(own->owed_ns, PPM, WATCH_PLAN_SPREAD_NS);
		own->rate_ppm += own->rate_ppm == 0;
	}
	due_ppm = own->owed_ns > 0 ? own->rate_ppm : 0;
	own->owed_ns = less(own->owed_ns, units_ppm_of(window_ns, own->rate_ppm));
	if (!own->has_average)
		own->average_ppm = running_ppm;
	else if (running_ppm > own->average_ppm)
		own->average_ppm += (running_ppm - own->average_ppm + 3) / 4;
	else
		own->average_ppm -= (own->average_ppm - running_ppm) / 4;
	own->has_average = true;
	if (own->average_ppm + due_ppm + least_ppm >= limit_ppm)
		return least_ppm > 0 ? least_ppm : 1;
	return limit_ppm - own->average_ppm - due_ppm;
}
