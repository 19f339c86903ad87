/* sqlite.h - the parts of the SQLite engine that its files share. Internal to store. */
#ifndef TARE_STORE_SQLITE_H
#define TARE_STORE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <sqlite3.h>

#include "core/err.h"
#include "core/fields.h"
#include "store/budget.h"
#include "store/cap.h"
#include "store/store.h"

/* Statements of a writer. */
enum writer_stmt {
	PUT_LABEL,
	PUT_NODE,
	PUT_FRAME,
	PUT_SLOT,
	PUT_CONTEXT,
	PUT_LEDGER,
	PUT_WATCH,
	PUT_WATCHED,
	PUT_WINDOW,
	PUT_SLOW_FRAME,
	PUT_SLOW_PART,
	PUT_TASK,
	PUT_TASK_NAME,
	DROP_NODE,
	DROP_FRAME,
	DROP_CONTEXT,
	CUT_SLOTS,
	CUT_LEDGER,
	DROP_SLOW_FRAME,
	DROP_SLOW_PARTS,
	CLEAR_WINDOWS,
	DROP_TASK,
	CLEAR_TASK_SLOTS,
	CLEAR_TASK_CONTEXTS,
	BEGIN,
	COMMIT,
	ROLLBACK,
	WRITER_STMTS,
};

/* A recording held for writing. */
struct sqlite_writer {
	sqlite3 *db;
	struct cap *cap;
	int lock_fd; /* of the database file, flocked. Closed last: closing it drops SQLite's own locks */
	struct budget budget;
	bool is_reserved; /* the room on disk was taken at the start */
	bool is_paused;	  /* the last save was: nobody is waited for */
	bool is_packed;	  /* nothing fragmented since */
	sqlite3_stmt *stmts[WRITER_STMTS];
};

/* Suffixes of the files beside a database. */
#define WAL_SUFFIX     "-wal"
#define SHM_SUFFIX     "-shm"
#define JOURNAL_SUFFIX "-journal"

/* The path in a URL of this engine: "sqlite://x.tare" or "x.tare". Borrowed from `url`. */
const char *sqlite_path(const char *url);

/* path + suffix, owned by the caller; NULL: out of memory. */
char *sqlite_beside(const char *path, const char *suffix);

/* Opens by a URI that means exactly this path, whatever its bytes; `query` is "mode=ro" or the like. `vfs` may be
 * NULL. Returns SQLite's code; *out is to be closed in any case. */
int sqlite_open_path(const char *path, const char *query, const char *vfs, sqlite3 **out);

/* Runs SQL without results. Returns SQLite's code. */
int sqlite_run(sqlite3 *db, const char *sql);

/* Cleanup of scoped handles. Both accept a pointer to NULL. */
void sqlite_close_scoped(sqlite3 **db);
void sqlite_finalize_scoped(sqlite3_stmt **stmt);

/* Describes SQLite's failure `rc` of `db`; `what` is "save", "read" or the like. Returns the negative errno. */
int sqlite_error(struct err *err, sqlite3 *db, int rc, const char *what, const char *path);

/* Describes a failed system call on a recording's path or folder, `code` being a negative errno. Returns `code`. */
int sqlite_path_error(struct err *err, int code, const char *what, const char *path);

/* Takes the writer's lock on an open database file. 0, or -EBUSY. */
int sqlite_lock(int fd);

/* The process that holds the writer's lock on this file, by /proc/locks; 0: nobody that can be seen. */
pid_t sqlite_lock_holder(const struct stat *st);

/* Like a load, but only the label's writer_pid; 0: not known. */
pid_t sqlite_label_pid(const char *path);

/* store_ops of this engine. */
int sqlite_create(const char *url, const struct store_limits *limits, void **out_db,
		  struct err *err);
int sqlite_save(void *db, const struct label *label, const struct changes *changes,
		struct store_saved *out, struct err *err);
void sqlite_pack(void *db);
void sqlite_close(void *db);
int sqlite_load(const char *url, struct recording *out, struct err *err);

/* Prepares the statements of a writer. */
int sqlite_prepare_writer(struct sqlite_writer *w, struct err *err);

/* Ends the statements of a writer. */
void sqlite_finalize_writer(struct sqlite_writer *w);

/* Busy handler of a writer: our own readers are waited for, up to a fifth of a second. */
int sqlite_wait_for_others(void *writer, int tries);

/* Takes the room that -wal may need, when it is there. 0, -ENOSPC and the like; nothing on file systems that cannot. */
int sqlite_reserve_wal(struct sqlite_writer *w);

/* A recording opened for reading: hostile until it is checked. *out_is_shared: with SQLite's locks, since somebody may
 * be writing it; else without. */
int sqlite_open_hostile(const char *path, sqlite3 **out, bool *out_is_shared, struct err *err);

/* A kind of file of ours. */
struct sqlite_kind {
	int64_t application_id;
	const char *const *files; /* its schema, by number */
	const unsigned *newest;
	const char *word;      /* "recording of tare" */
	const char *about_sql; /* which tare wrote it */
};

extern const struct sqlite_kind sqlite_recording_kind, sqlite_fleet_kind;

/* Begins a transaction and checks that this is a file of that kind, of a version we know, table by table; says which. */
int sqlite_check_kind(sqlite3 *db, const char *path, const struct sqlite_kind *kind,
		      unsigned *out_version, struct err *err);

/* The same for a recording. */
int sqlite_check_identity(sqlite3 *db, const char *path, unsigned *out_version, struct err *err);

/* From here on nothing but reading our tables is possible. */
void sqlite_confine(sqlite3 *db);

#endif
