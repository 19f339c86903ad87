/* procfs.h - what /proc tells about processes and threads: start time, names, threads, and the kernel's settings.
 * No state; any thread. Functions return 0 or a negative errno, -ESRCH for a process or thread that is gone. */
#ifndef TARE_SENSE_PROCFS_H
#define TARE_SENSE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCFS_COMM_BYTES 16u /* with the final NUL, as the kernel keeps it */

/* A growing list of thread ids (or CPUs). The empty value is all zero. */
struct procfs_list {
	int *items;
	size_t count, capacity;
};

/* Appends an item. -ENOMEM. */
int procfs_list_add(struct procfs_list *list, int item);

/* Accepts the empty value, and may run twice. */
void procfs_list_free(struct procfs_list *list);

/* When a thread began, in clock ticks since boot: with its number, its identity. `tid` may be the pid. */
int procfs_start_ticks(pid_t pid, pid_t tid, uint64_t *out_ticks);

/* A thread's time on a CPU, its time waiting for one, and how often it was switched to. */
struct procfs_turns {
	uint64_t ran_ns, waited_ns, switches;
};

/* -EINVAL: the kernel does not count that. */
int procfs_turns(pid_t pid, pid_t tid, struct procfs_turns *out);

/* CPU time of a process, of all its threads that are and were; also of one whose end its parent has not taken note of. */
int procfs_cpu_ns(pid_t pid, uint64_t *out_ns);

/* CPU time of its children that it has waited for, and of theirs, to a clock tick (10 ms). */
int procfs_children_cpu_ns(pid_t pid, uint64_t *out_ns);

/* How much memory of a process is resident. */
int procfs_rss_bytes(pid_t pid, uint64_t *out_bytes);

/* The thread's own name (any bytes but NUL), NUL-terminated. */
int procfs_comm(pid_t pid, pid_t tid, char out_comm[PROCFS_COMM_BYTES]);

/* The thread ids of a process, replacing what the list held. -ENOMEM. */
int procfs_threads(pid_t pid, struct procfs_list *list);

/* The process that a thread belongs to (itself for a process's first thread). */
int procfs_process_of(pid_t tid, pid_t *out_pid);

/* False for a process that is gone, dead or a zombie. */
bool procfs_is_running(pid_t pid);

/* A process as /proc/PID/stat has it. */
struct procfs_process {
	char state; /* of its first thread: 'R', 'S', 'D', 'T', 'Z' ... */
	pid_t parent;
	uint32_t threads;
	uint64_t began_ticks; /* since boot */
	uint64_t code, stack; /* where its program and its first stack begin; 0: hidden from us */
};

/* -EINVAL: it is not as we know it. */
int procfs_process(pid_t pid, struct procfs_process *out);

/* The children of a process that its threads in `tids` have made, appended to what the list holds. -ENOMEM; -ENOENT: this kernel does
 * not list them; -E2BIG: one thread has made more than can be read at once. */
int procfs_children(pid_t pid, const struct procfs_list *tids, struct procfs_list *list);

/* The processes there are whose parent is in `parents`, appended to what the list holds: slow, for where children are not listed. -ENOMEM. */
int procfs_children_of(const struct procfs_list *parents, struct procfs_list *list);

/* Who traces the thread; 0: nobody. */
int procfs_tracer(pid_t pid, pid_t tid, pid_t *out_tracer);

/* The user that owns a process (its effective one; root for a process that may not be looked at). */
int procfs_owner(pid_t pid, uid_t *out_uid);

/* The real user of a process. */
int procfs_user(pid_t pid, uid_t *out_uid);

/* A process as it sees itself: its number in its own pid namespace, and its effective user (as we see that one). -EINVAL: the
 * kernel does not say. */
struct procfs_self {
	pid_t pid;
	uid_t uid;
};
int procfs_self(pid_t pid, struct procfs_self *out);

/* The build-id of the file that a process has mapped at `address`, as the kernel read it: its bytes in `out`. Returns how many, or
 * -ENOENT: none; -ENOTTY: the kernel is older than 6.11; -EACCES and others. */
int procfs_build_id(pid_t pid, uint64_t address, uint8_t *out, size_t size);

/* Does it run a program that gives more rights than its user has: set-user-id, set-group-id, or capabilities? */
bool procfs_has_more_rights(pid_t pid);

/* The first number in a file such as /proc/sys/kernel/perf_event_paranoid. -EINVAL: none there. */
int procfs_number(const char *path, int64_t *out_number);

/* How far our CLOCK_MONOTONIC is ahead of the one by which the kernel stamps events: that of its first time namespace. 0 where there
 * are none. */
int64_t procfs_clock_ahead_ns(void);

/* Our pid namespace as BPF programs name it. False: it is the kernel's first, or cannot be told; pids there need no naming. */
bool procfs_pid_namespace(uint64_t *out_device, uint64_t *out_inode);

/* The CPUs that are online, in order, replacing what the list held. -ENOMEM, -EINVAL. */
int procfs_online_cpus(struct procfs_list *list);

#endif
