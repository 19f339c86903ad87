/* task_tree.c - processes and the tasks that they work on. */
#include "core/task_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE	   UINT32_MAX
#define FIRST_ROOM 64u
#define MOST_STEPS 256u /* up the tree; deeper ones work on no task of those above */

struct process {
	uint32_t pid;	/* 0: has ended, and is kept for those below it */
	uint32_t above; /* NONE: made by nobody here */
	uint32_t below; /* how many entries name this one as the one above */
	uint32_t task;	/* of its own; 0: none */
	uint32_t next;	/* in its bucket, or among the free */
};

struct task_tree {
	struct process *processes; /* owned */
	uint32_t room, first_free;
	uint32_t *buckets; /* owned, as many as there is room: a power of two */
};

static uint32_t *bucket_of(const struct task_tree *t, uint32_t pid)
{
	return &t->buckets[(pid * UINT32_C(2654435769)) >> 7 & (t->room - 1)];
}

/* Room for `room` processes, a power of two; those that are there keep their places. */
static int resize(struct task_tree *t, uint32_t room)
{
	struct process *processes = calloc(room, sizeof(*processes));
	uint32_t *buckets = malloc(room * sizeof(*buckets));
	uint32_t before = t->room;

	if (processes == NULL || buckets == NULL) {
		free(processes);
		free(buckets);
		return -ENOMEM;
	}
	if (before > 0)
		memcpy(processes, t->processes, before * sizeof(*processes));
	free(t->processes);
	free(t->buckets);
	memset(buckets, 0xff, room * sizeof(*buckets)); /* NONE */
	t->processes = processes;
	t->buckets = buckets;
	t->room = room;
	t->first_free = before; /* there was none */
	for (uint32_t i = before; i < room; i++)
		processes[i].next = i + 1 < room ? i + 1 : NONE;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t *bucket;

		if (processes[i].pid == 0)
			continue;
		bucket = bucket_of(t, processes[i].pid);
		processes[i].next = *bucket;
		*bucket = i;
	}
	return 0;
}

int task_tree_open(struct task_tree **out)
{
	struct task_tree *t = calloc(1, sizeof(*t));

	if (t == NULL || resize(t, FIRST_ROOM) < 0) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void task_tree_close(struct task_tree *t)
{
	if (t == NULL)
		return;
	free(t->processes);
	free(t->buckets);
	free(t);
}

static uint32_t find(const struct task_tree *t, uint32_t pid)
{
	uint32_t at = pid == 0 ? NONE : *bucket_of(t, pid);

	while (at != NONE && t->processes[at].pid != pid)
		at = t->processes[at].next;
	return at;
}

/* Frees an entry that has ended and has nobody below it, and those above it for which that then holds. */
static void free_unneeded(struct task_tree *t, uint32_t at)
{
	while (at != NONE && t->processes[at].pid == 0 && t->processes[at].below == 0) {
		uint32_t above = t->processes[at].above;

		t->processes[at] = (struct process){ .next = t->first_free };
		t->first_free = at;
		if (above != NONE)
			t->processes[above].below--;
		at = above;
	}
}

bool task_tree_add(struct task_tree *t, uint32_t pid, uint32_t parent)
{
	uint32_t above, at;
	uint32_t *bucket;

	if (pid == 0)
		return false;
	task_tree_remove(t, pid);
	if (t->first_free == NONE && (t->room >= TASK_TREE_MOST || resize(t, t->room * 2) < 0))
		return false;
	above = parent == pid ? NONE : find(t, parent);
	at = t->first_free;
	t->first_free = t->processes[at].next;
	bucket = bucket_of(t, pid);
	t->processes[at] = (struct process){ .pid = pid, .above = above, .next = *bucket };
	*bucket = at;
	if (above != NONE)
		t->processes[above].below++;
	return true;
}

uint32_t task_tree_remove(struct task_tree *t, uint32_t pid)
{
	uint32_t at = find(t, pid), task;
	uint32_t *link;

	if (at == NONE)
		return 0;
	link = bucket_of(t, pid);
	while (*link != at)
		link = &t->processes[*link].next;
	*link = t->processes[at].next;
	task = t->processes[at].task;
	t->processes[at].pid = 0;
	t->processes[at].task = 0;
	free_unneeded(t, at);
	return task;
}

bool task_tree_has(const struct task_tree *t, uint32_t pid)
{
	return find(t, pid) != NONE;
}

uint32_t task_tree_set(struct task_tree *t, uint32_t pid, uint32_t task)
{
	uint32_t at = find(t, pid), before;

	if (at == NONE)
		return 0;
	before = t->processes[at].task;
	t->processes[at].task = task;
	return before;
}

uint32_t task_tree_own(const struct task_tree *t, uint32_t pid)
{
	uint32_t at = find(t, pid);

	return at == NONE ? 0 : t->processes[at].task;
}

uint32_t task_tree_task(const struct task_tree *t, uint32_t pid)
{
	uint32_t at = find(t, pid);

	for (uint32_t steps = 0; at != NONE && steps < MOST_STEPS; steps++) {
		if (t->processes[at].task != 0)
			return t->processes[at].task;
		at = t->processes[at].above;
	}
	return 0;
}

uint32_t task_tree_parent(const struct task_tree *t, uint32_t pid)
{
	uint32_t at = find(t, pid);
	uint32_t above = at == NONE ? NONE : t->processes[at].above;

	return above == NONE ? 0 : t->processes[above].pid;
}

uint32_t task_tree_next(const struct task_tree *t, uint32_t *at)
{
	while (*at < t->room && t->processes[*at].pid == 0)
		++*at;
	return *at < t->room ? t->processes[(*at)++].pid : 0;
}
