/* openfile.c - the file behind a mapping, or none. */
#include "sense/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/scoped.h"

#define BIRTH_SLACK_S 1 /* file systems stamp with a coarse clock */

int openfile_regular(const char *path, struct stat *out)
{
	/* Without following what is no regular file: opening a device can have effects. */
	int fd, rc = 0;

	if (stat(path, out) < 0)
		return -errno;
	if (!S_ISREG(out->st_mode))
		return -ENOEXEC;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, out) < 0)
		rc = -errno;
	else if (!S_ISREG(out->st_mode))
		rc = -ENOEXEC;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int openfile_find(pid_t pid, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve };
	char place[PATH_MAX + 64];
	int fd;

	snprintf(place, sizeof(place), "/proc/%d/root", (int)pid);

	SCOPED(fd_close) int root = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS && resolve == 0) { /* links of its own may lead out of it */
		snprintf(place, sizeof(place), "/proc/%d/root/%s", (int)pid, path);
		fd = open(place, O_PATH | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

int openfile_found(int found)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_in_root(pid_t pid, const char *path, struct stat *out)
{
	SCOPED(fd_close) int found = openfile_find(pid, path, 0);

	if (found < 0)
		return found;
	if (fstat(found, out) < 0)
		return -errno;
	return S_ISREG(out->st_mode) ? openfile_found(found) : -ENOEXEC;
}

/* Does its file system show another device in stat() than the kernel's list of mappings does? */
static bool has_two_devices(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_younger(int fd, int64_t seen_s)
{
	struct statx x;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && (x.stx_mask & STATX_BTIME) &&
	       x.stx_btime.tv_sec > seen_s + BIRTH_SLACK_S;
}

/* Keeps `fd` if it is the file of `mapping`. `is_exact`: the kernel itself led there. */
static int keep_if_same(int fd, const struct stat *st, const struct mapping *m, bool is_exact)
{
	bool is_same;

	if (fd < 0)
		return fd;
	is_same = st->st_ino == m->inode &&
		  (is_exact || st->st_dev == makedev(m->dev_major, m->dev_minor) ||
		   has_two_devices(fd)) &&
		  (is_exact || !is_younger(fd, m->seen_s));
	if (!is_same) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int open_if_same(const char *path, const struct mapping *m, bool is_exact)
{
	struct stat st = { 0 };
	int fd = openfile_regular(path, &st);

	return keep_if_same(fd, &st, m, is_exact);
}

/* By the path that the process itself has, also in a mount namespace or a root of its own. */
static int open_by_its_path(pid_t pid, const struct mapping *m)
{
	char path[PATH_MAX];
	struct stat st = { 0 };
	int fd;

	if (m->file.len >= sizeof(path) || memchr(m->file.bytes, '\0', m->file.len) != NULL)
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s", (int)m->file.len, m->file.bytes);
	fd = open_in_root(pid, path, &st);
	fd = keep_if_same(fd, &st, m, false);
	return fd >= 0 ? fd : open_if_same(path, m, false);
}

int openfile_mapping(pid_t pid, const struct mapping *m)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
		 (unsigned long)m->start, (unsigned long)m->end);
	fd = open_if_same(path, m, true);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open_if_same(path, m, true);
	if (fd >= 0 || m->was_deleted)
		return fd;
	return open_by_its_path(pid, m);
}

int openfile_mapped_path(pid_t pid, const struct mapping *m, char *out_path, size_t size)
{
	enum { IN_ROOT, EXE, MAP_FILES, OURS, WAYS };
	int refused = -ENOENT;

	for (int way = IN_ROOT; way < WAYS; way++) {
		int len = 0, fd;

		if (way == EXE)
			len = snprintf(out_path, size, "/proc/%d/exe", (int)pid);
		else if (way == MAP_FILES)
			len = snprintf(out_path, size, "/proc/%d/map_files/%lx-%lx", (int)pid,
				       (unsigned long)m->start, (unsigned long)m->end);
		else if (m->was_deleted)
			continue;
		else if (way == IN_ROOT)
			len = snprintf(out_path, size, "/proc/%d/root%.*s", (int)pid,
				       (int)m->file.len, m->file.bytes);
		else
			len = snprintf(out_path, size, "%.*s", (int)m->file.len, m->file.bytes);
		if (len < 0 || (size_t)len >= size)
			return -ENAMETOOLONG;
		fd = open_if_same(out_path, m, way == EXE || way == MAP_FILES);
		if (fd >= 0)
			return fd;
		if (fd == -EACCES || fd == -EPERM)
			refused = -EACCES;
	}
	return refused;
}
