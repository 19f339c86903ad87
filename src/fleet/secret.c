/* secret.c - passwords by reference: read when they are needed, from where only we can read them. No message holds a value. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/scoped.h"
#include "fleet/settings.h"

#define SECRET_MOST 4096 /* bytes */

static const char *const ways[] = { "env:", "file:", "cred:" };

bool secret_is_literal(const char *reference)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (strncmp(reference, ways[i], strlen(ways[i])) == 0)
			return false;
	return reference[0] != '\0';
}

void secret_free(char **secret)
{
	if (*secret != NULL)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

/* Whose secret, for messages. */
struct secret_for {
	const char *setting, *target;
};

static int refuse(const struct secret_for *of, int code, const char *from, const char *name,
		  const char *why, struct err *err)
{
	return err_set(err, code, "cannot read %s of %s: %s '%.300s' %s", of->setting, of->target,
		       from, name, why);
}

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Opens without following any symbolic link, and without waiting at a pipe. */
static int open_plainly(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* an old kernel, or a strict sandbox */
		fd = open(path, (int)how.flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* What is wrong with a file that should be ours only; NULL: nothing. */
static const char *why_not_ours(const struct stat *st, mode_t too_open)
{
	if (!S_ISREG(st->st_mode))
		return "is no regular file";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "belongs to another user";
	if ((st->st_mode & too_open) != 0)
		return "can be read by others";
	return NULL;
}

static int read_secret_file(int fd, char **out)
{
	char *bytes = calloc(1, SECRET_MOST + 2);
	size_t len = 0;
	ssize_t got = 1;

	if (bytes == NULL)
		return -ENOMEM;
	while (len < SECRET_MOST + 1 && got > 0) {
		got = read(fd, bytes + len, SECRET_MOST + 1 - len);
		if (got > 0)
			len += (size_t)got;
	}
	if (got < 0 || len > SECRET_MOST || memchr(bytes, '\0', len) != NULL) {
		int code = got < 0 ? -errno : -EINVAL;

		explicit_bzero(bytes, SECRET_MOST + 2);
		free(bytes);
		return code;
	}
	if (len > 0 && bytes[len - 1] == '\n') /* an editor's */
		bytes[--len] = '\0';
	if (len > 0 && bytes[len - 1] == '\r')
		bytes[--len] = '\0';
	*out = bytes;
	return 0;
}

static int from_file(const struct secret_for *of, const char *path, mode_t too_open, char **out,
		     struct err *err)
{
	SCOPED(close_fd) int fd = -1;
	struct stat st;
	const char *wrong;
	int rc;

	if (path[0] != '/')
		return refuse(of, -EINVAL, "file", path, "is no absolute path", err);
	fd = open_plainly(path);
	if (fd < 0) {
		rc = fd;
		return refuse(of, rc, "file", path,
			      rc == -ELOOP ? "lies behind a symbolic link" : strerror(-rc), err);
	}
	wrong = fstat(fd, &st) < 0 ? "cannot be looked at" : why_not_ours(&st, too_open);
	if (wrong != NULL) {
		refuse(of, -EACCES, "file", path, wrong, err);
		return err_mend(err, "chown it to our user, and chmod 600");
	}
	rc = read_secret_file(fd, out);
	if (rc == -ENOMEM)
		return refuse(of, rc, "file", path, "has no room: no memory", err);
	if (rc < 0)
		return refuse(of, rc, "file", path,
			      "is over 4096 bytes, holds a NUL or cannot be read", err);
	return 0;
}

static int from_credential(const struct secret_for *of, const char *name, char **out,
			   struct err *err)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char *path = NULL;
	int rc;

	if (name[0] == '\0' || strchr(name, '/') != NULL || name[0] == '.')
		return refuse(of, -EINVAL, "credential", name, "is no name", err);
	if (folder == NULL) {
		refuse(of, -ENOENT, "credential", name,
		       "is not there: $CREDENTIALS_DIRECTORY is not set", err);
		err_mend(err, "LoadCredential=%.100s:/path in the service", name);
		return -ENOENT; /* also where nobody asked for words */
	}
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return refuse(of, -ENOMEM, "credential", name, "has no room: no memory", err);
	/* systemd gives a dynamic user access by an ACL, which shows as the group's bits. */
	rc = from_file(of, path, 0007, out, err);
	free(path);
	return rc;
}

static int from_environment(const struct secret_for *of, const char *name, char **out,
			    struct err *err)
{
	const char *value = getenv(name);

	if (value == NULL)
		return refuse(of, -ENOENT, "environment variable", name, "is not set", err);
	if (strlen(value) > SECRET_MOST)
		return refuse(of, -EINVAL, "environment variable", name, "is over 4096 bytes", err);
	*out = strdup(value);
	return *out != NULL ? 0
			    : refuse(of, -ENOMEM, "environment variable", name,
				     "has no room: no memory", err);
}

int secret_read(const char *reference, const char *setting, const char *target, char **out,
		struct err *err)
{
	struct secret_for of = { setting, target };
	SCOPED(secret_free) char *secret = NULL;
	int rc;

	if (strncmp(reference, "env:", 4) == 0)
		rc = from_environment(&of, reference + 4, &secret, err);
	else if (strncmp(reference, "file:", 5) == 0)
		rc = from_file(&of, reference + 5, 0077, &secret, err);
	else if (strncmp(reference, "cred:", 5) == 0)
		rc = from_credential(&of, reference + 5, &secret, err);
	else
		rc = (secret = strdup(reference)) != NULL
			     ? 0
			     : err_set(err, -ENOMEM, "cannot read %s of %s: no memory", setting,
				       target);
	if (secret == NULL)
		return rc;
	if (secret[0] == '\0') {
		err_set(err, -EINVAL, "cannot read %s of %s: it is empty%s%.300s", setting, target,
			secret_is_literal(reference) || reference[0] == '\0' ? "" : " in ",
			secret_is_literal(reference) ? "" : reference);
		err_mend(err, "leave %s out when there is none", setting);
		return -EINVAL;
	}
	*out = secret;
	secret = NULL;
	return 0;
}
