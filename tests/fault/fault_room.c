/* fault_room.c - disks that fill up, that are too small, that are read-only, and quotas: the file is whole, the words are
 * clear. Disks that fail: fault_disk.c. */
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fault/disk.h"
#include "fault/here.h"
#include "fault/place.h"
#include "fault/writer.h"
#include "store/fleet_store.h"
#include "store/store.h"

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static void begin(struct here *h, const char *name)
{
	struct err err = ERR_EMPTY;

	ok(here_create(h, place_file(&place, name), 21, WRITER_LIMIT_BYTES, &err), &err);
}

static void save(struct here *h)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;

	ok(here_save(h, 120, &saved, &err), &err);
	assert_false(saved.is_paused);
}

/* Loads and returns how many saves are in it; if it is the newest, it is what the shadow is. */
static uint64_t loaded(struct here *h, const char *name, uint64_t newest)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	uint64_t saves;

	ok(store_sqlite.load(place_file(&place, name), &r, &err), &err);
	saves = r.label.saves;
	if (saves == newest)
		assert_string_equal(shadow_differs(h->shadow, &r), "");
	recording_free(&r);
	return saves;
}

static void a_process_that_may_not_write_so_much_is_told(void **state)
{
	struct rlimit before, small;
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;
	int rc;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = here_create(&h, place_file(&place, "small.tare"), 21, WRITER_LIMIT_BYTES, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.mend, "ulimit -f"));
	assert_int_equal(place_files(&place), 0);
	here_end(&h);
	begin(&h, "small.tare");
	save(&h);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = here_save(&h, 5000, &saved, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.mend, "ulimit -f"));
	assert_int_equal(loaded(&h, "small.tare", 2), 1);
	save(&h);
	assert_int_equal(loaded(&h, "small.tare", 2), 2);
	here_end(&h);
	unlink(place_file(&place, "small.tare"));
}

/* A file system of `kilobytes` at the place's folder, in a mount namespace of ours; skips the test where that is not
 * allowed. */
static void mount_small(unsigned kilobytes)
{
	char option[64];

	snprintf(option, sizeof(option), "size=%uk", kilobytes);
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", place.folder, "tmpfs", 0, option) == 0)
		return;
	print_message("cannot mount: %s\n", strerror(errno));
	skip();
}

/* Fills what is left. */
static void fill_disk(void)
{
	static const char block[65536];
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
	mount_small(900);
	rc = here_create(&h, place_file(&place, "full.tare"), 21, WRITER_LIMIT_BYTES, &err);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.msg, "no space left"));
	assert_int_equal(place_files(&place), 0);
	here_end(&h);
	umount(place.folder);
}

/* Saves on, while others take whatever a save gives back. */
static void save_on_full_disk(struct here *h, const char *name, uint64_t saves)
{
	while (h->saves < saves) {
		fill_disk();
		save(h);
	}
	assert_int_equal(loaded(h, name, saves), saves);
	here_close(h);
	assert_int_equal(loaded(h, name, saves), saves);
	assert_string_equal(writer_integrity(place_file(&place, name)), "ok");
}

static void a_disk_that_fills_up_later_stops_no_recording(void **state)
{
	struct here h;

	(void)state;
	mount_small(1200);
	begin(&h, "full.tare");
	save_on_full_disk(&h, "full.tare", 500);
	here_end(&h);
	umount(place.folder);
}

static void disks_of_1_to_64_mb_take_a_recording_whole_or_refuse_it(void **state)
{
	uint64_t taken = 0, refused = 0;

	(void)state;
	for (unsigned mb = 1; mb <= 64; mb *= 2) {
		for (uint64_t limit = (uint64_t)mb << 19; limit <= (uint64_t)mb << 21; limit *= 2) {
			struct err err = ERR_EMPTY;
			struct here h;
			int rc;

			if (limit < WRITER_LIMIT_BYTES)
				continue;
			mount_small(mb * 1024);
			rc = here_create(&h, place_file(&place, "full.tare"), mb, limit, &err);
			if (rc != 0) {
				assert_int_equal(rc, -ENOSPC);
				assert_true(err.mend[0] != '\0');
				assert_int_equal(place_files(&place), 0);
				refused++;
			} else {
				save_on_full_disk(&h, "full.tare", 20);
				taken++;
			}
			here_end(&h);
			umount(place.folder);
		}
	}
	print_message("%llu taken, %llu refused\n", (unsigned long long)taken,
		      (unsigned long long)refused);
	assert_true(taken >= 6 && refused >= 7);
}

static void where_no_room_can_be_kept_a_full_disk_is_told_and_saving_goes_on_after_it(void **state)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;
	uint64_t before;
	int rc = 0;

	(void)state;
	mount_small(2048);
	disk_watch(place.folder);
	disk_set(&(struct disk_fault){
		.at = 1, .kinds = 1u << DISK_ROOM, .error = EOPNOTSUPP, .is_sticky = true });
	begin(&h, "full.tare");
	disk_heal();
	disk_watch(NULL);
	save(&h);
	fill_disk();
	for (int i = 0; i < 100 && rc == 0; i++)
		rc = here_save(&h, 120, &saved, &err);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.msg, "no space left on the disk"));
	assert_non_null(strstr(err.works, "as at its last save"));
	before = h.saves;
	assert_in_range(loaded(&h, "full.tare", before + 1), before, before + 1);
	unlink(place_file(&place, "ballast"));
	save(&h);
	assert_int_equal(loaded(&h, "full.tare", before + 1), before + 1);
	here_close(&h);
	assert_string_equal(writer_integrity(place_file(&place, "full.tare")), "ok");
	here_end(&h);
	umount(place.folder);
}

/* In a child without rights over quotas: what a recording of a user meets whose quota of 900 KB is used up. */
static int record_over_quota(void)
{
	struct store_saved saved;
	struct err err = ERR_EMPTY;
	struct here h;
	int rc;

	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 1;
	rc = here_create(&h, place_file(&place, "quota.tare"), 21, WRITER_LIMIT_BYTES, &err);
	if (rc != -EDQUOT || strstr(err.msg, "quota") == NULL || place_files(&place) != 0)
		return 2;
	here_end(&h);
	rc = here_create(&h, place_file(&place, "quota.tare"), 21, UINT64_C(832) << 10, &err);
	for (int i = 0; i < 50 && rc == 0; i++)
		rc = here_save(&h, 120, &saved, &err);
	return rc == 0 ? 0 : 3;
}

static void a_quota_is_told_apart_from_a_full_disk(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	mount_small(64); /* may we at all? */
	umount(place.folder);
	if (mount("tmpfs", place.folder, "tmpfs", 0,
		  "size=8m,mode=0777,usrquota,usrquota_block_hardlimit=900k") != 0) {
		print_message("tmpfs has no quotas in this kernel: %s\n", strerror(errno));
		skip();
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(record_over_quota());
	waitpid(pid, &status, 0);
	umount(place.folder);
	assert_int_equal(status, 0);
}

/* A recording whose writer was killed: with its -wal and -shm. */
static void leave_killed(const char *name)
{
	struct writer_settings settings = { .path = place_file(&place, name),
					    .seed = 7,
					    .saves = UINT64_MAX,
					    .limit_bytes = WRITER_LIMIT_BYTES,
					    .changes = 100,
					    .is_stepped = true };
	struct writer writer;
	struct ack ack;

	assert_true(writer_start(&writer, &settings) && writer_ack(&writer, &ack));
	assert_true(writer_step(&writer, &ack) && ack.code == 0);
	writer_end(&writer, SIGKILL);
}

static void a_read_only_disk_refuses_a_recording_and_gives_those_it_has(void **state)
{
	struct recording r = RECORDING_EMPTY;
	struct err err = ERR_EMPTY;
	void *db = NULL;
	struct here h;
	int files;

	(void)state;
	mount_small(8192);
	begin(&h, "whole.tare");
	save(&h);
	here_end(&h);
	leave_killed("killed.tare");
	ok(fleet_store_sqlite.open(place_file(&place, "fleet.tare"), FLEET_WRITE, &db, &err), &err);
	fleet_store_sqlite.close(db);
	files = place_files(&place);
	assert_int_equal(mount(NULL, place.folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(
		here_create(&h, place_file(&place, "new.tare"), 1, WRITER_LIMIT_BYTES, &err),
		-EROFS);
	assert_non_null(strstr(err.msg, "the file system is read-only"));
	assert_non_null(strstr(err.mend, "another folder"));
	here_end(&h);
	assert_int_equal(
		here_create(&h, place_file(&place, "whole.tare"), 1, WRITER_LIMIT_BYTES, &err),
		-EROFS);
	here_end(&h);
	ok(store_sqlite.load(place_file(&place, "whole.tare"), &r, &err), &err);
	recording_free(&r);
	ok(store_sqlite.load(place_file(&place, "killed.tare"), &r, &err), &err);
	assert_int_equal(r.label.saves, 1);
	recording_free(&r);
	ok(fleet_store_sqlite.open(place_file(&place, "fleet.tare"), FLEET_READ, &db, &err), &err);
	fleet_store_sqlite.close(db);
	db = NULL;
	assert_int_equal(
		fleet_store_sqlite.open(place_file(&place, "fleet.tare"), FLEET_WRITE, &db, &err),
		-EROFS);
	assert_int_equal(place_files(&place), files);
	umount(place.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_may_not_write_so_much_is_told),
		cmocka_unit_test(a_disk_too_small_is_told_at_the_start_and_nothing_is_left),
		cmocka_unit_test(a_disk_that_fills_up_later_stops_no_recording),
		cmocka_unit_test(disks_of_1_to_64_mb_take_a_recording_whole_or_refuse_it),
		cmocka_unit_test(
			where_no_room_can_be_kept_a_full_disk_is_told_and_saving_goes_on_after_it),
		cmocka_unit_test(a_quota_is_told_apart_from_a_full_disk),
		cmocka_unit_test(a_read_only_disk_refuses_a_recording_and_gives_those_it_has),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
