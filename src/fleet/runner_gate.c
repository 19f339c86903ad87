/* runner_gate.c - the capture gate of core/cadence over this runner's servers: slots, places, answers, marks. A visit belongs to the slot that its
 * cycle began in, however late it begins: so a slot's captures are those of its seats. */
#include <stdlib.h>

#include "fleet/runner_own.h"

#define SALT READING_STATEMENTS /* of the only reading with a capture half */

int64_t gate_slot_of(const struct runner *r, struct wall due)
{
	return cadence_slot(&r->pace, due);
}

static void set_slot_alarm(struct runner *r)
{
	uint64_t slot_ns = cadence_slot_ns(&r->pace);
	int64_t now_ns = loop_wall().ns, end_ns = (r->slot + 1) * (int64_t)slot_ns;
	uint64_t wait_ns = end_ns > now_ns ? (uint64_t)(end_ns - now_ns) : 0;

	/* The clock was set back: not longer than a slot lasts. */
	loop_set(r->loop, &r->slot_alarm, loop_now().ns + (wait_ns < slot_ns ? wait_ns : slot_ns));
}

/* Owed captures get their places. Without memory for it: none in this slot, they stay owed. */
static void give_places(struct runner *r)
{
	struct cadence_server *servers = calloc(r->count + 1, sizeof(*servers));
	uint32_t scheduled = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct station *s = r->stations[i];

		s->gate.is_visitable = s->is_on && !lane_is_in(&s->lane);
		s->gate.has_place = false;
		scheduled += !r->was_changed &&
			     cadence_is_scheduled(&r->pace, r->slot, s->gate.seat, SALT);
		if (servers != NULL)
			servers[i] = s->gate;
	}
	r->allowance = cadence_allowance(&r->pace, (uint32_t)r->count, scheduled);
	if (servers != NULL && cadence_give_places(&r->pace, r->slot, SALT, r->was_changed,
						   r->tried, servers, r->count) >= 0)
		for (size_t i = 0; i < r->count; i++)
			r->stations[i]->gate.has_place = servers[i].has_place;
	free(servers);
}

void gate_turn(struct runner *r, int64_t slot)
{
	struct mono now = loop_now();

	r->captures_before = slot == r->slot + 1 ? r->captures : 0;
	r->captures = r->tried = 0;
	r->was_changed = cadence_pace_turn(&r->pace, spacing_ns(&r->spacing, now, 95));
	/* A slot of another length has another number. */
	r->slot = r->was_changed ? cadence_slot(&r->pace, loop_wall()) : slot;
	give_places(r);
	set_slot_alarm(r);
}

static void slot_ends(void *owner)
{
	struct runner *r = owner;
	int64_t slot = cadence_slot(&r->pace, loop_wall());

	gate_turn(r, slot > r->slot ? slot : r->slot + 1);
}

void gate_init(struct runner *r, const struct collect_settings *s, bool is_first)
{
	struct cadence_pace before = r->pace;
	uint32_t n = cadence_n_of(s->one_in);

	if (is_first) {
		cadence_pace_init(&r->pace, s->cycle_ns, s->visit.reach_ns, n);
		r->slot_alarm = (struct loop_alarm){ .ring = slot_ends, .owner = r };
		r->slot = cadence_slot(&r->pace, loop_wall());
	} else {
		cadence_pace_set(&r->pace, s->cycle_ns, s->visit.reach_ns, n);
	}
	if (!is_first && (before.n != r->pace.n || before.k != r->pace.k ||
			  before.cycle_ns != r->pace.cycle_ns)) {
		r->slot = cadence_slot(&r->pace, loop_wall());
		r->was_changed = true;
		if (before.cycle_ns != r->pace.cycle_ns)
			r->spacing = (struct spacing){ 0 };
		give_places(r);
	}
	set_slot_alarm(r);
}

void runner_resume(struct runner *r, uint32_t k, uint32_t k_before, uint32_t n)
{
	cadence_pace_resume(&r->pace, k, k_before, n);
	r->slot = cadence_slot(&r->pace, loop_wall());
	set_slot_alarm(r);
}

void gate_switch(struct station *s, bool is_on)
{
	int64_t now_ns = loop_wall().ns;

	if (is_on && !s->is_on) {
		s->gate.mark = (struct cadence_mark){ now_ns, now_ns };
		s->is_first_sight = s->is_mark_new = true;
	}
	s->is_on = is_on;
}

enum cadence_answer gate_answer(struct station *s, int64_t slot)
{
	struct runner *r = s->runner;
	bool was_changed = (r->was_changed && slot == r->slot) || s->seat_slot == slot;
	enum cadence_answer answer =
		cadence_answer(&r->pace, s->is_on, slot, SALT, was_changed, &s->gate);

	if (answer != CADENCE_OWED)
		return answer;
	if (r->owner.take_place != NULL &&
	    !r->owner.take_place(r->owner.owner, READING_STATEMENTS, r->slot, r->allowance))
		return CADENCE_GATED;
	s->gate.has_place = false;
	r->tried++;
	return answer;
}

void gate_tried(struct visit *v, bool has_captured)
{
	struct station *s = v->station;
	struct runner *r = v->runner;

	if (!CADENCE_CAPTURES(v->settings.capture))
		return;
	s->is_mark_new = true;
	/* The time of its cycle, not of the clock: a late visit is still one of its own slot. */
	if (v->due.ns > s->gate.mark.tried_wall_ns)
		s->gate.mark.tried_wall_ns = v->due.ns;
	if (!has_captured)
		return;
	if (v->due.ns > s->gate.mark.captured_wall_ns)
		s->gate.mark.captured_wall_ns = v->due.ns;
	s->is_first_sight = false;
	if (v->slot == r->slot)
		r->captures++;
	else if (v->slot == r->slot - 1)
		r->captures_before++;
}
