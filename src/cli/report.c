/* report.c - `tare report`: a recording in the terminal, or as JSON. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/report.h"
#include "core/scoped.h"
#include "core/verdict.h"
#include "store/store.h"

struct report_opts {
	bool shows_all, only_findings, is_json, is_schema;
};

static const struct opt report_options[] = {
	{ "all", 'a', OPT_FLAG, offsetof(struct report_opts, shows_all), NULL, NULL,
	  "every function and every thread" },
	{ "findings", 0, OPT_FLAG, offsetof(struct report_opts, only_findings), NULL, NULL,
	  "only what stands out, and where to look next" },
	{ "json", 'j', OPT_FLAG, offsetof(struct report_opts, is_json), NULL, NULL,
	  "one JSON object with everything" },
	{ "json-schema", 0, OPT_FLAG, offsetof(struct report_opts, is_schema), NULL, NULL,
	  "the JSON schema of that object, and leave" },
};

static void close_folder(DIR **folder)
{
	if (*folder != NULL)
		closedir(*folder);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool ends_in_tare(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".tare") == 0;
}

/* The recording of this folder that was written last; ties: the later name. */
static int newest_here(char *out, size_t size, struct err *err)
{
	SCOPED(close_folder) DIR *folder = opendir(".");
	struct timespec newest = { 0 };
	const struct dirent *entry;
	struct stat st;

	out[0] = '\0';
	if (folder == NULL)
		return err_set(err, -errno, "cannot look for recordings here: %s", strerror(errno));
	while ((entry = readdir(folder)) != NULL) {
		if (!ends_in_tare(entry->d_name) || stat(entry->d_name, &st) != 0 ||
		    !S_ISREG(st.st_mode) || strlen(entry->d_name) >= size)
			continue;
		if (out[0] == '\0' || is_newer(&st.st_mtim, &newest) ||
		    (!is_newer(&newest, &st.st_mtim) && strcmp(entry->d_name, out) > 0)) {
			newest = st.st_mtim;
			snprintf(out, size, "%s", entry->d_name);
		}
	}
	if (out[0] != '\0')
		return 0;
	err_set(err, -ENOENT, "cannot find a recording here: there is no file *.tare");
	err_works(err, "tare report FILE reads one from anywhere");
	return err_mend(err, "make one: tare record -- CMD");
}

static void say_which(struct app *app, const char *path)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	text_put_name(&line, (struct str){ path, (uint32_t)strlen(path) });
	if (!app->has_utf8)
		text_make_ascii(&line);
	fprintf(app->talk, "tare report: %s\n", text_chars(&line));
}

static void print_findings(struct screen *s, const struct findings *f)
{
	char number[24];

	if (f->count == 0) {
		screen_put(s, "nothing stands out");
		screen_end(s);
	}
	for (size_t i = 0; i < f->count; i++) {
		const struct text *lines[] = { &f->rows[i].title, &f->rows[i].evidence,
					       &f->rows[i].look_next };

		snprintf(number, sizeof(number), "%zu", i + 1);
		screen_put(s, number);
		for (size_t l = 0; l < ARRAY_LEN(lines); l++) {
			screen_to(s, 3);
			screen_wrap(s, text_chars(lines[l]), 3);
		}
	}
}

/* The last line of the first screen: what else there is. */
static void print_more(struct screen *s, const struct report *r, uint32_t functions_left)
{
	char line[64];
	size_t count = r->findings->count;

	if (count == 0)
		screen_put(s, "nothing stands out");
	else {
		snprintf(line, sizeof(line), "%zu finding%s: tare report --findings", count,
			 count == 1 ? "" : "s");
		screen_put(s, line);
	}
	if (functions_left > 0) {
		screen_to(s, 47);
		snprintf(line, sizeof(line), "%u more: tare report --all", functions_left);
		screen_put(s, line);
	}
	screen_end(s);
}

static void print_report(struct screen *s, const struct report *r, bool shows_all)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	verdict_put(&verdict, r->recording, r->analysis);
	s->has_failed |= verdict.has_failed;
	screen_wrap(s, text_chars(&verdict), 0);
	screen_end(s);
	label_head(s, r);
	screen_end(s);
	if (r->analysis->kept > 0) {
		print_more(s, r, table_functions(s, r, shows_all));
		screen_end(s);
		table_threads(s, r, shows_all);
		screen_end(s);
	}
	screen_put(s, "findings");
	screen_end(s);
	print_findings(s, r->findings);
	screen_end(s);
	label_whole(s, r);
}

static unsigned columns_of(FILE *out)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < 70 ? 70 : size.ws_col;
}

static int print_words(struct app *app, const struct report *r, const struct report_opts *opts,
		       struct err *err)
{
	const char *term = getenv("TERM");
	SCOPED(screen_free)
	struct screen s = {
		.out = app->out,
		.columns = columns_of(app->out),
		.is_ascii = !app->has_utf8 || (term != NULL && strcmp(term, "dumb") == 0),
	};

	if (opts->only_findings)
		print_findings(&s, r->findings);
	else
		print_report(&s, r, opts->shows_all);
	return s.has_failed ? err_set(err, -ENOMEM, "cannot write the report: out of memory") : 0;
}

/* Reads the recording and prints what was asked for. */
static int show(struct app *app, const char *path, const struct report_opts *opts, struct err *err)
{
	SCOPED(recording_free) struct recording recording = RECORDING_EMPTY;
	SCOPED(analysis_free) struct analysis analysis = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings findings = { .count = 0 };
	const struct report report = { &recording, &analysis, &findings, path };
	const struct store_ops *store;
	int code = store_find(path, &store, err);

	if (code == 0)
		code = store->load(path, &recording, err);
	if (code == 0)
		code = analysis_open(&recording, &analysis, err);
	if (code == 0)
		code = findings_open(&recording, &analysis, &findings, err);
	if (code != 0)
		return code;
	if (!opts->is_json)
		return print_words(app, &report, opts, err);
	code = report_json(app->out, &report);
	if (code == 0 || code == -EIO)
		return 0; /* main tells what could not be written */
	return err_set(err, code, "cannot write the report: %s", strerror(-code));
}

static int cmd_report(struct app *app, int argc, char **argv, struct err *err)
{
	struct report_opts opts = { .shows_all = false };
	struct opt_rest rest = { .count = 0 };
	char newest[NAME_MAX + 1];
	const char *path = newest;
	int code = opts_parse(report_options, ARRAY_LEN(report_options), false, argc, argv, &opts,
			      &rest, err);

	if (code != 0)
		return code;
	if (rest.wants_help) {
		command_print_help(app->out, &command_report);
		return EXIT_OK;
	}
	if (opts.is_schema) {
		report_schema(app->out);
		return EXIT_OK; /* main tells what could not be written */
	}
	if (rest.count > 1)
		return err_set(err, -EINVAL,
			       "cannot report more than one recording: '%s' is one too "
			       "many",
			       rest.argv[1]);
	if (rest.count == 1) {
		path = rest.argv[0];
	} else {
		code = newest_here(newest, sizeof(newest), err);
		if (code != 0)
			return code;
		say_which(app, path);
	}
	return show(app, path, &opts, err);
}

const struct command command_report = {
	.name = "report",
	.run = cmd_report,
	.usage = "[OPTIONS] [FILE]",
	.help = "say where the time of a recording went",
	.opts = report_options,
	.opt_count = ARRAY_LEN(report_options),
};
