/* fleet_postgres_put.h - a put on its way, for the two files that write it. Internal to the store. */
#ifndef TARE_STORE_FLEET_POSTGRES_PUT_H
#define TARE_STORE_FLEET_POSTGRES_PUT_H

#include "store/fleet_postgres.h"

/* Rows that came after the raw rows of their time had gone: they are only summed. */
struct later {
	const struct fleet_table *ft;
	void *rows; /* owned; their strings are the batch's */
	size_t count, room;
};

struct put {
	struct pg_store *p;
	const struct fleet_batch *const *batches;
	size_t count;
	bool *was_there;
	size_t left;		 /* batches that were not there */
	struct pg_bytes *copies; /* owned, by fleet_tables */
	struct pg_bytes marks;	 /* struct pg_mark, each once */
	struct later *later;	 /* owned */
	size_t later_count;
};

/* A span of a server whose sum is to be made. */
struct pg_mark {
	int64_t server, span_ns, from_wall_ns;
};

/* Appends a mark unless it is the one of the row before. Failure is remembered. */
void pg_mark_add(struct pg_bytes *marks, struct pg_mark mark);

/* The statement that gives pg_take_horizons its answer. */
#define PG_HORIZONS "SELECT name, before_wall_ns FROM tare.dropped"

/* Keeps the horizons: rows of a table before its horizon are gone. 0. */
int pg_take_horizons(struct pg_store *p, const PGresult *res);

/* at_wall_ns of a row. */
int64_t pg_row_time(const struct table *t, const void *row);

/* Do the rows of this table go by COPY? */
bool pg_is_copied(const struct put *u, const struct fleet_batch *b, const struct fleet_table *ft);

/* Are rows kept as they are, beside their sum? A run always: by it a batch that comes again is known. */
bool pg_is_kept(const struct fleet_table *ft, bool is_late);

/* Makes the partitions that a block's rows go to, by themselves or as sums. */
int pg_parts_of_block(struct pg_store *p, const struct fleet_block *block, struct err *err);

/* All the rest in one go: states, sums of late rows, marks, COMMIT. */
int pg_put_states(struct put *u, struct err *err);

#endif
