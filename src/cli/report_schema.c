/* report_schema.c - the JSON schema of a report of samples. Columns come from core/fields.h; the rest are members that all
 * reports have and those below, in the order in which report_json.c writes. */
#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_json.h"
#include "core/scoped.h"

static const char *const kinds[] = { "thread",	"native", "kernel", "marker",
				     "inlined", "jit",	  "unknown" };

const char *report_kind(enum frame_kind kind)
{
	return kinds[(size_t)kind < ARRAY_LEN(kinds) ? (size_t)kind : ARRAY_LEN(kinds) - 1];
}

static const struct member root_rows[] = {
	{ "", "functions", "[function", false, "by own weight; shares are of the sampled weight" },
	{ "", "threads", "[thread", false, "by weight" },
	{ "", "slots", "[slot", false, "the timeline" },
	{ "", "tasks", "[task", false, "by duration, the slowest first" },
	{ "", "task_names", "[task_name", false, "how often each name of tasks ran" },
};

static const struct member part_rows[] = {
	{ "share", "value", "number", true, "0 to 1" },
	{ "share", "error", "number", true, "half width of the 95 % interval" },
	{ "share", "is_coarse", "boolean", false, "fewer than 100 samples in the range" },
	{ "share", "words", "string", false, "as a report prints it" },

	{ "weighed", "share", "@share", false, "of the sampled weight" },
	{ "weighed", "weight_ns", "integer", false, "in all states" },
	{ "weighed", "running_ns", "integer", false, "of it, running" },
	{ "weighed", "waiting_ns", "integer", false, "of it, waiting" },
	{ "weighed", "runnable_ns", "integer", false, "of it, runnable but not running" },
	{ "weighed", "kept", "integer", false, "samples" },

	{ "function", "name", "string", false, "as it was recorded" },
	{ "function", "kind", "=kind", false, "what it is a function of" },
	{ "function", "module", "string", false, "file name of the binary; empty: none" },
	{ "function", "file", "string", false, "source file; empty: not known" },
	{ "function", "line", "integer", true, "where most of its own time is" },
	{ "function", "is_unnamed", "boolean", false, "it has no symbol" },
	{ "function", "why", "string", false,
	  "what it waited for on its heaviest path, [waits for a lock]; empty: it never waited" },
	{ "function", "own", "@weighed", false, "without callees" },
	{ "function", "own_uncertain_ns", "integer", false, "of own, came by merging of paths" },
	{ "function", "with_callees", "@weighed", false, "each path counted once" },

	{ "thread", "name", "string", false, "as it called itself" },
	{ "thread", "pid", "integer", false, "process id; 0: not known" },
	{ "thread", "tid", "integer", false, "thread id; 0: not known" },
	{ "thread", "all", "@weighed", false, "all of its time" },

	{ "slot", "function", "integer", true, "place in functions, from 0, of the context shown" },

	{ "task", "duration_ns", "integer", false, "end_ns - begin_ns" },
	{ "task", "state_word", "string", false, "running, ended, or cut off" },
	{ "task", "kind_word", "string", false, "mark, process, or frame" },
	{ "task", "top_function", "string", true, "the function with the most time of its own" },
	{ "task", "top_share", "@share", true, "of the task's sampled weight" },

	{ "price", "spent_ns", "integer", false, "CPU time, our own and the kernel's part" },
	{ "price", "bound", "string", false, "at least, or own part" },

	{ "totals", "clock_ns", "integer", false, "CPU time of the task" },
	{ "totals", "sampled_ns", "integer", false, "of it, weight of samples" },
	{ "totals", "unsampled_ns", "integer", false, "of it, (unsampled)" },
	{ "totals", "uncertain_ns", "integer", false,
	  "of the sampled weight, came by merging of paths" },
	{ "totals", "hole_ns", "integer", false, "span of slots that lost samples and kept none" },
	{ "totals", "slots_lost", "integer", false, "slots that lost samples" },
	{ "totals", "unnamed", "@weighed", false, "own time of functions without a symbol" },
};

static const struct members root = { root_rows, ARRAY_LEN(root_rows) };
static const struct members parts = { part_rows, ARRAY_LEN(part_rows) };

static const char *word_of_kind(size_t index)
{
	return index < ARRAY_LEN(kinds) ? kinds[index] : NULL;
}

int report_schema(FILE *out)
{
	static const struct schema_object objects[] = {
		{ "recording", &table_recording },
		{ "slot", &table_slot },
		{ "task", &table_task },
		{ "task_name", &table_task_name },
		{ "ledger", &table_ledger },
		{ "share", NULL },
		{ "weighed", NULL },
		{ "function", NULL },
		{ "thread", NULL },
		{ "finding", NULL },
		{ "price", NULL },
		{ "totals", NULL },
	};
	static const struct schema_words words[] = {
		{ "kind", word_of_kind },
		{ "finding_id", findings_id },
	};
	static const struct members *const all[] = {
		&report_members_begin, &report_members_file,  &root,
		&report_members_end,   &report_members_parts, &parts
	};
	static const struct schema schema = {
		.title = "tare report --json",
		.tables = all,
		.table_count = ARRAY_LEN(all),
		.objects = objects,
		.object_count = ARRAY_LEN(objects),
		.words = words,
		.word_count = ARRAY_LEN(words),
	};

	return schema_write(out, &schema);
}
