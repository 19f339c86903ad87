/* watch_calibrate_probes.c - what probes cost: four functions that are the same lie in a program that nobody else runs; one has
 * no probe, one a probe that does nothing, one a probe that counts, one a probe that times every call. */
#include <errno.h>
#include <string.h>

#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"
#include "sense/probes.h"
#include "sense/watch_bodies.h"
#include "sense/watch_calibrate.h"

#define NO_LIMIT 0 /* of timed calls in a window */

/* The functions that begin in one way. */
struct four {
	enum place_first first;
	uint32_t body;			     /* of the first one */
	uint32_t untimed_point, timed_point; /* of the source that counts */
};

struct calibration {
	struct watch_bodies bodies;
	struct watch_source *empty, *counting;
	struct four fours[PLACE_FIRSTS];
	uint32_t count; /* of fours */
	bool by_exits;	/* else by return probes, or what serves for them */
	struct place hooked[PLACE_FIRSTS], counted[2 * PLACE_FIRSTS];
};

static uint64_t end_calibration(struct calibration *c)
{
	if (c->counting != NULL)
		watch_source_probes.close(c->counting);
	if (c->empty != NULL)
		watch_source_probes.close(c->empty);
	return watch_bodies_close(&c->bodies);
}

/* Where one body lies in the program's file. */
static int find_place(struct calibration *c, const struct four *four, enum watch_probed probed,
		      struct place *out)
{
	struct watch_body_told told;
	int status = watch_bodies_call(&c->bodies, four->body + probed, 0, &told);

	if (status != 0)
		return status;
	*out = (struct place){ .name = STR_LITERAL("body"),
			       .module = STR_LITERAL("tare-body"),
			       .path = c->bodies.path,
			       .offset = told.offset,
			       .start = told.offset,
			       .bytes = watch_body_bytes[four->first],
			       .may_throw = c->by_exits, /* it does not; but is treated so */
			       .first = four->first };
	return 0;
}

/* The functions that are wanted and that this machine has. */
static int find_places(struct calibration *c, const bool wanted[PLACE_FIRSTS])
{
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		struct four *four = &c->fours[c->count];
		struct place *counted = &c->counted[2 * c->count];
		int status;

		*four = (struct four){ .first = (enum place_first)first,
				       .body = WATCH_BODY_PROBED + WATCH_PROBED_COUNT * first,
				       .untimed_point = 2 * c->count,
				       .timed_point = 2 * c->count + 1 };
		if (!wanted[first])
			continue;
		status = find_place(c, four, WATCH_PROBED_HOOKED, &c->hooked[c->count]);
		if (status == 0)
			status = find_place(c, four, WATCH_PROBED_UNTIMED, &counted[0]);
		if (status == 0)
			status = find_place(c, four, WATCH_PROBED_TIMED, &counted[1]);
		if (status != 0 && status != -ENOENT)
			return status;
		c->count += status == 0;
	}
	return c->count > 0 ? 0 : -ENOENT;
}

/* Attaches to all of them. A point that could not be attached would read as costing nothing: none may be missing. */
static int attach(struct calibration *c, const char *switched_off)
{
	struct places hooked = { .rows = c->hooked, .count = c->count };
	struct places counted = { .rows = c->counted, .count = (size_t)2 * c->count };
	struct watch_source_settings settings = { .pid = c->bodies.pid,
						  .places = &hooked,
						  .interval = GAP_MAX_INTERVAL,
						  .switched_off = switched_off };
	struct err err = ERR_EMPTY;
	int status = probes_open_empty(&settings, &c->empty, &err);

	settings.places = &counted;
	if (status == 0)
		status = watch_source_probes.open(&settings, &c->counting, &err);
	if (status == 0)
		status = watch_source_probes.start(c->empty, &err);
	if (status == 0)
		status = watch_source_probes.start(c->counting, &err);
	for (uint32_t i = 0; i < 3 * c->count && status == 0; i++) {
		struct watched_row row = { .id = 0 };

		watch_source_probes.describe(i < c->count ? c->empty : c->counting,
					     i < c->count ? i : i - c->count, &row);
		if (row.why_not.len > 0)
			status = -ENOTSUP;
	}
	return status;
}

static void set_intervals(struct calibration *c)
{
	struct watch_order never = { .interval = GAP_MAX_INTERVAL, .budget = NO_LIMIT };
	struct watch_order always = { .interval = 1, .budget = NO_LIMIT };

	for (uint32_t i = 0; i < c->count; i++) {
		watch_source_probes.order(c->counting, c->fours[i].untimed_point, &never);
		watch_source_probes.order(c->counting, c->fours[i].timed_point, &always);
	}
}

static uint64_t more(uint64_t than, uint64_t ps)
{
	return ps > than ? ps - than : 0;
}

/* What the probes' own readings of an empty function are. 0: none was read. */
static uint64_t read_floor_ps(struct calibration *c, uint32_t point)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct watchlist_losses losses;
	struct calls_seen seen;
	uint64_t ps = 0;

	if (watch_source_probes.seen(c->counting, point, NS_PER_S, &seen, &histogram, &losses) == 0)
		ps = watch_calibrate_floor_ps(&histogram);
	histogram_free(&histogram);
	return ps;
}

static int measure(struct calibration *c, struct watch_costs out[PLACE_FIRSTS])
{
	struct watch_body_price prices[PLACE_FIRSTS * WATCH_PROBED_COUNT];
	uint32_t count = WATCH_PROBED_COUNT * c->count;
	int status;

	set_intervals(c);
	for (uint32_t i = 0; i < count; i++)
		prices[i] =
			(struct watch_body_price){ .body = c->fours[i / WATCH_PROBED_COUNT].body +
							   i % WATCH_PROBED_COUNT };
	status = watch_bodies_measure(&c->bodies, prices, count);
	if (status == 0)
		status = watch_source_probes.turn(c->counting);
	if (status != 0)
		return status;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct watch_body_price *four = &prices[WATCH_PROBED_COUNT * i];
		struct watch_costs *costs = &out[c->fours[i].first];

		costs->measured = (struct pace_costs){
			.hook_ps = more(four[WATCH_PROBED_PLAIN].ps, four[WATCH_PROBED_HOOKED].ps),
			.untimed_ps =
				more(four[WATCH_PROBED_HOOKED].ps, four[WATCH_PROBED_UNTIMED].ps),
			.extra_ps = more(four[WATCH_PROBED_UNTIMED].ps, four[WATCH_PROBED_TIMED].ps)
		};
		costs->floor_ps = read_floor_ps(c, c->fours[i].timed_point);
	}
	return 0;
}

/* How probes are attached here, by what the source says of a point. */
static enum watch_hooked hooked_by(struct watch_source *source, bool by_exits)
{
	struct watch_source_facts facts;

	if (by_exits)
		return WATCH_HOOKED_EXITS;
	if (source == NULL)
		return WATCH_HOOKED_PAIR; /* the dearer one */
	watch_source_probes.facts(source, &facts);
	return strcmp(facts.hook, "session") == 0 ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;
}

static int calibrate(const bool wanted[PLACE_FIRSTS], bool by_exits, const char *switched_off,
		     struct watch_costs out[PLACE_FIRSTS])
{
	struct calibration c = { .bodies = WATCH_BODIES_EMPTY, .by_exits = by_exits };
	enum watch_hooked hooked;
	uint64_t cpu_ns;
	int status = watch_bodies_open(&c.bodies);

	for (uint32_t first = 0; first < PLACE_FIRSTS; first++)
		out[first] = (struct watch_costs){ .floor_ps = 0 };
	if (status == 0)
		status = find_places(&c, wanted);
	if (status == 0)
		status = attach(&c, switched_off);
	if (status == 0)
		status = measure(&c, out);
	hooked = hooked_by(c.counting, by_exits);
	cpu_ns = end_calibration(&c);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++)
		out[first].assumed = watch_assumed_probes[hooked][first];
	out[0].cpu_ns = cpu_ns;
	return status;
}

int watch_calibrate_probes(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			   struct watch_costs out[PLACE_FIRSTS])
{
	return calibrate(wanted, false, switched_off, out);
}

int watch_calibrate_exits(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			  struct watch_costs out[PLACE_FIRSTS])
{
	return calibrate(wanted, true, switched_off, out);
}

int watch_calibrate_probe(enum place_first first, const char *switched_off, struct watch_costs *out)
{
	struct watch_costs all[PLACE_FIRSTS];
	bool wanted[PLACE_FIRSTS] = { false };
	int status;

	wanted[first] = true;
	status = watch_calibrate_probes(wanted, switched_off, all);
	*out = all[first];
	out->cpu_ns = all[0].cpu_ns;
	return status;
}
