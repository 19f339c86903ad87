/* probes_costs.c - what a call costs in the way of attaching that is in use: measured for all kinds of first instructions that
 * occur at once, and again when it is asked for. */
#include "sense/probes_parts.h"
#include "sense/watch_calibrate.h"

static enum watch_hooked hooked_of(const struct watch_source *s, uint32_t point)
{
	if (s->points[point].exits.count > 0)
		return WATCH_HOOKED_EXITS;
	return s->mode == PROBES_SESSION ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;
}

struct watch_costs probes_assumed(const struct watch_source *s, uint32_t point)
{
	enum place_first first = s->points[point].place->first;

	return (struct watch_costs){ .assumed = watch_assumed_probes[hooked_of(s, point)][first],
				     .floor_ps = watch_assumed_floors_ps[first] };
}

/* What the programs take off what is timed around a call of such a point. */
static void use_floor(struct watch_source *s, enum watch_hooked hooked, enum place_first first,
		      uint64_t floor_ps)
{
	for (uint32_t i = 0; i < s->point_count; i++)
		if (s->points[i].place->first == first && hooked_of(s, i) == hooked)
			__atomic_store_n(&s->orders[i].floor_ns, (floor_ps + 500) / 1000,
					 __ATOMIC_RELAXED);
}

/* Measures all kinds that occur with this way to attach. Where nothing could be measured the older measurement stays. */
static int measure(struct watch_source *s, enum watch_hooked hooked)
{
	struct watch_costs costs[PLACE_FIRSTS];
	bool wanted[PLACE_FIRSTS] = { false };
	int status;

	for (uint32_t i = 0; i < s->point_count; i++)
		if (hooked_of(s, i) == hooked)
			wanted[s->points[i].place->first] = true;
	status = hooked == WATCH_HOOKED_EXITS
			 ? watch_calibrate_exits(wanted, s->switched_off, costs)
			 : watch_calibrate_probes(wanted, s->switched_off, costs);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		struct probes_costs *known = &s->costs[hooked][first];

		known->is_told = false;
		if (!wanted[first] || (status < 0 && known->is_measured))
			continue;
		known->is_measured = true;
		known->costs = costs[first];
		known->costs.cpu_ns = 0;
		if (costs[first].floor_ps != 0)
			use_floor(s, hooked, first, costs[first].floor_ps);
	}
	s->calibration_ns = costs[0].cpu_ns;
	return status;
}

int probes_costs(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out)
{
	enum watch_hooked hooked = hooked_of(s, point);
	struct probes_costs *known = &s->costs[hooked][s->points[point].place->first];
	int status = 0;

	if (!known->is_measured || (again && known->is_told))
		status = measure(s, hooked);
	known->is_told = true;
	*out = known->costs;
	out->cpu_ns = s->calibration_ns;
	s->calibration_ns = 0;
	return status;
}
