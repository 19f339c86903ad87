/* probes_costs.c - what a call costs in the way of attaching that is in use: measured for all kinds of first instructions that
 * occur at once, and again when it is asked for. */
#include "sense/probes_parts.h"
#include "sense/watch_calibrate.h"

struct watch_costs probes_assumed_costs(struct watch_source *s, enum place_first first)
{
	enum watch_hooked hooked =
		s->mode == PROBES_SESSION ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;

	return (struct watch_costs){ .assumed = watch_assumed_probes[hooked][first],
				     .floor_ps = watch_assumed_floors_ps[first] };
}

/* What the programs take off what is timed around a call that begins so. */
static void use_floor(struct watch_source *s, enum place_first first, uint64_t floor_ps)
{
	for (uint32_t i = 0; i < s->point_count; i++)
		if (s->points[i].place->first == first)
			__atomic_store_n(&s->orders[i].floor_ns, (floor_ps + 500) / 1000,
					 __ATOMIC_RELAXED);
}

/* Measures all kinds that occur. Where nothing could be measured the older measurement stays. */
static int measure(struct watch_source *s)
{
	struct watch_costs costs[PLACE_FIRSTS];
	bool wanted[PLACE_FIRSTS] = { false };
	int status;

	for (uint32_t i = 0; i < s->point_count; i++)
		wanted[s->points[i].place->first] = true;
	status = watch_calibrate_probes(wanted, s->switched_off, costs);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		struct probes_costs *known = &s->costs[first];

		known->is_told = false;
		if (!wanted[first] || (status < 0 && known->is_measured))
			continue;
		known->is_measured = true;
		known->costs = costs[first];
		known->costs.cpu_ns = 0;
		if (costs[first].floor_ps != 0)
			use_floor(s, first, costs[first].floor_ps);
	}
	s->calibration_ns = costs[0].cpu_ns;
	return status;
}

int probes_costs(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out)
{
	struct probes_costs *known = &s->costs[s->points[point].place->first];
	int status = 0;

	if (!known->is_measured || (again && known->is_told))
		status = measure(s);
	known->is_told = true;
	*out = known->costs;
	out->cpu_ns = s->calibration_ns;
	s->calibration_ns = 0;
	return status;
}
