/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause */
/* coin.h - which waits of a thread are looked at: one in N. N is settled before the coin falls, from the last window and from
 * what this one has taken, and who is looked at weighs N: unbiased, whatever order long and short waits come in. (A budget whose
 * next look stands for those held back is not: long waits follow bursts of short ones.) Arithmetic only: C11 and BPF C, no
 * library call. core and bpf share it. A state belongs to one thread. */
#ifndef TARE_CORE_COIN_H
#define TARE_CORE_COIN_H

#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>
#endif

#define COIN_WINDOW_NS	      100000000ull
#define COIN_WINDOWS_A_SECOND 10u
#define COIN_MOST	      65536u
#define COIN_PAST_MOST_NS     (1ull << 40) /* what a window of any length counts as at most */

/* The empty value is all zero. */
struct coin {
	uint64_t since_ns; /* when the open window began; 0: none was yet */
	uint32_t seen;	   /* waits in it */
	uint32_t taken;	   /* looked at since N changed */
	uint32_t one_in;   /* N; 0: not settled yet, which is 1 */
	uint32_t spare;
};

/* The N that brings `seen` waits in `past_ns` to `rate` looks a second, rounded up: 1 … COIN_MOST. */
static inline uint32_t coin_one_in(uint32_t seen, uint64_t past_ns, uint32_t rate)
{
	uint64_t looks, one_in;

	if (past_ns > COIN_PAST_MOST_NS)
		past_ns = COIN_PAST_MOST_NS;
	looks = past_ns * rate;
	if (looks == 0)
		return COIN_MOST;
	one_in = (seen * 1000000000ull + looks - 1u) / looks;
	return one_in == 0 ? 1u : one_in > COIN_MOST ? COIN_MOST : (uint32_t)one_in;
}

/* A wait begins at `now_ns`: the N in force for it. At most `rate` looks a second on average, and in a burst beyond the last
 * window's N doubles each time that twice a window's looks were taken. */
static inline uint32_t coin_settle(struct coin *c, uint64_t now_ns, uint32_t rate)
{
	uint64_t past_ns = now_ns > c->since_ns ? now_ns - c->since_ns : 0;

	if (c->since_ns == 0 || past_ns >= COIN_WINDOW_NS) {
		c->one_in = c->since_ns == 0 ? 1u : coin_one_in(c->seen, past_ns, rate);
		c->since_ns = now_ns;
		c->seen = 0;
		c->taken = 0;
	} else if (c->taken * (COIN_WINDOWS_A_SECOND / 2u) > rate) {
		c->one_in = c->one_in > COIN_MOST / 2u ? COIN_MOST : c->one_in * 2u;
		c->taken = 0;
	}
	c->seen++;
	return c->one_in;
}

/* Does the coin fall for this wait? `random`: 32 random bits, drawn after N was settled. */
static inline bool coin_falls(struct coin *c, uint32_t random)
{
	bool falls = ((uint64_t)random * c->one_in) >> 32 == 0;

	c->taken += falls;
	return falls;
}

#endif
