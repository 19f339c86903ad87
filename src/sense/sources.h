/* sources.h - file and line of the functions of one binary that carries debug information; read a compilation unit at
 * a time, when a function of it is first named, within a fixed price. One thread. */
#ifndef TARE_SENSE_SOURCES_H
#define TARE_SENSE_SOURCES_H

#include <stdint.h>

#include "sense/naming.h"
#include "sense/parser.h"
#include "sense/tables.h"

#define SOURCES_MAX_NS \
	(UINT64_C(100) * 1000 * 1000) /* CPU time a binary: later functions have no lines */

struct source_place {
	struct str file; /* as the compiler wrote it; kept by naming */
	uint32_t line;	 /* 0: not known */
};

/* The empty value has no descriptor. */
struct sources {
	int fd;			     /* owned; -1: nothing (more) to be read */
	uint64_t spent_ns;	     /* CPU time, the parser's too */
	uint64_t own_ns;	     /* without the parser's */
	struct source_place *places; /* by symbol */
};

#define SOURCES_EMPTY ((struct sources){ .fd = -1 })

/* Keeps a descriptor of the file behind `fd` (borrowed). Without one there are no lines, which is no error. */
void sources_open(struct sources *s, int fd);

/* The symbols of the tables are others now: forgets what was known by them. */
void sources_forget(struct sources *s);

/* Accepts the empty value and leaves it. */
void sources_free(struct sources *s);

/* Who reads, and what of. All borrowed. */
struct sources_of {
	struct parser *parser;
	const struct tables *tables;
	struct naming *names;
};

/* Where the function of `symbol`, one of the tables, begins. Line 0: not known. */
struct source_place sources_find(struct sources *s, const struct sources_of *of,
				 const struct symbol *symbol);

#endif
