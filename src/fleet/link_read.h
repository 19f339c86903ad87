/* link_read.h - bounds on what libpq reads and computes. It reads for as long as data comes when a message is long, and takes the other side's
 * word for how long that is: from a process on this machine it would take a gigabyte in one call. And it computes as many rounds of SCRAM as
 * the server asks for: two thousand million take half an hour. */
#ifndef TARE_FLEET_LINK_READ_H
#define TARE_FLEET_LINK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks for rounds of SCRAM in what a server says before it lets us in, over any number of reads. All zero: nothing read yet. */
struct link_scan {
	uint32_t at;	  /* of ",i=" and its digits, how many were matched */
	bool has_tripped; /* a million rounds or more: the read failed for it */
};

/* From here on the calling thread's recv(), which libpq reads by, TLS too, gives `most` bytes altogether, then EAGAIN. `scan` (may be NULL) looks
 * at what is read, behind TLS where there is TLS. */
void link_read_begin(uint64_t most, struct link_scan *scan);

/* No bounds any more. Returns how many bytes were read. */
uint64_t link_read_end(void);

/* Feeds a scan. Returns whether it has tripped. */
bool link_scan_feed(struct link_scan *scan, const char *bytes, size_t len);

#endif
