/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_stack.bpf.h - which timed calls a thread is in. They leave by a return probe, or are found gone: the stack grows
 * downward, so a call whose return address lies under the stack pointer has ended some other way. */
#ifndef TARE_BPF_WATCH_STACK_BPF_H
#define TARE_BPF_WATCH_STACK_BPF_H

#include "bpf/watch_home.bpf.h"
#include "bpf/watch_maps.bpf.h"

/* Where the kernel makes timed calls return to; 0: not known. */
static __always_inline uint64_t trampoline(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct xol_area *area;

	if (!bpf_core_field_exists(struct mm_struct, uprobes_state) ||
	    !bpf_core_field_exists(struct xol_area, vaddr))
		return 0;
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* A word of the thread's memory; 0 also when it cannot be read. */
static __always_inline uint64_t word_at(uint64_t address)
{
	uint64_t word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* Does the call that was entered at `open->sp` go on, seen from an entry at `sp`? At the same place it does only when it
 * jumped to what is entered now: then the trampoline still stands there. */
static __always_inline bool is_going_on(const struct open_call *open, uint64_t sp)
{
	uint64_t word;

	if (sp != open->sp)
		return sp < open->sp;
	word = word_at(sp);
	return word != 0 && word == trampoline();
}

/* Does the untimed call remembered below `open`? Its return address is overwritten by the next call of the same caller;
 * where all calls have return probes the trampoline stands there. */
static __always_inline bool is_shaded(const struct open_call *open, uint64_t sp)
{
	uint64_t word;

	if (open->shade_sp == 0 || sp >= open->shade_sp)
		return false;
	word = word_at(open->shade_sp);
	return word == open->shade_return || (!is_session && word == trampoline());
}

/* Counts a call that never ended. One that was open when its point was detached is counted already. */
static __always_inline void abandon(const struct open_call *open)
{
	uint32_t at = open->point;
	struct watch_point *point = bpf_map_lookup_elem(&points, &at);
	struct watch_counter *counter = counter_of(at);

	add(&control.open, -1ull);
	if (point == NULL || counter == NULL || (uint16_t)point->epoch != open->epoch)
		return;
	add(&counter->begun, 1);
	add(&counter->abandoned, 1);
	add(&counter->done, 1);
}

/* Lets go of what has ended unseen. */
static __noinline int drop_gone(struct thread *thread, uint64_t sp)
{
	for (uint32_t i = 0; i < WATCH_DEPTH; i++) {
		uint32_t depth = thread->depth;
		struct open_call *open;

		if (depth == 0)
			return 0;
		open = open_at(thread, depth - 1);
		if (is_going_on(open, sp)) {
			if (open->shade_sp != 0 && !is_shaded(open, sp))
				open->shade_sp = 0;
			return 0;
		}
		thread->depth = depth - 1;
		abandon(open);
	}
	return 0;
}

/* Lets go of what lies under `sp`, whatever stands there. */
static __noinline int drop_under(struct thread *thread, uint64_t sp)
{
	for (uint32_t i = 0; i < WATCH_DEPTH; i++) {
		uint32_t depth = thread->depth;
		struct open_call *open;

		if (depth == 0)
			return 0;
		open = open_at(thread, depth - 1);
		if (open->sp >= sp)
			return 0;
		thread->depth = depth - 1;
		abandon(open);
	}
	return 0;
}

/* What a timed call stands for in the one directly around it. */
static __always_inline uint32_t weight_inside(const struct open_call *open,
					      const struct open_call *around)
{
	uint32_t weight = open->weight == 0 ? 1 : open->weight;

	if (around->point != open->point || around->cpu != open->cpu || around->weight == 0 ||
	    open->weight == 0)
		return weight;
	return gap_weight_behind(weight, open->call - around->call);
}

/* A call that is not timed, inside one that is: its probe took time there, and what it calls is not called by that one
 * directly. */
static __noinline int pass(struct hit *hit)
{
	struct thread *thread = thread_of(0);
	struct open_call *open;

	if (thread == NULL || thread->depth == 0 || !is_home(thread, hit->sp))
		return 0;
	drop_gone(thread, hit->sp);
	if (thread->depth == 0)
		return 0;
	thread->probe_ps += hit->point->untimed_ps;
	open = open_at(thread, thread->depth - 1);
	if (open->shade_sp == 0) {
		open->shade_sp = hit->sp;
		open->shade_return = word_at(hit->sp);
	}
	return 0;
}

#endif
