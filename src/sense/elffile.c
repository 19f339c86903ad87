/* elffile.c - foreign ELF files, read once into tables. */
#include "sense/elffile.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/plt.h"
#include "sense/rows.h"
#include "sense/symbols.h"

#define MAX_SECTIONS   65280u /* SHN_LORESERVE: more need a notation that no executable has */
#define MAX_SEGMENTS   4096u
#define MAX_NOTE_BYTES (1u << 20)

static void elf_free(Elf **elf)
{
	if (*elf != NULL)
		elf_end(*elf);
	*elf = NULL;
}

int elffile_check(int fd)
{
	Elf64_Ehdr h;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return -ENOEXEC;
	if ((uint64_t)st.st_size > ELFFILE_MAX_BYTES)
		return -EFBIG;
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_X86_64 ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return -ENOEXEC;
	if (h.e_phnum > MAX_SEGMENTS || (h.e_phnum > 0 && h.e_phentsize != sizeof(Elf64_Phdr)))
		return -ENOEXEC;
	if (h.e_shoff != 0 && (h.e_shnum == 0 || h.e_shnum > MAX_SECTIONS ||
			       h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shstrndx >= h.e_shnum))
		return -ENOEXEC;
	return elf_version(EV_CURRENT) != EV_NONE ? 0 : -ENOEXEC;
}

static int open_elf(int fd, Elf **out)
{
	int rc = elffile_check(fd);

	if (rc < 0)
		return rc;
	*out = elf_begin(fd, ELF_C_READ, NULL);
	if (*out == NULL || elf_kind(*out) != ELF_K_ELF) {
		elf_free(out);
		return -ENOEXEC;
	}
	return 0;
}

/* Executable segments, and the lowest address of all as the base. */
static int read_segments(struct tables *t, Elf *elf)
{
	size_t count;
	uint64_t base = UINT64_MAX;

	if (elf_getphdrnum(elf, &count) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr h;

		if (gelf_getphdr(elf, (int)i, &h) == NULL)
			return -ENOEXEC;
		if (h.p_type != PT_LOAD)
			continue;
		if (h.p_vaddr < base)
			base = h.p_vaddr;
		if ((h.p_flags & PF_X) && t->segment_count < TABLES_MAX_SEGMENTS)
			t->segments[t->segment_count++] =
				(struct segment){ h.p_offset, h.p_filesz, h.p_vaddr };
	}
	if (t->segment_count == 0)
		return -ENOEXEC;
	t->base = base;
	return 0;
}

static void read_entry(struct tables *t, Elf *elf)
{
	GElf_Ehdr h;

	if (gelf_getehdr(elf, &h) != NULL && h.e_entry > t->base &&
	    h.e_entry - t->base <= UINT32_MAX)
		t->entry = (uint32_t)(h.e_entry - t->base);
}

static void read_build_id(struct tables *t, Elf_Scn *section)
{
	Elf_Data *notes = elf_rawdata(section, NULL);
	GElf_Nhdr note;
	size_t at = 0, name, desc, next;

	while (notes != NULL && (next = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp((char *)notes->d_buf + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
		    note.n_descsz >= 2 && note.n_descsz <= TABLES_MAX_BUILD_ID) {
			memcpy(t->build_id, (char *)notes->d_buf + desc, note.n_descsz);
			t->build_id_bytes = note.n_descsz;
			return;
		}
		at = next;
	}
}

static void read_debuglink(struct tables *t, Elf_Scn *section)
{
	Elf_Data *link = elf_rawdata(section, NULL);
	const char *end;
	size_t len, crc_at;

	if (link == NULL || link->d_size < 6)
		return;
	end = memchr(link->d_buf, '\0', link->d_size);
	if (end == NULL)
		return;
	len = (size_t)(end - (char *)link->d_buf);
	crc_at = (len + 4) & ~(size_t)3;
	if (len == 0 || len > TABLES_MAX_DEBUGLINK || crc_at + 4 > link->d_size ||
	    memchr(link->d_buf, '/', len) != NULL)
		return;
	memcpy(t->debuglink, link->d_buf, len);
	memcpy(&t->debuglink_crc, (char *)link->d_buf + crc_at, 4);
}

/* The sections that we look at, found by name. */
struct found {
	Elf_Scn *eh_frame, *debug_frame;
	bool has_info, has_line;
};

static void look_at(struct tables *t, Elf_Scn *section, const GElf_Shdr *h, const char *name,
		    struct found *out)
{
	if (h->sh_type == SHT_NOTE && h->sh_size <= MAX_NOTE_BYTES && t->build_id_bytes == 0)
		read_build_id(t, section);
	else if (h->sh_type == SHT_NOBITS)
		return;
	else if (strcmp(name, ".eh_frame") == 0)
		out->eh_frame = section;
	else if (strcmp(name, ".debug_frame") == 0 && (h->sh_flags & SHF_COMPRESSED) == 0)
		out->debug_frame = section;
	else if (strcmp(name, ".gnu_debuglink") == 0 && h->sh_size <= 4096)
		read_debuglink(t, section);
	else if (strcmp(name, ".debug_info") == 0)
		out->has_info = true;
	else if (strcmp(name, ".debug_line") == 0)
		out->has_line = true;
}

static void find_sections(struct tables *t, Elf *elf, struct found *out)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s != NULL; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;
		const char *name;

		if (gelf_getshdr(s, &h) == NULL)
			continue;
		name = elf_strptr(elf, names, h.sh_name);
		if (name != NULL)
			look_at(t, s, &h, name, out);
	}
}

static int compile(struct tables *t, Elf *elf, Elf_Scn *scn, bool is_eh_frame)
{
	GElf_Shdr h;
	Elf_Data *bytes = elf_rawdata(scn, NULL);
	const char *ident = elf_getident(elf, NULL);
	struct cfi_section section;

	if (bytes == NULL || ident == NULL || bytes->d_buf == NULL || gelf_getshdr(scn, &h) == NULL)
		return 0;
	section = (struct cfi_section){ bytes->d_buf, bytes->d_size, h.sh_addr };
	return rows_compile(t, &section, (const unsigned char *)ident, is_eh_frame);
}

static int fill(struct tables *t, Elf *elf)
{
	struct found found = { NULL };
	int rc = read_segments(t, elf);

	if (rc < 0)
		return rc;
	read_entry(t, elf);
	find_sections(t, elf, &found);
	t->has_lines = found.has_info && found.has_line;
	if (found.eh_frame != NULL)
		rc = compile(t, elf, found.eh_frame, true);
	else if (found.debug_frame != NULL)
		rc = compile(t, elf, found.debug_frame, false);
	if (rc == -ENOMEM)
		return rc;
	rc = symbols_read(t, elf, false);
	return rc == -ENOMEM ? rc : 0;
}

int elffile_read(int fd, struct tables *out)
{
	SCOPED(tables_free) struct tables t = { 0 };
	SCOPED(elf_free) Elf *elf = NULL;
	int rc = open_elf(fd, &elf);

	if (rc == 0)
		rc = fill(&t, elf);
	if (rc < 0)
		return rc;
	*out = t;
	t = (struct tables){ 0 };
	return 0;
}

int elffile_read_id(int fd, struct tables *out)
{
	SCOPED(elf_free) Elf *elf = NULL;
	struct found found = { NULL };
	int rc = open_elf(fd, &elf);

	if (rc == 0)
		find_sections(out, elf, &found);
	return rc;
}

int elffile_add_symbols(int fd, struct tables *t)
{
	SCOPED(elf_free) Elf *elf = NULL;
	SCOPED(tables_free) struct tables own = { 0 };
	struct found found = { NULL };
	int rc = open_elf(fd, &elf);

	if (rc < 0)
		return rc;
	find_sections(&own, elf, &found);
	if (t->build_id_bytes > 0 && (own.build_id_bytes != t->build_id_bytes ||
				      memcmp(own.build_id, t->build_id, t->build_id_bytes) != 0))
		return -ESTALE;
	rc = symbols_read(t, elf, true);
	if (rc == 0)
		t->has_debug_lines = found.has_info && found.has_line;
	return rc;
}

int elffile_add_plt(int fd, struct tables *t)
{
	SCOPED(elf_free) Elf *elf = NULL;
	int rc = open_elf(fd, &elf);

	return rc < 0 ? rc : plt_add(t, elf);
}
