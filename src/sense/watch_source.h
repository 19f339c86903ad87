/* watch_source.h - the seam for what counts and times calls: probes in the kernel, or libtare inside the process. Both give
 * the same rows, window by window. A source has points, numbered 0 … points - 1, that stay; a later point may appear. One
 * thread. */
#ifndef TARE_SENSE_WATCH_SOURCE_H
#define TARE_SENSE_WATCH_SOURCE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/calls.h"
#include "core/err.h"
#include "core/frames.h"
#include "core/pace.h"
#include "core/recording.h"
#include "core/watchlist.h"
#include "sense/places.h"
#include "sense/stacks.h"

struct watch_source; /* opaque, one a kind */

struct watch_source_settings {
	pid_t pid;
	const struct places *
		places; /* probes: those without why_not become points, in order; borrowed until close */
	const struct place *frame; /* probes: --frame; the time between two entries. May be NULL */
	uint32_t interval;	   /* given: in force from the start */
	uint64_t slow_ns;
	uint64_t start_ns; /* CLOCK_MONOTONIC of elapsed time 0 */
	const struct stacks_program *
		stacks; /* probes: without sessions only counts calls where this can switch stacks; NULL: it cannot */
	bool only_counts; /* probes: every call is counted, none timed */
	bool times_throwers; /* probes: time also what an exception may pass, which then ends the program */
	const char
		*switched_off; /* from TARE_NO: "session", "multi", "bpf", "rdtsc"; may be NULL */
};

/* What one call costs, measured in a child of ours in the mode in use. */
struct watch_costs {
	struct pace_costs measured; /* 0: unmeasured */
	struct pace_costs assumed;
	uint64_t floor_ps; /* what an empty function reads as; 0: unmeasured */
	uint64_t
		cpu_ns; /* that measuring took, of our own processes; 0 where an older measurement is told again */
};

/* What holds for a point from now on. */
struct watch_order {
	uint32_t interval;
	uint32_t
		budget; /* timed calls in a window until the interval doubles: pace_share_timed(); 0: no end */
	uint64_t
		untimed_ps; /* counting and hook: what a probe inside another timed call is taken off for */
	uint64_t timed_ps; /* the same of a timed one */
};

/* What a source says for the label. Strings are static or live until close. */
struct watch_source_facts {
	const char *name;     /* "probes", "in process" */
	const char *hook;     /* watch_row.hook */
	const char *hook_why; /* watch_row.hook_why */
	const char *clock;
	const char *scope;
	uint64_t attach_ns, detach_ns; /* the slowest seen */
	uint64_t lost_names, lost_places, lost_calls, lost_slow, lost_returns, torn, expired;
	bool is_over; /* nothing more can come */
};

struct watch_source_ops {
	const char *name;
	/* Sets up; nothing is counted before start(). */
	int (*open)(const struct watch_source_settings *settings, struct watch_source **out,
		    struct err *err);
	/* Points so far; grows. */
	uint32_t (*points)(struct watch_source *s);
	/* Fills kind, name, symbol, module, pattern, mode, first, offset and why_not of a point. Strings live until close. */
	void (*describe)(struct watch_source *s, uint32_t point, struct watched_row *out);
	/* Measures what a call of this point's mode costs, in a child of ours; a mode is measured once and then again with
	 * `again`: what measure() has gathered meanwhile, where its child lives. A failing body gives 0: unmeasured. */
	int (*costs)(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out);
	/* Measures a little more, for costs(), in children of ours that live as long as the source. Returns the CPU time that
	 * those which live have taken so far; 0: there is none. May be NULL. */
	uint64_t (*measure)(struct watch_source *s);
	/* Attaches everything; the first window begins. A point that cannot be attached gets a why_not. */
	int (*start)(struct watch_source *s, struct err *err);
	/* In force at once. */
	void (*order)(struct watch_source *s, uint32_t point, const struct watch_order *order);
	/* Detaches a point, or attaches it again: slices. Nothing of the others is lost. -ENOTSUP in process. */
	int (*attach)(struct watch_source *s, uint32_t point, bool is_on, struct err *err);
	/* A look that costs next to nothing: calls and timed so far in this window. Also the sign of life in process. */
	void (*peek)(struct watch_source *s, uint32_t point, uint64_t *out_calls,
		     uint64_t *out_timed);
	/* Ends the window and begins the next. With `is_last` nothing comes after it: calls that are open then count in it, as
	 * calls_seen.still_open. */
	int (*turn)(struct watch_source *s, bool is_last);
	/* What a point did in the ended window of `span_ns`; covered_ns is the caller's for slices, else span_ns. Adds to
	 * `histogram`, which is the caller's. -ENOMEM. */
	int (*seen)(struct watch_source *s, uint32_t point, uint64_t span_ns,
		    struct calls_seen *out, struct histogram *histogram,
		    struct watchlist_losses *losses);
	/* Takes a slow frame that waits: parts by point. False: none. */
	bool (*take_slow)(struct watch_source *s, struct frames_frame *out, uint32_t *out_tid,
			  uint64_t *out_number);
	void (*facts)(struct watch_source *s, struct watch_source_facts *out);
	void (*close)(struct watch_source *s); /* detaches all; accepts NULL */
};

extern const struct watch_source_ops watch_source_probes; /* BPF: probes.c */
extern const struct watch_source_ops watch_source_inside; /* libtare: inside.c */

#endif
