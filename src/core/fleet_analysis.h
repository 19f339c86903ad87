/* fleet_analysis.h - what the rows of a fleet's store come to over a span of time: sums by statement, function, server, wait and
 * reading, with the plans before and after a change. Rows are taken in any order, in one pass; all is pure. One thread.
 *
 * A change of plan is a plan whose shape is another than that of the plan before it. Its effect is told by the executions in
 * front of it and behind it; what ran in the visit that saw it belongs to neither. */
#ifndef TARE_CORE_FLEET_ANALYSIS_H
#define TARE_CORE_FLEET_ANALYSIS_H

#include "core/err.h"
#include "core/fleet.h"
#include "core/fleet_batch.h"

/* Executions on one side of a change. */
struct fleet_side {
	uint64_t calls, exec_ns;
};

struct fleet_statement {
	uint32_t server;
	struct statement_key key;
	const struct query_row *query; /* borrowed; NULL: not known */
	struct str
		text; /* borrowed; empty: not known. Set behind fleet_analysis_close_input() by who has the payloads */
	struct counter sums[STATEMENT_COUNTERS];
	uint64_t span_ns;	       /* of the differences that could be taken */
	uint64_t differences, unknown; /* rows with one, and rows without */
	uint32_t last_life;	       /* why the last of these had none; 0: none was without */
	uint64_t longest_ns;	       /* 0: not known */
	const struct plan_row *plan;   /* the one last seen; NULL: none */
	const struct plan_row
		*plan_before; /* of the last change; NULL: it never changed in what is kept */
	const struct no_plan_row
		*no_plan;	 /* why there is none; NULL: nobody asked yet, or there is one */
	uint32_t plans, shapes;	 /* kept */
	int64_t changed_wall_ns; /* when the change was seen; 0: never */
	struct fleet_side before, after;
};

struct fleet_function {
	uint32_t server, dbid, funcid;
	struct str database, name; /* borrowed */
	struct counter sums[FUNCTION_COUNTERS];
	uint64_t span_ns, unknown;
};

struct fleet_database {
	uint32_t server, dbid;
	struct str name; /* borrowed */
	struct counter sums[DATABASE_COUNTERS];
	uint64_t span_ns, unknown;
};

struct fleet_wait {
	uint32_t server;
	struct str wait_type,
		wait_event; /* borrowed; wait_type empty: on the CPU, or ready for it */
	uint64_t seen;	    /* backends, all looks together */
};

/* Runs of one reading on one server. */
struct fleet_reading {
	uint32_t server, reading;
	uint64_t runs, captures, gated, missed, failures, permissions, abandoned, skipped;
	uint64_t server_ns, capture_server_ns,
		longest_server_ns; /* capture_: of runs with their expensive half */
	uint64_t own_ns, store_ns, rows, bytes;
	uint64_t plans, new_plans;
	int64_t last_wall_ns, well_wall_ns; /* the last run, and the last that went well; 0: none */
	struct str last_reason, last_sqlstate; /* of the last that did not; borrowed */
};

struct fleet_server_sum {
	uint32_t server;
	int64_t looked_wall_ns;		       /* the last visit whose looks were counted */
	const struct server_row *row;	       /* borrowed; NULL: not known */
	uint64_t calls, exec_ns;	       /* of its statements */
	uint64_t hidden_calls, hidden_exec_ns; /* of these, what we may not see */
	uint64_t looks;			       /* of the sampler */
	uint64_t visits, well, skipped; /* that were begun; of these, that went well; not begun */
	uint64_t server_ns, own_ns, bytes; /* what collecting took, all readings */
	uint32_t statements;		   /* that ran */
	uint32_t plans, without_plan;	   /* of these, with a plan, and with a reason why not */
	uint32_t changes;		   /* of plans */
	uint32_t blockings;		   /* seen */
};

struct fleet_analysis {
	int64_t from_wall_ns, to_wall_ns;    /* asked for: from <= at < to */
	int64_t first_wall_ns, last_wall_ns; /* of the rows that are there; 0: none */
	struct fleet_statement *statements;  /* owned; by execution time, the largest first */
	size_t statement_count;
	struct fleet_function *functions; /* owned; by own time */
	size_t function_count;
	struct fleet_database *databases; /* owned; by server, then name */
	size_t database_count;
	struct fleet_wait *waits; /* owned; by server, then the most seen first */
	size_t wait_count;
	struct fleet_reading *readings; /* owned; by server, then reading */
	size_t reading_count;
	struct fleet_server_sum *servers; /* owned; by execution time */
	size_t server_count;
	uint64_t exec_ns; /* of all statements */
	struct fleet_batch
		rows; /* owned: state tables, changes of settings, blocking, collector: as they were */
	struct fleet_index *index; /* while rows are taken */
};

/* An analysis of [from, to). */
int fleet_analysis_open(int64_t from_wall_ns, int64_t to_wall_ns, struct fleet_analysis *out);

/* Takes a row of any fleet table; rows of sums (hourly, daily) count as the rows they were made of. -ENOMEM. */
int fleet_analysis_take(struct fleet_analysis *a, const struct table *t, const void *row);

/* All rows were taken: joins and sorts. Plans and changes are known from here on: tables plan, query and no_plan must be taken before
 * statement. -ENOMEM. */
int fleet_analysis_close_input(struct fleet_analysis *a);

/* Accepts the empty value, and may run twice. */
void fleet_analysis_free(struct fleet_analysis *a);

/* Mean of `ns` over `calls`; 0 for none. */
static inline uint64_t fleet_mean_ns(uint64_t ns, uint64_t calls)
{
	return calls > 0 ? ns / calls : 0;
}

#endif
