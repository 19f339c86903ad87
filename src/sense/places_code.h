/* places_code.h - where in a function a probe goes: at its first instruction, or behind a few harmless ones at the next that
 * the kernel need not single-step. Pure: bytes in, a decision out. */
#ifndef TARE_SENSE_PLACES_CODE_H
#define TARE_SENSE_PLACES_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "sense/places.h"

#define PLACES_CODE_MAX_SKIP 15u /* bytes in front of a probe, at most */
#define PLACES_CODE_MAX_BODY \
	131072u /* longer functions are not looked through: the probe stays at the start */

struct places_code {
	const uint8_t *bytes; /* from the function's first byte; borrowed */
	size_t known;	      /* so many can be read */
	uint64_t length;      /* of the function by the symbol table; 0: not known */
	uint64_t offset;      /* in the file; a page's worth of it is that of the address too */
	uint32_t next_symbol; /* bytes to the next symbol inside it; UINT32_MAX: none near */
};

struct places_probe {
	uint32_t skip; /* bytes from the start to the probe */
	enum place_first first;
};

/* Decides. A probe moves only when no jump inside the function can lead to where it then lies or to what it jumped over:
 * every byte is taken for the begin of a jump, so none is overlooked. What is jumped over writes neither memory nor rsp and
 * does not branch: a return probe still finds the return address at rsp, and whoever calls comes by. */
struct places_probe places_code_probe(const struct places_code *code);

#endif
