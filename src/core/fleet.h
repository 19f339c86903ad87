/* fleet.h - what `collect` brings home, as plain rows: fleet fills them, cli carries them, store keeps them, report
 * reads them. Every struct here has its table in fleet_fields.c; every table is keyed by server first. Times named
 * _wall_ns are the collector's clock; a span is by the server's own clock. */
#ifndef TARE_CORE_FLEET_H
#define TARE_CORE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counter.h"
#include "core/fields.h"
#include "core/frame.h"

/* SHA-256 of a payload's bytes. All zero: there is none. */
struct digest {
	uint8_t bytes[32];
};

/* Bytes of others' making of any length; borrowed unless said otherwise. */
struct blob {
	const void *bytes;
	uint32_t len;
};

/* Stored: numbers never change, new ones are added at the end. */
enum reading_id {
	READING_STATEMENTS = 0, /* has a capture half: plans */
	READING_FUNCTIONS = 1,	/* the procedures */
	READING_ACTIVITY = 2,	/* waits, sampled beside the body */
	READING_BLOCKING = 3,	/* who waits for whom, sampled beside the body */
	READING_DATABASES = 4,
	READING_SETTINGS = 5,
	READING_IO = 6,
	READING_PLANS =
		7, /* the capture half of READING_STATEMENTS, for the ledger: never charged to the other */
	READING_COUNT,
	READING_VISIT =
		100, /* a visit as a whole, in run rows only: what it came to, also when no reading was begun */
};

/* The word of a reading, in tables, settings and metrics: "statements". Never NULL. */
const char *reading_name(enum reading_id id);

/* Why a difference is what it is. Stored. */
enum delta_life {
	DELTA_SAME = 0,	  /* the counters of one life: the difference */
	DELTA_FIRST = 1,  /* first sight: none */
	DELTA_BEGAN = 2,  /* provably began after the last visit: the whole value */
	DELTA_SHRUNK = 3, /* a counter is smaller than before: a new life, its whole value */
	DELTA_RESET =
		4, /* all were reset: the whole value when it was after the last visit, else none */
	DELTA_RESTARTED = 5, /* the server was started again: none */
	DELTA_OTHER = 6,     /* another system answers under this name: none */
	DELTA_EVICTED = 7,   /* fell out and came back: none */
	DELTA_GAP = 8,	     /* the last visit was over an hour ago: none */
	DELTA_CLOCK = 9,     /* the server's clock did not go forward: none */
};

enum run_outcome {
	RUN_SUCCESS = 0,
	RUN_PERMISSIONS = 1,
	RUN_ERROR = 2,
	RUN_ABANDONED = 3, /* over its wall budget: nothing was shipped */
	RUN_SKIPPED = 4,
};

/* What a run did about its capture half. */
enum run_capture {
	CAPTURE_NONE = 0,      /* the reading has none, or plans are off */
	CAPTURE_GATED = 1,     /* not its turn */
	CAPTURE_SCHEDULED = 2, /* its turn, and it was done */
	CAPTURE_OWED = 3,      /* made up for */
	CAPTURE_MISSED = 4,    /* due, tried, and not done: stays due */
};

/* Why a statement has no plan. Stored. */
enum plan_reason {
	PLAN_OK = 0,
	PLAN_UTILITY = 1,    /* VACUUM, CREATE ..., BEGIN: there is nothing to plan */
	PLAN_PERMISSION = 2, /* the role may not plan it */
	PLAN_LOCK = 3,	     /* a table was locked for longer than we wait */
	PLAN_TIMEOUT = 4,
	PLAN_PRUNED = 5,    /* only an empty shell of a plan came out */
	PLAN_AMBIGUOUS = 6, /* two search paths give different plans */
	PLAN_NO_TEXT = 7,   /* no text, or a text that was cut */
	PLAN_PARSE = 8,	    /* its normalised text does not parse again */
	PLAN_GONE = 9,	    /* a table or function it names is not there */
	PLAN_MANY = 10,	    /* more than one statement in a text: never sent on */
	PLAN_DATABASE = 11, /* its database cannot be entered */
	PLAN_OTHER = 12,    /* the SQLSTATE says */
	PLAN_LARGE = 13,    /* over the cap: only its size is known */
};

/* Which statement: all of it is needed. */
struct statement_key {
	uint32_t dbid, userid;
	int64_t queryid; /* 0: the sum of what we may not see, [no privilege] */
	bool is_toplevel;
};

struct server_row {
	uint32_t server;
	struct str name;    /* as in the settings */
	struct str kind;    /* "postgresql" */
	struct str address; /* host, port, database: never a secret */
	uint32_t seat;	    /* NO_ID: it has left */
	struct str version; /* as the server says; empty: never seen */
	struct str role;    /* who we are there */
	bool is_standby;
	int64_t first_wall_ns, seen_wall_ns; /* 0: never */
	int64_t ahead_ns;		     /* the server's clock minus ours */
};

/* When a reading of a server was last captured, and last tried. */
struct capture_row {
	uint32_t server, reading;
	int64_t captured_wall_ns; /* of a capture that was done, or of first sight */
	int64_t tried_wall_ns;
	bool is_first_sight; /* counted as captured, nothing was */
};

/* The life a reading's baselines belong to. */
struct life_row {
	uint32_t server, reading;
	int64_t at_wall_ns;   /* of the last complete visit */
	int64_t at_server_ns; /* the same moment by the server's clock, since 1970 */
	uint64_t system_id;
	int64_t started_server_ns; /* postmaster start */
	int64_t reset_server_ns;   /* statistics reset; 0: not known */
	uint64_t evictions;	   /* pg_stat_statements_info.dealloc */
	bool is_complete;	   /* every row was seen: nothing capped, nothing hidden */
};

/* The counters of one row at the last visit they changed in. */
struct baseline_row {
	uint32_t server, reading;
	struct blob key;      /* the reading's own key, packed */
	int64_t since_ns;     /* stats_since by the server's clock; 0: not known */
	struct blob counters; /* LEB128: 0 for NOT_MEASURED, else value + 1 */
};

/* A row a run of a reading on a server, and one with what a visit as a whole came to. */
struct run_row {
	uint32_t server, reading;
	int64_t at_wall_ns; /* when the visit began */
	uint64_t cycle;	    /* its cycle: (server, cycle, reading) is written once */
	uint32_t outcome, capture;
	struct str sqlstate;  /* empty: none */
	struct str reason;    /* why not, why skipped; no literal and no secret */
	uint64_t rows, bytes; /* that came over the wire */
	bool at_cap; /* as many candidates as may be: a skipped capture is dear only then */
	uint64_t candidates, plans, new_plans;
	uint64_t server_ns; /* time on the server: answers awaited, without the round trips */
	uint64_t own_ns;    /* CPU of ours */
	uint64_t wall_ns;   /* from first question to last answer */
	uint64_t store_ns;  /* in the store; 0: not yet known */
};

/* Runs of an hour together: what collecting costs, by server and reading. */
struct cost_row {
	uint32_t server, reading;
	int64_t at_wall_ns; /* the hour's start */
	uint64_t runs, captures, failures, skipped;
	uint64_t server_ns, longest_server_ns, own_ns, store_ns;
	uint64_t rows, bytes;
};

/* The collector itself, in one minute. */
struct collector_row {
	uint32_t server; /* always 0: the collector is no server, and stands with server 0 */
	struct str collector;
	int64_t at_wall_ns;
	uint64_t cpu_ns, rss_bytes, visits, late, skipped, failures, spool_bytes, longest_turn_ns;
	uint32_t turn_slots; /* k: cycles in a turn slot */
	uint32_t one_in;     /* effective N */
};

/* What a statement is. */
struct query_row {
	uint32_t server;
	struct statement_key key;
	struct str database, user;
	struct digest text;  /* all zero: not kept */
	uint64_t text_bytes; /* also when it was not kept */
	struct str
		command; /* first words that say what it does: "select", "create index"; no literal */
	int64_t first_wall_ns, seen_wall_ns;
};

enum statement_counter {
	STATEMENT_CALLS,
	STATEMENT_ROWS,
	STATEMENT_EXEC_NS,
	STATEMENT_PLANS,
	STATEMENT_PLAN_NS,
	STATEMENT_SHARED_HIT,
	STATEMENT_SHARED_READ,
	STATEMENT_SHARED_DIRTIED,
	STATEMENT_SHARED_WRITTEN,
	STATEMENT_LOCAL_HIT,
	STATEMENT_LOCAL_READ,
	STATEMENT_LOCAL_DIRTIED,
	STATEMENT_LOCAL_WRITTEN,
	STATEMENT_TEMP_READ,
	STATEMENT_TEMP_WRITTEN,
	STATEMENT_READ_NS,
	STATEMENT_WRITE_NS,
	STATEMENT_TEMP_READ_NS,
	STATEMENT_TEMP_WRITE_NS,
	STATEMENT_WAL_RECORDS,
	STATEMENT_WAL_FPI,
	STATEMENT_WAL_BYTES,
	STATEMENT_JIT_NS,
	STATEMENT_COUNTERS
};

/* A statement's difference over a span. The same row, summed, in statement_hour and statement_day. */
struct statement_row {
	uint32_t server;
	int64_t at_wall_ns; /* the visit; in a sum the hour's or day's start */
	struct statement_key key;
	uint32_t life;	     /* enum delta_life; in a sum 0 */
	uint64_t span_ns;    /* 0: cannot know, the counters are then not measured */
	uint64_t longest_ns; /* the longest execution the server remembers; 0: not known */
	struct counter counters[STATEMENT_COUNTERS];
};

enum function_counter { FUNCTION_CALLS, FUNCTION_TOTAL_NS, FUNCTION_SELF_NS, FUNCTION_COUNTERS };

struct function_row {
	uint32_t server;
	int64_t at_wall_ns;
	uint32_t dbid, funcid;
	struct str database, name; /* schema.name(arguments) */
	uint32_t life;
	uint64_t span_ns;
	struct counter counters[FUNCTION_COUNTERS];
};

enum database_counter {
	DATABASE_COMMITS,
	DATABASE_ROLLBACKS,
	DATABASE_READ,
	DATABASE_HIT,
	DATABASE_RETURNED,
	DATABASE_FETCHED,
	DATABASE_INSERTED,
	DATABASE_UPDATED,
	DATABASE_DELETED,
	DATABASE_CONFLICTS,
	DATABASE_TEMP_FILES,
	DATABASE_TEMP_BYTES,
	DATABASE_DEADLOCKS,
	DATABASE_READ_NS,
	DATABASE_WRITE_NS,
	DATABASE_SESSION_NS,
	DATABASE_ACTIVE_NS,
	DATABASE_IDLE_IN_TRANSACTION_NS,
	DATABASE_SESSIONS,
	DATABASE_COUNTERS
};

struct database_row {
	uint32_t server;
	int64_t at_wall_ns;
	uint32_t dbid; /* 0: shared objects */
	struct str name;
	uint32_t life;
	uint64_t span_ns;
	uint32_t backends; /* connected now; NO_ID: not known */
	struct counter counters[DATABASE_COUNTERS];
};

enum io_counter {
	IO_READS,
	IO_READ_BYTES,
	IO_READ_NS,
	IO_WRITES,
	IO_WRITE_BYTES,
	IO_WRITE_NS,
	IO_EXTENDS,
	IO_EXTEND_NS,
	IO_HITS,
	IO_EVICTIONS,
	IO_REUSES,
	IO_FSYNCS,
	IO_FSYNC_NS,
	IO_COUNTERS
};

/* pg_stat_io, PostgreSQL 16 and later. */
struct io_row {
	uint32_t server;
	int64_t at_wall_ns;
	struct str backend, object, context;
	uint32_t life;
	uint64_t span_ns;
	struct counter counters[IO_COUNTERS];
};

/* What backends were waiting for, over the looks of one visit. */
struct wait_row {
	uint32_t server;
	int64_t at_wall_ns;
	uint32_t dbid;
	int64_t queryid; /* 0: not known */
	struct str backend, state, wait_type,
		wait_event; /* wait_type empty: on the CPU, or ready for it */
	uint32_t seen;	    /* backends seen so, all looks together */
	uint32_t looks;	    /* of this visit */
};

/* One backend that waits for another's lock. */
struct blocking_row {
	uint32_t server;
	int64_t at_wall_ns; /* of the look */
	uint32_t pid, blocker_pid;
	int64_t queryid, blocker_queryid;
	struct str lock_type, lock_mode, relation, blocker_state;
	uint32_t blocked_behind; /* backends that wait for this one in turn */
	uint64_t waited_ns;
};

/* A setting as it is. */
struct setting_row {
	uint32_t server;
	struct str name, value, unit, source;
	int64_t seen_wall_ns;
};

/* A setting that changed. */
struct setting_change_row {
	uint32_t server;
	int64_t at_wall_ns;
	struct str name, before, after; /* "(hidden)" for what can hold a secret */
};

/* A plan of a statement, from first to last seen. */
struct plan_row {
	uint32_t server;
	struct statement_key key;
	struct digest plan;  /* its content, redacted: a payload */
	struct digest shape; /* the same without costs and numbers */
	struct str search_path, settings;
	double total_cost, plan_rows;
	uint64_t plan_bytes; /* as the server sent it, also when it was over the cap and dropped */
	bool is_generic;     /* by GENERIC_PLAN, else by a prepared statement's generic plan */
	int64_t first_wall_ns, seen_wall_ns;
};

/* Why a statement has no plan: not asked again before again_wall_ns. */
struct no_plan_row {
	uint32_t server;
	struct statement_key key;
	uint32_t reason; /* enum plan_reason */
	struct str sqlstate;
	int64_t at_wall_ns, again_wall_ns;
	uint64_t tries;
};

/* Stored: numbers never change. */
enum payload_kind { PAYLOAD_TEXT = 0, PAYLOAD_PLAN = 1 };

/* A text or plan, once a server, by the digest of its bytes. */
struct payload_row {
	uint32_t server;
	struct digest digest;
	uint32_t kind;
	uint64_t
		size_bytes; /* before compression, also when the content was over the cap and dropped */
	struct blob content;  /* zstd; empty: dropped */
	int64_t seen_wall_ns; /* refreshed at most hourly */
};

/* How long rows of a table stay. */
enum fleet_keep {
	KEEP_STATE,    /* as long as its server */
	KEEP_RAW,      /* 7 days */
	KEEP_HOURLY,   /* 90 days */
	KEEP_DAILY,    /* 5 years */
	KEEP_RUNS,     /* 30 days */
	KEEP_PAYLOADS, /* until no row names it, and by size: 1 GiB */
};

/* A table of a fleet's store. */
struct fleet_table {
	const struct table *table;
	enum fleet_keep keep;
	const struct table *hourly,
		*daily; /* where its rows are summed before they go; NULL: nowhere */
};

extern const struct table table_server, table_capture, table_life, table_baseline, table_run,
	table_cost, table_collector, table_query, table_statement, table_statement_hour,
	table_statement_day, table_function, table_function_hour, table_function_day,
	table_database, table_database_hour, table_database_day, table_io, table_io_hour,
	table_io_day, table_wait, table_wait_hour, table_wait_day, table_blocking, table_setting,
	table_setting_change, table_plan, table_no_plan, table_payload;

/* All of them, in the order of docs/format-fleet.md. */
extern const struct fleet_table fleet_tables[];
extern const size_t fleet_table_count;

#endif
