/* bpf.h - engine `bpf` between its own files: samples are taken and walked in the kernel (bpf/record.bpf.c); life and files are
 * followed as engine `perf` follows them. Its contract is struct sampler_ops in sampler.h. One thread. */
#ifndef TARE_SENSE_BPF_H
#define TARE_SENSE_BPF_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "sense/perf.h"
#include "sense/space.h"
#include "sense/tables.h"

struct bpf_link;
struct record_bpf;  /* the loaded programs: bpf/record.skel.h */
struct ring_buffer; /* libbpf's */

/* The rows in the kernel. Numbers are never used again, so that a reader there never takes one chunk for another. */
struct bpf_rows {
	int chunks;	/* descriptor of the map, borrowed */
	uint32_t last;	/* number given last */
	uint32_t first; /* lower numbers are gone */
	uint64_t full;	/* times that all was thrown away because there was no room */
};

/* A process whose code the kernel did not know in this drain. */
struct bpf_want {
	uint32_t pid, life;
};

#define BPF_WANTS 64u

/* A thread's end that was told. It still runs for some µs and may be sampled then, so it is known for one drain more. */
struct bpf_end {
	uint32_t tid;
	uint64_t at_ns;
};

struct bpf_sampler {
	struct sampler base; /* first: struct sampler of the seam; no events of its own */
	struct record_bpf *programs;
	struct ring_buffer *ring;
	struct bpf_link **ticks; /* a CPU each */
	int *tick_fds;		 /* borrowed from them */
	int *side_fds;		 /* events that tell of life, a CPU each */
	uint32_t tick_count, side_count;
	int timer;    /* timerfd: when to look at the ring */
	int stats_fd; /* as long as it is open the kernel counts what programs take; -1: it does not */
	uint64_t period_ns, ticks_given;
	uint64_t walked_count,
		walked_bytes; /* records whose walk was not left, with all the ring needs for them */
	bool is_quiet;	      /* nothing came: look less often */
	uint64_t bare_tick_ps;	       /* of coming to our program and back; 0: unmeasured */
	uint64_t due;		       /* ticks of all CPUs so far, by the clock */
	uint64_t due_since_ns, due_ns; /* counted up to then; left of a period */
	struct bpf_rows rows;
	uint32_t last_space, last_life;
	struct bpf_want wants[BPF_WANTS];
	uint32_t want_count;
	struct bpf_end *ends;
	size_t end_count, end_room;
	size_t end_due; /* so many of them are of the drain before */
	/* Where walks are checked (TARE_NO=trust): those compared with one over a copy of the stack, and those that differ. */
	struct frame *other;
	uint64_t compared, unlike;
	uint64_t torn; /* records that make no sense */
	/* While a drain goes on. */
	const struct sampler_sink *sink;
	struct err *err;
	int drained; /* 0, or why it ended */
};

/* ---- bpf_load.c ---- */

/* Loads the programs, but for the ticks. Errors are three lines. */
int bpf_load(struct bpf_sampler *b, struct err *err);

/* Begins to tick, on every CPU of the rings. */
int bpf_start(struct bpf_sampler *b, uint64_t period_ns, struct err *err);

/* Closes all of that. May run twice. */
void bpf_unload(struct bpf_sampler *b);

/* What the programs themselves count; all zero before they are loaded. */
struct record_counts bpf_counts(const struct bpf_sampler *b);

/* CPU time that they took so far, on whomever's account. */
uint64_t bpf_took_ns(const struct bpf_sampler *b);

/* Enters a process into the tree, if it is not in it. -errno. */
int bpf_enter(struct bpf_sampler *b, pid_t pid, bool is_waiting);

/* Says what a thread ran before it was watched. */
void bpf_ran_before(struct bpf_sampler *b, pid_t tid, uint64_t ran_ns);

/* ---- bpf_rows.c ---- */

/* The number of the root of a file's rows, which are brought to the kernel first if they are not there; 0: it has none. False:
 * there is no room for them. */
bool bpf_rows_root(struct bpf_rows *rows, struct module *module, uint32_t *out_root);

/* A row as the kernel has it. */
uint32_t bpf_rows_rule(const struct tables *t, const struct row *row);

/* Throws all away; what is needed is brought anew. */
void bpf_rows_forget(struct bpf_rows *rows);

/* ---- bpf_offer.c ---- */

/* A process's code was unknown: it will be told at the end of the drain. */
void bpf_want(struct bpf_sampler *b, uint32_t pid, uint32_t life);

/* Tells what is wanted and known by now. */
void bpf_offer_wanted(struct bpf_sampler *b);

/* A process has ended. */
void bpf_withdraw(struct bpf_sampler *b, uint32_t pid);

/* ---- bpf_follow.c ---- */

/* Opens the events that tell of life. */
int bpf_follow_open(struct bpf_sampler *b, struct err *err);

/* Forgets threads whose end was told in the drain before. */
void bpf_follow_ends(struct bpf_sampler *b);

/* Takes what they told up to `at_ns`. Only watched processes count. */
int bpf_follow_until(struct bpf_sampler *b, uint64_t at_ns);

/* The sink of the drain as far as life goes; what the kernel must know of it is told there too. */
struct sampler_sink bpf_follow_sink(struct bpf_sampler *b);

/* Closes them. May run twice. */
void bpf_follow_close(struct bpf_sampler *b);

/* ---- bpf_take.c ---- */

/* A record of the ring, as libbpf hands it over; `owner` is the sampler. Negative ends the look. */
int bpf_take(void *owner, void *record, size_t bytes);

#endif
