/* plans.c - plans of wanted statements, one after another, as a script: each is told of once, and whatever happens nothing of ours stays
 * at the server. */
#include "fleet/plans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/pg_own.h"
#include "fleet/plan_steps.h"
#include "fleet/text_sql.h"

#define LOCK_MOST_MS 100u

static void plans_free(struct plans *p)
{
	plan_names_free(&p->names);
	plan_paths_free(&p->paths);
	plan_try_free(&p->now);
	plan_try_free(&p->kept);
	text_free(&p->sql);
	text_free(&p->question);
	text_free(&p->param);
	free(p);
}

/* Tells the owner; what it answers ends the script, once everything is left. */
static void tell(struct plans *p, const struct plan_found *found)
{
	int code = p->on_found(p->owner, found);

	if (p->failure == 0)
		p->failure = code;
}

static void tell_without(struct plans *p, enum plan_reason reason)
{
	struct plan_found found = { .key = p->wanted[p->at].key, .reason = reason };

	tell(p, &found);
}

static struct str str_of(const struct text *t)
{
	return (struct str){ text_chars(t), (uint32_t)t->len };
}

/* What was kept of the paths of this statement. */
static void tell_kept(struct plans *p)
{
	struct plan_try *kept = &p->kept;
	struct plan_found found = { .key = p->wanted[p->at].key };

	found.reason = p->is_ambiguous ? PLAN_AMBIGUOUS : kept->reason;
	if (!p->is_ambiguous)
		memcpy(found.sqlstate, kept->sqlstate, sizeof(found.sqlstate));
	if (found.reason == PLAN_OK || found.reason == PLAN_LARGE) {
		found.plan = (struct plan_row){
			.key = found.key,
			.shape = kept->plan.shape,
			.search_path = str_of(&kept->path),
			.settings = str_of(&kept->plan.settings),
			.total_cost = kept->plan.total_cost,
			.plan_rows = kept->plan.plan_rows,
			.plan_bytes = kept->plan_bytes,
			.is_generic = kept->is_generic,
		};
		found.redacted = str_of(&kept->plan.redacted);
	}
	if (found.reason == PLAN_OK &&
	    payload_digest(found.redacted.bytes, found.redacted.len, &found.plan.plan) != 0)
		p->failure = -ENOMEM;
	else
		tell(p, &found);
	plan_try_free(&p->kept);
}

/* The text, and behind it the mark of ours: a nested statement counts as run when it is only explained. On a line of its own, for
 * the text can end in a comment. */
static void put_text(struct plans *p, struct str text)
{
	text_clear(&p->sql);
	sql_rewrite_casts(text.bytes, text.len, &p->sql);
	text_put(&p->sql, "\n" PG_MARK);
	p->params = sql_params(p->sql.bytes, p->sql.len);
	if (p->params > PLAN_PARAMS_MOST)
		p->params = PLAN_PARAMS_MOST;
}

/* The next statement that can have a plan; the others are told of on the way. False: there is none. */
static bool begin_next(struct plans *p)
{
	for (; p->at < p->count && p->failure == 0; p->at++) {
		const struct plan_wanted *wanted = &p->wanted[p->at];
		enum plan_reason reason = plan_classify(wanted->text, wanted->is_cut, NULL, 0);

		if (reason != PLAN_OK) {
			tell_without(p, reason);
			continue;
		}
		put_text(p, wanted->text);
		p->is_ambiguous = false;
		p->is_begun = true;
		if (!plan_paths_make(&p->paths, &p->names, wanted->text, wanted->search_path,
				     wanted->user) ||
		    p->sql.has_failed)
			p->failure = -ENOMEM;
		return p->failure == 0;
	}
	return false;
}

/* Between two statements: tells of the last one and begins the next. */
static void turn_over(struct plans *p)
{
	if (p->kept.is_made) {
		tell_kept(p);
		p->at++;
	}
	if (!begin_next(p)) {
		p->step = STEP_LEAVE;
		p->is_done = !p->is_broken;
	}
}

static int plans_next(void *self, struct ask *out, struct err *err)
{
	struct plans *p = self;

	if (p->step == STEP_TRY && !p->is_begun && p->failure == 0)
		turn_over(p);
	if (p->failure != 0 && !p->is_done) {
		p->step = STEP_LEAVE;
		p->is_done = !p->is_broken;
	}
	if (p->is_done)
		return p->failure == 0 ? 0
				       : err_set(err, p->failure, "cannot take plans: %s",
						 strerror(-p->failure));
	if (plan_step_ask(p, out) != 0)
		return err_set(err, -ENOMEM, "cannot take plans: no memory");
	return 1;
}

static int plans_row(void *self, const struct cell *cells, uint32_t count)
{
	struct plans *p = self;
	int code = plan_step_row(p, cells, count);

	if (code != 0)
		p->failure = code;
	return code;
}

/* Whether the connection is gone: there is no next question, and nothing of ours survives it. */
static bool is_cut_off(const struct answer *a)
{
	if (a->is_ok || a->is_late)
		return false;
	return a->sqlstate[0] == '\0' || strncmp(a->sqlstate, "08", 2) == 0 ||
	       strncmp(a->sqlstate, "57P", 3) == 0;
}

static int plans_ended(void *self, const struct answer *answer, struct err *err)
{
	struct plans *p = self;

	if (is_cut_off(answer))
		return err_set(err, -ECONNRESET, "cannot take plans: the connection is gone%s%s",
			       answer->sqlstate[0] != '\0' ? ", SQLSTATE " : "", answer->sqlstate);
	plan_step_ended(p, answer);
	if (p->names.has_failed || p->now.relations.has_failed || p->now.path.has_failed)
		p->failure = -ENOMEM;
	return 0;
}

int plans_open(const struct plan_wanted *wanted, size_t count, const struct server_facts *facts,
	       const struct visit_limits *limits, plan_found_fn *on_found, void *owner,
	       struct script *out, struct err *err)
{
	struct plans *p = calloc(1, sizeof(*p));
	uint64_t lock_ms = limits->lock_timeout_ns / NS_PER_MS;

	if (p == NULL)
		return err_set(err, -ENOMEM, "cannot take plans: no memory");
	*p = (struct plans){ .wanted = wanted,
			     .count = count,
			     .limits = *limits,
			     .version = facts->version,
			     .on_found = on_found,
			     .owner = owner,
			     .step = STEP_TIMEOUTS,
			     .statement_ms = limits->plan_timeout_ns / NS_PER_MS + 1,
			     .lock_ms = lock_ms < 1		 ? 1
					: lock_ms > LOCK_MOST_MS ? LOCK_MOST_MS
								 : lock_ms };
	for (size_t i = 0; i < count; i++)
		if (plan_classify(wanted[i].text, wanted[i].is_cut, NULL, 0) == PLAN_OK)
			plan_names_gather(&p->names, wanted[i].text.bytes, wanted[i].text.len);
	if (p->names.has_failed) {
		plans_free(p);
		return err_set(err, -ENOMEM, "cannot take plans: no memory");
	}
	if (p->names.name_count == 0)
		p->step = STEP_TRY; /* nothing can be planned: nothing is asked */
	*out = (struct script){ p, plans_next, NULL, plans_row, plans_ended };
	return 0;
}

void plans_close(struct script *plans)
{
	if (plans->self != NULL)
		plans_free(plans->self);
	*plans = (struct script){ .self = NULL };
}
