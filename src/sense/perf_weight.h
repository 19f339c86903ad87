/* perf_weight.h - what a sample weighs: the CPU time of its thread since the sample before. From the counter's value,
 * never from PERF_SAMPLE_PERIOD (after a change of period it keeps telling the old one); where the value cannot be
 * had, derived from times and switches. Pure. */
#ifndef TARE_SENSE_PERF_WEIGHT_H
#define TARE_SENSE_PERF_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "sense/perf_threads.h"

/* What a sample said of its counter. */
struct perf_reading {
	uint64_t id;	    /* of the event opened, which this thread may have inherited */
	uint64_t value_ns;  /* CPU time counted on this thread and this CPU since that began */
	uint32_t gaps;	    /* losses in its ring so far */
	uint64_t first_id;  /* of the events in force: lower ones are of an earlier period */
	uint64_t period_ns; /* of its event */
};

/* Weighs a sample by its counter and notes the value in `slot`; 0: it brings no weight. `*out_has_gap`: something was
 * lost since the slot's sample before. `*out_double_id` (else 0): the younger of two events that both count this
 * thread, as happens to one born while events were being opened; the caller closes it, and no sample of it weighs. */
uint64_t perf_weight_read(const struct perf_thread *thread, struct perf_slot *slot,
			  const struct perf_reading *reading, bool *out_has_gap,
			  uint64_t *out_double_id);

/* The part of `weight_ns` that belongs to ticks the kernel withheld because they fell in kernel mode: what goes beyond
 * one period, once it is over one and a half. */
uint64_t perf_weight_withheld(uint64_t weight_ns, uint64_t period_ns);

/* Derived weights: the thread was switched in or out at `at_ns`. */
void perf_weight_switch(struct perf_thread *thread, uint64_t at_ns, bool is_out);

/* Derived weight of a sample at `at_ns`. `lost_count`: records lost so far, in all rings; switches may be among them, so
 * that a weight across a loss is at most a period for every record lost and one more. A thread not yet seen switching
 * weighs one period. */
uint64_t perf_weight_derived(struct perf_thread *thread, uint64_t at_ns, uint64_t period_ns,
			     uint64_t lost_count);

#endif
