/* bpf_rows.c - a file's rows, packed for the kernel and cut into chunks. */
#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "sense/bpf.h"
#include "sense/module.h"

#define NO_ROOT UINT32_MAX /* as a mark: its rows do not go into the kernel */

/* ---- a row as a word ---- */

/* rsp + 8, and 8 more from byte n of 16 on: what linkers write for entries of the PLT, n being where the entry has pushed. */
static bool is_plt_entry(const struct tables *t, const struct rule_set *set, uint32_t *out_from)
{
	const uint8_t *e = t->exprs + set->cfa.offset;
	static const uint8_t start[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t end[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const size_t len = sizeof(start) + 1 + sizeof(end);
	uint8_t from;

	if (set->cfa.kind != RULE_IS_EXPR || set->cfa.expr_len != len ||
	    set->regs[DWARF_RIP].kind != RULE_AT_OFFSET || set->regs[DWARF_RIP].offset != -8 ||
	    set->regs[DWARF_RSP].kind != RULE_SAME || set->regs[DWARF_RBP].kind != RULE_SAME)
		return false;
	from = e[sizeof(start)];
	*out_from = (uint32_t)(from - DW_OP_lit0);
	return memcmp(e, start, sizeof(start)) == 0 &&
	       memcmp(e + sizeof(start) + 1, end, sizeof(end)) == 0 && from >= DW_OP_lit0 &&
	       from <= DW_OP_lit15;
}

static bool is_expr(const struct tables *t, const struct rule *rule, enum rule_kind kind,
		    const uint8_t *bytes, size_t len)
{
	return rule->kind == kind && rule->expr_len == len &&
	       memcmp(t->exprs + rule->offset, bytes, len) == 0;
}

/* The frame of struct rt_sigframe: registers lie where the kernel's walk expects them. */
static bool is_signal(const struct tables *t, const struct rule_set *set)
{
	static const uint8_t sp[] = { DW_OP_breg7, 0xa0, 0x01, DW_OP_deref }; /* rsp + 160 */
	static const uint8_t ip[] = { DW_OP_breg7, 0xa8, 0x01 };
	static const uint8_t bp[] = { DW_OP_breg7, 0xf8, 0x00 }; /* rsp + 120 */

	return is_expr(t, &set->cfa, RULE_IS_EXPR, sp, sizeof(sp)) &&
	       is_expr(t, &set->regs[DWARF_RIP], RULE_AT_EXPR, ip, sizeof(ip)) &&
	       is_expr(t, &set->regs[DWARF_RBP], RULE_AT_EXPR, bp, sizeof(bp)) &&
	       set->regs[DWARF_RSP].kind == RULE_SAME;
}

static uint32_t rule_of_set(const struct tables *t, const struct row *row)
{
	const struct rule_set *set = &t->rule_sets[row->offset];
	uint32_t from;

	if (row->is_signal)
		return record_rule(is_signal(t, set) ? RECORD_SIGNAL : RECORD_OTHER, 0, 0, 0);
	if (is_plt_entry(t, set, &from))
		return record_rule(RECORD_PLT, 0, from, 0);
	return record_rule(RECORD_OTHER, 0, 0, 0);
}

uint32_t bpf_rows_rule(const struct tables *t, const struct row *row)
{
	const uint32_t other = record_rule(RECORD_OTHER, 0, 0, 0);
	enum record_kind kind;

	switch ((enum row_kind)row->kind) {
	case ROW_GAP:
		return record_rule(RECORD_GAP, 0, 0, 0);
	case ROW_END:
		return record_rule(RECORD_END, 0, 0, 0);
	case ROW_RULES:
		return rule_of_set(t, row);
	case ROW_CFA:
		kind = row->reg == DWARF_RSP ? RECORD_SP : RECORD_BP;
		break;
	case ROW_DEREF:
		kind = RECORD_DEREF;
		break;
	default:
		return other;
	}
	if (row->is_signal || (row->reg != DWARF_RBP && kind != RECORD_SP) ||
	    row->offset > RECORD_OFFSET_MOST || row->offset < -RECORD_OFFSET_MOST)
		return other;
	return record_rule(kind, row->from_rbp, row->saved[1], row->offset);
}

/* ---- a tree of chunks ---- */

struct tree {
	struct bpf_rows *rows;
	struct record_chunk level[RECORD_LEVELS]; /* in work */
	int error;
};

/* Writes the chunk of `level` and empties it. Returns its number. */
static uint32_t write_chunk(struct tree *tree, uint32_t level)
{
	struct record_chunk *chunk = &tree->level[level];
	uint32_t number = ++tree->rows->last;

	chunk->level = level;
	for (uint32_t i = chunk->count; i < RECORD_CHUNK_ROWS; i++)
		chunk->pc[i] = UINT32_MAX;
	if (bpf_map_update_elem(tree->rows->chunks, &number, chunk, BPF_NOEXIST) != 0)
		tree->error = -errno;
	chunk->count = 0;
	return number;
}

/* Adds a pair to `level`, and to those above as chunks fill up. */
static void put(struct tree *tree, uint32_t level, uint32_t pc, uint32_t rule)
{
	for (; level < RECORD_LEVELS && tree->error == 0; level++) {
		struct record_chunk *chunk = &tree->level[level];
		uint32_t first = chunk->pc[0], number = 0;
		bool is_full = chunk->count == RECORD_CHUNK_ROWS;

		if (is_full)
			number = write_chunk(tree, level);
		chunk->pc[chunk->count] = pc;
		chunk->rule[chunk->count++] = rule;
		if (!is_full)
			return;
		pc = first;
		rule = number;
	}
	if (tree->error == 0)
		tree->error = -E2BIG;
}

/* Writes what is left. Returns the number of the root. */
static uint32_t finish(struct tree *tree)
{
	uint32_t number = 0;

	for (uint32_t level = 0; level < RECORD_LEVELS && tree->error == 0; level++) {
		uint32_t first = tree->level[level].pc[0];

		number = write_chunk(tree, level);
		if (level + 1 == RECORD_LEVELS || tree->level[level + 1].count == 0)
			break;
		put(tree, level + 1, first, number);
	}
	return number;
}

/* Brings the rows to the kernel; what there differs from row to row is less than here. 0: no room. */
static uint32_t bring(struct bpf_rows *rows, const struct tables *t, int *out_error)
{
	struct tree tree = { .rows = rows };
	uint32_t last_rule = 0, first = rows->last + 1, root;

	for (size_t i = 0; i < t->row_count; i++) {
		uint32_t rule = bpf_rows_rule(t, &t->rows[i]);

		if (i == 0 || rule != last_rule)
			put(&tree, 0, t->rows[i].pc, rule);
		last_rule = rule;
	}
	root = tree.error == 0 ? finish(&tree) : 0;
	*out_error = tree.error;
	if (tree.error == 0)
		return root;
	for (uint32_t number = first; number <= rows->last; number++)
		bpf_map_delete_elem(rows->chunks, &number);
	return 0;
}

void bpf_rows_forget(struct bpf_rows *rows)
{
	for (uint32_t number = rows->first; number <= rows->last; number++)
		bpf_map_delete_elem(rows->chunks, &number);
	rows->first = rows->last + 1;
	rows->full++;
}

bool bpf_rows_root(struct bpf_rows *rows, struct module *module, uint32_t *out_root)
{
	const struct tables *t = module_tables(module);
	uint32_t mark = module_mark(module);
	int error = 0;

	*out_root = 0;
	if (t->row_count == 0)
		return true;
	if (mark < rows->first || mark == 0) {
		mark = bring(rows, t, &error);
		if (error == -E2BIG && rows->last - rows->first + 1 > RECORD_CHUNKS / 2) {
			bpf_rows_forget(rows);
			mark = bring(rows, t, &error);
		}
		module_set_mark(module, error == 0 ? mark : NO_ROOT);
	}
	if (mark == NO_ROOT || error != 0)
		return false;
	*out_root = mark;
	return true;
}
