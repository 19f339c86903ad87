/* perf_threads.h - the threads and processes that engine `perf` watches: names, frames, and where their weights
 * stand. Bounded: a thread that finds no place is counted by the caller. Memory is taken once. One thread. */
#ifndef TARE_SENSE_PERF_THREADS_H
#define TARE_SENSE_PERF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "sense/procfs.h"

#define PERF_THREADS_MAX 65536u

/* One counter of one thread: what an event, opened or inherited, counts of it on one CPU. Known by the event's id, not
 * by PERF_SAMPLE_STREAM_ID: the first sample behind a loss carries its parent's (seen on Linux 6.18). */
struct perf_slot {
	uint64_t id;	   /* of the event that was opened; 0: none yet */
	uint64_t value_ns; /* at its last sample */
	uint32_t gaps;	   /* of the ring, at its last sample */
};

struct perf_thread {
	uint32_t pid, tid;
	uint64_t
		salt; /* when it began or was first seen: tells it from a later one of the same number */
	uint64_t key;	     /* of its frame, for the name it has now */
	uint32_t covered_in; /* the generation of events that were opened on it; 0: it inherits */
	uint8_t comm_len;
	bool has_execed; /* its instances may have counted before, under another thread's number */
	bool is_running; /* derived weights: between switch-in and switch-out */
	bool is_known;	 /* derived weights: is_running has been seen, not guessed */
	char comm[PROCFS_COMM_BYTES];
	uint64_t on_ns;	  /* derived: when it was switched in, or its last sample */
	uint64_t owed_ns; /* derived: ran since its last sample, up to on_ns */
	struct procfs_turns turns, turns_before; /* when last read, and before it was watched */
	uint64_t lost_count;	 /* derived: records lost, all told, at its last sample */
	struct perf_slot *slots; /* one a ring */
	/* Chains: index + 1. */
	uint32_t next, next_of_process, previous_of_process, process;
};

struct perf_process {
	uint32_t pid;
	uint32_t threads; /* alive */
	uint32_t first;	  /* index + 1 of a thread */
	uint32_t next;
};

struct perf_threads; /* opaque */

/* For threads with `slots` counters each. -ENOMEM. */
int perf_threads_open(struct perf_threads **out, uint32_t slots);

/* Accepts NULL. */
void perf_threads_close(struct perf_threads *t);

/* NULL when it is not there. */
struct perf_thread *perf_threads_find(struct perf_threads *t, uint32_t tid);

/* A new thread (of a new process, if it is the first one seen of it), not yet named. NULL: no place left. `tid` must
 * not be there. */
struct perf_thread *perf_threads_add(struct perf_threads *t, uint32_t pid, uint32_t tid,
				     uint64_t salt);

/* Gives the thread its name; its frame's key follows. At most 15 bytes are kept. */
void perf_thread_name(struct perf_thread *thread, const char *comm, size_t len);

/* The frame that begins every path of the thread. Strings live as long as the thread keeps its name. */
struct frame perf_thread_frame(const struct perf_thread *thread);

/* Is it the only thread of its process? */
bool perf_threads_is_last(const struct perf_threads *t, const struct perf_thread *thread);

/* A thread has ended. Returns true when it was the last of its process. */
bool perf_threads_remove(struct perf_threads *t, struct perf_thread *thread);

/* A process executed: only the thread `stays` is left. */
void perf_threads_remove_others(struct perf_threads *t, struct perf_thread *stays);

/* Forgets what the thread's counters said: another task goes on under its number. */
void perf_threads_clear_slots(struct perf_threads *t, struct perf_thread *thread);

/* Is a thread of it there? */
bool perf_threads_has_process(struct perf_threads *t, uint32_t pid);

/* The threads of a process, one by one, in no order; NULL: no more. Ask for the next before you remove one. */
struct perf_thread *perf_threads_first(struct perf_threads *t, uint32_t pid);
struct perf_thread *perf_threads_next(struct perf_threads *t, const struct perf_thread *thread);

/* The pids alive, replacing what the list held. -ENOMEM. */
int perf_threads_pids(const struct perf_threads *t, struct procfs_list *out);

/* Removes a process with all its threads. */
void perf_threads_remove_process(struct perf_threads *t, uint32_t pid);

/* Turns of all threads since they are watched, by /proc; of those that have ended, up to the last call before. */
struct procfs_turns perf_threads_turns(struct perf_threads *t);

/* What threads that have ended ran in that. */
uint64_t perf_threads_gone_ran_ns(const struct perf_threads *t);

/* Processes alive now; threads and processes ever seen. */
uint32_t perf_threads_alive(const struct perf_threads *t);
uint64_t perf_threads_seen(const struct perf_threads *t);
uint64_t perf_threads_processes_seen(const struct perf_threads *t);

#endif
