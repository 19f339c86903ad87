/* zoo.c - targets that are hard to follow. Each ends with a status of its own.
 *   zoo threads N       N threads at once, each spends a millisecond: 7
 *   zoo forks N A_SECOND   N children that spend 2 ms each, so many a second: 8
 *   zoo execs N         executes itself N times over, 5 ms each: 9
 *   zoo setuid FILE     executes FILE, a copy of itself that is another user's and has the set-user-id bit: 10
 *   zoo reuse N         N children one after the other, all with one number, 45 ms each (in a pid namespace of its own): 11
 *   zoo zombies N       N children that nobody waits for, then 300 ms: 12
 *   zoo vforks N        N times vfork() and exec: 13
 *   zoo stops           a child that stops itself, is left standing and goes on: 14
 *   zoo deep N          a recursion N deep, and 300 ms at its end: 15
 *   zoo gone            ends at once: 16
 *   zoo crowd SECONDS   threads come and go, four at a time, a millisecond each, for so long: 17
 *   zoo segv            300 ms, then a fault */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static char *self;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* Spends CPU time of this thread. */
static void spend(uint64_t ns)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 5000; i++)
			;
}

static int fail(const char *what)
{
	perror(what);
	return 99;
}

static void *one_thread(void *barrier)
{
	pthread_barrier_wait(barrier);
	spend(MS);
	return NULL;
}

static int threads(int count)
{
	pthread_t *all = calloc((size_t)count, sizeof(*all));
	pthread_barrier_t barrier;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (int i = 0; all != NULL && i < count; i++)
		if (pthread_create(&all[i], &small, one_thread, &barrier) != 0)
			return fail("pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	free(all);
	return 7;
}

static int crowd(int seconds)
{
	const struct timespec pause = { 0, 50 * (long)MS };
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000 * MS;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (threads(4) != 7)
			return 99;
		nanosleep(&pause, NULL);
	}
	return 17;
}

static int forks(int count, int a_second)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < count; i++) {
		uint64_t due_ns = start_ns + (uint64_t)i * 1000 * MS / (uint64_t)a_second;
		struct timespec due = { (time_t)(due_ns / (1000 * MS)),
					(long)(due_ns % (1000 * MS)) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		if (fork() == 0) {
			spend(2 * MS);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	while (wait(NULL) > 0)
		;
	return 8;
}

static int execs(int left)
{
	char number[16];

	spend(5 * MS);
	if (left == 0)
		return 9;
	snprintf(number, sizeof(number), "%d", left - 1);
	execl(self, self, "execs", number, (char *)NULL);
	return fail("execl");
}

static int reuse(int count)
{
	for (int i = 0; i < count; i++) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "we");
		pid_t pid;

		if (f == NULL || fprintf(f, "%d", 300) < 0 || fclose(f) != 0)
			return fail("ns_last_pid");
		pid = fork();
		if (pid == 0) {
			spend(45 * MS);
			_exit(0);
		}
		if (pid != 301)
			return fail("the number is taken");
		waitpid(pid, NULL, 0);
	}
	return 11;
}

static int zombies(int count)
{
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			_exit(0);
	spend(300 * MS);
	return 12;
}

static int vforks(int count)
{
	for (volatile int i = 0; i < count; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
	return 13;
}

static int stops(void)
{
	const struct timespec half_s = { 0, 500 * (long)MS };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		spend(100 * MS);
		raise(SIGSTOP);
		spend(100 * MS);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	nanosleep(&half_s, NULL);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? 14 : 99;
}

/* Not a loop: the compiler must not see that. */
__attribute__((noinline)) static int deep(int left)
{
	volatile int below = 0;

	if (left == 0)
		spend(300 * MS);
	else
		below = deep(left - 1);
	return below + (left == 0 ? 15 : 0);
}

static int fault(void)
{
	volatile int *volatile nowhere = NULL;

	spend(300 * MS);
	*nowhere = 1;
	return 99;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 0;

	self = argv[0];
	if (strcmp(kind, "threads") == 0)
		return threads(count);
	if (strcmp(kind, "forks") == 0 && argc > 3)
		return forks(count, atoi(argv[3]));
	if (strcmp(kind, "crowd") == 0)
		return crowd(count);
	if (strcmp(kind, "execs") == 0)
		return execs(count);
	if (strcmp(kind, "setuid") == 0 && argc > 2)
		return execl(argv[2], argv[2], "spend", (char *)NULL);
	if (strcmp(kind, "spend") == 0) {
		/* What was before the recorder's next look is unseen: a second at most. */
		spend(2000 * MS);
		return geteuid() == getuid() ? 99 : 10;
	}
	if (strcmp(kind, "reuse") == 0)
		return reuse(count);
	if (strcmp(kind, "zombies") == 0)
		return zombies(count);
	if (strcmp(kind, "vforks") == 0)
		return vforks(count);
	if (strcmp(kind, "stops") == 0)
		return stops();
	if (strcmp(kind, "deep") == 0)
		return deep(count);
	if (strcmp(kind, "gone") == 0)
		_exit(16);
	return strcmp(kind, "segv") == 0 ? fault() : 98;
}
