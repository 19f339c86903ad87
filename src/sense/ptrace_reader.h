/* ptrace_reader.h - copies memory of a watched process in a child of ours that can be killed. Memory that others answer for (FUSE,
 * userfaultfd) may never come, and a call that waits for it heeds no signal but SIGKILL: whoever reads it is at the target's
 * mercy. One thread at a time. */
#ifndef TARE_SENSE_PTRACE_READER_H
#define TARE_SENSE_PTRACE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/units.h"

#define PTRACE_READER_BYTES 65536u
#define PTRACE_READER_NS    (100 * NS_PER_MS) /* as long as that an answer is waited for */

struct ptrace_reader; /* opaque */

/* No child yet. -ENOMEM. */
int ptrace_reader_open(struct ptrace_reader **out, struct err *err);

/* Kills the child. Accepts NULL. */
void ptrace_reader_close(struct ptrace_reader *r);

/* Makes sure that there is a child that answers; a stuck one is killed. It ends with the thread that calls this. -errno. */
int ptrace_reader_start(struct ptrace_reader *r);

/* Copies up to `len` (at most PTRACE_READER_BYTES) bytes from `address` upward through `mem_fd`, an open /proc/PID/mem. Returns how
 * many: less where nothing is mapped behind them; 0 where the process has ended or executes another program than when it was
 * opened. -ETIMEDOUT: no answer in time, and the next start() kills the child. Other -errno: nothing is mapped there. */
ssize_t ptrace_reader_copy(struct ptrace_reader *r, int mem_fd, uint64_t address, size_t len);

/* What was copied last; valid until the next copy. */
const uint8_t *ptrace_reader_bytes(const struct ptrace_reader *r);

/* CPU time of the child and of those before it; of the child alone. */
uint64_t ptrace_reader_spent_ns(const struct ptrace_reader *r);
uint64_t ptrace_reader_live_ns(const struct ptrace_reader *r);

/* How often memory did not answer in time, which costs a child its life. */
uint64_t ptrace_reader_killed(const struct ptrace_reader *r);

#endif
