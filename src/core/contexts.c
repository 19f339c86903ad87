/* contexts.c - exact totals by path in a fixed number of entries. */
#include "core/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CAPACITY (UINT32_C(1) << 24)

int contexts_init(struct contexts *c, uint32_t capacity)
{
	uint32_t places = 16;

	if (capacity < 2 || capacity > MAX_CAPACITY)
		return -EINVAL;
	while (places < capacity * 2)
		places *= 2;
	*c = (struct contexts){ .capacity = capacity, .by_node_mask = places - 1 };
	c->entries = calloc(capacity, sizeof(*c->entries));
	c->totals_ns = malloc(capacity * sizeof(*c->totals_ns));
	c->by_node = malloc(places * sizeof(*c->by_node));
	if (c->entries == NULL || c->totals_ns == NULL || c->by_node == NULL ||
	    dirty_init(&c->dirty, capacity) < 0) {
		contexts_free(c, NULL);
		return -ENOMEM;
	}
	memset(c->totals_ns, 0xff, capacity * sizeof(*c->totals_ns)); /* CONTEXTS_FREE */
	memset(c->by_node, 0xff, places * sizeof(*c->by_node));	      /* PATHS_NONE */
	for (uint32_t i = 0; i < capacity; i++)
		c->entries[i].node = PATHS_NONE;
	return 0;
}

void contexts_free(struct contexts *c, struct paths *p)
{
	uint32_t count = c->entries != NULL && c->used > 0 ? c->capacity : 0;

	for (uint32_t i = 0; i < count; i++) {
		if (c->entries[i].node != PATHS_NONE)
			paths_unref(p, c->entries[i].node);
	}
	free(c->entries);
	free(c->totals_ns);
	free(c->by_node);
	dirty_free(&c->dirty);
	*c = (struct contexts){ .entries = NULL };
}

static uint32_t home(const struct contexts *c, uint32_t node)
{
	return (uint32_t)(node * UINT64_C(0x9e3779b97f4a7c15) >> 32) & c->by_node_mask;
}

/* Where the entry of `node` stands in the table, or the free place where it would. */
static uint32_t place_of(const struct contexts *c, uint32_t node)
{
	uint32_t at = home(c, node);

	while (c->by_node[at] != PATHS_NONE && c->entries[c->by_node[at]].node != node)
		at = (at + 1) & c->by_node_mask;
	return at;
}

uint32_t contexts_find(const struct contexts *c, uint32_t node)
{
	return c->by_node[place_of(c, node)];
}

/* Takes a place out of the table and moves up what would not be found beyond the gap. */
static void free_place(struct contexts *c, uint32_t gap)
{
	uint32_t at = gap;

	for (;;) {
		at = (at + 1) & c->by_node_mask;
		if (c->by_node[at] == PATHS_NONE)
			break;

		uint32_t from_home =
			(at - home(c, c->entries[c->by_node[at]].node)) & c->by_node_mask;

		if (from_home >= ((at - gap) & c->by_node_mask)) {
			c->by_node[gap] = c->by_node[at];
			gap = at;
		}
	}
	c->by_node[gap] = PATHS_NONE;
}

static void free_entry(struct contexts *c, struct paths *p, uint32_t entry)
{
	uint32_t node = c->entries[entry].node;

	free_place(c, place_of(c, node));
	c->entries[entry] = (struct context){ .node = PATHS_NONE };
	c->totals_ns[entry] = CONTEXTS_FREE;
	c->used--;
	dirty_set(&c->dirty, entry);
	paths_unref(p, node);
}

uint32_t contexts_entry(struct contexts *c, struct paths *p, struct rng *r, uint32_t node)
{
	uint32_t entry = contexts_find(c, node);

	if (entry != PATHS_NONE)
		return entry;
	if (c->used == c->capacity)
		contexts_merge_lightest(c, p, r);
	for (entry = 0; c->totals_ns[entry] != CONTEXTS_FREE; entry++)
		;
	paths_ref(p, node);
	c->by_node[place_of(c, node)] = entry;
	c->entries[entry].node = node;
	c->totals_ns[entry] = 0;
	c->used++;
	dirty_set(&c->dirty, entry);
	return entry;
}

void contexts_add(struct contexts *c, uint32_t entry, enum state state, uint32_t batch,
		  uint64_t weight_ns)
{
	struct context *e = &c->entries[entry];

	e->certain_ns += weight_ns;
	e->weight_ns[state] += weight_ns;
	e->batch_ns[batch] += weight_ns;
	c->totals_ns[entry] += weight_ns;
	dirty_set(&c->dirty, entry);
}

void contexts_count(struct contexts *c, uint32_t entry)
{
	c->entries[entry].kept++;
	dirty_set(&c->dirty, entry);
}

/* The two lightest entries in use, lowest index first among equals. At least two must be in use. */
static void find_lightest(const struct contexts *c, uint32_t *out_first, uint32_t *out_second)
{
	const uint64_t *totals_ns = c->totals_ns;
	uint32_t first = totals_ns[1] < totals_ns[0], second = !first;

	for (uint32_t i = 2; i < c->capacity; i++) {
		if (totals_ns[i] >= totals_ns[second])
			continue;
		if (totals_ns[i] < totals_ns[first]) {
			second = first;
			first = i;
		} else {
			second = i;
		}
	}
	*out_first = first;
	*out_second = second;
}

bool contexts_merge_lightest(struct contexts *c, struct paths *p, struct rng *r)
{
	uint32_t first, second;

	if (c->used < 2)
		return false;
	find_lightest(c, &first, &second);

	uint64_t both_ns = c->totals_ns[first] + c->totals_ns[second];
	bool stays = rng_coin(r, c->totals_ns[first], both_ns);
	uint32_t survivor = stays ? first : second, loser = stays ? second : first;
	struct context *to = &c->entries[survivor];
	const struct context *from = &c->entries[loser];

	to->uncertain_ns += c->totals_ns[loser];
	to->kept += from->kept;
	for (int s = 0; s < STATE_COUNT; s++)
		to->weight_ns[s] += from->weight_ns[s];
	for (int b = 0; b < BATCH_COUNT; b++)
		to->batch_ns[b] += from->batch_ns[b];
	c->totals_ns[survivor] = both_ns;
	c->merges++;
	dirty_set(&c->dirty, survivor);
	free_entry(c, p, loser);
	return true;
}

void contexts_halve_batches(struct contexts *c, uint32_t batches)
{
	for (uint32_t i = 0; i < c->capacity; i++) {
		uint64_t *ns = c->entries[i].batch_ns;

		if (c->totals_ns[i] == CONTEXTS_FREE)
			continue;
		for (uint32_t b = 0; b < batches / 2; b++)
			ns[b] = ns[2 * b] + ns[2 * b + 1];
		memset(ns + batches / 2, 0, batches / 2 * sizeof(*ns));
		dirty_set(&c->dirty, i);
	}
}

/* Takes over all entries of `from`, which fit. Their references come with them. */
static void move_all(struct contexts *to, const struct contexts *from)
{
	bool keeps_ids = to->capacity >= from->capacity;
	uint32_t next = 0;

	for (uint32_t i = 0; i < from->capacity; i++) {
		if (from->totals_ns[i] == CONTEXTS_FREE)
			continue;

		uint32_t at = keeps_ids ? i : next++;

		to->entries[at] = from->entries[i];
		to->totals_ns[at] = from->totals_ns[i];
		to->by_node[place_of(to, from->entries[i].node)] = at;
		dirty_set(&to->dirty, at);
	}
	to->used = from->used;
	to->merges = from->merges;
	to->has_moved = from->has_moved || !keeps_ids || contexts_have_gone(from);
}

int contexts_resize(struct contexts *c, struct paths *p, struct rng *r, uint32_t capacity)
{
	struct contexts other;
	int code = contexts_init(&other, capacity);

	if (code < 0)
		return code;
	while (c->used > capacity)
		contexts_merge_lightest(c, p, r);
	move_all(&other, c);
	c->used = 0; /* the references have moved */
	contexts_free(c, p);
	*c = other;
	return 0;
}

bool contexts_have_gone(const struct contexts *c)
{
	uint32_t i = dirty_next(&c->dirty, 0);

	while (i < c->capacity && c->totals_ns[i] != CONTEXTS_FREE)
		i = dirty_next(&c->dirty, i + 1);
	return c->has_moved || i < c->capacity;
}

static bool list_entry(const struct contexts *c, uint32_t task, uint32_t i, struct changes *out)
{
	const struct context *e = &c->entries[i];

	if (e->node == PATHS_NONE && task != TASK_RUN)
		return true;
	if (e->node == PATHS_NONE) {
		uint32_t *gone = changes_gone_context(out);

		if (gone != NULL)
			*gone = i;
		return gone != NULL;
	}

	struct context_row *row = changes_context(out);

	if (row == NULL)
		return false;
	*row = (struct context_row){
		.task = task,
		.id = i,
		.node = e->node,
		.certain_ns = e->certain_ns,
		.uncertain_ns = e->uncertain_ns,
		.running_ns = e->weight_ns[STATE_RUNNING],
		.waiting_ns = e->weight_ns[STATE_WAITING],
		.runnable_ns = e->weight_ns[STATE_RUNNABLE],
		.kept = e->kept,
	};
	memcpy(row->batch_ns, e->batch_ns, sizeof(row->batch_ns));
	return true;
}

int contexts_changes(const struct contexts *c, uint32_t task, struct changes *out)
{
	const struct changes before = *out;

	for (uint32_t i = dirty_next(&c->dirty, 0); i < c->capacity;
	     i = dirty_next(&c->dirty, i + 1)) {
		if (!list_entry(c, task, i, out)) {
			changes_rewind(out, &before);
			return -ENOMEM;
		}
	}
	return 0;
}

void contexts_mark_all(struct contexts *c)
{
	dirty_set_all(&c->dirty);
}

void contexts_saved(struct contexts *c)
{
	dirty_clear(&c->dirty);
	c->has_moved = false;
}
