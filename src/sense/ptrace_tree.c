/* ptrace_tree.c - processes and threads, as /proc lists them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sense/clock.h"
#include "sense/grow.h"
#include "sense/ptrace.h"

#define SWEEPS_RARELY 500u /* of the time passed, sweeps take one in so many */
#define HURRIES_MOST  20u  /* sweeps in a row for the sake of execs under way */
#define MEMS_MAX      256u /* open at a time */
#define FEW_THREADS   64u  /* of a process: their children are listed one by one */
#define NO_ADDRESS    ((off_t)0x7ffffffffffff000) /* beyond all that a process can map */

static void tell(const struct sampler *s, const struct sampler_sink *sink, struct life life,
		 const struct perf_thread *thread)
{
	life.tid = life.pid;
	life.at_ns =
		mono_elapsed_ns(s->settings.start, (struct mono){ clock_read_ns(CLOCK_MONOTONIC) });

	if (sink == NULL)
		return;
	/* Ticks are told at the time of the last one: what comes between them is not before it. */
	if (life.at_ns < s->last_ns)
		life.at_ns = s->last_ns;
	if (thread != NULL) {
		life.tid = thread->tid;
		life.comm = (struct str){ thread->comm, thread->comm_len };
	}
	sink->life(sink->owner, &life);
}

/* ---- memory ---- */

void ptrace_tree_close_memory(struct sampler *s, struct ptrace_process *p)
{
	if (p->mem_fd < 0)
		return;
	close(p->mem_fd);
	p->mem_fd = -1;
	s->open_mems--;
}

int ptrace_tree_open_memory(struct sampler *s, struct ptrace_process *p)
{
	char path[64];

	ptrace_tree_close_memory(s, p);
	if (s->open_mems >= MEMS_MAX)
		for (size_t i = 0; i < s->process_count; i++)
			ptrace_tree_close_memory(s, &s->processes[i]);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	p->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->mem_fd < 0)
		return -errno;
	s->open_mems++;
	/* In this order: what is read through it says when these mappings are no longer true. */
	spaces_read(s->spaces, p->pid);
	p->maps_ns = clock_read_ns(CLOCK_MONOTONIC);
	return 0;
}

/* Memory of a program that is gone reads as nothing; that of one that is there has no such address, which is an error. */
bool ptrace_tree_has_executed(const struct ptrace_process *p)
{
	char byte;

	return p->mem_fd >= 0 && pread(p->mem_fd, &byte, 1, NO_ADDRESS) == 0;
}

/* ---- clocks ---- */

static bool read_clock(const struct ptrace_process *p, uint64_t *out_ns)
{
	struct timespec now;

	if (clock_gettime(p->clock, &now) != 0)
		return false;
	*out_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return true;
}

bool ptrace_tree_has_run(struct ptrace_process *p)
{
	uint64_t ns;

	if (!read_clock(p, &ns) || ns <= p->clock_ns)
		return false;
	p->clock_ns = ns;
	return true;
}

uint64_t ptrace_tree_clock_ns(const struct sampler *s)
{
	uint64_t sum_ns = s->ended_ns;

	for (size_t i = 0; i < s->process_count; i++)
		sum_ns += s->processes[i].clock_ns - s->processes[i].base_ns;
	return sum_ns;
}

/* ---- threads ---- */

/* Enters a thread. What it has run is owed from the beginning, unless it was there before us. */
static struct perf_thread *add_thread(struct sampler *s, pid_t pid, pid_t tid, bool is_late)
{
	char comm[PROCFS_COMM_BYTES] = "";
	struct perf_thread *thread;
	uint64_t began = 0;

	procfs_start_ticks(pid, tid, &began);
	procfs_comm(pid, tid, comm);
	thread = perf_threads_add(s->threads, (uint32_t)pid, (uint32_t)tid, began);
	if (thread == NULL)
		return NULL;
	perf_thread_name(thread, comm, strlen(comm));
	if (is_late)
		procfs_turns(pid, tid, &thread->turns);
	return thread;
}

static bool has_tid(const struct procfs_list *tids, uint32_t tid)
{
	for (size_t i = 0; i < tids->count; i++)
		if (tids->items[i] == (int)tid)
			return true;
	return false;
}

/* Removes the threads that are not in s->tids. */
static void remove_ended_threads(struct sampler *s, pid_t pid)
{
	struct perf_thread *at = perf_threads_first(s->threads, (uint32_t)pid), *next;

	for (; at != NULL; at = next) {
		next = perf_threads_next(s->threads, at);
		if (!has_tid(&s->tids, at->tid))
			perf_threads_remove(s->threads, at);
	}
}

/* Compares what is known with /proc. */
static void list_threads(struct sampler *s, pid_t pid, bool is_late,
			 const struct sampler_sink *sink)
{
	if (procfs_threads(pid, &s->tids) != 0)
		return;
	for (size_t i = 0; i < s->tids.count; i++) {
		struct perf_thread *thread =
			perf_threads_find(s->threads, (uint32_t)s->tids.items[i]);
		bool is_first = !perf_threads_has_process(s->threads, (uint32_t)pid);

		if (thread != NULL && thread->pid == (uint32_t)pid)
			continue;
		if (thread != NULL) /* the number is used again */
			perf_threads_remove(s->threads, thread);
		thread = add_thread(s, pid, s->tids.items[i], is_late);
		if (thread != NULL)
			tell(s, sink,
			     (struct life){ .kind = is_first ? LIFE_FORK : LIFE_THREAD,
					    .pid = (uint32_t)pid,
					    .cpu_ns = NOT_MEASURED },
			     thread);
	}
	remove_ended_threads(s, pid);
}

static uint32_t count_threads(struct sampler *s, pid_t pid)
{
	const struct perf_thread *at = perf_threads_first(s->threads, (uint32_t)pid);
	uint32_t count = 0;

	for (; at != NULL; at = perf_threads_next(s->threads, at))
		count++;
	return count;
}

/* ---- processes ---- */

static int make_room(struct sampler *s)
{
	void *processes = s->processes;
	int error = grow(&processes, &s->process_room, s->process_count + 1, PTRACE_PROCESSES_MAX,
			 sizeof(*s->processes));

	s->processes = processes;
	return error == 0 ? 0 : -ENOMEM;
}

/* Its first thread may have ended before others. */
static bool has_ended(pid_t pid, const struct procfs_process *facts)
{
	return (facts->state == 'Z' || facts->state == 'X') && !procfs_is_running(pid);
}

static int add_process(struct sampler *s, pid_t pid, bool is_late, const struct sampler_sink *sink)
{
	struct ptrace_process p = { .pid = pid, .mem_fd = -1 };
	struct procfs_process facts;
	int error = make_room(s);

	if (error == 0)
		error = procfs_process(pid, &facts);
	if (error == 0 && has_ended(pid, &facts))
		error = -ESRCH;
	if (error != 0)
		return error;
	if (clock_getcpuclockid(pid, &p.clock) != 0 || !read_clock(&p, &p.clock_ns))
		return -ESRCH;
	p.base_ns = p.clock_ns =
		is_late ? p.clock_ns : 0; /* what a new one ran is owed by its first tick */
	p.began_ticks = facts.began_ticks;
	p.code = facts.code;
	p.stack = facts.stack;
	s->processes[s->process_count++] = p;
	list_threads(s, pid, is_late, sink);
	if (perf_threads_has_process(s->threads, (uint32_t)pid))
		return 0;
	s->process_count--;
	return -ESRCH;
}

int ptrace_tree_add(struct sampler *s, pid_t pid, bool is_late)
{
	return add_process(s, pid, is_late, NULL);
}

static void remove_process(struct sampler *s, size_t at, const struct sampler_sink *sink)
{
	struct ptrace_process *p = &s->processes[at];

	/* A zombie's clock still tells all. */
	ptrace_tree_has_run(p);
	ptrace_tree_close_memory(s, p);
	s->ended_ns += p->clock_ns - p->base_ns;
	perf_threads_remove_process(s->threads, (uint32_t)p->pid);
	spaces_exit(s->spaces, p->pid);
	tell(s, sink,
	     (struct life){ .kind = LIFE_EXIT,
			    .pid = (uint32_t)p->pid,
			    .cpu_ns = COUNTER(p->clock_ns),
			    .is_last = true },
	     NULL);
	*p = s->processes[--s->process_count];
}

/* Another program in the process: the thread that is left has the process's number, and its time goes on. */
static void follow_exec(struct sampler *s, struct ptrace_process *p,
			const struct procfs_process *facts, const struct sampler_sink *sink)
{
	char comm[PROCFS_COMM_BYTES] = "";
	struct perf_thread *thread;

	p->code = facts->code;
	p->stack = facts->stack;
	ptrace_tree_close_memory(s, p);
	spaces_exec(s->spaces, p->pid);
	list_threads(s, p->pid, false, sink);
	thread = perf_threads_find(s->threads, (uint32_t)p->pid);
	if (thread == NULL)
		return;
	procfs_comm(p->pid, p->pid, comm);
	perf_thread_name(thread, comm, strlen(comm));
	tell(s, sink,
	     (struct life){ .kind = LIFE_EXEC, .pid = (uint32_t)p->pid, .cpu_ns = NOT_MEASURED },
	     thread);
}

/* In the middle of an exec the kernel does not say yet where the new program lies; 1 is for who may not know. */
static bool is_between_programs(const struct procfs_process *facts)
{
	return facts->code == 0 || (facts->code > 1 && facts->stack == 0);
}

/* False: it has ended. */
static bool sweep_process(struct sampler *s, struct ptrace_process *p,
			  const struct sampler_sink *sink)
{
	struct procfs_process facts;

	if (procfs_process(p->pid, &facts) != 0 || facts.began_ticks != p->began_ticks ||
	    has_ended(p->pid, &facts))
		return false;
	if (is_between_programs(&facts))
		s->are_between = true;
	else if (facts.code != p->code || facts.stack != p->stack)
		follow_exec(s, p, &facts, sink);
	else if (facts.threads != count_threads(s, p->pid))
		list_threads(s, p->pid, false, sink);
	return true;
}

/* Lists the children of all processes in s->found. */
static void find_children(struct sampler *s)
{
	s->found.count = 0;
	s->pids.count = 0;
	for (size_t i = 0; i < s->process_count; i++) {
		const struct ptrace_process *p = &s->processes[i];
		const struct perf_thread *at = perf_threads_first(s->threads, (uint32_t)p->pid);

		s->tids.count = 0;
		for (; at != NULL && s->tids.count <= FEW_THREADS;
		     at = perf_threads_next(s->threads, at))
			procfs_list_add(&s->tids, (int)at->tid);
		if (!s->are_children_listed || s->tids.count > FEW_THREADS ||
		    procfs_children(p->pid, &s->tids, &s->found) == -E2BIG)
			procfs_list_add(&s->pids, (int)p->pid);
	}
	if (s->pids.count > 0)
		procfs_children_of(&s->pids, &s->found);
}

/* Children of children that came in one go are found too. */
static void enter_children(struct sampler *s, const struct sampler_sink *sink)
{
	bool is_new = true;

	while (is_new) {
		is_new = false;
		find_children(s);
		for (size_t i = 0; i < s->found.count; i++)
			if (!perf_threads_has_process(s->threads, (uint32_t)s->found.items[i]) &&
			    add_process(s, s->found.items[i], false, sink) == 0)
				is_new = true;
	}
}

void ptrace_tree_sweep(struct sampler *s, uint64_t now_ns, const struct sampler_sink *sink)
{
	uint64_t took_ns, before_ns;

	if (now_ns < s->next_sweep_ns)
		return;
	before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	s->are_between = false;
	for (size_t i = s->process_count; i > 0; i--)
		if (!sweep_process(s, &s->processes[i - 1], sink))
			remove_process(s, i - 1, sink);
	enter_children(s, sink);
	took_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	s->aside_ns += took_ns;
	/* An exec takes a tick or two; one that hangs is not worth more than some. */
	s->hurries = s->are_between ? s->hurries + 1 : 0;
	s->next_sweep_ns = now_ns;
	if (s->hurries == 0 || s->hurries > HURRIES_MOST)
		s->next_sweep_ns += SWEEPS_RARELY * took_ns;
}
