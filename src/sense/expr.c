/* expr.c - DWARF expressions of CFI, evaluated over known registers and a copied stack. */
#include "sense/expr.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sense/bytes.h"

#define EXPR_DEPTH 32u

struct machine {
	uint64_t stack[EXPR_DEPTH];
	size_t depth;
	const struct registers *regs;
	struct copied *memory;
};

bool copied_read(struct copied *c, uint64_t address, uint64_t *out)
{
	if (address >= c->start && c->len >= 8 && address - c->start <= c->len - 8) {
		memcpy(out, c->bytes + (address - c->start), 8);
		return true;
	}
	if (address > c->start)
		c->was_left = true;
	return false;
}

static int push(struct machine *m, uint64_t value)
{
	if (m->depth == EXPR_DEPTH)
		return -EINVAL;
	m->stack[m->depth++] = value;
	return 0;
}

static int push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= DWARF_REG_COUNT || (m->regs->known & 1u << reg) == 0)
		return -ENODATA;
	return push(m, m->regs->value[reg] + (uint64_t)offset);
}

/* Replaces the top by the `size` bytes at its address. */
static int load(struct machine *m, uint64_t size)
{
	uint64_t value;

	if (m->depth < 1 || size == 0 || size > 8)
		return -EINVAL;
	if (!copied_read(m->memory, m->stack[m->depth - 1], &value))
		return -ENODATA;
	if (size < 8)
		value &= (UINT64_C(1) << 8 * size) - 1;
	m->stack[m->depth - 1] = value;
	return 0;
}

static int one_operand(struct machine *m, uint8_t op)
{
	uint64_t *top;

	if (m->depth < 1)
		return -EINVAL;
	top = &m->stack[m->depth - 1];
	switch (op) {
	case DW_OP_dup:
		return push(m, *top);
	case DW_OP_drop:
		m->depth--;
		return 0;
	case DW_OP_neg:
		*top = -*top;
		return 0;
	case DW_OP_not:
		*top = ~*top;
		return 0;
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return 0;
	default:
		return -EINVAL;
	}
}

static int combine(uint8_t op, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_plus:
		*out = a + b;
		return 0;
	case DW_OP_minus:
		*out = a - b;
		return 0;
	case DW_OP_mul:
		*out = a * b;
		return 0;
	case DW_OP_and:
		*out = a & b;
		return 0;
	case DW_OP_or:
		*out = a | b;
		return 0;
	case DW_OP_xor:
		*out = a ^ b;
		return 0;
	case DW_OP_shl:
		*out = b < 64 ? a << b : 0;
		return 0;
	case DW_OP_shr:
		*out = b < 64 ? a >> b : 0;
		return 0;
	case DW_OP_shra:
		*out = (uint64_t)(sa >> (b < 63 ? b : 63));
		return 0;
	case DW_OP_eq:
		*out = a == b;
		return 0;
	case DW_OP_ne:
		*out = a != b;
		return 0;
	case DW_OP_ge:
		*out = sa >= sb;
		return 0;
	case DW_OP_gt:
		*out = sa > sb;
		return 0;
	case DW_OP_le:
		*out = sa <= sb;
		return 0;
	case DW_OP_lt:
		*out = sa < sb;
		return 0;
	default:
		return -EINVAL;
	}
}

static int two_operands(struct machine *m, uint8_t op)
{
	uint64_t a, b;

	if (m->depth < 2)
		return -EINVAL;
	a = m->stack[m->depth - 2];
	b = m->stack[m->depth - 1];
	if (op == DW_OP_over)
		return push(m, a);
	if (op == DW_OP_swap) {
		m->stack[m->depth - 2] = b;
		m->stack[m->depth - 1] = a;
		return 0;
	}
	m->depth--;
	return combine(op, a, b, &m->stack[m->depth - 1]);
}

/* Operations that push a constant: 0 when `op` was one of them, -ENOENT when not. */
static int constant(struct machine *m, uint8_t op, struct bytes *code)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(m, (uint64_t)(op - DW_OP_lit0));
	if (op == DW_OP_constu)
		return push(m, bytes_uleb(code));
	if (op == DW_OP_consts)
		return push(m, (uint64_t)bytes_sleb(code));
	if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		size_t size = (size_t)1 << (op - DW_OP_const1u) / 2;
		bool is_signed = (op - DW_OP_const1u) % 2 == 1;

		return push(m, is_signed ? (uint64_t)bytes_signed(code, size)
					 : bytes_fixed(code, size));
	}
	return -ENOENT;
}

static int step(struct machine *m, struct bytes *code)
{
	uint8_t op = (uint8_t)bytes_fixed(code, 1);
	int rc = constant(m, op, code);
	uint64_t operand;

	if (rc != -ENOENT)
		return rc;
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_register(m, op - DW_OP_breg0, bytes_sleb(code));
	switch (op) {
	case DW_OP_bregx:
		operand = bytes_uleb(code);
		return push_register(m, operand, bytes_sleb(code));
	case DW_OP_deref:
		return load(m, 8);
	case DW_OP_deref_size:
		return load(m, bytes_fixed(code, 1));
	case DW_OP_plus_uconst:
		operand = bytes_uleb(code);
		if (m->depth < 1)
			return -EINVAL;
		m->stack[m->depth - 1] += operand;
		return 0;
	case DW_OP_pick:
		operand = bytes_fixed(code, 1);
		return operand < m->depth ? push(m, m->stack[m->depth - 1 - operand]) : -EINVAL;
	case DW_OP_nop:
		return 0;
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_abs:
		return one_operand(m, op);
	default:
		return two_operands(m, op);
	}
}

int expr_eval(const uint8_t *code, size_t len, const uint64_t *first, const struct registers *regs,
	      struct copied *memory, uint64_t *out)
{
	struct machine m = { .regs = regs, .memory = memory };
	struct bytes b = bytes_of(code, len);

	if (first != NULL)
		m.stack[m.depth++] = *first;
	while (bytes_left(&b) > 0) {
		int rc = step(&m, &b);

		if (rc < 0)
			return rc;
	}
	if (b.is_bad || m.depth < 1)
		return -EINVAL;
	*out = m.stack[m.depth - 1];
	return 0;
}
