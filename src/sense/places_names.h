/* places_names.h - every symbol of one ELF file, as a search needs them: all names of an address, versions and what is no
 * function too. A parser child reads the file (parser.h); names are any bytes. One thread. */
#ifndef TARE_SENSE_PLACES_NAMES_H
#define TARE_SENSE_PLACES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/parser.h"

enum place_names_kind {
	PLACE_NAMES_FUNCTION,
	PLACE_NAMES_IFUNC,     /* what stands there chooses a function, and runs once */
	PLACE_NAMES_LABEL,     /* no type: may be no instruction */
	PLACE_NAMES_DATA,      /* an object, or code's neighbour that is not executable */
	PLACE_NAMES_UNDEFINED, /* used, and defined elsewhere */
};

struct place_names_row {
	struct str name;    /* without its version; borrowed until place_names_close() */
	struct str version; /* "GLIBC_2.14"; empty: none, or not read */
	bool is_default;    /* "@@": what new programs are linked with */
	enum place_names_kind kind;
	uint8_t rank; /* of names at one address the lowest is the plainest */
	uint64_t address;
	uint64_t bytes; /* 0: not known */
};

struct place_names {
	struct parser_names file; /* owned */
	int debug_fd; /* of the file that had the names which were stripped off; owned; -1: none */
	size_t at;    /* of the next row */
};
#define PLACE_NAMES_EMPTY ((struct place_names){ .debug_fd = -1 })

/* Reads the file behind `fd` (borrowed). `path`: where it lies as we see it, for its debug file. -ENOEXEC: no ELF file for
 * x86-64; -EFBIG; -ENOMEM; -EIO: the parser died of it, or hung. `out` is untouched on failure. */
int place_names_open(struct parser *parser, int fd, struct str path, struct place_names *out);

/* Accepts the empty value, and may run twice. */
void place_names_close(struct place_names *n);

/* May exceptions pass through its functions? It has tables of who catches them, and more than the few that come with parts
 * of the C++ library in a program that is made without exceptions: a 4,096th of its code. */
bool place_names_throws(const struct place_names *n);

/* The next symbol; false: that was the last. Nameless ones are left out. */
bool place_names_next(struct place_names *n, struct place_names_row *out);

/* Begins again with the first. */
void place_names_rewind(struct place_names *n);

/* Where the code at `address` lies in the file, and how many bytes of its segment follow. False: no code lies there. */
bool place_names_offset(const struct place_names *n, uint64_t address, uint64_t *out_offset,
			uint64_t *out_left);

#endif
