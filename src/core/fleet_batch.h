/* fleet_batch.h - rows of any fleet tables on their way: what one visit of one server left, owned in one piece. Filled by
 * fleet, carried by cli, written by a store whole or not at all. Pure; one thread at a time. */
#ifndef TARE_CORE_FLEET_BATCH_H
#define TARE_CORE_FLEET_BATCH_H

#include "core/err.h"
#include "core/fleet.h"

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
};

#define FLEET_BATCH_EMPTY ((struct fleet_batch){ .server = 0 })

/* Accepts the empty value, and may run twice. */
void fleet_batch_free(struct fleet_batch *b);

/* Appends a copy of `row`, a struct of `t`, with copies of its strings and blobs. -ENOMEM, and the batch is as it was. */
int fleet_batch_add(struct fleet_batch *b, const struct table *t, enum block_verb verb,
		    const void *row);

/* The block of `t` and `verb`; NULL: there is none. Borrowed. */
const struct fleet_block *fleet_batch_block(const struct fleet_batch *b, const struct table *t,
					    enum block_verb verb);

/* Bytes for a spool: a header, the rows by their descriptors, a CRC. `out` is owned by the caller. -ENOMEM. */
int fleet_batch_pack(const struct fleet_batch *b, void **out, size_t *out_len);

/* Reads what fleet_batch_pack wrote; foreign bytes are checked. -EBADMSG with what and where; -ENOMEM. */
int fleet_batch_unpack(const void *bytes, size_t len, struct fleet_batch *out, struct err *err);

#endif
