/* run_child.c - the command that is run: forked early, let go when all is set up. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Runs in the child; only async-signal-safe calls. */
static _Noreturn void wait_and_exec(int gate, int failure, char **command, const sigset_t *old_mask)
{
	char go;
	int code;

	if (read(gate, &go, 1) != 1)
		_exit(EXIT_OWN); /* the recorder gave up, or is gone */
	sigprocmask(SIG_SETMASK, old_mask, NULL);
	execvp(command[0], command);
	code = errno;
	if (write(failure, &code, sizeof(code)) < 0)
		_exit(EXIT_OWN);
	_exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXEC);
}

int run_cut_command(int argc, char **argv, char ***out_command)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (i + 1 < argc)
			*out_command = argv + i + 1;
		argv[i] = NULL;
		return i;
	}
	return argc;
}

static int look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

int child_find(const char *command, char *out_path)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX];
	int found = -ENOENT;

	if (command[0] == '\0' || strlen(command) >= PATH_MAX)
		return -ENOENT;
	if (strchr(command, '/') != NULL) {
		memcpy(out_path, command, strlen(command) + 1);
		return look_at(command);
	}
	if (folders == NULL)
		folders = "/bin:/usr/bin"; /* as execvp */
	for (const char *at = folders; found != 0;) {
		size_t len = strcspn(at, ":");
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, at, len > 0 ? "/" : "",
				 command);
		int code = n > 0 && (size_t)n < sizeof(path) ? look_at(path) : -ENOENT;

		if (code == 0 || code == -EACCES)
			found = code;
		if (code == 0)
			memcpy(out_path, path, (size_t)n + 1);
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	return found;
}

int child_start(struct child *c, char **command, const void *old_mask, struct err *err)
{
	int gate[2], failure[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe for '%s': %s", command[0],
			       strerror(errno));
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int code = errno;

		close(gate[0]);
		close(gate[1]);
		return err_set(err, -code, "cannot make a pipe for '%s': %s", command[0],
			       strerror(code));
	}
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		close(failure[0]);
		wait_and_exec(gate[0], failure[1], command, old_mask);
	}
	close(gate[0]);
	close(failure[1]);
	*c = (struct child){ .pid = pid, .gate = gate[1], .failure = failure[0] };
	if (pid < 0) {
		int code = errno;

		child_free(c);
		return err_set(err, -code, "cannot fork for '%s': %s", command[0], strerror(code));
	}
	return 0;
}

int child_release(struct child *c)
{
	int code = 0;
	ssize_t got;

	if (write(c->gate, "g", 1) != 1)
		return -errno;
	close_fd(&c->gate);
	do {
		got = read(c->failure, &code, sizeof(code));
	} while (got < 0 && errno == EINTR);
	close_fd(&c->failure);
	if (got != sizeof(code))
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	return -code;
}

void child_free(struct child *c)
{
	bool was_waiting = c->gate >= 0;

	close_fd(&c->gate);
	close_fd(&c->failure);
	if (c->pid > 0 && was_waiting)
		waitpid(c->pid, NULL, 0); /* it reads the end of the gate and leaves */
	*c = CHILD_EMPTY;
}
