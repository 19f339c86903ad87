/* fleet_sqlite.c - a fleet's store in one SQLite file: its row in the table of engines, and what its files share. */
#include "store/fleet_sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/scoped.h"
#include "store/sqlite.h"

const struct fleet_store_ops fleet_store_sqlite = {
	.scheme = "sqlite",
	.open = fleet_sqlite_open,
	.put = fleet_sqlite_put,
	.enrol = fleet_sqlite_enrol,
	.take_place = fleet_sqlite_take_place,
	.scan = fleet_sqlite_scan,
	.tidy = fleet_sqlite_tidy,
	.size = fleet_sqlite_size,
	.close = fleet_sqlite_close,
};

/* What to do about it, where the words for a recording do not fit. */
static const struct {
	int code;
	const char *mend;
} mends[] = {
	{ -ENOSPC, "free space there, or give another `store` in the settings" },
	{ -EDQUOT, "free space of yours there, or give another `store` in the settings" },
	{ -EFBIG, "raise `ulimit -f`" },
	{ -EACCES, "give the collector's user the right to write there" },
	{ -EPERM, "give another `store` in the settings" },
	{ -EROFS, "give another `store` in the settings" },
	{ -ENAMETOOLONG, "a shorter name: -wal is added to it" },
	{ -EBUSY, "wait for that process, or end it" },
};

int fleet_fail(const struct fleet_sqlite *f, int rc, const char *what, struct err *err)
{
	int code = sqlite_error(err, f->db, rc, what, f->path);

	for (size_t i = 0; i < ARRAY_LEN(mends); i++)
		if (mends[i].code == code)
			err_mend(err, "%s", mends[i].mend);
	if (f->lock_fd >= 0)
		err_works(err,
			  "the store is as it was; what was to be written can be written later");
	return code;
}

int fleet_step(struct fleet_sqlite *f, sqlite3_stmt *stmt, const char *what, struct err *err)
{
	int rc = sqlite3_step(stmt);

	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : sqlite3_extended_errcode(f->db);
	if (rc != SQLITE_OK)
		fleet_fail(f, rc, what, err);
	sqlite3_reset(stmt);
	return rc == SQLITE_OK ? 0 : err->code;
}

static int run(struct fleet_sqlite *f, enum fleet_stmt which, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, which, err);

	return stmt == NULL ? err->code : fleet_step(f, stmt, "write", err);
}

int fleet_begin(struct fleet_sqlite *f, struct err *err)
{
	return run(f, FLEET_BEGIN, err);
}

int fleet_commit(struct fleet_sqlite *f, struct err *err)
{
	int rc = run(f, FLEET_COMMIT, err);

	if (rc != 0)
		fleet_rollback(f);
	return rc;
}

void fleet_rollback(struct fleet_sqlite *f)
{
	struct err unused = ERR_EMPTY;

	if (!sqlite3_get_autocommit(f->db))
		run(f, FLEET_ROLLBACK, &unused);
}

int fleet_mark(struct fleet_sqlite *f, int level, int64_t at_ns, size_t place, uint32_t server,
	       struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_MARK, err);

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int(stmt, 1, level);
	sqlite3_bind_int64(stmt, 2,
			   fleet_floor_ns(at_ns, level == 1 ? FLEET_HOUR_NS : FLEET_DAY_NS));
	sqlite3_bind_text(stmt, 3, fleet_tables[place].table->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, server);
	return fleet_step(f, stmt, "write", err);
}

int fleet_load_horizons(struct fleet_sqlite *f, struct err *err)
{
	static const char sql[] = "SELECT name, before_wall_ns, gone_wall_ns FROM horizon";
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "read", err);
	for (size_t i = 0; i < FLEET_TABLES_MOST; i++)
		f->horizons[i] = (struct horizon){ INT64_MIN, INT64_MIN };
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct fleet_table *t =
			fleet_table_find((const char *)sqlite3_column_text(stmt, 0),
					 (size_t)sqlite3_column_bytes(stmt, 0));

		if (t != NULL)
			f->horizons[t - fleet_tables] =
				(struct horizon){ sqlite3_column_int64(stmt, 1),
						  sqlite3_column_int64(stmt, 2) };
	}
	return rc == SQLITE_DONE ? 0 : fleet_fail(f, rc, "read", err);
}

static uint64_t size_of(const char *path, const char *suffix)
{
	char *name = sqlite_beside(path, suffix);
	uint64_t bytes = 0;
	struct stat st;

	if (name != NULL && stat(name, &st) == 0)
		bytes = (uint64_t)st.st_size;
	free(name);
	return bytes;
}

int fleet_sqlite_size(void *db, uint64_t *out_bytes, struct err *err)
{
	const struct fleet_sqlite *f = db;
	struct stat st;

	if (stat(f->path, &st) != 0)
		return sqlite_path_error(err, -errno, "read", f->path);
	*out_bytes =
		(uint64_t)st.st_size + size_of(f->path, WAL_SUFFIX) + size_of(f->path, SHM_SUFFIX);
	return 0;
}

struct mono fleet_mono_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct mono){ (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec };
}

bool fleet_is_over(struct mono deadline)
{
	return fleet_mono_now().ns >= deadline.ns;
}
