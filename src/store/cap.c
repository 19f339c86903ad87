/* cap.c - the file layer that holds -wal to its limit. */
#include "store/cap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* An open file: ours first, the layer below's right behind it. */
struct capped_file {
	sqlite3_file base;
	struct cap *cap;
	bool is_wal;
};

static sqlite3_file *below(sqlite3_file *file)
{
	return (sqlite3_file *)((struct capped_file *)file + 1);
}

static sqlite3_vfs *vfs_below(sqlite3_vfs *vfs)
{
	return ((struct cap *)vfs)->below;
}

static int file_close(sqlite3_file *file)
{
	return below(file)->pMethods->xClose(below(file));
}

static int file_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
	return below(file)->pMethods->xRead(below(file), out, len, at);
}

/* Remembers why the disk failed: SQLite's own answer is lost when it rolls back. */
static int note_failure(sqlite3_file *file, int rc)
{
	struct cap *cap = ((struct capped_file *)file)->cap;

	if (rc == SQLITE_FULL)
		cap->is_disk_full = true;
	if (rc != SQLITE_OK)
		cap->os_error = errno;
	return rc;
}

static int file_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
	struct capped_file *f = (struct capped_file *)file;

	if (f->is_wal && (uint64_t)at + (uint64_t)len > f->cap->wal_bytes) {
		f->cap->is_hit = true;
		return SQLITE_FULL;
	}
	return note_failure(file, below(file)->pMethods->xWrite(below(file), bytes, len, at));
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return note_failure(file, below(file)->pMethods->xTruncate(below(file), size));
}

static int file_sync(sqlite3_file *file, int flags)
{
	return note_failure(file, below(file)->pMethods->xSync(below(file), flags));
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
	return below(file)->pMethods->xFileSize(below(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
	return below(file)->pMethods->xLock(below(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return below(file)->pMethods->xUnlock(below(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *out)
{
	return below(file)->pMethods->xCheckReservedLock(below(file), out);
}

static int file_control(sqlite3_file *file, int what, void *value)
{
	return below(file)->pMethods->xFileControl(below(file), what, value);
}

static int file_sector(sqlite3_file *file)
{
	return below(file)->pMethods->xSectorSize(below(file));
}

static int file_characteristics(sqlite3_file *file)
{
	return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int grow, void volatile **out)
{
	return below(file)->pMethods->xShmMap(below(file), page, size, grow, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
	return below(file)->pMethods->xShmLock(below(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	below(file)->pMethods->xShmBarrier(below(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_deleted)
{
	return below(file)->pMethods->xShmUnmap(below(file), is_deleted);
}

/* Version 2: with shared memory, without memory maps of the file. */
static const sqlite3_io_methods capped_methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_characteristics,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	struct capped_file *f = (struct capped_file *)file;
	int rc;

	f->cap = (struct cap *)vfs;
	f->is_wal = (flags & SQLITE_OPEN_WAL) != 0;
	below(file)->pMethods = NULL;
	rc = f->cap->below->xOpen(f->cap->below, name, below(file), flags, out);
	/* SQLite closes what has methods, also after a failure. */
	f->base.pMethods = below(file)->pMethods != NULL ? &capped_methods : NULL;
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return vfs_below(vfs)->xDelete(vfs_below(vfs), name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	return vfs_below(vfs)->xAccess(vfs_below(vfs), name, flags, out);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	return vfs_below(vfs)->xFullPathname(vfs_below(vfs), name, size, out);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
	return vfs_below(vfs)->xRandomness(vfs_below(vfs), size, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return vfs_below(vfs)->xSleep(vfs_below(vfs), us);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
	return vfs_below(vfs)->xCurrentTime(vfs_below(vfs), out);
}

static int vfs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
	return vfs_below(vfs)->xCurrentTimeInt64(vfs_below(vfs), out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out)
{
	const struct cap *cap = (const struct cap *)vfs;

	return cap->os_error != 0 ? cap->os_error
				  : cap->below->xGetLastError(cap->below, size, out);
}

int cap_open(uint64_t wal_bytes, struct cap **out)
{
	sqlite3_vfs *under = sqlite3_vfs_find(NULL);
	struct cap *c = under != NULL && under->iVersion >= 2 ? calloc(1, sizeof(*c)) : NULL;

	if (c == NULL)
		return -ENOMEM;
	c->below = under;
	c->wal_bytes = wal_bytes;
	snprintf(c->name, sizeof(c->name), "tare-%p", (void *)c);
	/* No xDlOpen: through this layer no extension can be loaded. */
	c->vfs = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = (int)sizeof(struct capped_file) + under->szOsFile,
		.mxPathname = under->mxPathname,
		.zName = c->name,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_last_error,
		.xCurrentTimeInt64 = vfs_time_ms,
	};
	if (sqlite3_vfs_register(&c->vfs, 0) != SQLITE_OK) {
		free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void cap_close(struct cap *c)
{
	if (c == NULL)
		return;
	sqlite3_vfs_unregister(&c->vfs);
	free(c);
}
