/* test_fleet_store.c - the SQLite engine of a fleet's store: the suite of all engines, and what is its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/scoped.h"
#include "fault/place.h"
#include "fleet_store_stage.h"
#include "fleet_store_suite.h"
#include "store/fleet_rules.h"
#include "store/schema.h"
#include "store/store.h"

static struct place place;

static const char *fresh(void)
{
	static char url[2 * PLACE_BYTES + 32];
	static int number;
	char name[32];

	snprintf(name, sizeof(name), "fleet %d.tare", ++number);
	snprintf(url, sizeof(url), "%s%s", number % 2 == 0 ? "sqlite://" : "",
		 place_file(&place, name));
	return url;
}

/* What SQLite must say of a column that is described so. */
static void column_is_as_described(sqlite3_stmt *columns, const struct table *t, size_t i)
{
	const struct field *f = &t->fields[i];
	static const char *const types[] = { [FIELD_STR] = "ANY",
					     [FIELD_F64] = "REAL",
					     [FIELD_DIGEST] = "BLOB",
					     [FIELD_BLOB] = "BLOB" };
	const char *type =
		f->type < ARRAY_LEN(types) && types[f->type] != NULL ? types[f->type] : "INTEGER";
	bool may_be_null = !f->is_key && (f->type == FIELD_U32 || f->type == FIELD_COUNTER ||
					  f->type == FIELD_DIGEST);

	if (sqlite3_step(columns) != SQLITE_ROW)
		fail_msg("%s.%s is not in the schema", t->name, f->name);
	assert_string_equal(sqlite3_column_text(columns, 1), f->name);
	assert_string_equal(sqlite3_column_text(columns, 2), type);
	assert_int_equal(sqlite3_column_int(columns, 3), !may_be_null);
	assert_int_equal(sqlite3_column_int(columns, 5), f->is_key ? (int)i + 1 : 0);
}

static void the_schema_is_what_the_fields_say(void **state)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (unsigned i = 0; i < fleet_schema_newest; i++)
		assert_int_equal(sqlite3_exec(db, fleet_schema_files[i], NULL, NULL, NULL),
				 SQLITE_OK);
	for (size_t t = 0; t < fleet_table_count; t++) {
		char *sql = sqlite3_mprintf("PRAGMA table_info(%s)", fleet_tables[t].table->name);

		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
		for (size_t i = 0; i < fleet_tables[t].table->field_count; i++)
			column_is_as_described(stmt, fleet_tables[t].table, i);
		assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT count(*), sum(sql LIKE '%) STRICT%'), "
					    "sum(sql LIKE '%WITHOUT ROWID') FROM sqlite_schema "
					    "WHERE type = 'table'",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), fleet_table_count + 4);
	assert_int_equal(sqlite3_column_int(stmt, 1), fleet_table_count + 4);
	assert_int_equal(sqlite3_column_int(stmt, 2), fleet_table_count + 3);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void every_column_of_a_sum_has_its_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < fleet_table_count; i++) {
		const struct table *to = fleet_tables[i].hourly;

		for (size_t c = 0; to != NULL && c < to->field_count; c++) {
			struct fleet_sum_rule rule = fleet_sum_rule(to, c);
			bool is_number =
				to->fields[c].type != FIELD_STR && to->fields[c].type != FIELD_BOOL;

			assert_int_equal(rule.how == SUM_KEY || rule.how == SUM_TIME,
					 to->fields[c].is_key);
			/* What is no number is never added up. */
			if (!is_number)
				assert_int_not_equal(rule.how, SUM_ADD);
		}
	}
}

static void a_url_finds_its_engine(void **state)
{
	const struct fleet_store_ops *ops = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(fleet_store_find("fleet.tare", &ops, &err), 0);
	assert_ptr_equal(ops, &fleet_store_sqlite);
	assert_int_equal(fleet_store_find("sqlite:///var/x.tare", &ops, &err), 0);
	assert_ptr_equal(ops, &fleet_store_sqlite);
	assert_int_equal(fleet_store_find("mysql://root:hunter2@h/x", &ops, &err), -EINVAL);
	assert_null(strstr(err.msg, "hunter2"));
	assert_non_null(strstr(err.mend, "postgresql://"));
	assert_int_equal(fleet_store_find("", &ops, &err), -EINVAL);
}

static void a_fleets_file_and_a_recording_are_told_apart(void **state)
{
	struct store_limits limits = { .bytes = 1 << 20 };
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	char path[PLACE_BYTES * 2];
	void *db;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "kind.tare"));
	assert_false(fleet_store_is(path));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	assert_true(fleet_store_is(path));
	assert_int_equal(store_sqlite.load(path, &recording, &err), -EBADMSG);
	snprintf(path, sizeof(path), "%s", place_file(&place, "recording.tare"));
	ok(store_sqlite.create(path, &limits, &db, &err), &err);
	store_sqlite.close(db);
	assert_false(fleet_store_is(path));
	assert_int_equal(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), -EBADMSG);
	assert_int_equal(fleet_store_sqlite.open(path, FLEET_READ, &db, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "no fleet's store"));
	assert_false(fleet_store_is("/"));
	assert_false(fleet_store_is("/dev/null"));
}

static void a_second_writer_is_refused_with_the_holders_pid(void **state)
{
	struct err err = ERR_EMPTY;
	char want[64], path[PLACE_BYTES * 2];
	struct stat st;
	void *db, *second = NULL;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "held.tare"));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	assert_int_equal(fleet_store_sqlite.open(path, FLEET_WRITE, &second, &err), -EBUSY);
	snprintf(want, sizeof(want), "process %d is collecting", (int)getpid());
	assert_non_null(strstr(err.msg, want));
	assert_null(second);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	fleet_store_sqlite.close(db);
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	/* One file is left. */
	snprintf(want, sizeof(want), "%s-wal", "held.tare");
	assert_int_not_equal(access(place_file(&place, want), F_OK), 0);
}

static void sql_on(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void a_newer_schema_is_refused_with_the_version_it_needs(void **state)
{
	struct err err = ERR_EMPTY;
	char path[PLACE_BYTES * 2];
	void *db;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "newer.tare"));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	sql_on(path, "UPDATE about SET tare_version = '9.7.1'; PRAGMA user_version = 4711");
	assert_int_equal(fleet_store_sqlite.open(path, FLEET_READ, &db, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "needs tare >= 9.7.1"));
	assert_int_equal(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "needs tare >= 9.7.1"));
}

static int take_any(void *owner, const void *row)
{
	(void)owner;
	(void)row;
	return 0;
}

static void a_hostile_file_is_refused_with_table_and_column(void **state)
{
	static const struct {
		const char *name, *sql;
		const struct table *table;
		const char *says;
	} cases[] = {
		{ "a table more", "CREATE TABLE more (x)", NULL, "tables are not those" },
		{ "a view", "CREATE VIEW v AS SELECT 1", NULL, "tables are not those" },
		{ "a trigger", "CREATE TRIGGER x AFTER INSERT ON run BEGIN DELETE FROM server; END",
		  NULL, "tables are not those" },
		{ "a number under 0", "UPDATE run SET rows = -1", &table_run,
		  "table run, column rows" },
		{ "a string where a number belongs to a key",
		  "INSERT INTO setting VALUES (1, 17, 'x', 'x', 'x', 0)", &table_setting,
		  "table setting, column name" },
		{ "a server that is none", "UPDATE run SET server = 4294967295", &table_run,
		  "table run" },
		{ "a digest that is too short", "UPDATE payload SET digest = x'00'", &table_payload,
		  "table payload, column digest" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct payload_row row = { .server = 1, .digest.bytes[0] = 1 };
		struct fleet_batch b = batch_of(1, 1, &table_payload, &row);
		struct err err = ERR_EMPTY;
		char path[PLACE_BYTES * 2], name[32];
		void *db = NULL;
		int rc;

		print_message("%s\n", cases[i].name);
		snprintf(name, sizeof(name), "hostile%zu.tare", i);
		snprintf(path, sizeof(path), "%s", place_file(&place, name));
		ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
		batch_add_run(&b, BASE_NS);
		put_one(db, &b);
		fleet_store_sqlite.close(db);
		sql_on(path, cases[i].sql);
		rc = fleet_store_sqlite.open(path, FLEET_READ, &db, &err);
		if (rc == 0) {
			rc = fleet_store_sqlite.scan(db, cases[i].table, &FLEET_RANGE_ALL, take_any,
						     NULL, &err);
			fleet_store_sqlite.close(db);
		}
		assert_int_equal(rc, -EBADMSG);
		if (strstr(err.msg, cases[i].says) == NULL)
			fail_msg("'%s' does not say '%s'", err.msg, cases[i].says);
	}
}

static void a_reader_whose_file_went_away_says_so_and_finds_it_again(void **state)
{
	struct err err = ERR_EMPTY;
	char path[PLACE_BYTES * 2], away[PLACE_BYTES * 2];
	void *db, *reader;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "moved.tare"));
	snprintf(away, sizeof(away), "%s", place_file(&place, "away.tare"));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	ok(fleet_store_sqlite.open(path, FLEET_READ, &reader, &err), &err);
	assert_int_equal(rename(path, away), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fleet_store_sqlite.scan(reader, &table_run, &FLEET_RANGE_ALL,
							 take_any, NULL, &err),
				 -ENOENT);
	assert_int_equal(rename(away, path), 0);
	ok(fleet_store_sqlite.scan(reader, &table_run, &FLEET_RANGE_ALL, take_any, NULL, &err),
	   &err);
	fleet_store_sqlite.close(reader);
}

/* So many payloads of 4 KB, in one batch. */
static void put_payloads(void *db, uint64_t cycle, uint32_t count)
{
	static char bytes[4000];
	struct fleet_batch b = { .server = 1, .cycle = cycle };

	for (uint32_t i = 0; i < count; i++) {
		struct payload_row row = { .server = 1,
					   .content = { bytes, sizeof(bytes) },
					   .seen_wall_ns = BASE_NS };

		memcpy(row.digest.bytes, &i, sizeof(i));
		row.digest.bytes[31] = (uint8_t)cycle;
		batch_add(&b, &table_payload, &row);
	}
	put_one(db, &b);
}

static void the_file_gives_room_back_and_does_not_creep(void **state)
{
	struct fleet_limits limits = FLEET_LIMITS_DEFAULT;
	uint64_t full = 0;
	struct err err = ERR_EMPTY;
	char path[PLACE_BYTES * 2];
	void *db;

	(void)state;
	limits.payload_bytes = 400000;
	snprintf(path, sizeof(path), "%s", place_file(&place, "room.tare"));
	for (uint64_t round = 1; round <= 2; round++) {
		uint64_t now_bytes = 0;

		ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
		put_payloads(db, round, 2000);
		fleet_store_sqlite.close(db);
		ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
		ok(fleet_store_sqlite.size(db, &full, &err), &err);
		assert_true(full > 8000000 && full < 12000000);
		tidy_all(db, BASE_NS, &limits);
		assert_int_equal(count_rows(db, &table_payload), 100);
		fleet_store_sqlite.close(db);
		ok(fleet_store_sqlite.open(path, FLEET_READ, &db, &err), &err);
		ok(fleet_store_sqlite.size(db, &now_bytes, &err), &err);
		fleet_store_sqlite.close(db);
		/* 4 MB of free pages may stay, each time. */
		assert_true(now_bytes < 5500000);
	}
}

/* Rows that no batch would take. */
static void a_row_that_cannot_be_written_takes_nothing_with_it(void **state)
{
	struct statement_row row = { .server = 1, .at_wall_ns = BASE_NS };
	struct fleet_batch good = batch_of(1, 1, &table_statement, &row), bad;
	const struct fleet_batch *both[] = { &good, &bad };
	struct err err = ERR_EMPTY;
	bool was_there[2];
	void *db;

	(void)state;
	row.key.queryid = 2;
	bad = batch_of(1, 2, &table_statement, &row);
	((struct statement_row *)bad.blocks[0].rows)->span_ns = UINT64_MAX;
	ok(fleet_store_sqlite.open(place_file(&place, "bad.tare"), FLEET_WRITE, &db, &err), &err);
	assert_int_equal(fleet_store_sqlite.put(db, both, 2, was_there, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "table statement, column span_ns"));
	assert_int_equal(count_rows(db, &table_statement), 0);
	ok(fleet_store_sqlite.put(db, both, 1, was_there, &err), &err);
	assert_int_equal(count_rows(db, &table_statement), 1);
	fleet_store_sqlite.close(db);
	fleet_batch_free(&good);
	fleet_batch_free(&bad);
}

int main(void)
{
	const struct fleet_suite of = { &fleet_store_sqlite, fresh, true };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_schema_is_what_the_fields_say),
		cmocka_unit_test(every_column_of_a_sum_has_its_rule),
		cmocka_unit_test(a_url_finds_its_engine),
		cmocka_unit_test(a_fleets_file_and_a_recording_are_told_apart),
		cmocka_unit_test(a_second_writer_is_refused_with_the_holders_pid),
		cmocka_unit_test(a_newer_schema_is_refused_with_the_version_it_needs),
		cmocka_unit_test(a_hostile_file_is_refused_with_table_and_column),
		cmocka_unit_test(a_reader_whose_file_went_away_says_so_and_finds_it_again),
		cmocka_unit_test(the_file_gives_room_back_and_does_not_creep),
		cmocka_unit_test(a_row_that_cannot_be_written_takes_nothing_with_it),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = fleet_store_suite(&of);
	failed += cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
