/* target.c - a file appears under its name whole, or not at all. */
#include "store/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/sqlite.h"

#define TEMPORARY_TRIES 16

static int is_busy(const char *path, pid_t holder, struct err *err)
{
	char pid[32] = "another process";

	if (holder <= 0)
		holder = sqlite_label_pid(path);
	if (holder > 0)
		snprintf(pid, sizeof(pid), "process %d", (int)holder);
	err_set(err, -EBUSY, "cannot write '%s': %s is recording into it", path, pid);
	err_works(err, "that recording goes on unharmed; `tare report` can read it meanwhile");
	err_mend(err, "give another name, or wait for that process to end");
	return -EBUSY;
}

static int exists(const char *path, struct err *err)
{
	err_set(err, -EEXIST, "cannot make '%s': there is a file of this name", path);
	err_works(err, "the file that is there is untouched");
	err_mend(err, "give another name, or --force to replace it");
	return -EEXIST;
}

/* Locks the file that is there; nobody else then replaces it. `st` is what lstat said of it. */
static int lock_old(struct target *t, const struct stat *st, struct err *err)
{
	struct stat now;
	int fd;

	/* A second descriptor of a file that this process writes would, when closed, drop SQLite's locks. */
	if (sqlite_lock_holder(st) == getpid())
		return is_busy(t->path, getpid(), err);
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return sqlite_path_error(err, -errno, "replace", t->path);
	if (sqlite_lock(fd) != 0) {
		close(fd);
		return is_busy(t->path, sqlite_lock_holder(st), err);
	}
	if (lstat(t->path, &now) != 0 || now.st_ino != st->st_ino || now.st_dev != st->st_dev) {
		close(fd);
		return exists(t->path, err);
	}
	t->old_fd = fd;
	return 0;
}

/* Is the name free, or may it be replaced? */
static int look(struct target *t, bool may_overwrite, struct err *err)
{
	struct stat st;

	if (lstat(t->path, &st) != 0)
		return errno == ENOENT ? 0 : sqlite_path_error(err, -errno, "make", t->path);
	if (S_ISDIR(st.st_mode))
		return sqlite_path_error(err, -EISDIR, "make", t->path);
	if (S_ISREG(st.st_mode) && !may_overwrite) {
		pid_t holder = sqlite_lock_holder(&st);

		return holder > 0 ? is_busy(t->path, holder, err) : exists(t->path, err);
	}
	if (!may_overwrite)
		return exists(t->path, err);
	if (!S_ISREG(st.st_mode)) {
		err_set(err, -EEXIST, "cannot replace '%s': it is no regular file", t->path);
		err_mend(err, "give another name");
		return -EEXIST;
	}
	return lock_old(t, &st, err);
}

static int make_temporary(struct target *t, struct err *err)
{
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		uint32_t word = 0;
		char *name = NULL;
		int fd;

		if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != (ssize_t)sizeof(word))
			word = (uint32_t)i;
		if (asprintf(&name, "%s/.tare-%d-%08x.tmp", t->folder, (int)getpid(), word) < 0)
			return sqlite_path_error(err, -ENOMEM, "make", t->path);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0) {
			t->fd = fd;
			t->temporary = name;
			return 0;
		}
		free(name);
		if (errno != EEXIST)
			return sqlite_path_error(err, -errno, "make", t->path);
	}
	return sqlite_path_error(err, -EEXIST, "make", t->path);
}

static int split(struct target *t, struct err *err)
{
	const char *slash = strrchr(t->path, '/');
	const char *base = slash != NULL ? slash + 1 : t->path;

	if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return sqlite_path_error(err, -EISDIR, "make", t->path);
	if (strlen(base) + strlen(JOURNAL_SUFFIX) > NAME_MAX || strlen(t->path) >= PATH_MAX - 64)
		return sqlite_path_error(err, -ENAMETOOLONG, "make", t->path);
	t->folder = slash == NULL      ? strdup(".")
		    : slash == t->path ? strdup("/")
				       : strndup(t->path, (size_t)(slash - t->path));
	return t->folder != NULL ? 0 : sqlite_path_error(err, -ENOMEM, "make", t->path);
}

int target_open(struct target *out, const char *path, bool may_overwrite, struct err *err)
{
	SCOPED(target_close) struct target t = TARGET_EMPTY;
	int rc;

	t.path = path;
	rc = split(&t, err);
	if (rc == 0)
		rc = look(&t, may_overwrite, err);
	if (rc == 0)
		rc = make_temporary(&t, err);
	if (rc == 0 && sqlite_lock(t.fd) != 0)
		rc = is_busy(path, 0, err);
	if (rc != 0)
		return rc;
	*out = t;
	t = TARGET_EMPTY;
	return 0;
}

/* Takes no memory: it is called when there is none, too. split() has seen to the length. */
static int remove_with(const char *path, const char *suffix)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return unlink(name) != 0 && errno != ENOENT ? -errno : 0;
}

static const char *const suffixes[] = { WAL_SUFFIX, SHM_SUFFIX, JOURNAL_SUFFIX };

static int remove_beside(const char *path)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(suffixes) && rc == 0; i++)
		rc = remove_with(path, suffixes[i]);
	return rc;
}

static bool has_beside(const char *path)
{
	char name[PATH_MAX];
	bool has_any = false;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		has_any |= access(name, F_OK) == 0;
	}
	return has_any;
}

void target_remove(const char *path)
{
	remove_with(path, "");
	remove_beside(path);
}

static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without that flag: a hard link never replaces either. */
	if (link(from, to) != 0)
		return -errno;
	unlink(from);
	return 0;
}

static void sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int target_publish(struct target *t, bool may_overwrite, struct err *err)
{
	bool is_replaced = may_overwrite && t->old_fd >= 0;
	int rc = 0;

	/* One that was killed goes first: at no instant is its database there without its -wal, which may be half of one, or
	 * the new one with the old -wal. */
	if (is_replaced && has_beside(t->path)) {
		rc = remove_with(t->path, "");
		is_replaced = false;
	}
	if (rc == 0)
		rc = remove_beside(t->path);
	if (rc == 0 && is_replaced)
		rc = rename(t->temporary, t->path) != 0 ? -errno : 0;
	else if (rc == 0)
		rc = rename_new(t->temporary, t->path);
	if (rc == -EEXIST)
		return exists(t->path, err);
	if (rc != 0)
		return sqlite_path_error(err, rc, "make", t->path);
	free(t->temporary);
	t->temporary = NULL;
	sync_folder(t->folder);
	return 0;
}

void target_close(struct target *t)
{
	if (t->temporary != NULL)
		unlink(t->temporary);
	if (t->fd >= 0)
		close(t->fd);
	if (t->old_fd >= 0)
		close(t->old_fd);
	free(t->temporary);
	free(t->folder);
	*t = TARGET_EMPTY;
}
