/* truth.h - how a target says what it did. Standard output is the same with and without watching: results and exact
 * counts. What differs, times, goes to the file that $TRUTH names, as lines "NAME CALLS NS", if there is one. */
#ifndef TARE_TESTS_WATCH_TRUTH_H
#define TARE_TESTS_WATCH_TRUTH_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __clang__
#define WATCHED __attribute__((noinline, used))
#else
#define WATCHED __attribute__((noipa, used))
#endif

/* A mode of a target: `odd NAME`. */
struct mode {
	const char *name;
	int (*run)(void);
};

static inline uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Busy for `ns`; gives what makes a call worth a checksum. */
static inline uint64_t spin(uint64_t seed, uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
	return (seed ^ seed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
}

static inline void say_calls(const char *name, uint64_t calls)
{
	printf("%s %" PRIu64 "\n", name, calls);
}

/* What calls took by our own clock. */
static inline void say_time(const char *name, uint64_t calls, uint64_t ns)
{
	const char *path = getenv("TRUTH");
	FILE *file = path != NULL ? fopen(path, "a") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%s %" PRIu64 " %" PRIu64 "\n", name, calls, ns);
	fclose(file);
}

static inline int run_mode(const struct mode *modes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (name != NULL && strcmp(modes[i].name, name) == 0)
			return modes[i].run();
	fprintf(stderr, "there is no mode '%s'\n", name != NULL ? name : "");
	return 2;
}

#endif
