/* marks.h - the socket through which a job says what it works on: datagrams to $TARE_SOCKET, docs/tasks.md. Who sends is told by
 * the kernel, and is looked up while he still waits; whether he belongs to the job is for the caller to say. One thread. */
#ifndef TARE_CLI_MARKS_H
#define TARE_CLI_MARKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/frame.h"

#define MARKS_ENV	 "TARE_SOCKET"
#define MARKS_MOST_BYTES 1024u /* of a datagram; longer ones are refused */

/* A datagram in words. */
struct mark {
	bool is_end;	   /* else a task begins */
	bool is_of_parent; /* it is meant for the process that made the sender: `tare mark` */
	struct str name;   /* borrowed from the datagram; empty for an end */
};

/* "begin NAME", "end", and both behind "parent ": false for anything else, an empty name and one that holds a NUL too. A new line
 * at the end is left out. */
bool mark_parse(const char *bytes, size_t len, struct mark *out);

/* Writes the datagram of a mark. -ENAMETOOLONG. */
int mark_format(const struct mark *mark, char *out, size_t size, size_t *out_len);

/* An open socket. The empty value has descriptor -1. */
struct marks {
	int fd;
	bool is_shut; /* what comes is thrown away by the kernel */
	char folder[80], path[104];
};
#define MARKS_EMPTY ((struct marks){ .fd = -1 })

/* Makes a folder of our own (0700, in $XDG_RUNTIME_DIR, else /tmp) and the socket in it (0600). */
int marks_open(struct marks *m, struct err *err);

/* Takes away socket and folder. Accepts the empty value, and may run twice. */
void marks_close(struct marks *m);

/* One datagram that waits. */
struct marks_got {
	char bytes[MARKS_MOST_BYTES];
	size_t len; /* more than there is room for: it was longer */
	pid_t sender;
	int64_t sent_wall_ns; /* 0: not told */
};

/* Looks at the first datagram without taking it: its sender may leave only when it is taken. False: none waits. */
bool marks_peek(struct marks *m, struct marks_got *out);

/* Takes it. */
void marks_take(struct marks *m);

/* From now on the kernel throws away what comes, and tells the senders nothing: a flood costs nothing. Or no longer. */
void marks_shut(struct marks *m, bool is_shut);

/* Sends a mark to the socket in the environment, never waiting for room, and waits up to `wait_ms` until it was taken.
 * -ENOENT: there is no recorder: $TARE_SOCKET is not set, or nobody is there any more; -EAGAIN: too many at once; -EACCES. */
int marks_send(const struct mark *mark, unsigned wait_ms, struct err *err);

#endif
