/* sqlite_error.c - what went wrong, in three lines: causes are told apart, and each has its mend. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "store/sqlite.h"

/* One cause a row. */
static const struct {
	int code;
	const char *why, *mend;
} causes[] = {
	{ -ENOSPC, "there is no space left on the disk",
	  "free space there, choose another folder with -o, or give a smaller --max-size" },
	{ -EDQUOT, "the disk quota is used up",
	  "free space of yours there, or choose another folder with -o" },
	{ -EFBIG, "it would be larger than this process may write",
	  "raise `ulimit -f`, or give a smaller --max-size" },
	{ -EACCES, "permission denied",
	  "choose another folder with -o, or `chmod u+rwx` this one" },
	{ -EPERM, "not permitted", "choose another folder with -o" },
	{ -EROFS, "the file system is read-only", "choose another folder with -o" },
	{ -ENOENT, "there is no such file or folder", "check the name" },
	{ -ENOTDIR, "a part of the path is no folder", "check the name" },
	{ -EISDIR, "it is a folder", "give the name of a file" },
	{ -ENAMETOOLONG, "the name is too long",
	  "a shorter name: -wal is added to it while it is written" },
	{ -ELOOP, "too many symbolic links", "check the name" },
	{ -EMFILE, "too many files are open in this process", "raise `ulimit -n`" },
	{ -ENFILE, "too many files are open on this machine", "close some, or raise fs.file-max" },
	{ -ENOMEM, "out of memory", "" },
	{ -EIO, "the disk gave an error", "look at the kernel's log (`dmesg`)" },
	{ -EBUSY, "another process holds it",
	  "wait for that process, or give another name with -o" },
	{ -EBADMSG, "it is damaged", "" },
};

static void describe(struct err *err, int code, const char *what, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		if (causes[i].code != code)
			continue;
		err_set(err, code, "cannot %s '%s': %s", what, path, causes[i].why);
		err_mend(err, "%s", causes[i].mend);
		return;
	}
	err_set(err, code, "cannot %s '%s': %s", what, path, strerror(-code));
}

int sqlite_path_error(struct err *err, int code, const char *what, const char *path)
{
	describe(err, code, what, path);
	return code;
}

/* The negative errno that an SQLite code stands for; `os` is the errno it met, or 0. */
static int code_of(int rc, int os)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		if (rc == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		if (os > 0)
			return -os;
		return (rc & 0xff) == SQLITE_READONLY ? -EACCES : -EIO;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -ETIMEDOUT;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_ERROR:
	case SQLITE_TOOBIG:
	case SQLITE_AUTH:
	case SQLITE_SCHEMA:
	case SQLITE_MISMATCH:
	case SQLITE_CONSTRAINT:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

static int errno_of(sqlite3_file *file)
{
	int os = 0;

	if (file != NULL && file->pMethods != NULL)
		file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &os);
	return os;
}

/* What -wal or the database met last: SQLite forgets it in a commit, and tells a disk that cannot be read as damage. */
static int last_errno(sqlite3 *db)
{
	sqlite3_file *wal = NULL, *main = NULL;
	int os;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
	sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &main);
	os = errno_of(wal);
	return os != 0 ? os : errno_of(main);
}

/* Why a file beside the database cannot be made: SQLite tries to open it without making it then, and knows of that only. */
static int why_not_made(const char *path)
{
	char *wal = sqlite_beside(path, WAL_SUFFIX);
	int fd = wal != NULL ? open(wal, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	int code = wal == NULL ? -ENOMEM : fd < 0 ? -errno : -EIO;

	if (fd >= 0)
		close(fd);
	free(wal);
	return code;
}

/* The negative errno of `rc`, looking further where SQLite's own is not the cause. */
static int cause_of(sqlite3 *db, int rc, const char *path)
{
	int os = db != NULL ? sqlite3_system_errno(db) : 0, last;

	if (db == NULL)
		return code_of(rc, 0);
	if (os == ENOENT && code_of(rc, os) == -ENOENT && access(path, F_OK) == 0)
		return why_not_made(path);
	if ((rc & 0xff) == SQLITE_IOERR && os == 0)
		return code_of(rc, last_errno(db));
	if ((rc & 0xff) == SQLITE_CORRUPT) {
		last = last_errno(db);
		if (last == EIO || last == ERANGE || last == ENXIO)
			return -EIO;
	}
	return code_of(rc, os);
}

int sqlite_error(struct err *err, sqlite3 *db, int rc, const char *what, const char *path)
{
	int code = cause_of(db, rc, path);

	if (code == -ETIMEDOUT)
		return err_set(err, -EBADMSG, "cannot %s '%s': it is damaged, reading does not end",
			       what, path);
	if (code == -EBADMSG && db != NULL)
		return err_set(err, code, "cannot %s '%s': it is damaged, SQLite says: %s", what,
			       path, sqlite3_errmsg(db));
	describe(err, code, what, path);
	return code;
}
