/* walk.h - walks a copied stack: from the registers of a sample to the root, by rows where code is described, by
 * frame pointers where it is not. Nothing is read but the copy. Pure. */
#ifndef TARE_SENSE_WALK_H
#define TARE_SENSE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/expr.h"
#include "sense/sampler.h"
#include "sense/space.h"
#include "sense/tables.h"

/* Steps of one walk: a full copy cannot hold more frames of 8 bytes. */
#define WALK_MAX_STEPS (SPACE_STACK_BYTES / 8u)

/* What an address is. */
struct walk_code {
	const struct tables *tables; /* NULL: code of no file that we could read */
	const struct row *row;	     /* NULL: no row covers it */
	bool is_code;		     /* lies in an executable mapping */
	bool is_start;		     /* lies where a program or a thread begins */
};

/* Looks up `pc`; the answer is valid during the walk. */
typedef struct walk_code walk_find(void *owner, uint64_t pc);

/* Walks. Writes the addresses to look up for each frame, innermost first (return addresses less one, so that they
 * lie inside the call), at most `max` (> 0); returns how many. STACK_CUT only when the copy is full. */
size_t walk_stack(const struct stack_copy *copy, walk_find *find, void *owner, uint64_t *out_pcs,
		  size_t max, enum stack_end *out_end);

/* One step by a row: `regs` become the caller's. `tables` holds the row. 0; 1: the row is the root; -ENODATA: what is
 * needed is not known or not in the copy; -EINVAL: the stack does not grow. `regs` is then undefined. */
int walk_row(const struct tables *tables, const struct row *row, struct registers *regs,
	     struct copied *memory);

#endif
