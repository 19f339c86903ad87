/* cost.c - runs a command and writes what it and its waited-for children took, by the kernel's own account:
 * usage: cost FILE CMD...; FILE gets one line: CPU ns, then the most resident KB. Ends with the command's status. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage u;
	int status;
	FILE *f;
	pid_t pid;

	if (argc < 3)
		return 99;
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 99;
	f = fopen(argv[1], "w");
	if (f == NULL)
		return 99;
	fprintf(f, "%lld %ld\n",
		(long long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
			(long long)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000,
		u.ru_maxrss);
	if (fclose(f) != 0)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
