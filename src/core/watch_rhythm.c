/* watch_rhythm.c - do slow frames come at equal distances? The distance is the one whose multiples so many gaps are that
 * chance explains it least. Frames in a row count as one. */
#include "core/watch_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MOST_GAPS    64u       /* distinct ones that are tried */
#define MOST_DIVISOR 8u	       /* and their parts: in between some may be missing everywhere */
#define LEAST_HITS   3.0       /* a third of all gaps */
#define CHANCE	     (-9.2103) /* log of 1 in 10,000: of all that are tried together */
#define ROUGH_BEYOND 50u       /* a distance may be off by a fiftieth of it */

static int compare_marks(const void *x, const void *y)
{
	const struct watch_mark *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_gaps(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* The gaps between first frames of each row of slow ones, in rising order; each thread has its own. */
static uint32_t find_gaps(const struct watch_mark *marks, uint32_t count, uint64_t *gaps)
{
	uint32_t found = 0, first = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (marks[i].tid != marks[i - 1].tid) {
			first = i;
		} else if (marks[i].number - marks[i - 1].number > 1) {
			gaps[found++] = marks[i].number - marks[first].number;
			first = i;
		}
	}
	qsort(gaps, found, sizeof(*gaps), compare_gaps);
	return found;
}

/* How many gaps are a multiple of a distance, and how little chance explains that. */
struct tried {
	uint64_t every, hits;
	double log_chance;
	double frames, times; /* of the hits: their mean is the distance */
};

static struct tried try_distance(const uint64_t *gaps, uint32_t count, uint64_t every)
{
	struct tried tried = { .every = every };
	uint64_t off_most = every / ROUGH_BEYOND;
	double chance = (2.0 * (double)off_most + 1) / (double)every, part;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t times = gaps[i] / every, off = gaps[i] % every;

		if (off > every / 2) {
			times++;
			off = every - off;
		}
		if (times == 0 || off > off_most)
			continue;
		tried.hits++;
		tried.frames += (double)gaps[i];
		tried.times += (double)times;
	}
	part = (double)tried.hits / count;
	if (part <= chance)
		return tried;
	/* Chernoff's bound of the binomial's tail. */
	tried.log_chance = part * log(part / chance);
	if (part < 1)
		tried.log_chance += (1 - part) * log((1 - part) / (1 - chance));
	tried.log_chance *= -(double)count;
	return tried;
}

/* Is `tried` a better answer? Not one that no more gaps fit than a longer one; else what chance explains less. */
static bool is_better(const struct tried *tried, const struct tried *best)
{
	if (best->hits >= tried->hits && best->every > tried->every)
		return false;
	return tried->log_chance < best->log_chance;
}

static struct tried find_distance(const uint64_t *gaps, uint32_t count, uint32_t *out_tries)
{
	struct tried best = { .every = 0 };
	uint32_t distinct = 0, tries = 0;

	for (uint32_t i = 0; i < count && distinct < MOST_GAPS; i++) {
		if (i > 0 && gaps[i] == gaps[i - 1])
			continue;
		distinct++;
		for (uint64_t divisor = 1; divisor <= MOST_DIVISOR; divisor++) {
			if (gaps[i] % divisor != 0 || gaps[i] / divisor < 2)
				continue;

			struct tried tried = try_distance(gaps, count, gaps[i] / divisor);

			tries++;
			if (is_better(&tried, &best))
				best = tried;
		}
	}
	*out_tries = tries;
	return best;
}

int watch_find_rhythm(struct watch_mark *marks, uint32_t count, struct rhythm *out)
{
	uint64_t *gaps = calloc((size_t)count + 1, sizeof(*gaps));
	uint32_t found, tries;
	struct tried best;

	if (gaps == NULL)
		return -ENOMEM;
	qsort(marks, count, sizeof(*marks), compare_marks);
	found = find_gaps(marks, count, gaps);
	*out = (struct rhythm){ .of = found };
	if (found + 1 >= WATCH_RHYTHM_LEAST) {
		best = find_distance(gaps, found, &tries);
		out->is_known = best.hits > 0 && (double)best.hits * LEAST_HITS >= found &&
				best.log_chance + log(tries) < CHANCE;
		if (out->is_known) {
			out->every = (uint64_t)(best.frames / best.times + 0.5);
			out->hits = best.hits;
		}
	}
	free(gaps);
	return 0;
}
