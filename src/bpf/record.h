/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record.h - what the programs that sample in the kernel share with who reads them: records in a ring, and tables that say how
 * to unwind. Nothing here chooses a unit: raw nanoseconds, raw addresses. */
#ifndef TARE_BPF_RECORD_H
#define TARE_BPF_RECORD_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define RECORD_MAX_USER	  1024u /* frames of user mode in a record */
#define RECORD_MAX_KERNEL 127u	/* and of the kernel: as deep as it walks itself */
/* Copied where rows do not reach: python begins 20 KB deep. The least is what is copied where the ring has little room. */
#define RECORD_STACK_BYTES	 32768u
#define RECORD_STACK_BYTES_LEAST 16384u
#define RECORD_REG_COUNT	 21u /* as the kernel keeps a thread's registers: struct pt_regs */

/* ---- how to unwind ----
 * The rows of a file are a tree of chunks, by the number of its root: a chunk of level 0 holds rows, one of a higher level the
 * first pc and the number of each chunk below it. Files are shared by all processes that map them. */

#define RECORD_CHUNK_ROWS 496u /* with the kernel's own words beside it a chunk fills a page */
#define RECORD_CHUNKS	  4096u
#define RECORD_LEVELS	  3u

struct record_chunk {
	uint32_t count, level;
	uint32_t pc[RECORD_CHUNK_ROWS];	  /* rising; from the tables' base */
	uint32_t rule[RECORD_CHUNK_ROWS]; /* level 0: record_rule(); else the number of a chunk */
};

/* How a caller's place is found. Only rsp and rbp are followed: what needs more is left to who has a copy of the stack. */
enum record_kind {
	RECORD_GAP,    /* nothing is described here: by the frame pointer */
	RECORD_END,    /* the root of a stack */
	RECORD_SP,     /* the frame's address is rsp + offset */
	RECORD_BP,     /* rbp + offset */
	RECORD_DEREF,  /* it is stored at rbp + offset (a realigned stack) */
	RECORD_PLT,    /* rsp + 8, and 8 more from byte `saved` of 16 on: entries of the PLT */
	RECORD_SIGNAL, /* the frame that the kernel makes for a signal */
	RECORD_OTHER,  /* anything else */
};

#define RECORD_SAVED_UNKNOWN 255u
#define RECORD_OFFSET_MOST   ((1 << 19) - 1)

#define RECORD_UNKNOWN \
	UINT32_C(      \
		0xffffffff) /* a rule of kind RECORD_OTHER: no mapping is known that holds the place */

/* A row's rule in a word. `saved`: rbp lies at the frame's address - 8 x saved; with `from_rbp` at rbp - 8 x (saved - 1); 0: it is
 * unchanged. `offset` is within RECORD_OFFSET_MOST either way. */
static inline uint32_t record_rule(enum record_kind kind, uint32_t from_rbp, uint32_t saved,
				   int32_t offset)
{
	return (uint32_t)kind | (from_rbp & 1u) << 3 | (saved & 255u) << 4 | (uint32_t)offset << 12;
}

/* What record_rule() put into a rule. */
static inline enum record_kind record_rule_kind(uint32_t rule)
{
	return (enum record_kind)(rule & 7u);
}

/* The same: whether registers are saved by rbp. */
static inline uint32_t record_rule_from_rbp(uint32_t rule)
{
	return rule >> 3 & 1u;
}

/* The same: where rbp is saved. */
static inline uint32_t record_rule_saved(uint32_t rule)
{
	return rule >> 4 & 255u;
}

/* The same: the offset, with its sign. */
static inline int32_t record_rule_offset(uint32_t rule)
{
	return (int32_t)rule >> 12;
}

#define RECORD_AREAS   336u
#define RECORD_SPACES  1024u
#define RECORD_NOWHERE UINT64_C(0x7fffffffffffffff) /* above all that a program can map */

/* An address space, as far as it is known: its executable mappings. */
struct record_space {
	uint32_t count, spare;
	uint64_t start[RECORD_AREAS]; /* rising; RECORD_NOWHERE behind the last */
	uint64_t end[RECORD_AREAS];
	uint32_t root[RECORD_AREAS];  /* of the file's chunks; 0: it has no rows */
	uint32_t place[RECORD_AREAS]; /* what `start` is in the tables' addresses, modulo 2^32 */
};

/* User space's word on a process: its space, as long as it leads the life that was meant. */
struct record_offer {
	uint32_t space, life;
	uint64_t version; /* of the space: user space's own */
};

#define RECORD_PROCESSES 16384u

/* ---- who is watched ---- */

/* A process of the tree; forks get a copy, with a life of their own. */
struct record_member {
	uint32_t life;	     /* one more with every fork and exec, unique among all; never 0 */
	uint32_t space;	     /* that it had from who forked it; 0: none */
	uint32_t is_waiting; /* for its exec: until then it is not looked at */
	uint32_t spare;
};

#define RECORD_LIVES_OF_USER UINT32_C(0x80000000) /* lives that user space gives are above */

/* ---- what is told ---- */

enum record_stack {
	RECORD_WHOLE,  /* the walk reached its end */
	RECORD_BROKEN, /* the stack could not be read, or does not grow */
	RECORD_DEEP,   /* more than RECORD_MAX_USER frames */
	RECORD_LEFT,   /* registers and a copy of the stack follow: go on from there */
	RECORD_NONE,   /* no user mode: it is going, or has other registers than ours */
};

/* A sample. Behind it: the frames of user mode, innermost first (as return addresses less one), those of the kernel, and where
 * the walk was left, or is to be checked, struct record_left with stack_bytes of stack. */
struct record_sample {
	uint64_t at_ns;	    /* CLOCK_MONOTONIC */
	uint64_t weight_ns; /* CPU time of the thread since its sample before; never 0 */
	uint32_t pid, tid;  /* in the recorder's pid namespace */
	uint32_t life;
	uint16_t user_count, kernel_count;
	uint16_t stack; /* enum record_stack */
	uint16_t stack_bytes;
	uint32_t is_checked; /* the copy is of the whole stack, though the walk was not left */
};

/* Where the walk was left. */
struct record_left {
	uint64_t pc, sp, bp;
	uint32_t is_behind; /* pc is a return address; only it, sp and bp are known */
	uint32_t has_bp;
	uint64_t regs[RECORD_REG_COUNT]; /* of user mode, when it is not behind a call */
};

/* What the first tick of a thread takes on top of what that ran, `own_ns`, from what is owed. A thread that lives for less than a
 * period is seen by chance, in proportion to its time; weighed by its own clock it would stand for the half of its time up to
 * the tick, and for nothing when it is not seen. With a whole period for the first tick all come to their time on average;
 * and what the seen ones are given is on average what the ends leave over: L - L^2 / 2T both, for a life of L < T.
 * Nothing is given that was not left, so that the sum never is more than what ran. */
static inline uint64_t record_first_takes(uint64_t own_ns, uint64_t period_ns, uint64_t owed_ns)
{
	uint64_t wants_ns = own_ns < period_ns ? period_ns - own_ns : 0;

	return wants_ns < owed_ns ? wants_ns : owed_ns;
}

/* One for all. */
struct record_counts {
	uint64_t samples;   /* put into the ring */
	uint64_t lost;	    /* that found it full; their weight comes with the thread's next */
	uint64_t left;	    /* of those, walks that were left */
	uint64_t gone_ns;   /* CPU time of threads that have ended, since they were watched */
	uint64_t placeless; /* processes or threads for which there was no memory: unseen */
	uint64_t took_ns;   /* by our programs, where the kernel does not count it itself */
	uint64_t lives;	    /* given so far */
	uint64_t owed_ns;   /* of gone_ns, what no sample has weighed; first ticks take from it */
	uint64_t met;	    /* ticks that met a thread of the tree */
};

_Static_assert(sizeof(struct record_chunk) <= 4096 - 96, "a chunk and the kernel's words: a page");
_Static_assert(sizeof(struct record_space) <= 8192 - 96, "the same, two pages");
_Static_assert(sizeof(struct record_sample) == 40, "shared with the kernel");
_Static_assert(sizeof(struct record_left) == 200, "shared with the kernel");
_Static_assert(sizeof(struct record_counts) == 72, "shared with the kernel");

#endif
