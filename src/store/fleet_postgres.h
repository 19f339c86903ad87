/* fleet_postgres.h - the parts of the PostgreSQL engine, for each other. Tables stand in the schema `tare`, keyed by server first;
 * big ones are parted by days of at_wall_ns. No statement of ours needs rows of two servers in one transaction, but for the
 * server table itself. Internal to the store; one thread at a time a handle. */
#ifndef TARE_STORE_FLEET_POSTGRES_H
#define TARE_STORE_FLEET_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "store/fleet_postgres_wire.h"
#include "store/fleet_store.h"

#define PG_LOCK_CLASS 0x74617265 /* "tare": of our advisory locks (class, number) */
enum pg_lock {
	PG_LOCK_SCHEMA = -1, /* migrations */
	PG_LOCK_PARTS = -2,  /* partitions made */
	PG_LOCK_FLEET = -3,  /* seats */
	PG_LOCK_TIDY = -4,   /* held for a whole tidy */
	PG_LOCK_PUTS = -5,   /* shared by puts: who has it alone knows that none is on its way */
};			     /* 0 and more: puts of this server */

#define PG_DAY_NS  INT64_C(86400000000000)
#define PG_HOUR_NS INT64_C(3600000000000)

/* A partition that is there. */
struct pg_part {
	uint32_t table; /* index in fleet_tables */
	int64_t from_wall_ns;
	bool is_attached; /* false: what is left of one that was taken out */
	bool is_pending;  /* its taking out was broken off: it must be finished */
};

struct pg_store {
	struct pg_wire wire;
	char *url; /* owned; may hold a password */
	enum fleet_access access;
	struct pg_part *parts; /* owned; what was there when we looked */
	size_t part_count, part_room;
	int64_t *before;      /* owned, by fleet_tables: rows of an earlier time are gone */
	bool *has_doubles;    /* owned, by fleet_tables: a key was there before, so no bare COPY */
	int64_t *trimmed;     /* owned, by fleet_tables: rows before it were deleted one by one */
	int64_t sweep_server; /* where the daily sweep goes on */
	uint32_t scans;	      /* cursors that are open: a row's function may scan again */
};

/* Begins a call that may take `ms`: connects and checks the schema when there is no connection. -EHOSTUNREACH for whatever
 * stands in the way then; -EBUSY: inside a scan. */
int pg_call(struct pg_store *p, uint64_t ms, struct err *err);

/* What a failed write is for its caller: not his fault and not for ever means away. */
int pg_answer(int rc, struct err *err);

/* Ends a transaction that went wrong, whatever state it is in. Lets go of the connection when even that fails. */
void pg_abandon(struct pg_store *p);

/* -- fleet_postgres_schema.c -- */

/* One step of the schema: brings it from number - 1 to number, inside a transaction under the lock. */
struct pg_migration {
	int64_t number;
	int (*run)(struct pg_store *p, struct err *err);
};
extern const struct pg_migration pg_migrations[];
extern const size_t pg_migration_count;

/* Makes or migrates the schema (FLEET_WRITE), or looks whether it is the one of `steps` (FLEET_READ); then checks every column. See
 * fleet_store_ops.open for errors. */
int pg_schema_open(struct pg_store *p, const struct pg_migration *steps, size_t count,
		   struct err *err);

/* -- fleet_postgres_columns.c: a table in SQL -- */

/* The column's type: "bigint", "text" ... */
const char *pg_type_name(const struct field *f);
Oid pg_type_of(const struct field *f);
Oid pg_array_of(const struct field *f);

/* The index of column `name`, or SIZE_MAX. */
size_t pg_column(const struct table *t, const char *name);

/* The table's row in fleet_tables; NULL: it is none of a fleet's. */
const struct fleet_table *pg_table(const struct table *t);

/* Part of the primary key here: what is a key there, and the time that parts it. */
bool pg_is_key(const struct fleet_table *ft, const struct field *f);

/* How long a partition of it lasts; 0: it is not parted. */
int64_t pg_part_ns(const struct fleet_table *ft);

/* Appends the columns with `before` each ("u."), parted by ", ". pg_put_keys: those of the primary key only. */
void pg_put_columns(struct text *sql, const struct table *t, const char *before);
void pg_put_keys(struct text *sql, const struct fleet_table *ft, const char *before);

/* Appends "unnest(...) WITH ORDINALITY AS r(columns, its_place)": one array a column of `t`, $1 and on. */
void pg_put_unnest(struct text *sql, const struct table *t);

/* Appends INSERT ... SELECT from unnest of one array a column; what has the same key becomes what store/fleet_rules.h says; of
 * given rows with one key the last counts. */
void pg_put_upsert(struct text *sql, const struct fleet_table *ft);

/* Appends DELETE of the keys in one array a key column of the table (not the added time). */
void pg_put_delete(struct text *sql, const struct table *t);

/* -- fleet_postgres_sums.c -- */

/* Rows of `from` (as `r`) summed into `to` by spans of time. */
struct pg_sum {
	const struct table *from, *to;
	int64_t span_ns;
	bool is_added; /* to the sum that is there; else it is replaced */
};

/* Appends "INSERT ... SELECT ... FROM "; the source and its WHERE are the caller's; then GROUP BY and what becomes of a sum that is there. */
void pg_put_sum_head(struct text *sql, const struct pg_sum *s);
void pg_put_sum_tail(struct text *sql, const struct pg_sum *s);

/* -- fleet_postgres_rows.c: rows in the binary form of COPY, of arrays, and back -- */

/* Bytes that grow. A failed allocation is remembered. The empty value is all zero. */
struct pg_bytes {
	uint8_t *bytes; /* owned */
	size_t used, room;
	bool has_failed;
};
void pg_bytes_free(struct pg_bytes *b);
void pg_bytes_add(struct pg_bytes *b, const void *bytes, size_t len);

/* Appends `count` rows of `t` for COPY ... (FORMAT binary), between head and end. -ERANGE names table and column; -ENOMEM. */
int pg_rows_copy(struct pg_bytes *out, const struct table *t, const void *rows, size_t count,
		 struct err *err);
void pg_copy_begin(struct pg_bytes *out);
void pg_copy_end(struct pg_bytes *out);

/* Appends column `f` of all rows as an array. -ERANGE, -ENOMEM. */
int pg_rows_array(struct pg_bytes *out, const struct table *t, const struct field *f,
		  const void *rows, size_t count, struct err *err);

/* Rows whose columns are a statement's parameters, an array each. */
struct pg_rows {
	const void *rows; /* borrowed */
	size_t count;
	bool is_keys_only;
};

/* Adds such a statement to the pipeline that is open. */
int pg_pipe_add_rows(struct pg_store *p, const struct text *sql, const struct table *t,
		     const struct pg_rows *rows, struct err *err);

/* Reads row `at` of a binary result that has all columns of `t` in order into `out_row`; strings are borrowed from the result and from
 * `text`, which is emptied first. -EBADMSG names table and column; -ENOMEM. */
int pg_row_read(const PGresult *res, int at, const struct table *t, void *out_row,
		struct pg_bytes *text, struct err *err);

/* -- fleet_postgres_parts.c -- */

/* Start of the partition that a time belongs to. */
int64_t pg_part_start(int64_t at_wall_ns, int64_t part_ns);

/* The time at which it ends; INT64_MAX: never. */
int64_t pg_part_end(const struct pg_part *part);

/* Makes sure that the partition of `ft` for this time is there. Outside a transaction. */
int pg_part_for(struct pg_store *p, const struct fleet_table *ft, int64_t at_wall_ns,
		struct err *err);

/* Makes partitions ahead, so that no put has to, for two spans from `now` on. Outside a transaction. */
int pg_parts_ahead(struct pg_store *p, struct wall now, struct err *err);

/* Looks again which partitions there are. */
int pg_parts_look(struct pg_store *p, struct err *err);

/* Appends the name of a partition, qualified: tare."statement_p20261130". */
void pg_put_part(struct text *sql, const struct pg_part *part);

/* -- the operations -- */
int pg_put(void *db, const struct fleet_batch *const *batches, size_t count, bool *out_was_there,
	   struct err *err);
int pg_enrol(void *db, struct server_row *servers, size_t count, struct err *err);
int pg_take_place(void *db, uint32_t reading, int64_t slot, uint32_t allowance, bool *out_has,
		  struct err *err);
int pg_scan(void *db, const struct table *t, const struct fleet_range *range, fleet_row_fn *fn,
	    void *owner, struct err *err);
int pg_tidy(void *db, struct wall now, const struct fleet_limits *limits, uint64_t budget_ns,
	    struct fleet_tidied *out, struct err *err);
int pg_size(void *db, uint64_t *out_bytes, struct err *err);

#endif
