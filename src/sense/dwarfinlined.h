/* dwarfinlined.h - which functions the compiler put into one another at an address, by a file's debug information. For the
 * parser child only (parser.h). One thread. */
#ifndef TARE_SENSE_DWARFINLINED_H
#define TARE_SENSE_DWARFINLINED_H

#include <stdint.h>

#include "sense/dwarffile.h"
#include "sense/parser_wire.h"

#define DWARFINLINED_MAX PARSER_MAX_INLINED /* at one address; what is deeper is left out */

/* One of them. Strings are borrowed during the call. */
struct dwarfinlined {
	const char *name; /* what the linker would call it, or just its name */
	const char *file; /* where it is declared; NULL: not known */
	uint32_t line;	  /* 0: not known */
};
typedef void dwarfinlined_found(void *owner, const struct dwarfinlined *function);

/* Tells the functions that are inlined at `address`, outermost first; the one that they are inlined into is not among them.
 * -ENOENT: no function is known there; -ENOMEM. */
int dwarfinlined_read(struct dwarffile *d, uint64_t address, dwarfinlined_found *found,
		      void *owner);

#endif
