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
		cmocka_unit_test(probes_that_are_switched_off_are_unmeasured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
