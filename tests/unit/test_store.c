/* test_store.c - what was saved comes back; the schema is what the descriptors say. */
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
	struct shadow_settings settings = { { 64, 64, { 400, 200, 20000 } }, 1, 40, 47, true };
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
		assert_true(shadow_take(shadow, &changes));
		ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
		assert_false(saved.is_paused);
		assert_true(saved.bytes <= LIMIT_BYTES);
		changes_reset(&changes);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_saved_comes_back),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
