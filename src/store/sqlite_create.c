/* sqlite_create.c - a new recording, and the end of writing one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/target.h"

#define MIN_PAGES     24u
#define SMALL_PAGES   32
#define CLOSE_WAIT_MS 5
#define CLOSE_TRIES   50
/* FULL while a rollback journal is in use, to enter -wal and to leave it: with NORMAL a power cut may leave a journal that
 * counts pages it does not hold, and SQLite would play rubbish into the database. */
#define WRITER_PRAGMA                                                                         \
	"PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=-1;" \
	"PRAGMA cache_spill=OFF; PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF;"         \
	"PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF;"

static int64_t wall_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec;
}

/* The label of a recording that was never saved: cut off at its start. */
static int put_first_label(sqlite3 *db, const struct store_limits *limits, struct err *err)
{
	const struct label label = {
		.tare_version = STR_LITERAL(TARE_VERSION),
		.started_wall_ns = wall_now_ns(),
		.saved_wall_ns = wall_now_ns(),
		.exit_status = -1,
		.size_limit_bytes = limits->bytes,
		.pid = NO_ID,
		.writer_pid = (uint32_t)getpid(),
	};
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	struct sqlite_writer w = { .db = db };
	int rc = sqlite_prepare_writer(&w, err);

	if (rc == 0) {
		stmt = w.stmts[PUT_LABEL];
		w.stmts[PUT_LABEL] = NULL;
		rc = rows_bind(stmt, &table_recording, &label, err);
	}
	if (rc == 0 && sqlite3_step(stmt) != SQLITE_DONE)
		rc = sqlite_error(err, db, sqlite3_extended_errcode(db), "make", "");
	sqlite_finalize_writer(&w);
	return rc;
}

static int write_schema(const struct target *t, const struct store_limits *limits, struct err *err)
{
	SCOPED(sqlite_close_scoped) sqlite3 *db = NULL;
	int rc = sqlite_open_path(t->temporary, "mode=rw", NULL, &db);

	/* Nobody sees this file yet: no journal, and one fsync at the end. */
	if (rc == SQLITE_OK)
		rc = sqlite_run(db, "PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE;"
				    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;");
	for (unsigned i = 0; i < schema_newest && rc == SQLITE_OK; i++)
		rc = sqlite_run(db, schema_files[i]);
	if (rc == SQLITE_OK)
		rc = sqlite_run(db, "COMMIT");
	if (rc != SQLITE_OK)
		return sqlite_error(err, db, rc, "make", t->path);
	rc = put_first_label(db, limits, err);
	if (rc != 0)
		return rc;
	rc = sqlite3_close(db);
	db = NULL;
	if (rc != SQLITE_OK || fsync(t->fd) != 0)
		return sqlite_path_error(err, rc != SQLITE_OK ? -EIO : -errno, "make", t->path);
	return 0;
}

/* Takes room on the disk for everything, so that a disk that fills up later does not end the recording. First all
 * of it, to know; then only the database's part stays with this file. */
static int reserve(const struct target *t, const struct budget *b, bool *out_reserved,
		   struct err *err)
{
	off_t database = (off_t)b->pages * BUDGET_PAGE_BYTES;
	off_t all = database + (off_t)b->wal_bytes + (off_t)b->shm_bytes;
	struct stat st;

	if (fallocate(t->fd, FALLOC_FL_KEEP_SIZE, 0, all) != 0) {
		if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
			return sqlite_path_error(err, -errno, "make", t->path);
		*out_reserved = false;
		return 0;
	}
	if (fstat(t->fd, &st) != 0 || ftruncate(t->fd, st.st_size) != 0 ||
	    fallocate(t->fd, 0, 0, database) != 0 || fsync(t->fd) != 0)
		return sqlite_path_error(err, -errno, "make", t->path);
	*out_reserved = true;
	return 0;
}

int sqlite_reserve_wal(struct sqlite_writer *w)
{
	const char *name = sqlite3_filename_wal(sqlite3_db_filename(w->db, "main"));
	int fd, rc = 0;

	if (!w->is_reserved)
		return 0;
	fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)w->budget.wal_bytes) != 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The first transaction makes -wal and -shm; after a disk's error SQLite may say "wal", and there is none. */
static int begin_wal(struct sqlite_writer *w, const char *path, struct err *err)
{
	const char *wal = sqlite3_filename_wal(sqlite3_db_filename(w->db, "main"));
	int rc = sqlite_run(w->db, "BEGIN IMMEDIATE; COMMIT; PRAGMA synchronous=NORMAL");

	if (rc != SQLITE_OK)
		return sqlite_error(err, w->db, rc, "make", path);
	if (access(wal, F_OK) == 0)
		return 0;
	rc = w->cap->os_error > 0 ? w->cap->os_error : EIO;
	return sqlite_path_error(err, -rc, "make", path);
}

/* Sets -wal up; SQLite says no where a file system has no shared memory. */
static int enter_wal(struct sqlite_writer *w, const char *path, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(w->db, "PRAGMA journal_mode=WAL", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return sqlite_error(err, w->db, rc, "make", path);
	if (strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0) {
		sqlite3_reset(stmt);
		return begin_wal(w, path, err);
	}
	err_set(err, -EOPNOTSUPP, "cannot make '%s': the file system has no shared memory", path);
	err_mend(err, "choose a local folder with -o");
	return -EOPNOTSUPP;
}

static int open_writer(struct sqlite_writer *w, const char *path, struct err *err)
{
	char *pages;
	int rc = cap_open(w->budget.wal_bytes, &w->cap);

	if (rc != 0)
		return sqlite_path_error(err, rc, "make", path);
	rc = sqlite_open_path(path, "mode=rw", w->cap->name, &w->db);
	if (rc == SQLITE_OK)
		rc = sqlite3_extended_result_codes(w->db, 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_handler(w->db, sqlite_wait_for_others, w);
	pages = rc == SQLITE_OK ? sqlite3_mprintf("PRAGMA max_page_count=%u", w->budget.pages)
				: NULL;
	if (rc == SQLITE_OK)
		rc = pages == NULL ? SQLITE_NOMEM : sqlite_run(w->db, pages);
	sqlite3_free(pages);
	if (rc == SQLITE_OK)
		rc = sqlite_run(w->db, WRITER_PRAGMA);
	if (rc != SQLITE_OK)
		return sqlite_error(err, w->db, rc, "make", path);
	return enter_wal(w, path, err);
}

/* What comes after -wal exists: its room, the database's room, and the statements. */
static int furnish_writer(struct sqlite_writer *w, const char *path, struct err *err)
{
	int database = (int)(w->budget.pages * BUDGET_PAGE_BYTES);
	int rc = sqlite_reserve_wal(w);

	if (rc != 0)
		return sqlite_path_error(err, rc, "make", path);
	/* With its size as the chunk SQLite never gives the database's room back, not when it packs either. */
	if (w->is_reserved && w->budget.pages <= INT32_MAX / BUDGET_PAGE_BYTES)
		sqlite3_file_control(w->db, "main", SQLITE_FCNTL_CHUNK_SIZE, &database);
	return sqlite_prepare_writer(w, err);
}

/* `abandoned`: the path of a recording that must not stay; it goes while it is still locked. May be NULL. */
static void writer_free(struct sqlite_writer *w, const char *abandoned)
{
	sqlite_finalize_writer(w);
	sqlite3_close(w->db);
	cap_close(w->cap);
	if (abandoned != NULL)
		target_remove(abandoned);
	close(w->lock_fd);
	free(w);
}

int sqlite_create(const char *url, const struct store_limits *limits, void **out_db,
		  struct err *err)
{
	SCOPED(target_close) struct target t = TARGET_EMPTY;
	const char *path = sqlite_path(url);
	struct budget budget = budget_of(limits->bytes);
	struct sqlite_writer *w;
	bool is_reserved = false;
	int rc;

	if (budget.pages < MIN_PAGES)
		return err_set(err, -ENOSPC, "cannot make '%s' with at most %llu bytes", path,
			       (unsigned long long)limits->bytes);
	w = calloc(1, sizeof(*w)); /* first: what is published stays */
	if (w == NULL)
		return sqlite_path_error(err, -ENOMEM, "make", path);
	rc = target_open(&t, path, limits->may_overwrite, err);
	if (rc == 0)
		rc = write_schema(&t, limits, err);
	if (rc == 0)
		rc = reserve(&t, &budget, &is_reserved, err);
	if (rc == 0)
		rc = target_publish(&t, limits->may_overwrite, err);
	if (rc != 0) {
		free(w);
		return rc;
	}
	*w = (struct sqlite_writer){ .lock_fd = t.fd,
				     .budget = budget,
				     .is_reserved = is_reserved };
	t.fd = -1;
	rc = open_writer(w, path, err);
	if (rc == 0)
		rc = furnish_writer(w, path, err);
	if (rc != 0) {
		writer_free(w, path);
		return rc;
	}
	*out_db = w;
	return 0;
}

static bool is_held(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

/* -1: not known. */
static int ask_number(sqlite3 *db, const char *sql)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	return rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int(stmt, 0)
								   : -1;
}

/* A small file from which nothing went is its tables' first pages: packing it would cost more than all else at the end. */
static bool is_as_if_packed(sqlite3 *db)
{
	int pages = ask_number(db, "PRAGMA page_count");

	return pages > 0 && pages <= SMALL_PAGES && ask_number(db, "PRAGMA freelist_count") == 0;
}

void sqlite_pack(void *db)
{
	struct sqlite_writer *w = db;
	int chunk = 0;

	w->is_paused = true; /* no more waiting than at the end */
	w->is_packed = is_as_if_packed(w->db) || sqlite_run(w->db, "VACUUM") == SQLITE_OK;
	/* The next checkpoint cuts the file to its pages. */
	sqlite3_file_control(w->db, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
}

/* Room that was reserved behind the last page, where packing did not give it back already. */
static void cut_to_pages(const struct sqlite_writer *w)
{
	off_t bytes = (off_t)ask_number(w->db, "PRAGMA page_count") * BUDGET_PAGE_BYTES;
	struct stat st;

	if (bytes > 0 && fstat(w->lock_fd, &st) == 0 && st.st_size > bytes &&
	    ftruncate(w->lock_fd, bytes) == 0)
		fsync(w->lock_fd);
}

/* Packs what fragmented, gives reserved room back, and leaves one file that opens on read-only media. Each step is
 * a gain only: where one fails (a reader, a full disk) the recording is whole all the same. */
static void leave_one_file(struct sqlite_writer *w)
{
	int rc = SQLITE_BUSY;

	if (!w->is_packed)
		sqlite_pack(w);
	for (int i = 0; i < CLOSE_TRIES && is_held(rc); i++) {
		if (i > 0)
			sqlite3_sleep(CLOSE_WAIT_MS);
		rc = sqlite3_wal_checkpoint_v2(w->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
					       NULL);
		if (rc == SQLITE_OK)
			rc = sqlite_run(w->db, "PRAGMA synchronous=FULL;"
					       "PRAGMA journal_mode=DELETE");
	}
	if (rc == SQLITE_OK)
		cut_to_pages(w);
}

void sqlite_close(void *db)
{
	if (db == NULL)
		return;
	sqlite_finalize_writer(db);
	leave_one_file(db);
	writer_free(db, NULL);
}
