/* plan_json.h - a plan as EXPLAIN (FORMAT JSON) tells it, read in one pass: without constants, with its shape, its cost and what the
 * planner left out. Own reader: foreign JSON is neither held as a tree nor recursed over, 64-bit numbers stay as they are, and
 * bytes that are no UTF-8 (a server's own encoding) do not lose the plan. */
#ifndef TARE_FLEET_PLAN_JSON_H
#define TARE_FLEET_PLAN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/fleet.h"
#include "core/text.h"

#define PLAN_DEPTH_MOST 1000u	    /* objects and arrays within one another: 499 nodes */
#define PLAN_JSON_MOST	(64u << 20) /* bytes we read at all */

struct plan_read {
	struct text redacted; /* compact JSON, valid UTF-8 */
	struct text
		settings; /* "work_mem = 64MB, jit = off": those that are not presets, without ours; empty: none */
	struct digest shape;
	double total_cost, plan_rows; /* of all plans that a rule made of the statement */
	int64_t query_id;	      /* as this server computes it now; 0: it does not */
	bool is_utility;	      /* there was nothing to plan */
	bool is_pruned;		      /* some children were left out, for the parameters' sake */
	bool is_shell;		      /* of some node all children were left out */
};

#define PLAN_READ_EMPTY ((struct plan_read){ .is_utility = false })

/* Reads a plan. `out` is owned by the caller (plan_read_free). -EBADMSG: not a plan; -E2BIG: deeper or larger than we read; -ENOMEM.
 * `out` is then empty. Messages hold no byte of the input. */
int plan_read(const char *json, size_t len, struct plan_read *out, struct err *err);

/* Accepts the empty value, and may run twice. */
void plan_read_free(struct plan_read *plan);

/* What a member of a plan's JSON holds, by its key. */
enum plan_field {
	PLAN_FIELD_SQL,	   /* an expression: its constants are taken out. Also what is not known */
	PLAN_FIELD_NAME,   /* a name or a word of the server's: kept */
	PLAN_FIELD_HIDDEN, /* no SQL and not ours to keep: a file's path, a program's line */
	PLAN_FIELD_SETTINGS, /* names with values: kept, and no part of the shape */
	PLAN_FIELD_ASIDE,    /* measured or decided by cost: kept, and no part of the shape */
	PLAN_FIELD_DROPPED,  /* would make two of one plan: left out */
};

/* The kind of a key. Any bytes. */
enum plan_field plan_field_of(const char *key, size_t len);

/* The shape of a plan, gathered while it is read: what is open, and for each value that has ended its bytes. */
struct plan_shape {
	struct text canon; /* open members: key, NUL, value */
	struct plan_span *spans;
	size_t span_count, span_room;
	void *hash; /* EVP_MD_CTX */
	bool has_failed;
};

/* Accepts the empty value, and may run twice. */
void plan_shape_free(struct plan_shape *s);

/* A member or element begins: with its key, or NULL in an array. Returns where. */
size_t plan_shape_begin(struct plan_shape *s, const char *key, size_t key_len);

/* It ends with a value of these bytes. `from` is what plan_shape_begin returned. */
void plan_shape_end(struct plan_shape *s, size_t from, char kind, const char *bytes, size_t len);

/* It ends and is no part of the shape. */
void plan_shape_leave_out(struct plan_shape *s, size_t from);

struct plan_mark {
	size_t bytes, spans;
};

/* Where an object or array begins, for plan_shape_close. */
struct plan_mark plan_shape_mark(const struct plan_shape *s);

/* The digest of the members or elements since `mark`: members in the order of their bytes. They are gone then. */
struct digest plan_shape_close(struct plan_shape *s, struct plan_mark mark, bool is_object);

#endif
