/* test_fleet_readings.c - the rules of the readings, by made rows: what is stored, what is remembered, and what hostile rows can do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"
#include "fleet/pg_body.h"
#include "made_server.h"

#define MINUTE_US (INT64_C(60) * 1000000)

/* A server, its memory and the collector's clock. */
struct desk {
	struct made_server made;
	struct server *server;
	struct visit_settings settings;
	struct fleet_batch b;
	bool is_new;
};

static int open_desk(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	made_init(&d->made);
	assert_int_equal(server_open(3, &d->server), 0);
	d->settings = (struct visit_settings){ .at = { INT64_C(1700000000) * 1000000000 },
					       .cycle = 10,
					       .capture = CADENCE_GATED,
					       .readings = (1U << READING_COUNT) - 1,
					       .limits = VISIT_LIMITS_DEFAULT };
	d->is_new = true;
	*state = d;
	return 0;
}

static int close_desk(void **state)
{
	struct desk *d = *state;

	fleet_batch_free(&d->b);
	server_close(d->server);
	free(d);
	return 0;
}

/* A minute goes by, and the server is visited. */
static int visit(struct desk *d, bool is_abandoned)
{
	int code;

	fleet_batch_free(&d->b);
	d->made.now_us += MINUTE_US;
	d->settings.at.ns += MINUTE_US * 1000;
	code = made_visit(&d->made, d->server, &d->settings, d->is_new, is_abandoned, &d->b);
	d->is_new = code != 0;
	return code;
}

static void go(struct desk *d)
{
	assert_int_equal(visit(d, false), 0);
}

static size_t count_of(const struct desk *d, const struct table *t, enum block_verb verb)
{
	const struct fleet_block *block = fleet_batch_block(&d->b, t, verb);

	return block != NULL ? block->count : 0;
}

static const void *row_at(const struct desk *d, const struct table *t, size_t i)
{
	return fleet_block_row(fleet_batch_block(&d->b, t, BLOCK_PUT), i);
}

static const struct run_row *run_of(const struct desk *d, enum reading_id reading)
{
	for (size_t i = 0; i < count_of(d, &table_run, BLOCK_PUT); i++) {
		const struct run_row *row = row_at(d, &table_run, i);

		if (row->reading == (uint32_t)reading)
			return row;
	}
	fail_msg("there is no run of %s", reading_name(reading));
	return NULL;
}

static const struct statement_row *statement_of(const struct desk *d, int64_t queryid)
{
	for (size_t i = 0; i < count_of(d, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_at(d, &table_statement, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

static bool says(const struct run_row *run, const char *word)
{
	return memmem(run->reason.bytes, run->reason.len, word, strlen(word)) != NULL;
}

static void bump(struct desk *d, size_t i, uint64_t by)
{
	for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
		d->made.statements[i].counters[c] += by * (c + 1);
}

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

static const char *failing; /* a part of the question that fails, and the state it fails with */
static const char *failing_state;

static const char *fail_one(struct made_server *m, const char *question)
{
	(void)m;
	return strstr(question, failing) != NULL ? failing_state : NULL;
}

static void each_kind_of_failure_is_told_apart_and_the_visit_goes_on(void **state)
{
	static const struct {
		const char *question, *sqlstate;
		uint32_t outcome;
	} cases[] = {
		{ "(false)", "42501", RUN_PERMISSIONS },
		{ "(false)", "57014", RUN_ERROR },
		{ "(false)", "55000", RUN_ERROR },
		{ "dealloc", "42501", RUN_SUCCESS },
	};
	struct desk *d = *state;

	go(d);
	d->made.fail = fail_one;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		failing = cases[i].question;
		failing_state = cases[i].sqlstate;
		bump(d, 0, 1);
		go(d);
		assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, cases[i].outcome);
		assert_int_equal(run_of(d, READING_DATABASES)->outcome, RUN_SUCCESS);
		if (cases[i].outcome == RUN_SUCCESS)
			continue;
		assert_memory_equal(run_of(d, READING_STATEMENTS)->sqlstate.bytes,
				    cases[i].sqlstate, 5);
		assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	}
	/* All four in one: the failed visits did not move the baseline. */
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 4);
	assert_int_equal(statement_of(d, 101)->span_ns, UINT64_C(240) * NS_PER_S);
}

static void a_lost_line_ends_the_visit(void **state)
{
	static const char *const states[] = { "57P01", "08006", "57P03" };
	struct desk *d = *state;

	go(d);
	d->made.fail = fail_one;
	failing = "(false)";
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		failing_state = states[i];
		assert_int_equal(visit(d, false), -ECONNRESET);
		assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, RUN_ERROR);
	}
}

/* The number of the spoiling that is due. */
static unsigned spoiling;

static const char *const bad_numbers[] = {
	"NaN", "-1", "1e400",	 "99999999999999999999", "0x10",
	"",    "1 ", "Infinity", "9223372036854775808",	 "1.5",
	"--1",
};

static void spoil_counters(struct made_server *m, const char *question, struct cell *cells,
			   uint32_t *count)
{
	(void)m;
	if (strstr(question, "(false)") == NULL)
		return;
	for (uint32_t i = 6; i < *count; i++)
		cells[i] = (struct cell){
			bad_numbers[(i + spoiling) % ARRAY_LEN(bad_numbers)],
			(uint32_t)strlen(bad_numbers[(i + spoiling) % ARRAY_LEN(bad_numbers)])
		};
}

static void counters_that_are_no_numbers_are_not_measured(void **state)
{
	struct desk *d = *state;

	go(d);
	d->made.spoil = spoil_counters;
	for (spoiling = 0; spoiling < ARRAY_LEN(bad_numbers); spoiling++) {
		go(d);
		for (size_t i = 0; i < count_of(d, &table_statement, BLOCK_PUT); i++) {
			const struct statement_row *row = row_at(d, &table_statement, i);

			for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
				assert_true(!IS_MEASURED(row->counters[c]) ||
					    row->counters[c].value <= 1500000);
		}
	}
	d->made.spoil = NULL;
	go(d);
	bump(d, 0, 1);
	go(d);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 1);
}

static void spoil_shape(struct made_server *m, const char *question, struct cell *cells,
			uint32_t *count)
{
	(void)m;
	(void)cells;
	if (strstr(question, failing) != NULL)
		*count = spoiling;
}

static void an_answer_of_another_shape_is_refused_whole(void **state)
{
	static const uint32_t counts[] = { 0, 1, 3, 63 };
	struct desk *d = *state;

	go(d);
	d->made.spoil = spoil_shape;
	failing = "(false)";
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		spoiling = counts[i];
		bump(d, 0, 1);
		go(d);
		assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, RUN_ERROR);
		assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
	}
	failing = "pg_conf_load_time";
	assert_int_equal(visit(d, false), -EPROTO);
	failing = "set_config('search_path'";
	d->is_new = true;
	assert_int_equal(visit(d, false), -EPROTO);
	d->made.spoil = NULL;
	d->is_new = true;
	go(d);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 4);
}

static void spoil_keys(struct made_server *m, const char *question, struct cell *cells,
		       uint32_t *count)
{
	static const char *const keys[] = { "x", "-5", "4294967295", "99999999999",
					    "1\0"
					    "2" };

	(void)m;
	(void)count;
	if (strstr(question, "(false)") != NULL)
		cells[spoiling % 2] =
			(struct cell){ keys[spoiling / 2],
				       spoiling / 2 == 4 ? 3
							 : (uint32_t)strlen(keys[spoiling / 2]) };
}

static void rows_whose_key_cannot_be_read_are_left_out_and_said(void **state)
{
	struct desk *d = *state;

	go(d);
	d->made.spoil = spoil_keys;
	for (spoiling = 0; spoiling < 10; spoiling++) {
		go(d);
		assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, RUN_ERROR);
		assert_true(says(run_of(d, READING_STATEMENTS), "cannot be read"));
		assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 0);
		assert_int_equal(count_of(d, &table_baseline, BLOCK_DROP), 0);
	}
}

static void a_key_that_comes_twice_counts_once(void **state)
{
	struct desk *d = *state;

	go(d);
	bump(d, 0, 2);
	d->made.statements[2] = d->made.statements[0];
	d->made.count = 3;
	go(d);
	assert_int_equal(count_of(d, &table_statement, BLOCK_PUT), 1);
	assert_int_equal(statement_of(d, 101)->counters[STATEMENT_CALLS].value, 2);
	assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, RUN_ERROR);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)
	const struct CMUnitTest tests[] = {
		TEST(each_counter_is_the_difference_of_its_own_column),
		TEST(idle_statements_are_not_stored_and_their_baselines_only_once),
		TEST(an_abandoned_visit_leaves_the_memory_as_it_was),
		TEST(baselines_survive_a_restart_of_ours_by_the_store),
		TEST(baselines_older_than_the_look_back_are_first_sight),
		TEST(hidden_statements_are_one_sum_that_an_eviction_interrupts),
		TEST(statements_that_appear_began_only_when_all_were_seen_before),
		TEST(what_is_gone_drops_its_baseline),
		TEST(statements_of_ours_are_left_out_by_mark_and_role),
		TEST(texts_with_secrets_or_literals_are_not_kept),
		TEST(each_kind_of_failure_is_told_apart_and_the_visit_goes_on),
		TEST(a_lost_line_ends_the_visit),
		TEST(counters_that_are_no_numbers_are_not_measured),
		TEST(an_answer_of_another_shape_is_refused_whole),
		TEST(rows_whose_key_cannot_be_read_are_left_out_and_said),
		TEST(a_key_that_comes_twice_counts_once),
		TEST(what_happens_between_two_visits_is_said_once_for_all_rows),
		TEST(settings_that_change_are_told_and_secrets_never),
		TEST(time_on_the_server_is_without_the_way_there_and_back),
		TEST(a_server_of_150_statements_takes_at_most_60_kb),
	};

	return cmocka_run_group_tests_name("fleet_readings", tests, NULL, NULL);
}
