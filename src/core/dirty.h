/* dirty.h - which rows of a table changed since the last save: one bit a row. Storage is taken once. */
#ifndef TARE_CORE_DIRTY_H
#define TARE_CORE_DIRTY_H

#include <stdbool.h>
#include <stdint.h>

struct dirty {
	uint64_t *words; /* owned */
	uint32_t count;	 /* rows */
};

#define DIRTY_EMPTY ((struct dirty){ NULL, 0 })

/* Room for `count` rows, all clean. -ENOMEM. */
int dirty_init(struct dirty *d, uint32_t count);

/* Accepts the empty value, and may run twice. */
void dirty_free(struct dirty *d);

/* Marks row `i`. */
static inline void dirty_set(struct dirty *d, uint32_t i)
{
	d->words[i >> 6] |= UINT64_C(1) << (i & 63);
}

/* Marks the rows below `end`; end <= count. */
void dirty_set_below(struct dirty *d, uint32_t end);

/* Marks every row. */
void dirty_set_all(struct dirty *d);

/* Forgets all marks. */
void dirty_clear(struct dirty *d);

/* The first marked row >= `from`, or `count` when there is none. */
uint32_t dirty_next(const struct dirty *d, uint32_t from);

#endif
