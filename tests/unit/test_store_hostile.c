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
	struct shadow_settings settings = { { 32, 32, { 120, 60, 4000 } }, 3, 30, 40, true };
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

/* Changes a good recording by SQL. */
static void make_changed(const char *path, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	make_good(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
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
	make_changed(path, "PRAGMA user_version = 3; UPDATE recording SET tare_version = '7.3.1'");
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
	{ "a batch cut off", "UPDATE context SET batch_ns = x'0080' WHERE id = 2",
	  "table context, column batch_ns" },
	{ "a batch of 33", "UPDATE context SET batch_ns = x'2001' WHERE id = 2",
	  "table context, column batch_ns" },
	{ "more spans than a batch has", "UPDATE recording SET batches = 33", "column batches" },
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
