/* fleet_postgres_tidy.c - one step of tidying: sums, horizons, partitions, payloads; one collector at a time, in short transactions. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres_tidy.h"
#include "store/fleet_rules.h"

#define MARKS_AT_ONCE 200
#define LATEST_NS     (120 * (int64_t)NS_PER_S) /* visits still come in after an hour's end */
#define SUMS_MOST     16			/* tables that are summed by one span */

bool pg_tidy_is_over(struct tidy *t)
{
	if (t->units++ == 0)
		return false; /* something is done at each call, however small its budget */
	return mono_elapsed_ns(t->began, pg_now()) >= t->budget_ns;
}

/* -- sums -- */

/* The tables that a span is summed from and to, for fleet_tables[i]. False: none. */
static bool sum_of(size_t i, int64_t span_ns, struct pg_sum *out)
{
	const struct fleet_table *ft = &fleet_tables[i];
	bool is_hour = span_ns == FLEET_HOUR_NS;

	*out = (struct pg_sum){ is_hour ? ft->table : ft->hourly, is_hour ? ft->hourly : ft->daily,
				span_ns, false };
	return out->from != NULL && out->to != NULL;
}

static int64_t horizon(const struct pg_store *p, const struct table *t)
{
	return p->before[pg_table(t) - fleet_tables];
}

static int add_sum(struct tidy *t, const struct pg_sum *sum, const struct pg_mark *mark,
		   struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	struct pg_args args = { .count = 0 };

	pg_put_sum_head(&sql, sum);
	text_printf(
		&sql,
		"tare.\"%s\" r WHERE r.server = $1 AND r.at_wall_ns >= $2 AND r.at_wall_ns < $3",
		sum->from->name);
	pg_put_sum_tail(&sql, sum);
	pg_arg_i64(&args, mark->server);
	pg_arg_i64(&args, mark->from_wall_ns);
	pg_arg_i64(&args, mark->from_wall_ns + mark->span_ns);
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	return pg_pipe_add(&t->p->wire, text_chars(&sql), &args, err);
}

/* The mark goes first: that waits for puts on their way, and what is summed after it sees their rows. */
static int add_mark_gone(struct tidy *t, const struct pg_mark *mark, struct err *err)
{
	struct pg_args args = { .count = 0 };

	pg_arg_i64(&args, mark->server);
	pg_arg_i64(&args, mark->span_ns);
	pg_arg_i64(&args, mark->from_wall_ns);
	return pg_pipe_add(
		&t->p->wire,
		"DELETE FROM tare.to_sum WHERE server = $1 AND span_ns = $2 AND from_wall_ns = $3",
		&args, err);
}

static int add_day(struct tidy *t, const struct pg_mark *mark, struct err *err)
{
	struct pg_args args = { .count = 0 };

	pg_arg_i64(&args, mark->server);
	pg_arg_i64(&args, FLEET_DAY_NS);
	pg_arg_i64(&args, fleet_floor_ns(mark->from_wall_ns, FLEET_DAY_NS));
	return pg_pipe_add(&t->p->wire,
			   "INSERT INTO tare.to_sum AS o (server, span_ns, from_wall_ns, puts) "
			   "VALUES ($1, $2, $3, 1) ON CONFLICT (server, span_ns, from_wall_ns) "
			   "DO UPDATE SET puts = o.puts + 1",
			   &args, err);
}

/* The sums of one span of one server, which no transaction of ours leaves. */
static int sum_mark(struct tidy *t, const struct pg_mark *mark, struct err *err)
{
	PGresult *answers[SUMS_MOST] = { NULL };
	struct pg_want wants[SUMS_MOST];
	struct pg_wire *w = &t->p->wire;
	size_t count = 0;
	int rc;

	pg_deadline(w, PG_ROWS_MS);
	rc = pg_pipe_begin(w, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "BEGIN", NULL, err);
	if (rc == 0)
		rc = add_mark_gone(t, mark, err);
	for (size_t i = 0; rc == 0 && i < fleet_table_count && count < SUMS_MOST; i++) {
		struct pg_sum sum;

		/* What was added to sums when its rows had gone must not be replaced. */
		if (!sum_of(i, mark->span_ns, &sum) ||
		    mark->from_wall_ns < horizon(t->p, sum.from) ||
		    mark->from_wall_ns < horizon(t->p, sum.to))
			continue;
		wants[count] = (struct pg_want){ w->piped, &answers[count] };
		count++;
		rc = add_sum(t, &sum, mark, err);
	}
	if (rc == 0 && mark->span_ns == FLEET_HOUR_NS)
		rc = add_day(t, mark, err);
	if (rc == 0)
		rc = pg_pipe_add(w, "COMMIT", NULL, err);
	if (rc == 0)
		rc = pg_pipe_end(w, wants, count, err);
	for (size_t i = 0; i < count; i++) {
		if (rc == 0)
			t->out.summed_rows += strtoull(PQcmdTuples(answers[i]), NULL, 10);
		PQclear(answers[i]);
	}
	return rc;
}

static int parts_of_sums(struct tidy *t, const struct pg_mark *mark, struct err *err)
{
	for (size_t i = 0; i < fleet_table_count; i++) {
		struct pg_sum sum;
		int rc = 0;

		if (sum_of(i, mark->span_ns, &sum) && mark->from_wall_ns >= horizon(t->p, sum.to))
			rc = pg_part_for(t->p, pg_table(sum.to), mark->from_wall_ns, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Spans that are over; days only when none of their hours waits. */
static int due_marks(struct tidy *t, int64_t span_ns, PGresult **out, struct err *err)
{
	struct pg_args args = { .count = 0 };

	pg_arg_i64(&args, span_ns);
	pg_arg_i64(&args, t->now.ns - LATEST_NS - span_ns);
	pg_arg_i64(&args, FLEET_HOUR_NS);
	pg_arg_i64(&args, MARKS_AT_ONCE);
	pg_deadline(&t->p->wire, PG_ROWS_MS);
	return pg_query(
		&t->p->wire,
		"SELECT server, from_wall_ns FROM tare.to_sum t WHERE span_ns = $1 AND "
		"from_wall_ns <= $2 AND (span_ns = $3 OR NOT EXISTS (SELECT 1 FROM tare.to_sum h "
		"WHERE h.server = t.server AND h.span_ns = $3 AND h.from_wall_ns >= "
		"t.from_wall_ns AND h.from_wall_ns < t.from_wall_ns + t.span_ns)) "
		"ORDER BY from_wall_ns, server LIMIT $4",
		&args, out, err);
}

static int sum_spans(struct tidy *t, int64_t span_ns, struct err *err)
{
	for (;;) {
		SCOPED(pg_result_free) PGresult *due = NULL;
		int rc = due_marks(t, span_ns, &due, err);

		if (rc != 0 || PQntuples(due) == 0)
			return rc;
		for (int i = 0; i < PQntuples(due); i++) {
			struct pg_mark mark = { pg_value_i64(due, i, 0), span_ns,
						pg_value_i64(due, i, 1) };

			if (pg_tidy_is_over(t)) {
				t->out.is_more = true;
				return 0;
			}
			rc = parts_of_sums(t, &mark, err);
			if (rc == 0)
				rc = sum_mark(t, &mark, err);
			if (rc != 0)
				return rc;
		}
	}
}

/* -- the whole -- */

/* How long rows of a kind stay at least, so that what is summed out of them is summed first. */
static struct fleet_limits effective(const struct fleet_limits *limits)
{
	const uint64_t day_ns = (uint64_t)FLEET_DAY_NS;
	const uint64_t least_ns = (uint64_t)(FLEET_HOUR_NS + LATEST_NS);
	struct fleet_limits l = *limits;

	l.raw_ns = l.raw_ns < least_ns ? least_ns : l.raw_ns;
	l.runs_ns = l.runs_ns < least_ns ? least_ns : l.runs_ns;
	if (l.hourly_ns < l.raw_ns + day_ns)
		l.hourly_ns = l.raw_ns + day_ns;
	if (l.daily_ns < l.hourly_ns + day_ns)
		l.daily_ns = l.hourly_ns + day_ns;
	if (l.daily_ns < l.runs_ns + day_ns)
		l.daily_ns = l.runs_ns + day_ns;
	return l;
}

/* Session-wide, since a partition is taken out outside any transaction. *out_has: we have it. */
static int lock(struct tidy *t, bool is_on, bool *out_has, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	struct pg_args args = { .count = 0 };
	int rc;

	pg_arg_i64(&args, PG_LOCK_CLASS);
	pg_arg_i64(&args, PG_LOCK_TIDY);
	rc = pg_query(&t->p->wire,
		      is_on ? "SELECT pg_try_advisory_lock($1::int, $2::int)"
			    : "SELECT pg_advisory_unlock($1::int, $2::int)",
		      &args, &res, err);
	if (rc == 0)
		*out_has = PQgetvalue(res, 0, 0)[0] != 0;
	return rc;
}

static int read_horizons(struct tidy *t, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	int rc = pg_query(&t->p->wire, PG_HORIZONS, NULL, &res, err);

	return rc != 0 ? rc : pg_take_horizons(t->p, res);
}

static int steps(struct tidy *t, struct err *err)
{
	int (*const all[])(struct tidy *, struct err *) = { pg_tidy_parts, pg_tidy_rest };
	int rc = read_horizons(t, err);

	if (rc == 0)
		rc = pg_parts_look(t->p, err);
	if (rc == 0)
		rc = pg_parts_ahead(t->p, t->now, err);
	if (rc == 0)
		rc = sum_spans(t, FLEET_HOUR_NS, err);
	if (rc == 0)
		rc = sum_spans(t, FLEET_DAY_NS, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(all) && !t->out.is_more; i++)
		rc = all[i](t, err);
	return rc;
}

int pg_tidy(void *db, struct wall now, const struct fleet_limits *limits, uint64_t budget_ns,
	    struct fleet_tidied *out, struct err *err)
{
	struct tidy t = {
		.p = db, .now = now, .limits = effective(limits), .budget_ns = budget_ns
	};
	bool has_lock = false, was_unlocked;
	struct err unheard = ERR_EMPTY;
	int rc = pg_call(t.p, PG_ROWS_MS, err);

	t.began = pg_now();
	if (rc == 0)
		rc = lock(&t, true, &has_lock, err);
	if (rc == 0 && has_lock)
		rc = steps(&t, err);
	if (rc != 0)
		pg_abandon(t.p);
	pg_deadline(&t.p->wire, PG_CALL_MS);
	if (has_lock && t.p->wire.conn != NULL && lock(&t, false, &was_unlocked, &unheard) != 0)
		pg_disconnect(&t.p->wire);
	if (rc == 0)
		*out = t.out;
	return pg_answer(rc, err);
}
