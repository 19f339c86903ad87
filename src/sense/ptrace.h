/* ptrace.h - engine `ptrace` between its own files: the state of one sampler, and the steps it is made of. For places that permit
 * neither perf events nor BPF. Who ran is told by clocks of the kernel's; who runs now and is to be looked at is stopped for as
 * long as that takes. Its contract is struct sampler_ops in sampler.h. One thread. */
#ifndef TARE_SENSE_PTRACE_H
#define TARE_SENSE_PTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/rng.h"
#include "sense/perf_threads.h"
#include "sense/procfs.h"
#include "sense/ptrace_reader.h"
#include "sense/ptrace_stop.h"
#include "sense/sampler.h"
#include "sense/space.h"

#define PTRACE_PROCESSES_MAX 16384u

/* A watched process. */
struct ptrace_process {
	pid_t pid;
	int mem_fd; /* of the program whose mappings are known; -1: none */
	clockid_t clock;
	uint64_t base_ns, clock_ns; /* of that clock: before it was watched, and when last read */
	uint64_t booked_ns;	    /* of the time between, what is owed to threads or was given */
	uint32_t turn;		    /* which of its quiet threads are looked at next */
	uint64_t began_ticks;
	uint64_t code, stack;	  /* which program it executes, as procfs_process() tells it */
	uint64_t unread_until_ns; /* its memory, or itself, did not answer */
	uint64_t maps_ns,
		maps_rest_ns; /* when its mappings were read; not again before so long after */
};

struct sampler {
	struct sampler_settings settings;
	int timer_fd, root_fd; /* root_fd: pidfd of the process in the settings; -1: it has ended */
	uint64_t period_ns;
	struct rng rng; /* of the gaps between ticks */
	struct perf_threads *threads;
	struct spaces *spaces;
	struct ptrace_reader *reader;
	struct ptrace_stopper *stopper;
	struct ptrace_process *processes;
	size_t process_count, process_room;
	size_t open_mems; /* processes with a mem_fd */
	bool are_children_listed;
	struct procfs_list tids, found, pids; /* kept for their memory */
	uint64_t next_sweep_ns;
	bool are_between;  /* in the sweep in work: processes in the middle of an exec */
	uint32_t hurries;  /* sweeps in a row for their sake */
	uint64_t ended_ns; /* CPU time of processes that have ended */
	uint64_t last_ns;  /* elapsed time of the last tick */
	uint64_t stops, stopped_ns, mended, cut, unread;
	uint64_t aside_ns;
	struct frame path[SPACE_MAX_FRAMES + 2];
};

/* ---- ptrace_tree.c: which processes and threads there are ---- */

/* Enters a process with the threads it has; a late one's CPU time up to now is not counted. 0, -ESRCH or -ENOMEM. */
int ptrace_tree_add(struct sampler *s, pid_t pid, bool is_late);

/* Looks for children, ends, new programs and threads, if that is due. */
void ptrace_tree_sweep(struct sampler *s, uint64_t now_ns, const struct sampler_sink *sink);

/* The process executes another program, or is about to be looked at for the first time: reads its mappings, and opens its memory.
 * -errno: that cannot be had. */
int ptrace_tree_open_memory(struct sampler *s, struct ptrace_process *p);

/* Forgets what is open of a process. */
void ptrace_tree_close_memory(struct sampler *s, struct ptrace_process *p);

/* CPU time of all that is or was watched, since then. */
uint64_t ptrace_tree_clock_ns(const struct sampler *s);

/* Does it execute another program than when its memory was opened? Asks the kernel alone, which reads nothing of the process. */
bool ptrace_tree_has_executed(const struct ptrace_process *p);

/* Reads a process's clock; false: it has ended, or has not run since. */
bool ptrace_tree_has_run(struct ptrace_process *p);

/* ---- ptrace_look.c: ticks ---- */

/* One tick of the timer: a tick for each thread that has run since its last one and runs now. */
void ptrace_look(struct sampler *s, const struct sampler_sink *sink);

/* ---- ptrace_refusal.c ---- */

/* May the process be looked at? 0, or says in three lines why not. */
int ptrace_explain(const struct sampler_settings *settings, struct err *err);

#endif
