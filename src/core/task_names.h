/* task_names.h - how often each name ran and for how long: stays when the tasks themselves go. The first TASK_NAMES_MOST
 * names have a row each, later ones share "(other)". Pure, one thread at a time. */
#ifndef TARE_CORE_TASK_NAMES_H
#define TARE_CORE_TASK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frame.h"
#include "core/recording.h"

#define TASK_NAMES_MOST	     1000u
#define TASK_NAME_MOST_BYTES 255u /* a longer name is cut here, at the start of a letter */

/* Place i of log2_count: 2^(TASK_LOG2_FIRST + i) ns up to twice that; the first also holds what is shorter, the last what is
 * longer: 33 us to 9.8 h. */
#define TASK_LOG2_FIRST 14u

struct task_name {
	struct task_name_row row; /* owns its name */
	bool is_changed;	  /* since task_names_saved() */
};

struct task_names {
	struct task_name *names; /* owned; the last one there can be is "(other)" */
	uint32_t count;
	uint32_t *places;    /* owned: hash table, name -> its place in `names`, NO_ID: free */
	uint64_t bytes;	     /* what the rows take in a file, at most */
	uint64_t most_bytes; /* a name that would need more goes to "(other)" */
};

#define TASK_NAMES_EMPTY ((struct task_names){ .names = NULL })

/* Takes memory for all rows at once, without the names' own; `most_bytes` holds for the rows in a file. -ENOMEM. */
int task_names_init(struct task_names *t, uint64_t most_bytes);

/* Accepts the empty value, and may run twice. */
void task_names_free(struct task_names *t);

/* A name as it is kept: cut, never in the middle of a letter of UTF-8. Borrowed from `name`. */
struct str task_name_cut(struct str name);

/* The place of a name's row, entered if it is new: that of "(other)" when there is no room, or no memory, for one of its
 * own. */
uint32_t task_names_find(struct task_names *t, struct str name);

/* A task of the name at place `at` began; ended after `duration_ns`. */
void task_names_begin(struct task_names *t, uint32_t at);
void task_names_end(struct task_names *t, uint32_t at, uint64_t duration_ns);

/* The place in log2_count of a duration. */
uint32_t task_log2_place(uint64_t duration_ns);

/* Appends the rows that changed since task_names_saved(). Names are borrowed until task_names_free(). -ENOMEM: `out` is as it
 * was. */
int task_names_changes(const struct task_names *t, struct changes *out);

/* What task_names_changes() gave is saved: forgets the marks. */
void task_names_saved(struct task_names *t);

#endif
