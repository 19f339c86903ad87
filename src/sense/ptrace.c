/* ptrace.c - engine `ptrace`: opening, its timer, what the label says of it. */
#include "sense/ptrace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sense/clock.h"
#include "sense/perf_open.h"

static void sampler_close(struct sampler *s)
{
	if (s == NULL)
		return;
	ptrace_stopper_close(s->stopper);
	ptrace_reader_close(s->reader);
	for (size_t i = 0; i < s->process_count; i++)
		ptrace_tree_close_memory(s, &s->processes[i]);
	free(s->processes);
	if (s->timer_fd >= 0)
		close(s->timer_fd);
	if (s->root_fd >= 0)
		close(s->root_fd);
	perf_threads_close(s->threads);
	spaces_close(s->spaces);
	procfs_list_free(&s->tids);
	procfs_list_free(&s->found);
	procfs_list_free(&s->pids);
	free(s);
}

/* The next tick comes a period from now, give or take a tenth: no rhythm of the target's can beat with that. */
static void set_timer(struct sampler *s)
{
	uint64_t gap_ns =
		s->period_ns - s->period_ns / 10 + rng_below(&s->rng, s->period_ns / 5 + 1);
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(gap_ns / NS_PER_S),
						 .tv_nsec = (long)(gap_ns % NS_PER_S) } };

	timerfd_settime(s->timer_fd, 0, &when, NULL);
}

static int open_waits(struct sampler *s, struct err *err)
{
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (s->timer_fd < 0)
		return err_set(err, -errno, "cannot make a timer: %s", strerror(errno));
	s->root_fd = (int)syscall(SYS_pidfd_open, s->settings.pid, 0);
	if (s->root_fd < 0)
		return perf_explain_event(-errno, s->settings.pid, err);
	return 0;
}

static bool are_children_listed(void)
{
	int self = getpid();
	struct procfs_list tids = { .items = &self, .count = 1 }, none = { 0 };
	bool are_listed = procfs_children(self, &tids, &none) == 0;

	procfs_list_free(&none);
	return are_listed;
}

static int open_parts(struct sampler *s, struct err *err)
{
	pid_t pid = s->settings.pid, process = pid;
	int error;

	if (procfs_process_of(pid, &process) == 0 && process != pid)
		return perf_explain_thread(pid, process, err);
	error = ptrace_explain(&s->settings, err);
	if (error == 0)
		error = open_waits(s, err);
	if (error == 0)
		error = spaces_open(&s->spaces, err);
	if (error == 0 && s->settings.asks_servers)
		error = spaces_ask_servers(s->spaces, err);
	if (error == 0)
		error = ptrace_reader_open(&s->reader, err);
	if (error == 0)
		error = ptrace_stopper_open(s->reader, &s->stopper, err);
	if (error != 0)
		return error;
	if (perf_threads_open(&s->threads, 1) != 0)
		return err_set(err, -ENOMEM, "cannot keep a table of threads: no memory");
	s->are_children_listed = are_children_listed();
	error = ptrace_tree_add(s, pid, true);
	return error != 0 ? perf_explain_event(error, pid, err) : 0;
}

static int sampler_open(const struct sampler_settings *settings, struct sampler **out,
			struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int error;

	if (s == NULL)
		return err_set(err, -ENOMEM, "cannot begin to sample: no memory");
	s->settings = *settings;
	s->settings.switched_off = NULL; /* borrowed during the call only */
	s->period_ns = settings->period_ns;
	s->timer_fd = s->root_fd = -1;
	rng_seed(&s->rng, settings->start.ns ^ ((uint64_t)settings->pid << 32));
	error = open_parts(s, err);
	if (error != 0) {
		sampler_close(s);
		return error;
	}
	set_timer(s);
	*out = s;
	return 0;
}

static size_t sampler_wait_on(struct sampler *s, struct pollfd *out, size_t max)
{
	size_t count = 0;

	if (max > count)
		out[count++] = (struct pollfd){ .fd = s->timer_fd, .events = POLLIN };
	if (max > count && s->root_fd >= 0)
		out[count++] = (struct pollfd){ .fd = s->root_fd, .events = POLLIN };
	return count;
}

static bool is_tick_due(const struct sampler *s)
{
	uint64_t times;

	return read(s->timer_fd, &times, sizeof(times)) == (ssize_t)sizeof(times);
}

/* Its end is looked at at once: its clock is there to be read until its parent has heard of it. */
static void follow_root(struct sampler *s)
{
	struct pollfd ready = { .fd = s->root_fd, .events = POLLIN };

	if (s->root_fd < 0 || poll(&ready, 1, 0) != 1)
		return;
	close(s->root_fd);
	s->root_fd = -1;
	s->next_sweep_ns = 0;
}

static int sampler_drain(struct sampler *s, const struct sampler_sink *sink, struct err *err)
{
	(void)err;
	follow_root(s);
	ptrace_tree_sweep(s, clock_read_ns(CLOCK_MONOTONIC), sink);
	spaces_mind(s->spaces, sink->renamed, sink->owner);
	if (!is_tick_due(s))
		return 0;
	ptrace_look(s, sink);
	set_timer(s);
	return 0;
}

static int sampler_set_period(struct sampler *s, uint64_t period_ns,
			      const struct sampler_sink *sink, struct err *err)
{
	(void)sink;
	(void)err;
	s->period_ns = period_ns;
	set_timer(s);
	return 0;
}

/* Nothing to be guessed: every stop is timed. */
static int sampler_calibrate(struct sampler *s, struct err *err)
{
	(void)s;
	(void)err;
	return 0;
}

static void sampler_facts(struct sampler *s, struct sampler_facts *out)
{
	*out = (struct sampler_facts){
		.name = "ptrace",
		.clock = "cpu",
		.period_ns = s->period_ns,
		.is_jittered = true,
		.is_over = s->root_fd < 0 && s->process_count == 0,
		.children = "under a period unseen",
		.kernel_stacks = "not seen by engine ptrace: time there is [kernel]",
		.clock_ns = ptrace_tree_clock_ns(s),
		.threads = perf_threads_seen(s->threads),
		.processes = perf_threads_processes_seen(s->threads),
		.aside_ns = s->aside_ns,
		.table_ns = spaces_table_ns(s->spaces),
		.reading_ns = spaces_reading_ns(s->spaces),
		.copying_ns = ptrace_reader_spent_ns(s->reader),
		.copying_live_ns = ptrace_reader_live_ns(s->reader),
		.awaited_files = spaces_awaited(s->spaces),
		.unread_files = spaces_unread(s->spaces),
		.unnamed_frames = spaces_unnamed(s->spaces),
		.stops = s->stops,
		.stopped_ns = s->stopped_ns,
		.mended_calls = s->mended,
		.cut_calls = s->cut,
		.unread_stacks = s->unread,
		.killed_copiers = ptrace_reader_killed(s->reader),
	};
}

const struct sampler_ops sampler_ptrace = {
	.name = "ptrace",
	.open = sampler_open,
	.wait_on = sampler_wait_on,
	.drain = sampler_drain,
	.set_period = sampler_set_period,
	.calibrate = sampler_calibrate,
	.facts = sampler_facts,
	.close = sampler_close,
};
