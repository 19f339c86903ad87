/* perf_follow.c - the life of what is watched, from the kernel's side records: fork, exec, names, maps, ends, losses. */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sense/perf.h"
#include "sense/perf_weight.h"

static uint32_t low_half(uint64_t word)
{
	return (uint32_t)word;
}

static uint32_t high_half(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* What a record, or the first sight of a thread, tells of a life. */
static struct life life_of(const struct sampler *s, enum life_kind kind,
			   const struct perf_thread *thread)
{
	return (struct life){ .kind = kind,
			      .pid = thread->pid,
			      .tid = thread->tid,
			      .at_ns = perf_elapsed_ns(s, s->record_ns),
			      .comm = { thread->comm, thread->comm_len },
			      .cpu_ns = NOT_MEASURED };
}

static void tell(const struct sampler *s, const struct sampler_sink *sink, enum life_kind kind,
		 const struct perf_thread *thread)
{
	struct life life = life_of(s, kind, thread);

	sink->life(sink->owner, &life);
}

/* A process has its account until its parent has taken note of its end. */
static struct counter process_cpu(uint32_t pid)
{
	uint64_t ns;

	return procfs_cpu_ns((pid_t)pid, &ns) == 0 ? COUNTER(ns) : NOT_MEASURED;
}

struct perf_thread *perf_follow_thread(struct sampler *s, uint32_t pid, uint32_t tid,
				       const struct sampler_sink *sink)
{
	struct perf_thread *thread = perf_threads_find(s->threads, tid);
	bool is_process = !perf_threads_has_process(s->threads, pid);
	char comm[PROCFS_COMM_BYTES] = "";
	uint64_t began = 0;

	if (thread != NULL && thread->pid == pid)
		return thread;
	if (pid == 0 || pid > INT32_MAX || tid == 0 || tid > INT32_MAX)
		return NULL; /* outside our pid namespace, or past its end */
	if (thread != NULL)  /* its end was lost, and the number is used again */
		perf_threads_remove(s->threads, thread);
	procfs_start_ticks((pid_t)pid, (pid_t)tid, &began);
	procfs_comm((pid_t)pid, (pid_t)tid, comm);
	thread = perf_threads_add(s->threads, pid, tid, began);
	if (thread == NULL)
		return NULL;
	if (procfs_turns((pid_t)pid, (pid_t)tid, &thread->turns) == 0)
		thread->turns_before = thread->turns;
	perf_thread_name(thread, comm, strlen(comm));
	if (is_process)
		spaces_read(s->spaces, (pid_t)pid);
	if (sink != NULL)
		tell(s, sink, is_process ? LIFE_FORK : LIFE_THREAD, thread);
	return thread;
}

/* FORK: pid, ppid, tid, ptid. */
static void follow_fork(struct sampler *s, const struct perf_record *record,
			const struct sampler_sink *sink)
{
	uint64_t pids = perf_rings_word(&s->rings, record, 8);
	uint64_t tids = perf_rings_word(&s->rings, record, 16);
	uint32_t pid = low_half(pids), parent = high_half(pids), tid = low_half(tids);
	struct perf_thread *thread = perf_threads_find(s->threads, tid);
	struct perf_thread *maker;
	struct life life;

	if (thread != NULL && thread->pid == pid && thread->covered_in == s->generation)
		return; /* listed while its maker's events were being opened */
	if (thread != NULL)
		perf_threads_remove(s->threads, thread);
	thread = perf_threads_add(s->threads, pid, tid, record->at_ns);
	if (thread == NULL)
		return;
	maker = perf_threads_find(s->threads, high_half(tids));
	if (maker != NULL)
		perf_thread_name(thread, maker->comm, maker->comm_len);
	thread->is_known = true; /* born off the CPU */
	thread->lost_count = s->lost_count;
	if (pid != parent)
		spaces_fork(s->spaces, (pid_t)parent, (pid_t)pid);
	life = life_of(s, pid != parent ? LIFE_FORK : LIFE_THREAD, thread);
	life.parent = pid != parent ? parent : 0;
	sink->life(sink->owner, &life);
}

/* The kernel takes its events off a program that gains rights at its exec, and tells it as the end of the thread. */
static bool has_only_gained_rights(struct sampler *s, const struct perf_thread *thread)
{
	return !s->is_by_cpu && procfs_is_running((pid_t)thread->tid) &&
	       procfs_has_more_rights((pid_t)thread->pid) &&
	       perf_cover_again(s, (pid_t)thread->tid) == 0;
}

void perf_follow_exit(struct sampler *s, uint32_t tid, uint64_t at_ns,
		      const struct sampler_sink *sink)
{
	struct perf_thread *thread = perf_threads_find(s->threads, tid);
	struct life life;
	pid_t pid;

	if (thread == NULL || thread->salt > at_ns || has_only_gained_rights(s, thread))
		return;
	s->record_ns = at_ns;
	pid = (pid_t)thread->pid;
	if (perf_threads_is_last(s->threads, thread)) {
		/* Told while it is known: its stacks can be walked up to then. */
		life = life_of(s, LIFE_EXIT, thread);
		life.is_last = true;
		life.cpu_ns = process_cpu(thread->pid);
		sink->life(sink->owner, &life);
	}
	if (perf_threads_remove(s->threads, thread))
		spaces_exit(s->spaces, pid);
}

/* COMM: pid, tid, then the name, padded with NULs. */
static void follow_comm(struct sampler *s, const struct perf_record *record,
			const struct sampler_sink *sink)
{
	uint64_t ids = perf_rings_word(&s->rings, record, 8);
	bool is_exec = (record->header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
	size_t room = record->header.size - PERF_TRAILER_BYTES - 16u;
	const char *name = (const char *)perf_rings_bytes(&s->rings, record) + 16;
	struct perf_thread *thread = perf_follow_thread(s, low_half(ids), high_half(ids), sink);
	struct life life;

	if (is_exec) {
		s->has_execed = true;
		spaces_exec(s->spaces, (pid_t)low_half(ids));
	}
	if (thread == NULL)
		return;
	perf_thread_name(thread, name, strnlen(name, room));
	if (!is_exec)
		return;
	perf_threads_remove_others(s->threads, thread);
	thread->has_execed = true;
	life = life_of(s, LIFE_EXEC, thread);
	sink->life(sink->owner, &life);
}

/* MMAP2: pid, tid, addr, len, pgoff, maj, min, ino, ino_generation, prot, flags, file name. */
static void follow_map(struct sampler *s, const struct perf_record *record)
{
	const uint8_t *bytes = perf_rings_bytes(&s->rings, record);
	struct mapping_event m = { 0 };
	uint64_t words[5];
	size_t room;

	if (record->header.size < 72u + PERF_TRAILER_BYTES ||
	    (record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0)
		return;
	memcpy(words, bytes + 8, sizeof(words));
	m.pid = (pid_t)low_half(words[0]);
	m.start = words[1];
	m.len = words[2];
	m.file_offset = words[3];
	m.dev_major = low_half(words[4]);
	m.dev_minor = high_half(words[4]);
	memcpy(&m.inode, bytes + 48, sizeof(m.inode));
	room = record->header.size - PERF_TRAILER_BYTES - 72u;
	m.file.bytes = (const char *)bytes + 72;
	m.file.len = (uint32_t)strnlen(m.file.bytes, room);
	spaces_map(s->spaces, &m);
}

static void follow_loss(struct sampler *s, const struct perf_record *record,
			const struct sampler_sink *sink)
{
	uint64_t lost = perf_rings_word(&s->rings, record, 16);

	s->lost_count += lost;
	s->lost_events++;
	s->rings.rings[record->ring].gaps++;
	sink->lost(sink->owner, perf_elapsed_ns(s, record->at_ns), lost);
}

static void follow_throttle(struct sampler *s, const struct perf_record *record)
{
	s->throttled_count++;
	s->rings.rings[record->ring].gaps++;
}

static void follow_switch(struct sampler *s, const struct perf_record *record,
			  const struct sampler_sink *sink)
{
	uint64_t ids = perf_rings_word(&s->rings, record, record->header.size - PERF_TRAILER_BYTES);
	bool is_out = (record->header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
	struct perf_thread *thread;

	/* The last switch-out comes behind the thread's end: enter nobody for it. */
	thread = is_out ? perf_threads_find(s->threads, high_half(ids))
			: perf_follow_thread(s, low_half(ids), high_half(ids), sink);
	if (thread != NULL)
		perf_weight_switch(thread, record->at_ns, is_out);
}

void perf_follow(struct sampler *s, const struct perf_record *record,
		 const struct sampler_sink *sink)
{
	if (record->header.size < 16u + PERF_TRAILER_BYTES &&
	    record->header.type != PERF_RECORD_SWITCH)
		return;
	s->record_ns = record->at_ns;
	switch (record->header.type) {
	case PERF_RECORD_FORK:
		follow_fork(s, record, sink);
		break;
	case PERF_RECORD_EXIT:
		perf_follow_exit(s, low_half(perf_rings_word(&s->rings, record, 16)), record->at_ns,
				 sink);
		break;
	case PERF_RECORD_COMM:
		follow_comm(s, record, sink);
		break;
	case PERF_RECORD_MMAP2:
		follow_map(s, record);
		break;
	case PERF_RECORD_LOST:
		follow_loss(s, record, sink);
		break;
	case PERF_RECORD_THROTTLE:
		follow_throttle(s, record);
		break;
	case PERF_RECORD_SWITCH:
		follow_switch(s, record, sink);
		break;
	default:
		break; /* kinds of later kernels tell nothing that is asked for here */
	}
}

/* A process that /proc says has ended, though its record never came. */
static void remove_ended(struct sampler *s, uint32_t pid, const struct sampler_sink *sink)
{
	struct life life = { .kind = LIFE_EXIT,
			     .pid = pid,
			     .tid = pid,
			     .at_ns = perf_elapsed_ns(s, s->record_ns),
			     .cpu_ns = process_cpu(pid),
			     .is_last = true };

	sink->life(sink->owner, &life);
	perf_threads_remove_process(s->threads, pid);
	spaces_exit(s->spaces, (pid_t)pid);
}

bool perf_follow_root_is_over(const struct sampler *s)
{
	struct pollfd ready = { .fd = s->root_fd, .events = POLLIN };

	return s->root_fd >= 0 && poll(&ready, 1, 0) == 1;
}

void perf_follow_ends(struct sampler *s, bool root_was_over, uint64_t now_ns,
		      const struct sampler_sink *sink)
{
	struct epoll_event none = { 0 };

	s->record_ns = now_ns;
	if (root_was_over) {
		/* Its end came before this look, so the record was there to be read, or is among the lost. */
		if (perf_threads_has_process(s->threads, (uint32_t)s->settings.pid))
			remove_ended(s, (uint32_t)s->settings.pid, sink);
		/* The descriptor stays readable for ever: no longer wait on it. */
		epoll_ctl(s->wait_fd, EPOLL_CTL_DEL, s->root_fd, &none);
		close(s->root_fd);
		s->root_fd = -1;
	}
	/* Only a loss, or the moment when events are changed over, can hide an end. */
	if (s->root_fd >= 0 || (s->lost_events == 0 && s->generation == 1) ||
	    now_ns < s->next_sweep_ns || perf_threads_pids(s->threads, &s->pids) != 0)
		return;
	s->next_sweep_ns = now_ns + NS_PER_S + s->pids.count * NS_PER_MS;
	for (size_t i = 0; i < s->pids.count; i++)
		if (!procfs_is_running(s->pids.items[i]))
			remove_ended(s, (uint32_t)s->pids.items[i], sink);
}
