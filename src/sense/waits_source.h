/* waits_source.h - where watched threads wait, for how long and why, beside an engine that samples them while they run. A program
 * in the kernel sees every switch (bpf/waits.h); looks, twice a second, take the exact sums of each thread; what a wait weighs is
 * core/waits.h's to say. A wait of over a second that was not looked at when it began is visited from outside while it lasts: its
 * stack does not change. One thread. */
#ifndef TARE_SENSE_WAITS_SOURCE_H
#define TARE_SENSE_WAITS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "sense/sampler.h"

struct waits_source; /* opaque */

struct waits_source_settings {
	pid_t pid;	     /* watched with all its threads and, from now on, its children */
	bool starts_at_exec; /* from its next exec on */
	struct mono start;   /* elapsed time 0 of the task */
	const struct sampler_ops *engine; /* whose address spaces and threads these are; borrowed */
	struct sampler *sampler;
	const char
		*switched_off; /* comma list for tests, from TARE_NO: "bpf", "waits"; may be NULL */
};

/* What the label and the ledger say. Counts since the start. */
struct waits_facts {
	uint64_t switches;  /* of watched threads: away from a CPU */
	uint64_t looks;	    /* waits that were looked at when they began */
	uint64_t visits;    /* that were visited from outside */
	uint64_t lost;	    /* records that found the ring, or our memory, full */
	uint64_t unread;    /* stacks that could not be read */
	uint64_t kernel_ns; /* what the programs in the kernel took */
	uint64_t walk_ns;   /* of it, looking: what the rate makes less */
	bool is_kernel_told; /* false: the kernel does not say; kernel_ns is what copying took, at least */
	uint64_t exact_ns[STATE_COUNT]; /* of all threads together */
	uint64_t rest_ns;		/* of it, what no look has covered (yet) */
};

/* Begins to watch. Three-line errors: -EPERM, -ENOTSUP, -ENOMEM, -ESRCH. */
int waits_source_open(const struct waits_source_settings *settings, struct waits_source **out,
		      struct err *err);

/* When it is to be taken from again. */
struct mono waits_source_wakes_at(const struct waits_source *s);

/* Takes what there is when that is due: waits that have ended, and parts of long ones, go to the sink. */
void waits_source_take(struct waits_source *s, const struct sampler_sink *sink);

/* Before the engine takes what it has: threads that it is about to forget are known to it up to then. */
void waits_source_peek(struct waits_source *s, const struct sampler_sink *sink);

/* A process is about to be forgotten by the engine: what is held of its stacks goes to the sink while they can be walked. */
void waits_source_forget(struct waits_source *s, uint32_t pid, const struct sampler_sink *sink);

/* Takes the last: waits under way end now, and what no look has covered goes to a path of its own. */
void waits_source_end(struct waits_source *s, const struct sampler_sink *sink);

/* A slice ends: nothing is seen any more, waits under way end for now and are given. The sums of threads go on. */
void waits_source_rest(struct waits_source *s, const struct sampler_sink *sink);

/* The next slice begins; what is seen in it stands for `scale_ppm` millionths of itself. -errno: it rests on. */
int waits_source_resume(struct waits_source *s, uint64_t scale_ppm);

/* So many looks a second at most, of all threads together. */
void waits_source_set_rate(struct waits_source *s, uint32_t looks_a_second);

/* What the label and the ledger say now. */
void waits_source_facts(struct waits_source *s, struct waits_facts *out);

/* Accepts NULL. */
void waits_source_close(struct waits_source *s);

/* Why a thread waits, as the last frame of its path: "[waits for a lock]". `why` is enum waits_why, `syscall` a number of x86-64, or
 * WAITS_NO_SYSCALL. Static. */
struct str waits_why_text(uint32_t why, uint32_t syscall);

#endif
