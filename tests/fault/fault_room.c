/* fault_room.c - disks that fill up, that fail, and that were too small: the file is whole, the words are clear. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "fault/place.h"
#include "fault/writer.h"
#include "store/store.h"

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
	bool is_sync_only; /* only syncs count */
	uint64_t fired;
} disk;

static bool disk_fails(bool is_sync)
{
	if (disk.is_sync_only && !is_sync)
		return false;
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
	return disk_fails(false) ? -1 : pwrite(fd, bytes, size, at);
}

static int disk_ftruncate(int fd, off_t size)
{
	return disk_fails(false) ? -1 : ftruncate(fd, size);
}

/* SQLite's library finds these before the C library's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return disk_fails(true) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return disk_fails(true) ? -1 : (int)syscall(SYS_fsync, fd);
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
	disk.is_sync_only = false;
}

/* A writer in this process. */
struct here {
	struct shadow *shadow;
	struct changes changes;
	void *db;
	uint64_t saves, limit_bytes;
	const char *name;
};

static int here_create(struct here *h, const char *name, uint64_t limit_bytes, struct err *err)
{
	struct shadow_settings settings = writer_shadow(21, limit_bytes);
	struct store_limits limits = { limit_bytes, true };

	*h = (struct here){ .changes = CHANGES_EMPTY, .limit_bytes = limit_bytes, .name = name };
	h->shadow = shadow_open(&settings);
	assert_non_null(h->shadow);
	return store_sqlite.create(place_file(&place, name), &limits, &h->db, err);
}

/* Changes something new unless the last save failed, and saves. */
static int here_save(struct here *h, bool is_new, struct store_saved *saved, struct err *err)
{
	struct label label = shadow_label(h->shadow, h->saves + 1);
	int rc;

	if (is_new)
		shadow_step(h->shadow, 120);
	changes_reset(&h->changes);
	assert_true(shadow_changes(h->shadow, &h->changes));
	rc = store_sqlite.save(h->db, &label, &h->changes, saved, err);
	if (rc == 0 && !saved->is_paused) {
		h->saves++;
		shadow_saved(h->shadow);
	}
	return rc;
}

/* Loads and returns how many saves are in it; if it is the newest, it is what the shadow is. */
static uint64_t here_loaded(struct here *h, uint64_t newest)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	uint64_t saves;

	ok(store_sqlite.load(place_file(&place, h->name), &r, &err), &err);
	saves = r.label.saves;
	if (saves == newest)
		assert_string_equal(shadow_differs(h->shadow, &r), "");
	recording_free(&r);
	return saves;
}

static void here_end(struct here *h)
{
	store_sqlite.close(h->db);
	changes_free(&h->changes);
	shadow_close(h->shadow);
}

/* One save with one fault in it. Returns whether the fault was met. */
static bool save_on_failing_disk(uint64_t n, int error, bool is_sticky)
{
	struct store_saved saved = { 0 };
	struct err err = ERR_EMPTY;
	struct here h;
	uint64_t in_file;
	bool is_met;
	int rc;

	set_disk(0, 0, false);
	ok(here_create(&h, "room.tare", WRITER_LIMIT_BYTES, &err), &err);
	for (int i = 0; i < 3; i++)
		ok(here_save(&h, true, &saved, &err), &err);
	set_disk(n, error, is_sticky);
	rc = here_save(&h, true, &saved, &err);
	is_met = disk.fired > 0;
	set_disk(0, 0, false);
	in_file = here_loaded(&h, 4);
	/* Never a false "saved"; what failed left the last good save, or is there whole. */
	if (rc == 0)
		assert_int_equal(in_file, 4);
	else
		assert_in_range(in_file, 3, 4);
	assert_int_equal(h.saves, rc == 0 ? 4 : 3);
	if (rc != 0 &&
	    (rc != err.code || err.msg[0] == '\0' || err.works[0] == '\0' || rc != -error))
		fail_msg("%d: '%s' '%s'", rc, err.msg, err.works);
	/* The same changes again, and the recording is as if nothing had been. */
	ok(here_save(&h, false, &saved, &err), &err);
	assert_false(saved.is_paused);
	assert_true(place_bytes(&place, "room.tare") <= WRITER_LIMIT_BYTES);
	assert_int_equal(here_loaded(&h, h.saves), h.saves);
	store_sqlite.close(h.db);
	h.db = NULL;
	assert_int_equal(here_loaded(&h, h.saves), h.saves);
	assert_string_equal(writer_integrity(place_file(&place, "room.tare")), "ok");
	here_end(&h);
	return is_met;
}

static const int errors[] = { EIO, ENOSPC };

static void any_operation_of_a_save_may_fail(void **state)
{
	(void)state;
	for (int sticky = 0; sticky < 2; sticky++) {
		for (int e = 0; e < 2; e++) {
			uint64_t n = 1;

			while (save_on_failing_disk(n, errors[e], sticky == 1))
				n++;
			print_message("%s, %s: %llu operations\n", strerror(errors[e]),
				      sticky ? "for good" : "once", (unsigned long long)n - 1);
			assert_true(n > 20);
		}
	}
}

static void a_save_that_could_not_be_synced_is_no_save(void **state)
{
	struct store_saved saved = { 0 };
	struct err err = ERR_EMPTY;
	struct here h;

	(void)state;
	for (uint64_t n = 1; n <= 2; n++) {
		set_disk(0, 0, false);
		ok(here_create(&h, "room.tare", WRITER_LIMIT_BYTES, &err), &err);
		ok(here_save(&h, true, &saved, &err), &err);
		/* First that of -wal, then that of the database. */
		set_disk(n, EIO, true);
		disk.is_sync_only = true;
		assert_int_equal(here_save(&h, true, &saved, &err), -EIO);
		assert_int_equal(disk.fired, 1);
		set_disk(0, 0, false);
		ok(here_save(&h, false, &saved, &err), &err);
		assert_int_equal(here_loaded(&h, 2), 2);
		here_end(&h);
	}
}

/* A recording that is made on a failing disk is there whole, or not at all. */
static bool create_on_failing_disk(uint64_t n, int error)
{
	struct err err = ERR_EMPTY;
	struct here h;
	int rc;

	set_disk(n, error, true);
	rc = here_create(&h, "new.tare", WRITER_LIMIT_BYTES, &err);
	bool is_met = disk.fired > 0;
	set_disk(0, 0, false);
	if (rc != 0) {
		assert_null(h.db);
		assert_int_equal(rc, err.code);
		assert_true(err.msg[0] != '\0');
		assert_int_equal(place_files(&place), 0);
	}
	here_end(&h);
	unlink(place_file(&place, "new.tare"));
	return is_met;
}

static void any_operation_of_a_create_may_fail(void **state)
{
	uint64_t n = 1;

	(void)state;
	unlink(place_file(&place, "room.tare"));
	while (create_on_failing_disk(n, EIO))
		n++;
	print_message("%llu operations\n", (unsigned long long)n - 1);
	assert_true(n > 5);
}

/* The end of a recording on a failing disk loses nothing of it. */
static void any_operation_of_a_close_may_fail(void **state)
{
	bool is_met = true;
	uint64_t n = 1;

	(void)state;
	for (; is_met; n++) {
		struct store_saved saved;
		struct err err = ERR_EMPTY;
		struct here h;

		set_disk(0, 0, false);
		ok(here_create(&h, "end.tare", WRITER_LIMIT_BYTES, &err), &err);
		for (int i = 0; i < 3; i++)
			ok(here_save(&h, true, &saved, &err), &err);
		set_disk(n, n % 2 == 0 ? EIO : ENOSPC, true);
		store_sqlite.close(h.db);
		h.db = NULL;
		is_met = disk.fired > 0;
		set_disk(0, 0, false);
		assert_int_equal(here_loaded(&h, 3), 3);
		assert_string_equal(writer_integrity(place_file(&place, "end.tare")), "ok");
		here_end(&h);
	}
	print_message("%llu operations\n", (unsigned long long)n - 2);
	unlink(place_file(&place, "end.tare"));
}

static void a_process_that_may_not_write_so_much_is_told(void **state)
{
	struct rlimit before, small;
	struct store_saved saved = { 0 };
	struct err err = ERR_EMPTY;
	struct here h;
	int rc = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = here_create(&h, "small.tare", WRITER_LIMIT_BYTES, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.mend, "ulimit -f"));
	assert_int_equal(place_files(&place), 0);
	here_end(&h);
	ok(here_create(&h, "small.tare", WRITER_LIMIT_BYTES, &err), &err);
	ok(here_save(&h, true, &saved, &err), &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 50 && rc != 0; i++)
		shadow_step(h.shadow, 500);
	rc = here_save(&h, true, &saved, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.mend, "ulimit -f"));
	assert_int_equal(here_loaded(&h, 2), 1);
	ok(here_save(&h, false, &saved, &err), &err);
	assert_int_equal(here_loaded(&h, 2), 2);
	here_end(&h);
	unlink(place_file(&place, "small.tare"));
}

/* A file system of `kilobytes` at the place's folder, in a mount namespace of ours. */
static bool mount_small(unsigned kilobytes)
{
	char option[64];

	snprintf(option, sizeof(option), "size=%uk", kilobytes);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", place.folder, "tmpfs", 0, option) == 0;
}

/* Fills what is left. */
static void fill_disk(void)
{
	static const char block[4096];
	int fd = open(place_file(&place, "ballast"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void a_disk_too_small_is_told_at_the_start_and_nothing_is_left(void **state)
{
	struct err err = ERR_EMPTY;
	struct here h;
	int rc;

	(void)state;
	if (!mount_small(900)) {
		print_message("needs the right to mount\n");
		skip();
	}
	rc = here_create(&h, "full.tare", WRITER_LIMIT_BYTES, &err);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.msg, "no space left"));
	assert_int_equal(place_files(&place), 0);
	here_end(&h);
	umount(place.folder);
}

static void a_disk_that_fills_up_later_stops_no_recording(void **state)
{
	struct store_saved saved = { 0 };
	struct err err = ERR_EMPTY;
	struct here h;

	(void)state;
	if (!mount_small(1200)) {
		print_message("needs the right to mount\n");
		skip();
	}
	ok(here_create(&h, "full.tare", WRITER_LIMIT_BYTES, &err), &err);
	for (int i = 0; i < 500; i++) {
		/* Whatever a save gives back, others take. */
		fill_disk();
		ok(here_save(&h, true, &saved, &err), &err);
		assert_false(saved.is_paused);
	}
	assert_int_equal(here_loaded(&h, 500), 500);
	store_sqlite.close(h.db);
	h.db = NULL;
	assert_int_equal(here_loaded(&h, 500), 500);
	assert_string_equal(writer_integrity(place_file(&place, "full.tare")), "ok");
	here_end(&h);
	umount(place.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_operation_of_a_save_may_fail),
		cmocka_unit_test(a_save_that_could_not_be_synced_is_no_save),
		cmocka_unit_test(any_operation_of_a_create_may_fail),
		cmocka_unit_test(any_operation_of_a_close_may_fail),
		cmocka_unit_test(a_process_that_may_not_write_so_much_is_told),
		cmocka_unit_test(a_disk_too_small_is_told_at_the_start_and_nothing_is_left),
		cmocka_unit_test(a_disk_that_fills_up_later_stops_no_recording),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	watch_disk();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
