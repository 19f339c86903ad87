/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.bpf.c - counts every call of the watched functions and times a sample of them. Which ones: core/gap.h. A call that
 * is timed counts where it ends, so a window never has more timed calls than calls.
 *
 * Programs may be preempted: what two tasks on one CPU can change is changed by atomic operations. Only a thread itself
 * changes its struct thread. */
#include "bpf/watch_frame.bpf.h"
#include "bpf/watch_home.bpf.h"
#include "bpf/watch_maps.bpf.h"
#include "bpf/watch_stack.bpf.h"

extern bool bpf_session_is_return(void) __ksym __weak;

/* The kernel lends its helpers that read user memory to programs under the GPL only. */
char terms[] SEC("license") = "Dual BSD/GPL";

/* The interval in force after `doubled` doublings in this window. */
static __always_inline uint32_t interval_of(const struct watch_point *point, uint32_t doubled)
{
	uint32_t interval = (uint32_t)read_once(&point->interval);
	uint32_t most;

	if (interval - 1 >= GAP_MAX_INTERVAL)
		interval = interval == 0 ? 1 : GAP_MAX_INTERVAL;
	most = interval > WATCH_INTERVAL ? interval : WATCH_INTERVAL;
	if (doubled > WATCH_DOUBLED)
		doubled = WATCH_DOUBLED;
	return most >> doubled <= interval ? most : interval << doubled;
}

/* The gap after a first call of a window, and after every change of the interval. */
static __always_inline uint32_t draw_first(uint32_t interval)
{
	return gap_first_of(bpf_get_prandom_u32(), bpf_get_prandom_u32(), interval);
}

/* Plans the next timed call of this CPU; of tasks that come here at once only one does. */
static __noinline bool take_other(struct hit *hit, uint32_t *out_weight)
{
	struct watch_counter *counter = hit->counter;
	struct watch_point *point = hit->point;
	uint64_t due = read_once(&counter->due);
	uint64_t budget = read_once(&point->budget);
	uint64_t timed = read_once(&point->timed) - read_once(&point->timed_base);
	uint32_t weight = counter->weight, doubled = counter->doubled, interval, gap;

	if (hit->call < due)
		return false;
	for (uint32_t i = 0; i < WATCH_DOUBLED; i++)
		if (budget != 0 && doubled < WATCH_DOUBLED && timed >= gap_limit(budget, doubled))
			doubled++;
	interval = interval_of(point, doubled);
	if (interval == weight)
		gap = gap_later_of(bpf_get_prandom_u32(), interval);
	else
		gap = draw_first(interval);
	if (!__sync_bool_compare_and_swap(&counter->due, due, hit->call + gap))
		return false;
	counter->weight = interval;
	counter->doubled = doubled;
	*out_weight = weight;
	return true;
}

/* Is this call timed, and with which weight? 0: the first of its window on this CPU. */
static __always_inline bool is_timed(struct hit *hit, uint32_t *out_weight)
{
	struct watch_counter *counter = hit->counter;
	struct watch_point *point = hit->point;
	uint64_t window = read_once(&control.window);
	uint64_t had = read_once(&counter->window);
	uint32_t interval;

	if (had == window || !__sync_bool_compare_and_swap(&counter->window, had, window))
		return take_other(hit, out_weight);
	interval = interval_of(point, 0);
	counter->doubled = 0;
	counter->weight = interval;
	*out_weight = 0;
	if (__sync_fetch_and_add(&point->firsts, 1) - point->firsts_base < GAP_MAX_FIRSTS) {
		counter->due = hit->call + draw_first(interval);
		return true;
	}
	counter->due = hit->call + draw_first(interval) - 1; /* this call is the gap's first */
	return take_other(hit, out_weight);
}

/* Remembers a call that is timed; its clock is not started yet. */
static __always_inline struct open_call *push(struct hit *hit, struct thread *thread,
					      uint32_t weight)
{
	uint32_t depth = thread->depth;
	struct open_call *open = open_at(thread, depth);

	if (depth > 0)
		thread->probe_ps += hit->point->timed_ps;
	open->sp = hit->sp;
	open->nested_ns = 0;
	open->frame_nested_ns = 0;
	open->shade_sp = 0;
	open->probe_ps = thread->probe_ps;
	open->point = hit->at;
	open->epoch = hit->point->epoch;
	open->weight = weight;
	open->cpu = bpf_get_smp_processor_id();
	open->call = (uint32_t)hit->call;
	thread->depth = depth + 1;
	add(&control.open, 1);
	add(&hit->counter->started, 1);
	add(&hit->point->timed, 1);
	return open;
}

/* Remembers a call that is due, or the first of a window. NULL: it is not timed. */
static __always_inline struct open_call *open_call(struct hit *hit)
{
	struct thread *thread = thread_of(BPF_LOCAL_STORAGE_GET_F_CREATE);
	uint32_t weight = 0;

	if (thread == NULL) {
		add(&control.lost_places, 1);
		return NULL;
	}
	if (hit->is_counted || !is_home(thread, hit->sp)) {
		if (is_timed(hit, &weight) && !hit->is_counted)
			add(&control.lost_returns, 1);
		if (hit->is_counted)
			pass(hit);
		return NULL;
	}
	drop_gone(thread, hit->sp);
	if (!is_timed(hit, &weight)) {
		pass(hit);
		return NULL;
	}
	if (thread->depth >= WATCH_DEPTH) {
		add(&control.lost_returns, 1);
		pass(hit);
		return NULL;
	}
	return push(hit, thread, weight);
}

/* Counts a call that may be timed. It is counted after `started`: who reads in between must not take it for one that is not
 * timed, as it would then count twice. True: it is timed. */
static __noinline int begin(struct hit *hit)
{
	struct open_call *open = open_call(hit);

	add(&hit->counter->calls, 1);
	if (open == NULL)
		return 0;
	open->start_ns = bpf_ktime_get_ns(); /* last: what stands above is not the function's */
	return 1;
}

/* While two links have the point each hit comes twice, the newer link's first. That one counts; the older one only what
 * the newer did not see. */
static __noinline int is_counted_once(struct hit *hit, uint32_t link)
{
	struct thread *thread = thread_of(BPF_LOCAL_STORAGE_GET_F_CREATE);
	uint32_t newer = hit->point->relink;

	if (thread == NULL) {
		add(&control.lost_places, 1);
		return link == newer;
	}
	if (link == newer) {
		thread->mark_link = newer;
		thread->mark_point = hit->at;
		thread->mark_sp = hit->sp;
		return 1;
	}
	if (thread->mark_link != newer || thread->mark_point != hit->at ||
	    thread->mark_sp != hit->sp)
		return 1;
	thread->mark_link = 0;
	return 0;
}

/* Is it a thread of the watched process? */
static __always_inline bool is_ours(void)
{
	struct bpf_pidns_info in_ns;

	if (only_tgid == 0)
		return true;
	if (pid_ns_ino == 0)
		return bpf_get_current_pid_tgid() >> 32 == only_tgid;
	return bpf_get_ns_current_pid_tgid(pid_ns_dev, pid_ns_ino, &in_ns, sizeof(in_ns)) == 0 &&
	       in_ns.tgid == only_tgid;
}

/* A function is entered. True: this call is timed. */
static __always_inline bool enter(struct pt_regs *regs)
{
	uint64_t cookie = bpf_get_attach_cookie(regs);
	struct hit hit = { .regs = regs,
			   .at = (uint32_t)cookie & ~WATCH_COUNTED,
			   .is_counted = cookie & WATCH_COUNTED };

	hit.point = bpf_map_lookup_elem(&points, &hit.at);
	hit.counter = counter_of(hit.at);
	if (hit.point == NULL || hit.counter == NULL)
		return false;
	hit.sp = PT_REGS_SP(regs);
	if (hit.point->relink != 0 && !is_counted_once(&hit, cookie >> 32))
		return false;
	if (frame_point != WATCH_NO_POINT && hit.at == frame_point) {
		mark_frame(&hit);
		return false;
	}
	hit.call = read_once(&hit.counter->calls) + 1;
	if (read_once(&hit.counter->window) != read_once(&control.window) ||
	    hit.call >= read_once(&hit.counter->due))
		return begin(&hit);
	add(&hit.counter->calls, 1);
	if (read_once(&control.open) != 0)
		pass(&hit);
	return false;
}

static __always_inline void count_first(struct watch_counter *counter, uint64_t ns,
					uint64_t nested_ns)
{
	add(&counter->firsts, 1);
	add(&counter->first_ns, ns);
	add(&counter->first_nested_ns, nested_ns);
}

static __always_inline void count_other(struct watch_counter *counter, uint64_t ns,
					uint64_t nested_ns, uint32_t weight)
{
	struct bucket_squares squares = { 0, 0 };

	bucket_add_square(&squares, ns, weight);
	add(&counter->others, 1);
	add(&counter->weights, weight);
	add(&counter->weights_squared, (uint64_t)weight * weight);
	add(&counter->weighted_ns, ns * weight);
	add(&counter->nested_ns, nested_ns * weight);
	add(&counter->squares_low, squares.low);
	add(&counter->squares_high, squares.high);
}

/* Counts a timed call that took `ns`, without what its probes took. */
static __always_inline void count(struct watch_counter *counter, const struct open_call *open,
				  uint32_t at, uint64_t ns, uint64_t probe_ns)
{
	uint32_t weight = open->weight == 0 ? 1 : open->weight;
	struct watch_histogram *histogram = bpf_map_lookup_elem(&histograms, &at);
	uint32_t step = bucket_of(ns);

	add(&counter->begun, 1);
	if (open->weight == 0)
		count_first(counter, ns, open->nested_ns);
	else
		count_other(counter, ns, open->nested_ns, weight);
	add(&counter->probe_ns, probe_ns * weight);
	keep_longest(counter, ns);
	if (histogram != NULL && step < BUCKET_COUNT)
		add(&histogram->weight[step], weight);
	add(&counter->done, 1);
}

/* A call ends that was begun as `open`, the innermost. */
static __noinline int end(struct hit *hit, struct thread *thread, struct open_call *open,
			  uint64_t now_ns)
{
	struct watch_counter *counter = hit->counter;
	uint64_t probe_ns = (thread->probe_ps - open->probe_ps) / 1000;
	uint64_t floor_ns = hit->point->floor_ns;
	uint64_t ns = now_ns - open->start_ns;

	if (now_ns < open->start_ns) {
		add(&counter->begun, 1);
		add(&counter->backwards, 1);
		add(&counter->done, 1);
		return 0;
	}
	if (ns < probe_ns) {
		add(&counter->clamped, 1);
		probe_ns = ns;
	}
	ns -= probe_ns;
	if (thread->depth > 0) {
		struct open_call *around = open_at(thread, thread->depth - 1);

		if (around->shade_sp == 0 && ns > floor_ns)
			around->nested_ns += (ns - floor_ns) * weight_inside(open, around);
	}
	if (frame_point != WATCH_NO_POINT)
		end_in_frame(thread, thread->depth, now_ns);
	count(counter, open, hit->at, ns, probe_ns);
	return 0;
}

/* A function is left whose return address lies, or lay, at `sp`. */
static __always_inline void leave(struct pt_regs *regs, uint64_t sp)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	uint64_t cookie = bpf_get_attach_cookie(regs);
	struct hit hit = { .regs = regs, .sp = sp, .at = (uint32_t)cookie & ~WATCH_COUNTED };
	struct thread *thread;
	struct open_call *open;

	if (read_once(&control.open) == 0)
		return;
	thread = thread_of(0);
	hit.point = bpf_map_lookup_elem(&points, &hit.at);
	hit.counter = counter_of(hit.at);
	if (thread == NULL || hit.point == NULL || hit.counter == NULL)
		return;
	drop_under(thread, hit.sp);
	if (thread->depth == 0)
		return;
	open = open_at(thread, thread->depth - 1);
	if (open->sp != hit.sp || open->point != hit.at) {
		if (open->shade_sp == hit.sp)
			open->shade_sp = 0;
		return;
	}
	thread->depth--;
	add(&control.open, -1ull);
	end(&hit, thread, open, now_ns);
}

/* The same through a return probe: the return address is taken off the stack by then. */
static __always_inline void leave_by_return(struct pt_regs *regs)
{
	leave(regs, PT_REGS_SP(regs) - sizeof(uint64_t));
}

/* Entry and return in one; an entry that returns 1 has no return. */
SEC("kprobe")
int watch_session(struct pt_regs *regs)
{
	if (is_empty)
		return 1;
	if (bpf_session_is_return()) {
		leave_by_return(regs);
		return 0;
	}
	return !enter(regs);
}

SEC("kprobe")
int watch_entry(struct pt_regs *regs)
{
	if (!is_empty && is_ours())
		enter(regs);
	return 0;
}

SEC("kprobe")
int watch_return(struct pt_regs *regs)
{
	if (!is_empty && is_ours())
		leave_by_return(regs);
	return 0;
}

/* At an instruction by which a function is left: its ret, or a jump to what it calls last. */
SEC("kprobe")
int watch_exit_place(struct pt_regs *regs)
{
	if (!is_empty && is_ours())
		leave(regs, PT_REGS_SP(regs));
	return 0;
}

/* A thread that ends, or whose program is replaced, leaves its calls unfinished. */
static __always_inline void forget(void)
{
	struct thread *thread = thread_of(0);

	if (thread == NULL)
		return;
	drop_under(thread, -1ull);
	thread->frame_start_ns = 0;
	thread->home_low = thread->home_high = 0;
}

SEC("raw_tp/sched_process_exit")
int watch_exit(void *arguments __attribute__((unused)))
{
	forget();
	return 0;
}

SEC("raw_tp/sched_process_exec")
int watch_exec(void *arguments __attribute__((unused)))
{
	forget();
	return 0;
}
