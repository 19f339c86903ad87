/* test_probes.c - calls of a real program counted and timed by probes: what is counted, what is timed, and what a time is
 * made of. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "probes_stage.h"

#define ops (&watch_source_probes)

static const char *const works[] = { "work_nop5", "work_push", "work_other", NULL };

/* Is `value` within `part` of `truth`? */
static bool is_near(double value, double truth, double part)
{
	bool is = value > truth * (1 - part) && value < truth * (1 + part);

	if (!is)
		print_message("%.0f where %.0f is true\n", value, truth);
	return is;
}

static void calls_are_exact_over_threads_in_every_mode(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "4", "20000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = works, .interval = 16 });
		stage_go(&s);
		for (int i = 0; i < 20; i++) {
			usleep(10000);
			stage_turn(&s);
		}
		stage_hear(&s, "done\n");
		stage_turn(&s);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(s.rows[i].calls + s.rows[i].never_timed, 80000);
			assert_in_range(s.rows[i].weight, 72000, 88000);
			assert_in_range(stage_timed(&s, i), 4000, 6500);
			assert_int_equal(s.losses[i].abandoned, 0);
		}
		stage_end(&s);
	}
}

static void a_mode_that_is_switched_off_is_not_used_and_the_reason_is_said(void **state)
{
	static const char *const hooks[] = { "session", "entry+return",
					     "entry+return, one by one" };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct watch_source_facts facts;
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "1", "1", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = works, .interval = 8 });
		ops->facts(s.source, &facts);
		if (mode > 0) {
			assert_string_equal(facts.hook, hooks[mode]);
			assert_non_null(strstr(facts.hook_why, "TARE_NO"));
		} else if (strcmp(facts.hook, "session") == 0) {
			assert_string_equal(facts.hook_why, "");
		} else {
			assert_non_null(strstr(facts.hook_why, "not in this kernel"));
		}
		assert_true(facts.attach_ns > 0);
		assert_string_equal(facts.scope, "children are not watched");
		stage_end(&s);
	}
}

static void without_bpf_it_says_so(void **state)
{
	struct watch_source_settings settings = { .pid = getpid(), .switched_off = "rdtsc,bpf" };
	struct place place = { .path = "/bin/true" };
	struct places places = { .rows = &place, .count = 1 };
	struct watch_source *source = NULL;
	struct err err = ERR_EMPTY;

	(void)state;
	settings.places = &places;
	assert_int_equal(ops->open(&settings, &source, &err), -ENOTSUP);
	assert_null(source);
	if (strstr(err.msg, "built without BPF") == NULL)
		assert_non_null(strstr(err.msg, "TARE_NO=bpf"));
	assert_true(err.works[0] != '\0' && err.mend[0] != '\0');
}

static void recursion_200_deep_is_counted_and_timed(void **state)
{
	static const char *const names[] = { "descend", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start(&s, (const char *const[]){ "recurse", "200", "100", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 16 });
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(s.rows[0].calls, 20000);
		assert_in_range(stage_timed(&s, 0) + s.losses[0].abandoned, 1000, 1500);
		/* Where every return has a probe the kernel has none left for the inner ones: 64 at a time. */
		assert_in_range(s.losses[0].abandoned, 0, mode == 0 ? 0 : 1200);
		stage_end(&s);
	}
}

static void calls_left_by_longjmp_are_abandoned_and_later_times_are_right(void **state)
{
	static const char *const names[] = { "jumper", "steady", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct calls_estimate e;
		struct stage s;
		uint32_t jumper, steady;

		stage_start(&s, (const char *const[]){ "jump", "1000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 2 });
		jumper = stage_point(&s, "jumper");
		steady = stage_point(&s, "steady");
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(s.rows[jumper].calls + s.rows[jumper].never_timed, 1000);
		assert_int_equal(stage_timed(&s, jumper), 0);
		assert_in_range(s.losses[jumper].abandoned, 400, 600);
		e = calls_estimate(&s.rows[steady], 0);
		assert_int_equal((uint64_t)e.calls, 20);
		assert_true(e.has_total);
		assert_in_range(histogram_quantile_ns(&s.rows[steady].histogram, 0.3), 980000,
				1100000);
		stage_end(&s);
	}
}

/* What "nest" says: ns in outer, between, inner, and in outer without the inner() it calls itself. */
struct nest_truth {
	unsigned long long outer_ns, between_ns, inner_ns, outer_own_ns;
};

static struct nest_truth read_truth(const struct stage *s)
{
	const char *line = s->said;
	struct nest_truth truth;

	while (*line != '\0' && (*line < '0' || *line > '9'))
		line++;
	assert_int_equal(sscanf(line, "%llu %llu %llu %llu", &truth.outer_ns, &truth.between_ns,
				&truth.inner_ns, &truth.outer_own_ns),
			 4);
	return truth;
}

/* Runs "nest" with every call timed but those of between(), which are timed one in `between`. True: all times are those the
 * program measured itself. */
static bool is_nest_right(const char *off, uint32_t between)
{
	static const char *const names[] = { "outer", "between", "inner", NULL };
	struct watch_order order = { .interval = between };
	struct calls_estimate e[3];
	struct nest_truth truth;
	struct stage s;
	bool is_right;

	stage_start(&s, (const char *const[]){ "nest", "40", NULL });
	stage_open(&s, &(struct stage_wants){ .off = off, .names = names, .interval = 1 });
	ops->order(s.source, stage_point(&s, "between"), &order);
	stage_round(&s);
	stage_turn(&s);
	for (uint32_t i = 0; i < 3; i++)
		e[i] = calls_estimate(&s.rows[stage_point(&s, names[i])], 0);
	truth = read_truth(&s);
	assert_int_equal((uint64_t)e[1].calls, 40);
	assert_int_equal(e[0].timed, 40);
	assert_int_equal(e[2].timed, 200);
	is_right = is_near(e[0].total_ns, (double)truth.outer_ns, 0.1) &&
		   is_near(e[2].total_ns, (double)truth.inner_ns, 0.1);
	if (between == 1)
		is_right =
			is_right && is_near(e[1].total_ns, (double)truth.between_ns, 0.1) &&
			e[1].own_ns < 0.2 * (double)truth.between_ns &&
			is_near(e[0].own_ns, (double)(truth.outer_own_ns - truth.between_ns), 0.15);
	else
		is_right = is_right && is_near(e[0].own_ns, (double)truth.outer_own_ns, 0.1);
	stage_end(&s);
	return is_right;
}

/* A neighbour that takes the CPU while the kernel handles a probe spoils one run, not three. */
static void assert_nest_is_right(uint32_t between)
{
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		bool is_right = false;

		for (int i = 0; i < 3 && !is_right; i++)
			is_right = is_nest_right(stage_modes[mode], between);
		assert_true(is_right);
	}
}

static void times_and_own_times_are_those_the_program_measures_itself(void **state)
{
	(void)state;
	assert_nest_is_right(1);
}

/* The inner() in a between() that is not timed is not outer's, the one after it is. */
static void what_an_untimed_call_calls_is_not_its_callers(void **state)
{
	(void)state;
	assert_nest_is_right(65536);
}

static void probes_inside_a_timed_call_are_taken_off(void **state)
{
	static const char *const names[] = { "long_one", "work_push", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		/* Both kinds are said to cost 1 us here, so that the sum does not depend on the draw. */
		struct watch_order order = { .interval = 8,
					     .untimed_ps = 1000000,
					     .timed_ps = 1000000 };
		struct stage s;
		uint32_t outside;

		stage_start(&s, (const char *const[]){ "burst", "1000", "5", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 8 });
		outside = stage_point(&s, "long_one");
		ops->order(s.source, 1 - outside, &order);
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(s.rows[1 - outside].calls, 1000);
		assert_int_equal(s.rows[outside].calls, 1);
		assert_int_equal(s.rows[outside].probe_ns, 1000000);
		stage_end(&s);
	}
}

static void the_first_call_of_a_window_is_timed_for_itself(void **state)
{
	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "1", "1", NULL });
		stage_open(&s, &(struct stage_wants){ .off = stage_modes[mode],
						      .names = works,
						      .interval = 4096 });
		for (int window = 0; window < 5; window++) {
			stage_round(&s);
			stage_turn(&s);
		}
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(s.rows[i].calls, 5);
			assert_int_equal(s.rows[i].firsts, 5);
			assert_int_equal(s.rows[i].others, 0);
			assert_true(s.rows[i].first_ns > 0);
		}
		stage_end(&s);
	}
}

/* Weight of calls that took `ns` or longer. */
static double weight_from(const struct histogram *h, uint64_t ns)
{
	double weight = 0;

	for (uint32_t i = 0; i < h->count; i++)
		if (bucket_low_ns(h->steps[i].at) >= ns)
			weight += (double)h->steps[i].weight;
	return weight;
}

static void a_pattern_as_long_as_the_interval_is_not_locked_on(void **state)
{
	static const char *const names[] = { "pulse", NULL };
	struct stage s;

	(void)state;
	stage_start(&s, (const char *const[]){ "pattern", "40000", "8", NULL });
	stage_open(&s, &(struct stage_wants){ .names = names, .interval = 8 });
	stage_round(&s);
	stage_turn(&s);
	assert_int_equal(s.rows[0].calls, 40000);
	/* 5,000 of 40,000 are dear; 625 of them are timed, so 5 standard deviations are 19 %. */
	assert_true(is_near(weight_from(&s.rows[0].histogram, 98000), 5000, 0.2));
	assert_true(is_near((double)s.rows[0].weight, 40000, 0.05));
	stage_end(&s);
}

static void a_spent_budget_doubles_the_interval_inside_the_window(void **state)
{
	static const char *const names[] = { "work_push", NULL };

	(void)state;
	for (int mode = 0; mode < STAGE_MODES; mode++) {
		struct watch_order order = { .interval = 1, .budget = 100 };
		struct stage s;

		stage_start(&s, (const char *const[]){ "count", "3", "100000", NULL });
		stage_open(&s, &(struct stage_wants){
				       .off = stage_modes[mode], .names = names, .interval = 1 });
		ops->order(s.source, 0, &order);
		stage_round(&s);
		stage_turn(&s);
		assert_int_equal(s.rows[0].calls, 300000);
		/* 1.8 x the budget at most, and what 4,096 leaves of the rest on each CPU */
		assert_in_range(stage_timed(&s, 0), 100, 180 + 300000 / 4096 * 2);
		assert_in_range(s.rows[0].weight, 200000, 400000);
		assert_true(s.rows[0].interval >= 1024);
		stage_end(&s);
	}
}

static void an_order_is_in_force_at_once(void **state)
{
	static const char *const names[] = { "work_push", NULL };
	struct watch_order order = { .interval = 1 };
	struct stage s;

	(void)state;
	stage_start(&s, (const char *const[]){ "count", "1", "10000", NULL });
	stage_open(&s, &(struct stage_wants){ .names = names, .interval = 64 });
	stage_round(&s);
	ops->order(s.source, 0, &order);
	stage_round(&s);
	stage_turn(&s);
	assert_int_equal(s.rows[0].calls, 20000);
	assert_in_range(stage_timed(&s, 0), 9500, 10600);
	stage_end(&s);
}

static void a_peek_tells_calls_and_timed_of_the_running_window(void **state)
{
	static const char *const names[] = { "work_push", NULL };
	uint64_t calls, timed;
	struct stage s;

	(void)state;
	stage_start(&s, (const char *const[]){ "count", "1", "5000", NULL });
	stage_open(&s, &(struct stage_wants){ .names = names, .interval = 1 });
	for (int window = 0; window < 2; window++) {
		ops->peek(s.source, 0, &calls, &timed);
		assert_int_equal(calls, 0);
		stage_round(&s);
		ops->peek(s.source, 0, &calls, &timed);
		assert_int_equal(calls, 5000);
		assert_int_equal(timed, 5000);
		stage_turn(&s);
	}
	stage_end(&s);
}

static void costs_are_measured_once_for_all_kinds_and_again_only_when_asked(void **state)
{
	struct watch_costs costs;
	struct stage s;

	(void)state;
	stage_start(&s, (const char *const[]){ "count", "1", "1", NULL });
	stage_open(&s, &(struct stage_wants){ .names = works, .interval = 8 });
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 8 * round; i++)
			assert_true(ops->measure(s.source) > 0);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(ops->costs(s.source, i, round > 0, &costs), 0);
			assert_int_equal(costs.cpu_ns > 0, i == 0);
			assert_true(costs.measured.hook_ps > 0);
			assert_true(costs.assumed.hook_ps > 0 && costs.assumed.untimed_ps > 0 &&
				    costs.assumed.extra_ps > 0);
			assert_int_equal(ops->costs(s.source, i, false, &costs), 0);
			assert_int_equal(costs.cpu_ns, 0);
		}
	}
	stage_end(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_exact_over_threads_in_every_mode),
		cmocka_unit_test(a_mode_that_is_switched_off_is_not_used_and_the_reason_is_said),
		cmocka_unit_test(without_bpf_it_says_so),
		cmocka_unit_test(recursion_200_deep_is_counted_and_timed),
		cmocka_unit_test(calls_left_by_longjmp_are_abandoned_and_later_times_are_right),
		cmocka_unit_test(times_and_own_times_are_those_the_program_measures_itself),
		cmocka_unit_test(what_an_untimed_call_calls_is_not_its_callers),
		cmocka_unit_test(probes_inside_a_timed_call_are_taken_off),
		cmocka_unit_test(the_first_call_of_a_window_is_timed_for_itself),
		cmocka_unit_test(a_pattern_as_long_as_the_interval_is_not_locked_on),
		cmocka_unit_test(a_spent_budget_doubles_the_interval_inside_the_window),
		cmocka_unit_test(an_order_is_in_force_at_once),
		cmocka_unit_test(a_peek_tells_calls_and_timed_of_the_running_window),
		cmocka_unit_test(costs_are_measured_once_for_all_kinds_and_again_only_when_asked),
	};

	stage_target(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
