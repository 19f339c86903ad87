/* task_tree.h - who works on which task: processes by number, each under the one that made it, and the task that each
 * began. A process without a task of its own works on that of the nearest one above it, also when those between have
 * ended. A number that is used again is another process: its entry begins anew. Pure, one thread at a time. */
#ifndef TARE_CORE_TASK_TREE_H
#define TARE_CORE_TASK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define TASK_TREE_MOST 65536u /* processes at a time; those beyond are not entered */

struct task_tree; /* opaque */

/* -ENOMEM. */
int task_tree_open(struct task_tree **out);

/* Accepts NULL. */
void task_tree_close(struct task_tree *t);

/* Process `pid` was made by `parent` (0, or one that is not here: by nobody). Who bore the number before has ended.
 * False: there is no room for it, or no memory. */
bool task_tree_add(struct task_tree *t, uint32_t pid, uint32_t parent);

/* Process `pid` has ended. Returns the task of its own, 0 for none. */
uint32_t task_tree_remove(struct task_tree *t, uint32_t pid);

/* Is this process here? */
bool task_tree_has(const struct task_tree *t, uint32_t pid);

/* Gives `pid` a task of its own, 0 for none, and returns the one that it had, 0 for none; nothing for one that is not here. */
uint32_t task_tree_set(struct task_tree *t, uint32_t pid, uint32_t task);

/* The task of its own; 0: none. */
uint32_t task_tree_own(const struct task_tree *t, uint32_t pid);

/* The task that `pid` works on; 0: none. */
uint32_t task_tree_task(const struct task_tree *t, uint32_t pid);

/* The processes that are here, one after the other: begin with 0 in *at; returns a number, or 0 when there are no more. Nothing may
 * be added or removed in between. */
uint32_t task_tree_next(const struct task_tree *t, uint32_t *at);

/* The process that made it; 0: not known, or it has ended. */
uint32_t task_tree_parent(const struct task_tree *t, uint32_t pid);

#endif
