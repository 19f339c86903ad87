/* command.c - what every command shares: its help, and how a failure is told. */
#include <stdio.h>
#include <string.h>

#include "cli/app.h"
#include "core/scoped.h"

const struct command *const commands[] = {
	&command_record,
	&command_report,
	&command_doctor,
};
const size_t command_count = ARRAY_LEN(commands);

static void print_option(FILE *out, const struct opt *o)
{
	char left[64];
	char letter[8] = "    ";

	if (o->letter != '\0')
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	fprintf(out, "%-30s %s", left, o->help);
	if (o->preset != NULL)
		fprintf(out, " (%s)", o->preset);
	fputc('\n', out);
}

void command_print_help(FILE *out, const struct command *c)
{
	fprintf(out, "usage: tare %s %s\n\n%s\n\n", c->name, c->usage, c->help);
	for (size_t i = 0; i < c->opt_count; i++)
		print_option(out, &c->opts[i]);
	fprintf(out, "%-30s %s\n", "  -h, --help", "show this");
	fprintf(out, "\nmore: man tare-%s\n", c->name);
}

void command_print_err(struct app *app, const char *command, const struct err *err)
{
	fflush(app->out);
	fprintf(app->talk, "tare %s: %s\n", command, err->msg);
	if (err->works[0] != '\0')
		fprintf(app->talk, "  still works: %s\n", err->works);
	if (err->mend[0] != '\0')
		fprintf(app->talk, "  to mend it: %s\n", err->mend);
}
