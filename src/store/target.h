/* target.h - the place a new file goes to, a recording or a page: who is there already, a temporary file beside it, and its
 * final name at once. */
#ifndef TARE_STORE_TARGET_H
#define TARE_STORE_TARGET_H

#include <stdbool.h>

#include "core/err.h"

struct target {
	const char *path; /* borrowed: the final name */
	char *folder;	  /* owned */
	char *temporary;  /* owned: in the same folder; NULL once it bears its final name */
	int fd;		  /* the new file, flocked */
	int old_fd;	  /* the file that will be replaced, flocked; -1: none */
};

#define TARGET_EMPTY ((struct target){ .fd = -1, .old_fd = -1 })

/* Looks at `path` and makes an empty file, mode 0600, beside it, locked for writing. -EEXIST: there is one and
 * `may_overwrite` is false; -EBUSY: a live writer holds it, the message has its pid; -EISDIR and other causes in
 * their own words. */
int target_open(struct target *out, const char *path, bool may_overwrite, struct err *err);

/* Gives the file its final name and makes that durable. Left-over -wal, -shm and -journal of an earlier file are
 * removed first, after that file: SQLite would play them into the new one. -EEXIST: another was faster. */
int target_publish(struct target *t, bool may_overwrite, struct err *err);

/* Removes a recording of ours that could not be opened for writing after all, and what lies beside it. */
void target_remove(const char *path);

/* Removes the temporary file, if there still is one, and closes. Accepts the empty value, and may run twice. */
void target_close(struct target *t);

#endif
