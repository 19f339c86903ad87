/* fault_others.c - other processes on the same recording: a second writer, our readers, a reader that sits. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static void is_recorded_by(const struct err *err, pid_t pid)
{
	char want[64];

	snprintf(want, sizeof(want), "process %d is recording", (int)pid);
	if (strstr(err->msg, want) == NULL)
		fail_msg("'%s' does not say '%s'", err->msg, want);
}

static void a_second_writer_is_refused_with_the_holders_pid(void **state)
{
	struct writer_settings settings = {
		.path = place_file(&place, "two.tare"),
		.saves = UINT64_MAX,
		.limit_bytes = WRITER_LIMIT_BYTES,
		.changes = 50,
		.is_stepped = true,
	};
	struct store_limits limits = { WRITER_LIMIT_BYTES, false };
	struct err err = ERR_EMPTY;
	struct writer writer;
	struct ack ack;
	void *db = NULL;

	(void)state;
	assert_true(writer_start(&writer, &settings));
	assert_true(writer_ack(&writer, &ack) && ack.code == 0);
	for (int i = 0; i < 2; i++) {
		limits.may_overwrite = i == 1;
		assert_int_equal(store_sqlite.create(settings.path, &limits, &db, &err), -EBUSY);
		is_recorded_by(&err, writer.pid);
		assert_null(db);
		assert_true(writer_step(&writer, &ack) && ack.code == 0 && !ack.is_paused);
	}
	writer_end(&writer, SIGKILL);
	/* A dead one holds nothing: its file may be replaced, with --force only. */
	limits.may_overwrite = false;
	assert_int_equal(store_sqlite.create(settings.path, &limits, &db, &err), -EEXIST);
	limits.may_overwrite = true;
	ok(store_sqlite.create(settings.path, &limits, &db, &err), &err);
	assert_int_equal(store_sqlite.create(settings.path, &limits, &db, &err), -EBUSY);
	is_recorded_by(&err, getpid());
	store_sqlite.close(db);
	assert_int_equal(place_files(&place), 1);
	unlink(settings.path);
}

/* Loads again and again until told to stop; its status is the number of loads that went wrong. */
static pid_t start_loader(const struct writer_settings *settings, bool judges)
{
	pid_t pid = fork();
	uint64_t saves, before = 0, loads = 0;
	int bad = 0;

	if (pid != 0)
		return pid;
	while (getppid() != 1) {
		struct recording r = RECORDING_EMPTY;
		struct err err = ERR_EMPTY;
		const char *differs = "";

		if (judges) {
			differs = writer_differs(settings, &saves);
		} else if (store_sqlite.load(settings->path, &r, &err) != 0) {
			differs = err.msg;
			saves = before;
		} else {
			saves = r.label.saves;
			recording_free(&r);
		}
		if (differs[0] != '\0' || saves < before) {
			fprintf(stderr, "load %llu: '%s', %llu saves after %llu\n",
				(unsigned long long)loads, differs, (unsigned long long)saves,
				(unsigned long long)before);
			bad++;
		}
		before = saves;
		loads++;
		if (bad > 0 || (settings->saves != UINT64_MAX && saves == settings->saves))
			_exit(bad);
	}
	_exit(1);
}

static void loads_in_a_loop_see_whole_saves_and_never_hold_one_up(void **state)
{
	struct writer_settings settings = {
		.path = place_file(&place, "readers.tare"),
		.seed = 5,
		.saves = 300,
		.limit_bytes = WRITER_LIMIT_BYTES,
		.changes = 60,
	};
	struct writer writer;
	struct ack ack;
	pid_t loaders[3];
	int status;

	(void)state;
	assert_true(writer_start(&writer, &settings));
	assert_true(writer_ack(&writer, &ack) && ack.code == 0);
	for (int i = 0; i < 3; i++)
		loaders[i] = start_loader(&settings, i == 0);
	while (writer_ack(&writer, &ack)) {
		assert_int_equal(ack.code, 0);
		assert_false(ack.is_paused);
		assert_true(ack.bytes <= settings.limit_bytes);
	}
	assert_true(ack.is_closed && ack.saves == settings.saves);
	writer_end(&writer, 0);
	for (int i = 0; i < 3; i++) {
		waitpid(loaders[i], &status, 0);
		assert_int_equal(status, 0);
	}
	/* One file, and our readers left nothing beside it. */
	assert_int_equal(place_files(&place), 1);
	unlink(settings.path);
}

/* A foreign program with an open read transaction, until a byte comes. */
static pid_t start_sitter(const char *path, int *out_leave, bool is_ready_after_read)
{
	int leave[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(leave), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		sqlite3 *db;

		close(leave[1]);
		if (sqlite3_open(path, &db) != SQLITE_OK ||
		    sqlite3_exec(db, "BEGIN; SELECT count(*) FROM node", NULL, NULL, NULL) !=
			    SQLITE_OK)
			_exit(1);
		if (write(ready[1], "r", 1) != 1 || read(leave[0], &byte, 1) < 0)
			_exit(1);
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
		sqlite3_close(db);
		_exit(0);
	}
	close(leave[0]);
	close(ready[1]);
	if (is_ready_after_read)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*out_leave = leave[1];
	return pid;
}

static void leave(pid_t pid, int leave_fd)
{
	int status;

	assert_int_equal(write(leave_fd, "l", 1), 1);
	close(leave_fd);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* Saves until one is paused; the files are within their limit all the way. */
static uint32_t save_until_paused(struct writer *writer, const char *name, uint64_t limit_bytes)
{
	struct ack ack = { 0 };
	uint32_t steps = 0;

	for (; steps < 5000 && !ack.is_paused; steps++) {
		assert_true(writer_step(writer, &ack));
		assert_int_equal(ack.code, 0);
		assert_true(place_bytes(&place, name) <= limit_bytes);
		assert_true(ack.bytes <= limit_bytes);
	}
	assert_true(ack.is_paused);
	return steps;
}

static void a_reader_that_sits_pauses_saves_at_the_limit_until_it_leaves(void **state)
{
	struct writer_settings settings = {
		.path = strdup(place_file(&place, "sit.tare")),
		.seed = 9,
		.saves = UINT64_MAX,
		.limit_bytes = WRITER_LIMIT_BYTES,
		.changes = 40,
		.is_stepped = true,
	};
	struct writer writer;
	struct ack ack;
	uint64_t saves;

	(void)state;
	assert_true(writer_start(&writer, &settings));
	assert_true(writer_ack(&writer, &ack) && ack.code == 0);
	for (int round = 0; round < 3; round++) {
		int leave_fd;
		pid_t sitter;
		uint32_t steps;

		for (int i = 0; i < 10; i++)
			assert_true(writer_step(&writer, &ack) && ack.code == 0 && !ack.is_paused);
		sitter = start_sitter(settings.path, &leave_fd, true);
		steps = save_until_paused(&writer, "sit.tare", settings.limit_bytes);
		print_message("round %d: %u saves, then paused at %llu of %llu bytes\n", round,
			      steps, (unsigned long long)place_bytes(&place, "sit.tare"),
			      (unsigned long long)settings.limit_bytes);
		for (int i = 0; i < 20; i++) {
			assert_true(writer_step(&writer, &ack) && ack.code == 0 && ack.is_paused);
			assert_true(place_bytes(&place, "sit.tare") <= settings.limit_bytes);
		}
		/* What was saved before is still there to be read. */
		assert_string_equal(writer_differs(&settings, &saves), "");
		assert_int_equal(saves, ack.saves);
		leave(sitter, leave_fd);
		assert_true(writer_step(&writer, &ack) && ack.code == 0 && !ack.is_paused);
		assert_string_equal(writer_differs(&settings, &saves), "");
		assert_int_equal(saves, ack.saves);
	}
	writer_end(&writer, SIGKILL);
	assert_string_equal(writer_integrity(settings.path), "ok");
	unlink(settings.path);
	free((char *)settings.path);
}

static void a_foreign_write_lock_pauses_a_save_and_breaks_nothing(void **state)
{
	struct writer_settings settings = {
		.path = strdup(place_file(&place, "lock.tare")),
		.seed = 10,
		.saves = 40,
		.limit_bytes = WRITER_LIMIT_BYTES,
		.changes = 40,
		.is_stepped = true,
	};
	struct writer writer;
	struct ack ack;
	uint64_t saves;
	sqlite3 *db;

	(void)state;
	assert_true(writer_start(&writer, &settings));
	assert_true(writer_ack(&writer, &ack) && ack.code == 0);
	assert_true(writer_step(&writer, &ack) && ack.code == 0 && !ack.is_paused);
	assert_int_equal(sqlite3_open(settings.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_true(writer_step(&writer, &ack) && ack.code == 0 && ack.is_paused);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	do
		assert_true(writer_step(&writer, &ack) && ack.code == 0 && !ack.is_paused);
	while (ack.saves < settings.saves);
	assert_true(writer_ack(&writer, &ack) && ack.is_closed);
	writer_end(&writer, 0);
	assert_string_equal(writer_differs(&settings, &saves), "");
	assert_int_equal(saves, settings.saves);
	assert_int_equal(place_files(&place), 1);
	free((char *)settings.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_writer_is_refused_with_the_holders_pid),
		cmocka_unit_test(loads_in_a_loop_see_whole_saves_and_never_hold_one_up),
		cmocka_unit_test(a_reader_that_sits_pauses_saves_at_the_limit_until_it_leaves),
		cmocka_unit_test(a_foreign_write_lock_pauses_a_save_and_breaks_nothing),
	};
	int failed;

	if (!place_make_on_disk(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
