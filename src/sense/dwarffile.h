/* dwarffile.h - a file's debug information, kept open from one question to the next, with an index of where its units and the
 * functions of one unit lie. libdw can be led astray by a hostile file: for the parser child only (parser.h). One thread. */
#ifndef TARE_SENSE_DWARFFILE_H
#define TARE_SENSE_DWARFFILE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define DWARFFILE_MAX_SPANS (1u << 20)

/* Code of a unit or of a function; one may have several. */
struct dwarf_span {
	uint64_t start, end;
	Dwarf_Off die;
};

/* The empty value is DWARFFILE_EMPTY. All members are private. */
struct dwarffile {
	struct stat of; /* the file */
	int fd;
	int refused; /* 0, or why this very file is left alone */
	Elf *elf;
	Dwarf *dbg;
	struct dwarf_span *units, *functions; /* owned; sorted */
	size_t unit_count, unit_room, function_count, function_room;
	Dwarf_Off indexed; /* the unit whose functions these are; 0: none */
};
#define DWARFFILE_EMPTY ((struct dwarffile){ .fd = -1 })

/* Turns to the file behind `fd` (borrowed), unless it is the one that is open. -ENOEXEC: no debug information; -EFBIG: too much
 * of it; -ENOMEM. */
int dwarffile_open(struct dwarffile *d, int fd);

/* Accepts the empty value, and may run twice. */
void dwarffile_close(struct dwarffile *d);

/* The function whose code lies at `address`, an address of the file's own. -ENOENT, -ENOMEM. */
int dwarffile_function(struct dwarffile *d, uint64_t address, Dwarf_Die *out);

/* What the linker calls a function, or just its name; NULL: neither is known. Borrowed from libdw. */
const char *dwarffile_name(Dwarf_Die *function);

/* The file of a function's declaration; NULL: not known. Borrowed from libdw. */
const char *dwarffile_source(Dwarf_Die *function);

#endif
