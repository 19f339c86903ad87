/* symbols.c - from .symtab or .dynsym to one sorted table. */
#include "sense/symbols.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/grow.h"

#define MAX_SECTIONS 65536u

/* What is being read. Names are offsets into `strings` until they are copied. */
struct reader {
	struct tables *t;
	Elf *elf;
	uint8_t *is_code;   /* one bit a section */
	uint64_t *code_end; /* end address of an executable section */
	const char *strings;
	size_t string_bytes;
	struct symbol *symbols;
	size_t count, room;
	bool is_symtab;
};

static void reader_free(struct reader *r)
{
	free(r->is_code);
	free(r->code_end);
	free(r->symbols);
}

static int mark_code(struct reader *r)
{
	r->is_code = calloc(MAX_SECTIONS, 1);
	r->code_end = calloc(MAX_SECTIONS, sizeof(*r->code_end));
	if (r->is_code == NULL || r->code_end == NULL)
		return -ENOMEM;
	for (Elf_Scn *s = elf_nextscn(r->elf, NULL); s != NULL; s = elf_nextscn(r->elf, s)) {
		size_t at = elf_ndxscn(s);
		GElf_Shdr h;

		if (at >= MAX_SECTIONS || gelf_getshdr(s, &h) == NULL)
			continue;
		r->is_code[at] = (h.sh_flags & SHF_EXECINSTR) != 0;
		r->code_end[at] = h.sh_addr + h.sh_size;
	}
	return 0;
}

/* Lower is better. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	unsigned bind = GELF_ST_BIND(sym->st_info), type = GELF_ST_TYPE(sym->st_info), rank = 0;

	if (bind == STB_LOCAL)
		rank += 64;
	else if (bind == STB_WEAK)
		rank += 32;
	if (type == STT_NOTYPE)
		rank += 16;
	for (size_t i = 0; i < 15 && name[i] == '_'; i++)
		rank++;
	return (uint8_t)rank;
}

/* The name's length without a version ("memcpy@@GLIBC_2.14"); 0: not a name. */
static size_t name_length(const struct reader *r, uint64_t at)
{
	const char *name = r->strings + at, *end, *version;
	size_t most = at < r->string_bytes ? r->string_bytes - at : 0;

	if (most == 0)
		return 0;
	end = memchr(name, '\0', most < STR_MAX_BYTES + 1 ? most : STR_MAX_BYTES + 1);
	if (end == NULL)
		return most > STR_MAX_BYTES ? STR_MAX_BYTES : 0;
	version = memchr(name, '@', (size_t)(end - name));
	return (size_t)((version != NULL ? version : end) - name);
}

/* How far a symbol without a size reaches: where its described function ends, else where its section does (the next
 * symbol cuts it shorter). */
static uint64_t reach(const struct reader *r, const GElf_Sym *sym, uint32_t start)
{
	const struct function *f = tables_function(r->t, start);
	uint64_t section_end = r->code_end[sym->st_shndx] - r->t->base;

	if (f != NULL)
		return (uint64_t)f->start + f->size - start;
	return section_end > start ? section_end - start : 0;
}

static int add(struct reader *r, const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	struct symbol out;
	uint64_t size = sym->st_size;
	size_t len;
	void *symbols = r->symbols;
	int rc;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && size > 0))
		return 0;
	if (sym->st_shndx == SHN_UNDEF || !r->is_code[sym->st_shndx] ||
	    sym->st_value < r->t->base || sym->st_value - r->t->base > UINT32_MAX)
		return 0;
	len = name_length(r, sym->st_name);
	if (len == 0)
		return 0;
	out = (struct symbol){ .start = (uint32_t)(sym->st_value - r->t->base),
			       .name = sym->st_name,
			       .name_len = (uint16_t)len,
			       .rank = rank_of(sym, r->strings + sym->st_name) };
	if (size == 0) {
		size = reach(r, sym, out.start);
		out.rank |= 128; /* a symbol with a size of its own is better */
	}
	out.size = size > UINT32_MAX - out.start ? UINT32_MAX - out.start : (uint32_t)size;
	rc = grow(&symbols, &r->room, r->count + 1, TABLES_MAX_SYMBOLS, sizeof(out));
	if (rc == 0) {
		r->symbols = symbols;
		r->symbols[r->count++] = out;
	}
	return rc;
}

/* The section with the symbols, and its strings. */
static Elf_Data *find_symbols(struct reader *r, GElf_Word type)
{
	for (Elf_Scn *s = elf_nextscn(r->elf, NULL); s != NULL; s = elf_nextscn(r->elf, s)) {
		GElf_Shdr h, strings;
		Elf_Scn *link;
		Elf_Data *names;

		if (gelf_getshdr(s, &h) == NULL || h.sh_type != type ||
		    h.sh_entsize != sizeof(Elf64_Sym))
			continue;
		link = elf_getscn(r->elf, h.sh_link);
		if (link == NULL || gelf_getshdr(link, &strings) == NULL ||
		    strings.sh_type != SHT_STRTAB)
			continue;
		names = elf_rawdata(link, NULL);
		if (names == NULL || names->d_buf == NULL || names->d_size > UINT32_MAX)
			continue;
		r->strings = names->d_buf;
		r->string_bytes = names->d_size;
		return elf_getdata(s, NULL);
	}
	return NULL;
}

static int by_place(const void *a, const void *b, void *strings)
{
	const struct symbol *x = a, *y = b;
	int order;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	order = memcmp((const char *)strings + x->name, (const char *)strings + y->name,
		       x->name_len);
	if (order != 0)
		return order;
	return x->size > y->size ? -1 : x->size < y->size;
}

/* One name an address; symbols without a size of their own end where the next begins. */
static void settle(struct reader *r)
{
	size_t kept = 0;

	if (r->count == 0)
		return;
	qsort_r(r->symbols, r->count, sizeof(*r->symbols), by_place, (void *)r->strings);
	for (size_t i = 0; i < r->count; i++)
		if (kept == 0 || r->symbols[kept - 1].start != r->symbols[i].start)
			r->symbols[kept++] = r->symbols[i];
	r->count = kept;
	for (size_t i = 0; i + 1 < r->count; i++) {
		struct symbol *s = &r->symbols[i];

		if ((s->rank & 128) && s->size > s[1].start - s->start)
			s->size = s[1].start - s->start;
	}
}

static int copy_names(struct reader *r, char **out_names, size_t *out_bytes)
{
	size_t bytes = 0, at = 0, kept = 0;
	char *names;

	for (size_t i = 0; i < r->count && bytes <= TABLES_MAX_NAMES; i++)
		bytes += r->symbols[i].name_len;
	names = malloc(bytes + 1);
	if (names == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		struct symbol s = r->symbols[i];

		if (at + s.name_len > bytes)
			break;
		memcpy(names + at, r->strings + s.name, s.name_len);
		s.name = (uint32_t)at;
		at += s.name_len;
		r->symbols[kept++] = s;
	}
	r->count = kept;
	*out_names = names;
	*out_bytes = bytes;
	return 0;
}

/* Replaces the symbols of the tables by what was read. */
static int publish(struct reader *r)
{
	char *names;
	size_t bytes;
	void *exact;
	int rc = copy_names(r, &names, &bytes);

	if (rc < 0)
		return rc;
	exact = reallocarray(r->symbols, r->count > 0 ? r->count : 1, sizeof(*r->symbols));
	if (exact != NULL)
		r->symbols = exact;
	free(r->t->symbols);
	free(r->t->names);
	r->t->symbols = r->symbols;
	r->t->symbol_count = r->count;
	r->t->names = names;
	r->t->name_bytes = bytes;
	r->t->has_symtab = r->is_symtab;
	r->symbols = NULL;
	return 0;
}

static int read_all(struct reader *r, Elf_Data *syms)
{
	size_t count = syms->d_size / sizeof(Elf64_Sym);
	int rc;

	for (size_t i = 0; i < count; i++) {
		GElf_Sym sym;

		if (gelf_getsym(syms, (int)i, &sym) == NULL)
			break;
		rc = add(r, &sym);
		if (rc == -ENOMEM)
			return rc;
		if (rc == -E2BIG)
			break;
	}
	settle(r);
	return publish(r);
}

int symbols_read(struct tables *t, Elf *elf, bool only_symtab)
{
	SCOPED(reader_free) struct reader r = { .t = t, .elf = elf };
	Elf_Data *syms;
	int rc = mark_code(&r);

	if (rc < 0)
		return rc;
	syms = find_symbols(&r, SHT_SYMTAB);
	r.is_symtab = syms != NULL;
	if (syms == NULL && !only_symtab)
		syms = find_symbols(&r, SHT_DYNSYM);
	if (syms == NULL || syms->d_buf == NULL)
		return -ENOENT;
	return read_all(&r, syms);
}
