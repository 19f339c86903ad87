/* cfi.c - the machine of call frame instructions (DWARF 5, section 6.4.2), for x86-64. */
#include "sense/cfi.h"

#include <dwarf.h>
#include <errno.h>

#include "sense/bytes.h"

struct run {
	const struct cfi_program *program;
	struct bytes code;
	uint64_t pc;
	struct rule_set now, remembered[CFI_MAX_REMEMBERED];
	size_t remembered_count;
	bool has_changed; /* since the last row */
};

void cfi_nothing(struct rule_set *out)
{
	*out = (struct rule_set){ .cfa = { .kind = RULE_LOST } };
}

static void set_rule(struct run *s, uint64_t reg, struct rule rule)
{
	s->has_changed = true;
	if (reg < DWARF_REG_COUNT)
		s->now.regs[reg] = rule;
}

static struct rule offset_rule(uint8_t kind, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		return (struct rule){ .kind = RULE_LOST };
	return (struct rule){ .kind = kind, .offset = (int32_t)offset };
}

static int64_t factored(const struct run *s, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)s->program->common->data_align);
}

static struct rule read_expr(struct run *s, uint8_t kind)
{
	uint64_t len = bytes_uleb(&s->code);
	const uint8_t *start = bytes_skip(&s->code, len);

	if (start == NULL || len == 0 || len > CFI_MAX_EXPR)
		return (struct rule){ .kind = RULE_LOST };
	return (struct rule){ .kind = kind,
			      .expr_len = (uint16_t)len,
			      .offset = (int32_t)(start - s->program->section->bytes) };
}

static int define_cfa(struct run *s, uint64_t reg, int64_t offset)
{
	if (reg >= DWARF_REG_COUNT || offset < INT32_MIN || offset > INT32_MAX)
		return -EINVAL;
	s->now.cfa =
		(struct rule){ .kind = RULE_REG, .reg = (uint8_t)reg, .offset = (int32_t)offset };
	s->has_changed = true;
	return 0;
}

/* Changes one half of a register + offset; only valid when that is what the frame's address is. */
static int change_cfa(struct run *s, const uint64_t *reg, int64_t offset)
{
	if (s->now.cfa.kind != RULE_REG)
		return -EINVAL;
	return reg != NULL ? define_cfa(s, *reg, s->now.cfa.offset)
			   : define_cfa(s, s->now.cfa.reg, offset);
}

static int advance(struct run *s, uint64_t delta)
{
	const struct cfi_program *p = s->program;
	uint64_t bytes = delta * p->common->code_align;

	if (bytes == 0)
		return 0;
	if (s->has_changed && p->row != NULL) {
		int rc = p->row(p->owner, s->pc, &s->now);

		if (rc < 0)
			return rc;
	}
	s->has_changed = false;
	if (bytes > p->end - s->pc)
		return -EINVAL;
	s->pc += bytes;
	return 0;
}

static int remember(struct run *s)
{
	if (s->remembered_count == CFI_MAX_REMEMBERED)
		return -EINVAL;
	s->remembered[s->remembered_count++] = s->now;
	return 0;
}

static int recall(struct run *s)
{
	if (s->remembered_count == 0)
		return -EINVAL;
	s->now = s->remembered[--s->remembered_count];
	s->has_changed = true;
	return 0;
}

static void restore(struct run *s, uint64_t reg)
{
	if (reg < DWARF_REG_COUNT)
		set_rule(s, reg, s->program->common->initial.regs[reg]);
}

/* Instructions about the frame's address; -ENOENT: another one. */
static int step_cfa(struct run *s, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = bytes_uleb(&s->code);
		return define_cfa(s, reg, (int64_t)bytes_uleb(&s->code));
	case DW_CFA_def_cfa_sf:
		reg = bytes_uleb(&s->code);
		return define_cfa(s, reg, factored(s, bytes_sleb(&s->code)));
	case DW_CFA_def_cfa_register:
		reg = bytes_uleb(&s->code);
		return change_cfa(s, &reg, 0);
	case DW_CFA_def_cfa_offset:
		return change_cfa(s, NULL, (int64_t)bytes_uleb(&s->code));
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa(s, NULL, factored(s, bytes_sleb(&s->code)));
	case DW_CFA_def_cfa_expression:
		s->now.cfa = read_expr(s, RULE_IS_EXPR);
		s->has_changed = true;
		return 0;
	default:
		return -ENOENT;
	}
}

/* Instructions about where we are; -ENOENT: another one. */
static int step_place(struct run *s, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return advance(s, bytes_fixed(&s->code, 1));
	case DW_CFA_advance_loc2:
		return advance(s, bytes_fixed(&s->code, 2));
	case DW_CFA_advance_loc4:
		return advance(s, bytes_fixed(&s->code, 4));
	case DW_CFA_remember_state:
		return remember(s);
	case DW_CFA_restore_state:
		return recall(s);
	case DW_CFA_GNU_args_size:
		bytes_uleb(&s->code);
		return 0;
	default:
		return -ENOENT;
	}
}

/* Instructions about one register; all have its number first. */
static int step_register(struct run *s, uint8_t op)
{
	uint64_t reg = bytes_uleb(&s->code), other;

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(s, reg,
			 offset_rule(RULE_AT_OFFSET, factored(s, (int64_t)bytes_uleb(&s->code))));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_rule(s, reg, offset_rule(RULE_AT_OFFSET, factored(s, bytes_sleb(&s->code))));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_rule(s, reg,
			 offset_rule(RULE_AT_OFFSET, -factored(s, (int64_t)bytes_uleb(&s->code))));
		return 0;
	case DW_CFA_val_offset:
		set_rule(s, reg,
			 offset_rule(RULE_IS_OFFSET, factored(s, (int64_t)bytes_uleb(&s->code))));
		return 0;
	case DW_CFA_val_offset_sf:
		set_rule(s, reg, offset_rule(RULE_IS_OFFSET, factored(s, bytes_sleb(&s->code))));
		return 0;
	case DW_CFA_restore_extended:
		restore(s, reg);
		return 0;
	case DW_CFA_undefined:
		set_rule(s, reg, (struct rule){ .kind = RULE_LOST });
		return 0;
	case DW_CFA_same_value:
		set_rule(s, reg, (struct rule){ .kind = RULE_SAME });
		return 0;
	case DW_CFA_register:
		other = bytes_uleb(&s->code);
		set_rule(s, reg,
			 other < DWARF_REG_COUNT
				 ? (struct rule){ .kind = RULE_REG, .reg = (uint8_t)other }
				 : (struct rule){ .kind = RULE_LOST });
		return 0;
	case DW_CFA_expression:
		set_rule(s, reg, read_expr(s, RULE_AT_EXPR));
		return 0;
	case DW_CFA_val_expression:
		set_rule(s, reg, read_expr(s, RULE_IS_EXPR));
		return 0;
	default:
		return -EINVAL;
	}
}

static int step(struct run *s)
{
	uint8_t op = (uint8_t)bytes_fixed(&s->code, 1), low = op & 0x3f;
	int rc;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(s, low);
	case DW_CFA_offset:
		set_rule(s, low,
			 offset_rule(RULE_AT_OFFSET, factored(s, (int64_t)bytes_uleb(&s->code))));
		return 0;
	case DW_CFA_restore:
		restore(s, low);
		return 0;
	default:
		break;
	}
	rc = step_place(s, op);
	if (rc == -ENOENT)
		rc = step_cfa(s, op);
	if (rc == -ENOENT)
		rc = step_register(s, op);
	return rc;
}

static int run_all(struct run *s, uint64_t *budget)
{
	while (bytes_left(&s->code) > 0) {
		int rc;

		if (*budget == 0)
			return -E2BIG;
		--*budget;
		rc = step(s);
		if (rc < 0)
			return rc;
		if (s->code.is_bad)
			return -EINVAL;
	}
	return 0;
}

int cfi_initial(struct cfi_common *common, const struct cfi_section *section, const uint8_t *code,
		size_t code_len, uint64_t *budget)
{
	struct cfi_program program = { .section = section, .common = common };
	struct run s = { .program = &program,
			 .code = bytes_of(code, code_len),
			 .now = common->initial };
	int rc = run_all(&s, budget);

	if (rc == 0)
		common->initial = s.now;
	return rc;
}

int cfi_run(const struct cfi_program *program, uint64_t *budget)
{
	struct run s;
	int rc;

	s.program = program;
	s.code = bytes_of(program->code, program->code_len);
	s.pc = program->start;
	s.now = program->common->initial;
	s.remembered_count = 0;
	s.has_changed = true;
	rc = run_all(&s, budget);
	if (rc == 0 && s.has_changed && s.pc < program->end)
		rc = program->row(program->owner, s.pc, &s.now);
	return rc;
}
