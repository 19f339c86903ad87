/* perf_ring.c - rings of the kernel, merged by time without allocating. */
#include "sense/perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sense/perf_open.h"

#define SCRATCH_BYTES 65536u /* a record's size is 16 bits */

static struct perf_event_mmap_page *head_page(const struct perf_ring *ring)
{
	return ring->map;
}

/* The event that owns a ring: counts nothing, on our own thread, so that no other program's end takes it away. */
static int open_owner(int cpu, uint32_t pages, size_t page_bytes)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(pages * page_bytes / 2),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return perf_open_event(&attr, 0, cpu);
}

static void ring_close(struct perf_ring *ring)
{
	if (ring->map != NULL)
		munmap(ring->map, ring->map_bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct perf_ring){ .fd = -1 };
}

static int ring_open(struct perf_ring *out, int cpu, uint32_t pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_ring ring = { .cpu = cpu,
				  .map_bytes = (pages + 1) * page_bytes,
				  .mask = pages * page_bytes - 1 };

	ring.fd = open_owner(cpu, pages, page_bytes);
	if (ring.fd < 0)
		return -errno;
	ring.map = mmap(NULL, ring.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.map == MAP_FAILED) {
		int error = errno;

		close(ring.fd);
		/* The budget's refusal is told from the event's own EPERM. */
		return error == EPERM ? -ENOMEM : -error;
	}
	ring.bytes = (const uint8_t *)ring.map + page_bytes;
	*out = ring;
	return 0;
}

void perf_rings_close(struct perf_rings *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		ring_close(&r->rings[i]);
	free(r->rings);
	free(r->scratch);
	*r = (struct perf_rings){ 0 };
}

/* All rings of one size, or none. */
static int open_all(struct perf_rings *r, const struct procfs_list *cpus, uint32_t pages)
{
	for (size_t i = 0; i < cpus->count; i++) {
		int error = ring_open(&r->rings[r->count], cpus->items[i], pages);

		if (error == -ENODEV)
			continue; /* went offline since it was listed */
		if (error == 0) {
			r->count++;
			continue;
		}
		while (r->count > 0)
			ring_close(&r->rings[--r->count]);
		return error;
	}
	r->pages = pages;
	return r->count > 0 ? 0 : -ENODEV;
}

int perf_rings_open(struct perf_rings *out, const struct procfs_list *cpus, uint32_t pages,
		    struct err *err)
{
	struct perf_rings r = { 0 };
	int error = -ENOMEM;

	r.rings = calloc(cpus->count, sizeof(*r.rings));
	r.scratch = malloc(SCRATCH_BYTES);
	if (r.rings == NULL || r.scratch == NULL) {
		perf_rings_close(&r);
		return err_set(err, -ENOMEM, "cannot keep rings for %zu CPUs: no memory",
			       cpus->count);
	}
	for (; error == -ENOMEM && pages >= PERF_RING_PAGES_MIN; pages /= 2)
		error = open_all(&r, cpus, pages);
	if (error != 0) {
		perf_rings_close(&r);
		return error == -ENOMEM ? perf_explain_ring(cpus->count, err)
					: perf_explain_event(error, 0, err);
	}
	*out = r;
	return 0;
}

static uint64_t word_at(const struct perf_ring *ring, uint64_t position)
{
	uint64_t word;

	/* Records begin at multiples of 8, so no word is ever split. */
	memcpy(&word, ring->bytes + (position & ring->mask), sizeof(word));
	return word;
}

/* Reads the time of the record at the tail. */
static int peek(struct perf_rings *r, struct perf_ring *ring, struct err *err)
{
	struct perf_event_header header;
	uint64_t word, offset;

	ring->next_at_ns = UINT64_MAX;
	if (ring->head == ring->tail)
		return 0;
	word = word_at(ring, ring->tail);
	memcpy(&header, &word, sizeof(header));
	if (header.size % 8 != 0 || header.size < sizeof(header) + PERF_TRAILER_BYTES ||
	    header.size > ring->head - ring->tail)
		return err_set(err, -EIO, "cannot read the ring of CPU %d: a record of %u bytes",
			       ring->cpu, header.size);
	offset = header.type == PERF_RECORD_SAMPLE ? PERF_SAMPLE_AT_TIME
						   : header.size - PERF_TRAILER_BYTES + 8;
	word = word_at(ring, ring->tail + offset);
	if (word <= r->until_ns)
		ring->next_at_ns = word;
	return 0;
}

int perf_rings_look(struct perf_rings *r, uint64_t until_ns, struct err *err)
{
	r->until_ns = until_ns;
	for (uint32_t i = 0; i < r->count; i++) {
		struct perf_ring *ring = &r->rings[i];

		ring->head = __atomic_load_n(&head_page(ring)->data_head, __ATOMIC_ACQUIRE);
		if (peek(r, ring, err) != 0)
			return -EIO;
	}
	return 0;
}

bool perf_rings_next(const struct perf_rings *r, struct perf_record *out)
{
	uint64_t earliest_ns = UINT64_MAX, word;
	uint32_t at = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (r->rings[i].next_at_ns < earliest_ns) {
			earliest_ns = r->rings[i].next_at_ns;
			at = i;
		}
	}
	if (earliest_ns == UINT64_MAX)
		return false;
	word = word_at(&r->rings[at], r->rings[at].tail);
	memcpy(&out->header, &word, sizeof(out->header));
	out->ring = at;
	out->at_ns = earliest_ns;
	return true;
}

uint64_t perf_rings_word(const struct perf_rings *r, const struct perf_record *record,
			 size_t offset)
{
	const struct perf_ring *ring = &r->rings[record->ring];

	return word_at(ring, ring->tail + offset);
}

const uint8_t *perf_rings_bytes(struct perf_rings *r, const struct perf_record *record)
{
	const struct perf_ring *ring = &r->rings[record->ring];
	uint64_t from = ring->tail & ring->mask;
	uint64_t up_to_end = ring->mask + 1 - from;

	if (record->header.size <= up_to_end)
		return ring->bytes + from;
	memcpy(r->scratch, ring->bytes + from, up_to_end);
	memcpy(r->scratch + up_to_end, ring->bytes, record->header.size - up_to_end);
	return r->scratch;
}

int perf_rings_consume(struct perf_rings *r, const struct perf_record *record, struct err *err)
{
	struct perf_ring *ring = &r->rings[record->ring];

	ring->tail += record->header.size;
	__atomic_store_n(&head_page(ring)->data_tail, ring->tail, __ATOMIC_RELEASE);
	return peek(r, ring, err);
}
