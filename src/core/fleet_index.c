/* fleet_index.c - open addressing, at most two thirds full, linear steps. */
#include "core/fleet_index.h"

#include <errno.h>
#include <stdlib.h>

uint64_t fleet_hash_u64(uint64_t hash, uint64_t value)
{
	uint64_t z = (hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t fleet_hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return fleet_hash_u64(hash, h);
}

uint32_t fleet_places_find(const struct fleet_places *p, uint64_t hash, fleet_same_fn *is_same,
			   const void *owner, const void *key)
{
	if (p->room == 0)
		return FLEET_NOWHERE;
	for (size_t at = hash & (p->room - 1); p->at[at] != 0; at = (at + 1) & (p->room - 1))
		if (p->hashes[at] == hash && is_same(owner, p->at[at] - 1, key))
			return p->at[at] - 1;
	return FLEET_NOWHERE;
}

static void settle(struct fleet_places *p, uint64_t hash, uint32_t place)
{
	size_t at = hash & (p->room - 1);

	while (p->at[at] != 0)
		at = (at + 1) & (p->room - 1);
	p->at[at] = place;
	p->hashes[at] = hash;
}

static int grow(struct fleet_places *p)
{
	struct fleet_places more = { .room = p->room > 0 ? p->room * 2 : 64, .count = p->count };

	more.at = calloc(more.room, sizeof(*more.at));
	more.hashes = calloc(more.room, sizeof(*more.hashes));
	if (more.at == NULL || more.hashes == NULL) {
		fleet_places_free(&more);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->room; i++)
		if (p->at[i] != 0)
			settle(&more, p->hashes[i], p->at[i]);
	fleet_places_free(p);
	*p = more;
	return 0;
}

int fleet_places_add(struct fleet_places *p, uint64_t hash, uint32_t i)
{
	if ((p->count + 1) * 3 > p->room * 2) {
		int rc = grow(p);

		if (rc != 0)
			return rc;
	}
	settle(p, hash, i + 1);
	p->count++;
	return 0;
}

void fleet_places_free(struct fleet_places *p)
{
	free(p->at);
	free(p->hashes);
	*p = (struct fleet_places){ .at = NULL };
}
