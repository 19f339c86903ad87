/* test_stage.c - the stage itself: a cluster starts, crashes, starts again, follows another, and leaves nothing behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/stage.h"

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static bool goes_away(const char *path)
{
	struct timespec t = { 0, 20000000 };

	for (int i = 0; i < 500 && is_there(path); i++)
		nanosleep(&t, NULL);
	return !is_there(path);
}

static void a_cluster_starts_crashes_and_starts_again(void **state)
{
	struct stage s;
	char dir[64];

	(void)state;
	stage_open(&s, "pg_stat_statements.max = 100");
	assert_int_equal(stage_number(&s, NULL,
				      "SELECT setting FROM pg_settings WHERE name = "
				      "'pg_stat_statements.max'"),
			 100);
	stage_run(&s, NULL, "CREATE TABLE t AS SELECT 1 AS x");
	stage_stop(&s, 'f');
	stage_start(&s);
	stage_stop(&s, 'k');
	stage_start(&s);
	assert_int_equal(stage_number(&s, NULL, "SELECT count(*) FROM t"), 1);
	snprintf(dir, sizeof(dir), "%s", s.dir);
	stage_close(&s);
	assert_false(is_there(dir));
}

static void a_standby_follows(void **state)
{
	struct stage primary, standby;

	(void)state;
	stage_open(&primary, NULL);
	stage_open_standby(&standby, &primary, NULL);
	assert_int_equal(stage_number(&standby, NULL, "SELECT pg_is_in_recovery()::int"), 1);
	stage_close(&standby);
	stage_close(&primary);
}

static void a_test_that_is_killed_leaves_nothing_behind(void **state)
{
	int line[2];
	char dir[64] = "";
	pid_t child;

	(void)state;
	assert_int_equal(pipe(line), 0);
	child = fork();
	if (child == 0) {
		struct stage s;

		stage_open(&s, NULL);
		if (write(line[1], s.dir, sizeof(s.dir)) == sizeof(s.dir))
			pause();
		_exit(1);
	}
	close(line[1]);
	assert_int_equal(read(line[0], dir, sizeof(dir)), sizeof(dir));
	close(line[0]);
	assert_true(is_there(dir));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(goes_away(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cluster_starts_crashes_and_starts_again),
		cmocka_unit_test(a_standby_follows),
		cmocka_unit_test(a_test_that_is_killed_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
