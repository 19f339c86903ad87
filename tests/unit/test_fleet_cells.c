/* test_fleet_cells.c - foreign cells as numbers, and rows as they are remembered. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/remembered.h"

static struct cell cell_of(const char *text)
{
	return text == NULL ? (struct cell){ NULL, 0 }
			    : (struct cell){ text, (uint32_t)strlen(text) };
}

static void a_counter_is_a_whole_number_or_not_measured(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{ "0", 0 },
		{ "9223372036854775807", INT64_MAX },
		{ "9223372036854775808", UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX },
		{ "-1", UINT64_MAX },
		{ "-0", 0 },
		{ "+1", UINT64_MAX },
		{ "1.0", UINT64_MAX },
		{ " 1", UINT64_MAX },
		{ "1 ", UINT64_MAX },
		{ "-", UINT64_MAX },
		{ "", UINT64_MAX },
		{ "NaN", UINT64_MAX },
		{ NULL, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(cell_counter(cell_of(cases[i].text)).value, cases[i].want);
	assert_int_equal(cell_counter((struct cell){ "1\0002", 3 }).value, UINT64_MAX);
}

static void a_duration_is_ms_with_fraction_and_exponent_as_ns(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000000 },
		{ "0.001", 1000 },
		{ "12.345678", 12345678 },
		{ "12.3456789", 12345679 },
		{ "0.0000004", 0 },
		{ "0.0000005", 1 },
		{ "1.5e+12", UINT64_C(1500000000000000000) },
		{ "1e-06", 1 },
		{ "1e-7", 0 },
		{ "123.45600000000002", 123456000 },
		{ "9223372036854.7", UINT64_C(9223372036854700000) },
		{ "9223372036855", UINT64_MAX },
		{ "1e300", UINT64_MAX },
		{ "1e-300", 0 },
		{ "NaN", UINT64_MAX },
		{ "Infinity", UINT64_MAX },
		{ "-0.5", UINT64_MAX },
		{ "1e", UINT64_MAX },
		{ "1e9999", UINT64_MAX },
		{ "1.2.3", UINT64_MAX },
		{ ".", UINT64_MAX },
		{ "e5", UINT64_MAX },
		{ NULL, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].text != NULL ? cases[i].text : "NULL");
		assert_int_equal(cell_counter_ms(cell_of(cases[i].text)).value, cases[i].want);
	}
}

static void moments_oids_and_names_are_bounded(void **state)
{
	char small[4];
	uint32_t oid = 7;

	(void)state;
	assert_int_equal(cell_time_ns(cell_of("1700000000000000")), INT64_C(1700000000000000000));
	assert_int_equal(cell_time_ns(cell_of("9223372036854775807")), 0);
	assert_int_equal(cell_time_ns(cell_of("-5")), 0);
	assert_int_equal(cell_time_ns(cell_of(NULL)), 0);
	assert_true(cell_u32(cell_of("4294967294"), &oid));
	assert_false(cell_u32(cell_of("4294967295"), &oid));
	assert_false(cell_u32(cell_of("-1"), &oid));
	assert_int_equal(oid, UINT32_C(4294967294));
	cell_copy(cell_of("abcdef"), small, sizeof(small));
	assert_string_equal(small, "abc");
	cell_copy((struct cell){ "a\0b", 3 }, small, sizeof(small));
	assert_string_equal(small, "a");
	cell_copy(cell_of(NULL), small, sizeof(small));
	assert_string_equal(small, "");
	assert_true(cell_bool(cell_of("t")));
	assert_false(cell_bool(cell_of("true")));
}

static void counters_come_back_from_their_bytes_as_they_were(void **state)
{
	struct counter in[5] = { COUNTER(0), COUNTER(127), NOT_MEASURED, COUNTER(INT64_MAX - 1),
				 COUNTER(300) };
	struct counter out[7];
	uint8_t bytes[70];
	size_t len = counters_pack(in, 5, bytes);

	(void)state;
	assert_int_equal(counters_unpack(bytes, len, out, 7), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(out[i].value, in[i].value);
	assert_false(IS_MEASURED(out[5])); /* a release of ours that counts more */
	assert_int_equal(counters_unpack(bytes, len, out, 4), -EBADMSG);
	assert_int_equal(counters_unpack(bytes, len - 1, out, 5), -EBADMSG);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(counters_unpack(bytes, sizeof(bytes), out, 7), -EBADMSG);
}

static void keys_of_statements_come_back_and_foreign_bytes_are_none(void **state)
{
	static const struct statement_key keys[] = {
		{ 1, 2, 3, true },
		{ 0, 0, 0, false },
		{ UINT32_MAX - 1, UINT32_MAX - 1, INT64_MIN, true },
	};
	struct statement_key out;
	uint8_t bytes[STATEMENT_KEY_MOST];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len = statement_key_pack(&keys[i], bytes);

		assert_true(statement_key_unpack(bytes, len, &out));
		assert_int_equal(out.queryid, keys[i].queryid);
		assert_int_equal(out.dbid, keys[i].dbid);
		assert_int_equal(out.userid, keys[i].userid);
		assert_int_equal(out.is_toplevel, keys[i].is_toplevel);
		for (size_t cut = 0; cut < len; cut++)
			assert_false(statement_key_unpack(bytes, cut, &out));
	}
	memset(bytes, 0xff, sizeof(bytes));
	assert_false(statement_key_unpack(bytes, sizeof(bytes), &out));
}

static bool is_odd(void *owner, const struct remembered *row)
{
	(void)owner;
	return (row->bytes[0] & 1) != 0;
}

static void rows_are_found_replaced_swept_and_merged_by_their_key(void **state)
{
	struct remembered_table t = REMEMBERED_TABLE_EMPTY, over = REMEMBERED_TABLE_EMPTY;
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct remembered *row = remembered_make(&i, sizeof(i), &i, sizeof(i));

		assert_non_null(row);
		assert_int_equal(remembered_put(&t, row), 0);
	}
	for (uint32_t i = 0; i < 4000; i++)
		assert_int_equal(remembered_find(&t, &i, sizeof(i)) != NULL, i < 2000);
	for (uint32_t i = 1000; i < 3000; i++) {
		struct remembered *row = remembered_make(&i, sizeof(i), "xyz", 3);

		assert_int_equal(remembered_put(&over, row), 0);
	}
	assert_int_equal(remembered_merge(&t, &over), 0);
	assert_int_equal(t.count, 3000);
	assert_int_equal(over.count, 0);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(remembered_find(&t, &i, sizeof(i))->counters_len,
				 i < 1000 ? 4 : 3);
	remembered_sweep(&t, is_odd, NULL);
	for (const struct remembered *row = remembered_next(&t, NULL); row != NULL;
	     row = remembered_next(&t, row))
		seen++;
	assert_int_equal(seen, 1500);
	assert_int_equal(t.count, 1500);
	remembered_table_free(&t);
	remembered_table_free(&t);
	remembered_table_free(&over);
}

static void only_the_latest_plans_of_a_statement_are_remembered(void **state)
{
	struct remembered *row = remembered_make("k", 1, NULL, 0), *copy;
	struct plan_known plan = { 0 };

	(void)state;
	assert_non_null(remembered_statement(row));
	for (uint8_t i = 1; i <= PLANS_REMEMBERED + 2; i++) {
		plan.plan.bytes[0] = i;
		assert_int_equal(statement_add_plan(row->statement, &plan), 0);
	}
	assert_int_equal(row->statement->plan_count, PLANS_REMEMBERED);
	assert_non_null(statement_plan(row->statement, &plan.plan));
	plan.plan.bytes[0] = 1;
	assert_null(statement_plan(row->statement, &plan.plan));
	copy = remembered_copy(row, NULL, 0);
	remembered_free(row);
	plan.plan.bytes[0] = PLANS_REMEMBERED;
	assert_non_null(statement_plan(copy->statement, &plan.plan));
	remembered_free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_is_a_whole_number_or_not_measured),
		cmocka_unit_test(a_duration_is_ms_with_fraction_and_exponent_as_ns),
		cmocka_unit_test(moments_oids_and_names_are_bounded),
		cmocka_unit_test(counters_come_back_from_their_bytes_as_they_were),
		cmocka_unit_test(keys_of_statements_come_back_and_foreign_bytes_are_none),
		cmocka_unit_test(rows_are_found_replaced_swept_and_merged_by_their_key),
		cmocka_unit_test(only_the_latest_plans_of_a_statement_are_remembered),
	};

	return cmocka_run_group_tests_name("fleet_cells", tests, NULL, NULL);
}
