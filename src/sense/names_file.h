/* names_file.h - every symbol of one ELF file, one after another: all names of an address, versions and what is no
 * function too, which symbols.h leaves out. The file is read, never mapped; names are any bytes. Call this only in a child
 * (parser.h). One thread. */
#ifndef TARE_SENSE_NAMES_FILE_H
#define TARE_SENSE_NAMES_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/places_names.h"
#include "sense/tables.h"

#define NAMES_FILE_MAX_TABLES	3u /* .symtab, .dynsym, .symtab of the debug file */
#define NAMES_FILE_MAX_BYTES	(UINT64_C(1) << 28) /* of one table, or of its names */
#define NAMES_FILE_MAX_VERSIONS 4096u

struct names_file_table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings;
	size_t string_bytes;
	const uint16_t *versions; /* one a symbol; NULL: none */
	size_t version_count;
};

struct names_file {
	int fd;					      /* borrowed */
	Elf *elf, *debug;			      /* owned; NULL: none */
	struct segment segments[TABLES_MAX_SEGMENTS]; /* the executable ones */
	size_t segment_count;
	uint64_t entry; /* where the program begins; 0: nowhere */
	struct names_file_table tables[NAMES_FILE_MAX_TABLES];
	size_t table_count;
	struct str *versions; /* by number; owned, NULL: none */
	bool is_go;	      /* made by the Go compiler */
	uint64_t catch_bytes; /* of its tables of who catches exceptions */
	bool has_symtab;
	bool has_debug_info;
	size_t table, at; /* of the next row */
};
#define NAMES_FILE_EMPTY ((struct names_file){ .elf = NULL })

/* Opens the file behind `fd` (borrowed; it must stay open). -ENOEXEC: no ELF file for x86-64; -EFBIG; -ENOMEM. A malformed
 * table is left out. `out` is untouched on failure. */
int names_file_open(int fd, struct names_file *out);

/* Adds the symbols of its debug file behind `fd` (borrowed; it must stay open). `is_linked`: by .gnu_debuglink, so that its
 * checksum must be right. -ESTALE: it is of another build; -ENOEXEC. */
int names_file_add_debug(struct names_file *n, int fd, bool is_linked);

/* Accepts the empty value, and may run twice. */
void names_file_close(struct names_file *n);

/* The next symbol; false: that was the last. Nameless ones are left out. */
bool names_file_next(struct names_file *n, struct place_names_row *out);

#endif
