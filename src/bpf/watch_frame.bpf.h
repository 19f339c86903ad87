/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_frame.bpf.h - the time between two entries of the frame function in one thread, and what it was spent in. */
#ifndef TARE_BPF_WATCH_FRAME_BPF_H
#define TARE_BPF_WATCH_FRAME_BPF_H

#include "bpf/watch_maps.bpf.h"
#include "bpf/watch_stack.bpf.h"

/* A thread's running frame. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watch_frame);
} frames SEC(".maps");

/* Slow frames wait here for user space, which comes by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WATCH_SLOW_RING);
} slow SEC(".maps");

/* The current thread's; NULL: there is none, or no memory for it. */
static __always_inline struct watch_frame *frame_of(uint64_t flags)
{
	return bpf_task_storage_get(&frames, bpf_get_current_task_btf(), 0, flags);
}

/* The larger of two. */
static __always_inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What of a call that ends now, or goes on, lies in the running frame: its own time to its point, all of it to what the
 * call around it called. */
static __always_inline void add_part(struct thread *thread, struct watch_frame *frame,
				     uint32_t depth, uint64_t now_ns)
{
	struct open_call *open = open_at(thread, depth);
	uint32_t at = open->point;
	struct watch_point *point = bpf_map_lookup_elem(&points, &at);
	uint64_t from_ns = later(open->start_ns, thread->frame_start_ns);
	uint64_t probe_ns =
		(thread->probe_ps - later(open->probe_ps, thread->frame_probe_ps)) / 1000;
	int64_t weight = open->weight == 0 ? 1 : open->weight;
	int64_t ns = (int64_t)(now_ns - from_ns - probe_ns);

	if (point == NULL || at >= point_count || at >= WATCH_POINTS)
		return;
	ns -= (int64_t)point->floor_ns;
	if (ns < 0)
		ns = 0;
	frame->own_ns[at] += (ns - (int64_t)open->frame_nested_ns) * weight;
	open->frame_nested_ns = 0;
	if (depth > 0) {
		struct open_call *around = open_at(thread, depth - 1);

		if (around->shade_sp == 0)
			around->frame_nested_ns += ns * weight_inside(open, around);
	}
}

/* The call at `depth`, the innermost, has ended. */
static __noinline int end_in_frame(struct thread *thread, uint32_t depth, uint64_t now_ns)
{
	struct watch_frame *frame = frame_of(0);

	if (frame != NULL && thread->frame_start_ns != 0)
		add_part(thread, frame, depth, now_ns);
	return 0;
}

/* Calls that go on have their part in the frame that ends. */
static __noinline int split_open(struct thread *thread, struct watch_frame *frame, uint64_t now_ns)
{
	uint32_t depth = thread->depth;

	for (uint32_t i = 0; i < WATCH_DEPTH; i++) {
		if (depth == 0)
			return 0;
		depth--;
		add_part(thread, frame, depth, now_ns);
	}
	return 0;
}

/* A frame is one timed call of weight 1, of which its parts are nested. */
static __always_inline void count_frame(struct watch_counter *counter, uint32_t at, uint64_t ns,
					int64_t parts_ns)
{
	struct watch_histogram *histogram = bpf_map_lookup_elem(&histograms, &at);
	struct bucket_squares squares = { 0, 0 };
	uint32_t step = bucket_of(ns);

	bucket_add_square(&squares, ns, 1);
	add(&counter->started, 1);
	add(&counter->calls, 1);
	add(&counter->begun, 1);
	add(&counter->others, 1);
	add(&counter->weights, 1);
	add(&counter->weights_squared, 1);
	add(&counter->weighted_ns, ns);
	add(&counter->nested_ns, parts_ns);
	add(&counter->squares_low, squares.low);
	add(&counter->squares_high, squares.high);
	keep_longest(counter, ns);
	if (histogram != NULL && step < BUCKET_COUNT)
		add(&histogram->weight[step], 1);
	add(&counter->done, 1);
}

/* Counts the frame that ends, and sends a slow one. */
static __noinline int end_frame(struct hit *hit, struct thread *thread, struct watch_frame *frame,
				uint64_t now_ns)
{
	uint64_t ns = now_ns - thread->frame_start_ns;
	int64_t parts_ns = 0;

	split_open(thread, frame, now_ns);
	for (uint32_t i = 0; i < point_count && i < WATCH_POINTS; i++)
		parts_ns += frame->own_ns[i];
	count_frame(hit->counter, hit->at, ns, parts_ns);
	add(&hit->point->timed, 1);
	if (control.slow_ns != 0 && ns >= control.slow_ns) {
		frame->start_ns = thread->frame_start_ns;
		frame->duration_ns = ns;
		frame->number = thread->frame_number;
		frame->tid = (uint32_t)bpf_get_current_pid_tgid();
		if (bpf_ringbuf_output(&slow, frame,
				       __builtin_offsetof(struct watch_frame, own_ns) +
					       8 * (point_count & 2047),
				       BPF_RB_NO_WAKEUP) != 0)
			add(&control.lost_slow, 1);
	}
	thread->frame_number++;
	return 0;
}

/* The frame function is entered: the thread's frame ends, and the next begins. */
static __noinline int mark_frame(struct hit *hit)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	struct thread *thread = thread_of(BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct watch_frame *frame = frame_of(BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (thread == NULL || frame == NULL) {
		add(&control.lost_places, 1);
		return 0;
	}
	if (is_home(thread, hit->sp))
		drop_gone(thread, hit->sp);
	if (thread->frame_start_ns != 0 && thread->frame_epoch == hit->point->epoch &&
	    now_ns >= thread->frame_start_ns)
		end_frame(hit, thread, frame, now_ns);
	for (uint32_t i = 0; i < point_count && i < WATCH_POINTS; i++)
		frame->own_ns[i] = 0;
	thread->frame_start_ns = now_ns;
	thread->frame_epoch = hit->point->epoch;
	thread->frame_probe_ps = thread->probe_ps;
	return 0;
}
#endif
