/* watch.c - the harness of the engines' tests. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

const struct sampler_ops *watch_engine = &sampler_perf;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct watch_thread *watch_thread(struct watch *w, uint32_t tid)
{
	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i].tid == tid)
			return &w->threads[i];
	assert_true(w->thread_count < WATCH_THREADS);
	w->threads[w->thread_count] = (struct watch_thread){ .tid = tid };
	return &w->threads[w->thread_count++];
}

static bool wants(void *owner, const struct tick *tick)
{
	struct watch *w = owner;

	if (tick->at_ns < w->last_ns)
		w->went_back = true;
	w->last_ns = tick->at_ns;
	return !w->skips_stacks;
}

static void take(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		 enum stack_end end)
{
	struct watch *w = owner;
	struct watch_thread *thread;

	assert_true(tick->weight_ns > 0);
	w->weight_ns += tick->weight_ns;
	w->ticks++;
	if (path == NULL)
		return;
	assert_int_equal(path[0].kind, FRAME_THREAD);
	assert_int_equal(tick->pid, path[0].pid);
	assert_int_equal(tick->tid, path[0].tid);
	thread = watch_thread(w, path[0].tid);
	thread->pid = path[0].pid;
	thread->weight_ns += tick->weight_ns;
	thread->ticks++;
	memcpy(thread->comm, path[0].name.bytes, path[0].name.len);
	thread->comm[path[0].name.len] = '\0';
	if (thread->ticks == 1)
		memcpy(thread->first_comm, thread->comm, sizeof(thread->comm));
	if (depth == 2 && path[1].kind == FRAME_MARKER && path[1].name.len == 8 &&
	    memcmp(path[1].name.bytes, "[kernel]", 8) == 0)
		thread->kernel_ns += tick->weight_ns;
	w->whole += end == STACK_WHOLE;
	w->kernel_frames += path[depth - 1].kind == FRAME_KERNEL;
	if (depth > w->depth_max)
		w->depth_max = depth;
}

static void lost(void *owner, uint64_t at_ns, uint64_t samples)
{
	(void)at_ns;
	((struct watch *)owner)->lost += samples;
}

static void life(void *owner, const struct life *event)
{
	struct watch *w = owner;

	w->life[event->kind]++;
	w->of_root += event->kind == LIFE_FORK && event->parent == (uint32_t)w->pid;
	w->last_ends += event->kind == LIFE_EXIT && event->is_last;
	w->life_went_back |= event->at_ns < w->life_ns;
	w->life_ns = event->at_ns;
}

static void listen_to(struct watch *w)
{
	ssize_t len;

	while (w->said_len + 1 < sizeof(w->said) &&
	       (len = read(w->from, w->said + w->said_len, sizeof(w->said) - 1 - w->said_len)) > 0)
		w->said_len += (size_t)len;
}

void watch_hear(struct watch *w, const char *text)
{
	struct pollfd from = { .fd = w->from, .events = POLLIN };

	for (int i = 0; i < 200 && strstr(w->said, text) == NULL; i++) {
		poll(&from, 1, 50);
		listen_to(w);
	}
	assert_non_null(strstr(w->said, text));
}

static _Noreturn void run_target(int in, int out, int gate, const char *const argv[])
{
	char none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	if (gate >= 0 && read(gate, &none, 1) != 0)
		_exit(126);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

static void start(struct watch *w, const char *const argv[], bool is_waiting)
{
	int in[2], out[2], gate[2] = { -1, -1 };

	memset(w, 0, sizeof(*w));
	w->sink = (struct sampler_sink){
		.owner = w, .wants = wants, .take = take, .lost = lost, .life = life
	};
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	if (is_waiting)
		assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (w->pid == 0) {
		close(gate[1]);
		run_target(in[0], out[1], gate[0], argv);
	}
	close(gate[0]);
	close(in[0]);
	close(out[1]);
	w->gate = gate[1];
	w->to = in[1];
	w->from = out[0];
	fcntl(w->from, F_SETFL, O_NONBLOCK);
}

void watch_start(struct watch *w, const char *const argv[])
{
	start(w, argv, false);
	watch_hear(w, "here\n"); /* its own exec is over */
}

void watch_start_waiting(struct watch *w, const char *const argv[])
{
	start(w, argv, true);
}

void watch_let_exec(struct watch *w)
{
	close(w->gate);
	w->gate = -1;
}

void watch_open(struct watch *w, uint64_t period_ns, const char *switched_off, bool starts_at_exec)
{
	struct sampler_settings settings = { .pid = w->pid,
					     .starts_at_exec = starts_at_exec,
					     .period_ns = period_ns,
					     .start = { now_ns() },
					     .switched_off = switched_off };
	struct err err = ERR_EMPTY;
	int error = watch_engine->open(&settings, &w->sampler, &err);

	if (error == 0)
		return;
	print_message("%s\n%s\n%s\n", err.msg, err.works, err.mend);
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	if (strcmp(watch_engine->name, "bpf") == 0 && watch_may_bpf())
		fail_msg("our programs are refused, and one that does nothing is not");
	if (error == -EACCES || error == -EPERM || error == -ENOSYS || error == -ENOENT)
		skip();
	fail();
}

bool watch_may_bpf(void)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					    { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr load = { .prog_type = BPF_PROG_TYPE_PERF_EVENT,
				.insns = (uintptr_t)nothing,
				.insn_cnt = 2,
				.license = (uintptr_t) "GPL" };
	int fd;

	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return false;
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void watch_go(struct watch *w)
{
	assert_int_equal(write(w->to, "x", 1), 1);
}

void watch_run(struct watch *w, unsigned int ms)
{
	uint64_t until_ns = now_ns() + ms * NS_PER_MS;
	struct err err = ERR_EMPTY;
	struct pollfd fds[4];

	while (now_ns() < until_ns) {
		size_t count = watch_engine->wait_on(w->sampler, fds, 4);

		poll(fds, (nfds_t)count, 50);
		assert_int_equal(watch_engine->drain(w->sampler, &w->sink, &err), 0);
		listen_to(w);
		watch_engine->facts(w->sampler, &w->facts);
		if (w->facts.is_over)
			return;
	}
}

/* "TID NS" lines; others are the targets' own talk. */
static void read_said(struct watch *w)
{
	char *line = w->said, *end, *after;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		unsigned long tid = strtoul(line, &after, 10);

		if (after != line && *after == ' ')
			watch_thread(w, (uint32_t)tid)->cpu_ns = strtoull(after + 1, NULL, 10);
	}
}

void watch_whole(struct watch *w, const char *const argv[], uint64_t period_ns,
		 const char *switched_off)
{
	watch_start(w, argv);
	watch_open(w, period_ns, switched_off, false);
	watch_go(w);
	watch_run(w, 20000);
	watch_end(w);
	assert_true(w->facts.is_over);
}

void watch_unwanted(struct watch *w, const char *const argv[], uint64_t period_ns)
{
	watch_start(w, argv);
	w->skips_stacks = true;
	watch_open(w, period_ns, NULL, false);
	watch_go(w);
	watch_run(w, 20000);
	watch_end(w);
	assert_int_equal(w->whole, 0);
}

void watch_from_exec(struct watch *w, const char *busy)
{
	const char *argv[] = { busy, "threads", "1", "200", NULL };

	watch_start_waiting(w, argv);
	watch_open(w, 2 * NS_PER_MS, NULL, true);
	watch_let_exec(w);
	watch_go(w);
	watch_run(w, 20000);
	watch_end(w);
	assert_true(w->facts.is_over);
	assert_int_equal(w->life[LIFE_EXEC], 1);
}

unsigned int watch_late_crowd(struct watch *w, const char *busy)
{
	const char *argv[] = { busy, "crowd", "200", "8", NULL };
	unsigned int seen = 0;

	watch_start(w, argv);
	watch_hear(w, "ready\n");
	watch_open(w, NS_PER_MS, NULL, false);
	watch_engine->facts(w->sampler, &w->facts);
	assert_int_equal(w->facts.threads, 201);
	watch_go(w);
	watch_run(w, 12000);
	watch_end(w);
	assert_true(w->facts.is_over);
	assert_int_equal(w->facts.threads, 201);
	assert_true(w->weight_ns <= w->facts.clock_ns);
	for (size_t i = 0; i < w->thread_count; i++)
		seen += w->threads[i].ticks > 0;
	print_message("%u threads ticked, %llu ticks lost\n", seen,
		      (unsigned long long)w->facts.lost_count);
	return seen;
}

void watch_short_life(struct watch *w)
{
	const char *argv[] = { "/bin/true", NULL };

	watch_start_waiting(w, argv);
	watch_open(w, 10 * NS_PER_MS, NULL, true);
	watch_let_exec(w);
	watch_run(w, 4000);
	watch_end(w);
	assert_true(w->facts.is_over);
	assert_true(w->facts.clock_ns > 0);
	assert_true(w->weight_ns <= w->facts.clock_ns);
}

void watch_kill(struct watch *w)
{
	close(w->to);
	close(w->from);
	if (w->pid <= 0)
		return;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
}

int watch_status(struct watch *w)
{
	int status;

	listen_to(w);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	w->pid = 0;
	return status;
}

void watch_end(struct watch *w)
{
	watch_engine->facts(w->sampler, &w->facts);
	snprintf(w->kernel_stacks, sizeof(w->kernel_stacks), "%s", w->facts.kernel_stacks);
	watch_engine->close(w->sampler);
	listen_to(w);
	watch_kill(w);
	read_said(w);
}

uint64_t watch_process_ns(const struct watch *w)
{
	struct timespec now = { 0 };
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(w->pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t watch_cpu_ns(const struct watch *w)
{
	uint64_t cpu_ns = 0;

	for (size_t i = 0; i < w->thread_count; i++)
		cpu_ns += w->threads[i].cpu_ns;
	return cpu_ns;
}
