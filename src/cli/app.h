/* app.h - the root of the program's state, made in main and passed down, and the commands as rows. */
#ifndef TARE_CLI_APP_H
#define TARE_CLI_APP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options.h"
#include "core/err.h"

#define TARE_VERSION "0.1.0"

/* Exit status: as in the manual. For `record -- CMD` the command's own status, else 125 to 127. */
enum exit_code {
	EXIT_OK = 0,	     /* done */
	EXIT_NO = 1,	     /* the answer is no: a regression, a failed check */
	EXIT_TROUBLE = 2,    /* it could not be done */
	EXIT_OWN = 125,	     /* `-- CMD`: tare failed */
	EXIT_NOT_EXEC = 126, /* `-- CMD`: it cannot be executed */
	EXIT_NOT_FOUND = 127 /* `-- CMD`: there is no such command */
};

/* What a command that we ran took by the kernel's account, with all children that it waited for. */
struct job_spent {
	uint64_t cpu_ns;
	uint64_t wall_ns; /* from its exec to its end */
};

struct app {
	FILE *out;		  /* results; borrowed */
	FILE *talk;		  /* everything else; borrowed */
	bool is_terminal;	  /* talk is a terminal */
	bool has_utf8;		  /* the locale can show it: else ASCII */
	const char *switched_off; /* TARE_NO, for tests; may be NULL */
	struct job_spent *
		job; /* filled in when a command that was run has ended; borrowed; NULL: nobody asks */
};

/* One command. `run` gets its own name in argv[0] and returns an exit code, or a negative errno with `err` filled
 * (exit 2). A positive code with err.code set is printed too. */
struct command {
	const char *name;
	int (*run)(struct app *app, int argc, char **argv, struct err *err);
	const char *usage; /* what follows the name */
	const char *help;  /* one line */
	const struct opt *opts;
	size_t opt_count;
	bool ends_at_command; /* options end where CMD begins */
};

extern const struct command command_record, command_watch, command_collect, command_report,
	command_mark, command_prove, command_doctor;

/* All commands, in the order of the help. */
extern const struct command *const commands[];
extern const size_t command_count;

/* Prints the help of one command from its option table. */
void command_print_help(FILE *out, const struct command *c);

/* Prints a failure of `command` (NULL: before there was one) in at most three lines: what failed, what still works, how to mend it. */
void command_print_err(struct app *app, const char *command, const struct err *err);

/* Prints the completion script for bash, zsh or fish from the option tables. -EINVAL names the shells. */
int completions_print(FILE *out, const char *shell, struct err *err);

#endif
