/* test_store_create.c - where a new recording may go, what it is called, and who may read it how. */
#include <errno.h>
#include <limits.h>
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

#include "core/scoped.h"
#include "fault/place.h"
#include "fault/shadow.h"
#include "store/store.h"

#define LIMIT_BYTES (1u << 20)
#define NOBODY	    65534

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static int create(const char *url, bool may_overwrite, void **db, struct err *err)
{
	struct store_limits limits = { LIMIT_BYTES, may_overwrite };

	return store_sqlite.create(url, &limits, db, err);
}

static void make(const char *url)
{
	struct err err = ERR_EMPTY;
	void *db;

	ok(create(url, false, &db, &err), &err);
	store_sqlite.close(db);
}

static void touch(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void an_engine_is_found_by_its_scheme(void **state)
{
	const struct store_ops *ops = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	ok(store_find("x.tare", &ops, &err), &err);
	assert_ptr_equal(ops, &store_sqlite);
	ops = NULL;
	ok(store_find("sqlite://x.tare", &ops, &err), &err);
	assert_ptr_equal(ops, &store_sqlite);
	ops = NULL;
	assert_int_equal(store_find("oracle://x", &ops, &err), -EINVAL);
	assert_null(ops);
	assert_non_null(strstr(err.mend, "sqlite://"));
	assert_int_equal(store_find("", &ops, &err), -EINVAL);
}

static void a_new_recording_is_private_whole_and_unfinished(void **state)
{
	const char *path = place_file(&place, "new.tare");
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	struct stat st;
	void *db;

	(void)state;
	ok(create(path, false, &db, &err), &err);
	ok(store_sqlite.load(path, &recording, &err), &err);
	assert_false(recording.label.is_finished);
	assert_int_equal(recording.label.writer_pid, getpid());
	assert_int_equal(recording.label.size_limit_bytes, LIMIT_BYTES);
	assert_true(recording.file_bytes <= LIMIT_BYTES);
	recording_free(&recording);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	store_sqlite.close(db);
	assert_int_equal(place_files(&place), 1);
	/* A page for each table, and a few more. */
	assert_true(place_bytes(&place, "new.tare") < 72 * 1024);
	unlink(place_file(&place, "new.tare"));
}

/* Places where a recording cannot be. */
static const struct {
	const char *name, *path;
	int code;
	const char *words;
} places[] = {
	{ "a folder", "folder", -EISDIR, "it is a folder" },
	{ "a folder with a slash", "folder/", -EISDIR, "it is a folder" },
	{ "the folder itself", ".", -EISDIR, "it is a folder" },
	{ "a folder that is not there", "none/x.tare", -ENOENT, "no such file or folder" },
	{ "below a file", "file/x.tare", -ENOTDIR, "no folder" },
	{ "a name that is taken", "file", -EEXIST, "there is a file of this name" },
	{ "a dangling link", "link", -EEXIST, "there is a file of this name" },
};

static void a_place_that_cannot_be_is_told_apart(void **state)
{
	char path[2 * PLACE_BYTES];
	struct err err = ERR_EMPTY;
	void *db = NULL;

	(void)state;
	assert_int_equal(mkdir(place_file(&place, "folder"), 0700), 0);
	touch(place_file(&place, "file"), "mine");
	assert_int_equal(symlink("/nowhere/at/all", place_file(&place, "link")), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		print_message("%s\n", places[i].name);
		snprintf(path, sizeof(path), "%s/%s", place.folder, places[i].path);
		assert_int_equal(create(path, false, &db, &err), places[i].code);
		assert_non_null(strstr(err.msg, places[i].words));
		assert_true(err.mend[0] != '\0');
		assert_null(db);
		assert_int_equal(place_files(&place), 3);
	}
	unlink(place_file(&place, "file"));
	unlink(place_file(&place, "link"));
	rmdir(place_file(&place, "folder"));
}

static void a_name_too_long_for_its_wal_is_refused(void **state)
{
	char name[NAME_MAX + 1];
	struct err err = ERR_EMPTY;
	void *db = NULL;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[NAME_MAX - 7] = '\0';
	assert_int_equal(create(place_file(&place, name), false, &db, &err), -ENAMETOOLONG);
	name[NAME_MAX - 8] = '\0';
	ok(create(place_file(&place, name), false, &db, &err), &err);
	store_sqlite.close(db);
	unlink(place_file(&place, name));
}

static void force_replaces_a_file_and_nothing_else(void **state)
{
	const char *path = place_file(&place, "old.tare");
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	void *db = NULL;

	(void)state;
	touch(path, "an old file of some kind");
	ok(create(path, true, &db, &err), &err);
	store_sqlite.close(db);
	ok(store_sqlite.load(path, &recording, &err), &err);
	recording_free(&recording);
	unlink(path);
	db = NULL;
	assert_int_equal(create("/dev/null", true, &db, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "no regular file"));
	assert_int_equal(create(place.folder, true, &db, &err), -EISDIR);
	assert_null(db);
}

static void what_an_earlier_file_left_is_never_played_into_a_new_one(void **state)
{
	char wal[2 * PLACE_BYTES];
	const char *path = place_file(&place, "again.tare");
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	sqlite3 *db;

	(void)state;
	/* A -wal that is valid, of another database. */
	snprintf(wal, sizeof(wal), "cp %s/other-wal %s-wal", place.folder, path);
	assert_int_equal(sqlite3_open("file::memory:", &db), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(sqlite3_open(place_file(&place, "other"), &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t (x);", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(system(wal), 0);
	sqlite3_close(db);
	make(place_file(&place, "again.tare"));
	ok(store_sqlite.load(place_file(&place, "again.tare"), &recording, &err), &err);
	recording_free(&recording);
	unlink(place_file(&place, "again.tare"));
	unlink(place_file(&place, "other"));
	assert_int_equal(place_files(&place), 0);
}

static void a_name_is_a_name_whatever_its_bytes(void **state)
{
	static const char *const names[] = {
		":memory:",	   "a?mode=memory",  "a#b",	    "100%41.tare",
		"with blank.tare", "\xff\xfe.tare",  "file:x.tare", "a&cache=shared",
		"quote'\"\\.tare", "new\nline.tare",
	};
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	char before[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(place.folder), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		print_message("%s\n", names[i]);
		make(names[i]);
		assert_int_equal(access(place_file(&place, names[i]), F_OK), 0);
		assert_int_equal(place_files(&place), 1);
		ok(store_sqlite.load(names[i], &recording, &err), &err);
		recording_free(&recording);
		unlink(place_file(&place, names[i]));
	}
	assert_int_equal(chdir(before), 0);
}

/* As somebody without rights here; only root needs to become one. */
static void be_nobody(bool is_nobody)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(is_nobody ? NOBODY : 0), 0);
}

static void set_mode(const char *name, mode_t mode)
{
	char path[2 * PLACE_BYTES];

	snprintf(path, sizeof(path), "%s%s%s", place.folder, name[0] != '\0' ? "/" : "", name);
	assert_int_equal(chmod(path, mode), 0);
}

static void a_folder_that_may_not_be_written_to_is_told(void **state)
{
	struct err err = ERR_EMPTY;
	void *db = NULL;
	int rc;

	(void)state;
	set_mode("", 0555);
	be_nobody(true);
	rc = create(place_file(&place, "x.tare"), false, &db, &err);
	be_nobody(false);
	set_mode("", 0700);
	assert_int_equal(rc, -EACCES);
	assert_non_null(strstr(err.mend, "-o"));
	assert_int_equal(place_files(&place), 0);
}

/* Copies what a writer holds, as it is in this instant: what kill -9 would leave. */
static void copy_of_a_killed_one(const char *name, bool has_shm)
{
	char command[8 * PLACE_BYTES];
	struct shadow_settings settings = { { 32, 32, { 120, 60, 4000 } }, 3, 30, 40, false };
	struct shadow *shadow = shadow_open(&settings);
	struct changes changes = CHANGES_EMPTY;
	struct label label = shadow_label(shadow, 1);
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	sqlite3 *sitter;
	void *db;

	ok(create(place_file(&place, "live.tare"), false, &db, &err), &err);
	/* One who sits keeps the save in -wal. */
	assert_int_equal(sqlite3_open(place_file(&place, "live.tare"), &sitter), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sitter, "BEGIN; SELECT * FROM recording", NULL, NULL, NULL),
			 SQLITE_OK);
	shadow_fill(shadow);
	assert_true(shadow_changes(shadow, &changes));
	ok(store_sqlite.save(db, &label, &changes, &saved, &err), &err);
	snprintf(command, sizeof(command),
		 "cd %s && cp live.tare %s && cp live.tare-wal %s-wal && { %s || cp live.tare-shm "
		 "%s-shm; }",
		 place.folder, name, name, has_shm ? "false" : "true", name);
	assert_int_equal(system(command), 0);
	sqlite3_close(sitter);
	store_sqlite.close(db);
	unlink(place_file(&place, "live.tare"));
	changes_free(&changes);
	shadow_close(shadow);
}

static void a_killed_one_opens_in_a_folder_that_is_read_only(void **state)
{
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	int rc;

	(void)state;
	for (int has_shm = 1; has_shm >= 0; has_shm--) {
		copy_of_a_killed_one("dead.tare", has_shm == 1);
		set_mode("dead.tare", 0444);
		set_mode("dead.tare-wal", 0444);
		if (has_shm == 1)
			set_mode("dead.tare-shm", 0444);
		set_mode("", 0555);
		be_nobody(true);
		rc = store_sqlite.load(place_file(&place, "dead.tare"), &recording, &err);
		be_nobody(false);
		set_mode("", 0700);
		print_message("%s -shm\n", has_shm == 1 ? "with" : "without");
		ok(rc, &err);
		/* The save is there, that only -wal holds. */
		assert_int_equal(recording.label.saves, 1);
		assert_true(recording.node_count > 0);
		recording_free(&recording);
		assert_int_equal(place_files(&place), 2 + has_shm);
		unlink(place_file(&place, "dead.tare"));
		unlink(place_file(&place, "dead.tare-wal"));
		unlink(place_file(&place, "dead.tare-shm"));
	}
}

static void a_damaged_wal_is_cut_off_where_it_is_damaged(void **state)
{
	struct recording recording = RECORDING_EMPTY;
	struct rng rng;
	int old = 0, whole = 0;

	(void)state;
	rng_seed(&rng, 5);
	copy_of_a_killed_one("dead.tare", false);
	for (int i = 0; i < 60; i++) {
		FILE *wal = fopen(place_file(&place, "dead.tare-wal"), "r+");
		long size, at;
		int byte;

		assert_non_null(wal);
		fseek(wal, 0, SEEK_END);
		size = ftell(wal);
		at = (long)rng_below(&rng, (uint64_t)size);
		fseek(wal, at, SEEK_SET);
		byte = fgetc(wal);
		fseek(wal, at, SEEK_SET);
		fputc(byte ^ 0x40, wal);
		fflush(wal);
		/* One transaction: all of it, or what was before. */
		assert_int_equal(
			store_sqlite.load(place_file(&place, "dead.tare"), &recording, NULL), 0);
		old += recording.label.saves == 0 && recording.node_count == 0;
		whole += recording.label.saves == 1 && recording.node_count > 0;
		recording_free(&recording);
		fseek(wal, at, SEEK_SET);
		fputc(byte, wal);
		fclose(wal);
	}
	assert_int_equal(old + whole, 60);
	assert_true(old > 30);
	unlink(place_file(&place, "dead.tare"));
	unlink(place_file(&place, "dead.tare-wal"));
}

static void a_finished_one_opens_in_a_folder_that_is_read_only(void **state)
{
	struct recording recording = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	sqlite3 *db;
	int rc;

	(void)state;
	for (int is_wal = 0; is_wal < 2; is_wal++) {
		make(place_file(&place, "done.tare"));
		/* As it stays when a reader sat to the end. */
		if (is_wal == 1) {
			assert_int_equal(sqlite3_open(place_file(&place, "done.tare"), &db),
					 SQLITE_OK);
			assert_int_equal(
				sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL),
				SQLITE_OK);
			sqlite3_close(db);
		}
		assert_int_equal(place_files(&place), 1);
		set_mode("done.tare", 0444);
		set_mode("", 0555);
		be_nobody(true);
		rc = store_sqlite.load(place_file(&place, "done.tare"), &recording, &err);
		be_nobody(false);
		set_mode("", 0700);
		ok(rc, &err);
		recording_free(&recording);
		/* Nor does reading leave anything where it could. */
		ok(store_sqlite.load(place_file(&place, "done.tare"), &recording, &err), &err);
		recording_free(&recording);
		assert_int_equal(place_files(&place), 1);
		unlink(place_file(&place, "done.tare"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_engine_is_found_by_its_scheme),
		cmocka_unit_test(a_new_recording_is_private_whole_and_unfinished),
		cmocka_unit_test(a_place_that_cannot_be_is_told_apart),
		cmocka_unit_test(a_name_too_long_for_its_wal_is_refused),
		cmocka_unit_test(force_replaces_a_file_and_nothing_else),
		cmocka_unit_test(what_an_earlier_file_left_is_never_played_into_a_new_one),
		cmocka_unit_test(a_name_is_a_name_whatever_its_bytes),
		cmocka_unit_test(a_folder_that_may_not_be_written_to_is_told),
		cmocka_unit_test(a_damaged_wal_is_cut_off_where_it_is_damaged),
		cmocka_unit_test(a_finished_one_opens_in_a_folder_that_is_read_only),
		cmocka_unit_test(a_killed_one_opens_in_a_folder_that_is_read_only),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
