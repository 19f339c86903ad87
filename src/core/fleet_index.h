/* fleet_index.h - finds rows by their key: open addressing over the places of an array. Internal to core's analysis of fleets. */
#ifndef TARE_CORE_FLEET_INDEX_H
#define TARE_CORE_FLEET_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_NOWHERE UINT32_MAX

/* The empty value is all zero. */
struct fleet_places {
	uint32_t *at;	  /* owned: index + 1 of a row; 0: free */
	uint64_t *hashes; /* owned */
	size_t room, count;
};

/* Is row `i` the one? */
typedef bool fleet_same_fn(const void *owner, uint32_t i, const void *key);

/* The row with this key, or FLEET_NOWHERE. */
uint32_t fleet_places_find(const struct fleet_places *p, uint64_t hash, fleet_same_fn *is_same,
			   const void *owner, const void *key);

/* Adds row `i`, which is not there yet. -ENOMEM. */
int fleet_places_add(struct fleet_places *p, uint64_t hash, uint32_t i);

/* Accepts the empty value, and may run twice. */
void fleet_places_free(struct fleet_places *p);

/* Mixes a number, and bytes, into a hash (splitmix64's finaliser; FNV-1a). */
uint64_t fleet_hash_u64(uint64_t hash, uint64_t value);
uint64_t fleet_hash_bytes(uint64_t hash, const void *bytes, size_t len);

#endif
