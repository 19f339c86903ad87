/* clock_steps.h - was the clock set, or did the machine sleep, while we measured? Spans come from CLOCK_MONOTONIC, which knows
 * neither; dates come from CLOCK_REALTIME, and whoever compares them must be told. Pure: the readings are arguments. */
#ifndef TARE_CORE_CLOCK_STEPS_H
#define TARE_CORE_CLOCK_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/units.h"

#define CLOCK_STEPS_LEAST_NS (NS_PER_S / 2) /* less is how a clock is kept right */

/* The three clocks at one moment. */
struct clock_reading {
	struct mono mono;
	struct wall wall;
	uint64_t boot_ns; /* CLOCK_BOOTTIME: goes on while the machine sleeps; 0: not known */
};

/* All zero: nothing read yet. */
struct clock_steps {
	bool has_last;
	struct clock_reading first, last;
	uint64_t steps;
	int64_t largest_ns;	/* negative: back */
	uint64_t largest_at_ns; /* since the first reading */
	uint64_t suspended_ns;
};

/* Compares with the reading before. Call it about once a second: two steps between two calls are one. */
void clock_steps_look(struct clock_steps *s, const struct clock_reading *now);

#endif
