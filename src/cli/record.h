/* record.h - the rooms of `tare record` among themselves: settings, the session, its words. */
#ifndef TARE_CLI_RECORD_H
#define TARE_CLI_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/record_tasks.h"
#include "cli/run.h"
#include "core/charge.h"
#include "core/price.h"
#include "core/profile.h"
#include "sense/sampler.h"
#include "sense/waits_source.h"

/* What the options say. */
struct record_opts {
	struct run_opts run;
	uint64_t every_ns, slots;
	const char *engine; /* NULL: the best one that is permitted */
	const char *clock;  /* "cpu" or "wall" */
	bool is_full, asks_servers;
	struct task_opts tasks;
};

/* ---- record_session.c: engine, profile and price of one recording ---- */

struct session {
	struct run run;
	const struct record_opts *opts;
	const struct sampler_ops *engine;
	struct sampler *sampler;
	struct profile *profile;
	struct record_tasks tasks;
	uint32_t task;	  /* of the tick in hand */
	bool is_run_kept; /* the run's profile wanted it */
	struct price price;
	struct waits_source *waits; /* NULL: only what runs is recorded */
	uint32_t waits_rate;
	uint64_t waits_own_ns, waits_kernel_ns;		 /* of the open window; and ever */
	uint64_t waits_walk_ns;				 /* of that, ever, looking */
	struct mono waits_slice_start, waits_rest_until; /* in slices; rest_until 0: not resting */
	char engine_name[16], clock_name[8], children[128], kernel_stacks[256];

	uint64_t kept_at_save;
	uint64_t aside_seen_ns; /* of facts.aside_ns, booked as fixed */
	uint64_t table_seen_ns; /* of facts.table_ns, booked as start-up */
	uint64_t lost_seen;	/* samples that the sink was told of */
	uint64_t ticks_at_window, kept_at_window, lost_at_window;
	struct charge_costs costs;
	uint64_t switches, switches_at_window, cpu_ns, cpu_at_window_ns;
	uint64_t ran_ns, waited_ns; /* facts of that name */
	uint64_t still_ns;	    /* of the open window's charge: what no period makes less */
	uint64_t stopped_ns, stopped_at_window_ns; /* facts.stopped_ns */
	uint64_t copying_seen_ns;		   /* of facts.copying_ns, booked as sampling */
	bool is_kernel_measured;		   /* and kernel_ns, facts too */
	uint64_t kernel_ns, kernel_at_window_ns;
	uint64_t engine_ticks; /* of the open window, without the parts of waits */
};

/* Sampling as an instrument; its session is a struct session. */
extern const struct instrument record_instrument;

/* ---- record_engine.c: which engine ---- */

/* Is there an engine of this name? NULL is fine. -EINVAL. */
int record_engine_check(const char *name, struct err *err);

/* Opens the engine that was named; else perf, or ptrace where a filter of system calls (as in containers) forbids that, which is said
 * in one line. Sets s->engine and s->sampler. */
int record_engine_open(struct session *s, const struct sampler_settings *settings, struct err *err);
/* ---- record_waits.c: where the job waits, beside what it runs (--clock wall) ---- */

/* Does --clock ask for it? -EINVAL: it asks for a clock that there is not. */
int record_waits_check(const struct record_opts *o, struct err *err);

/* Opens what sees waits, beside the open engine. Does nothing with --clock cpu. */
int record_waits_open(struct session *s, pid_t pid, struct err *err);

/* What a window took for it; how many waits may be looked at in the next; and where seeing switches alone is over the price, whether
 * any are seen in it. `sink` takes what a slice that ends gives. */
void record_waits_close_window(struct session *s, const struct sampler_sink *sink);

/* The label's part: the clock is then the threads' wall time. */
void record_waits_label(struct session *s);

/* ---- record_label.c: the facts that only a sampled run has ---- */

/* What the engine knows now; also books what its drains spent beside samples. */
void record_label_engine(struct session *s);

/* What measuring took up to now, part by part. */
void record_label_price(struct session *s);

/* All of it, for a save. */
void record_label_now(struct session *s);

/* ---- record_words.c: the status line and the summary; as struct instrument has them ---- */

/* One status line, without its end of line, cut for `columns` (0: as long as it is). */
void record_status(const void *session, struct mono now, unsigned columns, char *out, size_t size);

/* The last words of a recording, on app->talk. */
void record_summary(const void *session);

/* The same as one line of JSON on app->out (--json). */
void record_json(const void *session);

#endif
