/* expr.h - a small, bounded evaluator of DWARF expressions, as CFI uses them (PLT entries, signal frames, realigned
 * stacks). Straight-line only: one pass over the bytes, a stack of 32; memory is the copied stack alone. Pure. */
#ifndef TARE_SENSE_EXPR_H
#define TARE_SENSE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/space.h"

/* The copied stack: all the memory there is. */
struct copied {
	uint64_t start; /* the address of bytes[0] */
	const uint8_t *bytes;
	size_t len;
	bool was_left; /* out: something above the copy was asked for */
};

/* The 8 bytes at `address`. False: not in the copy. */
bool copied_read(struct copied *c, uint64_t address, uint64_t *out);

/* Registers as far as they are known: bit n of `known` is register n. */
struct registers {
	uint64_t value[DWARF_REG_COUNT];
	uint32_t known;
};

/* Evaluates the expression of `len` bytes, with `first` on its stack when it is not NULL (the frame's address, for
 * a register's rule). -EINVAL: malformed or an operation that we do not know; -ENODATA: a register or memory that
 * is not known. `out` is untouched then. */
int expr_eval(const uint8_t *code, size_t len, const uint64_t *first, const struct registers *regs,
	      struct copied *memory, uint64_t *out);

#endif
