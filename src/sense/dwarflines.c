/* dwarflines.c - lines of one compilation unit, by libdw. */
#include "sense/dwarflines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/dwarffile.h"
#include "sense/elffile.h"

#define MAX_UNITS 20000u
#define MAX_DIES  1000000u
#define MAX_DEPTH 16u /* of namespaces */

static void dwarf_free(Dwarf **dbg)
{
	if (*dbg != NULL)
		dwarf_end(*dbg);
}

static void elf_free(Elf **elf)
{
	if (*elf != NULL)
		elf_end(*elf);
}

int dwarflines_check_sizes(Elf *elf, uint64_t most_bytes)
{
	size_t names;
	uint64_t total = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return -ENOEXEC;
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s != NULL; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;
		GElf_Chdr packed;
		const char *name;

		if (gelf_getshdr(s, &h) == NULL)
			return -ENOEXEC;
		name = elf_strptr(elf, names, h.sh_name);
		if (name != NULL && strncmp(name, ".zdebug", 7) == 0)
			return -ENOEXEC; /* the old packing hides its size */
		if (name == NULL || strncmp(name, ".debug", 6) != 0 || h.sh_type == SHT_NOBITS)
			continue;
		if ((h.sh_flags & SHF_COMPRESSED) && gelf_getchdr(s, &packed) == NULL)
			return -ENOEXEC;
		if (h.sh_size > most_bytes)
			return -EFBIG;
		total += h.sh_size;
		if (h.sh_flags & SHF_COMPRESSED) {
			if (packed.ch_size > most_bytes)
				return -EFBIG;
			total += packed.ch_size;
		}
		if (total > most_bytes)
			return -EFBIG;
	}
	return 0;
}

/* The unit that holds `address`: by .debug_aranges, else one after the other (clang writes none). */
static int find_unit(Dwarf *dbg, uint64_t address, Dwarf_Die *out)
{
	Dwarf_CU *unit = NULL;

	if (dwarf_addrdie(dbg, address, out) != NULL)
		return 0;
	for (size_t i = 0; i < MAX_UNITS; i++) {
		uint8_t type;

		if (dwarf_get_units(dbg, unit, &unit, NULL, &type, out, NULL) != 0)
			break;
		if (type == DW_UT_compile && dwarf_haspc(out, address) == 1)
			return 0;
	}
	return -ENOENT;
}

/* Refuses a line program that would unfold to more memory than we are ready to take. */
static int check_program(Elf *elf, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	size_t names;

	if (dwarf_attr(unit, DW_AT_stmt_list, &attribute) == NULL ||
	    dwarf_formudata(&attribute, &offset) != 0 || elf_getshdrstrndx(elf, &names) < 0)
		return -ENOENT;
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s != NULL; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;
		Elf_Data *bytes;
		uint32_t len;
		const char *name;

		if (gelf_getshdr(s, &h) == NULL)
			continue;
		name = elf_strptr(elf, names, h.sh_name);
		if (name == NULL || strcmp(name, ".debug_line") != 0)
			continue;
		bytes = elf_rawdata(s, NULL); /* libdw has unpacked it by now */
		if (bytes == NULL || bytes->d_buf == NULL || bytes->d_size < 4 ||
		    offset > bytes->d_size - 4)
			return -ENOEXEC;
		memcpy(&len, (const char *)bytes->d_buf + offset, sizeof(len));
		return len <= DWARFLINES_MAX_UNIT_BYTES ? 0 : -EFBIG;
	}
	return -ENOENT;
}

static void tell_function(Dwarf_Die *function, dwarflines_found *found, void *owner)
{
	Dwarf_Addr start;
	int number;
	const char *file;

	if (dwarf_entrypc(function, &start) != 0 || dwarf_decl_line(function, &number) != 0 ||
	    number <= 0)
		return;
	file = dwarffile_source(function);
	if (file != NULL)
		found(owner, start, (uint32_t)number, file);
}

/* Functions by their declarations, in namespaces too. libdw's own visitor would recurse as deep as the file says. */
static void tell_functions(Dwarf_Die *unit, dwarflines_found *found, void *owner)
{
	Dwarf_Die path[MAX_DEPTH];
	size_t depth = 0;
	int rc = dwarf_child(unit, &path[0]);

	for (size_t i = 0; i < MAX_DIES; i++) {
		int tag;

		if (rc != 0) { /* the end of this level */
			if (depth == 0)
				return;
			depth--;
			rc = dwarf_siblingof(&path[depth], &path[depth]);
			continue;
		}
		tag = dwarf_tag(&path[depth]);
		if (tag == DW_TAG_subprogram)
			tell_function(&path[depth], found, owner);
		if (tag == DW_TAG_namespace && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else
			rc = dwarf_siblingof(&path[depth], &path[depth]);
	}
}

/* Lines, for code that is no function of its own ("f.cold"). */
static int tell_lines(Dwarf_Die *unit, dwarflines_found *found, void *owner)
{
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(unit, &lines, &count) != 0)
		return -ENOEXEC;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		int number;
		const char *file;

		if (line == NULL || dwarf_lineaddr(line, &address) != 0 ||
		    dwarf_lineno(line, &number) != 0 || number <= 0)
			continue;
		file = dwarf_linesrc(line, NULL, NULL);
		if (file != NULL)
			found(owner, address, (uint32_t)number, file);
	}
	return 0;
}

int dwarflines_read(int fd, uint64_t address, dwarflines_found *found, void *owner)
{
	SCOPED(elf_free) Elf *elf = NULL;
	SCOPED(dwarf_free) Dwarf *dbg = NULL;
	Dwarf_Die unit;
	int rc = elffile_check(fd);

	if (rc < 0)
		return rc;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf == NULL)
		return -ENOEXEC;
	rc = dwarflines_check_sizes(elf, DWARFLINES_MAX_BYTES);
	if (rc < 0)
		return rc;
	dbg = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dbg == NULL)
		return -ENOEXEC;
	rc = find_unit(dbg, address, &unit);
	if (rc == 0)
		rc = check_program(elf, &unit);
	if (rc < 0)
		return rc;
	tell_functions(&unit, found, owner);
	return tell_lines(&unit, found, owner);
}
