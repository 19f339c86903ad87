/* fields.c - the tables. The type of a column is taken from its member, so that the two cannot part. */
#include "core/fields.h"

#include "core/recording.h"
#include "core/scoped.h"

_Static_assert(sizeof(struct label) <= UINT16_MAX, "an offset must fit struct field");

/* One row a column reads best. */
/* clang-format off */
#define TYPE_OF(row, member)                   \
	_Generic(((struct row *)NULL)->member, \
		uint32_t: FIELD_U32,           \
		uint64_t: FIELD_U64,           \
		int64_t: FIELD_I64,            \
		bool: FIELD_BOOL,              \
		struct str: FIELD_STR,         \
		uint64_t *: FIELD_BATCHES)
#define COLUMN(row, member, key, doc) \
	{ #member, TYPE_OF(row, member), offsetof(struct row, member), key, doc }
#define FIELD(row, member, doc) COLUMN(row, member, 0, doc)
#define KEY(row, member, doc)   COLUMN(row, member, 1, doc)

static const struct field label_fields[] = {
	FIELD(label, instrument, "which instrument made it: \"record\""),
	FIELD(label, command, "what ran: its arguments joined by blanks, escaped for a shell where needed"),
	FIELD(label, comm, "short name of the first process"),
	FIELD(label, host, "name of the machine, as `uname -n` says"),
	FIELD(label, kernel, "the kernel and its release, as `uname -sr` says"),
	FIELD(label, tare_version, "version of tare that wrote it"),
	FIELD(label, pid, "process id of the first process"),
	FIELD(label, is_attached, "1: the process ran before recording began (-p)"),
	FIELD(label, cpu_count, "CPUs of the machine that were online"),
	FIELD(label, started_wall_ns, "when recording began, by CLOCK_REALTIME since 1970"),
	FIELD(label, saved_wall_ns, "when it was last saved, by CLOCK_REALTIME since 1970"),
	FIELD(label, elapsed_ns, "time from the start to the last save, by CLOCK_MONOTONIC"),
	FIELD(label, is_finished, "0: it is still being written, or was cut off and holds up to saved_wall_ns"),
	FIELD(label, ended_by, "why it ended: exit, signal, duration, interrupt or detached; empty while it runs"),
	FIELD(label, exit_status, "of the command: 0 to 255, 128 + signal, or -1 for not known"),
	FIELD(label, engine, "what looked at the program: \"perf\""),
	FIELD(label, clock, "what a weight is measured by: \"cpu\" is CPU time of the task's threads"),
	FIELD(label, base_period_ns, "sampling period asked for"),
	FIELD(label, period_ns, "sampling period in force at the end"),
	FIELD(label, period_changes, "how often the price changed the period"),
	FIELD(label, is_jittered, "1: the period varies at random; 0: it is a prime number of ns"),
	FIELD(label, is_derived, "1: weights come from the times of samples, not from the kernel's counter"),
	FIELD(label, children, "what is known to be unseen of child processes; empty for nothing"),
	FIELD(label, kernel_stacks, "empty when stacks in the kernel are in it, else the reason why not"),
	FIELD(label, clock_ns, "CPU time of the task by the kernel's counter"),
	FIELD(label, weight_ns, "weight of all slots together; clock_ns - weight_ns is (unsampled)"),
	FIELD(label, ticks, "times the timer fired and the tick reached us"),
	FIELD(label, kept, "ticks whose stack was looked at: the samples"),
	FIELD(label, one_in, "one tick in so many was kept at the end"),
	FIELD(label, keeps_all, "1: every tick is kept (--full)"),
	FIELD(label, lost, "samples lost before they reached us"),
	FIELD(label, lost_events, "gaps the lost samples came in"),
	FIELD(label, throttled, "times the kernel held sampling back"),
	FIELD(label, whole_stacks, "kept samples whose stack was walked to its root"),
	FIELD(label, broken_stacks, "kept samples whose stack stopped in the middle"),
	FIELD(label, cut_stacks, "kept samples whose stack was deeper than the copy of it"),
	FIELD(label, unnamed_frames, "frames of kept samples without a symbol"),
	FIELD(label, threads, "threads ever seen"),
	FIELD(label, processes, "processes ever seen"),
	FIELD(label, slot_count, "most slots the timeline may have"),
	FIELD(label, slot_ns, "elapsed time that one slot spans"),
	FIELD(label, batches, "how many of the equal spans in context.batch_ns are in use"),
	FIELD(label, merges, "how often two contexts became one"),
	FIELD(label, size_limit_bytes, "most the file may take, -wal and -shm included"),
	FIELD(label, saves, "saves so far"),
	FIELD(label, save_pauses, "times a foreign reader held saving up"),
	FIELD(label, save_paused_ns, "for how long a foreign reader held saving up, altogether"),
	FIELD(label, price_limit_ppm, "what measuring may take, in millionths of one CPU"),
	FIELD(label, own_cpu_ns, "CPU time of all our processes"),
	FIELD(label, sample_ns, "our CPU time for ticks: handling all, unwinding and naming the kept ones"),
	FIELD(label, kernel_ns, "time taken in the kernel on the target's account, calibrated: at least; not in " "own_cpu_ns"),
	FIELD(label, save_ns, "our CPU time for saves"),
	FIELD(label, start_ns, "our CPU time for start-up: maps, tables, calibration"),
	FIELD(label, fixed_ns, "our CPU time for the rest: status, waiting, side-band"),
	FIELD(label, kernel_tick_ps, "calibrated cost of one tick in the kernel; 0: unmeasured"),
	FIELD(label, own_rss_bytes, "the most memory we held"),
	FIELD(label, rng_0, "state of the random generator, first word: 64 bits, which the store keeps as a signed number"),
	FIELD(label, rng_1, "state of the random generator, second word"),
	FIELD(label, rng_2, "state of the random generator, third word"),
	FIELD(label, rng_3, "state of the random generator, fourth word"),
	FIELD(label, writer_pid, "process id of the recorder"),
};

static const struct field node_fields[] = {
	KEY(node_row, id, "the node; a path is named by its last node"),
	FIELD(node_row, parent, "the node of the caller; NULL: a root, which is a thread"),
	FIELD(node_row, frame, "the frame at this place"),
};

static const struct field frame_fields[] = {
	KEY(frame_row, id, "the frame"),
	FIELD(frame_row, kind, "0 thread, 1 function of a binary, 2 function of the kernel, 3 marker of ours such as [broken]"),
	FIELD(frame_row, pid, "process of a thread, else 0"),
	FIELD(frame_row, tid, "id of a thread, else 0"),
	FIELD(frame_row, line, "line in the source file; 0: not known"),
	FIELD(frame_row, name, "function, demangled, or name of a thread; [module+0x1a2b0] where there is no " "symbol"),
	FIELD(frame_row, module, "file name of the binary, without folders; empty: none"),
	FIELD(frame_row, file, "source file; empty: not known"),
};

static const struct field slot_fields[] = {
	KEY(slot_row, task, "the task: 1 is the whole run"),
	KEY(slot_row, id,
	    "place on the time axis: slot i spans elapsed time i to i + 1 times slot_ns"),
	FIELD(slot_row, node, "the path that stands for this slot, drawn in proportion to weight; NULL: nothing " "was kept here"),
	FIELD(slot_row, running_ns, "weight while running"),
	FIELD(slot_row, waiting_ns, "weight while waiting"),
	FIELD(slot_row, runnable_ns, "weight while runnable but not running"),
	FIELD(slot_row, unsampled_ns, "weight of the group that was still open when it was saved: belongs to no path"),
	FIELD(slot_row, kept, "samples"),
	FIELD(slot_row, lost, "samples lost"),
};

static const struct field context_fields[] = {
	KEY(context_row, task, "the task: 1 is the whole run"),
	KEY(context_row, id, "the entry"),
	FIELD(context_row, node, "the full path"),
	FIELD(context_row, certain_ns, "weight received while the entry bore this path: never above the truth"),
	FIELD(context_row, uncertain_ns, "weight that came by merging; certain_ns + uncertain_ns is an unbiased estimate"),
	FIELD(context_row, running_ns, "of that sum, while running"),
	FIELD(context_row, waiting_ns, "of that sum, while waiting"),
	FIELD(context_row, runnable_ns, "of that sum, while runnable but not running"),
	FIELD(context_row, kept, "samples"),
	FIELD(context_row, batch_ns, "the same sum over equal spans of the run, for the error of a share"),
};

static const struct field ledger_fields[] = {
	KEY(ledger_row, id, "place on the time axis, 0 is the start"),
	FIELD(ledger_row, window_ns, "length of the window"),
	FIELD(ledger_row, sample_ns, "our CPU time for ticks: handling all, unwinding and naming the kept ones"),
	FIELD(ledger_row, kernel_ns, "time taken in the kernel on the target's account, calibrated: at least"),
	FIELD(ledger_row, save_ns, "our CPU time for saves"),
	FIELD(ledger_row, start_ns, "our CPU time for start-up: maps, tables, calibration"),
	FIELD(ledger_row, fixed_ns, "our CPU time for the rest: status, waiting, side-band"),
	FIELD(ledger_row, ticks, "ticks in the window"),
	FIELD(ledger_row, kept, "samples in the window"),
	FIELD(ledger_row, lost, "samples lost in the window"),
	FIELD(ledger_row, period_ns, "sampling period in force at the end of the window"),
};
/* clang-format on */

const struct table table_recording = {
	"recording", "the label: one row of facts about the run, what it cost and what is missing",
	label_fields, ARRAY_LEN(label_fields), sizeof(struct label)
};
const struct table table_node = { "node", "full call paths as a tree: one frame under its parent",
				  node_fields, ARRAY_LEN(node_fields), sizeof(struct node_row) };
const struct table table_frame = { "frame", "one place on a stack, as text", frame_fields,
				   ARRAY_LEN(frame_fields), sizeof(struct frame_row) };
const struct table table_slot = { "slot", "the timeline: equal spans of elapsed time", slot_fields,
				  ARRAY_LEN(slot_fields), sizeof(struct slot_row) };
const struct table table_context = { "context",
				     "full call paths over the whole run, with exact totals",
				     context_fields, ARRAY_LEN(context_fields),
				     sizeof(struct context_row) };
const struct table table_ledger = { "ledger",
				    "what measuring took, window by window and part by part",
				    ledger_fields, ARRAY_LEN(ledger_fields),
				    sizeof(struct ledger_row) };

const struct table *const tables[] = { &table_recording, &table_node,	 &table_frame,
				       &table_slot,	 &table_context, &table_ledger };
const size_t table_count = ARRAY_LEN(tables);
