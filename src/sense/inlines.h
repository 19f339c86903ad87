/* inlines.h - which functions the compiler put into one another at the addresses of one binary that were sampled: asked once an
 * address, within a fixed price. One thread. */
#ifndef TARE_SENSE_INLINES_H
#define TARE_SENSE_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/naming.h"
#include "sense/parser.h"

#define INLINES_MAX_NS	   (UINT64_C(300) * 1000 * 1000) /* CPU time a binary, the parser's too ... */
#define INLINES_MAX_ALL_NS (UINT64_C(1000) * 1000 * 1000) /* ... and all binaries ... */
#define INLINES_MAX_ADDRESSES \
	16384u /* ... and addresses a binary: later ones show only their function */

struct inlines_entry {
	uint32_t pc, count;
	const struct frame **frames; /* owned; NULL: nothing is inlined there */
	bool is_filled;
};

/* The empty value has no descriptor. */
struct inlines {
	int fd;			       /* owned; -1: nothing (more) to be read */
	uint64_t spent_ns, own_ns;     /* CPU time, with the parser's and without */
	struct inlines_entry *entries; /* owned; open addressing, `room` is a power of two */
	size_t count, room;
};
#define INLINES_EMPTY ((struct inlines){ .fd = -1 })

/* Keeps a descriptor of the file behind `fd` (borrowed). Without one nothing is inlined, which is no error. */
void inlines_open(struct inlines *in, int fd);

/* Accepts the empty value and leaves it. */
void inlines_free(struct inlines *in);

/* Who reads, and what of. All borrowed. */
struct inlines_of {
	struct parser *parser;
	struct naming *names;
	struct str module; /* kept by names */
	uint64_t base;	   /* what addresses of this binary count from */
	uint64_t *all_ns;  /* CPU time that all binaries took */
};

/* What is inlined at `pc`, outermost first, by `of`. */
struct inlines_found {
	const struct frame *const *frames; /* live until inlines_free() */
	size_t count;
	bool is_pending; /* the parser is at it, or has other things to do: ask again later */
};
struct inlines_found inlines_find(struct inlines *in, const struct inlines_of *of, uint32_t pc);

#endif
