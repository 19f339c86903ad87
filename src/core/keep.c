/* keep.c - which ticks are looked at, decided before looking. */
#include "core/keep.h"

#define FIRST_TICKS    UINT64_C(8192)
#define TICKS_PER_SLOT UINT64_C(8)

void keep_init(struct keep *k, uint64_t base_ns, uint32_t slots, bool keeps_all)
{
	uint64_t first = slots * TICKS_PER_SLOT;

	if (first < FIRST_TICKS)
		first = FIRST_TICKS;
	*k = (struct keep){
		.base_ns = base_ns,
		.one_in = 1,
		.first_ticks = first,
		.double_after = first,
		.keeps_all = keeps_all,
	};
}

void keep_tick(struct keep *k)
{
	if (k->ticks == k->double_after && !k->keeps_all) {
		k->one_in *= 2;
		k->double_after += k->first_ticks / 2 * k->one_in;
	}
	k->ticks++;
	k->has_next = false;
}

/* The weight of a group that opens now; none is ever open while D is 1. D doubles once in K/2 x D ticks: it stays far below 2^64 / base. */
static uint64_t next_group_ns(const struct keep *k)
{
	return k->one_in * k->base_ns;
}

/* Is the drawn nanosecond in the next `weight_ns` of the open group? */
static bool covers_drawn(const struct keep *k, uint64_t weight_ns)
{
	return k->drawn_ns >= k->filled_ns && k->drawn_ns - k->filled_ns < weight_ns;
}

bool keep_wants(struct keep *k, struct rng *r, uint64_t weight_ns)
{
	uint64_t rest_ns = k->group_ns - k->filled_ns;
	bool covers = false;

	if (k->one_in == 1)
		return weight_ns > 0;
	if (k->group_ns > 0) {
		covers = covers_drawn(k, weight_ns);
		if (weight_ns <= rest_ns)
			return covers;
		weight_ns -= rest_ns;
	}

	uint64_t begun_ns = weight_ns % next_group_ns(k);

	covers |= weight_ns >= next_group_ns(k);
	if (begun_ns == 0)
		return covers;
	k->next_drawn_ns = rng_below(r, next_group_ns(k));
	k->has_next = true;
	return covers || k->next_drawn_ns < begun_ns;
}

/* A part inside the open group. */
static struct keep_part take_from_open(struct keep *k, uint64_t *left_ns)
{
	uint64_t rest_ns = k->group_ns - k->filled_ns;
	struct keep_part part = { .weight_ns = *left_ns < rest_ns ? *left_ns : rest_ns };

	part.covers = covers_drawn(k, part.weight_ns);
	part.closes = part.weight_ns == rest_ns;
	k->filled_ns += part.weight_ns;
	if (part.closes)
		k->group_ns = k->filled_ns = 0;
	*left_ns -= part.weight_ns;
	return part;
}

struct keep_part keep_take(struct keep *k, struct rng *r, uint64_t *left_ns)
{
	uint64_t group_ns = next_group_ns(k);
	struct keep_part part = { .weight_ns = *left_ns, .covers = true, .closes = true };

	if (k->group_ns > 0)
		return take_from_open(k, left_ns);
	if (k->one_in == 1) {
		*left_ns = 0;
		return part;
	}
	if (*left_ns >= group_ns) {
		part.weight_ns = *left_ns - *left_ns % group_ns;
		*left_ns -= part.weight_ns;
		return part;
	}
	k->group_ns = group_ns;
	k->drawn_ns = k->has_next ? k->next_drawn_ns : rng_below(r, group_ns);
	k->has_next = false;
	return take_from_open(k, left_ns);
}
