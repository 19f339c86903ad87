/* test_gate_sql.c - the gate in the SQL of a visit, without a server: questions are answered with made rows, so that two visits can be compared
 * byte by byte. Against a real server: tests/fleet/test_gate_sql.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cadence.h"
#include "core/scoped.h"
#include "core/text.h"
#include "core/units.h"
#include "fleet/questions.h"
#include "fleet/visit.h"

#define CYCLE_NS   (60 * NS_PER_S)
#define START_NS   ((int64_t)(30000000 * CYCLE_NS))
#define STATEMENTS 2
#define CELLS_MOST 40

/* A server made up: what it answers depends on the number of the visit only. */
struct desk {
	struct server *server; /* owned */
	uint64_t visits;
};

/* A row being made: numbers are kept as text. */
struct made_row {
	struct cell cells[CELLS_MOST];
	char numbers[CELLS_MOST][24];
	uint32_t count;
};

static void put(struct made_row *row, const char *chars)
{
	row->cells[row->count++] =
		(struct cell){ chars, chars != NULL ? (uint32_t)strlen(chars) : 0 };
}

static void put_number(struct made_row *row, int64_t number)
{
	char *out = row->numbers[row->count];

	snprintf(out, sizeof(row->numbers[0]), "%lld", (long long)number);
	put(row, out);
}

static void put_all(struct made_row *row, const char *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put(row, cells[i]);
}

static void make_facts(struct made_row *row)
{
	static const char *const cells[] = {
		"150013", "PostgreSQL 15.13", "postgres", "shop", "16384", "10", "t", "t", "f",
		"f",	  ",datid,datname,",  NULL,	  "t",	  "t"
	};

	put_all(row, cells, ARRAY_LEN(cells));
}

static void make_moment(struct made_row *row, int64_t now_ns)
{
	static const char columns[] = ",userid,dbid,toplevel,queryid,query,plans,total_plan_time,"
				      "calls,total_exec_time,max_exec_time,rows,";
	static const char *const cells[] = { "f", "public", "1.10", columns, "t" };

	put_number(row, now_ns / 1000);
	put_number(row, START_NS / 1000 - 3600000000);
	put_number(row, START_NS / 1000 - 3600000000);
	put_all(row, cells, ARRAY_LEN(cells));
}

static void make_numbers(struct made_row *row, uint64_t visit, uint32_t i)
{
	put(row, "16384");
	put(row, "10");
	put_number(row, 700 + i);
	put(row, "t");
	put(row, "3.5");
	put(row, NULL);
	put_number(row, (int64_t)(1000 * visit));
	put_number(row, (int64_t)(2000 * visit));
	put_number(row, (int64_t)(500 * (visit + i)));
	while (row->count < 6 + STATEMENT_COUNTERS)
		put(row, NULL);
}

static void make_text(struct made_row *row, uint32_t i)
{
	put(row, "16384");
	put(row, "10");
	put_number(row, 700 + i);
	put(row, "t");
	put(row, "33");
	put(row, "f");
	put(row, "shop");
	put(row, "postgres");
	put(row, "SELECT total FROM sales WHERE id=$1");
	put(row, NULL);
	put(row, NULL);
}

/* The `i`-th row of the answer; false: there are no more. */
static bool answer_row(const struct desk *d, const struct ask *ask, uint32_t i, int64_t now_ns,
		       struct made_row *row)
{
	static const char plan[] =
		"[{\"Plan\": {\"Node Type\": \"Index Scan\", \"Relation Name\": \"sales\", "
		"\"Total Cost\": 8.3, \"Plan Rows\": 1}}]";
	const char *sql = ask->sql != NULL ? ask->sql : "";

	row->count = 0;
	if (strstr(sql, "pg_stat_statements(false)") != NULL)
		make_numbers(row, d->visits, i);
	else if (strstr(sql, "pg_stat_statements(true)") != NULL)
		make_text(row, i);
	else if (i > 0)
		return false;
	else if (strstr(sql, "server_version_num") != NULL)
		make_facts(row);
	else if (strstr(sql, "pg_postmaster_start_time") != NULL)
		make_moment(row, now_ns);
	else if (strstr(sql, "pg_stat_statements_info") != NULL)
		put_all(row, (const char *const[]){ "0", "1700000000000000" }, 2);
	else if (strstr(sql, "pg_control_system") != NULL)
		put(row, "7000000000000000001");
	else if (strstr(sql, "set_config('application_name'") != NULL)
		put_all(row, (const char *const[]){ "", "", "", "", "" }, 5);
	else if (strstr(sql, "current_setting('statement_timeout')") != NULL)
		put_all(row, (const char *const[]){ "0", "0" }, 2);
	else if (strstr(sql, "set_config('plan_cache_mode'") != NULL)
		put_all(row, (const char *const[]){ "", "", "", "" }, 4);
	else if (strncmp(sql, "EXPLAIN", 7) == 0)
		put(row, plan);
	return row->count > 0 && i < STATEMENTS;
}

static void carry_rows(const struct desk *d, struct script *body, const struct ask *ask,
		       int64_t now_ns, struct answer *answer)
{
	struct made_row row;

	for (uint32_t i = 0; answer_row(d, ask, i, now_ns, &row); i++) {
		answer->rows++;
		for (uint32_t c = 0; c < row.count; c++)
			answer->bytes += row.cells[c].len;
		assert_true(body->row(body->self, row.cells, row.count) >= 0);
	}
}

static int carry(const struct desk *d, struct script *body, const struct ask *ask, int64_t now_ns,
		 struct err *err)
{
	struct answer answer = {
		.is_ok = true, .links_done = ask->link_count, .elapsed_ns = 1000000, .own_ns = 1000
	};

	if (ask->kind != ASK_CHAIN)
		carry_rows(d, body, ask, now_ns, &answer);
	for (uint32_t i = 0; i < ask->link_count; i++)
		carry_rows(d, body, &ask->links[i], now_ns, &answer);
	return body->ended(body->self, &answer, err);
}

/* One visit, committed; its questions, and all that it brought home as bytes. */
static void visit(struct desk *d, enum cadence_answer capture, struct questions *out,
		  struct text *out_rows)
{
	SCOPED(fleet_batch_free) struct fleet_batch batch = FLEET_BATCH_EMPTY;
	int64_t now_ns = START_NS + (int64_t)(d->visits * CYCLE_NS);
	struct visit_settings settings = { .at = { now_ns },
					   .cycle = d->visits,
					   .capture = capture,
					   .readings = (1U << READING_COUNT) - 1,
					   .limits = VISIT_LIMITS_DEFAULT };
	struct script body = { 0 };
	struct err err = ERR_EMPTY;
	struct ask ask = { 0 };
	void *bytes;
	size_t len;

	questions_free(out);
	assert_int_equal(pg_body_open(d->server, &settings, d->visits == 1, &batch, &body, &err),
			 0);
	while (body.next(body.self, &ask, &err) == 1) {
		questions_note(out, &ask);
		assert_int_equal(carry(d, &body, &ask, now_ns, &err), 0);
		memset(&ask, 0, sizeof(ask));
	}
	assert_int_equal(err.code, 0);
	assert_int_equal(pg_body_commit(&body, &err), 0);
	assert_int_equal(pg_body_has_captured(&body), CADENCE_CAPTURES(capture));
	pg_body_close(&body);
	assert_int_equal(fleet_batch_pack(&batch, &bytes, &len), 0);
	text_clear(out_rows);
	text_add(out_rows, bytes, len);
	free(bytes);
	d->visits++;
}

static void open_desk(struct desk *d)
{
	*d = (struct desk){ .visits = 1 };
	assert_int_equal(server_open(7, &d->server), 0);
}

static void gated_sql_is_capturing_sql_minus_the_plan_part(void **state)
{
	SCOPED(text_free) struct text rows = TEXT_EMPTY;
	struct questions gated = QUESTIONS_EMPTY, capturing = QUESTIONS_EMPTY;
	struct desk a, b;

	(void)state;
	open_desk(&a);
	open_desk(&b);
	for (int i = 0; i < 4; i++) {
		visit(&a, CADENCE_GATED, &gated, &rows);
		visit(&b, CADENCE_SCHEDULED, &capturing, &rows);
		assert_int_equal(questions_with(&gated, "EXPLAIN"), 0);
		assert_int_equal(questions_of_kind(&gated, ASK_PREPARE), 0);
		assert_int_equal(questions_with(&capturing, "EXPLAIN"), i > 0 ? STATEMENTS : 0);
		assert_int_equal(questions_of_kind(&capturing, ASK_PREPARE),
				 i > 0 ? STATEMENTS : 0);
		questions_assert_same(&gated, &capturing, gated.count);
		for (size_t q = gated.count; q < capturing.count; q++)
			assert_int_equal(capturing.rows[q].ask.reading, READING_PLANS);
	}
	questions_free(&gated);
	questions_free(&capturing);
	server_close(a.server);
	server_close(b.server);
}

static void with_plans_switched_off_nothing_is_prepared_or_explained(void **state)
{
	SCOPED(text_free) struct text rows = TEXT_EMPTY;
	struct questions off = QUESTIONS_EMPTY, gated = QUESTIONS_EMPTY;
	struct desk a, b;

	(void)state;
	open_desk(&a);
	open_desk(&b);
	for (int i = 0; i < 4; i++) {
		visit(&a, CADENCE_OFF, &off, &rows);
		visit(&b, CADENCE_GATED, &gated, &rows);
		assert_int_equal(questions_with(&off, "EXPLAIN"), 0);
		assert_int_equal(questions_of_kind(&off, ASK_PREPARE), 0);
		assert_int_equal(off.count, gated.count);
		questions_assert_same(&off, &gated, off.count);
	}
	questions_free(&off);
	questions_free(&gated);
	server_close(a.server);
	server_close(b.server);
}

static void one_in_one_is_byte_for_byte_the_reading_without_the_gate(void **state)
{
	SCOPED(text_free) struct text rows = TEXT_EMPTY;
	SCOPED(text_free) struct text free_rows = TEXT_EMPTY;
	struct questions gate = QUESTIONS_EMPTY, no_gate = QUESTIONS_EMPTY;
	struct cadence_server server = { .seat = 41, .is_visitable = true };
	struct cadence_pace pace;
	struct desk a, b;

	(void)state;
	open_desk(&a);
	open_desk(&b);
	cadence_pace_init(&pace, CYCLE_NS, 600 * NS_PER_S, cadence_n_of(1));
	for (int i = 0; i < 12; i++) {
		struct wall at = { START_NS + (int64_t)(a.visits * CYCLE_NS) };
		enum cadence_answer answer = cadence_answer(&pace, true, cadence_slot(&pace, at),
							    READING_STATEMENTS, false, &server);

		assert_int_equal(answer, CADENCE_SCHEDULED);
		visit(&a, answer, &gate, &rows);
		visit(&b, CADENCE_SCHEDULED, &no_gate, &free_rows);
		assert_int_equal(gate.count, no_gate.count);
		questions_assert_same(&gate, &no_gate, gate.count);
		assert_int_equal(questions_with(&gate, "EXPLAIN"), i > 0 ? STATEMENTS : 0);
		assert_int_equal(rows.len, free_rows.len);
		assert_memory_equal(text_chars(&rows), text_chars(&free_rows), rows.len);
		server.mark = (struct cadence_mark){ at.ns, at.ns };
	}
	questions_free(&gate);
	questions_free(&no_gate);
	server_close(a.server);
	server_close(b.server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gated_sql_is_capturing_sql_minus_the_plan_part),
		cmocka_unit_test(with_plans_switched_off_nothing_is_prepared_or_explained),
		cmocka_unit_test(one_in_one_is_byte_for_byte_the_reading_without_the_gate),
	};

	return cmocka_run_group_tests_name("gate_sql", tests, NULL, NULL);
}
