/* perf_threads.c - two hash tables with chains over fixed arrays; pages that were never used are never resident. */
#include "sense/perf_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BUCKETS PERF_THREADS_MAX /* a power of two */

struct perf_threads {
	uint32_t slots_each;
	size_t slots_bytes;
	struct perf_slot *slots;
	struct perf_thread *threads;
	struct perf_process *processes;
	uint32_t *thread_buckets, *process_buckets; /* index + 1 */
	uint32_t free_thread, free_process;	    /* chain of places given back: index + 1 */
	uint32_t used_threads, used_processes;	    /* places ever used */
	uint32_t alive;
	uint64_t seen, processes_seen;
	struct procfs_turns turns_gone; /* of threads that have ended */
};

static uint32_t chain_of(uint32_t number)
{
	return (number * 2654435769u) >> 16; /* Fibonacci hashing onto 65,536 */
}

int perf_threads_open(struct perf_threads **out, uint32_t slots)
{
	struct perf_threads *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->slots_each = slots;
	t->slots_bytes = (size_t)PERF_THREADS_MAX * slots * sizeof(*t->slots);
	t->threads = calloc(PERF_THREADS_MAX, sizeof(*t->threads));
	t->processes = calloc(PERF_THREADS_MAX, sizeof(*t->processes));
	t->thread_buckets = calloc(BUCKETS, sizeof(*t->thread_buckets));
	t->process_buckets = calloc(BUCKETS, sizeof(*t->process_buckets));
	t->slots = mmap(NULL, t->slots_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->slots == MAP_FAILED)
		t->slots = NULL;
	if (t->threads == NULL || t->processes == NULL || t->thread_buckets == NULL ||
	    t->process_buckets == NULL || t->slots == NULL) {
		perf_threads_close(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void perf_threads_close(struct perf_threads *t)
{
	if (t == NULL)
		return;
	if (t->slots != NULL)
		munmap(t->slots, t->slots_bytes);
	free(t->threads);
	free(t->processes);
	free(t->thread_buckets);
	free(t->process_buckets);
	free(t);
}

struct perf_thread *perf_threads_find(struct perf_threads *t, uint32_t tid)
{
	uint32_t at = t->thread_buckets[chain_of(tid)];

	while (at != 0 && t->threads[at - 1].tid != tid)
		at = t->threads[at - 1].next;
	return at == 0 ? NULL : &t->threads[at - 1];
}

static struct perf_process *find_process(struct perf_threads *t, uint32_t pid)
{
	uint32_t at = t->process_buckets[chain_of(pid)];

	while (at != 0 && t->processes[at - 1].pid != pid)
		at = t->processes[at - 1].next;
	return at == 0 ? NULL : &t->processes[at - 1];
}

/* A place for a process. There is one whenever there is one for a thread. */
static struct perf_process *add_process(struct perf_threads *t, uint32_t pid)
{
	uint32_t at = t->free_process;
	uint32_t *bucket = &t->process_buckets[chain_of(pid)];
	struct perf_process *process;

	if (at != 0)
		t->free_process = t->processes[at - 1].next;
	else
		at = ++t->used_processes;
	process = &t->processes[at - 1];
	*process = (struct perf_process){ .pid = pid, .next = *bucket };
	*bucket = at;
	t->alive++;
	t->processes_seen++;
	return process;
}

struct perf_thread *perf_threads_add(struct perf_threads *t, uint32_t pid, uint32_t tid,
				     uint64_t salt)
{
	uint32_t at = t->free_thread;
	uint32_t *bucket = &t->thread_buckets[chain_of(tid)];
	struct perf_process *process;
	struct perf_thread *thread;

	if (at != 0)
		t->free_thread = t->threads[at - 1].next;
	else if (t->used_threads < PERF_THREADS_MAX)
		at = ++t->used_threads;
	else
		return NULL;
	process = find_process(t, pid);
	if (process == NULL)
		process = add_process(t, pid);
	thread = &t->threads[at - 1];
	*thread = (struct perf_thread){
		.pid = pid,
		.tid = tid,
		.salt = salt,
		.slots = t->slots + (size_t)(at - 1) * t->slots_each,
		.next = *bucket,
		.next_of_process = process->first,
		.process = (uint32_t)(process - t->processes) + 1,
	};
	*bucket = at;
	if (process->first != 0)
		t->threads[process->first - 1].previous_of_process = at;
	process->first = at;
	process->threads++;
	t->seen++;
	perf_threads_clear_slots(t, thread);
	perf_thread_name(thread, "", 0);
	return thread;
}

void perf_thread_name(struct perf_thread *thread, const char *comm, size_t len)
{
	struct frame frame;

	if (len > PROCFS_COMM_BYTES - 1)
		len = PROCFS_COMM_BYTES - 1;
	memcpy(thread->comm, comm, len);
	thread->comm[len] = '\0';
	thread->comm_len = (uint8_t)len;
	frame = perf_thread_frame(thread);
	thread->key = frame_key(&frame, thread->salt);
}

struct frame perf_thread_frame(const struct perf_thread *thread)
{
	return (struct frame){
		.key = thread->key,
		.kind = FRAME_THREAD,
		.pid = thread->pid,
		.tid = thread->tid,
		.name = { thread->comm, thread->comm_len },
	};
}

static void remove_process(struct perf_threads *t, struct perf_process *process)
{
	uint32_t at = (uint32_t)(process - t->processes) + 1;
	uint32_t *link = &t->process_buckets[chain_of(process->pid)];

	while (*link != at)
		link = &t->processes[*link - 1].next;
	*link = process->next;
	process->next = t->free_process;
	process->pid = 0;
	t->free_process = at;
	t->alive--;
}

static void leave_process(struct perf_threads *t, struct perf_process *process,
			  const struct perf_thread *thread)
{
	uint32_t next = thread->next_of_process, previous = thread->previous_of_process;

	if (next != 0)
		t->threads[next - 1].previous_of_process = previous;
	if (previous != 0)
		t->threads[previous - 1].next_of_process = next;
	else
		process->first = next;
	process->threads--;
}

static void add_turns(struct procfs_turns *to, const struct perf_thread *thread)
{
	to->ran_ns += thread->turns.ran_ns - thread->turns_before.ran_ns;
	to->waited_ns += thread->turns.waited_ns - thread->turns_before.waited_ns;
	to->switches += thread->turns.switches - thread->turns_before.switches;
}

bool perf_threads_is_last(const struct perf_threads *t, const struct perf_thread *thread)
{
	return t->processes[thread->process - 1].threads == 1;
}

bool perf_threads_remove(struct perf_threads *t, struct perf_thread *thread)
{
	uint32_t at = (uint32_t)(thread - t->threads) + 1;
	struct perf_process *process = &t->processes[thread->process - 1];
	uint32_t *link = &t->thread_buckets[chain_of(thread->tid)];

	add_turns(&t->turns_gone, thread);
	while (*link != at)
		link = &t->threads[*link - 1].next;
	*link = thread->next;
	leave_process(t, process, thread);
	thread->next = t->free_thread;
	t->free_thread = at;
	if (process->threads > 0)
		return false;
	remove_process(t, process);
	return true;
}

void perf_threads_remove_others(struct perf_threads *t, struct perf_thread *stays)
{
	uint32_t at = t->processes[stays->process - 1].first;

	while (at != 0) {
		struct perf_thread *thread = &t->threads[at - 1];

		at = thread->next_of_process;
		if (thread != stays)
			perf_threads_remove(t, thread);
	}
}

void perf_threads_clear_slots(struct perf_threads *t, struct perf_thread *thread)
{
	memset(thread->slots, 0, t->slots_each * sizeof(*thread->slots));
}

bool perf_threads_has_process(struct perf_threads *t, uint32_t pid)
{
	return find_process(t, pid) != NULL;
}

struct perf_thread *perf_threads_first(struct perf_threads *t, uint32_t pid)
{
	const struct perf_process *process = find_process(t, pid);

	return process == NULL || process->first == 0 ? NULL : &t->threads[process->first - 1];
}

struct perf_thread *perf_threads_next(struct perf_threads *t, const struct perf_thread *thread)
{
	return thread->next_of_process == 0 ? NULL : &t->threads[thread->next_of_process - 1];
}

int perf_threads_pids(const struct perf_threads *t, struct procfs_list *out)
{
	out->count = 0;
	for (uint32_t i = 0; i < t->used_processes; i++)
		if (t->processes[i].pid != 0 && procfs_list_add(out, (int)t->processes[i].pid) != 0)
			return -ENOMEM;
	return 0;
}

void perf_threads_remove_process(struct perf_threads *t, uint32_t pid)
{
	struct perf_process *process = find_process(t, pid);

	while (process != NULL && !perf_threads_remove(t, &t->threads[process->first - 1]))
		;
}

/* Unless another thread has its number by now. */
static void read_turns(struct perf_thread *thread)
{
	struct procfs_turns turns;

	if (procfs_turns((pid_t)thread->pid, (pid_t)thread->tid, &turns) == 0 &&
	    turns.switches >= thread->turns.switches && turns.ran_ns >= thread->turns.ran_ns &&
	    turns.waited_ns >= thread->turns.waited_ns)
		thread->turns = turns;
}

struct procfs_turns perf_threads_turns(struct perf_threads *t)
{
	struct procfs_turns all = t->turns_gone;

	for (uint32_t i = 0; i < t->used_processes; i++) {
		uint32_t at = t->processes[i].pid != 0 ? t->processes[i].first : 0;

		for (; at != 0; at = t->threads[at - 1].next_of_process) {
			read_turns(&t->threads[at - 1]);
			add_turns(&all, &t->threads[at - 1]);
		}
	}
	return all;
}

uint64_t perf_threads_gone_ran_ns(const struct perf_threads *t)
{
	return t->turns_gone.ran_ns;
}

uint32_t perf_threads_alive(const struct perf_threads *t)
{
	return t->alive;
}

uint64_t perf_threads_seen(const struct perf_threads *t)
{
	return t->seen;
}

uint64_t perf_threads_processes_seen(const struct perf_threads *t)
{
	return t->processes_seen;
}
