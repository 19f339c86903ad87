/* mapping_find.c - finds the memory that a process with libtare shares, and the clock that both sides use.
 * The memory has no name in any folder: it is a sealed memfd that the process keeps open, so the way to it is
 * /proc/PID/fd, where the kernel lets in whom it would let trace the process, and nobody else. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "core/scoped.h"
#include "core/units.h"
#include "sense/mapping.h"

#define LINK_TEXT  "/memfd:" MAPPING_FILE " (deleted)"
#define DESCS_MAX  1048576u /* looked at in one process */
#define SEALS_NEED (F_SEAL_SHRINK | F_SEAL_GROW)

static void close_folder(DIR **folder)
{
	if (*folder != NULL)
		closedir(*folder);
}

/* Whether what is open is a mapping that cannot shrink under us. */
static bool is_sealed(int fd)
{
	struct stat seen;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS_NEED) == SEALS_NEED && fstat(fd, &seen) == 0 &&
	       S_ISREG(seen.st_mode) && seen.st_size == (off_t)sizeof(struct mapping_shared);
}

/* The process's number as it sees itself, which in a container is another than ours. 0: not known. */
static uint32_t own_pid(pid_t pid)
{
	char path[64], line[256];
	uint32_t found = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (status == NULL)
		return 0;
	while (found == 0 && fgets(line, sizeof(line), status) != NULL) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last != NULL)
			found = (uint32_t)strtoul(last + 1, NULL, 10);
	}
	fclose(status);
	return found != 0 ? found : (uint32_t)pid;
}

/* Whether the mapping is that of the very process: a forked one inherits its parent's. */
static bool is_of(int fd, uint32_t pid)
{
	uint32_t said = 0;
	off_t at =
		(off_t)(offsetof(struct mapping_shared, host) + offsetof(struct mapping_host, pid));

	return pread(fd, &said, sizeof(said), at) == (ssize_t)sizeof(said) && said == pid;
}

/* Its magic is written last: without one it is being made at this moment, and is no mapping yet. */
static bool has_begun(int fd)
{
	uint64_t magic = 0;

	return pread(fd, &magic, sizeof(magic), (off_t)offsetof(struct mapping_shared, magic)) ==
		       (ssize_t)sizeof(magic) &&
	       magic != 0;
}

/* Opens descriptor `name` of a process if it is a mapping; -ENOENT: it is not. */
static int open_if_mapping(int folder, const char *name, uint32_t pid, bool *is_other)
{
	char text[sizeof(LINK_TEXT) + 1];
	ssize_t bytes = readlinkat(folder, name, text, sizeof(text));
	int fd;

	if (bytes != (ssize_t)sizeof(LINK_TEXT) - 1 ||
	    memcmp(text, LINK_TEXT, sizeof(LINK_TEXT) - 1) != 0)
		return -ENOENT;
	fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (is_sealed(fd) && is_of(fd, pid))
		return fd;
	*is_other = *is_other || (!is_sealed(fd) && has_begun(fd));
	close(fd);
	return -ENOENT;
}

int mapping_find(pid_t pid, struct err *err)
{
	char path[64];
	uint32_t own = own_pid(pid);
	bool is_other = false;
	int refused = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	SCOPED(close_folder) DIR *folder = opendir(path);
	if (folder == NULL && errno == ENOENT)
		return err_set(err, -ESRCH, "cannot find process %d", (int)pid);
	if (folder == NULL)
		return err_set(err, -errno,
			       "cannot look into process %d (needs the right to trace it)",
			       (int)pid);
	for (uint32_t count = 0; count < DESCS_MAX && (entry = readdir(folder)) != NULL; count++) {
		int fd = open_if_mapping(dirfd(folder), entry->d_name, own, &is_other);

		if (fd >= 0)
			return fd;
		if (fd != -ENOENT)
			refused = fd;
	}
	if (refused != 0)
		return err_set(err, refused, "cannot open the mapping of process %d", (int)pid);
	if (is_other)
		return err_set(err, -EPROTO,
			       "cannot read process %d: its libtare is of another version",
			       (int)pid);
	return err_set(err, -ENOENT, "cannot find a mapping in process %d: it does not use libtare",
		       (int)pid);
}

#ifdef __x86_64__
static bool is_trusted(void)
{
	char text[32];
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (fd >= 0)
		close(fd);
	return bytes >= 4 && memcmp(text, "tsc\n", 4) == 0;
}

struct pair {
	uint64_t ticks, ns;
};

/* Both clocks at once: the one of eight readings that took the shortest. */
static struct pair read_pair(void)
{
	struct pair best = { 0, 0 };
	uint64_t best_ticks = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		struct timespec at;
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC, &at);
		after = __rdtsc();
		if (after < before || after - before >= best_ticks)
			continue;
		best_ticks = after - before;
		best.ticks = before + best_ticks / 2;
		best.ns = (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
	}
	return best;
}
#endif

uint64_t mapping_calibrate(void)
{
#ifdef __x86_64__
	struct timespec pause = { .tv_nsec = 10 * NS_PER_MS };
	struct pair from, to;

	if (!is_trusted())
		return 0;
	from = read_pair();
	nanosleep(&pause, NULL);
	to = read_pair();
	if (to.ticks <= from.ticks || to.ns <= from.ns)
		return 0;
	return (uint64_t)(((unsigned __int128)(to.ns - from.ns) << 32) / (to.ticks - from.ticks));
#else
	return 0;
#endif
}
