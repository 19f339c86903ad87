/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause */
/* bucket.h - which step of the log-linear histogram a duration falls into. Arithmetic only: C11, C++11 and BPF C, no
 * library call and no division on the way in. core, lib and bpf share it; a BPF program includes vmlinux.h first.
 *
 * 48 steps an octave: below 64 ns each nanosecond has its own step, from there each doubling is cut into 48 equal
 * steps, up to 2^36 ns (69 s). A step is at most 1/48 of its low edge wide, so the middle of a step is within 1.05 % of
 * every duration in it. The last step is open upward: the longest duration seen is kept beside the histogram.
 *
 * Each timed call adds its weight to its step: 1 for the first call of a window, for the others the interval that the
 * call was drawn with. So the histogram is that of all calls, also when the interval changed inside the window. */
#ifndef TARE_CORE_BUCKET_H
#define TARE_CORE_BUCKET_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define BUCKET_STEPS 48u   /* in an octave */
#define BUCKET_EXACT 64u   /* durations below have a step each */
#define BUCKET_FIRST 6u	   /* 2^6 = 64 */
#define BUCKET_END   36u   /* 2^36 ns and beyond are in the last step */
#define BUCKET_COUNT 1504u /* BUCKET_EXACT + (BUCKET_END - BUCKET_FIRST) * BUCKET_STEPS */

/* The octave of `ns` > 0: 0 for 1, 6 for 64 to 127. */
static inline uint32_t bucket_octave(uint64_t ns)
{
#ifdef __bpf__ /* has no such instruction, and clang 14 dies of the builtin */
	uint32_t octave = 0, by = 32;

	for (; by > 0; by >>= 1) {
		if (ns >> by != 0) {
			ns >>= by;
			octave += by;
		}
	}
	return octave;
#else
	return 63u - (uint32_t)__builtin_clzll((unsigned long long)ns);
#endif
}

/* The step of `ns`: 0 … BUCKET_COUNT - 1, never smaller for a longer duration. */
static inline uint32_t bucket_of(uint64_t ns)
{
	uint32_t octave, step;

	if (ns < BUCKET_EXACT)
		return (uint32_t)ns;
	if (ns >> BUCKET_END != 0)
		return BUCKET_COUNT - 1;
	octave = bucket_octave(ns);
	step = (uint32_t)(((ns - ((uint64_t)1 << octave)) * BUCKET_STEPS) >> octave);
	return BUCKET_EXACT + (octave - BUCKET_FIRST) * BUCKET_STEPS + step;
}

/* The shortest duration of step `at`; what is beyond the last step begins at 2^36 ns. */
static inline uint64_t bucket_low_ns(uint32_t at)
{
	uint32_t octave, step;

	if (at < BUCKET_EXACT)
		return at;
	if (at >= BUCKET_COUNT)
		return (uint64_t)1 << BUCKET_END;
	octave = (at - BUCKET_EXACT) / BUCKET_STEPS + BUCKET_FIRST;
	step = (at - BUCKET_EXACT) % BUCKET_STEPS;
	return ((uint64_t)1 << octave) +
	       (((uint64_t)step << octave) + BUCKET_STEPS - 1) / BUCKET_STEPS;
}

/* The longest duration of step `at`; of the last one, which is open, the longest below 2^36 ns. */
static inline uint64_t bucket_high_ns(uint32_t at)
{
	return bucket_low_ns(at + 1) - 1;
}

/* Σ weight × duration² in two words, as an error needs it: value = high × 2^32 + low. All 0 at the start. Holds a
 * million additions of weight 4,096; a duration counts as 2^40 ns (18 min) at most. */
struct bucket_squares {
	uint64_t low, high;
};

/* Adds one timed call. */
static inline void bucket_add_square(struct bucket_squares *sum, uint64_t ns, uint32_t weight)
{
	if (ns >> 32 == 0) {
		sum->low += (uint64_t)(uint32_t)(ns * ns) * weight;
		sum->high += ((ns * ns) >> 32) * weight;
		return;
	}
	if (ns >> 40 != 0)
		ns = (uint64_t)1 << 40;
	sum->high += (ns >> 16) * (ns >> 16) * weight;
}

#endif
