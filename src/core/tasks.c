/* tasks.c - named parts of a run, each with its own profile. */
#include "core/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/tasks_parts.h"

/* New names have rows of their own up to a quarter of the room: with all durations there are, a row becomes four times as
 * long at most. */
#define NAMES_SHARE 4u

#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15) /* so that no two tasks have the same coins */

int tasks_open(const struct tasks_settings *settings, struct profile *run, struct tasks **out,
	       struct err *err)
{
	struct profile *probe;
	struct tasks *t;
	int code = profile_open_beside(&settings->profile, run, &probe, err);

	if (code < 0)
		return code;
	profile_close(probe);
	if (settings->room_bytes < TASKS_LEAST_ROOM)
		return err_set(err, -EINVAL, "cannot keep tasks in %llu bytes: %llu are needed",
			       (unsigned long long)settings->room_bytes,
			       (unsigned long long)TASKS_LEAST_ROOM);
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return err_set(err, -ENOMEM, "cannot take memory for tasks");
	t->settings = *settings;
	if (t->settings.per_name == 0)
		t->settings.per_name = TASKS_PER_NAME;
	t->run = run;
	t->newest = TASK_RUN;
	t->ended_of_name = calloc(TASK_NAMES_MOST + 1, sizeof(struct task *));
	if (t->ended_of_name == NULL ||
	    task_names_init(&t->names, settings->room_bytes / NAMES_SHARE) < 0) {
		tasks_close(t);
		return err_set(err, -ENOMEM, "cannot take memory for tasks");
	}
	profile_set_yield(run, tasks_yield, t);
	*out = t;
	return 0;
}

static void free_task(struct task *task)
{
	profile_close(task->profile);
	free((void *)(uintptr_t)task->row.name.bytes);
	free(task);
}

void tasks_close(struct tasks *t)
{
	if (t == NULL)
		return;
	profile_set_yield(t->run, NULL, NULL);
	for (uint32_t i = 0; i < t->count; i++)
		free_task(t->tasks[i]);
	task_names_free(&t->names);
	free(t->ended_of_name);
	free(t->tasks);
	free(t->gone);
	free(t);
}

/* The place of a task, or of the first one with a higher number. */
static uint32_t place_of(const struct tasks *t, uint32_t id)
{
	uint32_t low = 0, high = t->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->tasks[middle]->row.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct task *find(const struct tasks *t, uint32_t id)
{
	uint32_t at = place_of(t, id);

	return at < t->count && t->tasks[at]->row.id == id ? t->tasks[at] : NULL;
}

static struct task *find_open(const struct tasks *t, uint32_t id)
{
	struct task *task = id == TASKS_NONE ? NULL : find(t, id);

	return task != NULL && task->is_open ? task : NULL;
}

/* ---- beginning and ending ---- */

static struct task *new_task(const struct task_begin *begin)
{
	struct str name = task_name_cut(begin->name);
	struct task *task = calloc(1, sizeof(*task));
	char *copy = malloc(name.len + 1u);

	if (task == NULL || copy == NULL) {
		free(task);
		free(copy);
		return NULL;
	}
	memcpy(copy, name.len > 0 ? name.bytes : "", name.len);
	copy[name.len] = '\0';
	task->row = (struct task_row){
		.kind = begin->kind,
		.state = TASK_RUNNING,
		.pid = begin->pid,
		.parent_pid = begin->parent_pid,
		.name = { copy, name.len },
		.begin_ns = begin->at_ns,
		.cpu_ns = NOT_MEASURED,
		.rss_bytes = NOT_MEASURED,
	};
	task->cpu_before_ns = begin->cpu_ns;
	task->last_ns = begin->at_ns;
	task->is_open = task->is_changed = true;
	return task;
}

/* Room for one task more. */
static bool has_place(struct tasks *t)
{
	uint32_t room = t->room == 0 ? 64 : t->room * 2;
	struct task **more;

	if (t->count < t->room)
		return true;
	more = reallocarray(t->tasks, room, sizeof(struct task *));
	if (more == NULL)
		return false;
	t->tasks = more;
	t->room = room;
	return true;
}

uint32_t tasks_begin(struct tasks *t, const struct task_begin *begin)
{
	uint32_t name = task_names_find(&t->names, begin->name);
	bool has_room = t->open < TASKS_MOST_OPEN && t->newest < NO_ID - 1 && has_place(t);
	struct task *task = has_room ? new_task(begin) : NULL;

	task_names_begin(&t->names, name);
	t->begun++;
	if (task == NULL) {
		t->unfollowed++;
		return TASKS_NONE;
	}
	task->name = name;
	task->row.id = ++t->newest;
	t->tasks[t->count++] = task;
	t->open++;
	tasks_count_bytes(t, task);
	tasks_fit(t);
	if (tasks_bytes(t) <= t->settings.room_bytes)
		return task->row.id;
	t->open--;
	t->unfollowed++;
	tasks_drop(t, task);
	return TASKS_NONE;
}

static uint64_t duration_ns(const struct task *task)
{
	return task->row.end_ns > task->row.begin_ns ? task->row.end_ns - task->row.begin_ns : 0;
}

static struct counter cpu_between(struct counter before, struct counter after)
{
	if (!IS_MEASURED(before) || !IS_MEASURED(after) || after.value < before.value)
		return NOT_MEASURED;
	return COUNTER(after.value - before.value);
}

/* What a row says of its profile, and when it was last seen. */
static void settle_row(struct task *task)
{
	struct label label = { .one_in = 1 };

	if (task->is_open)
		task->row.end_ns = task->last_ns;
	if (task->profile == NULL)
		return;
	profile_label(task->profile, &label);
	task->row.weight_ns = label.weight_ns;
	task->row.ticks = task->ticks;
	task->row.kept = label.kept;
	task->row.one_in = label.one_in;
	task->row.slot_count = label.slot_count;
	task->row.slot_ns = label.slot_ns;
	task->row.batches = label.batches;
	task->row.merges = label.merges;
}

void tasks_end(struct tasks *t, uint32_t id, const struct task_end *end)
{
	struct task *task = find_open(t, id);

	if (task == NULL)
		return;
	task->last_ns = end->at_ns > task->row.begin_ns ? end->at_ns : task->row.begin_ns;
	settle_row(task);
	task->row.state = end->state;
	task->row.cpu_ns = cpu_between(task->cpu_before_ns, end->cpu_ns);
	task->is_open = false;
	task->is_changed = true;
	t->open--;
	task_names_end(&t->names, task->name, duration_ns(task));
	task->next_of_name = t->ended_of_name[task->name];
	t->ended_of_name[task->name] = task;
	tasks_count_bytes(t, task);
	if (duration_ns(task) < t->settings.min_duration_ns) {
		t->dropped++;
		tasks_drop(t, task);
		return;
	}
	tasks_limit_name(t, task->name);
	tasks_fit(t);
}

/* ---- ticks ---- */

/* The tick in the task's own time. */
static struct tick in_task(const struct task *task, const struct tick *tick)
{
	struct tick own = *tick;
	uint64_t begin_ns = task->row.begin_ns;

	own.at_ns = tick->at_ns > begin_ns ? tick->at_ns - begin_ns : 0;
	own.from_ns = tick->from_ns > begin_ns ? tick->from_ns - begin_ns : 0;
	return own;
}

/* A task's profile is opened with its first tick: most short ones never need it. */
static bool has_profile(struct tasks *t, struct task *task)
{
	struct profile_settings own = t->settings.profile;

	if (task->profile != NULL || task->is_bare)
		return task->profile != NULL;
	own.seed ^= task->row.id * SEED_STEP;
	task->is_bare = profile_open_beside(&own, t->run, &task->profile, NULL) < 0;
	return !task->is_bare;
}

bool tasks_wants(struct tasks *t, uint32_t id, const struct tick *tick)
{
	struct task *task = find_open(t, id);
	struct tick own;

	if (task == NULL || !has_profile(t, task))
		return false;
	own = in_task(task, tick);
	return profile_wants(task->profile, &own);
}

void tasks_add(struct tasks *t, uint32_t id, const struct tick *tick, const struct frame *path,
	       size_t depth)
{
	struct task *task = find_open(t, id);
	struct tick own;

	if (task == NULL)
		return;
	if (tick->at_ns > task->last_ns)
		task->last_ns = tick->at_ns;
	task->is_changed = true;
	task->ticks++;
	if (!has_profile(t, task)) {
		task->row.ticks = task->ticks;
		task->row.weight_ns += tick->weight_ns;
		return;
	}
	own = in_task(task, tick);
	profile_add(task->profile, &own, path, depth);
}

void tasks_lost(struct tasks *t, uint64_t at_ns, uint64_t lost)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct task *task = t->tasks[i];
		struct tick at = in_task(task, &(struct tick){ .at_ns = at_ns });

		if (!task->is_open)
			continue;
		task->row.lost += lost;
		task->is_changed = true;
		if (task->profile != NULL)
			profile_lost(task->profile, at.at_ns, lost);
	}
}

/* ---- memory ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Spans twice as long: of two neighbours the larger one stays. */
static void halve_memory(struct task_row *row)
{
	for (uint32_t b = 0; b < BATCH_COUNT / 2; b++)
		row->rss_batch[b] = larger(row->rss_batch[2 * b], row->rss_batch[2 * b + 1]);
	memset(row->rss_batch + BATCH_COUNT / 2, 0, BATCH_COUNT / 2 * sizeof(row->rss_batch[0]));
	row->rss_batch_ns *= 2;
}

void tasks_memory(struct tasks *t, uint32_t id, uint64_t at_ns, uint64_t rss_bytes)
{
	struct task *task = find_open(t, id);
	struct task_row *row;
	uint64_t elapsed_ns;
	uint32_t batch;

	if (task == NULL || rss_bytes == 0)
		return;
	row = &task->row;
	elapsed_ns = at_ns > row->begin_ns ? at_ns - row->begin_ns : 0;
	if (row->rss_batch_ns == 0)
		row->rss_batch_ns = t->settings.profile.base_ns;
	while (elapsed_ns / row->rss_batch_ns >= BATCH_COUNT)
		halve_memory(row);
	batch = (uint32_t)(elapsed_ns / row->rss_batch_ns);
	row->rss_batch[batch] = larger(row->rss_batch[batch], rss_bytes);
	if (!IS_MEASURED(row->rss_bytes) || rss_bytes > row->rss_bytes.value)
		row->rss_bytes = COUNTER(rss_bytes);
	task->last_ns = larger(task->last_ns, at_ns);
	task->is_changed = true;
}

/* ---- what there is ---- */

const struct task_row *tasks_row(struct tasks *t, uint32_t id)
{
	struct task *task = find(t, id);

	if (task == NULL)
		return NULL;
	settle_row(task);
	return &task->row;
}

void tasks_label(const struct tasks *t, struct label *label)
{
	label->tasks = t->begun;
	label->tasks_dropped = t->dropped;
	label->tasks_unfollowed = t->unfollowed;
	label->task_room_bytes = t->settings.room_bytes;
}

uint64_t tasks_bytes(const struct tasks *t)
{
	return t->bytes + t->names.bytes;
}

uint32_t tasks_count(const struct tasks *t)
{
	return t->count;
}

const struct profile *tasks_profile(const struct tasks *t, uint32_t id)
{
	const struct task *task = find(t, id);

	return task != NULL ? task->profile : NULL;
}

/* ---- saving ---- */

/* Every task that a save may have can go before the next one, and then must find a place here. */
static int reserve_gone(struct tasks *t)
{
	uint32_t want = t->gone_count + t->count;
	uint32_t *more;

	if (want <= t->gone_room)
		return 0;
	more = reallocarray(t->gone, (size_t)want * 2, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	t->gone = more;
	t->gone_room = want * 2;
	return 0;
}

static int tell_cleared(const struct task *task, struct changes *out)
{
	uint32_t *cleared = changes_cleared_task(out);

	if (cleared != NULL)
		*cleared = task->row.id;
	return cleared == NULL ? -ENOMEM : 0;
}

static int tell_profile(struct task *task, struct changes *out)
{
	bool is_cleared = profile_is_rewritten(task->profile) && task->is_told;
	int code = is_cleared ? tell_cleared(task, out) : 0;

	return code < 0 ? code : profile_changes(task->profile, task->row.id, out);
}

static int tell(struct task *task, struct changes *out)
{
	struct task_row *row;

	if (!task->is_changed)
		return 0;
	row = changes_task(out);
	if (row == NULL)
		return -ENOMEM;
	settle_row(task);
	*row = task->row;
	if (task->profile != NULL)
		return tell_profile(task, out);
	return task->has_lost_rows && task->is_told ? tell_cleared(task, out) : 0;
}

static int tell_all(struct tasks *t, struct changes *out)
{
	int code = task_names_changes(&t->names, out);

	for (uint32_t i = 0; i < t->count && code == 0; i++)
		code = tell(t->tasks[i], out);
	for (uint32_t i = 0; i < t->gone_count && code == 0; i++) {
		uint32_t *gone = changes_gone_task(out);

		code = gone == NULL ? -ENOMEM : 0;
		if (gone != NULL)
			*gone = t->gone[i];
	}
	return code;
}

int tasks_changes(struct tasks *t, struct changes *out)
{
	const struct changes before = *out;
	int code = reserve_gone(t);

	if (code < 0)
		return code;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->tasks[i]->is_open && t->tasks[i]->is_changed)
			tasks_count_bytes(t, t->tasks[i]);
	tasks_fit(t);
	code = tell_all(t, out);
	if (code < 0) {
		changes_rewind(out, &before);
		return code;
	}
	for (uint32_t i = 0; i < t->count; i++)
		t->tasks[i]->is_told = true;
	return 0;
}

void tasks_saved(struct tasks *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		t->tasks[i]->is_changed = t->tasks[i]->has_lost_rows = false;
		if (t->tasks[i]->profile != NULL)
			profile_saved(t->tasks[i]->profile);
	}
	task_names_saved(&t->names);
	t->gone_count = 0;
}
