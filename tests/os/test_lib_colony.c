/* test_lib_colony.c - a recorder and a colony in two processes: every tick is counted, the hot system is found, and the
 * colony is the same with and without. Usage: test_lib_colony COLONY */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/mapping.h"

#define TICKS 20000

static char *colony;

/* Starts a colony whose words come out of `*out_fd`. */
static pid_t start(char *ticks, char *a_second, int *out_fd)
{
	char *argv[] = { colony, ticks, a_second, NULL };
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execv(colony, argv);
		_exit(127);
	}
	close(ends[1]);
	*out_fd = ends[0];
	return pid;
}

static void finish(pid_t pid, int fd, char out_text[256])
{
	size_t have = 0;
	ssize_t bytes;
	int status;

	while (have < 255 && (bytes = read(fd, out_text + have, 255 - have)) > 0)
		have += (size_t)bytes;
	out_text[have] = '\0';
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void pause_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

/* The program may not have come so far as to have a mapping. */
static struct mapping_reader *attach(pid_t pid)
{
	struct mapping_reader *reader = NULL;
	struct err err = ERR_EMPTY;

	for (int tries = 0; tries < 200; tries++) {
		if (mapping_reader_open(pid, &reader, &err) == 0)
			return reader;
		pause_ms(5);
	}
	fail_msg("%s", err.msg);
	return NULL;
}

static uint32_t id_of(const struct mapping_reader *reader, const char *name)
{
	char text[MAPPING_NAME_BYTES];
	enum mapping_kind kind;

	for (uint32_t id = 0; mapping_reader_name(reader, id, &kind, text); id++)
		if (strcmp(text, name) == 0)
			return id;
	return MAPPING_NAMES;
}

/* Adds up windows until the colony has ended. */
static void watch(struct mapping_reader *reader, pid_t pid, uint64_t calls[MAPPING_NAMES],
		  uint32_t *slow_of_paths, uint32_t *slow_of_others)
{
	siginfo_t ended = { .si_pid = 0 };

	while (ended.si_pid == 0) {
		struct mapping_slow slow;
		uint32_t tid, paths;

		pause_ms(10);
		assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
		mapping_reader_turn(reader);
		for (uint32_t id = 0; id < mapping_reader_names(reader); id++)
			calls[id] += mapping_reader_row(reader, id)->calls;
		paths = id_of(reader, "paths");
		while (mapping_reader_take_slow(reader, &slow, &tid)) {
			assert_int_equal(tid, pid);
			if (slow.part_count > 0 && slow.parts[0].id == paths)
				(*slow_of_paths)++;
			else
				(*slow_of_others)++;
		}
	}
}

static void each_system_is_counted_once_a_tick_and_the_hot_one_stands_out(void **state)
{
	static const char *const systems[] = { "weather",   "growth",	"evaporation", "hunger",
					       "ageing",    "tasks",	"paths",       "movement",
					       "gathering", "delivery", "scents",      "births" };
	uint64_t calls[MAPPING_NAMES] = { 0 }, ticks;
	uint32_t slow_of_paths = 0, slow_of_others = 0;
	char with[256], without[256], fast[] = "0", count[] = "20000";
	struct mapping_reader *reader;
	pid_t pid;
	int fd;

	(void)state;
	pid = start(count, fast, &fd);
	finish(pid, fd, without);
	pid = start(count, fast, &fd);
	reader = attach(pid);
	mapping_reader_start(reader, 1, 0, 1000000);
	watch(reader, pid, calls, &slow_of_paths, &slow_of_others);
	ticks = calls[id_of(reader, "births")];
	assert_in_range(ticks, TICKS / 20, TICKS);
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		uint32_t id = id_of(reader, systems[i]);

		assert_true(id < MAPPING_NAMES);
		assert_in_range(calls[id], ticks - 1, ticks + 1);
	}
	assert_in_range(calls[id_of(reader, "frame")], ticks - 1, ticks + 1);
	/* One tick in 97; a busy machine makes others slow too. */
	slow_of_paths += (uint32_t)mapping_reader_loss(reader).slow;
	assert_in_range(slow_of_paths, ticks / 97 * 9 / 10, ticks / 97 + 3 + slow_of_others);
	mapping_reader_close(reader);
	finish(pid, fd, with);
	assert_string_equal(with, without);
	assert_int_equal(strlen(with) > 16, 1);
}

static void a_killed_recorder_leaves_the_colony_alive(void **state)
{
	char words[256], count[] = "600", steady[] = "600";
	struct mapping_reader *reader;
	pid_t pid, recorder;
	int fd;

	(void)state;
	pid = start(count, steady, &fd);
	recorder = fork();
	if (recorder == 0) {
		if (mapping_reader_open(pid, &reader, NULL) == 0)
			mapping_reader_start(reader, 8, 0, 0);
		pause_ms(500);
		_exit(0);
	}
	pause_ms(200);
	kill(recorder, SIGKILL);
	waitpid(recorder, NULL, 0);
	reader = attach(pid); /* its lock went with it */
	mapping_reader_start(reader, 8, 0, 0);
	pause_ms(100);
	mapping_reader_turn(reader);
	assert_true(mapping_reader_row(reader, id_of(reader, "births"))->calls > 10);
	mapping_reader_close(reader);
	finish(pid, fd, words);
}

static void a_process_without_libtare_is_told_from_one_that_is_gone(void **state)
{
	struct mapping_reader *reader = NULL;
	struct err err = ERR_EMPTY;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(mapping_reader_open(pid, &reader, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "libtare"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(mapping_reader_open(pid, &reader, &err), -ESRCH);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_system_is_counted_once_a_tick_and_the_hot_one_stands_out),
		cmocka_unit_test(a_killed_recorder_leaves_the_colony_alive),
		cmocka_unit_test(a_process_without_libtare_is_told_from_one_that_is_gone),
	};

	if (argc != 2)
		return 2;
	colony = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
