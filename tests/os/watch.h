/* watch.h - runs a target under an engine and keeps what the sink was told, thread by thread. For tests. */
#ifndef TARE_TESTS_OS_WATCH_H
#define TARE_TESTS_OS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sense/sampler.h"

#define WATCH_THREADS 1024u

/* A comparison with clocks and counts of ticks. The address sanitizer makes the recorder many times slower, and on a busy
 * machine ticks are lost then (and counted): such a build is for what happens to memory, the others judge numbers. */
#if defined(__SANITIZE_ADDRESS__)
#define WATCH_JUDGES 0
#else
#define WATCH_JUDGES 1
#endif
#define assert_measured(is_so)                                          \
	do {                                                            \
		if (WATCH_JUDGES)                                       \
			assert_true(is_so);                             \
		else if (!(is_so))                                      \
			print_message("not judged here: %s\n", #is_so); \
	} while (0)

/* The engine under test; `perf` unless a test says otherwise. */
extern const struct sampler_ops *watch_engine;

struct watch_thread {
	uint32_t pid, tid;
	uint64_t weight_ns, ticks, kernel_ns;
	uint64_t cpu_ns; /* what the thread itself printed; 0: nothing */
	char first_comm[16], comm[16];
};

struct watch {
	pid_t pid;
	int to, from; /* the target's stdin and stdout */
	int gate;     /* closing it lets a waiting target execute; -1: none */
	struct sampler *sampler;
	struct sampler_sink sink;
	struct sampler_facts facts; /* at the end; its strings are gone by then */
	char kernel_stacks[128];    /* but for this one */
	struct watch_thread threads[WATCH_THREADS];
	size_t thread_count;
	uint64_t weight_ns, ticks, last_ns, lost;
	uint64_t life[4];   /* by enum life_kind */
	uint64_t of_root;   /* forks that the watched process made */
	uint64_t last_ends; /* ends of processes */
	uint64_t life_ns;   /* elapsed time of the last event */
	bool life_went_back;
	bool skips_stacks, went_back;
	uint64_t whole, depth_max, kernel_frames; /* paths that are whole; that end in the kernel */
	char said[65536];
	size_t said_len;
};

/* Starts a program (argv ends with NULL) with pipes for stdin and stdout. */
void watch_start(struct watch *w, const char *const argv[]);

/* The same, but the process waits before its exec, as `record -- CMD` has it. */
void watch_start_waiting(struct watch *w, const char *const argv[]);

/* Lets it execute. */
void watch_let_exec(struct watch *w);

/* Waits until the target has said `text`. */
void watch_hear(struct watch *w, const char *text);

/* Opens the engine on it. Skips the test, with the reason, where the kernel refuses perf events altogether, or, to engine bpf, the
 * simplest of programs: one that refuses ours only is a failure. */
void watch_open(struct watch *w, uint64_t period_ns, const char *switched_off, bool starts_at_exec);

/* Does this kernel describe its types and take a BPF program that does nothing? */
bool watch_may_bpf(void);

/* Lets the target begin. */
void watch_go(struct watch *w);

/* Drains until the target and its children have ended, or `ms` have passed. Reads what the target says. */
void watch_run(struct watch *w, unsigned int ms);

/* Waits until the target has ended by itself: its status. Call between watch_run and watch_end. */
int watch_status(struct watch *w);

/* Takes facts, closes all, reaps the target and reads what its threads said of themselves. */
void watch_end(struct watch *w);

/* A whole run: starts the program, samples it until it and its children have ended by themselves, and closes. */
void watch_whole(struct watch *w, const char *const argv[], uint64_t period_ns,
		 const char *switched_off);

/* The same for one whose ticks nobody wants the stacks of. */
void watch_unwanted(struct watch *w, const char *const argv[], uint64_t period_ns);

/* Runs that every engine must stand; what each of them sees of it is for its own test to judge. `busy`: the target program. */

/* One thread of 200 ms, watched from the exec of its program, which is seen. */
void watch_from_exec(struct watch *w, const char *busy);

/* Attaches to a process of 201 threads, all of which are known then; 200 of them run 8 ms each. How many of all have ticked. */
unsigned int watch_late_crowd(struct watch *w, const char *busy);

/* A program that ends at once. */
void watch_short_life(struct watch *w);

/* Ends the target when no sampler was opened on it. */
void watch_kill(struct watch *w);

/* The CPU time of the target's process, all its threads, up to now. */
uint64_t watch_process_ns(const struct watch *w);

/* The row of a thread; a new one when it has none. */
struct watch_thread *watch_thread(struct watch *w, uint32_t tid);

/* The CPU time that the target's threads told, all together. */
uint64_t watch_cpu_ns(const struct watch *w);

#endif
