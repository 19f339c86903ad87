/* jitindex.h - pieces of code that came and went while a program ran, by address and time: of those that lie over one another the
 * one that came last is meant. For the parser child (parser.h). One thread. */
#ifndef TARE_SENSE_JITINDEX_H
#define TARE_SENSE_JITINDEX_H

#include <stddef.h>
#include <stdint.h>

#define JITINDEX_MAX	   1000000u	       /* pieces of code of one file */
#define JITINDEX_MAX_BYTES (UINT64_C(1) << 28) /* of one piece */

/* A piece of code; where its file says the rest. */
struct jit_code {
	uint64_t start, bytes;
	uint64_t since_ns;	    /* when it came; 0: not known, so always */
	uint64_t name_at, debug_at; /* offsets in the file; debug_at 0: none */
	uint32_t name_bytes;
	uint32_t order; /* filled in: a later one has a higher number */
};

/* The empty value is all zero. */
struct jitindex {
	struct jit_code *codes; /* owned: `sorted` by start, then as they came */
	size_t count, room, sorted;
	uint64_t longest;  /* bytes of the longest sorted one */
	uint64_t rejected; /* lines or records that say nothing */
};

/* Accepts the empty value, and may run twice. */
void jitindex_free(struct jitindex *x);

/* Adds the piece that came last. One without bytes, or beyond the ceilings, is rejected. -ENOMEM, -E2BIG: full. */
int jitindex_add(struct jitindex *x, const struct jit_code *code);

/* What lay at `address` at `at_ns` (UINT64_MAX: now); NULL: nothing known. Until the next jitindex_add(). *out_until_ns: when
 * something else came there, as far as is known; UINT64_MAX: never. */
const struct jit_code *jitindex_find(const struct jitindex *x, uint64_t address, uint64_t at_ns,
				     uint64_t *out_until_ns);

#endif
