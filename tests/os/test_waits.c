/* test_waits.c - on the real kernel: running, waiting and runnable of each thread are its wall time, and it waited where it did.
 * Usage: test_waits WAITER ENGINE; or test_waits ASKER ENGINE query */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/waits_source.h"
#include "watch.h"

#define PERIOD_NS NS_PER_MS /* what runs between ticks is only known at the next */

static const char *waiter;

/* What was given of the whole program, and of its first thread. */
struct seen {
	struct watch watch;
	struct waits_source *waits;
	uint64_t all_ns[STATE_COUNT], first_ns[STATE_COUNT];
	const char *place,
		*why; /* a function that the first thread waits under, and the last frame then */
	uint64_t there_ns;		   /* its waiting there, and for that */
	uint64_t queued_ns[WATCH_THREADS]; /* by place in watch.threads: runnable */
	uint64_t rest_ns;		   /* its waiting that no look covered */
	uint64_t all_there_ns;		   /* waiting there, and for that, of all threads */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool wants(void *owner, const struct tick *tick)
{
	(void)owner;
	return tick->weight_ns > 0;
}

static bool is_called(struct str name, const char *text)
{
	return name.len == strlen(text) && memcmp(name.bytes, text, name.len) == 0;
}

static bool is_there(const struct seen *seen, const struct frame *path, size_t depth)
{
	bool is_under = false;

	for (size_t i = 0; i < depth; i++)
		is_under |= is_called(path[i].name, seen->place);
	return is_under && is_called(path[depth - 1].name, seen->why);
}

static void take(void *owner, const struct tick *tick, const struct frame *path, size_t depth,
		 enum stack_end end)
{
	struct seen *seen = owner;
	struct watch_thread *thread;

	(void)end;
	assert_true(tick->from_ns <= tick->at_ns);
	assert_non_null(path);
	assert_int_equal(path[0].kind, FRAME_THREAD);
	thread = watch_thread(&seen->watch, path[0].tid);
	thread->weight_ns += tick->weight_ns;
	seen->all_ns[tick->state] += tick->weight_ns;
	if (tick->state == STATE_RUNNABLE)
		seen->queued_ns[thread - seen->watch.threads] += tick->weight_ns;
	if (tick->state == STATE_WAITING && seen->place != NULL && is_there(seen, path, depth))
		seen->all_there_ns += tick->weight_ns;
	if (path[0].tid != (uint32_t)seen->watch.pid)
		return;
	seen->first_ns[tick->state] += tick->weight_ns;
	if (tick->state == STATE_WAITING && depth > 1 && is_called(path[1].name, "[not looked at]"))
		seen->rest_ns += tick->weight_ns;
	if (tick->state == STATE_WAITING && seen->place != NULL && is_there(seen, path, depth))
		seen->there_ns += tick->weight_ns;
}

static void lost(void *owner, uint64_t at_ns, uint64_t samples)
{
	(void)owner;
	(void)at_ns;
	(void)samples;
}

static void life(void *owner, const struct life *event)
{
	struct seen *seen = owner;

	if (event->kind == LIFE_EXIT && seen->waits != NULL)
		waits_source_forget(seen->waits, event->pid, &seen->watch.sink);
}

static void open_waits(struct seen *seen, bool starts_at_exec, struct mono start)
{
	struct waits_source_settings settings = { .pid = seen->watch.pid,
						  .starts_at_exec = starts_at_exec,
						  .start = start,
						  .engine = watch_engine,
						  .sampler = seen->watch.sampler };
	struct err err = ERR_EMPTY;
	int code = waits_source_open(&settings, &seen->waits, &err);

	if (code == 0)
		return;
	print_message("%s\n%s\n%s\n", err.msg, err.works, err.mend);
	watch_kill(&seen->watch);
	if (!watch_may_bpf())
		skip();
	fail();
}

/* Takes from both until the target has ended, or `ms` have passed. */
static void go_on(struct seen *seen, unsigned ms)
{
	uint64_t until_ns = now_ns() + ms * NS_PER_MS;
	struct watch *w = &seen->watch;
	struct err err = ERR_EMPTY;
	struct pollfd fds[4];

	while (now_ns() < until_ns && !w->facts.is_over) {
		poll(fds, (nfds_t)watch_engine->wait_on(w->sampler, fds, 4), 50);
		waits_source_peek(seen->waits, &w->sink);
		assert_int_equal(watch_engine->drain(w->sampler, &w->sink, &err), 0);
		waits_source_take(seen->waits, &w->sink);
		watch_engine->facts(w->sampler, &w->facts);
	}
	waits_source_end(seen->waits, &w->sink);
}

static void begin(struct seen *seen, const char *const argv[])
{
	struct mono start;

	watch_start_waiting(&seen->watch, argv);
	seen->watch.sink = (struct sampler_sink){
		.owner = seen, .wants = wants, .take = take, .lost = lost, .life = life
	};
	start.ns = now_ns();
	watch_open(&seen->watch, PERIOD_NS, NULL, true);
	open_waits(seen, true, start);
	watch_let_exec(&seen->watch);
}

static void end(struct seen *seen)
{
	waits_source_close(seen->waits);
	watch_end(&seen->watch);
}

/* A whole run of the waiter: each thread's weight, whatever its state, against the time that it says it lived. */
static void run_whole(struct seen *seen, const char *mode, const char *ms, const char *more)
{
	const char *const argv[] = { waiter, mode, ms, more, NULL };
	uint64_t told = 0;

	begin(seen, argv);
	go_on(seen, 20000);
	end(seen);
	assert_true(seen->watch.facts.is_over);
	for (size_t i = 0; i < seen->watch.thread_count; i++) {
		const struct watch_thread *t = &seen->watch.threads[i];

		if (t->cpu_ns == 0) /* the column holds what the target said: its wall time here */
			continue;
		told++;
		print_message("%s: thread %u lived %.4f s, given %.4f s\n", mode, t->tid,
			      (double)t->cpu_ns / 1e9, (double)t->weight_ns / 1e9);
		/* Its own account leaves out how it came to life and how it ended: 3 ms, and what it then had no CPU. */
		assert_measured((double)t->weight_ns > .99 * (double)t->cpu_ns);
		assert_measured((double)t->weight_ns <
				1.01 * (double)t->cpu_ns + 3e6 + (double)seen->queued_ns[i]);
	}
	assert_true(told > 0);
}

/* A run in which the first thread is to wait in one place, for one thing, for at least `away` of its time. */
static void expect_waiting(const char *mode, const char *ms, const char *more, const char *place,
			   const char *why, double away)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	double wall_ns, away_ns;

	assert_non_null(seen);
	seen->place = place;
	seen->why = why;
	run_whole(seen, mode, ms, more);
	wall_ns = (double)watch_thread(&seen->watch, (uint32_t)seen->watch.pid)->cpu_ns;
	away_ns = (double)(seen->first_ns[STATE_WAITING] + seen->first_ns[STATE_RUNNABLE]);
	print_message("%s: away %.4f, of its waiting at the right place %.4f\n", mode,
		      away_ns / wall_ns,
		      (double)seen->there_ns / (double)seen->first_ns[STATE_WAITING]);
	/* How long it was in the run queue is for others on the machine to say. */
	assert_measured(away_ns > away * wall_ns);
	if (seen->first_ns[STATE_WAITING] == 0 && away == 0) {
		print_message("%s: nothing is waited for here\n", mode);
		free(seen);
		return;
	}
	/* On a full machine it is also preempted, and one switch in two or three is looked at. */
	assert_measured((double)seen->rest_ns < .2 * (double)seen->first_ns[STATE_WAITING]);
	assert_measured((double)seen->there_ns >
			.98 * (double)(seen->first_ns[STATE_WAITING] - seen->rest_ns));
	free(seen);
}

static void the_three_states_are_the_wall_and_the_place_is_right(void **state)
{
	(void)state;
	expect_waiting("sleep", "600", NULL, "nap", "[waits for a timer]", .95);
	expect_waiting("futex", "600", NULL, "await_turn", "[waits for a lock]", .9);
	expect_waiting("poll", "600", NULL, "await_poll", "[waits for an event]", .95);
	expect_waiting("socket", "600", NULL, "ask", "[waits for input]", .9);
}

/* How much of its time a reader waits is for the disk to say: what it has cached itself, it gives at once. */
static void a_file_that_is_read_anew_is_waited_for(void **state)
{
	static char bytes[1 << 20];
	char path[] = "read.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 32; i++)
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(fsync(fd), 0); /* what is not on the disk is not read from it */
	close(fd);
	expect_waiting("file", "600", path, "read_anew", "[waits for a disk]", 0);
	unlink(path);
}

static void a_query_is_waited_for(void **state)
{
	(void)state;
	expect_waiting("query", "2500", NULL, "ask", "[waits for an event]", .9);
}

static void a_mixed_job_has_its_parts(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	double ran_ns, waited_ns;

	(void)state;
	assert_non_null(seen);
	seen->place = "nap";
	seen->why = "[waits for a timer]";
	run_whole(seen, "mixed", "900", NULL);
	ran_ns = (double)seen->first_ns[STATE_RUNNING];
	waited_ns = (double)seen->first_ns[STATE_WAITING];
	print_message("mixed: running %.3f of what is not runnable, sleeping %.3f of waiting\n",
		      ran_ns / (ran_ns + waited_ns), (double)seen->there_ns / waited_ns);
	assert_measured(fabs(ran_ns / (ran_ns + waited_ns) - .2) < .05);
	assert_measured(fabs((double)seen->there_ns / waited_ns - 7 / 12.) < .05);
	free(seen);
}

/* Nobody looked when it began: it is adopted in the middle of its only wait. */
static void a_wait_under_way_at_both_ends_is_seen_with_its_stack(void **state)
{
	const char *const argv[] = { waiter, "long", "9000", NULL };
	struct seen *seen = calloc(1, sizeof(*seen));
	struct waits_facts facts;
	struct mono start;
	double wall_ns;

	(void)state;
	assert_non_null(seen);
	seen->place = "nap";
	seen->why = "[waits for a timer]";
	watch_start_waiting(&seen->watch, argv);
	watch_let_exec(&seen->watch);
	seen->watch.sink = (struct sampler_sink){
		.owner = seen, .wants = wants, .take = take, .lost = lost, .life = life
	};
	usleep(200000);
	start.ns = now_ns();
	watch_open(&seen->watch, PERIOD_NS, NULL, false);
	open_waits(seen, false, start);
	start.ns = now_ns();
	go_on(seen, 1800);
	wall_ns = (double)(now_ns() - start.ns);
	waits_source_facts(seen->waits, &facts);
	end(seen);
	print_message("long: waiting %.4f of %.4f s, with its stack %.4f s\n",
		      (double)seen->first_ns[STATE_WAITING] / 1e9, wall_ns / 1e9,
		      (double)seen->there_ns / 1e9);
	assert_int_equal(facts.visits, 1);
	assert_measured(fabs((double)seen->first_ns[STATE_WAITING] - wall_ns) < .02 * wall_ns);
	assert_measured((double)seen->there_ns > .99 * (double)seen->first_ns[STATE_WAITING]);
	free(seen);
}

/* More than the ring holds between two looks, and than one buffer of a look: none may be forgotten. */
static void nine_hundred_that_sleep_at_once_all_have_their_stacks(void **state)
{
	const char *const argv[] = { waiter, "crowd", "900", "3000", NULL };
	struct seen *seen = calloc(1, sizeof(*seen));
	double share;

	(void)state;
	assert_non_null(seen);
	seen->place = "nap";
	seen->why = "[waits for a timer]";
	begin(seen, argv);
	go_on(seen, 20000);
	end(seen);
	assert_true(seen->watch.facts.is_over);
	share = (double)seen->all_there_ns / (double)seen->all_ns[STATE_WAITING];
	print_message("crowd: of all waiting %.4f at the right place\n", share);
	assert_measured(share > .8); /* where looks or lines are forgotten it is a half */
	free(seen);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest queries[] = {
		cmocka_unit_test(a_query_is_waited_for),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_states_are_the_wall_and_the_place_is_right),
		cmocka_unit_test(a_file_that_is_read_anew_is_waited_for),
		cmocka_unit_test(a_mixed_job_has_its_parts),
		cmocka_unit_test(nine_hundred_that_sleep_at_once_all_have_their_stacks),
		cmocka_unit_test(a_wait_under_way_at_both_ends_is_seen_with_its_stack),
	};

	if (argc < 3)
		return 77;
	waiter = argv[1];
	watch_engine = strcmp(argv[2], "bpf") == 0 ? &sampler_bpf : &sampler_perf;
	if (argc > 3)
		return cmocka_run_group_tests(queries, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
