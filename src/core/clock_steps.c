/* clock_steps.c - steps of the clock that people set, and sleep, by three clocks. */
#include "core/clock_steps.h"

static uint64_t size_of(int64_t ns)
{
	return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

/* b - a, as far as it can be told. */
static int64_t difference(int64_t a, int64_t b)
{
	int64_t d;

	if (__builtin_sub_overflow(b, a, &d))
		return b > a ? INT64_MAX : INT64_MIN;
	return d;
}

void clock_steps_look(struct clock_steps *s, const struct clock_reading *now)
{
	uint64_t passed_ns, booted_ns, slept_ns = 0;
	int64_t step_ns;

	if (!s->has_last) {
		s->has_last = true;
		s->first = s->last = *now;
		return;
	}
	passed_ns = mono_elapsed_ns(s->last.mono, now->mono);
	booted_ns = now->boot_ns > s->last.boot_ns ? now->boot_ns - s->last.boot_ns : 0;
	if (s->last.boot_ns > 0 && booted_ns > passed_ns + CLOCK_STEPS_LEAST_NS)
		slept_ns = booted_ns - passed_ns;
	step_ns = difference((int64_t)(passed_ns + slept_ns),
			     difference(s->last.wall.ns, now->wall.ns));
	s->suspended_ns += slept_ns;
	if (size_of(step_ns) >= CLOCK_STEPS_LEAST_NS) {
		s->steps++;
		if (size_of(step_ns) > size_of(s->largest_ns)) {
			s->largest_ns = step_ns;
			s->largest_at_ns = mono_elapsed_ns(s->first.mono, now->mono);
		}
	}
	s->last = *now;
}
