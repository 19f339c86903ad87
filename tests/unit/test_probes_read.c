/* test_probes_read.c - windows made of what the kernel's programs count: two readings of memory and their difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sense/probes_parts.h"

#define POINTS 2u
#define CPUS   2u
#define SPAN   UINT64_C(10000000000)

/* Two points on two CPUs. */
static struct {
	struct watch_source source;
	struct watch_control control;
	struct watch_point orders[POINTS];
	struct watch_counter counters[POINTS * CPUS], held[POINTS * CPUS];
	struct watch_histogram histograms[POINTS];
	struct probes_point points[POINTS];
	struct calls_seen seen;
	struct watchlist_losses losses;
	struct histogram histogram;
} w;

static int start(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.source = (struct watch_source){ .control = &w.control,
					  .orders = w.orders,
					  .counters = w.counters,
					  .held = w.held,
					  .histograms = w.histograms,
					  .points = w.points,
					  .point_count = POINTS,
					  .cpu_count = CPUS };
	w.control.window = 1;
	for (uint32_t i = 0; i < POINTS; i++)
		w.orders[i].interval = 8;
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		free(w.points[i].histogram);
	histogram_free(&w.histogram);
	return 0;
}

static struct watch_counter *counter(uint32_t cpu, uint32_t point)
{
	return &w.counters[cpu * POINTS + point];
}

/* A timed call of weight 8 that takes `ns`, `nested_ns` of it in others. */
static void time_call(struct watch_counter *c, uint64_t ns, uint64_t nested_ns)
{
	c->calls++;
	c->started++;
	c->others++;
	c->weights += 8;
	c->weights_squared += 64;
	c->weighted_ns += 8 * ns;
	c->nested_ns += 8 * nested_ns;
	c->squares_low += 8 * ns * ns;
}

static void turn_to(uint32_t point, bool is_last)
{
	histogram_free(&w.histogram);
	assert_int_equal(probes_read_window(&w.source, is_last), 0);
	assert_int_equal(probes_seen(&w.source, point, SPAN, &w.seen, &w.histogram, &w.losses), 0);
}

static void turn(uint32_t point)
{
	turn_to(point, false);
}

static void a_window_is_what_came_since_the_last_on_all_cpus(void **state)
{
	(void)state;
	for (uint64_t window = 1; window < 4; window++) {
		counter(0, 1)->calls += 10;
		counter(1, 1)->calls += 5;
		time_call(counter(1, 1), 100 * window, 30);
		counter(0, 0)->calls += 1000;
		w.histograms[1].weight[50 + window] += 8;
		turn(1);
		assert_int_equal(w.control.window, window + 1);
		assert_int_equal(w.seen.calls, 16);
		assert_int_equal(w.seen.others, 1);
		assert_int_equal(w.seen.weight, 8);
		assert_int_equal(w.seen.weight_squared, 64);
		assert_int_equal(w.seen.weighted_ns, 800 * window);
		assert_int_equal(w.seen.weighted_own_ns, 800 * window - 240);
		assert_int_equal(w.seen.squares.low, 80000 * window * window);
		assert_int_equal(w.seen.span_ns, SPAN);
		assert_int_equal(w.seen.covered_ns, SPAN);
		assert_int_equal(w.histogram.weight, 8);
		assert_int_equal(w.histogram.steps[0].at, 50 + window);
	}
	turn(1);
	assert_int_equal(w.seen.calls + w.seen.others + w.histogram.weight, 0);
}

static void a_timed_call_counts_in_the_window_in_which_it_ends(void **state)
{
	(void)state;
	counter(0, 0)->calls = 7;
	counter(0, 0)->started = 1;
	turn(0);
	assert_int_equal(w.seen.calls, 6);
	turn(0);
	assert_int_equal(w.seen.calls, 0);
	counter(1, 0)->firsts = 1; /* it ends on another CPU */
	counter(1, 0)->first_ns = 30;
	turn(0);
	assert_int_equal(w.seen.calls, 1);
	assert_int_equal(w.seen.firsts, 1);
	assert_int_equal(w.seen.first_ns, 30);
}

/* A call that ends between the change of the window and the reading is read with those before. */
static void the_longest_is_of_the_window_that_has_the_call(void **state)
{
	struct watch_counter *c = counter(0, 0);

	(void)state;
	time_call(c, 100, 0);
	c->max_window[0] = 2;
	c->max_ns[0] = 100;
	turn(0);
	assert_int_equal(w.seen.others, 1);
	assert_int_equal(w.seen.max_ns, 100);
	turn(0);
	assert_int_equal(w.seen.others, 0);
	assert_int_equal(w.seen.max_ns, 0);
}

static void a_timed_call_that_never_ends_counts_when_that_is_known(void **state)
{
	(void)state;
	counter(0, 0)->calls = 3;
	counter(0, 0)->started = 3;
	turn(0);
	assert_int_equal(w.seen.calls, 0);
	assert_int_equal(probes_read_open(&w.source, 0), 3);
	counter(0, 0)->abandoned = 1;
	counter(0, 0)->backwards = 1;
	w.points[0].given_up = 1; /* at a detach */
	turn(0);
	assert_int_equal(w.seen.calls, 3);
	assert_int_equal(w.losses.abandoned, 2);
	assert_int_equal(w.losses.backwards, 1);
	assert_int_equal(probes_read_open(&w.source, 0), 0);
}

static void a_call_that_is_open_at_the_end_counts_once_and_is_not_timed(void **state)
{
	(void)state;
	counter(0, 0)->calls = 10;
	counter(0, 0)->started = 4;
	counter(1, 0)->firsts = 1; /* ended on another CPU */
	counter(0, 0)->abandoned = 1;
	w.points[0].given_up = 1; /* open at a detach: counted then */
	turn(0);
	assert_int_equal(w.seen.calls, 9);
	assert_int_equal(w.seen.still_open, 0);
	counter(0, 0)->calls++;
	counter(0, 0)->started++;
	turn_to(0, true);
	assert_int_equal(w.seen.calls, 2);
	assert_int_equal(w.seen.still_open, 2);
	assert_int_equal(w.losses.abandoned, 0);
	/* Seen to end, not yet to begin: nothing is open. */
	end(NULL);
	start(NULL);
	counter(0, 0)->firsts = 1;
	turn_to(0, true);
	assert_int_equal(w.seen.still_open, 0);
}

static void a_reading_with_a_change_under_way_comes_with_the_next_window(void **state)
{
	(void)state;
	time_call(counter(0, 0), 50, 0);
	time_call(counter(1, 0), 50, 0);
	counter(1, 0)->begun = 1;
	turn(0);
	assert_int_equal(w.seen.others, 1);
	assert_int_equal(w.seen.calls, 1);
	assert_int_equal(w.source.torn, 1);
	counter(1, 0)->done = 1;
	turn(0);
	assert_int_equal(w.seen.others, 1);
	assert_int_equal(w.seen.calls, 1);
	assert_int_equal(w.source.torn, 1);
}

static void a_step_of_a_histogram_waits_for_the_counters_of_its_call(void **state)
{
	(void)state;
	time_call(counter(0, 1), 100, 0);
	w.histograms[1].weight[60] += 8;
	turn(1);
	assert_int_equal(w.histogram.weight, 8);
	w.histograms[1].weight[70] += 8; /* a window in which nothing was timed */
	turn(1);
	assert_int_equal(w.histogram.weight, 0);
	time_call(counter(0, 1), 200, 0);
	turn(1);
	assert_int_equal(w.seen.weight, 8);
	assert_int_equal(w.histogram.weight, 8);
}

static void a_call_that_is_just_being_timed_is_not_taken_for_an_untimed_one(void **state)
{
	(void)state;
	counter(0, 0)->calls = 5;
	turn(0);
	assert_int_equal(w.seen.calls, 5);
	counter(0, 0)->started = 1; /* and its call comes next */
	turn(0);
	assert_int_equal(w.seen.calls, 0);
	counter(0, 0)->calls = 6;
	turn(0);
	assert_int_equal(w.seen.calls, 0);
	counter(0, 0)->firsts = 1;
	turn(0);
	assert_int_equal(w.seen.calls, 1);
}

static void own_time_below_0_is_0_counted_and_taken_off_the_next_windows(void **state)
{
	(void)state;
	time_call(counter(0, 0), 100, 130);
	turn(0);
	assert_int_equal(w.seen.weighted_own_ns, 0);
	assert_int_equal(w.losses.clamped, 1);
	time_call(counter(0, 0), 100, 60);
	turn(0);
	assert_int_equal(w.seen.weighted_own_ns, 8 * (100 - 60 - 30));
	assert_int_equal(w.losses.clamped, 0);
	time_call(counter(0, 0), 100, 60);
	turn(0);
	assert_int_equal(w.seen.weighted_own_ns, 8 * 40);
}

static void the_longest_and_the_interval_are_those_of_the_window(void **state)
{
	(void)state;
	w.control.window = 4;
	time_call(counter(0, 0), 70, 0);
	counter(0, 0)->max_window[0] = 4;
	counter(0, 0)->max_ns[0] = 70;
	counter(1, 0)->max_window[0] = 2; /* of an older one */
	counter(1, 0)->max_ns[0] = 90;
	counter(1, 0)->window = 4;
	counter(1, 0)->weight = 64;
	turn(0);
	assert_int_equal(w.seen.max_ns, 70);
	assert_int_equal(w.seen.interval, 64);
	turn(0);
	assert_int_equal(w.seen.max_ns, 0);
	assert_int_equal(w.seen.interval, 8);
}

static void firsts_and_budgets_count_from_the_windows_begin(void **state)
{
	(void)state;
	w.orders[1].firsts = 12;
	w.orders[1].timed = 99;
	turn(1);
	assert_int_equal(w.orders[1].firsts_base, 12);
	assert_int_equal(w.orders[1].timed_base, 99);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_is_what_came_since_the_last_on_all_cpus),
		TEST(a_timed_call_counts_in_the_window_in_which_it_ends),
		TEST(the_longest_is_of_the_window_that_has_the_call),
		TEST(a_timed_call_that_never_ends_counts_when_that_is_known),
		TEST(a_call_that_is_open_at_the_end_counts_once_and_is_not_timed),
		TEST(a_reading_with_a_change_under_way_comes_with_the_next_window),
		TEST(a_step_of_a_histogram_waits_for_the_counters_of_its_call),
		TEST(a_call_that_is_just_being_timed_is_not_taken_for_an_untimed_one),
		TEST(own_time_below_0_is_0_counted_and_taken_off_the_next_windows),
		TEST(the_longest_and_the_interval_are_those_of_the_window),
		TEST(firsts_and_budgets_count_from_the_windows_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
