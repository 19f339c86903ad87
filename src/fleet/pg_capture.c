/* pg_capture.c - the capture half of the statements reading: which statements are to be planned, their texts, and database by database
 * their plans. Only here is anything asked that costs more than numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/pg_body.h"
#include "fleet/pg_found.h"

#define TEXT_BYTES_ASSUMED 1024u /* of a statement whose text was not read yet */

enum capture_phase {
	RANKING,
	GOING_FOR_TEXTS,
	TEXTS,
	GROUP,	   /* the next database's statements */
	ENTERING,  /* their database */
	FUNCTIONS, /* its functions, once */
	PLANS,
	CLEARING, /* a transaction that was left open */
	RETURNING,
	DONE,
};

/* A statement of this round, and its text. */
struct captured {
	struct text_wanted wanted;
	char *text, *path; /* owned; NULL: did not come */
	uint32_t text_len;
};

struct pg_capture {
	enum capture_phase phase;
	struct captured *rows; /* owned: by database, home first, then by rank */
	size_t count;
	size_t at, group_end,
		round_end; /* what comes next; of the round's statements of one database; of the round */
	uint32_t dbid; /* where we are; 0: elsewhere */
	bool has_missed, has_texts;
	struct plan_wanted *asked; /* owned: of this group */
	struct server_facts facts; /* of the group's database */
	struct delta_visit functions_before;
	bool has_functions_before;
	struct script plans; /* owned while phase is PLANS */
};

static void forget_round(struct pg_capture *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->rows[i].text);
		free(c->rows[i].path);
		c->rows[i].text = c->rows[i].path = NULL;
	}
}

void pg_capture_free(struct pg_capture *c)
{
	if (c == NULL)
		return;
	forget_round(c);
	if (c->plans.self != NULL)
		plans_close(&c->plans);
	free(c->asked);
	free(c->rows);
	free(c);
}

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

/* Ranks all that ran within the reach; what is above the cap waits. Done in gated visits too: the log says whether the cap was full. */
static int rank(struct pg_body *b, struct pg_capture *c)
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

/* So many texts as the budget has room for: at least one. */
static void begin_round(struct pg_body *b, struct pg_capture *c)
{
	uint64_t bytes = 0;

	forget_round(c);
	for (c->round_end = c->at; c->round_end < c->count; c->round_end++) {
		uint64_t more = c->rows[c->round_end].wanted.row->statement->text_bytes;

		bytes += more > 0 ? more : TEXT_BYTES_ASSUMED;
		if (bytes > b->settings.limits.text_bytes && c->round_end > c->at)
			return;
	}
}

static int ask_round(struct pg_body *b, struct pg_capture *c, struct ask *out)
{
	size_t count = c->round_end - c->at;
	struct text_wanted *wanted = reallocarray(NULL, count, sizeof(*wanted));
	int code;

	if (wanted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		wanted[i] = c->rows[c->at + i].wanted;
	code = pg_ask_texts(b, wanted, count, b->settings.limits.text_bytes, out);
	free(wanted);
	return code;
}

static char *copy_of(struct str s)
{
	char *copy = calloc(1, (size_t)s.len + 1);

	if (copy != NULL && s.len > 0)
		memcpy(copy, s.bytes, s.len);
	return copy;
}

static bool is_same_key(const struct statement_key *a, const struct statement_key *b)
{
	return a->queryid == b->queryid && a->dbid == b->dbid && a->userid == b->userid &&
	       a->is_toplevel == b->is_toplevel;
}

static int take_text(struct pg_body *b, struct pg_capture *c, const struct cell *cells)
{
	struct text_found found;

	if (!pg_read_text(cells, &found) || !found.has_text)
		return 0;
	if (names_put(&b->names, found.key.dbid, false, found.database) != 0 ||
	    names_put(&b->names, found.key.userid, true, found.user) != 0)
		return -ENOMEM;
	for (size_t i = c->at; i < c->round_end; i++) {
		struct captured *row = &c->rows[i];

		if (row->text != NULL || !is_same_key(&row->wanted.key, &found.key))
			continue;
		row->text = copy_of(found.text);
		row->path = copy_of(found.search_path);
		row->text_len = found.text.len;
		return row->text != NULL && row->path != NULL ? 0 : -ENOMEM;
	}
	return 0;
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

static struct entered_known *entered_of(struct entered_known *rows, size_t count, uint32_t dbid)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].dbid == dbid)
			return &rows[i];
	return NULL;
}

static bool wants_functions(const struct pg_body *b)
{
	return pg_body_wants(b, READING_FUNCTIONS) && b->facts.tracks_functions &&
	       b->now[COUNTED_FUNCTIONS].is_done;
}

/* Notes that the functions of a database were read now. */
static int note_entered(struct pg_body *b, struct pg_capture *c)
{
	struct entered_known *rows, *row;

	if (b->entered == NULL && b->server->entered_count > 0) {
		b->entered = reallocarray(NULL, b->server->entered_count, sizeof(*rows));
		if (b->entered == NULL)
			return -ENOMEM;
		memcpy(b->entered, b->server->entered, b->server->entered_count * sizeof(*rows));
		b->entered_count = b->server->entered_count;
	}
	row = entered_of(b->entered, b->entered_count, c->dbid);
	if (row == NULL) {
		rows = reallocarray(b->entered, b->entered_count + 1, sizeof(*rows));
		if (rows == NULL)
			return -ENOMEM;
		b->entered = rows;
		row = &rows[b->entered_count++];
	}
	*row = (struct entered_known){ c->dbid, b->now[COUNTED_FUNCTIONS].visit };
	return 0;
}

static int ask_functions(struct pg_body *b, struct pg_capture *c, struct ask *out)
{
	const struct entered_known *known =
		entered_of(b->server->entered, b->server->entered_count, c->dbid);

	c->has_functions_before = known != NULL;
	if (known != NULL)
		c->functions_before = known->at;
	out->reading = READING_FUNCTIONS;
	b->is_optional = true;
	return pg_ask_functions(b, out);
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
	begin_round(b, c);
	if (b->texts_database[0] != '\0') {
		c->phase = GOING_FOR_TEXTS;
		return pg_body_enter(b, out, b->texts_database);
	}
	if (c->dbid != b->facts.dbid) {
		c->phase = GOING_FOR_TEXTS;
		return pg_body_enter(b, out, "");
	}
	c->phase = TEXTS;
	return ask_round(b, c, out);
}

/* One step on. 1: a question; 0: the phase is another now. */
static int advance(struct pg_body *b, struct pg_capture *c, struct ask *out, struct err *err)
{
	switch (c->phase) {
	case RANKING:
		c->dbid = b->facts.dbid;
		c->phase = GROUP;
		return rank(b, c);
	case TEXTS: /* we are where they can be read */
		return ask_round(b, c, out);
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
		return ask_functions(b, c, out);
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
			return rank(b, NULL);
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
		return take_text(b, c, cells);
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
	c->phase = c->dbid != b->facts.dbid && wants_functions(b) ? FUNCTIONS : PLANS;
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
		return a->is_ok ? note_entered(b, c) : 0;
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
