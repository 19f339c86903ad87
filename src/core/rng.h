/* rng.h - the generator behind every coin. Its whole state is four words, kept in the recording: same
 * input and same state, same result. xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded by splitmix64.
 * Not for secrets. One thread at a time. */
#ifndef TARE_CORE_RNG_H
#define TARE_CORE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

/* Fills the state from one word; any seed is good, 0 too. */
void rng_seed(struct rng *r, uint64_t seed);

/* The next 64 random bits. */
uint64_t rng_next(struct rng *r);

/* An unbiased integer in [0, below), by rejection (Lemire, "Fast random integer generation in an interval",
 * 2019). `below` must be > 0. */
uint64_t rng_below(struct rng *r, uint64_t below);

/* True with probability part/whole, exactly; part <= whole. What is certain is not drawn: part == 0 (and so
 * whole == 0) is false, part == whole is true. */
bool rng_coin(struct rng *r, uint64_t part, uint64_t whole);

#endif
