/* collect_cost.c - `tare collect cost`: what collecting took, by server and reading, from the run log of the store. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/collect.h"
#include "core/fleet_analysis.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "format/json.h"

#define COST_SCHEMA_VERSION 1

/* An open store. */
struct reader {
	const struct fleet_store_ops *ops;
	void *db;
	struct fleet_analysis *analysis;
	const struct table *table;
};

static void reader_close(struct reader *r)
{
	if (r->db != NULL)
		r->ops->close(r->db);
	r->db = NULL;
}

static int take_row(void *owner, const void *row)
{
	const struct reader *r = owner;

	return fleet_analysis_take(r->analysis, r->table, row);
}

static int read_rows(struct reader *r, const struct fleet_range *range, struct err *err)
{
	static const struct table *const wanted[] = { &table_server, &table_run };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(wanted) && rc == 0; i++) {
		r->table = wanted[i];
		rc = r->ops->scan(r->db, r->table, range, take_row, r, err);
	}
	if (rc == 0)
		rc = fleet_analysis_close_input(r->analysis);
	if (rc < 0 && err->code == 0)
		err_set(err, rc, "cannot add up the run log: %s", strerror(-rc));
	return rc;
}

/* The settings' store, or the one that is named. */
static int open_store(struct app *app, const struct collect_opts *o, struct reader *r,
		      struct err *err)
{
	SCOPED(settings_free) struct collect_settings settings = { .store = NULL };
	int rc;

	if (o->argument != NULL)
		return collect_store_read(o->argument, "", &r->ops, &r->db, err);
	rc = collect_load(app, o, &settings, err);
	return rc < 0 ? rc
		      : collect_store_read(settings.store, settings.store_password, &r->ops, &r->db,
					   err);
}

/* Mean of the runs that captured, and of those that did not. */
static uint64_t captured_mean_ns(const struct fleet_reading *r)
{
	return fleet_mean_ns(r->capture_server_ns, r->captures);
}

static uint64_t gated_mean_ns(const struct fleet_reading *r)
{
	return fleet_mean_ns(r->server_ns - r->capture_server_ns, r->runs - r->captures);
}

static void put_ms(struct text *out, uint64_t ns)
{
	text_printf(out, " %9llu.%03llu", (unsigned long long)(ns / NS_PER_MS),
		    (unsigned long long)(ns / NS_PER_US % 1000));
}

static void put_reading(const struct fleet_analysis *a, const struct fleet_reading *r,
			uint32_t last, struct text *out)
{
	if (r->server != last) {
		fleet_put_server(out, a, r->server);
		text_put(out, "\n");
	}
	text_printf(out, "  %-11s %8llu", reading_name((enum reading_id)r->reading),
		    (unsigned long long)r->runs);
	put_ms(out, r->server_ns);
	put_ms(out, fleet_mean_ns(r->server_ns, r->runs));
	put_ms(out, r->longest_server_ns);
	if (r->captures > 0 || r->gated > 0) {
		text_printf(out, " %9llu", (unsigned long long)r->captures);
		put_ms(out, gated_mean_ns(r));
		put_ms(out, captured_mean_ns(r));
	} else {
		text_printf(out, " %9s %13s %13s", "-", "-", "-");
	}
	text_printf(out, " %11llu %12llu", (unsigned long long)r->rows,
		    (unsigned long long)r->bytes);
	put_ms(out, r->own_ns);
	put_ms(out, r->store_ns);
	text_put(out, "\n");
}

static int print_text(struct app *app, const struct fleet_analysis *a, struct err *err)
{
	SCOPED(text_free) struct text out = TEXT_EMPTY;
	uint32_t last = NO_ID;

	text_put(&out,
		 "What collecting took. ms are on the server, without the way there and back; our "
		 "ms are our CPU; \"gated\" and\n"
		 "\"capturing\" are means of runs without and with their expensive half. A gated "
		 "run saves only what a full list of\n"
		 "candidates would have cost.\n"
		 "  reading         runs      total ms       mean ms        max ms  captures      "
		 "gated ms  capturing ms        rows        bytes        our ms      store ms\n");
	for (size_t i = 0; i < a->reading_count; i++) {
		put_reading(a, &a->readings[i], last, &out);
		last = a->readings[i].server;
	}
	if (a->reading_count == 0)
		text_put(&out, "  nothing was collected in this time\n");
	if (out.has_failed)
		return err_set(err, -ENOMEM, "cannot print the cost: no memory");
	if (!app->has_utf8)
		text_make_ascii(&out);
	fputs(text_chars(&out), app->out);
	return EXIT_OK;
}

/* A mean of none is not known. */
static void put_mean(struct json *j, const char *key, uint64_t mean_ns, uint64_t runs)
{
	json_key(j, key);
	if (runs > 0)
		json_u64(j, mean_ns);
	else
		json_null(j);
}

static const struct server_row *row_of(const struct fleet_analysis *a, uint32_t server)
{
	for (size_t i = 0; i < a->server_count; i++)
		if (a->servers[i].server == server)
			return a->servers[i].row;
	return NULL;
}

static void put_json_reading(struct json *j, const struct fleet_analysis *a,
			     const struct fleet_reading *r)
{
	const struct server_row *row = row_of(a, r->server);

	json_open_object(j);
	json_put_u64(j, "server", r->server);
	json_key(j, "name");
	if (row != NULL)
		json_str(j, row->name);
	else
		json_null(j);
	json_key(j, "reading");
	json_chars(j, reading_name((enum reading_id)r->reading));
	json_put_u64(j, "runs", r->runs);
	json_put_u64(j, "captures", r->captures);
	json_put_u64(j, "gated", r->gated);
	json_put_u64(j, "missed", r->missed);
	json_put_u64(j, "failures", r->failures);
	json_put_u64(j, "permissions", r->permissions);
	json_put_u64(j, "abandoned", r->abandoned);
	json_put_u64(j, "skipped", r->skipped);
	json_put_u64(j, "server_ns", r->server_ns);
	put_mean(j, "mean_server_ns", fleet_mean_ns(r->server_ns, r->runs), r->runs);
	json_put_u64(j, "longest_server_ns", r->longest_server_ns);
	put_mean(j, "gated_mean_server_ns", gated_mean_ns(r), r->runs - r->captures);
	put_mean(j, "capturing_mean_server_ns", captured_mean_ns(r), r->captures);
	json_put_u64(j, "own_ns", r->own_ns);
	json_put_u64(j, "store_ns", r->store_ns);
	json_put_u64(j, "rows", r->rows);
	json_put_u64(j, "bytes", r->bytes);
	json_put_u64(j, "plans", r->plans);
	json_put_u64(j, "new_plans", r->new_plans);
	json_close(j);
}

static int print_json(struct app *app, const struct fleet_analysis *a, struct err *err)
{
	struct json j;
	int rc;

	json_begin(&j, json_to_file, app->out, 2);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", COST_SCHEMA_VERSION);
	json_key(&j, "from_wall_ns");
	json_i64(&j, a->from_wall_ns);
	json_key(&j, "to_wall_ns");
	json_i64(&j, a->to_wall_ns);
	json_key(&j, "readings");
	json_open_array(&j);
	for (size_t i = 0; i < a->reading_count; i++)
		put_json_reading(&j, a, &a->readings[i]);
	json_close(&j);
	json_close(&j);
	rc = json_end(&j);
	return rc < 0 ? err_set(err, rc, "cannot write the cost: %s", strerror(-rc)) : EXIT_OK;
}

int collect_cost(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(fleet_analysis_free) struct fleet_analysis a = { .from_wall_ns = 0 };
	SCOPED(reader_close) struct reader r = { .analysis = &a };
	struct fleet_range range = FLEET_RANGE_ALL;
	struct timespec now;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	range.to_wall_ns = now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec + 1;
	range.from_wall_ns = o->since_ns < (uint64_t)range.to_wall_ns
				     ? range.to_wall_ns - (int64_t)o->since_ns
				     : 0;
	rc = open_store(app, o, &r, err);
	if (rc == 0 && fleet_analysis_open(range.from_wall_ns, range.to_wall_ns, &a) < 0)
		rc = err_set(err, -ENOMEM, "cannot add up the run log: no memory");
	if (rc == 0)
		rc = read_rows(&r, &range, err);
	if (rc < 0)
		return rc;
	return o->is_json ? print_json(app, &a, err) : print_text(app, &a, err);
}
