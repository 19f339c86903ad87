/* fields.c - the tables of a recording. */
#include "core/field_columns.h"

_Static_assert(sizeof(struct label) <= UINT16_MAX, "an offset must fit struct field");

/* One row a column reads best. */
/* clang-format off */
static const struct field label_fields[] = {
	FIELD(label, instrument, "which instrument made it: \"record\" or \"watch\""),
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
	FIELD(label, clock, "what a weight is measured by: \"cpu\" is CPU time of the task's threads, \"wall\" that and what they wait"),
	FIELD(label, base_period_ns, "sampling period asked for"),
	FIELD(label, period_ns, "sampling period in force at the end"),
	FIELD(label, period_changes, "how often the price changed the period"),
	FIELD(label, is_jittered, "1: the period varies at random; 0: it is a prime number of ns"),
	FIELD(label, is_derived, "1: weights come from the times of samples, not from the kernel's counter"),
	FIELD(label, children, "what is known to be unseen of child processes; empty for nothing"),
	FIELD(label, kernel_stacks, "empty when stacks in the kernel are in it, else the reason why not"),
	FIELD(label, clock_ns, "CPU time of the task by the kernel's counter; by the clock \"wall\" with the waiting of its threads"),
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
	FIELD(label, threads, "threads ever seen; 0: not counted"),
	FIELD(label, processes, "processes ever seen; 0: not counted"),
	FIELD(label, slot_count, "most slots the timeline may have"),
	FIELD(label, slot_ns, "elapsed time that one slot spans"),
	FIELD(label, batches, "how many of the equal spans in context.batch_ns are in use"),
	FIELD(label, merges, "how often two contexts became one"),
	FIELD(label, size_limit_bytes, "most the file may take, -wal and -shm included"),
	FIELD(label, saves, "saves so far"),
	FIELD(label, save_pauses, "times a foreign reader held saving up"),
	FIELD(label, save_paused_ns, "for how long a foreign reader held saving up, altogether"),
	FIELD(label, price_limit_ppm, "what measuring may take, in millionths of one CPU"),
	FIELD(label, own_cpu_ns, "CPU time of all our processes; by engine bpf also of ticks on CPUs that the job did not have"),
	FIELD(label, sample_ns, "our CPU time for ticks: handling all, unwinding and naming the kept ones; by engine bpf also those on CPUs that the job did not have"),
	FIELD(label, kernel_ns, "time taken on the target's account, in the kernel or in its own code, calibrated: at least; not in own_cpu_ns"),
	FIELD(label, save_ns, "our CPU time for saves"),
	FIELD(label, start_ns, "our CPU time for start-up: maps, tables, calibration"),
	FIELD(label, fixed_ns, "our CPU time for the rest: status, waiting, side-band"),
	FIELD(label, kernel_tick_ps, "calibrated cost of one tick in the kernel, by engine bpf with what its program took; 0: unmeasured"),
	FIELD(label, own_rss_bytes, "the most memory we held"),
	FIELD(label, rng_0, "state of the random generator, first word: 64 bits, which the store keeps as a signed number"),
	FIELD(label, rng_1, "state of the random generator, second word"),
	FIELD(label, rng_2, "state of the random generator, third word"),
	FIELD(label, rng_3, "state of the random generator, fourth word"),
	FIELD(label, writer_pid, "process id of the recorder"),
	FIELD_SINCE(label, unread_files, 3, "files of the program that have no names: the child that reads files died of them, or hung"),
	FIELD_SINCE(label, clock_steps, 3, "how often CLOCK_REALTIME was set, by half a second or more"),
	FIELD_SINCE(label, clock_step_ns, 3, "the largest of those steps; negative: back"),
	FIELD_SINCE(label, clock_step_at_ns, 3, "when that was, as elapsed time"),
	FIELD_SINCE(label, suspended_ns, 3, "time in which the machine slept: it is in no elapsed time"),
	FIELD_SINCE(label, task_source, 4, "what parts the run into tasks: marks, processes, or frame and its name; empty: nothing"),
	FIELD_SINCE(label, tasks, 4, "tasks that began"),
	FIELD_SINCE(label, tasks_dropped, 4, "tasks that ended and have no row: faster ones than those kept; their names count them"),
	FIELD_SINCE(label, tasks_unfollowed, 4, "tasks that began while too many ran: only their names count them"),
	FIELD_SINCE(label, mark_floods, 4, "seconds in which so many datagrams came that the rest were thrown away unread"),
	FIELD_SINCE(label, marks_refused, 4, "datagrams to $TARE_SOCKET that were no mark, or came from outside the job"),
	FIELD_SINCE(label, task_room_bytes, 4, "what rows of tasks may take; 0: there are none"),
	FIELD_SINCE(label, stops, 4, "how often engine ptrace stopped a thread of the job; 0: by no other engine"),
	FIELD_SINCE(label, stopped_ns, 4, "for how long it did, in all: part of kernel_ns"),
	FIELD_SINCE(label, cut_calls, 4, "writes that a stop may have cut short, as SIGSTOP and SIGCONT would"),
};

static const struct field node_fields[] = {
	KEY(node_row, id, "the node; a path is named by its last node"),
	FIELD(node_row, parent, "the node of the caller; NULL: a root, which is a thread"),
	FIELD(node_row, frame, "the frame at this place"),
};

static const struct field frame_fields[] = {
	KEY(frame_row, id, "the frame"),
	FIELD(frame_row, kind, "0 thread, 1 function of a binary, 2 function of the kernel, 3 marker of ours such as [broken], 4 function inlined into the one before it, 5 function made at run time (JIT)"),
	FIELD(frame_row, pid, "process of a thread, else 0"),
	FIELD(frame_row, tid, "id of a thread, else 0"),
	FIELD(frame_row, line, "line in the source file; 0: not known"),
	FIELD(frame_row, name, "function, demangled, or name of a thread; [module+0x1a2b0] where there is no " "symbol"),
	FIELD(frame_row, module, "file name of the binary, without folders; empty: none"),
	FIELD(frame_row, file, "source file; empty: not known"),
};

static const struct field slot_fields[] = {
	KEY(slot_row, task, "the task: 1 is the whole run, others are in `task`"),
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
	KEY(context_row, task, "the task: 1 is the whole run, others are in `task`"),
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

static const struct field task_fields[] = {
	KEY(task_row, id, "the task, above 1, in the order in which tasks began"),
	FIELD(task_row, kind, "0 the job said so (tare mark, or a datagram to $TARE_SOCKET), 1 a process, or one more program in it, 2 the callee of a named frame"),
	FIELD(task_row, state, "0 it ran when the recording was last saved, 1 its end was seen, 2 its process ended in it"),
	FIELD(task_row, pid, "process that it began in; NULL: not known"),
	FIELD(task_row, parent_pid, "process that made that one; NULL: not known"),
	FIELD(task_row, name, "what it was called, at most 255 bytes"),
	FIELD(task_row, begin_ns, "elapsed time of the run when it began"),
	FIELD(task_row, end_ns, "elapsed time of the run when it ended, or, while it runs, when it was last seen"),
	FIELD(task_row, cpu_ns, "CPU time of its processes in it, by the kernel's account; NULL: not measured"),
	FIELD(task_row, weight_ns, "weight of its ticks"),
	FIELD(task_row, ticks, "ticks that fell into it"),
	FIELD(task_row, kept, "samples of it"),
	FIELD(task_row, lost, "samples that were lost while it ran, of whichever task"),
	FIELD(task_row, one_in, "one tick in so many was kept at its end; 0: it had none"),
	FIELD(task_row, slot_count, "most slots its timeline may have; 0: it has none"),
	FIELD(task_row, slot_ns, "elapsed time of the task that one of its slots spans"),
	FIELD(task_row, batches, "how many of the equal spans in its contexts' batch_ns are in use"),
	FIELD(task_row, merges, "how often two of its contexts became one"),
	FIELD(task_row, rss_bytes, "the most memory of it that was seen resident; NULL: not measured"),
	FIELD(task_row, rss_batch, "the same, in bytes, in equal spans of the task"),
	FIELD(task_row, rss_batch_ns, "such a span; 0: none was seen"),
};

static const struct field task_name_fields[] = {
	KEY(task_name_row, id, "the name, in the order of first runs"),
	FIELD(task_name_row, name, "name of tasks; (other): of all that came after the first 1,000, or found no room"),
	FIELD(task_name_row, begun, "how often a task of this name began"),
	FIELD(task_name_row, ended, "how often one ended"),
	FIELD(task_name_row, total_ns, "how long those that ended ran, altogether"),
	FIELD(task_name_row, longest_ns, "the longest of them"),
	FIELD(task_name_row, log2_count, "how many ran for how long: place i counts those from 2^(14 + i) ns to twice that; the first also shorter ones, the last longer ones"),
};

static const struct field ledger_fields[] = {
	KEY(ledger_row, id, "place on the time axis, 0 is the start"),
	FIELD(ledger_row, window_ns, "length of the window"),
	FIELD(ledger_row, sample_ns, "our CPU time for ticks: handling all, unwinding and naming the kept ones"),
	FIELD(ledger_row, kernel_ns, "time taken on the target's account, in the kernel or in its own code, calibrated: at least"),
	FIELD(ledger_row, save_ns, "our CPU time for saves"),
	FIELD(ledger_row, start_ns, "our CPU time for start-up: maps, tables, calibration"),
	FIELD(ledger_row, fixed_ns, "our CPU time for the rest: status, waiting, side-band"),
	FIELD(ledger_row, ticks, "ticks in the window"),
	FIELD(ledger_row, kept, "samples in the window"),
	FIELD(ledger_row, lost, "samples lost in the window"),
	FIELD(ledger_row, period_ns, "sampling period in force at the end of the window"),
};

static const struct field watch_fields[] = {
	KEY(watch_row, id, "always 0: there is one row"),
	FIELD(watch_row, sources, "what counted: \"probes\", \"in process\" or both"),
	FIELD(watch_row, hook, "how probes were set: session, entry+return, or one by one; empty without probes"),
	FIELD(watch_row, hook_why, "why it is not the best one there is; empty when it is"),
	FIELD(watch_row, clock, "what times are read from"),
	FIELD(watch_row, scope, "what was left out, in words; empty for nothing"),
	FIELD(watch_row, window_ns, "length of a window"),
	FIELD(watch_row, windows, "windows that ended"),
	FIELD(watch_row, windows_in_row, "windows that one row of `window` spans"),
	FIELD(watch_row, interval_given, "least interval: one call in so many is timed"),
	FIELD(watch_row, interval_most, "largest interval that was allowed"),
	FIELD(watch_row, slow_ns, "a frame of so long, or longer, is slow; 0: none is"),
	FIELD(watch_row, frames, "frames that ended"),
	FIELD(watch_row, slow, "slow frames; those beyond the kept ones are only counted"),
	FIELD(watch_row, scaled, "slow frames whose parts, estimated from timed calls, were more than the frame and were scaled down"),
	FIELD(watch_row, calls, "calls of all rows together, those never timed included"),
	FIELD(watch_row, timed, "calls that were timed"),
	FIELD(watch_row, charged_ps, "what all calls cost on the target's account, by the calibrated costs in force"),
	FIELD(watch_row, calibrations, "calibrations of all modes in use, the first ones included"),
	FIELD(watch_row, attach_ns, "the slowest attaching of probes seen"),
	FIELD(watch_row, detach_ns, "the slowest detaching of probes seen"),
	FIELD(watch_row, allowed_rate, "with `refused`: calls a second that the price allows of it"),
	FIELD(watch_row, refused, "watched row that no interval could keep inside the price, and slices were refused; NULL: none"),
	FIELD(watch_row, lost_names, "names that found no place in the shared mapping"),
	FIELD(watch_row, lost_places, "times a thread found no place in the shared mapping"),
	FIELD(watch_row, lost_calls, "calls that were seen and could not be counted"),
	FIELD(watch_row, lost_slow, "slow frames that were lost before they reached us"),
	FIELD(watch_row, lost_returns, "timed calls whose return was never seen"),
	FIELD(watch_row, torn, "readings that could not be right and were dropped"),
	FIELD(watch_row, expired, "times the process switched watching off because the recorder was silent"),
};

static const struct field watched_fields[] = {
	KEY(watched_row, id, "the watched row"),
	FIELD(watched_row, kind, "0 function of a binary by a probe, 1 scope of libtare, 2 task of libtare, 3 frame: the time between two marks"),
	FIELD(watched_row, name, "demangled name"),
	FIELD(watched_row, symbol, "name as the binary has it; empty in process"),
	FIELD(watched_row, module, "file name of the binary, without folders; empty in process"),
	FIELD(watched_row, pattern, "what was asked for that chose it"),
	FIELD(watched_row, mode, "how it is watched: session, entry+return, entry+exits, counting: and why (not timed), in process; empty: not watched"),
	FIELD(watched_row, first, "its first instruction: nop5, push or other; empty in process"),
	FIELD(watched_row, why_not, "why it is not watched; empty while it is"),
	FIELD(watched_row, offset, "of its first instruction in the file"),
	FIELD(watched_row, untimed_ps, "measured cost of counting a call, the lowest of all calibrations; 0: unmeasured"),
	FIELD(watched_row, extra_ps, "measured cost of timing a call, on top; 0: unmeasured"),
	FIELD(watched_row, hook_ps, "measured cost of trap or trampoline, every call; 0: unmeasured, or there is none"),
	FIELD(watched_row, floor_ps, "what an empty function reads as: to be taken off each time; 0: unmeasured"),
	FIELD(watched_row, assumed_untimed_ps, "charged while untimed_ps is unmeasured"),
	FIELD(watched_row, assumed_extra_ps, "charged while extra_ps is unmeasured"),
	FIELD(watched_row, assumed_hook_ps, "charged while hook_ps is unmeasured"),
	FIELD(watched_row, charged_ps, "what all its calls cost on the target's account"),
	FIELD(watched_row, interval, "interval in force at the end: one call in so many is timed"),
	FIELD(watched_row, interval_changes, "how often a new window came with another interval"),
	FIELD(watched_row, is_sliced, "1: it was watched in slices at some time, and its calls are an estimate"),
	FIELD(watched_row, abandoned, "timed calls that never ended: longjmp, a throw, the end of their thread"),
	FIELD(watched_row, still_open, "calls that were to be timed and still ran when the recording ended"),
	FIELD(watched_row, backwards, "timed calls that were dropped because the clock went back"),
	FIELD(watched_row, clamped, "own times that came out below 0 and count as 0"),
};

static const struct field window_fields[] = {
	KEY(window_row, watched, "the watched row"),
	KEY(window_row, at, "place on the time axis: spans window `at` times watch.windows_in_row and those after it"),
	FIELD(window_row, calls, "calls in windows in which any was timed: every one was counted"),
	FIELD(window_row, never_timed, "calls in windows in which none was timed: in no other number of this row"),
	FIELD(window_row, span_ns, "length of the windows in which it ran, or was not covered in full"),
	FIELD(window_row, covered_ns, "how much of span_ns it was attached: less than span_ns only in slices"),
	FIELD(window_row, firsts, "first calls of a window that were timed"),
	FIELD(window_row, first_ns, "time of those"),
	FIELD(window_row, first_own_ns, "time of those, less that of watched functions inside"),
	FIELD(window_row, others, "other timed calls"),
	FIELD(window_row, weight, "intervals that the others were drawn with, added up"),
	FIELD(window_row, weight_squared, "squares of those intervals, added up"),
	FIELD(window_row, weighted_ns, "time of the others times their interval, added up"),
	FIELD(window_row, weighted_own_ns, "the same, less the time of watched functions inside"),
	FIELD(window_row, probe_ns, "time of probes inside timed calls: already taken off, weighted"),
	FIELD(window_row, variance_0, "for errors: interval times (interval - 1), added up over the others"),
	FIELD(window_row, variance_1_ns, "for errors: the same times time, added up"),
	FIELD(window_row, variance_2_ns2, "for errors: the same times time squared, added up"),
	FIELD(window_row, max_ns, "the longest timed call"),
	FIELD(window_row, interval, "the largest interval in force"),
	FIELD(window_row, histogram, "times of the timed calls, as weights over steps: firsts weigh 1, others their interval"),
};

static const struct field slow_frame_fields[] = {
	KEY(slow_row, id, "the frame's place among those kept: another frame may take it over"),
	FIELD(slow_row, tid, "thread"),
	FIELD(slow_row, number, "number among its thread's frames, from 0"),
	FIELD(slow_row, start_ns, "elapsed time at its start"),
	FIELD(slow_row, duration_ns, "how long it took: its parts, rest_ns and other_ns together"),
	FIELD(slow_row, rest_ns, "own time of watched functions that are not among the largest parts"),
	FIELD(slow_row, other_ns, "time of what is not watched"),
	FIELD(slow_row, is_scaled, "1: parts are estimates that were more than the frame, and were scaled down"),
	FIELD(slow_row, is_worst, "1: one of the ten longest; 0: of the uniform sample of the other slow ones"),
};

static const struct field slow_part_fields[] = {
	KEY(slow_part_row, slow, "the slow frame"),
	KEY(slow_part_row, place, "place by size, 0 is the largest"),
	FIELD(slow_part_row, watched, "the watched row"),
	FIELD(slow_part_row, own_ns, "its own time in this frame"),
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

const struct table table_task = {
	"task", "named parts of the run: slots and contexts with their numbers are theirs alone",
	task_fields, ARRAY_LEN(task_fields), sizeof(struct task_row)
};
const struct table table_task_name = {
	"task_name", "how often each name ran, whether or not its tasks have rows",
	task_name_fields, ARRAY_LEN(task_name_fields), sizeof(struct task_name_row)
};

const struct table table_watch = {
	"watch",
	"the part of the label that only a watch has: one row, and none in other recordings",
	watch_fields, ARRAY_LEN(watch_fields), sizeof(struct watch_row)
};
const struct table table_watched = { "watched",
				     "what is watched, or was asked for and is not, and why",
				     watched_fields, ARRAY_LEN(watched_fields),
				     sizeof(struct watched_row) };
const struct table table_window = { "window",
				    "what a watched row did in a window, or in neighbours that "
				    "were merged; no row: it did not run. "
				    "Times are as read: floor_ps is not taken off",
				    window_fields, ARRAY_LEN(window_fields),
				    sizeof(struct window_row) };
const struct table table_slow_frame = { "slow_frame", "slow frames that were kept",
					slow_frame_fields, ARRAY_LEN(slow_frame_fields),
					sizeof(struct slow_row) };
const struct table table_slow_part = { "slow_part", "what a slow frame was made of, largest first",
				       slow_part_fields, ARRAY_LEN(slow_part_fields),
				       sizeof(struct slow_part_row) };

const struct table *const tables[] = { &table_recording,  &table_node,	    &table_frame,
				       &table_slot,	  &table_context,   &table_ledger,
				       &table_watch,	  &table_watched,   &table_window,
				       &table_slow_frame, &table_slow_part, &table_task,
				       &table_task_name };
const size_t table_count = ARRAY_LEN(tables);
