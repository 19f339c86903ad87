/* names_file.c - symbol tables of foreign files, row by row. */
#include "sense/names_file.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/debugfile.h"
#include "sense/elffile.h"

#define VERSION_MASK   0x7fffu
#define VERSION_HIDDEN 0x8000u
#define RANK_LOCAL     64u
#define RANK_WEAK      32u

void names_file_close(struct names_file *n)
{
	free(n->versions);
	if (n->elf != NULL)
		elf_end(n->elf);
	if (n->debug != NULL)
		elf_end(n->debug);
	*n = NAMES_FILE_EMPTY;
}

static int read_segments(struct names_file *n)
{
	GElf_Ehdr header;
	size_t count;

	if (elf_getphdrnum(n->elf, &count) < 0 || gelf_getehdr(n->elf, &header) == NULL)
		return -ENOEXEC;
	n->entry = header.e_entry;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr h;

		if (gelf_getphdr(n->elf, (int)i, &h) == NULL)
			return -ENOEXEC;
		if (h.p_type == PT_LOAD && (h.p_flags & PF_X) != 0 &&
		    n->segment_count < TABLES_MAX_SEGMENTS)
			n->segments[n->segment_count++] =
				(struct segment){ h.p_offset, h.p_filesz, h.p_vaddr };
	}
	return 0;
}

/* A section's bytes as they are in the file, if there are not too many. */
static Elf_Data *bytes_of(Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Data *bytes;

	if (section == NULL || h->sh_type == SHT_NOBITS || (h->sh_flags & SHF_COMPRESSED) != 0 ||
	    h->sh_size > NAMES_FILE_MAX_BYTES)
		return NULL;
	bytes = elf_getdata(section, NULL);
	return bytes != NULL && bytes->d_buf != NULL ? bytes : NULL;
}

static void add_table(struct names_file *n, Elf *elf, Elf_Scn *section, const GElf_Shdr *h)
{
	struct names_file_table *table = &n->tables[n->table_count];
	Elf_Scn *link = elf_getscn(elf, h->sh_link);
	Elf_Data *symbols, *strings;
	GElf_Shdr of_strings;

	if (n->table_count == NAMES_FILE_MAX_TABLES || h->sh_entsize != sizeof(Elf64_Sym) ||
	    link == NULL || gelf_getshdr(link, &of_strings) == NULL ||
	    of_strings.sh_type != SHT_STRTAB)
		return;
	symbols = bytes_of(section, h);
	strings = bytes_of(link, &of_strings);
	if (symbols == NULL || strings == NULL ||
	    (uintptr_t)symbols->d_buf % _Alignof(Elf64_Sym) != 0)
		return;
	*table = (struct names_file_table){ .symbols = symbols->d_buf,
					    .count = symbols->d_size / sizeof(Elf64_Sym),
					    .strings = strings->d_buf,
					    .string_bytes = strings->d_size };
	n->table_count++;
}

/* The versions that a file defines, by their numbers. */
static int read_definitions(struct names_file *n, Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Data *bytes = bytes_of(section, h);
	size_t at = 0;

	if (bytes == NULL || n->versions != NULL)
		return 0;
	n->versions = calloc(NAMES_FILE_MAX_VERSIONS, sizeof(*n->versions));
	if (n->versions == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < NAMES_FILE_MAX_VERSIONS && at <= INT32_MAX; i++) {
		GElf_Verdef definition;
		GElf_Verdaux name;
		const char *text;

		if (gelf_getverdef(bytes, (int)at, &definition) == NULL ||
		    at + definition.vd_aux > INT32_MAX ||
		    gelf_getverdaux(bytes, (int)(at + definition.vd_aux), &name) == NULL)
			break;
		text = elf_strptr(n->elf, h->sh_link, name.vda_name);
		if (text != NULL && definition.vd_ndx < NAMES_FILE_MAX_VERSIONS)
			n->versions[definition.vd_ndx] =
				(struct str){ text, (uint32_t)strnlen(text, STR_MAX_BYTES) };
		if (definition.vd_next == 0)
			break;
		at += definition.vd_next;
	}
	return 0;
}

/* What belongs to .dynsym and comes in sections of its own. */
struct companions {
	Elf_Data *versions;
	size_t dynamic; /* its place in n->tables; NAMES_FILE_MAX_TABLES: none */
};

static int look_at(struct names_file *n, Elf_Scn *section, size_t names, struct companions *c)
{
	GElf_Shdr h;
	const char *name;

	if (gelf_getshdr(section, &h) == NULL)
		return 0;
	if (h.sh_type == SHT_SYMTAB) {
		add_table(n, n->elf, section, &h);
		n->has_symtab = n->has_symtab || n->table_count > 0;
	} else if (h.sh_type == SHT_DYNSYM && c->dynamic == NAMES_FILE_MAX_TABLES) {
		size_t before = n->table_count;

		add_table(n, n->elf, section, &h);
		c->dynamic = n->table_count > before ? before : NAMES_FILE_MAX_TABLES;
	} else if (h.sh_type == SHT_GNU_versym) {
		c->versions = bytes_of(section, &h);
	} else if (h.sh_type == SHT_GNU_verdef) {
		return read_definitions(n, section, &h);
	}
	name = elf_strptr(n->elf, names, h.sh_name);
	if (name == NULL)
		return 0;
	if (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0)
		n->is_go = true;
	if (strcmp(name, ".gcc_except_table") == 0)
		n->catch_bytes += h.sh_size;
	if (strcmp(name, ".debug_info") == 0 && h.sh_type != SHT_NOBITS)
		n->has_debug_info = true;
	return 0;
}

static int read_sections(struct names_file *n)
{
	struct companions c = { NULL, NAMES_FILE_MAX_TABLES };
	size_t names;
	int rc = 0;

	if (elf_getshdrstrndx(n->elf, &names) < 0)
		return 0;
	for (Elf_Scn *s = elf_nextscn(n->elf, NULL); s != NULL && rc == 0;
	     s = elf_nextscn(n->elf, s))
		rc = look_at(n, s, names, &c);
	if (c.dynamic < NAMES_FILE_MAX_TABLES && c.versions != NULL) {
		n->tables[c.dynamic].versions = c.versions->d_buf;
		n->tables[c.dynamic].version_count = c.versions->d_size / sizeof(uint16_t);
	}
	return rc;
}

int names_file_add_debug(struct names_file *n, int fd, bool is_linked)
{
	struct tables binary = { 0 };
	int rc = elffile_read_id(n->fd, &binary);

	if (rc == 0)
		rc = debugfile_check(fd, is_linked, &binary);
	if (rc < 0)
		return rc;
	if (n->debug != NULL)
		elf_end(n->debug);
	n->debug = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *s = elf_nextscn(n->debug, NULL); s != NULL; s = elf_nextscn(n->debug, s)) {
		GElf_Shdr h;

		if (gelf_getshdr(s, &h) != NULL && h.sh_type == SHT_SYMTAB)
			add_table(n, n->debug, s, &h);
	}
	return 0;
}

int names_file_open(int fd, struct names_file *out)
{
	SCOPED(names_file_close) struct names_file n = { .fd = fd };
	int rc = elffile_check(fd);

	if (rc < 0)
		return rc;
	n.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (n.elf == NULL || elf_kind(n.elf) != ELF_K_ELF)
		return -ENOEXEC;
	rc = read_segments(&n);
	if (rc == 0)
		rc = read_sections(&n);
	if (rc < 0)
		return rc;
	*out = n;
	n = NAMES_FILE_EMPTY;
	return 0;
}

/* Lower is plainer: global before weak before local, then few underscores in front. */
static uint8_t rank_of(const Elf64_Sym *sym, struct str name)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info), rank = 0;

	if (bind == STB_LOCAL)
		rank = RANK_LOCAL;
	else if (bind == STB_WEAK)
		rank = RANK_WEAK;
	for (size_t i = 0; i < 15 && i < name.len && name.bytes[i] == '_'; i++)
		rank++;
	return (uint8_t)rank;
}

static enum place_names_kind kind_of(const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF)
		return PLACE_NAMES_UNDEFINED;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
		return PLACE_NAMES_FUNCTION;
	case STT_GNU_IFUNC:
		return PLACE_NAMES_IFUNC;
	case STT_NOTYPE:
		return PLACE_NAMES_LABEL;
	default:
		return PLACE_NAMES_DATA;
	}
}

/* The version that the table of versions has for row `at`. */
static void set_version(const struct names_file *n, const struct names_file_table *table, size_t at,
			struct place_names_row *out)
{
	uint16_t number;

	if (table->versions == NULL || n->versions == NULL || at >= table->version_count)
		return;
	number = table->versions[at] & VERSION_MASK;
	if (number <= VER_NDX_GLOBAL || number >= NAMES_FILE_MAX_VERSIONS)
		return;
	out->version = n->versions[number];
	out->is_default = (table->versions[at] & VERSION_HIDDEN) == 0;
}

/* "memcpy@@GLIBC_2.14", as linkers write it into .symtab. */
static void split_version(struct place_names_row *row)
{
	const char *at = memchr(row->name.bytes, '@', row->name.len);
	uint32_t len;

	if (at == NULL || at == row->name.bytes)
		return;
	len = (uint32_t)(at - row->name.bytes);
	row->is_default = len + 1 < row->name.len && at[1] == '@';
	at += row->is_default ? 2 : 1;
	row->version = (struct str){ at, row->name.len - (uint32_t)(at - row->name.bytes) };
	row->name.len = len;
}

static bool describe(const struct names_file *n, const struct names_file_table *table, size_t at,
		     struct place_names_row *out)
{
	const Elf64_Sym *sym = &table->symbols[at];
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	size_t most = sym->st_name < table->string_bytes ? table->string_bytes - sym->st_name : 0;
	size_t len;

	if (most == 0 || type == STT_SECTION || type == STT_FILE)
		return false;
	len = strnlen(table->strings + sym->st_name,
		      most < STR_MAX_BYTES + 1 ? most : STR_MAX_BYTES + 1);
	if (len == 0 || len == most || len > STR_MAX_BYTES)
		return false;
	*out = (struct place_names_row){ .name = { table->strings + sym->st_name, (uint32_t)len },
					 .kind = kind_of(sym),
					 .address = sym->st_value,
					 .bytes = sym->st_size };
	out->rank = rank_of(sym, out->name);
	set_version(n, table, at, out);
	split_version(out);
	return out->name.len > 0;
}

bool names_file_next(struct names_file *n, struct place_names_row *out)
{
	while (n->table < n->table_count) {
		const struct names_file_table *table = &n->tables[n->table];

		while (n->at < table->count)
			if (describe(n, table, n->at++, out))
				return true;
		n->table++;
		n->at = 0;
	}
	return false;
}
