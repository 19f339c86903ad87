/* grow.h - one growing array, with a ceiling: foreign files decide how much is wanted, we decide how much is had. */
#ifndef TARE_SENSE_GROW_H
#define TARE_SENSE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes room for `need` items of `item_bytes` in the array at `*items` (from malloc; NULL when empty), which has
 * room for `*room`. Doubles, so that adding one by one stays linear. -E2BIG beyond `most`, -ENOMEM; the array is
 * untouched then. */
static inline int grow(void **items, size_t *room, size_t need, size_t most, size_t item_bytes)
{
	size_t want = *room > 0 ? *room : 16;
	void *bigger;

	if (need <= *room)
		return 0;
	if (need > most)
		return -E2BIG;
	while (want < need)
		want *= 2;
	if (want > most)
		want = most;
	bigger = reallocarray(*items, want, item_bytes);
	if (bigger == NULL)
		return -ENOMEM;
	*items = bigger;
	*room = want;
	return 0;
}

#endif
