/* pg_statements.c - the statements reading: pg_stat_statements(false) each cycle, numbers only; what may not be seen as one sum. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

#define HALVES_IN_REACH 2

/* By the order of enum statement_counter. Names of all releases of the extension from 1.4 on. */
static const struct pg_column columns[STATEMENT_COUNTERS] = {
	[STATEMENT_CALLS] = { { "calls" }, false, true },
	[STATEMENT_ROWS] = { { "rows" }, false, true },
	[STATEMENT_EXEC_NS] = { { "total_exec_time", "total_time" }, true, true },
	[STATEMENT_PLANS] = { { "plans" }, false, true },
	[STATEMENT_PLAN_NS] = { { "total_plan_time" }, true, true },
	[STATEMENT_SHARED_HIT] = { { "shared_blks_hit" }, false, true },
	[STATEMENT_SHARED_READ] = { { "shared_blks_read" }, false, true },
	[STATEMENT_SHARED_DIRTIED] = { { "shared_blks_dirtied" }, false, true },
	[STATEMENT_SHARED_WRITTEN] = { { "shared_blks_written" }, false, true },
	[STATEMENT_LOCAL_HIT] = { { "local_blks_hit" }, false, true },
	[STATEMENT_LOCAL_READ] = { { "local_blks_read" }, false, true },
	[STATEMENT_LOCAL_DIRTIED] = { { "local_blks_dirtied" }, false, true },
	[STATEMENT_LOCAL_WRITTEN] = { { "local_blks_written" }, false, true },
	[STATEMENT_TEMP_READ] = { { "temp_blks_read" }, false, true },
	[STATEMENT_TEMP_WRITTEN] = { { "temp_blks_written" }, false, true },
	/* Before 1.11 one column held what shared and local ones hold since. */
	[STATEMENT_READ_NS] = { { "blk_read_time", "shared_blk_read_time", "local_blk_read_time" },
				true,
				false },
	[STATEMENT_WRITE_NS] = { { "blk_write_time", "shared_blk_write_time",
				   "local_blk_write_time" },
				 true,
				 false },
	[STATEMENT_TEMP_READ_NS] = { { "temp_blk_read_time" }, true, true },
	[STATEMENT_TEMP_WRITE_NS] = { { "temp_blk_write_time" }, true, true },
	[STATEMENT_WAL_RECORDS] = { { "wal_records" }, false, true },
	[STATEMENT_WAL_FPI] = { { "wal_fpi" }, false, true },
	[STATEMENT_WAL_BYTES] = { { "wal_bytes" }, false, true },
	[STATEMENT_JIT_NS] = { { "jit_generation_time", "jit_inlining_time",
				 "jit_optimization_time", "jit_emission_time", "jit_deform_time" },
			       true,
			       false },
};

static const struct pg_column longest = { { "max_exec_time", "max_time" }, true, true };
static const struct pg_column toplevel = { { "toplevel" }, false, true };

/* In front of the counters. */
enum lead_column {
	LEAD_DBID,
	LEAD_USERID,
	LEAD_QUERYID,
	LEAD_TOPLEVEL,
	LEAD_LONGEST,
	LEAD_SINCE,
	LEAD_COLUMNS
};

static void put_from(struct pg_body *b, const char *what)
{
	text_put(&b->sql, " FROM ");
	pg_put_name(&b->sql, b->facts.statements_schema);
	text_printf(&b->sql, ".%s", what);
}

/* How many entries fell out so far, and when all were reset. */
static int ask_info(struct pg_body *b, struct ask *out)
{
	text_clear(&b->sql);
	text_put(&b->sql, "SELECT " PG_MARK " dealloc");
	pg_put_moment(&b->sql, "stats_reset");
	put_from(b, "pg_stat_statements_info");
	b->is_optional = true;
	return pg_body_ask(b, out, 2);
}

static int ask_numbers(struct pg_body *b, struct ask *out)
{
	struct text *sql = &b->sql;

	text_clear(sql);
	text_put(sql, "SELECT " PG_MARK " dbid, userid, queryid");
	pg_ask_columns(sql, &toplevel, 1, b->statement_columns);
	pg_ask_columns(sql, &longest, 1, b->statement_columns);
	if (pg_has_column(b->statement_columns, "stats_since"))
		pg_put_moment(sql, "stats_since");
	else
		text_put(sql, ", NULL");
	pg_ask_columns(sql, columns, STATEMENT_COUNTERS, b->statement_columns);
	put_from(b, "pg_stat_statements(false)");
	text_printf(sql, " LIMIT %llu", (unsigned long long)b->settings.limits.rows + 1);
	return pg_body_ask(b, out, LEAD_COLUMNS + STATEMENT_COUNTERS);
}

static int statements_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	(void)err;
	if (!pg_body_wants(b, READING_STATEMENTS) || b->phase > 1)
		return 0;
	if (b->facts.statements_schema[0] == '\0' || b->statement_columns[0] == '\0') {
		pg_body_fail(b, READING_STATEMENTS, RUN_SKIPPED, "",
			     "pg_stat_statements is not installed in this database");
		return 0;
	}
	if (b->phase == 0) {
		counted_begin(b, COUNTED_STATEMENTS, 0, EVICTIONS_UNKNOWN);
		for (size_t i = 0; i < STATEMENT_COUNTERS; i++)
			b->hidden[i] = NOT_MEASURED;
		if (b->has_info)
			return ask_info(b, out);
		b->phase = 1;
	}
	return ask_numbers(b, out);
}

static int take_info(struct pg_body *b, const struct cell *cells)
{
	struct counter evictions = cell_counter(cells[0]);

	counted_begin(b, COUNTED_STATEMENTS, cell_time_ns(cells[1]),
		      IS_MEASURED(evictions) && evictions.value < EVICTIONS_UNKNOWN
			      ? evictions.value
			      : EVICTIONS_UNKNOWN);
	return 0;
}

/* Which half of the reach a visit is in. */
static int64_t half_of(const struct pg_body *b)
{
	uint64_t half_ns = b->settings.limits.reach_ns / HALVES_IN_REACH;

	return half_ns > 0 ? b->settings.at.ns / (int64_t)half_ns : b->settings.at.ns;
}

/* Adds to what a statement's rank comes from. */
static void note_run(const struct pg_body *b, struct statement_known *known, struct counter exec)
{
	int64_t half = half_of(b);
	uint64_t passed = half > known->half ? (uint64_t)(half - known->half) : 0;

	for (size_t i = RANK_SPANS; i-- > 0;)
		known->exec_ns[i] = i >= passed ? known->exec_ns[i - passed] : 0;
	if (passed > 0)
		known->half = half;
	known->ran_wall_ns = b->settings.at.ns;
	if (IS_MEASURED(exec))
		known->exec_ns[0] += exec.value;
}

static int emit(struct pg_body *b, struct remembered *row, const struct statement_row *out)
{
	if (b->emitted_count == b->emitted_room) {
		size_t room = b->emitted_room > 0 ? b->emitted_room * 2 : 32;
		struct emitted *rows = reallocarray(b->emitted, room, sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		b->emitted = rows;
		b->emitted_room = room;
	}
	b->emitted[b->emitted_count++] = (struct emitted){ row, *out };
	return 0;
}

/* The sum of what may not be seen goes down when one of its rows falls out, and up when a right is taken from us: only while nothing
 * of this happened is its difference one. */
static void judge_sum(const struct pg_body *b, struct delta *delta, struct counter *diff)
{
	const struct delta_visit *before = &b->server->counted[COUNTED_STATEMENTS].before;
	bool has_evicted = before->evictions != b->now[COUNTED_STATEMENTS].visit.evictions;

	if (delta->life != DELTA_SHRUNK && !(delta->life == DELTA_SAME && has_evicted))
		return;
	*delta = (struct delta){ DELTA_EVICTED, 0, false };
	for (size_t i = 0; i < STATEMENT_COUNTERS; i++)
		diff[i] = NOT_MEASURED;
}

static int take(struct pg_body *b, const struct statement_key *key, const struct counter *counters,
		int64_t since_ns, uint64_t longest_ns)
{
	const struct counted_memory *m = &b->server->counted[COUNTED_STATEMENTS];
	bool is_sum = key->queryid == 0;
	struct delta_visit before = m->before;
	uint8_t packed[STATEMENT_KEY_MOST];
	struct counted_row row = { packed,
				   statement_key_pack(key, packed),
				   since_ns,
				   counters,
				   STATEMENT_COUNTERS,
				   m->has_before ? &before : NULL,
				   true };
	struct statement_row out = { .server = b->server->id,
				     .at_wall_ns = b->settings.at.ns,
				     .key = *key,
				     .longest_ns = longest_ns };
	const struct remembered *old = remembered_find(&m->rows, packed, row.key_len);
	struct remembered *here;
	struct delta delta;
	int code;

	/* Our own statements can be seen whatever is hidden of others. */
	before.is_complete =
		!is_sum && (before.is_complete || (m->is_whole && key->userid == b->facts.roleid));
	if (old != NULL && old->statement != NULL && old->statement->state == TEXT_OWN)
		row.is_kept = false;
	code = counted_take(b, COUNTED_STATEMENTS, &row, &delta, out.counters, &here);
	if (code <= 0)
		return code;
	if (is_sum)
		judge_sum(b, &delta, out.counters);
	if (here == NULL)
		return 0;
	if (remembered_statement(here) == NULL)
		return -ENOMEM;
	if (here->statement->state == TEXT_UNKNOWN)
		here->statement->state = is_sum ? TEXT_KNOWN : TEXT_WANTED;
	out.life = delta.life;
	out.span_ns = delta.span_ns;
	note_run(b, here->statement, out.counters[STATEMENT_EXEC_NS]);
	return emit(b, here, &out);
}

static void add_hidden(struct pg_body *b, const struct counter *counters)
{
	b->hidden_rows++;
	for (size_t i = 0; i < STATEMENT_COUNTERS; i++) {
		if (!IS_MEASURED(counters[i]))
			continue;
		if (!IS_MEASURED(b->hidden[i]))
			b->hidden[i] = COUNTER(0);
		b->hidden[i].value += counters[i].value;
		/* So many that the sum has no room: not a server's counters. */
		if (b->hidden[i].value >= INT64_MAX)
			b->hidden[i] = COUNTER(INT64_MAX - 1);
	}
}

static int take_numbers(struct pg_body *b, const struct cell *cells)
{
	struct counted_now *now = &b->now[COUNTED_STATEMENTS];
	struct counter counters[STATEMENT_COUNTERS], most;
	struct statement_key key = { .is_toplevel = true };

	if (b->number_rows++ >= b->settings.limits.rows)
		return 0; /* the last one only says that there are more */
	pg_read_columns(columns, STATEMENT_COUNTERS, cells + LEAD_COLUMNS, counters);
	pg_read_columns(&longest, 1, &cells[LEAD_LONGEST], &most);
	if (cells[LEAD_TOPLEVEL].bytes != NULL)
		key.is_toplevel = cell_bool(cells[LEAD_TOPLEVEL]);
	if (!cell_u32(cells[LEAD_DBID], &key.dbid) || !cell_u32(cells[LEAD_USERID], &key.userid)) {
		now->bad_rows++;
		return 0;
	}
	if (cells[LEAD_QUERYID].bytes == NULL) {
		add_hidden(b, counters);
		return 0;
	}
	if (!cell_i64(cells[LEAD_QUERYID], &key.queryid) || key.queryid == 0) {
		now->bad_rows++;
		return 0;
	}
	return take(b, &key, counters, cell_time_ns(cells[LEAD_SINCE]),
		    IS_MEASURED(most) ? most.value : 0);
}

static int statements_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	(void)count;
	return b->phase == 0 ? take_info(b, cells) : take_numbers(b, cells);
}

static int end_numbers(struct pg_body *b)
{
	static const struct statement_key hidden_key = { .is_toplevel = true };
	struct counted_now *now = &b->now[COUNTED_STATEMENTS];
	int code = 0;

	now->is_whole = b->number_rows <= b->settings.limits.rows;
	now->visit.is_complete = b->hidden_rows == 0 && now->is_whole;
	if (!now->is_whole)
		pg_body_say(b, READING_STATEMENTS, "more rows than may be read: not all were");
	if (b->hidden_rows > 0) {
		pg_body_say(b, READING_STATEMENTS,
			    "statements of others are one sum: grant pg_read_all_stats");
		code = take(b, &hidden_key, b->hidden, 0, 0);
	}
	return code < 0 ? code : counted_end(b, COUNTED_STATEMENTS, NULL, NULL);
}

static int statements_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	(void)err;
	if (b->phase++ == 0)
		return 0; /* without it evictions are not known */
	if (a->is_ok)
		return end_numbers(b);
	counted_drop(b, COUNTED_STATEMENTS);
	b->emitted_count = 0;
	return 0;
}

const struct pg_step pg_step_statements = { READING_STATEMENTS, statements_ask, NULL,
					    statements_row, statements_ended };

int statements_pick(struct pg_body *b,
		    bool (*fn)(const struct pg_body *b, const struct statement_known *known,
			       uint64_t *out_rank),
		    struct text_wanted **out, size_t *out_count)
{
	const struct remembered_table *layers[] = { &b->fresh[COUNTED_STATEMENTS],
						    &b->server->counted[COUNTED_STATEMENTS].rows };
	struct text_wanted *picked = NULL, *more;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		for (const struct remembered *row = remembered_next(layers[i], NULL); row != NULL;
		     row = remembered_next(layers[i], row)) {
			struct text_wanted w = { .row = row };

			if (row->statement == NULL ||
			    (i > 0 &&
			     remembered_find(layers[0], row->bytes, row->key_len) != NULL) ||
			    !statement_key_unpack(row->bytes, row->key_len, &w.key) ||
			    w.key.queryid == 0 || !fn(b, row->statement, &w.rank))
				continue;
			if (count == room) {
				room = room > 0 ? room * 2 : 64;
				more = reallocarray(picked, room, sizeof(*picked));
				if (more == NULL) {
					free(picked);
					return -ENOMEM;
				}
				picked = more;
			}
			picked[count++] = w;
		}
	}
	*out = picked;
	*out_count = count;
	return 0;
}
