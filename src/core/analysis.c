/* analysis.c - what the walk found, put in order, and what is true of the whole run. */
#include "core/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis_walk.h"
#include "core/scoped.h"

int str_compare(struct str a, struct str b)
{
	uint32_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.bytes, b.bytes, len) : 0;

	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_functions(const void *x, const void *y)
{
	const struct function *a = x, *b = y;
	int order = descending(a->own.ns, b->own.ns);

	if (order == 0)
		order = descending(a->with_callees.ns, b->with_callees.ns);
	if (order == 0)
		order = str_compare(a->name, b->name);
	if (order == 0)
		order = str_compare(a->module, b->module);
	if (order == 0)
		order = str_compare(a->file, b->file);
	return order != 0 ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_threads(const void *x, const void *y)
{
	const struct thread *a = x, *b = y;

	if (a->all.ns != b->all.ns)
		return descending(a->all.ns, b->all.ns);
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return str_compare(a->name, b->name);
}

/* Sorts both, and keeps function_of_node true. */
static int sort_rows(struct walk *w)
{
	struct analysis *a = w->a;
	struct function *sorted = calloc((size_t)a->function_count + 1, sizeof(*sorted));

	if (sorted == NULL)
		return -ENOMEM;
	memcpy(sorted, a->functions, a->function_count * sizeof(*sorted));
	qsort(sorted, a->function_count, sizeof(*sorted), compare_functions);
	/* No two compare equal, so that a search finds where each one went. */
	for (uint32_t i = 0; i < a->function_count; i++)
		w->seen_in[i] = (uint32_t)((const struct function *)bsearch(
						   &a->functions[i], sorted, a->function_count,
						   sizeof(*sorted), compare_functions) -
					   sorted);
	for (uint32_t i = 0; i < w->r->node_count; i++)
		if (a->function_of_node[i] != NO_ID)
			a->function_of_node[i] = w->seen_in[a->function_of_node[i]];
	free(a->functions);
	a->functions = sorted;
	qsort(a->threads, a->thread_count, sizeof(*a->threads), compare_threads);
	while (a->thread_count > 0 && a->threads[a->thread_count - 1].all.ns == 0)
		a->thread_count--; /* seen, never sampled: the label counts them */
	return 0;
}

static void look_at_slots(const struct recording *r, struct analysis *a)
{
	for (uint32_t i = 0; i < r->slot_count; i++) {
		a->slots_lost += r->slots[i].lost > 0;
		if (r->slots[i].lost > 0 && r->slots[i].kept == 0)
			add_ns(&a->hole_ns, r->label.slot_ns);
	}
}

/* The value is exact over the whole run. */
struct share analysis_price(const struct recording *r, uint64_t spent_ns)
{
	batches_ns part_ns = { 0 }, whole_ns = { 0 };
	size_t spans = r->ledger_count < BATCH_COUNT ? r->ledger_count : BATCH_COUNT;
	struct share price;

	for (uint32_t i = 0; i < r->ledger_count; i++) {
		const struct ledger_row *l = &r->ledger[i];
		size_t span = (size_t)((uint64_t)i * spans / r->ledger_count);

		add_ns(&part_ns[span], l->sample_ns);
		add_ns(&part_ns[span], l->kernel_ns);
		add_ns(&part_ns[span], l->save_ns);
		add_ns(&part_ns[span], l->fixed_ns);
		add_ns(&whole_ns[span], l->window_ns);
	}
	/* So many samples that only the windows' spread counts. */
	price = stats_share(part_ns, whole_ns, spans, 0, UINT32_MAX);
	price.value = r->label.elapsed_ns > 0 ? (double)spent_ns / (double)r->label.elapsed_ns : 0;
	return price;
}

static void weigh_price(const struct recording *r, struct analysis *a)
{
	a->spent_ns = r->label.own_cpu_ns;
	add_ns(&a->spent_ns, r->label.kernel_ns);
	a->price = analysis_price(r, a->spent_ns);
}

static void weigh_clock(const struct recording *r, struct analysis *a)
{
	uint64_t clock_ns = r->label.clock_ns;

	if (r->label.weight_ns > clock_ns)
		clock_ns = r->label.weight_ns;
	if (a->sampled_ns > clock_ns)
		clock_ns = a->sampled_ns;
	a->clock_ns = clock_ns;
	a->unsampled_ns = clock_ns - a->sampled_ns;
}

/* `only` NULL: all states. */
static int open_states(const struct recording *r, const enum state *only, struct analysis *out,
		       struct err *err)
{
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(walk_free) struct walk w = { .r = r, .a = &a, .is_of_state = only != NULL };
	int code;

	w.state = only != NULL ? *only : STATE_RUNNING;
	code = walk_contexts(&w, err);

	if (code == 0)
		code = sort_rows(&w);
	if (code == -ENOMEM)
		return err_set(err, code, "cannot read the recording: out of memory");
	if (code != 0)
		return code;
	look_at_slots(r, &a);
	weigh_price(r, &a);
	if (only == NULL)
		weigh_clock(r, &a);
	else
		a.clock_ns = a.sampled_ns;
	*out = a;
	a = ANALYSIS_EMPTY;
	return 0;
}

int analysis_open(const struct recording *r, struct analysis *out, struct err *err)
{
	return open_states(r, NULL, out, err);
}

int analysis_open_state(const struct recording *r, enum state state, struct analysis *out,
			struct err *err)
{
	return open_states(r, &state, out, err);
}

void analysis_free(struct analysis *a)
{
	free(a->functions);
	free(a->threads);
	free(a->function_of_node);
	*a = ANALYSIS_EMPTY;
}

const struct function *analysis_marker(const struct analysis *a, struct str name)
{
	for (uint32_t i = 0; i < a->function_count; i++)
		if (a->functions[i].kind == FRAME_MARKER &&
		    str_compare(a->functions[i].name, name) == 0)
			return a->functions[i].with_callees.ns > 0 ? &a->functions[i] : NULL;
	return NULL;
}

enum state weighed_state(const struct weighed *w)
{
	enum state most = STATE_RUNNING;

	for (int i = 1; i < STATE_COUNT; i++)
		if (w->state_ns[i] > w->state_ns[most])
			most = (enum state)i;
	return most;
}
