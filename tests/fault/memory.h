/* memory.h - memory that runs out at the n-th allocation of this program, SQLite's and the C library's included. Stands in
 * the place of malloc and its kin. One thread. */
#ifndef TARE_TESTS_MEMORY_H
#define TARE_TESTS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the n-th allocation fails (from 1; 0: none does), and with `is_sticky` all after it. Counts anew. */
void memory_set(uint64_t n, bool is_sticky);

/* Allocations seen, and refused, since memory_set(). */
uint64_t memory_seen(void);
uint64_t memory_fired(void);

/* Blocks that are held now: the same number before and after says that nothing leaked. 0 under a sanitizer, which looks
 * for leaks itself. */
int64_t memory_held(void);

#endif
