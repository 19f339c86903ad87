/* recording.h - a recording as plain rows: what the instruments hand to the store, and what the store hands
 * to report, serve and export. Every struct here has its table in fields.h. */
#ifndef TARE_CORE_RECORDING_H
#define TARE_CORE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counter.h"
#include "core/frame.h"
#include "core/histogram.h"

#define BATCH_COUNT 32
#define NO_ID	    UINT32_MAX /* absent: a root's parent, an empty slot's context; NULL in the store */
#define TASK_RUN    1u	       /* the task that is the whole run; named tasks get ids above */

/* A trie node: one frame under its parent. */
struct node_row {
	uint32_t id;
	uint32_t parent; /* NO_ID: a root */
	uint32_t frame;
};

struct frame_row {
	uint32_t id;
	uint32_t kind; /* enum frame_kind */
	uint32_t pid, tid, line;
	struct str name, module, file;
};

/* One equal span of elapsed time. */
struct slot_row {
	uint32_t task, id; /* id: 0 is the start */
	uint32_t node;	   /* NO_ID: nothing was kept here */
	uint64_t running_ns, waiting_ns, runnable_ns;
	uint64_t unsampled_ns; /* of the group still open when it was saved */
	uint32_t kept, lost;
};

/* One full path over the whole run. */
struct context_row {
	uint32_t task, id;
	uint32_t node;
	uint64_t certain_ns, uncertain_ns;
	uint64_t running_ns, waiting_ns, runnable_ns;
	uint64_t kept;
	uint64_t batch_ns[BATCH_COUNT];
};

/* ---- tasks ---- */

/* What a task is known by. Stored in recordings: numbers never change. */
enum task_kind {
	TASK_MARK = 0,	  /* the job said so: tare mark, or a datagram to $TARE_SOCKET */
	TASK_PROCESS = 1, /* a process, or one more program in it */
	TASK_FRAME = 2,	  /* the callee of a named frame */
};
#define TASK_KIND_COUNT 3

/* How a task stands. Stored in recordings: numbers never change. */
enum task_state {
	TASK_RUNNING = 0, /* when the recording was last saved */
	TASK_ENDED = 1,	  /* its end was seen */
	TASK_CUT = 2,	  /* its process ended in it: there is what had been seen by then */
};
#define TASK_STATE_COUNT 3

/* A named part of the run, with a profile of its own that began at the base. Its slots and contexts are those with its
 * number. */
struct task_row {
	uint32_t id; /* above TASK_RUN, in the order of their beginnings */
	uint32_t kind, state;
	uint32_t pid, parent_pid; /* NO_ID: not known */
	struct str name;
	uint64_t begin_ns; /* elapsed */
	uint64_t end_ns;   /* elapsed; of one that runs: when it was last seen */
	struct counter
		cpu_ns; /* of its processes, by the kernel's account; NOT_MEASURED: could not be read */
	uint64_t weight_ns; /* of its samples */
	uint64_t ticks, kept, lost, one_in;
	uint32_t slot_count; /* most slots it may have now; 0: no tick fell into it */
	uint64_t slot_ns;
	uint32_t batches;
	uint64_t merges;
	struct counter rss_bytes;	 /* the most that was seen resident */
	uint64_t rss_batch[BATCH_COUNT]; /* the same over equal spans of the task */
	uint64_t rss_batch_ns;		 /* such a span; 0: none was seen */
};

/* How often a name ran, whether or not its tasks are still there. */
struct task_name_row {
	uint32_t id;
	struct str name;
	uint64_t begun, ended;
	uint64_t total_ns, longest_ns;	  /* of those that ended */
	uint64_t log2_count[BATCH_COUNT]; /* place i: 2^(14+i) ns up to 2^(15+i), ends open */
};

/* What measuring took in one window, by part. CPU time of our own unless said otherwise. */
struct ledger_row {
	uint32_t id;	    /* 0 is the start */
	uint64_t window_ns; /* length of the window */
	uint64_t sample_ns; /* handling ticks, unwinding and naming kept ones */
	uint64_t kernel_ns; /* taken on the target's account, calibrated: at least */
	uint64_t save_ns;   /* saves */
	uint64_t start_ns;  /* start-up: maps, tables, calibration */
	uint64_t fixed_ns;  /* the rest: status, waiting, side-band */
	uint64_t ticks, kept, lost;
	uint64_t period_ns; /* in force at the end of the window */
};

/* ---- watch ---- */

/* What a watched row is. Stored in recordings: numbers never change. */
enum watched_kind {
	WATCHED_PROBE = 0, /* a function of a binary, by a probe in the kernel */
	WATCHED_SCOPE = 1, /* TARE_WATCH of libtare */
	WATCHED_TASK = 2,  /* tare_task_begin() of libtare */
	WATCHED_FRAME =
		3, /* the time between two marks: tare_frame(), or two entries of --frame FUNC */
};

/* What is watched, or was asked for and is not. Costs are of one call, measured in a child of ours, the lowest of all
 * calibrations; one that reads 0 was not measured, and the assumed one is then charged. */
struct watched_row {
	uint32_t id;
	uint32_t kind;	    /* enum watched_kind */
	struct str name;    /* demangled */
	struct str symbol;  /* as the binary has it; empty in process */
	struct str module;  /* file name of the binary, without folders; empty in process */
	struct str pattern; /* what was asked for that chose it */
	struct str
		mode; /* "session", "entry+return", "counting: why", "in process"; empty: not watched */
	struct str first;    /* its first instruction: "nop5", "push", "other"; empty in process */
	struct str why_not;  /* empty while it is watched; else "not found", "inlined away", ... */
	uint64_t offset;     /* in the file */
	uint64_t untimed_ps; /* counting a call: our part */
	uint64_t extra_ps;   /* what timing adds */
	uint64_t hook_ps;    /* trap or trampoline, for every call */
	uint64_t floor_ps;   /* what an empty function reads as */
	uint64_t assumed_untimed_ps, assumed_extra_ps, assumed_hook_ps;
	uint64_t charged_ps; /* all its calls together */
	uint32_t interval;   /* in force at the end */
	uint64_t interval_changes;
	bool is_sliced;	     /* it was watched in slices at some time */
	uint64_t abandoned;  /* timed, and never ended: longjmp, throw, a thread's end */
	uint64_t still_open; /* to be timed, and still open when the recording ended */
	uint64_t backwards;  /* timed, and dropped: the clock went back */
	uint64_t clamped;    /* own times that came out below 0 */
};

/* What one watched row did in one window, or in neighbours that were merged: calls.h says what the members mean. Times
 * as read: the floor is not subtracted. */
struct window_row {
	uint32_t watched, at; /* spans window `at` x watch.windows_in_row and the next ones */
	uint64_t calls, never_timed, span_ns, covered_ns;
	uint64_t firsts, first_ns, first_own_ns;
	uint64_t others, weight, weight_squared, weighted_ns, weighted_own_ns;
	uint64_t probe_ns; /* time of probes inside timed calls, taken off; weighted */
	double variance_0, variance_1_ns, variance_2_ns2;
	uint64_t max_ns;
	uint32_t interval; /* the largest in force */
	struct histogram histogram;
};

/* A slow frame that was kept. parts + rest + other = duration. */
struct slow_row {
	uint32_t id;
	uint32_t tid;
	uint64_t number;   /* of its thread's frames, from 0 */
	uint64_t start_ns; /* elapsed */
	uint64_t duration_ns, rest_ns, other_ns;
	bool is_scaled;
	bool is_worst; /* one of the ten longest; else of the uniform sample */
};

struct slow_part_row {
	uint32_t slow, place; /* place 0 is the largest */
	uint32_t watched;
	uint64_t own_ns;
};

/* The part of the label that only a watch has. All zero in other recordings. */
struct watch_row {
	uint32_t id;	    /* 0 */
	struct str sources; /* "probes", "in process", "probes, in process" */
	struct str
		hook; /* "session", "entry+return", "entry+return, one by one"; empty without probes */
	struct str hook_why; /* why it is not the best one; empty when it is */
	struct str clock;    /* what times are read from */
	struct str
		scope; /* what is left out of it: "children are not watched"; empty for nothing */
	uint64_t window_ns;
	uint64_t windows; /* that ended */
	uint64_t windows_in_row;
	uint32_t interval_given, interval_most;
	uint64_t slow_ns; /* 0: no frame is slow */
	uint64_t frames, slow, scaled;
	uint64_t calls, timed;
	uint64_t charged_ps;	       /* on the target's account */
	uint64_t calibrations;	       /* of all modes in use, the first too */
	uint64_t attach_ns, detach_ns; /* the slowest seen */
	uint64_t allowed_rate;	       /* calls a second, with `refused`: what the price allows */
	uint32_t refused; /* watched row that is too hot for any interval; NO_ID: none */
	uint64_t lost_names, lost_places, lost_calls, lost_slow, lost_returns, torn, expired;
};

/* The label: one row of facts about the run. Every member is one field of table_recording. */
struct label {
	/* what ran */
	struct str instrument;	 /* "record" */
	struct str command;	 /* arguments joined by blanks, escaped for a shell where needed */
	struct str comm;	 /* short name of the first process */
	struct str host, kernel; /* uname -n, uname -sr */
	struct str tare_version;
	uint32_t pid;	  /* of the first process */
	bool is_attached; /* -p: it ran before us */
	uint32_t cpu_count;
	int64_t started_wall_ns; /* CLOCK_REALTIME */
	int64_t saved_wall_ns;	 /* of the last save */
	uint64_t elapsed_ns;	 /* CLOCK_MONOTONIC, start to the last save */
	bool is_finished;	 /* false: it was cut off; holds up to saved_wall_ns */
	struct str
		ended_by; /* "exit", "signal", "duration", "interrupt", "detached", "" while it runs */
	int64_t exit_status; /* of the command: 0..255, 128 + signal, or -1 for not known */
	/* how it was sampled */
	struct str engine;	 /* "perf" */
	struct str clock;	 /* "cpu" */
	uint64_t base_period_ns; /* asked for */
	uint64_t period_ns;	 /* in force at the end */
	uint64_t period_changes;
	bool is_jittered; /* else the period is a prime number of ns */
	bool is_derived;  /* weights from times of samples, not from the counter */
	struct str
		children; /* what is known to be unseen, "" for nothing: "under a period unseen" */
	struct str
		kernel_stacks; /* "" when they are in, else the reason: "not allowed: perf_event_paranoid is 2" */
	/* what was seen */
	uint64_t clock_ns;  /* CPU time of the task by the kernel's counter */
	uint64_t weight_ns; /* sum of all slots; clock_ns - weight_ns is (unsampled) */
	uint64_t ticks, kept;
	uint64_t one_in; /* D at the end */
	bool keeps_all;	 /* --full */
	uint64_t lost, lost_events,
		throttled; /* samples lost; gaps they came in; times the kernel throttled */
	uint64_t whole_stacks, broken_stacks, cut_stacks,
		unnamed_frames;	     /* of kept samples: reached the root;
				    stopped in the middle; deeper than the copy; frames without a symbol */
	uint64_t threads, processes; /* ever seen */
	/* its size */
	uint32_t slot_count; /* N */
	uint64_t slot_ns;    /* span of a slot now */
	uint32_t batches;    /* spans in use of a context's batches */
	uint64_t merges;     /* contexts merged */
	uint64_t size_limit_bytes;
	uint64_t saves, save_pauses, save_paused_ns; /* held up by a foreign reader */
	/* its price */
	uint64_t price_limit_ppm;
	uint64_t own_cpu_ns; /* of all our processes */
	uint64_t sample_ns, kernel_ns, save_ns, start_ns,
		fixed_ns;	 /* parts; kernel_ns is not in own_cpu_ns */
	uint64_t kernel_tick_ps; /* calibrated cost of one tick in the kernel; 0: unmeasured */
	uint64_t own_rss_bytes;	 /* the most we held */
	/* the coins */
	uint64_t rng_0, rng_1, rng_2, rng_3;
	uint32_t writer_pid; /* who records */
	/* what went wrong beside it */
	uint64_t unread_files;	   /* that the parser child died of, or hung over: unsymbolised */
	uint64_t clock_steps;	   /* CLOCK_REALTIME was set so often */
	int64_t clock_step_ns;	   /* the largest step; negative: back */
	uint64_t clock_step_at_ns; /* elapsed */
	uint64_t suspended_ns;	   /* the machine slept for so long: in no elapsed time */
	/* tasks; all 0 where none were asked for */
	struct str task_source; /* "marks", "processes" or "frame NAME"; empty: none */
	uint64_t tasks;		/* begun */
	uint64_t tasks_dropped; /* of those that ended, not kept as rows: their names count them */
	uint64_t tasks_unfollowed; /* begun when too many were open: only counted */
	uint64_t mark_floods;	   /* seconds in which too many datagrams came to read them all */
	uint64_t marks_refused;	   /* datagrams that were no mark, or came from outside the job */
	uint64_t task_room_bytes;  /* what rows of tasks may take */
	/* what an engine did to the job that stops threads; else 0 */
	uint64_t stops, stopped_ns;
	uint64_t cut_calls; /* writes that a stop may have cut short */
};

/* Was waiting recorded too, not only what ran? */
bool label_has_waiting(const struct label *label);

/* Everything that changed since the last save. Strings are borrowed from whoever filled it, until they change. */
struct changes {
	struct node_row *nodes;
	struct frame_row *frames;
	struct slot_row *slots;
	struct context_row *contexts;
	struct ledger_row *ledger;
	struct watch_row *watch;
	struct watched_row *watched;
	struct window_row *windows; /* histograms borrowed */
	struct slow_row *slow;
	struct slow_part_row *slow_parts;
	struct task_row *tasks;
	struct task_name_row *task_names;
	uint32_t *gone_tasks; /* with their slots and contexts */
	uint32_t *
		cleared_tasks; /* their slots and contexts that were saved go; the rows here are all they have */
	uint32_t task_count, task_name_count, gone_task_count, cleared_task_count;
	uint32_t task_room, task_name_room, gone_task_room, cleared_task_room;
	uint32_t *gone_nodes, *gone_frames, *gone_contexts; /* ids to delete */
	uint32_t *gone_slow;				    /* with their parts */
	uint32_t node_count, frame_count, slot_count, context_count, ledger_count;
	uint32_t watch_count, watched_count, window_count, slow_count, slow_part_count;
	uint32_t gone_node_count, gone_frame_count, gone_context_count, gone_slow_count;
	uint32_t node_room, frame_room, slot_room, context_room, ledger_room;
	uint32_t watch_room, watched_room, window_room, slow_room, slow_part_room;
	uint32_t gone_node_room, gone_frame_room, gone_context_room, gone_slow_room;
	uint32_t
		slots_from; /* slots with id >= this exist no more (the timeline halved); NO_ID: none went */
	uint32_t ledger_from; /* likewise for ledger windows */
	bool windows_merged;  /* every window that was saved is gone; `windows` has all there are */
};

#define CHANGES_EMPTY ((struct changes){ .slots_from = NO_ID, .ledger_from = NO_ID })

/* Empties it, keeping its memory. */
void changes_reset(struct changes *c);

/* Takes back all that was appended since `before` was copied from it; keeps the memory. */
void changes_rewind(struct changes *c, const struct changes *before);

/* Accepts the empty value, and may run twice. */
void changes_free(struct changes *c);

/* Append one zeroed row (or id) and return it; NULL: out of memory. */
struct node_row *changes_node(struct changes *c);
struct frame_row *changes_frame(struct changes *c);
struct slot_row *changes_slot(struct changes *c);
struct context_row *changes_context(struct changes *c);
struct ledger_row *changes_ledger(struct changes *c);
struct watch_row *changes_watch(struct changes *c);
struct watched_row *changes_watched(struct changes *c);
struct window_row *changes_window(struct changes *c);
struct slow_row *changes_slow(struct changes *c);
struct slow_part_row *changes_slow_part(struct changes *c);
struct task_row *changes_task(struct changes *c);
struct task_name_row *changes_task_name(struct changes *c);
uint32_t *changes_gone_task(struct changes *c);
uint32_t *changes_cleared_task(struct changes *c);
uint32_t *changes_gone_node(struct changes *c);
uint32_t *changes_gone_frame(struct changes *c);
uint32_t *changes_gone_context(struct changes *c);
uint32_t *changes_gone_slow(struct changes *c);

/* A recording as it was read: rows sorted by id, checked (references exist, no cycles, sums in range). Owns
 * everything, strings too. */
struct recording {
	struct label label;
	struct node_row *nodes;
	struct frame_row *frames;
	struct slot_row *slots;	      /* of TASK_RUN; those of other tasks follow */
	struct context_row *contexts; /* likewise */
	struct ledger_row *ledger;
	uint32_t node_count, frame_count, slot_count, context_count, ledger_count;
	/* tasks: sorted by id; rows of names in the order of their first runs */
	struct task_row *tasks;
	struct task_name_row *task_names;
	uint32_t task_count, task_name_count;
	uint32_t task_slot_count, task_context_count; /* rows behind those of TASK_RUN */
	/* a watch: sorted by their keys; window rows own their histograms */
	struct watch_row watch;
	struct watched_row *watched;
	struct window_row *windows;
	struct slow_row *slow;
	struct slow_part_row *slow_parts;
	uint32_t watched_count, window_count, slow_count, slow_part_count;
	char *text;	     /* all strings */
	uint64_t file_bytes; /* size of the file, -wal and -shm included */
};

#define RECORDING_EMPTY ((struct recording){ .nodes = NULL })

/* Accepts the empty value, and may run twice. */
void recording_free(struct recording *r);

/* The row with this id, or NULL. Rows are sorted by id: a binary search. */
const struct node_row *recording_node(const struct recording *r, uint32_t id);
const struct frame_row *recording_frame(const struct recording *r, uint32_t id);
const struct task_row *recording_task(const struct recording *r, uint32_t id);
const struct watched_row *recording_watched(const struct recording *r, uint32_t id);

/* A task as if it were a whole run: `out` borrows everything from `r`, and must not be freed. Its label is that of `r`
 * with the task's own numbers, without what measuring took: that is of the whole run. */
void recording_of_task(const struct recording *r, const struct task_row *task,
		       struct recording *out);

#endif
