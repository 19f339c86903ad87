/* plan_reason.c - what came of one statement under one search path, and under several. */
#include <string.h>

#include "core/scoped.h"
#include "fleet/plan_steps.h"

enum plan_reason plan_reason_of(const char *sqlstate)
{
	static const struct {
		const char *sqlstate;
		enum plan_reason reason;
	} known[] = {
		{ "42501", PLAN_PERMISSION }, /* insufficient_privilege */
		{ "55P03", PLAN_LOCK },	      /* lock_not_available */
		{ "57014", PLAN_TIMEOUT },    /* query_canceled */
		{ "42P01", PLAN_GONE },	      /* undefined_table */
		{ "42703", PLAN_GONE },	      /* undefined_column */
		{ "42883", PLAN_GONE },	      /* undefined_function */
		{ "42704", PLAN_GONE },	      /* undefined_object: a type */
		{ "3F000", PLAN_GONE },	      /* invalid_schema_name */
		{ "3D000", PLAN_GONE },	      /* invalid_catalog_name */
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(sqlstate, known[i].sqlstate) == 0)
			return known[i].reason;
	return strncmp(sqlstate, "42", 2) == 0 ? PLAN_PARSE : PLAN_OTHER;
}

void plan_try_free(struct plan_try *t)
{
	plan_read_free(&t->plan);
	text_free(&t->relations);
	text_free(&t->path);
	*t = (struct plan_try){ .is_made = false };
}

/* The server computes the very identifier that the statement has in pg_stat_statements: these are its relations. (It does when the
 * text had no constants: then parameters are parameters in both.) */
static bool is_proven(const struct plans *p)
{
	return p->now.reason == PLAN_OK && p->now.plan.query_id != 0 &&
	       p->now.plan.query_id == p->wanted[p->at].key.queryid;
}

static void keep(struct plans *p)
{
	plan_try_free(&p->kept);
	p->kept = p->now;
	p->kept.is_made = true;
	p->now = (struct plan_try){ .is_made = false };
}

static bool has_more(const struct plans *p)
{
	return p->paths.at + 1 < p->paths.count;
}

/* One that is not to be had says little while another may be; one that stands in the way (no right, a lock) says more than one that
 * is not there. */
static bool says_more(const struct plans *p)
{
	if (!p->kept.is_made || (p->now.is_prepared && !p->kept.is_prepared))
		return true;
	return p->kept.reason == PLAN_GONE && p->now.reason != PLAN_GONE;
}

bool plan_try_ended(struct plans *p)
{
	bool is_given = p->paths.is_given && p->paths.at == 0;
	bool is_compared = p->kept.is_made && p->kept.is_prepared && p->now.is_prepared;

	if (is_proven(p)) {
		keep(p);
		p->is_ambiguous = false;
		return false;
	}
	if (is_compared &&
	    strcmp(text_chars(&p->kept.relations), text_chars(&p->now.relations)) != 0)
		p->is_ambiguous = true;
	if (p->now.reason == PLAN_LOCK || p->now.reason == PLAN_TIMEOUT) {
		keep(p);
		p->is_ambiguous = false;
		return false;
	}
	if (p->now.reason == PLAN_GONE && p->paths.has_hidden && !p->now.is_prepared)
		p->now.reason = PLAN_PERMISSION;
	if (says_more(p))
		keep(p);
	else
		plan_try_free(&p->now);
	return has_more(p) && !(is_given && p->kept.is_prepared);
}
