/* options.c - one parser for all option tables, over getopt_long. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "core/words.h"

#define MAX_OPTS   40 /* rows a command may have */
#define FIRST_LONG 256

static int set_value(const struct opt *o, const char *text, void *out)
{
	char *at = (char *)out + o->offset;
	uint64_t *number = (uint64_t *)(void *)at;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_COUNT:
		return units_parse_count(text, number);
	case OPT_SHARE:
		return units_parse_share(text, number);
	case OPT_DURATION:
		return units_parse_duration(text, number);
	case OPT_SIZE:
		return units_parse_size(text, number);
	case OPT_TEXT:
	case OPT_FILE:
		*(const char **)(void *)at = text;
		return 0;
	}
	return -EINVAL;
}

static const char *example(enum opt_type type)
{
	switch (type) {
	case OPT_COUNT:
		return "a whole number";
	case OPT_SHARE:
		return "a share of one CPU, such as 0.5%";
	case OPT_DURATION:
		return "a time with its unit, such as 10ms or 2h";
	case OPT_SIZE:
		return "a size, such as 4MB";
	default:
		return "a value";
	}
}

static int bad_value(const struct opt *o, const char *text, int code, struct err *err)
{
	err_set(err, -EINVAL, "cannot use '%s' for --%s%s", text, o->name,
		code == -ERANGE ? ": it is too large" : "");
	return err_mend(err, "--%s takes %s", o->name, example(o->type));
}

static int unknown_option(const struct opt *opts, size_t count, const char *given, struct err *err)
{
	const char *word = given + strspn(given, "-");
	size_t length = strcspn(word, "=");
	const char *nearest = "help";
	size_t best = SIZE_MAX;
	char name[64] = "";

	if (length < sizeof(name))
		memcpy(name, word, length);
	for (size_t i = 0; i < count; i++) {
		size_t d = words_distance(name, opts[i].name);

		if (d < best) {
			best = d;
			nearest = opts[i].name;
		}
	}
	err_set(err, -EINVAL, "cannot use '%s': there is no such option", given);
	return err_mend(err, "the nearest one is --%s; --help lists all", nearest);
}

static const struct opt *find(const struct opt *opts, size_t count, int code)
{
	if (code >= FIRST_LONG && (size_t)(code - FIRST_LONG) < count)
		return &opts[code - FIRST_LONG];
	for (size_t i = 0; i < count; i++)
		if (opts[i].letter != '\0' && opts[i].letter == code)
			return &opts[i];
	return NULL;
}

static void fill_getopt(const struct opt *opts, size_t count, bool ends_at_command,
			struct option *longs, char *letters)
{
	if (ends_at_command)
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (size_t i = 0; i < count; i++) {
		longs[i] = (struct option){ opts[i].name,
					    opts[i].arg ? required_argument : no_argument, NULL,
					    FIRST_LONG + (int)i };
		if (opts[i].letter == '\0')
			continue;
		*letters++ = opts[i].letter;
		if (opts[i].arg != NULL)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[count] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[count + 1] = (struct option){ NULL, 0, NULL, 0 };
}

static int set_presets(const struct opt *opts, size_t count, void *out, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (opts[i].preset == NULL)
			continue;
		int code = set_value(&opts[i], opts[i].preset, out);
		if (code < 0)
			return bad_value(&opts[i], opts[i].preset, code, err);
	}
	return 0;
}

int opts_parse(const struct opt *opts, size_t count, bool ends_at_command, int argc, char **argv,
	       void *out, struct opt_rest *rest, struct err *err)
{
	struct option longs[MAX_OPTS + 2];
	char letters[2 * MAX_OPTS + 4];
	int code, failed = 0;

	if (count > MAX_OPTS)
		return err_set(err, -EINVAL, "cannot hold %zu options", count);
	*rest = (struct opt_rest){ .argv = NULL };
	code = set_presets(opts, count, out, err);
	if (code < 0)
		return code;
	fill_getopt(opts, count, ends_at_command, longs, letters);
	optind = 0;
	opterr = 0;
	while (failed == 0 && (code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct opt *o = find(opts, count, code);
		const char *given = argv[optind > 0 ? optind - 1 : 0];

		if (code == 'h' && (o == NULL || o->letter != 'h')) {
			rest->wants_help = true;
			return 0;
		}
		if (code == ':') {
			err_set(err, -EINVAL, "cannot use '%s' without a value", given);
			return err_mend(err, "--help shows what it takes");
		}
		if (o == NULL)
			return unknown_option(opts, count, given, err);
		failed = set_value(o, optarg, out);
		if (failed < 0)
			return bad_value(o, optarg, failed, err);
	}
	rest->argv = argv + optind;
	rest->count = argc - optind;
	rest->has_dashes = optind > 0 && optind <= argc && strcmp(argv[optind - 1], "--") == 0;
	return 0;
}
