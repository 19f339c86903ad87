/* report_tasks.h - the tasks of a recording in its report: the list, and one of them as if it were a whole run. */
#ifndef TARE_CLI_REPORT_TASKS_H
#define TARE_CLI_REPORT_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/report.h"
#include "format/json.h"

#define REPORT_FIRST_TASKS 8u /* on the first screen */
#define REPORT_MOST_TOPS \
	100u /* tasks whose largest function a report says, where it says all tasks */

/* One task with what its own samples say. Borrows from the recording. */
struct task_view {
	const struct task_row *row;
	uint64_t duration_ns;
	uint64_t ran_ns;   /* CPU time: by the kernel's account, else by its samples */
	bool is_estimated; /* by its samples */
	uint64_t runs;	   /* tasks of its name that began */
	struct str
		top; /* the function with the most time of its own; no bytes: no samples, or not asked for */
	struct share top_share;
	uint64_t kept;
};

struct task_views {
	struct task_view
		*views; /* owned: the slowest first, then in the order of their beginnings */
	uint32_t count;
};

#define TASK_VIEWS_EMPTY ((struct task_views){ .views = NULL })

/* All tasks, or only `only` (NULL: all); the first `tops` with their largest function. -ENOMEM, -EBADMSG. */
int task_views_open(const struct recording *r, const struct task_row *only, uint32_t tops,
		    struct task_views *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void task_views_free(struct task_views *v);

/* The word for a task's state, and for what it is known by. */
const char *task_state_word(uint32_t state);
const char *task_kind_word(uint32_t kind);

/* How much of its duration it ran, of one CPU: exact, or by its samples; "—": neither is known. */
void task_put_running(struct text *t, const struct task_view *view);

/* How many tasks there were, what told them apart, and what is not in a list of `shown` of `rows`: one sentence. */
void task_put_left_out(struct text *t, const struct label *l, uint32_t rows, uint32_t shown);

/* "by task": nothing where the run is not parted. `shows_all`: every task that has a row. */
void table_tasks(struct screen *s, const struct recording *r, const struct task_views *tasks,
		 bool shows_all);

/* What a task was: the lines above its own table. */
void head_task(struct screen *s, const struct recording *whole, const struct task_row *task);

/* The task that a user means: its number, or a name, of which the slowest. -ENOENT. */
int task_find(const struct recording *r, const char *what, const struct task_row **out,
	      struct err *err);

/* The members "tasks" and "task_names". */
void tasks_json(struct json *j, const struct recording *r, const struct task_views *tasks);

#endif
