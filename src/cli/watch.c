/* watch.c - `tare watch`: its options. */
#include "cli/watch.h"

#include <errno.h>
#include <string.h>

#include "core/scoped.h"

#define MIN_WINDOW_NS NS_PER_S
#define MAX_WINDOW_NS (600 * NS_PER_S)

static const struct opt watch_opt_rows[] = {
	{ "pid", 'p', OPT_COUNT, offsetof(struct watch_opts, run.pid), "PID", NULL,
	  "watch a process that runs already" },
	{ "duration", 'd', OPT_DURATION, offsetof(struct watch_opts, run.duration_ns), "TIME", NULL,
	  "end the recording after this time; the process goes on" },
	{ "output", 'o', OPT_FILE, offsetof(struct watch_opts, run.output), "FILE|DIR", NULL,
	  "write here, or to a name of its own in this folder" },
	{ "keep-files", 0, OPT_COUNT, offsetof(struct watch_opts, run.keep_files), "N", NULL,
	  "afterwards keep the newest N recordings of this command in the folder" },
	{ "force", 'f', OPT_FLAG, offsetof(struct watch_opts, run.may_overwrite), NULL, NULL,
	  "overwrite FILE" },
	{ "price", 'b', OPT_SHARE, offsetof(struct watch_opts, run.price_ppm), "PERCENT", "1%",
	  "most of one CPU that watching may take" },
	{ "interval", 'i', OPT_COUNT, offsetof(struct watch_opts, interval), "N", "8",
	  "time one call in N, or fewer when the price asks for it" },
	{ "most-interval", 0, OPT_COUNT, offsetof(struct watch_opts, interval_most), "N", "4096",
	  "but never fewer than one call in N" },
	{ "window", 'w', OPT_DURATION, offsetof(struct watch_opts, window_ns), "TIME", "10s",
	  "intervals are chosen again after each window, from 1s to 10min" },
	{ "functions", 0, OPT_COUNT, offsetof(struct watch_opts, functions), "N", "40",
	  "watch at most N functions" },
	{ "frame", 0, OPT_TEXT, offsetof(struct watch_opts, frame), "FUNC", NULL,
	  "the time between two calls of FUNC is a frame" },
	{ "slow", 0, OPT_DURATION, offsetof(struct watch_opts, slow_ns), "TIME", "50ms",
	  "keep what a frame of so long, or longer, was made of" },
	{ "max-size", 0, OPT_SIZE, offsetof(struct watch_opts, run.max_bytes), "SIZE", "4MB",
	  "most bytes of the recording, for ever" },
	{ "no-slices", 0, OPT_FLAG, offsetof(struct watch_opts, has_no_slices), NULL, NULL,
	  "leave a function that is too hot, and say the allowed rate, instead of slices" },
	{ "list", 'l', OPT_FLAG, offsetof(struct watch_opts, is_list), NULL, NULL,
	  "show what could be watched, and at what price, and watch nothing" },
	{ "json", 0, OPT_FLAG, offsetof(struct watch_opts, run.is_json), NULL, NULL,
	  "end with one line of JSON on the standard output" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct watch_opts, run.is_quiet), NULL, NULL,
	  "say nothing but failures" },
};

static int check_numbers(const struct watch_opts *o, struct err *err)
{
	char functions[80], interval[80];
	const struct run_bound bounds[] = {
		{ o->window_ns, MIN_WINDOW_NS, MAX_WINDOW_NS, "use windows of", " ns",
		  "--window takes a time from 1s to 10min" },
		{ o->functions, 1, WATCHLIST_MOST, "watch", " functions", functions },
		{ o->interval_most, 1, PACE_MOST, "time one call in", " at least",
		  "--most-interval takes a number from 1 to 4096" },
		{ o->interval, 1, o->interval_most, "time one call in", "", interval },
	};

	snprintf(functions, sizeof(functions), "--functions takes a number from 1 to %u",
		 WATCHLIST_MOST);
	snprintf(interval, sizeof(interval),
		 "--interval takes a number from 1 to %llu, which is --most-interval",
		 (unsigned long long)o->interval_most);
	if (run_check_limits(&o->run, "watch", "1MB", err) < 0)
		return err->code;
	return run_check_bounds(bounds, ARRAY_LEN(bounds), err);
}

static int run_list(struct app *app, struct watch_opts *o, struct err *err)
{
	if (o->run.command != NULL) {
		err_set(err, -EINVAL, "cannot list and run '%s' at once", o->run.command[0]);
		return err_mend(err, "tare watch --list PROGRAM [GLOB...], without a command");
	}
	if (o->run.pid == 0 && o->pattern_count == 0) {
		err_set(err, -EINVAL, "cannot list: neither a program nor a process is named");
		return err_mend(err, "tare watch --list ./program, or tare watch --list -p PID");
	}
	if (o->run.pid != 0 && run_check_target(&o->run, "list", err) < 0)
		return err->code;
	return watch_list(app, o, err);
}

static int cmd_watch(struct app *app, int argc, char **argv, struct err *err)
{
	struct watch_opts o = { .interval = 0 };
	struct watch_session s = { .opts = &o };
	struct opt_rest rest;
	char **command;

	argc = run_cut_command(argc, argv, &o.run.command);
	command = o.run.command;
	if (opts_parse(watch_opt_rows, ARRAY_LEN(watch_opt_rows), false, argc, argv, &o, &rest,
		       err) < 0)
		return command != NULL ? EXIT_OWN : EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_watch);
		return EXIT_OK;
	}
	o.patterns = rest.argv;
	o.pattern_count = (size_t)rest.count;
	if (o.is_list)
		return run_list(app, &o, err);
	if (run_check_target(&o.run, "watch", err) < 0 || check_numbers(&o, err) < 0)
		return command != NULL ? EXIT_OWN : EXIT_TROUBLE;
	s.run = (struct run){ .app = app,
			      .opts = &o.run,
			      .instrument = &watch_instrument,
			      .session = &s,
			      .changes = CHANGES_EMPTY };
	return run_go(&s.run, err);
}

const struct command command_watch = {
	.name = "watch",
	.run = cmd_watch,
	.usage = "[OPTIONS] [FUNC...] -p PID | [FUNC...] -- CMD...",
	.help = "count every call of named functions, and time a sample of them",
	.opts = watch_opt_rows,
	.opt_count = ARRAY_LEN(watch_opt_rows),
};
