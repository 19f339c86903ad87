/* test_watch_programs.c - the programs that run in the kernel, run here: on a thread with a stack, calls, and a clock. */
#include "watch_world.h"

/* ---- which calls are timed ---- */

static void every_call_is_counted_and_the_first_of_a_window_timed_for_itself(void **state)
{
	(void)state;
	w.points[OUTER].interval = NEVER;
	for (int window = 0; window < 3; window++) {
		for (int i = 0; i < 10; i++)
			run(OUTER, i == 0 ? 900 : 100);
		next_window();
	}
	assert_int_equal(of(OUTER)->calls, 30);
	assert_int_equal(of(OUTER)->firsts, 3);
	assert_int_equal(of(OUTER)->first_ns, 2700);
	assert_int_equal(of(OUTER)->others, 0);
	assert_int_equal(of(OUTER)->begun, of(OUTER)->done);
	assert_int_equal(w.histograms[OUTER].weight[bucket_of(900)], 3);
}

static void one_call_in_interval_is_timed_with_it_as_its_weight(void **state)
{
	(void)state;
	w.points[OUTER].interval = 8;
	for (int i = 0; i < 80001; i++)
		run(OUTER, 50);
	assert_int_equal(of(OUTER)->calls, 80001);
	assert_in_range(of(OUTER)->others, 9700, 10300);
	assert_int_equal(of(OUTER)->weights, 8 * of(OUTER)->others);
	assert_int_equal(of(OUTER)->weights_squared, 64 * of(OUTER)->others);
	assert_int_equal(of(OUTER)->weighted_ns, 400 * of(OUTER)->others);
	assert_int_equal(of(OUTER)->squares_low, 50 * 50 * 8 * of(OUTER)->others);
	assert_int_equal(w.histograms[OUTER].weight[50], 8 * of(OUTER)->others + 1);
}

static void at_most_1000_first_calls_of_a_window_are_timed(void **state)
{
	uint64_t firsts = 0, others = 0;

	(void)state;
	w.points[OUTER].interval = NEVER;
	for (int window = 0; window < 2; window++) {
		for (w.cpu = 0; w.cpu < CPUS; w.cpu++)
			run(OUTER, 10);
		next_window();
	}
	for (w.cpu = 0; w.cpu < CPUS; w.cpu++) {
		firsts += of(OUTER)->firsts;
		others += of(OUTER)->others;
	}
	assert_int_equal(firsts, 2000);
	assert_in_range(others, 0, 3);
}

static void the_interval_doubles_when_the_windows_budget_is_spent(void **state)
{
	(void)state;
	w.points[OUTER].interval = 1;
	w.points[OUTER].budget = 100;
	for (int window = 0; window < 2; window++) {
		uint64_t before = of(OUTER)->firsts + of(OUTER)->others;

		for (int i = 0; i < 50000; i++)
			run(OUTER, 10);
		assert_in_range(of(OUTER)->firsts + of(OUTER)->others - before, 150,
				180 + 2 * 50000 / 4096);
		assert_int_equal(of(OUTER)->doubled, WATCH_DOUBLED);
		assert_int_equal(of(OUTER)->weight, 4096);
		next_window();
	}
	assert_in_range(of(OUTER)->weights, 60000, 140000);
}

static void an_interval_beyond_what_can_be_is_cut(void **state)
{
	(void)state;
	w.points[OUTER].interval = UINT64_C(1) << 31;
	w.points[MIDDLE].interval = 0;
	for (int i = 0; i < 10; i++) {
		run(OUTER, 10);
		run(MIDDLE, 10);
	}
	assert_int_equal(of(OUTER)->weight, GAP_MAX_INTERVAL);
	assert_int_equal(of(MIDDLE)->others, 9);
}

static void the_longest_of_a_window_is_kept_for_two(void **state)
{
	(void)state;
	run(OUTER, 70);
	run(OUTER, 90);
	run(OUTER, 80);
	next_window();
	run(OUTER, 60);
	assert_int_equal(of(OUTER)->max_ns[1], 90);
	assert_int_equal(of(OUTER)->max_window[1], 1);
	assert_int_equal(of(OUTER)->max_ns[0], 60);
	next_window();
	run(OUTER, 50);
	assert_int_equal(of(OUTER)->max_ns[1], 50);
	assert_int_equal(of(OUTER)->max_window[1], 3);
}

/* ---- what a time is made of ---- */

static void own_time_is_without_watched_calls_directly_inside(void **state)
{
	(void)state;
	w.points[INNER].floor_ns = 5;
	call(OUTER);
	pass_ns(100);
	call(MIDDLE);
	pass_ns(30);
	run(INNER, 25);
	leave_call();
	leave_call();
	assert_int_equal(of(OUTER)->first_ns, 155);
	assert_int_equal(of(OUTER)->first_nested_ns, 55);
	assert_int_equal(of(MIDDLE)->first_ns, 55);
	assert_int_equal(of(MIDDLE)->first_nested_ns, 20); /* without the floor */
	assert_int_equal(of(INNER)->first_nested_ns, 0);
	assert_int_equal(control.open, 0);
}

static void nested_calls_stand_for_those_not_timed(void **state)
{
	(void)state;
	w.points[INNER].interval = 4;
	run(INNER, 7); /* the window's first */
	for (int i = 0; i < 4000; i++) {
		call(OUTER);
		pass_ns(100);
		run(INNER, 50);
		leave_call();
	}
	assert_int_equal(of(OUTER)->others, 3999);
	assert_int_equal(of(OUTER)->weighted_ns, 3999 * 150);
	/* Each of the 4,000 takes 50: estimated from every fourth. */
	assert_int_equal(of(OUTER)->nested_ns + of(OUTER)->first_nested_ns,
			 4 * 50 * of(INNER)->others);
	assert_in_range(of(INNER)->others, 900, 1100);
}

static void what_an_untimed_call_calls_is_not_its_callers(void **state)
{
	(void)state;
	run(MIDDLE, 1);
	w.points[MIDDLE].interval = NEVER;
	w.points[MIDDLE].budget = 1;
	of(MIDDLE)->due = UINT64_MAX;
	call(OUTER);
	call(MIDDLE);
	enter_unwatched(9);
	run(INNER, 40);
	leave_unwatched(9);
	leave_call();
	enter_unwatched(9); /* goes as deep as MIDDLE lay */
	run(INNER, 60);
	leave_unwatched(9);
	leave_call();
	assert_int_equal(of(OUTER)->first_ns, 100);
	assert_int_equal(of(OUTER)->first_nested_ns, 60);
}

static void a_call_that_was_jumped_from_goes_on(void **state)
{
	(void)state;
	call(OUTER);
	pass_ns(10);
	jump_to(MIDDLE);
	pass_ns(20);
	run(INNER, 5);
	leave_call();
	assert_int_equal(of(MIDDLE)->first_ns, 25);
	assert_int_equal(of(MIDDLE)->first_nested_ns, 5);
	assert_int_equal(of(OUTER)->first_ns, 35);
	assert_int_equal(of(OUTER)->abandoned, 0);
	assert_int_equal(control.open, 0);
}

static void probes_inside_are_taken_off(void **state)
{
	(void)state;
	run(INNER, 1);
	of(INNER)->due = UINT64_MAX;
	w.points[INNER].untimed_ps = 2000;
	w.points[MIDDLE].timed_ps = 30000;
	w.points[OUTER].timed_ps = 777000; /* what is around it counts this, it does not */
	call(OUTER);
	pass_ns(100);
	for (int i = 0; i < 10; i++)
		run(INNER, 0);
	call(MIDDLE);
	run(INNER, 12);
	leave_call();
	leave_call();
	assert_int_equal(of(MIDDLE)->first_ns, 10);
	assert_int_equal(of(MIDDLE)->probe_ns, 2);
	assert_int_equal(of(OUTER)->first_ns, 112 - 22 - 30);
	assert_int_equal(of(OUTER)->probe_ns, 22 + 30);
}

static void probes_that_should_have_cost_more_than_the_call_leave_0_and_are_counted(void **state)
{
	(void)state;
	w.points[INNER].timed_ps = 1000000;
	call(OUTER);
	run(INNER, 40);
	leave_call();
	assert_int_equal(of(OUTER)->firsts, 1);
	assert_int_equal(of(OUTER)->first_ns, 0);
	assert_int_equal(of(OUTER)->clamped, 1);
	assert_int_equal(of(OUTER)->probe_ns, 40);
}

static void recursion_adds_up(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		call(OUTER);
		pass_ns(10);
	}
	for (int i = 0; i < 50; i++)
		leave_call();
	/* 10 + 20 + … + 500; each but the innermost has the one below inside */
	assert_int_equal(of(OUTER)->calls, 50);
	assert_int_equal(of(OUTER)->first_ns + of(OUTER)->weighted_ns, 12750);
	assert_int_equal(of(OUTER)->first_ns + of(OUTER)->weighted_ns - of(OUTER)->first_nested_ns -
				 of(OUTER)->nested_ns,
			 500);
}

static void a_clock_that_goes_back_drops_the_call_and_counts_it(void **state)
{
	(void)state;
	call(OUTER);
	w.now_ns -= 5;
	leave_call();
	assert_int_equal(of(OUTER)->backwards, 1);
	assert_int_equal(of(OUTER)->firsts, 0);
	assert_int_equal(of(OUTER)->begun, of(OUTER)->done);
}

/* ---- calls that never end ---- */

static void a_call_left_by_longjmp_is_abandoned_at_the_next(void **state)
{
	(void)state;
	run(OUTER, 3);
	call(OUTER);
	call(MIDDLE);
	call(INNER);
	long_jump(1); /* back in OUTER's caller's call: MIDDLE and INNER are gone */
	run(MIDDLE, 20);
	leave_call();
	assert_int_equal(of(INNER)->abandoned, 1);
	assert_int_equal(of(MIDDLE)->abandoned, 1);
	assert_int_equal(of(MIDDLE)->others, 1);
	assert_int_equal(of(MIDDLE)->weighted_ns, 20);
	assert_int_equal(of(OUTER)->others, 1);
	assert_int_equal(of(OUTER)->nested_ns, 20);
	assert_int_equal(control.open, 0);
}

static void a_return_abandons_what_lies_under_it(void **state)
{
	(void)state;
	call(OUTER);
	call(MIDDLE);
	long_jump(1);
	leave_call();
	assert_int_equal(of(MIDDLE)->abandoned, 1);
	assert_int_equal(of(OUTER)->firsts, 1);
	assert_int_equal(control.open, 0);
}

static void a_thread_that_ends_or_executes_abandons_all(void **state)
{
	int (*const ends[])(void *) = { watch_exit, watch_exec };

	for (int i = 0; i < 2; i++) {
		start(state);
		call(OUTER);
		call(MIDDLE);
		ends[i](NULL);
		assert_int_equal(of(OUTER)->abandoned + of(MIDDLE)->abandoned, 2);
		assert_int_equal(control.open, 0);
		assert_int_equal(w.thread.depth, 0);
	}
}

static void calls_open_at_a_detach_are_not_abandoned_twice(void **state)
{
	(void)state;
	call(OUTER);
	w.points[OUTER].epoch++; /* user space counted it */
	watch_exit(NULL);
	assert_int_equal(of(OUTER)->abandoned, 0);
	assert_int_equal(control.open, 0);
}

static void deeper_than_64_timed_calls_none_is_timed(void **state)
{
	(void)state;
	for (int i = 0; i < 70; i++)
		call(OUTER);
	assert_int_equal(control.lost_returns, 6);
	assert_int_equal(control.open, WATCH_DEPTH);
	for (int i = 0; i < 70; i++)
		leave_call();
	assert_int_equal(of(OUTER)->calls, 70);
	assert_int_equal(of(OUTER)->firsts + of(OUTER)->others, 64);
	assert_int_equal(of(OUTER)->abandoned, 0);
}

static void without_memory_for_the_thread_a_call_is_counted_only(void **state)
{
	(void)state;
	w.has_no_memory = true;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->calls, 1);
	assert_int_equal(of(OUTER)->started, 0);
	assert_int_equal(control.lost_places, 1);
	w.has_no_memory = false;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->firsts, 1);
}

/* ---- entry and return by two programs ---- */

static void returns_of_calls_that_are_not_timed_change_nothing(void **state)
{
	(void)state;
	is_session = false;
	run(MIDDLE, 1);
	of(MIDDLE)->due = UINT64_MAX;
	call(OUTER);
	call(MIDDLE);
	run(INNER, 40); /* MIDDLE's */
	leave_call();
	w.sp -= 80;	/* goes deeper, and writes nothing there */
	run(INNER, 60); /* OUTER's */
	w.sp += 80;
	leave_call();
	assert_int_equal(of(MIDDLE)->firsts, 1);
	assert_int_equal(of(OUTER)->first_ns, 100);
	assert_int_equal(of(OUTER)->first_nested_ns, 60);
}

static void a_return_of_another_function_ends_nothing(void **state)
{
	(void)state;
	is_session = false;
	run(MIDDLE, 1);
	of(MIDDLE)->due = UINT64_MAX;
	call(OUTER);
	pass_ns(10);
	jump_to(MIDDLE); /* both return at the same place, MIDDLE first */
	pass_ns(20);
	leave_call();
	assert_int_equal(of(MIDDLE)->firsts + of(MIDDLE)->others, 1);
	assert_int_equal(of(OUTER)->firsts, 1);
	assert_int_equal(of(OUTER)->first_ns, 30);
}

static void other_processes_are_not_counted(void **state)
{
	(void)state;
	is_session = false;
	only_tgid = 77;
	run(OUTER, 10);
	w.tgid = 78;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->calls, 1);
	pid_ns_dev = 4; /* where it has another number */
	pid_ns_ino = 5;
	only_tgid = 1078;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->calls, 2);
	w.tgid = 1078;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->calls, 2);
}

static void empty_programs_count_nothing(void **state)
{
	(void)state;
	is_empty = true;
	run(OUTER, 10);
	is_session = false;
	run(OUTER, 10);
	assert_int_equal(of(OUTER)->calls, 0);
}

/* ---- two links ---- */

/* One hit of a point that both links have, the newer's program first. */
static void hit_both(uint64_t newer, uint64_t older)
{
	struct pt_regs regs = regs_now();
	uint64_t links[] = { newer, older };

	w.is_return = false;
	for (int i = 0; i < 2; i++) {
		w.cookie = links[i] << 32 | OUTER;
		if (links[i] != 0)
			watch_session(&regs);
	}
}

static void while_two_links_have_a_point_each_hit_counts_once(void **state)
{
	static const uint64_t hits[][2] = {
		{ 0, 1 }, { 0, 1 }, { 2, 1 },
		{ 2, 1 }, { 0, 1 }, /* began before the newer one was there */
		{ 2, 1 }, { 2, 0 }, { 2, 0 }
	};

	(void)state;
	w.points[OUTER].interval = NEVER;
	w.points[OUTER].relink = 2;
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++)
		hit_both(hits[i][0], hits[i][1]);
	assert_int_equal(of(OUTER)->calls, 8);
	w.points[OUTER].relink = 3; /* the next time: a mark of the last one is no mark */
	hit_both(0, 2);
	hit_both(3, 2);
	hit_both(3, 0);
	w.points[OUTER].relink = 0;
	hit_both(3, 0);
	assert_int_equal(of(OUTER)->calls, 12);
}

/* ---- frames ---- */

static void a_frame_is_the_time_between_two_marks_with_its_parts(void **state)
{
	(void)state;
	frame_point = FRAME;
	control.slow_ns = 100;
	for (int i = 0; i < 3; i++) {
		call(FRAME);
		leave_call();
		call(OUTER);
		pass_ns(20);
		run(INNER, 30);
		leave_call();
		pass_ns(i == 1 ? 60 : 10);
	}
	assert_int_equal(of(FRAME)->calls, 2);
	assert_int_equal(of(FRAME)->others, 2);
	assert_int_equal(of(FRAME)->weights, 2);
	assert_int_equal(of(FRAME)->weighted_ns, 60 + 110);
	assert_int_equal(of(FRAME)->nested_ns, 100);
	assert_int_equal(w.slow_count, 1);
	assert_int_equal(w.slow[0].duration_ns, 110);
	assert_int_equal(w.slow[0].number, 1);
	assert_int_equal(w.slow[0].tid, 7);
	assert_int_equal(w.slow[0].own_ns[OUTER], 20);
	assert_int_equal(w.slow[0].own_ns[INNER], 30);
	assert_int_equal(w.slow[0].own_ns[MIDDLE], 0);
	assert_int_equal(w.slow_bytes, 32 + 8 * POINTS);
}

static void a_call_that_is_open_at_a_mark_is_split(void **state)
{
	(void)state;
	frame_point = FRAME;
	control.slow_ns = 1;
	call(OUTER);
	pass_ns(1000); /* before the first frame */
	for (int i = 0; i < 3; i++) {
		call(FRAME);
		leave_call();
		pass_ns(10);
		run(INNER, 5);
	}
	leave_call();
	call(FRAME);
	leave_call();
	assert_int_equal(w.slow_count, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(w.slow[i].duration_ns, 15);
		assert_int_equal(w.slow[i].own_ns[OUTER], 10);
		assert_int_equal(w.slow[i].own_ns[INNER], 5);
	}
}

static void parts_of_recursion_in_frames_add_up(void **state)
{
	int64_t own_ns = 0;

	(void)state;
	frame_point = FRAME;
	w.points[OUTER].interval = 4;
	run(OUTER, 1); /* the window's first */
	call(FRAME);
	leave_call();
	for (int i = 0; i < 100000; i++) {
		for (int k = 0; k < 5; k++) {
			call(OUTER);
			pass_ns(10);
		}
		for (int k = 0; k < 5; k++)
			leave_call();
	}
	own_ns = w.frame.own_ns[OUTER];
	assert_in_range(own_ns, 4700000, 5300000); /* 500,000 calls of 10 */
}

static void a_frame_across_a_detach_is_none(void **state)
{
	(void)state;
	frame_point = FRAME;
	run(FRAME, 0);
	pass_ns(1000);
	run(FRAME, 0);
	pass_ns(1000000); /* marks in here were not seen */
	w.points[FRAME].epoch++;
	run(FRAME, 0);
	pass_ns(1000);
	run(FRAME, 0);
	assert_int_equal(of(FRAME)->calls, 2);
	assert_in_range(of(FRAME)->weighted_ns, 2000, 3000);
}

static void slow_frames_that_find_no_room_are_counted(void **state)
{
	(void)state;
	frame_point = FRAME;
	control.slow_ns = 10;
	for (int i = 0; i < 13; i++) {
		call(FRAME);
		leave_call();
		pass_ns(10);
	}
	assert_int_equal(w.slow_count, 8);
	assert_int_equal(control.lost_slow, 4);
	assert_int_equal(of(FRAME)->others, 12);
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_call_is_counted_and_the_first_of_a_window_timed_for_itself),
		TEST(one_call_in_interval_is_timed_with_it_as_its_weight),
		TEST(at_most_1000_first_calls_of_a_window_are_timed),
		TEST(the_interval_doubles_when_the_windows_budget_is_spent),
		TEST(an_interval_beyond_what_can_be_is_cut),
		TEST(the_longest_of_a_window_is_kept_for_two),
		TEST(own_time_is_without_watched_calls_directly_inside),
		TEST(nested_calls_stand_for_those_not_timed),
		TEST(what_an_untimed_call_calls_is_not_its_callers),
		TEST(a_call_that_was_jumped_from_goes_on),
		TEST(probes_inside_are_taken_off),
		TEST(probes_that_should_have_cost_more_than_the_call_leave_0_and_are_counted),
		TEST(recursion_adds_up),
		TEST(a_clock_that_goes_back_drops_the_call_and_counts_it),
		TEST(a_call_left_by_longjmp_is_abandoned_at_the_next),
		TEST(a_return_abandons_what_lies_under_it),
		TEST(a_thread_that_ends_or_executes_abandons_all),
		TEST(calls_open_at_a_detach_are_not_abandoned_twice),
		TEST(deeper_than_64_timed_calls_none_is_timed),
		TEST(without_memory_for_the_thread_a_call_is_counted_only),
		TEST(returns_of_calls_that_are_not_timed_change_nothing),
		TEST(a_return_of_another_function_ends_nothing),
		TEST(other_processes_are_not_counted),
		TEST(empty_programs_count_nothing),
		TEST(while_two_links_have_a_point_each_hit_counts_once),
		TEST(a_frame_is_the_time_between_two_marks_with_its_parts),
		TEST(a_call_that_is_open_at_a_mark_is_split),
		TEST(parts_of_recursion_in_frames_add_up),
		TEST(a_frame_across_a_detach_is_none),
		TEST(slow_frames_that_find_no_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
