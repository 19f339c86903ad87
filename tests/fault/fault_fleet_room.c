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
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/scoped.h"
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

/* A disk that fails: SQLite's writes, truncations and syncs are counted here, and the n-th one fails. */
static struct {
	uint64_t seen, fails_at; /* 0: none fails */
	int error;
	bool is_sticky;
	uint64_t fired;
} disk;

static bool disk_fails(void)
{
	disk.seen++;
	if (disk.fails_at == 0 || disk.seen < disk.fails_at ||
	    (disk.seen > disk.fails_at && !disk.is_sticky))
		return false;
	disk.fired++;
	errno = disk.error;
	return true;
}

static ssize_t disk_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	return disk_fails() ? -1 : pwrite(fd, bytes, size, at);
}

static int disk_ftruncate(int fd, off_t size)
{
	return disk_fails() ? -1 : ftruncate(fd, size);
}

/* SQLite's library finds these before the C library's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return disk_fails() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return disk_fails() ? -1 : (int)syscall(SYS_fsync, fd);
}

static void watch_disk(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	assert_int_equal(vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)disk_pwrite),
			 SQLITE_OK);
	assert_int_equal(vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)disk_pwrite),
			 SQLITE_OK);
	assert_int_equal(vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)disk_ftruncate),
			 SQLITE_OK);
}

static void set_disk(uint64_t fails_at, int error, bool is_sticky)
{
	disk.seen = disk.fired = 0;
	disk.fails_at = fails_at;
	disk.error = error;
	disk.is_sticky = is_sticky;
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

static void a_disk_that_fails_once_or_for_good_leaves_whole_batches(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT, EROFS };
	struct err err = ERR_EMPTY;
	uint64_t cycle = 1, fired = 0;
	char path[2 * PLACE_BYTES];
	void *db = NULL;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "room.tare"));
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	for (uint64_t n = 1; n <= 60; n++) {
		int error = errors[n % ARRAY_LEN(errors)], rc;

		for (int sticky = 0; sticky < 2; sticky++) {
			set_disk(n, error, sticky == 1);
			rc = put_and_tidy(db, cycle, &err);
			fired += disk.fired > 0;
			if (rc != 0 && rc != -EIO && rc != -ENOSPC && rc != -error)
				fail_msg("write %llu, errno %d: %d: %s", (unsigned long long)n,
					 error, rc, err.msg);
			if (rc != 0 && strstr(err.works, "the store is as it was") == NULL)
				fail_msg("'%s' does not say what still works", err.works);
			set_disk(0, 0, false);
			batches_are_whole(db);
			ok(put_and_tidy(db, cycle++, &err), &err);
			batches_are_whole(db);
		}
	}
	assert_true(fired > 20);
	fleet_store_sqlite.close(db);
	assert_string_equal(writer_integrity(path), "ok");
	ok(fleet_store_sqlite.open(path, FLEET_READ, &db, &err), &err);
	assert_int_equal(count(db, &table_run), cycle - 1);
	fleet_store_sqlite.close(db);
}

static void a_disk_that_is_full_when_it_is_made_leaves_nothing(void **state)
{
	struct err err = ERR_EMPTY;
	int files = place_files(&place);
	char path[2 * PLACE_BYTES];
	void *db = NULL;

	(void)state;
	snprintf(path, sizeof(path), "%s", place_file(&place, "unborn.tare"));
	for (uint64_t n = 1; n < 30; n++) {
		int rc;

		set_disk(n, ENOSPC, true);
		rc = fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err);
		set_disk(0, 0, false);
		if (rc == 0) {
			fleet_store_sqlite.close(db);
			unlink(path);
			continue;
		}
		assert_true(rc == -ENOSPC || rc == -EIO);
		if (access(path, F_OK) == 0) { /* made, and then WAL could not be begun */
			assert_string_equal(writer_integrity(path), "ok");
			unlink(path);
			unlink(place_file(&place, "unborn.tare-wal"));
			unlink(place_file(&place, "unborn.tare-shm"));
		}
		assert_int_equal(place_files(&place), files);
	}
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	unlink(path);
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
	set_disk(1, EIO, false);
	assert_int_equal(spool_sync(s, &err), -EIO);
	set_disk(0, 0, false);
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
		cmocka_unit_test(a_disk_that_is_full_when_it_is_made_leaves_nothing),
		cmocka_unit_test(a_place_that_may_not_be_written_says_so),
		cmocka_unit_test(a_spool_whose_disk_fills_up_refuses_and_keeps_what_it_has),
	};
	int failed;

	signal(SIGXFSZ, SIG_IGN);
	if (!place_make_on_disk(&place))
		return 1;
	watch_disk();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
