/* main.c - lets a colony live: colony [TICKS [TICKS-A-SECOND [SEED]]], 0 ticks for ever, 0 a second as fast as it goes.
 * Prints the colony's digest at its end: equal with and without a recorder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "colony.h"
#include "tare.h"

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
	return argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
}

static void sleep_until(struct timespec *next, uint64_t a_second)
{
	next->tv_nsec += (long)(1000000000u / a_second);
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) != 0)
		;
}

int main(int argc, char **argv)
{
	static struct colony colony;
	uint64_t ticks = number(argc, argv, 1, 6000);
	uint64_t a_second = number(argc, argv, 2, 60);
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	colony_init(&colony, number(argc, argv, 3, 1));
	tare_frame();
	for (uint64_t i = 0; ticks == 0 || i < ticks; i++) {
		colony_tick(&colony);
		tare_frame();
		if (a_second > 0 && a_second <= 1000000)
			sleep_until(&next, a_second);
	}
	printf("%016" PRIx64 " after %" PRIu64 " ticks: %" PRIu32 " born, %" PRIu32 " in stock\n",
	       colony_digest(&colony), colony.tick, colony.born, colony.stock);
	return 0;
}
