/* places_names.h - every symbol of one ELF file, one after another: all names of an address, versions and what is no
 * function too, which symbols.h leaves out. The file is read, never mapped; names are any bytes. One thread. */
#ifndef TARE_SENSE_PLACES_NAMES_H
#define TARE_SENSE_PLACES_NAMES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/tables.h"

#define PLACE_NAMES_MAX_TABLES	 3u /* .symtab, .dynsym, .symtab of the debug file */
#define PLACE_NAMES_MAX_BYTES	 (UINT64_C(1) << 29) /* of one table, or of its names */
#define PLACE_NAMES_MAX_VERSIONS 4096u

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

struct place_names_table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings;
	size_t string_bytes;
	const uint16_t *versions; /* one a symbol; NULL: none */
	size_t version_count;
};

struct place_names {
	Elf *elf, *debug;			      /* owned; NULL: none */
	int debug_fd;				      /* owned */
	struct segment segments[TABLES_MAX_SEGMENTS]; /* the executable ones */
	size_t segment_count;
	uint64_t entry; /* where the program begins; 0: nowhere */
	struct place_names_table tables[PLACE_NAMES_MAX_TABLES];
	size_t table_count;
	struct str *versions; /* by number; owned, NULL: none */
	bool is_go;	      /* made by the Go compiler */
	uint64_t catch_bytes; /* of its tables of who catches exceptions */
	bool has_symtab;
	bool has_debug_info;
	size_t table, at; /* of the next row */
};
#define PLACE_NAMES_EMPTY ((struct place_names){ .debug_fd = -1 })

/* Opens the file behind `fd` (borrowed; it must stay open). `path`: where it lies as we see it, for its debug file.
 * -ENOEXEC: no ELF file for x86-64; -EFBIG; -ENOMEM. A malformed table is left out. `out` is untouched on failure. */
int place_names_open(int fd, struct str path, struct place_names *out);

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
