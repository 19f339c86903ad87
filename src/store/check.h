/* check.h - is what was read a recording? Rows of foreign origin are checked against one another. Pure. */
#ifndef TARE_STORE_CHECK_H
#define TARE_STORE_CHECK_H

#include <stdbool.h>

#include "core/err.h"
#include "core/recording.h"

/* Every reference leads to a row, no path is a circle, every sum stays below 2^63. Rows must be sorted by key.
 * -EBADMSG, with table and row; -ENOMEM. */
int check_recording(const struct recording *r, struct err *err);

/* Tasks and their names: kinds and states there are, times in order, sums below 2^63; slots and contexts are the run's or those
 * of a task that has a row. A part of check_recording(). -EBADMSG, with table and row. */
int check_tasks(const struct recording *r, struct err *err);

/* The rows of a watch: every reference leads to a row, numbers are such as calls can have, parts add up to their frame,
 * every sum stays below 2^63. `has_watch`: the watch row is there. -EBADMSG, with table, column and row. */
int check_watch(const struct recording *r, bool has_watch, struct err *err);

#endif
