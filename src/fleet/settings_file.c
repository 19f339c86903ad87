/* settings_file.c - the settings file as bytes; they are wiped behind us, since a password may stand in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scoped.h"
#include "fleet/settings.h"

#define FILE_MOST (UINT64_C(16) << 20)

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* A whole file into *out, which is the caller's. */
static int read_file(int fd, const char *path, char **out, size_t *out_len, struct err *err)
{
	struct stat st;
	size_t len = 0;
	ssize_t got = 1;
	char *bytes;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MOST)
		return err_set(err, -EINVAL, "cannot read '%s': it is %s", path,
			       S_ISREG(st.st_mode) ? "over 16 MB" : "no regular file");
	bytes = malloc((size_t)st.st_size + 1);
	if (bytes == NULL)
		return err_set(err, -ENOMEM, "cannot read '%s': no memory", path);
	while (len < (size_t)st.st_size && got > 0) {
		got = read(fd, bytes + len, (size_t)st.st_size - len);
		if (got > 0)
			len += (size_t)got;
	}
	if (got < 0) {
		int code = -errno;

		free(bytes);
		return err_set(err, code, "cannot read '%s': %s", path, strerror(-code));
	}
	*out = bytes;
	*out_len = len;
	return 0;
}

int settings_load(const char *path, struct collect_settings *out,
		  void (*warn)(void *owner, const char *text), void *owner, struct err *err)
{
	SCOPED(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *bytes = NULL;
	size_t len = 0;
	int rc;

	if (fd < 0) {
		int code = -errno;

		err_set(err, code, "cannot read '%s': %s", path, strerror(-code));
		err_mend(err, code == -ENOENT ? "write it after tare.conf.example, or name another "
						"by --config; --once URL needs none"
					      : "give it to our user: chown, or chmod u+r");
		return code;
	}
	rc = read_file(fd, path, &bytes, &len, err);
	if (bytes == NULL)
		return rc;
	rc = settings_parse(bytes, len, path, out, warn, owner, err);
	explicit_bzero(bytes, len);
	free(bytes);
	return rc;
}
