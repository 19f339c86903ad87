/* inside.c - a program with libtare, in a process of its own: it does what it is told, line by line, and says "ok". Its time is
 * its own when it is started with "made": it passes only in what it is told to do. Without: sleeps are real.
 *   w NAME CALLS NS FIRST PERIOD  calls of a scope: FIRST ns the first, 10 x NS one in PERIOD (0: none), NS the others
 *   l NAME CALLS                  calls of a scope that never end
 *   o NAME                        a scope begins
 *   c                             it ends
 *   f                             a mark
 *   t NAME NS                     a task
 *   p NS                          time passes
 *   T COUNT NAME NS               so many threads, one after another, each with one call: NS the first's, the others of no time
 *   k                             forks a process that calls a scope, and waits for it
 *   x                             runs itself anew
 *   e PROGRAM                     runs another program
 * NAME is one letter. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inside.h"
#include "tare.h"

#define LETTERS 26

static int is_made;
static uint64_t made_ns; /* begins with the true one */
static char texts[LETTERS][2];
static struct tare_site sites[LETTERS];

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!is_made)
		return __real_clock_gettime(clock, out);
	*out = (struct timespec){ .tv_sec = (time_t)(made_ns / 1000000000u),
				  .tv_nsec = (long)(made_ns % 1000000000u) };
	return 0;
}

static void pass(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u) };

	if (is_made)
		made_ns += ns;
	else if (ns > 0)
		nanosleep(&time, NULL);
}

static struct tare_site *site_of(char letter)
{
	int at = letter >= 'a' && letter <= 'z' ? letter - 'a' : 0;

	texts[at][0] = (char)('a' + at);
	sites[at].name = texts[at];
	return &sites[at];
}

static void call(struct tare_site *site, uint64_t ns)
{
	struct tare_scope scope = { 0, 0 };

	tare_scope_enter(&scope, site);
	pass(ns);
	tare_scope_leave(&scope);
}

static void calls(const char *line)
{
	unsigned long long count, ns, first_ns, period;
	char name;

	if (sscanf(line, "w %c %llu %llu %llu %llu", &name, &count, &ns, &first_ns, &period) != 5)
		exit(3);
	for (unsigned long long i = 0; i < count; i++) {
		if (i == 0)
			call(site_of(name), first_ns);
		else
			call(site_of(name), period > 0 && i % period == 0 ? 10 * ns : ns);
	}
}

static void leave_open(const char *line)
{
	unsigned long long count;
	char name;

	if (sscanf(line, "l %c %llu", &name, &count) != 2)
		exit(3);
	for (unsigned long long i = 0; i < count; i++) {
		struct tare_scope scope = { 0, 0 };

		tare_scope_enter(&scope, site_of(name));
	}
}

static struct tare_scope outer; /* of the main thread */

static unsigned long long thread_ns;

static void *one_call(void *site)
{
	call(site, thread_ns);
	thread_ns = 0;
	return NULL;
}

static void threads(const char *line)
{
	unsigned count;
	char name;

	if (sscanf(line, "T %u %c %llu", &count, &name, &thread_ns) != 3)
		exit(3);
	for (unsigned i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, one_call, site_of(name)) != 0)
			exit(3);
		pthread_join(thread, NULL);
	}
}

static void task(const char *line)
{
	char name[2] = "";
	unsigned long long ns;

	if (sscanf(line, "t %1s %llu", name, &ns) != 2)
		exit(3);
	(void)tare_task_begin(name);
	pass(ns);
	tare_task_end();
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		call(site_of('k'), 0);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(3);
}

static void obey(const char *line, char **argv)
{
	char program[512];

	switch (line[0]) {
	case 'w':
		calls(line);
		break;
	case 'l':
		leave_open(line);
		break;
	case 'o':
		outer = (struct tare_scope){ 0, 0 };
		tare_scope_enter(&outer, site_of(line[2]));
		break;
	case 'c':
		tare_scope_leave(&outer);
		break;
	case 'f':
		tare_frame();
		break;
	case 't':
		task(line);
		break;
	case 'p':
		pass(strtoull(line + 1, NULL, 10));
		break;
	case 'T':
		threads(line);
		break;
	case 'k':
		fork_one();
		break;
	case 'x':
		execv("/proc/self/exe", argv);
		exit(4);
	case 'e':
		if (sscanf(line, "e %511s", program) == 1)
			execl(program, program, (char *)NULL);
		exit(4);
	default:
		exit(3);
	}
}

int inside_main(int argc, char **argv)
{
	struct timespec now;
	char line[600];

	__real_clock_gettime(CLOCK_MONOTONIC, &now);
	made_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	is_made = strcmp(argv[argc - 1], "made") == 0;
	setvbuf(stdin, NULL, _IONBF, 0); /* what comes after an exec is for the next program */
	while (fgets(line, sizeof(line), stdin) != NULL) {
		obey(line, argv);
		printf("ok\n");
		fflush(stdout);
	}
	return 0;
}
