/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause */
/* gap.h - how many calls pass until the next timed one, and when the interval doubles inside a window. Arithmetic only:
 * C11, C++11 and BPF C, no library call, no division of signed numbers. core, lib and bpf share it; a BPF program includes
 * vmlinux.h first.
 *
 * The first call of a window is timed. The gap after it, and after every doubling, is gap_first(); every later one is
 * gap_later(). A gap of g: g - 1 calls pass untimed, the g-th is timed, with the interval its gap was drawn with as
 * its weight. Together they are a renewal process in its stationary state (Cox, "Renewal Theory", 1962, 2.3): the chance
 * to be timed is 1/N at every place behind the first call, so nothing locks step with the program.
 *
 * Intervals are 1 … GAP_MAX_INTERVAL. A state belongs to one thread, or one CPU. */
#ifndef TARE_CORE_GAP_H
#define TARE_CORE_GAP_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define GAP_MAX_INTERVAL 65536u
#define GAP_MAX_FIRSTS \
	1000u /* first calls timed in one window; a thread beyond starts with gap_first() */

/* The next 32 random bits; `state` may start at any value, a different one for each thread. This is splitmix64
 * (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014), its upper half. */
static inline uint32_t gap_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* A whole number in 1 … `most` from 32 random bits; uneven by at most most / 2^32. */
static inline uint32_t gap_draw(uint32_t random, uint32_t most)
{
	return 1u + (uint32_t)(((uint64_t)random * most) >> 32);
}

/* The gap after a first call from two random words: the smaller of two different draws from 1 … 2N. The
 * second is drawn from 1 … 2N - 1, as if a's place were cut out; putting it back (b + 1 where b >= a) would change a
 * larger b only, never the smaller of the two. */
static inline uint32_t gap_first_of(uint32_t random_a, uint32_t random_b, uint32_t interval)
{
	uint32_t a = gap_draw(random_a, 2u * interval);
	uint32_t b = gap_draw(random_b, 2u * interval - 1u);

	return a < b ? a : b;
}

/* A later gap from a random word: 1 … 2N - 1, N on average. */
static inline uint32_t gap_later_of(uint32_t random, uint32_t interval)
{
	return gap_draw(random, 2u * interval - 1u);
}

/* The same from a state. BPF may use bpf_get_prandom_u32() and the functions above instead. */
static inline uint32_t gap_first(uint64_t *state, uint32_t interval)
{
	uint32_t a = gap_random(state);

	return gap_first_of(a, gap_random(state), interval);
}

/* See gap_first(). */
static inline uint32_t gap_later(uint64_t *state, uint32_t interval)
{
	return gap_later_of(gap_random(state), interval);
}

/* What a timed call stands for that was found inside another of the same function, `behind` calls earlier: one in so many
 * such pairs has both timed. Not `weight`, the interval its gap was drawn with: right behind a timed call they are rarer.
 * By the renewal equation the chance is (1 + 1/m)^(behind - 1) / m with m = 2 weight - 1, up to m calls behind; then it is
 * near 1 / weight, and that is taken. */
static inline uint32_t gap_weight_behind(uint32_t weight, uint32_t behind)
{
	uint64_t m = 2ull * weight - 1u;
	uint64_t part = (m << 30) / (m + 1u), power = 1ull << 30;
	uint64_t left = behind - 1ull;

	if (behind == 0 || behind > m || weight > GAP_MAX_INTERVAL)
		return weight;
	for (int i = 0; i < 17; i++) {
		if ((left & 1u) != 0)
			power = power * part >> 30;
		part = part * part >> 30;
		left >>= 1;
	}
	return (uint32_t)((m * power + (1ull << 29)) >> 30);
}

/* What timed calls may have cost in this window before the interval doubles for the `doubled`-th time more (0: none
 * yet): the share, then 2/5, 1/5, 1/10 … of it further: 1, 1.4, 1.6, 1.7 … and never 1.8 times the share. In the
 * unit of `share`, any. At each limit reached: interval = gap_doubled(interval, most), doubled++, and the next gap is
 * gap_first(). */
static inline uint64_t gap_limit(uint64_t share, uint32_t doubled)
{
	uint64_t further = share - share / 5u - (share % 5u != 0u); /* 4/5, rounded down */

	return share + further - (doubled < 64u ? further >> doubled : 0u);
}

/* Twice the interval, at most `most`. */
static inline uint32_t gap_doubled(uint32_t interval, uint32_t most)
{
	return interval > most / 2u ? most : interval * 2u;
}

#endif
