/* traced.h - a program that is stopped where we want it, and samples of its stack. */
#ifndef TARE_TESTS_TRACED_H
#define TARE_TESTS_TRACED_H

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sense/space.h"

struct traced {
	pid_t pid, tid; /* tid: the thread that stands still */
	int memory;
	struct stack_copy copy;
	uint8_t bytes[SPACE_STACK_BYTES];
};

/* Where a target lies: beside this test. */
static inline void traced_path(const char *name, char out[PATH_MAX])
{
	char here[PATH_MAX - 64];
	ssize_t len = readlink("/proc/self/exe", here, sizeof(here) - 1);

	here[len > 0 ? len : 0] = '\0';
	*strrchr(here, '/') = '\0';
	snprintf(out, PATH_MAX, "%s/targets/%s", here, name);
}

/* Lets it go on until it stands at an int3 again; other signals pass. False: it ended. */
static inline bool traced_continue(struct traced *t)
{
	int status, pass = 0;

	ptrace(PTRACE_CONT, t->tid, NULL, 0);
	while ((t->tid = waitpid(-t->pid, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status) && status >> 8 == SIGTRAP)
			return true;
		if (!WIFSTOPPED(status) && t->tid == t->pid)
			return false;
		pass = WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP
			       ? WSTOPSIG(status)
			       : 0;
		ptrace(PTRACE_CONT, t->tid, NULL, pass);
	}
	return false;
}

/* Kills it and all it left; fine when there is none. */
static inline void traced_end(struct traced *t)
{
	if (t->pid <= 0)
		return;
	kill(t->pid, SIGKILL);
	while (waitpid(-t->pid, NULL, __WALL) > 0)
		;
	close(t->memory);
	t->pid = 0;
}

/* Starts `path mode` and waits for its first int3. */
static inline bool traced_start(struct traced *t, const char *path, const char *mode)
{
	char name[64];
	int status;

	traced_end(t); /* of a test that failed */
	t->pid = t->tid = fork();
	if (t->pid == 0) {
		setpgid(0, 0); /* so that nobody else's children are waited for with it */
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, mode, (char *)NULL);
		_exit(127);
	}
	if (t->pid < 0 || waitpid(t->pid, &status, 0) != t->pid || !WIFSTOPPED(status))
		return false;
	ptrace(PTRACE_SETOPTIONS, t->pid, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)t->pid);
	t->memory = open(name, O_RDONLY | O_CLOEXEC);
	return t->memory >= 0 && traced_continue(t);
}

/* One instruction further. False: it ended. */
static inline bool traced_step(struct traced *t, int pass)
{
	int status;

	return ptrace(PTRACE_SINGLESTEP, t->tid, NULL, pass) == 0 &&
	       waitpid(t->tid, &status, __WALL) == t->tid && WIFSTOPPED(status);
}

static inline void traced_sample(struct traced *t)
{
	struct user_regs_struct r;
	ssize_t count;

	ptrace(PTRACE_GETREGS, t->tid, NULL, &r);
	t->copy = (struct stack_copy){ .regs = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp,
						 r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
						 r.r14, r.r15, r.rip },
				       .has_user = true,
				       .bytes = t->bytes };
	count = pread(t->memory, t->bytes, sizeof(t->bytes), (off_t)r.rsp);
	t->copy.len = count > 0 ? (size_t)count : 0;
}

#endif
