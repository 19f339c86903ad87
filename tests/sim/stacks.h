/* stacks.h - call paths of a program that does not exist, for simulations: a tree of functions with names, and a
 * Zipf law that says how often each path is met. Everything comes from the seed. */
#ifndef TARE_TESTS_SIM_STACKS_H
#define TARE_TESTS_SIM_STACKS_H

#include <stdint.h>

#include "core/frame.h"
#include "core/rng.h"

#define STACKS_FUNCTIONS 3000u
#define STACKS_MAX_DEPTH 32u

struct stacks {
	uint32_t paths;				  /* how many there are */
	double *cumulative;			  /* owned: chance of path 0 .. i */
	struct frame functions[STACKS_FUNCTIONS]; /* names live in `text` */
	struct frame thread;
	char *text; /* owned */
};

/* `alpha`: path i is met in proportion to 1 / (i + 1)^alpha. -ENOMEM. */
int stacks_init(struct stacks *s, uint32_t paths, double alpha);

/* Accepts the all-zero value, and may run twice. */
void stacks_free(struct stacks *s);

/* Draws a path by its chance. */
uint32_t stacks_draw(const struct stacks *s, struct rng *r);

/* Writes the frames of path `i`, thread first; returns the depth. Neighbours share their upper part. */
uint32_t stacks_path(const struct stacks *s, uint32_t i, struct frame out[STACKS_MAX_DEPTH]);

#endif
