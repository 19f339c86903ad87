/* frame.h - one place on a stack, as text. Plain structs that join the rooms: sense fills them, core keeps
 * them, store writes them. */
#ifndef TARE_CORE_FRAME_H
#define TARE_CORE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of others' making, length-counted, any byte allowed, never NUL-terminated by promise. Borrowed
 * unless said otherwise. */
struct str {
	const char *bytes;
	uint32_t len;
};

#define STR_EMPTY      ((struct str){ NULL, 0 })
#define STR_LITERAL(s) ((struct str){ (s), sizeof(s) - 1 })

/* Longest name, module or file we keep; longer ones are cut here (rules/trust.md 1). */
#define STR_MAX_BYTES 4096u

/* Stored in recordings: numbers never change, new ones are added at the end. */
enum frame_kind {
	FRAME_THREAD = 0,  /* the first frame of every path: name is the thread's own name (comm) */
	FRAME_NATIVE = 1,  /* a function of a binary */
	FRAME_KERNEL = 2,  /* a function of the kernel */
	FRAME_MARKER = 3,  /* ours, in square brackets: "[broken]", "[cut 12]", "[kernel]" */
	FRAME_INLINED = 4, /* a function of a binary that the compiler put into the one before it */
	FRAME_JIT = 5,	   /* a function that the program itself made while it ran */
};

/* What a thread was doing; an index of weights. Stored in recordings. */
enum state {
	STATE_RUNNING = 0,
	STATE_WAITING = 1,
	STATE_RUNNABLE = 2,
};
#define STATE_COUNT 3

struct frame {
	uint64_t
		key; /* identity: frame_key() of the rest, and of the thread's start time; never 0 */
	enum frame_kind kind;
	uint32_t pid, tid; /* FRAME_THREAD only, else 0 */
	uint32_t line;	   /* 0: not known */
	struct str
		name; /* demangled; for a function without a symbol "[libfoo.so+0x1a2b0]" (start of its code) */
	struct str module; /* file name of the binary, without folders; empty: none */
	struct str file;   /* source file; empty: not known */
};

/* How a frame of this kind is marked behind its name where people read it; mostly "". Static. */
const char *frame_mark(enum frame_kind kind);

/* Is it the last frame of a path on which a thread waited: a marker that says for what, "[waits for a lock]", or "[runnable]"? */
bool frame_is_why(enum frame_kind kind, struct str name);

/* The identity of a frame: a 64-bit hash of kind, pid, tid, line, name, module and file, started from
 * `salt` (a thread's start time, else 0). Never 0. */
uint64_t frame_key(const struct frame *f, uint64_t salt);

#endif
