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

#define NAME_PLAN    "tare_plan"
#define EXPLAIN_HOW  "FORMAT JSON, VERBOSE, SETTINGS"
#define GENERIC_FROM 160000
#define PARAMS_MOST  65535u

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
static const char sql_path[] = "select " PG_MARK " pg_catalog.set_config('search_path', $1, true)";
static const char sql_count[] =
	"select " PG_MARK " coalesce(pg_catalog.array_length(parameter_types, 1), 0) from "
	"pg_catalog.pg_prepared_statements "
	"where name operator(pg_catalog.=) '" NAME_PLAN "'::pg_catalog.text";
static const char sql_compare[] =
	"select " PG_MARK " coalesce(pg_catalog.array_length(parameter_types, 1), 0), "
	"(select pg_catalog.string_agg(l.relation::pg_catalog.text, ',' order by l.relation) from "
	"pg_catalog.pg_locks l "
	"where l.pid operator(pg_catalog.=) pg_catalog.pg_backend_pid() and l.locktype "
	"operator(pg_catalog.=) 'relation'::pg_catalog.text "
	"and l.relation operator(pg_catalog.>=) '16384'::pg_catalog.oid) from "
	"pg_catalog.pg_prepared_statements "
	"where name operator(pg_catalog.=) '" NAME_PLAN "'::pg_catalog.text";

/* What ends the transaction that is open, and drops the statements of ours. A transaction that is well drops them first: behind a
 * pooler the next statement may go elsewhere. One that failed takes nothing but ROLLBACK. */
static void put_leave(const struct plans *p, struct text *out)
{
	if (p->is_broken)
		text_put(out, "ROLLBACK " PG_MARK "; ");
	if (p->has_prepared)
		text_put(out, "DEALLOCATE " PG_MARK " " NAME_PLAN "; ");
	if (p->is_open && !p->is_broken)
		text_put(out, "ROLLBACK " PG_MARK "; ");
}

static void ask_begin(struct plans *p, struct ask *out)
{
	put_leave(p, &p->question);
	text_printf(&p->question,
		    "BEGIN " PG_MARK " READ ONLY; SET " PG_MARK
		    " LOCAL plan_cache_mode = force_generic_plan; "
		    "SET " PG_MARK " LOCAL statement_timeout = %llu; SET " PG_MARK
		    " LOCAL lock_timeout = %llu",
		    (unsigned long long)p->statement_ms, (unsigned long long)p->lock_ms);
	out->kind = ASK_SIMPLE;
	out->sql = text_chars(&p->question);
}

/* The text, and behind it the mark of ours: a nested statement counts as run when it is only explained. On a line of its own, for
 * the text can end in a comment. */
static void ask_prepare(struct plans *p, struct ask *out)
{
	text_add(&p->question, p->sql.bytes, p->sql.len);
	text_put(&p->question, "\n" PG_MARK);
	out->kind = ASK_PREPARE;
	out->name = NAME_PLAN;
	out->sql = text_chars(&p->question);
}

/* GENERIC_PLAN (16 and later) shows the children that NULL for every parameter would prune. */
static void ask_explain(struct plans *p, struct ask *out)
{
	text_put(&p->question, "EXPLAIN " PG_MARK " (");
	text_put(&p->question, p->step == STEP_GENERIC ? "GENERIC_PLAN, " : "");
	text_put(&p->question, EXPLAIN_HOW ") EXECUTE " NAME_PLAN);
	for (uint32_t i = 0; i < p->params; i++)
		text_put(&p->question, i == 0 ? "(NULL" : ", NULL");
	text_put(&p->question, p->params > 0 ? ")" : "");
	out->kind = ASK_SIMPLE;
	out->sql = text_chars(&p->question);
}

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

int plan_step_ask(struct plans *p, struct ask *out)
{
	text_clear(&p->question);
	out->reading = READING_PLANS;
	out->deadline_ns = (p->statement_ms + p->lock_ms) * NS_PER_MS + NS_PER_S;
	switch (p->step) {
	case STEP_TIMEOUTS:
		ask_query(out, sql_timeouts, NULL);
		break;
	case STEP_NAMES:
		ask_names(p, out);
		break;
	case STEP_BEGIN:
		ask_begin(p, out);
		break;
	case STEP_PATH:
		ask_query(out, sql_path, text_chars(&p->paths.paths[p->paths.at]));
		break;
	case STEP_PREPARE:
		ask_prepare(p, out);
		break;
	case STEP_COUNT:
		ask_query(out, is_comparing(p) ? sql_compare : sql_count, NULL);
		break;
	case STEP_EXPLAIN:
	case STEP_GENERIC:
		ask_explain(p, out);
		break;
	default:
		put_leave(p, &p->question);
		out->kind = ASK_SIMPLE;
		out->sql = text_chars(&p->question);
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

int plan_step_row(struct plans *p, const struct cell *cells, uint32_t count)
{
	if (p->step == STEP_TIMEOUTS && count == 2) {
		p->statement_ms = shorter(p->statement_ms, number_of(&cells[0]));
		p->lock_ms = shorter(p->lock_ms, number_of(&cells[1]));
	} else if (p->step == STEP_NAMES && count == 3) {
		take_holder(p, cells);
	} else if (p->step == STEP_COUNT && count >= 1) {
		uint64_t params = number_of(&cells[0]);

		p->params = params < PARAMS_MOST ? (uint32_t)params : PARAMS_MOST;
		p->now.is_prepared = true;
		if (count > 1 && cells[1].bytes != NULL)
			text_add(&p->now.relations, cells[1].bytes, cells[1].len);
	} else if ((p->step == STEP_EXPLAIN || p->step == STEP_GENERIC) && count == 1) {
		return take_plan(p, &cells[0]);
	}
	return 0;
}

/* The try ends with a failure of the server's; its transaction is broken with it. */
static void fail_try(struct plans *p, const struct answer *answer)
{
	snprintf(p->now.sqlstate, sizeof(p->now.sqlstate), "%s", answer->sqlstate);
	p->now.reason = answer->is_late ? PLAN_TIMEOUT : plan_reason_of(answer->sqlstate);
	p->is_broken = true;
}

/* After the last question of a try: another path, or the next statement. */
static void end_try(struct plans *p)
{
	text_add(&p->now.path, p->paths.paths[p->paths.at].bytes, p->paths.paths[p->paths.at].len);
	p->step = STEP_BEGIN;
	p->has_tried_again = false;
	if (plan_try_ended(p))
		p->paths.at++;
	else
		p->is_begun = false;
}

static void end_explain(struct plans *p, const struct answer *answer)
{
	bool is_first = p->step == STEP_EXPLAIN;

	if (!answer->is_ok && is_first)
		fail_try(p, answer);
	p->is_broken |= !answer->is_ok;
	if (p->now.reason == PLAN_OK && is_first && p->now.plan.is_pruned &&
	    p->version >= GENERIC_FROM) {
		p->step = STEP_GENERIC;
		return;
	}
	if (p->now.reason == PLAN_OK && p->now.plan.is_shell)
		p->now.reason = PLAN_PRUNED;
	end_try(p);
}

/* A statement of ours is there, from a visit that was cut off: it is dropped, and the try begins anew, once. */
static bool is_leftover(struct plans *p, const struct answer *answer)
{
	if (strcmp(answer->sqlstate, "42P05") != 0)
		return false;
	p->is_broken = true;
	p->has_prepared = true;
	if (p->has_tried_again)
		return false;
	p->has_tried_again = true;
	p->step = STEP_BEGIN;
	return true;
}

static void end_prepare(struct plans *p, const struct answer *answer)
{
	if (answer->is_ok) {
		p->has_prepared = true;
		p->step = STEP_COUNT;
	} else if (!is_leftover(p, answer)) {
		fail_try(p, answer);
		end_try(p);
	}
}

static void end_begin(struct plans *p, const struct answer *answer)
{
	p->has_prepared = false;
	p->is_open = true;
	p->is_broken = !answer->is_ok;
	if (answer->is_ok) {
		p->step = STEP_PATH;
		return;
	}
	fail_try(p, answer);
	end_try(p);
}

/* When a statement of ours was not there to be dropped, the transaction is still to be left. */
static void end_leave(struct plans *p, const struct answer *answer)
{
	p->has_prepared = false;
	p->is_done = answer->is_ok || p->is_broken;
	p->is_open = p->is_broken = !p->is_done;
}

void plan_step_ended(struct plans *p, const struct answer *answer)
{
	switch (p->step) {
	case STEP_TIMEOUTS:
		p->step = p->names.name_count > 0 ? STEP_NAMES : STEP_BEGIN;
		break;
	case STEP_NAMES:
		plan_names_sort(&p->names);
		p->step = STEP_BEGIN;
		break;
	case STEP_BEGIN:
		end_begin(p, answer);
		break;
	case STEP_PREPARE:
		end_prepare(p, answer);
		break;
	case STEP_EXPLAIN:
	case STEP_GENERIC:
		end_explain(p, answer);
		break;
	case STEP_PATH:
	case STEP_COUNT:
		if (answer->is_ok) {
			p->step = p->step == STEP_PATH ? STEP_PREPARE : STEP_EXPLAIN;
			break;
		}
		fail_try(p, answer);
		end_try(p);
		break;
	default:
		end_leave(p, answer);
	}
}
