/* busy.c - a target whose CPU time is known: it spins by its own threads' clocks and prints what each took.
 *   busy threads N MS      N threads at a time, MS each
 *   busy crowd N MS        N threads, all there before the byte comes, then MS each, one after the other
 *   busy late N MS         spins MS, then N threads of MS each are made
 *   busy churn N MS        N threads, two at a time; prints the whole process's time for the main thread
 *   busy forks N MS        N children, one after the other
 *   busy orphan MS [MS]    its child spins for MS; it ends at once itself, or when it has spun for so long
 *   busy kernel MS         reads zeros: nearly all in the kernel
 *   busy exec MS PROGRAM [MS]   spins MS as "before", then executes PROGRAM (busy itself, "threads 1 MS", 100 of them)
 * Begins when a byte arrives on stdin; ends each line "TID NS". */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CROWD_MAX 512

static uint64_t budget_ns;
static pthread_barrier_t gate;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static clockid_t clock_told = CLOCK_THREAD_CPUTIME_ID;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(clock_told, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t ns)
{
	while (cpu_ns() < ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(3);
}

static void tell(void)
{
	char line[64];

	snprintf(line, sizeof(line), "%ld %llu\n", syscall(SYS_gettid),
		 (unsigned long long)cpu_ns());
	say(line);
}

static void wait_for_byte(void)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(0);
}

static void *run(void *is_gated)
{
	if (is_gated != NULL) {
		pthread_barrier_wait(&gate);
		pthread_mutex_lock(&turn);
	}
	spin(budget_ns);
	tell();
	if (is_gated != NULL)
		pthread_mutex_unlock(&turn);
	return NULL;
}

static void make_threads(int count, int is_gated)
{
	static pthread_t threads[CROWD_MAX];
	pthread_attr_t attr;

	if (count > CROWD_MAX)
		_exit(2);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, run, is_gated ? &gate : NULL) != 0)
			_exit(3);
	if (is_gated) {
		say("ready\n");
		wait_for_byte();
		pthread_barrier_wait(&gate);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *run_quietly(void *unused)
{
	spin(budget_ns);
	return unused;
}

static void churn(int count)
{
	pthread_t threads[2];

	for (int i = 0; i < count; i++) {
		if (i >= 2)
			pthread_join(threads[i % 2], NULL);
		if (pthread_create(&threads[i % 2], NULL, run_quietly, NULL) != 0)
			_exit(3);
	}
	for (int i = count - 2; i < count; i++)
		pthread_join(threads[i % 2], NULL);
	clock_told = CLOCK_PROCESS_CPUTIME_ID;
}

static void fork_children(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_NAME, "busy-child");
			spin(budget_ns);
			tell();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void read_zeros(void)
{
	static char zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (cpu_ns() < budget_ns)
		if (read(fd, zeros, sizeof(zeros)) <= 0)
			_exit(3);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	const char *ms = argc > 3 ? argv[3] : argc > 2 ? argv[2] : "0";

	budget_ns = (uint64_t)strtol(ms, NULL, 10) * 1000000u;
	say("here\n"); /* what comes before is not the test's */
	if (strcmp(kind, "crowd") == 0) {
		pthread_barrier_init(&gate, NULL, (unsigned int)count + 1);
		make_threads(count, 1);
		tell();
		return 0;
	}
	if (strcmp(kind, "now") != 0)
		wait_for_byte();
	if (strcmp(kind, "threads") == 0 || strcmp(kind, "now") == 0) {
		make_threads(count, 0);
	} else if (strcmp(kind, "late") == 0) {
		spin(budget_ns);
		make_threads(count, 0);
	} else if (strcmp(kind, "forks") == 0) {
		fork_children(count);
	} else if (strcmp(kind, "churn") == 0) {
		churn(count);
	} else if (strcmp(kind, "orphan") == 0) {
		if (fork() == 0)
			spin((uint64_t)count * 1000000u);
		else if (argc > 3)
			spin(strtoull(argv[3], NULL, 10) * 1000000u);
	} else if (strcmp(kind, "kernel") == 0) {
		read_zeros();
	} else if (strcmp(kind, "exec") == 0) {
		prctl(PR_SET_NAME, "before");
		spin((uint64_t)count * 1000000u);
		tell();
		execl(argv[3], argv[3], "now", "1", argc > 4 ? argv[4] : "100", (char *)NULL);
		return 3;
	}
	tell();
	return 0;
}
