/* jit.h - reads a file of a just-in-time compiler and asks for all it knows. For fuzz targets. */
#ifndef TARE_TESTS_FUZZ_JIT_H
#define TARE_TESTS_FUZZ_JIT_H

#include <stdlib.h>

#include "sense/jitfile.h"

/* Aborts when what is found does not hold where it was asked for. */
static inline void jit_find_at(const struct jitfile *f, int fd, uint64_t address, uint64_t at_ns)
{
	static struct jitfile_code code;

	if (!jitfile_find(f, fd, address, at_ns, &code))
		return;
	if (address < code.start || address >= code.end || code.name_bytes > sizeof(code.name) ||
	    code.file_bytes > sizeof(code.file) || (at_ns > 0 && code.since_ns > at_ns))
		abort();
}

static inline void jit_read_and_find(struct jitfile *f, int fd)
{
	(void)jitfile_read(f, fd);
	for (size_t i = 0; i < f->index.count && i < 256; i++) {
		struct jit_code code = f->index.codes[i];

		jit_find_at(f, fd, code.start, 0);
		jit_find_at(f, fd, code.start + code.bytes - 1, code.since_ns);
		jit_find_at(f, fd, code.start + code.bytes, 1);
	}
}

#endif
