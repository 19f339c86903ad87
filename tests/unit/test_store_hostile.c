/* test_store_hostile.c - what is no recording, or a damaged one, is refused in words; nothing of it is believed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/scoped.h"
#include "fault/place.h"
#include "fault/shadow.h"
#include "store/batches.h"
#include "store/store.h"

#define FLIPS	      300
#define LONGEST_CPU_S 1.0

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

/* A small, good recording. */
static void make_good(const char *path)
{
	struct shadow_settings settings = { { 32, 32, { 120, 60, 4000 } }, 3, 30, 40, true, 6 };
	struct store_limits limits = { 1u << 20, true };
	struct shadow *shadow = shadow_open(&settings);
	struct changes changes = CHANGES_EMPTY;
	struct label label = shadow_label(shadow, 1);
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	void *db;

	shadow_fill(shadow);
	assert_true(shadow_changes(shadow, &changes));
	ok(store_sqlite.create(path, &limits, &db, &err), &err);
	ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
	store_sqlite.close(db);
	changes_free(&changes);
	shadow_close(shadow);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static unsigned char *read_file(const char *path, size_t *out_size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned char *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*out_size = (size_t)st.st_size;
	return bytes;
}

/* Changes a good recording, which is made once, by SQL. */
static void make_changed(const char *path, const char *sql)
{
	static unsigned char *good;
	static size_t size;
	sqlite3 *db;
	char *why = NULL;

	if (good == NULL) {
		make_good(path);
		good = read_file(path, &size);
	}
	write_file(path, good, size);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static void refused(const char *path, int code, const char *words)
{
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	int rc = store_sqlite.load(path, &recording, &err);

	if (rc != code || strstr(err.msg, words) == NULL)
		fail_msg("wanted %d '%s', have %d '%s'", code, words, rc, err.msg);
	assert_null(recording.nodes);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.msg, path));
}

static void what_is_no_recording_is_named(void **state)
{
	const char *path = place_file(&place, "x.tare");
	sqlite3 *db;

	(void)state;
	refused("/nowhere/x.tare", -ENOENT, "no such file");
	refused(place.folder, -EISDIR, "folder");
	refused("/dev/null", -EBADMSG, "no regular file");
	write_file(path, "", 0);
	refused(path, -EBADMSG, "no recording of tare");
	write_file(
		path,
		"# not a database, but long enough to be taken for one by a careless reader .....\n"
		"...............................................................................",
		160);
	refused(path, -EBADMSG, "no SQLite database");
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE recording (x)", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	refused(path, -EBADMSG, "database of another program");
}

static void a_newer_schema_says_which_tare_it_needs(void **state)
{
	const char *path = place_file(&place, "x.tare");

	(void)state;
	make_changed(path, "PRAGMA user_version = 5; UPDATE recording SET tare_version = '7.3.1'");
	refused(path, -ENOTSUP, "needs tare >= 7.3.1");
	make_changed(path, "PRAGMA user_version = 9; DROP TABLE recording");
	refused(path, -ENOTSUP, "needs a newer tare");
	make_changed(
		path,
		"PRAGMA user_version = 9; UPDATE recording SET tare_version = char(27) || '[31m'");
	refused(path, -ENOTSUP, "needs a newer tare");
	make_changed(path, "PRAGMA user_version = 0");
	refused(path, -EBADMSG, "no schema version");
	make_changed(path, "PRAGMA user_version = -1");
	refused(path, -EBADMSG, "no schema version");
}

/* What SQL can do to a recording, and the words that refuse it. */
#define WATCH_REST                                                                            \
	"sources, hook, hook_why, clock, scope, window_ns, windows, windows_in_row, "         \
	"interval_given, interval_most, slow_ns, frames, slow, scaled, calls, timed, "        \
	"charged_ps, calibrations, attach_ns, detach_ns, allowed_rate, refused, lost_names, " \
	"lost_places, lost_calls, lost_slow, lost_returns, torn, expired"
#define WATCHED_REST                                                                           \
	"kind, name, symbol, module, pattern, mode, first, why_not, offset, untimed_ps, "      \
	"extra_ps, hook_ps, floor_ps, assumed_untimed_ps, assumed_extra_ps, assumed_hook_ps, " \
	"0, interval, interval_changes, is_sliced, 0, 0, 0, 0"
static const struct {
	const char *name, *sql, *words;
} changed[] = {
	{ "a table more", "CREATE TABLE more (x)", "tables are not those" },
	{ "an index", "CREATE INDEX i ON node (frame)", "tables are not those" },
	{ "a trigger", "CREATE TRIGGER t AFTER INSERT ON node BEGIN SELECT 1; END",
	  "tables are not those" },
	{ "a view in place of a table", "DROP TABLE ledger; CREATE VIEW ledger AS SELECT 1 AS id",
	  "tables are not those" },
	{ "a table less", "DROP TABLE slot", "tables are not those" },
	{ "a column more", "ALTER TABLE node ADD COLUMN x ANY", "tables are not those" },
	{ "no label", "DELETE FROM recording", "table recording" },
	{ "two labels", "INSERT INTO recording SELECT * FROM recording", "table recording" },
	{ "a node without its frame",
	  "DELETE FROM frame WHERE id = (SELECT frame FROM node LIMIT 1)",
	  "its frame does not exist" },
	{ "a node without its parent", "UPDATE node SET parent = 4000000 WHERE id = 5",
	  "does not exist" },
	{ "a node that is its own parent", "UPDATE node SET parent = id WHERE id = 7", "circle" },
	{ "a circle of nodes",
	  "UPDATE node SET parent = 11 WHERE id = 10; UPDATE node SET parent = 12 WHERE id = 11;"
	  "UPDATE node SET parent = 10 WHERE id = 12",
	  "circle" },
	{ "a slot without its node", "UPDATE slot SET node = 4000000 WHERE id = 3",
	  "table slot, row 3" },
	{ "a context without a node", "UPDATE context SET node = NULL WHERE id = 3",
	  "table context, row 3" },
	{ "an id below zero", "UPDATE node SET id = -1 WHERE id = 5", "table node, column id" },
	{ "an id beyond 32 bits", "UPDATE frame SET id = 4294967295 WHERE id = 5",
	  "table frame, column id" },
	{ "a weight below zero", "UPDATE slot SET running_ns = -1 WHERE id = 1",
	  "table slot, column running_ns" },
	{ "weights beyond 63 bits", "UPDATE slot SET running_ns = 9223372036854775807 WHERE id < 2",
	  "the weights up to it" },
	{ "a truth that is neither", "UPDATE recording SET is_finished = 2", "column is_finished" },
	{ "a name that is too long", "UPDATE frame SET name = zeroblob(4097) WHERE id = 2",
	  "table frame, column name" },
	{ "a name that is a number", "UPDATE frame SET name = 17 WHERE id = 2",
	  "table frame, column name" },
	{ "a batch cut off", "UPDATE context SET batch_ns = x'0080df9161ac' WHERE id = 2",
	  "table context, column batch_ns" },
	{ "a batch of 33", "UPDATE context SET batch_ns = x'2001cb065aa3' WHERE id = 2",
	  "table context, column batch_ns" },
	{ "more spans than a batch has", "UPDATE recording SET batches = 33", "column batches" },
	/* a watch */
	{ "a watch without its row", "DELETE FROM watch", "table watch has no row" },
	{ "two watches",
	  "INSERT INTO watch SELECT * FROM (SELECT 1 AS id, " WATCH_REST " FROM watch)",
	  "table watch, column id" },
	{ "a watch of another number", "UPDATE watch SET id = 1", "table watch, column id" },
	{ "rows of no window", "UPDATE watch SET windows_in_row = 0", "column windows_in_row" },
	{ "an interval beyond the largest", "UPDATE watch SET interval_most = 65537",
	  "column interval_most" },
	{ "a refused row that is not there", "UPDATE watch SET refused = 77", "column refused" },
	{ "calls below zero", "UPDATE watch SET calls = -1", "table watch, column calls" },
	{ "a kind that is none", "UPDATE watched SET kind = 4 WHERE id = 2",
	  "table watched, column kind, row 2" },
	{ "no kind", "UPDATE watched SET kind = NULL WHERE id = 2", "table watched, column kind" },
	{ "an interval of a row beyond the largest", "UPDATE watched SET interval = 65537",
	  "table watched, column interval" },
	{ "charges beyond 63 bits", "UPDATE watched SET charged_ps = 9223372036854775807",
	  "table watched, column charged_ps" },
	{ "losses beyond 63 bits", "UPDATE watched SET backwards = 9223372036854775807",
	  "table watched, column abandoned" },
	{ "a name of a watched row that is too long",
	  "UPDATE watched SET symbol = zeroblob(4097) WHERE id = 2",
	  "table watched, column symbol" },
	{ "more watched rows than a watch has",
	  "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)"
	  "INSERT INTO watched SELECT i, " WATCHED_REST " FROM n, (SELECT * FROM watched LIMIT 1)",
	  "more rows than a watch" },
	{ "a window of no row", "UPDATE window SET watched = 77 WHERE rowid = 3",
	  "table window, column watched" },
	{ "a window beyond the last", "UPDATE window SET at = 360 WHERE rowid = 3",
	  "table window, column at" },
	{ "a window of no place", "UPDATE window SET at = -1 WHERE rowid = 3",
	  "table window, column at" },
	{ "an interval of a window beyond the largest", "UPDATE window SET interval = 65537",
	  "table window, column interval" },
	{ "more timed than called", "UPDATE window SET others = calls + 1",
	  "table window, column calls" },
	{ "covered longer than it lasted", "UPDATE window SET covered_ns = span_ns + 1",
	  "table window, column calls" },
	{ "less weight than timed ones", "UPDATE window SET weight = others - 1 WHERE others > 0",
	  "table window, column calls" },
	{ "squares under their sum",
	  "UPDATE window SET weight_squared = weight - 1 WHERE others > 0",
	  "table window, column calls" },
	{ "time of what was never timed",
	  "UPDATE window SET calls = 0, firsts = 0, others = 0, weight = 0, weight_squared = 0",
	  "table window, column calls" },
	{ "calls of windows in which none was timed",
	  "UPDATE window SET calls = 5, firsts = 0, first_ns = 0, first_own_ns = 0, others = 0, "
	  "weight = 0, weight_squared = 0, weighted_ns = 0, weighted_own_ns = 0, probe_ns = 0, "
	  "max_ns = 0",
	  "table window, column calls" },
	{ "a variance below zero", "UPDATE window SET variance_1_ns = -1.0",
	  "table window, column calls" },
	{ "a variance without end", "UPDATE window SET variance_1_ns = 9e999 WHERE rowid = 3",
	  "table window, column variance_1_ns" },
	{ "calls that add up beyond 63 bits",
	  "UPDATE window SET calls = 9223372036854775807 "
	  "WHERE firsts > 0",
	  "the sums up to it" },
	{ "calls never timed that do so too", "UPDATE window SET never_timed = 9223372036854775807",
	  "the sums up to it" },
	{ "times that do so too",
	  "UPDATE window SET weighted_ns = 9223372036854775807 WHERE others > 0",
	  "the sums up to it" },
	{ "a histogram cut off", "UPDATE window SET histogram = x'000570e6b331' WHERE rowid = 3",
	  "table window, column histogram" },
	{ "a histogram with a step beyond the last",
	  "UPDATE window SET histogram = x'00e00b01e1e6551c' WHERE rowid = 3",
	  "table window, column histogram" },
	{ "a histogram too long", "UPDATE window SET histogram = zeroblob(15200) WHERE rowid = 3",
	  "table window, column histogram" },
	{ "weights of histograms beyond 63 bits",
	  "UPDATE window SET histogram = x'0005ffffffffffffffff7fb6f53f6d'", "the sums up to it" },
	{ "a slow frame that is not its parts",
	  "UPDATE slow_frame SET other_ns = other_ns + 1 WHERE rowid IN "
	  "(SELECT rowid FROM slow_frame LIMIT 1)",
	  "table slow_frame, column duration_ns" },
	{ "a part of no slow frame", "INSERT INTO slow_part VALUES (999, 0, 1, 5)",
	  "table slow_part, column slow" },
	{ "a part of no slow frame, before all",
	  "DELETE FROM slow_frame WHERE id = (SELECT min(slow) FROM slow_part)",
	  "table slow_part, column slow" },
	{ "a part of no row", "UPDATE slow_part SET watched = 77",
	  "table slow_part, column watched" },
	{ "a part of nothing", "UPDATE slow_part SET watched = NULL",
	  "table slow_part, column watched" },
	{ "a place left out", "UPDATE slow_part SET place = place + 10",
	  "table slow_part, column place" },
	{ "parts not the largest first",
	  "UPDATE slow_part SET own_ns = own_ns + 99999999999999 WHERE place = 1",
	  "table slow_part, column own_ns" },
	{ "eleven of the ten longest", "UPDATE slow_frame SET is_worst = 1",
	  "table slow_frame, column is_worst" },
	{ "a start beyond 63 bits",
	  "UPDATE slow_frame SET start_ns = 9223372036854775807 "
	  "WHERE duration_ns > 0",
	  "table slow_frame, column duration_ns" },
};

static void what_was_changed_is_refused_by_table_and_column(void **state)
{
	const char *path = place_file(&place, "x.tare");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
		print_message("%s\n", changed[i].name);
		make_changed(path, changed[i].sql);
		refused(path, -EBADMSG, changed[i].words);
	}
}

static void a_recording_of_version_1_opens_and_has_no_watch(void **state)
{
	static const char to_version_1[] =
		"DROP TABLE watch; DROP TABLE watched; DROP TABLE window; DROP TABLE slow_frame;"
		"DROP TABLE slow_part; PRAGMA user_version = 1;"
		"DROP TABLE task; DROP TABLE task_name;"
		"ALTER TABLE recording DROP COLUMN task_source;"
		"ALTER TABLE recording DROP COLUMN tasks;"
		"ALTER TABLE recording DROP COLUMN tasks_dropped;"
		"ALTER TABLE recording DROP COLUMN tasks_unfollowed;"
		"ALTER TABLE recording DROP COLUMN mark_floods;"
		"ALTER TABLE recording DROP COLUMN marks_refused;"
		"ALTER TABLE recording DROP COLUMN task_room_bytes;"
		"ALTER TABLE recording DROP COLUMN stops;"
		"ALTER TABLE recording DROP COLUMN stopped_ns;"
		"ALTER TABLE recording DROP COLUMN cut_calls;"
		"ALTER TABLE recording DROP COLUMN unread_files;"
		"ALTER TABLE recording DROP COLUMN clock_steps;"
		"ALTER TABLE recording DROP COLUMN clock_step_ns;"
		"ALTER TABLE recording DROP COLUMN clock_step_at_ns;"
		"ALTER TABLE recording DROP COLUMN suspended_ns;"
		"UPDATE context SET batch_ns = substr(batch_ns, 1, length(batch_ns) - 4)";
	const char *path = place_file(&place, "x.tare");
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;

	(void)state;
	make_changed(path, "SELECT 1");
	ok(store_sqlite.load(path, &r, &err), &err);
	assert_true(r.node_count > 0 && r.watched_count > 0 && r.window_count > 0);
	assert_true(r.slow_count > 0 && r.slow_part_count > 0 && r.watch.timed > 0);
	recording_free(&r);
	make_changed(path, to_version_1);
	ok(store_sqlite.load(path, &r, &err), &err);
	assert_true(r.node_count > 0);
	assert_int_equal(r.watched_count + r.window_count + r.slow_count + r.slow_part_count, 0);
	assert_int_equal(r.watch.timed, 0);
	recording_free(&r);
	make_changed(path, "PRAGMA user_version = 1");
	refused(path, -EBADMSG, "tables are not those");
}

/* Each value would be a good one; it is not what was written. */
static void a_blob_with_another_checksum_is_refused(void **state)
{
	static const struct {
		const char *name, *sql, *words;
	} cases[] = {
		{ "other weights, the old checksum",
		  "UPDATE context SET batch_ns = CAST(x'0005' || substr(batch_ns, -4) AS BLOB)",
		  "column batch_ns" },
		{ "no checksum", "UPDATE context SET batch_ns = x'0005'", "column batch_ns" },
		{ "a checksum of nothing", "UPDATE context SET batch_ns = x'00000000'",
		  "column batch_ns" },
		{ "another histogram, the old checksum",
		  "UPDATE window SET histogram = CAST(x'000501' || substr(histogram, -4) AS BLOB)"
		  " WHERE length(histogram) > 0",
		  "column histogram" },
	};
	const char *path = place_file(&place, "x.tare");
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		make_changed(path, cases[i].sql);
		refused(path, -EBADMSG, cases[i].words);
	}
	/* With its own checksum the first of them is read. */
	make_changed(path, "UPDATE context SET batch_ns = x'000570e6b331'");
	ok(store_sqlite.load(path, &r, &err), &err);
	recording_free(&r);
}

static double load_cpu_s(const char *path, int *out_code)
{
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	clock_t from = clock();

	*out_code = store_sqlite.load(path, &recording, &err);
	recording_free(&recording);
	if (*out_code != 0 && (err.code != *out_code || err.msg[0] == '\0'))
		fail_msg("%d without words", *out_code);
	return (double)(clock() - from) / CLOCKS_PER_SEC;
}

static void a_truncated_file_never_loads_as_whole(void **state)
{
	const char *path = place_file(&place, "x.tare");
	size_t size;
	unsigned char *bytes;

	(void)state;
	make_good(path);
	bytes = read_file(path, &size);
	for (size_t len = 0; len < size; len += 1511) {
		int code;

		write_file(path, bytes, len);
		assert_true(load_cpu_s(path, &code) < LONGEST_CPU_S);
		if (code != -EBADMSG)
			fail_msg("%zu of %zu bytes: %d", len, size, code);
	}
	free(bytes);
}

static void flipped_bytes_never_crash_and_never_hang(void **state)
{
	const char *path = place_file(&place, "x.tare");
	struct rng rng;
	size_t size;
	unsigned char *bytes;
	int refusals = 0;

	(void)state;
	make_good(path);
	bytes = read_file(path, &size);
	rng_seed(&rng, 77);
	for (int i = 0; i < FLIPS; i++) {
		/* Half of the flips where the structure is densest: heads of pages. */
		size_t page = 4096 * rng_below(&rng, size / 4096);
		size_t at = i % 2 == 0 ? rng_below(&rng, size) : page + rng_below(&rng, 128);
		unsigned char before = bytes[at];
		int code;

		bytes[at] ^= (unsigned char)(1 + rng_below(&rng, 255));
		write_file(path, bytes, size);
		bytes[at] = before;
		if (load_cpu_s(path, &code) > LONGEST_CPU_S)
			fail_msg("flip %d at %zu takes too long", i, at);
		refusals += code != 0;
	}
	print_message("%d of %d refused\n", refusals, FLIPS);
	assert_true(refusals > FLIPS / 10);
	free(bytes);
}

static void batches_are_short_and_come_back(void **state)
{
	uint64_t batch_ns[BATCH_COUNT] = { 0 }, back_ns[BATCH_COUNT];
	uint8_t bytes[BATCHES_MAX_BYTES];
	size_t len;

	(void)state;
	assert_int_equal(batches_encode(batch_ns, bytes), 0);
	batch_ns[3] = 1;
	batch_ns[31] = 300;
	len = batches_encode(batch_ns, bytes);
	assert_int_equal(len, 5);
	assert_int_equal(batches_decode(bytes, len, back_ns), 0);
	assert_memory_equal(batch_ns, back_ns, sizeof(batch_ns));
	for (int i = 0; i < BATCH_COUNT; i++)
		batch_ns[i] = INT64_MAX;
	len = batches_encode(batch_ns, bytes);
	assert_int_equal(len, BATCHES_MAX_BYTES);
	assert_int_equal(batches_decode(bytes, len, back_ns), 0);
	assert_memory_equal(batch_ns, back_ns, sizeof(batch_ns));
	batch_ns[0] = UINT64_C(1) << 63;
	assert_int_equal(batches_encode(batch_ns, bytes), SIZE_MAX);
}

static void batches_of_foreign_bytes_are_checked(void **state)
{
	static const struct {
		const char *name;
		uint8_t bytes[16];
		size_t len;
	} bad[] = {
		{ "an index without a value", { 0 }, 1 },
		{ "an index beyond the last", { 32, 1 }, 2 },
		{ "the same index twice", { 1, 1, 1, 1 }, 4 },
		{ "indexes that fall", { 2, 1, 1, 1 }, 4 },
		{ "a zero", { 0, 0 }, 2 },
		{ "a value that is not the shortest", { 0, 0x81, 0 }, 3 },
		{ "a value cut off", { 0, 0x81 }, 2 },
		{ "a value of ten bytes",
		  { 0, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 1 },
		  11 },
	};
	uint64_t out_ns[BATCH_COUNT] = { 42 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		print_message("%s\n", bad[i].name);
		assert_int_equal(batches_decode(bad[i].bytes, bad[i].len, out_ns), -EBADMSG);
		assert_int_equal(out_ns[0], 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_short_and_come_back),
		cmocka_unit_test(batches_of_foreign_bytes_are_checked),
		cmocka_unit_test(what_is_no_recording_is_named),
		cmocka_unit_test(a_newer_schema_says_which_tare_it_needs),
		cmocka_unit_test(what_was_changed_is_refused_by_table_and_column),
		cmocka_unit_test(a_recording_of_version_1_opens_and_has_no_watch),
		cmocka_unit_test(a_blob_with_another_checksum_is_refused),
		cmocka_unit_test(a_truncated_file_never_loads_as_whole),
		cmocka_unit_test(flipped_bytes_never_crash_and_never_hang),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
