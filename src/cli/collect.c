/* collect.c - `tare collect`: its options, and the verbs behind it. */
#include "cli/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/scoped.h"
#include "fleet/link.h"

static const struct opt collect_rows[] = {
	{ "config", 'c', OPT_FILE, offsetof(struct collect_opts, config), "FILE", COLLECT_CONFIG,
	  "the settings" },
	{ "once", 0, OPT_FLAG, offsetof(struct collect_opts, is_once), NULL, NULL,
	  "one cycle of all servers, or of the one that a URL names, and leave; top: one frame" },
	{ "output", 'o', OPT_TEXT, offsetof(struct collect_opts, output), "FILE", NULL,
	  "--once: keep it in this store" },
	{ "wait", 0, OPT_DURATION, offsetof(struct collect_opts, wait_ns), "TIME", "5s",
	  "--once URL: the time between the two looks" },
	{ "check", 0, OPT_FLAG, offsetof(struct collect_opts, is_check), NULL, NULL,
	  "visit all servers, keep nothing, say what will run where; 1: one failed" },
	{ "grants", 0, OPT_FLAG, offsetof(struct collect_opts, is_grants), NULL, NULL,
	  "print the SQL that gives the role what it needs, and no more" },
	{ "since", 0, OPT_DURATION, offsetof(struct collect_opts, since_ns), "TIME", "1d",
	  "cost: how far back" },
	{ "last", 0, OPT_DURATION, offsetof(struct collect_opts, last_ns), "TIME", "2min",
	  "top: how far back, and no less than two cycles" },
	{ "json", 'j', OPT_FLAG, offsetof(struct collect_opts, is_json), NULL, NULL,
	  "status, cost: one JSON object" },
};

void collect_say(void *owner, const char *text)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	struct app *app = owner;

	text_put(&line, "tare collect: ");
	text_put_name(&line, (struct str){ text, (uint32_t)strlen(text) });
	text_put(&line, "\n");
	fputs(text_chars(&line), app->talk);
	fflush(app->talk);
}

int collect_load(struct app *app, const struct collect_opts *o, struct collect_settings *out,
		 struct err *err)
{
	return settings_load(o->config, out, collect_say, app, err);
}

/* Passwords are in memory from here on: no core, no look by others, no file that others can read. */
static void guard(void)
{
	struct rlimit none = { 0, 0 };

	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &none);
	umask(077);
	link_forget_environment();
}

/* A copy of a URL for us; in our arguments, which everybody can see, its password is overwritten. */
static int hide_password(struct app *app, char *url, char **out, struct err *err)
{
	*out = strdup(url);
	if (*out == NULL)
		return err_set(err, -ENOMEM, "cannot read the URL: no memory");
	if (settings_url_hide(url))
		collect_say(app, "a password in the arguments could be seen by every user of this "
				 "machine until now: "
				 "write password = file:/path in a settings file");
	return 0;
}

static int run_url(struct app *app, struct collect_opts *o, char *url, struct err *err)
{
	char *copy = NULL;
	int rc = hide_password(app, url, &copy, err);

	if (rc == 0) {
		o->argument = copy;
		rc = collect_once(app, o, err);
		explicit_bzero(copy, strlen(copy));
	}
	free(copy);
	return rc;
}

static int unknown_verb(const char *verb, struct err *err)
{
	err_set(err, -EINVAL, "cannot use '%.100s': collect knows plan, cost, status and top",
		verb);
	return err_mend(err, "tare collect --help; one visit of a URL is tare collect --once URL");
}

static int need_arguments(const struct opt_rest *rest, int count, const char *usage,
			  struct err *err)
{
	if (rest->count == count)
		return 0;
	err_set(err, -EINVAL, "cannot run: it takes %s", usage);
	return err_mend(err, "tare collect --help");
}

static int run_verb(struct app *app, struct collect_opts *o, const struct opt_rest *rest,
		    struct err *err)
{
	const char *verb = rest->argv[0];

	if (strcmp(verb, "status") == 0)
		return need_arguments(rest, 1, "tare collect status", err) < 0
			       ? err->code
			       : collect_ask_status(app, o, err);
	if (strcmp(verb, "cost") == 0) {
		o->argument = rest->count > 1 ? rest->argv[1] : NULL;
		return need_arguments(rest, rest->count > 1 ? 2 : 1, "tare collect cost [STORE]",
				      err) < 0
			       ? err->code
			       : collect_cost(app, o, err);
	}
	if (strcmp(verb, "plan") != 0)
		return unknown_verb(verb, err);
	if (need_arguments(rest, 3, "tare collect plan SERVER QUERYID", err) < 0)
		return err->code;
	guard();
	return collect_plan(app, o, rest->argv[1], rest->argv[2], err);
}

/* --once is its own: one frame. */
static int run_top(struct app *app, struct collect_opts *o, const struct opt_rest *rest,
		   struct err *err)
{
	char *copy = NULL;
	int rc;

	if (need_arguments(rest, rest->count > 1 ? 2 : 1, "tare collect top [STORE]", err) < 0)
		return err->code;
	if (o->is_check || o->is_grants) {
		err_set(err, -EINVAL, "cannot use --check or --grants with top");
		return err_mend(err, "tare collect --help");
	}
	guard();
	if (rest->count > 1 && hide_password(app, rest->argv[1], &copy, err) < 0)
		return err->code;
	o->argument = copy;
	rc = collect_top(app, o, err);
	if (copy != NULL)
		explicit_bzero(copy, strlen(copy));
	free(copy);
	return rc;
}

/* What was asked for takes at most one thing. */
static int check_modes(const struct collect_opts *o, const struct opt_rest *rest, struct err *err)
{
	int modes = o->is_once + o->is_check + o->is_grants;

	if (modes > 1) {
		err_set(err, -EINVAL, "cannot do two of --once, --check and --grants at a time");
		return err_mend(err, "leave one");
	}
	if (modes == 1 && rest->count > (o->is_check ? 0 : 1)) {
		err_set(err, -EINVAL, "cannot use '%.100s' here",
			o->is_check ? rest->argv[0] : rest->argv[1]);
		return err_mend(err, "tare collect --help");
	}
	return 0;
}

/* A queryid can be negative, and is no option then: such numbers go behind all else, in their order. Returns how many. */
static int move_numbers(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc - count;) {
		char *word = argv[i];
		size_t digits = strspn(word + (word[0] == '-'), "0123456789");

		if (word[0] != '-' || digits == 0 || word[digits + 1] != '\0') {
			i++;
			continue;
		}
		memmove(&argv[i], &argv[i + 1], (size_t)(argc - 1 - i) * sizeof(*argv));
		argv[argc - 1] = word;
		count++;
	}
	return count;
}

static int cmd_collect(struct app *app, int argc, char **argv, struct err *err)
{
	struct collect_opts o = { .config = NULL };
	struct opt_rest rest;
	int numbers = move_numbers(argc, argv);

	if (opts_parse(collect_rows, ARRAY_LEN(collect_rows), false, argc - numbers, argv, &o,
		       &rest, err) < 0)
		return err->code;
	if (rest.wants_help) {
		command_print_help(app->out, &command_collect);
		return EXIT_OK;
	}
	rest.count += numbers;
	if (rest.count > 0 && strcmp(rest.argv[0], "top") == 0)
		return run_top(app, &o, &rest, err);
	if (check_modes(&o, &rest, err) < 0)
		return err->code;
	if (o.is_grants) {
		o.argument = rest.count > 0 ? rest.argv[0] : NULL;
		return collect_grants(app, &o, err);
	}
	if (!o.is_once && rest.count > 0)
		return run_verb(app, &o, &rest, err);
	guard();
	if (o.is_once && rest.count > 0)
		return run_url(app, &o, rest.argv[0], err);
	if (o.is_once)
		return collect_once(app, &o, err);
	return o.is_check ? collect_check(app, &o, err) : collect_daemon(app, &o, err);
}

const struct command command_collect = {
	.name = "collect",
	.run = cmd_collect,
	.usage = "[OPTIONS] | --once [URL] | --check | --grants [ROLE]\n"
		 "       tare collect status | cost [STORE] | top [STORE] | plan SERVER QUERYID",
	.help = "visit a fleet of database servers: statements, procedures, waits, plans",
	.opts = collect_rows,
	.opt_count = ARRAY_LEN(collect_rows),
};
