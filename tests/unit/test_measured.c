/* test_measured.c - durations, costs, shares and counts of calls in words, as tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/measured.h"
#include "core/scoped.h"

#define NBSP TEXT_NBSP
#define PM   NBSP "±" NBSP

static void a_duration_has_never_more_digits_than_its_error_allows(void **state)
{
	static const struct {
		const char *name;
		double ns, error_ns;
		const char *want;
	} cases[] = {
		{ "an error of a unit and more: no digits", 43100, 1400, "43" NBSP "µs" PM "2" },
		{ "an error below one: one digit", 43100, 400, "43.1" NBSP "µs" PM "0.4" },
		{ "an error below 0.095: two digits", 2210, 20, "2.21" NBSP "µs" PM "0.02" },
		{ "no error rounds to 0", 2210, 0.1, "2.21" NBSP "µs" PM "0.01" },
		{ "an error larger than its value: the upper end", 2000, 2500,
		  "under" NBSP "5" NBSP "µs" },
		{ "the upper end is rounded up", 100, 120.2, "under" NBSP "221" NBSP "ns" },
		{ "the upper end is told in its own unit", 18, 3.93e6, "under" NBSP "4" NBSP "ms" },
		{ "no error is asked for: three digits", 43127, MEASURED_NO_ERROR,
		  "43.1" NBSP "µs" },
		{ "a nanosecond has no parts then", 43.7, MEASURED_NO_ERROR, "44" NBSP "ns" },
		{ "a measured 0", 0, MEASURED_NO_ERROR, "0" NBSP "ns" },
		{ "almost a unit is the unit", 999700, MEASURED_NO_ERROR, "1.00" NBSP "ms" },
		{ "long ones are seconds", 7452e9, 2e9, "7,452" NBSP "s" PM "2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", cases[i].name);
		measured_put_duration(&t, cases[i].ns, cases[i].error_ns);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void a_column_has_one_unit(void **state)
{
	static const struct {
		const char *name;
		double least_ns, most_ns;
		unsigned columns;
		enum measured_unit want;
	} cases[] = {
		{ "that of the least", 6420, 12.8e6, 8, MEASURED_US },
		{ "all long", 3e6, 80e6, 8, MEASURED_MS },
		{ "all short", 12, 900, 8, MEASURED_NS },
		{ "nothing is known", 0, 0, 8, MEASURED_NS },
		{ "the most needs a larger one", 12, 80e6, 7, MEASURED_US },
		{ "or a still larger one", 12, 80e9, 7, MEASURED_MS },
		{ "as wide as may be", 12, 999999, 7, MEASURED_NS },
		{ "there is none beyond seconds", 12, 9e18, 3, MEASURED_S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(
			measured_unit_for(cases[i].least_ns, cases[i].most_ns, cases[i].columns),
			cases[i].want);
	}
}

static void numbers_of_a_column_are_in_its_unit(void **state)
{
	static const struct {
		double ns, error_ns;
		enum measured_unit unit;
		const char *number, *error;
	} cases[] = {
		{ 12846000, MEASURED_NO_ERROR, MEASURED_US, "12,800", "" },
		{ 12846000, 300000, MEASURED_US, "12,846", "±" NBSP "300" },
		{ 999600, MEASURED_NO_ERROR, MEASURED_US, "1,000", "" },
		{ 99960, MEASURED_NO_ERROR, MEASURED_US, "100", "" },
		{ 9996, MEASURED_NO_ERROR, MEASURED_US, "10.0", "" },
		{ 2, MEASURED_NO_ERROR, MEASURED_US, "under" NBSP "0.01", "" },
		{ 0, MEASURED_NO_ERROR, MEASURED_US, "0.00", "" },
		{ 1234500, 90, MEASURED_US, "1,234.50", "±" NBSP "0.09" },
		{ 1e30, MEASURED_NO_ERROR, MEASURED_NS, "1,000,000,000,000", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct text_share parts =
			measured_duration(cases[i].ns, cases[i].error_ns, cases[i].unit);

		assert_string_equal(parts.number, cases[i].number);
		assert_string_equal(parts.error, cases[i].error);
	}
}

static void a_share_of_timed_calls_has_its_error(void **state)
{
	static const struct {
		const char *name;
		double value, error;
		bool has_error;
		const char *want;
	} cases[] = {
		{ "with its error", 0.186, 0.004, true, "18.6" NBSP "%" PM "0.4" },
		{ "several threads have more than one CPU", 2.5, 0.02, true,
		  "250" NBSP "%" PM "2" },
		{ "all of it is no certainty", 1, 0.002, true, "100.0" NBSP "%" PM "0.2" },
		{ "an error larger than its value: the upper end", 0.0003, 0.0005, true,
		  "under" NBSP "0.08" NBSP "%" },
		{ "what would round to 0: the upper end", 0.00001, 0.000001, true,
		  "under" NBSP "0.01" NBSP "%" },
		{ "exact: no error", 0.1234, 0, true, "12.3" NBSP "%" },
		{ "exact and small", 0.0004, 0, true, "0.04" NBSP "%" },
		{ "exact, and never shown as 0", 0.00001, 0, true, "under" NBSP "0.01" NBSP "%" },
		{ "a measured 0", 0, 0, true, "0" },
		{ "no error can be told: no number", 0.5, 0, false,
		  "\xe2\x80\x94" NBSP "cannot know" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", cases[i].name);
		measured_put_share(&t, cases[i].value, cases[i].error, cases[i].has_error);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void a_cost_is_told_to_a_tenth_of_a_nanosecond_or_as_unmeasured(void **state)
{
	static const struct {
		uint64_t measured_ps, assumed_ps;
		const char *want;
	} cases[] = {
		{ 400, 40000, "0.4" NBSP "ns" },
		{ 1396249, 0, "1,396.2" NBSP "ns" },
		{ 25000, 0, "25.0" NBSP "ns" },
		{ 50, 40000, "0.1" NBSP "ns" },
		{ 49, 40000, "under" NBSP "0.1" NBSP "ns" },
		{ 0, 40000, "unmeasured" NBSP "(40" NBSP "ns" NBSP "assumed)" },
		{ 0, 2500, "unmeasured" NBSP "(2.5" NBSP "ns" NBSP "assumed)" },
		{ UINT64_MAX, 0, "18,446,744,073,709,551.6" NBSP "ns" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		measured_put_cost(&t, cases[i].measured_ps, cases[i].assumed_ps);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void many_calls_are_told_in_millions(void **state)
{
	static const struct {
		uint64_t count;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ 999999, "999,999" },
		{ 1000000, "1.00" NBSP "million" },
		{ 10214331, "10.2" NBSP "million" },
		{ 999500000, "1.00" NBSP "billion" },
		{ 1250000000, "1.25" NBSP "billion" },
		{ UINT64_MAX, "18,400,000" NBSP "trillion" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		measured_put_many(&t, cases[i].count);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void a_rate_has_three_digits(void **state)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = {
		{ 515800, "516,000" },
		{ 123.7, "124" },
		{ 12.34, "12.3" },
		{ 0.07, "0.07" },
		{ 0.001, "under" NBSP "0.01" },
		{ 0, "0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		measured_put_number(&t, cases[i].value);
		assert_string_equal(text_chars(&t), cases[i].want);
	}
}

static void what_is_no_number_does_no_harm(void **state)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -1, 1e300 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		for (size_t k = 0; k < ARRAY_LEN(odd); k++) {
			SCOPED(text_free) struct text t = TEXT_EMPTY;

			measured_put_duration(&t, odd[i], odd[k]);
			measured_put_share(&t, odd[i], odd[k], true);
			measured_put_number(&t, odd[i]);
			assert_true(measured_unit_for(odd[i], odd[k], 8) <= MEASURED_S);
			assert_true(t.len > 0 && !t.has_failed);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_has_never_more_digits_than_its_error_allows),
		cmocka_unit_test(a_column_has_one_unit),
		cmocka_unit_test(numbers_of_a_column_are_in_its_unit),
		cmocka_unit_test(a_share_of_timed_calls_has_its_error),
		cmocka_unit_test(a_cost_is_told_to_a_tenth_of_a_nanosecond_or_as_unmeasured),
		cmocka_unit_test(many_calls_are_told_in_millions),
		cmocka_unit_test(a_rate_has_three_digits),
		cmocka_unit_test(what_is_no_number_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
