/* watch_sources.c - sources, their points and the rows of these: taken in, started, given up. */
#include "cli/watch_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

uint64_t watch_sources_now(const struct watch_sources *w)
{
	return w->settings.now_ns(w->settings.owner);
}

static void tell(const struct watch_sources *w, uint32_t id)
{
	if (w->settings.told != NULL && id != NO_ID)
		w->settings.told(w->settings.owner, watchlist_row(w->settings.list, id));
}

void watch_sources_init(struct watch_sources *w, const struct watch_sources_settings *settings)
{
	*w = (struct watch_sources){ .settings = *settings,
				     .refused = NO_ID,
				     .slow_wait_ns = WATCH_PLAN_LOOK_NS };
	watch_plan_init(&w->plan, settings->window_ns, settings->price_ppm, watch_sources_now(w));
}

void watch_part_close(struct watch_sources *w, struct watch_part *part)
{
	if (part->source == NULL)
		return;
	for (uint32_t i = 0; i < part->count; i++)
		watch_plan_fail(&w->plan, part->points[i].plan);
	part->ops->facts(part->source, &part->facts);
	part->ops->close(part->source);
	part->source = NULL;
}

void watch_sources_close(struct watch_sources *w)
{
	for (uint32_t i = 0; i < w->part_count; i++) {
		struct watch_part *part = &w->parts[i];

		watch_part_close(w, part);
		places_free(&part->places);
		free(part->points);
		part->points = NULL;
		part->count = part->room = 0;
	}
	w->part_count = 0;
	watch_plan_free(&w->plan);
	histogram_free(&w->histogram);
}

void watch_sources_shift(struct watch_sources *w, uint64_t by_ns)
{
	for (uint32_t i = 0; i < w->part_count; i++)
		w->parts[i].early_ns += by_ns;
}

/* ---- points ---- */

bool watch_is_same(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static bool is_taken(const struct watch_sources *w, uint32_t id)
{
	for (uint32_t p = 0; p < w->part_count; p++)
		for (uint32_t i = 0; w->parts[p].source != NULL && i < w->parts[p].count; i++)
			if (w->parts[p].points[i].id == id)
				return true;
	return false;
}

/* The row of the same name whose source is gone (the process executed another program, or the same one again). */
static uint32_t find_row(const struct watch_sources *w, const struct watched_row *row)
{
	for (uint32_t id = 0; id < watchlist_count(w->settings.list); id++) {
		const struct watched_row *old = watchlist_row(w->settings.list, id);

		if (old->kind == row->kind && watch_is_same(old->name, row->name) &&
		    watch_is_same(old->symbol, row->symbol) &&
		    watch_is_same(old->module, row->module) && !is_taken(w, id))
			return id;
	}
	return NO_ID;
}

static void set_costs(struct watched_row *row, const struct watch_costs *costs)
{
	row->untimed_ps = costs->measured.untimed_ps;
	row->extra_ps = costs->measured.extra_ps;
	row->hook_ps = costs->measured.hook_ps;
	row->floor_ps = costs->floor_ps;
	row->assumed_untimed_ps = costs->assumed.untimed_ps;
	row->assumed_extra_ps = costs->assumed.extra_ps;
	row->assumed_hook_ps = costs->assumed.hook_ps;
}

/* The row of the same pattern that says only that nothing was found for it. */
static uint32_t find_listed(const struct watch_sources *w, struct str pattern)
{
	for (uint32_t id = 0; id < watchlist_count(w->settings.list); id++) {
		const struct watched_row *old = watchlist_row(w->settings.list, id);

		if (pattern.len > 0 && old->why_not.len > 0 && old->module.len == 0 &&
		    old->mode.len == 0 && watch_is_same(old->pattern, pattern))
			return id;
	}
	return NO_ID;
}

/* Puts the row into the watchlist, or finds the one that was there. */
static int put_row(struct watch_sources *w, const struct watched_row *row,
		   const struct watch_costs *costs, uint32_t *out_id)
{
	uint32_t id = find_row(w, row);

	if (id == NO_ID) {
		id = find_listed(w, row->pattern);
		if (id == NO_ID || watchlist_replace(w->settings.list, id, row) < 0)
			return watchlist_add(w->settings.list, row, out_id);
		*out_id = id;
		return 0;
	}
	watchlist_set_costs(w->settings.list, id, &costs->measured, &costs->assumed,
			    costs->floor_ps);
	*out_id = id;
	return watchlist_set_why_not(w->settings.list, id, row->why_not);
}

static int grow_points(struct watch_part *part)
{
	uint32_t room = part->room > 0 ? part->room * 2 : 16;
	void *grown;

	if (part->count < part->room)
		return 0;
	grown = reallocarray(part->points, room, sizeof(*part->points));
	if (grown == NULL)
		return -ENOMEM;
	part->points = grown;
	part->room = room;
	return 0;
}

static int add_point(struct watch_sources *w, struct watch_part *part)
{
	struct watch_point *point;
	struct watched_row row = { .id = NO_ID };
	struct watch_costs costs = { .floor_ps = 0 };
	int code = grow_points(part);

	if (code < 0)
		return code;
	point = &part->points[part->count];
	*point = (struct watch_point){ .id = NO_ID, .plan = (uint32_t)w->plan.count };
	part->ops->describe(part->source, part->count, &row);
	if (row.why_not.len == 0)
		part->ops->costs(part->source, part->count, false, &costs);
	w->calibrations += costs.cpu_ns > 0;
	point->costs = pace_costs_in_force(&costs.measured, &costs.assumed);
	point->is_listed = row.why_not.len > 0;
	set_costs(&row, &costs);
	if (w->settings.wants(w->settings.owner, &row)) {
		code = put_row(w, &row, &costs, &point->id);
		if (code < 0 && code != -ENOSPC)
			return code;
	}
	code = watch_plan_add(&w->plan, &point->costs, part->can_detach && !point->is_listed);
	if (code < 0)
		return code;
	part->count++;
	return 0;
}

/* In force for the point from now on. One that was not asked for is timed as little as can be. */
void watch_part_order(struct watch_sources *w, const struct watch_part *part, uint32_t i)
{
	const struct watch_point *point = &part->points[i];
	struct watch_order order = { .interval = w->settings.interval_most, .budget = 1 };
	struct pace_costs costs = point->costs;

	if (point->is_listed)
		return;
	if (point->id != NO_ID) {
		const struct pace_watch *pace = watchlist_pace(w->settings.list, point->id);

		order.interval = pace->interval;
		order.budget = pace_share_timed(pace);
		costs = pace->costs;
	}
	order.untimed_ps = costs.untimed_ps + costs.hook_ps;
	order.timed_ps = order.untimed_ps + costs.extra_ps;
	part->ops->order(part->source, i, &order);
}

/* Points that a running source has found since. */
void watch_part_add_new(struct watch_sources *w, struct watch_part *part)
{
	while (part->count < part->ops->points(part->source) && add_point(w, part) == 0) {
		watch_part_order(w, part, part->count - 1);
		watch_plan_started(&w->plan, part->points[part->count - 1].plan,
				   watch_sources_now(w));
		tell(w, part->points[part->count - 1].id);
	}
}

int watch_sources_add(struct watch_sources *w, const struct watch_source_ops *ops,
		      struct watch_source *source, struct places *places)
{
	struct watch_part *part = &w->parts[w->part_count];
	struct watch_part fresh = { .ops = ops, .source = source };
	int code = 0;

	if (w->part_count == WATCH_PARTS)
		return -ENOSPC;
	fresh.can_detach = ops != &watch_source_inside;
	*part = fresh;
	w->part_count++;
	while (code == 0 && part->count < ops->points(source))
		code = add_point(w, part);
	if (code < 0) {
		for (uint32_t i = 0; i < part->count; i++)
			watch_plan_fail(&w->plan, part->points[i].plan);
		free(part->points);
		*part = (struct watch_part){ .source = NULL };
		w->part_count--;
		return code;
	}
	if (places != NULL) {
		part->places = *places;
		*places = PLACES_EMPTY;
	}
	return 0;
}

/* ---- starting ---- */

/* A row that is watched no more, or was not to be attached. */
void watch_part_say_why(struct watch_sources *w, struct watch_point *point, struct str why_not)
{
	point->is_listed = true;
	watch_plan_fail(&w->plan, point->plan);
	if (point->id == NO_ID)
		return;
	watchlist_set_why_not(w->settings.list, point->id, why_not);
	tell(w, point->id);
}

static void start_part(struct watch_sources *w, struct watch_part *part)
{
	struct err err = ERR_EMPTY;

	for (uint32_t i = 0; i < part->count; i++)
		watch_part_order(w, part, i);
	if (part->ops->start(part->source, &err) < 0) {
		for (uint32_t i = 0; i < part->count; i++)
			if (!part->points[i].is_listed)
				watch_part_say_why(
					w, &part->points[i],
					(struct str){ err.msg, (uint32_t)strlen(err.msg) });
		watch_part_close(w, part);
		return;
	}
	part->started_ns = watch_sources_now(w);
	for (uint32_t i = 0; i < part->count; i++) {
		struct watch_point *point = &part->points[i];
		struct watched_row row = { .id = NO_ID };

		part->ops->describe(part->source, i, &row);
		if (row.why_not.len > 0 && !point->is_listed)
			watch_part_say_why(w, point, row.why_not);
		if (point->is_listed)
			continue;
		watch_plan_started(&w->plan, point->plan, part->started_ns);
		tell(w, point->id);
	}
	w->look_at_ns = watch_plan_wakes_ns(&w->plan, part->started_ns);
}

uint32_t watch_sources_start(struct watch_sources *w)
{
	bool is_first = !w->has_started;
	uint32_t watched = 0;

	for (uint32_t p = 0; p < w->part_count; p++) {
		struct watch_part *part = &w->parts[p];

		if (part->source != NULL && part->started_ns == 0)
			start_part(w, part);
		for (uint32_t i = 0; part->source != NULL && i < part->count; i++)
			watched += part->points[i].id != NO_ID && !part->points[i].is_listed;
	}
	if (is_first) /* nothing was counted before */
		watch_plan_turn(&w->plan, w->plan.price_ppm, watch_sources_now(w));
	w->has_started = true;
	watch_sources_measure(w);
	return watched;
}

/* ---- costs and counts ---- */

/* Has an earlier point of the same source the same mode and first instruction? */
static bool is_mode_known(const struct watch_part *part, uint32_t i)
{
	struct watched_row row = { .id = NO_ID }, old = { .id = NO_ID };

	part->ops->describe(part->source, i, &row);
	for (uint32_t k = 0; k < i; k++) {
		part->ops->describe(part->source, k, &old);
		if (!part->points[k].is_listed && watch_is_same(row.mode, old.mode) &&
		    watch_is_same(row.first, old.first))
			return true;
	}
	return false;
}

static void calibrate_part(struct watch_sources *w, struct watch_part *part)
{
	for (uint32_t i = 0; i < part->count; i++) {
		struct watch_point *point = &part->points[i];
		struct watch_costs costs = { .floor_ps = 0 };
		bool again = !is_mode_known(part, i);

		if (point->is_listed || part->ops->costs(part->source, i, again, &costs) < 0)
			continue;
		w->calibrations += costs.cpu_ns > 0;
		point->costs = pace_costs_in_force(&costs.measured, &costs.assumed);
		if (point->id != NO_ID)
			watchlist_set_costs(w->settings.list, point->id, &costs.measured,
					    &costs.assumed, costs.floor_ps);
	}
}

/* Only of sources that measure by the way: no child is started for it. */
void watch_sources_settle(struct watch_sources *w)
{
	for (uint32_t p = 0; p < w->part_count; p++)
		if (w->parts[p].source != NULL && w->parts[p].is_measured_on)
			calibrate_part(w, &w->parts[p]);
}

void watch_sources_calibrate(struct watch_sources *w)
{
	for (uint32_t p = 0; p < w->part_count; p++)
		if (w->parts[p].source != NULL)
			calibrate_part(w, &w->parts[p]);
}

void watch_sources_live(const struct watch_sources *w, uint64_t *out_calls, uint64_t *out_timed)
{
	*out_calls = w->calls;
	*out_timed = w->timed;
	for (uint32_t p = 0; p < w->part_count; p++)
		for (uint32_t i = 0; i < w->parts[p].count; i++) {
			const struct watch_point *point = &w->parts[p].points[i];

			*out_calls += point->id != NO_ID ? point->calls : 0;
			*out_timed += point->id != NO_ID ? point->timed : 0;
		}
}

bool watch_sources_has(const struct watch_sources *w, const struct watch_source_ops *ops)
{
	for (uint32_t p = 0; p < w->part_count; p++)
		if (w->parts[p].ops == ops && w->parts[p].source != NULL)
			return true;
	return false;
}

uint64_t watch_call_ps(const struct watched_row *row, uint32_t interval)
{
	struct pace_costs measured = { row->untimed_ps, row->extra_ps, row->hook_ps };
	struct pace_costs assumed = { row->assumed_untimed_ps, row->assumed_extra_ps,
				      row->assumed_hook_ps };
	struct pace_costs costs = pace_costs_in_force(&measured, &assumed);

	return pace_charge_ps(&costs, 1, 0) + costs.extra_ps / interval;
}
