/* fleet_fields.c - the tables of a fleet's store. Big ones are keyed by server first, then by time. */
#include "core/field_columns.h"

/* One row a column reads best. */
/* clang-format off */
#define COUNTED(row, name, index, doc) COLUMN_AS(row, name, counters[index], 0, doc)
#define STATEMENT_KEY_FIELDS(row)                                                                              \
	COLUMN_AS(row, "dbid", key.dbid, 1, "oid of its database"),                                            \
	COLUMN_AS(row, "userid", key.userid, 1, "oid of the role that ran it"),                                \
	COLUMN_AS(row, "queryid", key.queryid, 1, "the server's name for the statement; 0: the sum of what we may not see"), \
	COLUMN_AS(row, "is_toplevel", key.is_toplevel, 1, "0: run inside a function")
#define SPAN_FIELDS(row)                                                                                       \
	FIELD(row, life, "why the difference is what it is: 0 same life, 1 first sight, 2 began since, 3 shrunk, 4 reset, 5 restarted, 6 another system, 7 evicted, 8 gap, 9 clock"), \
	FIELD(row, span_ns, "time the difference covers, by the server's clock; 0: cannot be known")

static const struct field server_fields[] = {
	KEY(server_row, server, "the server: a number of ours"),
	FIELD(server_row, name, "its name in the settings"),
	FIELD(server_row, kind, "\"postgresql\""),
	FIELD(server_row, address, "host, port and database; never a secret"),
	FIELD(server_row, seat, "its place in the fleet; NULL: it has left"),
	FIELD(server_row, version, "as the server says; empty: never reached"),
	FIELD(server_row, role, "the role we have there"),
	FIELD(server_row, is_standby, "1: it replays another server's log"),
	FIELD(server_row, first_wall_ns, "when it was first reached; 0: never"),
	FIELD(server_row, seen_wall_ns, "when it was last reached; 0: never"),
	FIELD(server_row, ahead_ns, "its clock minus ours"),
};

static const struct field capture_fields[] = {
	KEY(capture_row, server, "the server"),
	KEY(capture_row, reading, "the reading"),
	FIELD(capture_row, captured_wall_ns, "when its expensive half was last done"),
	FIELD(capture_row, tried_wall_ns, "when it was last tried"),
	FIELD(capture_row, is_first_sight, "1: nothing was captured yet, time counts from first sight"),
};

static const struct field life_fields[] = {
	KEY(life_row, server, "the server"),
	KEY(life_row, reading, "the reading"),
	FIELD(life_row, at_wall_ns, "the last whole visit"),
	FIELD(life_row, at_server_ns, "the same moment by the server's clock, ns since 1970"),
	FIELD(life_row, system_id, "the system identifier of its data folder"),
	FIELD(life_row, started_server_ns, "when the server was started, by its clock"),
	FIELD(life_row, reset_server_ns, "when its statistics were reset, by its clock; 0: not known"),
	FIELD(life_row, evictions, "entries that fell out of pg_stat_statements so far"),
	FIELD(life_row, is_complete, "1: every row was seen"),
};

static const struct field baseline_fields[] = {
	KEY(baseline_row, server, "the server"),
	KEY(baseline_row, reading, "the reading"),
	KEY(baseline_row, key, "the row's own key, packed"),
	FIELD(baseline_row, since_ns, "when the server began to count, by its clock; 0: not known"),
	FIELD(baseline_row, counters, "the counters as last read: LEB128, 0 for not measured, else the value plus 1"),
};

static const struct field run_fields[] = {
	KEY(run_row, server, "the server"),
	KEY(run_row, cycle, "the cycle it belongs to: time divided by the cycle"),
	KEY(run_row, reading, "the reading: 0 statements, 1 functions, 2 activity, 3 blocking, 4 databases, 5 settings, 6 io, 7 plans, 100 the visit as a whole"),
	FIELD(run_row, at_wall_ns, "when the visit began"),
	FIELD(run_row, outcome, "0 success, 1 permissions, 2 error, 3 abandoned, 4 skipped"),
	FIELD(run_row, capture, "its expensive half: 0 none, 1 not its turn, 2 scheduled, 3 owed, 4 due but not done"),
	FIELD(run_row, sqlstate, "of the error; empty: none"),
	FIELD(run_row, reason, "why not; empty: all went well"),
	FIELD(run_row, rows, "rows that came"),
	FIELD(run_row, bytes, "bytes that came"),
	FIELD(run_row, at_cap, "1: there were as many candidates as may be; only then is a capture dear"),
	FIELD(run_row, candidates, "statements that were candidates for a plan"),
	FIELD(run_row, plans, "plans that came"),
	FIELD(run_row, new_plans, "of these, plans not known before"),
	FIELD(run_row, server_ns, "time on the server: waiting for answers, without the way there and back"),
	FIELD(run_row, own_ns, "CPU time of ours"),
	FIELD(run_row, wall_ns, "from the first question to the last answer"),
	FIELD(run_row, store_ns, "time in the store; 0: not known"),
};

static const struct field cost_fields[] = {
	KEY(cost_row, server, "the server"),
	KEY(cost_row, reading, "the reading"),
	KEY(cost_row, at_wall_ns, "start of the hour"),
	FIELD(cost_row, runs, "runs of the hour"),
	FIELD(cost_row, captures, "of these, with their expensive half"),
	FIELD(cost_row, failures, "runs that failed"),
	FIELD(cost_row, skipped, "runs that were skipped"),
	FIELD(cost_row, server_ns, "time on the server"),
	FIELD(cost_row, longest_server_ns, "of the dearest run"),
	FIELD(cost_row, own_ns, "CPU time of ours"),
	FIELD(cost_row, store_ns, "time in the store"),
	FIELD(cost_row, rows, "rows that came"),
	FIELD(cost_row, bytes, "bytes that came"),
};

static const struct field collector_fields[] = {
	KEY(collector_row, server, "always 0"),
	KEY(collector_row, collector, "name of the collector"),
	KEY(collector_row, at_wall_ns, "start of the minute"),
	FIELD(collector_row, cpu_ns, "its CPU time in this minute"),
	FIELD(collector_row, rss_bytes, "memory it held"),
	FIELD(collector_row, visits, "visits that ended"),
	FIELD(collector_row, late, "of these, after their own cycle"),
	FIELD(collector_row, skipped, "visits that were skipped"),
	FIELD(collector_row, failures, "visits that failed"),
	FIELD(collector_row, spool_bytes, "bytes that wait for the store"),
	FIELD(collector_row, longest_turn_ns, "longest turn of the loop"),
	FIELD(collector_row, turn_slots, "cycles in a turn slot"),
	FIELD(collector_row, one_in, "one cycle in so many captures, in force"),
};

static const struct field query_fields[] = {
	KEY(query_row, server, "the server"),
	STATEMENT_KEY_FIELDS(query_row),
	FIELD(query_row, database, "name of its database"),
	FIELD(query_row, user, "name of its role"),
	FIELD(query_row, text, "digest of its normalised text; NULL: not kept"),
	FIELD(query_row, text_bytes, "length of the text, also when it was not kept"),
	FIELD(query_row, command, "what it does: \"select\", \"create index\""),
	FIELD(query_row, first_wall_ns, "first seen"),
	FIELD(query_row, seen_wall_ns, "last seen, refreshed at most hourly"),
};

static const struct field statement_fields[] = {
	KEY(statement_row, server, "the server"),
	KEY(statement_row, at_wall_ns, "the visit; of a sum, the start of its hour or day"),
	STATEMENT_KEY_FIELDS(statement_row),
	SPAN_FIELDS(statement_row),
	FIELD(statement_row, longest_ns, "the longest execution the server remembers; 0: not known"),
	COUNTED(statement_row, "calls", STATEMENT_CALLS, "executions"),
	COUNTED(statement_row, "rows", STATEMENT_ROWS, "rows it gave or changed"),
	COUNTED(statement_row, "exec_ns", STATEMENT_EXEC_NS, "time executing"),
	COUNTED(statement_row, "plans", STATEMENT_PLANS, "times it was planned"),
	COUNTED(statement_row, "plan_ns", STATEMENT_PLAN_NS, "time planning"),
	COUNTED(statement_row, "shared_hit", STATEMENT_SHARED_HIT, "shared blocks found in memory"),
	COUNTED(statement_row, "shared_read", STATEMENT_SHARED_READ, "shared blocks read"),
	COUNTED(statement_row, "shared_dirtied", STATEMENT_SHARED_DIRTIED, "shared blocks changed"),
	COUNTED(statement_row, "shared_written", STATEMENT_SHARED_WRITTEN, "shared blocks written"),
	COUNTED(statement_row, "local_hit", STATEMENT_LOCAL_HIT, "blocks of temporary tables found in memory"),
	COUNTED(statement_row, "local_read", STATEMENT_LOCAL_READ, "blocks of temporary tables read"),
	COUNTED(statement_row, "local_dirtied", STATEMENT_LOCAL_DIRTIED, "blocks of temporary tables changed"),
	COUNTED(statement_row, "local_written", STATEMENT_LOCAL_WRITTEN, "blocks of temporary tables written"),
	COUNTED(statement_row, "temp_read", STATEMENT_TEMP_READ, "blocks of temporary files read"),
	COUNTED(statement_row, "temp_written", STATEMENT_TEMP_WRITTEN, "blocks of temporary files written"),
	COUNTED(statement_row, "read_ns", STATEMENT_READ_NS, "time reading blocks"),
	COUNTED(statement_row, "write_ns", STATEMENT_WRITE_NS, "time writing blocks"),
	COUNTED(statement_row, "temp_read_ns", STATEMENT_TEMP_READ_NS, "time reading temporary files"),
	COUNTED(statement_row, "temp_write_ns", STATEMENT_TEMP_WRITE_NS, "time writing temporary files"),
	COUNTED(statement_row, "wal_records", STATEMENT_WAL_RECORDS, "log records"),
	COUNTED(statement_row, "wal_fpi", STATEMENT_WAL_FPI, "full pages in the log"),
	COUNTED(statement_row, "wal_bytes", STATEMENT_WAL_BYTES, "bytes of log"),
	COUNTED(statement_row, "jit_ns", STATEMENT_JIT_NS, "time compiling"),
};

static const struct field function_fields[] = {
	KEY(function_row, server, "the server"),
	KEY(function_row, at_wall_ns, "the visit; of a sum, the start of its hour or day"),
	KEY(function_row, dbid, "oid of its database"),
	KEY(function_row, funcid, "oid of the function"),
	FIELD(function_row, database, "name of its database"),
	FIELD(function_row, name, "schema, name and argument types"),
	SPAN_FIELDS(function_row),
	COUNTED(function_row, "calls", FUNCTION_CALLS, "calls"),
	COUNTED(function_row, "total_ns", FUNCTION_TOTAL_NS, "time in it and what it calls"),
	COUNTED(function_row, "self_ns", FUNCTION_SELF_NS, "time in itself"),
};

static const struct field database_fields[] = {
	KEY(database_row, server, "the server"),
	KEY(database_row, at_wall_ns, "the visit; of a sum, the start of its hour or day"),
	KEY(database_row, dbid, "oid of the database; 0: what all share"),
	FIELD(database_row, name, "its name"),
	SPAN_FIELDS(database_row),
	FIELD(database_row, backends, "connections at the visit; of a sum, the most; NULL: not known"),
	COUNTED(database_row, "commits", DATABASE_COMMITS, "transactions committed"),
	COUNTED(database_row, "rollbacks", DATABASE_ROLLBACKS, "transactions rolled back"),
	COUNTED(database_row, "blocks_read", DATABASE_READ, "blocks read"),
	COUNTED(database_row, "blocks_hit", DATABASE_HIT, "blocks found in memory"),
	COUNTED(database_row, "tuples_returned", DATABASE_RETURNED, "rows scanned"),
	COUNTED(database_row, "tuples_fetched", DATABASE_FETCHED, "rows fetched by an index"),
	COUNTED(database_row, "tuples_inserted", DATABASE_INSERTED, "rows inserted"),
	COUNTED(database_row, "tuples_updated", DATABASE_UPDATED, "rows updated"),
	COUNTED(database_row, "tuples_deleted", DATABASE_DELETED, "rows deleted"),
	COUNTED(database_row, "conflicts", DATABASE_CONFLICTS, "queries ended by recovery"),
	COUNTED(database_row, "temp_files", DATABASE_TEMP_FILES, "temporary files"),
	COUNTED(database_row, "temp_bytes", DATABASE_TEMP_BYTES, "bytes of temporary files"),
	COUNTED(database_row, "deadlocks", DATABASE_DEADLOCKS, "deadlocks"),
	COUNTED(database_row, "read_ns", DATABASE_READ_NS, "time reading blocks"),
	COUNTED(database_row, "write_ns", DATABASE_WRITE_NS, "time writing blocks"),
	COUNTED(database_row, "session_ns", DATABASE_SESSION_NS, "time of sessions"),
	COUNTED(database_row, "active_ns", DATABASE_ACTIVE_NS, "time executing"),
	COUNTED(database_row, "idle_in_transaction_ns", DATABASE_IDLE_IN_TRANSACTION_NS, "time idle in a transaction"),
	COUNTED(database_row, "sessions", DATABASE_SESSIONS, "sessions"),
};

static const struct field io_fields[] = {
	KEY(io_row, server, "the server"),
	KEY(io_row, at_wall_ns, "the visit; of a sum, the start of its hour or day"),
	KEY(io_row, backend, "kind of backend"),
	KEY(io_row, object, "what is read and written"),
	KEY(io_row, context, "in what way"),
	SPAN_FIELDS(io_row),
	COUNTED(io_row, "reads", IO_READS, "reads"),
	COUNTED(io_row, "read_bytes", IO_READ_BYTES, "bytes read"),
	COUNTED(io_row, "read_ns", IO_READ_NS, "time reading"),
	COUNTED(io_row, "writes", IO_WRITES, "writes"),
	COUNTED(io_row, "write_bytes", IO_WRITE_BYTES, "bytes written"),
	COUNTED(io_row, "write_ns", IO_WRITE_NS, "time writing"),
	COUNTED(io_row, "extends", IO_EXTENDS, "relation extensions"),
	COUNTED(io_row, "extend_ns", IO_EXTEND_NS, "time extending"),
	COUNTED(io_row, "hits", IO_HITS, "blocks found in memory"),
	COUNTED(io_row, "evictions", IO_EVICTIONS, "blocks pushed out"),
	COUNTED(io_row, "reuses", IO_REUSES, "ring buffers used again"),
	COUNTED(io_row, "fsyncs", IO_FSYNCS, "calls of fsync"),
	COUNTED(io_row, "fsync_ns", IO_FSYNC_NS, "time in fsync"),
};

static const struct field wait_fields[] = {
	KEY(wait_row, server, "the server"),
	KEY(wait_row, at_wall_ns, "the visit; of a sum, the start of its hour or day"),
	KEY(wait_row, dbid, "oid of the database; 0: none"),
	KEY(wait_row, queryid, "the statement; 0: not known"),
	KEY(wait_row, backend, "kind of backend"),
	KEY(wait_row, state, "its state: active, idle in transaction"),
	KEY(wait_row, wait_type, "kind of wait; empty: on the CPU, or ready for it"),
	KEY(wait_row, wait_event, "the wait; empty: none"),
	FIELD(wait_row, seen, "backends seen so, all looks together"),
	FIELD(wait_row, looks, "looks of this visit, or of all summed visits"),
};

static const struct field blocking_fields[] = {
	KEY(blocking_row, server, "the server"),
	KEY(blocking_row, at_wall_ns, "the look"),
	KEY(blocking_row, pid, "the backend that waits"),
	KEY(blocking_row, blocker_pid, "the backend it waits for; 0: a prepared transaction"),
	FIELD(blocking_row, queryid, "what it wants to run; 0: not known"),
	FIELD(blocking_row, blocker_queryid, "what the blocker ran last; 0: not known"),
	FIELD(blocking_row, lock_type, "what is locked"),
	FIELD(blocking_row, lock_mode, "the mode it waits for"),
	FIELD(blocking_row, relation, "schema and table; empty: none, or not of the database we are in"),
	FIELD(blocking_row, blocker_state, "what the blocker does: active, idle in transaction"),
	FIELD(blocking_row, blocked_behind, "backends that wait for this one in turn"),
	FIELD(blocking_row, waited_ns, "for how long, by the server's clock"),
};

static const struct field setting_fields[] = {
	KEY(setting_row, server, "the server"),
	KEY(setting_row, name, "the setting"),
	FIELD(setting_row, value, "its value; \"(hidden)\" where a secret can stand in it"),
	FIELD(setting_row, unit, "unit of the value; empty: none"),
	FIELD(setting_row, source, "where it comes from"),
	FIELD(setting_row, seen_wall_ns, "first seen with this value"),
};

static const struct field setting_change_fields[] = {
	KEY(setting_change_row, server, "the server"),
	KEY(setting_change_row, at_wall_ns, "the visit that saw it"),
	KEY(setting_change_row, name, "the setting"),
	FIELD(setting_change_row, before, "its value before; empty: it was not there"),
	FIELD(setting_change_row, after, "its value after; empty: it is gone"),
};

static const struct field plan_fields[] = {
	KEY(plan_row, server, "the server"),
	STATEMENT_KEY_FIELDS(plan_row),
	KEY(plan_row, plan, "digest of the plan, constants taken out: its payload"),
	FIELD(plan_row, shape, "digest of the plan without costs and numbers"),
	FIELD(plan_row, search_path, "the search path it was planned with"),
	FIELD(plan_row, settings, "planner settings that are not the default ones, as JSON"),
	FIELD(plan_row, total_cost, "the planner's estimate of its cost"),
	FIELD(plan_row, plan_rows, "the planner's estimate of its rows"),
	FIELD(plan_row, plan_bytes, "as the server sent it, also when it was not kept"),
	FIELD(plan_row, is_generic, "1: by EXPLAIN (GENERIC_PLAN); 0: the generic plan of a prepared statement"),
	FIELD(plan_row, first_wall_ns, "first seen"),
	FIELD(plan_row, seen_wall_ns, "last seen"),
};

static const struct field no_plan_fields[] = {
	KEY(no_plan_row, server, "the server"),
	STATEMENT_KEY_FIELDS(no_plan_row),
	FIELD(no_plan_row, reason, "1 utility, 2 permission, 3 lock, 4 timeout, 5 pruned, 6 ambiguous, 7 no text, 8 does not parse, 9 gone, 10 many statements, 11 database, 12 other, 13 too large"),
	FIELD(no_plan_row, sqlstate, "as the server said; empty: it was not asked"),
	FIELD(no_plan_row, at_wall_ns, "the last try"),
	FIELD(no_plan_row, again_wall_ns, "not tried again before"),
	FIELD(no_plan_row, tries, "tries so far"),
};

static const struct field payload_fields[] = {
	KEY(payload_row, server, "the server it came from"),
	KEY(payload_row, digest, "SHA-256 of its bytes"),
	FIELD(payload_row, kind, "0 text, 1 plan"),
	FIELD(payload_row, size_bytes, "its length, also when it was over the cap and dropped"),
	FIELD(payload_row, seen_wall_ns, "last seen, refreshed at most hourly"),
	FIELD(payload_row, content, "its bytes by zstd; empty: dropped"),
};
/* clang-format on */

#define TABLE(name, doc, fields, row)                                    \
	{                                                                \
		name, doc, fields, ARRAY_LEN(fields), sizeof(struct row) \
	}

const struct table table_server =
	TABLE("server", "the servers of the fleet", server_fields, server_row);
const struct table table_capture =
	TABLE("capture", "when the expensive half of a reading was last done", capture_fields,
	      capture_row);
const struct table table_life =
	TABLE("life", "the life of a server that baselines belong to", life_fields, life_row);
const struct table table_baseline =
	TABLE("baseline", "counters as last read, so that a restart of ours loses no difference",
	      baseline_fields, baseline_row);
const struct table table_run =
	TABLE("run", "the run log: a row a run of a reading on a server", run_fields, run_row);
const struct table table_cost =
	TABLE("cost", "what collecting cost, by hour", cost_fields, cost_row);
const struct table table_collector =
	TABLE("collector", "the collector itself, by minute", collector_fields, collector_row);
const struct table table_query = TABLE("query", "what a statement is", query_fields, query_row);
const struct table table_statement =
	TABLE("statement", "differences of pg_stat_statements; no row: it did not run",
	      statement_fields, statement_row);
const struct table table_statement_hour =
	TABLE("statement_hour", "the same, summed by hour", statement_fields, statement_row);
const struct table table_statement_day =
	TABLE("statement_day", "the same, summed by day", statement_fields, statement_row);
const struct table table_function =
	TABLE("function", "differences of functions and procedures", function_fields, function_row);
const struct table table_function_hour =
	TABLE("function_hour", "the same, summed by hour", function_fields, function_row);
const struct table table_function_day =
	TABLE("function_day", "the same, summed by day", function_fields, function_row);
const struct table table_database =
	TABLE("database", "differences of databases", database_fields, database_row);
const struct table table_database_hour =
	TABLE("database_hour", "the same, summed by hour", database_fields, database_row);
const struct table table_database_day =
	TABLE("database_day", "the same, summed by day", database_fields, database_row);
const struct table table_io = TABLE("io", "differences of pg_stat_io", io_fields, io_row);
const struct table table_io_hour = TABLE("io_hour", "the same, summed by hour", io_fields, io_row);
const struct table table_io_day = TABLE("io_day", "the same, summed by day", io_fields, io_row);
const struct table table_wait =
	TABLE("wait", "what backends waited for, sampled", wait_fields, wait_row);
const struct table table_wait_hour =
	TABLE("wait_hour", "the same, summed by hour", wait_fields, wait_row);
const struct table table_wait_day =
	TABLE("wait_day", "the same, summed by day", wait_fields, wait_row);
const struct table table_blocking =
	TABLE("blocking", "who waited for whose lock, sampled", blocking_fields, blocking_row);
const struct table table_setting =
	TABLE("setting", "settings of a server as they are", setting_fields, setting_row);
const struct table table_setting_change =
	TABLE("setting_change", "settings that changed", setting_change_fields, setting_change_row);
const struct table table_plan = TABLE("plan", "the plans of a statement", plan_fields, plan_row);
const struct table table_no_plan =
	TABLE("no_plan", "why a statement has no plan", no_plan_fields, no_plan_row);
const struct table table_payload =
	TABLE("payload", "texts and plans, each once a server", payload_fields, payload_row);

const struct fleet_table fleet_tables[] = {
	{ &table_server, KEEP_STATE, NULL, NULL },
	{ &table_capture, KEEP_STATE, NULL, NULL },
	{ &table_life, KEEP_STATE, NULL, NULL },
	{ &table_baseline, KEEP_STATE, NULL, NULL },
	{ &table_run, KEEP_RUNS, &table_cost, NULL },
	{ &table_cost, KEEP_DAILY, NULL, NULL },
	{ &table_collector, KEEP_RUNS, NULL, NULL },
	{ &table_query, KEEP_PAYLOADS, NULL, NULL },
	{ &table_statement, KEEP_RAW, &table_statement_hour, &table_statement_day },
	{ &table_statement_hour, KEEP_HOURLY, NULL, NULL },
	{ &table_statement_day, KEEP_DAILY, NULL, NULL },
	{ &table_function, KEEP_RAW, &table_function_hour, &table_function_day },
	{ &table_function_hour, KEEP_HOURLY, NULL, NULL },
	{ &table_function_day, KEEP_DAILY, NULL, NULL },
	{ &table_database, KEEP_RAW, &table_database_hour, &table_database_day },
	{ &table_database_hour, KEEP_HOURLY, NULL, NULL },
	{ &table_database_day, KEEP_DAILY, NULL, NULL },
	{ &table_io, KEEP_RAW, &table_io_hour, &table_io_day },
	{ &table_io_hour, KEEP_HOURLY, NULL, NULL },
	{ &table_io_day, KEEP_DAILY, NULL, NULL },
	{ &table_wait, KEEP_RAW, &table_wait_hour, &table_wait_day },
	{ &table_wait_hour, KEEP_HOURLY, NULL, NULL },
	{ &table_wait_day, KEEP_DAILY, NULL, NULL },
	{ &table_blocking, KEEP_RAW, NULL, NULL },
	{ &table_setting, KEEP_STATE, NULL, NULL },
	{ &table_setting_change, KEEP_DAILY, NULL, NULL },
	{ &table_plan, KEEP_PAYLOADS, NULL, NULL },
	{ &table_no_plan, KEEP_STATE, NULL, NULL },
	{ &table_payload, KEEP_PAYLOADS, NULL, NULL },
};
const size_t fleet_table_count = ARRAY_LEN(fleet_tables);

const char *reading_name(enum reading_id id)
{
	static const char *const names[READING_COUNT] = {
		[READING_STATEMENTS] = "statements",
		[READING_FUNCTIONS] = "functions",
		[READING_ACTIVITY] = "activity",
		[READING_BLOCKING] = "blocking",
		[READING_DATABASES] = "databases",
		[READING_SETTINGS] = "settings",
		[READING_IO] = "io",
		[READING_PLANS] = "plans",
	};

	if (id == READING_VISIT)
		return "visit";
	return (unsigned)id < READING_COUNT ? names[id] : "unknown";
}
