/* remote.h - reads another process's memory through a child of ours that can be killed: where that memory lies behind FUSE or
 * userfaultfd, a read may never come back. One thread. */
#ifndef TARE_SENSE_REMOTE_H
#define TARE_SENSE_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REMOTE_MOST_BYTES  16384u
#define REMOTE_PATIENCE_MS 100 /* then the child is killed */
#define REMOTE_AVOID_S	   60u /* and the process not read for so long */

struct remote; /* opaque */

/* Starts the child. -ENOMEM, -EAGAIN. */
int remote_open(struct remote **out);

/* Accepts NULL. */
void remote_close(struct remote *r);

/* Reads up to `bytes` (at most REMOTE_MOST_BYTES) from `at` upward; returns how many could be read, which ends at the first
 * page that is not there. 0: none, not allowed, or the process is avoided. */
size_t remote_read(struct remote *r, pid_t pid, uint64_t at, void *out, size_t bytes);

#endif
