/* test_store.c - what was saved comes back; the schema is what the descriptors say. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/fields.h"
#include "core/scoped.h"
#include "fault/place.h"
#include "fault/shadow.h"
#include "store/schema.h"
#include "store/store.h"

#define LIMIT_BYTES (4u << 20)

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static const struct store_limits limits = { .bytes = LIMIT_BYTES };

static void what_was_saved_comes_back(void **state)
{
	struct shadow_settings settings = { { 64, 64, { 400, 200, 20000 } }, 1, 40, 47, true, 12 };
	struct shadow *shadow = shadow_open(&settings);
	struct changes changes = CHANGES_EMPTY;
	struct recording recording = RECORDING_EMPTY;
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	const char *path = place_file(&place, "round.tare");
	void *db;

	(void)state;
	ok(store_sqlite.create(path, &limits, &db, &err), &err);
	for (uint64_t i = 1; i <= 120; i++) {
		struct label label = shadow_label(shadow, i);

		shadow_step(shadow, 1 + (uint32_t)i * 2);
		assert_true(shadow_changes(shadow, &changes));
		ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
		assert_false(saved.is_paused);
		assert_true(saved.bytes <= LIMIT_BYTES);
		changes_reset(&changes);
		shadow_saved(shadow);
		if (i % 10 != 0)
			continue;
		ok(store_sqlite.load(path, &recording, &err), &err);
		assert_string_equal(shadow_differs(shadow, &recording), "");
		assert_int_equal(recording.label.saves, i);
		assert_int_equal(recording.label.rng_0, UINT64_MAX);
		assert_int_equal(recording.label.writer_pid, NO_ID);
		assert_int_equal(recording.label.comm.len, 4);
		recording_free(&recording);
	}
	store_sqlite.close(db);
	ok(store_sqlite.load(path, &recording, &err), &err);
	assert_string_equal(shadow_differs(shadow, &recording), "");
	recording_free(&recording);
	changes_free(&changes);
	shadow_close(shadow);
}

/* What SQLite must say of a column that is described so. */
static void column_is_as_described(sqlite3_stmt *info, const struct table *t, size_t i)
{
	const struct field *f = &t->fields[i];
	static const char *const types[] = { [FIELD_STR] = "ANY",
					     [FIELD_BATCHES] = "BLOB",
					     [FIELD_STEPS] = "BLOB",
					     [FIELD_F64] = "REAL" };
	const char *type =
		f->type < ARRAY_LEN(types) && types[f->type] != NULL ? types[f->type] : "INTEGER";
	bool may_be_null = (f->type == FIELD_U32 && !f->is_key) || f->type == FIELD_COUNTER;
	int place_in_key = f->is_key ? (int)i + 1 : 0;

	if (sqlite3_step(info) != SQLITE_ROW)
		fail_msg("%s.%s is not in the schema", t->name, f->name);
	assert_string_equal(sqlite3_column_text(info, 1), f->name);
	assert_string_equal(sqlite3_column_text(info, 2), type);
	assert_int_equal(sqlite3_column_int(info, 3), !may_be_null);
	assert_int_equal(sqlite3_column_int(info, 5), place_in_key);
}

static void the_schema_is_what_the_fields_say(void **state)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (unsigned i = 0; i < schema_newest; i++)
		assert_int_equal(sqlite3_exec(db, schema_files[i], NULL, NULL, NULL), SQLITE_OK);
	for (size_t t = 0; t < table_count; t++) {
		char *sql = sqlite3_mprintf("PRAGMA table_info(%s)", tables[t]->name);

		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
		for (size_t i = 0; i < tables[t]->field_count; i++)
			column_is_as_described(stmt, tables[t], i);
		assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
		sqlite3_finalize(stmt);
		sqlite3_free(sql);
	}
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT count(*), sum(sql LIKE '%) STRICT%') "
					    "FROM sqlite_schema WHERE type = 'table'",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), table_count);
	assert_int_equal(sqlite3_column_int(stmt, 1), table_count);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_schema_is_what_the_fields_say),
		cmocka_unit_test(what_was_saved_comes_back),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
