/* test_perf_threads.c - the bounded table of threads and processes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/perf_threads.h"

static int open_table(void **state)
{
	struct perf_threads *t = NULL;

	if (perf_threads_open(&t, 2) != 0)
		return -1;
	*state = t;
	return 0;
}

static int close_table(void **state)
{
	perf_threads_close(*state);
	return 0;
}

static void a_process_lives_as_long_as_a_thread_of_it(void **state)
{
	struct perf_threads *t = *state;

	perf_threads_add(t, 10, 10, 1);
	perf_threads_add(t, 10, 11, 2);
	perf_threads_add(t, 20, 20, 3);
	assert_int_equal(perf_threads_alive(t), 2);
	assert_false(
		perf_threads_remove(t, perf_threads_find(t, 10))); /* the first thread ends first */
	assert_true(perf_threads_has_process(t, 10));
	assert_true(perf_threads_remove(t, perf_threads_find(t, 11)));
	assert_false(perf_threads_has_process(t, 10));
	assert_int_equal(perf_threads_alive(t), 1);
	assert_int_equal(perf_threads_seen(t), 3);
	assert_int_equal(perf_threads_processes_seen(t), 2);
}

static void an_exec_leaves_one_thread(void **state)
{
	struct perf_threads *t = *state;
	struct perf_thread *stays;

	for (uint32_t tid = 10; tid < 20; tid++)
		perf_threads_add(t, 10, tid, tid);
	stays = perf_threads_find(t, 13);
	perf_threads_remove_others(t, stays);
	for (uint32_t tid = 10; tid < 20; tid++)
		assert_true((perf_threads_find(t, tid) != NULL) == (tid == 13));
	assert_int_equal(perf_threads_alive(t), 1);
	assert_true(perf_threads_remove(t, stays));
}

static void a_place_given_back_forgets_its_counters_and_its_name(void **state)
{
	struct perf_threads *t = *state;
	struct perf_thread *thread = perf_threads_add(t, 10, 10, 1);
	uint64_t key;

	perf_thread_name(thread, "worker", 6);
	key = thread->key;
	thread->slots[1] = (struct perf_slot){ .id = 7, .value_ns = 99 };
	perf_threads_remove(t, thread);
	thread = perf_threads_add(t, 10, 10, 2);
	assert_int_equal(thread->slots[1].id, 0);
	assert_int_equal(thread->comm_len, 0);
	perf_thread_name(thread, "worker", 6);
	assert_true(thread->key != key); /* the same numbers and name, but another thread */
}

static void a_new_name_is_a_new_frame(void **state)
{
	struct perf_thread *thread = perf_threads_add(*state, 10, 11, 1);
	struct frame before, after;

	perf_thread_name(thread, "before", 6);
	before = perf_thread_frame(thread);
	perf_thread_name(thread, "a name of more than 15 bytes", 28);
	after = perf_thread_frame(thread);
	assert_true(before.key != after.key);
	assert_int_equal(after.kind, FRAME_THREAD);
	assert_int_equal(after.pid, 10);
	assert_int_equal(after.tid, 11);
	assert_int_equal(after.name.len, 15);
	assert_memory_equal(after.name.bytes, "a name of more ", 15);
}

static void a_full_table_refuses_and_recovers(void **state)
{
	struct perf_threads *t = *state;

	for (uint32_t tid = 1; tid <= PERF_THREADS_MAX; tid++)
		assert_non_null(perf_threads_add(t, 1 + tid % 1000, tid, 0));
	assert_null(perf_threads_add(t, 7, PERF_THREADS_MAX + 1, 0));
	perf_threads_remove(t, perf_threads_find(t, 4711));
	assert_non_null(perf_threads_add(t, 7, PERF_THREADS_MAX + 1, 0));
	assert_null(perf_threads_add(t, 7, PERF_THREADS_MAX + 2, 0));
}

/* Against a plain array, at random, with a fixed seed. */
static void it_holds_what_was_added_and_not_removed(void **state)
{
	struct perf_threads *t = *state;
	static uint32_t pid_of[4096]; /* 0: not there */
	struct procfs_list pids = { 0 };
	uint32_t seed = 42, alive = 0;

	memset(pid_of, 0, sizeof(pid_of));
	for (int i = 0; i < 40000; i++) {
		uint32_t tid;

		seed = seed * 1664525u + 1013904223u;
		tid = 1 + (seed >> 8) % 4095;
		if (pid_of[tid] == 0) {
			pid_of[tid] = 1 + (seed >> 20) % 50;
			assert_non_null(perf_threads_add(t, pid_of[tid], tid, 0));
		} else {
			perf_threads_remove(t, perf_threads_find(t, tid));
			pid_of[tid] = 0;
		}
	}
	perf_threads_remove_process(t, 7);
	for (uint32_t tid = 1; tid < 4096; tid++) {
		struct perf_thread *thread = perf_threads_find(t, tid);

		if (pid_of[tid] == 0 || pid_of[tid] == 7)
			assert_null(thread);
		else
			assert_int_equal(thread->pid, pid_of[tid]);
	}
	assert_int_equal(perf_threads_pids(t, &pids), 0);
	for (uint32_t pid = 1; pid <= 50; pid++)
		alive += perf_threads_has_process(t, pid);
	assert_int_equal(pids.count, alive);
	assert_int_equal(perf_threads_alive(t), alive);
	assert_false(perf_threads_has_process(t, 7));
	procfs_list_free(&pids);
}

/* A child that gives every byte back: it is switched to for each. */
static pid_t start_echo(int out_pipes[2])
{
	int to[2], from[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	assert_true(pid > 0);
	close(to[0]);
	close(from[1]);
	out_pipes[0] = from[0];
	out_pipes[1] = to[1];
	return pid;
}

static void echo(const int pipes[2], unsigned int times)
{
	char byte = 'x';

	for (; times > 0; times--) {
		assert_int_equal(write(pipes[1], &byte, 1), 1);
		assert_int_equal(read(pipes[0], &byte, 1), 1);
	}
}

static void turns_are_counted_from_the_first_look_on_and_stay_of_the_dead(void **state)
{
	struct perf_threads *t = *state;
	struct procfs_turns seen, again, gone;
	struct perf_thread *thread;
	int pipes[2];
	pid_t pid = start_echo(pipes);

	echo(pipes, 400);
	thread = perf_threads_add(t, (uint32_t)pid, (uint32_t)pid, 1);
	if (procfs_turns(pid, pid, &thread->turns) != 0)
		skip(); /* a kernel that does not count them */
	thread->turns_before = thread->turns;
	assert_true(thread->turns_before.switches >= 200); /* a byte may find it still running */
	assert_true(perf_threads_turns(t).switches < thread->turns_before.switches / 2);
	echo(pipes, 100);
	seen = perf_threads_turns(t);
	assert_true(seen.switches > 0 && seen.switches < thread->turns_before.switches);
	assert_true(seen.ran_ns > 0);
	perf_threads_remove(t, thread);
	again = perf_threads_turns(t);
	assert_memory_equal(&again, &seen, sizeof(seen));
	thread = perf_threads_add(t, (uint32_t)pid, (uint32_t)pid, 2);
	again = perf_threads_turns(t); /* of one that was born under our eyes all count */
	assert_true(again.switches >= seen.switches + 200);
	assert_int_equal(again.switches, seen.switches + thread->turns.switches);
	close(pipes[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	gone = perf_threads_turns(t);
	assert_memory_equal(&gone, &again, sizeof(again));
	assert_int_equal(procfs_turns(pid, pid, &gone), -ESRCH);
	close(pipes[0]);
}

int main(void)
{
#define TABLE_TEST(f) cmocka_unit_test_setup_teardown(f, open_table, close_table)
	const struct CMUnitTest tests[] = {
		TABLE_TEST(a_process_lives_as_long_as_a_thread_of_it),
		TABLE_TEST(an_exec_leaves_one_thread),
		TABLE_TEST(a_place_given_back_forgets_its_counters_and_its_name),
		TABLE_TEST(a_new_name_is_a_new_frame),
		TABLE_TEST(a_full_table_refuses_and_recovers),
		TABLE_TEST(it_holds_what_was_added_and_not_removed),
		TABLE_TEST(turns_are_counted_from_the_first_look_on_and_stay_of_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
