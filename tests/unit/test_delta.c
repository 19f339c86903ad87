/* test_delta.c - a difference, or the reason why there is none: a table of what servers do between two visits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/delta.h"
#include "core/scoped.h"
#include "core/units.h"

#define S ((int64_t)NS_PER_S)

/* A visit a minute: the first at 1000 s, the second at 1060 s. */
#define FIRST_VISIT ((struct delta_visit){ 7, 1000 * S, 10 * S, 20 * S, 3, true })
#define NEXT_VISIT  ((struct delta_visit){ 7, 1060 * S, 10 * S, 20 * S, 3, true })

static struct delta delta_of(const struct delta_visit *before, const struct delta_visit *now,
			     const int64_t *old, int64_t old_since_ns, const int64_t *row,
			     int64_t since_ns, struct counter *out)
{
	struct counter was[2], is[2];
	struct delta_row old_row = { old_since_ns, was, 2 }, new_row = { since_ns, is, 2 };

	for (int i = 0; i < 2; i++) {
		is[i] = row[i] < 0 ? NOT_MEASURED : COUNTER((uint64_t)row[i]);
		if (old != NULL)
			was[i] = old[i] < 0 ? NOT_MEASURED : COUNTER((uint64_t)old[i]);
	}
	return delta_row_between(before, now, old != NULL ? &old_row : NULL, &new_row, out);
}

static const int64_t ten[] = { 10, 100 }, twelve[] = { 12, 130 }, mixed[] = { 12, 99 };

static void the_same_life_gives_the_difference_and_its_span(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d = delta_of(&before, &now, ten, 0, twelve, 0, out);

	(void)state;
	assert_int_equal(d.life, DELTA_SAME);
	assert_int_equal(d.span_ns, 60 * NS_PER_S);
	assert_false(d.is_idle);
	assert_int_equal(out[0].value, 2);
	assert_int_equal(out[1].value, 30);
}

static void nothing_over_a_span_is_idle_and_a_span_of_0_is_not(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];

	(void)state;
	assert_true(delta_of(&before, &now, ten, 0, ten, 0, out).is_idle);
	assert_false(delta_of(NULL, &now, NULL, 0, ten, 0, out).is_idle);
}

static void first_sight_gives_none(void **state)
{
	struct delta_visit now = NEXT_VISIT;
	struct counter out[2] = { COUNTER(1), COUNTER(1) };
	struct delta d = delta_of(NULL, &now, NULL, 0, twelve, 0, out);

	(void)state;
	assert_int_equal(d.life, DELTA_FIRST);
	assert_int_equal(d.span_ns, 0);
	assert_false(IS_MEASURED(out[0]));
	assert_false(IS_MEASURED(out[1]));
}

static void a_row_that_a_whole_reading_did_not_have_began_since(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d = delta_of(&before, &now, NULL, 0, twelve, 0, out);

	(void)state;
	assert_int_equal(d.life, DELTA_BEGAN);
	assert_int_equal(d.span_ns, 60 * NS_PER_S);
	assert_int_equal(out[1].value, 130);
	/* Where rows were hidden or cut off, it may have been there. */
	before.is_complete = false;
	d = delta_of(&before, &now, NULL, 0, twelve, 0, out);
	assert_int_equal(d.life, DELTA_FIRST);
	assert_int_equal(d.span_ns, 0);
	now.evictions++;
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 0, out).life, DELTA_EVICTED);
}

static void a_smaller_counter_is_a_new_life_and_never_negative(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d = delta_of(&before, &now, ten, 0, mixed, 0, out);

	(void)state;
	assert_int_equal(d.life, DELTA_SHRUNK);
	assert_int_equal(out[0].value, 12); /* grew, but is of the new life as well */
	assert_int_equal(out[1].value, 99);
}

static void the_servers_own_word_since_when_it_counts_is_taken(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d = delta_of(&before, &now, ten, 900 * S, twelve, 1030 * S, out);

	(void)state;
	assert_int_equal(d.life, DELTA_BEGAN);
	assert_int_equal(d.span_ns, 30 * NS_PER_S);
	assert_int_equal(out[0].value, 12);
	/* It began before the last visit, which did not see it. */
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 900 * S, out).life, DELTA_FIRST);
	/* Another life that began before the last visit: nothing can be told. */
	d = delta_of(&before, &now, ten, 800 * S, twelve, 900 * S, out);
	assert_int_equal(d.life, DELTA_EVICTED);
	assert_int_equal(d.span_ns, 0);
}

static void a_reset_leaves_what_was_counted_behind_it(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d;

	(void)state;
	now.reset_server_ns = 1040 * S;
	d = delta_of(&before, &now, ten, 0, twelve, 0, out);
	assert_int_equal(d.life, DELTA_RESET);
	assert_int_equal(d.span_ns, 20 * NS_PER_S);
	assert_int_equal(out[0].value, 12);
	/* A reset time that is another one and lies before the last visit proves nothing. */
	now.reset_server_ns = 990 * S;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).span_ns, 0);
	/* One that was only not known before is no reset. */
	before.reset_server_ns = 0;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_SAME);
}

static void a_beginning_that_is_told_only_now_is_no_other_life(void **state)
{
	static const int64_t since[][2] = { { 0, 900 * S }, { 900 * S, 0 } };
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(since); i++) {
		struct delta d =
			delta_of(&before, &now, ten, since[i][0], twelve, since[i][1], out);

		assert_int_equal(d.life, DELTA_SAME);
		assert_int_equal(out[0].value, 2);
	}
}

static void a_restart_gives_none_but_for_what_began_since(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	struct delta d;

	(void)state;
	now.started_server_ns = 1020 * S;
	d = delta_of(&before, &now, ten, 0, twelve, 0, out);
	assert_int_equal(d.life, DELTA_RESTARTED);
	assert_int_equal(d.span_ns, 0);
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 0, out).life, DELTA_BEGAN);
	assert_int_equal(delta_of(&before, &now, ten, 900 * S, twelve, 1030 * S, out).life,
			 DELTA_BEGAN);
}

static void another_system_under_the_same_name_gives_none(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];

	(void)state;
	now.system_id = 8;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_OTHER);
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 1030 * S, out).span_ns, 0);
	now.system_id = 0; /* may not be asked: not another one */
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_SAME);
}

static void over_an_hour_there_is_none(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];

	(void)state;
	now.at_server_ns = 4600 * S;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).span_ns, 3600 * NS_PER_S);
	now.at_server_ns++;
	assert_int_equal(delta_between(&before, &now), DELTA_GAP);
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_GAP);
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 4000 * S, out).life, DELTA_GAP);
	assert_false(IS_MEASURED(out[0]));
}

static void a_clock_that_went_back_gives_none(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];

	(void)state;
	now.at_server_ns = before.at_server_ns;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_CLOCK);
	now.at_server_ns = before.at_server_ns - 3600 * S;
	assert_int_equal(delta_of(&before, &now, NULL, 0, twelve, 0, out).life, DELTA_CLOCK);
	now.started_server_ns++; /* a restart with it: the same */
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 0, out).life, DELTA_CLOCK);
	/* A row that says it began ahead of now. */
	now = NEXT_VISIT;
	assert_int_equal(delta_of(&before, &now, ten, 0, twelve, 1070 * S, out).life, DELTA_CLOCK);
}

static void what_is_not_measured_stays_so(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	const int64_t no_time[] = { 12, -1 };

	(void)state;
	(void)delta_of(&before, &now, ten, 0, no_time, 0, out);
	assert_int_equal(out[0].value, 2);
	assert_false(IS_MEASURED(out[1]));
	(void)delta_of(&before, &now, no_time, 0, twelve, 0,
		       out); /* measured from now on: the next visit knows */
	assert_false(IS_MEASURED(out[1]));
	assert_int_equal(delta_of(&before, &now, ten, 0, no_time, 0, out).life, DELTA_SAME);
}

static void counters_of_64_bits_are_whole(void **state)
{
	struct delta_visit before = FIRST_VISIT, now = NEXT_VISIT;
	struct counter out[2];
	const int64_t low[] = { 1, 5 }, high[] = { INT64_MAX, 5 };

	(void)state;
	(void)delta_of(&before, &now, low, 0, high, 0, out);
	assert_true(out[0].value == (uint64_t)INT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_life_gives_the_difference_and_its_span),
		cmocka_unit_test(nothing_over_a_span_is_idle_and_a_span_of_0_is_not),
		cmocka_unit_test(first_sight_gives_none),
		cmocka_unit_test(a_row_that_a_whole_reading_did_not_have_began_since),
		cmocka_unit_test(a_smaller_counter_is_a_new_life_and_never_negative),
		cmocka_unit_test(the_servers_own_word_since_when_it_counts_is_taken),
		cmocka_unit_test(a_reset_leaves_what_was_counted_behind_it),
		cmocka_unit_test(a_beginning_that_is_told_only_now_is_no_other_life),
		cmocka_unit_test(a_restart_gives_none_but_for_what_began_since),
		cmocka_unit_test(another_system_under_the_same_name_gives_none),
		cmocka_unit_test(over_an_hour_there_is_none),
		cmocka_unit_test(a_clock_that_went_back_gives_none),
		cmocka_unit_test(what_is_not_measured_stays_so),
		cmocka_unit_test(counters_of_64_bits_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
