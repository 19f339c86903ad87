/* perf.h - engine `perf` between its own files: the state of one sampler, and the steps it is made of. Its contract is
 * struct sampler_ops in sampler.h. One thread. */
#ifndef TARE_SENSE_PERF_H
#define TARE_SENSE_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/charge.h"
#include "sense/perf_open.h"
#include "sense/perf_ring.h"
#include "sense/perf_threads.h"
#include "sense/sampler.h"
#include "sense/space.h"

struct sampler {
	struct sampler_settings settings;
	struct perf_means means;
	struct perf_rings rings;
	struct perf_events events;
	uint32_t generation;	/* of events: one more with every change of period */
	uint64_t first_id;	/* of the events in force; lower ids are of the period before */
	uint64_t old_period_ns; /* of those */
	bool has_dropped;	/* events of threads that were counted twice */
	bool has_execed;	/* the process that waited for us has executed */
	int root_fd; /* pidfd of the process in the settings: readable when it ends; -1: it has */
	int wait_fd; /* epoll: all rings and root_fd */
	struct perf_threads *threads;
	struct spaces *spaces;
	struct procfs_list list, pids; /* kept for their memory */
	int64_t ahead_ns;	       /* our clock's, of that of the records */
	uint64_t record_ns;	       /* time of the record in hand */
	uint64_t last_ns;	       /* elapsed time of the last tick: ticks never go back */
	uint64_t given_ns;	       /* weight of all ticks */
	uint64_t closed_ns;	       /* counted by events that are closed */
	uint64_t closed_lost, lost_count, lost_events, throttled_count;
	uint64_t counted_ns, counted_lost;	  /* by all events ever, when they were last read */
	uint64_t counted_given_ns, next_count_ns; /* given_ns then; when they are read again */
	uint64_t aside_ns;			  /* taken by records that are no samples */
	uint64_t next_sweep_ns;			  /* when the table is next compared with /proc */
	struct charge_costs costs;
	struct procfs_turns turns; /* of all threads, when they were last read */
	uint64_t next_turns_ns;	   /* when they are read again */
	uint64_t kernel_key;	   /* of the "[kernel]" marker */
	uint64_t shed;		   /* programs that were not to be watched any more */
	bool is_by_cpu; /* events are those of a CPU: no program that gains rights loses them */
	char kernel_stacks[128], children[128];
	struct frame path[SPACE_MAX_FRAMES + 1];
};

/* What any engine needs that follows a tree of processes by the kernel's side records: rings of at most `pages` each, the process
 * named in the settings, its address space and threads. All of `s` but what is set here is zero. On failure perf_end() is due. */
int perf_begin(struct sampler *s, const struct sampler_settings *settings, uint32_t pages,
	       struct err *err);

/* Closes what perf_begin() and the events took. May run twice. */
void perf_end(struct sampler *s);

/* Opens events on every thread of every process alive that has none in this generation, until /proc shows no new one.
 * A thread that inherits and is opened as well is found out by its samples (perf_weight.h). -ESRCH: nothing is left. */
int perf_cover(struct sampler *s, struct perf_events *events);

/* Opens new events on the only thread of a process that has just executed, and lost those it had: the kernel takes them off a
 * program with more rights than its user has. -errno: it stays unseen. */
int perf_cover_again(struct sampler *s, pid_t tid);

/* Changes the period: new events on all threads, then the change-over. */
int perf_reopen(struct sampler *s, uint64_t period_ns, const struct sampler_sink *sink,
		struct err *err);

/* Takes what the rings hold up to now. */
int perf_drain(struct sampler *s, const struct sampler_sink *sink, struct err *err);

/* A record that is no sample: threads come and go, files are mapped, records were lost. */
void perf_follow(struct sampler *s, const struct perf_record *record,
		 const struct sampler_sink *sink);

/* A thread ended at `at_ns`, unless a later one has its number by now. */
void perf_follow_exit(struct sampler *s, uint32_t tid, uint64_t at_ns,
		      const struct sampler_sink *sink);

/* The thread of a record; one that was never seen is entered and told to the sink. NULL: no place left. */
struct perf_thread *perf_follow_thread(struct sampler *s, uint32_t pid, uint32_t tid,
				       const struct sampler_sink *sink);

/* Has the process named in the settings ended? Asked before a look at the rings. */
bool perf_follow_root_is_over(const struct sampler *s);

/* After that look: forgets processes that have ended although the record of it was lost. */
void perf_follow_ends(struct sampler *s, bool root_was_over, uint64_t now_ns,
		      const struct sampler_sink *sink);

/* A sample: weighed, asked for, walked if wanted, given. */
void perf_take_sample(struct sampler *s, const struct perf_record *record,
		      const struct sampler_sink *sink);

/* Elapsed time of a moment. */
uint64_t perf_elapsed_ns(const struct sampler *s, uint64_t at_ns);

/* A running thread's tick at that moment, never before the one before; its weight is counted as given. */
struct tick perf_tick(struct sampler *s, const struct perf_thread *thread, uint64_t at_ns,
		      uint64_t weight_ns);

/* sampler_ops.spaces and sampler_ops.thread of an engine that keeps these here. */
struct spaces *perf_spaces(struct sampler *s);
bool perf_thread_of(struct sampler *s, uint32_t pid, uint32_t tid, struct frame *out);

/* The time between two ticks of the kernel's own: what its coarse clocks go by. 0: it has none. */
uint64_t perf_jiffy_ns(void);

/* sampler_ops.calibrate. */
int perf_calibrate(struct sampler *s, struct err *err);

/* What a tick costs, into `out_ps`; unmeasured leaves 0 there. Bare: what the kernel takes to come to it and back, without a stack. */
int perf_calibrate_tick(const struct perf_means *means, bool is_bare, uint64_t *out_ps,
			struct err *err);

/* What a switch costs, into `out`, whose jiffy is set; what could not be measured stays 0. Takes up to 0.3 s. */
void perf_calibrate_switch(const struct perf_means *means, struct charge_costs *out);

#endif
