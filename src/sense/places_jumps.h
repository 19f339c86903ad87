/* places_jumps.h - where the relative jumps of a file may lead. Pure. */
#ifndef TARE_SENSE_PLACES_JUMPS_H
#define TARE_SENSE_PLACES_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACES_JUMP_BYTES 6u /* of the longest relative jump */

/* From behind `start` to `end`: addresses that nothing may jump to. */
struct places_range {
	uint64_t start, end;
	bool is_entered; /* something may */
};

/* Marks the ranges (sorted, they do not overlap) that a relative jump or call in `bytes` may lead to. Every byte is taken for
 * the begin of one, so that none is overlooked; a jump that was none costs a cheap place, nothing else. `address`: of the
 * first byte. Jumps that lie across two calls are seen when the second begins PLACES_JUMP_BYTES earlier. */
void places_jumps_veto(const uint8_t *bytes, size_t length, uint64_t address,
		       struct places_range *ranges, size_t count);

#endif
