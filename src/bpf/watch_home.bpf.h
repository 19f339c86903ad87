/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_home.bpf.h - a thread's own stack. Only calls there are timed: the kernel keeps return probes in order of the stack
 * pointer, and where a program switches stacks inside a call (coroutines, fibers, signal handlers on a stack of their own)
 * it would take open calls for gone, and make them return to the wrong place. */
#ifndef TARE_BPF_WATCH_HOME_BPF_H
#define TARE_BPF_WATCH_HOME_BPF_H

#include "bpf/watch_maps.bpf.h"

struct range {
	uint64_t low, high;
};

/* For bpf_find_vma(). */
static long keep_range(struct task_struct *task __attribute__((unused)),
		       struct vm_area_struct *area, struct range *range)
{
	range->low = area->vm_start;
	range->high = area->vm_end;
	return 0;
}

/* Lies `address` in it? */
static __always_inline bool is_within(const struct range *range, uint64_t address)
{
	return address >= range->low && address < range->high;
}

/* The mapping that holds `sp` is the thread's own stack when the first thread's arguments lie in it, or the thread's
 * control block, which C libraries put on top of the stack that they give a thread. */
static __noinline int find_home(struct thread *thread, uint64_t sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct range range = { 0, 0 };

	if (bpf_find_vma(task, sp, keep_range, &range, 0) != 0)
		return 0;
	if (!is_within(&range, BPF_CORE_READ(task, mm, start_stack)) &&
	    !is_within(&range, BPF_CORE_READ(task, thread.fsbase)))
		return 0;
	thread->home_low = range.low;
	thread->home_high = range.high;
	return 1;
}

/* Lies `sp` on the thread's own stack? The first thread's grows downward. Not sure is no. */
static __always_inline bool is_home(struct thread *thread, uint64_t sp)
{
	return (sp >= thread->home_low && sp < thread->home_high) || find_home(thread, sp);
}

#endif
