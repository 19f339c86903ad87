/* walk.c - a copied stack, walked by rows and by frame pointers. */
#include "sense/walk.h"

#include <errno.h>

#define MAX_LINK_BYTES (UINT64_C(1) << 20) /* a frame by its pointer is not larger */
#define CALLEE_SAVED                                                                               \
	(1u << DWARF_RBX | 1u << DWARF_RBP | 1u << DWARF_R12 | 1u << DWARF_R13 | 1u << DWARF_R14 | \
	 1u << DWARF_R15)

static bool is_known(const struct registers *r, uint8_t reg)
{
	return (r->known & 1u << reg) != 0;
}

/* Sets the caller's place. It must lie above its callee's, except where a signal changed stacks, or where the return
 * address is in a register: vfork takes it off the stack for its system call. */
static int leave(struct registers *regs, uint64_t cfa, uint64_t pc, bool may_stay)
{
	if (cfa <= regs->value[DWARF_RSP] && !may_stay)
		return -EINVAL;
	regs->value[DWARF_RSP] = cfa;
	regs->value[DWARF_RIP] = pc;
	return 0;
}

/* Callee-saved registers as the row says. A slot below the stack pointer was popped: the register has its value
 * back already. */
static void restore_saved(const struct row *row, uint64_t cfa, const struct registers *callee,
			  struct registers *regs, struct copied *memory)
{
	for (size_t i = 0; i < ROW_SAVED_COUNT; i++) {
		uint8_t k = row->saved[i], reg = row_saved_regs[i];
		uint64_t slot = row->from_rbp ? callee->value[DWARF_RBP] - 8 * ((uint64_t)k - 1)
					      : cfa - 8 * (uint64_t)k;
		bool was_left = memory->was_left;

		if (k == 0)
			continue;
		if (k != ROW_SAVED_UNKNOWN && slot < callee->value[DWARF_RSP])
			continue;
		if (k == ROW_SAVED_UNKNOWN || !copied_read(memory, slot, &regs->value[reg]))
			regs->known &= ~(1u << reg);
		memory->was_left = was_left; /* not needed unless it is used */
	}
}

static int walk_simple(const struct row *row, struct registers *regs, struct copied *memory)
{
	struct registers callee = *regs;
	uint64_t cfa, pc;

	if (!is_known(regs, row->reg))
		return -ENODATA;
	cfa = regs->value[row->reg] + (uint64_t)(int64_t)row->offset;
	if (row->kind == ROW_DEREF && !copied_read(memory, cfa, &cfa))
		return -ENODATA;
	if (row->from_rbp && !is_known(regs, DWARF_RBP))
		return -ENODATA;
	if (!copied_read(memory, cfa - 8, &pc))
		return -ENODATA;
	regs->known &= CALLEE_SAVED | 1u << DWARF_RSP | 1u << DWARF_RIP;
	restore_saved(row, cfa, &callee, regs, memory);
	return leave(regs, cfa, pc, row->is_signal);
}

/* The value of one register of the caller. */
static int apply(const struct tables *t, const struct rule *rule, uint64_t cfa, uint8_t reg,
		 const struct registers *callee, struct copied *memory, uint64_t *out)
{
	uint64_t address = cfa + (uint64_t)(int64_t)rule->offset;
	int rc;

	switch ((enum rule_kind)rule->kind) {
	case RULE_SAME:
		*out = callee->value[reg];
		return is_known(callee, reg) ? 0 : -ENODATA;
	case RULE_LOST:
		return -ENODATA;
	case RULE_AT_OFFSET:
		return copied_read(memory, address, out) ? 0 : -ENODATA;
	case RULE_IS_OFFSET:
		*out = address;
		return 0;
	case RULE_REG:
		*out = callee->value[rule->reg];
		return is_known(callee, rule->reg) ? 0 : -ENODATA;
	case RULE_AT_EXPR:
		rc = expr_eval(t->exprs + rule->offset, rule->expr_len, &cfa, callee, memory,
			       &address);
		if (rc < 0)
			return rc;
		return copied_read(memory, address, out) ? 0 : -ENODATA;
	case RULE_IS_EXPR:
		return expr_eval(t->exprs + rule->offset, rule->expr_len, &cfa, callee, memory,
				 out);
	}
	return -EINVAL;
}

static int walk_rules(const struct tables *t, const struct row *row, struct registers *regs,
		      struct copied *memory)
{
	const struct rule_set *set = &t->rule_sets[row->offset];
	struct registers callee = *regs;
	uint64_t cfa, sp, pc;
	int rc;

	if (set->cfa.kind == RULE_REG) {
		if (!is_known(regs, set->cfa.reg))
			return -ENODATA;
		cfa = regs->value[set->cfa.reg] + (uint64_t)(int64_t)set->cfa.offset;
	} else {
		rc = expr_eval(t->exprs + set->cfa.offset, set->cfa.expr_len, NULL, regs, memory,
			       &cfa);
		if (rc < 0)
			return rc;
	}
	rc = apply(t, &set->regs[DWARF_RIP], cfa, DWARF_RIP, &callee, memory, &pc);
	if (rc < 0)
		return rc;
	sp = cfa;
	if (set->regs[DWARF_RSP].kind != RULE_SAME)
		rc = apply(t, &set->regs[DWARF_RSP], cfa, DWARF_RSP, &callee, memory, &sp);
	if (rc < 0)
		return rc;
	for (uint8_t reg = 0; reg < DWARF_RIP; reg++) {
		bool was_left = memory->was_left;
		bool is_kept = set->regs[reg].kind != RULE_SAME || (CALLEE_SAVED & 1u << reg);

		if (reg == DWARF_RSP)
			continue;
		if (!is_kept ||
		    apply(t, &set->regs[reg], cfa, reg, &callee, memory, &regs->value[reg]) < 0)
			regs->known &= ~(1u << reg);
		else
			regs->known |= 1u << reg;
		memory->was_left = was_left;
	}
	return leave(regs, sp, pc, row->is_signal || set->regs[DWARF_RIP].kind == RULE_REG);
}

int walk_row(const struct tables *tables, const struct row *row, struct registers *regs,
	     struct copied *memory)
{
	switch ((enum row_kind)row->kind) {
	case ROW_END:
		return 1;
	case ROW_CFA:
	case ROW_DEREF:
		return walk_simple(row, regs, memory);
	case ROW_RULES:
		return walk_rules(tables, row, regs, memory);
	case ROW_GAP:
		break;
	}
	return -EINVAL;
}

/* A walk in work. */
struct walk {
	struct registers regs;
	struct copied memory;
	walk_find *find;
	void *owner;
	size_t links;  /* made by frame pointers so far */
	bool is_cut;   /* it left the copy at the top */
	bool is_exact; /* the pc in work is where its thread stands, not behind a call */
};

/* One step by frame pointers, for code that nothing describes. 1: the root. */
static int walk_link(struct walk *w, const struct walk_code *code)
{
	struct registers *r = &w->regs;
	uint64_t rbp = r->value[DWARF_RBP], sp = r->value[DWARF_RSP], saved, pc;

	if (!is_known(r, DWARF_RBP))
		return -ENODATA;
	if (rbp == 0)
		return w->links > 0 || code->is_start ? 1 : -ENODATA;
	if (rbp % 8 != 0 || rbp < sp || rbp - sp > MAX_LINK_BYTES)
		return -ENODATA;
	if (!copied_read(&w->memory, rbp, &saved) || !copied_read(&w->memory, rbp + 8, &pc)) {
		/* Without one good link, a pointer to beyond the copy may be anything. */
		w->memory.was_left = w->memory.was_left && w->links > 0;
		return -ENODATA;
	}
	if (pc == 0 || !w->find(w->owner, pc - 1).is_code)
		return -EINVAL;
	r->known = 1u << DWARF_RBP | 1u << DWARF_RSP | 1u << DWARF_RIP;
	r->value[DWARF_RBP] = saved;
	w->links++;
	return leave(r, rbp + 16, pc, false);
}

/* From one frame to its caller. 0; 1: the root; negative: the walk ends here. */
static int walk_step(struct walk *w, uint64_t pc)
{
	struct walk_code code = w->find(w->owner, pc);
	bool is_signal = code.row != NULL && code.row->is_signal;
	int rc;

	w->memory.was_left = false;
	if (code.row != NULL)
		rc = walk_row(code.tables, code.row, &w->regs, &w->memory);
	else if (code.is_code)
		rc = walk_link(w, &code);
	else
		rc = -ENODATA;
	if (rc == 0 && code.row != NULL && w->regs.value[DWARF_RIP] == 0)
		rc = 1; /* coroutines and old threads begin with a return address of 0 */
	w->is_cut = rc < 0 && w->memory.was_left;
	w->is_exact = is_signal;
	return rc;
}

size_t walk_stack(const struct stack_copy *copy, walk_find *find, void *owner, uint64_t *out_pcs,
		  size_t max, enum stack_end *out_end)
{
	struct walk w = { .memory = { .start = copy->regs[DWARF_RSP],
				      .bytes = copy->bytes,
				      .len = copy->len },
			  .find = find,
			  .owner = owner,
			  .is_exact = !copy->is_behind };
	size_t full = copy->asked != 0 ? copy->asked : SPACE_STACK_BYTES;
	size_t count = 0;
	int rc = 0;

	for (size_t reg = 0; reg < DWARF_REG_COUNT; reg++)
		w.regs.value[reg] = copy->regs[reg];
	w.regs.known = copy->known != 0 ? copy->known : (1u << DWARF_REG_COUNT) - 1;
	while (rc == 0 && count < max) {
		uint64_t pc = w.regs.value[DWARF_RIP] - (w.is_exact ? 0 : 1);

		if ((count > 0 || copy->is_behind) && !find(owner, pc).is_code) {
			rc = -EINVAL;
			break;
		}
		out_pcs[count++] = pc;
		rc = walk_step(&w, pc);
	}
	if (rc == 1)
		*out_end = STACK_WHOLE;
	else if (rc == 0 || (w.is_cut && copy->len >= full))
		*out_end = STACK_CUT;
	else
		*out_end = STACK_BROKEN;
	return count;
}
