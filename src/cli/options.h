/* options.h - options are rows into a struct private to their command: parsing, help and completions read the
 * same table. */
#ifndef TARE_CLI_OPTIONS_H
#define TARE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum opt_type {
	OPT_FLAG,     /* bool */
	OPT_COUNT,    /* uint64_t */
	OPT_SHARE,    /* uint64_t, millionths */
	OPT_DURATION, /* uint64_t, ns */
	OPT_SIZE,     /* uint64_t, bytes */
	OPT_TEXT,     /* const char *, borrowed from argv */
	OPT_FILE,     /* the same; completed as a file */
};

struct opt {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	enum opt_type type;
	size_t offset;	    /* in the command's struct */
	const char *arg;    /* "TIME"; NULL for a flag */
	const char *preset; /* as a user would type it; NULL: none (zero) */
	const char *help;   /* one line, lower case, no full stop */
};

/* What is left behind the options. */
struct opt_rest {
	char **argv; /* borrowed; argv[count] is NULL */
	int count;
	bool has_dashes; /* a "--" stood before it */
	bool wants_help; /* -h or --help was given: print it and leave */
};

/* Sets all presets, then reads argv[1..]. `out` is the command's struct, zeroed by the caller. `ends_at_command`: the
 * first word that is no option ends them. -EINVAL: the message names the option, the value and the nearest option. */
int opts_parse(const struct opt *opts, size_t count, bool ends_at_command, int argc, char **argv,
	       void *out, struct opt_rest *rest, struct err *err);

#endif
