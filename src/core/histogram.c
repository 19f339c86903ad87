/* histogram.c - sparse steps in one growing array, and percentiles with their errors. */
#include "core/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z95	   1.959963984540054
#define ONE_SIDE   0.025
#define FIRST_ROOM 8u

void histogram_free(struct histogram *h)
{
	free(h->steps);
	*h = HISTOGRAM_EMPTY;
}

/* Where step `at` is, or would be put. */
static uint32_t find_step(const struct histogram *h, uint32_t at)
{
	uint32_t from = 0, to = h->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (h->steps[middle].at < at)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int make_room(struct histogram *h, uint32_t count)
{
	uint32_t capacity = h->capacity == 0 ? FIRST_ROOM : h->capacity;

	if (count <= h->capacity)
		return 0;
	while (capacity < count)
		capacity *= 2; /* ends: there are BUCKET_COUNT steps */

	struct histogram_step *steps = reallocarray(h->steps, capacity, sizeof(*steps));

	if (steps == NULL)
		return -ENOMEM;
	h->steps = steps;
	h->capacity = capacity;
	return 0;
}

/* The step that `at` belongs to when 2^coarse are one. */
static uint32_t coarse_step(uint32_t at, uint32_t coarse)
{
	return at >> coarse << coarse;
}

int histogram_add(struct histogram *h, uint32_t at, uint64_t weight)
{
	if (at >= BUCKET_COUNT)
		return -EINVAL;
	if (weight == 0)
		return 0;
	at = coarse_step(at, h->coarse);

	uint32_t place = find_step(h, at);

	if (place == h->count || h->steps[place].at != at) {
		int status = make_room(h, h->count + 1);

		if (status < 0)
			return status;
		memmove(h->steps + place + 1, h->steps + place,
			(h->count - place) * sizeof(*h->steps));
		h->steps[place] = (struct histogram_step){ .at = at };
		h->count++;
	}
	h->steps[place].weight += weight;
	h->weight += weight;
	return 0;
}

/* How many steps both have together. */
static uint32_t count_union(const struct histogram *a, const struct histogram *b)
{
	uint32_t i = 0, j = 0, count = 0;

	for (; i < a->count && j < b->count; count++) {
		uint32_t left = a->steps[i].at, right = b->steps[j].at;

		i += left <= right;
		j += right <= left;
	}
	return count + (a->count - i) + (b->count - j);
}

void histogram_coarsen(struct histogram *h, uint32_t coarse)
{
	uint32_t count = 0;

	if (coarse <= h->coarse)
		return;
	for (uint32_t i = 0; i < h->count; i++) {
		struct histogram_step step = h->steps[i];

		step.at = coarse_step(step.at, coarse);
		if (count > 0 && h->steps[count - 1].at == step.at)
			h->steps[count - 1].weight += step.weight;
		else
			h->steps[count++] = step;
	}
	h->count = count;
	h->coarse = coarse;
}

/* Adds `from`, which is finer. */
static int merge_finer(struct histogram *into, const struct histogram *from)
{
	int status = make_room(into, into->count + from->count);

	for (uint32_t i = 0; i < from->count && status == 0; i++)
		status = histogram_add(into, from->steps[i].at, from->steps[i].weight);
	return status;
}

int histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (from->count == 0)
		return 0;
	histogram_coarsen(into, from->coarse);
	if (from->coarse < into->coarse)
		return merge_finer(into, from);

	uint32_t count = count_union(into, from);
	int status = make_room(into, count);

	if (status < 0)
		return status;

	/* From the end, so that no step is written over before it is read. */
	uint32_t i = into->count, j = from->count;

	for (uint32_t to = count; j > 0; to--) {
		struct histogram_step step = from->steps[j - 1];

		if (i > 0 && into->steps[i - 1].at > step.at) {
			into->steps[to - 1] = into->steps[--i];
			continue;
		}
		if (i > 0 && into->steps[i - 1].at == step.at)
			step.weight += into->steps[--i].weight;
		into->steps[to - 1] = step;
		j--;
	}
	into->count = count;
	into->weight += from->weight;
	return 0;
}

uint64_t histogram_high_ns(const struct histogram *h, uint32_t at)
{
	uint32_t last = at + (1u << h->coarse) - 1;

	return bucket_high_ns(last < BUCKET_COUNT ? last : BUCKET_COUNT - 1);
}

/* Is it the last step, which is open upward? */
static bool is_last_step(const struct histogram *h, uint32_t at)
{
	return at + (1u << h->coarse) >= BUCKET_COUNT;
}

/* The step in which rank `part` of the weight lies, and how far into it (0 … 1). */
static uint32_t step_of_rank(const struct histogram *h, double part, double *out_into)
{
	double rank = part * (double)h->weight, below = 0;
	uint32_t i = 0;

	while (i + 1 < h->count && below + (double)h->steps[i].weight < rank)
		below += (double)h->steps[i++].weight;
	*out_into = fmin(fmax((rank - below) / (double)h->steps[i].weight, 0), 1);
	return h->steps[i].at;
}

uint64_t histogram_quantile_ns(const struct histogram *h, double part)
{
	double into;

	if (h->count == 0)
		return 0;

	uint32_t at = step_of_rank(h, part, &into);
	uint64_t low_ns = bucket_low_ns(at), width_ns = histogram_high_ns(h, at) - low_ns;

	return low_ns + (uint64_t)(into * (double)width_ns + 0.5);
}

struct percentile histogram_percentile(const struct histogram *h, double part, double timed,
				       uint64_t max_ns)
{
	struct percentile p = { .is_known = h->count > 0 && timed > 0 };
	double into, z2 = Z95 * Z95;

	if (!p.is_known)
		return p;

	double middle = (part + z2 / (2 * timed)) / (1 + z2 / timed);
	double half = Z95 / (1 + z2 / timed) *
			      sqrt(part * (1 - part) / timed + z2 / (4 * timed * timed)) +
		      0.5 / timed;
	uint32_t low = step_of_rank(h, middle - half, &into);
	uint32_t high = step_of_rank(h, middle + half, &into);

	p.is_open = pow(part, timed) > ONE_SIDE;
	p.high_ns = p.is_open || is_last_step(h, high) || histogram_high_ns(h, high) > max_ns
			    ? max_ns
			    : histogram_high_ns(h, high);
	p.low_ns = pow(1 - part, timed) > ONE_SIDE ? 0 : bucket_low_ns(low);
	p.ns = histogram_quantile_ns(h, part);
	if (p.ns > p.high_ns)
		p.ns = p.high_ns; /* nothing is above the longest that was seen */
	if (p.low_ns > p.ns)
		p.low_ns = p.ns;
	return p;
}
