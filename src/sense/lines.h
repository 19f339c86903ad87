/* lines.h - where in the sources functions begin, from the debug information inside a binary. A child without rights
 * reads it; when the file leads it astray only the lines are missing. One thread. */
#ifndef TARE_SENSE_LINES_H
#define TARE_SENSE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define LINES_TIMEOUT_MS 2000

struct lines_request {
	int fd;		  /* the binary; borrowed */
	uint64_t address; /* its compilation unit is read */
	/* Is the place of this address wanted? Called in the child: what it changes is lost. */
	bool (*wants)(void *owner, uint64_t address);
	/* One wanted place; `file` is borrowed, `file_len` > 0, any bytes. An address may come more than once: the first
	 * is the best. */
	void (*take)(void *owner, uint64_t address, uint32_t line, const char *file,
		     uint32_t file_len);
	void *owner;
};

/* Reads. Adds the child's CPU time to *spent_ns. -EFBIG: so much debug information that it is left alone; -ENOENT:
 * none for that address; -EIO: the child died or took too long; -errno when it could not be started. */
int lines_read(const struct lines_request *request, uint64_t *spent_ns);

#endif
