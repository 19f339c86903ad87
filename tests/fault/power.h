/* power.h - a log of all that a program did to the files of one folder, and what a disk may hold of it when the power
 * goes between any two operations.
 *
 * The model: what was synced is there. Of what was written since, each sector of 512 bytes is there or not, whatever came
 * before or after it, and one in 16 of those that are there is torn: its first bytes are new, the others old. A cut or a
 * growth is there or not. Names (made, renamed, removed) arrive in their order, as journals keep them, up to any one;
 * all of them once their folder is synced. */
#ifndef TARE_TESTS_POWER_H
#define TARE_TESTS_POWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"

struct power; /* opaque; owned by whoever began it */

/* Logs what is done below `folder` from now on, by disk_tell(); what is there now counts as synced. NULL: out of memory. */
struct power *power_begin(const char *folder);

/* Stops logging. */
void power_end(struct power *p);

/* Notes that from here on `note` is promised. */
void power_note(struct power *p, uint64_t note);

/* Accepts NULL. */
void power_free(struct power *p);

/* Operations in the log. */
uint64_t power_count(const struct power *p);

/* Goes to the boundary after the first `boundary` operations; never back. *out_note: the last note before it. */
void power_go(struct power *p, uint64_t boundary, uint64_t *out_note);

/* Makes one state that the disk may be in there, in `folder`, which is emptied first. False: it cannot. */
bool power_cut(struct power *p, struct rng *r, const char *folder);

#endif
