/* record.c - `tare record`: its options. */
#include <errno.h>

#include "cli/record.h"
#include "core/scoped.h"

#define MIN_EVERY_NS (20 * NS_PER_US)
#define MAX_EVERY_NS (10 * NS_PER_S)

static const struct opt record_opt_rows[] = {
	{ "pid", 'p', OPT_COUNT, offsetof(struct record_opts, run.pid), "PID", NULL,
	  "record a process that runs already" },
	{ "duration", 'd', OPT_DURATION, offsetof(struct record_opts, run.duration_ns), "TIME",
	  NULL, "end the recording after this time; the job goes on" },
	{ "output", 'o', OPT_FILE, offsetof(struct record_opts, run.output), "FILE|DIR", NULL,
	  "write here, or to a name of its own in this folder" },
	{ "keep-files", 0, OPT_COUNT, offsetof(struct record_opts, run.keep_files), "N", NULL,
	  "afterwards keep the newest N recordings of this command in the folder" },
	{ "force", 'f', OPT_FLAG, offsetof(struct record_opts, run.may_overwrite), NULL, NULL,
	  "overwrite FILE" },
	{ "price", 'b', OPT_SHARE, offsetof(struct record_opts, run.price_ppm), "PERCENT", "0.5%",
	  "most of one CPU that recording may take" },
	{ "every", 'e', OPT_DURATION, offsetof(struct record_opts, every_ns), "TIME", "10ms",
	  "first sampling period" },
	{ "engine", 0, OPT_TEXT, offsetof(struct record_opts, engine), "NAME", NULL,
	  "look by perf, bpf or ptrace; without it, by perf or else ptrace" },
	{ "clock", 0, OPT_TEXT, offsetof(struct record_opts, clock), "cpu|wall", "cpu",
	  "what is recorded: running only, or waiting too" },
	{ "slots", 0, OPT_COUNT, offsetof(struct record_opts, slots), "N", "1024",
	  "slots of the timeline: a power of two from 16 to 65536" },
	{ "max-size", 0, OPT_SIZE, offsetof(struct record_opts, run.max_bytes), "SIZE", "4MB",
	  "most bytes of the recording, for ever" },
	{ "tasks", 0, OPT_TEXT, offsetof(struct record_opts, tasks.source), "SOURCE", NULL,
	  "part the run into tasks, each with a profile: marks, processes" },
	{ "task-under", 0, OPT_TEXT, offsetof(struct record_opts, tasks.under), "FRAME", NULL,
	  "the same: what this function calls is the task" },
	{ "keep", 0, OPT_TEXT, offsetof(struct record_opts, tasks.keep), "WHICH", "slowest",
	  "which ended tasks stay when not all can: slowest, newest, all" },
	{ "per-name", 0, OPT_COUNT, offsetof(struct record_opts, tasks.per_name), "N", "5",
	  "most ended tasks of a name, unless --keep all" },
	{ "min-duration", 0, OPT_DURATION, offsetof(struct record_opts, tasks.min_duration_ns),
	  "TIME", NULL, "shorter tasks are only counted" },
	{ "full", 0, OPT_FLAG, offsetof(struct record_opts, is_full), NULL, NULL,
	  "keep every sample: more precision, cost grows with the run" },
	{ "debuginfod", 0, OPT_FLAG, offsetof(struct record_opts, asks_servers), NULL, NULL,
	  "ask the servers of DEBUGINFOD_URLS for names that are not here" },
	{ "json", 0, OPT_FLAG, offsetof(struct record_opts, run.is_json), NULL, NULL,
	  "end with one line of JSON on the standard output" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct record_opts, run.is_quiet), NULL, NULL,
	  "say nothing but failures" },
};

static int check_slots(uint64_t slots, struct err *err)
{
	if (slots >= TIMELINE_MIN_SLOTS && slots <= TIMELINE_MAX_SLOTS &&
	    (slots & (slots - 1)) == 0)
		return 0;
	err_set(err, -EINVAL, "cannot use %llu slots", (unsigned long long)slots);
	return err_mend(err, "--slots takes a power of two from 16 to 65536; 1024 is the default");
}

static int check_numbers(const struct record_opts *o, struct err *err)
{
	const struct run_bound every = { o->every_ns,  MIN_EVERY_NS,
					 MAX_EVERY_NS, "sample every",
					 " ns",	       "--every takes a time from 20us to 10s" };

	if (run_check_bounds(&every, 1, err) < 0 ||
	    run_check_limits(&o->run, "record", "256KB", err) < 0 ||
	    record_engine_check(o->engine, err) < 0)
		return err->code;
	if (record_waits_check(o, err) < 0)
		return err->code;
	return check_slots(o->slots, err);
}

static int cmd_record(struct app *app, int argc, char **argv, struct err *err)
{
	struct record_opts o = { .every_ns = 0 };
	struct session s = { .opts = &o };
	struct opt_rest rest;
	int code = opts_parse(record_opt_rows, ARRAY_LEN(record_opt_rows), true, argc, argv, &o,
			      &rest, err);

	if (code < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_record);
		return EXIT_OK;
	}
	o.run.command = rest.count > 0 ? rest.argv : NULL;
	if (run_check_target(&o.run, "record", err) < 0 || check_numbers(&o, err) < 0)
		return o.run.command != NULL ? EXIT_OWN : EXIT_TROUBLE;
	if (record_tasks_prepare(&s.tasks, &o.tasks, o.run.command != NULL, err) < 0) {
		record_tasks_end(&s.tasks);
		return o.run.command != NULL ? EXIT_OWN : EXIT_TROUBLE;
	}
	s.run = (struct run){ .app = app,
			      .opts = &o.run,
			      .instrument = &record_instrument,
			      .session = &s,
			      .changes = CHANGES_EMPTY };
	code = run_go(&s.run, err);
	record_tasks_end(&s.tasks);
	return code;
}

const struct command command_record = {
	.name = "record",
	.run = cmd_record,
	.usage = "[OPTIONS] [-p PID | -- CMD...]",
	.help = "record where the time of a command or a process goes",
	.opts = record_opt_rows,
	.opt_count = ARRAY_LEN(record_opt_rows),
	.ends_at_command = true,
};
