/* report_watch_schema.c - the JSON schema of the report of a watch. Columns come from core/fields.h; the rest are members
 * that all reports have and those below, in the order in which report_watch_json.c writes. */
#include "cli/report_json.h"
#include "cli/report_watch.h"
#include "core/scoped.h"
#include "core/watch_findings.h"

static const struct member watch_rows[] = {
	{ "", "watch", "@watch", false, "those that only a watch has" },
};

static const struct member root_rows[] = {
	{ "", "functions", "[function", false,
	  "watched rows: functions by own time, those never timed, those that did not run; then "
	  "tasks and frames; then what is not watched, and why" },
	{ "", "frames", "@frames", false, "the time between two marks; a count of 0: none" },
	{ "", "slow_frames", "[slow_frame", false, "those that were kept" },
};

static const struct member part_rows[] = {
	{ "estimate", "value", "number", true, "in the unit that its name ends in, else a count" },
	{ "estimate", "error", "number", true,
	  "half width of the 95 % interval; 0 for an exact one" },

	{ "share", "value", "number", true, "1 is one thread all the time, more are more" },
	{ "share", "error", "number", true, "half width of the 95 % interval; 0 for an exact one" },
	{ "share", "words", "string", false, "as a report prints it" },

	{ "percentile", "ns", "integer", true, "without the timing floor" },
	{ "percentile", "low_ns", "integer", true, "lower end of the 95 % interval" },
	{ "percentile", "high_ns", "integer", true, "its upper end" },
	{ "percentile", "is_below_floor", "boolean", false, "it is under the timing floor" },

	{ "growth", "has_grown", "boolean", false,
	  "by a fifth or more, and by more than all errors" },
	{ "growth", "is_step", "boolean", false, "at once, not little by little" },
	{ "growth", "from_ns", "number", true, "before the step, else in the first third" },
	{ "growth", "to_ns", "number", true, "after it, else in the last third" },
	{ "growth", "error_ns", "number", true, "of the difference" },
	{ "growth", "at_ns", "integer", true, "elapsed time at which it changed most" },

	{ "function", "calls", "@estimate", false, "all of them; exact, but for slices" },
	{ "function", "covered", "number", false,
	  "share of the run in which it was watched: 1, but for slices" },
	{ "function", "timed", "integer", false, "calls that were timed" },
	{ "function", "never_timed", "integer", false,
	  "of the calls, those of windows in which none was timed: in no number but calls and "
	  "rates" },
	{ "function", "total_ns", "@estimate", false, "time of all calls, callees included" },
	{ "function", "own_ns", "@estimate", false, "without watched callees" },
	{ "function", "mean_ns", "@estimate", false, "of a call, callees included" },
	{ "function", "p50", "@percentile", false, "of a call" },
	{ "function", "p90", "@percentile", false, "of a call" },
	{ "function", "p99", "@percentile", false, "of a call" },
	{ "function", "max_ns", "integer", true, "the longest timed call" },
	{ "function", "is_below_floor", "boolean", false, "its mean is under the timing floor" },
	{ "function", "is_coarse", "boolean", false, "fewer than 100 independent timed calls" },
	{ "function", "share_of_run", "@share", false, "own time of the run" },
	{ "function", "total_of_run", "@share", false, "the same with callees" },
	{ "function", "share_of_frame", "@share", false, "own time of that of all frames" },
	{ "function", "slow_share", "@share", false, "own time of that of all slow frames" },
	{ "function", "frames_largest", "integer", false,
	  "kept slow frames of which it is the largest part" },
	{ "function", "a_second", "number", false,
	  "calls while it was watched, corrected for the time of its probe" },
	{ "function", "counted_a_second", "number", false, "the same as it was counted" },
	{ "function", "is_at_least", "boolean", false,
	  "its probe slows it too much to correct a_second" },
	{ "function", "slowed", "number", false, "share of the watched time that its probe took" },
	{ "function", "taken_off_ns", "number", false,
	  "of probes inside its calls: off total and own already" },
	{ "function", "cannot_rank", "boolean", false,
	  "its place in the order cannot be told from what probes inside it took" },
	{ "function", "interval_least", "integer", true,
	  "one call in so many was timed, at least" },
	{ "function", "interval_largest", "integer", true, "and at most" },
	{ "function", "mean_growth", "@growth", false, "of its mean" },
	{ "function", "p99_growth", "@growth", false, "of its p99" },
	{ "function", "histogram", "steps", false,
	  "times as read, floor included: [lowest ns, highest ns, weight] of each step" },
	{ "function", "windows", "[window", false,
	  "over time; where there is none, it did not run" },

	{ "window", "start_ns", "integer", false, "elapsed time at which it begins" },
	{ "window", "span_ns", "integer", false, "windows in which it ran, added up" },
	{ "window", "covered_ns", "integer", false, "how much of it was watched" },
	{ "window", "calls", "integer", false, "in windows in which any was timed" },
	{ "window", "never_timed", "integer", false, "calls in windows in which none was" },
	{ "window", "timed", "integer", false, "calls that were timed" },
	{ "window", "interval", "integer", true, "the largest in force" },
	{ "window", "mean_ns", "@estimate", false, "of a call" },
	{ "window", "p50", "@percentile", false, "of a call" },
	{ "window", "p99", "@percentile", false, "of a call" },
	{ "window", "max_ns", "integer", true, "the longest timed call" },

	{ "frames", "count", "integer", false, "frames that ended" },
	{ "frames", "all_ns", "number", false, "their time" },
	{ "frames", "p50", "@percentile", false, "of a frame" },
	{ "frames", "p90", "@percentile", false, "of a frame" },
	{ "frames", "p99", "@percentile", false, "of a frame" },
	{ "frames", "max_ns", "integer", true, "the longest" },
	{ "frames", "slow", "@estimate", false, "slow ones" },
	{ "frames", "kept", "integer", false, "slow ones that were kept" },
	{ "frames", "unnamed", "@share", false,
	  "time of slow frames that is in no watched function" },
	{ "frames", "rhythm", "@rhythm", false, "at which distance slow ones come" },

	{ "rhythm", "every", "integer", true, "frames" },
	{ "rhythm", "hits", "integer", true, "gaps that are a multiple of it" },
	{ "rhythm", "of", "integer", true, "gaps" },

	{ "slow_frame", "parts", "[part", false, "the largest first" },

	{ "part", "function", "integer", true, "place in functions, from 0" },
	{ "part", "own_ns", "integer", false, "its own time" },

	{ "price", "spent_ns", "integer", false, "our own CPU time, and what calls were charged" },
	{ "price", "bound", "string", false, "with hooks, partly assumed, or calibrated" },

	{ "totals", "range_ns", "integer", false, "what shares of the run are of" },
	{ "totals", "all_of_run", "@share", false, "own time of all functions together" },
	{ "totals", "all_is_at_least", "boolean", false,
	  "some were called, and their time is not known" },
	{ "totals", "floor_ps", "integer", true, "the largest timing floor" },
	{ "totals", "watched", "integer", false, "first so many of functions were watched" },
	{ "totals", "not_watched", "integer", false, "the others" },
};

static const struct members watch = { watch_rows, ARRAY_LEN(watch_rows) };
static const struct members root = { root_rows, ARRAY_LEN(root_rows) };
static const struct members parts = { part_rows, ARRAY_LEN(part_rows) };

int watch_schema(FILE *out)
{
	static const struct schema_object objects[] = {
		{ "recording", &table_recording },
		{ "watch", &table_watch },
		{ "ledger", &table_ledger },
		{ "estimate", NULL },
		{ "share", NULL },
		{ "percentile", NULL },
		{ "growth", NULL },
		{ "function", &table_watched },
		{ "window", NULL },
		{ "frames", NULL },
		{ "rhythm", NULL },
		{ "slow_frame", &table_slow_frame },
		{ "part", NULL },
		{ "finding", NULL },
		{ "price", NULL },
		{ "totals", NULL },
	};
	static const struct schema_words words[] = { { "finding_id", watch_findings_id } };
	static const struct members *const all[] = {
		&report_members_begin, &watch, &report_members_file, &root, &report_members_end,
		&report_members_parts, &parts
	};
	static const struct schema schema = {
		.title = "tare report --json, of a watch",
		.tables = all,
		.table_count = ARRAY_LEN(all),
		.objects = objects,
		.object_count = ARRAY_LEN(objects),
		.words = words,
		.word_count = ARRAY_LEN(words),
	};

	return schema_write(out, &schema);
}
