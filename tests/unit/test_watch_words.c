/* test_watch_words.c - words that only a watch needs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"

static void assert_says(struct text *t, const char *want)
{
	for (char *c = t->bytes; c != NULL && (c = strstr(c, TEXT_NBSP)) != NULL;) {
		*c = ' ';
		memmove(c + 1, c + 2, strlen(c + 1));
	}
	assert_string_equal(text_chars(t), want);
}

static void a_share_says_also_why_there_is_none(void **state)
{
	static const struct {
		struct estimate e;
		const char *want;
	} cases[] = {
		{ { 0.131, 0.001, true, true }, "13.1 % ± 0.1" },
		{ { 3.12, 0.04, true, true }, "312 % ± 4" },
		{ { 0.001, 0.002, true, true }, "under 0.3 %" },
		{ { 0, 0, true, true }, "0" },
		{ { 0.131, 0, true, true }, "13.1 %" },
		{ { 0.131, 0, true, false }, "— cannot know" },
		{ { 0, 0, false, false }, "— not measured" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		watch_put_share(&t, cases[i].e);
		assert_says(&t, cases[i].want);
	}
}

static void an_upper_end_that_rounds_to_nothing_is_said_once(void **state)
{
	static const struct {
		double share;
		const char *want;
	} cases[] = {
		{ 0.03, "at most 3.0 %" },
		{ 0.00001, "under 0.01 %" },
		{ 0, "0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		watch_put_at_most(&t, cases[i].share);
		assert_says(&t, cases[i].want);
	}
}

static void a_change_is_in_one_unit_with_the_digits_of_its_error(void **state)
{
	static const struct {
		double from_ns, to_ns, error_ns;
		const char *want;
	} cases[] = {
		{ 0.7e6, 2.4e6, 0.3e6, "from 0.7 to 2.4 ms ± 0.3" },
		{ 43.1e3, 52.0e3, 1.2e3, "from 43 to 52 µs ± 2" },
		{ 900, 12e3, 100, "from 0.9 to 12.0 µs ± 0.1" },
		{ 0.2e6, 2.4e6, 0.3e6, "from under 0.5 to 2.4 ms ± 0.3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		watch_put_change(&t, cases[i].from_ns, cases[i].to_ns, cases[i].error_ns);
		assert_says(&t, cases[i].want);
	}
}

static void a_time_of_day_is_as_fine_as_its_windows(void **state)
{
	static const struct {
		uint64_t window_s, elapsed_s, at_s;
		const char *want;
	} cases[] = {
		{ 60, 12000, 9420, "19:37" },
		{ 10, 12000, 9420, "19:37:00" },
		{ 320, 90000, 86400, "2026-11-29 17:00" },
		{ 320, 86400, 86340, "16:59" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;
		const struct recording r = {
			.label = { .started_wall_ns = INT64_C(1795885200) * (int64_t)NS_PER_S,
				   .elapsed_ns = cases[i].elapsed_s * NS_PER_S },
			.watch = { .window_ns = cases[i].window_s * NS_PER_S, .windows_in_row = 1 },
		};

		watch_put_when(&t, &r, cases[i].at_s * NS_PER_S);
		assert_says(&t, cases[i].want);
	}
}

static void a_time_beyond_all_dates_is_the_last_one(void **state)
{
	static const int64_t started_ns[] = { 0, INT64_MAX - 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(started_ns); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;
		const struct recording r = { .label = { .started_wall_ns = started_ns[i],
							.elapsed_ns = UINT64_MAX } };

		watch_put_when(&t, &r, i == 0 ? UINT64_MAX : INT64_MAX);
		assert_says(&t, "2262-04-11 23:47:16");
	}
}

static void growth_says_where_a_step_was_and_else_over_the_run(void **state)
{
	struct growth growth = { .has_grown = true,
				 .is_step = true,
				 .from_ns = 0.7e6,
				 .to_ns = 2.4e6,
				 .error_ns = 0.3e6,
				 .at_ns = 60 * NS_PER_S };
	const struct recording r = { .label = { .elapsed_ns = NS_PER_S } };
	SCOPED(text_free) struct text step = TEXT_EMPTY;
	SCOPED(text_free) struct text slow = TEXT_EMPTY;

	(void)state;
	watch_put_growth(&step, &r, &growth);
	assert_says(&step, "from 0.7 to 2.4 ms ± 0.3 at 00:01:00");
	growth.is_step = false;
	watch_put_growth(&slow, &r, &growth);
	assert_says(&slow, "from 0.7 to 2.4 ms ± 0.3 over the run");
}

static void a_whole_number_has_room_for_any(void **state)
{
	(void)state;
	assert_int_equal(watch_whole(2.5), 3);
	assert_int_equal(watch_whole(0.4), 0);
	assert_int_equal(watch_whole(-7), 0);
	assert_int_equal(watch_whole(NAN), 0);
	assert_int_equal(watch_whole(INFINITY), UINT64_MAX);
	assert_int_equal(watch_whole(1e300), UINT64_MAX);
}

static void why_a_row_is_counted_only_stands_in_its_mode(void **state)
{
	static const struct {
		struct str mode;
		const char *want;
	} cases[] = {
		{ STR_LITERAL("counting: it can switch stacks (x)"), "it can switch stacks (x)" },
		{ STR_LITERAL("entry+return"), "" },
		{ STR_LITERAL("session: counting"), "" },
		{ STR_LITERAL("counting: "), "" },
		{ STR_EMPTY, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct watched_row row = { .mode = cases[i].mode };
		struct str why = watch_counted_why(&row);

		assert_int_equal(why.len, strlen(cases[i].want));
		assert_memory_equal(why.len > 0 ? why.bytes : "", cases[i].want, why.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(why_a_row_is_counted_only_stands_in_its_mode),
		cmocka_unit_test(a_share_says_also_why_there_is_none),
		cmocka_unit_test(an_upper_end_that_rounds_to_nothing_is_said_once),
		cmocka_unit_test(a_change_is_in_one_unit_with_the_digits_of_its_error),
		cmocka_unit_test(a_time_of_day_is_as_fine_as_its_windows),
		cmocka_unit_test(a_time_beyond_all_dates_is_the_last_one),
		cmocka_unit_test(growth_says_where_a_step_was_and_else_over_the_run),
		cmocka_unit_test(a_whole_number_has_room_for_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
