/* probes_costs.c - what a call costs in the way of attaching that is in use: measured once a kind of first instruction, and
 * again when it is asked for. */
#include "sense/probes_parts.h"
#include "sense/watch_calibrate.h"

/* What an empty function read as on one machine (Linux 6.18, x86-64, a virtual one): for nesting until it is measured. */
static const uint64_t assumed_floor_ps[PLACE_FIRSTS] = {
	[PLACE_NOP5] = 700000, [PLACE_PUSH] = 900000, [PLACE_OTHER] = 5600000
};

struct watch_costs probes_assumed_costs(struct watch_source *s, enum place_first first)
{
	enum watch_hooked hooked =
		s->mode == PROBES_SESSION ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;

	return (struct watch_costs){ .assumed = watch_assumed_probes[hooked][first],
				     .floor_ps = assumed_floor_ps[first] };
}

/* What the programs take off what is timed around a call that begins so. */
static void use_floor(struct watch_source *s, enum place_first first, uint64_t floor_ps)
{
	for (uint32_t i = 0; i < s->point_count; i++)
		if (s->points[i].place->first == first)
			__atomic_store_n(&s->orders[i].floor_ns, (floor_ps + 500) / 1000,
					 __ATOMIC_RELAXED);
}

int probes_costs(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out)
{
	enum place_first first = s->points[point].place->first;
	struct probes_costs *known = &s->costs[first];
	int status = 0;

	if (again || !known->is_measured) {
		known->costs = probes_assumed_costs(s, first);
		known->costs.floor_ps = 0;
		known->is_measured = true;
		if (known->costs.floor_ps != 0)
			use_floor(s, first, known->costs.floor_ps);
	}
	*out = known->costs;
	return status;
}
