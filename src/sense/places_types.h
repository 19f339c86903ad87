/* places_types.h - one spelling for types that users and demanglers write in several. Pure; any bytes. */
#ifndef TARE_SENSE_PLACES_TYPES_H
#define TARE_SENSE_PLACES_TYPES_H

#include <stdint.h>

#include "core/frame.h"

/* Copies `name` with every "const T" of its arguments as "T const"; `out` holds name.len bytes. Returns the length. */
uint32_t types_move_const(struct str name, char *out);

/* Shortens, in place, a name without blanks: "std::__cxx11::" to "std::", the long form of std::string to that, and leaves
 * out allocators that are not the first argument. Returns the new length. */
uint32_t types_shorten(char *name, uint32_t length);

#endif
