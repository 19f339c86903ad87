/* timeline.c - slots over the whole run that halve instead of ending. */
#include "core/timeline.h"

#include <errno.h>
#include <stdlib.h>

int timeline_init(struct timeline *t, uint32_t count, uint64_t base_ns)
{
	if (count < TIMELINE_MIN_SLOTS || count > TIMELINE_MAX_SLOTS ||
	    (count & (count - 1)) != 0 || base_ns == 0)
		return -EINVAL;
	*t = (struct timeline){ .count = count, .base_ns = base_ns, .span_ns = base_ns };
	t->slots = calloc(count, sizeof(*t->slots));
	if (t->slots == NULL || dirty_init(&t->dirty, count) < 0) {
		timeline_free(t, NULL);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		t->slots[i].node = PATHS_NONE;
	return 0;
}

void timeline_free(struct timeline *t, struct paths *p)
{
	uint32_t used = t->slots == NULL ? 0 : t->used;

	for (uint32_t i = 0; i < used; i++) {
		if (t->slots[i].node != PATHS_NONE)
			paths_unref(p, t->slots[i].node);
	}
	free(t->slots);
	dirty_free(&t->dirty);
	*t = (struct timeline){ .slots = NULL };
}

static uint64_t sum(const uint64_t weight_ns[STATE_COUNT])
{
	uint64_t all = 0;

	for (int s = 0; s < STATE_COUNT; s++)
		all += weight_ns[s];
	return all;
}

static uint32_t saturate(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* `second` goes into `first`: the heavier is the likelier to be shown, and no weight is lost. */
static struct slot merged(struct paths *p, struct rng *r, const struct slot *first,
			  const struct slot *second)
{
	uint64_t first_ns = sum(first->weight_ns), second_ns = sum(second->weight_ns);
	bool stays = rng_coin(r, first_ns, first_ns + second_ns);
	uint32_t gone = stays ? second->node : first->node;
	struct slot both = {
		.node = stays ? first->node : second->node,
		.kept = saturate((uint64_t)first->kept + second->kept),
		.lost = saturate((uint64_t)first->lost + second->lost),
	};

	for (int s = 0; s < STATE_COUNT; s++) {
		both.weight_ns[s] = first->weight_ns[s] + second->weight_ns[s];
		both.pending_ns[s] = first->pending_ns[s] + second->pending_ns[s];
	}
	if (gone != PATHS_NONE)
		paths_unref(p, gone);
	return both;
}

void timeline_halve(struct timeline *t, struct paths *p, struct rng *r)
{
	uint32_t used = (t->used + 1) / 2;

	for (uint32_t i = 0; i < used; i++)
		t->slots[i] = merged(p, r, &t->slots[2 * i], &t->slots[2 * i + 1]);
	for (uint32_t i = used; i < t->used; i++)
		t->slots[i] = (struct slot){ .node = PATHS_NONE };
	t->used = used;
	t->halvings++;
	t->span_ns *= 2;
	for (int s = 0; s < STATE_COUNT; s++) {
		t->pending[s].from /= 2;
		t->pending[s].to = (t->pending[s].to + 1) / 2;
	}
	t->has_shrunk = true;
	dirty_set_below(&t->dirty, used);
}

uint32_t timeline_reach(struct timeline *t, struct paths *p, struct rng *r, uint64_t at_ns)
{
	uint32_t halvings = t->halvings;

	while (at_ns > t->span_ns && (at_ns - 1) / t->span_ns >= t->count)
		timeline_halve(t, p, r);
	return t->halvings - halvings;
}

int timeline_resize(struct timeline *t, struct paths *p, struct rng *r, uint32_t count)
{
	struct slot *slots = calloc(count, sizeof(*slots));
	struct dirty dirty = DIRTY_EMPTY;

	if (slots == NULL || dirty_init(&dirty, count) < 0) {
		free(slots);
		return -ENOMEM;
	}
	while (t->used > count)
		timeline_halve(t, p, r);
	for (uint32_t i = 0; i < t->used; i++)
		slots[i] = t->slots[i];
	for (uint32_t i = t->used; i < count; i++)
		slots[i].node = PATHS_NONE;
	for (uint32_t i = dirty_next(&t->dirty, 0); i < t->used; i = dirty_next(&t->dirty, i + 1))
		dirty_set(&dirty, i);
	free(t->slots);
	dirty_free(&t->dirty);
	t->slots = slots;
	t->dirty = dirty;
	t->count = count;
	return 0;
}

static uint32_t slot_at(const struct timeline *t, uint64_t at_ns)
{
	uint64_t slot = at_ns == 0 ? 0 : (at_ns - 1) / t->span_ns;

	return slot < t->count ? (uint32_t)slot : t->count - 1;
}

/* A slot that is about to change; every slot up to it exists from now on. */
static struct slot *touch(struct timeline *t, uint32_t slot)
{
	while (t->used <= slot)
		dirty_set(&t->dirty, t->used++);
	dirty_set(&t->dirty, slot);
	return &t->slots[slot];
}

static void put_pending(struct timeline *t, uint32_t slot, enum state state, uint64_t weight_ns)
{
	if (weight_ns == 0)
		return;
	touch(t, slot)->pending_ns[state] += weight_ns;
	if (t->pending[state].from == t->pending[state].to) {
		t->pending[state].from = slot;
		t->pending[state].to = slot + 1;
		return;
	}
	if (slot < t->pending[state].from)
		t->pending[state].from = slot;
	if (slot >= t->pending[state].to)
		t->pending[state].to = slot + 1;
}

void timeline_put(struct timeline *t, uint64_t from_ns, uint64_t at_ns, enum state state,
		  uint64_t weight_ns)
{
	uint32_t last = slot_at(t, at_ns);
	uint32_t first = from_ns < at_ns ? slot_at(t, from_ns + 1) : last;
	uint64_t left_ns = weight_ns;

	for (uint32_t i = first; i < last; i++) {
		uint64_t end_ns = (i + 1) * t->span_ns;
		uint64_t inside_ns = i == first ? end_ns - from_ns : t->span_ns;
		uint64_t share_ns =
			(uint64_t)((unsigned __int128)weight_ns * inside_ns / (at_ns - from_ns));

		put_pending(t, i, state, share_ns);
		left_ns -= share_ns;
	}
	put_pending(t, last, state, left_ns);
}

void timeline_count_kept(struct timeline *t, uint64_t at_ns)
{
	struct slot *s = touch(t, slot_at(t, at_ns));

	s->kept = saturate((uint64_t)s->kept + 1);
}

void timeline_count_lost(struct timeline *t, uint64_t at_ns, uint64_t lost)
{
	struct slot *s = touch(t, slot_at(t, at_ns));

	s->lost = saturate((lost < UINT32_MAX ? lost : UINT32_MAX) + s->lost);
}

/* The group's context, a newcomer of weight w, takes a slot of W (w included) with probability w / W. */
static void show(struct slot *s, struct paths *p, struct rng *r, const struct timeline_group *group)
{
	uint64_t w_ns = s->pending_ns[group->state];

	if (!rng_coin(r, w_ns, sum(s->weight_ns) + w_ns) || s->node == group->node)
		return;
	paths_ref(p, group->node);
	if (s->node != PATHS_NONE)
		paths_unref(p, s->node);
	s->node = group->node;
}

void timeline_close_group(struct timeline *t, struct paths *p, struct rng *r,
			  const struct timeline_group *group, timeline_closed_fn each, void *owner)
{
	enum state state = group->state;

	for (uint32_t i = t->pending[state].from; i < t->pending[state].to; i++) {
		struct slot *s = &t->slots[i];

		if (s->pending_ns[state] == 0)
			continue;
		show(s, p, r, group);
		if (each != NULL)
			each(owner, i, s->pending_ns[state]);
		s->weight_ns[state] += s->pending_ns[state];
		s->pending_ns[state] = 0;
		dirty_set(&t->dirty, i);
	}
	t->pending[state].from = t->pending[state].to = 0;
}

int timeline_changes(const struct timeline *t, uint32_t task, struct changes *out)
{
	const struct changes before = *out;

	for (uint32_t i = dirty_next(&t->dirty, 0); i < t->used; i = dirty_next(&t->dirty, i + 1)) {
		const struct slot *s = &t->slots[i];
		struct slot_row *row = changes_slot(out);

		if (row == NULL) {
			changes_rewind(out, &before);
			return -ENOMEM;
		}
		*row = (struct slot_row){
			.task = task,
			.id = i,
			.node = s->node,
			.running_ns = s->weight_ns[STATE_RUNNING],
			.waiting_ns = s->weight_ns[STATE_WAITING],
			.runnable_ns = s->weight_ns[STATE_RUNNABLE],
			.unsampled_ns = sum(s->pending_ns),
			.kept = s->kept,
			.lost = s->lost,
		};
	}
	if (t->has_shrunk && task == TASK_RUN)
		out->slots_from = t->used;
	return 0;
}

void timeline_mark_all(struct timeline *t)
{
	dirty_set_below(&t->dirty, t->used);
}

void timeline_saved(struct timeline *t)
{
	dirty_clear(&t->dirty);
	t->has_shrunk = false;
}
