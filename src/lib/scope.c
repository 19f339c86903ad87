/* scope.c - counts the calls of watched scopes and times a sample of them. */
#include <errno.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "core/gap.h"
#include "lib/inside.h"

#define TIMED	    0x80000000u /* in is_timed */
#define COLD	    __attribute__((noinline, cold))
#define DOUBLED_MAX 12u /* from 1 to MAPPING_MAX_INTERVAL */

uint64_t tare_in_now_ns(uint64_t tick_scale)
{
	struct timespec now;

#ifdef __x86_64__
	if (tick_scale != 0)
		return (uint64_t)(((unsigned __int128)__rdtsc() * tick_scale) >> 32);
#else
	(void)tick_scale;
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static struct mapping_open *open_at(struct mapping_slot *slot, uint32_t depth)
{
	return &slot->open[depth % MAPPING_DEPTH];
}

void tare_in_abandon(uint32_t depth)
{
	struct tare_in_self *self = &tare_in_self;

	while (self->depth > depth) {
		struct mapping_open *open = open_at(self->slot, --self->depth);
		uint32_t id = MAPPING_READ(open->id) % MAPPING_NAMES;

		if (self->depth < MAPPING_DEPTH && MAPPING_READ(open->is_timed) && id < self->ready)
			tare_in_add(&self->slot->entries[id].abandoned, 1);
	}
	if (self->depth == 0)
		tare_places.ready = self->ready;
}

/* A scope below the stack pointer is gone (longjmp), and so is one whose place is taken anew. Stacks grow downward;
 * after a switch to another stack this may let go of scopes that live, which are then counted and not timed. */
static inline bool is_dead(struct mapping_slot *slot, uint32_t depth, uint64_t sp,
			   const struct tare_scope *scope)
{
	struct mapping_open *open = open_at(slot, depth - 1);

	return MAPPING_READ(open->sp) < sp ||
	       MAPPING_READ(open->scope) == (uint64_t)(uintptr_t)scope;
}

/* The scopes at the end that are gone. Of those too deep to be known by place, the deepest known one decides. */
static void drop_dead(struct tare_in_self *self, uint64_t sp, const struct tare_scope *scope)
{
	while (self->depth > 0) {
		uint32_t depth = self->depth < MAPPING_DEPTH ? self->depth : MAPPING_DEPTH;

		if (!is_dead(self->slot, depth, sp, scope))
			return;
		tare_in_abandon(depth - 1);
	}
}

/* The interval that the recorder gave, whatever stands there: 1 … MAPPING_MAX_INTERVAL. */
static uint32_t interval_of(const struct mapping_control *control, uint32_t doubled)
{
	uint32_t interval = MAPPING_READ(control->interval);

	if (interval == 0)
		interval = MAPPING_READ(tare_in_shared->orders.interval);
	if (interval == 0)
		interval = MAPPING_INTERVAL;
	if (interval > MAPPING_MAX_INTERVAL)
		return MAPPING_MAX_INTERVAL;
	for (; doubled > 0 && interval < MAPPING_MAX_INTERVAL; doubled--)
		interval = gap_doubled(interval, MAPPING_MAX_INTERVAL);
	return interval;
}

/* Counts one more of a window's among all threads; returns how many there were. Gives up after some tries that other
 * threads were faster in: the count is then one short. */
static uint32_t count_in_window(uint64_t *word, uint64_t window)
{
	uint64_t seen = MAPPING_READ(*word);

	for (int tries = 0; tries < 8; tries++) {
		uint64_t had = seen >> 32 == (uint32_t)window ? (uint32_t)seen : 0;
		uint64_t next = (uint64_t)(uint32_t)window << 32 | (uint32_t)(had + 1);

		if (__atomic_compare_exchange_n(word, &seen, next, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return (uint32_t)had;
	}
	return (uint32_t)seen;
}

/* `call` is its number in this thread. */
static void start_timing(struct mapping_open *open, uint32_t weight, uint64_t call)
{
	uint64_t scale = tare_in_tick_scale();

	MAPPING_WRITE(open->weight, weight);
	MAPPING_WRITE(open->nested_ns, 0);
	MAPPING_WRITE(open->frame_nested_ns, 0);
	MAPPING_WRITE(open->tick_scale, scale);
	MAPPING_WRITE(open->is_timed, TIMED | (uint32_t)call);
	MAPPING_WRITE(open->start_ns,
		      tare_in_now_ns(scale)); /* last: what stands above is not the function's */
}

static uint32_t draw_first(struct mapping_slot *slot, uint32_t interval)
{
	uint64_t random = MAPPING_READ(slot->random);
	uint32_t gap = gap_first(&random, interval);

	MAPPING_WRITE(slot->random, random);
	return gap;
}

static uint32_t draw_later(struct mapping_slot *slot, uint32_t interval)
{
	uint64_t random = MAPPING_READ(slot->random);
	uint32_t gap = gap_later(&random, interval);

	MAPPING_WRITE(slot->random, random);
	return gap;
}

/* How often the interval has doubled by now: `doubled` times, or more when a further part of the share is spent. */
static uint32_t doubled_by(struct mapping_control *control, uint32_t doubled, uint64_t window)
{
	uint32_t budget = MAPPING_READ(control->budget);
	uint32_t timed;

	if (budget == 0)
		budget = MAPPING_READ(tare_in_shared->orders.budget);
	if (budget == 0)
		return doubled;
	timed = count_in_window(&control->timed, window);
	while (doubled < DOUBLED_MAX && timed >= gap_limit(budget, doubled))
		doubled++;
	return doubled;
}

/* A timed call that is not the window's first: the next gap, doubled where the function's share is spent, and by another
 * interval where the recorder has given one since. */
static void take_other(struct mapping_slot *slot, struct mapping_open *open, uint32_t id,
		       uint64_t window)
{
	struct mapping_control *control = &tare_in_shared->controls[id];
	struct mapping_entry *entry = &slot->entries[id];
	struct mapping_pace *pace = &slot->paces[id];
	uint32_t weight = MAPPING_READ(entry->weight);
	uint32_t given = MAPPING_READ(control->interval);
	bool is_given_anew = given != MAPPING_READ(entry->given);
	uint32_t before = is_given_anew ? 0 : MAPPING_READ(entry->doubled);
	uint32_t doubled = doubled_by(control, before, window);
	uint32_t gap;

	weight = weight - 1 < MAPPING_MAX_INTERVAL ? weight : MAPPING_MAX_INTERVAL;
	if (is_given_anew || doubled != before) {
		uint32_t interval = interval_of(control, doubled);

		gap = draw_first(slot, interval);
		MAPPING_WRITE(entry->given, given);
		MAPPING_WRITE(entry->doubled, doubled);
		MAPPING_WRITE(entry->weight, interval);
	} else {
		gap = draw_later(slot, weight);
	}
	MAPPING_WRITE(pace->due, MAPPING_READ(pace->calls) + gap);
	if (open != NULL)
		start_timing(open, weight, MAPPING_READ(pace->calls));
}

/* An untimed call that is the first to see an order: from here on its interval is in force. The gap that was drawn is void,
 * whatever was left of it. */
static void take_order(struct mapping_slot *slot, uint32_t id)
{
	struct mapping_control *control = &tare_in_shared->controls[id];
	struct mapping_entry *entry = &slot->entries[id];
	struct mapping_pace *pace = &slot->paces[id];
	uint32_t given = MAPPING_READ(control->interval);
	uint32_t interval = interval_of(control, 0);

	if (given == MAPPING_READ(entry->given))
		return;
	MAPPING_WRITE(entry->given, given);
	MAPPING_WRITE(entry->doubled, 0);
	MAPPING_WRITE(entry->weight, interval);
	MAPPING_WRITE(pace->due, MAPPING_READ(pace->calls) + draw_first(slot, interval));
}

/* The thread's first call in a window. The 1,001st thread and those after it start with a gap. */
static void take_first(struct mapping_slot *slot, struct mapping_open *open, uint32_t id,
		       uint64_t window)
{
	struct mapping_control *control = &tare_in_shared->controls[id];
	struct mapping_entry *entry = &slot->entries[id];
	struct mapping_pace *pace = &slot->paces[id];
	uint32_t given = MAPPING_READ(control->interval);
	uint32_t interval = interval_of(control, 0);
	uint64_t due = MAPPING_READ(pace->calls) + draw_first(slot, interval);

	MAPPING_WRITE(entry->doubled, 0);
	MAPPING_WRITE(entry->given, given);
	MAPPING_WRITE(entry->weight, interval);
	tare_in_begin_max(entry, window);
	if (count_in_window(&control->firsts, window) < GAP_MAX_FIRSTS) {
		MAPPING_WRITE(pace->due, due);
		if (open != NULL)
			start_timing(open, 0, MAPPING_READ(pace->calls));
		return;
	}
	MAPPING_WRITE(pace->due, due - 1); /* this call is the gap's first */
	if (due - 1 == MAPPING_READ(pace->calls))
		take_other(slot, open, id, window);
}

/* Remembers a scope as open: it is timed, or lies in one that is. From now on every call of the thread comes by here, so
 * that what lies directly inside what is known. NULL: too deep to be timed. */
static struct mapping_open *push(struct tare_in_self *self, struct tare_scope *scope, uint32_t id,
				 uint64_t sp)
{
	uint32_t depth = self->depth++;
	struct mapping_open *open;

	self->serial = (self->serial + 1) | 1; /* never 0 */
	scope->serial = self->serial;
	scope->depth = depth;
	tare_places.ready = 0;
	if (depth >= MAPPING_DEPTH)
		return NULL;
	open = open_at(self->slot, depth);
	MAPPING_WRITE(open->sp, sp);
	MAPPING_WRITE(open->scope, (uint64_t)(uintptr_t)scope);
	MAPPING_WRITE(open->serial, scope->serial);
	MAPPING_WRITE(open->id, id);
	MAPPING_WRITE(open->is_timed, 0);
	return open;
}

/* A call that has to look: the first of a window or after an order, or one that is due. */
static void take_due(struct mapping_slot *slot, struct mapping_open *open, uint32_t id)
{
	struct mapping_pace *pace = &slot->paces[id];
	uint64_t word = MAPPING_READ(tare_in_shared->orders.window);
	uint64_t window = mapping_window_number(word);
	uint64_t last = mapping_window_number(MAPPING_READ(pace->window));

	MAPPING_WRITE(pace->window, word);
	if (last != window)
		take_first(slot, open, id, window);
	else if (MAPPING_READ(pace->calls) >= MAPPING_READ(pace->due))
		take_other(slot, open, id, window);
	else
		take_order(slot, id);
}

__attribute__((noinline)) void tare_scope_due(struct tare_scope *scope, uint32_t id)
{
	struct tare_in_self *self = &tare_in_self;

	if (tare_in_is_own() && id < self->ready)
		take_due(self->slot,
			 push(self, scope, id, (uint64_t)(uintptr_t)__builtin_frame_address(0)),
			 id);
}

/* A scope inside a timed one, whether it is timed itself or not. */
static void begin_inside(struct tare_scope *scope, uint32_t id, uint64_t sp)
{
	struct tare_in_self *self = &tare_in_self;
	struct mapping_pace *pace = &self->slot->paces[id];
	uint64_t calls;
	bool is_due;

	drop_dead(self, sp, scope);
	calls = tare_count((struct tare_pace *)pace);
	is_due = calls >= MAPPING_READ(pace->due) ||
		 MAPPING_READ(pace->window) != MAPPING_READ(tare_in_shared->orders.window);
	if (is_due || self->depth > 0) {
		struct mapping_open *open = push(self, scope, id, sp);

		if (is_due)
			take_due(self->slot, open, id);
	}
}

/* A scope's or a thread's first time, and all that has no place. */
static COLD void begin_cold(struct tare_scope *scope, struct tare_site *site, uint64_t sp)
{
	int saved = errno;

	if (tare_in_is_at_work()) {
		uint32_t id = tare_in_name(MAPPING_SCOPE, site->name, &site->id);

		if (id != TARE_IN_NO_NAME && tare_in_take_place(id + 1) == 0)
			begin_inside(scope, id, sp);
		else
			tare_in_lose_call();
	}
	errno = saved;
}

__attribute__((noinline)) void tare_scope_begin(struct tare_scope *scope, struct tare_site *site)
{
	uint32_t id = MAPPING_READ(site->id) - 1;
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	if (id < tare_in_self.ready && tare_in_is_own())
		begin_inside(scope, id, sp);
	else
		begin_cold(scope, site, sp);
}

/* What a timed call stands for in the timed one directly around it. `call`: what its is_timed was. */
static uint32_t weight_inside(const struct mapping_open *open, uint32_t call,
			      const struct mapping_open *outer)
{
	uint32_t weight = MAPPING_READ(open->weight);

	if (weight == 0)
		return 1;
	if (MAPPING_READ(outer->id) != MAPPING_READ(open->id) || MAPPING_READ(outer->weight) == 0)
		return weight;
	return gap_weight_behind(weight, (call - MAPPING_READ(outer->is_timed)) & ~TIMED);
}

/* Books a timed call that has just ended. */
static void end_timed(struct tare_in_self *self, struct mapping_open *open, uint32_t depth,
		      uint32_t call)
{
	uint64_t scale = MAPPING_READ(open->tick_scale);
	uint64_t now_ns = tare_in_now_ns(scale);
	struct mapping_slot *slot = self->slot;
	uint32_t id = MAPPING_READ(open->id) % MAPPING_NAMES;
	uint32_t weight = MAPPING_READ(open->weight);
	uint64_t start_ns = MAPPING_READ(open->start_ns);
	uint64_t frame_ns = MAPPING_READ(slot->frame_start_ns);
	uint64_t ns = now_ns - start_ns;

	if (!tare_in_is_own() || id >= self->ready)
		return;
	if (now_ns < start_ns || scale != tare_in_tick_scale()) {
		tare_in_add(&slot->entries[id].backwards, 1);
		return;
	}
	tare_in_book(slot, id, ns, MAPPING_READ(open->nested_ns), weight, weight == 0);
	if (depth > 0) {
		struct mapping_open *outer = open_at(slot, depth - 1);

		if (depth <= MAPPING_DEPTH && MAPPING_READ(outer->is_timed))
			tare_in_add(&outer->nested_ns, ns * weight_inside(open, call, outer));
	}
	if (frame_ns != 0)
		tare_in_end_part(slot, depth, now_ns);
	tare_in_check_lease(now_ns);
}

void tare_scope_end(struct tare_scope *scope)
{
	struct tare_in_self *self = &tare_in_self;
	uint32_t depth = scope->depth;
	struct mapping_open *open;

	if (self->slot == NULL || self->depth <= depth)
		return; /* closed with one around it, or opened before a fork */
	if (__builtin_expect(depth >= MAPPING_DEPTH, 0)) {
		self->depth = depth;
		return;
	}
	open = open_at(self->slot, depth);
	if (__builtin_expect(MAPPING_READ(open->serial) != scope->serial, 0))
		return; /* another one's place by now */
	if (__builtin_expect(self->depth != depth + 1, 0))
		tare_in_abandon(depth + 1);
	self->depth = depth;
	if (depth == 0)
		tare_places.ready = self->ready;
	if (__builtin_expect(MAPPING_READ(open->is_timed) != 0, 0)) {
		uint32_t call = MAPPING_READ(open->is_timed);

		MAPPING_WRITE(open->is_timed, 0);
		end_timed(self, open, depth, call);
	}
}

void tare_in_book(struct mapping_slot *slot, uint32_t id, uint64_t ns, uint64_t nested_ns,
		  uint32_t weight, bool is_first)
{
	struct mapping_entry *entry = &slot->entries[id];
	uint64_t window = mapping_window_number(MAPPING_READ(slot->paces[id].window));
	uint32_t mass = is_first ? 1 : weight;

	if (is_first) {
		tare_in_add(&entry->first_ns, ns);
		tare_in_add(&entry->first_nested_ns, nested_ns);
		tare_in_add(&entry->firsts, 1);
	} else {
		struct bucket_squares add = { 0, 0 };

		bucket_add_square(&add, ns, weight);
		tare_in_add(&entry->squares.low, add.low);
		tare_in_add(&entry->squares.high, add.high);
		tare_in_add(&entry->weighted_ns, ns * weight);
		tare_in_add(&entry->nested_ns, nested_ns * weight);
		tare_in_add(&entry->weights, weight);
		tare_in_add(&entry->weights_squared, (uint64_t)weight * weight);
		tare_in_add(&entry->others, 1);
	}
	__atomic_fetch_add(&tare_in_shared->histograms[id][bucket_of(ns)], mass, __ATOMIC_RELAXED);
	if (ns > MAPPING_READ(entry->max_ns[window % 2]))
		MAPPING_WRITE(entry->max_ns[window % 2], ns);
}

void tare_in_check_lease(uint64_t now_ns)
{
	struct mapping_orders *orders = &tare_in_shared->orders;
	struct tare_in_self *self = &tare_in_self;
	uint64_t beat = MAPPING_READ(orders->beat);
	uint64_t lease_ns = MAPPING_READ(orders->lease_ns);
	uint64_t window = MAPPING_READ(orders->window);

	if (beat != self->beat || self->beat_ns == 0 || now_ns < self->beat_ns) {
		self->beat = beat;
		self->beat_ns = now_ns;
		return;
	}
	if (lease_ns == 0 || now_ns - self->beat_ns <= lease_ns || window == 0)
		return;
	if (!__atomic_compare_exchange_n(&orders->window, &window, 0, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	MAPPING_WRITE(tare_in_shared->host.expired_ns, now_ns);
	__atomic_fetch_add(&tare_in_shared->host.expired, 1, __ATOMIC_RELEASE);
}
