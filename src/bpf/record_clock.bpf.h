/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_clock.bpf.h - a thread's CPU time up to this very moment. The kernel adds it up at its own ticks and at switches only,
 * up to a jiffy late, and stamps when it did (exec_start) by a clock that programs cannot read. That clock runs as
 * CLOCK_MONOTONIC does, from another start: stamps are never in the future, so the most that a stamp was ever seen ahead
 * is, but for what one is late at best, where they differ. Seen anew each second, since a host may hold the CPU back. */
#ifndef TARE_BPF_RECORD_CLOCK_BPF_H
#define TARE_BPF_RECORD_CLOCK_BPF_H

#include "bpf/record_maps.bpf.h"

#define SPAN_SHIFT 30 /* 2^30 ns: about a second */

/* What has passed since `stamp_ns`, the running thread's. */
static __always_inline uint64_t since_stamp(uint64_t stamp_ns, uint64_t now_ns)
{
	uint32_t zero = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &zero);
	int64_t ahead_ns = (int64_t)(stamp_ns - now_ns);
	uint64_t span = now_ns >> SPAN_SHIFT, late_ns;

	if (clock == NULL)
		return 0;
	if (clock->span != span) {
		clock->ahead_before_ns = clock->span + 1 == span ? clock->ahead_ns : ahead_ns;
		clock->ahead_ns = ahead_ns;
		clock->span = span;
	}
	if (ahead_ns > clock->ahead_ns)
		clock->ahead_ns = ahead_ns;
	late_ns = (uint64_t)((clock->ahead_ns > clock->ahead_before_ns ? clock->ahead_ns
								       : clock->ahead_before_ns) -
			     ahead_ns);
	return late_ns < jiffy_ns ? late_ns : jiffy_ns;
}

/* CPU time of the running thread. */
static __always_inline uint64_t ran_until_now(struct task_struct *task, uint64_t now_ns)
{
	return task->se.sum_exec_runtime + since_stamp(task->se.exec_start, now_ns);
}

#endif
