/* test_spool.c - what waits on the disk: in order, bounded, there again after a restart, and nothing torn comes out of it. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fault/place.h"
#include "store/spool.h"

static struct place place;
static char folder[2 * PLACE_BYTES];

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static void new_folder(void)
{
	static int number;
	char name[32];

	snprintf(name, sizeof(name), "spool%d", ++number);
	snprintf(folder, sizeof(folder), "%s", place_file(&place, name));
}

static struct spool *open_spool(uint64_t limit_bytes)
{
	struct err err = ERR_EMPTY;
	struct spool *s = NULL;

	ok(spool_open(folder, limit_bytes, &s, &err), &err);
	return s;
}

/* A batch with this number, of about `bytes` bytes. */
static int add(struct spool *s, uint64_t number, size_t bytes, struct err *err)
{
	static char content[1 << 20];
	struct payload_row row = { .server = 1,
				   .digest.bytes[0] = 1,
				   .content = { content, (uint32_t)bytes } };
	struct fleet_batch b = { .server = 1, .cycle = number };
	int rc;

	assert_int_equal(fleet_batch_add(&b, &table_payload, BLOCK_PUT, &row), 0);
	rc = spool_add(s, &b, err);
	fleet_batch_free(&b);
	return rc;
}

/* The number of the next batch; -1: there is none. */
static int64_t next(struct spool *s)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	struct err err = ERR_EMPTY;
	bool has = true;
	int64_t number;

	ok(spool_next(s, &b, &has, &err), &err);
	number = has ? (int64_t)b.cycle : -1;
	fleet_batch_free(&b);
	return number;
}

static int files_in_folder(void)
{
	char command[3 * PLACE_BYTES];
	FILE *out;
	int count = -1;

	snprintf(command, sizeof(command), "find '%s' -name '*.spool' | wc -l", folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%d", &count), 1);
	pclose(out);
	return count;
}

static void batches_come_out_in_the_order_they_went_in(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	assert_int_equal(next(s), -1);
	/* Over many segments of an eighth of the limit. */
	for (uint64_t i = 0; i < 200; i++)
		ok(add(s, i, 4000, &err), &err);
	assert_int_equal(spool_state(s).batches, 200);
	assert_true(files_in_folder() > 4);
	for (int64_t i = 0; i < 200; i++) {
		assert_int_equal(next(s), i);
		if (i % 7 == 0)
			spool_done(s);
	}
	assert_int_equal(next(s), -1);
	spool_done(s);
	assert_int_equal(spool_state(s).batches, 0);
	assert_int_equal(spool_state(s).bytes, 0);
	assert_int_equal(files_in_folder(), 0);
	spool_close(s);
}

static void what_was_not_confirmed_comes_again(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	for (uint64_t i = 0; i < 100; i++)
		ok(add(s, i, 4000, &err), &err);
	for (int64_t i = 0; i < 10; i++)
		assert_int_equal(next(s), i);
	spool_done(s);
	for (int64_t i = 10; i < 60; i++) /* over the end of a segment */
		assert_int_equal(next(s), i);
	spool_again(s);
	assert_int_equal(next(s), 10);
	spool_again(s);
	assert_int_equal(next(s), 10);
	assert_int_equal(spool_state(s).batches, 90);
	spool_close(s);
	/* After a restart at least those that were not confirmed, still in order. */
	s = open_spool(SPOOL_BYTES_LEAST);
	assert_in_range(next(s), 0, 10);
	for (int64_t before = 0, now; (now = next(s)) != -1; before = now)
		assert_true(before == 0 || now == before + 1);
	spool_close(s);
}

static void adding_goes_on_while_it_is_read(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s;
	int64_t read = 0;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	for (uint64_t i = 0; i < 300; i++) {
		ok(add(s, i, 3000, &err), &err);
		if (i % 3 != 2)
			continue;
		assert_int_equal(next(s), read++);
		assert_int_equal(next(s), read++);
		assert_int_equal(next(s), read++);
		assert_int_equal(next(s), -1);
		spool_done(s);
	}
	assert_int_equal(spool_state(s).batches, 0);
	spool_close(s);
}

static void a_full_spool_keeps_the_oldest_and_counts_what_it_refuses(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s;
	uint64_t kept = 0;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	while (add(s, kept, 10000, &err) == 0)
		kept++;
	assert_int_equal(err.code, -ENOSPC);
	assert_non_null(strstr(err.msg, "it is full"));
	assert_true(kept > 90);
	assert_true(spool_state(s).bytes <= SPOOL_BYTES_LEAST);
	assert_int_equal(add(s, 999, 10000, &err), -ENOSPC);
	assert_int_equal(spool_state(s).refused_batches, 2);
	assert_int_equal(spool_state(s).refused_rows, 2);
	assert_int_equal(spool_state(s).batches, kept);
	/* Half of it is taken: there is room again. */
	for (uint64_t i = 0; i < kept / 2; i++)
		assert_int_equal(next(s), (int64_t)i);
	spool_done(s);
	ok(add(s, 5000, 10000, &err), &err);
	spool_close(s);
}

static void a_segment_that_is_torn_or_rotten_gives_what_is_whole(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s;
	char path[3 * PLACE_BYTES];
	struct stat st;
	int fd;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	for (uint64_t i = 0; i < 5; i++)
		ok(add(s, i, 1000, &err), &err);
	spool_close(s);
	snprintf(path, sizeof(path), "%s/0000000000000001.spool", folder);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	/* The last one was being written; in the second a byte has changed, in the third its head. */
	assert_int_equal(ftruncate(fd, st.st_size - 10), 0);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size / 5 + 500), 1);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size / 5 * 2), 1);
	close(fd);
	s = open_spool(SPOOL_BYTES_LEAST);
	assert_int_equal(next(s), 0);
	assert_int_equal(next(s), 3);
	assert_int_equal(next(s), -1);
	assert_int_equal(spool_state(s).bad_batches, 1);
	assert_int_equal(spool_state(s).torn_bytes, st.st_size / 5 + st.st_size / 5 - 10);
	/* Read again, they are not counted again. */
	spool_again(s);
	assert_int_equal(next(s), 0);
	assert_int_equal(next(s), 3);
	assert_int_equal(next(s), -1);
	assert_int_equal(spool_state(s).bad_batches, 1);
	spool_done(s);
	assert_int_equal(files_in_folder(), 0);
	/* The next segment has a number of its own. */
	ok(add(s, 6, 10, &err), &err);
	assert_int_equal(next(s), 6);
	spool_close(s);
}

static void a_spool_is_held_by_one_and_by_its_owner_only(void **state)
{
	struct err err = ERR_EMPTY;
	struct spool *s, *second = NULL;
	char path[3 * PLACE_BYTES];
	struct stat st;

	(void)state;
	new_folder();
	s = open_spool(SPOOL_BYTES_LEAST);
	assert_int_equal(spool_open(folder, SPOOL_BYTES_LEAST, &second, &err), -EBUSY);
	assert_null(second);
	ok(add(s, 1, 10, &err), &err);
	snprintf(path, sizeof(path), "%s/0000000000000001.spool", folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	spool_close(s);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(spool_open(folder, SPOOL_BYTES_LEAST, &second, &err), -EPERM);
	assert_non_null(strstr(err.mend, "0700"));
	assert_int_equal(chmod(folder, 0700), 0);
	/* What is no segment is left alone. */
	snprintf(path, sizeof(path), "%s/0000000000000002.spool", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	s = open_spool(SPOOL_BYTES_LEAST);
	assert_int_equal(spool_state(s).batches, 1);
	assert_int_equal(next(s), 1);
	assert_int_equal(next(s), -1);
	spool_close(s);
	assert_int_equal(spool_open(folder, 100, &second, &err), -EINVAL);
	spool_close(NULL);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_come_out_in_the_order_they_went_in),
		cmocka_unit_test(what_was_not_confirmed_comes_again),
		cmocka_unit_test(adding_goes_on_while_it_is_read),
		cmocka_unit_test(a_full_spool_keeps_the_oldest_and_counts_what_it_refuses),
		cmocka_unit_test(a_segment_that_is_torn_or_rotten_gives_what_is_whole),
		cmocka_unit_test(a_spool_is_held_by_one_and_by_its_owner_only),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	nftw(place.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return failed;
}
