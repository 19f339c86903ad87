/* remembered.h - rows of a server as the collector remembers them: packed, found by their key. A visit keeps what changes in a table of
 * its own, laid over the server's; an abandoned one leaves the server's as it was. Pure; one thread. */
#ifndef TARE_FLEET_REMEMBERED_H
#define TARE_FLEET_REMEMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fleet.h"

#define REMEMBERED_KEY_MOST 320u /* of any reading, packed */
#define PLANS_REMEMBERED    4u	 /* of a statement: the latest ones */
#define RANK_SPANS	    3u	 /* halves of the reach that execution time is summed in */

enum text_state {
	TEXT_UNKNOWN = 0, /* nobody asked yet */
	TEXT_WANTED = 1,  /* it ran: its text is to be read */
	TEXT_KNOWN = 2,	  /* read, and kept as payload or said why not */
	TEXT_OWN = 3,	  /* a statement of ours: left out */
};

struct plan_known {
	struct digest plan;
	int64_t first_wall_ns, seen_wall_ns;
};

struct no_plan_known {
	uint32_t reason; /* enum plan_reason; PLAN_OK: there is none */
	char sqlstate[6];
	int64_t again_wall_ns;
	uint32_t tries;
};

/* What is known of a statement that ran while we looked. */
struct statement_known {
	struct digest text;
	uint64_t text_bytes;
	int64_t first_wall_ns, seen_wall_ns; /* of its row in table_query; 0: it has none */
	int64_t ran_wall_ns;		     /* last visit that saw it run */
	uint64_t exec_ns[RANK_SPANS];	     /* by half of the reach */
	int64_t half;			     /* number of the latest of these */
	struct no_plan_known no_plan;
	struct plan_known *plans;  /* owned: the latest first */
	uint8_t plan_count, state; /* enum text_state */
	char command[30];
};

/* One row: its key, packed, and behind it its counters, packed. */
struct remembered {
	struct remembered *next;
	struct statement_known
		*statement; /* owned; NULL: none, or it did not run while we looked */
	int64_t since_ns;
	uint32_t hash;
	uint32_t visit; /* number of the last visit that saw it */
	uint16_t key_len, counters_len;
	uint8_t bytes[];
};

struct remembered_table {
	struct remembered **heads; /* owned */
	uint32_t head_count;	   /* 0, or a power of two */
	uint32_t count;
};

#define REMEMBERED_TABLE_EMPTY ((struct remembered_table){ .heads = NULL })

/* Makes a row that stands in no table. `counters` may be NULL with 0. NULL: no memory, or a key or counters that are too long. */
struct remembered *remembered_make(const void *key, size_t key_len, const void *counters,
				   size_t counters_len);

/* Makes a copy with what is known of its statement, and other counters when `counters` is not NULL. NULL: no memory. */
struct remembered *remembered_copy(const struct remembered *row, const void *counters,
				   size_t counters_len);

/* Accepts NULL. */
void remembered_free(struct remembered *row);

/* The row of a key; NULL: there is none. Borrowed. */
struct remembered *remembered_find(const struct remembered_table *t, const void *key,
				   size_t key_len);

/* Puts a row in the place of the one that has its key, which is freed. The row is the table's then. -ENOMEM: it is still the caller's. */
int remembered_put(struct remembered_table *t, struct remembered *row);

/* Frees each row of which `is_gone` says so. */
void remembered_sweep(struct remembered_table *t,
		      bool (*is_gone)(void *owner, const struct remembered *row), void *owner);

/* The row behind `row`, in no order; NULL as `row`: the first. NULL: there is no more. */
struct remembered *remembered_next(const struct remembered_table *t, const struct remembered *row);

/* Moves all rows of `from` into `to`, which they replace. Room is made first: -ENOMEM, and nothing has changed. */
int remembered_merge(struct remembered_table *to, struct remembered_table *from);

/* Bytes that its rows take. */
uint64_t remembered_bytes(const struct remembered_table *t);

/* Accepts the empty value, and may run twice. */
void remembered_table_free(struct remembered_table *t);

/* What is known of a row's statement, made when there is nothing yet. NULL: no memory. */
struct statement_known *remembered_statement(struct remembered *row);

/* The plan of this digest; NULL: it is not among the latest. Borrowed. */
struct plan_known *statement_plan(struct statement_known *s, const struct digest *plan);

/* Adds a plan as the latest one; the oldest is forgotten when there are PLANS_REMEMBERED. -ENOMEM. */
int statement_add_plan(struct statement_known *s, const struct plan_known *plan);

/* Packs counters as table_baseline has them. `out` has room for 10 bytes each. Returns its length. */
size_t counters_pack(const struct counter *counters, size_t count, uint8_t *out);

/* Reads what counters_pack() wrote; what is missing at the end is not measured. -EBADMSG for anything else. */
int counters_unpack(const uint8_t *bytes, size_t len, struct counter *out, size_t count);

#define STATEMENT_KEY_MOST 20u

/* The packed key of a statement, and back; false: these bytes are none. */
size_t statement_key_pack(const struct statement_key *key, uint8_t out[STATEMENT_KEY_MOST]);
bool statement_key_unpack(const uint8_t *bytes, size_t len, struct statement_key *out);

#endif
