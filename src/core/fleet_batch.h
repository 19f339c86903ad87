/* fleet_batch.h - rows of any fleet tables on their way: what one visit of one server left, owned in one piece. Filled by
 * fleet, carried by cli, written by a store whole or not at all. Pure; one thread at a time. */
#ifndef TARE_CORE_FLEET_BATCH_H
#define TARE_CORE_FLEET_BATCH_H

#include "core/err.h"
#include "core/fleet.h"

/* Most bytes of a packed batch, and of what it holds unpacked: a larger one is foreign. */
#define FLEET_BATCH_MOST_BYTES (UINT32_C(256) << 20)

/* What is to happen to the rows of a block. */
enum block_verb {
	BLOCK_PUT,  /* insert, or replace what has the same key */
	BLOCK_DROP, /* remove what has the same key: only key columns are looked at */
};

struct fleet_block {
	const struct table *table;
	enum block_verb verb;
	void *rows; /* owned; their strings and blobs too, by the batch */
	size_t count, room;
};

struct fleet_batch {
	uint32_t server;
	uint64_t
		cycle; /* a store that has a run of this (server, cycle) has the whole batch: it is written once */
	struct fleet_block *blocks; /* owned */
	size_t block_count;
	struct batch_piece *pieces; /* owned: the bytes of strings and blobs */
	size_t bytes;		    /* held altogether */
	uint64_t
		cut_strs; /* strings that were over STR_MAX_BYTES or had a NUL in them: cut, NULs left out */
};

#define FLEET_BATCH_EMPTY ((struct fleet_batch){ .server = 0 })

/* Accepts the empty value, and may run twice. */
void fleet_batch_free(struct fleet_batch *b);

/* Appends a copy of `row`, a struct of `t`, with copies of its strings and blobs. A string is cut at STR_MAX_BYTES, at the
 * end of a character where it is UTF-8, and loses its NULs: both are counted in cut_strs. -ENOMEM, or -ERANGE for what no
 * store can hold (a number of 2^63 or more, a real that is not finite, NO_ID in a key), and the batch is as it was. */
int fleet_batch_add(struct fleet_batch *b, const struct table *t, enum block_verb verb,
		    const void *row);

/* The block of `t` and `verb`; NULL: there is none. Borrowed. */
const struct fleet_block *fleet_batch_block(const struct fleet_batch *b, const struct table *t,
					    enum block_verb verb);

/* Row `i` of a block, a struct of its table. Borrowed. */
const void *fleet_block_row(const struct fleet_block *block, size_t i);

/* Bytes for a spool: a header, the rows by their descriptors, a CRC. `out` is owned by the caller (free). -ENOMEM; -EFBIG: over
 * FLEET_BATCH_MOST_BYTES. */
int fleet_batch_pack(const struct fleet_batch *b, void **out, size_t *out_len);

/* Reads what fleet_batch_pack wrote; foreign bytes are checked. Columns that a table has gained since, at its end, are 0 or not
 * measured. -EBADMSG with what and where; -ENOMEM. `out` is untouched on failure. */
int fleet_batch_unpack(const void *bytes, size_t len, struct fleet_batch *out, struct err *err);

/* How many columns of `t` are its key: they come first. */
size_t fleet_key_count(const struct table *t);

/* All zero: there is none. */
bool fleet_digest_is_none(const struct digest *d);

/* The fleet's table of this name (`len` bytes, any); NULL: there is none. */
const struct fleet_table *fleet_table_find(const char *name, size_t len);

#endif
