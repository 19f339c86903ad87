/* remote.c - a child that reads memory on request, and is killed when it does not come back. */
#include "sense/remote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/clock.h"
#include "sense/sandbox.h"

#define AVOIDED 16u
#define PAGE	UINT64_C(4096)

/* What both sides map. */
struct remote_desk {
	int64_t pid;
	uint64_t at, bytes, got;
	uint8_t memory[REMOTE_MOST_BYTES];
};

struct remote {
	struct remote_desk *desk;
	pid_t child; /* 0: none */
	int fd;	     /* a byte there is a request, a byte back its answer; -1: no child */
	struct {
		pid_t pid;
		uint64_t until_ns;
	} avoided[AVOIDED];
	size_t next_avoided;
};

/* Page by page, so that the first that is missing ends it: the kernel promises no part of an element. */
static void serve_one(struct remote_desk *d)
{
	struct iovec from[REMOTE_MOST_BYTES / PAGE + 1];
	struct iovec to = { d->memory, d->bytes };
	uint64_t at = d->at, left = d->bytes;
	size_t count = 0;
	ssize_t got;

	while (left > 0 && count < ARRAY_LEN(from)) {
		uint64_t part = PAGE - at % PAGE < left ? PAGE - at % PAGE : left;

		from[count++] = (struct iovec){ (void *)(uintptr_t)at, part };
		at += part;
		left -= part;
	}
	got = process_vm_readv((pid_t)d->pid, &to, 1, from, count, 0);
	d->got = got > 0 ? (uint64_t)got : 0;
}

/* The child holds nothing of ours open: what is bound to a descriptor must end with us. */
static _Noreturn void serve(struct remote_desk *desk, int fd)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(1);
	syscall(SYS_close_range, 1u, ~0u, 0u);
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		serve_one(desk);
		if (write(STDIN_FILENO, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static int start(struct remote *r)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	r->child = sandbox_fork();
	if (r->child == 0)
		serve(r->desk, pair[1]);
	close(pair[1]);
	if (r->child < 0) {
		r->child = 0;
		close(pair[0]);
		return -EAGAIN;
	}
	r->fd = pair[0];
	return 0;
}

/* What does not come back from a page is let go by SIGKILL: the kernel waits for such pages killably. */
static void stop(struct remote *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	if (r->child == 0)
		return;
	kill(r->child, SIGKILL);
	while (waitpid(r->child, NULL, __WALL) < 0 && errno == EINTR)
		;
	r->child = 0;
}

int remote_open(struct remote **out)
{
	struct remote *r = calloc(1, sizeof(*r));
	int code;

	if (r == NULL)
		return -ENOMEM;
	r->fd = -1;
	r->desk = mmap(NULL, sizeof(*r->desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (r->desk == MAP_FAILED) {
		free(r);
		return -ENOMEM;
	}
	code = start(r);
	if (code < 0) {
		remote_close(r);
		return code;
	}
	*out = r;
	return 0;
}

void remote_close(struct remote *r)
{
	if (r == NULL)
		return;
	stop(r);
	munmap(r->desk, sizeof(*r->desk));
	free(r);
}

static bool is_avoided(const struct remote *r, pid_t pid)
{
	for (size_t i = 0; i < AVOIDED; i++)
		if (r->avoided[i].pid == pid &&
		    clock_read_ns(CLOCK_MONOTONIC) < r->avoided[i].until_ns)
			return true;
	return false;
}

/* The child hangs, or has ended. */
static void give_up(struct remote *r, pid_t pid)
{
	size_t at = r->next_avoided++ % AVOIDED;

	stop(r);
	r->avoided[at].pid = pid;
	r->avoided[at].until_ns = clock_read_ns(CLOCK_MONOTONIC) + REMOTE_AVOID_S * NS_PER_S;
}

size_t remote_read(struct remote *r, pid_t pid, uint64_t at, void *out, size_t bytes)
{
	struct pollfd answer = { .events = POLLIN };
	char byte = 1;
	uint64_t got;

	if (bytes > REMOTE_MOST_BYTES)
		bytes = REMOTE_MOST_BYTES;
	if (is_avoided(r, pid) || (r->fd < 0 && start(r) < 0))
		return 0;
	r->desk->pid = pid;
	r->desk->at = at;
	r->desk->bytes = bytes;
	answer.fd = r->fd;
	if (send(r->fd, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&answer, 1, REMOTE_PATIENCE_MS) != 1 ||
	    read(r->fd, &byte, 1) != 1) {
		give_up(r, pid);
		return 0;
	}
	got = r->desk->got;
	if (got > bytes)
		got = bytes;
	memcpy(out, r->desk->memory, got);
	return got;
}
