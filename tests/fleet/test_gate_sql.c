/* test_gate_sql.c - the gate as a server sees it: what a gated visit asks is what a capturing one asks without the plan part, and with N = 1
 * nothing is left out, ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cadence.h"
#include "core/scoped.h"
#include "core/units.h"
#include "fleet/questions.h"
#include "fleet/visits.h"

#define CYCLE_NS (60 * NS_PER_S)
#define REACH_NS (600 * NS_PER_S)

static struct stage stage;

static int open_stage(void **state)
{
	(void)state;
	stage_open(&stage, "track_functions = all");
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	stage_run(&stage, NULL, "CREATE DATABASE other");
	stage_run(&stage, NULL,
		  "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'x' FROM "
		  "generate_series(1, 1000) i; ANALYZE t;"
		  "CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + 1; "
		  "END'");
	stage_run(&stage, "other", "CREATE TABLE o (id int)");
	return 0;
}

static int close_stage(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static void run(const char *database, const char *sql)
{
	PGconn *conn = stage_connect(&stage, NULL, database);

	PQclear(PQexec(conn, sql));
	PQfinish(conn);
}

/* Work in both databases: new statements when `columns` were not named before. */
static void work(const char *columns)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT %s, f(id) FROM t WHERE id = 3", columns);
	run(NULL, sql);
	snprintf(sql, sizeof(sql), "SELECT %s FROM o WHERE id = 3", columns);
	run("other", sql);
}

/* One visit, and what it asked. */
static void visit(struct visits *v, enum cadence_answer answer, struct questions *out)
{
	struct fleet_batch b;

	*out = QUESTIONS_EMPTY;
	v->drive.on_ask = questions_note;
	v->drive.owner = out;
	visits_go(v, answer, &b);
	assert_int_equal(v->has_captured, CADENCE_CAPTURES(answer));
	fleet_batch_free(&b);
}

/* Visits whose questions nobody looks at: afterwards all statements of ours are known, those of a capture too. */
static void visit_often(struct visits *v, size_t count, const char *columns)
{
	struct questions q;

	for (int i = 0; i < 4; i++) {
		work(columns);
		for (size_t k = 0; k < count; k++) {
			visit(&v[k], CADENCE_SCHEDULED, &q);
			questions_free(&q);
		}
	}
}

/* The plan part: all on the account of the plans, and what a capture reads in a database only because it is there. */
static void assert_plan_part(const struct questions *q, size_t from)
{
	size_t plans = 0;

	for (size_t i = from; i < q->count; i++) {
		const struct ask *ask = &q->rows[i].ask;

		plans += ask->reading == READING_PLANS;
		if (ask->reading != READING_PLANS && ask->reading != READING_FUNCTIONS)
			fail_msg("behind the gate: %s", ask->sql != NULL ? ask->sql : ask->name);
	}
	assert_true(plans >= 10);
	for (size_t i = 0; i < from; i++)
		assert_int_not_equal(q->rows[i].ask.reading, READING_PLANS);
}

static void gated_sql_is_capturing_sql_minus_the_plan_part(void **state)
{
	static const char *const lists[] = { "id", "id, id", "id, id" };
	struct questions gated, off, capturing;
	struct visits v[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		visits_open(&v[i], &stage, NULL, NULL);
	visit_often(v, ARRAY_LEN(v), "id");
	/* With statements that are known, with new ones, and with new settings too. */
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		work(lists[i]);
		if (i == 2)
			stage_run(&stage, NULL, "SELECT pg_reload_conf(), pg_sleep(0.2)");
		visit(&v[0], CADENCE_GATED, &gated);
		visit(&v[1], CADENCE_OFF, &off);
		visit(&v[2], CADENCE_SCHEDULED, &capturing);
		print_message("%zu questions gated, %zu switched off, %zu capturing\n", gated.count,
			      off.count, capturing.count);
		assert_int_equal(gated.count, off.count);
		questions_assert_same(&gated, &off, gated.count);
		assert_true(capturing.count > gated.count);
		questions_assert_same(&gated, &capturing, gated.count);
		assert_plan_part(&capturing, gated.count);
		assert_true(questions_with(&capturing, "EXPLAIN") > 0);
		questions_free(&gated);
		questions_free(&off);
		questions_free(&capturing);
	}
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		visits_close(&v[i]);
}

static void neither_gated_nor_switched_off_is_anything_prepared_or_explained(void **state)
{
	static const enum cadence_answer answers[] = { CADENCE_GATED, CADENCE_OFF };
	struct questions q;
	struct visits v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		visits_open(&v, &stage, NULL, NULL);
		for (int n = 0; n < 3; n++) {
			work(n == 1 ? "-id" : "+id");
			visit(&v, answers[i], &q);
			assert_int_equal(questions_with(&q, "EXPLAIN"), 0);
			assert_int_equal(questions_with(&q, "tare_plan"), 0);
			assert_int_equal(questions_with(&q, "plan_cache_mode"), 0);
			assert_int_equal(questions_of_kind(&q, ASK_PREPARE), 0);
			assert_int_equal(questions_of_kind(&q, ASK_SIMPLE), 0);
			assert_int_equal(questions_of_kind(&q, ASK_DATABASE), 0);
			questions_free(&q);
		}
		visits_close(&v);
	}
}

static void one_in_one_captures_in_every_visit_and_asks_what_no_gate_asks(void **state)
{
	static const int64_t settings[] = { 1, 0, -7 };
	struct cadence_server server = { .seat = 5, .is_visitable = true };
	struct questions gate, no_gate;
	struct cadence_pace pace;
	struct visits v[2];

	(void)state;
	visits_open(&v[0], &stage, NULL, NULL);
	visits_open(&v[1], &stage, NULL, NULL);
	visit_often(v, ARRAY_LEN(v), "id");
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		struct wall at = { (int64_t)((1000 + i) * CYCLE_NS) };
		enum cadence_answer answer;

		cadence_pace_init(&pace, CYCLE_NS, REACH_NS, cadence_n_of(settings[i]));
		answer = cadence_answer(&pace, true, cadence_slot(&pace, at), READING_STATEMENTS,
					false, &server);
		assert_int_equal(answer, CADENCE_SCHEDULED);
		work("id");
		visit(&v[0], answer, &gate);
		visit(&v[1], CADENCE_SCHEDULED, &no_gate);
		assert_int_equal(gate.count, no_gate.count);
		questions_assert_same(&gate, &no_gate, gate.count);
		assert_true(questions_with(&gate, "EXPLAIN") > 0);
		questions_free(&gate);
		questions_free(&no_gate);
		server.mark = (struct cadence_mark){ at.ns, at.ns };
	}
	visits_close(&v[0]);
	visits_close(&v[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gated_sql_is_capturing_sql_minus_the_plan_part),
		cmocka_unit_test(neither_gated_nor_switched_off_is_anything_prepared_or_explained),
		cmocka_unit_test(one_in_one_captures_in_every_visit_and_asks_what_no_gate_asks),
	};

	return cmocka_run_group_tests_name("gate_sql", tests, open_stage, close_stage);
}
