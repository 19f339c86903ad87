/* test_bpf_life.c - engine `bpf` follows what is watched: exec, fork, late code, ends, refusals. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/bpf.h"
#include "watch.h"

#define NOBODY 65534u

static const char *busy, *late, *plugin; /* the target programs */
static struct watch w;

/* Part of whole, in percent, at least. */
static void assert_share(uint64_t part, uint64_t whole, unsigned int percent)
{
	print_message("%.3f of %.3f s\n", (double)part / 1e9, (double)whole / 1e9);
	assert_measured(part * 100 >= whole * percent);
}

static struct record_counts counts(void)
{
	return bpf_counts((struct bpf_sampler *)w.sampler);
}

static void an_exec_keeps_the_pid_and_changes_the_code(void **state)
{
	const char *argv[] = { busy, "exec", "150", busy, NULL };
	const struct watch_thread *thread;

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.life[LIFE_EXEC], 1);
	thread = watch_thread(&w, (uint32_t)w.pid);
	assert_string_equal(thread->first_comm, "before");
	assert_measured(w.whole * 100 >= w.ticks * 98);
	assert_share(w.weight_ns, w.facts.clock_ns, 97);
}

static void a_program_that_waits_for_us_is_watched_from_its_exec(void **state)
{
	(void)state;
	watch_from_exec(&w, busy);
	assert_share(w.weight_ns, watch_cpu_ns(&w), 95);
	for (size_t i = 0; i < w.thread_count; i++)
		if (w.threads[i].ticks > 0)
			assert_string_equal(w.threads[i].comm, "busy");
}

static void a_late_attach_sees_all_of_200_threads(void **state)
{
	(void)state;
	assert_measured(watch_late_crowd(&w, busy) >= 198);
	assert_share(w.weight_ns, watch_cpu_ns(&w), 80); /* 8 ms each: the tails are long */
}

static void what_ran_before_the_attach_is_not_weighed(void **state)
{
	const char *argv[] = { busy, "threads", "2", "600", NULL };
	uint64_t before_ns, after_ns;

	(void)state;
	watch_start(&w, argv);
	watch_go(&w);
	usleep(200000);
	before_ns = watch_process_ns(&w);
	watch_open(&w, NS_PER_MS, NULL, false);
	after_ns = watch_process_ns(&w);
	watch_run(&w, 20000);
	watch_end(&w);
	assert_true(w.facts.is_over);
	print_message("%.3f s of %.3f, attached at %.3f to %.3f\n", (double)w.weight_ns / 1e9,
		      (double)watch_cpu_ns(&w) / 1e9, (double)before_ns / 1e9,
		      (double)after_ns / 1e9);
	assert_measured(w.facts.clock_ns <= watch_cpu_ns(&w) - before_ns + 10 * NS_PER_MS);
	assert_measured(w.weight_ns + 20 * NS_PER_MS >= watch_cpu_ns(&w) - after_ns);
}

static void children_that_outlive_their_parent_keep_it_going(void **state)
{
	const char *argv[] = { busy, "orphan", "200", NULL };

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_measured(w.weight_ns >= 180 * NS_PER_MS);
	assert_int_equal(w.life[LIFE_EXIT], 2);
}

static void a_target_that_dies_at_once_is_no_error(void **state)
{
	(void)state;
	watch_short_life(&w);
}

static void a_target_that_never_executes_is_over_when_it_ends(void **state)
{
	const char *argv[] = { "/nowhere/at/all", NULL };

	(void)state;
	watch_start_waiting(&w, argv);
	watch_open(&w, 10 * NS_PER_MS, NULL, true);
	watch_let_exec(&w);
	watch_run(&w, 4000);
	watch_end(&w);
	assert_true(w.facts.is_over);
	assert_int_equal(w.ticks, 0);
}

/* Samples with a frame of that name. */
static struct {
	void (*take)(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		     enum stack_end end);
	uint64_t in_plugin, whole_in_plugin, left_before;
} seen;

static void take(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		 enum stack_end end)
{
	bool is_inside = false;

	for (size_t i = 0; i < depth; i++)
		is_inside |= path[i].name.len == strlen("late_inner") &&
			     memcmp(path[i].name.bytes, "late_inner", path[i].name.len) == 0;
	if (is_inside && seen.in_plugin == 0)
		seen.left_before = counts().left;
	seen.in_plugin += is_inside;
	seen.whole_in_plugin += is_inside && end == STACK_WHOLE;
	seen.take(owner, tick, path, depth, end);
}

static void code_that_is_loaded_late_is_walked_in_the_kernel_soon(void **state)
{
	const char *argv[] = { late, plugin, "500", NULL };
	uint64_t left;

	(void)state;
	watch_start(&w, argv);
	memset(&seen, 0, sizeof(seen));
	seen.take = w.sink.take;
	w.sink.take = take;
	watch_open(&w, 2 * NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 20000);
	left = counts().left - seen.left_before;
	print_message("%llu samples in the plugin, %llu whole, %llu by a copy of the stack\n",
		      (unsigned long long)seen.in_plugin, (unsigned long long)seen.whole_in_plugin,
		      (unsigned long long)left);
	assert_true(seen.in_plugin > 0);
	assert_measured(seen.in_plugin >= 200);
	assert_measured(seen.whole_in_plugin * 100 >= seen.in_plugin * 98);
	assert_measured(left * 2 <= seen.in_plugin);
	watch_end(&w);
}

/* Children have the space that their maker had; nothing need be told anew for them. */
static void forked_children_need_no_copies_of_their_stacks(void **state)
{
	const char *argv[] = { busy, "forks", "60", "10", NULL };
	uint64_t left;

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 20000);
	left = counts().left;
	print_message("%llu of %llu samples by a copy of the stack\n", (unsigned long long)left,
		      (unsigned long long)counts().samples);
	assert_measured(counts().samples >= 400);
	assert_measured(left * 2 <= counts().samples);
	watch_end(&w);
}

static void a_user_without_rights_is_told_in_three_lines(void **state)
{
	struct sampler_settings settings = { .pid = getpid(), .period_ns = NS_PER_MS };
	struct sampler *sampler = NULL;
	struct err err = ERR_EMPTY;
	int status;
	pid_t pid;

	(void)state;
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		bool is_told;

		if (geteuid() == 0 &&
		    (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
			_exit(1);
		is_told = sampler_bpf.open(&settings, &sampler, &err) < 0 && sampler == NULL &&
			  strstr(err.msg, "BPF") != NULL && strstr(err.works, "--engine perf") &&
			  strstr(err.mend, "cap_bpf") != NULL;
		printf("%s\n%s\n%s\n", err.msg, err.works, err.mend);
		fflush(stdout);
		_exit(is_told ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_engine_that_is_switched_off_says_so(void **state)
{
	struct sampler_settings settings = { .pid = getpid(),
					     .period_ns = NS_PER_MS,
					     .switched_off = "bpf" };
	struct sampler *sampler = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(sampler_bpf.open(&settings, &sampler, &err), -ENOTSUP);
	assert_null(sampler);
	assert_non_null(strstr(err.mend, "TARE_NO"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exec_keeps_the_pid_and_changes_the_code),
		cmocka_unit_test(a_program_that_waits_for_us_is_watched_from_its_exec),
		cmocka_unit_test(a_late_attach_sees_all_of_200_threads),
		cmocka_unit_test(what_ran_before_the_attach_is_not_weighed),
		cmocka_unit_test(children_that_outlive_their_parent_keep_it_going),
		cmocka_unit_test(a_target_that_dies_at_once_is_no_error),
		cmocka_unit_test(a_target_that_never_executes_is_over_when_it_ends),
		cmocka_unit_test(code_that_is_loaded_late_is_walked_in_the_kernel_soon),
		cmocka_unit_test(forked_children_need_no_copies_of_their_stacks),
		cmocka_unit_test(a_user_without_rights_is_told_in_three_lines),
		cmocka_unit_test(an_engine_that_is_switched_off_says_so),
	};

	if (argc < 4)
		return 2;
	busy = argv[1];
	late = argv[2];
	plugin = argv[3];
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
		print_message("this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)\n");
		return 77;
	}
	watch_engine = &sampler_bpf;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
