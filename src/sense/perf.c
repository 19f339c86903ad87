/* perf.c - engine `perf`: perf events on the CPU clock, without special rights for one's own programs. */
#include "sense/perf.h"
#include "sense/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* All rings together take no more than this: machines with many CPUs get smaller ones. */
#define RINGS_BYTES_MAX (16u << 20)
/* Up to this many events are counted whenever facts are asked for. */
#define COUNT_ALWAYS 256u
#define COUNT_RARELY 2000u

#define RING_PAGES_FEW 16u
/* Below this period a ring of the usual size holds less than the recorder may be away for, to save or to read a file: a larger
 * one then, as far as its user may lock so much. */
#define FAST_NS	  (5 * NS_PER_MS)
#define FAST_MORE 4u

uint64_t perf_elapsed_ns(const struct sampler *s, uint64_t at_ns)
{
	return mono_elapsed_ns(s->settings.start, (struct mono){ at_ns });
}

void perf_end(struct sampler *s)
{
	perf_events_close(&s->events);
	perf_rings_close(&s->rings);
	if (s->root_fd >= 0)
		close(s->root_fd);
	if (s->wait_fd >= 0)
		close(s->wait_fd);
	perf_threads_close(s->threads);
	spaces_close(s->spaces);
	procfs_list_free(&s->list);
	procfs_list_free(&s->pids);
	s->root_fd = s->wait_fd = -1;
	s->threads = NULL;
	s->spaces = NULL;
}

static void sampler_close(struct sampler *s)
{
	if (s == NULL)
		return;
	perf_end(s);
	free(s);
}

static uint32_t pages_for(size_t cpus, uint32_t pages, const char *switched_off)
{
	if (perf_is_switched_off(switched_off, "large_rings"))
		return PERF_RING_PAGES_MIN;
	while (pages > RING_PAGES_FEW &&
	       cpus * pages * (size_t)sysconf(_SC_PAGESIZE) > RINGS_BYTES_MAX)
		pages /= 2;
	return pages;
}

static int open_rings(struct sampler *s, uint32_t pages, struct err *err)
{
	struct procfs_list cpus = { 0 };
	int error = procfs_online_cpus(&cpus);

	if (error != 0)
		err_set(err, error, "cannot tell which CPUs are online");
	else
		error = perf_rings_open(&s->rings, &cpus,
					pages_for(cpus.count, pages, s->settings.switched_off),
					err);
	procfs_list_free(&cpus);
	return error;
}

static int open_root(struct sampler *s, struct err *err)
{
	pid_t pid = s->settings.pid, process = pid;

	if (procfs_process_of(pid, &process) == 0 && process != pid)
		return perf_explain_thread(pid, process, err);
	s->root_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (s->root_fd < 0 && errno != ENOSYS) /* before Linux 5.3 the records alone tell the end */
		return perf_explain_event(-errno, pid, err);
	return 0;
}

static int open_waits(struct sampler *s, struct err *err)
{
	struct epoll_event readable = { .events = EPOLLIN };
	int error = open_root(s, err);

	if (error != 0)
		return error;

	s->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->wait_fd < 0)
		return err_set(err, -errno, "cannot wait on %u rings: %s", s->rings.count,
			       strerror(errno));
	if (s->root_fd >= 0 && epoll_ctl(s->wait_fd, EPOLL_CTL_ADD, s->root_fd, &readable) != 0)
		return err_set(err, -errno, "cannot wait on process %d", (int)s->settings.pid);
	for (uint32_t i = 0; i < s->rings.count; i++)
		if (epoll_ctl(s->wait_fd, EPOLL_CTL_ADD, s->rings.rings[i].fd, &readable) != 0)
			return err_set(err, -errno, "cannot wait on ring %u", i);
	return 0;
}

/* The first events, on all threads of the process as it is now. */
static int open_events(struct sampler *s, struct err *err)
{
	pid_t pid = s->settings.pid;
	int error;

	s->events.period_ns = perf_period_in_reach(s->settings.period_ns);
	s->events.starts_at_exec = s->settings.starts_at_exec;
	s->old_period_ns = s->events.period_ns;
	if (perf_follow_thread(s, (uint32_t)pid, (uint32_t)pid, NULL) == NULL)
		return err_set(err, -ENOMEM, "cannot keep process %d: no memory", (int)pid);
	error = perf_cover(s, &s->events);
	if (error != 0) {
		perf_events_close(&s->events); /* explaining needs a file or two itself */
		return perf_explain_event(error, pid, err);
	}
	s->first_id = s->events.items[0].id;
	if (!s->events.starts_at_exec)
		perf_events_enable(&s->events);
	return 0;
}

static void explain_kernel(struct sampler *s)
{
	int64_t paranoid = -1;

	procfs_number("/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (perf_is_switched_off(s->settings.switched_off, "kernel"))
		snprintf(s->kernel_stacks, sizeof(s->kernel_stacks), "switched off");
	else if (!s->means.has_kernel)
		snprintf(s->kernel_stacks, sizeof(s->kernel_stacks),
			 "not allowed (kernel.perf_event_paranoid is %lld)", (long long)paranoid);
}

int perf_begin(struct sampler *s, const struct sampler_settings *settings, uint32_t pages,
	       struct err *err)
{
	int error;

	s->settings = *settings;
	/* Records are stamped by another clock than ours in a time namespace: elapsed times are taken on theirs. */
	s->ahead_ns = procfs_clock_ahead_ns();
	s->settings.start.ns -= (uint64_t)s->ahead_ns;
	s->root_fd = -1;
	s->wait_fd = -1;
	s->generation = 1;
	perf_raise_file_limit();
	explain_kernel(s);
	error = open_rings(s, pages, err);
	if (error == 0)
		error = open_waits(s, err);
	if (error == 0)
		error = spaces_open(&s->spaces, err);
	if (error == 0 && s->settings.asks_servers)
		error = spaces_ask_servers(s->spaces, err);
	if (error != 0)
		return error;
	if (perf_threads_open(&s->threads, s->rings.count) != 0)
		return err_set(err, -ENOMEM, "cannot keep a table of threads: no memory");
	if (s->means.has_kernel)
		spaces_read_kernel(s->spaces);
	return 0;
}

static int open_parts(struct sampler *s, const struct sampler_settings *settings, struct err *err)
{
	struct frame marker = { .kind = FRAME_MARKER, .name = STR_LITERAL("[kernel]") };
	int error = perf_means_find(&s->means, settings->switched_off, err);

	s->kernel_key = frame_key(&marker, 0);
	if (error == 0)
		error = perf_begin(s, settings,
				   settings->period_ns < FAST_NS ? FAST_MORE * PERF_RING_PAGES
								 : PERF_RING_PAGES,
				   err);
	return error == 0 ? open_events(s, err) : error;
}

static int sampler_open(const struct sampler_settings *settings, struct sampler **out,
			struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int error;

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot begin to sample: no memory");
	s->root_fd = s->wait_fd = -1;
	error = open_parts(s, settings, err);
	if (error != 0) {
		sampler_close(s);
		return error;
	}
	s->settings.switched_off = NULL; /* borrowed during the call only */
	*out = s;
	return 0;
}

static size_t sampler_wait_on(struct sampler *s, struct pollfd *out, size_t max)
{
	if (max == 0)
		return 0;
	out[0] = (struct pollfd){ .fd = s->wait_fd, .events = POLLIN };
	return 1;
}

/* Timed by the cheap clock: a build starts hundreds of processes a second, and no period makes that cheaper. */
static void follow(struct sampler *s, const struct perf_record *record,
		   const struct sampler_sink *sink)
{
	uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC);

	perf_follow(s, record, sink);
	s->aside_ns += clock_read_ns(CLOCK_MONOTONIC) - began_ns;
}

int perf_drain(struct sampler *s, const struct sampler_sink *sink, struct err *err)
{
	bool root_was_over = perf_follow_root_is_over(s);
	uint64_t until_ns = clock_read_ns(CLOCK_MONOTONIC) - (uint64_t)s->ahead_ns;
	int error = perf_rings_look(&s->rings, until_ns, err);
	struct perf_record record;

	while (error == 0 && perf_rings_next(&s->rings, &record)) {
		s->record_ns = record.at_ns;
		if (record.header.type == PERF_RECORD_SAMPLE)
			perf_take_sample(s, &record, sink);
		else
			follow(s, &record, sink);
		error = perf_rings_consume(&s->rings, &record, err);
	}
	if (error == 0)
		perf_follow_ends(s, root_was_over, until_ns, sink);
	spaces_mind(s->spaces, sink->renamed, sink->owner);
	return error;
}

static int sampler_set_period(struct sampler *s, uint64_t period_ns,
			      const struct sampler_sink *sink, struct err *err)
{
	uint64_t prime_ns = perf_period_in_reach(period_ns);
	int error = perf_drain(s, sink, err);

	if (error != 0 || prime_ns == s->events.period_ns)
		return error;
	return perf_reopen(s, prime_ns, sink, err);
}

static void explain_children(struct sampler *s)
{
	int len = snprintf(s->children, sizeof(s->children), "under a period unseen");

	if (s->shed > 0)
		snprintf(s->children + len, sizeof(s->children) - (size_t)len,
			 ", %llu with more rights than their user unseen",
			 (unsigned long long)s->shed);
}

/* Reads all counters. That costs microseconds an event, and a process with thousands of threads has thousands of them:
 * the next time only when this time has become a 1/COUNT_RARELY of the time passed. */
static void count_now(struct sampler *s)
{
	uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	perf_events_count(&s->events, &s->counted_ns, &s->counted_lost);
	s->counted_ns += s->closed_ns;
	s->counted_lost += s->closed_lost;
	s->counted_given_ns = s->given_ns;
	s->next_count_ns = 0;
	if (s->events.count > COUNT_ALWAYS)
		s->next_count_ns =
			clock_read_ns(CLOCK_MONOTONIC) +
			COUNT_RARELY * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

/* The same for turns on a CPU, of which /proc has each thread's own. */
static void count_turns(struct sampler *s)
{
	uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	s->turns = perf_threads_turns(s->threads);
	s->next_turns_ns = clock_read_ns(CLOCK_MONOTONIC) +
			   COUNT_RARELY * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

static void sampler_facts(struct sampler *s, struct sampler_facts *out)
{
	bool is_over = s->root_fd < 0 && perf_threads_alive(s->threads) == 0;
	uint64_t clock_ns, lost;

	explain_children(s);

	if (is_over || clock_read_ns(CLOCK_MONOTONIC) >= s->next_count_ns)
		count_now(s);
	if (is_over || clock_read_ns(CLOCK_MONOTONIC) >= s->next_turns_ns)
		count_turns(s);
	/* Since the last count: what ticks brought; the unsampled tail is taken to be as long as it was then. */
	clock_ns = s->counted_ns + (s->given_ns - s->counted_given_ns);
	lost = s->counted_lost;
	/* Derived weights come from another clock, which may run some ppm ahead; and of a thread counted twice the
	 * younger event may have given a tick before its elder was seen. */
	if ((!s->means.has_read || s->has_dropped) && clock_ns < s->given_ns)
		clock_ns = s->given_ns;
	*out = (struct sampler_facts){
		.name = "perf",
		.clock = "cpu",
		.period_ns = s->events.period_ns,
		.is_derived = !s->means.has_read,
		.is_over = is_over,
		.children = s->children,
		.kernel_stacks = s->kernel_stacks[0] != '\0' ? s->kernel_stacks
							     : spaces_kernel_names(s->spaces),
		.clock_ns = clock_ns,
		.lost_count = lost > s->lost_count ? lost : s->lost_count,
		.lost_events = s->lost_events,
		.throttled_count = s->throttled_count,
		.threads = perf_threads_seen(s->threads),
		.processes = perf_threads_processes_seen(s->threads),
		.aside_ns = s->aside_ns,
		.table_ns = spaces_table_ns(s->spaces),
		.reading_ns = spaces_reading_ns(s->spaces),
		.awaited_files = spaces_awaited(s->spaces),
		.unread_files = spaces_unread(s->spaces),
		.unnamed_frames = spaces_unnamed(s->spaces),
		.switches = s->turns.switches,
		.ran_ns = s->turns.ran_ns,
		.waited_ns = s->turns.waited_ns,
		.costs = s->costs,
	};
}

struct spaces *perf_spaces(struct sampler *s)
{
	return s->spaces;
}

bool perf_thread_of(struct sampler *s, uint32_t pid, uint32_t tid, struct frame *out)
{
	const struct perf_thread *thread = perf_threads_find(s->threads, tid);

	if (thread == NULL || thread->pid != pid)
		return false;
	*out = perf_thread_frame(thread);
	return true;
}

const struct sampler_ops sampler_perf = {
	.name = "perf",
	.open = sampler_open,
	.wait_on = sampler_wait_on,
	.drain = perf_drain,
	.set_period = sampler_set_period,
	.calibrate = perf_calibrate,
	.facts = sampler_facts,
	.close = sampler_close,
	.spaces = perf_spaces,
	.thread = perf_thread_of,
};
