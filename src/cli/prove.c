/* prove.c - `tare prove`: its options. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cli/prove.h"
#include "cli/record.h"
#include "cli/run.h"
#include "core/scoped.h"

#define MOST_PRICE_PPM (64 * PPM / PROVE_TIMES) /* of which PROVE_TIMES is still a price */
#define RECORD_PPM     5000u
#define WATCH_PPM      10000u
#define NOT_GIVEN      UINT64_MAX

static const struct opt prove_opt_rows[] = {
	{ "watch", 'w', OPT_FLAG, offsetof(struct prove_opts, is_watch), NULL, NULL,
	  "prove tare watch with the functions named, not tare record" },
	{ "price", 'b', OPT_SHARE, offsetof(struct prove_opts, price_ppm), "PERCENT", NULL,
	  "the price, and 20 times it; else that of the instrument" },
	{ "pairs", 'n', OPT_COUNT, offsetof(struct prove_opts, pairs), "N", "10",
	  "pairs of runs without and with measuring, at each of the two" },
	{ "time", 't', OPT_DURATION, offsetof(struct prove_opts, limit_ns), "LIMIT", "10min",
	  "begin no more pairs that would end after this time" },
	{ "engine", 0, OPT_TEXT, offsetof(struct prove_opts, engine), "NAME", NULL,
	  "what takes samples, as of tare record" },
	{ "seed", 0, OPT_COUNT, offsetof(struct prove_opts, seed), "N", NULL,
	  "order the runs as the one with this seed did" },
	{ "json", 'j', OPT_FLAG, offsetof(struct prove_opts, is_json), NULL, NULL,
	  "one JSON object with everything" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct prove_opts, is_quiet), NULL, NULL,
	  "show no progress" },
};

static int check_numbers(const struct prove_opts *o, struct err *err)
{
	const struct run_bound pairs = {
		o->pairs,     2,	PROVE_MOST_PAIRS,
		"prove with", " pairs", "--pairs takes a number from 2 to 500",
	};

	if (o->price_ppm == 0 || o->price_ppm > MOST_PRICE_PPM) {
		char price[32];

		units_format_price(o->price_ppm, price, sizeof(price));
		err_set(err, -EINVAL, "cannot prove at a price of %s and %u times it", price,
			PROVE_TIMES);
		return err_mend(err, "--price takes a share over 0 and up to 320%%, such as 0.5%%");
	}
	return run_check_bounds(&pairs, 1, err);
}

static int check_target(const struct prove_opts *o, struct err *err)
{
	char path[PATH_MAX];
	int code;

	if (o->command == NULL) {
		err_set(err, -EINVAL, "cannot prove without a command");
		return err_mend(err, "tare prove -- ./job");
	}
	if (o->is_watch && o->engine != NULL) {
		err_set(err, -EINVAL, "cannot prove a watch by engine '%.40s'", o->engine);
		return err_mend(err, "leave --engine out: it is for tare prove -- CMD");
	}
	if (record_engine_check(o->engine, err) < 0)
		return -EINVAL;
	if (o->is_watch && o->pattern_count == 0) {
		err_set(err, -EINVAL, "cannot prove a watch of nothing");
		return err_mend(err, "tare prove --watch FUNC... -- %s", o->command[0]);
	}
	if (!o->is_watch && o->pattern_count > 0) {
		err_set(err, -EINVAL, "cannot use '%s' in front of the command", o->patterns[0]);
		return err_mend(err, "tare prove --watch FUNC... -- CMD proves a watch");
	}
	code = child_find(o->command[0], path);
	if (code < 0) {
		err_set(err, code, "cannot run '%s': %s", o->command[0], strerror(-code));
		return err_mend(err, "give its path, or check PATH");
	}
	return 0;
}

static void close_place(struct prove_place *p)
{
	prove_place_close(p);
}

static int prove(struct app *app, const struct prove_opts *o, struct err *err)
{
	SCOPED(prove_free) struct prove p = { .ended_by = "" };
	SCOPED(close_place) struct prove_place place = { .app = app, .opts = o, .signals = -1 };
	struct prove_maker maker = prove_place_maker(&place);
	int code = prove_place_open(&place, err);

	if (code < 0)
		return code;
	code = prove_pairs(o, &maker, &p, err);
	prove_place_close(&place);
	if (code < 0)
		return code;
	code = o->is_json ? prove_print_json(app, o, &p) : prove_print(app, o, &p);
	if (code == -ENOMEM)
		return err_set(err, code, "cannot write what came out: out of memory");
	return prove_status(&p);
}

static int cmd_prove(struct app *app, int argc, char **argv, struct err *err)
{
	struct prove_opts o = { .seed = mono_now().ns, .price_ppm = NOT_GIVEN };
	struct opt_rest rest;

	argc = run_cut_command(argc, argv, &o.command);
	if (opts_parse(prove_opt_rows, ARRAY_LEN(prove_opt_rows), false, argc, argv, &o, &rest,
		       err) < 0)
		return EXIT_TROUBLE;
	if (rest.wants_help) {
		command_print_help(app->out, &command_prove);
		return EXIT_OK;
	}
	o.patterns = rest.argv;
	o.pattern_count = (size_t)rest.count;
	if (o.price_ppm == NOT_GIVEN)
		o.price_ppm = o.is_watch ? WATCH_PPM : RECORD_PPM;
	if (check_target(&o, err) < 0 || check_numbers(&o, err) < 0)
		return EXIT_TROUBLE;
	return prove(app, &o, err);
}

const struct command command_prove = {
	.name = "prove",
	.run = cmd_prove,
	.usage = "[OPTIONS] -- CMD... | --watch [OPTIONS] FUNC... -- CMD...",
	.help = "measure what measuring takes from a command, beside what the label claims",
	.opts = prove_opt_rows,
	.opt_count = ARRAY_LEN(prove_opt_rows),
};
