/* test_perf_rights.c - engine `perf` as an ordinary user: what works, and how refusals are told. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/perf_open.h"
#include "watch.h"

#define NOBODY 65534u

static const char *busy; /* the target program */
static struct watch w;

/* How a case ended in the child that gave up its rights. */
enum verdict { GOOD, BAD, NOT_HERE, TOO_LITTLE };

static int64_t paranoid(void)
{
	int64_t value = -1;

	procfs_number("/proc/sys/kernel/perf_event_paranoid", &value);
	return value;
}

static void become_nobody(void)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		_exit(BAD);
}

/* Runs `part` in a child, so that what it gives up is not missed later. */
static void in_child(enum verdict (*part)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		enum verdict verdict = part();

		fflush(stdout);
		_exit((int)verdict);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(WEXITSTATUS(status), GOOD);
}

static int open_on(pid_t pid, struct err *err)
{
	struct sampler_settings settings = { .pid = pid, .period_ns = 10 * NS_PER_MS };
	struct sampler *sampler = NULL;
	int error = sampler_perf.open(&settings, &sampler, err);

	sampler_perf.close(sampler);
	if (error != 0)
		printf("%s\n%s\n%s\n", err->msg, err->works, err->mend);
	return error;
}

static bool has_three_lines(const struct err *err)
{
	return err->msg[0] != '\0' && err->works[0] != '\0' && err->mend[0] != '\0';
}

static enum verdict watch_own_program(void)
{
	const char *argv[] = { busy, "threads", "2", "200", NULL };
	struct err err = ERR_EMPTY;
	struct sampler_settings settings = { .period_ns = 2 * NS_PER_MS };

	watch_start(&w, argv);
	settings.pid = w.pid;
	if (sampler_perf.open(&settings, &w.sampler, &err) != 0) {
		printf("%s\n", err.msg);
		return paranoid() > 2 && err.code == -EACCES ? NOT_HERE : BAD;
	}
	watch_go(&w);
	watch_run(&w, 10000);
	watch_end(&w);
	printf("%llu ticks, %.3f of the CPU time, kernel stacks: %s\n", (unsigned long long)w.ticks,
	       (double)w.weight_ns / (double)watch_cpu_ns(&w), w.kernel_stacks);
	if (!w.facts.is_over || w.weight_ns * 100 > watch_cpu_ns(&w) * 102)
		return BAD;
	return w.weight_ns * 100 >= watch_cpu_ns(&w) * 96 ? GOOD : TOO_LITTLE;
}

/* Without rights time in the kernel is not seen: of a program that only spins some percent, but what other work on the machine
 * makes the kernel do in its time comes on top of that. */
static enum verdict sample_own_program(void)
{
	enum verdict verdict = TOO_LITTLE;

	become_nobody();
	for (int i = 0; i < 3 && verdict == TOO_LITTLE; i++)
		verdict = watch_own_program();
	return verdict;
}

static void own_programs_need_no_rights(void **state)
{
	(void)state;
	in_child(sample_own_program);
}

static enum verdict sample_process_of_root(void)
{
	struct err err = ERR_EMPTY;
	pid_t parent = getppid();

	if (geteuid() != 0)
		return NOT_HERE; /* our parent would be our own */
	become_nobody();
	return open_on(parent, &err) == -EACCES && has_three_lines(&err) &&
			       (paranoid() > 2 ||
				strstr(err.msg, "of user 0 as user 65534") != NULL)
		       ? GOOD
		       : BAD;
}

static void a_process_of_another_user_is_refused_with_the_mend(void **state)
{
	(void)state;
	in_child(sample_process_of_root);
}

static enum verdict sample_with_few_files(void)
{
	const struct rlimit few = { 12, 12 };
	const char *argv[] = { busy, "crowd", "40", "1", NULL };
	struct err err = ERR_EMPTY;

	watch_start(&w, argv);
	watch_hear(&w, "ready\n");
	if (setrlimit(RLIMIT_NOFILE, &few) != 0)
		return BAD;
	return open_on(w.pid, &err) == -EMFILE && has_three_lines(&err) &&
			       strstr(err.msg, "limit 12; its 41 threads") != NULL
		       ? GOOD
		       : BAD;
}

static void too_many_threads_for_the_file_limit_are_told(void **state)
{
	(void)state;
	in_child(sample_with_few_files);
}

/* The period cannot be changed for more threads than files; recording goes on. */
static enum verdict change_with_few_files(void)
{
	const struct rlimit few = { 60, 60 };
	const char *argv[] = { busy, "crowd", "40", "5", NULL };
	struct sampler_settings settings = { .period_ns = NS_PER_MS, .starts_at_exec = true };
	struct err err = ERR_EMPTY;
	uint64_t weight_ns;

	watch_start_waiting(&w, argv);
	settings.pid = w.pid;
	if (setrlimit(RLIMIT_NOFILE, &few) != 0 ||
	    sampler_perf.open(&settings, &w.sampler, &err) != 0)
		return NOT_HERE;
	watch_let_exec(&w);
	watch_hear(&w, "ready\n");
	if (sampler_perf.set_period(w.sampler, 2 * NS_PER_MS, &w.sink, &err) != -EMFILE)
		return BAD;
	printf("%s\n%s\n%s\n", err.msg, err.works, err.mend);
	weight_ns = w.weight_ns;
	watch_go(&w);
	watch_run(&w, 10000);
	watch_end(&w);
	return has_three_lines(&err) && w.facts.period_ns == 938183 && w.facts.is_over &&
			       w.weight_ns > weight_ns + 150 * NS_PER_MS
		       ? GOOD
		       : BAD;
}

static void a_change_of_period_beyond_the_file_limit_leaves_the_old_one(void **state)
{
	(void)state;
	in_child(change_with_few_files);
}

static enum verdict sample_with_locked_budget_spent(void)
{
	const struct rlimit none = { 0, 0 };
	struct procfs_list cpus = { 0 };
	struct perf_rings hog[64] = { { 0 } };
	struct err err = ERR_EMPTY;

	become_nobody();
	if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 || procfs_online_cpus(&cpus) != 0)
		return BAD;
	if (paranoid() > 2)
		return NOT_HERE;
	for (size_t i = 0; i < 64; i++)
		if (perf_rings_open(&hog[i], &cpus, PERF_RING_PAGES, &err) != 0)
			break;
	printf("%s\n%s\n%s\n", err.msg, err.works, err.mend);
	return err.code == -ENOMEM && has_three_lines(&err) &&
			       strstr(err.msg, "perf_event_mlock_kb") != NULL
		       ? GOOD
		       : BAD;
}

static void a_spent_budget_for_locked_memory_is_told(void **state)
{
	(void)state;
	in_child(sample_with_locked_budget_spent);
}

static void refusals_are_told_apart(void **state)
{
	static const struct {
		int code;
		const char *says;
	} cases[] = {
		{ -ESRCH, "there is no such process" }, { -EMFILE, "too many files" },
		{ -ENOENT, "has no CPU clock event" },	{ -ENOSYS, "has no perf_event_open" },
		{ -ENOMEM, "no memory for events" },	{ -EBUSY, "busy" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_EMPTY;

		print_message("%s\n", cases[i].says);
		assert_int_equal(perf_explain_event(cases[i].code, getpid(), &err), cases[i].code);
		assert_non_null(strstr(err.msg, cases[i].says));
		assert_true(has_three_lines(&err));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_programs_need_no_rights),
		cmocka_unit_test(a_process_of_another_user_is_refused_with_the_mend),
		cmocka_unit_test(too_many_threads_for_the_file_limit_are_told),
		cmocka_unit_test(a_change_of_period_beyond_the_file_limit_leaves_the_old_one),
		cmocka_unit_test(a_spent_budget_for_locked_memory_is_told),
		cmocka_unit_test(refusals_are_told_apart),
	};

	busy = argc > 1 ? argv[1] : "busy";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
