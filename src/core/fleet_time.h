/* fleet_time.h - when a fleet's time was spent: equal slots over the span of an analysis, with what each of its first statements
 * and functions did in them, and how much of each server's time is covered by differences. Rows are taken in any order, in one
 * pass behind the analysis; all is pure. One thread.
 *
 * Slot i is the time (from + i x slot, from + (i + 1) x slot]. A difference is spread evenly over its span: where in it the time
 * went nobody knows. What was before the first slot is in the first. Sums over all slots are exact. */
#ifndef TARE_CORE_FLEET_TIME_H
#define TARE_CORE_FLEET_TIME_H

#include "core/fleet_analysis.h"
#include "core/stats.h"
#include "core/text.h"

#define FLEET_SLOTS_MOST 288u

struct fleet_slots {
	int64_t from_wall_ns;
	uint64_t slot_ns;
	uint32_t count;
	uint64_t visit_ns; /* between two visits of a server */
};

/* What a statement, or a function by its own time, did in a slot. */
struct fleet_cell {
	uint64_t calls, exec_ns;
	uint32_t unknown; /* rows whose difference could not be taken */
	uint32_t hidden;  /* of these, in time that is covered otherwise */
};

/* A server's time in a slot: what there was of it, and what of that is covered. */
struct fleet_cover {
	uint64_t present_ns, covered_ns;
};

struct fleet_time {
	const struct fleet_analysis *a; /* borrowed; its input is closed */
	struct fleet_slots slots;
	size_t statement_count, function_count;	   /* lines: the first ones of the analysis */
	struct fleet_cell *statements, *functions; /* owned: lines of slots.count cells each */
	struct fleet_cell *all;			   /* owned: all statements of the analysis */
	struct fleet_cover *covers; /* owned: a->server_count lines, in the order of a->servers */
	struct fleet_time_index *index; /* while rows are taken */
};

#define FLEET_TIME_EMPTY ((struct fleet_time){ .a = NULL })

/* Slots of a round length, the shortest that FLEET_SLOTS_MOST cover [first - visit, last] with, and none under `visit_ns`: a shorter
 * one would tell of times that no visit parts. No rows, or rows of no real time: no slots. */
struct fleet_slots fleet_slots_of(int64_t first_wall_ns, int64_t last_wall_ns, uint64_t visit_ns);

/* Room for at most so many statements and functions of `a`, which stays where it is until fleet_time_free(). -ENOMEM. */
int fleet_time_open(const struct fleet_analysis *a, const struct fleet_slots *slots,
		    size_t statements_most, size_t functions_most, struct fleet_time *out);

/* Takes a row of tables statement, function and run; of others nothing. -ENOMEM. */
int fleet_time_take(struct fleet_time *t, const struct table *table, const void *row);

/* All rows were taken: settles what is covered. */
void fleet_time_close_input(struct fleet_time *t);

/* Accepts the empty value, and may run twice. */
void fleet_time_free(struct fleet_time *t);

/* The sum of a line's slots. */
struct fleet_cell fleet_time_sum(const struct fleet_time *t, const struct fleet_cell *line);

/* What is covered of one server of a->servers, and of all that were covered at all: 0 to 1. */
double fleet_time_covered_of(const struct fleet_time *t, size_t server);
double fleet_time_covered(const struct fleet_time *t);

/* The share of statement `i` in the time of all. Its error comes from what is not covered: there it may have run not at all, or
 * twice as much as elsewhere. 1.0: nothing is covered, cannot know. */
struct share fleet_time_share(const struct fleet_time *t, size_t i);

/* "48.8 % ± 0.6"; without an error it is exact and stands alone. */
void fleet_time_put_share(struct text *t, struct share share);

#endif
