/* test_fleet_hostile.c - what failures and hostile rows can do to a visit: nothing to the memory, nothing to the other readings. */
#include <errno.h>
#include <stdio.h>

#include "core/scoped.h"
#include "readings_desk.h"

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
					    ("1\0"
					     "2") };

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
	go(d); /* also when nothing of it has changed */
	assert_int_equal(run_of(d, READING_STATEMENTS)->outcome, RUN_ERROR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DESK_TEST(each_kind_of_failure_is_told_apart_and_the_visit_goes_on),
		DESK_TEST(a_lost_line_ends_the_visit),
		DESK_TEST(counters_that_are_no_numbers_are_not_measured),
		DESK_TEST(an_answer_of_another_shape_is_refused_whole),
		DESK_TEST(rows_whose_key_cannot_be_read_are_left_out_and_said),
		DESK_TEST(a_key_that_comes_twice_counts_once),
	};

	return cmocka_run_group_tests_name("fleet_hostile", tests, NULL, NULL);
}
