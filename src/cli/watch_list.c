/* watch_list.c - `tare watch --list`: what could be watched, and what a call of it would then cost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/watch.h"
#include "core/scoped.h"
#include "format/json.h"
#include "sense/watch_calibrate.h"

#define LIST_SCHEMA_VERSION 1
#define NAMING_US	    500000 /* libtare names a scope when it first runs with a recorder attached */
#define PROBES \
	(2 * PLACE_FIRSTS) /* kinds: by the first instruction, and whether an exception may pass */
#define SCOPES PROBES	   /* behind the kinds of probes in `prices` */

/* What a call costs, by kind, and of a scope; 0: not asked yet. */
struct prices {
	uint64_t call_ps[PROBES + 1];
	bool is_measured[PROBES + 1];
	bool is_asked[PROBES + 1];
};

struct listing {
	struct app *app;
	const struct watch_opts *opts;
	struct places places;
	struct prices prices;
	struct watch_source *inside; /* NULL: not there */
	bool is_json;
	struct json json;
	uint64_t listed, cannot; /* rows; and those among them that cannot be watched */
};

static void listing_free(struct listing *l)
{
	if (l->inside != NULL)
		watch_source_inside.close(l->inside);
	places_free(&l->places);
}

static size_t kind_of(const struct place *place)
{
	return place->first + (place->may_throw ? PLACE_FIRSTS : 0);
}

static void take_price(struct listing *l, size_t kind, const struct watch_costs *costs)
{
	struct pace_costs in_force = pace_costs_in_force(&costs->measured, &costs->assumed);

	l->prices.call_ps[kind] =
		pace_charge_ps(&in_force, 1, 0) + in_force.extra_ps / l->opts->interval;
	l->prices.is_measured[kind] = costs->measured.untimed_ps + costs->measured.hook_ps > 0;
	l->prices.is_asked[kind] = true;
}

/* One place of each kind is a point of a source that is never started: it says what it would cost. Without the right to
 * make one, what is assumed is shown. */
static void price_probes(struct listing *l)
{
	struct place kinds[PROBES];
	struct places places = { .rows = kinds };
	struct watch_source_settings settings = { .pid = getpid(),
						  .places = &places,
						  .interval = (uint32_t)l->opts->interval,
						  .switched_off = l->app->switched_off };
	struct watch_source *source = NULL;
	bool has_kind[PROBES] = { false };
	struct err err = ERR_EMPTY;
	int code;

	for (size_t i = 0; i < l->places.count; i++) {
		const struct place *place = &l->places.rows[i];

		if (place->why_not.len > 0 || has_kind[kind_of(place)])
			continue;
		has_kind[kind_of(place)] = true;
		kinds[places.count++] = *place;
	}
	code = places.count > 0 ? watch_source_probes.open(&settings, &source, &err) : -ENOENT;
	for (uint32_t i = 0; i < places.count; i++) {
		enum watch_hooked hooked =
			kinds[i].may_throw ? WATCH_HOOKED_EXITS : WATCH_HOOKED_SESSION;
		struct watch_costs costs = { .assumed =
						     watch_assumed_probes[hooked][kinds[i].first] };

		if (code == 0)
			watch_source_probes.costs(source, i, false, &costs);
		take_price(l, kind_of(&kinds[i]), &costs);
	}
	if (code == 0)
		watch_source_probes.close(source);
}

/* ---- one row ---- */

struct listed {
	struct str name, symbol, module, why_not;
	const char *first;
	uint64_t call_ps;
	bool is_measured;
};

static void print_json(struct listing *l, const struct listed *row)
{
	struct json *j = &l->json;

	json_open_object(j);
	json_key(j, "name");
	json_str(j, row->name);
	json_key(j, "symbol");
	json_str(j, row->symbol);
	json_key(j, "module");
	json_str(j, row->module);
	json_key(j, "first");
	json_chars(j, row->first);
	json_key(j, "call_ps");
	if (row->why_not.len > 0)
		json_null(j);
	else
		json_u64(j, row->call_ps);
	json_key(j, "is_measured");
	json_bool(j, row->why_not.len == 0 && row->is_measured);
	json_key(j, "why_not");
	json_str(j, row->why_not);
	json_close(j);
}

static void print_line(struct listing *l, const struct listed *row)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	char cost[32] = "—";

	if (row->why_not.len == 0)
		watch_format_cost(row->call_ps, cost, sizeof(cost));
	text_put(&line, cost);
	text_blanks(&line, text_columns(line.bytes, line.len) < 8
				   ? 8 - text_columns(line.bytes, line.len)
				   : 1);
	text_printf(&line, "%-10s  ", row->first);
	text_put_name(&line, row->name);
	if (row->module.len > 0) {
		text_put(&line, "  (");
		text_put_name(&line, row->module);
		text_put(&line, ")");
	}
	if (row->why_not.len > 0) {
		text_put(&line, "  not watched: ");
		text_put_name(&line, row->why_not);
	}
	if (!l->app->has_utf8)
		text_make_ascii(&line);
	if (!line.has_failed)
		fprintf(l->app->out, "%s\n", text_chars(&line));
}

static void print_row(struct listing *l, const struct listed *row)
{
	l->listed++;
	l->cannot += row->why_not.len > 0;
	if (l->is_json)
		print_json(l, row);
	else
		print_line(l, row);
}

static void print_places(struct listing *l)
{
	for (size_t i = 0; i < l->places.count; i++) {
		const struct place *place = &l->places.rows[i];
		bool is_function = place->module.len > 0;
		struct listed row = { .name = is_function ? place->name : place->pattern,
				      .symbol = place->symbol,
				      .module = place->module,
				      .why_not = place->why_not,
				      .first = "" };

		if (is_function)
			row.first = place_first_name(place->first);
		if (place->why_not.len == 0) {
			row.call_ps = l->prices.call_ps[kind_of(place)];
			row.is_measured = l->prices.is_measured[kind_of(place)];
		}
		print_row(l, &row);
	}
}

static void print_scopes(struct listing *l)
{
	uint32_t count = l->inside != NULL ? watch_source_inside.points(l->inside) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct watched_row described = { .id = NO_ID };
		struct watch_costs costs = { .floor_ps = 0 };
		struct listed row = { .first = "in process" };

		watch_source_inside.describe(l->inside, i, &described);
		watch_source_inside.costs(l->inside, i, false, &costs);
		take_price(l, SCOPES, &costs);
		row.name = described.name;
		row.why_not = described.why_not;
		row.call_ps = l->prices.call_ps[SCOPES];
		row.is_measured = l->prices.is_measured[SCOPES];
		print_row(l, &row);
	}
}

/* ---- all of it ---- */

static void open_inside(struct listing *l)
{
	struct watch_source_settings settings = { .pid = (pid_t)l->opts->run.pid,
						  .interval = (uint32_t)l->opts->interval,
						  .switched_off = l->app->switched_off };
	struct err err = ERR_EMPTY;
	int code;

	if (l->opts->run.pid == 0)
		return;
	code = watch_source_inside.open(&settings, &l->inside, &err);
	if (code == 0)
		code = watch_source_inside.start(l->inside, &err);
	if (code == 0)
		usleep(NAMING_US);
	else if (code != -ENOENT)
		command_print_err(l->app, "watch", &err);
}

/* With a process all patterns are globs; else the first is the program. */
static int find(struct listing *l, struct err *err)
{
	const struct watch_opts *o = l->opts;
	bool has_program = o->run.pid == 0;
	struct places_settings settings = { .pid = (pid_t)o->run.pid,
					    .program = has_program ? o->patterns[0] : NULL,
					    .patterns = o->patterns + has_program,
					    .pattern_count = o->pattern_count - has_program };

	return places_list(&settings, &l->places, err);
}

static void print_end(const struct listing *l)
{
	bool is_measured = true;

	for (size_t i = 0; i <= PROBES; i++)
		is_measured = is_measured && (!l->prices.is_asked[i] || l->prices.is_measured[i]);
	if (l->places.note.len > 0)
		fprintf(l->app->talk, "%.*s\n", (int)l->places.note.len, l->places.note.bytes);
	fprintf(l->app->talk,
		"%llu functions, %llu of them cannot be watched; prices of a call when "
		"one in %llu is timed%s\n",
		(unsigned long long)l->listed, (unsigned long long)l->cannot,
		(unsigned long long)l->opts->interval,
		is_measured ? ", measured here" : ", assumed where they cannot be measured");
	if (l->places.beyond > 0)
		fprintf(l->app->talk, "and %zu more that are not listed\n", l->places.beyond);
}

int watch_list(struct app *app, const struct watch_opts *opts, struct err *err)
{
	SCOPED(listing_free) struct listing l = { .app = app, .opts = opts };

	if (find(&l, err) < 0)
		return watch_say_rest(err);
	l.is_json = opts->run.is_json;
	open_inside(&l);
	if (l.is_json) {
		json_begin(&l.json, json_to_file, app->out, 2);
		json_open_object(&l.json);
		json_key(&l.json, "schema_version");
		json_u64(&l.json, LIST_SCHEMA_VERSION);
		json_key(&l.json, "functions");
		json_open_array(&l.json);
	}
	print_scopes(&l);
	price_probes(&l);
	print_places(&l);
	if (l.is_json) {
		json_close(&l.json);
		json_close(&l.json);
		return json_end(&l.json) < 0 ? EXIT_TROUBLE : EXIT_OK;
	}
	if (!opts->run.is_quiet)
		print_end(&l);
	return l.listed > l.cannot ? EXIT_OK : EXIT_NO;
}
