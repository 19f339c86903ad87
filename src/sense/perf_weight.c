/* perf_weight.c - weights per thread, from counters or derived. */
#include "sense/perf_weight.h"

/* Beyond this many lost records a limit by their number says nothing (and must not overflow). */
#define MOST_LOST (1u << 20)

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

uint64_t perf_weight_read(const struct perf_thread *thread, struct perf_slot *slot,
			  const struct perf_reading *reading, bool *out_has_gap,
			  uint64_t *out_double_id)
{
	bool is_first = slot->id == 0;
	bool has_gap = !is_first && slot->gaps != reading->gaps;
	bool is_younger = slot->id < reading->first_id && reading->id >= reading->first_id;
	uint64_t weight_ns = reading->value_ns;

	*out_has_gap = has_gap;
	*out_double_id = 0;
	if (slot->id == reading->id && reading->value_ns >= slot->value_ns) {
		weight_ns = reading->value_ns - slot->value_ns;
	} else if (!has_gap && slot->id >= reading->first_id && reading->id >= reading->first_id &&
		   slot->id != reading->id) {
		*out_double_id = slot->id > reading->id ? slot->id : reading->id;
		weight_ns = 0;
		if (*out_double_id == reading->id)
			return 0; /* the slot stays with the elder */
	} else if (thread->has_execed || !(is_first || is_younger)) {
		/* It may have been weighed before, under a number whose end we missed. */
		weight_ns = at_most(weight_ns, reading->period_ns);
	}
	*slot = (struct perf_slot){ .id = reading->id,
				    .value_ns = reading->value_ns,
				    .gaps = reading->gaps };
	return weight_ns;
}

uint64_t perf_weight_withheld(uint64_t weight_ns, uint64_t period_ns)
{
	return weight_ns > period_ns + period_ns / 2 ? weight_ns - period_ns : 0;
}

void perf_weight_switch(struct perf_thread *thread, uint64_t at_ns, bool is_out)
{
	if (is_out && thread->is_known && thread->is_running && at_ns > thread->on_ns)
		thread->owed_ns += at_ns - thread->on_ns;
	thread->is_known = true;
	thread->is_running = !is_out;
	thread->on_ns = at_ns;
}

uint64_t perf_weight_derived(struct perf_thread *thread, uint64_t at_ns, uint64_t period_ns,
			     uint64_t lost_count)
{
	uint64_t weight_ns = thread->owed_ns;
	uint64_t lost = lost_count - thread->lost_count;

	if (!thread->is_known)
		weight_ns = period_ns; /* the timer ran for one period to get here */
	else if (thread->is_running && at_ns > thread->on_ns)
		weight_ns += at_ns - thread->on_ns;
	if (lost > 0 && lost < MOST_LOST)
		weight_ns = at_most(weight_ns, (lost + 1) * period_ns);
	thread->lost_count = lost_count;
	thread->is_known = true;
	thread->is_running = true;
	thread->on_ns = at_ns;
	thread->owed_ns = 0;
	return weight_ns;
}
