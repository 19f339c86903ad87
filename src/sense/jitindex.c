/* jitindex.c - most of it sorted; what came last is looked through one by one, so that a file that grows is not sorted each time. */
#include "sense/jitindex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sense/grow.h"

#define MAX_UNSORTED 4096u

void jitindex_free(struct jitindex *x)
{
	free(x->codes);
	*x = (struct jitindex){ .codes = NULL };
}

static int by_start(const void *a, const void *b)
{
	const struct jit_code *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->order > y->order) - (x->order < y->order);
}

static void sort(struct jitindex *x)
{
	for (size_t i = x->sorted; i < x->count; i++)
		if (x->codes[i].bytes > x->longest)
			x->longest = x->codes[i].bytes;
	qsort(x->codes, x->count, sizeof(*x->codes), by_start);
	x->sorted = x->count;
}

int jitindex_add(struct jitindex *x, const struct jit_code *code)
{
	void *codes = x->codes;
	int rc;

	if (code->bytes == 0 || code->bytes > JITINDEX_MAX_BYTES || code->name_bytes == 0 ||
	    code->start > UINT64_MAX - code->bytes) {
		x->rejected++;
		return 0;
	}
	rc = grow(&codes, &x->room, x->count + 1, JITINDEX_MAX, sizeof(*code));
	if (rc < 0)
		return rc;
	x->codes = codes;
	x->codes[x->count] = *code;
	x->codes[x->count].order = (uint32_t)x->count;
	x->count++;
	if (x->count - x->sorted > MAX_UNSORTED + x->sorted / 4)
		sort(x);
	return 0;
}

static bool covers(const struct jit_code *code, uint64_t address)
{
	return code->start <= address && address - code->start < code->bytes;
}

/* The first sorted one that begins above `address`. */
static size_t first_above(const struct jitindex *x, uint64_t address)
{
	size_t low = 0, high = x->sorted;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->codes[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Was it there by then? Else it is what came later. */
static bool was_there(const struct jit_code *code, uint64_t at_ns, uint64_t *until_ns)
{
	if (code->since_ns <= at_ns)
		return true;
	if (code->since_ns < *until_ns)
		*until_ns = code->since_ns;
	return false;
}

const struct jit_code *jitindex_find(const struct jitindex *x, uint64_t address, uint64_t at_ns,
				     uint64_t *out_until_ns)
{
	const struct jit_code *best = NULL;

	*out_until_ns = UINT64_MAX;
	/* What is not sorted came after all that is. */
	for (size_t i = x->count; i-- > x->sorted;)
		if (covers(&x->codes[i], address) && was_there(&x->codes[i], at_ns, out_until_ns))
			return &x->codes[i];
	for (size_t i = first_above(x, address); i-- > 0;) {
		const struct jit_code *code = &x->codes[i];

		if (address - code->start >= x->longest)
			break;
		if (covers(code, address) && was_there(code, at_ns, out_until_ns) &&
		    (best == NULL || code->order > best->order))
			best = code;
	}
	return best;
}
