/* clock_shift.c - loaded before a program: sets its CLOCK_REALTIME by CLOCK_SHIFT seconds, CLOCK_AFTER ms after its first look. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long ms_of(const struct timespec *t)
{
	return (long long)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
	static long long first_ms;
	const char *shift = getenv("CLOCK_SHIFT"), *after = getenv("CLOCK_AFTER");
	struct timespec mono;
	int rc = (int)syscall(SYS_clock_gettime, clock, out);

	if (clock != CLOCK_REALTIME || shift == NULL || after == NULL || rc != 0)
		return rc;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &mono);
	if (first_ms == 0)
		first_ms = ms_of(&mono);
	if (ms_of(&mono) - first_ms >= atoll(after))
		out->tv_sec += atoll(shift);
	return rc;
}
