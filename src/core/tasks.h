/* tasks.h - the tasks of a recording: named parts of the run, each with a profile of its own that starts at the base, so that
 * nothing of one task's coarseness reaches the next. They share the paths of the run's profile.
 * Rows of all tasks together never take more than the room given. When they would: of tasks that have ended, slots and contexts
 * are halved, the largest first, down to 16 and 32; then the ones to keep least go, as `keep` says, and their names go on counting
 * them; then tasks that run are halved too, and at last lose their profiles, the lightest first. Of a name at most `per_name` ended
 * ones stay. Two tasks of one name are two, also one right after the other. Pure, one thread at a time. */
#ifndef TARE_CORE_TASKS_H
#define TARE_CORE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/counter.h"
#include "core/err.h"
#include "core/profile.h"
#include "core/recording.h"

#define TASKS_NONE	 0u    /* no task */
#define TASKS_MOST_OPEN	 4096u /* at a time; those beyond are counted by name only */
#define TASKS_PER_NAME	 5u    /* unless said otherwise */
#define TASKS_LEAST_ROOM (UINT64_C(64) * 1024)

/* Which of the ended ones stay when not all can. */
enum tasks_keep {
	TASKS_KEEP_SLOWEST, /* the fastest go first */
	TASKS_KEEP_NEWEST,  /* the oldest go first */
	TASKS_KEEP_ALL,	    /* as many of a name as there is room for; the fastest go first */
};

struct tasks_settings {
	struct profile_settings profile; /* of each task; its limits' paths are not looked at */
	uint64_t room_bytes;		 /* for all rows of tasks and their names, in a file */
	enum tasks_keep keep;
	uint32_t
		per_name; /* most ended ones of a name; 0: TASKS_PER_NAME. Not for TASKS_KEEP_ALL */
	uint64_t min_duration_ns; /* shorter ones are only counted */
};

/* What is known when a task begins. `name` is borrowed, and kept cut at TASK_NAME_MOST_BYTES. */
struct task_begin {
	struct str name;
	enum task_kind kind;
	uint32_t pid, parent_pid; /* NO_ID: not known */
	uint64_t at_ns;		  /* elapsed in the run */
	struct counter cpu_ns;	  /* CPU time that its processes had taken by then */
};

/* What is known when it ends. */
struct task_end {
	uint64_t at_ns;	       /* elapsed in the run */
	enum task_state state; /* TASK_ENDED or TASK_CUT */
	struct counter
		cpu_ns; /* likewise, by now: the row tells the difference, where both are known */
};

struct tasks; /* opaque */

/* `run` is the profile of the whole run: borrowed, its paths are shared, and it must be closed later. -EINVAL: a limit that
 * cannot be, or less than TASKS_LEAST_ROOM; -ENOMEM. */
int tasks_open(const struct tasks_settings *settings, struct profile *run, struct tasks **out,
	       struct err *err);

/* Accepts NULL. */
void tasks_close(struct tasks *t);

/* Begins a task and returns its number, or TASKS_NONE: too many run, or there is no memory; it is then only counted by name. */
uint32_t tasks_begin(struct tasks *t, const struct task_begin *begin);

/* Ends a task; nothing for one that does not run. Which of the ended ones stay is decided here. */
void tasks_end(struct tasks *t, uint32_t task, const struct task_end *end);

/* As profile_wants() and profile_add(), for the tick's task. Its times are elapsed in the run; what a tick waited for before the
 * task began is taken as in it. False, and nothing, for TASKS_NONE and for a task that does not run. */
bool tasks_wants(struct tasks *t, uint32_t task, const struct tick *tick);
void tasks_add(struct tasks *t, uint32_t task, const struct tick *tick, const struct frame *path,
	       size_t depth);

/* So many samples were lost up to `at_ns`, nobody knows of whom: counted for every task that runs. */
void tasks_lost(struct tasks *t, uint64_t at_ns, uint64_t lost);

/* So much memory of the task's processes was resident at `at_ns`, elapsed in the run. */
void tasks_memory(struct tasks *t, uint32_t task, uint64_t at_ns, uint64_t rss_bytes);

/* The task as its row would be saved now, or NULL: it is not there. Borrowed until the next call that changes something. */
const struct task_row *tasks_row(struct tasks *t, uint32_t task);

/* The part of the label that tasks know: tasks, tasks_dropped, tasks_unfollowed, task_room_bytes. */
void tasks_label(const struct tasks *t, struct label *label);

/* Makes all fit, then appends what changed since tasks_saved(): tasks, names, slots, contexts, what is gone and what is to be
 * cleared. Call before profile_changes() of the run: making room changes paths. Strings are borrowed until the next call.
 * -ENOMEM: `out` is as it was. */
int tasks_changes(struct tasks *t, struct changes *out);

/* What tasks_changes() gave is saved, with nothing done in between: forgets the marks. */
void tasks_saved(struct tasks *t);

/* For tests: bytes that all rows take at most, how many tasks are there, and the profile of one (NULL: it has none). */
uint64_t tasks_bytes(const struct tasks *t);
uint32_t tasks_count(const struct tasks *t);
const struct profile *tasks_profile(const struct tasks *t, uint32_t task);

#endif
