/* test_fleet_postgres.c - what the PostgreSQL engine of a fleet's store does without a server: rows in their binary form, URLs, days. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet_rows.h"
#include "store/fleet_postgres.h"
#include "store/fleet_postgres_url.h"

/* An answer of one row with the columns of `t`, as a server would give it: each value is what an array of one has behind its head. */
static PGresult *answer_of(const struct table *t, const void *row)
{
	PGresult *res = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc *columns = calloc(t->field_count, sizeof(*columns));
	struct err err = ERR_EMPTY;
	char name[] = "c";

	for (size_t i = 0; i < t->field_count; i++)
		columns[i] = (PGresAttDesc){ .name = name, .format = 1 };
	assert_int_equal(PQsetResultAttrs(res, (int)t->field_count, columns), 1);
	free(columns);
	for (size_t i = 0; i < t->field_count; i++) {
		SCOPED(pg_bytes_free) struct pg_bytes array = { NULL, 0, 0, false };
		const uint8_t *at;
		int32_t len;

		if (pg_rows_array(&array, t, &t->fields[i], row, 1, &err) != 0)
			fail_msg("%s", err.msg);
		at = array.bytes + 20; /* dimensions, NULLs, type, length, first */
		len = (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
				(uint32_t)at[2] << 8 | at[3]);
		assert_int_equal(array.used, 24 + (size_t)(len > 0 ? len : 0));
		assert_int_equal(PQsetvalue(res, 0, (int)i,
					    len < 0 ? NULL : (char *)(uintptr_t)(at + 4), len),
				 1);
	}
	return res;
}

static void comes_back(const struct table *t, const void *row)
{
	SCOPED(pg_bytes_free) struct pg_bytes text = { NULL, 0, 0, false };
	_Alignas(16) char back[FLEET_ROW_BYTES];
	SCOPED(pg_result_free) PGresult *res = answer_of(t, row);
	struct err err = ERR_EMPTY;
	size_t column = 0;

	if (pg_row_read(res, 0, t, back, &text, &err) != 0)
		fail_msg("%s", err.msg);
	if (!made_rows_equal(t, t->field_count, row, back, &column))
		fail_msg("table %s, column %s is another", t->name, t->fields[column].name);
}

static void rows_of_all_tables_come_back_bit_by_bit(void **state)
{
	static struct made_row made;
	struct rng r;

	(void)state;
	rng_seed(&r, 5);
	for (size_t t = 0; t < fleet_table_count; t++)
		for (int i = 0; i < 60; i++) {
			made_row_fill(&made, fleet_tables[t].table, 3, &r);
			comes_back(fleet_tables[t].table, made.row);
		}
}

static void strings_are_text_where_they_can_be_and_hex_where_not(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t len;
		const char *kept;
	} cases[] = {
		{ "", 0, "" },
		{ "na\xc3\xafve", 6, "na\xc3\xafve" },
		{ "\\", 1, "\\" },
		{ "\\y", 2, "\\y" },
		{ "\\x", 2, "\\x5c78" },
		{ "\\x41", 4, "\\x5c783431" },
		{ "\xff", 1, "\\xff" },
		{ "a\0b", 3, "\\x610062" },
		{ "\xed\xa0\x80", 3, "\\xeda080" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct setting_row row = { .server = 1, .value = { cases[i].bytes, cases[i].len } };
		size_t column = pg_column(&table_setting, "value");
		SCOPED(pg_result_free) PGresult *res = answer_of(&table_setting, &row);

		assert_int_equal(PQgetlength(res, 0, (int)column), strlen(cases[i].kept));
		assert_memory_equal(PQgetvalue(res, 0, (int)column), cases[i].kept,
				    strlen(cases[i].kept));
		comes_back(&table_setting, &row);
	}
}

static int encode(const struct table *t, const void *row, struct err *err)
{
	SCOPED(pg_bytes_free) struct pg_bytes bytes = { NULL, 0, 0, false };

	return pg_rows_copy(&bytes, t, row, 1, err);
}

static void what_no_column_can_hold_is_refused_by_name(void **state)
{
	char text[5000];
	struct run_row run = { .server = 1, .rows = UINT64_C(1) << 63 };
	struct plan_row plan = { .server = 1, .total_cost = 1.0 / 0.0 };
	struct setting_row setting = { .server = 1, .name = { text, 1251 } };
	struct capture_row capture = { .server = 1, .reading = UINT32_MAX };
	struct err err = ERR_EMPTY;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(encode(&table_run, &run, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "table run, column rows"));
	assert_int_equal(encode(&table_plan, &plan, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "column total_cost"));
	/* An index has no room for longer keys. */
	assert_int_equal(encode(&table_setting, &setting, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "column name"));
	setting.name.len = 1250;
	assert_int_equal(encode(&table_setting, &setting, &err), 0);
	setting.value = (struct str){ text, 4097 };
	assert_int_equal(encode(&table_setting, &setting, &err), -ERANGE);
	assert_int_equal(encode(&table_capture, &capture, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "column reading"));
}

static void what_a_server_must_not_say_is_refused_by_name(void **state)
{
	static const struct {
		const char *column, *value;
		int len;
	} cases[] = {
		{ "value", "\\xf", 3 },
		{ "value", "\\xfg", 4 },
		{ "value", NULL, -1 },
		{ "server", "\0\0\0\0\xff\xff\xff\xff", 8 },
		{ "server", "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
		{ "server", "\0\0\0\1", 4 },
		{ "server", NULL, -1 },
		{ "seen_wall_ns", "12", 2 },
	};
	struct setting_row row = { .server = 1 }, back;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(pg_bytes_free) struct pg_bytes text = { NULL, 0, 0, false };
		SCOPED(pg_result_free) PGresult *res = answer_of(&table_setting, &row);
		struct err err = ERR_EMPTY;

		assert_int_equal(PQsetvalue(res, 0, (int)pg_column(&table_setting, cases[i].column),
					    (char *)(uintptr_t)cases[i].value, cases[i].len),
				 1);
		assert_int_equal(pg_row_read(res, 0, &table_setting, &back, &text, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, cases[i].column));
	}
}

/* -- days -- */

static void a_time_belongs_to_the_day_it_is_in(void **state)
{
	static const struct {
		int64_t at, from;
	} cases[] = {
		{ 0, 0 },	    { PG_DAY_NS - 1, 0 },	{ PG_DAY_NS, PG_DAY_NS },
		{ -1, -PG_DAY_NS }, { -PG_DAY_NS, -PG_DAY_NS }, { INT64_MIN, INT64_MIN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(pg_part_start(cases[i].at, PG_DAY_NS), cases[i].from);
}

static void partitions_are_named_by_their_day_and_end_before_the_next(void **state)
{
	struct pg_part part = { .from_wall_ns = INT64_C(20787) * PG_DAY_NS };
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	(void)state;
	while (fleet_tables[part.table].table != &table_statement)
		part.table++;
	pg_put_part(&name, &part);
	assert_string_equal(text_chars(&name), "tare.\"statement_p20261130\"");
	assert_int_equal(pg_part_end(&part), INT64_C(20788) * PG_DAY_NS);
	part.from_wall_ns = pg_part_start(INT64_MAX, PG_DAY_NS);
	assert_true(pg_part_end(&part) == INT64_MAX);
	while (fleet_tables[part.table].table != &table_baseline)
		part.table = (part.table + 1) % (uint32_t)fleet_table_count;
	assert_int_equal(pg_part_ns(&fleet_tables[part.table]), 0);
}

/* -- URLs -- */

/* The value of a setting; NULL: it is not set. */
static const char *value_of(const struct pg_settings *s, const char *keyword)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->keywords[i], keyword) == 0)
			return s->values[i];
	return NULL;
}

static void what_goes_over_a_network_wants_a_certificate_unless_told_otherwise(void **state)
{
	static const struct {
		const char *url, *sslmode;
	} cases[] = {
		{ "postgresql://u@192.0.2.1/x", "verify-full" },
		{ "postgres://u@192.0.2.1/x?sslmode=require", "require" },
		{ "postgresql://u@127.0.0.1,192.0.2.1/x", "verify-full" },
		{ "postgresql://u@/x?hostaddr=192.0.2.1", "verify-full" },
		{ "postgresql://u@127.0.0.1/x", NULL },
		{ "postgresql://u@[::1]/x", NULL },
		{ "postgresql://u@/x?host=/run/postgresql", NULL },
		{ "postgresql:///x", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(pg_settings_free) struct pg_settings s = { .count = 0 };
		struct err err = ERR_EMPTY;
		const char *sslmode;

		print_message("%s\n", cases[i].url);
		if (pg_settings_read(cases[i].url, 1000, &s, &err) != 0)
			fail_msg("%s", err.msg);
		sslmode = value_of(&s, "sslmode");
		assert_string_equal(sslmode != NULL ? sslmode : "not set",
				    cases[i].sslmode != NULL ? cases[i].sslmode : "not set");
		assert_string_equal(value_of(&s, "gssencmode"), "disable");
		assert_string_equal(value_of(&s, "client_encoding"), "UTF8");
		assert_string_equal(value_of(&s, "application_name"), "tare");
	}
}

static void hosts_go_to_libpq_with_their_addresses_so_that_it_asks_nobody(void **state)
{
	SCOPED(pg_settings_free) struct pg_settings s = { .count = 0 };
	struct err err = ERR_EMPTY;

	(void)state;
	if (pg_settings_read("postgresql://u@192.0.2.1:5433,[2001:db8::1]:5434/x", 1000, &s,
			     &err) != 0)
		fail_msg("%s", err.msg);
	assert_string_equal(value_of(&s, "host"), "192.0.2.1,2001:db8::1");
	assert_string_equal(value_of(&s, "hostaddr"), "192.0.2.1,2001:db8::1");
	assert_string_equal(value_of(&s, "port"), "5433,5434");
}

static void a_password_in_a_wrong_place_is_refused_and_not_repeated(void **state)
{
	static const char *const urls[] = {
		"postgresql://u:hunter2/x",
		"postgresql://u:a@hunter2@192.0.2.1/x",
		"postgresql://u@192.0.2.1:hunter2/x",
		"postgresql://u:hunter2@[::1/x",
		"postgresql://u:hunter2@192.0.2.1/x?hots=hunter2",
		"postgresql://u:%zzhunter2@192.0.2.1/x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		SCOPED(pg_settings_free) struct pg_settings s = { .count = 0 };
		struct err err = ERR_EMPTY;

		assert_int_equal(pg_settings_read(urls[i], 1000, &s, &err), -EINVAL);
		assert_null(strstr(err.msg, "hunter2"));
		assert_null(strstr(err.mend, "hunter2"));
		assert_non_null(strstr(err.mend, "%40"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_all_tables_come_back_bit_by_bit),
		cmocka_unit_test(strings_are_text_where_they_can_be_and_hex_where_not),
		cmocka_unit_test(what_no_column_can_hold_is_refused_by_name),
		cmocka_unit_test(what_a_server_must_not_say_is_refused_by_name),
		cmocka_unit_test(a_time_belongs_to_the_day_it_is_in),
		cmocka_unit_test(partitions_are_named_by_their_day_and_end_before_the_next),
		cmocka_unit_test(
			what_goes_over_a_network_wants_a_certificate_unless_told_otherwise),
		cmocka_unit_test(hosts_go_to_libpq_with_their_addresses_so_that_it_asks_nobody),
		cmocka_unit_test(a_password_in_a_wrong_place_is_refused_and_not_repeated),
	};

	/* What the caller has said elsewhere is none of this test. */
	unsetenv("PGHOST");
	unsetenv("PGHOSTADDR");
	unsetenv("PGSSLMODE");
	unsetenv("PGGSSENCMODE");
	unsetenv("PGSERVICE");
	unsetenv("PGAPPNAME");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
