/* report_fleet_json.c - the report of a fleet as one JSON object, in the order of the tables in report_fleet_schema.c. What is not
 * there is null, and a member NAME_reason beside it says why: null never means 0. A queryid is a string: it has 64 bits. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/report_fleet.h"
#include "cli/report_json.h"
#include "core/fleet_findings.h"
#include "core/fleet_words.h"
#include "core/scoped.h"

static const char not_measured[] = "not measured";

static void put_counter(struct json *j, const char *key, struct counter c)
{
	if (IS_MEASURED(c))
		json_put_u64(j, key, c.value);
	else
		report_put_null(j, key, not_measured);
}

/* A moment; 0 is none. */
static void put_moment(struct json *j, const char *key, int64_t wall_ns, const char *why_not)
{
	if (wall_ns != 0)
		json_put_i64(j, key, wall_ns);
	else
		report_put_null(j, key, why_not);
}

static void put_words(struct json *j, const char *key, struct text *t)
{
	json_put_chars(j, key, text_chars(t));
	if (t->has_failed)
		json_fail(j, -ENOMEM);
	text_free(t);
}

static void put_server_name(struct json *j, const struct fleet_analysis *a, uint32_t server)
{
	struct text name = TEXT_EMPTY;

	fleet_put_server(&name, a, server);
	put_words(j, "server", &name);
}

static void put_queryid(struct json *j, int64_t queryid)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, queryid);
	json_put_chars(j, "queryid", digits);
}

static void put_server(struct json *j, const struct fleet_analysis *a,
		       const struct fleet_server_sum *s)
{
	static const char never[] = "never reached";

	json_open_object(j);
	put_server_name(j, a, s->server);
	if (s->row != NULL && s->row->version.len > 0)
		json_put_str(j, "version", s->row->version);
	else
		report_put_null(j, "version", never);
	if (s->row != NULL && s->row->seat != NO_ID)
		json_put_u64(j, "seat", s->row->seat);
	else
		report_put_null(j, "seat", "it has left");
	json_put_u64(j, "visits", s->visits);
	json_put_u64(j, "visits_well", s->well);
	json_put_u64(j, "calls", s->calls);
	json_put_u64(j, "exec_ns", s->exec_ns);
	json_put_u64(j, "hidden_exec_ns", s->hidden_exec_ns);
	json_put_u64(j, "statements", s->statements);
	json_put_u64(j, "with_plan", s->plans);
	json_put_u64(j, "without_plan", s->without_plan);
	json_put_u64(j, "plan_changes", s->changes);
	json_put_u64(j, "looks", s->looks);
	json_put_u64(j, "blockings", s->blockings);
	json_put_u64(j, "server_ns", s->server_ns);
	json_put_u64(j, "own_ns", s->own_ns);
	json_put_u64(j, "bytes", s->bytes);
	json_close(j);
}

static int put_plan(struct json *j, struct fleet_report *r, const struct plan_row *plan,
		    struct err *err)
{
	SCOPED(text_free) struct text content = TEXT_EMPTY;
	uint64_t size;
	bool has_it;
	int rc;

	if (plan == NULL)
		return 0;
	rc = fleet_report_payload(r, plan->server, &plan->plan, &content, &has_it, &size, err);
	if (rc != 0)
		return rc;
	json_open_object(j);
	json_key(j, "digest");
	report_put_digest(j, &plan->plan);
	json_key(j, "shape");
	report_put_digest(j, &plan->shape);
	json_put_double(j, "total_cost", plan->total_cost);
	json_put_double(j, "plan_rows", plan->plan_rows);
	json_put_str(j, "search_path", plan->search_path);
	json_put_bool(j, "is_generic", plan->is_generic);
	json_put_i64(j, "first_wall_ns", plan->first_wall_ns);
	json_put_i64(j, "seen_wall_ns", plan->seen_wall_ns);
	json_put_u64(j, "plan_bytes", plan->plan_bytes);
	if (has_it)
		json_put_str(j, "content", (struct str){ content.bytes, (uint32_t)content.len });
	else
		report_put_null(j, "content", "not kept");
	json_close(j);
	return 0;
}

static void put_side(struct json *j, const char *key, const struct fleet_side *side)
{
	json_key(j, key);
	json_open_object(j);
	json_put_u64(j, "calls", side->calls);
	json_put_u64(j, "exec_ns", side->exec_ns);
	json_close(j);
}

static void put_sums(struct json *j, const struct fleet_statement *s)
{
	/* The columns of the table, from its first counter on. */
	for (size_t i = 0; i < table_statement.field_count; i++)
		if (table_statement.fields[i].type == FIELD_COUNTER)
			put_counter(j, table_statement.fields[i].name,
				    s->sums[(table_statement.fields[i].offset -
					     offsetof(struct statement_row, counters)) /
					    sizeof(struct counter)]);
}

static const char *why_no_plan(const struct fleet_statement *s)
{
	if (s->plan != NULL)
		return "";
	return s->no_plan != NULL ? fleet_reason_sentence(s->no_plan->reason) : "not asked yet";
}

static int put_statement(struct json *j, struct fleet_report *r, const struct fleet_statement *s,
			 struct err *err)
{
	int rc;

	json_open_object(j);
	put_server_name(j, &r->a, s->server);
	put_queryid(j, s->key.queryid);
	json_put_u64(j, "dbid", s->key.dbid);
	json_put_u64(j, "userid", s->key.userid);
	json_put_bool(j, "is_toplevel", s->key.is_toplevel);
	json_put_str(j, "database", s->query != NULL ? s->query->database : STR_EMPTY);
	json_put_str(j, "user", s->query != NULL ? s->query->user : STR_EMPTY);
	if (s->text.len > 0)
		json_put_str(j, "text", s->text);
	else
		report_put_null(j, "text", s->key.queryid == 0 ? "not allowed" : "not kept");
	put_sums(j, s);
	json_put_u64(j, "span_ns", s->span_ns);
	json_put_u64(j, "differences", s->differences);
	json_put_u64(j, "without_difference", s->unknown);
	json_put_u64(j, "plans_kept", s->plans);
	json_put_u64(j, "shapes_kept", s->shapes);
	put_moment(j, "plan_changed_wall_ns", s->changed_wall_ns, "no change was seen");
	put_side(j, "before", &s->before);
	put_side(j, "after", &s->after);
	json_put_chars(j, "why_no_plan", why_no_plan(s));
	json_key(j, "kept_plans");
	json_open_array(j);
	rc = put_plan(j, r, s->plan, err);
	if (rc == 0)
		rc = put_plan(j, r, s->plan_before, err);
	json_close(j);
	json_close(j);
	return rc;
}

static void put_functions(struct json *j, const struct fleet_analysis *a)
{
	json_key(j, "functions");
	json_open_array(j);
	for (size_t i = 0; i < a->function_count; i++) {
		const struct fleet_function *f = &a->functions[i];

		json_open_object(j);
		put_server_name(j, a, f->server);
		json_put_str(j, "database", f->database);
		json_put_str(j, "name", f->name);
		put_counter(j, "calls", f->sums[FUNCTION_CALLS]);
		put_counter(j, "total_ns", f->sums[FUNCTION_TOTAL_NS]);
		put_counter(j, "self_ns", f->sums[FUNCTION_SELF_NS]);
		json_put_u64(j, "span_ns", f->span_ns);
		json_put_u64(j, "without_difference", f->unknown);
		json_close(j);
	}
	json_close(j);
}

static void put_waits(struct json *j, const struct fleet_analysis *a)
{
	json_key(j, "waits");
	json_open_array(j);
	for (size_t i = 0; i < a->wait_count; i++) {
		json_open_object(j);
		put_server_name(j, a, a->waits[i].server);
		json_put_str(j, "wait_type", a->waits[i].wait_type);
		json_put_str(j, "wait_event", a->waits[i].wait_event);
		json_put_u64(j, "seen", a->waits[i].seen);
		json_close(j);
	}
	json_close(j);
}

static void put_costs(struct json *j, const struct fleet_analysis *a)
{
	json_key(j, "cost");
	json_open_array(j);
	for (size_t i = 0; i < a->reading_count; i++) {
		const struct fleet_reading *r = &a->readings[i];

		json_open_object(j);
		put_server_name(j, a, r->server);
		json_put_chars(j, "reading", reading_name(r->reading));
		json_put_u64(j, "runs", r->runs);
		json_put_u64(j, "captures", r->captures);
		json_put_u64(j, "gated", r->gated);
		json_put_u64(j, "missed", r->missed);
		json_put_u64(j, "failures", r->failures);
		json_put_u64(j, "permissions", r->permissions);
		json_put_u64(j, "abandoned", r->abandoned);
		json_put_u64(j, "skipped", r->skipped);
		json_put_u64(j, "server_ns", r->server_ns);
		json_put_u64(j, "capture_server_ns", r->capture_server_ns);
		json_put_u64(j, "longest_server_ns", r->longest_server_ns);
		json_put_u64(j, "own_ns", r->own_ns);
		json_put_u64(j, "store_ns", r->store_ns);
		json_put_u64(j, "rows", r->rows);
		json_put_u64(j, "bytes", r->bytes);
		json_put_u64(j, "plans", r->plans);
		json_put_u64(j, "new_plans", r->new_plans);
		json_put_str(j, "last_reason", r->last_reason);
		json_close(j);
	}
	json_close(j);
}

static void put_head(struct json *j, const struct fleet_report *r)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	fleet_verdict_put(&verdict, &r->a);
	json_put_u64(j, "schema_version", REPORT_SCHEMA_VERSION);
	json_put_chars(j, "instrument", "collect");
	json_put_chars(j, "verdict", text_chars(&verdict));
	json_put_chars(j, "file", r->path);
	json_put_u64(j, "file_bytes", r->bytes);
	put_moment(j, "first_wall_ns", r->a.first_wall_ns, "there is nothing yet");
	put_moment(j, "last_wall_ns", r->a.last_wall_ns, "there is nothing yet");
	json_put_u64(j, "exec_ns", r->a.exec_ns);
	report_put_findings(j, &r->findings);
	if (verdict.has_failed)
		json_fail(j, -ENOMEM);
}

int fleet_json(FILE *out, struct fleet_report *r, struct err *err)
{
	struct json j;
	int rc = 0;

	json_begin(&j, json_to_file, out, 2);
	json_open_object(&j);
	put_head(&j, r);
	json_key(&j, "servers");
	json_open_array(&j);
	for (size_t i = 0; i < r->a.server_count; i++)
		put_server(&j, &r->a, &r->a.servers[i]);
	json_close(&j);
	json_key(&j, "statements");
	json_open_array(&j);
	for (size_t i = 0; i < r->a.statement_count && rc == 0; i++)
		rc = put_statement(&j, r, &r->a.statements[i], err);
	if (rc != 0)
		return rc;
	json_close(&j);
	put_functions(&j, &r->a);
	put_waits(&j, &r->a);
	put_costs(&j, &r->a);
	json_put_u64(&j, "replaced_bytes", j.replaced);
	json_close(&j);
	return json_end(&j);
}
