/* places_code.h - where in a function a probe goes: at its first instruction, or behind a few harmless ones at the next that
 * the kernel need not single-step. Pure: bytes in, a decision out. */
#ifndef TARE_SENSE_PLACES_CODE_H
#define TARE_SENSE_PLACES_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "sense/places.h"

#define PLACES_CODE_MAX_SKIP 24u /* bytes in front of a probe, at most */

struct places_code {
	const uint8_t *bytes; /* from the function's first byte; borrowed */
	size_t known;	      /* so many can be read */
	uint64_t length;      /* of the function by the symbol table; 0: not known */
	uint64_t offset;      /* in the file; within its page as the address is */
	uint32_t next_symbol; /* bytes to the next symbol inside it; UINT32_MAX: none near */
};

struct places_probe {
	uint32_t skip; /* bytes from the start to the probe */
	enum place_first first;
};

/* Where the probe may go by the function itself: behind instructions that write neither memory nor rsp and do not branch, so
 * that a return probe finds the return address at rsp as at the start. It must not go there when a
 * jump leads to there or to what was passed over: places_jumps.h. */
struct places_probe places_code_probe(const struct places_code *code);

#endif
