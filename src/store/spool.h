/* spool.h - batches that wait on a disk while a fleet's store is away: a bounded folder of segment files, the oldest first. What was
 * acknowledged survives kill -9; each batch may come twice out of it, and the store writes it once by its (server, cycle).
 * One thread. */
#ifndef TARE_STORE_SPOOL_H
#define TARE_STORE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/fleet_batch.h"

#define SPOOL_BYTES_DEFAULT (UINT64_C(256) << 20)
#define SPOOL_BYTES_LEAST   (UINT64_C(1) << 20)

struct spool; /* opaque */

/* How it stands. */
struct spool_state {
	uint64_t batches, bytes; /* that wait; bytes of all segments on the disk */
	uint64_t limit_bytes;
	/* Since it was opened: */
	uint64_t refused_batches, refused_rows; /* there was no room: these are lost */
	uint64_t
		torn_bytes; /* at the end of a segment whose writer was killed in the middle of a write: never acknowledged */
	uint64_t
		bad_batches; /* whose CRC is another, or that are no batch: left out, these are lost */
};

/* Opens the folder, makes it (mode 0700) when there is none, and holds it. What waits there is found again. -EBUSY: another
 * process holds it; -EPERM: it is another user's, or others may write there; -EINVAL: under SPOOL_BYTES_LEAST. */
int spool_open(const char *folder, uint64_t limit_bytes, struct spool **out, struct err *err);

/* Leaves what waits where it is. Accepts NULL. */
void spool_close(struct spool *s);

/* Appends a batch. 0: it is written, and survives the end of this process. -ENOSPC: the spool or the disk is full; -EIO and
 * others: it could not be written. Not 0: it is refused and counted, and the spool is as it was. */
int spool_add(struct spool *s, const struct fleet_batch *b, struct err *err);

/* Makes what was added durable against a power cut; once for many batches. */
int spool_sync(struct spool *s, struct err *err);

/* The next batch in the order they were added, owned by the caller; *out_has false: all were given. What cannot be read is left out and
 * counted. */
int spool_next(struct spool *s, struct fleet_batch *out, bool *out_has, struct err *err);

/* All batches given so far are in the store: they go. A segment that can not be removed comes again after a restart, which does no
 * harm. */
void spool_done(struct spool *s);

/* They are not: the next one is again the first of those that were given since spool_done(). */
void spool_again(struct spool *s);

/* A copy. */
struct spool_state spool_state(const struct spool *s);

#endif
