/* probes_costs.c - what a call costs in the way of attaching that is in use: measured for all kinds of first instructions that
 * occur at once, and again when it is asked for. */
#include "sense/probes_parts.h"
#include "sense/watch_calibrate.h"

static enum watch_hooked hooked_of(const struct watch_source *s, uint32_t point)
{
	if (s->points[point].exits.count > 0)
		return WATCH_HOOKED_EXITS;
	if (s->points[point].is_counted && s->mode != PROBES_SESSION)
		return WATCH_HOOKED_ENTRY;
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

static void want(const struct watch_source *s, enum watch_hooked hooked, bool wanted[PLACE_FIRSTS])
{
	for (uint32_t i = 0; i < s->point_count; i++)
		if (hooked_of(s, i) == hooked)
			wanted[s->points[i].place->first] = true;
}

/* Measures all kinds that occur with this way to attach. Where nothing could be measured the older measurement stays. */
static int measure(struct watch_source *s, enum watch_hooked hooked)
{
	struct probes_measure *by = &s->measures[hooked];
	struct watch_costs costs[PLACE_FIRSTS];
	bool wanted[PLACE_FIRSTS] = { false };
	int status;

	want(s, hooked, wanted);
	status = watch_calibration_open(wanted, hooked, s->switched_off, costs, &by->calibration);
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
	s->calibration_ns = by->told_cpu_ns = costs[0].cpu_ns;
	return status;
}

/* Takes what the child has measured since it was asked last; too little counts on. */
static void take_measure(struct watch_source *s, enum watch_hooked hooked)
{
	struct probes_measure *by = &s->measures[hooked];
	struct watch_costs costs[PLACE_FIRSTS];
	bool wanted[PLACE_FIRSTS] = { false };

	want(s, hooked, wanted);
	if (!watch_calibration_tell(by->calibration, costs))
		return;
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		if (!wanted[first] || !s->costs[hooked][first].is_measured)
			continue;
		s->costs[hooked][first].costs.measured = costs[first].measured;
		s->costs[hooked][first].is_told = false;
	}
	s->calibration_ns = watch_calibration_cpu_ns(by->calibration) - by->told_cpu_ns;
	by->told_cpu_ns += s->calibration_ns;
}

int probes_costs(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out)
{
	enum watch_hooked hooked = hooked_of(s, point);
	struct probes_costs *known = &s->costs[hooked][s->points[point].place->first];
	int status = 0;

	if (again && known->is_told && s->measures[hooked].calibration != NULL)
		take_measure(s, hooked);
	else if (!known->is_measured || (again && known->is_told))
		status = measure(s, hooked);
	known->is_told = true;
	*out = known->costs;
	out->cpu_ns = s->calibration_ns;
	s->calibration_ns = 0;
	return status;
}

uint64_t probes_measure(struct watch_source *s)
{
	uint64_t cpu_ns = 0;

	for (uint32_t hooked = 0; hooked < WATCH_HOOKEDS; hooked++) {
		struct watch_calibration **calibration = &s->measures[hooked].calibration;

		if (*calibration == NULL)
			continue;
		if (!watch_calibration_pass(*calibration)) {
			watch_calibration_close(*calibration);
			*calibration = NULL;
			continue;
		}
		cpu_ns += watch_calibration_cpu_ns(*calibration);
	}
	return cpu_ns;
}

void probes_end_measures(struct watch_source *s)
{
	for (uint32_t hooked = 0; hooked < WATCH_HOOKEDS; hooked++) {
		watch_calibration_close(s->measures[hooked].calibration);
		s->measures[hooked].calibration = NULL;
	}
}
