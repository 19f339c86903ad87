/* parser_say.h - a question as the parser child has heard it, and how it says an answer. For parser*.c only. */
#ifndef TARE_SENSE_PARSER_SAY_H
#define TARE_SENSE_PARSER_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/dwarffile.h"
#include "sense/jitfile.h"
#include "sense/parser_wire.h"

#define PARSER_MAX_DWARFS 4u
#define PARSER_MAX_JITS	  8u /* files whose contents are kept */
#define PARSER_SOCKET	  0  /* the child's only way out */

/* One question as it came. Owns the descriptors, `wanted` and `text`. */
struct parser_asked {
	struct parser_question question;
	int fds[PARSER_MAX_FILES];
	uint64_t *wanted;
	char *text;
};

/* A part of an answer; borrowed. */
struct parser_part {
	const void *bytes;
	size_t len;
};

struct parser_saying {
	const void *head;
	size_t head_bytes;
	struct parser_part parts[PARSER_MAX_PARTS];
};

/* Says an answer; with `result` < 0 nothing but that. Ends the process when nobody listens. */
void parser_say(uint32_t kind, int result, const struct parser_saying *what);

/* What the child keeps from one question to the next. */
struct parser_memory {
	struct dwarffile dwarfs[PARSER_MAX_DWARFS]; /* the same of files with debug information */
	uint64_t dwarf_used[PARSER_MAX_DWARFS];
	struct jitfile jits[PARSER_MAX_JITS]; /* the one that was not used for longest makes room */
	uint64_t turns;
};

/* Answers PARSER_PLAIN. */
void parser_answer_plain(const struct parser_asked *a);

/* Answers PARSER_INLINED. */
void parser_answer_inlined(const struct parser_asked *a, struct parser_memory *memory);

/* Answers PARSER_JIT. */
void parser_answer_jit(const struct parser_asked *a, struct parser_memory *memory);

#endif
