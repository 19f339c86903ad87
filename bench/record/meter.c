/* meter.c - runs a command and tells what it and all processes that it waited for took.
 * Usage: meter FILE COMMAND...   writes "CPU-NS WALL-NS PEAK-RSS-KB START-NS" to FILE (the last by CLOCK_MONOTONIC); ends
 * with the command's status */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	struct rusage used;
	uint64_t from_ns, wall_ns;
	int status;
	FILE *file;
	pid_t child;

	if (argc < 3)
		return 125;
	from_ns = now_ns();
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 125;
	wall_ns = now_ns() - from_ns;
	getrusage(RUSAGE_CHILDREN, &used);
	file = fopen(argv[1], "w");
	if (file == NULL)
		return 125;
	fprintf(file, "%" PRIu64 " %" PRIu64 " %ld %" PRIu64 "\n",
		time_ns(used.ru_utime) + time_ns(used.ru_stime), wall_ns, used.ru_maxrss, from_ns);
	if (fclose(file) != 0)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
