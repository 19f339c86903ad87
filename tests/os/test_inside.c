/* test_inside.c - a program with libtare as a source of watched calls: another process, which does what the test tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "inside_stage.h"
#include "sense/mapping.h"
#include "targets/inside.h"

#define US	NS_PER_US
#define MS	NS_PER_MS
#define SPAN_NS (10 * NS_PER_S)

static struct stage_program program = { 0, -1, -1 };
static struct watch_source *source;

static void tell(const char *line)
{
	stage_tell(&program, line);
}

/* The program with a time of its own, watched with interval 8. */
static int start_made(void **state)
{
	char self[] = "/proc/self/exe", word[] = INSIDE_WORD, made[] = "made";
	char *argv[] = { self, word, made, NULL };
	struct watch_source_settings settings = { .interval = 8,
						  .slow_ns = 10 * MS,
						  .switched_off = "session,rdtsc" };

	(void)state;
	program = stage_program_start(argv);
	settings.pid = program.pid;
	source = stage_source(&settings);
	assert_int_equal(inside->start(source, NULL), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	inside->close(source);
	source = NULL;
	kill(program.pid, SIGKILL);
	(void)stage_program_end(&program);
	return 0;
}

static struct calls_seen turn_and_see(const char *name)
{
	assert_int_equal(inside->turn(source, false), 0);
	return stage_seen(source, stage_point(source, name), SPAN_NS);
}

static struct watch_source_facts facts(void)
{
	struct watch_source_facts facts;

	inside->facts(source, &facts);
	return facts;
}

static void names_become_points_while_the_program_runs(void **state)
{
	struct watched_row row = { .id = 0 };

	(void)state;
	assert_int_equal(inside->points(source), 0);
	tell("w a 1 0 0 0");
	assert_int_equal(inside->points(source), 1);
	tell("t b 5");
	tell("f");
	assert_int_equal(inside->points(source), 3);
	inside->describe(source, stage_point(source, "a"), &row);
	assert_int_equal(row.kind, WATCHED_SCOPE);
	assert_memory_equal(row.mode.bytes, "in process", row.mode.len);
	assert_int_equal(row.symbol.len + row.module.len + row.first.len + row.why_not.len, 0);
	inside->describe(source, stage_point(source, "b"), &row);
	assert_int_equal(row.kind, WATCHED_TASK);
	inside->describe(source, stage_point(source, "frame"), &row);
	assert_int_equal(row.kind, WATCHED_FRAME);
	inside->describe(source, 3, &row);
	assert_true(row.why_not.len > 0);
}

static void a_window_holds_every_call_and_a_sample_of_times(void **state)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct watchlist_losses losses;
	struct calls_seen seen;

	(void)state;
	tell("w a 10000 1000 7000 0");
	inside->turn(source, false);
	assert_int_equal(inside->seen(source, 0, SPAN_NS, &seen, &histogram, &losses), 0);
	assert_int_equal(seen.calls, 10000);
	assert_int_equal(seen.firsts, 1);
	assert_int_equal(seen.first_ns, 7000);
	assert_in_range(seen.others, 200, 2000); /* 1,250, doubled past 1,000 */
	assert_int_equal(seen.weighted_ns, seen.weight * 1000);
	assert_int_equal(seen.max_ns, 7000);
	assert_int_equal(seen.covered_ns, SPAN_NS);
	assert_int_equal(histogram.weight, seen.firsts + seen.weight);
	assert_int_equal(histogram.count, 2);
	histogram_free(&histogram);
	assert_int_equal(turn_and_see("a").calls, 0);
	assert_int_equal(inside->seen(source, 1, SPAN_NS, &seen, &histogram, &losses), -ENOENT);
}

static void an_order_is_in_force_at_once_both_ways(void **state)
{
	struct watch_order rare = { .interval = 4096 }, dense = { .interval = 8 };
	struct calls_seen seen;

	(void)state;
	tell("w a 8 0 0 0");
	inside->turn(source, false);
	tell("w a 8 0 0 0"); /* the window has begun by the old one */
	inside->order(source, 0, &rare);
	tell("w a 100000 0 0 0");
	seen = turn_and_see("a");
	assert_int_equal(seen.calls, 100008);
	assert_true(seen.others < 100);
	assert_int_equal(seen.interval, 4096);
	tell("w a 8 0 0 0");
	inside->order(source, 0, &dense);
	tell("w a 100 0 0 0");
	seen = turn_and_see("a");
	assert_true(seen.others >= 6);
	assert_true(seen.weight <= 30 * seen.others); /* not one that was drawn with 4,096 */
	/* Where each call is due it is the same. */
	dense.interval = 1; /* without a budget that is without end */
	inside->order(source, 0, &dense);
	tell("w a 5000 0 0 0");
	rare.interval = 100;
	inside->order(source, 0, &rare);
	tell("w a 10000 0 0 0");
	seen = turn_and_see("a");
	assert_in_range(seen.others, 4999, 5300);
}

static void a_look_says_what_was_counted_so_far(void **state)
{
	uint64_t calls, timed;

	(void)state;
	tell("w a 500 0 0 0");
	inside->peek(source, 0, &calls, &timed);
	assert_int_equal(calls, 500);
	assert_in_range(timed, 20, 140);
	inside->turn(source, false);
	inside->peek(source, 0, &calls, &timed);
	assert_int_equal(calls + timed, 0);
	inside->peek(source, MAPPING_NAMES, &calls, &timed);
	assert_int_equal(calls + timed, 0);
}

static void a_look_is_a_sign_of_life_and_silence_cuts_the_window_short(void **state)
{
	struct calls_seen seen;
	uint64_t calls, timed;

	(void)state;
	tell("w a 1 0 0 0");
	for (int i = 0; i < 4; i++) {
		tell("p 4000000000");
		inside->peek(source, 0, &calls, &timed);
		tell("w a 20 0 0 0");
	}
	assert_int_equal(facts().expired, 0);
	assert_int_equal(turn_and_see("a").calls, 81);
	tell("w a 20 0 0 0");
	tell("p 6000000000");
	tell("w a 200 0 0 0"); /* the first that is timed switches off */
	tell("w a 1000 0 0 0");
	seen = turn_and_see("a");
	assert_true(seen.calls < 220);
	assert_int_equal(facts().expired, 1);
	tell("w a 1000 0 0 0");
	seen = turn_and_see("a");
	assert_int_equal(seen.calls, 1000);
	assert_int_equal(seen.covered_ns, SPAN_NS);
}

static void a_window_that_was_cut_short_is_as_long_as_it_was_counted(void **state)
{
	struct calls_seen seen;

	(void)state;
	tell("w a 20 0 0 0");
	tell("p 6000000000");
	tell("w a 200 0 0 0");
	seen = turn_and_see("a");
	assert_true(seen.calls < 220);
	assert_in_range(seen.covered_ns, 5 * NS_PER_S, 6 * NS_PER_S);
	assert_int_equal(seen.span_ns, SPAN_NS);
}

/* What a session does not know yet cannot have a share. */
static void a_name_without_orders_is_thinned_out_by_itself(void **state)
{
	struct calls_seen seen;

	(void)state;
	tell("w a 2000000 0 0 0");
	seen = turn_and_see("a");
	assert_int_equal(seen.calls, 2000000);
	assert_in_range(seen.others, 1000, 2300);
}

static void every_frame_and_task_is_measured_so_totals_are_exact(void **state)
{
	struct calls calls;
	struct calls_seen seen;
	struct histogram none = HISTOGRAM_EMPTY;
	struct calls_estimate e;

	(void)state;
	assert_int_equal(calls_open(&calls, 10), 0);
	for (int i = 0; i < 30; i++) {
		tell("f");
		tell(i % 10 == 0 ? "p 5000000" : "p 1000000");
		tell(i % 10 == 0 ? "t b 3000000" : "t b 1000000");
	}
	seen = turn_and_see("frame");
	assert_int_equal(seen.calls, 29);
	assert_int_equal(calls_add(&calls, 0, &seen, &none), 0);
	e = calls_estimate(&calls.rows[0], 0);
	assert_true(e.has_total && e.has_error && e.total_ns == 76e6 && e.total_error_ns == 0);
	assert_int_equal(e.timed, 29);
	seen = stage_seen(source, stage_point(source, "b"), SPAN_NS);
	assert_int_equal(seen.calls, 30);
	assert_int_equal(seen.interval, 1);
	assert_int_equal(calls_add(&calls, 1, &seen, &none), 0);
	e = calls_estimate(&calls.rows[1], 0);
	assert_true(e.total_ns == 36e6 && e.total_error_ns == 0);
	assert_int_equal(e.max_ns, 3 * MS);
	calls_close(&calls);
}

static void a_slow_frames_parts_rest_and_other_are_the_frame(void **state)
{
	struct frames_frame frame;
	uint64_t number, sum_ns;
	uint32_t tid;

	(void)state;
	tell("f");
	tell("f"); /* number 0: quick */
	for (char name = 'a'; name <= 'j'; name++) {
		char line[32];

		snprintf(line, sizeof(line), "w %c 1 0 %d000 0", name, 1000 + name);
		tell(line);
	}
	tell("p 9000000");
	tell("f"); /* number 1 */
	tell("f");
	assert_true(inside->take_slow(source, &frame, &tid, &number));
	assert_int_equal(tid, program.pid);
	assert_int_equal(number, 1);
	assert_int_equal(frame.duration_ns, 10 * 1000 * US + 1015 * US + 9 * MS);
	assert_int_equal(frame.part_count, FRAMES_MOST_PARTS);
	assert_int_equal(frame.parts[0].function, stage_point(source, "j"));
	assert_int_equal(frame.parts[0].ns, (1000 + 'j') * US);
	assert_int_equal(frame.rest_ns, (2000 + 'a' + 'b') * US);
	assert_int_equal(frame.other_ns, 9 * MS);
	sum_ns = frame.rest_ns + frame.other_ns;
	for (uint32_t i = 0; i < frame.part_count; i++)
		sum_ns += frame.parts[i].ns;
	assert_int_equal(sum_ns, frame.duration_ns);
	assert_false(inside->take_slow(source, &frame, &tid, &number));
}

static void each_threads_first_call_is_timed_also_in_a_place_that_another_left(void **state)
{
	struct calls_seen seen;

	(void)state;
	tell("w a 1 0 1000 0");
	tell("T 20 a 9000");
	seen = turn_and_see("a");
	assert_int_equal(seen.calls, 21);
	assert_int_equal(seen.firsts, 21);
	assert_int_equal(seen.max_ns, 9000);
	tell("T 1200 a 0");
	seen = turn_and_see("a");
	assert_int_equal(seen.calls, 1200);
	assert_int_equal(seen.firsts, 1000);
}

static void calls_that_never_end_are_counted_and_not_timed(void **state)
{
	struct histogram histogram = HISTOGRAM_EMPTY;
	struct watchlist_losses losses;
	struct calls_seen seen;

	(void)state;
	tell("l a 3");
	tell("w b 1 0 0 0");
	inside->turn(source, false);
	assert_int_equal(
		inside->seen(source, stage_point(source, "a"), SPAN_NS, &seen, &histogram, &losses),
		0);
	assert_int_equal(seen.calls, 3);
	assert_int_equal(seen.firsts + seen.others + histogram.weight, 0);
	assert_in_range(losses.abandoned, 1, 3);
}

static void a_program_that_ends_is_over_and_its_last_calls_are_there(void **state)
{
	(void)state;
	tell("w a 17 0 0 0");
	assert_false(facts().is_over);
	close(program.in);
	program.in = -1;
	for (int tries = 0; tries < 400 && !facts().is_over; tries++)
		stage_pause_ms(5);
	assert_true(facts().is_over);
	assert_int_equal(turn_and_see("a").calls, 17);
}

static void a_program_that_runs_another_is_over_and_can_be_attached_to_anew(void **state)
{
	struct watch_source_settings settings = { .interval = 8, .switched_off = "rdtsc" };

	(void)state;
	tell("w a 1 0 0 0");
	assert_int_equal(write(program.in, "x\n", 2), 2);
	tell("p 1"); /* it is there again */
	for (int tries = 0; tries < 400 && !facts().is_over; tries++)
		stage_pause_ms(5);
	assert_true(facts().is_over);
	inside->close(source);
	settings.pid = program.pid;
	source = stage_source(&settings);
	assert_int_equal(inside->start(source, NULL), 0);
	tell("w c 3 0 0 0");
	assert_int_equal(turn_and_see("c").calls, 3);
	assert_false(facts().is_over);
}

static void a_program_that_has_forked_is_said_to_be_a_part(void **state)
{
	(void)state;
	tell("w a 1 0 0 0");
	assert_string_equal(facts().scope, "");
	tell("k");
	assert_string_equal(facts().scope, "forked processes are not watched");
	assert_int_equal(stage_point(source, "k"), UINT32_MAX);
	assert_int_equal(turn_and_see("a").calls, 1);
}

static void what_libtare_counts_cannot_be_detached_for_a_while(void **state)
{
	struct err err = ERR_EMPTY;

	(void)state;
	tell("w a 1 0 0 0");
	assert_int_equal(inside->attach(source, 0, false, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "'a'"));
}

static void the_clock_is_what_the_kernel_trusts_unless_it_is_switched_off(void **state)
{
	char self[] = "/proc/self/exe", word[] = INSIDE_WORD;
	char *argv[] = { self, word, NULL };
	struct watch_source_settings settings = { .interval = 8 };
	struct frames_frame frame;
	uint64_t number, from_ns;
	uint32_t tid;
	bool is_trusted = mapping_calibrate() != 0;

	(void)state;
	program = stage_program_start(argv);
	settings.pid = program.pid;
	settings.switched_off = "rdtsc";
	source = stage_source(&settings);
	assert_string_equal(facts().clock, "clock_gettime");
	inside->close(source);
	settings.switched_off = "rdtscp,nordtsc";
	settings.slow_ns = 20 * MS;
	settings.start_ns = stage_now_ns();
	source = stage_source(&settings);
	assert_string_equal(facts().clock,
			    is_trusted ? "rdtsc, trusted by the kernel" : "clock_gettime");
	assert_int_equal(inside->start(source, NULL), 0);
	/* When a slow frame was is elapsed time, whatever clock measured it. */
	tell("p 50000000");
	from_ns = stage_now_ns() - settings.start_ns;
	tell("f");
	tell("p 30000000");
	tell("f");
	assert_true(inside->take_slow(source, &frame, &tid, &number));
	assert_in_range(frame.start_ns, from_ns - MS,
			stage_now_ns() - settings.start_ns - 30 * MS + MS);
	assert_true(frame.duration_ns >= 30 * MS - MS);
}

static void a_program_without_libtare_is_refused_in_words(void **state)
{
	char sleep[] = "/bin/sleep", time[] = "60", *argv[] = { sleep, time, NULL };
	struct watch_source_settings settings = { .interval = 8 };
	struct err err = ERR_EMPTY;

	(void)state;
	program = stage_program_start(argv);
	settings.pid = program.pid;
	assert_int_equal(inside->open(&settings, &source, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "does not use libtare"));
	assert_null(source);
}

int main(int argc, char **argv)
{
#define MADE(test) cmocka_unit_test_setup_teardown(test, start_made, end)
	const struct CMUnitTest tests[] = {
		MADE(names_become_points_while_the_program_runs),
		MADE(a_window_holds_every_call_and_a_sample_of_times),
		MADE(an_order_is_in_force_at_once_both_ways),
		MADE(a_look_says_what_was_counted_so_far),
		MADE(a_look_is_a_sign_of_life_and_silence_cuts_the_window_short),
		MADE(a_window_that_was_cut_short_is_as_long_as_it_was_counted),
		MADE(a_name_without_orders_is_thinned_out_by_itself),
		MADE(every_frame_and_task_is_measured_so_totals_are_exact),
		MADE(a_slow_frames_parts_rest_and_other_are_the_frame),
		MADE(each_threads_first_call_is_timed_also_in_a_place_that_another_left),
		MADE(calls_that_never_end_are_counted_and_not_timed),
		MADE(a_program_that_ends_is_over_and_its_last_calls_are_there),
		MADE(a_program_that_runs_another_is_over_and_can_be_attached_to_anew),
		MADE(a_program_that_has_forked_is_said_to_be_a_part),
		MADE(what_libtare_counts_cannot_be_detached_for_a_while),
		cmocka_unit_test_teardown(
			the_clock_is_what_the_kernel_trusts_unless_it_is_switched_off, end),
		cmocka_unit_test_teardown(a_program_without_libtare_is_refused_in_words, end),
	};

	if (argc > 1 && strcmp(argv[1], INSIDE_WORD) == 0)
		return inside_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
