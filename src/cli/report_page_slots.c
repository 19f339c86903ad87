/* report_page_slots.c - slots for a page: neighbours merge by the timeline's own rule. */
#include "cli/report_page_slots.h"

#include <errno.h>
#include <stdlib.h>

#include "core/rng.h"

#define MOST_SLOTS     2048u /* twice what a wide screen has pixels for is too many */
#define LEAST_SLOTS    (2 * BATCH_COUNT)
#define HALVINGS_APART 2u /* paths are halved so often before slots are */

void page_slots_free(struct page_slots *s)
{
	free(s->rows);
	*s = (struct page_slots){ .rows = NULL };
}

static uint64_t weight_of(const struct slot_row *s)
{
	return s->running_ns + s->waiting_ns + s->runnable_ns;
}

static uint32_t add_counts(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static struct slot_row merge(const struct slot_row *first, const struct slot_row *second,
			     struct rng *rng)
{
	uint64_t first_ns = first->node == NO_ID ? 0 : weight_of(first);
	uint64_t second_ns = second->node == NO_ID ? 0 : weight_of(second);
	struct slot_row both = *first;

	both.node = rng_coin(rng, first_ns, first_ns + second_ns) ? first->node : second->node;
	both.running_ns += second->running_ns;
	both.waiting_ns += second->waiting_ns;
	both.runnable_ns += second->runnable_ns;
	both.unsampled_ns += second->unsampled_ns;
	both.kept = add_counts(both.kept, second->kept);
	both.lost = add_counts(both.lost, second->lost);
	return both;
}

static void halve(struct page_slots *s, struct rng *rng)
{
	static const struct slot_row none = { .node = NO_ID };

	for (uint32_t i = 0; 2 * i < s->count; i++)
		s->rows[i] = merge(&s->rows[2 * i],
				   2 * i + 1 < s->count ? &s->rows[2 * i + 1] : &none, rng);
	s->count = (s->count + 1) / 2;
	s->of /= 2;
	s->merged *= 2;
	s->span_ns *= 2;
}

int page_slots_open(const struct recording *r, unsigned halvings, struct page_slots *out)
{
	uint32_t last = r->slot_count > 0 ? r->slots[r->slot_count - 1].id + 1 : 0;
	struct page_slots s = {
		.count = last < r->label.slot_count ? last : r->label.slot_count,
		.of = r->label.slot_count,
		.merged = 1,
		.span_ns = r->label.slot_ns,
	};
	struct rng rng;

	s.rows = calloc((size_t)s.count + 1, sizeof(*s.rows));
	if (s.rows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.count; i++)
		s.rows[i].node = NO_ID;
	for (uint32_t i = 0; i < r->slot_count; i++)
		if (r->slots[i].id < s.count)
			s.rows[r->slots[i].id] = r->slots[i];
	rng_seed(&rng, r->label.rng_0);
	for (; halvings > HALVINGS_APART && s.of > LEAST_SLOTS; halvings--)
		halve(&s, &rng);
	while (s.of > MOST_SLOTS)
		halve(&s, &rng);
	*out = s;
	return 0;
}
