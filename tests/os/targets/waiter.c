/* waiter.c - a target that waits in known places, for a known time in all, and ends by itself.
 *   waiter sleep MS      nanosleep, 20 ms at a time
 *   waiter futex MS      on a condition, which another thread signals each 5 ms
 *   waiter poll MS       epoll_wait on a timer of 10 ms
 *   waiter file MS FILE  reads FILE anew from its disk
 *   waiter socket MS     asks another thread over a unix socket, which sleeps 3 ms before it answers
 *   waiter mixed MS      3 ms of work, then 7 ms of sleep, then 5 ms of poll
 *   waiter long MS       one single sleep
 *   waiter pingpong MS   two threads that wake each other as fast as they can; prints how often, too
 *   waiter crowd N MS    N threads that sleep once, for MS
 * Each thread ends with a line "TID WALL_NS". */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000ull
#define AWAY	  __attribute__((noinline))
#define CROWD	  2048

static uint64_t end_ns;
static int pair[2];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int is_over(void)
{
	return now_ns(CLOCK_MONOTONIC) >= end_ns;
}

static void tell(uint64_t began_ns)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%ld %llu\n", syscall(SYS_gettid),
			   (unsigned long long)(now_ns(CLOCK_MONOTONIC) - began_ns));

	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(3);
}

AWAY static void nap(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (nanosleep(&left, &left) != 0)
		;
	__asm__ volatile("");
}

AWAY static void work(uint64_t ns)
{
	uint64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		__asm__ volatile("");
}

AWAY static void await_poll(int fd, int ms)
{
	struct epoll_event event;

	epoll_wait(fd, &event, 1, ms);
	__asm__ volatile("");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned turns;

static void *signal_often(void *unused)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC);

	(void)unused;
	while (!is_over()) {
		nap(5 * NS_PER_MS);
		pthread_mutex_lock(&lock);
		turns++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	tell(began_ns);
	return NULL;
}

AWAY static void await_turn(void)
{
	unsigned before;

	pthread_mutex_lock(&lock);
	before = turns;
	while (turns == before)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

static void *answer(void *unused)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC);
	char byte;

	(void)unused;
	while (read(pair[1], &byte, 1) == 1 && byte != 'q') {
		nap(3 * NS_PER_MS);
		if (write(pair[1], &byte, 1) != 1)
			break;
	}
	tell(began_ns);
	return NULL;
}

AWAY static void ask(void)
{
	char byte = 'x';

	if (write(pair[0], &byte, 1) != 1 || read(pair[0], &byte, 1) != 1)
		_exit(4);
	__asm__ volatile("");
}

static void *bounce(void *unused)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC);
	char byte;

	(void)unused;
	while (read(pair[1], &byte, 1) == 1 && byte != 'q')
		if (write(pair[1], &byte, 1) != 1)
			break;
	tell(began_ns);
	return NULL;
}

static void *sleep_once(void *ms)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC);

	nap((uint64_t)(uintptr_t)ms * NS_PER_MS);
	tell(began_ns);
	return NULL;
}

AWAY static void read_anew(const char *path)
{
	static char bytes[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		_exit(5);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
}

static void crowd(int count, uint64_t ms)
{
	static pthread_t threads[CROWD];

	for (int i = 0; i < count && i < CROWD; i++)
		pthread_create(&threads[i], NULL, sleep_once, (void *)(uintptr_t)ms);
	for (int i = 0; i < count && i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

/* With the other side of `pair` in a thread of its own. */
static void talk(void *(*other)(void *), uint64_t *out_count)
{
	pthread_t thread;
	char quit = 'q';

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pthread_create(&thread, NULL, other, NULL);
	for (; !is_over(); (*out_count)++)
		ask();
	if (write(pair[0], &quit, 1) != 1)
		_exit(6);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC), count = 0;
	const char *mode = argc > 2 ? argv[1] : "";
	pthread_t other;
	int poller = epoll_create1(EPOLL_CLOEXEC);

	end_ns = began_ns + strtoull(argv[argc > 2 ? 2 : 0], NULL, 10) * NS_PER_MS;
	if (strcmp(mode, "sleep") == 0) {
		while (!is_over())
			nap(20 * NS_PER_MS);
	} else if (strcmp(mode, "futex") == 0) {
		pthread_create(&other, NULL, signal_often, NULL);
		while (!is_over())
			await_turn();
		pthread_join(other, NULL);
	} else if (strcmp(mode, "poll") == 0) {
		while (!is_over())
			await_poll(poller, 10);
	} else if (strcmp(mode, "file") == 0 && argc > 3) {
		while (!is_over())
			read_anew(argv[3]);
	} else if (strcmp(mode, "socket") == 0) {
		talk(answer, &count);
	} else if (strcmp(mode, "pingpong") == 0) {
		talk(bounce, &count);
		fprintf(stderr, "%llu\n", (unsigned long long)count);
	} else if (strcmp(mode, "mixed") == 0) {
		while (!is_over()) {
			work(3 * NS_PER_MS);
			nap(7 * NS_PER_MS);
			await_poll(poller, 5);
		}
	} else if (strcmp(mode, "long") == 0) {
		nap(end_ns - now_ns(CLOCK_MONOTONIC));
	} else if (strcmp(mode, "crowd") == 0 && argc > 3) {
		crowd(atoi(argv[2]), strtoull(argv[3], NULL, 10));
	} else {
		return 2;
	}
	tell(began_ns);
	return 0;
}
