/* flat.h - does a process stay as large as it was: memory, descriptors, threads, hour after hour? */
#ifndef TARE_TESTS_SIM_FLAT_H
#define TARE_TESTS_SIM_FLAT_H

#include <stdbool.h>
#include <stdint.h>

/* What /proc says of this process now. */
struct flat_reading {
	uint64_t rss_bytes, heap_bytes, descriptors, threads;
};

/* All zero: nothing read yet. */
struct flat {
	uint64_t next_ns, looks;
	struct flat_reading first, most;
};

/* Reads once for each hour of (simulated) time; those of the first hour, when everything grows to its limits, are left out. */
void flat_look(struct flat *f, uint64_t at_ns);

/* Is nothing larger than it was after the first hour, memory by more than a page of an allocator's making? Prints it. */
bool flat_is(const struct flat *f, const char *name);

#endif
