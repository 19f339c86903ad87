/* job.c - a fixed piece of work for measuring recorders: deterministic, one thread, nothing but CPU. It walks a made-up
 * tree of calls up to 40 deep and does arithmetic at every node, so that stacks look like those of real programs.
 * Usage: job UNITS FILE   writes "CPU-NS CHECKSUM START-NS" to FILE: its own user and system time, proof of the work, and when it
 * began by CLOCK_MONOTONIC */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define DEPTH	   40u
#define LEAF_STEPS 4000u

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	return x;
}

static __attribute__((noinline)) uint64_t leaf_hash(uint64_t x)
{
	for (uint32_t i = 0; i < LEAF_STEPS; i++)
		x = mix(x + i);
	return x;
}

static __attribute__((noinline)) uint64_t leaf_divide(uint64_t x)
{
	for (uint32_t i = 0; i < LEAF_STEPS / 4; i++)
		x = x / (1 + (i & 7)) + mix(i);
	return x;
}

static __attribute__((noinline)) uint64_t leaf_shift(uint64_t x)
{
	for (uint32_t i = 0; i < LEAF_STEPS; i++)
		x = (x << 7 | x >> 57) + i;
	return x;
}

static uint64_t go_right(uint64_t x, uint32_t depth);

static __attribute__((noinline)) uint64_t go_left(uint64_t x, uint32_t depth)
{
	if (depth == 0 || mix(x + depth) % DEPTH == 0)
		return leaf_hash(x) + 1;
	return (mix(x) & 1 ? go_left(x + 1, depth - 1) : go_right(x + 2, depth - 1)) + 1;
}

static __attribute__((noinline)) uint64_t go_right(uint64_t x, uint32_t depth)
{
	if (depth == 0)
		return leaf_divide(x) + 2;
	if (mix(x + depth) % DEPTH == 1)
		return leaf_shift(x) + 2;
	return (mix(x) & 2 ? go_left(x + 3, depth - 1) : go_right(x + 4, depth - 1)) + 2;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0, start_ns = now_ns();
	char *end;
	unsigned long units;
	FILE *file;

	if (argc != 3)
		return 2;
	errno = 0;
	units = strtoul(argv[1], &end, 10);
	if (*end != '\0' || errno != 0 || units == 0)
		return 2;
	/* A unit is about a millisecond of the machine this was written on. */
	for (unsigned long i = 0; i < units * 250; i++)
		sum = mix(sum + go_left(i, DEPTH));
	file = fopen(argv[2], "w");
	if (file == NULL)
		return 2;
	fprintf(file, "%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", own_cpu_ns(), sum, start_ns);
	return fclose(file) == 0 ? 0 : 2;
}
