/* test_fleet_readings.c - the rules of the readings, by made rows: what is stored and what is remembered. */
#include <errno.h>
#include <stdio.h>

#include "core/scoped.h"
#include "readings_desk.h"

static void each_counter_is_the_difference_of_its_own_column(void **state)
{
	struct desk *d = *state;
	const struct statement_row *row;

	go(d);
	bump(d, 0, 3);
	go(d);
	row = statement_of(d, 101);
	assert_non_null(row);
	assert_int_equal(row->span_ns, UINT64_C(60) * NS_PER_S);
	assert_int_equal(row->longest_ns, 12500000);
	for (size_t c = 0; c < STATEMENT_COUNTERS; c++) {
		bool is_ms = c == STATEMENT_EXEC_NS || c == STATEMENT_PLAN_NS ||
			     (c >= STATEMENT_READ_NS && c <= STATEMENT_TEMP_WRITE_NS) ||
			     c == STATEMENT_JIT_NS;

		assert_int_equal(row->counters[c].value, 3 * (c + 1) * (is_ms ? NS_PER_MS : 1));
	}
}

static void idle_statements_are_not_stored_and_their_baselines_only_once(void **state)
{
	struct desk *d = *state;

	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_PUT), 2 + 1); /* and the database */
	bump(d, 0, 1);
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 1);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_PUT), 1);
	assert_null(statement_of(d, -102));
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_PUT), 0);
	assert_int_equal(count_of(d, &table_database, BLOCK_PUT), 0);
	assert_int_equal(count_of(d, &table_life, BLOCK_PUT), 2);
}

static void an_abandoned_visit_leaves_the_memory_as_it_was(void **state)
{
	struct desk *d = *state;
	const struct statement_row *row;
	uint64_t bytes;

	go(d);
	bytes = server_bytes(d->server);
	bump(d, 0, 5);
	assert_int_equal(visit(d, true), 0);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 5);
	assert_int_equal(server_bytes(d->server), bytes);
	bump(d, 0, 2);
	go(d);
	row = statement_of(d, 101);
	assert_int_equal(row->counters[STATEMENT_CALLS].value, 7);
	assert_int_equal(row->span_ns, UINT64_C(120) * NS_PER_S);
	/* What it learnt of texts was not kept either: they are read now. */
	assert_int_equal(count_of(d, &table_query, BLOCK_PUT) > 0, 1);
}

/* Gives every row of the batch to a new memory, as the store would after a restart of ours. */
static void remember_all(struct desk *d, int64_t later_ns)
{
	struct server *again;

	assert_int_equal(server_open(3, &again), 0);
	for (size_t i = 0; i < fleet_table_count; i++) {
		const struct table *t = fleet_tables[i].table;

		for (size_t j = 0; j < count_of(d, t, BLOCK_PUT); j++)
			assert_int_equal(
				server_remember(again, t, row_at(d, t, j),
						(struct wall){ d->settings.at.ns + later_ns }),
				0);
	}
	server_close(d->server);
	d->server = again;
	d->is_new = true;
}

static void baselines_survive_a_restart_of_ours_by_the_store(void **state)
{
	struct desk *d = *state;

	go(d);
	remember_all(d, 0);
	bump(d, 0, 4);
	bump(d, 1, 4);
	go(d);
	assert_int_equal(statement_of(d, 101)->life, DELTA_SAME);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 4);
	/* Its text is known by now, and is not read again. */
	remember_all(d, 0);
	d->made.has_asked_texts = false;
	bump(d, 0, 4);
	go(d);
	assert_non_null(statement_of(d, 101));
	assert_false(d->made.has_asked_texts);
}

static void baselines_older_than_the_look_back_are_first_sight(void **state)
{
	struct desk *d = *state;

	go(d);
	remember_all(d, (int64_t)DELTA_LOOK_BACK_NS + 1);
	bump(d, 0, 4);
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	assert_true(says(run_of(d, READING_STATEMENTS), "first sight"));
}

static void hidden_statements_are_one_sum_that_an_eviction_interrupts(void **state)
{
	struct desk *d = *state;

	d->made.statements[0].queryid = d->made.statements[1].queryid = 0;
	go(d);
	bump(d, 0, 2);
	bump(d, 1, 3);
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 1);
	assert_int_equal(statement_of(d, 0)->counters[STATEMENT_CALLS].value, 5);
	assert_true(says(run_of(d, READING_STATEMENTS), "pg_read_all_stats"));
	/* One falls out: what is left may be more or less, and is no difference. */
	bump(d, 0, 7);
	d->made.evictions++;
	go(d);
	assert_int_equal(statement_of(d, 0)->life, DELTA_EVICTED);
	assert_int_equal(statement_of(d, 0)->span_ns, 0);
	assert_false(IS_MEASURED(statement_of(d, 0)->counters[STATEMENT_CALLS]));
	d->made.statements[0].counters[STATEMENT_CALLS] = 1;
	go(d);
	assert_int_equal(statement_of(d, 0)->life, DELTA_EVICTED);
	bump(d, 0, 1);
	go(d);
	assert_int_equal(statement_of(d, 0)->counters[STATEMENT_CALLS].value, 1);
}

static void statements_that_appear_began_only_when_all_were_seen_before(void **state)
{
	struct desk *d = *state;
	static const struct made_statement newcomer = {
		.dbid = 5, .userid = 20, .queryid = 103, .counters = { 9, 9, 9 }
	};

	go(d);
	d->made.statements[d->made.count++] = newcomer;
	go(d);
	assert_int_equal(statement_of(d, 103)->life, DELTA_BEGAN);
	assert_int_equal(statement_of(d, 103)->counters[STATEMENT_CALLS].value, 9);
	/* Over the cap: who appears next may have been there all the time. */
	d->settings.limits.rows = 2;
	go(d);
	assert_true(says(run_of(d, READING_STATEMENTS), "more rows"));
	d->settings.limits.rows = 100;
	go(d);
	assert_int_equal(statement_of(d, 103)->life, DELTA_FIRST);
	assert_int_equal(statement_of(d, 103)->span_ns, 0);
}

static void what_is_gone_drops_its_baseline(void **state)
{
	struct desk *d = *state;

	go(d);
	d->made.count = 1;
	go(d);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_DROP), 1);
	go(d);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_DROP), 0);
}

static void statements_of_ours_are_left_out_by_mark_and_role(void **state)
{
	struct desk *d = *state;

	d->made.statements[0].text = "SELECT /* tare */ 1";
	go(d);
	bump(d, 0, 1);
	bump(d, 1, 1);
	go(d);
	assert_null(statement_of(d, 101));
	assert_non_null(statement_of(d, -102));
	bump(d, 0, 1);
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	assert_int_equal(count_of(d, &table_baseline, BLOCK_PUT), 0);
}

static void texts_with_secrets_or_literals_are_not_kept(void **state)
{
	struct desk *d = *state;
	const struct query_row *query;

	d->made.statements[0].text = "ALTER ROLE x PASSWORD 'canary'";
	d->made.statements[1].text = "SELECT 'canary' FROM t";
	go(d);
	bump(d, 0, 1);
	bump(d, 1, 1);
	go(d);
	assert_int_equal(count_of(d, &table_query, BLOCK_PUT), 2);
	assert_int_equal(count_of(d, &table_payload, BLOCK_PUT), 1);
	for (size_t i = 0; i < 2; i++) {
		query = row_at(d, &table_query, i);
		assert_null(memmem(query->command.bytes, query->command.len, "canary", 6));
	}
}

static void what_happens_between_two_visits_is_said_once_for_all_rows(void **state)
{
	struct desk *d = *state;

	go(d);
	d->made.started_us += MINUTE_US;
	bump(d, 0, 1);
	go(d);
	assert_true(says(run_of(d, READING_STATEMENTS), "started again"));
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	d->made.now_us -= 5 * MINUTE_US;
	bump(d, 0, 1);
	go(d);
	assert_true(says(run_of(d, READING_STATEMENTS), "clock"));
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	bump(d, 0, 1);
	go(d);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 1);
	d->made.now_us += 70 * MINUTE_US;
	bump(d, 0, 1);
	go(d);
	assert_true(says(run_of(d, READING_STATEMENTS), "an hour"));
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
}

static void settings_that_change_are_told_and_secrets_never(void **state)
{
	static const struct {
		const char *name;
		bool is_secret;
	} names[] = {
		{ "primary_conninfo", true },
		{ "archive_command", true },
		{ "ssl_passphrase_command", true },
		{ "my_ext.api_key", true },
		{ "MY.PassWord", true },
		{ "work_mem", false },
		{ "password_encryption", true },
		{ "max_connections", false },
		{ "pg_stat_statements.max", false },
		{ "a.very_long_name_that_no_server_of_ours_can_have_as_its_own_setting", true },
	};
	struct desk *d = *state;
	const struct setting_change_row *change;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(pg_setting_is_secret((struct str){
					 names[i].name, (uint32_t)strlen(names[i].name) }),
				 names[i].is_secret);
	go(d);
	assert_int_equal(count_of(d, &table_setting, BLOCK_PUT), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct setting_row *row = row_at(d, &table_setting, i);

		assert_null(memmem(row->value.bytes, row->value.len, "canary", 6));
	}
	d->made.setting = "8192";
	go(d); /* not loaded anew: not read */
	assert_int_equal(count_of(d, &table_setting_change, BLOCK_PUT), 0);
	d->made.loaded_us += MINUTE_US;
	go(d);
	assert_int_equal(count_of(d, &table_setting_change, BLOCK_PUT), 1);
	change = row_at(d, &table_setting_change, 0);
	assert_memory_equal(change->before.bytes, "4096", 4);
	assert_memory_equal(change->after.bytes, "8192", 4);
	d->made.setting = "4096";
	d->made.loaded_us += MINUTE_US;
	go(d);
	change = row_at(d, &table_setting_change, 0);
	assert_memory_equal(change->before.bytes, "8192", 4);
	assert_memory_equal(change->after.bytes, "4096", 4);
}

static void time_on_the_server_is_without_the_way_there_and_back(void **state)
{
	struct desk *d = *state;

	go(d);
	/* Two questions, a millisecond each, of which a tenth is the way. */
	assert_int_equal(run_of(d, READING_STATEMENTS)->server_ns, 2 * 900000);
	assert_int_equal(run_of(d, READING_STATEMENTS)->wall_ns, 2 * 1000000);
	assert_int_equal(run_of(d, READING_DATABASES)->server_ns, 900000);
	assert_int_equal(run_of(d, READING_STATEMENTS)->cycle, d->settings.cycle);
}

static void a_server_of_150_statements_takes_at_most_60_kb(void **state)
{
	struct desk *d = *state;

	for (size_t i = 0; i < 150; i++) {
		d->made.statements[i] = (struct made_statement){ .dbid = 5,
								 .userid = 20,
								 .queryid = 1000 + (int64_t)i };
		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			d->made.statements[i].counters[c] = UINT64_C(50000000) + i;
	}
	d->made.count = 150;
	go(d);
	for (size_t i = 0; i < 150; i++)
		bump(d, i, 1);
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 150);
	assert_true(server_bytes(d->server) > 10000);
	assert_true(server_bytes(d->server) < 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DESK_TEST(each_counter_is_the_difference_of_its_own_column),
		DESK_TEST(idle_statements_are_not_stored_and_their_baselines_only_once),
		DESK_TEST(an_abandoned_visit_leaves_the_memory_as_it_was),
		DESK_TEST(baselines_survive_a_restart_of_ours_by_the_store),
		DESK_TEST(baselines_older_than_the_look_back_are_first_sight),
		DESK_TEST(hidden_statements_are_one_sum_that_an_eviction_interrupts),
		DESK_TEST(statements_that_appear_began_only_when_all_were_seen_before),
		DESK_TEST(what_is_gone_drops_its_baseline),
		DESK_TEST(statements_of_ours_are_left_out_by_mark_and_role),
		DESK_TEST(texts_with_secrets_or_literals_are_not_kept),
		DESK_TEST(what_happens_between_two_visits_is_said_once_for_all_rows),
		DESK_TEST(settings_that_change_are_told_and_secrets_never),
		DESK_TEST(time_on_the_server_is_without_the_way_there_and_back),
		DESK_TEST(a_server_of_150_statements_takes_at_most_60_kb),
	};

	return cmocka_run_group_tests_name("fleet_readings", tests, NULL, NULL);
}
