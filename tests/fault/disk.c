/* disk.c - the C library's calls that change files, with a fault or an observer in between. The linker finds these names
 * before the C library's, for SQLite's library too; what is done is done by the system call itself. */
#include "fault/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES_MOST 1024
#define PATH_BYTES 512

static struct {
	const char *prefix;
	struct disk_fault fault;
	uint64_t seen, fired;
	void (*see)(void *owner, const struct disk_event *event);
	void *owner;
	char paths[FILES_MOST][PATH_BYTES]; /* of open descriptors; empty: not ours */
	bool is_folder[FILES_MOST];
} disk;

void disk_watch(const char *prefix)
{
	disk.prefix = prefix;
}

void disk_set(const struct disk_fault *fault)
{
	disk.fault = *fault;
	disk.seen = disk.fired = 0;
}

void disk_heal(void)
{
	disk.fault = (struct disk_fault){ 0 };
}

uint64_t disk_seen(void)
{
	return disk.seen;
}

uint64_t disk_fired(void)
{
	return disk.fired;
}

void disk_tell(void (*see)(void *owner, const struct disk_event *event), void *owner)
{
	disk.see = see;
	disk.owner = owner;
}

static bool is_ours(const char *path)
{
	return disk.prefix != NULL && strncmp(path, disk.prefix, strlen(disk.prefix)) == 0;
}

static const char *path_of(int fd)
{
	return fd >= 0 && fd < FILES_MOST && disk.paths[fd][0] != '\0' ? disk.paths[fd] : NULL;
}

/* Is it this operation's turn to fail? Then errno is set. */
static bool fails(enum disk_op op, const char *path)
{
	const struct disk_fault *f = &disk.fault;

	if (path == NULL || (f->kinds & 1u << op) == 0)
		return false;
	disk.seen++;
	if (f->at == 0 || disk.seen < f->at || (disk.seen > f->at && !f->is_sticky))
		return false;
	disk.fired++;
	errno = f->error;
	return true;
}

static void tell(const struct disk_event *event)
{
	if (disk.see != NULL && event->path != NULL)
		disk.see(disk.owner, event);
}

static int open_at(int folder, const char *path, int flags, unsigned mode)
{
	char whole[PATH_BYTES];
	const char *base = path[0] == '/' || folder == AT_FDCWD ? NULL : path_of(folder);
	struct stat st;
	bool is_new;
	int fd;

	if (base != NULL) {
		if (snprintf(whole, sizeof(whole), "%s/%s", base, path) >= (int)sizeof(whole))
			return errno = ENAMETOOLONG, -1;
		path = whole;
	}
	if (!is_ours(path) || strlen(path) >= PATH_BYTES) {
		fd = (int)syscall(SYS_openat, folder, path, flags, mode);
		if (fd >= 0 && fd < FILES_MOST)
			disk.paths[fd][0] = '\0';
		return fd;
	}
	if (fails(DISK_OPEN, path))
		return -1;
	is_new = (flags & O_CREAT) != 0 && lstat(path, &st) != 0;
	fd = (int)syscall(SYS_openat, folder, path, flags, mode);
	if (fd < 0 || fd >= FILES_MOST)
		return fd;
	snprintf(disk.paths[fd], PATH_BYTES, "%s", path);
	disk.is_folder[fd] = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	if (is_new)
		tell(&(struct disk_event){ .op = DISK_OPEN, .path = disk.paths[fd] });
	return fd;
}

static ssize_t write_at(int fd, const void *bytes, size_t len, int64_t at)
{
	const char *path = path_of(fd);
	ssize_t put;

	if (fails(DISK_WRITE, path)) {
		if (!disk.fault.is_short || len < 2 || disk.fired > 1)
			return -1;
		len /= 2; /* what follows meets the fault */
		disk.fault.is_sticky = true;
	}
	put = syscall(SYS_pwrite64, fd, bytes, len, at);
	if (put > 0)
		tell(&(struct disk_event){ .op = DISK_WRITE,
					   .path = path,
					   .bytes = bytes,
					   .at = (uint64_t)at,
					   .len = (uint64_t)put });
	return put;
}

static int sync_it(long call, int fd)
{
	const char *path = path_of(fd);
	int rc;

	if (fails(DISK_SYNC, path))
		return -1;
	rc = (int)syscall(call, fd);
	if (rc == 0 && path != NULL)
		tell(&(struct disk_event){
			.op = DISK_SYNC, .path = path, .is_folder = disk.is_folder[fd] });
	return rc;
}

/* Open descriptors keep up with their file's name. */
static void rename_open(const char *from, const char *to)
{
	for (int fd = 0; fd < FILES_MOST; fd++)
		if (strcmp(disk.paths[fd], from) == 0)
			snprintf(disk.paths[fd], PATH_BYTES, "%s", to);
}

static int rename_it(const char *from, const char *to, unsigned flags, bool is_link)
{
	bool is_watched = is_ours(from);
	int rc;

	if (is_watched && fails(DISK_RENAME, from))
		return -1;
	rc = (int)(is_link ? syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
			   : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
	if (rc != 0 || !is_watched)
		return rc;
	tell(&(struct disk_event){ .op = DISK_RENAME, .path = from, .to = to, .is_link = is_link });
	if (!is_link)
		rename_open(from, to);
	return 0;
}

static int remove_it(int folder, const char *path, int flags)
{
	char whole[PATH_BYTES];
	const char *base = path[0] == '/' || folder == AT_FDCWD ? NULL : path_of(folder);
	int rc;

	if (base != NULL && snprintf(whole, sizeof(whole), "%s/%s", base, path) < PATH_BYTES)
		path = whole;
	if (is_ours(path) && fails(DISK_REMOVE, path))
		return -1;
	rc = (int)syscall(SYS_unlinkat, folder, path, flags);
	if (rc == 0 && is_ours(path))
		tell(&(struct disk_event){ .op = DISK_REMOVE, .path = path });
	return rc;
}

/* ---- the names that the linker finds ---- */

#define CALL(name) __asm__(name) __attribute__((visibility("default"), used))

int disk_open(const char *path, int flags, ...) CALL("open64");
int disk_open_checked(const char *path, int flags) CALL("__open64_2");
int disk_openat(int folder, const char *path, int flags, ...) CALL("openat64");
int disk_openat_checked(int folder, const char *path, int flags) CALL("__openat64_2");
int disk_close(int fd) CALL("close");
ssize_t disk_pread(int fd, void *out, size_t len, off_t at) CALL("pread64");
ssize_t disk_pwrite(int fd, const void *bytes, size_t len, off_t at) CALL("pwrite64");
int disk_ftruncate(int fd, off_t size) CALL("ftruncate64");
int disk_fallocate(int fd, int mode, off_t at, off_t len) CALL("fallocate64");
int disk_fsync(int fd) CALL("fsync");
int disk_fdatasync(int fd) CALL("fdatasync");
int disk_rename(const char *from, const char *to) CALL("rename");
int disk_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
	CALL("renameat2");
int disk_link(const char *from, const char *to) CALL("link");
int disk_unlink(const char *path) CALL("unlink");
int disk_unlinkat(int folder, const char *path, int flags) CALL("unlinkat");

static unsigned mode_of(int flags, va_list args)
{
	bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;

	return has_mode ? va_arg(args, unsigned) : 0;
}

int disk_open(const char *path, int flags, ...)
{
	unsigned mode;
	va_list args;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return open_at(AT_FDCWD, path, flags, mode);
}

int disk_open_checked(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

int disk_openat(int folder, const char *path, int flags, ...)
{
	unsigned mode;
	va_list args;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return open_at(folder, path, flags, mode);
}

int disk_openat_checked(int folder, const char *path, int flags)
{
	return open_at(folder, path, flags, 0);
}

int disk_close(int fd)
{
	if (fd >= 0 && fd < FILES_MOST)
		disk.paths[fd][0] = '\0';
	return (int)syscall(SYS_close, fd);
}

ssize_t disk_pread(int fd, void *out, size_t len, off_t at)
{
	return fails(DISK_READ, path_of(fd)) ? -1 : syscall(SYS_pread64, fd, out, len, at);
}

ssize_t disk_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return write_at(fd, bytes, len, at);
}

int disk_ftruncate(int fd, off_t size)
{
	const char *path = path_of(fd);
	int rc;

	if (fails(DISK_CUT, path))
		return -1;
	rc = (int)syscall(SYS_ftruncate, fd, size);
	if (rc == 0)
		tell(&(struct disk_event){ .op = DISK_CUT, .path = path, .len = (uint64_t)size });
	return rc;
}

int disk_fallocate(int fd, int mode, off_t at, off_t len)
{
	const char *path = path_of(fd);
	int rc;

	if (fails(DISK_ROOM, path))
		return -1;
	rc = (int)syscall(SYS_fallocate, fd, mode, at, len);
	if (rc == 0 && (mode & FALLOC_FL_KEEP_SIZE) == 0)
		tell(&(struct disk_event){
			.op = DISK_ROOM, .path = path, .len = (uint64_t)(at + len) });
	return rc;
}

int disk_fsync(int fd)
{
	return sync_it(SYS_fsync, fd);
}

int disk_fdatasync(int fd)
{
	return sync_it(SYS_fdatasync, fd);
}

int disk_rename(const char *from, const char *to)
{
	return rename_it(from, to, 0, false);
}

int disk_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (from_fd != AT_FDCWD || to_fd != AT_FDCWD)
		return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	return rename_it(from, to, flags, false);
}

int disk_link(const char *from, const char *to)
{
	return rename_it(from, to, 0, true);
}

int disk_unlink(const char *path)
{
	return remove_it(AT_FDCWD, path, 0);
}

int disk_unlinkat(int folder, const char *path, int flags)
{
	return remove_it(folder, path, flags);
}
