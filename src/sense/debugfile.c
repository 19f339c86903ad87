/* debugfile.c - finds the file that has the names which were stripped off. */
#include "sense/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/elffile.h"
#include "sense/openfile.h"

#define DEBUG_ROOT	"/usr/lib/debug"
#define MAX_CHECK_BYTES (UINT64_C(1) << 30)
#define READ_BYTES	65536u

static void fd_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* What is done with a debug file that was found: 0, or why it is not the one. */
struct user {
	int (*use)(struct user *u, int fd);
	const struct tables *binary;
	struct tables *tables; /* symbols go here */
	int fd;		       /* or it is kept here */
};

static int use_by_id(struct user *u)
{
	const struct tables *t = u->binary;
	char path[sizeof(DEBUG_ROOT) + 32 + 2 * TABLES_MAX_BUILD_ID];
	struct stat st;
	int len = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", t->build_id[0]);

	for (size_t i = 1; i < t->build_id_bytes; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", t->build_id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");

	SCOPED(fd_close) int fd = openfile_regular(path, &st);

	return fd < 0 ? -ENOENT : u->use(u, fd);
}

/* The checksum of .gnu_debuglink: CRC-32 as zlib has it. */
static int checksum(int fd, uint32_t *out)
{
	uint32_t table[256], crc = UINT32_MAX;
	unsigned char *bytes = malloc(READ_BYTES);
	ssize_t count;
	off_t at = 0;

	if (bytes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	while ((count = pread(fd, bytes, READ_BYTES, at)) > 0) {
		for (ssize_t i = 0; i < count; i++)
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
		at += count;
	}
	free(bytes);
	if (count < 0)
		return -EIO;
	*out = ~crc;
	return 0;
}

static int use_linked(struct user *u, const char *path)
{
	struct stat st;
	uint32_t crc;
	SCOPED(fd_close) int fd = openfile_regular(path, &st);

	if (fd < 0 || (uint64_t)st.st_size > MAX_CHECK_BYTES || checksum(fd, &crc) < 0 ||
	    crc != u->binary->debuglink_crc)
		return -ENOENT;
	return u->use(u, fd);
}

static int use_by_link(struct user *u, struct str path)
{
	static const struct {
		const char *before, *after;
	} places[] = { { "", "/" }, { "", "/.debug/" }, { DEBUG_ROOT, "/" } };
	const char *slash = memrchr(path.bytes, '/', path.len);
	char candidate[PATH_MAX + TABLES_MAX_DEBUGLINK + 32];
	int rc = -ENOENT;

	if (slash == NULL || path.len > PATH_MAX)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_LEN(places) && rc < 0 && rc != -ENOMEM; i++) {
		snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].before,
			 (int)(slash - path.bytes), path.bytes, places[i].after,
			 u->binary->debuglink);
		rc = use_linked(u, candidate);
	}
	return rc;
}

static int use_any(struct user *u, struct str path)
{
	int rc = -ENOENT;

	if (u->binary->build_id_bytes > 0)
		rc = use_by_id(u);
	if (rc < 0 && rc != -ENOMEM && u->binary->debuglink[0] != '\0')
		rc = use_by_link(u, path);
	return rc;
}

static int add_symbols(struct user *u, int fd)
{
	return elffile_add_symbols(fd, u->tables);
}

int debugfile_add(struct tables *t, struct str path)
{
	struct user u = { add_symbols, t, t, -1 };

	return use_any(&u, path);
}

static int keep(struct user *u, int fd)
{
	struct tables own = { 0 };
	int rc = elffile_read_id(fd, &own);

	if (rc < 0)
		return rc;
	if (u->binary->build_id_bytes > 0 &&
	    (own.build_id_bytes != u->binary->build_id_bytes ||
	     memcmp(own.build_id, u->binary->build_id, own.build_id_bytes) != 0))
		return -ESTALE;
	u->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return u->fd < 0 ? -errno : 0;
}

int debugfile_open(const struct tables *t, struct str path)
{
	struct user u = { keep, t, NULL, -1 };
	int rc = use_any(&u, path);

	return rc < 0 ? rc : u.fd;
}
