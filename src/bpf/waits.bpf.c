/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits.bpf.c - of watched threads, when they leave their CPU, where and why, and when they get one again. Every wait is in the
 * thread's sums; one in N is looked at (core/coin.h): its registers and a copy of its stack are sent when it begins, and its length
 * when it ends. At the switch `current` is still the thread that leaves, so that its memory can be read.
 *
 * Programs run with the run queue locked and interrupts off: a thread's state is changed by one CPU at a time. The ring never
 * wakes anybody: that would take the lock that is held. */
#include <stddef.h>

#include "bpf/kernel.bpf.h"
#include "bpf/waits.h"
#include "core/coin.h"

#define STATE_BLOCKED	0x02u
#define STATE_STOPPED	0x0cu
#define STATE_DEAD	0x80u
#define ORIG_AX		15 /* the number of the system call, in struct pt_regs */
#define LONG_NS		1000000000ull
#define UNSEEN_LEAST_NS 500000ull

/* Of the kernel's structs, the members that are read; their places are found when the program is loaded. */
struct rq {
	uint64_t clock;
} __attribute__((preserve_access_index));
struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));
struct sched_entity {
	uint64_t sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));
struct sched_info {
	unsigned long long run_delay, last_queued;
} __attribute__((preserve_access_index));
struct task_struct {
	unsigned int __state;
	int on_cpu;
	int pid, tgid;
	struct sched_entity se;
	struct sched_info sched_info;
} __attribute__((preserve_access_index));
struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/* The kernel lends its helpers that read user memory to programs under the GPL only. */
char terms[] SEC("license") = "Dual BSD/GPL";

SETTING bool starts_at_exec; /* the first process is watched from its next exec on */

struct waits_control control;

/* What is known of a thread; freed with it. */
struct thread {
	uint64_t seen_ns;  /* 0: not watched (yet) */
	uint64_t out_ns;   /* when it left its CPU; 0: it has one */
	uint64_t name_ns;  /* head.out_ns of its wait */
	uint64_t away_ns;  /* of waits that ended */
	uint64_t delay_ns; /* in run queues, by the kernel's account, when it left */
	uint64_t ran_ns;   /* on CPUs, by that account, when it left */
	uint64_t in_ns;	   /* when it last got a CPU */
	uint64_t ran_before_ns, delay_before_ns; /* the same accounts when it was first seen */
	uint32_t why, syscall;
	uint32_t one_in; /* of its wait; 0: not looked at */
	uint32_t slice;	 /* in which it began */
	bool is_touched; /* has switched since the last look */
	bool is_visited; /* a look has told the registers of its wait */
	struct coin coin;
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAITS_RING_BYTES);
} ring SEC(".maps");

/* Where a stack is copied to: too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct waits_stack);
} desks SEC(".maps");

static __always_inline bool send(void *record, uint64_t bytes)
{
	if (bpf_ringbuf_output(&ring, record, bytes, BPF_RB_NO_WAKEUP) == 0)
		return true;
	add(&control.lost, 1);
	return false;
}

static __always_inline uint32_t why_of(bool is_preempted, uint32_t state)
{
	if (is_preempted || state == 0)
		return WAITS_PREEMPTED;
	if ((state & STATE_BLOCKED) != 0)
		return WAITS_BLOCKED;
	return (state & STATE_STOPPED) != 0 ? WAITS_STOPPED : WAITS_ASLEEP;
}

static __always_inline void fill_head(struct waits_head *head, uint32_t kind,
				      const struct task_struct *task, const struct thread *own)
{
	head->kind = kind;
	head->pid = (uint32_t)task->tgid;
	head->tid = (uint32_t)task->pid;
	head->why = own->why;
	head->syscall = own->syscall;
	head->one_in = own->one_in;
	head->out_ns = own->out_ns == 0 || own->slice != control.slice ? 0 : own->name_ns;
}

/* Copies what can be read of the stack: a page, or what is left of the one that it ends in. */
static __always_inline void copy_stack(struct waits_stack *desk, uint64_t sp)
{
	uint32_t rest = WAITS_STACK_BYTES - ((uint32_t)sp & (WAITS_STACK_BYTES - 1));

	desk->is_cut = 0;
	desk->bytes = 0;
	if (bpf_probe_read_user(desk->stack, WAITS_STACK_BYTES, (void *)sp) == 0) {
		desk->bytes = WAITS_STACK_BYTES;
		desk->is_cut = 1;
	} else if (bpf_probe_read_user(desk->stack, rest, (void *)sp) == 0) {
		desk->bytes = rest;
	} else {
		add(&control.unread, 1);
	}
}

/* The wait that begins is looked at. 0: it was not, after all. */
static __noinline int look_at(struct task_struct *task, struct thread *own)
{
	const uint64_t *regs = (const uint64_t *)bpf_task_pt_regs(task);
	uint32_t zero = 0;
	struct waits_stack *desk = bpf_map_lookup_elem(&desks, &zero);
	uint64_t bytes;

	if (desk == NULL || own == NULL)
		return 0;
	if (bpf_probe_read_kernel(desk->regs, sizeof(desk->regs), regs) != 0)
		return 0;
	/* A number below 0 is no system call: the thread was interrupted in its own code. */
	own->syscall =
		(int64_t)desk->regs[ORIG_AX] < 0 ? WAITS_NO_SYSCALL : (uint32_t)desk->regs[ORIG_AX];
	copy_stack(desk, desk->regs[WAITS_REGS - 2]);
	fill_head(&desk->head, WAITS_STACK, task, own);
	bytes = desk->bytes;
	if (bytes > WAITS_STACK_BYTES)
		return 0;
	if (!send(desk, offsetof(struct waits_stack, stack) + bytes))
		return 0;
	add(&control.taken, 1);
	return 1;
}

/* Of the wait that ends, what was spent in run queues: by the kernel's own account, which it completes after this. */
static __always_inline uint64_t queued_ns(const struct task_struct *task, const struct thread *own)
{
	uint64_t ns = task->sched_info.run_delay - own->delay_ns;
	uint64_t since = task->sched_info.last_queued, clock;

	if (since == 0 || !bpf_core_field_exists(task->se.cfs_rq->rq))
		return ns;
	clock = task->se.cfs_rq->rq->clock; /* it was read anew for this switch */
	return clock > since ? ns + (clock - since) : ns;
}

static __always_inline void come_back(struct task_struct *task, struct thread *own, uint64_t at_ns)
{
	struct waits_end end = { .from_ns = own->out_ns, .in_ns = at_ns };
	uint64_t ns = end.in_ns > end.from_ns ? end.in_ns - end.from_ns : 0;

	fill_head(&end.head, WAITS_END, task, own);
	own->out_ns = 0;
	own->is_touched = true;
	if (own->slice != control.slice)
		return; /* it may have run and left again since, unseen */
	own->away_ns += ns;
	own->in_ns = at_ns;
	if (own->one_in == 0 && ns < LONG_NS)
		return;
	end.runnable_ns = queued_ns(task, own);
	if (end.runnable_ns > ns)
		end.runnable_ns = ns;
	send(&end, sizeof(end));
}

/* Both leaving and coming back may have gone unseen: what it did not run since it last got a CPU. Interrupts take µs of that. */
static __always_inline void add_unseen(const struct task_struct *task, struct thread *own,
				       uint64_t now_ns)
{
	uint64_t ran_ns = task->se.sum_exec_runtime - own->ran_ns, since_ns = now_ns - own->in_ns;

	if (own->in_ns != 0 && since_ns > ran_ns + UNSEEN_LEAST_NS)
		own->away_ns += since_ns - ran_ns;
}

static __always_inline void leave(struct task_struct *task, struct thread *own, uint32_t why)
{
	uint64_t now_ns = bpf_ktime_get_ns(), after_ns;

	add(&control.switches, 1);
	/* Its coming back was not seen: now and then the kernel leaves a switch out. Its account tells how long it has run since. */
	if (own->out_ns != 0)
		come_back(task, own, now_ns - (task->se.sum_exec_runtime - own->ran_ns));
	add_unseen(task, own, now_ns);
	own->ran_ns = task->se.sum_exec_runtime;
	own->out_ns = own->name_ns = now_ns;
	own->slice = control.slice;
	own->why = why;
	own->syscall = WAITS_NO_SYSCALL;
	own->delay_ns = task->sched_info.run_delay;
	own->is_touched = true;
	own->is_visited = false;
	own->one_in = coin_settle(&own->coin, now_ns, control.rate);
	if (control.rate == 0 || !coin_falls(&own->coin, bpf_get_prandom_u32())) {
		own->one_in = 0;
		return;
	}
	if (look_at(task, own) == 0)
		own->one_in = 0; /* when it becomes long, it is visited */
	/* Looking is no waiting: at 250,000 switches a second it would be half of what is seen. */
	after_ns = bpf_ktime_get_ns();
	add(&control.walk_ns, after_ns - now_ns);
	own->out_ns = after_ns;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(waits_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	struct thread *away = bpf_task_storage_get(&threads, prev, NULL, 0);
	struct thread *back = bpf_task_storage_get(&threads, next, NULL, 0);

	(void)ctx;
	if (away != NULL && away->seen_ns != 0 && (state & STATE_DEAD) == 0)
		leave(prev, away, why_of(is_preempted, state));
	if (back != NULL && back->seen_ns != 0 && back->out_ns != 0)
		come_back(next, back, bpf_ktime_get_ns());
	return 0;
}

/* A thread is watched from now on; its sums begin. */
static __always_inline void begin(const struct task_struct *task, struct thread *own)
{
	own->ran_before_ns = task->se.sum_exec_runtime;
	own->delay_before_ns = own->delay_ns = task->sched_info.run_delay;
	own->away_ns = 0;
	own->is_touched = true;
	own->seen_ns = bpf_ktime_get_ns();
}

/* It waits already, or still. */
static __always_inline void begin_away(const struct task_struct *task, struct thread *own,
				       uint64_t at_ns, uint32_t why)
{
	own->why = why;
	own->syscall = WAITS_NO_SYSCALL;
	own->one_in = 0;
	own->is_visited = false;
	own->slice = control.slice;
	own->out_ns = own->name_ns = at_ns;
	own->ran_ns = task->se.sum_exec_runtime;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(waits_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *maker = bpf_task_storage_get(&threads, parent, NULL, 0), *own;

	(void)ctx;
	if (maker == NULL || maker->seen_ns == 0)
		return 0;
	own = bpf_task_storage_get(&threads, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own == NULL) {
		add(&control.unwatched, 1);
		return 0;
	}
	begin(child, own);
	begin_away(child, own, own->seen_ns, WAITS_BORN);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(waits_exec, struct task_struct *task)
{
	struct thread *own;

	(void)ctx;
	if (!starts_at_exec)
		return 0;
	own = bpf_task_storage_get(&threads, task, NULL, 0);
	if (own != NULL && own->seen_ns == 0 && (uint32_t)task->tgid == control.root)
		begin(task, own);
	return 0;
}

static __always_inline void fill_line(struct waits_thread_line *line, uint32_t kind,
				      const struct task_struct *task, const struct thread *own)
{
	fill_head(&line->head, kind, task, own);
	line->at_ns = bpf_ktime_get_ns();
	line->seen_ns = own->seen_ns;
	line->away_ns = own->away_ns;
	line->ran_ns = task->se.sum_exec_runtime - own->ran_before_ns;
	line->queued_ns = task->sched_info.run_delay - own->delay_before_ns;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(waits_exit, struct task_struct *task)
{
	struct thread *own = bpf_task_storage_get(&threads, task, NULL, 0);
	struct waits_thread_line line = {};

	(void)ctx;
	if (own == NULL || own->seen_ns == 0)
		return 0;
	fill_line(&line, WAITS_GONE, task, own);
	own->seen_ns = 0;
	send(&line, offsetof(struct waits_thread_line, regs));
	return 0;
}

/* A wait that is becoming long without having been looked at: its stack is read from outside, by these registers. */
static __always_inline bool needs_visit(const struct thread *own)
{
	return own->out_ns != 0 && own->slice == control.slice && own->one_in == 0 &&
	       !own->is_visited && own->why != WAITS_PREEMPTED && own->why != WAITS_BORN &&
	       bpf_ktime_get_ns() - own->out_ns >= WAITS_VISIT_NS;
}

static __always_inline void fill_visit(struct waits_thread_line *line, struct task_struct *task)
{
	if (bpf_probe_read_kernel(line->regs, sizeof(line->regs),
				  (const void *)bpf_task_pt_regs(task)) != 0)
		return;
	line->head.kind = WAITS_STACK;
	line->head.syscall =
		(int64_t)line->regs[ORIG_AX] < 0 ? WAITS_NO_SYSCALL : (uint32_t)line->regs[ORIG_AX];
}

/* A look at all threads: adopts those that were there before us, and tells the sums of those that have switched. */
SEC("iter/task")
int waits_look(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct waits_thread_line line = {};
	struct thread *own;
	bool adopts, is_visit;

	if (task == NULL)
		return 0;
	adopts = control.adopts != 0 && (uint32_t)task->tgid == control.root;
	own = bpf_task_storage_get(&threads, task, NULL,
				   adopts ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (own == NULL) {
		if (adopts)
			add(&control.unwatched, 1);
		return 0;
	}
	if (adopts)
		add(&control.adopted, 1);
	if (adopts && own->seen_ns == 0 && !starts_at_exec) {
		begin(task, own);
		/* One that goes away right now is seen going by the other program, one that comes back overwrites this. */
		if (task->on_cpu == 0 && own->out_ns == 0)
			begin_away(task, own, own->seen_ns, why_of(false, task->__state));
	}
	if (control.resumes != 0 && own->seen_ns != 0 && own->slice != control.slice) {
		own->out_ns = 0;
		own->slice = control.slice;
		own->delay_ns = task->sched_info.run_delay;
		if (task->on_cpu == 0)
			begin_away(task, own, bpf_ktime_get_ns(), why_of(false, task->__state));
	}
	if (own->seen_ns == 0)
		return 0;
	is_visit = needs_visit(own);
	if (!own->is_touched && !is_visit && control.look_all == 0)
		return 0;
	/* Before it is read: what happens to it meanwhile is for the next look. */
	own->is_touched = false;
	if (is_visit)
		own->is_visited = true;
	fill_line(&line, 0, task, own);
	if (is_visit)
		fill_visit(&line, task);
	if (bpf_seq_write(seq, &line, sizeof(line)) == 0)
		return 0;
	/* The buffer was full: it is emptied, and the thread shown once more. */
	own->is_touched = true;
	if (is_visit)
		own->is_visited = false;
	return 0;
}
