/* command.c - what every command shares: its help, and how a failure is told. */
#include <stdio.h>
#include <string.h>

#include "cli/app.h"
#include "core/scoped.h"
#include "core/text.h"

const struct command *const commands[] = {
	&command_record, &command_watch, &command_collect, &command_report,
	&command_mark,	 &command_prove, &command_doctor,
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

/* Names of others' making stand in messages: what a terminal would obey is shown, not sent. */
static void print_harmless(FILE *out, const char *before, const char *chars)
{
	SCOPED(text_free) struct text shown = TEXT_EMPTY;

	text_put_name(&shown, (struct str){ chars, (uint32_t)strlen(chars) });
	fputs(before, out);
	if (!shown.has_failed)
		fputs(text_chars(&shown), out);
	for (; shown.has_failed && *chars != '\0'; chars++) /* no memory: without an escape */
		fputc(*chars >= ' ' && *chars <= '~' ? *chars : '?', out);
	fputc('\n', out);
}

void command_print_err(struct app *app, const char *command, const struct err *err)
{
	fflush(app->out);
	fprintf(app->talk, "tare%s%s", command != NULL ? " " : "", command != NULL ? command : "");
	print_harmless(app->talk, ": ", err->msg);
	if (err->works[0] != '\0')
		print_harmless(app->talk, "  still works: ", err->works);
	if (err->mend[0] != '\0')
		print_harmless(app->talk, "  to mend it: ", err->mend);
}
