/* parser.h - the one door through which foreign ELF files, their .eh_frame, symbols and debug information come in: a child
 * process without rights reads them (sandbox.h), one for all files, and answers with plain tables, which are checked. A file
 * that kills it or makes it hang is "unsymbolised", and is counted; the recorder never stands still for it. One thread. */
#ifndef TARE_SENSE_PARSER_H
#define TARE_SENSE_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sense/parser_wire.h"
#include "sense/tables.h"

#define PARSER_MAX_BYTES       (40u << 20)  /* of one file's tables */
#define PARSER_MAX_NAMES_BYTES (192u << 20) /* of all its names with their rows, for a search */
#define PARSER_MAX_LINES_BYTES (16u << 20)  /* of one compilation unit's places */
#define PARSER_MAX_CODE_BYTES  (8u << 20)   /* of an answer about names or one address */
#define PARSER_WAIT_NS	       (UINT64_C(200) * 1000 * 1000) /* for one file at once, at most */
#define PARSER_MAX_DEBUG_FILES 4u

struct parser; /* opaque */

/* Which file it is: the answer to a question is given to who asks the same of the same file again. */
struct parser_file_id {
	uint64_t device, inode, bytes, changed_ns;
};

/* A file, and what may hold the names that were stripped off it. Descriptors are borrowed. */
struct parser_file {
	struct parser_file_id id;
	int fd;
	int debug_fds[PARSER_MAX_DEBUG_FILES];
	uint32_t debug_count;
	uint32_t
		linked_mask; /* bit n: debug_fds[n] comes from .gnu_debuglink, not from a build-id */
};

/* Fills in `id` by the descriptor. -errno. */
int parser_file_identify(struct parser_file *file);

/* Starts no child yet: the first question does. `is_patient`: for a search at the start, which waits until the child answers
 * or is known to hang. Else no call takes longer than PARSER_WAIT_NS, and -EAGAIN says "ask again later". -ENOMEM. */
int parser_open(bool is_patient, struct parser **out);

/* What its children are called in a list of processes, before the first question; static. As we are, unless said. */
void parser_call(struct parser *p, const char *comm);

/* Ends the child. Accepts NULL. */
void parser_close(struct parser *p);

/* All answers: 0; -EAGAIN: not yet; -EIO: the child died of this file, or hung, or answered nonsense, so leave the file alone;
 * -ENOEXEC, -EFBIG: it is no file for us; -ENOMEM. What is given out is checked, and untouched on failure. */

/* Only build_id and debuglink. */
int parser_read_id(struct parser *p, const struct parser_file *file, struct tables *out);

/* Segments, rows, functions, symbols (of a debug file too, when the file has none itself), PLT entries: free with tables_free(). */
int parser_read_tables(struct parser *p, const struct parser_file *file, struct tables *out);

/* The places of one compilation unit. */
struct parser_lines {
	uint64_t address;	/* its unit */
	const uint64_t *wanted; /* addresses whose places are asked for, rising; borrowed */
	size_t wanted_count;
	/* One of them; `file` is borrowed, `file_len` > 0, any bytes. An address may come more than once: the first is the best. */
	void (*take)(void *owner, uint64_t address, uint32_t line, const char *file,
		     uint32_t file_len);
	void *owner;
};

/* Also -ENOENT: there is none for that address. -EFBIG: so much debug information that it is left alone. */
int parser_read_lines(struct parser *p, const struct parser_file *file,
		      const struct parser_lines *lines);

/* Names as their authors wrote them. */
struct parser_plain_names {
	const struct str *mangled; /* borrowed; without NULs */
	size_t count;
	/* Of each of them that is a mangled name, in order; `plain` is borrowed, and not empty. */
	void (*take)(void *owner, size_t at, struct str plain);
	void *owner;
};

/* Demangles names of C++ and Rust: as many as a question holds, at least one; *out_done says how many of them were asked for.
 * Never -ENOEXEC. */
int parser_read_plain(struct parser *p, const struct parser_plain_names *names, size_t *out_done);

/* A function that the compiler put into another, at one address. Strings are borrowed during the call. */
struct parser_inlined_at {
	uint64_t address; /* as the file has it */
	void (*take)(void *owner, struct str name, struct str file,
		     uint32_t line); /* outermost first */
	void *owner;
};

/* What is inlined at an address, by the file's own debug information; nothing is taken where nothing is. Also -ENOENT: no
 * function is known there. -EFBIG: so much debug information that it is left alone. */
int parser_read_inlined(struct parser *p, const struct parser_file *file,
			const struct parser_inlined_at *at);

/* A piece of it. */
struct parser_jit_code {
	uint64_t start, end;
	uint64_t since_ns, until_ns; /* this holds in between */
	struct str name, file;	     /* empty where it is not known: of the name, what lies there */
	uint32_t line;		     /* where it begins; 0: not known */
};

/* Addresses in code that a program made while it ran, and the file in which it says what that is (jitfile.h). */
struct parser_jit_at {
	uint64_t at_ns;		   /* CLOCK_MONOTONIC of the sample; 0: now */
	const uint64_t *addresses; /* borrowed */
	size_t count;		   /* 1 to PARSER_MAX_JIT - 1 */
	/* Of each, in order: `code` and what it points to are borrowed. */
	void (*take)(void *owner, size_t at, const struct parser_jit_code *code);
	void *owner;
};

/* What is said so far: the file may grow. Also -ENOEXEC: it is no such file; -EFBIG: too long. *out_rejected: lines or records that
 * say nothing. */
int parser_read_jit(struct parser *p, const struct parser_file *file,
		    const struct parser_jit_at *at, uint64_t *out_rejected);

/* Every symbol of a file, for a search: owns rows and text; the empty value is all zero. */
struct parser_names {
	struct parser_names_head head;
	struct parser_name *rows;
	size_t count;
	char *text;
	size_t text_bytes;
};
int parser_read_names(struct parser *p, const struct parser_file *file, struct parser_names *out);

/* Accepts the empty value, and may run twice. */
void parser_names_free(struct parser_names *n);

/* Kills a child that hangs over a question that nobody asks again. Call it once a second or so. */
void parser_mind(struct parser *p);

/* What it took and what it cost. */
struct parser_facts {
	pid_t pid;	   /* of the child; 0: none runs */
	uint64_t deaths;   /* that were not ours to want: each left a file unsymbolised */
	uint64_t live_ns;  /* CPU time of the child that runs: in no getrusage() yet */
	uint64_t spent_ns; /* CPU time of all children */
};
void parser_facts(const struct parser *p, struct parser_facts *out);

#endif
