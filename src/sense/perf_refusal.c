/* perf_refusal.c - the kernel's refusals, each with the value found, what still works and the smallest mend. */
#include "sense/perf_open.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PARANOID_PATH "/proc/sys/kernel/perf_event_paranoid"
#define MLOCK_PATH    "/proc/sys/kernel/perf_event_mlock_kb"

static int explain_paranoid(int code, int64_t paranoid, struct err *err)
{
	err_set(err, code,
		"cannot sample any process (kernel.perf_event_paranoid is %lld, user %u has no "
		"CAP_PERFMON)",
		(long long)paranoid, (unsigned int)geteuid());
	err_works(err, "reports and exports of recordings made elsewhere still work");
	return err_mend(err,
			"give the program the one right it needs: setcap cap_perfmon+ep $(command "
			"-v tare); or sysctl kernel.perf_event_paranoid=2 for one's own processes");
}

static int explain_owner(int code, pid_t pid, struct err *err)
{
	uid_t owner = 0;

	if (procfs_owner(pid, &owner) != 0)
		return err_set(err, -ESRCH, "cannot sample process %d: it has ended", (int)pid);
	if (owner == geteuid())
		err_set(err, code,
			"cannot sample process %d: it is user %u's, as we are, but the kernel "
			"guards "
			"it (setuid, capabilities or not dumpable)",
			(int)pid, (unsigned int)owner);
	else
		err_set(err, code, "cannot sample process %d of user %u as user %u", (int)pid,
			(unsigned int)owner, (unsigned int)geteuid());
	err_works(err, "processes of user %u can be sampled", (unsigned int)geteuid());
	return err_mend(err, "record as that user, or give the program two rights: setcap "
			     "cap_perfmon,cap_sys_ptrace+ep $(command -v tare)");
}

static int explain_access(int code, pid_t pid, struct err *err)
{
	int64_t paranoid = -1;

	procfs_number(PARANOID_PATH, &paranoid);
	if (pid != 0 && pid != getpid())
		return explain_owner(code, pid, err);
	if (code == -EACCES || paranoid > 2)
		return explain_paranoid(code, paranoid, err);
	err_set(err, code,
		"cannot open a perf event: forbidden (EPERM, though kernel.perf_event_paranoid is "
		"%lld)",
		(long long)paranoid);
	err_works(err, "recording from outside the container or sandbox still works");
	return err_mend(err, "allow the system call perf_event_open in the seccomp profile of this "
			     "container or service");
}

static int explain_files(int code, pid_t pid, struct err *err)
{
	struct rlimit files = { 0 };
	struct procfs_list tids = { 0 };
	size_t threads = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	if (pid != 0 && procfs_threads(pid, &tids) == 0)
		threads = tids.count;
	procfs_list_free(&tids);
	err_set(err, code,
		"cannot sample process %d: too many files (limit %llu; its %zu threads need one a "
		"CPU "
		"each, %ld CPUs)",
		(int)pid, (unsigned long long)files.rlim_cur, threads,
		sysconf(_SC_NPROCESSORS_ONLN));
	err_works(err,
		  "starting the program under the recorder needs one file a CPU only, however many "
		  "threads it makes");
	return err_mend(err, "raise the limit for this shell: ulimit -n %zu (hard limit now %llu)",
			(threads + 1) * (size_t)sysconf(_SC_NPROCESSORS_ONLN) + 64,
			(unsigned long long)files.rlim_max);
}

static int explain_missing(int code, struct err *err)
{
	if (code == -ENOSYS)
		err_set(err, code, "cannot open a perf event: this kernel has no perf_event_open");
	else
		err_set(err, code,
			"cannot open a perf event: the kernel has no CPU clock event (%s)",
			strerror(-code));
	err_works(err, "reports and exports of recordings made elsewhere still work");
	return err_mend(err, "use a kernel with CONFIG_PERF_EVENTS");
}

int perf_explain_event(int code, pid_t pid, struct err *err)
{
	switch (code) {
	case -ESRCH:
		err_set(err, code, "cannot sample process %d: there is no such process", (int)pid);
		err_works(err, "any running process can be named with -p, or a command after --");
		return err_mend(err, "look it up: pgrep -a NAME");
	case -EACCES:
	case -EPERM:
		return explain_access(code, pid, err);
	case -EMFILE:
	case -ENFILE:
		return explain_files(code, pid, err);
	case -ENOENT:
	case -ENOSYS:
	case -EOPNOTSUPP:
	case -EINVAL:
		return explain_missing(code, err);
	case -ENOMEM:
		err_set(err, code, "cannot sample process %d: no memory for events", (int)pid);
		err_works(err, "programs with fewer threads need less");
		return err_mend(err,
				"free memory, or raise the memory limit of this service or cgroup");
	default:
		err_set(err, code, "cannot sample process %d: %s", (int)pid, strerror(-code));
		err_works(err, "reports and exports of recordings made elsewhere still work");
		return err_mend(err, "see dmesg for what the kernel says of perf");
	}
}

int perf_explain_ring(size_t cpus, struct err *err)
{
	struct rlimit locked = { 0 };
	int64_t budget_kb = 0;
	size_t page_kb = (size_t)sysconf(_SC_PAGESIZE) / 1024;
	size_t least_kb = cpus * (PERF_RING_PAGES_MIN + 1) * page_kb;

	getrlimit(RLIMIT_MEMLOCK, &locked);
	procfs_number(MLOCK_PATH, &budget_kb);
	err_set(err, -ENOMEM,
		"cannot lock %zu KB for the kernel's rings (kernel.perf_event_mlock_kb is %lld a "
		"CPU, "
		"ulimit -l is %llu KB, both in use by this user)",
		least_kb, (long long)budget_kb, (unsigned long long)locked.rlim_cur / 1024);
	err_works(err, "it works again when another profiler of user %u ends",
		  (unsigned int)getuid());
	return err_mend(err,
			"raise the limit for this shell: ulimit -l %zu; or sysctl "
			"kernel.perf_event_mlock_kb=%lld",
			(size_t)locked.rlim_cur / 1024 + cpus * (PERF_RING_PAGES + 1) * page_kb,
			(long long)budget_kb + (long long)((PERF_RING_PAGES + 1) * page_kb));
}

int perf_explain_thread(pid_t tid, pid_t pid, struct err *err)
{
	err_set(err, -EINVAL, "cannot sample %d: it is a thread of process %d", (int)tid, (int)pid);
	err_works(err, "a process is watched with all its threads, each named");
	return err_mend(err, "name the process: -p %d", (int)pid);
}
