/* tables.h - what we keep of one ELF file: how to unwind from each of its addresses and what they are called.
 * Plain arrays without pointers into the file, so that a file is read once, in a process without rights (parser.h), and its
 * tables are checked where they are used. Addresses are 32-bit offsets from `base`. One thread. */
#ifndef TARE_SENSE_TABLES_H
#define TARE_SENSE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/space.h"

#define TABLES_MAX_ROWS	     (4u << 20)
#define TABLES_MAX_FUNCTIONS (1u << 20)
#define TABLES_MAX_RULE_SETS 16384u
#define TABLES_MAX_EXPRS     (1u << 20) /* bytes */
#define TABLES_MAX_SYMBOLS   (1u << 20)
#define TABLES_MAX_NAMES     (32u << 20) /* bytes */
#define TABLES_MAX_SEGMENTS  16u
#define TABLES_MAX_BUILD_ID  32u
#define TABLES_MAX_DEBUGLINK 255u

/* How a caller's registers are found from those of its callee. */
enum row_kind {
	ROW_GAP,   /* no function is described here */
	ROW_END,   /* the root of a stack: there is no caller */
	ROW_CFA,   /* the frame's address is reg + offset */
	ROW_DEREF, /* the frame's address is stored at reg + offset (a realigned stack) */
	ROW_RULES, /* anything else: rule_sets[offset] */
};

/* The callee-saved registers of x86-64 but rsp, in the order of struct row.saved. */
#define ROW_SAVED_COUNT	  6u
#define ROW_SAVED_UNKNOWN 255u
extern const uint8_t row_saved_regs[ROW_SAVED_COUNT];

/* From `pc` to the next row's. The return address is at the frame's address - 8. */
struct row {
	uint32_t pc;
	int32_t offset;
	uint16_t kind : 3, reg : 5;
	uint16_t
		from_rbp : 1; /* saved registers lie at rbp - 8 (k - 1), else at the frame's address - 8 k */
	uint16_t is_signal : 1;		/* the caller was interrupted, it did not call */
	uint16_t spare : 6;		/* 0: rows are compared as bytes */
	uint8_t saved[ROW_SAVED_COUNT]; /* k; 0: unchanged; ROW_SAVED_UNKNOWN: lost */
};
_Static_assert(sizeof(struct row) == 16, "rows are what most of the memory goes to");

enum rule_kind {
	RULE_SAME,
	RULE_LOST,
	RULE_AT_OFFSET, /* stored at the frame's address + offset */
	RULE_IS_OFFSET, /* is the frame's address + offset */
	RULE_REG,	/* is register `reg` + offset */
	RULE_AT_EXPR,	/* stored where the expression says */
	RULE_IS_EXPR,	/* is what the expression says */
};

struct rule {
	uint8_t kind, reg;
	uint16_t expr_len;
	int32_t offset; /* of an expression: where it begins in `exprs` */
};

/* Every register's rule, for the few places that need more than a row. */
struct rule_set {
	struct rule cfa; /* RULE_REG or RULE_IS_EXPR */
	struct rule regs
		[DWARF_REG_COUNT]; /* DWARF_RIP: the return address; DWARF_RSP: RULE_SAME means the frame's address */
};

/* One described piece of code, from .eh_frame. */
struct function {
	uint32_t start, size;
};

/* A named piece of code. */
struct symbol {
	uint32_t start, size;
	uint32_t name; /* where it begins in `names` */
	uint16_t name_len;
	uint8_t rank;	/* among names of one address: the lowest is taken */
	uint8_t is_plt; /* "@plt" is to be added */
};

struct segment {
	uint64_t file_offset, file_bytes, vaddr;
};

struct tables {
	uint64_t base; /* virtual address that all 32-bit addresses count from */
	struct segment segments[TABLES_MAX_SEGMENTS]; /* the executable ones */
	size_t segment_count;
	uint32_t entry; /* where the program starts; 0: none */

	struct row
		*rows; /* sorted by pc; begins and ends with a ROW_GAP where nothing is described */
	size_t row_count;
	struct rule_set *rule_sets;
	size_t rule_set_count;
	uint8_t *exprs;
	size_t expr_bytes;
	struct function *functions; /* sorted, do not overlap */
	size_t function_count;
	struct symbol *symbols; /* sorted by start, one an address */
	size_t symbol_count;
	char *names;
	size_t name_bytes;

	uint8_t build_id[TABLES_MAX_BUILD_ID];
	size_t build_id_bytes;			  /* 0: none */
	char debuglink[TABLES_MAX_DEBUGLINK + 1]; /* "": none */
	uint32_t debuglink_crc;
	bool has_symtab;      /* symbols came from .symtab: no debug file can add to them */
	bool has_lines;	      /* .debug_info and .debug_line are in the file ... */
	bool has_debug_lines; /* ... or in the debug file that the symbols came from */
	uint32_t debug_file;  /* which of the debug files that was, from 1; 0: none */
};

/* Frees everything; accepts the all-zero value and leaves it. */
void tables_free(struct tables *t);

/* Are they such as a walk and a look-up can use: in order, every index within its array, every register one that there is? What
 * comes from the parser child is as foreign as the file. */
bool tables_check(const struct tables *t);

/* Bytes of memory that the tables take. */
size_t tables_bytes(const struct tables *t);

/* The offset from base of what lies at `file_offset` in the file. False: not code of this file. */
bool tables_place(const struct tables *t, uint64_t file_offset, uint32_t *out_pc);

/* The row that covers `pc`; NULL: none, or a gap. */
const struct row *tables_row(const struct tables *t, uint32_t pc);

/* The described function, the symbol that covers `pc`; NULL: none. Never a merely near one. */
const struct function *tables_function(const struct tables *t, uint32_t pc);
const struct symbol *tables_symbol(const struct tables *t, uint32_t pc);

#endif
