/* test_perf_weight.c - what a sample weighs, by its counter and derived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "sense/perf_weight.h"

#define PERIOD 1000u

/* Events 10 and 12 are in force; 5 was, before the period changed. */
/* clang-format off */
static const struct {
	const char *name;
	struct perf_slot before;
	uint64_t id, value_ns;
	uint32_t gaps;
	bool has_execed;
	uint64_t want_ns, want_double;
	bool want_gap;
	uint64_t slot_id, slot_value_ns;
} readings[] = {
	{ "the first sample weighs all that was counted", { 0 }, 10, 700, 3, false, 700, 0, false, 10, 700 },
	{ "then the difference", { 10, 700, 3 }, 10, 1700, 3, false, 1000, 0, false, 10, 1700 },
	{ "a loss hides nothing from the counter", { 10, 700, 3 }, 10, 9700, 4, false, 9000, 0, true, 10, 9700 },
	{ "no time passed: no weight", { 10, 700, 3 }, 10, 700, 3, false, 0, 0, false, 10, 700 },
	{ "new events after a change of period begin at 0", { 5, 90000, 3 }, 10, 800, 3, false, 800, 0, false, 10, 800 },
	{ "also when something was lost around the change", { 5, 90000, 3 }, 10, 2800, 4, false, 2800, 0, true, 10, 2800 },
	{ "old events, left in the ring", { 5, 90000, 3 }, 5, 90800, 3, false, 800, 0, false, 5, 90800 },
	{ "a younger event beside the elder weighs nothing", { 10, 700, 3 }, 12, 300, 3, false, 0, 12, false, 10, 700 },
	{ "the elder takes over from the younger", { 12, 300, 3 }, 10, 700, 3, false, 0, 12, false, 10, 700 },
	{ "behind a loss nobody is called a double", { 10, 700, 3 }, 12, 300, 4, false, 300, 0, true, 12, 300 },
	{ "and an unknown past is cut to a period", { 10, 700, 3 }, 12, 5000, 4, false, 1000, 0, true, 12, 5000 },
	{ "a number used again behind a lost end", { 10, 700, 3 }, 10, 600, 4, false, 600, 0, true, 10, 600 },
	{ "a thread that took its process's number by exec", { 0 }, 10, 88000, 3, true, 1000, 0, false, 10, 88000 },
	{ "goes on by differences", { 10, 88000, 3 }, 10, 89000, 3, true, 1000, 0, false, 10, 89000 },
};
/* clang-format on */

static void a_sample_weighs_what_its_thread_ran_since_the_last_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(readings); i++) {
		struct perf_thread thread = { .has_execed = readings[i].has_execed };
		struct perf_slot slot = readings[i].before;
		struct perf_reading reading = { .id = readings[i].id,
						.value_ns = readings[i].value_ns,
						.gaps = readings[i].gaps,
						.first_id = 10,
						.period_ns = PERIOD };
		uint64_t double_id = 1;
		bool has_gap = !readings[i].want_gap;

		print_message("%s\n", readings[i].name);
		assert_int_equal(perf_weight_read(&thread, &slot, &reading, &has_gap, &double_id),
				 readings[i].want_ns);
		assert_int_equal(double_id, readings[i].want_double);
		assert_int_equal(has_gap, readings[i].want_gap);
		assert_int_equal(slot.id, readings[i].slot_id);
		assert_int_equal(slot.value_ns, readings[i].slot_value_ns);
	}
}

static void two_events_on_one_thread_weigh_as_one(void **state)
{
	struct perf_thread thread = { 0 };
	struct perf_slot slot = { 0 };
	uint64_t sum_ns = 0, double_id;
	bool has_gap;

	(void)state;
	for (uint64_t tick = 1; tick <= 100; tick++) {
		struct perf_reading elder = { 10, tick * PERIOD, 0, 10, PERIOD };
		struct perf_reading younger = { 12, tick * PERIOD - PERIOD / 2, 0, 10, PERIOD };

		sum_ns += perf_weight_read(&thread, &slot, &younger, &has_gap, &double_id);
		sum_ns += perf_weight_read(&thread, &slot, &elder, &has_gap, &double_id);
	}
	assert_in_range(sum_ns, 99 * PERIOD, 100 * PERIOD);
}

static void weight_beyond_one_and_a_half_periods_was_withheld(void **state)
{
	static const struct {
		uint64_t weight_ns, want_ns;
	} cases[] = {
		{ 1, 0 }, { 1000, 0 }, { 1500, 0 }, { 1501, 501 }, { 2000, 1000 }, { 90000, 89000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(perf_weight_withheld(cases[i].weight_ns, PERIOD),
				 cases[i].want_ns);
}

/* What happens to one thread: in, out, or a sample with the weight it must have. */
enum happening { IN, OUT, SAMPLE };
struct step {
	enum happening what;
	uint64_t at_ns, lost, want_ns;
};

static void run_steps(struct perf_thread *thread, const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (steps[i].what == SAMPLE)
			assert_int_equal(
				perf_weight_derived(thread, steps[i].at_ns, PERIOD, steps[i].lost),
				steps[i].want_ns);
		else
			perf_weight_switch(thread, steps[i].at_ns, steps[i].what == OUT);
	}
}

static void derived_weight_leaves_out_the_time_switched_out(void **state)
{
	static const struct step steps[] = {
		{ IN, 5000, 0, 0 },	    { SAMPLE, 6000, 0, 1000 },	{ OUT, 6300, 0, 0 },
		{ IN, 50000, 0, 0 },	    { SAMPLE, 50700, 0, 1000 }, { OUT, 50800, 0, 0 },
		{ IN, 51000, 0, 0 },	    { OUT, 51100, 0, 0 },	{ IN, 60000, 0, 0 },
		{ SAMPLE, 60800, 0, 1000 },
	};
	struct perf_thread born = { .is_known = true };

	(void)state;
	run_steps(&born, steps, ARRAY_LEN(steps));
}

static void derived_weight_of_a_thread_found_running_begins_with_a_period(void **state)
{
	static const struct step steps[] = {
		{ SAMPLE, 70000, 0, 1000 }, { SAMPLE, 71000, 0, 1000 }, { OUT, 71500, 0, 0 },
		{ IN, 80000, 0, 0 },	    { SAMPLE, 80500, 0, 1000 },
	};
	struct perf_thread found = { 0 };

	(void)state;
	run_steps(&found, steps, ARRAY_LEN(steps));
}

static void derived_weight_across_a_loss_is_a_period_for_each_lost_record(void **state)
{
	static const struct step steps[] = {
		{ IN, 1000, 0, 0 },	    { SAMPLE, 2000, 0, 1000 },
		{ SAMPLE, 5000, 2, 3000 },  /* two samples lost: all of it */
		{ SAMPLE, 90000, 3, 2000 }, /* one lost, a switch perhaps: not 85 us */
		{ SAMPLE, 91000, 3, 1000 },
	};
	struct perf_thread thread = { .is_known = true };

	(void)state;
	run_steps(&thread, steps, ARRAY_LEN(steps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_weighs_what_its_thread_ran_since_the_last_one),
		cmocka_unit_test(two_events_on_one_thread_weigh_as_one),
		cmocka_unit_test(weight_beyond_one_and_a_half_periods_was_withheld),
		cmocka_unit_test(derived_weight_leaves_out_the_time_switched_out),
		cmocka_unit_test(derived_weight_of_a_thread_found_running_begins_with_a_period),
		cmocka_unit_test(derived_weight_across_a_loss_is_a_period_for_each_lost_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
