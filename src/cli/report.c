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
#include "cli/report_fleet.h"
#include "core/scoped.h"
#include "store/store.h"

static const struct opt report_options[] = {
	{ "all", 'a', OPT_FLAG, offsetof(struct report_opts, shows_all), NULL, NULL,
	  "every function and every thread" },
	{ "findings", 0, OPT_FLAG, offsetof(struct report_opts, only_findings), NULL, NULL,
	  "only what stands out, and where to look next" },
	{ "label", 0, OPT_FLAG, offsetof(struct report_opts, only_label), NULL, NULL,
	  "only the whole label: price, size, what is missing" },
	{ "slow", 0, OPT_FLAG, offsetof(struct report_opts, only_slow), NULL, NULL,
	  "watch: only the slow frames, all that were kept" },
	{ "function", 0, OPT_TEXT, offsetof(struct report_opts, function), "NAME", NULL,
	  "watch: only this function, window by window" },
	{ "task", 0, OPT_TEXT, offsetof(struct report_opts, task), "NAME|N", NULL,
	  "samples: only this task, by its number, or the slowest of a name" },
	{ "last", 0, OPT_DURATION, offsetof(struct report_opts, last_ns), "TIME", NULL,
	  "fleet: only the last TIME before its newest visit (else a day)" },
	{ "html", 0, OPT_FILE, offsetof(struct report_opts, html), "FILE", NULL,
	  "write a page for a browser: one file, nothing else is needed" },
	{ "force", 'f', OPT_FLAG, offsetof(struct report_opts, may_overwrite), NULL, NULL,
	  "replace the page where there is one" },
	{ "json", 'j', OPT_FLAG, offsetof(struct report_opts, is_json), NULL, NULL,
	  "one JSON object with everything" },
	{ "json-schema", 0, OPT_FLAG, offsetof(struct report_opts, is_schema), NULL, NULL,
	  "its JSON schema, and leave; of others: --json-schema watch, or collect" },
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

void report_findings(struct screen *s, const struct findings *f)
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

void report_more(struct screen *s, size_t findings, uint32_t functions_left)
{
	char line[64] = "nothing stands out";

	if (findings > 0)
		snprintf(line, sizeof(line), "%zu finding%s: tare report --findings", findings,
			 findings == 1 ? "" : "s");
	screen_put(s, line);
	screen_to(s, 47);
	screen_put(s, "page: tare report --html FILE");
	screen_end(s);
	if (functions_left == 0)
		return;
	snprintf(line, sizeof(line), "%u more: tare report --all", functions_left);
	screen_put(s, line);
	screen_end(s);
}

static unsigned columns_of(FILE *out)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < 70 ? 70 : size.ws_col;
}

bool report_has_parts(const struct report_opts *opts)
{
	return opts->only_findings || opts->only_label || opts->only_slow || opts->function != NULL;
}

struct screen report_screen(const struct app *app)
{
	const char *term = getenv("TERM");

	return (struct screen){
		.out = app->out,
		.columns = columns_of(app->out),
		.is_ascii = !app->has_utf8 || (term != NULL && strcmp(term, "dumb") == 0),
	};
}

int report_failed(int code, struct err *err)
{
	if (code == 0 || code == -EIO)
		return 0; /* main tells what could not be written */
	return err_set(err, code, "cannot write the report: %s",
		       code == -ENOMEM ? "out of memory" : strerror(-code));
}

static const struct report_kind *const kinds[] = { &report_record, &report_watch };

/* NULL: there is no such instrument. A recorder that was killed before its first save has not said which it is: nothing is in
 * it, which the first one says as well as any. */
static const struct report_kind *kind_of(struct str instrument)
{
	if (instrument.len == 0)
		return kinds[0];
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (instrument.len == strlen(kinds[i]->instrument) &&
		    memcmp(instrument.bytes, kinds[i]->instrument, instrument.len) == 0)
			return kinds[i];
	return NULL;
}

/* Only a recording of samples has tasks. */
static int refuse_task(struct err *err)
{
	err_set(err, -EINVAL, "cannot show one task: this is no recording of samples");
	return err_mend(err, "tasks are told apart by tare record --tasks, and --task-under");
}

/* Reads the recording and prints what was asked for. */
static int show(struct app *app, const char *path, const struct report_opts *opts, struct err *err)
{
	SCOPED(recording_free) struct recording recording = RECORDING_EMPTY;
	SCOPED(text_free) struct text instrument = TEXT_EMPTY;
	const struct report_kind *kind;
	const struct store_ops *store;
	int code;

	if (report_is_fleet(path))
		return opts->task != NULL ? refuse_task(err)
					  : report_fleet_show(app, path, opts, err);
	code = store_find(path, &store, err);
	if (code == 0)
		code = store->load(path, &recording, err);
	if (code != 0)
		return code;
	kind = kind_of(recording.label.instrument);
	if (kind == &report_watch && opts->task != NULL)
		return refuse_task(err);
	if (kind != NULL)
		return kind->show(app, &recording, path, opts, err);
	text_put_cut(&instrument, recording.label.instrument, 40);
	err_set(err, -ENOTSUP,
		"cannot report a recording of '%s': this version has no such instrument",
		text_chars(&instrument));
	return err_mend(err, "take the version of tare that made it, or a later one");
}

/* The schema of one instrument's report; without a word, of the first one's. */
static int show_schema(struct app *app, const struct opt_rest *rest, struct err *err)
{
	const char *word = rest->count > 0 ? rest->argv[0] : kinds[0]->instrument;
	const struct report_kind *kind = kind_of((struct str){ word, (uint32_t)strlen(word) });
	bool is_fleet = strcmp(word, "collect") == 0;

	if ((kind == NULL && !is_fleet) || rest->count > 1) {
		err_set(err, -EINVAL,
			"cannot tell the schema of '%s': it is no instrument with a report",
			kind == NULL && !is_fleet ? word : rest->argv[1]);
		return err_mend(err,
				"ask for one: tare report --json-schema [record|watch|collect]");
	}
	is_fleet ? fleet_schema(app->out) : kind->schema(app->out);
	return EXIT_OK; /* main tells what could not be written */
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
	if (opts.is_schema)
		return show_schema(app, &rest, err);
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
