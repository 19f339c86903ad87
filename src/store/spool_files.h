/* spool_files.h - the segments of a spool as files: names, reading whole, writing at the end. Internal to store. */
#ifndef TARE_STORE_SPOOL_FILES_H
#define TARE_STORE_SPOOL_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* A segment on the disk. */
struct segment {
	uint64_t number; /* they are read by rising number */
	uint64_t bytes, batches;
};

/* The segments of an open folder by rising number, batches not yet counted. Owned by the caller. -ENOMEM and the like. */
int segments_list(int folder, struct segment **out, size_t *out_count);

/* Reads a segment whole. Owned by the caller. */
int segment_read(int folder, uint64_t number, uint8_t **out, size_t *out_len);

/* Makes a new, empty segment; its descriptor, or a negative errno. */
int segment_make(int folder, uint64_t number);

/* Writes `len` bytes at the end of a segment that has `at` bytes. On failure it is cut back to them. */
int segment_append(int fd, uint64_t at, const void *bytes, size_t len);

/* Removes it; what can not be removed stays. */
void segment_remove(int folder, uint64_t number);

/* The next whole packed batch in `bytes` from *at on: its place and length, and *at behind it. `*out_skipped`: bytes before it that are no
 * batch. 0: there is none. */
size_t segment_next(const uint8_t *bytes, size_t len, size_t *at, size_t *out_from,
		    size_t *out_skipped);

#endif
