/* test_watch_calibrate_probes.c - what probes are said to cost is what they cost: beside an independent timing of the same bodies,
 * in each way to attach, with and without a busy neighbour. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "calibrate_stage.h"
#include "sense/probes.h"

/* All kinds of first instructions; where probes are not allowed the test says so. */
static void calibrate_probes(const char *switched_off, struct watch_costs out[PLACE_FIRSTS])
{
	const bool all[PLACE_FIRSTS] = { true, true, true };
	int status = watch_calibrate_probes(all, switched_off, out);

	if (status == -EPERM || status == -ENOTSUP || status == -EACCES) {
		print_message("probes cannot be used here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A process with probes of both kinds on bodies of all kinds, for timing them ourselves. */
struct probed {
	struct watch_bodies bodies;
	struct watch_source *empty, *counting;
	struct place hooked[PLACE_FIRSTS], counted[2 * PLACE_FIRSTS];
};

static uint32_t body_of(uint32_t first, enum watch_probed probed)
{
	return WATCH_BODY_PROBED + WATCH_PROBED_COUNT * first + probed;
}

static struct place place_of(struct probed *p, uint32_t first, enum watch_probed probed)
{
	struct watch_body_told told;

	assert_int_equal(watch_bodies_call(&p->bodies, body_of(first, probed), 0, &told), 0);
	return (struct place){ .name = STR_LITERAL("body"),
			       .path = p->bodies.path,
			       .offset = told.offset,
			       .first = (enum place_first)first };
}

static void open_probed(struct probed *p, const char *switched_off)
{
	struct places hooked = { .rows = p->hooked, .count = PLACE_FIRSTS };
	struct places counted = { .rows = p->counted, .count = 2 * PLACE_FIRSTS };
	struct watch_source_settings settings = { .interval = 65536, .switched_off = switched_off };
	struct watch_order rare = { .interval = 65536 }, always = { .interval = 1 };
	struct err err = ERR_EMPTY;

	assert_int_equal(watch_bodies_open(&p->bodies), 0);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		p->hooked[first] = place_of(p, first, WATCH_PROBED_HOOKED);
		p->counted[2 * first] = place_of(p, first, WATCH_PROBED_UNTIMED);
		p->counted[2 * first + 1] = place_of(p, first, WATCH_PROBED_TIMED);
	}
	settings.pid = p->bodies.pid;
	settings.places = &hooked;
	assert_int_equal(probes_open_empty(&settings, &p->empty, &err), 0);
	settings.places = &counted;
	assert_int_equal(watch_source_probes.open(&settings, &p->counting, &err), 0);
	assert_int_equal(watch_source_probes.start(p->empty, &err), 0);
	assert_int_equal(watch_source_probes.start(p->counting, &err), 0);
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		watch_source_probes.order(p->counting, 2 * first, &rare);
		watch_source_probes.order(p->counting, 2 * first + 1, &always);
	}
}

static void close_probed(struct probed *p)
{
	watch_source_probes.close(p->counting);
	watch_source_probes.close(p->empty);
	watch_bodies_close(&p->bodies);
}

/* What an untimed call and a timed one are charged, beside our own timing; and the hook alone. */
static void compare_probes(const char *switched_off)
{
	static const char *const kinds[PLACE_FIRSTS] = { "nop5", "push", "other" };
	struct pair untimed[PLACE_FIRSTS] = { { 0, 0 } }, timed[PLACE_FIRSTS] = { { 0, 0 } };
	struct pair hook[PLACE_FIRSTS] = { { 0, 0 } };

	for (int i = 0; i < 2; i++) {
		struct probed p = { .bodies = WATCH_BODIES_EMPTY };
		struct watch_costs costs[PLACE_FIRSTS];

		calibrate_probes(switched_off, costs);
		open_probed(&p, switched_off);
		for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
			struct watch_bodies *bodies = &p.bodies;
			double plain = time_body(bodies, body_of(first, WATCH_PROBED_PLAIN));

			lower(&hook[first], (double)costs[first].measured.hook_ps,
			      time_body(bodies, body_of(first, WATCH_PROBED_HOOKED)) - plain);
			lower(&untimed[first], charge_of(&costs[first], 65536),
			      time_body(bodies, body_of(first, WATCH_PROBED_UNTIMED)) - plain);
			lower(&timed[first], charge_of(&costs[first], 1),
			      time_body(bodies, body_of(first, WATCH_PROBED_TIMED)) - plain);
		}
		close_probed(&p);
	}
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		print_message("begins with %s:\n", kinds[first]);
		assert_agrees("hook", hook[first]);
		assert_agrees("counted", untimed[first]);
		assert_agrees("timed", timed[first]);
	}
}

static void probes_are_charged_what_they_cost(void **state)
{
	(void)state;
	compare_probes(NULL);
}

static void probes_without_sessions_are_charged_what_they_cost(void **state)
{
	(void)state;
	compare_probes("session");
}

static void probes_are_charged_what_they_cost_beside_a_busy_neighbour(void **state)
{
	(void)state;
	compare_probes(NULL);
}

static void a_call_with_its_hook_is_never_cheaper_than_the_call(void **state)
{
	struct watch_costs costs[PLACE_FIRSTS];

	(void)state;
	calibrate_probes(NULL, costs);
	for (int first = 0; first < PLACE_FIRSTS; first++) {
		assert_true(costs[first].measured.hook_ps > 0);
		assert_true(charge_of(&costs[first], 1000000) >=
			    (double)costs[first].measured.untimed_ps);
		/* A timed empty function reads as less than what its probe costs, and as something. */
		assert_true(costs[first].floor_ps > 0);
		assert_true((double)costs[first].floor_ps < 2 * charge_of(&costs[first], 1));
	}
	assert_in_range(costs[0].cpu_ns, NS_PER_MS, 500 * NS_PER_MS);
}

/* A recording's child has slept between two rounds, and runs on for hours. */
static void costs_that_are_measured_on_agree_with_an_independent_timing(void **state)
{
	const bool all[PLACE_FIRSTS] = { true, true, true };
	struct pair untimed[PLACE_FIRSTS] = { { 0, 0 } }, timed[PLACE_FIRSTS] = { { 0, 0 } };
	struct watch_costs costs[PLACE_FIRSTS], again[PLACE_FIRSTS];
	struct watch_calibration *c;
	uint64_t before_ns;

	(void)state;
	calibrate_probes(NULL, costs);
	for (int i = 0; i < 2; i++) {
		struct probed p = { .bodies = WATCH_BODIES_EMPTY };

		assert_int_equal(watch_calibration_open(all, WATCH_HOOKED_SESSION, NULL, costs, &c),
				 0);
		memcpy(again, costs, sizeof(again));
		before_ns = watch_calibration_cpu_ns(c);
		assert_true(watch_calibration_pass(c));
		assert_false(watch_calibration_tell(c, again)); /* too few */
		for (int pass = 0; pass < 40; pass++) {
			usleep(2000);
			assert_true(watch_calibration_pass(c));
		}
		assert_true(watch_calibration_tell(c, again));
		assert_false(watch_calibration_tell(c, again)); /* they are told once */
		assert_true(watch_calibration_cpu_ns(c) > before_ns + 41 * 100 * NS_PER_US);
		assert_true(watch_calibration_close(c) > before_ns);
		open_probed(&p, NULL);
		for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
			double plain = time_body(&p.bodies, body_of(first, WATCH_PROBED_PLAIN));

			lower(&untimed[first], charge_of(&again[first], 65536),
			      time_body(&p.bodies, body_of(first, WATCH_PROBED_UNTIMED)) - plain);
			lower(&timed[first], charge_of(&again[first], 1),
			      time_body(&p.bodies, body_of(first, WATCH_PROBED_TIMED)) - plain);
			assert_true(again[first].measured.hook_ps >
				    again[first].measured.untimed_ps);
		}
		close_probed(&p);
	}
	for (uint32_t first = 0; first < PLACE_FIRSTS; first++) {
		assert_agrees("counted", untimed[first]);
		assert_agrees("timed", timed[first]);
	}
}

static void a_source_measures_on_and_tells_what_came_since(void **state)
{
	struct watch_bodies bodies;
	struct watch_body_told told;
	struct place place = { .name = STR_LITERAL("body"), .first = PLACE_PUSH };
	struct places places = { .rows = &place, .count = 1 };
	struct watch_source_settings settings = { .places = &places };
	struct watch_costs costs, kept, first[PLACE_FIRSTS];
	struct watch_source *source;
	uint64_t cpu_ns;
	struct err err = ERR_EMPTY;

	(void)state;
	calibrate_probes(NULL, first);
	assert_int_equal(watch_bodies_open(&bodies), 0);
	assert_int_equal(watch_bodies_call(&bodies, body_of(PLACE_PUSH, 0), 0, &told), 0);
	place.path = bodies.path;
	place.offset = place.start = told.offset;
	settings.pid = bodies.pid;
	assert_int_equal(watch_source_probes.open(&settings, &source, &err), 0);
	assert_int_equal(watch_source_probes.measure(source), 0); /* nothing was asked yet */
	assert_int_equal(watch_source_probes.costs(source, 0, false, &costs), 0);
	assert_true(costs.cpu_ns > 0 && costs.measured.hook_ps > 0);
	assert_int_equal(watch_source_probes.costs(source, 0, true, &kept), 0);
	assert_int_equal(kept.measured.hook_ps, costs.measured.hook_ps);
	assert_int_equal(kept.cpu_ns, 0); /* nothing was measured since, and no child started */
	cpu_ns = costs.cpu_ns;
	for (int told_times = 0; told_times < 2; told_times++) {
		uint64_t told_ns = cpu_ns;

		for (int i = 0; i < 8; i++) {
			uint64_t more_ns = watch_source_probes.measure(source);

			assert_true(more_ns > cpu_ns);
			cpu_ns = more_ns;
		}
		assert_int_equal(watch_source_probes.costs(source, 0, true, &kept), 0);
		assert_int_equal(kept.cpu_ns, cpu_ns - told_ns);
	}
	assert_int_equal(kept.floor_ps, costs.floor_ps);
	assert_true(kept.measured.hook_ps > 0 && kept.measured.extra_ps > 0);
	assert_int_equal(kept.assumed.hook_ps, costs.assumed.hook_ps);
	watch_source_probes.close(source);
	watch_bodies_close(&bodies);
}

/* Without sessions; a pair's price is a third more. */
static void what_is_only_counted_is_charged_its_entry_alone(void **state)
{
	const bool push[PLACE_FIRSTS] = { [PLACE_PUSH] = true };
	struct probed p = { .bodies = WATCH_BODIES_EMPTY };
	struct places places = { .rows = p.counted, .count = 1 };
	struct watch_source_settings settings = { .places = &places,
						  .only_counts = true,
						  .switched_off = "session" };
	struct watch_costs pair[PLACE_FIRSTS], costs;
	struct watched_row row = { .id = 0 };
	struct pair counted = { 0, 0 };
	struct err err = ERR_EMPTY;

	(void)state;
	calibrate_probes("session", pair);
	assert_int_equal(watch_bodies_open(&p.bodies), 0);
	p.counted[0] = place_of(&p, PLACE_PUSH, WATCH_PROBED_UNTIMED);
	settings.pid = p.bodies.pid;
	for (int i = 0; i < 2; i++) {
		double plain = time_body(&p.bodies, body_of(PLACE_PUSH, WATCH_PROBED_PLAIN));

		assert_int_equal(watch_source_probes.open(&settings, &p.counting, &err), 0);
		assert_int_equal(watch_source_probes.costs(p.counting, 0, false, &costs), 0);
		assert_int_equal(watch_source_probes.start(p.counting, &err), 0);
		watch_source_probes.describe(p.counting, 0, &row);
		assert_int_equal(strncmp(row.mode.bytes, "counting: ", 10), 0);
		lower(&counted, charge_of(&costs, 1),
		      time_body(&p.bodies, body_of(PLACE_PUSH, WATCH_PROBED_UNTIMED)) - plain);
		watch_source_probes.close(p.counting);
	}
	watch_bodies_close(&p.bodies);
	assert_agrees("only counted", counted);
	assert_int_equal(costs.measured.extra_ps + costs.assumed.extra_ps + costs.floor_ps, 0);
	assert_true(counted.charged < charge_of(&pair[PLACE_PUSH], 65536) * 9 / 10);
	assert_int_equal(watch_calibrate_entries(push, "session", pair), 0);
	assert_true(pair[PLACE_PUSH].measured.hook_ps > 0 &&
		    pair[PLACE_PUSH].measured.extra_ps == 0);
}

static void probes_that_are_switched_off_are_unmeasured(void **state)
{
	const bool all[PLACE_FIRSTS] = { true, true, true };
	struct watch_costs costs[PLACE_FIRSTS], one;

	(void)state;
	assert_true(watch_calibrate_probes(all, "rdtsc,bpf", costs) < 0);
	assert_true(watch_calibrate_probe(PLACE_PUSH, "bpf", &one) < 0);
	for (int first = 0; first < PLACE_FIRSTS; first++) {
		assert_int_equal(costs[first].measured.hook_ps + costs[first].measured.untimed_ps +
					 costs[first].measured.extra_ps + costs[first].floor_ps,
				 0);
		assert_true(costs[first].assumed.hook_ps > 0 &&
			    costs[first].assumed.untimed_ps > 0 &&
			    costs[first].assumed.extra_ps > 0);
	}
	assert_int_equal(one.assumed.hook_ps,
			 watch_assumed_probes[WATCH_HOOKED_PAIR][PLACE_PUSH].hook_ps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_are_charged_what_they_cost),
		cmocka_unit_test(probes_without_sessions_are_charged_what_they_cost),
		cmocka_unit_test_setup_teardown(
			probes_are_charged_what_they_cost_beside_a_busy_neighbour, begin_neighbour,
			end_neighbour),
		cmocka_unit_test(a_call_with_its_hook_is_never_cheaper_than_the_call),
		cmocka_unit_test(costs_that_are_measured_on_agree_with_an_independent_timing),
		cmocka_unit_test(a_source_measures_on_and_tells_what_came_since),
		cmocka_unit_test(what_is_only_counted_is_charged_its_entry_alone),
		cmocka_unit_test(probes_that_are_switched_off_are_unmeasured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
