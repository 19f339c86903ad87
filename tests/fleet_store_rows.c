/* fleet_store_rows.c - rows in and out: what was put comes back, each batch once, whole or not at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/recording.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "fleet_rows.h"
#include "fleet_store_stage.h"

#define ROWS_A_TABLE 40

/* Rows of one table that were put, to be met once each. */
struct expected {
	const struct table *table;
	struct made_row rows[ROWS_A_TABLE];
	bool was_met[ROWS_A_TABLE];
	int64_t last_server;
};

static int meet(void *owner, const void *row)
{
	struct expected *e = owner;
	size_t column;
	uint32_t server;

	memcpy(&server, (const char *)row + e->table->fields[0].offset, sizeof(server));
	assert_true((int64_t)server >= e->last_server);
	e->last_server = server;
	for (size_t i = 0; i < ROWS_A_TABLE; i++) {
		if (e->was_met[i] ||
		    !made_rows_equal(e->table, e->table->field_count, row, e->rows[i].row, &column))
			continue;
		e->was_met[i] = true;
		return 0;
	}
	fail_msg("table %s has a row that was never put", e->table->name);
	return 0;
}

static void set_time(const struct table *t, void *row, int64_t at_ns)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->fields[i].name, "at_wall_ns") == 0)
			memcpy((char *)row + t->fields[i].offset, &at_ns, sizeof(at_ns));
}

static void what_was_put_comes_back_by_server_and_bit_by_bit(void **state)
{
	static struct expected expected;
	struct err err = ERR_EMPTY;
	struct rng r;
	void *db = stage_fresh();

	(void)state;
	rng_seed(&r, 7);
	for (size_t t = 0; t < fleet_table_count; t++) {
		struct fleet_batch b = { .server = 1, .cycle = t };

		memset(&expected, 0, sizeof(expected));
		expected.table = fleet_tables[t].table;
		for (size_t i = 0; i < ROWS_A_TABLE; i++) {
			/* A server each: no two rows have the same key. */
			made_row_fill(&expected.rows[i], expected.table, 1 + (uint32_t)i, &r);
			set_time(expected.table, expected.rows[i].row,
				 BASE_NS + (int64_t)rng_below(&r, (uint64_t)DAY_NS));
			batch_add(&b, expected.table, expected.rows[i].row);
		}
		assert_false(put_one(db, &b));
		ok(suite->ops->scan(db, expected.table, &FLEET_RANGE_ALL, meet, &expected, &err),
		   &err);
		for (size_t i = 0; i < ROWS_A_TABLE; i++)
			if (!expected.was_met[i])
				fail_msg("table %s lost row %zu", expected.table->name, i);
	}
	suite->ops->close(db);
}

static struct statement_row statement(uint32_t server, int64_t at_ns, int64_t queryid,
				      uint64_t calls)
{
	struct statement_row row = { .server = server,
				     .at_wall_ns = at_ns,
				     .key = { 5, 10, queryid, true },
				     .span_ns = 60000000000 };

	for (size_t i = 0; i < STATEMENT_COUNTERS; i++)
		row.counters[i] = NOT_MEASURED;
	row.counters[STATEMENT_CALLS] = COUNTER(calls);
	return row;
}

static void a_batch_is_written_once_by_server_and_cycle(void **state)
{
	struct statement_row row = statement(3, BASE_NS, 1, 10);
	struct fleet_batch b, again, other;
	void *db = stage_fresh();

	(void)state;
	b = batch_of(3, 100, &table_statement, &row);
	batch_add_run(&b, BASE_NS);
	assert_false(put_one(db, &b));
	row.key.queryid = 2;
	again = batch_of(3, 100, &table_statement, &row);
	batch_add_run(&again, BASE_NS);
	assert_true(put_one(db, &again));
	assert_int_equal(count_rows(db, &table_statement), 1);
	/* Another server in the same cycle is another batch. */
	row.server = 4;
	other = batch_of(4, 100, &table_statement, &row);
	batch_add_run(&other, BASE_NS);
	assert_false(put_one(db, &other));
	assert_int_equal(count_rows(db, &table_statement), 2);
	suite->ops->close(db);
	/* After a restart of the collector too. */
	db = stage_open(FLEET_WRITE);
	row = statement(3, BASE_NS, 9, 1);
	again = batch_of(3, 100, &table_statement, &row);
	batch_add_run(&again, BASE_NS);
	assert_true(put_one(db, &again));
	assert_int_equal(count_rows(db, &table_run), 2);
	suite->ops->close(db);
}

static void many_batches_go_in_one_put_and_each_says_whether_it_was_there(void **state)
{
	struct fleet_batch batches[5];
	const struct fleet_batch *all[5];
	bool was_there[5] = { true, true, true, false, true };
	struct err err = ERR_EMPTY;
	void *db = stage_fresh();

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		/* The fourth is the second again. */
		uint32_t server = i == 3 ? 2 : i + 1;
		struct statement_row row = statement(server, BASE_NS, 1, i);

		batches[i] = batch_of(server, 7, &table_statement, &row);
		batch_add_run(&batches[i], BASE_NS);
		all[i] = &batches[i];
	}
	ok(suite->ops->put(db, all, 5, was_there, &err), &err);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(was_there[i], i == 3);
		fleet_batch_free(&batches[i]);
	}
	assert_int_equal(count_rows(db, &table_statement), 4);
	suite->ops->close(db);
}

static void a_row_with_the_same_key_is_replaced_and_a_dropped_one_is_gone(void **state)
{
	struct baseline_row row = { .server = 1,
				    .reading = 0,
				    .key = { "\x00\x01key", 5 },
				    .since_ns = 4,
				    .counters = { "abc", 3 } };
	struct fleet_batch b = batch_of(1, 1, &table_baseline, &row);
	struct found found;
	void *db = stage_fresh();

	(void)state;
	put_one(db, &b);
	row.since_ns = 5;
	b = batch_of(1, 2, &table_baseline, &row);
	put_one(db, &b);
	found = found_rows(db, &table_baseline, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct baseline_row *)found.rows)->since_ns, 5);
	found_free(&found);
	row.key.len = 4; /* another key */
	b = (struct fleet_batch){ .server = 1, .cycle = 3 };
	assert_int_equal(fleet_batch_add(&b, &table_baseline, BLOCK_DROP, &row), 0);
	put_one(db, &b);
	assert_int_equal(count_rows(db, &table_baseline), 1);
	row.key.len = 5;
	b = (struct fleet_batch){ .server = 1, .cycle = 4 };
	assert_int_equal(fleet_batch_add(&b, &table_baseline, BLOCK_DROP, &row), 0);
	put_one(db, &b);
	assert_int_equal(count_rows(db, &table_baseline), 0);
	suite->ops->close(db);
}

static int take_payload(void *owner, const void *row)
{
	const struct payload_row *p = row;
	char *out = owner;

	memcpy(out, p->content.bytes, p->content.len);
	out[p->content.len] = '\0';
	return 0;
}

static void a_payload_seen_again_without_its_bytes_keeps_them(void **state)
{
	struct payload_row row = { .server = 1,
				   .digest.bytes[5] = 9,
				   .size_bytes = 100,
				   .content = { "zstd", 4 },
				   .seen_wall_ns = BASE_NS };
	struct fleet_batch b = batch_of(1, 1, &table_payload, &row);
	struct found found;
	struct err err = ERR_EMPTY;
	char content[64] = "";
	void *db = stage_fresh();

	(void)state;
	put_one(db, &b);
	row.content = (struct blob){ "", 0 };
	row.seen_wall_ns = BASE_NS + HOUR_NS;
	b = batch_of(1, 2, &table_payload, &row);
	put_one(db, &b);
	found = found_rows(db, &table_payload, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 1);
	assert_int_equal(((struct payload_row *)found.rows)->seen_wall_ns, BASE_NS + HOUR_NS);
	found_free(&found);
	ok(suite->ops->scan(db, &table_payload, &FLEET_RANGE_ALL, take_payload, content, &err),
	   &err);
	assert_string_equal(content, "zstd");
	suite->ops->close(db);
}

static void the_first_time_a_thing_was_seen_stays_the_first(void **state)
{
	struct query_row row = { .server = 1,
				 .key = { 1, 2, 3, true },
				 .first_wall_ns = BASE_NS,
				 .seen_wall_ns = BASE_NS };
	struct fleet_batch b = batch_of(1, 1, &table_query, &row);
	struct found found;
	void *db = stage_fresh();

	(void)state;
	put_one(db, &b);
	row.first_wall_ns = row.seen_wall_ns = BASE_NS + DAY_NS;
	b = batch_of(1, 2, &table_query, &row);
	put_one(db, &b);
	row.first_wall_ns = 0;
	b = batch_of(1, 3, &table_query, &row);
	put_one(db, &b);
	found = found_rows(db, &table_query, &FLEET_RANGE_ALL);
	assert_int_equal(((struct query_row *)found.rows)->first_wall_ns, BASE_NS);
	assert_int_equal(((struct query_row *)found.rows)->seen_wall_ns, BASE_NS + DAY_NS);
	found_free(&found);
	suite->ops->close(db);
}

/* Visits of three servers, four statements each, a minute apart. */
static void put_visits(void *db, int visits)
{
	for (int i = 0; i < visits; i++)
		for (uint32_t server = 1; server <= 3; server++) {
			struct fleet_batch b = { .server = server, .cycle = (uint64_t)i };

			for (int64_t q = 1; q <= 4; q++) {
				struct statement_row row =
					statement(server, BASE_NS + i * INT64_C(60000000000), q, 1);

				batch_add(&b, &table_statement, &row);
			}
			batch_add_run(&b, BASE_NS + i * INT64_C(60000000000));
			put_one(db, &b);
		}
}

static void a_scan_takes_a_server_a_time_and_a_statement(void **state)
{
	const struct statement_key key = { 5, 10, 3, true }, none = { 5, 10, 3, false };
	struct fleet_range range = FLEET_RANGE_ALL;
	struct found found;
	void *db = stage_fresh();

	(void)state;
	put_visits(db, 10);
	assert_int_equal(count_rows(db, &table_statement), 120);
	range.server = 2;
	found = found_rows(db, &table_statement, &range);
	assert_int_equal(found.count, 40);
	found_free(&found);
	range.from_wall_ns = BASE_NS + INT64_C(120000000000);
	range.to_wall_ns = BASE_NS + INT64_C(300000000000);
	found = found_rows(db, &table_statement, &range);
	assert_int_equal(found.count, 12);
	found_free(&found);
	range.key = &key;
	found = found_rows(db, &table_statement, &range);
	assert_int_equal(found.count, 3);
	for (size_t i = 0; i < found.count; i++) {
		const struct statement_row *row = &((struct statement_row *)found.rows)[i];

		assert_int_equal(row->server, 2);
		assert_int_equal(row->key.queryid, 3);
		assert_int_equal(row->at_wall_ns,
				 BASE_NS + (int64_t)(i + 2) * INT64_C(60000000000));
	}
	found_free(&found);
	range.server = NO_ID;
	found = found_rows(db, &table_statement, &range);
	assert_int_equal(found.count, 9);
	found_free(&found);
	range.key = &none;
	found = found_rows(db, &table_statement, &range);
	assert_int_equal(found.count, 0);
	found_free(&found);
	/* The run log has its time outside its key. */
	range = FLEET_RANGE_ALL;
	range.from_wall_ns = BASE_NS + INT64_C(540000000000);
	found = found_rows(db, &table_run, &range);
	assert_int_equal(found.count, 3);
	found_free(&found);
	suite->ops->close(db);
}

static int stop_at_third(void *owner, const void *row)
{
	(void)row;
	return ++*(int *)owner == 3 ? 77 : 0;
}

static void a_scan_stops_when_it_is_told_to(void **state)
{
	struct err err = ERR_EMPTY;
	int seen = 0;
	void *db = stage_fresh();

	(void)state;
	put_visits(db, 3);
	assert_int_equal(suite->ops->scan(db, &table_statement, &FLEET_RANGE_ALL, stop_at_third,
					  &seen, &err),
			 77);
	assert_int_equal(seen, 3);
	assert_int_equal(count_rows(db, &table_statement), 36);
	suite->ops->close(db);
}

static void readers_look_beside_a_writer_and_change_nothing(void **state)
{
	uint64_t bytes = 0;
	struct err err = ERR_EMPTY;
	struct statement_row row = statement(9, BASE_NS, 1, 1);
	struct fleet_batch b;
	void *db = stage_fresh(), *reader = stage_open(FLEET_READ), *second = NULL;

	(void)state;
	put_visits(db, 2);
	assert_int_equal(count_rows(reader, &table_statement), 24);
	put_visits(db, 3);
	assert_int_equal(count_rows(reader, &table_statement), 36);
	ok(suite->ops->size(reader, &bytes, &err), &err);
	assert_true(bytes > 10000);
	suite->ops->close(reader);
	if (suite->has_one_writer)
		assert_int_equal(suite->ops->open(suite->fresh(), FLEET_READ, &second, &err),
				 -ENOENT);
	suite->ops->close(db);
	/* Without a writer, and when one comes. */
	reader = stage_open(FLEET_READ);
	assert_int_equal(count_rows(reader, &table_statement), 36);
	db = stage_open(FLEET_WRITE);
	b = batch_of(9, 1, &table_statement, &row);
	put_one(db, &b);
	assert_int_equal(count_rows(reader, &table_statement), 37);
	suite->ops->close(db);
	assert_int_equal(count_rows(reader, &table_statement), 37);
	suite->ops->close(reader);
	suite->ops->close(NULL);
}

int suite_rows(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_comes_back_by_server_and_bit_by_bit),
		cmocka_unit_test(a_batch_is_written_once_by_server_and_cycle),
		cmocka_unit_test(many_batches_go_in_one_put_and_each_says_whether_it_was_there),
		cmocka_unit_test(a_row_with_the_same_key_is_replaced_and_a_dropped_one_is_gone),
		cmocka_unit_test(a_payload_seen_again_without_its_bytes_keeps_them),
		cmocka_unit_test(the_first_time_a_thing_was_seen_stays_the_first),
		cmocka_unit_test(a_scan_takes_a_server_a_time_and_a_statement),
		cmocka_unit_test(a_scan_stops_when_it_is_told_to),
		cmocka_unit_test(readers_look_beside_a_writer_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
