/* mapping_reader.h - what the files of the mapping's reader share. For mapping*.c only. */
#ifndef TARE_SENSE_MAPPING_READER_H
#define TARE_SENSE_MAPPING_READER_H

#include <sys/types.h>

#include "sense/mapping.h"

/* What was read of one name, all threads together. */
struct seen {
	struct mapping_row sum; /* max_ns: 0 */
	uint32_t *histogram;	/* BUCKET_COUNT; NULL: not asked for yet */
};

struct mapping_reader {
	struct mapping_shared *shared;
	int fd;		     /* -1: borrowed memory */
	pid_t pid;	     /* 0: borrowed memory */
	uint64_t window;     /* the number of the open one */
	uint64_t word;	     /* what orders.window then says */
	uint64_t opened_ns;  /* when, by the process's clock */
	uint64_t covered_ns; /* of the ended one; UINT64_MAX: all of it */
	uint64_t epoch, tick_scale;
	struct mapping_loss before; /* what was lost before the start */
	uint64_t torn;
	struct seen seen[MAPPING_NAMES];
	struct mapping_row rows[MAPPING_NAMES];
	uint32_t next_slot;		      /* where the search for slow frames goes on */
	uint64_t first_frames[MAPPING_SLOTS]; /* each slot's frame_serial at the start */
};

/* The smaller one. */
static inline uint32_t mapping_at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

/* Slots that were ever used. */
static inline uint32_t mapping_slot_count(const struct mapping_reader *reader)
{
	return mapping_at_most(MAPPING_READ(reader->shared->host.slot_count), MAPPING_SLOTS);
}

#endif
