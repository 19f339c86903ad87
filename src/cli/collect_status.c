/* collect_status.c - how a running collector stands: the model beside the measurement, who is owed, who fails. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/collect.h"
#include "cli/collect_control.h"
#include "core/scoped.h"
#include "format/json.h"

#define STATUS_SCHEMA_VERSION 1

static int to_text(void *owner, const char *bytes, size_t len)
{
	struct text *out = owner;

	text_add(out, bytes, len);
	return out->has_failed ? -ENOMEM : 0;
}

/* 0 means that it is not known: null, never 0. */
static void put_known(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	if (value != 0)
		json_u64(j, value);
	else
		json_null(j);
}

static void put_wall(struct json *j, const char *key, int64_t wall_ns)
{
	json_key(j, key);
	if (wall_ns != 0)
		json_i64(j, wall_ns);
	else
		json_null(j);
}

static void put_cadence(struct json *j, const struct runner_status *r)
{
	json_key(j, "cadence");
	json_open_object(j);
	json_put_u64(j, "cycle_ns", r->cycle_ns);
	json_put_u64(j, "one_in_given", r->n_given);
	json_put_u64(j, "one_in", r->n);
	json_put_u64(j, "cycles_in_slot", r->k);
	json_key(j, "slot");
	json_i64(j, r->slot);
	json_key(j, "captures_a_slot");
	json_open_array(j);
	for (uint32_t i = 0; i < r->n && i < ARRAY_LEN(r->slot_scheduled); i++)
		json_u64(j, r->slot_scheduled[i]);
	json_close(j);
	json_put_u64(j, "captures_this_slot", r->slot_captures);
	json_put_u64(j, "captures_last_slot", r->last_captures);
	json_put_u64(j, "owed", r->owed);
	put_known(j, "worst_plan_age_ns", r->worst_age_ns);
	put_known(j, "measured_p95_ns", r->p95_ns);
	put_known(j, "model_ns", r->model_ns);
	put_known(j, "visit_ns", r->run_ns);
	json_put_chars(j, "model", "servers * visit / at_once + tick / 2, never under the cycle");
	json_close(j);
}

static void put_store(struct json *j, const struct collect_status *s)
{
	const struct store_state *store = &s->store;

	json_key(j, "store");
	if (!s->has_store) {
		json_null(j);
		return;
	}
	json_open_object(j);
	json_put_bool(j, "is_away", store->is_away);
	json_put_chars(j, "why", store->why);
	json_put_u64(j, "waiting", store->waiting);
	json_put_u64(j, "waiting_bytes", store->waiting_bytes);
	json_put_u64(j, "spooled", store->spooled);
	json_put_u64(j, "spooled_bytes", store->spooled_bytes);
	json_put_u64(j, "puts", store->puts);
	json_put_u64(j, "were_there", store->again);
	json_put_u64(j, "lost", store->lost);
	json_put_u64(j, "put_ns", store->put_ns);
	json_put_u64(j, "longest_put_ns", store->longest_put_ns);
	put_known(j, "size_bytes", store->size_bytes);
	json_put_u64(j, "summed_rows", store->tidied.summed_rows);
	json_put_u64(j, "dropped_rows", store->tidied.dropped_rows);
	json_put_u64(j, "dropped_payloads", store->tidied.dropped_payloads);
	json_close(j);
}

static void put_server(struct json *j, const struct runner_server *server, struct wall now)
{
	json_open_object(j);
	json_put_u64(j, "server", server->server);
	json_put_chars(j, "name", server->name);
	json_put_u64(j, "seat", server->seat);
	json_put_chars(j, "lane", server->is_in_lane ? "failing" : "usual");
	json_put_u64(j, "failures", server->failures);
	json_put_chars(j, "last_error", server->last_error);
	put_wall(j, "visited_wall_ns", server->visited_wall_ns);
	put_wall(j, "captured_wall_ns", server->captured_wall_ns);
	json_put_bool(j, "is_captured", server->is_captured);
	put_known(j, "plan_age_ns",
		  server->is_captured && now.ns > server->captured_wall_ns
			  ? (uint64_t)(now.ns - server->captured_wall_ns)
			  : 0);
	json_put_bool(j, "is_owed", server->is_owed);
	json_put_bool(j, "is_scheduled", server->is_scheduled);
	put_known(j, "visit_ns", server->run_ns);
	json_put_u64(j, "memory_bytes", server->memory_bytes);
	json_close(j);
}

void collect_status_json(const struct collect_status *s, struct text *out)
{
	const struct runner_status *r = &s->runner;
	struct json j;

	json_begin(&j, to_text, out, 2);
	json_open_object(&j);
	json_put_u64(&j, "schema_version", STATUS_SCHEMA_VERSION);
	json_put_chars(&j, "tare", TARE_VERSION);
	json_put_chars(&j, "collector", s->collector);
	json_put_u64(&j, "pid", (uint64_t)getpid());
	put_wall(&j, "at_wall_ns", r->at.ns);
	put_wall(&j, "started_wall_ns", s->started.ns);
	json_put_chars(&j, "settings", s->config);
	put_wall(&j, "settings_wall_ns", s->loaded.ns);
	json_put_chars(&j, "settings_refused", s->refused);
	json_put_u64(&j, "servers_count", r->servers);
	json_put_u64(&j, "in_lane", r->in_lane);
	json_put_u64(&j, "visiting", r->visiting);
	put_cadence(&j, r);
	json_put_u64(&j, "visits", r->visits);
	json_put_u64(&j, "late", r->late);
	json_put_u64(&j, "skipped", r->skipped);
	json_put_u64(&j, "failures", r->failures);
	json_put_u64(&j, "longest_turn_ns", r->longest_turn_ns);
	json_put_u64(&j, "cpu_ns", s->cpu_ns);
	json_put_u64(&j, "rss_bytes", s->rss_bytes);
	put_store(&j, s);
	json_key(&j, "servers");
	json_open_array(&j);
	for (size_t i = 0; i < s->server_count; i++)
		put_server(&j, &s->servers[i], r->at);
	json_close(&j);
	json_close(&j);
	if (json_end(&j) < 0)
		out->has_failed = true;
}

static void put_name(struct text *out, const char *name)
{
	text_put_name(out, (struct str){ name, (uint32_t)strlen(name) });
}

/* A duration, or a dash where it is not known. */
static void put_duration(struct text *out, uint64_t ns)
{
	if (ns != 0)
		text_put_duration(out, ns);
	else
		text_put(out, "not yet known");
}

static uint64_t since(struct wall from, struct wall to)
{
	return to.ns > from.ns ? (uint64_t)(to.ns - from.ns) : 0;
}

static void put_cadence_text(struct text *out, const struct runner_status *r)
{
	text_put(out, "  plans one cycle in ");
	text_printf(out, "%" PRIu32, r->n);
	if (r->n != r->n_given)
		text_printf(out, " (%" PRIu32 " was asked for)", r->n_given);
	text_put(out, ", cycle ");
	text_put_duration(out, r->cycle_ns);
	text_printf(out, ", %" PRIu32 " in a turn slot\n  captures a slot: [", r->k);
	for (uint32_t i = 0; i < r->n && i < ARRAY_LEN(r->slot_scheduled); i++)
		text_printf(out, "%s%" PRIu32, i > 0 ? ", " : "", r->slot_scheduled[i]);
	text_printf(out,
		    "]; in this slot %" PRIu32 ", in the last %" PRIu32 "; owed %" PRIu32
		    "; oldest capture ",
		    r->slot_captures, r->last_captures, r->owed);
	put_duration(out, r->worst_age_ns);
	text_put(out, "\n  between two visits: ");
	put_duration(out, r->p95_ns);
	text_put(out, " measured (95 of 100), ");
	put_duration(out, r->model_ns);
	text_put(out, " by the model; a visit takes ");
	put_duration(out, r->run_ns);
	text_put(out, "\n");
}

static void put_store_text(struct text *out, const struct collect_status *s)
{
	const struct store_state *store = &s->store;

	if (!s->has_store) {
		text_put(out, "  no store: nothing is kept\n");
		return;
	}
	text_put(out, store->is_away ? "  the store is away: " : "  the store is there");
	put_name(out, store->why);
	text_put(out, "; ");
	text_put_exact(out, store->puts);
	text_put(out, " visits written, ");
	text_put_exact(out, store->waiting);
	text_put(out, " waiting, ");
	text_put_size(out, store->spooled_bytes);
	text_put(out, " in the spool, ");
	text_put_exact(out, store->lost);
	text_put(out, " lost\n");
}

static void put_failing(struct text *out, const struct collect_status *s)
{
	bool has_head = false;

	for (size_t i = 0; i < s->server_count; i++) {
		const struct runner_server *server = &s->servers[i];

		if (!server->is_in_lane)
			continue;
		if (!has_head)
			text_put(out, "failing:\n");
		has_head = true;
		text_put(out, "  ");
		put_name(out, server->name);
		text_printf(out, ", %" PRIu32 " in a row: ", server->failures);
		put_name(out, server->last_error);
		text_put(out, "\n");
	}
}

void collect_status_text(const struct collect_status *s, struct text *out)
{
	const struct runner_status *r = &s->runner;

	text_put(out, "collector ");
	put_name(out, s->collector);
	text_printf(out, ", pid %d, runs for ", (int)getpid());
	text_put_duration(out, since(s->started, r->at));
	text_put(out, "\n  ");
	text_put_counted(out, r->servers, "server");
	text_printf(out, ": %" PRIu32 " well, %" PRIu32 " failing, %" PRIu32 " being visited\n",
		    r->servers - r->in_lane, r->in_lane, r->visiting);
	put_cadence_text(out, r);
	text_put(out, "  ");
	text_put_counted(out, r->visits, "visit");
	text_printf(out, ": %" PRIu64 " late, %" PRIu64 " skipped, %" PRIu64 " failed; our CPU ",
		    r->late, r->skipped, r->failures);
	text_put_duration(out, s->cpu_ns);
	text_put(out, ", memory ");
	text_put_size(out, s->rss_bytes);
	text_put(out, "\n");
	put_store_text(out, s);
	if (s->refused[0] != '\0') {
		text_put(out, "  the last reload was refused: ");
		put_name(out, s->refused);
		text_put(out, "\n");
	}
	put_failing(out, s);
}

int collect_ask_status(struct app *app, const struct collect_opts *o, struct err *err)
{
	SCOPED(text_free) struct text answer = TEXT_EMPTY;
	SCOPED(settings_free) struct collect_settings settings = { .store = NULL };
	struct err none = ERR_EMPTY;
	char path[256];
	int rc;

	/* The socket may be asked by who may not read the settings: then it is where it is when nothing is set. */
	if (settings_load(o->config, &settings, NULL, NULL, &none) < 0 &&
	    strcmp(o->config, COLLECT_CONFIG) != 0) {
		*err = none;
		return none.code;
	}
	rc = control_path(settings.control, path, sizeof(path));
	if (rc < 0)
		return err_set(err, rc, "cannot ask the collector: the socket's path is too long");
	rc = control_ask(path, o->is_json ? "status" : "status-text", &answer, err);
	if (rc < 0)
		return rc;
	fwrite(text_chars(&answer), 1, answer.len, app->out);
	return EXIT_OK;
}
