/* bpf.c - engine `bpf`: a tree of processes, sampled and walked in the kernel; short-lived ones too. */
#include "sense/bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "core/scoped.h"
#include "sense/clock.h"

#define LOOK_NS	      (100 * NS_PER_MS) /* between two looks at the ring */
#define LOOK_QUIET_NS (400 * NS_PER_MS)
#define SIDE_PAGES    64u   /* of records that tell of life, a CPU: 2,000 programs started */
#define COUNT_RARELY  2000u /* reading /proc takes at most such a part of the time */

static struct bpf_sampler *of(struct sampler *s)
{
	return (struct bpf_sampler *)s;
}

static void sampler_close(struct sampler *s)
{
	struct bpf_sampler *b = of(s);

	if (s == NULL)
		return;
	bpf_unload(b);
	bpf_follow_close(b);
	if (b->timer >= 0)
		close(b->timer);
	perf_end(&b->base);
	free(b->other);
	free(b);
}

/* ---- opening ---- */

/* Looks at the ring every so often. */
static void set_timer(struct bpf_sampler *b, uint64_t every_ns)
{
	struct itimerspec when = { .it_interval = { .tv_nsec = (long)every_ns },
				   .it_value = { .tv_nsec = (long)every_ns } };

	timerfd_settime(b->timer, 0, &when, NULL);
}

static int wait_for(struct bpf_sampler *b, int fd, struct err *err)
{
	struct epoll_event readable = { .events = EPOLLIN };

	if (fd >= 0 && epoll_ctl(b->base.wait_fd, EPOLL_CTL_ADD, fd, &readable) == 0)
		return 0;
	return err_set(err, -errno, "cannot wait for samples: %s", strerror(errno));
}

static int open_waits(struct bpf_sampler *b, struct err *err)
{
	int error;

	b->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	error = wait_for(b, b->timer, err);
	if (error == 0)
		error = wait_for(b, ring_buffer__epoll_fd(b->ring), err);
	if (error == 0)
		set_timer(b, LOOK_NS);
	return error;
}

/* The threads that the process has: what they ran so far is none of ours. */
static int enter_threads(struct bpf_sampler *b, struct err *err)
{
	struct sampler *s = &b->base;
	pid_t pid = s->settings.pid;

	if (perf_follow_thread(s, (uint32_t)pid, (uint32_t)pid, NULL) == NULL)
		return err_set(err, -ENOMEM, "cannot keep process %d: no memory", (int)pid);
	if (procfs_threads(pid, &s->list) != 0)
		return perf_explain_event(-ESRCH, pid, err);
	for (size_t i = 0; i < s->list.count; i++) {
		struct perf_thread *thread =
			perf_follow_thread(s, (uint32_t)pid, (uint32_t)s->list.items[i], NULL);

		if (thread != NULL)
			bpf_ran_before(b, (pid_t)thread->tid, thread->turns_before.ran_ns);
	}
	return 0;
}

static int open_parts(struct bpf_sampler *b, const struct sampler_settings *settings,
		      struct err *err)
{
	struct sampler *s = &b->base;
	int error;

	s->means.has_kernel = !perf_is_switched_off(settings->switched_off, "kernel");
	s->is_by_cpu = true;
	if (perf_is_switched_off(settings->switched_off, "trust")) {
		b->other = calloc(SPACE_MAX_FRAMES, sizeof(*b->other));
		if (b->other == NULL)
			return err_set(err, -ENOMEM, "cannot check walks: no memory");
	}
	error = perf_begin(s, settings, SIDE_PAGES, err);
	if (error == 0)
		error = bpf_load(b, err);
	if (error == 0)
		error = bpf_follow_open(b, err);
	if (error == 0)
		error = open_waits(b, err);
	if (error == 0)
		error = enter_threads(b, err);
	if (error != 0)
		return error;
	error = bpf_enter(b, settings->pid, settings->starts_at_exec);
	if (error != 0)
		return perf_explain_event(error, settings->pid, err);
	return bpf_start(b, perf_period_in_reach(settings->period_ns), err);
}

static int sampler_open(const struct sampler_settings *settings, struct sampler **out,
			struct err *err)
{
	struct bpf_sampler *b = calloc(1, sizeof(*b));
	int error;

	if (b == NULL)
		return err_set(err, -ENOMEM, "cannot begin to sample: no memory");
	b->timer = b->stats_fd = b->base.root_fd = b->base.wait_fd = -1;
	error = open_parts(b, settings, err);
	if (error != 0) {
		sampler_close(&b->base);
		return error;
	}
	b->base.settings.switched_off = NULL; /* borrowed during the call only */
	*out = &b->base;
	return 0;
}

/* ---- running ---- */

static size_t sampler_wait_on(struct sampler *s, struct pollfd *out, size_t max)
{
	if (max == 0)
		return 0;
	out[0] = (struct pollfd){ .fd = s->wait_fd, .events = POLLIN };
	return 1;
}

/* Rings that stay empty are looked at less often. */
static void pace(struct bpf_sampler *b, bool is_quiet)
{
	uint64_t expired;

	if (read(b->timer, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
		return;
	if (is_quiet != b->is_quiet)
		set_timer(b, is_quiet ? LOOK_QUIET_NS : LOOK_NS);
	b->is_quiet = is_quiet;
}

static int sampler_drain(struct sampler *s, const struct sampler_sink *sink, struct err *err)
{
	struct bpf_sampler *b = of(s);
	bool root_was_over = perf_follow_root_is_over(s);
	uint64_t until_ns = clock_read_ns(CLOCK_MONOTONIC) - (uint64_t)s->ahead_ns;
	uint64_t given = b->ticks_given, began_ns;

	b->sink = sink;
	b->err = err;
	b->drained = perf_rings_look(&s->rings, until_ns, err);
	if (b->drained == 0)
		ring_buffer__consume(b->ring);
	if (b->drained == 0)
		b->drained = bpf_follow_until(b, until_ns);
	if (b->drained == 0) {
		struct sampler_sink life = bpf_follow_sink(b);

		bpf_follow_ends(b);
		perf_follow_ends(s, root_was_over, until_ns, &life);
	}
	began_ns = clock_read_ns(CLOCK_MONOTONIC);
	bpf_offer_wanted(b);
	spaces_mind(s->spaces, sink->renamed, sink->owner);
	s->aside_ns += clock_read_ns(CLOCK_MONOTONIC) - began_ns;
	pace(b, given == b->ticks_given);
	b->sink = NULL;
	return b->drained;
}

/* Each CPU's clock ticks, whatever the CPU does: on one with nothing to do, too. */
static void count_due(struct bpf_sampler *b)
{
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);

	b->due_ns += now_ns - b->due_since_ns;
	b->due += b->due_ns / b->period_ns * b->tick_count;
	b->due_ns %= b->period_ns;
	b->due_since_ns = now_ns;
}

static int sampler_set_period(struct sampler *s, uint64_t period_ns,
			      const struct sampler_sink *sink, struct err *err)
{
	struct bpf_sampler *b = of(s);
	uint64_t prime_ns = perf_period_in_reach(period_ns);
	int error = sampler_drain(s, sink, err);

	if (error != 0 || prime_ns == b->period_ns)
		return error;
	count_due(b);
	b->due_ns = 0; /* a whole period begins */
	for (uint32_t i = 0; i < b->tick_count; i++)
		if (ioctl(b->tick_fds[i], PERF_EVENT_IOC_PERIOD, &prime_ns) != 0)
			return err_set(err, -errno, "cannot change the period: %s",
				       strerror(errno));
	b->period_ns = prime_ns;
	return 0;
}

/* The kernel counts what its programs take, but not what coming to them takes: that is a tick without a stack. */
static int sampler_calibrate(struct sampler *s, struct err *err)
{
	return perf_calibrate_tick(&s->means, true, &of(s)->bare_tick_ps, err);
}

/* ---- facts ---- */

/* CPU time of threads that live, as /proc has it. Thousands of them are read when that has become cheap again. */
static void count_turns(struct bpf_sampler *b)
{
	struct sampler *s = &b->base;
	uint64_t began_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	s->turns = perf_threads_turns(s->threads);
	s->counted_ns = s->turns.ran_ns - perf_threads_gone_ran_ns(s->threads);
	s->counted_given_ns = s->given_ns;
	s->next_turns_ns = clock_read_ns(CLOCK_MONOTONIC) +
			   COUNT_RARELY * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

static uint64_t ticks_ns(const struct bpf_sampler *b, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * b->bare_tick_ps / PS_PER_NS);
}

static void sampler_facts(struct sampler *s, struct sampler_facts *out)
{
	struct bpf_sampler *b = of(s);
	bool is_over = s->root_fd < 0 && perf_threads_alive(s->threads) == 0;
	struct record_counts counts = bpf_counts(b);
	uint64_t clock_ns;

	count_due(b);
	if (is_over || clock_read_ns(CLOCK_MONOTONIC) >= s->next_turns_ns)
		count_turns(b);
	clock_ns = counts.gone_ns + s->counted_ns + (s->given_ns - s->counted_given_ns);
	if (clock_ns < s->given_ns)
		clock_ns = s->given_ns;
	*out = (struct sampler_facts){
		.name = "bpf",
		.clock = "cpu",
		.period_ns = b->period_ns,
		.is_over = is_over,
		.children = "",
		.kernel_stacks = s->kernel_stacks[0] != '\0' ? s->kernel_stacks
							     : spaces_kernel_names(s->spaces),
		.clock_ns = clock_ns,
		.lost_count = s->lost_count + counts.lost + counts.placeless + b->torn,
		.lost_events = s->lost_events + (counts.lost > 0),
		.threads = perf_threads_seen(s->threads),
		.processes = perf_threads_processes_seen(s->threads),
		.aside_ns = s->aside_ns,
		.table_ns = spaces_table_ns(s->spaces),
		.reading_ns = spaces_reading_ns(s->spaces),
		.awaited_files = spaces_awaited(s->spaces),
		.unread_files = spaces_unread(s->spaces),
		.unnamed_frames = spaces_unnamed(s->spaces),
		.ran_ns = s->turns.ran_ns,
		.waited_ns = s->turns.waited_ns,
		.kernel_ns = bpf_took_ns(b) + ticks_ns(b, counts.met),
		.missed_ns = ticks_ns(b, b->due > counts.met ? b->due - counts.met : 0),
		.is_kernel_measured = true,
	};
	if (counts.met > 0 && b->bare_tick_ps > 0)
		out->costs.tick_ps = out->kernel_ns * PS_PER_NS / counts.met;
}

const struct sampler_ops sampler_bpf = {
	.name = "bpf",
	.open = sampler_open,
	.wait_on = sampler_wait_on,
	.drain = sampler_drain,
	.set_period = sampler_set_period,
	.calibrate = sampler_calibrate,
	.facts = sampler_facts,
	.close = sampler_close,
	.spaces = perf_spaces,
	.thread = perf_thread_of,
};
