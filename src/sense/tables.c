/* tables.c - looking things up in the tables of one ELF file. */
#include "sense/tables.h"

#include <stdlib.h>

#define NESTED_SYMBOLS 16u /* how far back an enclosing symbol is looked for */

const uint8_t row_saved_regs[ROW_SAVED_COUNT] = { DWARF_RBX, DWARF_RBP, DWARF_R12,
						  DWARF_R13, DWARF_R14, DWARF_R15 };

void tables_free(struct tables *t)
{
	free(t->rows);
	free(t->rule_sets);
	free(t->exprs);
	free(t->functions);
	free(t->symbols);
	free(t->names);
	*t = (struct tables){ 0 };
}

size_t tables_bytes(const struct tables *t)
{
	return t->row_count * sizeof(*t->rows) + t->rule_set_count * sizeof(*t->rule_sets) +
	       t->expr_bytes + t->function_count * sizeof(*t->functions) +
	       t->symbol_count * sizeof(*t->symbols) + t->name_bytes;
}

bool tables_place(const struct tables *t, uint64_t file_offset, uint32_t *out_pc)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		const struct segment *s = &t->segments[i];
		uint64_t pc;

		if (file_offset < s->file_offset || file_offset - s->file_offset >= s->file_bytes)
			continue;
		pc = s->vaddr + (file_offset - s->file_offset) - t->base;
		if (pc > UINT32_MAX)
			return false;
		*out_pc = (uint32_t)pc;
		return true;
	}
	return false;
}

const struct row *tables_row(const struct tables *t, uint32_t pc)
{
	size_t low = 0, high = t->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && t->rows[low - 1].kind != ROW_GAP ? &t->rows[low - 1] : NULL;
}

const struct function *tables_function(const struct tables *t, uint32_t pc)
{
	size_t low = 0, high = t->function_count;
	const struct function *f;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->functions[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	f = &t->functions[low - 1];
	return pc - f->start < f->size ? f : NULL;
}

const struct symbol *tables_symbol(const struct tables *t, uint32_t pc)
{
	size_t low = 0, high = t->symbol_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->symbols[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; back < NESTED_SYMBOLS && low > 0; back++, low--) {
		const struct symbol *s = &t->symbols[low - 1];

		if (pc - s->start < s->size)
			return s;
	}
	return NULL;
}
