/* careful.c - a job that notices what others do not: ends with a status of its own when anything is not as it is without a
 * recorder.
 *   careful waits MS     runs and waits by turns, in every call that a stop could end early: 0, or 4 when one did
 *   careful signals N    sends itself N signals, one after the other, each of which must arrive once: 0, or 5
 *   careful masks N      the same, with the signal let in only while it waits (epoll_pwait, which must then say EINTR): 0, or 6
 *   careful pipes MS     writes large blocks into a pipe that a child empties slowly; says how many came back short: 0, or 7
 *   careful hangs MS     a thread whose stack is followed by memory that never answers (userfaultfd): 0, or 77 where there is none
 * Says "here", begins when a byte arrives on stdin, and says "done" and a number. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS	   UINT64_C(1000000)
#define LATE_NS	   (2000 * MS)
#define HANG_BYTES 65536u

static volatile sig_atomic_t arrived;
static uint64_t random_state = 1;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static uint64_t random_below(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

static void spin(uint64_t ns)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ns;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		for (volatile int i = 0; i < 200; i++)
			;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(3);
}

static int done(uint64_t count)
{
	char text[64];

	snprintf(text, sizeof(text), "done %llu\n", (unsigned long long)count);
	say(text);
	return 0;
}

static int failed(const char *what, int status)
{
	char text[96];

	snprintf(text, sizeof(text), "failed %s: %s\n", what, strerror(errno));
	say(text);
	return status;
}

/* ---- waits ---- */

struct waits {
	int epoll, empty[2], timed[2];
};

static int wait_once(const struct waits *w, uint64_t kind)
{
	const struct timespec brief = { 0, 100000 };
	struct pollfd nothing = { .fd = w->empty[0], .events = POLLIN };
	struct timespec left = brief;
	struct epoll_event event;
	sigset_t none;
	char byte;

	switch (kind) {
	case 0:
		return nanosleep(&brief, &left);
	case 1:
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) == 0 ? 0 : -1;
	case 2:
		return epoll_wait(w->epoll, &event, 1, 1);
	case 3:
		return poll(&nothing, 1, 1);
	case 4: /* a socket with a limit of time */
		return read(w->timed[0], &byte, 1) < 0 && errno == EAGAIN ? 0 : -1;
	default:
		sigemptyset(&none);
		return sigtimedwait(&none, NULL, &brief) < 0 && errno == EAGAIN ? 0 : -1;
	}
}

static int waits(uint64_t ns)
{
	static const char *const names[] = { "nanosleep", "clock_nanosleep", "epoll_wait", "poll",
					     "read",	  "sigtimedwait" };
	const struct timeval limit = { 0, 1000 };
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ns, count = 0;
	struct epoll_event readable = { .events = EPOLLIN };
	struct waits w = { .epoll = epoll_create1(0) };

	if (w.epoll < 0 || pipe(w.empty) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, w.timed) != 0 ||
	    setsockopt(w.timed[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
	    epoll_ctl(w.epoll, EPOLL_CTL_ADD, w.empty[0], &readable) != 0)
		return failed("setting up", 3);
	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; count++) {
		uint64_t kind = random_below(6);

		spin(random_below(100000));
		if (wait_once(&w, kind) != 0)
			return failed(names[kind], 4);
	}
	return done(count);
}

/* ---- signals ---- */

static void arrive(int signal)
{
	(void)signal;
	arrived++;
}

static int signals(int count)
{
	const struct sigaction action = { .sa_handler = arrive };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 1; i <= count; i++) {
		uint64_t late_ns = clock_ns(CLOCK_MONOTONIC) + LATE_NS;

		spin(random_below(100000));
		kill(getpid(), SIGUSR1);
		while (arrived < i && clock_ns(CLOCK_MONOTONIC) < late_ns)
			spin(1000);
		if (arrived != i)
			return failed("signal", 5);
	}
	return done((uint64_t)arrived);
}

static void *send_all(void *count)
{
	for (int i = 0; i < *(int *)count; i++) {
		while (arrived < i)
			;
		spin(random_below(300000));
		kill(getpid(), SIGUSR1);
	}
	return NULL;
}

static int masks(int count)
{
	const struct sigaction action = { .sa_handler = arrive };
	int epoll = epoll_create1(0);
	struct epoll_event event;
	sigset_t mask, open;
	pthread_t sender;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&mask);
	sigemptyset(&open);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (pthread_create(&sender, NULL, send_all, &count) != 0)
		return failed("setting up", 3);
	for (int i = 1; i <= count; i++) {
		int rc = epoll_pwait(epoll, &event, 1, (int)(LATE_NS / MS), &open);

		if (rc != -1 || errno != EINTR || arrived != i)
			return failed("epoll_pwait", 6);
		spin(random_below(300000));
	}
	pthread_join(sender, NULL);
	return done((uint64_t)arrived);
}

/* ---- pipes ---- */

static int empty_slowly(int fd)
{
	static char bytes[16384];
	ssize_t len;

	while ((len = read(fd, bytes, sizeof(bytes))) > 0)
		spin(20000);
	return len < 0;
}

static int pipes(uint64_t ns)
{
	static char block[1 << 20];
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ns, cut = 0, count = 0;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0)
		return failed("setting up", 3);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		_exit(empty_slowly(ends[0]));
	}
	close(ends[0]);
	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; count++) {
		ssize_t len = write(ends[1], block, sizeof(block));

		if (len < 0)
			return failed("write", 7);
		cut += len != (ssize_t)sizeof(block);
	}
	close(ends[1]);
	waitpid(child, &status, 0);
	return status != 0 || count == 0 ? failed("reading", 7) : done(cut);
}

/* ---- hangs ---- */

static void *spin_for(void *ns)
{
	spin(*(uint64_t *)ns);
	return NULL;
}

/* Whoever reads from the thread's stack upward comes to pages that wait for an answer, for ever. */
static int hangs(uint64_t ns)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	char *memory = mmap(NULL, 2 * HANG_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (fd < 0 || memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) != 0)
		return 77;
	range.range.start = (uintptr_t)memory + HANG_BYTES;
	range.range.len = HANG_BYTES;
	if (ioctl(fd, UFFDIO_REGISTER, &range) != 0)
		return 77;
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, memory, HANG_BYTES) != 0 ||
	    pthread_create(&thread, &attr, spin_for, &ns) != 0)
		return failed("setting up", 3);
	pthread_join(thread, NULL);
	return done(1);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;
	char byte;

	say("here\n");
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 3;
	if (strcmp(kind, "waits") == 0)
		return waits((uint64_t)number * MS);
	if (strcmp(kind, "signals") == 0)
		return signals(number);
	if (strcmp(kind, "masks") == 0)
		return masks(number);
	if (strcmp(kind, "pipes") == 0)
		return pipes((uint64_t)number * MS);
	if (strcmp(kind, "hangs") == 0)
		return hangs((uint64_t)number * MS);
	return 98;
}
