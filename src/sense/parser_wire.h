/* parser_wire.h - what a recorder and its parser child say to one another over their socket. Both are one program, so the
 * layout is that of this header; what the child says is foreign all the same, since a file may have taken it over: lengths are
 * checked before memory is taken, contents before they are used. For parser*.c only. */
#ifndef TARE_SENSE_PARSER_WIRE_H
#define TARE_SENSE_PARSER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/tables.h"

#define PARSER_MAX_FILES  5u /* the file, and what may be its debug files */
#define PARSER_MAX_PARTS  6u
#define PARSER_MAX_WANTED TABLES_MAX_SYMBOLS
#define PARSER_MAX_TEXT	  65536u /* bytes that come with a question */

enum parser_kind {
	PARSER_ID = 1,	/* head: struct tables, with build-id and debuglink alone */
	PARSER_TABLES,	/* head: struct tables without its arrays, which are the parts in order */
	PARSER_LINES,	/* no head; parts: struct parser_place, text */
	PARSER_NAMES,	/* head: struct parser_names_head; parts: struct parser_name, text */
	PARSER_PLAIN,	/* without a file; no head; parts: struct parser_plain, one a name, text */
	PARSER_INLINED, /* no head; parts: struct parser_inlined, outermost first, text */
	PARSER_JIT, /* head: struct parser_jit_head; parts: struct parser_jit, one an address, text */
};

/* A question; with it come the descriptors, behind it `wanted_count` addresses in rising order, then `text_bytes` of text. */
struct parser_question {
	uint32_t kind; /* enum parser_kind */
	uint32_t file_count;
	uint32_t linked_mask; /* files that a .gnu_debuglink led to: their checksum must be right */
	uint32_t
		wanted_count; /* PARSER_LINES: the places of these, and no others; PARSER_JIT: these, behind a time */
	uint64_t address;    /* PARSER_LINES: in this compilation unit; PARSER_INLINED: this one;
				* PARSER_PLAIN, PARSER_JIT: a hash of what is asked, to tell questions apart */
	uint32_t text_bytes; /* PARSER_PLAIN: mangled names, each with its NUL */
	uint32_t spare;
};

/* An answer; behind it its head, and its parts one after another. */
struct parser_answer {
	uint32_t kind;
	int32_t result; /* 0, or a negative errno; then nothing follows */
	uint32_t head_bytes;
	uint32_t spare;
	uint64_t part_bytes[PARSER_MAX_PARTS];
};

/* Where an address stands in the sources. */
struct parser_place {
	uint64_t address;
	uint32_t line, file_at; /* in the text */
	uint32_t file_bytes, spare;
};

struct parser_name {
	uint64_t address, bytes;
	uint32_t name_at, version_at; /* in the text */
	uint16_t name_bytes, version_bytes;
	uint8_t kind, rank, is_default, spare;
};

struct parser_names_head {
	struct segment segments[TABLES_MAX_SEGMENTS];
	uint64_t segment_count, entry, catch_bytes;
	uint32_t debug_file; /* which of the files had the names that were stripped off; 0: none */
	uint8_t is_go, has_symtab, has_debug_info, spare;
};

/* What a mangled name stands for. */
struct parser_plain {
	uint32_t at, bytes; /* in the text; bytes 0: it is no mangled name */
};

#define PARSER_MAX_INLINED 64u /* at one address */

/* A function that the compiler put into another. */
struct parser_inlined {
	uint32_t name_at, name_bytes, file_at,
		file_bytes; /* in the text; file_bytes 0: not known */
	uint32_t line;	    /* where it is declared; 0: not known */
	uint32_t spare;
};

#define PARSER_MAX_JIT 256u /* addresses at once */

struct parser_jit_head {
	uint64_t codes, rejected; /* in the file so far; lines or records that say nothing */
};

/* A piece of code that a program made while it ran. */
struct parser_jit {
	uint64_t start, end;
	uint64_t since_ns, until_ns; /* what is said holds in between, also that nothing is known */
	uint32_t name_at, name_bytes, file_at,
		file_bytes; /* in the text; name_bytes 0: nothing is known */
	uint32_t line, spare;
};

#define PARSER_MAX_HEAD sizeof(struct tables)
_Static_assert(sizeof(struct parser_names_head) <= PARSER_MAX_HEAD, "a head has room");
_Static_assert(sizeof(struct parser_question) == 32, "the child reads as many bytes");
_Static_assert(sizeof(struct parser_answer) == 64, "the recorder reads as many bytes");
_Static_assert(sizeof(struct parser_place) == 24, "an array of them goes over the wire");
_Static_assert(sizeof(struct parser_name) == 32, "an array of them goes over the wire");
_Static_assert(sizeof(struct parser_jit) == 56, "an array of them goes over the wire");
_Static_assert(sizeof(struct parser_plain) == 8, "an array of them goes over the wire");
_Static_assert(sizeof(struct parser_inlined) == 24, "an array of them goes over the wire");

#endif
