/* test_ptrace.c - engine `ptrace` on real targets: whose time it is, and that nobody notices being looked at. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/procfs.h"
#include "watch.h"

#define OFTEN_NS (200 * NS_PER_US)
#define NOBODY	 65534u

static const char *busy, *careful, *silent; /* the target programs */
static struct watch w;

/* Weights are the threads' own time, but for what ran since the last tick. */
static void assert_share(uint64_t part, uint64_t whole, unsigned int least_percent)
{
	print_message("%.3f s of %.3f s\n", (double)part / 1e9, (double)whole / 1e9);
	assert_measured(part * 100 >= whole * least_percent);
	assert_measured(part * 100 <= whole * 103);
}

static char state_of(pid_t pid)
{
	struct procfs_process facts;

	return procfs_process(pid, &facts) == 0 ? facts.state : '?';
}

/* Runs `careful` under frequent looks until it has ended, and closes. Its status. */
static int run_careful(const char *kind, const char *number)
{
	const char *argv[] = { careful, kind, number, NULL };
	int status;

	watch_start(&w, argv);
	watch_open(&w, OFTEN_NS, NULL, false);
	watch_go(&w);
	watch_run(&w, 20000);
	status = watch_status(&w);
	watch_end(&w);
	print_message(
		"%s%llu stops, %.1f us each, %llu calls mended, %llu writes cut, %llu ticks\n",
		w.said, (unsigned long long)w.facts.stops,
		w.facts.stops > 0 ? (double)w.facts.stopped_ns / 1e3 / (double)w.facts.stops : 0.0,
		(unsigned long long)w.facts.mended_calls, (unsigned long long)w.facts.cut_calls,
		(unsigned long long)w.ticks);
	assert_true(w.facts.is_over);
	return status;
}

/* ---- whose time ---- */

static void the_time_of_each_thread_is_its_own(void **state)
{
	const char *argv[] = { busy, "threads", "2", "600", NULL };

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.facts.threads, 3);
	for (size_t i = 0; i < w.thread_count; i++)
		if (w.threads[i].cpu_ns > 100 * NS_PER_MS)
			assert_share(w.threads[i].weight_ns, w.threads[i].cpu_ns, 90);
	assert_true(w.weight_ns <= w.facts.clock_ns);
	assert_false(w.went_back);
	assert_measured(w.whole * 100 >= w.ticks * 95);
}

static void forked_children_are_followed_by_name(void **state)
{
	/* Long enough for a look at /proc that is dear, and so rare, on a slow machine. */
	const char *argv[] = { busy, "forks", "3", "400", NULL };
	unsigned int children = 0;

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.facts.processes, 4);
	assert_int_equal(w.life[LIFE_FORK], 3);
	assert_int_equal(w.life[LIFE_EXIT], 4);
	for (size_t i = 0; i < w.thread_count; i++) {
		if (strcmp(w.threads[i].comm, "busy-child") != 0)
			continue;
		children++;
		assert_share(w.threads[i].weight_ns, w.threads[i].cpu_ns, 90);
	}
	assert_int_equal(children, 3);
}

static void an_exec_gives_the_thread_a_new_name_and_new_maps(void **state)
{
	/* Long enough for the second program to be found where looking through /proc is dear, and so rare. */
	const char *argv[] = { busy, "exec", "150", busy, "600", NULL };
	struct watch_thread *thread;

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.life[LIFE_EXEC], 1);
	assert_int_equal(w.life[LIFE_THREAD], 1); /* the one that the new program makes */
	thread = watch_thread(&w, (uint32_t)w.pid);
	assert_string_equal(thread->first_comm, "before");
	assert_measured(w.whole * 100 >= w.ticks * 90);
	/* What ran since the last tick that found it running is nobody's when a thread ends. */
	assert_share(w.weight_ns, w.facts.clock_ns, 90);
}

static void a_program_that_waits_for_us_is_watched_from_its_exec(void **state)
{
	(void)state;
	watch_from_exec(&w, busy);
	assert_share(w.weight_ns, watch_cpu_ns(&w), 90);
}

static void a_late_attach_sees_all_of_200_threads(void **state)
{
	(void)state;
	assert_measured(watch_late_crowd(&w, busy) >= 100);
}

static void children_that_outlive_their_parent_keep_it_going(void **state)
{
	/* The parent lives long enough for a look at its children, which is rare on a slow machine; the child longer still. */
	const char *argv[] = { busy, "orphan", "1200", "600", NULL };

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	print_message("%llu processes\n", (unsigned long long)w.facts.processes);
	assert_measured(w.facts.processes == 2);
	assert_measured(w.life[LIFE_EXIT] == 2);
	assert_share(w.weight_ns, w.facts.clock_ns, 90);
	assert_measured(w.weight_ns >= 1600 * NS_PER_MS);
}

static void a_target_that_dies_at_once_is_no_error(void **state)
{
	(void)state;
	watch_short_life(&w);
}

/* ---- nobody notices ---- */

static void stops_are_counted_and_timed(void **state)
{
	const char *argv[] = { busy, "threads", "1", "300", NULL };

	(void)state;
	watch_whole(&w, argv, NS_PER_MS, NULL);
	print_message("%llu stops, %.1f us each\n", (unsigned long long)w.facts.stops,
		      (double)w.facts.stopped_ns / 1e3 / (double)w.facts.stops);
	assert_true(w.facts.stops > 0);
	assert_true(w.facts.stops <= w.ticks);
	assert_true(w.facts.stopped_ns >= w.facts.stops * NS_PER_US);
	assert_true(w.facts.unread_stacks * 20 <= w.ticks); /* it ends while it is looked at */
}

static void a_tick_that_is_not_wanted_stops_nobody(void **state)
{
	const char *argv[] = { busy, "threads", "1", "200", NULL };

	(void)state;
	watch_start(&w, argv);
	w.skips_stacks = true;
	watch_open(&w, NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 20000);
	watch_end(&w);
	assert_true(w.ticks > 0);
	assert_int_equal(w.facts.stops, 0);
}

static void a_thread_that_waits_is_left_alone(void **state)
{
	const char *argv[] = { busy, "threads", "1", "1", NULL };

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, OFTEN_NS, NULL, false);
	watch_run(&w, 300);
	assert_int_equal(w.facts.stops, 0);
	assert_int_equal(w.ticks, 0);
	watch_end(&w);
}

static void no_call_fails_for_being_looked_at(void **state)
{
	(void)state;
	assert_int_equal(run_careful("waits", "1500"), 0);
	assert_true(w.facts.stops > 10);
}

static void signals_arrive_as_often_as_they_are_sent(void **state)
{
	(void)state;
	assert_int_equal(run_careful("signals", "10000"), 0);
	assert_non_null(strstr(w.said, "done 10000\n"));
	assert_true(w.facts.stops > 10);
}

static void a_wait_that_a_signal_ends_says_so(void **state)
{
	(void)state;
	assert_int_equal(run_careful("masks", "2000"), 0);
	assert_non_null(strstr(w.said, "done 2000\n"));
	assert_true(w.facts.stops > 10);
}

static void a_write_that_is_cut_short_is_counted(void **state)
{
	const char *at;

	(void)state;
	assert_int_equal(run_careful("pipes", "500"), 0);
	at = strstr(w.said, "done ");
	assert_non_null(at);
	assert_true(strtoull(at + 5, NULL, 10) <= w.facts.cut_calls);
	assert_true(w.facts.stops > 10);
	assert_true(w.facts.cut_calls <= w.facts.stops);
}

static void a_stopped_job_stays_stopped_and_goes_on(void **state)
{
	const char *argv[] = { busy, "threads", "1", "400", NULL };
	uint64_t stops;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, OFTEN_NS, NULL, false);
	watch_go(&w);
	watch_run(&w, 100);
	kill(w.pid, SIGSTOP);
	watch_run(&w, 50);
	assert_int_equal(state_of(w.pid), 'T');
	stops = w.facts.stops;
	watch_run(&w, 100);
	assert_int_equal(state_of(w.pid), 'T');
	assert_int_equal(w.facts.stops, stops);
	kill(w.pid, SIGCONT);
	watch_run(&w, 20000);
	assert_int_equal(watch_status(&w), 0);
	watch_end(&w);
	assert_true(w.facts.is_over);
	assert_true(w.facts.stops > stops);
}

/* A recorder of its own, which is killed in the middle of its looks; it counts in shared memory how many it has made. */
static pid_t start_recorder(_Atomic uint64_t *stops)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct sampler_settings settings = { .pid = w.pid, .period_ns = 100 * NS_PER_US };

		if (watch_engine->open(&settings, &w.sampler, NULL) != 0)
			_exit(1);
		for (;;) {
			watch_run(&w, 1);
			watch_engine->facts(w.sampler, &w.facts);
			*stops = w.facts.stops;
		}
	}
	assert_true(pid > 0);
	return pid;
}

static void runs_on(uint64_t before_ns)
{
	const struct timespec pause = { 0, 5000000 };

	for (int i = 0; i < 400 && watch_process_ns(&w) <= before_ns; i++)
		nanosleep(&pause, NULL);
	assert_true(watch_process_ns(&w) > before_ns);
}

static void a_killed_recorder_leaves_the_job_running(void **state)
{
	const char *argv[] = { busy, "threads", "2", "60000", NULL };
	struct procfs_list tids = { 0 };
	uint64_t before_ns;
	_Atomic uint64_t *stops = mmap(NULL, sizeof(*stops), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(stops != MAP_FAILED);
	watch_start(&w, argv);
	watch_go(&w);
	for (int i = 0; i < 20; i++) {
		const struct timespec life = { 0, i * 317000 };
		pid_t recorder;
		int status;

		*stops = 0;
		recorder = start_recorder(stops);
		for (int k = 0; k < 4000 && *stops == 0; k++)
			usleep(500);
		assert_true(*stops > 0);
		nanosleep(&life, NULL);
		kill(recorder, SIGKILL);
		assert_int_equal(waitpid(recorder, &status, 0), recorder);
		assert_true(WIFSIGNALED(status));
		before_ns = watch_process_ns(&w);
		assert_int_equal(procfs_threads(w.pid, &tids), 0);
		for (size_t k = 0; k < tids.count; k++) {
			pid_t tracer = -1;

			assert_int_equal(procfs_tracer(w.pid, tids.items[k], &tracer), 0);
			assert_int_equal(tracer, 0);
		}
		assert_true(state_of(w.pid) != 't' && state_of(w.pid) != 'T');
		runs_on(before_ns);
	}
	procfs_list_free(&tids);
	munmap(stops, sizeof(*stops));
	watch_kill(&w);
}

static void memory_that_never_answers_holds_nobody_up(void **state)
{
	int status = run_careful("hangs", "700");

	(void)state;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
	assert_true(w.ticks > 10);
	assert_measured((w.facts.unread_stacks + w.whole) * 100 >= w.ticks * 95);
	assert_measured(w.weight_ns * 100 >= w.facts.clock_ns * 90);
}

static void a_file_that_never_answers_holds_nobody_up(void **state)
{
	const char *argv[] = { silent, "stack", "700", NULL };
	int status;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, 2 * NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 20000);
	status = watch_status(&w);
	watch_end(&w);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	print_message("%llu stops in %.1f ms, %llu of %llu stacks unread, %llu children killed\n",
		      (unsigned long long)w.facts.stops, (double)w.facts.stopped_ns / 1e6,
		      (unsigned long long)w.facts.unread_stacks, (unsigned long long)w.ticks,
		      (unsigned long long)w.facts.killed_copiers);
	assert_int_equal(status, 0);
	assert_non_null(strstr(w.said, "done\n"));
	assert_true(w.facts.is_over);
	assert_int_equal(w.facts.killed_copiers, 1);
	assert_true(w.facts.unread_stacks * 10 > w.ticks * 9);
	/* Held once, for as long as an answer is waited for; then left in peace, and its time is seen all the same. */
	assert_true(w.facts.stopped_ns >= 100 * NS_PER_MS);
	assert_measured(w.facts.stopped_ns < 300 * NS_PER_MS);
	assert_measured(w.weight_ns * 100 >= w.facts.clock_ns * 80);
}

/* ---- refusals ---- */

static int open_on(pid_t pid, struct err *err)
{
	struct sampler_settings settings = { .pid = pid, .period_ns = 10 * NS_PER_MS };
	struct sampler *sampler = NULL;
	int error = watch_engine->open(&settings, &sampler, err);

	watch_engine->close(sampler);
	print_message("%s\n%s\n%s\n", err->msg, err->works, err->mend);
	return error;
}

static bool has_three_lines(const struct err *err)
{
	return err->msg[0] != '\0' && err->works[0] != '\0' && err->mend[0] != '\0';
}

static void an_unknown_pid_is_told_in_three_lines(void **state)
{
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(open_on(0x3fffff, &err), -ESRCH);
	assert_string_equal(err.msg, "cannot sample process 4194303: there is no such process");
	assert_true(has_three_lines(&err));
}

static void a_process_that_is_traced_already_is_told_with_its_tracer(void **state)
{
	struct err err = ERR_EMPTY;
	char names[64];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_int_equal(open_on(pid, &err), -EBUSY);
	snprintf(names, sizeof(names), "process %d traces it already", (int)getpid());
	assert_non_null(strstr(err.msg, names));
	assert_true(has_three_lines(&err));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_zombie_is_told_as_ended(void **state)
{
	struct err err = ERR_EMPTY;
	siginfo_t ended;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(open_on(pid, &err), -ESRCH);
	waitpid(pid, NULL, 0);
}

/* The same by a user without rights, in a child of ours: what it is told, in `out`. 0: nothing, it was permitted. */
static int open_as_nobody(pid_t pid, struct err *out)
{
	struct err *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	assert_true(shared != MAP_FAILED);
	child = fork();
	if (child == 0) {
		if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
			_exit(99);
		open_on(pid, shared);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	*out = *shared;
	munmap(shared, sizeof(*shared));
	return out->code;
}

/* A process of `user` that waits, and says whether it wants to be looked at. */
static pid_t start_waiting(uid_t user, bool is_dumpable)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
			_exit(99);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, is_dumpable);
		if (write(ready[1], "x", 1) != 1)
			_exit(99);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void refusals_are_told_apart(void **state)
{
	static const struct {
		const char *says, *mend;
		uid_t user;
		bool is_dumpable;
		int code;
	} cases[] = {
		{ "of user 0 as user 65534", "record as that user", 0, true, -EACCES },
		{ "it guards itself (not dumpable", "cap_sys_ptrace", NOBODY, false, -EACCES },
		{ "", "", NOBODY, true, 0 },
	};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid = start_waiting(cases[i].user, cases[i].is_dumpable);
		struct err err = ERR_EMPTY;

		assert_int_equal(open_as_nobody(pid, &err), cases[i].code);
		assert_non_null(strstr(err.msg, cases[i].says));
		assert_non_null(strstr(err.mend, cases[i].mend));
		assert_true(cases[i].code == 0 || has_three_lines(&err));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static int all_as_ptrace(void **state)
{
	(void)state;
	watch_engine = &sampler_ptrace;
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_each_thread_is_its_own),
		cmocka_unit_test(forked_children_are_followed_by_name),
		cmocka_unit_test(an_exec_gives_the_thread_a_new_name_and_new_maps),
		cmocka_unit_test(a_program_that_waits_for_us_is_watched_from_its_exec),
		cmocka_unit_test(a_late_attach_sees_all_of_200_threads),
		cmocka_unit_test(children_that_outlive_their_parent_keep_it_going),
		cmocka_unit_test(a_target_that_dies_at_once_is_no_error),
		cmocka_unit_test(stops_are_counted_and_timed),
		cmocka_unit_test(a_tick_that_is_not_wanted_stops_nobody),
		cmocka_unit_test(a_thread_that_waits_is_left_alone),
		cmocka_unit_test(no_call_fails_for_being_looked_at),
		cmocka_unit_test(signals_arrive_as_often_as_they_are_sent),
		cmocka_unit_test(a_wait_that_a_signal_ends_says_so),
		cmocka_unit_test(a_write_that_is_cut_short_is_counted),
		cmocka_unit_test(a_stopped_job_stays_stopped_and_goes_on),
		cmocka_unit_test(a_killed_recorder_leaves_the_job_running),
		cmocka_unit_test(memory_that_never_answers_holds_nobody_up),
		cmocka_unit_test(a_file_that_never_answers_holds_nobody_up),
		cmocka_unit_test(an_unknown_pid_is_told_in_three_lines),
		cmocka_unit_test(a_process_that_is_traced_already_is_told_with_its_tracer),
		cmocka_unit_test(a_zombie_is_told_as_ended),
		cmocka_unit_test(refusals_are_told_apart),
	};

	busy = argc > 1 ? argv[1] : "busy";
	careful = argc > 2 ? argv[2] : "careful";
	silent = argc > 3 ? argv[3] : "silent";
	return cmocka_run_group_tests(tests, all_as_ptrace, NULL);
}
