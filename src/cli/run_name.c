/* run_name.c - where a recording goes, and which old ones go for it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run.h"

#define SUFFIX ".tare"

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The name of a command as part of a file name: letters, digits, and "_.-"; never empty. */
static void safe_comm(const char *comm, char *out, size_t size)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = 0;

	for (; comm[n] != '\0' && n + 1 < size; n++)
		out[n] = strchr(good, comm[n]) != NULL ? comm[n] : '_';
	if (n == 0)
		out[n++] = '_';
	out[n] = '\0';
}

int run_name(const struct run_opts *opts, const char *comm, pid_t pid, struct wall now, char *out,
	     struct err *err)
{
	time_t seconds = (time_t)(now.ns / (int64_t)NS_PER_S);
	char stamp[32], name[64];
	const char *folder = ".";
	struct tm tm;
	int len;

	if (opts->output != NULL && !is_folder(opts->output)) {
		size_t n = strlen(opts->output);

		if (n == 0 || n >= PATH_MAX)
			return err_set(err, -ENAMETOOLONG, "cannot write to a name of %zu bytes",
				       n);
		if (opts->output[n - 1] == '/') {
			err_set(err, -ENOENT, "cannot write into '%s': there is no such folder",
				opts->output);
			return err_mend(err, "mkdir -p '%s'", opts->output);
		}
		memcpy(out, opts->output, n + 1);
		return 0;
	}
	if (opts->output != NULL)
		folder = opts->output;
	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm) == 0)
		return err_set(err, -EOVERFLOW,
			       "cannot name the recording: the clock shows no date");
	safe_comm(comm, name, sizeof(name));
	len = snprintf(out, PATH_MAX, "%s%stare-%s-%s-%d" SUFFIX,
		       opts->output != NULL ? folder : "", opts->output != NULL ? "/" : "", name,
		       stamp, (int)pid);
	if (len < 0 || len >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "cannot write into '%s': its name is too long",
			       folder);
	return 0;
}

/* Is this `tare-<name>-<UTC>-<pid>.tare`? */
static bool is_ours(const char *file, const char *name)
{
	size_t len = strlen(file), name_len = strlen(name);
	const char *rest = file + 5 + name_len;

	if (strncmp(file, "tare-", 5) != 0 || len < 5 + name_len + 19 + sizeof(SUFFIX) - 1)
		return false;
	if (strncmp(file + 5, name, name_len) != 0 || strcmp(file + len - 5, SUFFIX) != 0)
		return false;
	if (rest[0] != '-' || strspn(rest + 1, "0123456789") != 8 || rest[9] != 'T')
		return false;
	if (strspn(rest + 10, "0123456789") != 6 || rest[16] != 'Z' || rest[17] != '-')
		return false;
	return strspn(rest + 18, "0123456789") == strlen(rest + 18) - 5;
}

/* Deletes one recording unless somebody holds it. */
static bool remove_idle(int folder, const char *file)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char side[NAME_MAX + 8];
	bool is_idle;

	if (fd < 0)
		return false;
	is_idle = flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(folder, file, 0) == 0;
	close(fd);
	if (!is_idle)
		return false;
	snprintf(side, sizeof(side), "%s-wal", file);
	unlinkat(folder, side, 0);
	snprintf(side, sizeof(side), "%s-shm", file);
	unlinkat(folder, side, 0);
	return true;
}

static int by_stamp(const struct dirent **a, const struct dirent **b)
{
	/* Same name before the stamp, so the text order is the order of time. */
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int keep_newest(const char *folder, const char *name, uint64_t keep)
{
	struct dirent **list = NULL;
	int count = scandir(folder, &list, NULL, by_stamp);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t ours = 0;
	int gone = 0;

	for (int i = 0; i < count; i++)
		ours += is_ours(list[i]->d_name, name);
	for (int i = 0; i < count; i++) {
		if (fd >= 0 && ours > keep && is_ours(list[i]->d_name, name)) {
			gone += remove_idle(fd, list[i]->d_name);
			ours--;
		}
		free(list[i]);
	}
	free(list);
	if (fd >= 0)
		close(fd);
	return gone;
}

int run_prune(const char *path, const char *comm, uint64_t keep)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	char name[64];

	if (slash != NULL) {
		size_t n = slash == path ? 1 : (size_t)(slash - path);

		memcpy(folder, path, n);
		folder[n] = '\0';
	}
	safe_comm(comm, name, sizeof(name));
	return keep_newest(folder, name, keep);
}
