/* plan_person.c - one plan for a person, ungated: the text is looked up by its queryid, and planned as a capture would. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/pg_own.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"
#include "fleet/visit.h"

enum person_step { PERSON_WHERE, PERSON_TEXT, PERSON_ENTER, PERSON_PLAN, PERSON_DONE };

struct person {
	int64_t queryid;
	struct visit_limits limits;
	enum person_step step;
	struct server_facts facts;
	struct text schema, here, question, query, database, user, search_path, plan;
	char queryid_text[24];
	bool is_found;
	struct plan_wanted wanted;
	struct script plans;
	enum plan_reason reason;
	char sqlstate[6];
};

static const char sql_where[] =
	"select " PG_MARK " n.nspname, pg_catalog.current_setting('server_version_num'), "
	"pg_catalog.current_database() "
	"from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid "
	"operator(pg_catalog.=) e.extnamespace "
	"where e.extname operator(pg_catalog.=) 'pg_stat_statements'::pg_catalog.name";

/* Which statement: of several roles' and databases' the one that is called most. Then the search_path of its role in its database,
 * of its role, of its database. */
static const char sql_text_before[] =
	"select " PG_MARK " s.query, d.datname, a.rolname, s.dbid, s.userid, "
	"(select pg_catalog.substr(c, 13) from pg_catalog.pg_db_role_setting r, "
	"pg_catalog.unnest(r.setconfig) c "
	"where c operator(pg_catalog.~~) 'search_path=%' and (r.setdatabase operator(pg_catalog.=) "
	"s.dbid or "
	"r.setdatabase operator(pg_catalog.=) '0'::pg_catalog.oid) and (r.setrole "
	"operator(pg_catalog.=) s.userid or "
	"r.setrole operator(pg_catalog.=) '0'::pg_catalog.oid) "
	"order by r.setrole operator(pg_catalog.=) '0'::pg_catalog.oid, r.setdatabase "
	"operator(pg_catalog.=) '0'::pg_catalog.oid limit 1) "
	"from ";
static const char sql_text_after[] =
	".pg_stat_statements s left join pg_catalog.pg_database d on d.oid operator(pg_catalog.=) "
	"s.dbid "
	"left join pg_catalog.pg_roles a on a.oid operator(pg_catalog.=) s.userid "
	"where s.queryid operator(pg_catalog.=) $1::pg_catalog.int8 order by s.calls desc limit 1";

static void person_free(struct person *p)
{
	struct text *const texts[] = { &p->schema,   &p->here, &p->question,	&p->query,
				       &p->database, &p->user, &p->search_path, &p->plan };

	plans_close(&p->plans);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		text_free(texts[i]);
	free(p);
}

static struct str str_of(const struct text *t)
{
	return (struct str){ text_chars(t), (uint32_t)t->len };
}

static void finish(struct person *p, enum plan_reason reason, const char *sqlstate)
{
	p->reason = reason;
	snprintf(p->sqlstate, sizeof(p->sqlstate), "%s", sqlstate);
	p->step = PERSON_DONE;
}

static int take_found(void *owner, const struct plan_found *found)
{
	struct person *p = owner;

	finish(p, found->reason, found->sqlstate);
	p->step = PERSON_PLAN; /* the script has still to leave the server as it was */
	if (found->reason == PLAN_OK)
		text_add(&p->plan, found->redacted.bytes, found->redacted.len);
	return p->plan.has_failed ? -ENOMEM : 0;
}

static int ask_text(struct person *p, struct ask *out)
{
	text_clear(&p->question);
	text_put(&p->question, sql_text_before);
	sql_put_name(&p->question, text_chars(&p->schema), p->schema.len);
	text_put(&p->question, sql_text_after);
	snprintf(p->queryid_text, sizeof(p->queryid_text), "%lld", (long long)p->queryid);
	*out = (struct ask){ .kind = ASK_QUERY,
			     .sql = text_chars(&p->question),
			     .param_count = 1,
			     .params = { p->queryid_text } };
	return p->question.has_failed ? -ENOMEM : 1;
}

static int person_next(void *self, struct ask *out, struct err *err)
{
	struct person *p = self;
	int code = 1;

	if (p->step == PERSON_WHERE) {
		*out = (struct ask){ .kind = ASK_QUERY, .sql = sql_where };
	} else if (p->step == PERSON_TEXT) {
		code = ask_text(p, out);
	} else if (p->step == PERSON_ENTER) {
		*out = (struct ask){ .kind = ASK_DATABASE, .name = text_chars(&p->database) };
	} else if (p->step == PERSON_PLAN) {
		code = p->plans.next(p->plans.self, out, err);
		if (code == 0)
			p->step = PERSON_DONE;
		return code;
	} else {
		return 0;
	}
	out->reading = READING_PLANS;
	return code < 0 ? err_set(err, code, "cannot look for the statement: no memory") : code;
}

static void take_cell(struct text *out, const struct cell *cell)
{
	if (cell->bytes != NULL)
		text_add(out, cell->bytes, cell->len);
}

static void take_statement(struct person *p, const struct cell *cells)
{
	struct text ids = TEXT_EMPTY;

	take_cell(&p->query, &cells[0]);
	take_cell(&p->database, &cells[1]);
	take_cell(&p->user, &cells[2]);
	take_cell(&ids, &cells[3]);
	p->wanted.key.dbid = (uint32_t)strtoul(text_chars(&ids), NULL, 10);
	text_clear(&ids);
	take_cell(&ids, &cells[4]);
	p->wanted.key.userid = (uint32_t)strtoul(text_chars(&ids), NULL, 10);
	text_free(&ids);
	take_cell(&p->search_path, &cells[5]);
	p->is_found = true;
}

static int person_row(void *self, const struct cell *cells, uint32_t count)
{
	struct person *p = self;

	if (p->step == PERSON_WHERE && count == 3) {
		struct text version = TEXT_EMPTY;

		take_cell(&p->schema, &cells[0]);
		take_cell(&version, &cells[1]);
		take_cell(&p->here, &cells[2]);
		p->facts.version = (int)strtol(text_chars(&version), NULL, 10);
		text_free(&version);
	} else if (p->step == PERSON_TEXT && count == 6) {
		take_statement(p, cells);
	} else if (p->step == PERSON_PLAN) {
		return p->plans.row(p->plans.self, cells, count);
	}
	return 0;
}

/* The text is here, and we are in its database. */
static int begin_plan(struct person *p, struct err *err)
{
	p->wanted.key.queryid = p->queryid;
	p->wanted.key.is_toplevel = true;
	p->wanted.text = str_of(&p->query);
	p->wanted.user = str_of(&p->user);
	p->wanted.search_path = str_of(&p->search_path);
	p->step = PERSON_PLAN;
	return plans_open(&p->wanted, 1, &p->facts, &p->limits, take_found, p, &p->plans, err);
}

static int end_text(struct person *p, const struct answer *answer, struct err *err)
{
	if (!answer->is_ok)
		finish(p, answer->is_late ? PLAN_TIMEOUT : PLAN_OTHER, answer->sqlstate);
	else if (!p->is_found || p->query.len == 0)
		finish(p, PLAN_NO_TEXT, "");
	else if (strcmp(text_chars(&p->query), "<insufficient privilege>") == 0)
		finish(p, PLAN_PERMISSION, "");
	else if (p->database.len == 0)
		finish(p, PLAN_DATABASE, "");
	else if (strcmp(text_chars(&p->database), text_chars(&p->here)) == 0)
		return begin_plan(p, err);
	else
		p->step = PERSON_ENTER;
	return 0;
}

static int person_ended(void *self, const struct answer *answer, struct err *err)
{
	struct person *p = self;

	if (p->step == PERSON_PLAN)
		return p->plans.ended(p->plans.self, answer, err);
	if (!answer->is_ok && !answer->is_late && answer->sqlstate[0] == '\0' &&
	    p->step != PERSON_ENTER)
		return err_set(err, -ECONNRESET,
			       "cannot look for the statement: the connection is gone");
	if (p->step == PERSON_TEXT)
		return end_text(p, answer, err);
	if (p->step == PERSON_ENTER) {
		if (answer->is_ok)
			return begin_plan(p, err);
		finish(p, PLAN_DATABASE, answer->sqlstate);
	} else if (p->schema.len == 0) {
		finish(p, PLAN_NO_TEXT, answer->sqlstate);
	} else {
		p->step = PERSON_TEXT;
	}
	return 0;
}

int pg_plan_open(int64_t queryid, const struct visit_limits *limits, struct script *out,
		 struct err *err)
{
	struct person *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return err_set(err, -ENOMEM, "cannot look for the statement: no memory");
	p->queryid = queryid;
	p->reason = PLAN_OTHER;
	p->limits = *limits;
	*out = (struct script){ p, person_next, NULL, person_row, person_ended };
	return 0;
}

const char *pg_plan_text(const struct script *plan, uint32_t *out_reason, char out_sqlstate[6])
{
	const struct person *p = plan->self;

	*out_reason = p->reason;
	memcpy(out_sqlstate, p->sqlstate, sizeof(p->sqlstate));
	return p->reason == PLAN_OK && p->plan.len > 0 ? text_chars(&p->plan) : NULL;
}

void pg_plan_close(struct script *plan)
{
	if (plan->self != NULL)
		person_free(plan->self);
	*plan = (struct script){ .self = NULL };
}
