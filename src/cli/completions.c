/* completions.c - completion scripts for bash, zsh and fish, written from the option tables. */
#include <errno.h>
#include <string.h>

#include "cli/app.h"
#include "core/scoped.h"

static bool is_file(const struct opt *o)
{
	return o->type == OPT_FILE;
}

static void bash_command(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s)\n\t\twords='--help", c->name);
	for (size_t i = 0; i < c->opt_count; i++)
		fprintf(out, " --%s", c->opts[i].name);
	fprintf(out, "'\n\t\t;;\n");
}

static void print_bash(FILE *out)
{
	fprintf(out,
		"# bash completion for tare; made by: tare --completions bash\n_tare()\n{\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} words=''\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='--help --version --completions");
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, " %s", commands[i]->name);
	fprintf(out, "'\n\telse\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < command_count; i++)
		bash_command(out, commands[i]);
	fprintf(out, "\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
		     "\t[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
		     "complete -o filenames -F _tare tare\n");
}

/* Text inside single quotes of zsh's option descriptions: no quotes, brackets or colons. */
static void print_plain(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fputc(strchr("'[]:", *text) != NULL ? ' ' : *text, out);
}

static void zsh_command(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s) _arguments", c->name);
	for (size_t i = 0; i < c->opt_count; i++) {
		const struct opt *o = &c->opts[i];

		fprintf(out, " \\\n\t\t'--%s%s[", o->name, o->arg ? "=" : "");
		print_plain(out, o->help);
		fputc(']', out);
		if (o->arg != NULL) {
			fputc(':', out);
			print_plain(out, o->arg);
			fputs(is_file(o) ? ":_files" : ": ", out);
		}
		fputc('\'', out);
	}
	fprintf(out, " \\\n\t\t'*:file:_files' ;;\n");
}

static void print_zsh(FILE *out)
{
	fprintf(out, "#compdef tare\n# made by: tare --completions zsh\n"
		     "if (( CURRENT == 2 )); then\n\t_values command");
	for (size_t i = 0; i < command_count; i++) {
		fprintf(out, " '%s[", commands[i]->name);
		print_plain(out, commands[i]->help);
		fprintf(out, "]'");
	}
	fprintf(out, "\n\treturn\nfi\nshift words\n(( CURRENT-- ))\ncase $words[1] in\n");
	for (size_t i = 0; i < command_count; i++)
		zsh_command(out, commands[i]);
	fprintf(out, "esac\n");
}

static void print_fish(FILE *out)
{
	fprintf(out, "# fish completion for tare; made by: tare --completions fish\n");
	for (size_t i = 0; i < command_count; i++) {
		const struct command *c = commands[i];

		fprintf(out, "complete -c tare -n __fish_use_subcommand -f -a %s -d '", c->name);
		print_plain(out, c->help);
		fprintf(out, "'\n");
		for (size_t k = 0; k < c->opt_count; k++) {
			const struct opt *o = &c->opts[k];

			fprintf(out, "complete -c tare -n '__fish_seen_subcommand_from %s' -l %s",
				c->name, o->name);
			if (o->letter != '\0')
				fprintf(out, " -s %c", o->letter);
			fprintf(out, "%s%s -d '", o->arg ? " -r" : "",
				o->arg && !is_file(o) ? " -f" : "");
			print_plain(out, o->help);
			fprintf(out, "'\n");
		}
	}
}

int completions_print(FILE *out, const char *shell, struct err *err)
{
	static const struct {
		const char *name;
		void (*print)(FILE *out);
	} shells[] = {
		{ "bash", print_bash },
		{ "zsh", print_zsh },
		{ "fish", print_fish },
	};

	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].print(out);
		return 0;
	}
	err_set(err, -EINVAL, "cannot complete for the shell '%.100s'", shell);
	return err_mend(err, "tare --completions bash, zsh or fish");
}
