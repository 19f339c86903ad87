/* check.c - references, circles and sums of rows that came from elsewhere. */
#include "store/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Where rows of one kind are by id; ids of a foreign file are any numbers, so this searches. */
static bool has_frame(const struct recording *r, uint32_t id)
{
	return recording_frame(r, id) != NULL;
}

static bool has_node(const struct recording *r, uint32_t id)
{
	return recording_node(r, id) != NULL;
}

static int lost(struct err *err, const char *table, uint32_t id, const char *what)
{
	return err_set(err, -EBADMSG, "table %s, row %u: %s", table, id, what);
}

/* Marks every node whose way up ends at a root. Each node is walked over at most twice. */
static int check_ways_up(const struct recording *r, uint32_t *way, struct err *err)
{
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct node_row *node = &r->nodes[i];
		uint32_t walk = i + 1;

		/* way[n] is the walk that passed n first: coming back to it in the same walk is a circle. */
		while (node != NULL && way[node - r->nodes] == 0) {
			way[node - r->nodes] = walk;
			if (node->parent == NO_ID)
				break;
			node = recording_node(r, node->parent);
			if (node == NULL)
				return lost(err, "node", r->nodes[i].id,
					    "a node above it does not exist");
			if (way[node - r->nodes] == walk)
				return lost(err, "node", r->nodes[i].id, "its path is a circle");
		}
	}
	return 0;
}

static int check_nodes(const struct recording *r, struct err *err)
{
	uint32_t *way;
	int rc;

	for (uint32_t i = 0; i < r->node_count; i++)
		if (!has_frame(r, r->nodes[i].frame))
			return lost(err, "node", r->nodes[i].id, "its frame does not exist");
	way = calloc(r->node_count > 0 ? r->node_count : 1, sizeof(*way));
	if (way == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = check_ways_up(r, way, err);
	free(way);
	return rc;
}

/* Adds, unless the sum reaches 2^63. */
static bool add(uint64_t *sum, uint64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum) && *sum <= INT64_MAX;
}

static int check_slots(const struct recording *r, struct err *err)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->slot_count + r->task_slot_count; i++) {
		const struct slot_row *s = &r->slots[i];

		/* The run and its tasks each weigh their own. */
		if (i > 0 && s->task != s[-1].task)
			sum = 0;
		if (s->node != NO_ID && !has_node(r, s->node))
			return lost(err, "slot", s->id, "its node does not exist");
		if (!add(&sum, s->running_ns) || !add(&sum, s->waiting_ns) ||
		    !add(&sum, s->runnable_ns) || !add(&sum, s->unsampled_ns))
			return lost(err, "slot", s->id, "the weights up to it are out of range");
	}
	return 0;
}

static int check_contexts(const struct recording *r, struct err *err)
{
	uint64_t sum = 0, states = 0, spans = 0, kept = 0;

	for (uint32_t i = 0; i < r->context_count + r->task_context_count; i++) {
		const struct context_row *c = &r->contexts[i];
		bool is_good;

		if (i > 0 && c->task != c[-1].task)
			sum = states = spans = kept = 0;
		is_good = add(&sum, c->certain_ns) && add(&sum, c->uncertain_ns) &&
			  add(&states, c->running_ns) && add(&states, c->waiting_ns) &&
			  add(&states, c->runnable_ns) && add(&kept, c->kept);

		for (uint32_t b = 0; b < BATCH_COUNT && is_good; b++)
			is_good = add(&spans, c->batch_ns[b]);
		if (!is_good)
			return lost(err, "context", c->id, "the weights up to it are out of range");
		if (!has_node(r, c->node))
			return lost(err, "context", c->id, "its node does not exist");
	}
	return 0;
}

static int check_ledger(const struct recording *r, struct err *err)
{
	uint64_t sum = 0, counts = 0;

	for (uint32_t i = 0; i < r->ledger_count; i++) {
		const struct ledger_row *w = &r->ledger[i];

		if (!add(&sum, w->window_ns) || !add(&sum, w->sample_ns) ||
		    !add(&sum, w->kernel_ns) || !add(&sum, w->save_ns) || !add(&sum, w->start_ns) ||
		    !add(&sum, w->fixed_ns) || !add(&counts, w->ticks) || !add(&counts, w->kept) ||
		    !add(&counts, w->lost))
			return lost(err, "ledger", w->id, "the sums up to it are out of range");
	}
	return 0;
}

static int check_label(const struct recording *r, struct err *err)
{
	const struct label *l = &r->label;

	if (l->batches > BATCH_COUNT && l->batches != NO_ID)
		return err_set(err, -EBADMSG, "table recording, column batches: out of range");
	return 0;
}

int check_recording(const struct recording *r, struct err *err)
{
	int rc = check_label(r, err);

	if (rc == 0)
		rc = check_nodes(r, err);
	if (rc == 0)
		rc = check_slots(r, err);
	if (rc == 0)
		rc = check_contexts(r, err);
	if (rc == 0)
		rc = check_ledger(r, err);
	return rc == 0 ? check_tasks(r, err) : rc;
}
