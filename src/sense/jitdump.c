/* jitdump.c - the records of a jitdump: code that came, code that moved, and the lines it was made from. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/scoped.h"
#include "sense/jitfile.h"

#define VERSION		1u
#define ARCH_TIMESTAMPS 1u /* a flag: times are the CPU's counter */
#define MIN_HEADER	40u
#define MAX_RECORDS	300000u /* at once; the next question goes on */
#define MAX_HEADER	4096u

struct header {
	uint32_t magic, version, total_size, machine, spare, pid;
	uint64_t at_ns, flags;
};
_Static_assert(sizeof(struct header) == MIN_HEADER, "as the file has it");

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2, CODE_CLOSE = 3 };

struct prefix {
	uint32_t id, total_size;
	uint64_t at_ns;
};
_Static_assert(sizeof(struct prefix) == 16, "as the file has it");

/* Behind the prefix: the name with its NUL, then the code. */
struct load {
	uint32_t pid, tid;
	uint64_t vma, address, bytes, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, bytes, index;
};

/* Behind the prefix: entries. */
struct debug {
	uint64_t address, count;
};

/* Behind each: the name of a file with its NUL. */
struct debug_line {
	uint64_t address;
	uint32_t line, column;
};

static bool read_at(int fd, void *out, size_t len, uint64_t at)
{
	return pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

static int read_header(struct jitfile *f, int fd, uint64_t file_bytes)
{
	struct header h;

	if (file_bytes < sizeof(h) || !read_at(fd, &h, sizeof(h), 0))
		return 0; /* it is being written */
	if (h.version != VERSION || h.total_size < sizeof(h) || h.total_size > MAX_HEADER)
		return -ENOEXEC;
	f->has_no_times = (h.flags & ARCH_TIMESTAMPS) != 0;
	f->read_bytes = h.total_size;
	return 0;
}

static int take_load(struct jitfile *f, int fd, const struct prefix *p, uint64_t at)
{
	uint64_t name_at = at + sizeof(*p) + sizeof(struct load);
	char name[STR_MAX_BYTES];
	struct load load;
	ssize_t count;

	if (p->total_size < sizeof(*p) + sizeof(load) ||
	    !read_at(fd, &load, sizeof(load), at + sizeof(*p))) {
		f->index.rejected++;
		return 0;
	}

	uint64_t room = p->total_size - sizeof(*p) - sizeof(load);

	count = pread(fd, name, room < sizeof(name) ? room : sizeof(name), (off_t)name_at);
	return jitindex_add(
		&f->index,
		&(struct jit_code){ .start = load.address,
				    .bytes = load.bytes,
				    .since_ns = f->has_no_times ? 0 : p->at_ns,
				    .name_at = name_at,
				    .name_bytes =
					    count > 0 ? (uint32_t)strnlen(name, (size_t)count) : 0,
				    .debug_at = f->debug_code == load.address ? f->debug_at : 0 });
}

/* Code that moved has its name at the new place from then on. */
static int take_move(struct jitfile *f, int fd, const struct prefix *p, uint64_t at)
{
	const struct jit_code *old;
	struct jit_code code;
	struct move move;
	uint64_t until_ns;

	if (p->total_size < sizeof(*p) + sizeof(move) ||
	    !read_at(fd, &move, sizeof(move), at + sizeof(*p))) {
		f->index.rejected++;
		return 0;
	}
	old = jitindex_find(&f->index, move.from, f->has_no_times ? UINT64_MAX : p->at_ns,
			    &until_ns);
	if (old == NULL) {
		f->index.rejected++;
		return 0;
	}
	code = *old;
	code.start = move.to;
	code.bytes = move.bytes;
	code.since_ns = f->has_no_times ? 0 : p->at_ns;
	return jitindex_add(&f->index, &code);
}

static void take_debug(struct jitfile *f, int fd, const struct prefix *p, uint64_t at)
{
	struct debug debug;

	if (p->total_size < sizeof(*p) + sizeof(debug) ||
	    !read_at(fd, &debug, sizeof(debug), at + sizeof(*p))) {
		f->index.rejected++;
		return;
	}
	f->debug_code = debug.address;
	f->debug_at = debug.count > 0 ? at : 0;
}

static int take_record(struct jitfile *f, int fd, const struct prefix *p, uint64_t at)
{
	switch (p->id) {
	case CODE_LOAD:
		return take_load(f, fd, p, at);
	case CODE_MOVE:
		return take_move(f, fd, p, at);
	case CODE_DEBUG_INFO:
		take_debug(f, fd, p, at);
		return 0;
	default: /* what unwinds it, its end, or newer than we are */
		return 0;
	}
}

int jitdump_read(struct jitfile *f, int fd, uint64_t file_bytes)
{
	struct prefix p;
	int rc = f->read_bytes == 0 ? read_header(f, fd, file_bytes) : 0;

	for (size_t i = 0; rc == 0 && i < MAX_RECORDS && f->read_bytes > 0 &&
			   f->read_bytes + sizeof(p) <= file_bytes;
	     i++) {
		if (!read_at(fd, &p, sizeof(p), f->read_bytes))
			return -EIO;
		if (p.total_size < sizeof(p))
			return -ENOEXEC; /* nothing behind it can be found */
		if (p.total_size > file_bytes - f->read_bytes)
			return 0; /* it is being written */
		rc = take_record(f, fd, &p, f->read_bytes);
		f->read_bytes += p.total_size;
	}
	return rc;
}

void jitdump_source(int fd, const struct jit_code *code, struct jitfile_code *out)
{
	const uint64_t lines_at = code->debug_at + sizeof(struct prefix) + sizeof(struct debug);
	struct debug_line line;
	struct prefix p;
	ssize_t count;
	uint64_t room;

	if (!read_at(fd, &p, sizeof(p), code->debug_at) ||
	    p.total_size < sizeof(p) + sizeof(struct debug) + sizeof(line) ||
	    !read_at(fd, &line, sizeof(line), lines_at))
		return;
	room = p.total_size - sizeof(p) - sizeof(struct debug) - sizeof(line);
	count = pread(fd, out->file, room < sizeof(out->file) ? room : sizeof(out->file),
		      (off_t)(lines_at + sizeof(line)));
	if (count <= 0 || line.line == 0)
		return;
	out->file_bytes = (uint32_t)strnlen(out->file, (size_t)count);
	out->line = line.line;
}
