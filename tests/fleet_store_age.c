/* fleet_store_age.c - the store is bounded: what goes, when, and that it is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "fleet_store_stage.h"

#define MINUTE_NS INT64_C(60000000000)

static const struct fleet_limits short_limits = { (uint64_t)(2 * DAY_NS), (uint64_t)(5 * DAY_NS),
						  (uint64_t)(20 * DAY_NS), (uint64_t)(3 * DAY_NS),
						  UINT64_C(1) << 30 };

/* A visit an hour for `days` days, with a row of each kind that ages. */
static void put_days(void *db, int days)
{
	for (uint64_t hour = 0; hour < (uint64_t)days * 24; hour++) {
		int64_t at_ns = BASE_NS + (int64_t)hour * HOUR_NS + MINUTE_NS;
		struct fleet_batch b = { .server = 1, .cycle = hour };
		struct statement_row statement = {
			.server = 1, .at_wall_ns = at_ns, .key = { 1, 2, 3, true }, .span_ns = 1
		};
		struct blocking_row blocking = { .server = 1, .at_wall_ns = at_ns, .pid = 5 };
		struct setting_change_row change = { .server = 1,
						     .at_wall_ns = at_ns,
						     .name = STR_LITERAL("work_mem") };
		struct collector_row collector = { .collector = STR_LITERAL("c"),
						   .at_wall_ns = at_ns };

		batch_add(&b, &table_statement, &statement);
		batch_add(&b, &table_blocking, &blocking);
		batch_add(&b, &table_setting_change, &change);
		batch_add(&b, &table_collector, &collector);
		batch_add_run(&b, at_ns);
		put_one(db, &b);
	}
}

static void each_kind_of_row_stays_as_long_as_its_limit(void **state)
{
	static const struct {
		const struct table *table;
		size_t least, most;
	} cases[] = {
		/* Of 30 days, an hour each. Sums go in whole days. */
		{ &table_statement, 48, 50 },
		{ &table_blocking, 48, 50 },
		{ &table_statement_hour, 5 * 24, 6 * 24 },
		{ &table_statement_day, 20, 21 },
		{ &table_setting_change, 20 * 24, 21 * 24 },
		{ &table_run, 72, 74 },
		{ &table_collector, 72, 74 },
		{ &table_cost, 20 * 24, 21 * 24 },
	};
	struct fleet_tidied tidied;
	void *db = stage_fresh();

	(void)state;
	put_days(db, 30);
	tidied = tidy_all(db, BASE_NS + 30 * DAY_NS + 10 * MINUTE_NS, &short_limits);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t count = count_rows(db, cases[i].table);

		if (count < cases[i].least || count > cases[i].most)
			fail_msg("%s: %zu rows, not %zu to %zu", cases[i].table->name, count,
				 cases[i].least, cases[i].most);
	}
	/* What went is said: of 720 visits most rows, and sums that were made and went again. */
	assert_true(tidied.dropped_rows > 2 * (720 - 50) + 2 * (720 - 74));
	assert_true(tidied.summed_rows >= 720 + 30);
	/* Nothing more to do. */
	tidied = tidy_all(db, BASE_NS + 30 * DAY_NS + 11 * MINUTE_NS, &short_limits);
	assert_int_equal(tidied.dropped_rows, 0);
	assert_int_equal(tidied.summed_rows, 0);
	suite->ops->close(db);
}

static void tidying_keeps_to_its_budget_and_goes_on_later(void **state)
{
	struct err err = ERR_EMPTY;
	int steps = 0;
	void *db = stage_fresh();

	(void)state;
	put_days(db, 10);
	for (struct fleet_tidied one = { .is_more = true }; one.is_more; steps++) {
		one = (struct fleet_tidied){ 0 };
		ok(suite->ops->tidy(db, (struct wall){ BASE_NS + 30 * DAY_NS }, &short_limits, 1,
				    &one, &err),
		   &err);
		assert_true(steps < 100000);
		if (steps >
		    200) /* a budget of nothing does nothing at all: no need to wait for it */
			break;
	}
	assert_true(steps > 1);
	tidy_all(db, BASE_NS + 30 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_statement), 0);
	assert_int_equal(count_rows(db, &table_statement_day), 0);
	suite->ops->close(db);
}

static struct payload_row payload(uint32_t server, uint8_t number, int64_t seen_ns)
{
	static char bytes[1000];

	memset(bytes, number, sizeof(bytes));
	return (struct payload_row){ .server = server,
				     .digest.bytes[0] = number,
				     .kind = PAYLOAD_PLAN,
				     .size_bytes = 4000,
				     .content = { bytes, sizeof(bytes) },
				     .seen_wall_ns = seen_ns };
}

static bool has_payload(void *db, uint32_t server, uint8_t number)
{
	struct digest digest = { .bytes[0] = number };
	struct fleet_range range = FLEET_RANGE_ALL;
	struct found found;
	bool has;

	range.server = server;
	range.digest = &digest;
	found = found_rows(db, &table_payload, &range);
	has = found.count == 1;
	found_free(&found);
	return has;
}

static void over_their_size_the_payloads_go_that_were_not_seen_for_the_longest_time(void **state)
{
	struct fleet_limits limits = short_limits;
	struct fleet_tidied tidied;
	void *db = stage_fresh();

	(void)state;
	limits.payload_bytes = 5000;
	for (uint8_t i = 1; i <= 20; i++) {
		/* In another order than they were put. */
		struct payload_row row =
			payload(1 + i % 2, i, BASE_NS + (int64_t)(i * 7 % 20) * HOUR_NS);
		struct fleet_batch b = batch_of(row.server, i, &table_payload, &row);

		put_one(db, &b);
		/* Put again: counted once. */
		b = batch_of(row.server, i + 100u, &table_payload, &row);
		put_one(db, &b);
	}
	tidied = tidy_all(db, BASE_NS + DAY_NS, &limits);
	assert_int_equal(count_rows(db, &table_payload), 5);
	assert_int_equal(tidied.dropped_payloads, 15);
	assert_int_equal(tidied.freed_bytes, 15000);
	for (uint8_t i = 1; i <= 20; i++)
		assert_int_equal(has_payload(db, 1 + i % 2, i), i * 7 % 20 >= 15);
	/* Under their size they stay, however large the limit was before. */
	limits.payload_bytes = UINT64_C(1) << 30;
	tidied = tidy_all(db, BASE_NS + DAY_NS + HOUR_NS, &limits);
	assert_int_equal(tidied.dropped_payloads, 0);
	suite->ops->close(db);
}

static void a_payload_that_a_row_names_stays_and_one_that_none_names_goes(void **state)
{
	int64_t old_ns = BASE_NS, now_ns = BASE_NS + 4 * DAY_NS;
	struct server_row server = { .name = STR_LITERAL("a"), .kind = STR_LITERAL("postgresql") };
	struct query_row query = { .key = { 1, 2, 3, true },
				   .text.bytes[0] = 1,
				   .first_wall_ns = old_ns,
				   .seen_wall_ns = old_ns };
	struct plan_row plan = { .key = { 1, 2, 3, true },
				 .plan.bytes[0] = 2,
				 .shape.bytes[0] = 9,
				 .first_wall_ns = old_ns,
				 .seen_wall_ns = old_ns };
	struct err err = ERR_EMPTY;
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct fleet_tidied tidied;
	void *db = stage_fresh();

	(void)state;
	ok(suite->ops->enrol(db, &server, 1, &err), &err);
	b.server = query.server = plan.server = server.server;
	batch_add(&b, &table_query, &query);
	batch_add(&b, &table_plan, &plan);
	for (uint8_t i = 1; i <= 4; i++) {
		/* 1 and 2 are named, 3 is not, 4 was seen lately. */
		struct payload_row row =
			payload(server.server, i, i == 4 ? now_ns - HOUR_NS : old_ns);

		batch_add(&b, &table_payload, &row);
	}
	put_one(db, &b);
	tidied = tidy_all(db, now_ns, &short_limits);
	assert_int_equal(tidied.dropped_payloads, 1);
	assert_int_equal(tidied.freed_bytes, 1000);
	assert_true(has_payload(db, server.server, 1));
	assert_true(has_payload(db, server.server, 2));
	assert_false(has_payload(db, server.server, 3));
	assert_true(has_payload(db, server.server, 4));
	/* The plan is too old, later the statement: then their payloads go too. */
	tidy_all(db, BASE_NS + 7 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_plan), 0);
	assert_int_equal(count_rows(db, &table_query), 1);
	assert_false(has_payload(db, server.server, 2));
	assert_true(has_payload(db, server.server, 1));
	tidy_all(db, BASE_NS + 22 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_query), 0);
	assert_int_equal(count_rows(db, &table_payload), 0);
	suite->ops->close(db);
}

static void what_is_known_of_a_server_that_has_left_goes_and_its_name_stays(void **state)
{
	struct server_row servers[2] = {
		{ .name = STR_LITERAL("a"), .kind = STR_LITERAL("postgresql") },
		{ .name = STR_LITERAL("b"), .kind = STR_LITERAL("postgresql") },
	};
	struct err err = ERR_EMPTY;
	void *db = stage_fresh();

	(void)state;
	ok(suite->ops->enrol(db, servers, 2, &err), &err);
	for (uint64_t i = 0; i < 2; i++) {
		struct fleet_batch b = { .server = servers[i].server, .cycle = 1 };
		struct setting_row setting = { .server = b.server,
					       .name = STR_LITERAL("work_mem") };
		struct server_row seen = { .server = b.server, .seen_wall_ns = BASE_NS };
		struct no_plan_row no_plan = { .server = b.server,
					       .again_wall_ns = BASE_NS + 30 * DAY_NS };

		batch_add(&b, &table_setting, &setting);
		batch_add(&b, &table_server, &seen);
		batch_add(&b, &table_no_plan, &no_plan);
		batch_add_run(&b, BASE_NS);
		put_one(db, &b);
	}
	ok(suite->ops->enrol(db, servers, 1, &err), &err);
	tidy_all(db, BASE_NS + DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_setting), 2);
	tidy_all(db, BASE_NS + 4 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_setting), 1);
	assert_int_equal(count_rows(db, &table_no_plan), 1);
	assert_int_equal(count_rows(db, &table_server), 2);
	/* Its cost is still there after 19 days, and nothing after 23. */
	tidy_all(db, BASE_NS + 19 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_server), 2);
	tidy_all(db, BASE_NS + 24 * DAY_NS, &short_limits);
	assert_int_equal(count_rows(db, &table_server), 1);
	suite->ops->close(db);
}

int suite_age(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_row_stays_as_long_as_its_limit),
		cmocka_unit_test(tidying_keeps_to_its_budget_and_goes_on_later),
		cmocka_unit_test(
			over_their_size_the_payloads_go_that_were_not_seen_for_the_longest_time),
		cmocka_unit_test(a_payload_that_a_row_names_stays_and_one_that_none_names_goes),
		cmocka_unit_test(what_is_known_of_a_server_that_has_left_goes_and_its_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
