/* watch_calibrate_probes.c - what probes cost: four functions that are the same lie in a program that nobody else runs; one has
 * no probe, one a probe that does nothing, one a probe that counts, one a probe that times every call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/gap.h"
#include "core/scoped.h"
#include "core/units.h"
#include "sense/probes.h"
#include "sense/watch_bodies.h"
#include "sense/watch_calibrate.h"

#define NO_LIMIT   0   /* of timed calls in a window */
#define PASSES	   64u /* that are kept; the caller spreads them over what is to be told */
#define PASSES_FEW 4u
#define PASS_CALLS 64u /* at most in a round of a pass */

/* The functions that begin in one way. */
struct four {
	enum place_first first;
	uint32_t body;			     /* of the first one */
	uint32_t untimed_point, timed_point; /* of the source that counts */
};

/* What is known of one kind of first instruction, ps a call. */
struct kind {
	struct pace_costs first; /* as measured at the start */
	uint64_t plain_ps;	 /* without a probe */
	uint32_t calls[2];	 /* in a round of the body that counts, and of the one that times */
	uint64_t ps[2][PASSES];	 /* rounds since it was told last */
};

struct watch_calibration {
	struct watch_bodies bodies;
	struct watch_source *empty, *counting;
	struct four fours[PLACE_FIRSTS];
	uint32_t count;			 /* of fours */
	enum watch_hooked way;		 /* a session stands for a pair too: what serves here */
	uint32_t passes;		 /* since it was told last; of those PASSES are kept */
	struct kind kinds[PLACE_FIRSTS]; /* as fours */
	struct place hooked[PLACE_FIRSTS], counted[2 * PLACE_FIRSTS];
};

uint64_t watch_calibration_close(struct watch_calibration *c)
{
	uint64_t cpu_ns;

	if (c == NULL)
		return 0;
	if (c->counting != NULL)
		watch_source_probes.close(c->counting);
	if (c->empty != NULL)
		watch_source_probes.close(c->empty);
	cpu_ns = watch_bodies_close(&c->bodies);
	free(c);
	return cpu_ns;
}

/* Where one body lies in the program's file. */
static int find_place(struct watch_calibration *c, const struct four *four,
		      enum watch_probed probed, struct place *out)
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
			       /* it does not; but is treated so */
			       .may_throw = c->way == WATCH_HOOKED_EXITS,
			       .first = four->first };
	return 0;
}

/* The functions that are wanted and that this machine has. */
static int find_places(struct watch_calibration *c, const bool wanted[PLACE_FIRSTS])
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
static int attach(struct watch_calibration *c, const char *switched_off)
{
	struct places hooked = { .rows = c->hooked, .count = c->count };
	struct places counted = { .rows = c->counted, .count = (size_t)2 * c->count };
	struct watch_source_settings settings = { .pid = c->bodies.pid,
						  .places = &hooked,
						  .interval = GAP_MAX_INTERVAL,
						  .only_counts = c->way == WATCH_HOOKED_ENTRY,
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

static void set_intervals(struct watch_calibration *c)
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
static uint64_t read_floor_ps(struct watch_calibration *c, uint32_t point)
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

/* What timing adds; where nothing is timed the two bodies differ by noise only. */
static uint64_t extra_of(const struct watch_calibration *c, uint64_t counted_ps, uint64_t timed_ps)
{
	return c->way == WATCH_HOOKED_ENTRY ? 0 : more(counted_ps, timed_ps);
}

static int measure(struct watch_calibration *c, struct watch_costs out[PLACE_FIRSTS])
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
		status = watch_source_probes.turn(c->counting, false);
	if (status != 0)
		return status;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct watch_body_price *four = &prices[WATCH_PROBED_COUNT * i];
		struct watch_costs *costs = &out[c->fours[i].first];

		costs->measured = (struct pace_costs){
			.hook_ps = more(four[WATCH_PROBED_PLAIN].ps, four[WATCH_PROBED_HOOKED].ps),
			.untimed_ps =
				more(four[WATCH_PROBED_HOOKED].ps, four[WATCH_PROBED_UNTIMED].ps),
			.extra_ps = extra_of(c, four[WATCH_PROBED_UNTIMED].ps,
					     four[WATCH_PROBED_TIMED].ps)
		};
		costs->floor_ps = read_floor_ps(c, c->fours[i].timed_point);
		c->kinds[i] = (struct kind){ .first = costs->measured,
					     .plain_ps = four[WATCH_PROBED_PLAIN].ps,
					     .calls = { four[WATCH_PROBED_UNTIMED].calls,
							four[WATCH_PROBED_TIMED].calls } };
	}
	watch_source_probes.close(c->empty); /* of no use while a recording runs */
	c->empty = NULL;
	return 0;
}

/* How probes are attached here, by what the source says of a point. */
static enum watch_hooked hooked_by(struct watch_source *source, enum watch_hooked wanted)
{
	struct watch_source_facts facts;

	if (wanted == WATCH_HOOKED_EXITS || wanted == WATCH_HOOKED_ENTRY)
		return wanted;
	if (source == NULL)
		return WATCH_HOOKED_PAIR; /* the dearer one */
	watch_source_probes.facts(source, &facts);
	return strcmp(facts.hook, "session") == 0 ? WATCH_HOOKED_SESSION : WATCH_HOOKED_PAIR;
}

int watch_calibration_open(const bool wanted[PLACE_FIRSTS], enum watch_hooked hooked,
			   const char *switched_off, struct watch_costs out[PLACE_FIRSTS],
			   struct watch_calibration **out_calibration)
{
	struct watch_calibration *c = calloc(1, sizeof(*c));
	int status = c != NULL ? 0 : -ENOMEM;

	for (uint32_t first = 0; first < PLACE_FIRSTS; first++)
		out[first] = (struct watch_costs){ .floor_ps = 0 };
	if (c != NULL) {
		c->way = hooked;
		c->bodies = WATCH_BODIES_EMPTY;
		status = watch_bodies_open(&c->bodies);
	}
	if (status == 0)
		status = find_places(c, wanted);
	if (status == 0)
		status = attach(c, switched_off);
	if (status == 0)
		status = measure(c, out);
	hooked = hooked_by(c != NULL ? c->counting : NULL, hooked);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++)
		out[first].assumed = watch_assumed_probes[hooked][first];
	out[0].cpu_ns = status == 0 ? c->bodies.cpu_ns : watch_calibration_close(c);
	*out_calibration = status == 0 ? c : NULL;
	return status;
}

uint64_t watch_calibration_cpu_ns(const struct watch_calibration *c)
{
	return c->bodies.cpu_ns;
}

/* ---- while a recording runs ---- */

/* One round of each of the two. */
static int pass_kind(struct watch_calibration *c, uint32_t i)
{
	static const enum watch_probed bodies[2] = { WATCH_PROBED_UNTIMED, WATCH_PROBED_TIMED };
	struct kind *kind = &c->kinds[i];

	for (uint32_t k = 0; k < 2; k++) {
		uint32_t calls = kind->calls[k] < PASS_CALLS ? kind->calls[k] : PASS_CALLS;
		int status = watch_bodies_round(&c->bodies, c->fours[i].body + bodies[k], calls,
						&kind->ps[k][c->passes % PASSES]);

		if (status < 0)
			return status;
	}
	return 0;
}

bool watch_calibration_pass(struct watch_calibration *c)
{
	int status = 0;

	for (uint32_t i = 0; i < c->count && status == 0; i++)
		status = pass_kind(c, i);
	c->passes += status == 0;
	return status == 0 || status == -ETIMEDOUT;
}

/* What counts is split into hook and counting as it was when each was measured alone. */
static struct pace_costs costs_by(const struct watch_calibration *c, const struct kind *kind,
				  uint64_t counted_ps, uint64_t timed_ps)
{
	uint64_t first_ps = kind->first.hook_ps + kind->first.untimed_ps;
	uint64_t taken_ps = more(kind->plain_ps, counted_ps);
	struct pace_costs costs = { .extra_ps = extra_of(c, counted_ps, timed_ps) };

	if (first_ps == 0)
		return costs;
	costs.hook_ps = (uint64_t)((unsigned __int128)taken_ps * kind->first.hook_ps / first_ps);
	costs.untimed_ps = taken_ps - costs.hook_ps;
	return costs;
}

bool watch_calibration_tell(struct watch_calibration *c, struct watch_costs out[PLACE_FIRSTS])
{
	uint32_t count = c->passes < PASSES ? c->passes : PASSES;

	if (c->passes < PASSES_FEW)
		return false;
	for (uint32_t i = 0; i < c->count; i++) {
		struct kind *kind = &c->kinds[i];
		uint64_t counted_ps = watch_bodies_middle(kind->ps[0], count);
		uint64_t timed_ps = watch_bodies_middle(kind->ps[1], count);

		out[c->fours[i].first].measured = costs_by(c, kind, counted_ps, timed_ps);
	}
	c->passes = 0;
	return true;
}

/* ---- once ---- */

static int calibrate(const bool wanted[PLACE_FIRSTS], enum watch_hooked hooked,
		     const char *switched_off, struct watch_costs out[PLACE_FIRSTS])
{
	struct watch_calibration *c;
	int status = watch_calibration_open(wanted, hooked, switched_off, out, &c);

	if (status == 0)
		out[0].cpu_ns = watch_calibration_close(c);
	return status;
}

int watch_calibrate_probes(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			   struct watch_costs out[PLACE_FIRSTS])
{
	return calibrate(wanted, WATCH_HOOKED_SESSION, switched_off, out);
}

int watch_calibrate_exits(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			  struct watch_costs out[PLACE_FIRSTS])
{
	return calibrate(wanted, WATCH_HOOKED_EXITS, switched_off, out);
}

int watch_calibrate_entries(const bool wanted[PLACE_FIRSTS], const char *switched_off,
			    struct watch_costs out[PLACE_FIRSTS])
{
	return calibrate(wanted, WATCH_HOOKED_ENTRY, switched_off, out);
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
