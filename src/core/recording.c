/* recording.c - rows on their way into and out of a recording. */
#include "core/recording.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of `row_bytes`, zeroed; NULL leaves everything as it was. `rows_at` is where the
 * pointer to the rows lives, whatever their type: it is only copied. */
static void *append(void *rows_at, uint32_t *count, uint32_t *room, size_t row_bytes)
{
	void *rows;

	memcpy(&rows, rows_at, sizeof(rows));
	if (*count == *room) {
		uint32_t more = *room < 32 ? 64 : *room <= UINT32_MAX / 2 ? *room * 2 : UINT32_MAX;

		if (more == *room)
			return NULL;
		rows = reallocarray(rows, more, row_bytes);
		if (rows == NULL)
			return NULL;
		memcpy(rows_at, &rows, sizeof(rows));
		*room = more;
	}

	void *row = (char *)rows + (size_t)*count * row_bytes;

	memset(row, 0, row_bytes);
	(*count)++;
	return row;
}

struct node_row *changes_node(struct changes *c)
{
	return append(&c->nodes, &c->node_count, &c->node_room, sizeof(*c->nodes));
}

struct frame_row *changes_frame(struct changes *c)
{
	return append(&c->frames, &c->frame_count, &c->frame_room, sizeof(*c->frames));
}

struct slot_row *changes_slot(struct changes *c)
{
	return append(&c->slots, &c->slot_count, &c->slot_room, sizeof(*c->slots));
}

struct context_row *changes_context(struct changes *c)
{
	return append(&c->contexts, &c->context_count, &c->context_room, sizeof(*c->contexts));
}

struct ledger_row *changes_ledger(struct changes *c)
{
	return append(&c->ledger, &c->ledger_count, &c->ledger_room, sizeof(*c->ledger));
}

struct watch_row *changes_watch(struct changes *c)
{
	return append(&c->watch, &c->watch_count, &c->watch_room, sizeof(*c->watch));
}

struct watched_row *changes_watched(struct changes *c)
{
	return append(&c->watched, &c->watched_count, &c->watched_room, sizeof(*c->watched));
}

struct window_row *changes_window(struct changes *c)
{
	return append(&c->windows, &c->window_count, &c->window_room, sizeof(*c->windows));
}

struct slow_row *changes_slow(struct changes *c)
{
	return append(&c->slow, &c->slow_count, &c->slow_room, sizeof(*c->slow));
}

struct slow_part_row *changes_slow_part(struct changes *c)
{
	return append(&c->slow_parts, &c->slow_part_count, &c->slow_part_room,
		      sizeof(*c->slow_parts));
}

struct task_row *changes_task(struct changes *c)
{
	return append(&c->tasks, &c->task_count, &c->task_room, sizeof(*c->tasks));
}

struct task_name_row *changes_task_name(struct changes *c)
{
	return append(&c->task_names, &c->task_name_count, &c->task_name_room,
		      sizeof(*c->task_names));
}

uint32_t *changes_gone_task(struct changes *c)
{
	return append(&c->gone_tasks, &c->gone_task_count, &c->gone_task_room,
		      sizeof(*c->gone_tasks));
}

uint32_t *changes_cleared_task(struct changes *c)
{
	return append(&c->cleared_tasks, &c->cleared_task_count, &c->cleared_task_room,
		      sizeof(*c->cleared_tasks));
}

uint32_t *changes_gone_node(struct changes *c)
{
	return append(&c->gone_nodes, &c->gone_node_count, &c->gone_node_room,
		      sizeof(*c->gone_nodes));
}

uint32_t *changes_gone_frame(struct changes *c)
{
	return append(&c->gone_frames, &c->gone_frame_count, &c->gone_frame_room,
		      sizeof(*c->gone_frames));
}

uint32_t *changes_gone_context(struct changes *c)
{
	return append(&c->gone_contexts, &c->gone_context_count, &c->gone_context_room,
		      sizeof(*c->gone_contexts));
}

uint32_t *changes_gone_slow(struct changes *c)
{
	return append(&c->gone_slow, &c->gone_slow_count, &c->gone_slow_room,
		      sizeof(*c->gone_slow));
}

void changes_rewind(struct changes *c, const struct changes *before)
{
	c->node_count = before->node_count;
	c->frame_count = before->frame_count;
	c->slot_count = before->slot_count;
	c->context_count = before->context_count;
	c->ledger_count = before->ledger_count;
	c->watch_count = before->watch_count;
	c->watched_count = before->watched_count;
	c->window_count = before->window_count;
	c->slow_count = before->slow_count;
	c->slow_part_count = before->slow_part_count;
	c->task_count = before->task_count;
	c->task_name_count = before->task_name_count;
	c->gone_task_count = before->gone_task_count;
	c->cleared_task_count = before->cleared_task_count;
	c->gone_node_count = before->gone_node_count;
	c->gone_frame_count = before->gone_frame_count;
	c->gone_context_count = before->gone_context_count;
	c->gone_slow_count = before->gone_slow_count;
	c->windows_merged = before->windows_merged;
	c->slots_from = before->slots_from;
	c->ledger_from = before->ledger_from;
}

void changes_reset(struct changes *c)
{
	changes_rewind(c, &CHANGES_EMPTY);
}

void changes_free(struct changes *c)
{
	free(c->nodes);
	free(c->frames);
	free(c->slots);
	free(c->contexts);
	free(c->ledger);
	free(c->watch);
	free(c->watched);
	free(c->windows);
	free(c->slow);
	free(c->slow_parts);
	free(c->tasks);
	free(c->task_names);
	free(c->gone_tasks);
	free(c->cleared_tasks);
	free(c->gone_slow);
	free(c->gone_nodes);
	free(c->gone_frames);
	free(c->gone_contexts);
	*c = CHANGES_EMPTY;
}

void recording_free(struct recording *r)
{
	free(r->nodes);
	free(r->frames);
	free(r->slots);
	free(r->contexts);
	free(r->ledger);
	for (uint32_t i = 0; i < r->window_count; i++)
		histogram_free(&r->windows[i].histogram);
	free(r->tasks);
	free(r->task_names);
	free(r->watched);
	free(r->windows);
	free(r->slow);
	free(r->slow_parts);
	free(r->text);
	*r = RECORDING_EMPTY;
}

/* Every row struct that is looked up has its id as its first member, as the asserts below say. */
static const void *find(const void *rows, uint32_t count, size_t row_bytes, uint32_t id)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const char *row = (const char *)rows + (size_t)middle * row_bytes;
		uint32_t its_id;

		memcpy(&its_id, row, sizeof(its_id));
		if (its_id == id)
			return row;
		if (its_id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

_Static_assert(offsetof(struct node_row, id) == 0, "find() reads it there");
_Static_assert(offsetof(struct frame_row, id) == 0, "find() reads it there");

const struct node_row *recording_node(const struct recording *r, uint32_t id)
{
	return find(r->nodes, r->node_count, sizeof(*r->nodes), id);
}

const struct frame_row *recording_frame(const struct recording *r, uint32_t id)
{
	return find(r->frames, r->frame_count, sizeof(*r->frames), id);
}

_Static_assert(offsetof(struct watched_row, id) == 0, "find() reads it there");

const struct watched_row *recording_watched(const struct recording *r, uint32_t id)
{
	return find(r->watched, r->watched_count, sizeof(*r->watched), id);
}

_Static_assert(offsetof(struct task_row, id) == 0, "find() reads it there");

const struct task_row *recording_task(const struct recording *r, uint32_t id)
{
	return find(r->tasks, r->task_count, sizeof(*r->tasks), id);
}

static struct label label_of_task(const struct label *run, const struct task_row *task)
{
	struct label l = *run;

	l.pid = task->pid;
	l.elapsed_ns = task->end_ns > task->begin_ns ? task->end_ns - task->begin_ns : 0;
	l.started_wall_ns = (int64_t)((uint64_t)run->started_wall_ns + task->begin_ns);
	l.is_finished = task->state != TASK_RUNNING;
	l.clock_ns = task->weight_ns;
	if (IS_MEASURED(task->cpu_ns) && task->cpu_ns.value > l.clock_ns)
		l.clock_ns = task->cpu_ns.value;
	l.weight_ns = task->weight_ns;
	l.ticks = task->ticks;
	l.kept = task->kept;
	l.lost = task->lost;
	l.one_in = task->one_in;
	l.slot_count = task->slot_count;
	l.slot_ns = task->slot_ns;
	l.batches = task->batches;
	l.merges = task->merges;
	l.own_cpu_ns = l.sample_ns = l.kernel_ns = l.save_ns = l.start_ns = l.fixed_ns = 0;
	return l;
}

/* Rows of one task lie together, in the order of tasks: how many of `count` are of tasks before `task`. */
static uint32_t rows_before(const void *rows, uint32_t count, size_t row_bytes, uint32_t task)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, its_task;

		memcpy(&its_task, (const char *)rows + (size_t)middle * row_bytes,
		       sizeof(its_task));
		if (its_task < task)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

_Static_assert(offsetof(struct slot_row, task) == 0, "rows_before() reads it there");
_Static_assert(offsetof(struct context_row, task) == 0, "rows_before() reads it there");

void recording_of_task(const struct recording *r, const struct task_row *task,
		       struct recording *out)
{
	struct recording part = *r;
	uint32_t slots = r->slot_count + r->task_slot_count;
	uint32_t contexts = r->context_count + r->task_context_count;
	uint32_t slot = rows_before(r->slots, slots, sizeof(*r->slots), task->id);
	uint32_t context = rows_before(r->contexts, contexts, sizeof(*r->contexts), task->id);

	part.label = label_of_task(&r->label, task);
	part.slots = r->slots + slot;
	part.slot_count = rows_before(r->slots, slots, sizeof(*r->slots), task->id + 1) - slot;
	part.contexts = r->contexts + context;
	part.context_count =
		rows_before(r->contexts, contexts, sizeof(*r->contexts), task->id + 1) - context;
	part.task_slot_count = part.task_context_count = 0;
	part.ledger_count = 0;
	*out = part;
}

bool label_has_waiting(const struct label *label)
{
	static const struct str wall = STR_LITERAL("wall");

	return label->clock.len == wall.len &&
	       memcmp(label->clock.bytes, wall.bytes, wall.len) == 0;
}
