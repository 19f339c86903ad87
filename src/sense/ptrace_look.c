/* ptrace_look.c - ticks: who has run, who runs now, and what the wanted ones stand in. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sense/clock.h"
#include "sense/ptrace.h"
#include "sense/ptrace_regs.h"

#define QUARANTINE_NS (60 * NS_PER_S)
#define QUIET_A_TICK  32u	      /* threads that did not run last time, looked at in a tick */
#define MAPS_OLD_NS   (10 * NS_PER_S) /* nobody tells us of new mappings */
#define MAPS_AGAIN_NS NS_PER_S	      /* sooner where a stack leads nowhere */
#define MAPS_RARELY   500u	      /* of the time passed, reading them takes one in so many */
#define TRIES	      3u /* of one look: threads wake up and executions happen in between */

/* ---- who has run ---- */

/* What a thread ran is owed until a tick finds it running: it stands for where it ran, not for where it waits. Never more than its
 * process's clock says; the rest is left for later. Returns what is owed now. */
static uint64_t owe(struct ptrace_process *p, struct perf_thread *thread, uint64_t ns)
{
	uint64_t left_ns = p->clock_ns - p->base_ns - p->booked_ns;

	if (ns > left_ns)
		ns = left_ns;
	thread->is_running = ns > 0;
	thread->owed_ns += ns;
	p->booked_ns += ns;
	return ns;
}

/* By the thread's own count, which is a jiffy behind while it runs. One that was taken for its process's only one was given what
 * others ran too: its count has to come up to that first, and theirs get it then. */
static void count_thread(struct ptrace_process *p, struct perf_thread *thread)
{
	struct procfs_turns turns;
	uint64_t before_ns = thread->turns.ran_ns;

	if (procfs_turns((pid_t)thread->pid, (pid_t)thread->tid, &turns) != 0)
		return;
	thread->turns = turns;
	thread->turns.ran_ns =
		before_ns + owe(p, thread, turns.ran_ns > before_ns ? turns.ran_ns - before_ns : 0);
}

static bool is_alone(struct sampler *s, const struct perf_thread *thread)
{
	return perf_threads_first(s->threads, thread->pid) == thread &&
	       perf_threads_next(s->threads, thread) == NULL;
}

/* ---- what it stands in ---- */

static void quarantine(struct sampler *s, struct ptrace_process *p)
{
	p->unread_until_ns = clock_read_ns(CLOCK_MONOTONIC) + QUARANTINE_NS;
	ptrace_tree_close_memory(s, p);
}

/* One place of a thread that waits. False: none was to be had. */
static bool read_place(int fd, struct ptrace_place *out)
{
	char text[256];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return ptrace_place_parse(text, out);
}

/* What a look gave. */
struct view {
	struct stack_copy copy;
	bool is_in_kernel;
};

static void view_stack(struct sampler *s, struct view *out, ssize_t bytes)
{
	out->copy.bytes = ptrace_reader_bytes(s->reader);
	out->copy.len = bytes > 0 ? (size_t)bytes : 0;
	out->copy.asked = PTRACE_READER_BYTES;
}

/* A thread that has just begun to wait is read where it waits, untouched. */
static bool view_waiting(struct sampler *s, struct ptrace_process *p, int place_fd,
			 struct view *out)
{
	struct ptrace_place before, after;
	ssize_t bytes;

	if (!read_place(place_fd, &before) || before.is_running ||
	    ptrace_reader_start(s->reader) != 0)
		return false;
	bytes = ptrace_reader_copy(s->reader, p->mem_fd, before.sp, PTRACE_READER_BYTES);
	if (bytes == -ETIMEDOUT)
		quarantine(s, p);
	if (bytes <= 0 || !read_place(place_fd, &after) || after.is_running ||
	    after.sp != before.sp || after.pc != before.pc)
		return false; /* it went on meanwhile */
	out->copy =
		(struct stack_copy){ .has_user = true, .known = 1u << DWARF_RSP | 1u << DWARF_RIP };
	out->copy.regs[DWARF_RSP] = before.sp;
	out->copy.regs[DWARF_RIP] = before.pc;
	out->is_in_kernel = true;
	view_stack(s, out, bytes);
	return true;
}

static void book(struct sampler *s, const struct ptrace_seen *seen)
{
	s->stops += seen->stopped_ns > 0;
	s->stopped_ns += seen->stopped_ns;
	s->mended += seen->is_mended;
	s->cut += seen->stopped_ns > 0 && ptrace_regs_is_cut(&seen->regs);
}

/* One try. False: nothing to be seen; `*may_retry`: it is worth another. */
static bool view_once(struct sampler *s, struct ptrace_process *p,
		      const struct ptrace_wanted *wanted, struct view *out, bool *may_retry)
{
	struct ptrace_seen seen;

	*may_retry = false;
	ptrace_stopper_look(s->stopper, wanted, &seen);
	book(s, &seen);
	switch (seen.end) {
	case PTRACE_STOPPED:
		if (seen.stack_bytes == 0) { /* another program than when its memory was opened */
			s->next_sweep_ns = 0;
			*may_retry = ptrace_tree_open_memory(s, p) == 0;
			return false;
		}
		out->copy = (struct stack_copy){ .has_user = false };
		ptrace_regs_copy(&seen.regs, &out->copy);
		out->is_in_kernel = ptrace_regs_in_call(&seen.regs);
		view_stack(s, out, seen.stack_bytes);
		return true;
	case PTRACE_WAITS:
		*may_retry = !view_waiting(s, p, wanted->place_fd, out);
		return !*may_retry;
	case PTRACE_NO_MEMORY:
	case PTRACE_STUCK:
		quarantine(s, p);
		return false;
	case PTRACE_GONE:
	case PTRACE_REFUSED:
		break;
	}
	return false;
}

static bool view(struct sampler *s, struct ptrace_process *p, const struct perf_thread *thread,
		 int place_fd, struct view *out)
{
	struct ptrace_wanted wanted = { .pid = p->pid,
					.tid = (pid_t)thread->tid,
					.place_fd = place_fd };
	bool may_retry = true;

	for (unsigned int i = 0; i < TRIES && may_retry; i++) {
		if (clock_read_ns(CLOCK_MONOTONIC) < p->unread_until_ns)
			return false;
		if (p->mem_fd < 0 && ptrace_tree_open_memory(s, p) != 0)
			return false;
		wanted.mem_fd = p->mem_fd;
		if (view_once(s, p, &wanted, out, &may_retry))
			return true;
	}
	return false;
}

/* ---- the tick ---- */

static void name_anew(struct perf_thread *thread)
{
	char comm[PROCFS_COMM_BYTES];
	size_t len;

	if (procfs_comm((pid_t)thread->pid, (pid_t)thread->tid, comm) != 0)
		return;
	len = strlen(comm);
	if (len != thread->comm_len || memcmp(comm, thread->comm, len) != 0)
		perf_thread_name(thread, comm, len);
}

static struct frame marker(struct str name)
{
	struct frame frame = { .kind = FRAME_MARKER, .name = name };

	frame.key = frame_key(&frame, 0);
	return frame;
}

/* Files are mapped and unmapped without our knowledge. */
static void read_maps(struct sampler *s, struct ptrace_process *p)
{
	uint64_t before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	spaces_read(s->spaces, p->pid);
	p->maps_ns = clock_read_ns(CLOCK_MONOTONIC);
	p->maps_rest_ns = MAPS_RARELY * (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
}

static bool are_maps_older(const struct ptrace_process *p, uint64_t age_ns)
{
	uint64_t rest_ns = p->maps_rest_ns > age_ns ? p->maps_rest_ns : age_ns;

	return clock_read_ns(CLOCK_MONOTONIC) - p->maps_ns > rest_ns;
}

static size_t walk_copy(struct sampler *s, struct ptrace_process *p, const struct stack_copy *copy,
			enum stack_end *out_end)
{
	size_t depth;

	if (are_maps_older(p, MAPS_OLD_NS))
		read_maps(s, p);
	depth = spaces_walk(s->spaces, p->pid, copy, s->path + 1, SPACE_MAX_FRAMES, out_end);
	if (*out_end != STACK_BROKEN || !are_maps_older(p, MAPS_AGAIN_NS))
		return depth;
	read_maps(s, p);
	return spaces_walk(s->spaces, p->pid, copy, s->path + 1, SPACE_MAX_FRAMES, out_end);
}

/* Fills in s->path. Returns its depth. */
static size_t walk(struct sampler *s, struct ptrace_process *p, struct perf_thread *thread,
		   int place_fd, enum stack_end *out_end)
{
	struct view seen = { .is_in_kernel = false };
	size_t depth = 1;

	name_anew(thread);
	s->path[0] = perf_thread_frame(thread);
	if (!view(s, p, thread, place_fd, &seen)) {
		s->unread++;
		*out_end = STACK_BROKEN;
		s->path[depth++] = marker((struct str)STR_LITERAL("[no stack]"));
		return depth;
	}
	depth += walk_copy(s, p, &seen.copy, out_end);
	if (seen.is_in_kernel)
		s->path[depth++] = marker((struct str)STR_LITERAL("[kernel]"));
	return depth;
}

static struct tick take_owed(struct sampler *s, struct perf_thread *thread)
{
	uint64_t at_ns =
		mono_elapsed_ns(s->settings.start, (struct mono){ clock_read_ns(CLOCK_MONOTONIC) });
	struct tick tick = { .weight_ns = thread->owed_ns,
			     .state = STATE_RUNNING,
			     .pid = thread->pid,
			     .tid = thread->tid };

	if (at_ns > s->last_ns)
		s->last_ns = at_ns;
	tick.from_ns = tick.at_ns = s->last_ns;
	thread->owed_ns = 0;
	return tick;
}

/* A tick, if it runs. */
static void tick_thread(struct sampler *s, struct ptrace_process *p, struct perf_thread *thread,
			const struct sampler_sink *sink)
{
	enum stack_end end = STACK_WHOLE;
	struct ptrace_place place;
	struct tick tick;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/syscall", (int)p->pid, thread->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read_place(fd, &place) && place.is_running) {
		tick = take_owed(s, thread);
		if (sink->wants(sink->owner, &tick)) {
			size_t depth = walk(s, p, thread, fd, &end);

			sink->take(sink->owner, &tick, s->path, depth, end);
		} else {
			sink->take(sink->owner, &tick, NULL, 0, STACK_WHOLE);
		}
	}
	close(fd);
}

/* All that ran lately, and some of the others in turn. */
static void look_at_process(struct sampler *s, struct ptrace_process *p,
			    const struct sampler_sink *sink)
{
	uint64_t before_ns = p->clock_ns;
	struct perf_thread *at, *next;
	uint32_t place = 0;

	if (!ptrace_tree_has_run(p))
		return;
	/* A new program's name and mappings are wanted before the next tick. */
	if (ptrace_tree_has_executed(p)) {
		ptrace_tree_close_memory(s, p);
		s->next_sweep_ns = 0;
	}
	at = perf_threads_first(s->threads, (uint32_t)p->pid);
	if (at != NULL && is_alone(s, at)) {
		at->turns.ran_ns += p->clock_ns - before_ns;
		owe(p, at, p->clock_ns - before_ns);
		tick_thread(s, p, at, sink);
		return;
	}
	for (; at != NULL; at = next, place++) {
		next = perf_threads_next(s->threads, at);
		if (at->is_running || place - p->turn < QUIET_A_TICK)
			count_thread(p, at);
		if (at->owed_ns > 0)
			tick_thread(s, p, at, sink);
	}
	p->turn = p->turn + QUIET_A_TICK < place ? p->turn + QUIET_A_TICK : 0;
}

void ptrace_look(struct sampler *s, const struct sampler_sink *sink)
{
	for (size_t i = 0; i < s->process_count; i++)
		look_at_process(s, &s->processes[i], sink);
}
