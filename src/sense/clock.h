/* clock.h - the system's clocks. Thread-safe. */
#ifndef TARE_SENSE_CLOCK_H
#define TARE_SENSE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "core/units.h"

/* What a clock shows, in ns; 0: it cannot be read. */
static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
