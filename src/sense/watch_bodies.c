/* watch_bodies.c - runs the program of bodies and times them by turns. */
#include "sense/watch_bodies.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/units.h"
#include "sense/clock.h"

#define ROUND_NS      (30 * NS_PER_US)
#define WARM_NS	      (20 * NS_PER_US)
#define SLOW_NS	      (300 * NS_PER_US) /* a round of few calls may take so long to have FEW_CALLS */
#define FEW_CALLS     64u
#define MOST_CALLS    1000000u
#define ROUND_MOST_NS (20 * NS_PER_MS)	 /* of a round beside a recording: it waits meanwhile */
#define TOTAL_NS      (1200 * NS_PER_MS) /* on a busy machine; its CPU time has a limit of its own */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

/* The program as a file that nobody else has. */
static int make_file(void)
{
	size_t done = 0;
	int fd = memfd_create("tare-body", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("tare-body", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (done < watch_body_file_bytes) {
		ssize_t bytes = write(fd, watch_body_file + done, watch_body_file_bytes - done);

		if (bytes <= 0) {
			int status = bytes < 0 ? -errno : -EIO;

			close(fd);
			return status;
		}
		done += (size_t)bytes;
	}
	return fd;
}

/* The program's process until it is the program. */
static _Noreturn void become(int file, int socket, pid_t parent)
{
	static char name[] = "tare-body";
	char *argv[] = { name, NULL }, *env[] = { NULL };
	/* dup2() onto the same descriptor would leave it closing. */
	int own = socket == WATCH_BODY_SOCKET ? fcntl(socket, F_SETFD, 0)
					      : dup2(socket, WATCH_BODY_SOCKET);

	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (own < 0 || getppid() != parent)
		_exit(126);
	syscall(SYS_execveat, file, "", argv, env, AT_EMPTY_PATH);
	_exit(127);
}

/* Our child. An exec would give it an exit signal, so it waits for the one that does, and that one's time becomes its own.
 * Only system calls: locks of the C library are as they were. */
static _Noreturn void keep(int file, int socket, pid_t parent)
{
	pid_t self = getpid(), child;
	sigset_t none;

	sigemptyset(&none);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_IGN); /* is for the program */
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setsid() < 0 || getppid() != parent)
		_exit(126);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (child == 0)
		become(file, socket, self);
	close(socket);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* A file descriptor that is not the one the program finds its socket by. */
static int move_up(int fd)
{
	int moved;

	if (fd != WATCH_BODY_SOCKET)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, WATCH_BODY_SOCKET + 1);
	close(fd);
	return moved < 0 ? -errno : moved;
}

/* Starts both processes. */
static int start(struct watch_bodies *bodies)
{
	pid_t parent = getpid();
	int ends[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	bodies->socket = ends[0];
	/* Without an exit signal: our caller's SIGCHLD and wait() are for its own children. */
	bodies->keeper = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (bodies->keeper == 0)
		keep(bodies->file, ends[1], parent);
	status = bodies->keeper < 0 ? -errno : 0;
	close(ends[1]);
	return status;
}

int watch_bodies_open(struct watch_bodies *out)
{
	struct watch_bodies bodies = WATCH_BODIES_EMPTY;
	struct watch_body_told told;
	int status;

	bodies.file = make_file();
	if (bodies.file >= 0)
		bodies.file = move_up(bodies.file);
	if (bodies.file < 0)
		return bodies.file;
	status = start(&bodies);
	if (status == 0)
		status = watch_bodies_call(&bodies, WATCH_BODY_PLAIN, 1, &told);
	if (status != 0) {
		watch_bodies_close(&bodies);
		return status;
	}
	bodies.pid = (pid_t)told.pid;
	snprintf(bodies.path, sizeof(bodies.path), "/proc/self/fd/%d", bodies.file);
	*out = bodies;
	return 0;
}

uint64_t watch_bodies_close(struct watch_bodies *bodies)
{
	struct rusage used = { .ru_utime = { .tv_sec = 0 } };
	uint64_t cpu_us;

	if (bodies->socket >= 0)
		close(bodies->socket);
	if (bodies->file >= 0)
		close(bodies->file);
	if (bodies->keeper > 0) {
		/* To both: the keeper, which is not waited for yet, holds the number and lets it pass. */
		kill(-bodies->keeper, SIGTERM);
		while (wait4(bodies->keeper, NULL, __WALL, &used) < 0 && errno == EINTR)
			;
	}
	*bodies = WATCH_BODIES_EMPTY;
	cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
		 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	return cpu_us * NS_PER_US;
}

/* Waits until the program has said something or has ended. */
static int wait_for(struct watch_bodies *bodies)
{
	uint64_t until_ns = bodies->until_ns != 0 ? bodies->until_ns
						  : clock_read_ns(CLOCK_MONOTONIC) + TOTAL_NS;

	for (;;) {
		struct pollfd told = { .fd = bodies->socket, .events = POLLIN };
		uint64_t at_ns = clock_read_ns(CLOCK_MONOTONIC);
		int ready;

		if (at_ns >= until_ns)
			return -ETIMEDOUT;
		ready = poll(&told, 1, (int)((until_ns - at_ns) / NS_PER_MS) + 1);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

static int ask_for(struct watch_bodies *bodies, struct watch_body_ask ask,
		   struct watch_body_told *out)
{
	struct watch_body_told told = { .number = 0 };

	ask.number = ++bodies->asked;
	if (send(bodies->socket, &ask, sizeof(ask), MSG_NOSIGNAL) != (ssize_t)sizeof(ask))
		return -EPIPE;
	while (told.number != ask.number) { /* an answer that came too late is passed over */
		int status = wait_for(bodies);

		if (status != 0)
			return status;
		if (recv(bodies->socket, &told, sizeof(told), MSG_DONTWAIT) !=
		    (ssize_t)sizeof(told))
			return -EPIPE;
	}
	bodies->cpu_ns = told.cpu_ns;
	if (told.offset == 0 && ask.body != WATCH_BODY_NAMES_OF && ask.body != WATCH_BODY_ANEW)
		return -ENOENT;
	*out = told;
	return 0;
}

int watch_bodies_call(struct watch_bodies *bodies, uint32_t body, uint32_t calls,
		      struct watch_body_told *out)
{
	return ask_for(bodies, (struct watch_body_ask){ .body = body, .calls = calls }, out);
}

/* How many calls of so long each make a round. */
static uint32_t calls_a_round(uint64_t call_ps)
{
	uint64_t calls = ROUND_NS * PS_PER_NS / (call_ps + 1);
	uint64_t slow_calls = SLOW_NS * PS_PER_NS / (call_ps + 1);

	if (calls < FEW_CALLS)
		calls = slow_calls < FEW_CALLS ? slow_calls : FEW_CALLS;
	if (calls > MOST_CALLS)
		calls = MOST_CALLS;
	return calls > 0 ? (uint32_t)calls : 1;
}

/* How many calls make a round; warms the body on the way. */
static int size_round(struct watch_bodies *bodies, uint32_t body, uint32_t *out_calls)
{
	struct watch_body_told told = { .ns = 0 };

	for (uint32_t calls = 16; calls <= MOST_CALLS; calls *= 4) {
		int status = watch_bodies_call(bodies, body, calls, &told);

		if (status != 0)
			return status;
		if (told.ns < WARM_NS && calls * 4 <= MOST_CALLS)
			continue;
		*out_calls = calls_a_round(told.ns * PS_PER_NS / calls);
		return 0;
	}
	return -EINVAL;
}

int watch_bodies_round(struct watch_bodies *bodies, uint32_t body, uint32_t calls, uint64_t *out_ps)
{
	struct watch_body_ask ask = { .body = body, .calls = calls, .warm = calls };
	struct watch_body_told told = { .ns = 0 };
	int status;

	if (calls == 0)
		return -EINVAL;
	bodies->until_ns = clock_read_ns(CLOCK_MONOTONIC) + ROUND_MOST_NS;
	status = watch_bodies_call(bodies, WATCH_BODY_ANEW, 0, &told);
	if (status == 0)
		status = ask_for(bodies, ask, &told);
	bodies->until_ns = 0;
	if (status == 0)
		*out_ps = told.ns * PS_PER_NS / calls;
	return status;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t watch_bodies_middle(uint64_t *ps, uint32_t count)
{
	uint32_t out = count < 10 ? count >= 4 : count / 10;
	uint64_t sum_ps = 0;

	qsort(ps, count, sizeof(*ps), by_size);
	for (uint32_t i = out; i < count - out; i++)
		sum_ps += ps[i];
	return count > 0 ? sum_ps / (count - 2 * out) : 0;
}

/* Runs all rounds, as far as time allows; returns how many, or a negative errno. */
static int run_rounds(struct watch_bodies *bodies, const struct watch_body_price *prices,
		      size_t count, const uint32_t *calls,
		      uint64_t ps[WATCH_BODIES_MOST][WATCH_BODIES_ROUNDS])
{
	for (uint32_t round = 0; round < WATCH_BODIES_ROUNDS; round++)
		for (size_t i = 0; i < count; i++) {
			struct watch_body_told told = { .ns = 0 };
			int status = watch_bodies_call(bodies, prices[i].body, calls[i], &told);

			if (status == -ETIMEDOUT && round >= WATCH_BODIES_LEAST)
				return (int)round;
			if (status < 0)
				return status;
			ps[i][round] = told.ns * PS_PER_NS / calls[i];
		}
	return WATCH_BODIES_ROUNDS;
}

int watch_bodies_measure(struct watch_bodies *bodies, struct watch_body_price *prices, size_t count)
{
	uint64_t ps[WATCH_BODIES_MOST][WATCH_BODIES_ROUNDS] = { { 0 } };
	uint32_t calls[WATCH_BODIES_MOST];
	int status = count > 0 && count <= WATCH_BODIES_MOST ? 0 : -EINVAL;

	bodies->until_ns = clock_read_ns(CLOCK_MONOTONIC) + TOTAL_NS;
	for (size_t i = 0; i < count && status == 0; i++) {
		prices[i].ps = prices[i].fastest_ps = 0;
		status = size_round(bodies, prices[i].body, &calls[i]);
	}
	if (status == 0)
		status = run_rounds(bodies, prices, count, calls, ps);
	bodies->until_ns = 0;
	if (status < 0)
		return status;
	for (size_t i = 0; i < count; i++) {
		prices[i].ps = watch_bodies_middle(ps[i], (uint32_t)status);
		prices[i].fastest_ps = ps[i][0]; /* they are sorted */
		prices[i].calls = calls[i];
	}
	return 0;
}
