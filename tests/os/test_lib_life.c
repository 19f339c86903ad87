/* test_lib_life.c - libtare over the life of its host: threads, forks, unloaded libraries, a recorder that dies. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib_stage.h"

#define SHORT_LIVED 20000
#define AT_ONCE	    1100

static __thread volatile uint32_t sink;
static const char *plugin;

static void calls(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		TARE_WATCH("work");
		sink++;
	}
}

static void *one_call(void *unused)
{
	calls(1);
	return unused;
}

static void *end_inside(void *unused)
{
	TARE_WATCH("ends inside");
	pthread_exit(unused);
}

static pthread_t start(void *(*body)(void *))
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	assert_int_equal(pthread_create(&thread, &small, body, NULL), 0);
	pthread_attr_destroy(&small);
	return thread;
}

static void of_20000_short_lived_threads_every_call_is_counted(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	struct mapping_shared *shared = stage_map();
	struct mapping_row row;

	(void)state;
	for (int i = 0; i < SHORT_LIVED; i += 4) {
		pthread_t threads[4];

		for (int k = 0; k < 4; k++)
			threads[k] = start(one_call);
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
	mapping_reader_turn(reader);
	row = stage_row(reader, "work");
	/* Lost: when several threads bring a name at once, and its writer is kept from the CPU. */
	assert_int_equal(row.calls + mapping_reader_loss(reader).calls, SHORT_LIVED);
	assert_in_range(mapping_reader_loss(reader).calls, 0, 8);
	assert_in_range(row.firsts, 1, 1000);
	assert_true(row.others > SHORT_LIVED / 16 && row.others < SHORT_LIVED / 4);
	assert_true(shared->host.slot_count <= 16); /* slots are used again */
	munmap(shared, sizeof(*shared));
	stage_close();
}

static void threads_that_end_inside_a_scope_leave_nothing_behind(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_row row;

	(void)state;
	for (int i = 0; i < 1000; i++)
		pthread_join(start(end_inside), NULL);
	calls(100);
	mapping_reader_turn(reader);
	row = stage_row(reader, "ends inside");
	assert_int_equal(row.calls, 1000);
	assert_int_equal(row.abandoned + row.firsts + row.others, 1000);
	assert_int_equal(stage_row(reader, "work").calls, 100);
	assert_int_equal(stage_row(reader, "work").firsts + stage_row(reader, "work").others, 100);
	stage_close();
}

static pthread_barrier_t all_here;

static void *wait_for_all(void *unused)
{
	calls(10);
	pthread_barrier_wait(&all_here);
	return unused;
}

static void more_threads_than_places_are_counted_as_lost(void **state)
{
	static pthread_t threads[AT_ONCE];
	struct mapping_reader *reader = stage_attach(8, 0);
	struct mapping_loss loss;
	uint64_t counted;

	(void)state;
	pthread_barrier_init(&all_here, NULL, AT_ONCE);
	for (int i = 0; i < AT_ONCE; i++)
		threads[i] = start(wait_for_all);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_here);
	mapping_reader_turn(reader);
	loss = mapping_reader_loss(reader);
	counted = stage_row(reader, "work").calls;
	assert_true(loss.places >= AT_ONCE - MAPPING_SLOTS);
	assert_int_equal(counted + loss.calls, AT_ONCE * 10);
	assert_true(loss.calls > 0);
	stage_close();
}

/* In the forked process: it has a mapping of its own, and a recorder of its own finds only its own calls. */
static int child_counts_for_itself(void)
{
	struct mapping_reader *reader = NULL;
	int status;

	calls(3); /* no recorder here: makes the mapping */
	if (mapping_reader_open(getpid(), &reader, NULL) != 0)
		return 1;
	mapping_reader_start(reader, 1, 0, 0);
	calls(7);
	mapping_reader_turn(reader);
	status = stage_row(reader, "work").calls == 7 ? 0 : 2;
	mapping_reader_close(reader);
	return status;
}

static void a_forked_process_has_a_mapping_of_its_own(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	int status = -1;
	pid_t pid;

	(void)state;
	calls(5);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_counts_for_itself());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	calls(5);
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "work").calls, 10);
	stage_close();
}

/* The C library does not hear of this one: it is noticed at the next timed call. */
static void a_fork_by_a_bare_system_call_is_noticed(void **state)
{
	struct mapping_reader *reader = stage_attach(8, 0);
	int status = -1;
	pid_t pid;

	(void)state;
	calls(100);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	assert_true(pid >= 0);
	if (pid == 0) {
		calls(100000);
		syscall(SYS_exit_group, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	mapping_reader_turn(reader);
	assert_in_range(stage_row(reader, "work").calls, 100, 100 + 16);
	stage_close();
}

static void a_scope_open_over_a_fork_may_end_in_both(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	int status = -1;
	pid_t pid;

	(void)state;
	{
		TARE_WATCH("over a fork");
		pid = fork();
		if (pid == 0)
			calls(10);
	}
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "over a fork").calls, 1);
	assert_int_equal(stage_row(reader, "over a fork").firsts, 1);
	stage_close();
}

static void a_library_with_scopes_can_be_unloaded(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);

	(void)state;
	for (int round = 0; round < 3; round++) {
		void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
		int (*call)(int);

		assert_non_null(handle);
		*(void **)&call = dlsym(handle, "plugin_call");
		assert_non_null(call);
		for (int i = 0; i < 10; i++)
			sink += (uint32_t)call(i);
		assert_int_equal(dlclose(handle), 0);
		assert_null(dlopen(plugin, RTLD_NOW | RTLD_NOLOAD));
	}
	mapping_reader_turn(reader);
	assert_int_equal(stage_row(reader, "in a plugin").calls, 30);
	assert_int_equal(stage_row(reader, "in a plugin").abandoned, 0);
	stage_close();
}

static void when_the_recorder_is_silent_it_goes_off_and_on_again(void **state)
{
	struct mapping_reader *reader = stage_attach(1, 0);
	struct mapping_shared *shared = stage_map();

	(void)state;
	shared->orders.lease_ns = 1000000;
	calls(10);
	assert_true(tare_is_watched());
	stage_spin(3000000);
	calls(10);
	assert_false(tare_is_watched());
	calls(10);
	assert_int_equal(mapping_reader_turn(reader), 0);
	assert_in_range(stage_row(reader, "work").calls, 11, 12);
	assert_int_equal(mapping_reader_loss(reader).expired, 1);
	assert_true(tare_is_watched());
	calls(10);
	assert_true(mapping_reader_turn(reader) != 0);
	assert_int_equal(stage_row(reader, "work").calls, 10);
	munmap(shared, sizeof(*shared));
	stage_close();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_20000_short_lived_threads_every_call_is_counted),
		cmocka_unit_test(threads_that_end_inside_a_scope_leave_nothing_behind),
		cmocka_unit_test(a_forked_process_has_a_mapping_of_its_own),
		cmocka_unit_test(a_fork_by_a_bare_system_call_is_noticed),
		cmocka_unit_test(a_scope_open_over_a_fork_may_end_in_both),
		cmocka_unit_test(a_library_with_scopes_can_be_unloaded),
		cmocka_unit_test(when_the_recorder_is_silent_it_goes_off_and_on_again),
		cmocka_unit_test(more_threads_than_places_are_counted_as_lost),
	};

	plugin = argc > 1 ? argv[1] : "liblib_plugin.so";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
