/* ptrace_stop.h - stops a running thread of another process for as long as its registers and its stack take to copy, and lets it go.
 * A thread of ours does it, for three reasons: whoever traces must be a thread of the process that may (Yama asks for an
 * ancestor); when the kernel makes it wait (a program in the middle of its exec, a page that never comes), we do not; and when it
 * ends, the kernel lets everything go that it held. Nothing is traced between two looks: the target's signals, children and
 * end are its own. One thread asks. */
#ifndef TARE_SENSE_PTRACE_STOP_H
#define TARE_SENSE_PTRACE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "core/err.h"
#include "sense/ptrace_reader.h"

struct ptrace_stopper; /* opaque */

/* Does a filter let the system call through at all? 0, -EPERM or -ENOSYS. */
int ptrace_try_call(void);

struct ptrace_wanted {
	pid_t pid, tid;
	int place_fd; /* /proc/PID/task/TID/syscall */
	int mem_fd;   /* /proc/PID/mem */
};

enum ptrace_end {
	PTRACE_STOPPED,	  /* it was stopped, looked at and let go */
	PTRACE_WAITS,	  /* it does not run any more, and was left alone */
	PTRACE_GONE,	  /* it has ended */
	PTRACE_REFUSED,	  /* somebody else traces it, or it may not be traced any more */
	PTRACE_NO_MEMORY, /* its stack did not come in time: it was let go */
	PTRACE_STUCK,	  /* it could not be stopped in time; the thread that tries is left to it */
};

struct ptrace_seen {
	enum ptrace_end end;
	struct user_regs_struct regs; /* STOPPED, NO_MEMORY */
	ssize_t stack_bytes; /* from the stack pointer upward, in the reader; as ptrace_reader_copy() */
	uint64_t stopped_ns; /* from asking it to stop to letting it go; 0: it was not stopped */
	bool is_mended;	     /* a call that the stop had ended was begun again */
};

/* `reader` is borrowed, and used while ptrace_stopper_look() runs. -ENOMEM. */
int ptrace_stopper_open(struct ptrace_reader *reader, struct ptrace_stopper **out, struct err *err);

/* Lets everything go. Accepts NULL. */
void ptrace_stopper_close(struct ptrace_stopper *s);

/* Looks at one thread, in under half a second. */
void ptrace_stopper_look(struct ptrace_stopper *s, const struct ptrace_wanted *wanted,
			 struct ptrace_seen *out);

#endif
