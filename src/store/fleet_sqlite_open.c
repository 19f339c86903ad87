/* fleet_sqlite_open.c - a fleet's file made, held for writing, and left as one file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/target.h"

#define CHECKPOINT_PAGES \
	4096 /* 16 MB of -wal: pages written again and again reach the database once */
#define CLOSE_WAIT_MS 5
#define CLOSE_TRIES   20
#define BUSY_WAIT_MS  2000
/* FULL: what put() has acknowledged outlives a power cut; its batch may be gone from the spool a moment later. */
#define WRITER_PRAGMA                                                                       \
	"PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA temp_store=MEMORY;"   \
	"PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-16384; PRAGMA mmap_size=0;" \
	"PRAGMA trusted_schema=OFF; PRAGMA secure_delete=OFF;"

static int64_t wall_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

static int put_about(sqlite3 *db)
{
	char *sql =
		sqlite3_mprintf("INSERT INTO about (id, tare_version, made_wall_ns, payload_bytes, "
				"swept_wall_ns, cut_strs) VALUES (0, '%q', %lld, 0, 0, 0)",
				TARE_VERSION, (long long)wall_now_ns());
	int rc = sql == NULL ? SQLITE_NOMEM : sqlite_run(db, sql);

	sqlite3_free(sql);
	return rc;
}

/* Nobody sees this file yet: no journal, and one fsync at the end. */
static int write_schema(const struct target *t, struct err *err)
{
	SCOPED(sqlite_close_scoped) sqlite3 *db = NULL;
	int rc = sqlite_open_path(t->temporary, "mode=rw", NULL, &db);

	if (rc == SQLITE_OK)
		rc = sqlite_run(
			db,
			"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096;"
			"PRAGMA auto_vacuum=INCREMENTAL; BEGIN;");
	for (unsigned i = 0; i < fleet_schema_newest && rc == SQLITE_OK; i++)
		rc = sqlite_run(db, fleet_schema_files[i]);
	if (rc == SQLITE_OK)
		rc = put_about(db);
	if (rc == SQLITE_OK)
		rc = sqlite_run(db, "COMMIT");
	if (rc != SQLITE_OK)
		return sqlite_error(err, db, rc, "make", t->path);
	rc = sqlite3_close(db);
	db = NULL;
	if (rc != SQLITE_OK || fsync(t->fd) != 0)
		return sqlite_path_error(err, rc != SQLITE_OK ? -EIO : -errno, "make", t->path);
	return 0;
}

/* Makes the file; its descriptor is the lock. */
static int make_file(const char *path, int *out_fd, struct err *err)
{
	SCOPED(target_close) struct target t = TARGET_EMPTY;
	int rc = target_open(&t, path, false, err);

	if (rc == 0)
		rc = write_schema(&t, err);
	if (rc == 0)
		rc = target_publish(&t, false, err);
	if (rc != 0)
		return rc;
	*out_fd = scoped_take_fd(&t.fd);
	return 0;
}

static int is_busy(const char *path, pid_t holder, struct err *err)
{
	char pid[32] = "another process";

	if (holder > 0)
		snprintf(pid, sizeof(pid), "process %d", (int)holder);
	err_set(err, -EBUSY, "cannot write '%s': %s is collecting into it", path, pid);
	err_works(err,
		  "that collector goes on unharmed; `tare report` can read the store meanwhile");
	err_mend(err, "end that process, or give another `store` in the settings");
	return -EBUSY;
}

/* Locks the file that is there. */
static int lock_file(const char *path, const struct stat *st, int *out_fd, struct err *err)
{
	struct stat now;
	int fd;

	if (!S_ISREG(st->st_mode))
		return sqlite_path_error(err, S_ISDIR(st->st_mode) ? -EISDIR : -EBADMSG, "open",
					 path);
	/* A second descriptor of a file that this process writes would, when closed, drop SQLite's locks. */
	if (sqlite_lock_holder(st) == getpid())
		return is_busy(path, getpid(), err);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return sqlite_path_error(err, -errno, "open", path);
	if (sqlite_lock(fd) != 0) {
		close(fd);
		return is_busy(path, sqlite_lock_holder(st), err);
	}
	if (fstat(fd, &now) != 0 || now.st_ino != st->st_ino || now.st_dev != st->st_dev) {
		close(fd);
		return is_busy(path, 0, err);
	}
	*out_fd = fd;
	return 0;
}

static int hold_file(const char *path, int *out_fd, struct err *err)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return lock_file(path, &st, out_fd, err);
	if (errno != ENOENT)
		return sqlite_path_error(err, -errno, "open", path);
	return make_file(path, out_fd, err);
}

/* An older schema becomes the newest one, in one transaction. */
static int migrate(struct fleet_sqlite *f, unsigned version, struct err *err)
{
	int rc = version == fleet_schema_newest ? SQLITE_OK : sqlite_run(f->db, "BEGIN IMMEDIATE");

	if (version == fleet_schema_newest)
		return 0;
	for (unsigned i = version; i < fleet_schema_newest && rc == SQLITE_OK; i++)
		rc = sqlite_run(f->db, fleet_schema_files[i]);
	if (rc == SQLITE_OK)
		rc = sqlite_run(f->db, "COMMIT");
	if (rc == SQLITE_OK)
		return 0;
	fleet_fail(f, rc, "migrate", err);
	sqlite_run(f->db, "ROLLBACK");
	return err->code;
}

/* After each commit. -wal is played into the database when it is long enough; who reads just then is left alone. */
static int after_commit(void *store, sqlite3 *db, const char *name, int pages)
{
	struct fleet_sqlite *f = store;

	f->wal_pages = pages;
	if (pages >= CHECKPOINT_PAGES)
		sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

static int enter_wal(struct fleet_sqlite *f, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return fleet_fail(f, rc, "open", err);
	if (strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0)
		return 0;
	err_set(err, -EOPNOTSUPP, "cannot open '%s': the file system has no shared memory",
		f->path);
	err_mend(err, "give a `store` on a local disk in the settings");
	return -EOPNOTSUPP;
}

static int open_writer(struct fleet_sqlite *f, struct err *err)
{
	unsigned version = 0;
	int rc = sqlite_open_path(f->path, "mode=rw", NULL, &f->db);

	if (rc == SQLITE_OK)
		rc = sqlite3_extended_result_codes(f->db, 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(f->db, BUSY_WAIT_MS);
	if (rc == SQLITE_OK)
		rc = fleet_add_functions(f->db);
	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "open", err);
	rc = sqlite_check_kind(f->db, f->path, &sqlite_fleet_kind, &version, err);
	if (rc == 0) {
		rc = sqlite_run(f->db, "COMMIT");
		if (rc == SQLITE_OK)
			rc = sqlite_run(f->db, WRITER_PRAGMA);
		rc = rc == SQLITE_OK ? enter_wal(f, err) : fleet_fail(f, rc, "open", err);
	}
	if (rc == 0)
		rc = migrate(f, version, err);
	if (rc == 0)
		rc = fleet_load_horizons(f, err);
	sqlite3_wal_hook(f->db, after_commit, f);
	return rc;
}

static void fleet_free(struct fleet_sqlite **at)
{
	struct fleet_sqlite *f = *at;

	if (f == NULL)
		return;
	fleet_finalize(f);
	sqlite3_close(f->db);
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	free(f->path);
	free(f);
	*at = NULL;
}

int fleet_sqlite_open(const char *url, enum fleet_access access, void **out_db, struct err *err)
{
	SCOPED(fleet_free) struct fleet_sqlite *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (f != NULL)
		f->lock_fd = -1;
	if (f == NULL || (f->path = strdup(sqlite_path(url))) == NULL)
		return err_set(err, -ENOMEM, "cannot open '%s': out of memory", sqlite_path(url));
	if (access == FLEET_WRITE)
		rc = hold_file(f->path, &f->lock_fd, err);
	if (rc == 0)
		rc = access == FLEET_WRITE ? open_writer(f, err) : fleet_reader_open(f, err);
	if (rc != 0)
		return rc;
	*out_db = f;
	f = NULL;
	return 0;
}

/* Leaves one file that opens on read-only media too. A gain only: where it fails (a reader) the store is whole all the same. */
static void leave_one_file(struct fleet_sqlite *f)
{
	int rc = SQLITE_BUSY;

	sqlite3_busy_timeout(f->db, 0);
	for (int i = 0; i < CLOSE_TRIES && (rc & 0xff) == SQLITE_BUSY; i++) {
		if (i > 0)
			sqlite3_sleep(CLOSE_WAIT_MS);
		rc = sqlite3_wal_checkpoint_v2(f->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
					       NULL);
		if (rc == SQLITE_OK)
			rc = sqlite_run(f->db, "PRAGMA journal_mode=DELETE");
	}
}

void fleet_sqlite_close(void *db)
{
	struct fleet_sqlite *f = db;

	if (f == NULL)
		return;
	fleet_finalize(f);
	if (f->lock_fd >= 0)
		leave_one_file(f);
	fleet_free(&f);
}
