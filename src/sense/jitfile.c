/* jitfile.c - one file of either kind, read as it grows. */
#include "sense/jitfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void jitfile_free(struct jitfile *f)
{
	jitindex_free(&f->index);
	*f = (struct jitfile){ .device = 0 };
}

/* Begins with another file, or with one that was written anew. */
static int begin(struct jitfile *f, int fd, const struct stat *st)
{
	static const char magic[4] = { 'D', 'T', 'i', 'J' }; /* "JiTD", the lowest byte first */
	char head[sizeof(magic)];
	ssize_t count = pread(fd, head, sizeof(head), 0);

	jitfile_free(f);
	if (count < 0)
		return -EIO;
	f->device = st->st_dev;
	f->inode = st->st_ino;
	f->is_dump = count == (ssize_t)sizeof(head) && memcmp(head, magic, sizeof(magic)) == 0;
	return 0;
}

int jitfile_read(struct jitfile *f, int fd)
{
	struct stat st;
	uint64_t bytes;
	int rc = 0;

	if (fstat(fd, &st) < 0 || st.st_size < 0)
		return -EIO;
	bytes = (uint64_t)st.st_size;
	if (f->read_bytes == 0 || f->device != st.st_dev || f->inode != st.st_ino ||
	    bytes < f->read_bytes)
		rc = begin(f, fd, &st);
	if (rc < 0)
		return rc;
	if (bytes > (f->is_dump ? JITFILE_MAX_DUMP : JITFILE_MAX_MAP))
		return -EFBIG;
	rc = f->is_dump ? jitdump_read(f, fd, bytes) : perfmap_read(f, fd, bytes);
	return rc == -E2BIG ? -EFBIG : rc;
}

bool jitfile_find(const struct jitfile *f, int fd, uint64_t address, uint64_t at_ns,
		  struct jitfile_code *out)
{
	const struct jit_code *code =
		jitindex_find(&f->index, address, at_ns > 0 ? at_ns : UINT64_MAX, &out->until_ns);
	ssize_t count;

	if (code == NULL)
		return false;
	count = pread(fd, out->name,
		      code->name_bytes < sizeof(out->name) ? code->name_bytes : sizeof(out->name),
		      (off_t)code->name_at);
	if (count <= 0)
		return false;
	out->start = code->start;
	out->end = code->start + code->bytes;
	out->since_ns = code->since_ns;
	out->name_bytes = (uint32_t)count;
	out->file_bytes = out->line = 0;
	if (code->debug_at > 0)
		jitdump_source(fd, code, out);
	return true;
}
