/* spool_files.c - segments of a spool as files. A record is a packed batch as core/fleet_pack.c writes it: its head says how
 * long it is. */
#include "store/spool_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fleet_batch.h"
#include "core/scoped.h"

#define MAGIC	     "tarebat1"
#define MAGIC_BYTES  8u
#define HEADER_BYTES 16u
#define NAME_BYTES   32u
#define NAME_FORMAT  "%016llx.spool"

static void name_of(uint64_t number, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, NAME_FORMAT, (unsigned long long)number);
}

/* The number in "0000000000000012.spool"; false: it is no segment's name. */
static bool number_of(const char *name, uint64_t *out)
{
	char again[NAME_BYTES];
	char *end;
	uint64_t number;

	if (strspn(name, "0123456789abcdef") != 16)
		return false;
	number = strtoull(name, &end, 16);
	name_of(number, again);
	*out = number;
	return strcmp(name, again) == 0;
}

static int by_number(const void *a, const void *b)
{
	const struct segment *left = a, *right = b;

	return left->number < right->number ? -1 : left->number > right->number;
}

static void close_folder(DIR **folder)
{
	if (*folder != NULL)
		closedir(*folder);
}

static DIR *open_again(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *out = fd >= 0 ? fdopendir(fd) : NULL;

	if (out == NULL && fd >= 0)
		close(fd);
	return out;
}

int segments_list(int folder, struct segment **out, size_t *out_count)
{
	SCOPED(close_folder) DIR *files = open_again(folder);
	struct segment *all = NULL;
	size_t count = 0, room = 0;
	const struct dirent *file;

	if (files == NULL)
		return -errno;
	while ((file = readdir(files)) != NULL) {
		struct segment s = { 0 };
		struct stat st;

		if (!number_of(file->d_name, &s.number) ||
		    fstatat(folder, file->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (count == room) {
			void *more = reallocarray(all, room = room * 2 + 16, sizeof(*all));

			if (more == NULL) {
				free(all);
				return -ENOMEM;
			}
			all = more;
		}
		s.bytes = (uint64_t)st.st_size;
		all[count++] = s;
	}
	if (count > 0)
		qsort(all, count, sizeof(*all), by_number);
	*out = all;
	*out_count = count;
	return 0;
}

static void close_scoped(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int segment_read(int folder, uint64_t number, uint8_t **out, size_t *out_len)
{
	char name[NAME_BYTES];
	uint8_t *bytes;
	struct stat st;
	size_t len = 0;

	name_of(number, name);
	SCOPED(close_scoped)
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0)
		return -errno;
	bytes = malloc((size_t)st.st_size + 1);
	if (bytes == NULL)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		ssize_t got = read(fd, bytes + len, (size_t)st.st_size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int code = -errno;

			free(bytes);
			return code;
		}
		if (got == 0)
			break;
		len += (size_t)got;
	}
	*out = bytes;
	*out_len = len;
	return 0;
}

int segment_make(int folder, uint64_t number)
{
	char name[NAME_BYTES];
	int fd;

	name_of(number, name);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	fsync(folder); /* its name must be there after a power cut; a gain only */
	return fd;
}

int segment_append(int fd, uint64_t at, const void *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t put =
			pwrite(fd, (const char *)bytes + done, len - done, (off_t)(at + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			int code = put < 0 ? -errno : -EIO;

			/* What cannot be cut back is written over by the next, or passed over when it is read. */
			if (ftruncate(fd, (off_t)at) != 0)
				return code;
			return code;
		}
		done += (size_t)put;
	}
	return 0;
}

void segment_remove(int folder, uint64_t number)
{
	char name[NAME_BYTES];

	name_of(number, name);
	unlinkat(folder, name, 0);
}

/* Length of the record at `bytes`, by its head; 0: it is none, or not whole. */
static size_t record_length(const uint8_t *bytes, size_t left)
{
	uint64_t body;

	if (left < HEADER_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
		return 0;
	body = (uint64_t)bytes[8] | (uint64_t)bytes[9] << 8 | (uint64_t)bytes[10] << 16 |
	       (uint64_t)bytes[11] << 24;
	return body <= left - HEADER_BYTES ? (size_t)body + HEADER_BYTES : 0;
}

size_t segment_next(const uint8_t *bytes, size_t len, size_t *at, size_t *out_from,
		    size_t *out_skipped)
{
	size_t from = *at;

	while (from < len) {
		size_t record = record_length(bytes + from, len - from);
		const uint8_t *next;

		if (record > 0) {
			*out_skipped = from - *at;
			*out_from = from;
			*at = from + record;
			return record;
		}
		next = from + 1 < len ? memmem(bytes + from + 1, len - from - 1, MAGIC, MAGIC_BYTES)
				      : NULL;
		if (next == NULL)
			break;
		from = (size_t)(next - bytes);
	}
	*out_skipped = len - *at;
	*at = len;
	return 0;
}
