/* sqlite_lock.c - one writer a recording: flock on the database file, beside SQLite's own locks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>

#include "store/sqlite.h"

int sqlite_lock(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			return -EBUSY;
		/* A file system without locks (ENOLCK, EOPNOTSUPP): SQLite's own have to do. */
		if (errno != EINTR)
			return 0;
	}
	return 0;
}

/* "1: FLOCK  ADVISORY  WRITE 1234 08:01:131077 0 EOF": the process, if it is a writer's lock on this inode. */
static pid_t holder_in_line(const char *line, const struct stat *st, bool *is_same_device)
{
	char kind[16], access[16];
	unsigned major_hex, minor_hex;
	unsigned long long inode;
	int pid;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers */
	if (sscanf(line, "%*d: %15s %*s %15s %d %x:%x:%llu", kind, access, &pid, &major_hex,
		   &minor_hex, &inode) != 6)
		return 0;
	if (strcmp(kind, "FLOCK") != 0 || strcmp(access, "WRITE") != 0 || inode != st->st_ino)
		return 0;
	*is_same_device = major_hex == major(st->st_dev) && minor_hex == minor(st->st_dev);
	return pid > 0 ? pid : 0;
}

pid_t sqlite_lock_holder(const struct stat *st)
{
	FILE *locks = fopen("/proc/locks", "re");
	pid_t found = 0;
	char line[256];

	if (locks == NULL)
		return 0;
	while (fgets(line, sizeof(line), locks) != NULL) {
		bool is_same_device = false;
		pid_t pid = holder_in_line(line, st, &is_same_device);

		/* Some file systems (btrfs, overlay) show another device here than stat does. */
		if (pid > 0 && (found == 0 || is_same_device))
			found = pid;
		if (is_same_device)
			break;
	}
	fclose(locks);
	return found;
}
