/* mark.c - `tare mark`: a job written in shell says what it works on. */
#include <errno.h>
#include <string.h>

#include "cli/app.h"
#include "cli/marks.h"
#include "core/scoped.h"
#include "core/task_names.h"

#define WAIT_MS 1000u /* until the recorder has looked who we are */

struct mark_opts {
	bool is_end, is_quiet;
};

static const struct opt mark_opt_rows[] = {
	{ "end", 0, OPT_FLAG, offsetof(struct mark_opts, is_end), NULL, NULL,
	  "the task ends, and no other begins" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct mark_opts, is_quiet), NULL, NULL,
	  "where nobody records, say nothing and leave with 0" },
};

static int check_words(const struct mark_opts *o, const struct opt_rest *rest, struct err *err)
{
	size_t len = rest->count > 0 ? strlen(rest->argv[0]) : 0;

	if (rest->count == (o->is_end ? 0 : 1) && (o->is_end || len > 0)) {
		if (len <= TASK_NAME_MOST_BYTES)
			return 0;
		err_set(err, -ENAMETOOLONG, "cannot mark a task: its name has %zu bytes", len);
		return err_mend(err, "a name has at most %u", TASK_NAME_MOST_BYTES);
	}
	err_set(err, -EINVAL, "cannot mark a task: %s",
		o->is_end	  ? "--end takes no name"
		: rest->count > 1 ? "one name is one word"
				  : "it has no name");
	return err_mend(err, "tare mark NAME, or tare mark --end");
}

static int cmd_mark(struct app *app, int argc, char **argv, struct err *err)
{
	struct mark_opts o = { .is_end = false };
	struct opt_rest rest;
	int code = opts_parse(mark_opt_rows, ARRAY_LEN(mark_opt_rows), false, argc, argv, &o, &rest,
			      err);
	struct mark mark = { .is_of_parent = true };

	if (code < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_mark);
		return EXIT_OK;
	}
	if (check_words(&o, &rest, err) < 0)
		return EXIT_TROUBLE;
	mark.is_end = o.is_end;
	if (!o.is_end)
		mark.name = (struct str){ rest.argv[0], (uint32_t)strlen(rest.argv[0]) };
	code = marks_send(&mark, WAIT_MS, err);
	if (code == -ENOENT && o.is_quiet) {
		*err = ERR_EMPTY;
		return EXIT_OK;
	}
	return code < 0 ? EXIT_TROUBLE : EXIT_OK;
}

const struct command command_mark = {
	.name = "mark",
	.run = cmd_mark,
	.usage = "[OPTIONS] NAME | --end",
	.help = "say which task a recorded job begins, from inside it",
	.opts = mark_opt_rows,
	.opt_count = ARRAY_LEN(mark_opt_rows),
};
