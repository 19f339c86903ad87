/* debugfile.c - finds the file that has the names which were stripped off. */
#include "sense/debugfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/crc.h"
#include "core/scoped.h"
#include "sense/elffile.h"
#include "sense/openfile.h"

#define DEBUG_ROOT	"/usr/lib/debug"
#define MAX_CHECK_BYTES (UINT64_C(256) << 20)
#define READ_BYTES	65536u

void debugfile_close(struct parser_file *file)
{
	for (uint32_t i = 0; i < file->debug_count; i++)
		if (file->debug_fds[i] >= 0)
			close(file->debug_fds[i]);
	file->debug_count = 0;
	file->linked_mask = 0;
}

static void add(struct parser_file *file, const char *path, bool is_linked)
{
	struct stat st;
	int fd = openfile_regular(path, &st);

	if (fd < 0)
		return;
	file->linked_mask |= is_linked ? 1u << file->debug_count : 0;
	file->debug_fds[file->debug_count++] = fd;
}

static void open_by_id(const struct tables *id, struct parser_file *file)
{
	char path[sizeof(DEBUG_ROOT) + 32 + 2 * TABLES_MAX_BUILD_ID];
	int len = snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", id->build_id[0]);

	for (size_t i = 1; i < id->build_id_bytes; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", id->build_id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	add(file, path, false);
}

static void open_by_link(const struct tables *id, struct str path, struct parser_file *file)
{
	static const struct {
		const char *before, *after;
	} places[] = { { "", "/" }, { "", "/.debug/" }, { DEBUG_ROOT, "/" } };
	_Static_assert(ARRAY_LEN(places) + 1 <= PARSER_MAX_DEBUG_FILES, "and one by build-id");
	const char *slash = path.len > 0 ? memrchr(path.bytes, '/', path.len) : NULL;
	char candidate[PATH_MAX + TABLES_MAX_DEBUGLINK + 32];

	if (slash == NULL || path.len > PATH_MAX)
		return;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].before,
			 (int)(slash - path.bytes), path.bytes, places[i].after, id->debuglink);
		add(file, candidate, true);
	}
}

void debugfile_open(const struct tables *id, struct str path, struct parser_file *file)
{
	if (id->build_id_bytes > 0)
		open_by_id(id, file);
	if (id->debuglink[0] != '\0')
		open_by_link(id, path, file);
}

/* The checksum of .gnu_debuglink: CRC-32 as zlib has it. */
static int checksum(int fd, uint32_t *out)
{
	uint32_t crc = 0;
	unsigned char *bytes = malloc(READ_BYTES);
	ssize_t count;
	off_t at = 0;

	if (bytes == NULL)
		return -ENOMEM;
	while ((count = pread(fd, bytes, READ_BYTES, at)) > 0) {
		crc = crc32_of(crc, bytes, (size_t)count);
		at += count;
	}
	free(bytes);
	if (count < 0)
		return -EIO;
	*out = crc;
	return 0;
}

static bool is_of_build(int fd, const struct tables *binary)
{
	struct tables own = { 0 };

	return binary->build_id_bytes == 0 ||
	       (elffile_read_id(fd, &own) == 0 && own.build_id_bytes == binary->build_id_bytes &&
		memcmp(own.build_id, binary->build_id, own.build_id_bytes) == 0);
}

int debugfile_check(int fd, bool is_linked, const struct tables *binary)
{
	struct stat st;
	uint32_t crc;
	int rc = elffile_check(fd);

	if (rc < 0)
		return rc;
	if (!is_of_build(fd, binary))
		return -ESTALE;
	if (!is_linked)
		return 0;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > MAX_CHECK_BYTES)
		return -EFBIG;
	rc = checksum(fd, &crc);
	if (rc < 0)
		return rc;
	return crc == binary->debuglink_crc ? 0 : -ESTALE;
}

int debugfile_use(int fd, bool is_linked, struct tables *t)
{
	int rc = debugfile_check(fd, is_linked, t);

	return rc < 0 ? rc : elffile_add_symbols(fd, t);
}
