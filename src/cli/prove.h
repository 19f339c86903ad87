/* prove.h - the rooms of `tare prove` among themselves: settings, the pairs, how a run is made, the words. */
#ifndef TARE_CLI_PROVE_H
#define TARE_CLI_PROVE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/app.h"
#include "core/prove.h"
#include "core/text.h"
#include "core/units.h"

#define PROVE_RUNGS 2u	/* the price, and PROVE_TIMES the price */
#define PROVE_TIMES 20u /* there what measuring takes stands out of what runs differ by */

/* What the options say. Strings are borrowed from argv. */
struct prove_opts {
	bool is_watch, is_json, is_quiet;
	uint64_t price_ppm, pairs, limit_ns, seed;
	const char *engine; /* of record; NULL: what it takes by itself */
	char **patterns;    /* functions to watch */
	size_t pattern_count;
	char **command;
};

/* One price at which the job is measured, all else being what the instrument does at that price. */
struct prove_rung {
	uint64_t price_ppm;
	bool is_dear; /* PROVE_TIMES the price: and enough looks to spend it */
};

/* One run of the job. */
struct prove_run {
	struct job_spent job;
	int status; /* the job's own */
	/* of a run with measuring */
	uint64_t own_cpu_ns;   /* of all our processes, by the kernel */
	uint64_t label_cpu_ns; /* the same by the label */
	uint64_t elapsed_ns;   /* of the recording */
	uint64_t claim_ns;     /* of the job's CPU time, by the label: ours */
	bool has_claim;	       /* false: the label says that this was not measured */
};

/* How runs are made; a test makes them up. */
struct prove_maker {
	void *owner;
	/* Runs the job without measuring (`rung` NULL) or with. -EINTR: the user has had enough. */
	int (*run)(void *owner, const struct prove_rung *rung, struct prove_run *out,
		   struct err *err);
	struct mono (*now)(void *owner);
	/* Told before each two pairs: `done` of `pairs`, and about how long the rest will take. */
	void (*progress)(void *owner, uint32_t done, uint32_t pairs, uint64_t rest_ns);
};

/* What came out at one price. */
struct prove_outcome {
	struct prove_rung rung;
	struct prove_pair *cpu, *wall; /* owned */
	uint32_t pairs;
	uint64_t own_cpu_ns, label_cpu_ns, elapsed_ns; /* sums over the runs with measuring */
	struct prove_found found;		       /* of the CPU time */
	struct prove_slowdown later;		       /* of the time from start to end */
};

struct prove {
	struct prove_outcome outcomes[PROVE_RUNGS];
	bool *is_with_first;  /* owned: by pair */
	uint64_t run_cpu_ns;  /* the job's, in the first run, which counts for nothing else */
	const char *ended_by; /* "pairs", "time", "interrupt"; static */
};

/* ---- prove_pairs.c: runs in pairs, and what they say ---- */

/* Runs a first time for nothing, then the pairs at both prices in turn, until there are enough of them or the time is over.
 * -EINVAL: the job does not end the same way each time; -ENOMEM; or what the maker says. */
int prove_pairs(const struct prove_opts *opts, const struct prove_maker *maker, struct prove *out,
		struct err *err);

/* Accepts the empty value, and may run twice. */
void prove_free(struct prove *p);

/* EXIT_NO: a label is outside its interval; EXIT_OK: that of the dear price is inside; else EXIT_TROUBLE: it cannot be told. */
int prove_status(const struct prove *p);

/* ---- prove_run.c: real runs ---- */

struct prove_place {
	struct app *app;
	const struct prove_opts *opts;
	char folder[4096]; /* "": none */
	sigset_t old_mask;
	int signals;   /* signalfd; -1: none */
	bool has_line; /* a line of progress stands on the terminal */
};

/* Makes a folder of its own for the recordings and takes signals over. */
int prove_place_open(struct prove_place *p, struct err *err);

/* Gives both back. Accepts a half-open place, and may run twice. */
void prove_place_close(struct prove_place *p);

/* The maker of real runs. Each is a process group of its own, its input and output are nobody's. */
struct prove_maker prove_place_maker(struct prove_place *p);

/* ---- prove_report.c ---- */

/* Prints what came out, and the verdicts. -ENOMEM. */
int prove_print(struct app *app, const struct prove_opts *opts, const struct prove *p);

/* The same as one JSON object. 0, -EIO or -ENOMEM. */
int prove_print_json(struct app *app, const struct prove_opts *opts, const struct prove *p);

#endif
