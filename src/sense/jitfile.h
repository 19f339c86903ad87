/* jitfile.h - what a program says of code that it makes while it runs: a perf map (lines of "START SIZE name" in hexadecimal), or a
 * jitdump (tools/perf/Documentation/jitdump-specification.txt in Linux). Both only grow: what was read is not read again. The
 * program may write anything. For the parser child (parser.h). One thread. */
#ifndef TARE_SENSE_JITFILE_H
#define TARE_SENSE_JITFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/jitindex.h"

#define JITFILE_MAX_MAP	 (UINT64_C(64) << 20)	/* bytes of a perf map */
#define JITFILE_MAX_DUMP (UINT64_C(1024) << 20) /* of a jitdump, which holds the code too */

/* The empty value is all zero. All members are private, but for index.rejected. */
struct jitfile {
	uint64_t device, inode;	       /* the file */
	uint64_t read_bytes;	       /* of it, so far */
	bool is_dump;		       /* a jitdump */
	bool is_skipping;	       /* in a line that is too long */
	bool has_no_times;	       /* its times are of another clock */
	uint64_t debug_at, debug_code; /* the last record of lines, and the code it is of */
	uint64_t used;		       /* for whoever keeps several: when it was wanted last */
	struct jitindex index;
};

/* Accepts the empty value, and may run twice. */
void jitfile_free(struct jitfile *f);

/* Reads what came since, or all of another file than the one before. 0; -ENOEXEC: neither kind; -EFBIG; -EIO; -ENOMEM. */
int jitfile_read(struct jitfile *f, int fd);

/* A piece of code in words. */
struct jitfile_code {
	uint64_t start, end;
	uint64_t since_ns, until_ns;	 /* it was there in between */
	uint32_t name_bytes, file_bytes; /* file_bytes 0: not known */
	uint32_t line;			 /* where it begins; 0: not known */
	char name[STR_MAX_BYTES], file[STR_MAX_BYTES];
};

/* What lay at `address` at `at_ns` (CLOCK_MONOTONIC; 0: now). False: not known; then only out->until_ns is filled in. */
bool jitfile_find(const struct jitfile *f, int fd, uint64_t address, uint64_t at_ns,
		  struct jitfile_code *out);

/* For jitfile_read(): the records of a jitdump, and the lines of a perf map. */
int jitdump_read(struct jitfile *f, int fd, uint64_t file_bytes);
int perfmap_read(struct jitfile *f, int fd, uint64_t file_bytes);

/* For jitfile_find(): where a jitdump says that a piece of code begins in the sources. */
void jitdump_source(int fd, const struct jit_code *code, struct jitfile_code *out);

#endif
