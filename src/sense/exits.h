/* exits.h - where functions are left: their ret instructions, and the jumps to what they call last. Probes there time a call
 * without a return probe, which no exception may pass. By disassembly; what cannot be told for sure is refused, never
 * guessed. Reads one ELF file; foreign bytes are only decoded. One thread. */
#ifndef TARE_SENSE_EXITS_H
#define TARE_SENSE_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sense/places.h"

#define EXITS_MOST 64u /* of one function; more are refused */

/* One function's. */
struct exits {
	uint64_t *offsets; /* in the file, rising; owned */
	uint32_t count;	   /* 0: it cannot be told where it is left */
};
#define EXITS_EMPTY ((struct exits){ NULL, 0 })

/* A part of a function: its body, or what the compiler put aside (name.cold). */
struct exits_part {
	const uint8_t *code; /* borrowed */
	uint64_t offset, bytes;
};

/* The exits of a function in `count` parts, the body first. `names_all`: the file names all its functions, so that a jump out of
 * the parts leads to another one. 0; -ENOTSUP: not to be told (code that cannot be decoded, a conditional jump out of the
 * function, a jump by register that may be a switch, too many); -ENOMEM. */
int exits_of_parts(const struct exits_part *parts, size_t count, bool names_all, struct exits *out);

/* The exits of functions that lie in one file; `out` has `count` members, to be freed each. One that cannot be told has none.
 * -ENOENT and the like when the file cannot be read; -ENOMEM. */
int exits_find(const struct place *const *places, size_t count, struct exits *out);

/* Accepts the empty value, and may run twice. */
void exits_free(struct exits *e);

#endif
