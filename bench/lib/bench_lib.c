/* bench_lib.c - what a scope costs beside the same call without one: off, counted and not timed, timed. All in one
 * interleaved run; the recorder's side is this process's own. Prints medians over rounds and their spread. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/mapping.h"
#include "sense/mapping.h"
#include "tare.h"

#define CALLS  2000000u
#define ROUNDS 21

static volatile uint32_t sink;

static __attribute__((noinline)) void plain(uint32_t i)
{
	sink = i;
}

static __attribute__((noinline)) void watched(uint32_t i)
{
	TARE_WATCH("bench");
	sink = i;
}

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* ns a call: the fastest of ten, so that a neighbour on the CPU does not count. */
static double run(void (*call)(uint32_t), uint32_t calls)
{
	uint64_t best_ns = UINT64_MAX;

	for (int part = 0; part < 10; part++) {
		uint64_t from_ns = now_ns(), ns;

		for (uint32_t i = 0; i < calls / 10; i++)
			call(i);
		ns = now_ns() - from_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return (double)best_ns * 10 / calls;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, double *extra)
{
	qsort(extra, ROUNDS, sizeof(*extra), by_size);
	printf("%-24s %6.2f ns more a call  (quartiles %.2f to %.2f)\n", what, extra[ROUNDS / 2],
	       extra[ROUNDS / 4], extra[3 * ROUNDS / 4]);
}

int main(void)
{
	static double off[ROUNDS], counted[ROUNDS], mixed[ROUNDS], timed[ROUNDS];
	struct mapping_reader *reader;
	struct err err = ERR_EMPTY;

	for (int i = 0; i < ROUNDS; i++) {
		double base = run(plain, CALLS);

		off[i] = run(watched, CALLS) - base;
		if (mapping_reader_open(getpid(), &reader, &err) != 0) {
			fprintf(stderr, "bench_lib: %s\n", err.msg);
			return 1;
		}
		mapping_reader_start(reader, 4096, 0, 0);
		run(watched, 1000);
		counted[i] = run(watched, CALLS) - base;
		mapping_reader_set(reader, 0, 8, 0);
		mapping_reader_turn(reader);
		run(watched, 10000);
		mixed[i] = run(watched, CALLS) - base;
		mapping_reader_set(reader, 0, 1, 0);
		mapping_reader_turn(reader);
		run(watched, 10000);
		timed[i] = run(watched, CALLS / 4) - base;
		mapping_reader_close(reader);
	}
	say("off", off);
	say("counted, 1 in 4096", counted);
	say("1 in 8 timed", mixed);
	say("timed, every call", timed);
	return 0;
}
