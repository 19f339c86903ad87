/* dwarffile.c - debug information by address: units first, then the functions of one unit. */
#include "sense/dwarffile.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sense/dwarflines.h"
#include "sense/elffile.h"
#include "sense/grow.h"

#define MAX_UNITS 20000u
#define MAX_DIES  4000000u
#define MAX_DEPTH 16u /* of namespaces and classes */

void dwarffile_close(struct dwarffile *d)
{
	if (d->dbg != NULL)
		dwarf_end(d->dbg);
	if (d->elf != NULL)
		elf_end(d->elf);
	if (d->fd >= 0)
		close(d->fd);
	free(d->units);
	free(d->functions);
	*d = DWARFFILE_EMPTY;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A span for each piece of code of a unit or function. */
static int add_spans(Dwarf_Die *die, struct dwarf_span **spans, size_t *count, size_t *room)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		void *items = *spans;
		int rc = grow(&items, room, *count + 1, DWARFFILE_MAX_SPANS, sizeof(**spans));

		if (rc < 0)
			return rc;
		*spans = items;
		if (start < end)
			(*spans)[(*count)++] =
				(struct dwarf_span){ start, end, dwarf_dieoffset(die) };
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct dwarf_span *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->die > y->die) - (x->die < y->die);
}

static const struct dwarf_span *find_span(const struct dwarf_span *spans, size_t count,
					  uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && spans[low - 1].end > address ? &spans[low - 1] : NULL;
}

/* .debug_aranges would say this too, but clang writes none. */
static int index_units(struct dwarffile *d)
{
	Dwarf_CU *unit = NULL;
	int rc = 0;

	for (size_t i = 0; i < MAX_UNITS && rc == 0; i++) {
		Dwarf_Die die;
		uint8_t type;

		if (dwarf_get_units(d->dbg, unit, &unit, NULL, &type, &die, NULL) != 0)
			break;
		if (type == DW_UT_compile)
			rc = add_spans(&die, &d->units, &d->unit_count, &d->unit_room);
	}
	if (d->unit_count > 0)
		qsort(d->units, d->unit_count, sizeof(*d->units), by_start);
	return rc == -E2BIG ? 0 : rc;
}

static int begin(struct dwarffile *d)
{
	int rc = elffile_check(d->fd);

	if (rc < 0)
		return rc;
	d->elf = elf_begin(d->fd, ELF_C_READ, NULL);
	if (d->elf == NULL)
		return -ENOEXEC;
	rc = dwarflines_check_sizes(d->elf, DWARFLINES_MAX_BYTES);
	if (rc < 0)
		return rc;
	d->dbg = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->dbg != NULL ? index_units(d) : -ENOEXEC;
}

int dwarffile_open(struct dwarffile *d, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (d->fd >= 0 && is_same_file(&st, &d->of))
		return d->refused;
	dwarffile_close(d);
	d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the caller's goes with its question */
	if (d->fd < 0)
		return -errno;
	d->of = st;
	d->refused = begin(d);
	return d->refused;
}

static bool has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* All functions of a unit with code; iterative, since the file says how deep it is. */
static int index_functions(struct dwarffile *d, Dwarf_Die *unit)
{
	Dwarf_Die path[MAX_DEPTH];
	size_t depth = 0;
	int end = dwarf_child(unit, &path[0]);

	d->function_count = 0;
	d->indexed = dwarf_dieoffset(unit);
	for (size_t i = 0; i < MAX_DIES; i++) {
		int tag, rc = 0;

		if (end != 0) { /* of this level */
			if (depth == 0)
				break;
			depth--;
			end = dwarf_siblingof(&path[depth], &path[depth]);
			continue;
		}
		tag = dwarf_tag(&path[depth]);
		if (tag == DW_TAG_subprogram)
			rc = add_spans(&path[depth], &d->functions, &d->function_count,
				       &d->function_room);
		if (rc == -ENOMEM) {
			d->indexed = 0; /* half of it, and unsorted */
			return rc;
		}
		if (has_functions(tag) && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&path[depth], &path[depth + 1]) == 0)
			depth++;
		else
			end = dwarf_siblingof(&path[depth], &path[depth]);
	}
	if (d->function_count > 0)
		qsort(d->functions, d->function_count, sizeof(*d->functions), by_start);
	return 0;
}

int dwarffile_function(struct dwarffile *d, uint64_t address, Dwarf_Die *out)
{
	const struct dwarf_span *span = find_span(d->units, d->unit_count, address);
	Dwarf_Die unit;
	int rc = 0;

	if (span == NULL || dwarf_offdie(d->dbg, span->die, &unit) == NULL)
		return -ENOENT;
	if (d->indexed != span->die)
		rc = index_functions(d, &unit);
	if (rc < 0)
		return rc;
	span = find_span(d->functions, d->function_count, address);
	return span != NULL && dwarf_offdie(d->dbg, span->die, out) != NULL ? 0 : -ENOENT;
}

const char *dwarffile_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) != NULL)
		name = dwarf_formstring(&attribute);
	return name != NULL ? name : dwarf_diename(function);
}

/* libdw takes file 0 for none; since DWARF 5 it is the unit's own file. */
const char *dwarffile_source(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Word at;
	size_t count;
	const char *file = dwarf_decl_file(function);

	if (file != NULL)
		return file;
	if (dwarf_attr_integrate(function, DW_AT_decl_file, &attribute) == NULL ||
	    dwarf_formudata(&attribute, &at) != 0 || at != 0 ||
	    dwarf_diecu(function, &unit, NULL, NULL) == NULL ||
	    dwarf_getsrcfiles(&unit, &files, &count) != 0 || count == 0)
		return NULL;
	file = dwarf_filesrc(files, 0, NULL, NULL);
	return file != NULL && file[0] != '?' ? file : NULL;
}
