/* kinds.c - three jobs of fixed work that a recorder costs in different ways: one thread that never waits (ticks), many threads
 * that wait for one another (ticks and switches, threads that come and go), one that mostly sleeps (switches).
 * Usage: kinds spinning|threads|asleep UNITS   (a unit is about a millisecond of CPU) */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TABLE_WORDS 65536u /* 512 KB: more than the first cache holds, as real work has */
#define UNIT_STEPS  100000u
#define AT_ONCE	    16u	  /* threads */
#define NAP_STEPS   5000u /* a twentieth of a unit between two naps */
#define RINGS	    2u	  /* one after another */

static uint64_t table[TABLE_WORDS];

/* A walk through the table, each step by what the last one found. */
static uint64_t walk(uint64_t x, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		x ^= table[x % TABLE_WORDS];
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* A ring of threads, each with a pipe that the one before writes into. */
struct turn {
	pthread_t thread;
	int pipe[2];
	int next; /* pipe of the next one */
	unsigned long rounds;
	uint64_t sum;
};

static void *take_turns(void *arg)
{
	struct turn *t = arg;
	char token;

	for (unsigned long i = 0; i < t->rounds; i++) {
		if (read(t->pipe[0], &token, 1) != 1)
			return NULL;
		t->sum = walk(t->sum + 1, NAP_STEPS);
		if (write(t->next, &token, 1) != 1)
			return NULL;
	}
	return t;
}

/* Runs a ring to its end; four tokens go round in it. */
static int ring(unsigned long rounds)
{
	struct turn turns[AT_ONCE] = { { .rounds = 0 } };
	int failed = 0;

	for (unsigned i = 0; i < AT_ONCE; i++) {
		turns[i].rounds = rounds;
		turns[i].sum = i + 1;
		if (pipe(turns[i].pipe) != 0)
			return 1;
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		turns[i].next = turns[(i + 1) % AT_ONCE].pipe[1];
		if (pthread_create(&turns[i].thread, NULL, take_turns, &turns[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < 4; i++)
		failed |= write(turns[i * (AT_ONCE / 4)].pipe[1], "t", 1) != 1;
	for (unsigned i = 0; i < AT_ONCE; i++) {
		void *out = NULL;

		failed |= pthread_join(turns[i].thread, &out) != 0 || out == NULL;
	}
	for (unsigned i = 0; i < AT_ONCE; i++) {
		close(turns[i].pipe[0]);
		close(turns[i].pipe[1]);
	}
	return failed;
}

static int spinning(unsigned long units)
{
	uint64_t sum = 1;

	for (unsigned long i = 0; i < units; i++)
		sum = walk(sum + 1, UNIT_STEPS);
	return sum == 0;
}

/* Rings follow one another, so that threads come and go. */
static int threads(unsigned long units)
{
	unsigned long naps = units * (UNIT_STEPS / NAP_STEPS) / AT_ONCE;
	int failed = 0;

	for (unsigned i = 0; i < RINGS && failed == 0; i++)
		failed = ring(naps / RINGS + 1);
	return failed;
}

static int asleep(unsigned long units)
{
	const struct timespec nap = { .tv_nsec = 500000 };
	uint64_t sum = 1;

	for (unsigned long i = 0; i < units * (UNIT_STEPS / NAP_STEPS); i++) {
		sum = walk(sum + 1, NAP_STEPS);
		nanosleep(&nap, NULL);
	}
	return sum == 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned long units);
	} kinds[] = { { "spinning", spinning }, { "threads", threads }, { "asleep", asleep } };
	unsigned long units;
	char *end;

	if (argc != 3)
		return 2;
	errno = 0;
	units = strtoul(argv[2], &end, 10);
	if (*end != '\0' || errno != 0 || units == 0)
		return 2;
	for (uint32_t i = 0; i < TABLE_WORDS; i++)
		table[i] = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			return kinds[i].run(units);
	return 2;
}
