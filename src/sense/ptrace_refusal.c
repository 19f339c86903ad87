/* ptrace_refusal.c - why a process may not be looked at by engine `ptrace`, told apart, each with the smallest mend. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sense/perf_open.h"
#include "sense/ptrace.h"

#define SCOPE_PATH  "/proc/sys/kernel/yama/ptrace_scope"
#define SCOPE_CHILD 1 /* a process's ancestors may trace it */
#define SCOPE_ADMIN 2
#define SCOPE_NONE  3
#define ONE_RIGHT \
	"give the program the one right it needs: setcap cap_sys_ptrace+ep $(command -v tare)"
/* The kernel shows /proc/PID/mem and syscall to their owner only: tracing is one right, reading them another. */
#define TWO_RIGHTS                                                                                \
	"give the program the two rights it needs: setcap cap_sys_ptrace,cap_dac_read_search+ep " \
	"$(command -v tare)"

static int64_t yama_scope(void)
{
	int64_t scope = 0; /* a kernel without Yama */

	procfs_number(SCOPE_PATH, &scope);
	return scope;
}

static int explain_tracer(pid_t pid, pid_t tracer, struct err *err)
{
	err_set(err, -EBUSY, "cannot sample process %d: process %d traces it already", (int)pid,
		(int)tracer);
	err_works(err, "it can be sampled when that debugger or tracer lets it go");
	return err_mend(err, "see who it is: ps -fp %d", (int)tracer);
}

static int explain_scope(pid_t pid, int64_t scope, struct err *err)
{
	err_set(err, -EPERM, "cannot sample process %d: kernel.yama.ptrace_scope is %lld", (int)pid,
		(long long)scope);
	if (scope == SCOPE_CHILD) {
		err_works(
			err,
			"a program started under the recorder can be sampled: tare record -- CMD");
		return err_mend(err, ONE_RIGHT);
	}
	err_works(err, "reports and exports of recordings made elsewhere still work");
	if (scope == SCOPE_ADMIN)
		return err_mend(err, ONE_RIGHT);
	return err_mend(err,
			"set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and start the machine "
			"anew: it cannot be lowered while it runs");
}

static int explain_call(pid_t pid, int code, struct err *err)
{
	if (yama_scope() >= SCOPE_NONE)
		return explain_scope(pid, yama_scope(), err);
	err_set(err, code, "cannot stop a thread: the system call ptrace is forbidden (%s)",
		code == -ENOSYS ? "ENOSYS" : strerror(-code));
	err_works(err, "recording from outside the container or sandbox still works");
	return err_mend(err,
			"allow the system call ptrace in the seccomp profile of this container or "
			"service");
}

static int explain_user(pid_t pid, uid_t user, struct err *err)
{
	err_set(err, -EACCES, "cannot sample process %d of user %u as user %u", (int)pid,
		(unsigned int)user, (unsigned int)geteuid());
	err_works(err, "processes of user %u can be sampled", (unsigned int)geteuid());
	return err_mend(err, "record as that user, or " TWO_RIGHTS);
}

static int explain_guarded(pid_t pid, struct err *err)
{
	err_set(err, -EACCES,
		"cannot sample process %d: it is user %u's, as we are, but it guards itself (not "
		"dumpable: setuid, capabilities, or by its own wish)",
		(int)pid, (unsigned int)geteuid());
	err_works(err, "other processes of user %u can be sampled", (unsigned int)geteuid());
	return err_mend(err, TWO_RIGHTS);
}

/* /proc gives to root the files of a process that may not be looked at. */
static bool is_guarded(pid_t pid, uid_t user)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return stat(path, &st) == 0 && st.st_uid != user;
}

/* Its memory is refused. */
static int explain_memory(pid_t pid, int code, struct err *err)
{
	uid_t user = geteuid();

	if (code == -ENOENT || code == -ESRCH || procfs_user(pid, &user) != 0)
		return perf_explain_event(-ESRCH, pid, err);
	if (user != geteuid())
		return explain_user(pid, user, err);
	if (is_guarded(pid, user))
		return explain_guarded(pid, err);
	if (yama_scope() >= SCOPE_CHILD)
		return explain_scope(pid, yama_scope(), err);
	err_set(err, code, "cannot sample process %d: its memory cannot be read (%s)", (int)pid,
		strerror(-code));
	err_works(err, "programs started under the recorder may still work: tare record -- CMD");
	return err_mend(err, ONE_RIGHT);
}

static int try_memory(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int ptrace_explain(const struct sampler_settings *settings, struct err *err)
{
	pid_t pid = settings->pid, tracer = 0;
	int code = procfs_tracer(pid, pid, &tracer);

	if (code != 0)
		return perf_explain_event(code, pid, err);
	if (tracer != 0)
		return explain_tracer(pid, tracer, err);
	code = ptrace_try_call();
	if (code != 0)
		return explain_call(pid, code, err);
	if (settings->starts_at_exec) /* it has our program still, which may be guarded */
		return yama_scope() >= SCOPE_ADMIN && try_memory(pid) != 0
			       ? explain_scope(pid, yama_scope(), err)
			       : 0;
	code = try_memory(pid);
	return code == 0 ? 0 : explain_memory(pid, code, err);
}
