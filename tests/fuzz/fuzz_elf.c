/* fuzz_elf.c - any bytes as an ELF file: tables are built, looked through and walked with. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "sense/demangle.h"
#include "sense/elffile.h"
#include "sense/walk.h"

/* Walks one step from each row, over a stack of numbers that count up. */
static void step_from_rows(const struct tables *t)
{
	static uint64_t stack[512];
	const uint64_t start = UINT64_C(0x7ffd00000000);

	for (size_t i = 0; i < 512; i++)
		stack[i] = start + 8 * i;
	for (size_t i = 0; i < t->row_count && i < 4096; i++) {
		struct copied memory = { start, (const uint8_t *)stack, sizeof(stack), false };
		struct registers regs = { .known = (1u << DWARF_REG_COUNT) - 1 };

		for (size_t reg = 0; reg < DWARF_REG_COUNT; reg++)
			regs.value[reg] = start + 64 * reg;
		if (tables_row(t, t->rows[i].pc) != NULL)
			(void)walk_row(t, &t->rows[i], &regs, &memory);
	}
}

static void look_through(const struct tables *t)
{
	char name[DEMANGLE_MAX_OUT];
	uint32_t place;

	for (size_t i = 0; i < t->symbol_count && i < 4096; i++) {
		const struct symbol *s = &t->symbols[i];

		(void)tables_symbol(t, s->start + s->size);
		(void)tables_function(t, s->start);
		(void)demangle_long(t->names + s->name, s->name_len, name);
	}
	for (uint64_t at = 0; at < 65536; at += 1021)
		if (tables_place(t, at, &place))
			(void)tables_row(t, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tables t, id = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	(void)elffile_read_id(fd, &id);
	if (elffile_read(fd, &t) == 0) {
		look_through(&t);
		step_from_rows(&t);
		(void)elffile_add_symbols(fd, &t);
		(void)elffile_add_plt(fd, &t);
		look_through(&t);
		tables_free(&t);
	}
	close(fd);
	return 0;
}
