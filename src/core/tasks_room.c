/* tasks_room.c - how tasks fit into their room: which ones are made coarser, and which go. */
#include <stdlib.h>

#include "core/leb128.h"
#include "core/scoped.h"
#include "core/tasks_parts.h"

/* Worst bytes of a task's row in a file, beside its name and its memory over time. */
#define ROW_BYTES 150u
#define MOST_RSS_BYTES \
	(UINT64_C(1) << 41) /* 2 TB: six bytes; the row of one that has more is some bytes over */

/* Making room frees a sixteenth at once, so that not every new task has to look at all others. */
#define SPARE_SHARE 16u

void tasks_count_bytes(struct tasks *t, struct task *task)
{
	uint64_t bytes = ROW_BYTES + task->row.name.len;

	/* While it runs, all the memory that it may yet show has its room. */
	for (uint32_t b = 0; b < BATCH_COUNT; b++)
		if (task->is_open || task->row.rss_batch[b] > 0)
			bytes += 1 + leb128_bytes(task->is_open ? MOST_RSS_BYTES
								: task->row.rss_batch[b]);
	if (task->profile != NULL)
		bytes += profile_row_bytes(task->profile);
	t->bytes += bytes - task->bytes;
	task->bytes = bytes;
}

/* ---- dropping ---- */

/* Is `a` to go before `b`? */
static bool goes_first(const struct tasks *t, const struct task *a, const struct task *b)
{
	uint64_t a_ns = a->row.end_ns - a->row.begin_ns, b_ns = b->row.end_ns - b->row.begin_ns;

	if (t->settings.keep != TASKS_KEEP_NEWEST && a_ns != b_ns)
		return a_ns < b_ns;
	return a->row.id < b->row.id;
}

static void unlink_of_name(struct tasks *t, struct task *task)
{
	struct task **link = &t->ended_of_name[task->name];

	while (*link != NULL && *link != task)
		link = &(*link)->next_of_name;
	if (*link != NULL)
		*link = task->next_of_name;
}

/* Frees a task; its place in the table is taken by NULL. */
static void free_at(struct tasks *t, uint32_t at)
{
	struct task *task = t->tasks[at];

	unlink_of_name(t, task);
	/* Told tasks have a place reserved. */
	if (task->is_told)
		t->gone[t->gone_count++] = task->row.id;
	t->bytes -= task->bytes;
	profile_close(task->profile);
	free((void *)(uintptr_t)task->row.name.bytes);
	free(task);
	t->tasks[at] = NULL;
}

static void close_gaps(struct tasks *t)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->tasks[i] != NULL)
			t->tasks[count++] = t->tasks[i];
	t->count = count;
}

void tasks_drop(struct tasks *t, struct task *task)
{
	uint32_t at = t->count;

	while (at > 0 && t->tasks[at - 1] != task)
		at--;
	if (at == 0)
		return;
	free_at(t, at - 1);
	for (; at < t->count; at++)
		t->tasks[at - 1] = t->tasks[at];
	t->count--;
}

void tasks_limit_name(struct tasks *t, uint32_t name)
{
	struct task *first = t->ended_of_name[name];
	uint32_t count = 0;

	if (t->settings.keep == TASKS_KEEP_ALL)
		return;
	for (struct task *task = first; task != NULL; task = task->next_of_name) {
		count++;
		if (goes_first(t, task, first))
			first = task;
	}
	if (count <= t->settings.per_name)
		return;
	t->dropped++;
	tasks_drop(t, first);
}

/* ---- fitting ---- */

static bool is_over(const struct tasks *t, uint64_t room_bytes)
{
	return t->bytes + t->names.bytes > room_bytes;
}

/* Halves a task once and counts it anew. */
static bool halve(struct tasks *t, struct task *task)
{
	bool has_halved = profile_halve(task->profile);

	task->is_changed |= has_halved;
	tasks_count_bytes(t, task);
	return has_halved;
}

/* Can the profile become smaller? */
static bool is_large(const struct task *task)
{
	return task->profile != NULL &&
	       (profile_timeline(task->profile)->count > TIMELINE_MIN_SLOTS ||
		profile_contexts(task->profile)->capacity > PROFILE_LEAST_CONTEXTS);
}

/* Halves those that are at least half as large as the largest, once each. False: there is none. */
static bool halve_largest(struct tasks *t, bool of_open, uint64_t room_bytes)
{
	uint64_t largest_bytes = 0;
	bool has_halved = false;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct task *task = t->tasks[i];

		if (task->is_open == of_open && is_large(task) && task->bytes > largest_bytes)
			largest_bytes = task->bytes;
	}
	for (uint32_t i = 0; i < t->count && is_over(t, room_bytes); i++) {
		struct task *task = t->tasks[i];

		if (task->is_open == of_open && is_large(task) &&
		    task->bytes >= largest_bytes - largest_bytes / 2)
			has_halved |= halve(t, task);
	}
	return has_halved;
}

struct candidate {
	struct tasks *tasks;
	struct task *task;
	uint32_t at;
};

static int compare_candidates(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return goes_first(a->tasks, a->task, b->task) ? -1 : 1;
}

static void free_candidates(struct candidate **all)
{
	free(*all);
}

/* Of those that have ended, the ones to keep least. */
static void drop_ended(struct tasks *t, uint64_t room_bytes)
{
	SCOPED(free_candidates)
	struct candidate *all = calloc((size_t)t->count + 1, sizeof(*all));
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->count && all != NULL; i++)
		if (!t->tasks[i]->is_open)
			all[count++] = (struct candidate){ t, t->tasks[i], i };
	if (all == NULL)
		return;
	qsort(all, count, sizeof(*all), compare_candidates);
	for (uint32_t i = 0; i < count && is_over(t, room_bytes); i++) {
		t->dropped++;
		free_at(t, all[i].at);
	}
	close_gaps(t);
}

/* The task that runs and has the least weight loses its profile. False: none has one. */
static bool bare_lightest(struct tasks *t)
{
	struct task *lightest = NULL;
	struct label least = { .weight_ns = UINT64_MAX };

	for (uint32_t i = 0; i < t->count; i++) {
		struct label label = { .weight_ns = 0 };

		if (t->tasks[i]->profile == NULL)
			continue;
		profile_label(t->tasks[i]->profile, &label);
		if (label.weight_ns < least.weight_ns) {
			least = label;
			lightest = t->tasks[i];
		}
	}
	if (lightest == NULL)
		return false;
	lightest->row.ticks = lightest->ticks;
	lightest->row.weight_ns = least.weight_ns;
	lightest->row.kept = least.kept;
	lightest->row.slot_count = 0;
	lightest->row.slot_ns = 0;
	lightest->row.batches = 0;
	profile_close(lightest->profile);
	lightest->profile = NULL;
	lightest->is_bare = lightest->is_changed = lightest->has_lost_rows = true;
	tasks_count_bytes(t, lightest);
	return true;
}

void tasks_fit(struct tasks *t)
{
	uint64_t room_bytes = t->settings.room_bytes;

	if (!is_over(t, room_bytes))
		return;
	room_bytes -= room_bytes / SPARE_SHARE;
	while (is_over(t, room_bytes) && halve_largest(t, false, room_bytes))
		;
	if (is_over(t, room_bytes))
		drop_ended(t, room_bytes);
	while (is_over(t, room_bytes) && halve_largest(t, true, room_bytes))
		;
	while (is_over(t, room_bytes) && bare_lightest(t))
		;
}

bool tasks_yield(void *tasks)
{
	struct tasks *t = tasks;
	struct task *largest = NULL;

	for (uint32_t i = 0; i < t->count; i++) {
		struct task *task = t->tasks[i];

		if (!task->is_open && is_large(task) &&
		    (largest == NULL || task->bytes > largest->bytes))
			largest = task;
	}
	return largest != NULL && halve(t, largest);
}
