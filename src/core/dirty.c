/* dirty.c - one bit a row: which rows a save must write. */
#include "core/dirty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t word_count(uint32_t count)
{
	return ((size_t)count + 63) / 64;
}

int dirty_init(struct dirty *d, uint32_t count)
{
	size_t words = word_count(count);
	uint64_t *zeroed = calloc(words == 0 ? 1 : words, sizeof(*zeroed));

	if (zeroed == NULL)
		return -ENOMEM;
	*d = (struct dirty){ .words = zeroed, .count = count };
	return 0;
}

void dirty_free(struct dirty *d)
{
	free(d->words);
	*d = DIRTY_EMPTY;
}

void dirty_set_below(struct dirty *d, uint32_t end)
{
	uint32_t whole = end / 64, rest = end % 64;

	if (whole > 0)
		memset(d->words, 0xff, whole * sizeof(*d->words));
	if (rest > 0)
		d->words[whole] |= (UINT64_C(1) << rest) - 1;
}

void dirty_set_all(struct dirty *d)
{
	dirty_set_below(d, d->count);
}

void dirty_clear(struct dirty *d)
{
	if (d->words != NULL)
		memset(d->words, 0, word_count(d->count) * sizeof(*d->words));
}

uint32_t dirty_next(const struct dirty *d, uint32_t from)
{
	if (from >= d->count)
		return d->count;

	size_t words = word_count(d->count), at = from / 64;
	uint64_t word = d->words[at] & (UINT64_MAX << (from % 64));

	while (word == 0 && ++at < words)
		word = d->words[at];
	return word == 0 ? d->count : (uint32_t)(at * 64) + (uint32_t)__builtin_ctzll(word);
}
