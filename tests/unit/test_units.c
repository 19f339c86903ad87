/* test_units.c - numbers with units, read and shown, as tables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/units.h"

#define MB (UINT64_C(1) << 20)
#define GB (UINT64_C(1) << 30)

struct parsing {
	const char *text;
	int error;
	uint64_t want;
};

static void check_parsing(const struct parsing *cases, size_t count,
			  int (*parse)(const char *, uint64_t *))
{
	for (size_t i = 0; i < count; i++) {
		uint64_t got = 4711;

		print_message("\"%s\"\n", cases[i].text);
		assert_int_equal(parse(cases[i].text, &got), cases[i].error);
		assert_int_equal(got, cases[i].error == 0 ? cases[i].want : 4711);
	}
}

static void durations_are_read_to_the_nanosecond(void **state)
{
	static const struct parsing cases[] = {
		{ "10ms", 0, 10000000 },
		{ "10 ms", 0, 10000000 },
		{ "200us", 0, 200000 },
		{ "200\u00b5s", 0, 200000 },
		{ "200\u03bcs", 0, 200000 },
		{ "1.5s", 0, 1500000000 },
		{ "0.000000001s", 0, 1 },
		{ "1.000000001s", 0, 1000000001 },
		{ "0.1ms", 0, 100000 },
		{ "250ns", 0, 250 },
		{ "2m", 0, 120 * NS_PER_S },
		{ "2min", 0, 120 * NS_PER_S },
		{ "12h", 0, 43200 * NS_PER_S },
		{ "3d", 0, 259200 * NS_PER_S },
		{ "0s", 0, 0 },
		{ "0.0s", 0, 0 },
		{ "1.0000000004s", 0, 1000000000 },
		{ "1.0000000005s", 0, 1000000001 },
		{ "0.3333333333333333333333333333333s", 0, 333333333 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "213503d", 0, UINT64_C(213503) * 86400 * NS_PER_S },
	};

	(void)state;
	check_parsing(cases, ARRAY_LEN(cases), units_parse_duration);
}

static void what_is_no_duration_is_told_from_what_is_too_long(void **state)
{
	static const struct parsing cases[] = {
		{ "", -EINVAL, 0 },
		{ "ms", -EINVAL, 0 },
		{ "10", -EINVAL, 0 },
		{ "10 ", -EINVAL, 0 },
		{ "10  ms", -EINVAL, 0 },
		{ " 10ms", -EINVAL, 0 },
		{ "10ms ", -EINVAL, 0 },
		{ "10MS", -EINVAL, 0 },
		{ "10msx", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "+1s", -EINVAL, 0 },
		{ "1e3s", -EINVAL, 0 },
		{ "0x10s", -EINVAL, 0 },
		{ "1,5s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "5.s", -EINVAL, 0 },
		{ "1.2.3s", -EINVAL, 0 },
		{ "0.4ns", -EINVAL, 0 },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "18446744074s", -ERANGE, 0 },
		{ "213504d", -ERANGE, 0 },
		{ "99999999999999999999999999999999d", -ERANGE, 0 },
		{ "99999999999999999999999999999999", -EINVAL, 0 },
	};

	(void)state;
	check_parsing(cases, ARRAY_LEN(cases), units_parse_duration);
}

static void sizes_are_powers_of_1024_in_any_spelling(void **state)
{
	static const struct parsing cases[] = {
		{ "65536", 0, 65536 },
		{ "0", 0, 0 },
		{ "12B", 0, 12 },
		{ "4MB", 0, 4 * MB },
		{ "4MiB", 0, 4 * MB },
		{ "4mib", 0, 4 * MB },
		{ "4MIB", 0, 4 * MB },
		{ "4 MB", 0, 4 * MB },
		{ "4m", 0, 4 * MB },
		{ "512KB", 0, MB / 2 },
		{ "1.5GB", 0, 3 * GB / 2 },
		{ "2T", 0, 2048 * GB },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "16777215T", 0, UINT64_C(16777215) * 1024 * GB },
		{ "16777216T", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "MB", -EINVAL, 0 },
		{ "4 ", -EINVAL, 0 },
		{ "4MBs", -EINVAL, 0 },
		{ "4XB", -EINVAL, 0 },
		{ "-4MB", -EINVAL, 0 },
		{ "0.3", -EINVAL, 0 },
		{ "0.0001KB", -EINVAL, 0 },
	};

	(void)state;
	check_parsing(cases, ARRAY_LEN(cases), units_parse_size);
}

static void shares_are_millionths_of_one_cpu(void **state)
{
	static const struct parsing cases[] = {
		{ "0.5%", 0, 5000 },	      { "0.5 %", 0, 5000 },
		{ "5000ppm", 0, 5000 },	      { "5000 ppm", 0, 5000 },
		{ "100%", 0, 1000000 },	      { "0.0001%", 0, 1 },
		{ "0.29%", 0, 2900 },	      { "6400%", 0, 64000000 },
		{ "6400.0001%", -ERANGE, 0 }, { "64000001ppm", -ERANGE, 0 },
		{ "0.00001%", -EINVAL, 0 },   { "0.5", -EINVAL, 0 },
		{ "%", -EINVAL, 0 },	      { "0.5 percent", -EINVAL, 0 },
		{ "-0.5%", -EINVAL, 0 },
	};

	(void)state;
	check_parsing(cases, ARRAY_LEN(cases), units_parse_share);
}

static void counts_are_digits_and_nothing_else(void **state)
{
	static const struct parsing cases[] = {
		{ "0", 0, 0 },
		{ "1024", 0, 1024 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "7 ", -EINVAL, 0 },
		{ "7.0", -EINVAL, 0 },
		{ "1k", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
	};

	(void)state;
	check_parsing(cases, ARRAY_LEN(cases), units_parse_count);
}

struct showing {
	uint64_t value;
	const char *want;
};

static void check_showing(const struct showing *cases, size_t count,
			  void (*format)(uint64_t, char *, size_t))
{
	for (size_t i = 0; i < count; i++) {
		char text[64], cut[4] = "xxx";

		format(cases[i].value, text, sizeof(text));
		assert_string_equal(text, cases[i].want);
		format(cases[i].value, cut, sizeof(cut) - 1);
		assert_int_equal(strncmp(cut, text, strlen(cut)), 0);
		assert_true(strlen(cut) <= 2);
	}
}

static void durations_show_three_digits_or_two_parts(void **state)
{
	static const struct showing cases[] = {
		{ 0, "0 s" },
		{ 1, "1 ns" },
		{ 999, "999 ns" },
		{ 1000, "1 \u00b5s" },
		{ 12000, "12 \u00b5s" },
		{ 12340, "12.3 \u00b5s" },
		{ 999499, "999 \u00b5s" },
		{ 999500, "1 ms" },
		{ 640000000, "640 ms" },
		{ 999499999, "999 ms" },
		{ 999500000, "1 s" },
		{ 1280000000, "1.28 s" },
		{ 1284000000, "1.28 s" },
		{ 1100000000, "1.1 s" },
		{ 9996000000, "10 s" },
		{ 59949999999, "59.9 s" },
		{ 59950000000, "1 min" },
		{ 61 * NS_PER_S, "1 min 1 s" },
		{ 3599 * NS_PER_S, "59 min 59 s" },
		{ 3599 * NS_PER_S + NS_PER_S / 2, "1 h" },
		{ 22300 * NS_PER_S, "6 h 12 min" },
		{ 86369 * NS_PER_S, "23 h 59 min" },
		{ 86370 * NS_PER_S, "1 d" },
		{ 76 * 3600 * NS_PER_S, "3 d 4 h" },
		{ UINT64_MAX, "213504 d" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_duration);
}

static void clocks_show_what_has_passed(void **state)
{
	static const struct showing cases[] = {
		{ 0, "00:00:00" },
		{ NS_PER_S - 1, "00:00:00" },
		{ 751 * NS_PER_S, "00:12:31" },
		{ 86399 * NS_PER_S, "23:59:59" },
		{ 86400 * NS_PER_S, "1 d 00:00:00" },
		{ (3 * 86400 + 751) * NS_PER_S, "3 d 00:12:31" },
		{ UINT64_MAX, "213503 d 23:34:33" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_clock);
}

static void sizes_show_their_unit(void **state)
{
	static const struct showing cases[] = {
		{ 0, "0 bytes" },
		{ 1, "1 byte" },
		{ 1023, "1023 bytes" },
		{ 1024, "1 KB" },
		{ MB - 513, "1023 KB" },
		{ MB - 512, "1.0 MB" },
		{ MB * 19 / 10, "1.9 MB" },
		{ 4 * MB, "4.0 MB" },
		{ GB - 1, "1.00 GB" },
		{ GB * 3 / 2, "1.50 GB" },
		{ UINT64_MAX, "16777216.00 TB" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_size);
}

static void a_size_beside_its_limit_is_in_the_limits_unit(void **state)
{
	static const struct {
		uint64_t bytes, limit;
		const char *want;
	} cases[] = {
		{ MB * 19 / 10, 4 * MB, "1.9 of 4.0 MB" }, { 0, 4 * MB, "0.0 of 4.0 MB" },
		{ 4096, 4 * MB, "under 0.1 of 4.0 MB" },   { 430 * MB, GB, "0.42 of 1.00 GB" },
		{ 5 * MB, 4 * MB, "5.0 of 4.0 MB" },	   { 100, MB / 2, "under 1 of 512 KB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[64];

		units_format_size_of(cases[i].bytes, cases[i].limit, text, sizeof(text));
		assert_string_equal(text, cases[i].want);
	}
}

static void counts_show_three_digits_and_a_letter(void **state)
{
	static const struct showing cases[] = {
		{ 0, "0" },
		{ 312, "312" },
		{ 999, "999" },
		{ 1000, "1k" },
		{ 1234, "1.23k" },
		{ 75149, "75.1k" },
		{ 999499, "999k" },
		{ 999500, "1M" },
		{ 41234567, "41.2M" },
		{ UINT64_MAX, "18.4E" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_count);
}

static void exact_counts_are_in_groups_of_three(void **state)
{
	static const struct showing cases[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 39950, "39,950" },
		{ 1000000, "1,000,000" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_exact);
}

static void a_price_that_is_not_0_never_shows_as_0(void **state)
{
	static const struct showing cases[] = {
		{ 0, "0.00 %" },    { 1, "under 0.01 %" }, { 49, "under 0.01 %" },
		{ 50, "0.01 %" },   { 2100, "0.21 %" },	   { 2149, "0.21 %" },
		{ 2150, "0.22 %" }, { 5000, "0.50 %" },	   { 1000000, "100.00 %" },
	};

	(void)state;
	check_showing(cases, ARRAY_LEN(cases), units_format_price);
}

static void wall_clocks_show_dates_of_the_calendar(void **state)
{
	static const struct {
		int64_t s;
		const char *want;
	} cases[] = {
		{ 0, "1970-01-01 00:00:00 UTC" },
		{ -1, "1969-12-31 23:59:59 UTC" },
		{ -86400, "1969-12-31 00:00:00 UTC" },
		{ 951782399, "2000-02-28 23:59:59 UTC" },
		{ 951782400, "2000-02-29 00:00:00 UTC" },
		{ 951868800, "2000-03-01 00:00:00 UTC" },
		{ 1772323199, "2026-02-28 23:59:59 UTC" },
		{ 1772323200, "2026-03-01 00:00:00 UTC" },
		{ 1798761599, "2026-12-31 23:59:59 UTC" },
		{ 4107542400, "2100-03-01 00:00:00 UTC" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		units_format_wall((struct wall){ cases[i].s * (int64_t)NS_PER_S }, text,
				  sizeof(text));
		assert_string_equal(text, cases[i].want);
	}
	units_format_wall((struct wall){ -1 }, text, sizeof(text));
	assert_string_equal(text, "1969-12-31 23:59:59 UTC");
	units_format_wall((struct wall){ INT64_MIN }, text, sizeof(text));
	assert_string_equal(text, "1677-09-21 00:12:43 UTC");
	units_format_wall((struct wall){ INT64_MAX }, text, sizeof(text));
	assert_string_equal(text, "2262-04-11 23:47:16 UTC");
}

static void what_is_shown_can_be_read_again(void **state)
{
	(void)state;
	for (uint64_t ns = 1; ns < 59 * NS_PER_S; ns = ns * 13 / 10 + 1) {
		char text[64];
		uint64_t back = 0;

		units_format_duration(ns, text, sizeof(text));
		assert_int_equal(units_parse_duration(text, &back), 0);
		assert_true(back >= ns - ns / 100 && back <= ns + ns / 100);
	}
}

static void millionths_never_overflow(void **state)
{
	(void)state;
	assert_int_equal(units_ppm_of(NS_PER_S, 5000), 5000000);
	assert_int_equal(units_ppm_of(199, 5000), 0);
	assert_int_equal(units_ppm_of(UINT64_MAX, PPM), UINT64_MAX);
	assert_int_equal(units_ppm_of(UINT64_MAX, 64 * PPM), UINT64_MAX);
}

static void time_never_runs_backward(void **state)
{
	(void)state;
	assert_int_equal(mono_elapsed_ns((struct mono){ 5 }, (struct mono){ 7 }), 2);
	assert_int_equal(mono_elapsed_ns((struct mono){ 7 }, (struct mono){ 5 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read_to_the_nanosecond),
		cmocka_unit_test(what_is_no_duration_is_told_from_what_is_too_long),
		cmocka_unit_test(sizes_are_powers_of_1024_in_any_spelling),
		cmocka_unit_test(shares_are_millionths_of_one_cpu),
		cmocka_unit_test(counts_are_digits_and_nothing_else),
		cmocka_unit_test(durations_show_three_digits_or_two_parts),
		cmocka_unit_test(clocks_show_what_has_passed),
		cmocka_unit_test(sizes_show_their_unit),
		cmocka_unit_test(a_size_beside_its_limit_is_in_the_limits_unit),
		cmocka_unit_test(counts_show_three_digits_and_a_letter),
		cmocka_unit_test(exact_counts_are_in_groups_of_three),
		cmocka_unit_test(a_price_that_is_not_0_never_shows_as_0),
		cmocka_unit_test(wall_clocks_show_dates_of_the_calendar),
		cmocka_unit_test(what_is_shown_can_be_read_again),
		cmocka_unit_test(millionths_never_overflow),
		cmocka_unit_test(time_never_runs_backward),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
