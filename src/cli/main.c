/* main.c - finds the command, runs it, tells a failure once and ends with the right status. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/app.h"

static void print_usage(FILE *out)
{
	fprintf(out, "tare records where the time goes, in a recording of fixed size, at a fixed "
		     "price.\n\n"
		     "usage: tare COMMAND [OPTIONS]\n\n");
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->help);
	fprintf(out, "\nFirst steps: tare record -- ./job    then: tare report\n"
		     "tare COMMAND --help shows its options; tare --version; tare --completions "
		     "SHELL\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Results that could not be written are a failure, whatever the command thought. */
static int flush_results(struct app *app, const char *name, int status)
{
	struct err err = ERR_EMPTY;

	if (fflush(app->out) == 0 && !ferror(app->out))
		return status;
	err_set(&err, -EIO, "cannot write the result to the standard output: %s", strerror(errno));
	command_print_err(app, name, &err);
	return EXIT_TROUBLE;
}

static int run_command(struct app *app, const struct command *c, int argc, char **argv)
{
	struct err err = ERR_EMPTY;
	int status = c->run(app, argc, argv, &err);

	if (err.code != 0)
		command_print_err(app, c->name, &err);
	return flush_results(app, c->name, status < 0 ? EXIT_TROUBLE : status);
}

static int run_completions(struct app *app, const char *shell)
{
	struct err err = ERR_EMPTY;

	if (completions_print(app->out, shell, &err) < 0) {
		command_print_err(app, "--completions", &err);
		return EXIT_TROUBLE;
	}
	return flush_results(app, "--completions", EXIT_OK);
}

static int unknown_command(struct app *app, const char *name)
{
	struct err err = ERR_EMPTY;

	err_set(&err, -EINVAL, "cannot run '%.200s': there is no such command", name);
	err_mend(&err, "tare --help lists the commands");
	command_print_err(app, NULL, &err);
	return EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	struct app app = { .out = stdout, .talk = stderr, .is_terminal = isatty(STDERR_FILENO) };
	const char *name = argc > 1 ? argv[1] : "--help";
	const struct command *c;

	setlocale(LC_CTYPE, "");
	app.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	app.switched_off = getenv("TARE_NO");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		print_usage(argc > 1 ? stdout : stderr);
		return flush_results(&app, "--help", argc > 1 ? EXIT_OK : EXIT_TROUBLE);
	}
	if (strcmp(name, "--version") == 0) {
		printf("tare %s\n", TARE_VERSION);
		return flush_results(&app, "--version", EXIT_OK);
	}
	if (strcmp(name, "--completions") == 0)
		return run_completions(&app, argc > 2 ? argv[2] : "");
	c = find_command(name);
	return c != NULL ? run_command(&app, c, argc - 1, argv + 1) : unknown_command(&app, name);
}
