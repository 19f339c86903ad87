/* fault_fleet_room.c - disks that fail or fill up under a fleet's store and its spool: all or nothing, clear words, and the same
 * batch goes in when the disk is well again. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fault/disk.h"
#include "fault/place.h"
#include "fault/writer.h"
#include "store/fleet_store.h"
#include "store/spool.h"

#define BASE_NS (INT64_C(20786) * 86400 * 1000000000)

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

/* 30 statements, a payload and a run. */
static struct fleet_batch batch_of(uint64_t cycle)
{
	static char bytes[6000];
	struct fleet_batch b = { .server = 1, .cycle = cycle };
	int64_t at_ns = BASE_NS + (int64_t)cycle * INT64_C(60000000000);
	struct run_row run = { .server = 1, .cycle = cycle, .at_wall_ns = at_ns };
	struct payload_row payload = { .server = 1, .content = { bytes, sizeof(bytes) } };

	memcpy(payload.digest.bytes + 1, &cycle, sizeof(cycle));
	payload.digest.bytes[0] = 1;
	for (int64_t i = 0; i < 30; i++) {
		struct statement_row row = {
			.server = 1, .at_wall_ns = at_ns, .key = { 1, 2, i, true }, .span_ns = 1
		};

		assert_int_equal(fleet_batch_add(&b, &table_statement, BLOCK_PUT, &row), 0);
	}
	assert_int_equal(fleet_batch_add(&b, &table_payload, BLOCK_PUT, &payload), 0);
	assert_int_equal(fleet_batch_add(&b, &table_run, BLOCK_PUT, &run), 0);
	return b;
}

static int count_one(void *owner, const void *row)
{
	(void)row;
	++*(uint64_t *)owner;
	return 0;
}

static uint64_t count(void *db, const struct table *t)
{
	struct err err = ERR_EMPTY;
	uint64_t rows = 0;

	ok(fleet_store_sqlite.scan(db, t, &FLEET_RANGE_ALL, count_one, &rows, &err), &err);
	return rows;
}

/* Every row of a batch is there, or none. */
static void batches_are_whole(void *db)
{
	uint64_t runs = count(db, &table_run);

	assert_int_equal(count(db, &table_statement), 30 * runs);
	assert_int_equal(count(db, &table_payload), runs);
}

/* Nothing goes, but hours are summed anew after each put. */
static const struct fleet_limits limits = { UINT64_C(864000000000000), UINT64_C(8640000000000000),
					    UINT64_C(86400000000000000), UINT64_C(864000000000000),
					    1u << 30 };

/* A put and a tidy on a disk that may fail; the first failure. */
static int put_and_tidy(void *db, uint64_t cycle, struct err *err)
{
	struct fleet_batch b = batch_of(cycle);
	const struct fleet_batch *all[] = { &b };
	struct wall now = { BASE_NS + INT64_C(100) * 3600000000000 };
	struct fleet_tidied tidied;
	bool was_there;
	int rc = fleet_store_sqlite.put(db, all, 1, &was_there, err);

	if (rc == 0)
		rc = fleet_store_sqlite.tidy(db, now, &limits, 50000000, &tidied, err);
	fleet_batch_free(&b);
	return rc;
}

/* One put and one tidy with one fault. Returns whether it was met. */
static bool work_on_failing_disk(void *db, const struct disk_fault *fault, uint64_t *cycle)
{
	struct err err = ERR_EMPTY;
	bool is_met;
	int rc;

	disk_set(fault);
	rc = put_and_tidy(db, *cycle, &err);
	is_met = disk_fired() > 0;
	disk_heal();
	if (rc != 0 && rc != -fault->error && (fault->is_sticky || rc != -EIO))
		fail_msg("operation %llu, errno %d: %d: %s", (unsigned long long)fault->at,
			 fault->error, rc, err.msg);
	if (rc != 0 && (strstr(err.works, "the store is as it was") == NULL || err.mend[0] == '\0'))
		fail_msg("'%s' '%s' '%s' does not say what still works", err.msg, err.works,
			 err.mend);
	batches_are_whole(db);
	ok(put_and_tidy(db, (*cycle)++, &err), &err);
	batches_are_whole(db);
	return is_met;
}

static const struct {
	int error;
	bool is_sticky;
} faults[] = {
	{ EIO, false }, { EIO, true }, { ENOSPC, false }, { EDQUOT, true }, { EROFS, true }
};

/* Calls `try` with the n-th operation failing, for every n until none is met, for each fault. */
static void at_every_n(unsigned kinds, bool (*try)(const struct disk_fault *fault))
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct disk_fault fault = { .at = 1,
					    .kinds = kinds,
					    .error = faults[i].error,
					    .is_sticky = faults[i].is_sticky };

		while (try(&fault))
			fault.at++;
		print_message("%s, %s: %llu operations\n", strerror(fault.error),
			      fault.is_sticky ? "for good" : "once",
			      (unsigned long long)fault.at - 1);
		assert_true(fault.at > 8);
	}
}

/* The same on a store of its own for each kind of fault: what is counted stays small. */
static struct {
	void *db;
	uint64_t cycle;
} work;

static bool work_on(const struct disk_fault *fault)
{
	struct err err = ERR_EMPTY;
	char path[2 * PLACE_BYTES];
	bool is_met;

	snprintf(path, sizeof(path), "%s", place_file(&place, "room.tare"));
	if (work.db == NULL) {
		ok(fleet_store_sqlite.open(path, FLEET_WRITE, &work.db, &err), &err);
		work.cycle = 1;
	}
	is_met = work_on_failing_disk(work.db, fault, &work.cycle);
	if (is_met)
		return true;
	fleet_store_sqlite.close(work.db);
	assert_string_equal(writer_integrity(path), "ok");
	ok(fleet_store_sqlite.open(path, FLEET_READ, &work.db, &err), &err);
	assert_int_equal(count(work.db, &table_run), work.cycle - 1);
	fleet_store_sqlite.close(work.db);
	work.db = NULL;
	unlink(path);
	return false;
}

static void a_disk_that_fails_once_or_for_good_leaves_whole_batches(void **state)
{
	(void)state;
	at_every_n(DISK_ANY, work_on);
}

/* A store that is closed on a failing disk. Returns whether the fault was met. */
static bool close_on_failing_disk(const struct disk_fault *fault)
{
	struct err err = ERR_EMPTY;
	char path[2 * PLACE_BYTES];
	void *db = NULL;
	bool is_met;

	snprintf(path, sizeof(path), "%s", place_file(&place, "end.tare"));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	for (uint64_t cycle = 1; cycle <= 3; cycle++)
		ok(put_and_tidy(db, cycle, &err), &err);
	disk_set(fault);
	fleet_store_sqlite.close(db);
	is_met = disk_fired() > 0;
	disk_heal();
	ok(fleet_store_sqlite.open(path, FLEET_READ, &db, &err), &err);
	batches_are_whole(db);
	assert_int_equal(count(db, &table_run), 3);
	fleet_store_sqlite.close(db);
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	assert_string_equal(writer_integrity(path), "ok");
	assert_int_equal(unlink(path), 0);
	return is_met;
}

static void the_end_of_a_store_loses_nothing_of_it(void **state)
{
	(void)state;
	at_every_n(DISK_ANY, close_on_failing_disk);
}

/* A store that is made on a failing disk is there whole, or not at all. */
static bool make_on_failing_disk(const struct disk_fault *fault)
{
	int files = place_files(&place), rc;
	struct err err = ERR_EMPTY;
	char path[2 * PLACE_BYTES];
	void *db = NULL;
	bool is_met;

	snprintf(path, sizeof(path), "%s", place_file(&place, "unborn.tare"));
	disk_set(fault);
	rc = fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err);
	is_met = disk_fired() > 0;
	disk_heal();
	if (rc == 0) {
		ok(put_and_tidy(db, 1, &err), &err);
		fleet_store_sqlite.close(db);
	} else if (rc != -fault->error && (fault->is_sticky || rc != -EIO)) {
		fail_msg("operation %llu, errno %d: %d: %s", (unsigned long long)fault->at,
			 fault->error, rc, err.msg);
	}
	/* Made, and then WAL could not be begun: it is whole, and the next start goes on with it. */
	if (access(path, F_OK) == 0) {
		ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
		fleet_store_sqlite.close(db);
		assert_string_equal(writer_integrity(path), "ok");
		unlink(path);
	}
	assert_int_equal(place_files(&place), files);
	return is_met;
}

static void a_store_is_made_whole_or_not_at_all(void **state)
{
	(void)state;
	at_every_n(DISK_ANY & ~(1u << DISK_REMOVE), make_on_failing_disk);
}

static void a_place_that_may_not_be_written_says_so(void **state)
{
	struct err err = ERR_EMPTY;
	void *db = NULL;

	(void)state;
	assert_int_equal(fleet_store_sqlite.open("/proc/fleet.tare", FLEET_WRITE, &db, &err),
			 -ENOENT);
	assert_int_equal(
		fleet_store_sqlite.open("/sys/kernel/fleet.tare", FLEET_WRITE, &db, &err) < 0, 1);
	assert_non_null(strstr(err.msg, "/sys/kernel/fleet.tare"));
	assert_int_equal(fleet_store_sqlite.open(place.folder, FLEET_WRITE, &db, &err), -EISDIR);
	assert_int_equal(fleet_store_sqlite.open(place.folder, FLEET_READ, &db, &err), -EISDIR);
	assert_int_equal(
		fleet_store_sqlite.open(place_file(&place, "none/x.tare"), FLEET_WRITE, &db, &err),
		-ENOENT);
	assert_null(db);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static void a_spool_whose_disk_fills_up_refuses_and_keeps_what_it_has(void **state)
{
	char folder[2 * PLACE_BYTES];
	struct rlimit before, small = { 100000, 100000 };
	struct err err = ERR_EMPTY;
	struct spool *s = NULL;
	uint64_t kept = 0;
	bool has = true;

	(void)state;
	snprintf(folder, sizeof(folder), "%s", place_file(&place, "spool"));
	ok(spool_open(folder, SPOOL_BYTES_LEAST, &s, &err), &err);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	/* No file may be longer than 100,000 bytes: the one that does not fit was begun. */
	for (;; kept++) {
		struct fleet_batch b = batch_of(kept);
		int rc = spool_add(s, &b, &err);

		fleet_batch_free(&b);
		if (rc != 0) {
			assert_int_equal(rc, -EFBIG);
			break;
		}
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(kept > 5);
	assert_int_equal(spool_state(s).refused_batches, 1);
	assert_int_equal(spool_state(s).refused_rows, 32);
	for (uint64_t i = 0; i < 3; i++, kept++) {
		struct fleet_batch b = batch_of(kept);

		ok(spool_add(s, &b, &err), &err);
		fleet_batch_free(&b);
	}
	/* A sync that fails is said. */
	disk_set(&(struct disk_fault){ .at = 1, .kinds = 1u << DISK_SYNC, .error = EIO });
	assert_int_equal(spool_sync(s, &err), -EIO);
	disk_heal();
	ok(spool_sync(s, &err), &err);
	for (uint64_t i = 0; i <= kept; i++) {
		struct fleet_batch b = FLEET_BATCH_EMPTY;

		ok(spool_next(s, &b, &has, &err), &err);
		assert_int_equal(has, i < kept);
		assert_int_equal(b.cycle, has ? i : 0);
		fleet_batch_free(&b);
	}
	assert_int_equal(spool_state(s).torn_bytes, 0);
	spool_close(s);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_that_fails_once_or_for_good_leaves_whole_batches),
		cmocka_unit_test(the_end_of_a_store_loses_nothing_of_it),
		cmocka_unit_test(a_store_is_made_whole_or_not_at_all),
		cmocka_unit_test(a_place_that_may_not_be_written_says_so),
		cmocka_unit_test(a_spool_whose_disk_fills_up_refuses_and_keeps_what_it_has),
	};
	int failed;

	signal(SIGXFSZ, SIG_IGN);
	if (!place_make(&place))
		return 1;
	disk_watch(place.folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	disk_watch(NULL);
	place_remove(&place);
	return failed;
}
