/* places_loader.c - runs ld.so --list and reads what it says. */
#include "sense/places_loader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/sandbox.h"

#define CPU_S 2

static void text_free_bytes(char **bytes)
{
	free(*bytes);
}

static void environment_free(char ***environment)
{
	free(*environment);
}

bool loader_is_trusted(const char *loader)
{
	static const char *const names[] = { "ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1" };
	const char *slash = strrchr(loader, '/');
	struct stat st;

	if (loader[0] != '/' || stat(loader, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 ||
	    (st.st_mode & (S_IWGRP | S_IWOTH | S_ISUID | S_ISGID)) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(slash + 1, names[i]) == 0)
			return true;
	return false;
}

/* Would it make the loader do more than list? Where it looks for libraries is for the program to say: that stays. */
static bool is_left_out(const char *variable)
{
	static const char *const names[] = { "LD_AUDIT=",  "LD_DEBUG",	    "LD_TRACE_",
					     "LD_PROFILE", "LD_SHOW_AUXV=", "LD_VERBOSE=",
					     "LD_WARN=",   "LD_BIND_NOW=" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static char **environment_for_loader(void)
{
	size_t count = 0, kept = 0;
	char **out;

	while (environ[count] != NULL)
		count++;
	out = calloc(count + 1, sizeof(*out));
	for (size_t i = 0; out != NULL && i < count; i++)
		if (!is_left_out(environ[i]))
			out[kept++] = environ[i];
	return out;
}

static _Noreturn void be_loader(const char *loader, const char *program, char **environment,
				int pipe)
{
	const struct rlimit none = { 0, 0 }, cpu = { CPU_S, CPU_S };
	char option[] = "--list";
	char *arguments[] = { (char *)loader, option, (char *)program, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    setrlimit(RLIMIT_CPU, &cpu) < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || dup2(pipe, STDOUT_FILENO) < 0)
		_exit(127);
	execve(loader, arguments, environment);
	_exit(127);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* All that it says, NUL-terminated. */
static int listen_to(int pipe, char *answer)
{
	uint64_t end_ms = now_ms() + LOADER_TIMEOUT_MS, at_ms;
	size_t len = 0;

	while ((at_ms = now_ms()) < end_ms && len < LOADER_MAX_BYTES) {
		struct pollfd p = { .fd = pipe, .events = POLLIN };
		ssize_t count;

		if (poll(&p, 1, (int)(end_ms - at_ms)) <= 0)
			continue;
		count = read(pipe, answer + len, LOADER_MAX_BYTES - len);
		if (count < 0)
			return -EIO;
		len += (size_t)count;
		answer[len] = '\0';
		if (count == 0)
			return 0;
	}
	return -EIO;
}

/* One line: "\tlibc.so.6 => /lib/libc.so.6 (0x...)", "\t/lib64/ld.so (0x...)" or "\tlibx.so => not found". */
static int take_line(char *line, int (*take)(void *owner, const char *name, const char *path),
		     void *owner, bool *is_missing)
{
	char *name = line + strspn(line, "\t "), *arrow = strstr(name, " => "), *path = name, *end;

	if (arrow != NULL) {
		path = arrow + 4;
		*arrow = '\0';
	}
	end = strstr(path, " (0x");
	if (end == NULL) {
		*is_missing = *is_missing || arrow != NULL;
		return 0;
	}
	*end = '\0';
	return path[0] == '/' ? take(owner, name, path) : 0;
}

static int take_lines(char *answer, int (*take)(void *owner, const char *name, const char *path),
		      void *owner)
{
	bool is_missing = false;
	char *rest = NULL;
	int rc = 0;

	for (char *line = strtok_r(answer, "\n", &rest); line != NULL && rc == 0;
	     line = strtok_r(NULL, "\n", &rest))
		rc = take_line(line, take, owner, &is_missing);
	return rc != 0 ? rc : is_missing ? -ENOENT : 0;
}

int loader_list(const char *loader, const char *program,
		int (*take)(void *owner, const char *name, const char *path), void *owner)
{
	SCOPED(text_free_bytes) char *answer = malloc(LOADER_MAX_BYTES + 1);
	SCOPED(environment_free) char **environment = environment_for_loader();
	int pipes[2], status, rc;
	pid_t child;

	if (answer == NULL || environment == NULL)
		return -ENOMEM;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	child = sandbox_fork();
	if (child == 0)
		be_loader(loader, program, environment, pipes[1]);
	close(pipes[1]);
	rc = child < 0 ? (int)child : listen_to(pipes[0], answer);
	close(pipes[0]);
	if (child < 0)
		return rc;
	if (rc < 0)
		kill(child, SIGKILL);
	while (waitpid(child, &status, __WALL) < 0)
		if (errno != EINTR)
			return -EIO;
	if (rc == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) != 127))
		rc = -EIO;
	return rc == 0 ? take_lines(answer, take, owner) : rc;
}
