/* report_page_record_data.c - what the script of a page of samples draws from: functions, paths, their weights, slots. Paths are
 * given as nodes with parents; rows are columns, so that a number costs its digits and a comma. What does not fit is
 * weighed all the same, under "[left out]" of its thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_page.h"
#include "cli/report_page_slots.h"
#include "core/scoped.h"

static const struct str left_out = STR_LITERAL("[left out]");

/* Which contexts stay, and the nodes that they and the slots need. */
struct choice {
	const struct recording *r;
	const struct analysis *a;
	struct page_slots slots; /* owned */
	uint32_t *kept;		 /* owned: places of contexts that stay, heaviest first */
	uint32_t *rest;		 /* borrowed: behind them, those that are left out */
	uint32_t *
		number; /* owned: place of a node -> its number in the page, NO_ID: it is not there */
	uint32_t *place; /* owned: the other way round */
	uint32_t *
		stump; /* owned: place of a node that is a root -> number of its "[left out]", NO_ID */
	uint32_t *stump_of; /* owned: stump -> number of its root */
	uint32_t kept_count, rest_count, node_count, stump_count;
};

static void choice_free(struct choice *c)
{
	free(c->kept);
	free(c->number);
	free(c->place);
	free(c->stump);
	free(c->stump_of);
	page_slots_free(&c->slots);
	*c = (struct choice){ .r = NULL };
}

static uint64_t context_ns(const struct context_row *c)
{
	return c->running_ns + c->waiting_ns + c->runnable_ns;
}

static int heavier(const void *x, const void *y, void *owner)
{
	const struct context_row *contexts = owner;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint64_t a_ns = context_ns(&contexts[a]), b_ns = context_ns(&contexts[b]);

	return a_ns != b_ns ? (a_ns < b_ns) - (a_ns > b_ns) : (a > b) - (a < b);
}

static uint32_t place_of(const struct recording *r, uint32_t node)
{
	const struct node_row *row = node == NO_ID ? NULL : recording_node(r, node);

	return row == NULL ? NO_ID : (uint32_t)(row - r->nodes);
}

static uint32_t parent_of(const struct recording *r, uint32_t place)
{
	return place_of(r, r->nodes[place].parent);
}

/* Numbers a node and all above it. */
static void take_path(struct choice *c, uint32_t place)
{
	while (place != NO_ID && c->number[place] == NO_ID) {
		c->number[place] = c->node_count;
		c->place[c->node_count++] = place;
		place = parent_of(c->r, place);
	}
}

/* The number of the node that stands for what is left out below the same root as this one. */
static uint32_t stump_for(struct choice *c, uint32_t place)
{
	uint32_t root = place, above;

	while ((above = parent_of(c->r, root)) != NO_ID)
		root = above;
	if (c->stump[root] == NO_ID) {
		take_path(c, root);
		c->stump[root] = c->stump_count;
		c->stump_of[c->stump_count++] = c->number[root];
	}
	return c->stump[root];
}

static uint32_t *take_numbers(uint32_t count)
{
	uint32_t *numbers = malloc(((size_t)count + 1) * sizeof(*numbers));

	for (uint32_t i = 0; numbers != NULL && i < count; i++)
		numbers[i] = NO_ID;
	return numbers;
}

static int choose(struct choice *c, unsigned halvings)
{
	const struct recording *r = c->r;
	int code = page_slots_open(r, halvings, &c->slots);

	if (code != 0)
		return code;
	c->kept = take_numbers(r->context_count);
	c->number = take_numbers(r->node_count);
	c->place = take_numbers(r->node_count);
	c->stump = take_numbers(r->node_count);
	c->stump_of = take_numbers(r->node_count);
	if (c->kept == NULL || c->number == NULL || c->place == NULL || c->stump == NULL ||
	    c->stump_of == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->context_count; i++)
		c->kept[i] = i;
	qsort_r(c->kept, r->context_count, sizeof(*c->kept), heavier, r->contexts);
	c->kept_count = r->context_count >> halvings;
	c->rest = c->kept + c->kept_count;
	c->rest_count = r->context_count - c->kept_count;
	for (uint32_t i = 0; i < c->kept_count; i++)
		take_path(c, place_of(r, r->contexts[c->kept[i]].node));
	for (uint32_t i = 0; halvings == 0 && i < c->slots.count; i++)
		take_path(c, place_of(r, c->slots.rows[i].node));
	for (uint32_t i = 0; i < c->rest_count; i++)
		stump_for(c, place_of(r, r->contexts[c->rest[i]].node));
	for (uint32_t i = 0; i < c->slots.count; i++) {
		uint32_t place = place_of(r, c->slots.rows[i].node);

		if (place != NO_ID && c->number[place] == NO_ID)
			stump_for(c, place);
	}
	return 0;
}

/* ---- names ---- */

/* Foreign names are made harmless here: what is hidden in them is shown, as in the terminal. */
static void put_name(struct json *j, struct str name, bool is_function, const char *mark)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	if (is_function)
		text_put_function(&words, name, PAGE_MOST_NAME);
	else
		text_put_cut(&words, name, PAGE_MOST_NAME);
	text_put(&words, mark);
	if (words.has_failed)
		json_fail(j, -ENOMEM);
	json_chars(j, text_chars(&words));
}

/* Which functions the page needs: old index -> new one, or NO_ID. */
struct used {
	uint32_t *number; /* owned */
	uint32_t count;
};

static void used_free(struct used *u)
{
	free(u->number);
	*u = (struct used){ .number = NULL };
}

static int use_functions(struct used *u, const struct choice *c)
{
	u->number = take_numbers(c->a->function_count);
	if (u->number == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->node_count; i++) {
		uint32_t f = c->a->function_of_node[c->place[i]];

		if (f != NO_ID)
			u->number[f] = 0;
	}
	/* Heaviest first, as the analysis has them. */
	for (uint32_t f = 0; f < c->a->function_count; f++)
		if (u->number[f] != NO_ID)
			u->number[f] = u->count++;
	return 0;
}

static void put_function(struct json *j, const struct function *f)
{
	json_open_array(j);
	put_name(j, f->name, true, frame_mark(f->kind));
	put_name(j, f->module, false, "");
	put_name(j, f->file, false, "");
	json_u64(j, f->line);
	json_u64(j, f->kind);
	json_close(j);
}

/* The last two rows have no node of their own: time of a path that is only a thread, and what is left out. */
static void put_functions(struct json *j, const struct choice *c, const struct used *u)
{
	const struct function none = { .name = STR_LITERAL("[no stack]"), .kind = FRAME_MARKER };
	const struct function cut = { .name = left_out, .kind = FRAME_MARKER };

	json_key(j, "functions");
	json_open_array(j);
	for (uint32_t f = 0; f < c->a->function_count; f++)
		if (u->number[f] != NO_ID)
			put_function(j, &c->a->functions[f]);
	put_function(j, &none);
	put_function(j, &cut);
	json_close(j);
}

static void put_threads(struct json *j, const struct analysis *a)
{
	json_key(j, "threads");
	json_open_array(j);
	for (uint32_t i = 0; i < a->thread_count; i++) {
		json_open_array(j);
		put_name(j, a->threads[i].name, false, "");
		json_u64(j, a->threads[i].pid);
		json_u64(j, a->threads[i].tid);
		json_close(j);
	}
	json_close(j);
}

/* ---- nodes ---- */

static uint32_t thread_of(const struct choice *c, uint32_t place)
{
	const struct frame_row *f = recording_frame(c->r, c->r->nodes[place].frame);

	for (uint32_t i = 0; f != NULL && i < c->a->thread_count; i++) {
		const struct thread *t = &c->a->threads[i];

		if (t->pid == f->pid && t->tid == f->tid && str_compare(t->name, f->name) == 0)
			return i;
	}
	return NO_ID;
}

/* Of a node: its function; of a thread: -2 less the thread's number; -1: a thread that was never sampled. */
static int64_t what_of(const struct choice *c, const struct used *u, uint32_t number)
{
	uint32_t f = c->a->function_of_node[c->place[number]], thread;

	if (f != NO_ID)
		return u->number[f];
	thread = thread_of(c, c->place[number]);
	return thread == NO_ID ? -1 : -2 - (int64_t)thread;
}

static void put_nodes(struct json *j, const struct choice *c, const struct used *u)
{
	json_key(j, "parents");
	json_open_array(j);
	for (uint32_t i = 0; i < c->node_count; i++) {
		uint32_t parent = parent_of(c->r, c->place[i]);

		json_i64(j, parent == NO_ID ? -1 : (int64_t)c->number[parent]);
	}
	for (uint32_t i = 0; i < c->stump_count; i++)
		json_u64(j, c->stump_of[i]);
	json_close(j);
	json_key(j, "whats");
	json_open_array(j);
	for (uint32_t i = 0; i < c->node_count; i++)
		json_i64(j, what_of(c, u, i));
	for (uint32_t i = 0; i < c->stump_count; i++)
		json_u64(j, u->count + 1);
	json_close(j);
}

/* ---- weights ---- */

static void add_context(struct context_row *sum, const struct context_row *c)
{
	sum->uncertain_ns += c->uncertain_ns;
	sum->running_ns += c->running_ns;
	sum->waiting_ns += c->waiting_ns;
	sum->runnable_ns += c->runnable_ns;
	sum->kept += c->kept;
	for (size_t b = 0; b < BATCH_COUNT; b++)
		sum->batch_ns[b] += c->batch_ns[b];
}

/* [node, kept, uncertain, running, waiting, runnable, then batch and weight of each batch with any]. */
static void put_context(struct json *j, uint64_t node, const struct context_row *c)
{
	json_open_array(j);
	json_u64(j, node);
	json_u64(j, c->kept);
	json_u64(j, c->uncertain_ns);
	json_u64(j, c->running_ns);
	json_u64(j, c->waiting_ns);
	json_u64(j, c->runnable_ns);
	for (size_t b = 0; b < BATCH_COUNT; b++)
		if (c->batch_ns[b] > 0) {
			json_u64(j, b);
			json_u64(j, c->batch_ns[b]);
		}
	json_close(j);
}

static int put_contexts(struct json *j, struct choice *c)
{
	const struct recording *r = c->r;
	struct context_row *sums = calloc((size_t)c->stump_count + 1, sizeof(*sums));

	if (sums == NULL)
		return -ENOMEM;
	json_key(j, "contexts");
	json_open_array(j);
	for (uint32_t i = 0; i < c->kept_count; i++) {
		const struct context_row *row = &r->contexts[c->kept[i]];

		put_context(j, c->number[place_of(r, row->node)], row);
	}
	for (uint32_t i = 0; i < c->rest_count; i++) {
		const struct context_row *row = &r->contexts[c->rest[i]];

		add_context(&sums[stump_for(c, place_of(r, row->node))], row);
	}
	for (uint32_t i = 0; i < c->stump_count; i++)
		put_context(j, (uint64_t)c->node_count + i, &sums[i]);
	json_close(j);
	free(sums);
	return 0;
}

static int64_t node_of_slot(struct choice *c, const struct slot_row *s)
{
	uint32_t place = place_of(c->r, s->node);

	if (place == NO_ID)
		return -1;
	return c->number[place] != NO_ID ? (int64_t)c->number[place]
					 : (int64_t)c->node_count + stump_for(c, place);
}

enum column { RUNNING, WAITING, RUNNABLE, KEPT, LOST, SHOWN };

static int64_t slot_cell(struct choice *c, const struct slot_row *s, enum column column)
{
	switch (column) {
	case RUNNING:
		return (int64_t)s->running_ns;
	case WAITING:
		return (int64_t)s->waiting_ns;
	case RUNNABLE:
		return (int64_t)s->runnable_ns;
	case KEPT:
		return s->kept;
	case LOST:
		return s->lost;
	default:
		return node_of_slot(c, s);
	}
}

static void put_slots(struct json *j, struct choice *c)
{
	static const char *const names[] = { "running", "waiting", "runnable",
					     "kept",	"lost",	   "shown" };

	json_key(j, "slots");
	json_open_object(j);
	for (size_t column = 0; column < ARRAY_LEN(names); column++) {
		json_key(j, names[column]);
		json_open_array(j);
		for (uint32_t i = 0; i < c->slots.count; i++)
			json_i64(j, slot_cell(c, &c->slots.rows[i], (enum column)column));
		json_close(j);
	}
	json_close(j);
}

static void put_run(struct json *j, const struct report *r, const struct page_slots *slots)
{
	const struct label *label = &r->recording->label;
	SCOPED(text_free) struct text reason = TEXT_EMPTY;

	text_put_cut(&reason, label->kernel_stacks, PAGE_MOST_NAME);
	json_put_i64(j, "started_ms", label->started_wall_ns / 1000000);
	json_put_u64(j, "elapsed_ns", label->elapsed_ns);
	json_put_u64(j, "slot_ns", slots->span_ns);
	json_put_u64(j, "slot_count", slots->of);
	json_put_u64(j, "slots_merged", slots->merged);
	json_put_u64(j, "batches", label->batches < BATCH_COUNT ? label->batches : BATCH_COUNT);
	json_put_bool(j, "has_waiting",
		      !(label->clock.len == 3 && memcmp(label->clock.bytes, "cpu", 3) == 0));
	json_put_chars(j, "kernel", text_chars(&reason));
	json_put_u64(j, "threads_seen", label->threads);
	json_put_u64(j, "unsampled_ns", r->analysis->unsampled_ns);
	json_put_u64(j, "clock_ns", r->analysis->clock_ns);
	json_put_u64(j, "sampled_kept", r->analysis->kept);
	if (reason.has_failed)
		json_fail(j, -ENOMEM);
}

int record_page_data(struct json *j, const struct page *p, struct err *err)
{
	const struct report *r = p->owner;
	SCOPED(choice_free) struct choice c = { .r = r->recording, .a = r->analysis };
	SCOPED(used_free) struct used u = { .number = NULL };
	int code = choose(&c, p->halvings);

	if (code == 0)
		code = use_functions(&u, &c);
	if (code != 0)
		return report_failed(code, err);
	put_run(j, r, &c.slots);
	json_put_u64(j, "paths_left_out", c.rest_count);
	put_functions(j, &c, &u);
	put_threads(j, r->analysis);
	put_nodes(j, &c, &u);
	put_slots(j, &c);
	code = put_contexts(j, &c);
	return code != 0 ? report_failed(code, err) : 0;
}
