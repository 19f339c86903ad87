/* record_tasks.h - where the tasks of a recording come from: marks of the job, its processes, or the callee of a named frame.
 * Boundaries are put in order of time among ticks. One thread. */
#ifndef TARE_CLI_RECORD_TASKS_H
#define TARE_CLI_RECORD_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/marks.h"
#include "core/task_tree.h"
#include "core/tasks.h"
#include "core/units.h"
#include "sense/sampler.h"

enum task_source { TASKS_BY_NOTHING, TASKS_BY_MARKS, TASKS_BY_PROCESS, TASKS_BY_FRAME };

/* What the options say of tasks. Strings are borrowed from argv. */
struct task_opts {
	const char *source, *under, *keep;
	uint64_t per_name, min_duration_ns;
};

/* A mark that waits for the ticks before it. */
struct boundary {
	uint64_t at_ns; /* elapsed */
	uint32_t pid, parent_pid;
	struct counter cpu_ns;
	bool is_end;
	uint32_t name_len;
	char name[256];
};

#define BOUNDARIES_MOST 64u

struct record_tasks {
	enum task_source source;
	const char *frame; /* of TASKS_BY_FRAME; borrowed */
	struct marks marks;
	struct tasks *tasks;			  /* NULL: the run is not parted */
	struct task_tree *tree;			  /* by process; by thread for TASKS_BY_FRAME */
	struct boundary waiting[BOUNDARIES_MOST]; /* in order of time */
	uint32_t waiting_count;
	uint64_t refused, floods;
	uint32_t first_pid;	       /* of the job; 0: its first program has been seen */
	struct counter first_cpu_ns;   /* what it had taken before it was let go */
	uint64_t spent_ns, allowed_ns; /* on marks in this second */
	struct str source_words;
	char source_text[300];
};

/* What the words mean; opens the socket and names it in our environment, so before the job is forked. -EINVAL, and what
 * marks_open() says. */
int record_tasks_prepare(struct record_tasks *rt, const struct task_opts *opts, bool has_command,
			 struct err *err);

/* What differs from one recording to the next. */
struct record_tasks_settings {
	const struct task_opts *opts;
	struct profile_settings profile; /* of the run */
	uint64_t room_bytes, price_ppm;
	uint32_t pid;	  /* of the first process */
	const char *comm; /* its name, where it runs already; else NULL */
};

/* Begins, beside `run`, which must be closed later. Nothing without a source. -EINVAL, -ENOMEM. */
int record_tasks_open(struct record_tasks *rt, const struct record_tasks_settings *settings,
		      struct profile *run, struct err *err);

/* Accepts the empty value, and may run twice; the socket stays. */
void record_tasks_close(struct record_tasks *rt);

/* Takes away the socket. Accepts the empty value, and may run twice. */
void record_tasks_end(struct record_tasks *rt);

/* Reads the marks that wait; before a drain. `start` is elapsed time 0. */
void record_tasks_read(struct record_tasks *rt, struct mono start);

/* The task of a tick, every boundary before it made. TASKS_NONE. */
uint32_t record_tasks_of(struct record_tasks *rt, const struct tick *tick);

/* The same by the path that the tick was seen with: for TASKS_BY_FRAME it may be another. */
uint32_t record_tasks_by_path(struct record_tasks *rt, const struct tick *tick,
			      const struct frame *path, size_t depth, uint32_t task);

/* Follows a life. */
void record_tasks_life(struct record_tasks *rt, const struct life *event);

/* Makes every boundary that waits: all ticks up to now were taken. */
void record_tasks_settle(struct record_tasks *rt);

/* Once a second: memory of tasks, and marks may come again. */
void record_tasks_turn(struct record_tasks *rt, uint64_t elapsed_ns);

/* The part of the label that tasks know. Strings live as long as `rt`. */
void record_tasks_label(const struct record_tasks *rt, struct label *label);

#endif
