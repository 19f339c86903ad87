/* perf_open.h - what the kernel allows, events opened on threads, and its refusals told apart. One thread. */
#ifndef TARE_SENSE_PERF_OPEN_H
#define TARE_SENSE_PERF_OPEN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/units.h"
#include "sense/perf_ring.h"

#define PERF_STACK_BYTES 16384u /* copied with every sample: 8 KB is too small for python */

/* The kernel fires no clock event more often than every 10 us. This is the next prime. */
#define PERF_PERIOD_MIN_NS UINT64_C(10007)

/* What works here: found by trying, never by version. */
struct perf_means {
	bool has_read;	 /* the counter's value comes with every sample, also on inherited events */
	bool has_lost;	 /* reads tell how much was lost */
	bool has_kernel; /* ticks in the kernel are delivered, with the kernel's part of the stack */
};

/* One event: a thread on a CPU, and by inheritance all that descends from the thread. */
struct perf_event {
	int fd; /* -1: closed as a duplicate */
	uint64_t id;
	pid_t tid;
};

/* All events of one period, in order of their ids. The empty value is all zero. */
struct perf_events {
	struct perf_event *items;
	size_t count, capacity;
	uint64_t period_ns;
	bool starts_at_exec; /* they are enabled by the process's next exec */
};

/* perf_event_open(2) for one thread on one CPU. Returns a descriptor, or -1 and errno. */
int perf_open_event(struct perf_event_attr *attr, pid_t tid, int cpu);

/* Tries on our own thread what the kernel allows. `switched_off` as in struct sampler_settings. Three-line errors. */
int perf_means_find(struct perf_means *out, const char *switched_off, struct err *err);

/* May our own thread have the plainest of events? 0 or -errno. */
int perf_try_own(void);

/* Is `word` in the comma list? `list` may be NULL. */
bool perf_is_switched_off(const char *list, const char *word);

/* The attributes of our events: CPU clock, copied stacks, side records. They begin disabled. */
struct perf_event_attr perf_sampling_attr(const struct perf_means *means, uint64_t period_ns);

/* Opens one thread's events, one a ring, and leads their output there; disabled. All or none. -errno only: -ESRCH when
 * the thread has ended. */
int perf_events_add(struct perf_events *events, const struct perf_means *means,
		    const struct perf_rings *rings, pid_t tid);

/* Starts or stops all events, with everything that inherited them. */
void perf_events_enable(struct perf_events *events);
void perf_events_disable(struct perf_events *events);

/* The events' counters, with those of all that inherited them: CPU time in ns and records lost. */
void perf_events_count(const struct perf_events *events, uint64_t *out_clock_ns,
		       uint64_t *out_lost);

/* Closes the events opened on the same thread as the event with this id. What they counted is not kept: an elder event
 * counted the same time. */
void perf_events_drop(struct perf_events *events, uint64_t id);

/* Accepts the empty value, and may run twice. */
void perf_events_close(struct perf_events *events);

/* Raises the soft limit of open files to the hard one. */
void perf_raise_file_limit(void);

/* Can `more` files be opened beside `open_files`? */
bool perf_has_room_for_files(size_t more, size_t open_files);

/* The largest prime number of ns at or below 0.9382 of `period_ns`, at least PERF_PERIOD_MIN_NS. What cannot be jittered
 * must not beat with the rhythm of the watched program, and programs like round times: 9,999,991 ns would drift
 * through a rhythm of 10 ms once in three hours, 9,381,949 ns do in 16 ticks, and step through one of 1 ms by the
 * golden section. */
uint64_t perf_prime_period(uint64_t period_ns);

/* The same, but not below what the kernel allows now (kernel.perf_event_max_sample_rate; it lowers that by itself when
 * ticks take long): ticks beyond it would be throttled. */
uint64_t perf_period_in_reach(uint64_t period_ns);

/* Say in three lines why an event on process `pid` (0: on ourselves), or the rings, cannot be had. Return the code. */
int perf_explain_event(int code, pid_t pid, struct err *err);
int perf_explain_ring(size_t cpus, struct err *err);

/* The same of a thread's number where a process's is wanted; any engine's. */
int perf_explain_thread(pid_t tid, pid_t pid, struct err *err);

#endif
