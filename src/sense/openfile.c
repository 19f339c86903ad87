/* openfile.c - the file behind a mapping, or none. */
#include "sense/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

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

/* Opens `path` if it is the file of `mapping`. `is_exact`: the kernel itself leads there. */
static int open_if_same(const char *path, const struct mapping *m, bool is_exact)
{
	struct stat st;
	int fd = openfile_regular(path, &st);
	bool is_same;

	if (fd < 0)
		return fd;
	is_same = st.st_ino == m->inode &&
		  (is_exact || st.st_dev == makedev(m->dev_major, m->dev_minor) ||
		   has_two_devices(fd)) &&
		  (is_exact || !is_younger(fd, m->seen_s));
	if (!is_same) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int openfile_mapping(pid_t pid, const struct mapping *m)
{
	char path[PATH_MAX + 64];
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
		 (unsigned long)m->start, (unsigned long)m->end);
	fd = open_if_same(path, m, true);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open_if_same(path, m, true);
	if (fd >= 0 || m->was_deleted)
		return fd;
	len = snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)pid, (int)m->file.len,
		       m->file.bytes);
	if (len < 0 || (size_t)len >= sizeof(path) || memchr(m->file.bytes, '\0', m->file.len))
		return -ENAMETOOLONG;
	fd = open_if_same(path, m, false);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%.*s", (int)m->file.len, m->file.bytes);
	return open_if_same(path, m, false);
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
