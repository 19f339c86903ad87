/* sampler.h - the seam for engines: whatever looks at a program and gives ticks. `perf` needs no rights for one's own
 * programs; `bpf` does its work in the kernel. Engines unwind and name only the ticks that the sink wants. One thread. */
#ifndef TARE_SENSE_SAMPLER_H
#define TARE_SENSE_SAMPLER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/charge.h"
#include "core/counter.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/profile.h"
#include "core/units.h"

struct sampler; /* opaque, one an engine */
struct spaces;	/* space.h */

struct sampler_settings {
	pid_t pid; /* watched with all its threads and, from now on, its children; not those it has */
	bool starts_at_exec; /* the process waits for us and will exec: begin there */
	uint64_t period_ns;  /* base period; an engine may take the next lower prime */
	struct mono start;   /* elapsed time 0 of the task */
	bool asks_servers;   /* for names that files here do not have: debuginfod.h */
	const char *
		switched_off; /* comma list for tests, from TARE_NO: "read_inherit", "kernel"; may be NULL */
};

/* Life of what is watched: a new process, a new thread, another program in a process, the end of a process (of its
 * last thread; told while the engine still knows both). Strings borrowed during the call. */
enum life_kind { LIFE_FORK, LIFE_THREAD, LIFE_EXEC, LIFE_EXIT };
struct life {
	enum life_kind kind;
	uint32_t pid, tid;
	uint32_t parent; /* process that made it, of LIFE_FORK; 0: not known */
	uint64_t at_ns;	 /* elapsed */
	struct str comm;
	/* Of the whole process, with its end: at another event the account would be that of the moment when it is read. */
	struct counter cpu_ns;
	bool is_last; /* of LIFE_EXIT: no thread of the process is left */
};

enum stack_end {
	STACK_WHOLE,  /* the walk reached the end that the compiler marked */
	STACK_BROKEN, /* it stopped in the middle: "[broken]" stands below the thread */
	STACK_CUT,    /* deeper than the copied stack: "[cut]" stands below the thread */
};

/* Where ticks go. All functions but the last are required. Called from drain only. */
struct sampler_sink {
	void *owner;
	/* Asked once for every tick, in order of time, before anything is unwound. */
	bool (*wants)(void *owner, const struct tick *tick);
	/* The same tick again, with its path (thread first, then from the root) if it was wanted, else NULL, 0. */
	void (*take)(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		     enum stack_end end);
	void (*lost)(void *owner, uint64_t at_ns, uint64_t samples);
	void (*life)(void *owner, const struct life *event);
	/* A frame that was given got its name: `from` is called `to` from now on. May be NULL: nobody asks servers. */
	void (*renamed)(void *owner, const struct frame *from, const struct frame *to);
};

/* What the label says of an engine. Strings are static or live until close. */
struct sampler_facts {
	const char *name, *clock; /* "perf", "cpu" */
	uint64_t period_ns;	  /* really in force */
	bool is_jittered, is_derived;
	bool is_over;		   /* every watched process has ended */
	const char *children;	   /* what is unseen, "" for nothing */
	const char *kernel_stacks; /* "", or why there are none */
	/* CPU time of the task by the counter, up to now; carried forward for some seconds while thousands of counters
	 * are open, exact when it is over. */
	uint64_t clock_ns;
	uint64_t lost_count, lost_events, throttled_count;
	uint64_t threads, processes; /* ever seen */
	uint64_t unnamed_frames;     /* among those given */
	uint64_t aside_ns; /* time that drains spent on what is no sample: forks, maps, ends */
	/* Own CPU time that drains spent on what is learned once: files read into tables, places found in them and named. */
	uint64_t table_ns;
	uint64_t
		reading_ns; /* CPU time of a child that reads them and has not ended: in no getrusage() yet */
	uint64_t awaited_files; /* whose names servers may still send */
	uint64_t unread_files;	/* that it died of, or hung over: unsymbolised */
	/* Of watched threads, by /proc: how often they were switched to, their time on a CPU and waiting for one. At least: of a
	 * thread that has ended, what was seen before. */
	uint64_t switches, ran_ns, waited_ns;
	struct charge_costs costs; /* calibrated, in the kernel */
	/* Of an engine that stops threads, and of no other: how often, for how long in all; calls that a stop had ended, and were begun
	 * again; writes that it may have cut short; wanted stacks that could not be read; children that were killed over them. */
	uint64_t stops, stopped_ns, mended_calls, cut_calls, unread_stacks, killed_copiers;
	/* CPU time of children that copy stacks: part of a sample's cost. Live: of one that has not ended. */
	uint64_t copying_ns, copying_live_ns;
	/* Where the kernel itself measures what the engine's programs take there: that, so far, and what coming to them took, calibrated;
	 * nothing is charged by `costs`. */
	uint64_t kernel_ns;
	uint64_t
		missed_ns; /* the same of ticks that did not meet the job: on nobody's account, or another's */
	bool is_kernel_measured;
};

struct sampler_ops {
	const char *name;
	/* Begins to watch. Errors are three lines: EACCES, EPERM, ESRCH, EMFILE, mlock limit and no such event
	 * are told apart. */
	int (*open)(const struct sampler_settings *settings, struct sampler **out, struct err *err);
	/* Descriptors to wait on; returns how many, at most `max`. May change after set_period and drain. */
	size_t (*wait_on)(struct sampler *s, struct pollfd *out, size_t max);
	/* Takes all there is. -errno only when nothing more can come. */
	int (*drain)(struct sampler *s, const struct sampler_sink *sink, struct err *err);
	/* Changes the real period; takes what is left first. */
	int (*set_period)(struct sampler *s, uint64_t period_ns, const struct sampler_sink *sink,
			  struct err *err);
	/* Measures what a tick and a switch cost in the kernel, in children of ours: the middle of some rounds. */
	int (*calibrate)(struct sampler *s, struct err *err);
	void (*facts)(struct sampler *s, struct sampler_facts *out);
	void (*close)(struct sampler *s); /* accepts NULL */
	/* For what sees the same threads beside it (waits_source.h): the address spaces that it follows, which live until close,
	 * and the frame that its paths of a thread begin with; false: it knows no such thread. NULL: it has none to share. */
	struct spaces *(*spaces)(struct sampler *s);
	bool (*thread)(struct sampler *s, uint32_t pid, uint32_t tid, struct frame *out);
};

/* perf: perf events. bpf: programs in the kernel, which takes rights. ptrace: for where neither is permitted; stops a running thread
 * for each sample. */
extern const struct sampler_ops sampler_perf, sampler_bpf, sampler_ptrace;

#endif
