/* watch_pool.c - windows of a watched row: found, and pooled by dense histograms, so that a row costs its steps once. */
#include "core/watch_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "core/watchlist.h"

const struct window_row *watch_windows(const struct recording *r, uint32_t id, uint32_t *out_count)
{
	uint32_t from = 0, to = r->window_count, end;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (r->windows[middle].watched < id)
			from = middle + 1;
		else
			to = middle;
	}
	for (end = from; end < r->window_count && r->windows[end].watched == id;)
		end++;
	*out_count = end - from;
	return r->windows != NULL ? r->windows + from : NULL;
}

int watch_scratch_open(uint32_t windows, struct watch_scratch **out)
{
	struct watch_scratch *s = calloc(1, sizeof(*s));
	size_t room = (size_t)windows + 1;

	if (s == NULL)
		return -ENOMEM;
	s->values = calloc(room, sizeof(*s->values));
	s->weights = calloc(room, sizeof(*s->weights));
	s->p99_ns = calloc(room, sizeof(*s->p99_ns));
	s->places = calloc(room, sizeof(*s->places));
	if (s->values == NULL || s->weights == NULL || s->p99_ns == NULL || s->places == NULL) {
		watch_scratch_close(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void watch_scratch_close(struct watch_scratch *scratch)
{
	if (scratch == NULL)
		return;
	free(scratch->values);
	free(scratch->weights);
	free(scratch->p99_ns);
	free(scratch->places);
	free(scratch);
}

static void dense_add(struct watch_dense *d, const struct histogram *h)
{
	if (h->count == 0)
		return;
	if (d->low >= d->high)
		d->low = d->high = h->steps[0].at;
	if (h->steps[0].at < d->low)
		d->low = h->steps[0].at;
	if (h->steps[h->count - 1].at >= d->high)
		d->high = h->steps[h->count - 1].at + 1;
	for (uint32_t i = 0; i < h->count; i++)
		d->weight[h->steps[i].at] += h->steps[i].weight;
}

/* Moves all cells to `out`, which is empty. */
static int dense_take(struct watch_dense *d, struct histogram *out)
{
	int status = 0;

	for (uint32_t at = d->low; at < d->high; at++) {
		if (status == 0)
			status = histogram_add(out, at, d->weight[at]);
		d->weight[at] = 0;
	}
	d->low = d->high = 0;
	return status;
}

int watch_pool(const struct window_row *windows, uint32_t count, struct watch_scratch *scratch,
	       struct calls_row *out)
{
	for (uint32_t i = 0; i < count; i++) {
		struct calls_row row = watchlist_calls_row(&windows[i]);

		if (windows[i].histogram.coarse > out->histogram.coarse)
			out->histogram.coarse = windows[i].histogram.coarse; /* it is empty yet */
		row.histogram = HISTOGRAM_EMPTY; /* borrowed; so calls_pool() cannot fail */
		(void)calls_pool(out, &row);
		dense_add(&scratch->dense, &windows[i].histogram);
	}
	return dense_take(&scratch->dense, &out->histogram);
}
