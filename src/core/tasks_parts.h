/* tasks_parts.h - the insides of the set of tasks that its files share. Internal to core. */
#ifndef TARE_CORE_TASKS_PARTS_H
#define TARE_CORE_TASKS_PARTS_H

#include "core/task_names.h"
#include "core/tasks.h"

/* One task, running or ended. */
struct task {
	struct task_row row;	      /* owns its name */
	struct profile *profile;      /* owned; NULL: no tick fell into it, or it lost its own */
	struct task *next_of_name;    /* ended ones of one name */
	struct counter cpu_before_ns; /* its processes' when it began */
	uint64_t ticks;
	uint64_t last_ns; /* elapsed: when it was last seen */
	uint64_t bytes;	  /* what its rows took in a file when they were last counted */
	uint32_t name;	  /* its place in the names */
	bool is_open;
	bool is_changed;    /* its row is */
	bool is_told;	    /* a save may have its rows */
	bool is_bare;	    /* no room for a profile: ticks are counted only */
	bool has_lost_rows; /* slots and contexts that a save may have: to be cleared */
};

struct tasks {
	struct tasks_settings settings;
	struct profile *run; /* borrowed */
	struct task_names names;
	struct task **tasks; /* owned, by number; `room` places */
	uint32_t count, room;
	struct task *
		*ended_of_name; /* owned: by place in the names, the first of those that ended */
	uint32_t *gone;		/* owned: told and dropped since the last save */
	uint32_t gone_count, gone_room;
	uint32_t open;	 /* how many run */
	uint32_t newest; /* number of the task that began last */
	uint64_t bytes;	 /* of all tasks, as last counted; without the names' */
	uint64_t begun, dropped, unfollowed;
};

/* ---- tasks_room.c ---- */

/* Counts a task's rows anew. */
void tasks_count_bytes(struct tasks *t, struct task *task);

/* Takes a task out and frees it. */
void tasks_drop(struct tasks *t, struct task *task);

/* Of one name's ended tasks at most `per_name` stay; those whose names have no row of their own share that number. */
void tasks_limit_name(struct tasks *t, uint32_t name);

/* Makes all rows fit into their room. */
void tasks_fit(struct tasks *t);

/* Halves the largest of the ended tasks, for a profile that has no room among paths. False: none can be. */
bool tasks_yield(void *tasks);

#endif
