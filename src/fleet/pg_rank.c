/* pg_rank.c - which statements a capture plans: the top of what ran within the reach, without what is known to have no plan. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/pg_capture.h"

static bool is_candidate(const struct pg_body *b, const struct statement_known *known,
			 uint64_t *out_rank)
{
	*out_rank = 0;
	for (size_t i = 0; i < RANK_SPANS; i++)
		*out_rank += known->exec_ns[i];
	return known->state != TEXT_OWN && known->ran_wall_ns != 0 &&
	       b->settings.at.ns - known->ran_wall_ns <= (int64_t)b->settings.limits.reach_ns;
}

static int by_rank(const void *a, const void *b)
{
	const struct text_wanted *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	if (x->key.queryid != y->key.queryid)
		return x->key.queryid < y->key.queryid ? -1 : 1;
	return x->key.userid < y->key.userid ? -1 : x->key.userid > y->key.userid;
}

/* Home (marked by 0) first; within a database the order of ranks stays. */
static int by_database(const void *a, const void *b)
{
	const struct captured *x = a, *y = b;

	if (x->wanted.key.dbid != y->wanted.key.dbid)
		return x->wanted.key.dbid < y->wanted.key.dbid ? -1 : 1;
	return by_rank(&x->wanted, &y->wanted);
}

/* Whether there is anything to ask: not for what is known to have no plan. */
static int is_to_be_planned(struct pg_body *b, const struct text_wanted *w)
{
	const struct statement_known *known = w->row->statement;
	enum plan_reason reason = known->no_plan.reason;
	struct plan_found none = { .key = w->key };

	if (known->no_plan.again_wall_ns > b->settings.at.ns)
		return 0;
	if (reason == PLAN_UTILITY || reason == PLAN_MANY)
		none.reason = reason;
	else if (known->state == TEXT_KNOWN &&
		 (known->text_bytes > b->settings.limits.payload_bytes ||
		  known->text_bytes > b->settings.limits.text_bytes))
		none.reason = PLAN_NO_TEXT;
	if (none.reason == PLAN_OK)
		return 1;
	return pg_found_keep(b, &none);
}

static int choose(struct pg_body *b, struct pg_capture *c, const struct text_wanted *picked,
		  size_t count)
{
	uint32_t home = b->facts.dbid;
	int code;

	c->rows = calloc(count > 0 ? count : 1, sizeof(*c->rows));
	if (c->rows == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		code = is_to_be_planned(b, &picked[i]);
		if (code < 0)
			return code;
		if (code > 0)
			c->rows[c->count++].wanted = picked[i];
	}
	/* Home sorts first under the name of 0. */
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].wanted.key.dbid == home)
			c->rows[i].wanted.key.dbid = 0;
	if (c->count > 1)
		qsort(c->rows, c->count, sizeof(*c->rows), by_database);
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].wanted.key.dbid == 0)
			c->rows[i].wanted.key.dbid = home;
	return 0;
}

int capture_rank(struct pg_body *b, struct pg_capture *c)
{
	struct run_row *run = pg_body_run(b, READING_STATEMENTS);
	struct text_wanted *picked = NULL;
	size_t count = 0;
	int code = statements_pick(b, is_candidate, &picked, &count);

	if (code != 0)
		return code;
	if (count > 1)
		qsort(picked, count, sizeof(*picked), by_rank);
	run->at_cap = count >= b->settings.limits.candidates;
	if (count > b->settings.limits.candidates)
		count = b->settings.limits.candidates;
	run->candidates = count;
	if (c != NULL) {
		pg_body_run(b, READING_PLANS)->candidates = count;
		b->runs[READING_PLANS].at_cap = run->at_cap;
		code = choose(b, c, picked, count);
	}
	free(picked);
	return code;
}
