/* rows.h - compiles the call frame information of one file into flat rows. libdw cuts the section into entries
 * (dwarf_next_cfi); programs are run by cfi.c in one pass, because libdw runs a function from its start for every
 * row, and lets a hostile file choose how many registers it keeps (2 GB for one instruction). */
#ifndef TARE_SENSE_ROWS_H
#define TARE_SENSE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/cfi.h"
#include "sense/tables.h"

/* Instructions of one file that we are ready to run: 30 times what the largest binaries hold. */
#define ROWS_BUDGET (UINT64_C(1) << 26)

/* Fills rows, rule_sets, exprs and functions of `t`, whose base is set. `ident` is the file's e_ident.
 * `is_eh_frame` tells .eh_frame from .debug_frame. Malformed entries are skipped; what was good stays good.
 * -ENOMEM; -E2BIG: over a ceiling, `t` has what was compiled until then. */
int rows_compile(struct tables *t, const struct cfi_section *section, const unsigned char *ident,
		 bool is_eh_frame);

#endif
