/* rng.c - xoshiro256** and unbiased integers from it. */
#include "core/rng.h"

static uint64_t rotate(uint64_t x, int by)
{
	return (x << by) | (x >> (64 - by));
}

void rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ (z >> 31);
	}
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t below)
{
	unsigned __int128 product = (unsigned __int128)rng_next(r) * below;

	if ((uint64_t)product >= below)
		return (uint64_t)(product >> 64);

	uint64_t unfair = -below % below; /* so many words too many: 2^64 mod below */

	while ((uint64_t)product < unfair)
		product = (unsigned __int128)rng_next(r) * below;
	return (uint64_t)(product >> 64);
}

bool rng_coin(struct rng *r, uint64_t part, uint64_t whole)
{
	if (part == 0 || part >= whole)
		return whole != 0 && part >= whole;
	return rng_below(r, whole) < part;
}
