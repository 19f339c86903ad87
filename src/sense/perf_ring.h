/* perf_ring.h - the kernel's rings, one a CPU, read as one stream of records in order of time. The rings belong to
 * silent events of our own, so they stay while the events that write into them come and go. One thread. */
#ifndef TARE_SENSE_PERF_RING_H
#define TARE_SENSE_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "sense/procfs.h"

#define PERF_RING_PAGES \
	128u /* with the head page 516 KB: what the kernel lets everybody lock a CPU */
#define PERF_RING_PAGES_MIN 8u /* room for one sample with its copied stack */

/* The sample_type of every event that writes here; without READ where weights are derived. */
#define PERF_RING_SAMPLE_TYPE                                                                     \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Where things stand in a sample with that sample_type, and in the trailer of all other records. */
#define PERF_SAMPLE_AT_IP   8u
#define PERF_SAMPLE_AT_TID  16u
#define PERF_SAMPLE_AT_TIME 24u
#define PERF_SAMPLE_AT_ID   32u
#define PERF_SAMPLE_AT_READ 48u
#define PERF_TRAILER_BYTES  32u /* TID, TIME, ID, CPU */

struct perf_ring {
	int fd, cpu;
	void *map;
	size_t map_bytes;
	const uint8_t *bytes; /* the records; `mask` + 1 of them */
	uint64_t mask;
	uint64_t head, tail; /* head: as seen by perf_rings_look */
	uint64_t
		next_at_ns; /* time of the record at the tail; UINT64_MAX: none up to the horizon */
	uint32_t gaps;	    /* losses and throttlings so far: what spans one is no plain period */
};

struct perf_rings {
	struct perf_ring *rings;
	uint32_t count;
	uint32_t pages;	   /* of one ring, without its head page */
	uint64_t until_ns; /* horizon of this look */
	uint8_t *scratch;  /* 64 KB: a record that wraps is copied here */
};

/* One record, still in its ring. */
struct perf_record {
	struct perf_event_header header;
	uint32_t ring;
	uint64_t at_ns;
};

/* Opens and maps a ring for every CPU in `cpus` (offline ones are left out): `pages` each (a power of two), fewer
 * when the budget for locked memory is short. Errors are three lines. */
int perf_rings_open(struct perf_rings *out, const struct procfs_list *cpus, uint32_t pages,
		    struct err *err);

/* Accepts the empty value (all zero), and may run twice. */
void perf_rings_close(struct perf_rings *r);

/* Notes how far every ring is filled. Records up to `until_ns` (CLOCK_MONOTONIC, taken before the call) can then be
 * had; later ones stay for the next look, since an earlier one of another CPU might still be on its way. */
int perf_rings_look(struct perf_rings *r, uint64_t until_ns, struct err *err);

/* The earliest record not yet consumed. False: no more in this look. */
bool perf_rings_next(const struct perf_rings *r, struct perf_record *out);

/* The 8 bytes at `offset` of a record, wherever the ring wraps. `offset` + 8 must lie inside the record. */
uint64_t perf_rings_word(const struct perf_rings *r, const struct perf_record *record,
			 size_t offset);

/* The whole record in one piece: in place, or copied when it wraps. Valid until the next call or consume. */
const uint8_t *perf_rings_bytes(struct perf_rings *r, const struct perf_record *record);

/* Gives the record's room back to the kernel. -EIO: the ring is corrupt behind it. */
int perf_rings_consume(struct perf_rings *r, const struct perf_record *record, struct err *err);

#endif
