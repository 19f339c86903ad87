/* made_fleet.h - a fleet that is visited cycle by cycle, a day in a moment: for tests of the gate. */
#ifndef TARE_TESTS_MADE_FLEET_H
#define TARE_TESTS_MADE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/cadence.h"
#include "core/rng.h"
#include "core/units.h"

#define FLEET_MOST 1200
#define FLEET_SALT 3u /* of a reading; any will do */

enum fate { FATE_WELL, FATE_FAILS_ALWAYS, FATE_DOWN };

struct made_fleet {
	struct cadence_pace pace;
	struct cadence_server servers[FLEET_MOST];
	enum fate fates[FLEET_MOST];
	size_t count;
	int64_t now_ns;	     /* start of the cycle */
	uint64_t cadence_ns; /* real time between two visits of a server */
	int64_t slot;
	bool was_changed; /* n, k or a seat changed in front of this slot */
	uint32_t tried;	  /* places of this slot that are gone */
	uint32_t fail_ppm;
	struct rng rng;
	/* What happened. */
	uint32_t scheduled, owed; /* captures done or tried in this slot so far */
	uint32_t slot_captures;	  /* of the last whole slot */
	int64_t worst_age;	  /* in slots, of servers that are well */
	uint32_t changes;
};

static inline void fleet_begin(struct made_fleet *f, size_t count, uint32_t n)
{
	uint32_t seats[FLEET_MOST];

	*f = (struct made_fleet){ .count = count, .cadence_ns = 60 * NS_PER_S };
	cadence_pace_init(&f->pace, 60 * NS_PER_S, 3600 * NS_PER_S, n);
	rng_seed(&f->rng, 42);
	f->now_ns = (int64_t)(UINT64_C(1700000000) / 240 * 240 * NS_PER_S);
	for (size_t i = 0; i < count; i++) {
		seats[i] = cadence_free_seat(seats, i);
		f->servers[i] = (struct cadence_server){
			seats[i], { f->now_ns, f->now_ns }, 0, true, false
		};
	}
	f->slot = cadence_slot(&f->pace, (struct wall){ f->now_ns });
}

/* Places are given when a slot begins. */
static inline void fleet_turn_slot(struct made_fleet *f, int64_t slot)
{
	f->slot_captures = f->scheduled + f->owed;
	f->slot = slot;
	f->tried = f->scheduled = f->owed = 0;
	(void)cadence_give_places(&f->pace, slot, FLEET_SALT, f->was_changed, 0, f->servers,
				  f->count);
}

static inline void fleet_visit(struct made_fleet *f, size_t i, int64_t at_ns)
{
	struct cadence_server *s = &f->servers[i];
	enum cadence_answer answer =
		cadence_answer(&f->pace, true, f->slot, FLEET_SALT, f->was_changed, s);
	bool fails = f->fates[i] != FATE_WELL || rng_coin(&f->rng, f->fail_ppm, PPM);

	if (f->fates[i] == FATE_DOWN || !CADENCE_CAPTURES(answer))
		return;
	f->scheduled += answer == CADENCE_SCHEDULED;
	f->owed += answer == CADENCE_OWED;
	s->mark.tried_wall_ns = at_ns;
	s->failures = fails ? s->failures + 1 : 0;
	if (!fails)
		s->mark.captured_wall_ns = at_ns;
}

static inline void fleet_look_at_ages(struct made_fleet *f)
{
	for (size_t i = 0; i < f->count; i++) {
		int64_t captured = cadence_slot(
			&f->pace, (struct wall){ f->servers[i].mark.captured_wall_ns });

		if (f->fates[i] == FATE_WELL && f->slot - captured > f->worst_age)
			f->worst_age = f->slot - captured;
	}
}

/* One round: every server once, spread over the cycle. Returns the captures tried in the slot that the round ended in. */
static inline uint32_t fleet_cycle(struct made_fleet *f)
{
	f->now_ns += (int64_t)f->cadence_ns;
	for (size_t i = 0; i < f->count; i++) {
		int64_t at_ns = f->now_ns + (int64_t)(f->pace.cycle_ns * i / f->count);
		int64_t slot = cadence_slot(&f->pace, (struct wall){ at_ns });

		if (slot != f->slot) {
			fleet_look_at_ages(f);
			if (i > 0)
				f->was_changed = false;
			fleet_turn_slot(f, slot);
		}
		fleet_visit(f, i, at_ns);
	}
	f->was_changed = false;
	return f->scheduled + f->owed;
}

/* F and the most that a slot may try. */
static inline uint32_t fleet_full(const struct made_fleet *f)
{
	return (uint32_t)((f->count + f->pace.n - 1) / f->pace.n);
}

static inline uint32_t fleet_most(const struct made_fleet *f)
{
	return cadence_allowance(&f->pace, (uint32_t)f->count, 0);
}

#endif
