/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record.bpf.c - samples a tree of processes: at each tick of a CPU's clock the thread that runs there is weighed and its stack is
 * walked. Who is in the tree is kept with the process itself: given by user space to what runs already, by its fork to a child.
 *
 * Ticks come in interrupts and do not interrupt each other; the other programs run in the thread that they are about. */
#include <linux/bpf_perf_event.h>

#include "bpf/record_clock.bpf.h"
#include "bpf/record_maps.bpf.h"
#include "bpf/record_walk.bpf.h"

/* The kernel lends its helpers that read user memory to programs under the GPL only. */
char terms[] SEC("license") = "Dual BSD/GPL";

#define USER_CODE 0x33 /* the segment of 64-bit programs */

/* ---- who ---- */

static __always_inline struct record_member *member_of(struct task_struct *task)
{
	return bpf_task_storage_get(&members, task->group_leader, 0, 0);
}

static __always_inline void name_thread(struct record_sample *sample)
{
	uint64_t ids = bpf_get_current_pid_tgid();
	struct bpf_pidns_info in_ns = { 0, 0 };

	if (pid_ns_ino != 0 &&
	    bpf_get_ns_current_pid_tgid(pid_ns_dev, pid_ns_ino, &in_ns, sizeof(in_ns)) == 0)
		ids = (uint64_t)in_ns.tgid << 32 | in_ns.pid;
	sample->pid = ids >> 32;
	sample->tid = (uint32_t)ids;
}

/* CPU time that the running thread had before it was watched. */
static __always_inline uint64_t ran_before_watch(struct task_struct *task)
{
	struct record_sample named = { 0 };
	uint64_t *before;

	if (task->start_time >= begun_ns)
		return 0;
	name_thread(&named);
	before = bpf_map_lookup_elem(&ran_before, &named.tid);
	return before != NULL ? *before : 0;
}

/* The running thread; NULL: no memory. */
static __always_inline struct thread *thread_of(struct task_struct *task)
{
	struct thread *thread =
		bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (thread != NULL && !thread->is_known) {
		thread->base_ns = ran_before_watch(task);
		thread->ran_ns = thread->base_ns;
		thread->is_known = 1;
	}
	return thread;
}

static __always_inline const struct record_space *space_of(const struct record_member *member,
							   uint32_t pid)
{
	const struct record_offer *offer = bpf_map_lookup_elem(&offers, &pid);
	uint32_t space = member->space;

	if (offer != NULL && offer->life == member->life)
		space = offer->space;
	return bpf_map_lookup_elem(&spaces, &space);
}

/* ---- a sample ---- */

/* Registers as the kernel keeps them. */
struct user_regs {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
_Static_assert(sizeof(struct user_regs) == 8 * RECORD_REG_COUNT, "struct pt_regs of x86-64");

/* Copies the stack from `sp` up, page by page: what lies behind its end cannot be read. Where the ring fills up, less of it: a
 * deep stack without its root is better than none. */
static __always_inline uint32_t copy_stack(uint8_t *out, uint64_t sp)
{
	bool has_room = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < ring_bytes / 4;
	uint32_t most = has_room ? RECORD_STACK_BYTES : RECORD_STACK_BYTES_LEAST;
	uint32_t have = 0, part = 4096 - ((uint32_t)sp & 4095);

	for (uint32_t i = 0; i <= RECORD_STACK_BYTES / 4096; i++) {
		if (part > most - have)
			part = most - have;
		HIDE(part);
		HIDE(have);
		if (part == 0 || part > 4096 || have > RECORD_STACK_BYTES)
			break;
		if (bpf_probe_read_user(out + have, part, (void *)(sp + have)) != 0)
			break;
		have += part;
		part = 4096;
	}
	return have;
}

/* What user space needs to go on: all registers and the stack from its top where the walk is not far from it, as rows may ask
 * for any register; else from where the walk stands. Returns how many bytes of the draft are used. */
static __always_inline uint32_t leave_rest(struct draft *draft, struct walk *w,
					   const struct user_regs *regs, uint32_t used)
{
	struct record_left *left;

	HIDE(used);
	if (used > FRAMES_MOST * 8)
		return FRAMES_MOST * 8;
	left = (void *)(draft->bytes + used);
	left->is_behind = !w->is_exact;
	left->has_bp = w->has_bp;
	left->pc = w->pc;
	left->sp = w->sp;
	left->bp = w->bp;
	__builtin_memcpy(left->regs, regs, sizeof(*regs));
	used += sizeof(*left);
	HIDE(used);
	if (used > FRAMES_MOST * 8 + sizeof(*left))
		return FRAMES_MOST * 8;
	draft->head.stack_bytes = copy_stack(draft->bytes + used, left->sp);
	if (draft->head.stack == RECORD_LEFT)
		add(&counts.left, 1);
	return used + draft->head.stack_bytes;
}

/* Back to where the thread stands. */
static __always_inline void begin_walk(struct walk *w, const struct user_regs *regs)
{
	w->pc = regs->ip;
	w->sp = regs->sp;
	w->bp = regs->bp;
	w->is_exact = w->has_bp = 1;
	w->has_link = 0;
}

/* The stack in user mode. Where the walk was left near its top it is left at the top. */
static __always_inline void walk_user(struct draft *draft, struct walk *w,
				      const struct user_regs *regs,
				      const struct record_space *space)
{
	w->space = space;
	w->frames = (uint64_t *)draft->bytes;
	begin_walk(w, regs);
	walk(w);
	if (w->stack == RECORD_LEFT && w->count > 0 && w->sp - regs->sp <= RECORD_STACK_BYTES / 2) {
		begin_walk(w, regs);
		w->count = 0;
	}
}

/* Appends the kernel's part. */
static __always_inline uint32_t walk_kernel(struct bpf_perf_event_data *ctx, struct draft *draft,
					    uint32_t count)
{
	long bytes;

	HIDE(count);
	if (count > RECORD_MAX_USER)
		return 0;
	bytes = bpf_get_stack(ctx, draft->bytes + count * 8, RECORD_MAX_KERNEL * 8, 0);
	return bytes > 0 ? (uint32_t)bytes / 8 : 0;
}

/* Fills in the stacks. Returns the bytes behind the head. */
static __always_inline uint32_t draw_stacks(struct bpf_perf_event_data *ctx,
					    struct task_struct *task, struct draft *draft,
					    const struct record_space *space)
{
	struct pt_regs *at = (void *)bpf_task_pt_regs(task);
	bool is_in_kernel = *(volatile uint64_t *)&ctx->regs.rip >> 63 != 0;
	struct walk w = { .stack = RECORD_NONE };
	struct user_regs regs;
	uint32_t used;

	if (task->mm != NULL && bpf_probe_read_kernel(&regs, sizeof(regs), at) == 0 &&
	    (uint16_t)regs.cs == USER_CODE)
		walk_user(draft, &w, &regs, space);
	draft->head.user_count = w.count;
	draft->head.stack = w.stack;
	draft->head.stack_bytes = draft->head.is_checked = 0;
	draft->head.kernel_count =
		is_in_kernel && has_kernel ? walk_kernel(ctx, draft, w.count) : 0;
	used = (draft->head.user_count + draft->head.kernel_count) * 8u;
	if (is_checked && (w.stack == RECORD_WHOLE || w.stack == RECORD_BROKEN))
		begin_walk(&w, &regs);
	else if (w.stack != RECORD_LEFT)
		return used;
	draft->head.is_checked = w.stack != RECORD_LEFT;
	return leave_rest(draft, &w, &regs, used);
}

/* Wakes the reader only when the ring would not last until it looks by itself. */
static __always_inline uint64_t wake_flag(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_bytes / 4 ? BPF_RB_FORCE_WAKEUP
									    : BPF_RB_NO_WAKEUP;
}

static __always_inline bool send(struct draft *draft, uint32_t used)
{
	HIDE(used);
	if (used > sizeof(draft->bytes))
		return false;
	if (bpf_ringbuf_output(&ring, draft, sizeof(draft->head) + used, wake_flag()) != 0) {
		add(&counts.lost, 1);
		return false;
	}
	add(&counts.samples, 1);
	return true;
}

/* The first tick of a thread that was born in the tree is weighed as record_first_takes() says. */
static __always_inline uint64_t take_owed(uint64_t own_ns, uint64_t period_ns)
{
	for (int i = 0; i < 4; i++) {
		uint64_t owed_ns = read_once(&counts.owed_ns);
		uint64_t takes_ns = record_first_takes(own_ns, period_ns, owed_ns);

		if (takes_ns == 0 ||
		    __sync_bool_compare_and_swap(&counts.owed_ns, owed_ns, owed_ns - takes_ns))
			return takes_ns;
	}
	return 0;
}

static __always_inline void tick(struct bpf_perf_event_data *ctx, struct task_struct *task,
				 const struct record_member *member)
{
	uint64_t now_ns = bpf_ktime_get_ns(), ran_ns = ran_until_now(task, now_ns);
	struct thread *thread = thread_of(task);
	uint32_t cpu = bpf_get_smp_processor_id();
	struct draft *draft = bpf_map_lookup_elem(&drafts, &cpu);
	uint64_t owed_ns = 0;
	uint32_t used;

	if (thread == NULL || draft == NULL) {
		add(&counts.placeless, 1);
		return;
	}
	if (ran_ns <= thread->ran_ns)
		return;
	name_thread(&draft->head);
	draft->head.at_ns = now_ns;
	if (!thread->has_ticked && task->start_time >= begun_ns)
		owed_ns = take_owed(ran_ns - thread->ran_ns,
				    *(volatile uint64_t *)&ctx->sample_period);
	draft->head.weight_ns = ran_ns - thread->ran_ns + owed_ns;
	draft->head.life = member->life;
	used = draw_stacks(ctx, task, draft, space_of(member, draft->head.pid));
	if (send(draft, used)) {
		if (thread->has_ended)
			add(&counts.gone_ns, ran_ns - thread->ran_ns);
		thread->ran_ns = ran_ns;
		thread->has_ticked = 1;
	} else if (owed_ns > 0) {
		add(&counts.owed_ns, owed_ns);
	}
}

SEC("perf_event")
int record_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_member *member = member_of(task);
	uint64_t began_ns;

	if (member == NULL || member->is_waiting)
		return 0;
	add(&counts.met, 1);
	began_ns = is_timed ? bpf_ktime_get_ns() : 0;
	tick(ctx, task, member);
	if (is_timed)
		add(&counts.took_ns, bpf_ktime_get_ns() - began_ns);
	return 0;
}

/* ---- the tree ---- */

/* A number that no other life has. */
static __always_inline uint32_t next_life(void)
{
	return (uint32_t)(__sync_fetch_and_add(&counts.lives, 1) + 1) & (RECORD_LIVES_OF_USER - 1);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(record_fork, struct task_struct *parent, struct task_struct *child)
{
	struct record_member *member, of_child;
	uint64_t began_ns;
	uint32_t pid;

	(void)ctx;
	if (child->pid != child->tgid) /* a thread has its process's */
		return 0;
	member = member_of(parent);
	if (member == NULL)
		return 0;
	began_ns = is_timed ? bpf_ktime_get_ns() : 0;
	pid = parent->tgid;
	of_child = *member;
	of_child.life = next_life();
	of_child.is_waiting = 0;
	if (pid_ns_ino == 0) {
		const struct record_offer *offer = bpf_map_lookup_elem(&offers, &pid);

		if (offer != NULL && offer->life == member->life)
			of_child.space = offer->space;
	}
	if (bpf_task_storage_get(&members, child, &of_child, BPF_LOCAL_STORAGE_GET_F_CREATE) ==
	    NULL)
		add(&counts.placeless, 1);
	if (is_timed)
		add(&counts.took_ns, bpf_ktime_get_ns() - began_ns);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(record_exec, struct task_struct *task)
{
	struct record_member *member = member_of(task);
	struct thread *thread;

	(void)ctx;
	if (member == NULL)
		return 0;
	member->space = 0;
	member->life = next_life();
	if (!member->is_waiting)
		return 0;
	thread = thread_of(task);
	if (thread != NULL)
		thread->base_ns = thread->ran_ns = ran_until_now(task, bpf_ktime_get_ns());
	else
		add(&counts.placeless, 1);
	member->is_waiting = 0;
	return 0;
}

/* What a thread ran that no sample weighed is not lost from the task's clock. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(record_exit, struct task_struct *task)
{
	struct record_member *member = member_of(task);
	struct thread *thread;
	uint64_t ran_ns;

	(void)ctx;
	if (member == NULL || member->is_waiting)
		return 0;
	thread = thread_of(task);
	if (thread == NULL) {
		add(&counts.placeless, 1);
		return 0;
	}
	ran_ns = ran_until_now(task, bpf_ktime_get_ns());
	if (ran_ns < thread->ran_ns)
		ran_ns = thread->ran_ns;
	add(&counts.gone_ns, ran_ns - thread->base_ns);
	add(&counts.owed_ns, ran_ns - thread->ran_ns);
	thread->ran_ns = ran_ns;
	thread->has_ended = 1;
	return 0;
}
