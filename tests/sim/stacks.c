/* stacks.c - made-up call paths for simulations. */
#include "sim/stacks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_ROOM 48u

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

int stacks_init(struct stacks *s, uint32_t paths, double alpha)
{
	double sum = 0;

	s->paths = paths;
	s->cumulative = malloc(paths * sizeof(*s->cumulative));
	s->text = malloc((size_t)STACKS_FUNCTIONS * NAME_ROOM);
	if (s->cumulative == NULL || s->text == NULL) {
		stacks_free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < paths; i++)
		s->cumulative[i] = sum += pow(i + 1.0, -alpha);
	for (uint32_t i = 0; i < STACKS_FUNCTIONS; i++) {
		char *name = s->text + (size_t)i * NAME_ROOM;
		int len = snprintf(name, NAME_ROOM, "job::stage_%u::step_%u", i % 50, i);

		s->functions[i] = (struct frame){
			.kind = FRAME_NATIVE,
			.name = { name, (uint32_t)len },
			.module = STR_LITERAL("nightly-job"),
		};
		s->functions[i].key = frame_key(&s->functions[i], 0);
	}
	s->thread = (struct frame){
		.kind = FRAME_THREAD, .pid = 4242, .tid = 4242, .name = STR_LITERAL("worker")
	};
	s->thread.key = frame_key(&s->thread, 1);
	return 0;
}

void stacks_free(struct stacks *s)
{
	free(s->cumulative);
	free(s->text);
	*s = (struct stacks){ .paths = 0 };
}

uint32_t stacks_draw(const struct stacks *s, struct rng *r)
{
	double at = (double)(rng_next(r) >> 11) * 0x1p-53 * s->cumulative[s->paths - 1];
	uint32_t low = 0, high = s->paths - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (s->cumulative[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint32_t stacks_path(const struct stacks *s, uint32_t i, struct frame out[STACKS_MAX_DEPTH])
{
	uint32_t bits = 1;
	uint64_t scattered = i; /* what is met often must not lie in one branch */

	while (bits < 31 && UINT32_C(1) << bits < s->paths)
		bits++;
	scattered = (scattered * UINT64_C(0x9e3779b1)) & ((UINT64_C(1) << bits) - 1);

	uint32_t depth = bits + 2 + (uint32_t)(mixed(i) % (STACKS_MAX_DEPTH - bits - 1));

	out[0] = s->thread;
	for (uint32_t level = 1; level < depth; level++) {
		uint64_t branch = level <= bits ? scattered >> (bits - level) : scattered;

		out[level] = s->functions[mixed(branch << 8 | level) % STACKS_FUNCTIONS];
	}
	return depth;
}
