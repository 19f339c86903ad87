/* store.h - recordings on disk: one seam, for each engine the same rows (core/recording.h). */
#ifndef TARE_STORE_STORE_H
#define TARE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/profile.h"
#include "core/recording.h"

struct store_limits {
	uint64_t bytes;	    /* everything: database, -wal and -shm */
	bool may_overwrite; /* --force */
};

/* How a save went. */
struct store_saved {
	uint64_t bytes; /* on disk now: database, -wal and -shm */
	bool is_paused; /* a foreign reader sits: nothing was written, try again later; changes must be kept */
};

/* One database engine. Every member is required. `db` belongs to one thread. */
struct store_ops {
	const char *scheme; /* "sqlite" */
	/* Makes a new, empty recording and holds it for writing. A half-made one is never seen under its name. Room on
	 * the disk for all of it is taken now, where the file system can, so that a disk that fills up later ends nothing.
	 * -EEXIST: there is one and may_overwrite is false. -EBUSY: another process writes it; the message has its
	 * pid. -ENOSPC, -EACCES, -EROFS. */
	int (*create)(const char *url, const struct store_limits *limits, void **out_db,
		      struct err *err);
	/* Writes all changes and the label in one transaction, or nothing. -ENOSPC, -EFBIG, -EIO: the recording stays as
	 * it was at the last good save, and saving may be tried again: with what then differs from that save, each row
	 * once (what went and came back is a row, not a gone id). gone_contexts, slots_from and ledger_from are those of
	 * TASK_RUN; other tasks' rows go as a whole, by gone_tasks and cleared_tasks. -EFBIG needs SIGXFSZ to be ignored. Waits up to 0.2 s for our own readers. */
	int (*save)(void *db, const struct label *label, const struct changes *changes,
		    struct store_saved *out, struct err *err);
	/* Packs what fragmented, when no more rows will come: close() does it too, but then its cost is in no label. What
	 * cannot be packed (a reader sits) stays as it is. */
	void (*pack)(void *db);
	/* Ends writing; leaves one packed file (no -wal, no -shm) that opens on read-only media too. Waits up to 0.3 s for
	 * readers; who still sits then keeps -wal and -shm there. Takes 5 to 10 ms of CPU a MB. Accepts NULL. */
	void (*close)(void *db);
	/* Reads a whole recording, in one short transaction, and leaves nothing beside it. One whose writer was killed
	 * opens too, in a read-only folder as well. What is foreign is checked: -EBADMSG for what is no recording or is
	 * damaged (says what and where), -ENOTSUP for one that needs a newer tare (says which). */
	int (*load)(const char *url, struct recording *out, struct err *err);
	/* The largest limits of a profile that fit into `bytes` with `slots` slots. -ENOSPC: they do not fit; the
	 * message has the largest number of slots that does. */
	int (*fit)(uint64_t bytes, uint32_t slots, struct profile_limits *out, struct err *err);
	/* The same for a run with tasks: their rows take at most *out_room_bytes, tasks_settings.room_bytes. */
	int (*fit_tasks)(uint64_t bytes, uint32_t slots, struct profile_limits *out,
			 uint64_t *out_room_bytes, struct err *err);
	/* The same for a watch: what watchlist_settings.room_bytes may be, so that `bytes` hold for ever. -ENOSPC: under the
	 * smallest size for a watch, 1 MB. */
	int (*fit_watch)(uint64_t bytes, uint64_t *out_room_bytes, struct err *err);
};

extern const struct store_ops store_sqlite;

/* The engine for a URL or a plain path ("x.tare": SQLite). -EINVAL names the schemes there are. */
int store_find(const char *url, const struct store_ops **out, struct err *err);

#endif
