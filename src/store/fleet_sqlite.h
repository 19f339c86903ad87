/* fleet_sqlite.h - the parts of a fleet's SQLite engine that its files share. Internal to store. */
#ifndef TARE_STORE_FLEET_SQLITE_H
#define TARE_STORE_FLEET_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/fleet_rules.h"
#include "store/fleet_store.h"

#define FLEET_TABLES_MOST 48u
#define FLEET_SQL_BYTES	  8192u

/* Statements of a table, made when they are first needed. */
enum table_stmt {
	TABLE_PUT,
	TABLE_DROP,    /* by key */
	TABLE_ADD,     /* a late row onto the sum of its hour; its columns, then the hour */
	TABLE_ADD_DAY, /* the same, of its day */
	TABLE_SUM,     /* an hour of its rows into their sums: server, from, to */
	TABLE_SUM_DAY, /* a day of its hours into their sums */
	TABLE_OLDEST,  /* the time of a server's oldest row */
	TABLE_FORGET,  /* a server's rows before a time */
	TABLE_SERVER,  /* the next server that has rows */
	TABLE_STMTS
};

/* Statements of no table. */
enum fleet_stmt {
	FLEET_BEGIN,
	FLEET_COMMIT,
	FLEET_ROLLBACK,
	FLEET_HAS_RUN,
	FLEET_MARK, /* an hour or day whose sums are not up to date */
	FLEET_NEXT_MARK,
	FLEET_UNMARK,
	FLEET_HAS_MARK,
	FLEET_PAYLOAD_LENGTH,
	FLEET_PAYLOAD_BYTES, /* changes the number of bytes kept */
	FLEET_CUT,
	FLEET_HORIZON,
	FLEET_GONE,
	FLEET_STMTS
};

/* Up to when a table's rows are gone. */
struct horizon {
	int64_t before_ns; /* who comes late is before it */
	int64_t gone_ns;   /* this far the rows are gone indeed */
};

/* A store held by one thread. */
struct fleet_sqlite {
	sqlite3 *db;
	char *path;  /* owned */
	int lock_fd; /* writer: of the database file, flocked. Closed last: closing it drops SQLite's own locks. -1: reader */
	bool is_shared; /* reader: opened with SQLite's locks, since somebody may be writing */
	int64_t seen_mtime_ns, seen_inode; /* reader without locks: the file as it was opened */
	int wal_pages;			   /* writer: after the last commit */
	uint64_t steps_left;		   /* reader: a hostile file must not be read for ever */
	sqlite3_stmt *of_table[FLEET_TABLES_MOST][TABLE_STMTS];
	sqlite3_stmt *fixed[FLEET_STMTS];
	struct horizon horizons[FLEET_TABLES_MOST];
	/* Where tidying goes on. */
	size_t drop_place;
	uint32_t drop_server, sweep_server;
};

/* SQL being written; what does not fit sets is_over. */
struct sql {
	char text[FLEET_SQL_BYTES];
	size_t used;
	bool is_over;
};

/* Appends to it. */
void sql_add(struct sql *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "a, b, c" of the columns of `t` from `from` on, each after `prefix`. */
void sql_columns(struct sql *s, const struct table *t, const char *prefix);

/* The statement of a table, made at the first call. `place` is its place in fleet_tables. NULL: it failed, err says why. */
sqlite3_stmt *fleet_stmt_of(struct fleet_sqlite *f, size_t place, enum table_stmt which,
			    struct err *err);
sqlite3_stmt *fleet_stmt(struct fleet_sqlite *f, enum fleet_stmt which, struct err *err);

/* Ends all statements. */
void fleet_finalize(struct fleet_sqlite *f);

/* The place of `t` in fleet_tables; fleet_table_count: nowhere. */
size_t fleet_place(const struct table *t);

/* The column at_wall_ns of `t`; field_count: it has none. */
size_t fleet_time_column(const struct table *t);

/* at_wall_ns of a row. */
int64_t fleet_row_time(const struct table *t, const void *row);

/* Is at_wall_ns the second column of the key? Then a server's rows lie by time. */
bool fleet_is_by_time(const struct table *t);

/* Describes SQLite's failure of this store, with what still works and how to mend it. Returns the negative errno. */
int fleet_fail(const struct fleet_sqlite *f, int rc, const char *what, struct err *err);

/* Runs a statement that gives no rows and resets it. 0 or what fleet_fail returns. */
int fleet_step(struct fleet_sqlite *f, sqlite3_stmt *stmt, const char *what, struct err *err);
int fleet_begin(struct fleet_sqlite *f, struct err *err);
int fleet_commit(struct fleet_sqlite *f, struct err *err);
/* Ends a transaction that failed, if there still is one. */
void fleet_rollback(struct fleet_sqlite *f);

/* Marks the hour (level 1) or day (2) of rows of the raw table at `place` as not summed. */
int fleet_mark(struct fleet_sqlite *f, int level, int64_t at_ns, size_t place, uint32_t server,
	       struct err *err);

/* Adds the functions capped_sum(x) and capped_add(a, b): NULL is left out, and what has no room in 63 bits is 2^63 - 1. */
int fleet_add_functions(sqlite3 *db);

/* Reads the horizons of all tables. */
int fleet_load_horizons(struct fleet_sqlite *f, struct err *err);

/* The members of fleet_store_ops. */
int fleet_sqlite_open(const char *url, enum fleet_access access, void **out_db, struct err *err);
void fleet_sqlite_close(void *db);
int fleet_sqlite_put(void *db, const struct fleet_batch *const *batches, size_t count,
		     bool *out_was_there, struct err *err);
int fleet_sqlite_enrol(void *db, struct server_row *servers, size_t count, struct err *err);
int fleet_sqlite_take_place(void *db, uint32_t reading, int64_t slot, uint32_t allowance,
			    bool *out_has, struct err *err);
int fleet_sqlite_scan(void *db, const struct table *t, const struct fleet_range *range,
		      fleet_row_fn *fn, void *owner, struct err *err);
int fleet_sqlite_tidy(void *db, struct wall now, const struct fleet_limits *limits,
		      uint64_t budget_ns, struct fleet_tidied *out, struct err *err);
int fleet_sqlite_size(void *db, uint64_t *out_bytes, struct err *err);

/* Opens a reader's connection anew: at first, and when a file that nobody was writing has changed. */
int fleet_reader_open(struct fleet_sqlite *f, struct err *err);

/* Sums marked hours and days; then the steps of dropping. Each works until `deadline` and says in out->is_more whether it was done. */
int fleet_sum_marked(struct fleet_sqlite *f, struct wall now, struct mono deadline,
		     struct fleet_tidied *out, struct err *err);
int fleet_drop_old(struct fleet_sqlite *f, struct wall now, const struct fleet_limits *limits,
		   struct mono deadline, struct fleet_tidied *out, struct err *err);
int fleet_sweep(struct fleet_sqlite *f, struct wall now, const struct fleet_limits *limits,
		struct mono deadline, struct fleet_tidied *out, struct err *err);
int fleet_shrink_payloads(struct fleet_sqlite *f, uint64_t limit_bytes, struct mono deadline,
			  struct fleet_tidied *out, struct err *err);

/* CLOCK_MONOTONIC; is the deadline over? */
struct mono fleet_mono_now(void);
bool fleet_is_over(struct mono deadline);

#endif
