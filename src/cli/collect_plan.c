/* collect_plan.c - `tare collect plan SERVER QUERYID`: a person asks, so it is always rendered, and nothing is kept. Where that is not possible the
 * stored plan is shown, with its age. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/collect.h"
#include "cli/payload.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "fleet/link.h"
#include "fleet/visit.h"

#define PLAN_MOST (UINT64_C(64) << 20)

static void script_close(struct script *script)
{
	pg_plan_close(script);
}

static const struct server_settings *find_server(const struct collect_settings *s, const char *name,
						 struct err *err)
{
	for (size_t i = 0; i < s->server_count; i++)
		if (strcmp(s->servers[i].name, name) == 0)
			return &s->servers[i];
	err_set(err, -ENOENT, "cannot find server '%.200s' in the settings", name);
	err_mend(err, "tare collect --check names all; --config FILE names other settings");
	return NULL;
}

/* A queryid as pg_stat_statements shows it: signed. */
static int parse_queryid(const char *text, int64_t *out, struct err *err)
{
	bool is_negative = text[0] == '-';
	uint64_t number;

	if (units_parse_count(text + is_negative, &number) < 0 ||
	    number > (uint64_t)INT64_MAX + is_negative || number == 0) {
		err_set(err, -EINVAL, "cannot use '%.100s' as a queryid", text);
		return err_mend(err, "it is the whole number in pg_stat_statements.queryid");
	}
	*out = is_negative ? (int64_t)(0 - number) : (int64_t)number;
	return 0;
}

/* ---- the stored one ---- */

struct stored {
	const char *name;
	int64_t queryid;
	uint32_t server;      /* NO_ID: not found */
	struct plan_row plan; /* the one last seen; its strings are not ours */
	bool has_plan;
	struct text json;
};

static int on_server(void *owner, const void *row)
{
	const struct server_row *server = row;
	struct stored *s = owner;

	if (server->name.len == strlen(s->name) &&
	    memcmp(server->name.bytes, s->name, server->name.len) == 0)
		s->server = server->server;
	return 0;
}

static int on_plan(void *owner, const void *row)
{
	const struct plan_row *plan = row;
	struct stored *s = owner;

	if (plan->key.queryid == s->queryid &&
	    (!s->has_plan || plan->seen_wall_ns > s->plan.seen_wall_ns)) {
		s->plan = *plan;
		s->has_plan = true;
	}
	return 0;
}

static int on_payload(void *owner, const void *row)
{
	struct stored *s = owner;

	return s->json.len == 0 ? payload_read(row, PLAN_MOST, &s->json) : 0;
}

static int find_stored(const struct fleet_store_ops *ops, void *db, struct stored *s,
		       struct err *err)
{
	struct fleet_range range = FLEET_RANGE_ALL;
	int rc = ops->scan(db, &table_server, &range, on_server, s, err);

	if (rc < 0 || s->server == NO_ID)
		return rc;
	range.server = s->server;
	rc = ops->scan(db, &table_plan, &range, on_plan, s, err);
	if (rc < 0 || !s->has_plan)
		return rc;
	range.digest = &s->plan.plan;
	return ops->scan(db, &table_payload, &range, on_payload, s, err);
}

/* Shows the stored plan; false: there is none. */
static bool show_stored(struct app *app, const struct collect_settings *settings, const char *name,
			int64_t queryid)
{
	struct stored s = { .name = name, .queryid = queryid, .server = NO_ID, .json = TEXT_EMPTY };
	SCOPED(text_free) struct text line = TEXT_EMPTY;
	const struct fleet_store_ops *ops;
	struct err err = ERR_EMPTY;
	struct timespec now;
	void *db = NULL;
	bool is_shown;

	if (collect_store_read(settings->store, settings->store_password, &ops, &db, &err) < 0 ||
	    find_stored(ops, db, &s, &err) < 0)
		collect_say(app, err.msg);
	if (db != NULL)
		ops->close(db);
	is_shown = s.has_plan && s.json.len > 0;
	if (is_shown) {
		int64_t age_ns;

		clock_gettime(CLOCK_REALTIME, &now);
		age_ns = now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec - s.plan.seen_wall_ns;
		text_put(&line, "this is the stored plan, last seen ");
		text_put_duration(&line, age_ns > 0 ? (uint64_t)age_ns : 0);
		text_put(&line, " ago");
		collect_say(app, text_chars(&line));
		fwrite(text_chars(&s.json), 1, s.json.len, app->out);
		fputc('\n', app->out);
	}
	text_free(&s.json);
	return is_shown;
}

/* ---- the rendered one ---- */

static int render(struct app *app, const struct collect_settings *settings,
		  const struct server_settings *server, int64_t queryid, struct err *err)
{
	SCOPED(script_close) struct script script = { .self = NULL };
	struct link_limits limits = LINK_LIMITS_DEFAULT;
	uint32_t reason = PLAN_OK;
	char sqlstate[6] = "";
	const char *json;
	int rc = pg_plan_open(queryid, &settings->visit, &script, err);

	if (rc < 0)
		return rc;
	limits.connect_ns = settings->connect_ns;
	limits.tls_ns = settings->tls_ns;
	limits.query_ns = settings->query_ns;
	limits.drain_ns = settings->drain_ns;
	rc = link_drive(server, &limits, &script, err);
	if (rc < 0)
		return rc;
	json = pg_plan_text(&script, &reason, sqlstate);
	if (json == NULL) {
		err_set(err, -ENODATA, "cannot plan statement %lld of server '%.200s': %s%s%s",
			(long long)queryid, server->name, fleet_reason_sentence(reason),
			sqlstate[0] != '\0' ? ", SQLSTATE " : "", sqlstate);
		return err->code;
	}
	fputs(json, app->out);
	fputc('\n', app->out);
	return 0;
}

int collect_plan(struct app *app, const struct collect_opts *o, const char *server,
		 const char *queryid, struct err *err)
{
	SCOPED(settings_free) struct collect_settings settings = { .store = NULL };
	const struct server_settings *found;
	int64_t id = 0;
	int rc = parse_queryid(queryid, &id, err);

	if (rc == 0)
		rc = collect_load(app, o, &settings, err);
	if (rc < 0)
		return rc;
	found = find_server(&settings, server, err);
	if (found == NULL)
		return err->code;
	rc = render(app, &settings, found, id, err);
	if (rc == 0)
		return EXIT_OK;
	if (!show_stored(app, &settings, server, id))
		return rc;
	collect_say(app, err->msg);
	*err = ERR_EMPTY;
	return EXIT_OK;
}
