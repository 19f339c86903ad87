/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_maps.bpf.h - what the programs of watch.bpf.c share: types, settings, maps, and one thread's memory. */
#ifndef TARE_BPF_WATCH_MAPS_BPF_H
#define TARE_BPF_WATCH_MAPS_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/watch.h"
#include "core/bucket.h"
#include "core/gap.h"

#ifdef __bpf__
/* The compiler knows that the depth is below WATCH_DEPTH and would drop the mask; the verifier needs it. */
#define WITHIN_DEPTH(depth) asm volatile("%0 &= 63" : "+r"(depth))
#else
#define WITHIN_DEPTH(depth) ((depth) %= WATCH_DEPTH)
#endif

/* Of the kernel's structs, the members that are read; their places are found when the program is loaded. */
struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));
struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));
struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));
struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));
struct task_struct {
	struct mm_struct *mm;
	struct thread_struct thread;
} __attribute__((preserve_access_index));
struct vm_area_struct {
	unsigned long vm_start, vm_end;
} __attribute__((preserve_access_index));

/* Fixed when the program is loaded, so that branches which are not taken cost nothing. */
SETTING uint32_t point_count = 1;
SETTING uint32_t frame_point = WATCH_NO_POINT;
SETTING bool is_empty; /* the programs return at once: what the hook alone costs */
SETTING bool is_session;
SETTING uint32_t only_tgid;		 /* where the link cannot filter; 0: it does */
SETTING uint64_t pid_ns_dev, pid_ns_ino; /* in which only_tgid is meant; 0: the first */

struct watch_control control;

/* Of the three arrays the true size is set when they are made. By point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct watch_point);
} points SEC(".maps");

/* By CPU and point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct watch_counter);
} counters SEC(".maps");

/* By point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct watch_histogram);
} histograms SEC(".maps");

/* A timed call that has not ended. `sp` is where its return address lies. Below it at most one untimed watched call is
 * remembered, the outermost: it has no return probe, and lives as long as its return address stands where it was. */
struct open_call {
	uint64_t sp, start_ns, nested_ns, probe_ps;
	uint64_t shade_sp, shade_return;
	uint64_t frame_nested_ns;
	uint32_t weight; /* 0: a first call */
	uint16_t point, epoch;
	uint32_t cpu, call; /* the call's number there, modulo 2^32 */
};

/* What is known of a thread; made at its first timed call, and freed with the thread. */
struct thread {
	uint64_t probe_ps; /* ever, of probes hit inside a timed call */
	uint32_t depth;
	uint32_t mark_point; /* the hit that the newer of two links counted */
	uint64_t mark_sp;
	uint64_t mark_link;
	uint64_t frame_start_ns, frame_probe_ps, frame_number;
	uint64_t
		frame_epoch; /* the frame function's when the frame began: marks between two of them were not seen */
	uint64_t home_low, home_high; /* its own stack, once it is known */
	struct open_call open[WATCH_DEPTH];
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* One probe's hit. */
struct hit {
	struct pt_regs *regs;
	struct watch_point *point;
	struct watch_counter *counter;
	uint64_t sp;
	uint64_t call;
	uint32_t at;	 /* the point's number */
	bool is_counted; /* and not timed */
};

/* Counters of point `at` on this CPU; NULL: cannot be. */
static __always_inline struct watch_counter *counter_of(uint32_t at)
{
	uint32_t index = bpf_get_smp_processor_id() * point_count + at;

	return bpf_map_lookup_elem(&counters, &index);
}

/* The thread's open call number `depth`. */
static __always_inline struct open_call *open_at(struct thread *thread, uint32_t depth)
{
	WITHIN_DEPTH(depth);
	return &thread->open[depth];
}

/* The current thread's; NULL: there is none, or no memory for it. */
static __always_inline struct thread *thread_of(uint64_t flags)
{
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, flags);
}

/* A duration, for the longest of its window. */
static __always_inline void keep_longest(struct watch_counter *counter, uint64_t ns)
{
	uint64_t window = read_once(&control.window);
	uint32_t side = window & 1;

	if (counter->max_window[side] != window) {
		counter->max_ns[side] = 0;
		counter->max_window[side] = window;
	}
	for (int i = 0; i < 4; i++) {
		uint64_t had = read_once(&counter->max_ns[side]);

		if (ns <= had || __sync_bool_compare_and_swap(&counter->max_ns[side], had, ns))
			return;
	}
}

#endif
