/* rows.c - from .eh_frame to a sorted table of 16 bytes a row. */
#include "sense/rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/bytes.h"
#include "sense/grow.h"

#define COMMON_PLACES	  64u
#define MAX_SECTION_BYTES (256u << 20)

/* Encodings of addresses in .eh_frame (Linux Standard Base, 10.5.1): form in the low half, base in the high one. */
#define EH_ABSPTR   0x00u
#define EH_UDATA2   0x02u
#define EH_UDATA4   0x03u
#define EH_UDATA8   0x04u
#define EH_SDATA2   0x0au
#define EH_SDATA4   0x0bu
#define EH_SDATA8   0x0cu
#define EH_PCREL    0x10u
#define EH_FORM	    0x0fu
#define EH_BASE	    0x70u
#define EH_INDIRECT 0x80u

/* A function as it was found: its rows lie together. */
struct piece {
	uint32_t start, size;
	uint32_t first, count;
};

/* A CIE that was read; the place in the table is by its offset. */
struct known_common {
	uint64_t offset; /* of the CIE, + 1; 0: free */
	bool is_usable;
	struct cfi_common common;
};

struct compiler {
	struct tables *t;
	const struct cfi_section *section;
	const unsigned char *ident;
	bool is_eh_frame;
	Elf_Data section_data; /* as libdw wants it */
	uint64_t budget;
	struct known_common *commons;
	struct row *rows;
	size_t row_count, row_room;
	struct piece *pieces;
	size_t piece_count, piece_room;
	size_t rule_set_room, expr_room;
	bool is_signal; /* of the function in work */
	uint32_t last_expr_from,
		last_expr_at; /* section offset + 1 and place of the last expression kept */
};

static void compiler_free(struct compiler *c)
{
	free(c->commons);
	free(c->rows);
	free(c->pieces);
}

/* Reads the augmentation of a CIE: -EINVAL when it says something about its functions that we do not know. */
static int read_augmentation(const Dwarf_CIE *cie, struct cfi_common *out)
{
	const char *letters = cie->augmentation;
	struct bytes b = bytes_of(cie->augmentation_data, cie->augmentation_data_size);

	if (letters[0] == '\0')
		return 0;
	if (letters[0] != 'z' || (cie->augmentation_data == NULL && cie->augmentation_data_size))
		return -EINVAL;
	out->has_augmentation = true;
	for (letters++; *letters != '\0'; letters++) {
		if (*letters == 'R')
			out->encoding = (uint8_t)bytes_fixed(&b, 1);
		else if (*letters == 'L')
			bytes_skip(&b, 1);
		else if (*letters == 'S')
			out->is_signal = true;
		else if (*letters == 'P') {
			uint8_t encoding = (uint8_t)bytes_fixed(&b, 1) & EH_FORM;

			bytes_skip(&b, encoding == EH_UDATA2 || encoding == EH_SDATA2	? 2
				       : encoding == EH_UDATA4 || encoding == EH_SDATA4 ? 4
											: 8);
		} else
			return -EINVAL;
	}
	return b.is_bad ? -EINVAL : 0;
}

static int read_common(struct compiler *c, const Dwarf_CIE *cie, struct cfi_common *out)
{
	*out = (struct cfi_common){ .code_align = cie->code_alignment_factor,
				    .data_align = cie->data_alignment_factor };
	if (cie->return_address_register != DWARF_RIP || read_augmentation(cie, out) < 0)
		return -EINVAL;
	cfi_nothing(&out->initial);
	return cfi_initial(out, c->section, cie->initial_instructions,
			   (size_t)(cie->initial_instructions_end - cie->initial_instructions),
			   &c->budget);
}

static bool spend(struct compiler *c, uint64_t steps)
{
	if (steps > c->budget) {
		c->budget = 0;
		return false;
	}
	c->budget -= steps;
	return true;
}

/* The CIE at `offset`, read once as long as its place is not wanted by another. NULL: not usable. */
static const struct cfi_common *find_common(struct compiler *c, Dwarf_Off offset)
{
	struct known_common *k = &c->commons[offset / 4 % COMMON_PLACES];
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (k->offset == offset + 1)
		return k->is_usable ? &k->common : NULL;
	k->offset = offset + 1;
	k->is_usable = offset < c->section->len &&
		       dwarf_next_cfi(c->ident, &c->section_data, c->is_eh_frame, offset, &next,
				      &entry) == 0 &&
		       dwarf_cfi_cie_p(&entry) && spend(c, next - offset) &&
		       read_common(c, &entry.cie, &k->common) == 0;
	return k->is_usable ? &k->common : NULL;
}

/* An encoded address: false for encodings that no executable of x86-64 uses. */
static bool read_pointer(struct bytes *b, uint8_t encoding, uint64_t here, uint64_t *out)
{
	uint64_t base = (encoding & EH_BASE) == EH_PCREL ? here : 0;

	if ((encoding & EH_INDIRECT) || ((encoding & EH_BASE) && base == 0))
		return false;
	switch (encoding & EH_FORM) {
	case EH_ABSPTR:
	case EH_UDATA8:
	case EH_SDATA8:
		*out = base + bytes_fixed(b, 8);
		break;
	case EH_UDATA4:
		*out = base + bytes_fixed(b, 4);
		break;
	case EH_SDATA4:
		*out = base + (uint64_t)bytes_signed(b, 4);
		break;
	case EH_UDATA2:
		*out = base + bytes_fixed(b, 2);
		break;
	case EH_SDATA2:
		*out = base + (uint64_t)bytes_signed(b, 2);
		break;
	default:
		return false;
	}
	return !b->is_bad;
}

/* Copies an expression out of the section, once for the run of rows that share it. */
static int keep_expr(struct compiler *c, struct rule *rule)
{
	uint32_t from = (uint32_t)rule->offset + 1;
	void *exprs = c->t->exprs;
	int rc;

	if (rule->kind != RULE_AT_EXPR && rule->kind != RULE_IS_EXPR)
		return 0;
	if (c->last_expr_from != from) {
		rc = grow(&exprs, &c->expr_room, c->t->expr_bytes + rule->expr_len,
			  TABLES_MAX_EXPRS, 1);
		if (rc < 0)
			return rc;
		c->t->exprs = exprs;
		memcpy(c->t->exprs + c->t->expr_bytes, c->section->bytes + rule->offset,
		       rule->expr_len);
		c->last_expr_from = from;
		c->last_expr_at = (uint32_t)c->t->expr_bytes;
		c->t->expr_bytes += rule->expr_len;
	}
	rule->offset = (int32_t)c->last_expr_at;
	return 0;
}

static int keep_rules(struct compiler *c, const struct rule_set *rules, struct row *out)
{
	void *sets = c->t->rule_sets;
	struct rule_set kept = *rules;
	int rc = keep_expr(c, &kept.cfa);

	for (size_t reg = 0; rc == 0 && reg < DWARF_REG_COUNT; reg++)
		rc = keep_expr(c, &kept.regs[reg]);
	if (rc == 0)
		rc = grow(&sets, &c->rule_set_room, c->t->rule_set_count + 1, TABLES_MAX_RULE_SETS,
			  sizeof(kept));
	if (rc < 0)
		return rc;
	c->t->rule_sets = sets;
	out->kind = ROW_RULES;
	out->offset = (int32_t)c->t->rule_set_count;
	c->t->rule_sets[c->t->rule_set_count++] = kept;
	return 0;
}

/* rbp + n as an expression, and nothing more: where realigned frames keep their registers. */
static bool is_rbp_offset(const struct compiler *c, const struct rule *rule, bool is_deref,
			  int64_t *out)
{
	struct bytes b = bytes_of(c->section->bytes + rule->offset, rule->expr_len);

	if (bytes_fixed(&b, 1) != DW_OP_breg6)
		return false;
	*out = bytes_sleb(&b);
	if (is_deref && bytes_fixed(&b, 1) != DW_OP_deref)
		return false;
	return bytes_left(&b) == 0 && !b.is_bad;
}

/* How saved[] spells the rule of a callee-saved register: k, or -1 when it cannot. */
static int pack_saved(const struct compiler *c, const struct rule *rule, bool from_rbp)
{
	int64_t offset;

	if (rule->kind == RULE_SAME)
		return 0;
	if (rule->kind == RULE_LOST)
		return ROW_SAVED_UNKNOWN;
	if (rule->kind == RULE_AT_OFFSET && !from_rbp)
		offset = -(int64_t)rule->offset;
	else if (rule->kind == RULE_AT_EXPR && from_rbp && is_rbp_offset(c, rule, false, &offset))
		offset = 8 - offset;
	else
		return -1;
	if (offset <= 0 || offset % 8 != 0 || offset / 8 >= (int64_t)ROW_SAVED_UNKNOWN)
		return -1;
	return (int)(offset / 8);
}

static bool pack(const struct compiler *c, const struct rule_set *rules, struct row *out)
{
	const struct rule *ra = &rules->regs[DWARF_RIP], *cfa = &rules->cfa;
	bool from_rbp = rules->regs[DWARF_RBP].kind == RULE_AT_EXPR;
	int64_t offset;

	if (ra->kind != RULE_AT_OFFSET || ra->offset != -8 ||
	    rules->regs[DWARF_RSP].kind != RULE_SAME)
		return false;
	if (cfa->kind == RULE_REG) {
		out->kind = ROW_CFA;
		out->reg = cfa->reg;
		out->offset = cfa->offset;
	} else if (cfa->kind == RULE_IS_EXPR && is_rbp_offset(c, cfa, true, &offset) &&
		   offset >= INT32_MIN && offset <= INT32_MAX) {
		out->kind = ROW_DEREF;
		out->reg = DWARF_RBP;
		out->offset = (int32_t)offset;
	} else {
		return false;
	}
	out->from_rbp = from_rbp;
	for (size_t i = 0; i < ROW_SAVED_COUNT; i++) {
		int k = pack_saved(c, &rules->regs[row_saved_regs[i]], from_rbp);

		if (k < 0)
			return false;
		out->saved[i] = (uint8_t)k;
	}
	for (size_t reg = 0; reg < DWARF_RIP; reg++)
		if (reg != DWARF_RSP && rules->regs[reg].kind >= RULE_IS_OFFSET &&
		    rules->regs[reg].kind != RULE_AT_EXPR)
			return false;
	return true;
}

static int add_row(void *owner, uint64_t pc, const struct rule_set *rules)
{
	struct compiler *c = owner;
	struct row row = { .pc = (uint32_t)(pc - c->t->base), .is_signal = c->is_signal };
	void *rows = c->rows;
	int rc = 0;

	if (rules->regs[DWARF_RIP].kind == RULE_LOST)
		row.kind = ROW_END;
	else if (rules->cfa.kind == RULE_LOST || rules->regs[DWARF_RIP].kind == RULE_SAME)
		row.kind = ROW_GAP;
	else if (c->is_signal || !pack(c, rules, &row)) {
		row = (struct row){ .pc = row.pc, .is_signal = c->is_signal };
		rc = keep_rules(c, rules, &row);
	}
	if (rc == 0)
		rc = grow(&rows, &c->row_room, c->row_count + 1, TABLES_MAX_ROWS, sizeof(row));
	if (rc < 0)
		return rc;
	c->rows = rows;
	c->rows[c->row_count++] = row;
	return 0;
}

/* Runs one function. -EINVAL: malformed, nothing of it is kept. */
static int add_function(struct compiler *c, const Dwarf_FDE *fde)
{
	const struct cfi_common *common = find_common(c, fde->CIE_pointer);
	struct bytes b = bytes_of(fde->start, (size_t)(fde->end - fde->start));
	struct cfi_program program = { c->section, common, .row = add_row, .owner = c };
	uint64_t here = c->section->vaddr + (uint64_t)(fde->start - c->section->bytes), size;
	struct piece piece = { .first = (uint32_t)c->row_count };
	void *pieces = c->pieces;
	int rc;

	if (common == NULL || !read_pointer(&b, common->encoding, here, &program.start) ||
	    !read_pointer(&b, common->encoding & EH_FORM, 0, &size))
		return -EINVAL;
	if (common->has_augmentation)
		bytes_skip(&b, bytes_uleb(&b));
	if (b.is_bad || size == 0 || program.start < c->t->base ||
	    program.start - c->t->base > UINT32_MAX ||
	    size > UINT32_MAX - (program.start - c->t->base))
		return -EINVAL;
	program.end = program.start + size;
	program.code = b.at;
	program.code_len = bytes_left(&b);
	c->is_signal = common->is_signal;
	rc = cfi_run(&program, &c->budget);
	if (rc == 0)
		rc = grow(&pieces, &c->piece_room, c->piece_count + 1, TABLES_MAX_FUNCTIONS,
			  sizeof(piece));
	if (rc < 0) {
		c->row_count = piece.first;
		return rc;
	}
	c->pieces = pieces;
	piece.start = (uint32_t)(program.start - c->t->base);
	piece.size = (uint32_t)size;
	piece.count = (uint32_t)(c->row_count - piece.first);
	c->pieces[c->piece_count++] = piece;
	return 0;
}

static int read_entries(struct compiler *c)
{
	Dwarf_Off offset = 0, next = 0;

	while (offset < c->section->len) {
		Dwarf_CFI_Entry entry;
		int rc = dwarf_next_cfi(c->ident, &c->section_data, c->is_eh_frame, offset, &next,
					&entry);

		if (!spend(c, 1))
			return -E2BIG;
		if (rc == 0 && !dwarf_cfi_cie_p(&entry)) {
			rc = add_function(c, &entry.fde);
			if (rc == -ENOMEM || rc == -E2BIG)
				return rc;
		} else if (rc == 1) {
			return 0;
		}
		if (next <= offset)
			return 0;
		offset = next;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool is_same_rule(const struct row *a, const struct row *b)
{
	struct row moved = *a;

	moved.pc = b->pc;
	return a->kind != ROW_RULES && memcmp(&moved, b, sizeof(moved)) == 0;
}

static void append(struct tables *t, const struct row *row)
{
	if (t->row_count == 0 || !is_same_rule(&t->rows[t->row_count - 1], row))
		t->rows[t->row_count++] = *row;
}

/* Sorts the functions and lays their rows end to end, with a gap wherever nothing is described. Of overlapping
 * functions the first keeps its place and the other goes. */
static int lay_out(struct compiler *c)
{
	struct tables *t = c->t;
	uint64_t end = 0;

	if (c->piece_count > 0)
		qsort(c->pieces, c->piece_count, sizeof(*c->pieces), by_start);
	t->rows = calloc(c->row_count + 2 * c->piece_count + 1, sizeof(*t->rows));
	t->functions = calloc(c->piece_count + 1, sizeof(*t->functions));
	if (t->rows == NULL || t->functions == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->piece_count; i++) {
		const struct piece *p = &c->pieces[i];

		if (p->start < end)
			continue;
		if (p->start > end)
			append(t, &(struct row){ .pc = (uint32_t)end, .kind = ROW_GAP });
		for (size_t k = 0; k < p->count; k++)
			append(t, &c->rows[p->first + k]);
		end = (uint64_t)p->start + p->size;
		t->functions[t->function_count++] = (struct function){ p->start, p->size };
	}
	if (end <= UINT32_MAX)
		append(t, &(struct row){ .pc = (uint32_t)end, .kind = ROW_GAP });
	return 0;
}

/* Gives back the room that was not needed. */
static void trim(void **items, size_t count, size_t item_bytes)
{
	void *smaller = count > 0 ? reallocarray(*items, count, item_bytes) : NULL;

	if (smaller != NULL)
		*items = smaller;
}

int rows_compile(struct tables *t, const struct cfi_section *section, const unsigned char *ident,
		 bool is_eh_frame)
{
	SCOPED(compiler_free)
	struct compiler c = { .t = t,
			      .section = section,
			      .ident = ident,
			      .is_eh_frame = is_eh_frame,
			      .section_data = { .d_buf = (void *)section->bytes,
						.d_type = ELF_T_BYTE,
						.d_version = EV_CURRENT,
						.d_size = section->len },
			      .budget = ROWS_BUDGET };
	int rc, laid;
	void *rows, *functions;

	if (section->len > MAX_SECTION_BYTES)
		return -E2BIG;
	c.commons = calloc(COMMON_PLACES, sizeof(*c.commons));
	if (c.commons == NULL)
		return -ENOMEM;
	rc = read_entries(&c);
	if (rc == -ENOMEM)
		return rc;
	laid = lay_out(&c);
	if (laid < 0)
		return laid;
	rows = t->rows;
	functions = t->functions;
	trim(&rows, t->row_count, sizeof(*t->rows));
	trim(&functions, t->function_count, sizeof(*t->functions));
	t->rows = rows;
	t->functions = functions;
	return rc;
}
