/* probes_parts.h - what the files of probes share. */
#ifndef TARE_SENSE_PROBES_PARTS_H
#define TARE_SENSE_PROBES_PARTS_H

#include "bpf/watch.h"
#include "sense/exits.h"
#include "sense/probes.h"
#include "sense/watch_calibrate.h"

/* Ways to attach, best first. */
enum probes_mode { PROBES_SESSION, PROBES_MULTI, PROBES_SINGLE };
#define PROBES_MODES 3

struct watch_bpf; /* generated: the programs and their maps */
struct bpf_link;
struct bpf_program;
struct ring_buffer;

/* How a timed call's end is seen. */
enum probes_end {
	PROBES_END_NONE,   /* it is not: the point is only counted, or a frame's */
	PROBES_END_RETURN, /* by a return probe */
	PROBES_END_EXITS,  /* by probes where the function is left: an exception may pass it */
};

/* Points attached together: one file's, or one alone. -1: none. */
struct probes_link {
	int entry_fd, return_fd;
	int plain_fd, exits_fd;		/* PROBES_END_EXITS: entries beside sessions, and exits */
	struct bpf_link *entry, *leave; /* PROBES_SINGLE, as is the next */
	struct bpf_link *exits[EXITS_MOST];
	uint32_t number; /* from 1; goes with each hit */
	bool is_open;
};
#define PROBES_LINK_EMPTY \
	((struct probes_link){ .entry_fd = -1, .return_fd = -1, .plain_fd = -1, .exits_fd = -1 })

/* What is read of one point at one time, all CPUs added up; ever growing. */
struct probes_sum {
	uint64_t calls; /* without timed ones that go on */
	uint64_t firsts, first_ns, first_nested_ns;
	uint64_t others, weights, weights_squared, weighted_ns, nested_ns;
	struct bucket_squares squares;
	uint64_t probe_ns, abandoned, backwards, clamped;
	uint64_t still_open; /* when nothing comes any more */
};

/* Own time of the ended window, and what estimates took too much of it so far. */
struct probes_own {
	uint64_t window_ns, debt_ns;
};

struct probes_point {
	const struct place *place; /* borrowed */
	bool is_frame;
	bool is_counted;    /* and not timed */
	const char *mode;   /* is_counted: "counting: ", and why; static, or the source's */
	struct exits exits; /* none: a return probe shows its end */
	uint32_t link;	    /* NO_LINK: not attached */
	char why_not[64];   /* empty: none */
	struct probes_sum last, window; /* as of the last turn; what the ended window adds */
	struct probes_own first_own, own;
	uint64_t clamped;  /* of the ended window: own times below 0 */
	uint64_t given_up; /* calls that were open when it was detached */
	uint64_t max_ns;
	uint32_t interval;		 /* the largest of the ended window */
	uint64_t peek_calls, peek_timed; /* when the running window began */
	uint64_t *histogram;		 /* last; NULL: nothing was timed yet */
	uint64_t *steps;		 /* what the ended window adds; NULL likewise */
};
#define NO_LINK UINT32_MAX

struct probes_costs {
	struct watch_costs costs;
	bool is_measured; /* it was tried */
	bool is_told;	  /* since it was measured last */
};

/* The child that measures on, of one way to attach. */
struct probes_measure {
	struct watch_calibration *calibration; /* NULL: none lives */
	uint64_t told_cpu_ns;		       /* of its CPU time */
};

struct watch_source {
	enum probes_mode mode;
	char hook_why[256];
	pid_t pid;
	int pid_fd; /* -1: not known */
	struct watch_bpf *bpf;
	struct watch_control *control; /* mapped, as are the next three */
	struct watch_point *orders;
	struct watch_counter *counters;
	struct watch_histogram *histograms;
	struct ring_buffer *slow; /* NULL: no frames */
	struct bpf_link *at_exit, *at_exec;
	struct watch_counter *held; /* of each counter the last whole reading */
	struct probes_point *points;
	uint32_t point_count, cpu_count, frame_point;
	struct probes_link *links;
	uint32_t link_count, link_room, link_number;
	uint64_t start_ns, attach_ns, detach_ns, torn;
	struct probes_costs costs[WATCH_HOOKEDS][PLACE_FIRSTS];
	uint64_t calibration_ns; /* CPU time of the last one, until it is told */
	struct probes_measure measures[WATCH_HOOKEDS];
	char *switched_off; /* NULL: nothing is */
	char switches[192]; /* the mode of what is only counted because stacks may be switched */
	struct watch_frame *waiting; /* the slow frame that was taken last */
	bool has_waiting;
};

/* ---- probes_load.c ---- */

/* Finds the best way to attach and loads its programs. -EPERM, -ENOTSUP, -ENOMEM. */
int probes_load(struct watch_source *s, const struct watch_source_settings *settings, bool is_empty,
		struct err *err);

/* Unloads; accepts what was never loaded, and may run twice. */
void probes_unload(struct watch_source *s);

/* How the end of a point's calls is seen. */
enum probes_end probes_end_of(const struct probes_point *point);

/* The program for entries of calls that end as `end` says, or the one for their ends; a session is both. */
struct bpf_program *probes_program(const struct watch_source *s, enum probes_end end, bool is_end);

/* The ring of slow frames; `take` gets each. NULL: no memory. */
struct ring_buffer *probes_open_ring(struct watch_source *s,
				     int (*take)(void *owner, void *record, size_t bytes));

/* "session", "entry+return", "entry+return, one by one". Static. */
const char *probes_mode_name(enum probes_mode mode);

/* ---- probes_multi.c: what libbpf does not know yet ---- */

#define PROBES_TYPE_MULTI   48u /* BPF_TRACE_UPROBE_MULTI */
#define PROBES_TYPE_SESSION 57u /* BPF_TRACE_UPROBE_SESSION */

/* A multi link to make: `count` places of one file. */
struct probes_multi {
	int program;
	uint32_t type;
	bool is_return;
	pid_t pid; /* only this process */
	const char *path;
	const uint64_t *offsets, *cookies;
	uint32_t count;
};

/* A descriptor, or a negative errno: -EINVAL, -ENOENT and -EBADF for the file, -ESRCH, -EPERM. */
int probes_multi_create(const struct probes_multi *multi);

/* Does the kernel know this type of link? Attaches nothing. */
bool probes_multi_is_known(int program, uint32_t type);

/* ---- probes_link.c ---- */

/* Attaches all points that have no why_not, each file's in one link where that can be. Those that cannot be attached get a
 * why_not. -ENOMEM. */
int probes_attach_all(struct watch_source *s);

/* Attaches one point alone. */
int probes_attach_one(struct watch_source *s, uint32_t point, struct err *err);

/* Detaches one point; others that are in the same link move to a new one, and none of their calls is lost or counted
 * twice. */
int probes_detach_one(struct watch_source *s, uint32_t point, struct err *err);

/* Closes all links. May run twice. */
void probes_detach_all(struct watch_source *s);

/* ---- probes_read.c ---- */

/* watch_source_ops.turn(): reads all points; the window that ends is what came since the last time. -ENOMEM: it goes on. */
int probes_read_window(struct watch_source *s, bool is_last);

/* Calls and timed calls of a point that were ever begun. */
void probes_read_begun(const struct watch_source *s, uint32_t point, uint64_t *out_calls,
		       uint64_t *out_timed);

/* Timed calls of a point that have begun and not ended. */
uint64_t probes_read_open(const struct watch_source *s, uint32_t point);

/* ---- probes_costs.c ---- */

/* What calls of a point cost in its way to attach as far as it is known from other machines. All members are set; `measured`
 * is 0. */
struct watch_costs probes_assumed(const struct watch_source *s, uint32_t point);

/* watch_source_ops.costs() */
int probes_costs(struct watch_source *s, uint32_t point, bool again, struct watch_costs *out);

/* watch_source_ops.measure() */
uint64_t probes_measure(struct watch_source *s);

/* Ends the children that measure. May run twice. */
void probes_end_measures(struct watch_source *s);

/* ---- probes_read.c, for ops ---- */

/* What the ended window holds of a point: watch_source_ops.seen(). */
int probes_seen(struct watch_source *s, uint32_t point, uint64_t span_ns, struct calls_seen *out,
		struct histogram *histogram, struct watchlist_losses *losses);

#endif
