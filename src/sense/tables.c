/* tables.c - looking things up in the tables of one ELF file. */
#include "sense/tables.h"

#include <stdlib.h>
#include <string.h>

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

static bool is_good_rule(const struct tables *t, const struct rule *r)
{
	switch ((enum rule_kind)r->kind) {
	case RULE_SAME:
	case RULE_LOST:
	case RULE_AT_OFFSET:
	case RULE_IS_OFFSET:
		return true;
	case RULE_REG:
		return r->reg < DWARF_REG_COUNT;
	case RULE_AT_EXPR:
	case RULE_IS_EXPR:
		return r->offset >= 0 && (uint64_t)r->offset + r->expr_len <= t->expr_bytes;
	}
	return false;
}

static bool is_good_rule_set(const struct tables *t, const struct rule_set *set)
{
	if ((set->cfa.kind != RULE_REG && set->cfa.kind != RULE_IS_EXPR) ||
	    !is_good_rule(t, &set->cfa))
		return false;
	for (size_t i = 0; i < DWARF_REG_COUNT; i++)
		if (!is_good_rule(t, &set->regs[i]))
			return false;
	return true;
}

static bool are_good_rows(const struct tables *t)
{
	for (size_t i = 0; i < t->row_count; i++) {
		const struct row *row = &t->rows[i];
		bool is_good = row->kind == ROW_GAP || row->kind == ROW_END ||
			       ((row->kind == ROW_CFA || row->kind == ROW_DEREF) &&
				row->reg < DWARF_REG_COUNT) ||
			       (row->kind == ROW_RULES && row->offset >= 0 &&
				(size_t)row->offset < t->rule_set_count);

		if (!is_good || (i > 0 && row->pc <= t->rows[i - 1].pc))
			return false;
	}
	for (size_t i = 0; i < t->rule_set_count; i++)
		if (!is_good_rule_set(t, &t->rule_sets[i]))
			return false;
	return true;
}

static bool are_good_names(const struct tables *t)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->function_count; i++) {
		if (t->functions[i].start < end)
			return false;
		end = (uint64_t)t->functions[i].start + t->functions[i].size;
	}
	for (size_t i = 0; i < t->symbol_count; i++) {
		const struct symbol *s = &t->symbols[i];

		if ((i > 0 && s->start < t->symbols[i - 1].start) || s->name_len > STR_MAX_BYTES ||
		    (uint64_t)s->name + s->name_len > t->name_bytes)
			return false;
	}
	return true;
}

bool tables_check(const struct tables *t)
{
	return t->segment_count <= TABLES_MAX_SEGMENTS &&
	       t->build_id_bytes <= TABLES_MAX_BUILD_ID &&
	       memchr(t->debuglink, '\0', sizeof(t->debuglink)) != NULL &&
	       strchr(t->debuglink, '/') == NULL && are_good_rows(t) && are_good_names(t);
}
