/* openfile_own.c - files that a process writes about itself, for whoever watches it; a hostile one may put anything there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/openfile.h"
#include "sense/procfs.h"
#include "sense/tables.h"

#define MAX_MOUNT_LINE 8192u
#define MAX_MOUNTS     65536u

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void file_close(FILE **f)
{
	if (*f != NULL)
		fclose(*f);
}

/* Is it a mount of `device` whose file system is a program, which may never answer? "36 35 0:31 / /mnt rw - fuse.x ..." */
static bool is_program_line(const char *line, dev_t device)
{
	unsigned major, minor;
	const char *type = strstr(line, " - ");

	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers */
	return type != NULL && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
	       makedev(major, minor) == device && strncmp(type + 3, "fuse", 4) == 0;
}

/* Asked of the list of mounts, since asking the file system itself could take for ever. */
static bool may_never_answer(pid_t pid, dev_t device)
{
	char path[64], line[MAX_MOUNT_LINE];

	if (major(device) != 0) /* a block device is behind it */
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);

	SCOPED(file_close) FILE *mounts = fopen(path, "re");

	if (mounts == NULL)
		return true;
	for (size_t i = 0; i < MAX_MOUNTS && fgets(line, sizeof(line), mounts) != NULL; i++)
		if (is_program_line(line, device))
			return true;
	return false;
}

bool openfile_may_be_build(pid_t pid, const struct mapping *m, const uint8_t *build_id,
			   size_t bytes)
{
	uint8_t mapped[TABLES_MAX_BUILD_ID];
	int len;

	if (may_never_answer(pid, makedev(m->dev_major, m->dev_minor)))
		return true; /* asking would have the kernel read it */
	len = procfs_build_id(pid, m->start, mapped, sizeof(mapped));
	return len < 0 || ((size_t)len == bytes && memcmp(mapped, build_id, bytes) == 0);
}

/* What the kernel knows of a file without asking its file system. */
static int look_at(int fd, struct statx *out)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		     STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_SIZE, out) < 0
		       ? -errno
		       : 0;
}

static int check(pid_t pid, const struct statx *x, dev_t device)
{
	struct procfs_self self;
	int rc = procfs_self(pid, &self);

	if (rc < 0)
		return rc;
	if (!S_ISREG(x->stx_mode))
		return -ENOEXEC;
	if (x->stx_nlink > 1 || (x->stx_uid != self.uid && x->stx_uid != 0))
		return -EPERM; /* it may be somebody else's */
	return may_never_answer(pid, device) ? -EPERM : 0;
}

int openfile_check_own(pid_t pid, int fd, dev_t device, struct stat *out)
{
	struct statx x;
	int rc = look_at(fd, &x);

	if (rc == 0)
		rc = check(pid, &x, device);
	if (rc == 0 && fstat(fd, out) < 0)
		rc = -errno;
	return rc;
}

int openfile_of_process(pid_t pid, const char *path, struct stat *out)
{
	/* From the kernel's memory of paths alone: the process has just written there, and a look-up could be made to wait. */
	SCOPED(fd_close) int found = openfile_find(pid, path, RESOLVE_NO_SYMLINKS | RESOLVE_CACHED);
	struct statx x;
	int fd, rc;

	if (found < 0)
		return found;
	rc = look_at(found, &x);
	if (rc == 0)
		rc = check(pid, &x, makedev(x.stx_dev_major, x.stx_dev_minor));
	if (rc < 0)
		return rc;
	fd = openfile_found(found);
	if (fd >= 0 && fstat(fd, out) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}
