/* pg_capture.c - the capture half of the statements reading: which statements are to be planned, their texts, and database by database
 * their plans. Only here is anything asked that costs more than numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/pg_capture.h"

void pg_capture_free(struct pg_capture *c)
{
	if (c == NULL)
		return;
	capture_forget_round(c);
	if (c->plans.self != NULL)
		plans_close(&c->plans);
	free(c->asked);
	free(c->rows);
	free(c);
}

/* The statements of one database in this round, as G's script takes them. */
static int gather_group(struct pg_body *b, struct pg_capture *c, size_t *out_count)
{
	size_t count = 0;

	free(c->asked);
	c->asked = calloc(c->group_end - c->at, sizeof(*c->asked));
	if (c->asked == NULL)
		return -ENOMEM;
	for (size_t i = c->at; i < c->group_end; i++) {
		const struct captured *row = &c->rows[i];
		const char *user = pg_name_of(b, row->wanted.key.userid, true);

		if (row->text == NULL)
			continue; /* it fell out meanwhile */
		c->asked[count++] = (struct plan_wanted){
			.key = row->wanted.key,
			.text = { row->text, row->text_len },
			.user = { user, (uint32_t)strlen(user) },
			.search_path = { row->path, (uint32_t)strlen(row->path) },
		};
	}
	*out_count = count;
	return 0;
}

static int on_found(void *owner, const struct plan_found *found)
{
	return pg_found_keep(owner, found);
}

/* Begins the plans of the group. 1: there are some. */
static int begin_plans(struct pg_body *b, struct pg_capture *c, struct err *err)
{
	size_t count = 0;
	int code = gather_group(b, c, &count);

	if (code != 0 || count == 0)
		return code;
	c->facts = b->facts;
	if (c->dbid != b->facts.dbid) {
		c->facts.dbid = c->dbid;
		struct str name = { pg_name_of(b, c->dbid, false), 0 };
		struct cell cell = { name.bytes, (uint32_t)strlen(name.bytes) };

		cell_copy(cell, c->facts.database, sizeof(c->facts.database));
	}
	code = plans_open(c->asked, count, &c->facts, &b->settings.limits, on_found, b, &c->plans,
			  err);
	return code < 0 ? code : 1;
}

/* All of a group have no plan for one reason. */
static int refuse_group(struct pg_body *b, struct pg_capture *c, const char *sqlstate)
{
	for (; c->at < c->group_end; c->at++) {
		struct plan_found none = { .key = c->rows[c->at].wanted.key,
					   .reason = PLAN_DATABASE };
		int code;

		memcpy(none.sqlstate, sqlstate, sizeof(none.sqlstate));
		code = pg_found_keep(b, &none);
		if (code != 0)
			return code;
	}
	return 0;
}

/* Where the next group is to be planned. Sets the phase. */
static int next_group(struct pg_body *b, struct pg_capture *c)
{
	uint32_t dbid = c->rows[c->at].wanted.key.dbid;

	for (c->group_end = c->at;
	     c->group_end < c->round_end && c->rows[c->group_end].wanted.key.dbid == dbid;)
		c->group_end++;
	if (dbid != b->facts.dbid && pg_name_of(b, dbid, false)[0] == '\0')
		return refuse_group(b, c, "\0\0\0\0\0");
	c->phase = dbid == c->dbid ? PLANS : ENTERING;
	return 0;
}

/* The plans' script: 1 a question, 0 it is done. A failure of its own ends the capture, not the visit. */
static int ask_plans(struct pg_body *b, struct pg_capture *c, struct ask *out, struct err *err)
{
	struct err why = ERR_EMPTY;
	int code = c->plans.self != NULL ? 1 : begin_plans(b, c, &why);

	if (code == 1) {
		code = c->plans.next(c->plans.self, out, &why);
		out->reading = READING_PLANS;
		b->expected_columns = 0;
	}
	if (code == 1)
		return 1;
	if (c->plans.self != NULL)
		plans_close(&c->plans);
	c->plans = (struct script){ .self = NULL };
	if (code == -ENOMEM) {
		*err = why;
		return code;
	}
	c->has_missed = c->has_missed || code < 0;
	c->at = c->group_end;
	c->phase = code < 0 ? CLEARING : GROUP;
	return 0;
}

static int ask_texts(struct pg_body *b, struct pg_capture *c, struct ask *out)
{
	capture_begin_round(b, c);
	if (b->texts_database[0] != '\0') {
		c->phase = GOING_FOR_TEXTS;
		return pg_body_enter(b, out, b->texts_database);
	}
	if (c->dbid != b->facts.dbid) {
		c->phase = GOING_FOR_TEXTS;
		return pg_body_enter(b, out, "");
	}
	c->phase = TEXTS;
	return capture_ask_round(b, c, out);
}

/* One step on. 1: a question; 0: the phase is another now. */
static int advance(struct pg_body *b, struct pg_capture *c, struct ask *out, struct err *err)
{
	switch (c->phase) {
	case RANKING:
		c->dbid = b->facts.dbid;
		c->phase = GROUP;
		return capture_rank(b, c);
	case TEXTS: /* we are where they can be read */
		return capture_ask_round(b, c, out);
	case GROUP:
		if (c->at < c->round_end)
			return next_group(b, c);
		if (c->at < c->count)
			return ask_texts(b, c, out);
		c->phase = RETURNING;
		return 0;
	case ENTERING:
		return pg_body_enter(
			b, out,
			c->rows[c->at].wanted.key.dbid == b->facts.dbid
				? ""
				: pg_name_of(b, c->rows[c->at].wanted.key.dbid, false));
	case FUNCTIONS:
		return capture_ask_functions(b, c, out);
	case PLANS:
		return ask_plans(b, c, out, err);
	case CLEARING:
		out->kind = ASK_SIMPLE;
		out->sql = "ROLLBACK " PG_MARK;
		return 1;
	case RETURNING:
		if (b->is_away)
			return pg_body_enter(b, out, "");
		c->phase = DONE;
		b->has_captured = !c->has_missed;
		return 0;
	default:
		return 0;
	}
}

static int plans_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	int code = 0;

	if (!pg_body_wants(b, READING_STATEMENTS) || b->facts.statements_schema[0] == '\0')
		return 0;
	if (b->phase == 0) {
		b->phase = 1;
		if (!CADENCE_CAPTURES(b->settings.capture))
			return capture_rank(b, NULL);
		b->capture = calloc(1, sizeof(*b->capture));
		if (b->capture == NULL)
			return -ENOMEM;
	}
	if (b->capture == NULL)
		return 0;
	while (code == 0 && b->capture->phase != DONE)
		code = advance(b, b->capture, out, err);
	return code;
}

static int plans_columns(struct pg_body *b, const char *const *names, uint32_t count)
{
	struct script *plans = &b->capture->plans;

	if (b->capture->phase != PLANS || plans->columns == NULL)
		return 0;
	return plans->columns(plans->self, names, count) != 0;
}

static int plans_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	struct pg_capture *c = b->capture;

	if (c->phase == TEXTS)
		return capture_take_text(b, c, cells);
	if (c->phase == FUNCTIONS)
		return pg_take_function(b, cells, c->dbid,
					c->has_functions_before ? &c->functions_before : NULL,
					false);
	if (c->phase == PLANS && c->plans.row != NULL)
		return c->plans.row(c->plans.self, cells, count) != 0;
	return 0;
}

/* We are in the database of the group, or cannot be. */
static int end_entering(struct pg_body *b, struct pg_capture *c, const struct answer *a)
{
	c->dbid = a->is_ok ? c->rows[c->at].wanted.key.dbid : 0;
	c->phase = GROUP;
	if (!a->is_ok)
		return refuse_group(b, c, a->sqlstate);
	c->phase = c->dbid != b->facts.dbid && capture_wants_functions(b) ? FUNCTIONS : PLANS;
	return 0;
}

static int miss(struct pg_body *b, struct pg_capture *c, const struct answer *a, const char *reason)
{
	pg_body_fail(b, READING_PLANS, RUN_ERROR, a->sqlstate, reason);
	c->has_missed = true;
	c->phase = RETURNING;
	return 0;
}

static int end_plans(struct pg_body *b, struct pg_capture *c, const struct answer *a,
		     struct err *err)
{
	struct err why = ERR_EMPTY;
	int code = c->plans.ended(c->plans.self, a, &why);

	if (code == -ENOMEM) {
		*err = why;
		return code;
	}
	if (code == 0)
		return 0;
	plans_close(&c->plans);
	c->plans = (struct script){ .self = NULL };
	pg_body_fail(b, READING_PLANS, RUN_ERROR, a->sqlstate, "plans could not be read");
	c->has_missed = true;
	c->at = c->group_end;
	c->phase = CLEARING;
	return 0;
}

static int plans_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	struct pg_capture *c = b->capture;

	switch (c->phase) {
	case GOING_FOR_TEXTS:
		c->dbid = a->is_ok && b->texts_database[0] == '\0' ? b->facts.dbid : 0;
		if (!a->is_ok)
			return miss(b, c, a, "texts could not be reached");
		c->phase = TEXTS;
		return 0;
	case TEXTS:
		c->phase = GROUP;
		return a->is_ok ? 0 : miss(b, c, a, "texts could not be read");
	case ENTERING:
		return end_entering(b, c, a);
	case FUNCTIONS:
		c->phase = PLANS;
		return a->is_ok ? capture_note_entered(b, c) : 0;
	case PLANS:
		return end_plans(b, c, a, err);
	case CLEARING:
		c->phase = GROUP;
		return 0;
	default:
		if (!a->is_ok)
			return err_set(err, -ECONNRESET,
				       "cannot enter the first database of server %u again",
				       b->server->id);
		return 0;
	}
}

const struct pg_step pg_step_plans = { READING_PLANS, plans_ask, plans_columns, plans_row,
				       plans_ended };
