/* sqlite_read.c - opens a recording of unknown origin: read-only, confined, and compared with what we would have
 * written ourselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/schema.h"
#include "store/sqlite.h"

#define BUSY_WAIT_MS  1000
#define VERSION_BYTES 64

/* Nothing of ours needs more. */
static const struct {
	int limit, value;
} limits[] = {
	{ SQLITE_LIMIT_LENGTH, 1 << 20 },
	{ SQLITE_LIMIT_SQL_LENGTH, 1 << 16 },
	{ SQLITE_LIMIT_COLUMN, 256 },
	{ SQLITE_LIMIT_EXPR_DEPTH, 64 },
	{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },
	{ SQLITE_LIMIT_VDBE_OP, 20000 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 8 },
	{ SQLITE_LIMIT_ATTACHED, 0 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1 },
	{ SQLITE_LIMIT_VARIABLE_NUMBER, 256 },
	{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 },
};

static const struct {
	int option, value;
} options[] = {
	{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
	{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
	{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
	{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
	{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
	{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	{ SQLITE_DBCONFIG_DQS_DML, 0 },
	{ SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1 },
};

static int harden(sqlite3 *db)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(db, limits[i].limit, limits[i].value);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (sqlite3_db_config(db, options[i].option, options[i].value, (int *)NULL) !=
		    SQLITE_OK)
			return SQLITE_ERROR;
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_WAIT_MS);
	return sqlite_run(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;"
			      "PRAGMA temp_store=MEMORY;");
}

/* How a recording is opened, by what lies beside it. */
enum access_kind {
	ACCESS_ALONE, /* no -wal: nobody writes. SQLite then takes no lock and makes no file, so that a recording
			  opens on read-only media too, and is left alone */
	ACCESS_ORPHAN, /* -wal without -shm: copied from one that was killed. Nobody writes either, and SQLite keeps
			  its index of -wal in memory */
	ACCESS_SHARED, /* both: somebody may be writing */
};

static int look_beside(const char *path, enum access_kind *out)
{
	char *wal = sqlite_beside(path, WAL_SUFFIX), *shm = sqlite_beside(path, SHM_SUFFIX);
	int rc = wal != NULL && shm != NULL ? 0 : -ENOMEM;
	struct stat st;

	*out = ACCESS_ALONE;
	if (rc == 0 && stat(wal, &st) == 0) {
		if (access(shm, F_OK) == 0)
			*out = ACCESS_SHARED;
		else if (st.st_size > 0)
			*out = ACCESS_ORPHAN;
	}
	free(wal);
	free(shm);
	return rc;
}

static int open_by(const char *path, enum access_kind kind, sqlite3 **db)
{
	int rc;

	if (kind == ACCESS_SHARED)
		return sqlite_open_path(path, "mode=ro", NULL, db);
	if (kind == ACCESS_ALONE)
		return sqlite_open_path(path, "mode=ro&immutable=1", NULL, db);
	rc = sqlite_open_path(path, "mode=ro", "unix-none", db);
	return rc == SQLITE_OK ? sqlite_run(*db, "PRAGMA locking_mode=EXCLUSIVE") : rc;
}

static int is_regular(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return sqlite_path_error(err, -errno, "read", path);
	if (S_ISDIR(st.st_mode))
		return sqlite_path_error(err, -EISDIR, "read", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "cannot read '%s': it is no regular file", path);
	if (access(path, R_OK) != 0)
		return sqlite_path_error(err, -errno, "read", path);
	return 0;
}

int sqlite_open_hostile(const char *path, sqlite3 **out, bool *out_is_shared, struct err *err)
{
	SCOPED(sqlite_close_scoped) sqlite3 *db = NULL;
	enum access_kind kind;
	int rc = is_regular(path, err);

	if (rc != 0)
		return rc;
	rc = look_beside(path, &kind);
	if (rc != 0)
		return sqlite_path_error(err, rc, "read", path);
	rc = open_by(path, kind, &db);
	if (rc == SQLITE_OK)
		rc = harden(db);
	if (rc != SQLITE_OK)
		return sqlite_error(err, db, rc, "read", path);
	*out = db;
	*out_is_shared = kind == ACCESS_SHARED;
	db = NULL;
	return 0;
}

const struct sqlite_kind sqlite_recording_kind = {
	SCHEMA_APPLICATION_ID,
	schema_files,
	&schema_newest,
	"recording of tare",
	"SELECT tare_version FROM recording",
};

const struct sqlite_kind sqlite_fleet_kind = {
	FLEET_SCHEMA_APPLICATION_ID,
	fleet_schema_files,
	&fleet_schema_newest,
	"fleet's store of tare",
	"SELECT tare_version FROM about",
};

static int foreign(struct err *err, const char *path, const struct sqlite_kind *kind,
		   const char *why)
{
	err_set(err, -EBADMSG, "cannot read '%s': it is no %s: %s", path, kind->word, why);
	return -EBADMSG;
}

/* A first failed access: not SQLite at all, or -wal cannot be read here. */
static int cannot_begin(struct err *err, sqlite3 *db, int rc, const char *path,
			const struct sqlite_kind *kind)
{
	if ((rc & 0xff) == SQLITE_NOTADB)
		return foreign(err, path, kind, "it is no SQLite database");
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) {
		err_set(err, -EACCES,
			"cannot read '%s': its -wal needs a folder that can be written to", path);
		err_mend(err, "copy the file and its -wal to a folder of yours, and read it there");
		return -EACCES;
	}
	return sqlite_error(err, db, rc, "read", path);
}

static int ask_number(sqlite3 *db, const char *sql, int64_t *out)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE || rc == SQLITE_OK ? SQLITE_EMPTY : rc;
	*out = sqlite3_column_int64(stmt, 0);
	return SQLITE_OK;
}

/* A newer schema says which tare wrote it, if it still has that column. */
static int too_new(struct err *err, sqlite3 *db, const char *path, const struct sqlite_kind *kind,
		   int64_t version)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	char needs[VERSION_BYTES] = "";

	if (kind == &sqlite_recording_kind)
		sqlite_confine(db);
	if (sqlite3_prepare_v2(db, kind->about_sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_TEXT) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (text != NULL && strspn(text, "0123456789.") == strlen(text))
			snprintf(needs, sizeof(needs), "%s", text);
	}
	if (needs[0] != '\0')
		err_set(err, -ENOTSUP, "cannot read '%s': needs tare >= %s, this is tare %s", path,
			needs, TARE_VERSION);
	else
		err_set(err, -ENOTSUP,
			"cannot read '%s': needs a newer tare than %s, its schema has version %lld",
			path, TARE_VERSION, (long long)version);
	err_mend(err, "install that version of tare");
	return -ENOTSUP;
}

#define SCHEMA_SQL "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name LIMIT 64"

static bool is_same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
	const char *left = (const char *)sqlite3_column_text(a, column);
	const char *right = (const char *)sqlite3_column_text(b, column);

	if (left == NULL || right == NULL)
		return left == right;
	return strcmp(left, right) == 0;
}

/* A text that SQLite had no memory for is no difference. */
static bool is_out_of_memory(sqlite3 *db)
{
	return (sqlite3_errcode(db) & 0xff) == SQLITE_NOMEM;
}

/* Row by row the same as in a database that we have just made in memory. */
static int compare_schema(sqlite3 *db, sqlite3 *ours, const char *path,
			  const struct sqlite_kind *kind, struct err *err)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *theirs_stmt = NULL;
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *ours_stmt = NULL;
	int rc = sqlite3_prepare_v2(db, SCHEMA_SQL, -1, &theirs_stmt, NULL);
	int has_theirs, has_ours = sqlite3_prepare_v2(ours, SCHEMA_SQL, -1, &ours_stmt, NULL);
	bool is_same;

	if (rc != SQLITE_OK)
		return sqlite_error(err, db, rc, "read", path);
	if (has_ours != SQLITE_OK)
		return sqlite_error(err, ours, has_ours, "read", path);
	do {
		has_theirs = sqlite3_step(theirs_stmt);
		has_ours = sqlite3_step(ours_stmt);
		if (has_theirs != SQLITE_ROW && has_theirs != SQLITE_DONE)
			return sqlite_error(err, db, has_theirs, "read", path);
		if (has_ours != SQLITE_ROW && has_ours != SQLITE_DONE)
			return sqlite_error(err, ours, has_ours, "read", path);
		is_same = has_theirs == has_ours;
		for (int i = 0; i < 4 && is_same && has_ours == SQLITE_ROW; i++)
			is_same = is_same_text(theirs_stmt, ours_stmt, i);
		if (!is_same && (is_out_of_memory(db) || is_out_of_memory(ours)))
			return sqlite_path_error(err, -ENOMEM, "read", path);
		if (!is_same)
			return foreign(err, path, kind, "its tables are not those of one");
	} while (has_ours == SQLITE_ROW);
	return 0;
}

static int check_schema(sqlite3 *db, const char *path, const struct sqlite_kind *kind,
			unsigned version, struct err *err)
{
	SCOPED(sqlite_close_scoped) sqlite3 *ours = NULL;
	int rc = sqlite3_open_v2(":memory:", &ours,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				 NULL);

	for (unsigned i = 0; i < version && rc == SQLITE_OK; i++)
		rc = sqlite_run(ours, kind->files[i]);
	if (rc != SQLITE_OK)
		return sqlite_error(err, ours, rc, "read", path);
	return compare_schema(db, ours, path, kind, err);
}

int sqlite_check_kind(sqlite3 *db, const char *path, const struct sqlite_kind *kind,
		      unsigned *out_version, struct err *err)
{
	int64_t application = 0, version = 0;
	int rc = sqlite_run(db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = ask_number(db, "PRAGMA application_id", &application);
	if (rc == SQLITE_OK)
		rc = ask_number(db, "PRAGMA user_version", &version);
	if (rc != SQLITE_OK)
		return cannot_begin(err, db, rc, path, kind);
	if (application != kind->application_id)
		return foreign(err, path, kind, "it is a database of another program");
	if (version > (int64_t)*kind->newest)
		return too_new(err, db, path, kind, version);
	if (version < 1)
		return foreign(err, path, kind, "it has no schema version");
	*out_version = (unsigned)version;
	return check_schema(db, path, kind, (unsigned)version, err);
}

int sqlite_check_identity(sqlite3 *db, const char *path, unsigned *out_version, struct err *err)
{
	return sqlite_check_kind(db, path, &sqlite_recording_kind, out_version, err);
}

static int may(void *unused, int action, const char *table, const char *column,
	       const char *database, const char *trigger)
{
	(void)unused;
	(void)column;
	(void)database;
	if (trigger != NULL)
		return SQLITE_DENY;
	if (action == SQLITE_SELECT || action == SQLITE_TRANSACTION)
		return SQLITE_OK;
	if (action != SQLITE_READ || table == NULL)
		return SQLITE_DENY;
	for (size_t i = 0; i < table_count; i++)
		if (strcmp(tables[i]->name, table) == 0)
			return SQLITE_OK;
	return SQLITE_DENY;
}

void sqlite_confine(sqlite3 *db)
{
	sqlite3_set_authorizer(db, may, NULL);
}

pid_t sqlite_label_pid(const char *path)
{
	SCOPED(sqlite_close_scoped) sqlite3 *db = NULL;
	bool is_shared;
	unsigned version;
	int64_t pid = 0;

	if (sqlite_open_hostile(path, &db, &is_shared, NULL) != 0 ||
	    sqlite_check_identity(db, path, &version, NULL) != 0)
		return 0;
	sqlite_confine(db);
	if (ask_number(db, "SELECT writer_pid FROM recording", &pid) != SQLITE_OK)
		return 0;
	return pid > 0 && pid < INT32_MAX ? (pid_t)pid : 0;
}
