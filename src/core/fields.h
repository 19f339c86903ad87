/* fields.h - what a recording consists of, described once: the store's columns, docs/format.md, the JSON
 * output and its schema all come from these tables. A column that is not here does not exist. */
#ifndef TARE_CORE_FIELDS_H
#define TARE_CORE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

/* How a member of a row struct is kept. SQLite: INTEGER, REAL, TEXT or BLOB; whole numbers stay below 2^63. */
enum field_type {
	FIELD_U32,  /* uint32_t; UINT32_MAX is NULL */
	FIELD_U64,  /* uint64_t */
	FIELD_I64,  /* int64_t */
	FIELD_BOOL, /* bool, as 0 or 1 */
	FIELD_STR, /* struct str, any bytes: a BLOB unless it is valid UTF-8 without NUL, then TEXT */
	FIELD_BATCHES, /* uint64_t[BATCH_COUNT]: a BLOB of (index byte, LEB128 value) pairs, zeros left out */
	FIELD_F64,     /* double, finite */
	FIELD_STEPS,   /* struct histogram, as steps.h says: a BLOB of LEB128 numbers */
	FIELD_COUNTER, /* struct counter; not measured is NULL */
	FIELD_DIGEST,  /* struct digest: a BLOB of 32 bytes; all zero is NULL */
	FIELD_BLOB,    /* struct blob: a BLOB of any length */
};

struct field {
	const char *name; /* column and JSON key: ends in its unit */
	enum field_type type;
	uint16_t offset; /* in the row struct */
	uint16_t is_key; /* 1: part of the primary key, keys come first */
	const char *doc; /* one sentence: what it says; no full stop at the end */
	unsigned since;	 /* version of a recording's schema that brought it; 0: the table's own */
};

struct table {
	const char *name;
	const char *doc;
	const struct field *fields;
	size_t field_count;
	size_t row_bytes; /* sizeof of the row struct */
};

extern const struct table table_recording;  /* one row: struct label */
extern const struct table table_node;	    /* struct node_row */
extern const struct table table_frame;	    /* struct frame_row */
extern const struct table table_slot;	    /* struct slot_row */
extern const struct table table_context;    /* struct context_row */
extern const struct table table_ledger;	    /* struct ledger_row */
extern const struct table table_watch;	    /* one row: struct watch_row */
extern const struct table table_watched;    /* struct watched_row */
extern const struct table table_window;	    /* struct window_row */
extern const struct table table_slow_frame; /* struct slow_row */
extern const struct table table_slow_part;  /* struct slow_part_row */
extern const struct table table_task;	    /* struct task_row */
extern const struct table table_task_name;  /* struct task_name_row */

/* All of them, in the order of docs/format.md. */
extern const struct table *const tables[];
extern const size_t table_count;

#endif
