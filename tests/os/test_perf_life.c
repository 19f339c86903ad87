/* test_perf_life.c - threads, forks, execs and ends, as engine `perf` follows them. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sense/perf.h"
#include "sense/procfs.h"
#include "watch.h"

static const char *busy; /* the target program */
static struct watch w;

static void assert_share(uint64_t part, uint64_t whole, unsigned int least_percent)
{
	/* A thread that ends while ticks are lost loses its tail to (unsampled): what is counted as lost may be missing. */
	uint64_t lost_ns = w.facts.lost_count * w.facts.period_ns;

	print_message("%.3f s of %.3f s, %llu lost\n", (double)part / 1e9, (double)whole / 1e9,
		      (unsigned long long)w.facts.lost_count);
	assert_measured((part + lost_ns) * 100 >= whole * least_percent);
	assert_measured(part * 100 <= whole * 103);
}

static void forked_children_are_followed_by_name(void **state)
{
	const char *argv[] = { busy, "forks", "3", "150", NULL };
	unsigned int children = 0;

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.facts.processes, 4);
	assert_int_equal(w.life[LIFE_FORK], 3);
	assert_int_equal(w.life[LIFE_EXIT], 4);
	assert_int_equal(w.of_root, 3);
	assert_int_equal(w.last_ends, 4);
	assert_false(w.life_went_back);
	assert_in_range(w.life_ns, w.last_ns > 0 ? 1 : 0, 60 * NS_PER_S);
	for (size_t i = 0; i < w.thread_count; i++) {
		if (strcmp(w.threads[i].comm, "busy-child") != 0)
			continue;
		children++;
		assert_int_equal(w.threads[i].pid, w.threads[i].tid);
		assert_share(w.threads[i].weight_ns, w.threads[i].cpu_ns, 95);
	}
	assert_int_equal(children, 3);
}

static void an_exec_gives_the_thread_a_new_name(void **state)
{
	const char *argv[] = { busy, "exec", "150", busy, NULL };
	struct watch_thread *thread;

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_int_equal(w.life[LIFE_EXEC], 1);
	assert_int_equal(w.life[LIFE_THREAD], 1); /* the one that the new program makes */
	thread = watch_thread(&w, (uint32_t)w.pid);
	assert_string_equal(thread->first_comm, "before");
	assert_measured(w.whole * 100 >= w.ticks * 95); /* the new program's maps are known */
	assert_share(w.weight_ns, w.facts.clock_ns, 95);
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
	unsigned int seen;

	(void)state;
	seen = watch_late_crowd(&w, busy);
	/* Of 8 ticks each; on a crowded machine some threads' are lost to the last, and counted. */
	assert_measured(seen + w.facts.lost_count / 4 >= 198);
	assert_measured(seen >= 100);
	assert_share(w.weight_ns, watch_cpu_ns(&w), 80); /* 8 ms each: the tails are long */
}

static void children_that_outlive_their_parent_keep_it_going(void **state)
{
	const char *argv[] = { busy, "orphan", "200", NULL };

	(void)state;
	watch_whole(&w, argv, 2 * NS_PER_MS, NULL);
	assert_measured(w.weight_ns + w.facts.lost_count * w.facts.period_ns >= 180 * NS_PER_MS);
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

static void an_unknown_pid_is_told_in_three_lines(void **state)
{
	struct sampler_settings settings = { .pid = 0x3fffff, .period_ns = NS_PER_MS };
	struct sampler *sampler = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	assert_int_equal(sampler_perf.open(&settings, &sampler, &err), -ESRCH);
	assert_null(sampler);
	assert_string_equal(err.msg, "cannot sample process 4194303: there is no such process");
	assert_true(err.works[0] != '\0' && err.mend[0] != '\0');
}

static void a_thread_is_told_with_its_process(void **state)
{
	const char *argv[] = { busy, "crowd", "1", "1", NULL };
	struct sampler_settings settings = { .period_ns = NS_PER_MS };
	struct procfs_list tids = { 0 };
	struct sampler *sampler = NULL;
	struct err err = ERR_EMPTY;
	char mend[32];

	(void)state;
	watch_start(&w, argv);
	watch_hear(&w, "ready\n");
	assert_int_equal(procfs_threads(w.pid, &tids), 0);
	assert_int_equal(tids.count, 2);
	settings.pid = tids.items[0] == w.pid ? tids.items[1] : tids.items[0];
	assert_int_equal(sampler_perf.open(&settings, &sampler, &err), -EINVAL);
	snprintf(mend, sizeof(mend), "name the process: -p %d", (int)w.pid);
	assert_string_equal(err.mend, mend);
	procfs_list_free(&tids);
	watch_kill(&w);
}

/* Threads born while events are being opened are counted once, by whichever event. */
static void an_attach_amid_births_counts_every_thread_once(void **state)
{
	const char *argv[] = { busy, "churn", "400", "1", NULL };
	uint64_t before_ns, after_ns, all_ns;

	(void)state;
	for (int i = 0; i < 3; i++) {
		watch_start(&w, argv);
		w.skips_stacks = true;
		watch_go(&w);
		usleep(20000);
		before_ns = watch_process_ns(&w);
		watch_open(&w, NS_PER_MS / 4, NULL, false);
		after_ns = watch_process_ns(&w);
		watch_run(&w, 10000);
		watch_end(&w);
		all_ns = watch_thread(&w, (uint32_t)w.pid)->cpu_ns;
		print_message("attached between %.1f and %.1f ms of %.1f; counted %.1f ms, weighed "
			      "%.1f\n",
			      (double)before_ns / 1e6, (double)after_ns / 1e6, (double)all_ns / 1e6,
			      (double)w.facts.clock_ns / 1e6, (double)w.weight_ns / 1e6);
		assert_true(w.facts.clock_ns <= (all_ns - before_ns) * 103 / 100);
		assert_true(w.facts.clock_ns >= (all_ns - after_ns) * 95 / 100);
		assert_true(w.weight_ns <= w.facts.clock_ns);
	}
}

/* What a race at the attach can leave behind, made on purpose: events on threads that inherit others already. */
static void a_thread_counted_twice_is_found_out(void **state)
{
	const char *argv[] = { busy, "threads", "2", "400", NULL };
	struct procfs_list tids = { 0 };

	(void)state;
	watch_start(&w, argv);
	watch_open(&w, NS_PER_MS, NULL, false);
	watch_go(&w);
	watch_run(&w, 60);
	assert_int_equal(procfs_threads(w.pid, &tids), 0);
	assert_int_equal(tids.count, 3);
	for (size_t i = 0; i < tids.count; i++)
		if (tids.items[i] != w.pid)
			assert_int_equal(perf_events_add(&w.sampler->events, &w.sampler->means,
							 &w.sampler->rings, tids.items[i]),
					 0);
	procfs_list_free(&tids);
	perf_events_enable(&w.sampler->events);
	watch_run(&w, 10000);
	watch_end(&w);
	assert_share(w.weight_ns, watch_cpu_ns(&w), 96);
	assert_share(w.facts.clock_ns, watch_cpu_ns(&w), 97);
	assert_true(w.weight_ns <= w.facts.clock_ns);
}

static void a_zombie_is_told_as_ended(void **state)
{
	struct sampler_settings settings = { .period_ns = NS_PER_MS };
	struct sampler *sampler = NULL;
	struct err err = ERR_EMPTY;
	siginfo_t ended;

	(void)state;
	settings.pid = fork();
	if (settings.pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)settings.pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(sampler_perf.open(&settings, &sampler, &err), -ESRCH);
	assert_null(sampler);
	waitpid(settings.pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_children_are_followed_by_name),
		cmocka_unit_test(an_exec_gives_the_thread_a_new_name),
		cmocka_unit_test(a_program_that_waits_for_us_is_watched_from_its_exec),
		cmocka_unit_test(a_late_attach_sees_all_of_200_threads),
		cmocka_unit_test(children_that_outlive_their_parent_keep_it_going),
		cmocka_unit_test(a_target_that_dies_at_once_is_no_error),
		cmocka_unit_test(a_target_that_never_executes_is_over_when_it_ends),
		cmocka_unit_test(an_unknown_pid_is_told_in_three_lines),
		cmocka_unit_test(a_thread_is_told_with_its_process),
		cmocka_unit_test(an_attach_amid_births_counts_every_thread_once),
		cmocka_unit_test(a_thread_counted_twice_is_found_out),
		cmocka_unit_test(a_zombie_is_told_as_ended),
	};

	busy = argc > 1 ? argv[1] : "busy";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
