/* analysis_walk.c - one walk over the contexts, from the leaf of each path to its root. */
#include "core/analysis_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct str broken = STR_LITERAL("[broken]");
#define NO_STACK STR_LITERAL("[no stack]")

void walk_free(struct walk *w)
{
	free(w->group_of_frame);
	free(w->frame_of_node);
	free(w->parent_of_node);
	free(w->seen_in);
	free(w->own_of_frame_ns);
	free(w->all_of_frame_ns);
	free(w->own_ns);
	free(w->with_ns);
	free(w->thread_ns);
	*w = (struct walk){ .r = NULL };
}

/* At least one element, so that NULL always means no memory. */
static void *take(size_t count, size_t size)
{
	return calloc(count > 0 ? count : 1, size);
}

static bool is_same(struct str a, struct str b)
{
	return str_compare(a, b) == 0;
}

/* "[cut 12]" and "[cut 7]" are one row: how many frames went does not make them places of their own. */
static struct str row_name(const struct frame_row *f)
{
	static const struct str cut = STR_LITERAL("[cut]");
	static const char start[] = "[cut ";

	if (f->kind == FRAME_MARKER && f->name.len > sizeof(start) - 1 &&
	    memcmp(f->name.bytes, start, sizeof(start) - 1) == 0)
		return cut;
	return f->name;
}

/* Order of frames by what makes them the same function or thread; 0: they are. */
static int compare_frames(const struct frame_row *a, const struct frame_row *b)
{
	int order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	order = str_compare(row_name(a), row_name(b));
	if (order == 0)
		order = str_compare(a->module, b->module);
	return order != 0 ? order : str_compare(a->file, b->file);
}

static int compare_frame_pointers(const void *a, const void *b)
{
	const struct frame_row *const *x = a, *const *y = b;
	int order = compare_frames(*x, *y);

	return order != 0 ? order : (*x > *y) - (*x < *y);
}

static uint32_t add_function(struct analysis *a, const struct frame_row *f)
{
	struct str name = row_name(f);

	a->functions[a->function_count] = (struct function){
		.name = name,
		.module = f->module,
		.file = f->file,
		.kind = (enum frame_kind)f->kind,
		.line = f->line,
		.is_unnamed = f->kind == FRAME_NATIVE && name.len > 0 && name.bytes[0] == '[',
	};
	return a->function_count++;
}

static uint32_t add_thread(struct analysis *a, struct str name, uint32_t pid, uint32_t tid)
{
	a->threads[a->thread_count] = (struct thread){ .name = name, .pid = pid, .tid = tid };
	return a->thread_count++;
}

/* Gives every frame its function or thread, and makes the two rows that stand for none. */
static int group_frames(struct walk *w)
{
	const struct recording *r = w->r;
	struct analysis *a = w->a;
	const struct frame_row **sorted = take(r->frame_count, sizeof(*sorted));

	a->functions = take((size_t)r->frame_count + 1, sizeof(*a->functions));
	a->threads = take((size_t)r->frame_count + 1, sizeof(*a->threads));
	w->group_of_frame = take(r->frame_count, sizeof(*w->group_of_frame));
	if (sorted == NULL || a->functions == NULL || a->threads == NULL ||
	    w->group_of_frame == NULL) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->frame_count; i++)
		sorted[i] = &r->frames[i];
	qsort(sorted, r->frame_count, sizeof(*sorted), compare_frame_pointers);
	w->no_stack_function = NO_ID;
	w->no_thread = NO_ID;
	for (uint32_t i = 0; i < r->frame_count; i++) {
		const struct frame_row *f = sorted[i];
		uint32_t place = (uint32_t)(f - r->frames);

		if (i > 0 && compare_frames(sorted[i - 1], f) == 0)
			w->group_of_frame[place] = w->group_of_frame[sorted[i - 1] - r->frames];
		else if (f->kind == FRAME_THREAD)
			w->group_of_frame[place] = add_thread(a, f->name, f->pid, f->tid);
		else
			w->group_of_frame[place] = add_function(a, f);
		if (f->kind == FRAME_MARKER && is_same(f->name, NO_STACK))
			w->no_stack_function = w->group_of_frame[place];
	}
	free(sorted);
	return 0;
}

/* The function of time whose path is only a thread; made when first wanted. */
static uint32_t function_of_none(struct walk *w)
{
	static const struct frame_row row = { .kind = FRAME_MARKER, .name = NO_STACK };

	if (w->no_stack_function == NO_ID)
		w->no_stack_function = add_function(w->a, &row);
	return w->no_stack_function;
}

/* The thread of time whose path has none; made when first wanted. */
static uint32_t thread_of_none(struct walk *w)
{
	static const struct str name = STR_LITERAL("[no thread]");

	if (w->no_thread == NO_ID)
		w->no_thread = add_thread(w->a, name, 0, 0);
	return w->no_thread;
}

static int broken_row(struct err *err, const char *what, uint32_t id, const char *to)
{
	err_set(err, -EBADMSG, "cannot read the recording: %s %u points to a %s that is not there",
		what, id, to);
	return err_mend(err, "the file is damaged; record again");
}

/* Turns ids into places once, so that a walk is two array reads a frame. */
static int place_nodes(struct walk *w, struct err *err)
{
	const struct recording *r = w->r;

	w->frame_of_node = take(r->node_count, sizeof(*w->frame_of_node));
	w->parent_of_node = take(r->node_count, sizeof(*w->parent_of_node));
	w->a->function_of_node = take(r->node_count, sizeof(*w->a->function_of_node));
	if (w->frame_of_node == NULL || w->parent_of_node == NULL || w->a->function_of_node == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct node_row *n = &r->nodes[i];
		const struct frame_row *f = recording_frame(r, n->frame);
		const struct node_row *parent =
			n->parent == NO_ID ? NULL : recording_node(r, n->parent);

		if (f == NULL)
			return broken_row(err, "node", n->id, "frame");
		if (parent == NULL && n->parent != NO_ID)
			return broken_row(err, "node", n->id, "parent");
		w->frame_of_node[i] = (uint32_t)(f - r->frames);
		w->parent_of_node[i] = parent == NULL ? NO_ID : (uint32_t)(parent - r->nodes);
		w->a->function_of_node[i] =
			f->kind == FRAME_THREAD ? NO_ID : w->group_of_frame[f - r->frames];
	}
	return 0;
}

static int take_sums(struct walk *w)
{
	uint32_t functions = w->a->function_count + 1, frames = w->r->frame_count;

	w->seen_in = take(functions, sizeof(*w->seen_in));
	w->own_of_frame_ns = take(frames, sizeof(*w->own_of_frame_ns));
	w->all_of_frame_ns = take(frames, sizeof(*w->all_of_frame_ns));
	w->own_ns = take(functions, sizeof(*w->own_ns));
	w->with_ns = take(functions, sizeof(*w->with_ns));
	w->thread_ns = take((size_t)w->a->thread_count + 1, sizeof(*w->thread_ns));
	return w->seen_in == NULL || w->own_of_frame_ns == NULL || w->all_of_frame_ns == NULL ||
			       w->own_ns == NULL || w->with_ns == NULL || w->thread_ns == NULL
		       ? -ENOMEM
		       : 0;
}

static uint64_t context_ns(const struct context_row *c)
{
	uint64_t sum = c->running_ns;

	add_ns(&sum, c->waiting_ns);
	add_ns(&sum, c->runnable_ns);
	return sum;
}

static void add_batches(uint64_t *sum, const struct context_row *c)
{
	for (size_t i = 0; i < BATCH_COUNT; i++)
		add_ns(&sum[i], c->batch_ns[i]);
}

static void add_weight(struct weighed *sum, uint64_t *batch_ns, const struct context_row *c)
{
	add_ns(&sum->ns, context_ns(c));
	add_ns(&sum->state_ns[STATE_RUNNING], c->running_ns);
	add_ns(&sum->state_ns[STATE_WAITING], c->waiting_ns);
	add_ns(&sum->state_ns[STATE_RUNNABLE], c->runnable_ns);
	sum->kept += c->kept;
	add_batches(batch_ns, c);
}

/* The leaf of the path takes the weight as its own. `function` NO_ID: the path is only a thread. */
static void add_own(struct walk *w, const struct context_row *c, uint32_t place, uint32_t function)
{
	struct function *f;

	if (function == NO_ID) {
		function = function_of_none(w);
		add_weight(&w->a->functions[function].with_callees, w->with_ns[function], c);
	} else {
		add_ns(&w->own_of_frame_ns[w->frame_of_node[place]], context_ns(c));
	}
	f = &w->a->functions[function];
	add_weight(&f->own, w->own_ns[function], c);
	add_ns(&f->own_uncertain_ns, c->uncertain_ns);
	if (f->is_unnamed)
		add_weight(&w->a->unnamed, w->unnamed_ns, c);
}

/* The place whose own the weight is: the leaf, or where that only says why its function waited, the function. */
static uint32_t place_of_own(struct walk *w, const struct context_row *c, uint32_t leaf)
{
	const uint32_t *functions = w->a->function_of_node;
	uint32_t above = w->parent_of_node[leaf];
	struct function *why, *place;

	if (functions[leaf] == NO_ID || above == NO_ID || functions[above] == NO_ID)
		return leaf;
	why = &w->a->functions[functions[leaf]];
	place = &w->a->functions[functions[above]];
	if (!frame_is_why(why->kind, why->name))
		return leaf;
	if (c->waiting_ns > place->why_ns) { /* being runnable is no reason to wait */
		place->why = why->name;
		place->why_ns = c->waiting_ns;
	}
	return above;
}

/* Adds one context: `number` counts from 1. */
static int add_context(struct walk *w, const struct context_row *c, uint32_t number,
		       struct err *err)
{
	const struct node_row *leaf = c->node == NO_ID ? NULL : recording_node(w->r, c->node);
	struct analysis *a = w->a;
	uint32_t thread = NO_ID, below = NO_ID, steps = 0, own;

	if (leaf == NULL)
		return broken_row(err, "context", c->id, "node");
	own = place_of_own(w, c, (uint32_t)(leaf - w->r->nodes));
	add_own(w, c, own, a->function_of_node[own]);
	for (uint32_t place = (uint32_t)(leaf - w->r->nodes); place != NO_ID;
	     place = w->parent_of_node[place]) {
		uint32_t function = a->function_of_node[place];

		if (++steps > w->r->node_count)
			return err_set(
				err, -EBADMSG,
				"cannot read the recording: the path of context %u has no end",
				c->id);
		if (function == NO_ID) {
			thread = w->group_of_frame[w->frame_of_node[place]];
			continue;
		}
		add_ns(&w->all_of_frame_ns[w->frame_of_node[place]], context_ns(c));
		if (below != NO_ID && is_same(a->functions[function].name, broken))
			add_ns(&a->functions[below].below_broken_ns, context_ns(c));
		below = function;
		if (w->seen_in[function] == number)
			continue;
		w->seen_in[function] = number;
		add_weight(&a->functions[function].with_callees, w->with_ns[function], c);
	}
	if (thread == NO_ID)
		thread = thread_of_none(w);
	add_weight(&a->threads[thread].all, w->thread_ns[thread], c);
	add_ns(&a->sampled_ns, context_ns(c));
	add_ns(&a->uncertain_ns, c->uncertain_ns);
	a->kept += c->kept;
	add_batches(w->whole_ns, c);
	return 0;
}

/* The line of a function is that of its heaviest frame; ties: the frame stored first. */
static void choose_lines(struct walk *w)
{
	const struct recording *r = w->r;
	uint32_t *best = w->seen_in; /* its work is done */

	for (uint32_t f = 0; f < w->a->function_count; f++)
		best[f] = NO_ID;
	for (uint32_t i = 0; i < r->frame_count; i++) {
		uint32_t f = w->group_of_frame[i], b;

		if (r->frames[i].kind == FRAME_THREAD)
			continue;
		b = best[f];
		if (b == NO_ID || w->own_of_frame_ns[i] > w->own_of_frame_ns[b] ||
		    (w->own_of_frame_ns[i] == w->own_of_frame_ns[b] &&
		     w->all_of_frame_ns[i] > w->all_of_frame_ns[b]))
			best[f] = i;
	}
	for (uint32_t f = 0; f < w->a->function_count; f++)
		if (best[f] != NO_ID)
			w->a->functions[f].line = r->frames[best[f]].line;
}

static uint32_t batches_of(const struct recording *r)
{
	return r->label.batches < BATCH_COUNT ? r->label.batches : BATCH_COUNT;
}

/* Samples by batch, from the slots. Where no slot has any, they are spread as the weight is. */
static void count_kept(struct walk *w)
{
	const struct recording *r = w->r;
	uint32_t batches = batches_of(r), slots = r->label.slot_count;
	uint64_t all = 0, spread = 0, weight_ns = 0;

	/* Slots count samples of all states together. */
	for (uint32_t i = 0;
	     !w->is_of_state && batches > 0 && i < r->slot_count && r->slots[i].id < slots; i++) {
		w->kept[(uint64_t)r->slots[i].id * batches / slots] += r->slots[i].kept;
		all += r->slots[i].kept;
	}
	for (uint32_t b = 0; all == 0 && b < batches && w->a->sampled_ns > 0; b++) {
		add_ns(&weight_ns, w->whole_ns[b]);
		/* Batches of a damaged recording may add up to more than its contexts. */
		double part = weight_ns < w->a->sampled_ns
				      ? (double)weight_ns / (double)w->a->sampled_ns
				      : 1;

		w->kept[b] = (uint64_t)((double)w->a->kept * part) - spread;
		spread += w->kept[b];
	}
}

static void set_share(struct weighed *part, const uint64_t *part_ns, const struct walk *w)
{
	part->share =
		stats_sampled_share(part_ns, w->whole_ns, w->kept, batches_of(w->r), part->kept);
}

static void set_shares(struct walk *w)
{
	struct analysis *a = w->a;

	count_kept(w);
	for (uint32_t i = 0; i < a->function_count; i++) {
		set_share(&a->functions[i].own, w->own_ns[i], w);
		set_share(&a->functions[i].with_callees, w->with_ns[i], w);
	}
	for (uint32_t i = 0; i < a->thread_count; i++)
		set_share(&a->threads[i].all, w->thread_ns[i], w);
	set_share(&a->unnamed, w->unnamed_ns, w);
}

static uint64_t part_of(uint64_t value, uint64_t part, uint64_t whole)
{
	return part >= whole ? value : (uint64_t)((unsigned __int128)value * part / whole);
}

/* What a context has of the only state that counts. */
static struct context_row only_state(const struct walk *w, const struct context_row *c)
{
	const uint64_t state_ns[STATE_COUNT] = { c->running_ns, c->waiting_ns, c->runnable_ns };
	uint64_t part_ns = state_ns[w->state], whole_ns = context_ns(c);
	struct context_row row = { .task = c->task, .id = c->id, .node = c->node };

	row.running_ns = w->state == STATE_RUNNING ? part_ns : 0;
	row.waiting_ns = w->state == STATE_WAITING ? part_ns : 0;
	row.runnable_ns = w->state == STATE_RUNNABLE ? part_ns : 0;
	if (part_ns == 0)
		return row;
	row.certain_ns = part_of(c->certain_ns, part_ns, whole_ns);
	row.uncertain_ns = part_of(c->uncertain_ns, part_ns, whole_ns);
	row.kept = part_of(c->kept, part_ns, whole_ns);
	for (size_t b = 0; b < BATCH_COUNT; b++)
		row.batch_ns[b] = part_of(c->batch_ns[b], part_ns, whole_ns);
	return row;
}

int walk_contexts(struct walk *w, struct err *err)
{
	int code = group_frames(w);

	if (code == 0)
		code = place_nodes(w, err);
	if (code == 0)
		code = take_sums(w);
	for (uint32_t i = 0; code == 0 && i < w->r->context_count; i++) {
		struct context_row row =
			w->is_of_state ? only_state(w, &w->r->contexts[i]) : w->r->contexts[i];

		code = add_context(w, &row, i + 1, err);
	}
	if (code != 0)
		return code;
	choose_lines(w);
	set_shares(w);
	return 0;
}
