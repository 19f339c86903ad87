/* test_texts.c - texts of statements against real servers: encodings, huge ones, and a budget of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/visits.h"

static void run_times(const struct stage *s, const char *user, const char *database,
		      const char *sql, int times)
{
	PGconn *conn = stage_connect(s, user, database);

	for (int i = 0; i < times; i++) {
		PGresult *result = PQexec(conn, sql);

		if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		    PQresultStatus(result) != PGRES_COMMAND_OK)
			fail_msg("%s: %s", sql, PQerrorMessage(conn));
		PQclear(result);
	}
	PQfinish(conn);
}

static void visit_and_forget(struct visits *v)
{
	struct fleet_batch b;

	visits_go(v, CADENCE_GATED, &b);
	fleet_batch_free(&b);
}

/* LATIN1 and SQL_ASCII databases beside UTF8, and a statement with byte E9 in each. */
static void make_encodings(const struct stage *stage)
{
	static const char odd[] = "SELECT 1 AS \"caf\xe9\"";
	static const char *const databases[] = { "latin", "ascii" };

	stage_run(stage, NULL, "CREATE EXTENSION pg_stat_statements");
	stage_run(stage, NULL, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
	stage_run(stage, NULL, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
	for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
		PGconn *conn = stage_connect(stage, NULL, databases[i]);

		PQsetClientEncoding(conn, i == 0 ? "LATIN1" : "SQL_ASCII");
		for (int j = 0; j < 4; j++) {
			PGresult *result = PQexec(conn, odd);

			assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
			PQclear(result);
		}
		PQfinish(conn);
	}
}

static void numbers_are_never_lost_for_the_encoding_of_a_text(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	uint64_t calls;

	(void)state;
	stage_open(&stage, NULL);
	visits_open(&v, &stage, NULL, NULL);
	stage_run(&stage, NULL, "SELECT 1");
	make_encodings(&stage);
	visit_and_forget(&v);
	for (int i = 0; i < 2; i++) {
		PGconn *conn = stage_connect(&stage, NULL, i == 0 ? "latin" : "ascii");

		PQsetClientEncoding(conn, i == 0 ? "LATIN1" : "SQL_ASCII");
		for (int j = 0; j < 6; j++)
			PQclear(PQexec(conn, "SELECT 1 AS \"caf\xe9\""));
		PQfinish(conn);
	}
	visits_go(&v, CADENCE_GATED, &b);
	calls = sum_of(&b, STATEMENT_CALLS);
	assert_true(calls >= 12);
	assert_int_equal(run_of(&b, READING_STATEMENTS)->outcome, RUN_SUCCESS);
	assert_non_null(memmem(run_of(&b, READING_STATEMENTS)->reason.bytes,
			       run_of(&b, READING_STATEMENTS)->reason.len, "texts cannot be read",
			       20));
	fleet_batch_free(&b);
	visits_close(&v);

	/* Where the extension is in the database without an encoding as well, texts come by way of it. */
	stage_run(&stage, "ascii", "CREATE EXTENSION pg_stat_statements");
	visits_open(&v, &stage, NULL, NULL);
	visit_and_forget(&v);
	run_times(&stage, NULL, NULL, "SELECT 'seen' AS word", 3);
	visits_go(&v, CADENCE_GATED, &b);
	assert_true(count_of(&b, &table_payload, BLOCK_PUT) > 0);
	assert_string_equal(PQdb(v.drive.conn), "postgres");
	fleet_batch_free(&b);
	visits_close(&v);
	stage_close(&stage);
}

/* A text of about `bytes` bytes: a list of constants, which the server keeps one by one. */
static char *huge_text(size_t bytes, int number)
{
	char *sql = malloc(bytes + 64);
	size_t len;

	assert_non_null(sql);
	len = (size_t)sprintf(sql, "SELECT %d AS huge_%d WHERE 1 IN (1", number, number);
	while (len < bytes)
		len += (size_t)sprintf(sql + len, ",1");
	sprintf(sql + len, ")");
	return sql;
}

static void huge_texts_are_sizes_and_are_never_read_twice(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	uint64_t first, second, sizes = 0;
	PGconn *conn;

	(void)state;
	stage_open(&stage, "max_stack_depth = 6MB");
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	visits_open(&v, &stage, NULL, NULL);
	for (int i = 0; i < 3; i++)
		visit_and_forget(&v);
	conn = stage_connect(&stage, NULL, NULL);
	for (int i = 0; i < 12; i++) {
		/* 8 are 1 to 8 MB, 4 are 40 kB. They differ in shape, for constants are not. */
		char *sql = huge_text(i < 8 ? (size_t)(i + 1) << 19 : 40000 + 2000 * (size_t)i, i);

		for (int j = 0; j < 2; j++)
			PQclear(PQexec(conn, sql));
		free(sql);
	}
	PQfinish(conn);
	v.drive.bytes = 0;
	visits_go(&v, CADENCE_GATED, &b);
	first = v.drive.bytes;
	for (size_t i = 0; i < count_of(&b, &table_query, BLOCK_PUT); i++) {
		const struct query_row *row = row_of(&b, &table_query, i);

		sizes += row->text_bytes > 1 << 20;
	}
	assert_true(sizes >= 7);			  /* each was told its size */
	assert_true(first > 100000 && first < (2 << 20)); /* and only the small ones came */
	fleet_batch_free(&b);
	visit_and_forget(&v);
	conn = stage_connect(&stage, NULL, NULL);
	for (int i = 0; i < 12; i++) {
		char *sql = huge_text(i < 8 ? (size_t)(i + 1) << 19 : 40000 + 2000 * (size_t)i, i);

		PQclear(PQexec(conn, sql));
		free(sql);
	}
	PQfinish(conn);
	v.drive.bytes = 0;
	visits_go(&v, CADENCE_GATED, &b);
	second = v.drive.bytes;
	assert_true(statement_of(&b, queryid_of(&stage, NULL, "SELECT $1 AS huge_11")) != NULL);
	fleet_batch_free(&b);
	if (second * 20 >= first)
		fail_msg("the second visit took %llu bytes, the first %llu",
			 (unsigned long long)second, (unsigned long long)first);
	visits_close(&v);
	stage_close(&stage);
}

static void texts_over_the_budget_come_in_later_cycles(void **state)
{
	struct fleet_batch b;
	struct stage stage;
	struct visits v;
	size_t texts[4] = { 0 };
	PGconn *conn;

	(void)state;
	stage_open(&stage, NULL);
	stage_run(&stage, NULL, "CREATE EXTENSION pg_stat_statements");
	visits_open(&v, &stage, NULL, NULL);
	v.limits.text_bytes = 100000;
	for (int i = 0; i < 3; i++)
		visit_and_forget(&v);
	conn = stage_connect(&stage, NULL, NULL);
	for (int i = 0; i < 6; i++) {
		char *sql = huge_text(12000 + 200 * (size_t)i, i);

		PQclear(PQexec(conn, sql));
		free(sql);
	}
	PQfinish(conn);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		v.drive.bytes = 0;
		visits_go(&v, CADENCE_GATED, &b);
		assert_true(v.drive.bytes < 140000);
		for (size_t j = 0; j < count_of(&b, &table_payload, BLOCK_PUT); j++)
			texts[i] += ((const struct payload_row *)row_of(&b, &table_payload, j))
					    ->size_bytes > 20000;
		fleet_batch_free(&b);
	}
	assert_true(texts[0] > 0 && texts[1] > 0);
	assert_int_equal(texts[0] + texts[1] + texts[2] + texts[3], 6);
	visits_close(&v);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_never_lost_for_the_encoding_of_a_text),
		cmocka_unit_test(huge_texts_are_sizes_and_are_never_read_twice),
		cmocka_unit_test(texts_over_the_budget_come_in_later_cycles),
	};

	return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
