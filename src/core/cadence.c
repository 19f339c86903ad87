/* cadence.c - turn slots, phases and turns; who captures in a slot; seats. */
#include "core/cadence.h"

#include <errno.h>
#include <stdlib.h>

uint32_t cadence_n_of(int64_t setting)
{
	if (setting <= 0)
		return 1;
	return setting > CADENCE_N_MOST ? CADENCE_N_MOST : (uint32_t)setting;
}

/* The smallest k with p95 <= 1.1 * k * cycle. */
static uint32_t k_needed(const struct cadence_pace *p, uint64_t p95_ns)
{
	for (uint32_t k = 1; k < CADENCE_K_MOST; k++)
		if (p95_ns <= k * p->cycle_ns + k * p->cycle_ns / 10)
			return k;
	return CADENCE_K_MOST;
}

/* The largest N with (N + 1) * L <= reach: one retry is included. Never below 1, never above what was set. */
static uint32_t n_allowed(const struct cadence_pace *p)
{
	uint64_t slots = p->reach_ns / cadence_slot_ns(p);
	uint64_t n = slots > 2 ? slots - 1 : 1;

	return n < p->n_given ? (uint32_t)n : p->n_given;
}

void cadence_pace_init(struct cadence_pace *p, uint64_t cycle_ns, uint64_t reach_ns,
		       uint32_t n_given)
{
	*p = (struct cadence_pace){
		.cycle_ns = cycle_ns, .reach_ns = reach_ns, .n_given = n_given, .k = 1
	};
	p->n = n_allowed(p);
}

void cadence_pace_resume(struct cadence_pace *p, uint32_t k, uint32_t k_before, uint32_t n)
{
	if (k == 0)
		return;
	p->k = k < CADENCE_K_MOST ? k : CADENCE_K_MOST;
	p->n = n_allowed(p);
	if (k_before > k && n >= 1 && n < p->n)
		p->n = n;
	p->calm_k = p->calm_n = 0;
}

void cadence_pace_set(struct cadence_pace *p, uint64_t cycle_ns, uint64_t reach_ns,
		      uint32_t n_given)
{
	if (cycle_ns == p->cycle_ns && reach_ns == p->reach_ns && n_given == p->n_given)
		return;
	/* k was measured in cycles of the old length: it is measured anew. */
	if (cycle_ns != p->cycle_ns)
		p->k = 1;
	p->cycle_ns = cycle_ns;
	p->reach_ns = reach_ns;
	p->n_given = n_given;
	p->n = n_allowed(p); /* what a person asked for needs no calm slots */
	p->calm_k = p->calm_n = 0;
}

/* k follows up at once, and down after ten slots that needed less: to the most that any of them needed. */
static void turn_k(struct cadence_pace *p, uint32_t needed)
{
	if (needed >= p->k) {
		p->k = needed;
		p->calm_k = 0;
		return;
	}
	p->calm_k_needed = p->calm_k == 0 || needed > p->calm_k_needed ? needed : p->calm_k_needed;
	if (++p->calm_k < CADENCE_CALM_SLOTS)
		return;
	p->k = p->calm_k_needed;
	p->calm_k = 0;
}

/* N follows down at once, and up after ten slots that allowed more: to the least that any of them allowed. */
static void turn_n(struct cadence_pace *p, uint32_t allowed)
{
	if (allowed <= p->n) {
		p->n = allowed;
		p->calm_n = 0;
		return;
	}
	p->calm_n_allowed =
		p->calm_n == 0 || allowed < p->calm_n_allowed ? allowed : p->calm_n_allowed;
	if (++p->calm_n < CADENCE_CALM_SLOTS)
		return;
	p->n = p->calm_n_allowed;
	p->calm_n = 0;
}

bool cadence_pace_turn(struct cadence_pace *p, uint64_t p95_ns)
{
	uint32_t k = p->k, n = p->n;

	if (p95_ns == 0)
		return false;
	turn_k(p, k_needed(p, p95_ns));
	turn_n(p, n_allowed(p));
	return p->k != k || p->n != n;
}

uint64_t cadence_slot_ns(const struct cadence_pace *p)
{
	return p->k * p->cycle_ns;
}

int64_t cadence_slot(const struct cadence_pace *p, struct wall at)
{
	int64_t slot_ns = (int64_t)cadence_slot_ns(p);

	return at.ns / slot_ns - (at.ns % slot_ns < 0);
}

static uint32_t phase_of(const struct cadence_pace *p, uint32_t seat, uint32_t salt)
{
	return (uint32_t)(((uint64_t)seat + salt) % p->n);
}

static int64_t turn_of(const struct cadence_pace *p, int64_t slot, uint32_t phase)
{
	int64_t at = slot + phase;

	return at / p->n - (at % p->n < 0);
}

bool cadence_is_scheduled(const struct cadence_pace *p, int64_t slot, uint32_t seat, uint32_t salt)
{
	return (slot + phase_of(p, seat, salt)) % p->n == 0;
}

bool cadence_is_due(const struct cadence_pace *p, int64_t slot, uint32_t seat, uint32_t salt,
		    const struct cadence_mark *mark)
{
	uint32_t phase = phase_of(p, seat, salt);
	int64_t captured = cadence_slot(p, (struct wall){ mark->captured_wall_ns });

	return turn_of(p, slot, phase) != turn_of(p, captured, phase);
}

/* One try a slot: a slot of several cycles does not try again at each of them. */
static bool was_tried(const struct cadence_pace *p, int64_t slot, const struct cadence_mark *mark)
{
	return cadence_slot(p, (struct wall){ mark->tried_wall_ns }) == slot;
}

uint32_t cadence_allowance(const struct cadence_pace *p, uint32_t servers, uint32_t scheduled)
{
	uint32_t full = servers / p->n + (servers % p->n != 0);
	uint32_t most = full + (full > 8 ? full / 8 + (full % 8 != 0) : 1);

	return most > scheduled ? most - scheduled : 0;
}

/* An owed capture that waits for a place. */
struct waiting {
	bool is_hopeless;
	int64_t since_wall_ns; /* its last capture; of a hopeless one its last try */
	struct cadence_server *server;
};

static struct waiting waiting_of(struct cadence_server *s)
{
	bool is_hopeless = s->failures >= CADENCE_HOPELESS;

	return (struct waiting){ is_hopeless,
				 is_hopeless ? s->mark.tried_wall_ns : s->mark.captured_wall_ns,
				 s };
}

static int longest_first(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->is_hopeless != y->is_hopeless)
		return x->is_hopeless ? 1 : -1;
	if (x->since_wall_ns != y->since_wall_ns)
		return x->since_wall_ns < y->since_wall_ns ? -1 : 1;
	return (x->server->seat > y->server->seat) - (x->server->seat < y->server->seat);
}

static bool is_owed(const struct cadence_pace *p, int64_t slot, uint32_t salt, bool was_changed,
		    const struct cadence_server *s)
{
	return s->is_visitable && cadence_is_due(p, slot, s->seat, salt, &s->mark) &&
	       !was_tried(p, slot, &s->mark) &&
	       (was_changed || !cadence_is_scheduled(p, slot, s->seat, salt));
}

int cadence_give_places(const struct cadence_pace *p, int64_t slot, uint32_t salt, bool was_changed,
			uint32_t tried, struct cadence_server *servers, size_t count)
{
	struct waiting *waiting = malloc((count + 1) * sizeof(*waiting));
	uint32_t scheduled = 0, allowance;
	size_t waits = 0, given;

	if (waiting == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct cadence_server *s = &servers[i];

		s->has_place = false;
		scheduled += !was_changed && cadence_is_scheduled(p, slot, s->seat, salt);
		if (is_owed(p, slot, salt, was_changed, s))
			waiting[waits++] = waiting_of(s);
	}
	allowance = cadence_allowance(p, (uint32_t)count, scheduled);
	allowance = allowance > tried ? allowance - tried : 0;
	qsort(waiting, waits, sizeof(*waiting), longest_first);
	given = waits < allowance ? waits : allowance;
	for (size_t i = 0; i < given; i++)
		waiting[i].server->has_place = true;
	free(waiting);
	return (int)given;
}

enum cadence_answer cadence_answer(const struct cadence_pace *p, bool is_on, int64_t slot,
				   uint32_t salt, bool was_changed, const struct cadence_server *s)
{
	if (!is_on)
		return CADENCE_OFF;
	if (p->n_given == 1)
		return CADENCE_SCHEDULED; /* as if there were no gate */
	if (!cadence_is_due(p, slot, s->seat, salt, &s->mark) || was_tried(p, slot, &s->mark))
		return CADENCE_GATED;
	if (!was_changed && cadence_is_scheduled(p, slot, s->seat, salt))
		return CADENCE_SCHEDULED;
	return s->has_place ? CADENCE_OWED : CADENCE_GATED;
}

uint32_t cadence_free_seat(const uint32_t *taken, size_t count)
{
	enum { SPAN = 1024 };

	/* One pass for each thousand seats that are full: the lowest free one is never above `count`. */
	for (uint32_t base = 0;; base += SPAN) {
		bool is_taken[SPAN] = { false };

		for (size_t i = 0; i < count; i++)
			if (taken[i] >= base && taken[i] - base < SPAN)
				is_taken[taken[i] - base] = true;
		for (uint32_t i = 0; i < SPAN; i++)
			if (!is_taken[i])
				return base + i;
	}
}

size_t cadence_fill_hole(const uint32_t *seats, size_t count, uint32_t left)
{
	size_t highest = count;

	for (size_t i = 0; i < count; i++)
		if (seats[i] > left && (highest == count || seats[i] > seats[highest]))
			highest = i;
	return highest;
}

uint64_t cadence_model_ns(uint32_t servers, uint64_t run_ns, uint32_t most_at_once,
			  uint64_t cycle_ns)
{
	unsigned __int128 busy =
		(unsigned __int128)servers * run_ns / (most_at_once > 0 ? most_at_once : 1);
	unsigned __int128 whole = busy + cycle_ns / 2;

	if (whole > UINT64_MAX)
		return UINT64_MAX;
	return (uint64_t)whole > cycle_ns ? (uint64_t)whole : cycle_ns;
}
