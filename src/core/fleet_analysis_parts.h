/* fleet_analysis_parts.h - what the files of core's analysis of fleets share. */
#ifndef TARE_CORE_FLEET_ANALYSIS_PARTS_H
#define TARE_CORE_FLEET_ANALYSIS_PARTS_H

#include "core/fleet_analysis.h"
#include "core/fleet_index.h"

/* Where the rows of each kind are found while they are taken. */
struct fleet_index {
	struct fleet_places statements, functions, databases, waits, readings, servers;
	size_t statement_room, function_room, database_room, wait_room, reading_room, server_room;
	bool has_plans; /* changes of plans are known: statements may be taken */
};

/* One kind of sums: an array and the way into it. */
struct kind {
	struct fleet_places *places;
	void **rows;
	size_t *count, *room;
	size_t bytes; /* of a row */
};

/* Finds or makes the row of a key in one of the arrays; NULL: out of memory. */
void *fleet_sum_of(struct kind *k, uint64_t hash, fleet_same_fn *is_same, const void *key,
		   bool *out_is_new);

/* The sums of a server, made when they are not there; NULL: out of memory. */
struct fleet_server_sum *fleet_server_of(struct fleet_analysis *a, uint32_t server);

/* Which plans a statement has had, and when that changed. Once, in front of the first statement. -ENOMEM. */
int fleet_settle_plans(struct fleet_analysis *a);

/* The sums of a statement, made when they are not there; NULL: out of memory. */
struct fleet_statement *fleet_statement_of(struct fleet_analysis *a, uint32_t server,
					   const struct statement_key *key);

/* Do both name the same statement of a server? */
bool fleet_is_same_key(const struct statement_key *a, const struct statement_key *b);
/* The hash of a statement of a server. */
uint64_t fleet_statement_hash(uint32_t server, const struct statement_key *key);

/* Counts the looks of a visit once, however many waits it saw. */
int fleet_take_looks(struct fleet_analysis *a, const struct wait_row *row);

/* Counts a run on the account of its server. */
int fleet_take_visit(struct fleet_analysis *a, const struct run_row *row);

#endif
