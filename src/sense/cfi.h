/* cfi.h - runs the call frame programs of .eh_frame and .debug_frame: one pass over the instructions of a function
 * gives its rules from address to address. Time and memory are linear in the bytes and bounded, whatever they say:
 * registers we do not walk with are skipped, remembered states are few. Pure. */
#ifndef TARE_SENSE_CFI_H
#define TARE_SENSE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/tables.h"

#define CFI_MAX_REMEMBERED 16u
#define CFI_MAX_EXPR	   1024u

/* The section that all programs lie in. Borrowed. */
struct cfi_section {
	const uint8_t *bytes;
	size_t len; /* at most INT32_MAX */
	uint64_t vaddr;
};

/* What functions have in common. */
struct cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses: DW_EH_PE_* */
	bool has_augmentation, is_signal;
	struct rule_set initial; /* .cfa.kind is RULE_LOST until it is defined */
};

/* One function's program. `row` is called for each change of rules, pcs rising, and may stop the run by returning
 * a negative errno. Expressions in `rules` are offsets into the section. */
struct cfi_program {
	const struct cfi_section *section;
	const struct cfi_common *common;
	uint64_t start, end; /* virtual addresses */
	const uint8_t *code;
	size_t code_len;
	int (*row)(void *owner, uint64_t pc, const struct rule_set *rules);
	void *owner;
};

/* A rule set in which nothing is defined yet. */
void cfi_nothing(struct rule_set *out);

/* Runs initial instructions of a CIE into common->initial, which the caller has set to cfi_nothing(). Every
 * instruction takes one from *budget. -EINVAL: malformed; -E2BIG: the budget is used up. */
int cfi_initial(struct cfi_common *common, const struct cfi_section *section, const uint8_t *code,
		size_t code_len, uint64_t *budget);

/* Runs a function's program. -EINVAL, -E2BIG as above, or what `row` returned. */
int cfi_run(const struct cfi_program *program, uint64_t *budget);

#endif
