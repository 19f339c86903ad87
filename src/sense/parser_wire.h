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

enum parser_kind {
	PARSER_ID = 1, /* head: struct tables, with build-id and debuglink alone */
	PARSER_TABLES, /* head: struct tables without its arrays, which are the parts in order */
	PARSER_LINES,  /* no head; parts: struct parser_place, text */
	PARSER_NAMES,  /* head: struct parser_names_head; parts: struct parser_name, text */
};

/* A question; with it come the descriptors, behind it `wanted_count` addresses in rising order. */
struct parser_question {
	uint32_t kind; /* enum parser_kind */
	uint32_t file_count;
	uint32_t linked_mask; /* files that a .gnu_debuglink led to: their checksum must be right */
	uint32_t wanted_count; /* PARSER_LINES: the places of these, and no others */
	uint64_t address;      /* PARSER_LINES: in this compilation unit */
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

#define PARSER_MAX_HEAD sizeof(struct tables)
_Static_assert(sizeof(struct parser_names_head) <= PARSER_MAX_HEAD, "a head has room");
_Static_assert(sizeof(struct parser_question) == 24, "the child reads as many bytes");
_Static_assert(sizeof(struct parser_answer) == 64, "the recorder reads as many bytes");
_Static_assert(sizeof(struct parser_place) == 24, "an array of them goes over the wire");
_Static_assert(sizeof(struct parser_name) == 32, "an array of them goes over the wire");

#endif
