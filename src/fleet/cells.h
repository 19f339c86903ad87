/* cells.h - what stands in the cells of an answer: foreign text, read as numbers and names or not at all. Pure. */
#ifndef TARE_FLEET_CELLS_H
#define TARE_FLEET_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fleet.h"
#include "fleet/script.h"

/* A whole number with an optional sign, all digits, that has room in 64 bits; else false, and *out is untouched. */
bool cell_i64(struct cell c, int64_t *out);

/* The same for an oid: 0 to 2^32 - 2. */
bool cell_u32(struct cell c, uint32_t *out);

/* A counter: a whole number from 0 to 2^63 - 1. NULL, negative, larger and what is no number: NOT_MEASURED. */
struct counter cell_counter(struct cell c);

/* A duration in ms, with fraction and exponent as float8 prints them, as ns: NULL, NaN, infinite, negative, over 2^63 ns and what
 * is no number: NOT_MEASURED. */
struct counter cell_counter_ms(struct cell c);

/* A moment in whole microseconds since 1970, as ns; 0: NULL, or no such number. */
int64_t cell_time_ns(struct cell c);

/* 't' is true; everything else is not. */
bool cell_bool(struct cell c);

/* Its bytes, cut at STR_MAX_BYTES; empty for NULL. Borrowed as the cell is. */
struct str cell_str(struct cell c);

/* Copies at most size - 1 bytes up to a NUL, and ends them. */
void cell_copy(struct cell c, char *out, uint32_t size);

#endif
