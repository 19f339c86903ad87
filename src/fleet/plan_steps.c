/* plan_steps.c - the questions that one plan takes. Text that came from a server is only ever the sql of ASK_PREPARE, or a bound parameter:
 * also EXPLAIN (GENERIC_PLAN) explains EXECUTE of a name of ours. (In front of a text that is prepared it would be safe too, as Parse takes one
 * statement; but that text's parameters then become NULL constants, and its plan another.) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/pg_own.h"
#include "fleet/plan_steps.h"

#define NAME_PLAN      "tare_plan"
#define EXPLAIN_HOW    "FORMAT JSON, VERBOSE, SETTINGS"
#define GENERIC_FROM   160000
#define SQL_DEALLOCATE "DEALLOCATE " PG_MARK " " NAME_PLAN
#define SQL_ROLLBACK   "ROLLBACK " PG_MARK

/* All of these are qualified: the path that holds by then is another's. */
static const char sql_timeouts[] =
	"select " PG_MARK " (pg_catalog.date_part('epoch', "
	"pg_catalog.current_setting('statement_timeout')::pg_catalog.interval) "
	"operator(pg_catalog.*) 1000)::pg_catalog.int8, "
	"(pg_catalog.date_part('epoch', "
	"pg_catalog.current_setting('lock_timeout')::pg_catalog.interval) "
	"operator(pg_catalog.*) 1000)::pg_catalog.int8";
static const char sql_names[] =
	"select " PG_MARK
	" h.name, h.nspname, pg_catalog.has_schema_privilege(h.oid, 'usage') from ("
	"select x.name, n.nspname, n.oid, pg_catalog.row_number() over (partition by x.name order "
	"by n.nspname) as place from ("
	"select relname, relnamespace from pg_catalog.pg_class where relname "
	"operator(pg_catalog.=) any ($1::pg_catalog.name[]) "
	"and relkind operator(pg_catalog.=) any ('{r,p,v,m,f}'::pg_catalog.\"char\"[]) "
	"union select proname, pronamespace from pg_catalog.pg_proc where proname "
	"operator(pg_catalog.=) any ($1::pg_catalog.name[]) "
	"union select typname, typnamespace from pg_catalog.pg_type where typname "
	"operator(pg_catalog.=) any ($1::pg_catalog.name[]) "
	"and typrelid operator(pg_catalog.=) '0'::pg_catalog.oid) as x (name, schema) "
	"join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) x.schema "
	"where n.nspname operator(pg_catalog.!~) '^pg_' and n.nspname operator(pg_catalog.<>) "
	"'information_schema'::pg_catalog.name"
	") h where h.place operator(pg_catalog.<=) $2::pg_catalog.int8";
static const char sql_set[] =
	"select " PG_MARK " pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true), "
	"pg_catalog.set_config('statement_timeout', $1, true), "
	"pg_catalog.set_config('lock_timeout', $2, true), "
	"pg_catalog.set_config('search_path', $3, true)";
static const char sql_compare[] =
	"select " PG_MARK " coalesce(pg_catalog.array_length(parameter_types, 1), 0), "
	"(select pg_catalog.string_agg(l.relation::pg_catalog.text, ',' order by l.relation) from "
	"pg_catalog.pg_locks l "
	"where l.pid operator(pg_catalog.=) pg_catalog.pg_backend_pid() and l.locktype "
	"operator(pg_catalog.=) 'relation'::pg_catalog.text "
	"and l.relation operator(pg_catalog.>=) '16384'::pg_catalog.oid) from "
	"pg_catalog.pg_prepared_statements "
	"where name operator(pg_catalog.=) '" NAME_PLAN "'::pg_catalog.text";

static void ask_query(struct ask *out, const char *sql, const char *param)
{
	out->kind = ASK_QUERY;
	out->sql = sql;
	out->param_count = param != NULL;
	out->params[0] = param;
}

static void ask_names(struct plans *p, struct ask *out)
{
	static const char most[] = { '0' + PLAN_SCHEMAS_MOST, '\0' };

	text_clear(&p->param);
	plan_names_put(&p->names, &p->param);
	ask_query(out, sql_names, text_chars(&p->param));
	out->param_count = 2;
	out->params[1] = most;
}

/* Whether what this path gives has to be held against what another gives. */
static bool is_comparing(const struct plans *p)
{
	size_t preset = p->paths.is_given;

	return p->paths.at >= preset && p->paths.count - preset > 1;
}

static struct ask *add_link(struct plans *p, enum plan_link kind, const char *sql)
{
	struct ask *link = &p->links[p->link_count];

	p->kinds[p->link_count++] = kind;
	*link = (struct ask){ .kind = ASK_QUERY, .sql = sql };
	return link;
}

/* What a try that failed has left: its transaction takes nothing but ROLLBACK, and our statement outlives it. */
static void add_leave(struct plans *p)
{
	if (p->is_broken)
		add_link(p, PLAN_LINK_BEFORE, SQL_ROLLBACK);
	if (p->has_prepared)
		add_link(p, PLAN_LINK_BEFORE, SQL_DEALLOCATE);
}

static void add_set(struct plans *p)
{
	struct ask *link = add_link(p, PLAN_LINK_SET, sql_set);

	snprintf(p->statement_text, sizeof(p->statement_text), "%llu",
		 (unsigned long long)p->statement_ms);
	snprintf(p->lock_text, sizeof(p->lock_text), "%llu", (unsigned long long)p->lock_ms);
	link->param_count = 3;
	link->params[0] = p->statement_text;
	link->params[1] = p->lock_text;
	link->params[2] = text_chars(&p->paths.paths[p->paths.at]);
}

/* GENERIC_PLAN (16 and later) shows the children that NULL for every parameter would prune. */
static void add_explain(struct plans *p)
{
	text_clear(&p->question);
	text_put(&p->question, "EXPLAIN " PG_MARK " (");
	text_put(&p->question, p->step == STEP_GENERIC ? "GENERIC_PLAN, " : "");
	text_put(&p->question, EXPLAIN_HOW ") EXECUTE " NAME_PLAN);
	for (uint32_t i = 0; i < p->params; i++)
		text_put(&p->question, i == 0 ? "(NULL" : ", NULL");
	text_put(&p->question, p->params > 0 ? ")" : "");
	add_link(p, PLAN_LINK_EXPLAIN, text_chars(&p->question));
}

/* A whole try as one chain: when it goes well, nothing of ours is at the server any more when its answer is there, and a lock was
 * held no longer than planning took. */
static void ask_try(struct plans *p, struct ask *out)
{
	struct ask *text;

	p->link_count = 0;
	p->counted = 0;
	add_leave(p);
	add_link(p, PLAN_LINK_BEGIN, "BEGIN " PG_MARK " READ ONLY");
	add_set(p);
	text = add_link(p, PLAN_LINK_PREPARE, text_chars(&p->sql));
	text->kind = ASK_PREPARE;
	text->name = NAME_PLAN;
	if (p->step == STEP_COUNT || (p->step == STEP_TRY && is_comparing(p))) {
		text_clear(&p->now.relations);
		add_link(p, PLAN_LINK_COMPARE, sql_compare);
	}
	if (p->step != STEP_COUNT)
		add_explain(p);
	add_link(p, PLAN_LINK_DEALLOCATE, SQL_DEALLOCATE);
	add_link(p, PLAN_LINK_ROLLBACK, SQL_ROLLBACK);
	out->kind = ASK_CHAIN;
	out->links = p->links;
	out->link_count = p->link_count;
}

static void ask_leave(const struct plans *p, struct ask *out)
{
	out->kind = ASK_SIMPLE;
	out->sql = p->has_prepared ? SQL_ROLLBACK "; " SQL_DEALLOCATE : SQL_ROLLBACK;
}

int plan_step_ask(struct plans *p, struct ask *out)
{
	out->reading = READING_PLANS;
	out->deadline_ns = (p->statement_ms + p->lock_ms) * NS_PER_MS + NS_PER_S;
	switch (p->step) {
	case STEP_TIMEOUTS:
		ask_query(out, sql_timeouts, NULL);
		break;
	case STEP_NAMES:
		ask_names(p, out);
		break;
	case STEP_TRY:
	case STEP_COUNT:
	case STEP_GENERIC:
		ask_try(p, out);
		break;
	default:
		ask_leave(p, out);
	}
	return p->question.has_failed || p->param.has_failed ? -ENOMEM : 0;
}

static uint64_t number_of(const struct cell *cell)
{
	char digits[24];
	size_t len = cell->len < sizeof(digits) - 1 ? cell->len : sizeof(digits) - 1;

	if (cell->bytes == NULL || len == 0)
		return 0;
	memcpy(digits, cell->bytes, len);
	digits[len] = '\0';
	return strtoull(digits, NULL, 10);
}

/* The shorter of two timeouts, 0 being none. */
static uint64_t shorter(uint64_t own_ms, uint64_t set_ms)
{
	return set_ms > 0 && set_ms < own_ms ? set_ms : own_ms;
}

static void take_holder(struct plans *p, const struct cell *cells)
{
	struct plan_held held = { .is_usable = cells[2].len == 1 && cells[2].bytes[0] == 't' };

	if (cells[0].bytes == NULL || cells[1].bytes == NULL)
		return;
	snprintf(held.name, sizeof(held.name), "%.*s", (int)cells[0].len, cells[0].bytes);
	snprintf(held.schema, sizeof(held.schema), "%.*s", (int)cells[1].len, cells[1].bytes);
	plan_names_hold(&p->names, &held);
}

/* A plan as the server tells it. Over the cap it is not even read. */
static int take_plan(struct plans *p, const struct cell *cell)
{
	struct err err = ERR_EMPTY;
	int code;

	plan_read_free(&p->now.plan);
	p->now.plan_bytes = cell->len;
	p->now.is_generic = p->step == STEP_GENERIC;
	code = cell->len > p->limits.payload_bytes
		       ? -E2BIG
		       : plan_read(cell->bytes, cell->len, &p->now.plan, &err);
	p->now.reason = code == 0 ? PLAN_OK : code == -E2BIG ? PLAN_LARGE : PLAN_OTHER;
	if (code == 0 && p->now.plan.is_utility)
		p->now.reason = PLAN_UTILITY;
	return code == -ENOMEM ? code : 0;
}

/* Answers are told apart by their columns: what is set has four, the comparison two, a plan one. */
static int take_of_try(struct plans *p, const struct cell *cells, uint32_t count)
{
	if (count == 1)
		return take_plan(p, &cells[0]);
	if (count == 2) {
		uint64_t params = number_of(&cells[0]);

		p->counted = params < PLAN_PARAMS_MOST ? (uint32_t)params : PLAN_PARAMS_MOST;
		if (cells[1].bytes != NULL)
			text_add(&p->now.relations, cells[1].bytes, cells[1].len);
	}
	return 0;
}

int plan_step_row(struct plans *p, const struct cell *cells, uint32_t count)
{
	if (p->step == STEP_TIMEOUTS && count == 2) {
		p->statement_ms = shorter(p->statement_ms, number_of(&cells[0]));
		p->lock_ms = shorter(p->lock_ms, number_of(&cells[1]));
	} else if (p->step == STEP_NAMES && count == 3) {
		take_holder(p, cells);
	} else if (p->step >= STEP_TRY && p->step <= STEP_GENERIC) {
		return take_of_try(p, cells, count);
	}
	return 0;
}

static void fail_try(struct plans *p, const struct answer *answer)
{
	snprintf(p->now.sqlstate, sizeof(p->now.sqlstate), "%s", answer->sqlstate);
	p->now.reason = answer->is_late ? PLAN_TIMEOUT : plan_reason_of(answer->sqlstate);
}

/* After the last chain of a try: another path, or the next statement. */
static void end_try(struct plans *p)
{
	text_add(&p->now.path, p->paths.paths[p->paths.at].bytes, p->paths.paths[p->paths.at].len);
	p->step = STEP_TRY;
	p->has_tried_again = p->has_counted = false;
	if (plan_try_ended(p))
		p->paths.at++;
	else
		p->is_begun = false;
}

/* What is at the server after a chain that ended before `failed`: a transaction that failed takes our statement along only when it was
 * never made. */
static void note_left(struct plans *p, enum plan_link failed, const struct answer *answer)
{
	bool is_leftover = failed == PLAN_LINK_PREPARE && strcmp(answer->sqlstate, "42P05") == 0;

	p->is_broken = failed != PLAN_LINK_NONE;
	p->has_prepared = is_leftover || failed == PLAN_LINK_COMPARE || failed == PLAN_LINK_EXPLAIN;
	if (failed > PLAN_LINK_PREPARE)
		p->now.is_prepared = true;
}

/* Whether the same path is to be tried again, once for each cause: a statement of ours is there from a visit that was cut off; or this
 * server reads the text in another way than we do (standard_conforming_strings), and has to count its parameters. */
static bool is_to_try_again(struct plans *p, enum plan_link failed, const struct answer *answer)
{
	if (failed == PLAN_LINK_PREPARE && p->has_prepared && !p->has_tried_again) {
		p->has_tried_again = true;
		p->step = STEP_TRY;
		return true;
	}
	if (failed == PLAN_LINK_EXPLAIN && !p->has_counted &&
	    strcmp(answer->sqlstate, "42601") == 0) {
		p->has_counted = true;
		p->step = STEP_COUNT;
		return true;
	}
	return false;
}

/* The plan was read, even when leaving failed. */
static void end_explained(struct plans *p)
{
	if (p->now.reason == PLAN_OK && p->now.plan.redacted.len == 0)
		p->now.reason = PLAN_OTHER; /* the server gave none */
	if (p->now.reason == PLAN_OK && p->step == STEP_TRY && p->now.plan.is_pruned &&
	    p->version >= GENERIC_FROM) {
		p->step = STEP_GENERIC;
		return;
	}
	if (p->now.reason == PLAN_OK && p->now.plan.is_shell)
		p->now.reason = PLAN_PRUNED;
	end_try(p);
}

/* With the server's number of parameters it is tried again; when that was ours, what failed stands. */
static void end_count(struct plans *p, const struct answer *answer)
{
	if (!answer->is_ok || p->counted == p->params) {
		end_try(p);
		return;
	}
	p->params = p->counted;
	p->now.reason = PLAN_OK;
	p->now.sqlstate[0] = '\0';
	p->step = STEP_TRY;
}

static void end_chain(struct plans *p, const struct answer *answer)
{
	enum plan_link failed =
		answer->links_done < p->link_count ? p->kinds[answer->links_done] : PLAN_LINK_NONE;
	bool is_read = answer->is_ok || (failed > PLAN_LINK_EXPLAIN && !answer->is_late);

	note_left(p, failed, answer);
	if (p->step == STEP_COUNT) {
		end_count(p, answer);
	} else if (is_read || p->step == STEP_GENERIC) { /* refused, what was read before holds */
		end_explained(p);
	} else {
		fail_try(p, answer);
		if (!is_to_try_again(p, failed, answer))
			end_try(p);
	}
}

void plan_step_ended(struct plans *p, const struct answer *answer)
{
	switch (p->step) {
	case STEP_TIMEOUTS:
		p->step = p->names.name_count > 0 ? STEP_NAMES : STEP_TRY;
		break;
	case STEP_NAMES:
		plan_names_sort(&p->names);
		p->step = STEP_TRY;
		break;
	case STEP_LEAVE:
		p->has_prepared = p->is_broken = false;
		p->is_done = true;
		break;
	default:
		end_chain(p, answer);
	}
}
