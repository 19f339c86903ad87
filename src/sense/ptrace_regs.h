/* ptrace_regs.h - what a stopped thread's registers say, and what the kernel tells of one that waits. Pure. */
#ifndef TARE_SENSE_PTRACE_REGS_H
#define TARE_SENSE_PTRACE_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "sense/space.h"

/* Fills in regs and has_user; the rest of `out` stays. A 32-bit program's stack is not walked: has_user is false. */
void ptrace_regs_copy(const struct user_regs_struct *regs, struct stack_copy *out);

/* Did the stop find the thread inside a system call (or on its way out of one)? */
bool ptrace_regs_in_call(const struct user_regs_struct *regs);

/* Stopping a thread that was about to wait ends some calls with EINTR, which its program would not have seen without us. Such a
 * call has done nothing yet: true, and `regs` are changed so that the kernel begins it again, unless a signal that has a
 * handler is on its way, which then ends it with EINTR as it would have without us. */
bool ptrace_regs_undo_eintr(struct user_regs_struct *regs);

/* May the stop have ended a call that writes, after a part of it? Its program sees a short count, as after SIGSTOP and SIGCONT. That
 * cannot be mended without holding the thread until it is written. */
bool ptrace_regs_is_cut(const struct user_regs_struct *regs);

/* A thread in /proc/PID/task/TID/syscall. */
struct ptrace_place {
	bool is_running; /* on a CPU, or waiting for one: nothing else is known */
	uint64_t sp, pc; /* of user mode, where it waits */
};

/* Reads such a file's text. False: it is no such text. */
bool ptrace_place_parse(const char *text, struct ptrace_place *out);

#endif
