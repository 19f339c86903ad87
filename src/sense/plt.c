/* plt.c - entries of the PLT, by the slot that each jumps through. */
#include "sense/plt.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/grow.h"

#define MAX_SLOTS     65536u
#define MAX_PLT_BYTES (1u << 20)
#define ENTRY_BYTES   16u
#define JUMP_BYTES    6u /* ff 25, and a distance of 32 bits */

static const char rest_name[] = "[plt]";

/* A slot that the dynamic linker fills with the address of `name`. */
struct got_slot {
	uint64_t address;
	const char *name;
	uint16_t name_len;
};

struct plt {
	struct tables *t;
	Elf *elf;
	struct got_slot *slots;
	size_t slot_count, slot_room;
	struct symbol *symbols; /* to be added; names are offsets into `names` */
	size_t count, room;
	char *names;
	size_t name_bytes, name_room;
};

static void plt_free(struct plt *s)
{
	free(s->slots);
	free(s->symbols);
	free(s->names);
}

/* The name of symbol `at` of the symbol section `syms`, in libelf's memory; its length, or 0. */
static size_t symbol_name(const struct plt *s, Elf_Scn *syms, size_t at, const char **out)
{
	GElf_Shdr h;
	GElf_Sym sym;
	Elf_Data *bytes = elf_getdata(syms, NULL);

	if (bytes == NULL || at > INT32_MAX || gelf_getshdr(syms, &h) == NULL ||
	    gelf_getsym(bytes, (int)at, &sym) == NULL)
		return 0;
	*out = elf_strptr(s->elf, h.sh_link, sym.st_name);
	return *out != NULL ? strnlen(*out, STR_MAX_BYTES) : 0;
}

static int add_slot(struct plt *s, const struct got_slot *slot)
{
	void *slots = s->slots;
	int rc = grow(&slots, &s->slot_room, s->slot_count + 1, MAX_SLOTS, sizeof(*slot));

	if (rc == 0) {
		s->slots = slots;
		s->slots[s->slot_count++] = *slot;
	}
	return rc;
}

static int read_relocations(struct plt *s, Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Scn *syms = elf_getscn(s->elf, h->sh_link);
	Elf_Data *bytes = syms != NULL ? elf_getdata(section, NULL) : NULL;
	size_t count = bytes != NULL ? bytes->d_size / sizeof(Elf64_Rela) : 0;

	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		struct got_slot slot;
		GElf_Rela r;
		int rc;

		if (gelf_getrela(bytes, (int)i, &r) == NULL)
			break;
		if (GELF_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT &&
		    GELF_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT)
			continue;
		slot.address = r.r_offset;
		slot.name_len = (uint16_t)symbol_name(s, syms, GELF_R_SYM(r.r_info), &slot.name);
		rc = slot.name_len > 0 ? add_slot(s, &slot) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct got_slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int add(struct plt *s, struct symbol symbol, const char *name, uint16_t len)
{
	void *symbols = s->symbols, *names = s->names;
	int rc = grow(&symbols, &s->room, s->count + 1, MAX_SLOTS, sizeof(symbol));

	if (rc < 0)
		return rc;
	s->symbols = symbols;
	rc = grow(&names, &s->name_room, s->name_bytes + len, TABLES_MAX_NAMES, 1);
	if (rc < 0)
		return rc;
	s->names = names;
	memcpy(s->names + s->name_bytes, name, len);
	symbol.name = (uint32_t)s->name_bytes;
	symbol.name_len = len;
	s->name_bytes += len;
	s->symbols[s->count++] = symbol;
	return 0;
}

/* The slot that the entry of `size` bytes at `address` jumps through, or NULL. */
static const struct got_slot *find_slot(const struct plt *s, const uint8_t *entry, size_t size,
					uint64_t address)
{
	for (size_t i = 0; i + JUMP_BYTES <= size; i++) {
		struct got_slot wanted;
		int32_t distance;

		if (entry[i] != 0xff || entry[i + 1] != 0x25)
			continue;
		memcpy(&distance, entry + i + 2, sizeof(distance));
		wanted.address = address + i + JUMP_BYTES + (uint64_t)(int64_t)distance;
		return s->slot_count > 0 ? bsearch(&wanted, s->slots, s->slot_count, sizeof(wanted),
						   by_address)
					 : NULL;
	}
	return NULL;
}

static int read_entries(struct plt *s, Elf_Scn *section, const GElf_Shdr *h)
{
	Elf_Data *bytes = h->sh_size <= MAX_PLT_BYTES ? elf_rawdata(section, NULL) : NULL;
	size_t step = h->sh_entsize == ENTRY_BYTES / 2 ? ENTRY_BYTES / 2 : ENTRY_BYTES;
	uint64_t start = h->sh_addr - s->t->base;
	int rc;

	if (bytes == NULL || bytes->d_buf == NULL || h->sh_addr < s->t->base ||
	    start > UINT32_MAX - MAX_PLT_BYTES)
		return 0;
	rc = add(s, (struct symbol){ .start = (uint32_t)start, .size = (uint32_t)bytes->d_size },
		 rest_name, sizeof(rest_name) - 1);
	for (size_t at = 0; rc == 0 && at + step <= bytes->d_size; at += step) {
		const struct got_slot *slot =
			find_slot(s, (const uint8_t *)bytes->d_buf + at, step, h->sh_addr + at);
		struct symbol symbol = { .start = (uint32_t)(start + at),
					 .size = (uint32_t)step,
					 .is_plt = 1 };

		if (slot != NULL)
			rc = add(s, symbol, slot->name, slot->name_len);
	}
	return rc;
}

/* The larger first where two begin: what begins last is found first. */
static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

static int merge(struct plt *s)
{
	struct tables *t = s->t;
	size_t count = t->symbol_count + s->count, bytes = t->name_bytes + s->name_bytes;
	void *symbols, *names;

	if (s->count == 0)
		return 0;
	names = realloc(t->names, bytes);
	if (names == NULL)
		return -ENOMEM;
	t->names = names;
	symbols = reallocarray(t->symbols, count, sizeof(*t->symbols));
	if (symbols == NULL)
		return -ENOMEM;
	t->symbols = symbols;
	memcpy(t->names + t->name_bytes, s->names, s->name_bytes);
	for (size_t i = 0; i < s->count; i++) {
		s->symbols[i].name += (uint32_t)t->name_bytes;
		t->symbols[t->symbol_count + i] = s->symbols[i];
	}
	t->symbol_count = count;
	t->name_bytes = bytes;
	qsort(t->symbols, count, sizeof(*t->symbols), by_start);
	return 0;
}

int plt_add(struct tables *t, Elf *elf)
{
	SCOPED(plt_free) struct plt s = { .t = t, .elf = elf };
	size_t names;
	int rc = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	for (Elf_Scn *at = elf_nextscn(elf, NULL); at != NULL && rc != -ENOMEM;
	     at = elf_nextscn(elf, at)) {
		GElf_Shdr h;

		if (gelf_getshdr(at, &h) != NULL && h.sh_type == SHT_RELA)
			rc = read_relocations(&s, at, &h);
	}
	if (s.slot_count > 0)
		qsort(s.slots, s.slot_count, sizeof(*s.slots), by_address);
	for (Elf_Scn *at = elf_nextscn(elf, NULL); at != NULL && rc != -ENOMEM;
	     at = elf_nextscn(elf, at)) {
		GElf_Shdr h;
		const char *name =
			gelf_getshdr(at, &h) != NULL ? elf_strptr(elf, names, h.sh_name) : NULL;

		if (name != NULL && strncmp(name, ".plt", 4) == 0 && h.sh_type == SHT_PROGBITS &&
		    (h.sh_flags & SHF_EXECINSTR))
			rc = read_entries(&s, at, &h);
	}
	return rc == -ENOMEM ? rc : merge(&s);
}
