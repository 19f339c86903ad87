/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits.h - what the programs that see threads leave and get their CPU share with who reads them: what goes through the ring, one
 * line of a look at all threads, and the settings. Raw nanoseconds of CLOCK_MONOTONIC. */
#ifndef TARE_BPF_WAITS_H
#define TARE_BPF_WAITS_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define WAITS_REGS	  21u /* words of struct pt_regs on x86-64, in its order */
#define WAITS_STACK_BYTES 4096u
#define WAITS_RING_BYTES  (2u << 20)
#define WAITS_NO_SYSCALL  UINT32_C(0xffffffff)
#define WAITS_VISIT_NS	  500000000ull /* less than a long wait: it is found in time */

/* Why a thread left its CPU. */
enum waits_why {
	WAITS_PREEMPTED = 0, /* it could have gone on */
	WAITS_ASLEEP = 1,    /* until it is woken: also by a signal */
	WAITS_BLOCKED = 2,   /* until what it waits for has come, most often from a disk */
	WAITS_STOPPED = 3,   /* by a signal, or a debugger */
	WAITS_BORN = 4,	     /* it has not run yet */
};

enum waits_kind {
	WAITS_STACK = 1, /* a thread left its CPU, and is looked at */
	WAITS_END = 2,	 /* it got one again: of those looked at, and of long ones */
	WAITS_GONE = 3,	 /* it has ended, or begins anew by an exec */
};

/* The head of what goes through the ring. `out_ns` and `tid` name a wait. */
struct waits_head {
	uint32_t kind;
	uint32_t pid, tid;
	uint32_t why;
	uint32_t syscall; /* WAITS_NO_SYSCALL: in none */
	uint32_t one_in;  /* N; of an end of a wait that was not looked at: 0 */
	uint64_t out_ns;
};

/* Where a thread left its CPU; only the used part of `stack` is sent. */
struct waits_stack {
	struct waits_head head;
	uint64_t regs[WAITS_REGS];
	uint32_t bytes;
	uint32_t is_cut; /* there was more stack than is sent */
	uint8_t stack[WAITS_STACK_BYTES];
};

struct waits_end {
	struct waits_head head;
	uint64_t from_ns; /* head.out_ns, less what looking took */
	uint64_t in_ns;
	uint64_t runnable_ns; /* of it, in the run queue */
};

/* One thread as a look finds it, and, in the ring, how it ended (without `regs`). */
struct waits_thread_line {
	struct waits_head head; /* of the wait under way; out_ns 0: it runs */
	uint64_t at_ns;
	uint64_t seen_ns;	    /* when it was first seen */
	uint64_t away_ns;	    /* since then: off the CPU, without the wait under way */
	uint64_t ran_ns, queued_ns; /* since then, by the kernel's account */
	/* head.kind WAITS_STACK: it has waited for WAITS_VISIT_NS and nobody has looked at it. */
	uint64_t regs[WAITS_REGS];
};

/* User space writes the first line. */
struct waits_control {
	uint32_t rate;	   /* looks a second of one thread */
	uint32_t look_all; /* a look tells every thread, not only those that have switched since */
	uint32_t adopts;   /* a look adopts the threads of process `root` */
	uint32_t root;	   /* its number, that of the first pid namespace */
	uint32_t slice;	   /* number of the slice; what began in another one is not known */
	uint32_t resumes;  /* a look finds who is away at the start of a slice */
	uint64_t spare[5];
	uint64_t switches; /* of watched threads: away */
	uint64_t taken, lost;
	uint64_t unread;    /* stacks that could not be copied */
	uint64_t walk_ns;   /* what copying took */
	uint64_t unwatched; /* threads for which there was no memory */
	uint64_t adopted;   /* threads that were there before us */
	uint64_t spare_last;
};

_Static_assert(sizeof(struct waits_head) == 32, "shared with the kernel");
_Static_assert(sizeof(struct waits_control) == 128, "shared with the kernel");

#endif
