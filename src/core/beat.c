/* beat.c - places in the cycle, numbers of cycles, and times between visits. */
#include "core/beat.h"

#include <math.h>

#define GOLDEN_FRACTION UINT64_C(0x9e3779b97f4a7c15) /* of 2^64: 0.618... */
#define MINUTE_NS	(60 * NS_PER_S)
#define STEP_FIRST_NS	NS_PER_MS
#define STEP_RATIO	1.02

uint64_t beat_offset_ns(uint32_t seat, uint64_t cycle_ns)
{
	uint64_t fraction = seat * GOLDEN_FRACTION;

	return (uint64_t)(((unsigned __int128)fraction * cycle_ns) >> 64);
}

/* The cycle that `at` is in. */
static int64_t cycle_of(const struct beat *b, struct wall at)
{
	int64_t cycle_ns = (int64_t)b->cycle_ns, from_ns = at.ns - (int64_t)b->offset_ns;

	return from_ns / cycle_ns - (from_ns % cycle_ns < 0);
}

struct wall beat_at(const struct beat *b, int64_t cycle)
{
	return (struct wall){ cycle * (int64_t)b->cycle_ns + (int64_t)b->offset_ns };
}

uint64_t beat_wait_ns(const struct beat *b, struct wall now)
{
	int64_t cycle_ns = (int64_t)b->cycle_ns, wait_ns;

	if (b->cycle != BEAT_NONE) {
		wait_ns = beat_at(b, b->cycle + 1).ns - now.ns;
		if (wait_ns > 0 && wait_ns <= cycle_ns + cycle_ns / 2)
			return (uint64_t)wait_ns;
	}
	wait_ns = beat_at(b, cycle_of(b, now) + 1).ns - now.ns;
	/* The clock was set: not twice in one cycle. */
	if (b->cycle != BEAT_NONE && wait_ns < cycle_ns / 2)
		wait_ns += cycle_ns;
	return (uint64_t)wait_ns;
}

int64_t beat_take(struct beat *b, struct wall now)
{
	int64_t cycle = cycle_of(b, now);

	if (b->cycle != BEAT_NONE && cycle <= b->cycle)
		cycle = b->cycle + 1;
	b->cycle = cycle;
	return cycle;
}

static uint32_t step_of(uint64_t duration_ns)
{
	double step;

	if (duration_ns <= STEP_FIRST_NS)
		return 0;
	step = ceil(log((double)duration_ns / (double)STEP_FIRST_NS) / log(STEP_RATIO));
	return step < SPACING_STEPS - 1 ? (uint32_t)step : SPACING_STEPS - 1;
}

void spacing_add(struct spacing *s, struct mono now, uint64_t duration_ns)
{
	int64_t minute = (int64_t)(now.ns / MINUTE_NS) + 1; /* 0 is a part that counts nothing */
	uint32_t part = (uint32_t)(minute % SPACING_PARTS);

	if (s->minutes[part] != minute) {
		s->minutes[part] = minute;
		for (uint32_t i = 0; i < SPACING_STEPS; i++)
			s->counts[part][i] = 0;
	}
	s->counts[part][step_of(duration_ns)]++;
}

uint64_t spacing_ns(const struct spacing *s, struct mono now, unsigned percent)
{
	int64_t minute = (int64_t)(now.ns / MINUTE_NS) + 1;
	uint64_t sums[SPACING_STEPS] = { 0 }, all = 0, below = 0;

	for (uint32_t part = 0; part < SPACING_PARTS; part++) {
		if (s->minutes[part] <= minute - (int64_t)SPACING_PARTS || s->minutes[part] == 0)
			continue;
		for (uint32_t i = 0; i < SPACING_STEPS; i++) {
			sums[i] += s->counts[part][i];
			all += s->counts[part][i];
		}
	}
	for (uint32_t i = 0; i < SPACING_STEPS && all > 0; i++) {
		below += sums[i];
		if (below * 100 >= all * percent)
			return (uint64_t)((double)STEP_FIRST_NS * pow(STEP_RATIO, i));
	}
	return 0;
}
