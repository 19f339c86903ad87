/* test_options.c - one table makes the parser: presets, values, errors that help. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "core/scoped.h"
#include "core/units.h"

struct wanted {
	uint64_t price_ppm, every_ns, size_bytes, count;
	const char *output;
	bool is_full;
};

static const struct opt rows[] = {
	{ "price", 'b', OPT_SHARE, offsetof(struct wanted, price_ppm), "PERCENT", "0.5%", "price" },
	{ "every", 'e', OPT_DURATION, offsetof(struct wanted, every_ns), "TIME", "10ms", "period" },
	{ "max-size", 0, OPT_SIZE, offsetof(struct wanted, size_bytes), "SIZE", "4MB", "size" },
	{ "slots", 0, OPT_COUNT, offsetof(struct wanted, count), "N", NULL, "slots" },
	{ "output", 'o', OPT_FILE, offsetof(struct wanted, output), "FILE", NULL, "file" },
	{ "full", 0, OPT_FLAG, offsetof(struct wanted, is_full), NULL, NULL, "all" },
};

static struct wanted got;
static struct opt_rest rest;
static struct err err;

/* Parses the words; the first one is the command's name. */
static int parse(bool ends_at_command, const char **words)
{
	int argc = 0;

	while (words[argc] != NULL)
		argc++;
	got = (struct wanted){ .count = 0 };
	err = ERR_EMPTY;
	return opts_parse(rows, ARRAY_LEN(rows), ends_at_command, argc, (char **)words, &got, &rest,
			  &err);
}

#define PARSE(ends_at_command, ...) \
	parse(ends_at_command, (const char *[]){ "record", __VA_ARGS__, NULL })

static void presets_are_read_as_a_user_would_type_them(void **state)
{
	(void)state;
	assert_int_equal(PARSE(true, "--"), 0);
	assert_int_equal(got.price_ppm, 5000);
	assert_int_equal(got.every_ns, 10 * NS_PER_MS);
	assert_int_equal(got.size_bytes, 4 << 20);
	assert_int_equal(got.count, 0);
	assert_null(got.output);
}

static void long_short_and_joined_values_are_one_thing(void **state)
{
	(void)state;
	assert_int_equal(PARSE(true, "-b", "1%", "--every=2ms", "-ofile", "--full"), 0);
	assert_int_equal(got.price_ppm, 10000);
	assert_int_equal(got.every_ns, 2 * NS_PER_MS);
	assert_string_equal(got.output, "file");
	assert_true(got.is_full);
}

static void options_end_where_the_command_begins(void **state)
{
	(void)state;
	assert_int_equal(PARSE(true, "--full", "job", "--price", "1%"), 0);
	assert_int_equal(rest.count, 3);
	assert_string_equal(rest.argv[0], "job");
	assert_int_equal(got.price_ppm, 5000);
	assert_int_equal(PARSE(true, "--", "--full"), 0);
	assert_int_equal(rest.count, 1);
	assert_string_equal(rest.argv[0], "--full");
	assert_false(got.is_full);
	assert_true(rest.has_dashes);
}

static void elsewhere_options_may_follow_files(void **state)
{
	(void)state;
	assert_int_equal(PARSE(false, "x.tare", "--full"), 0);
	assert_true(got.is_full);
	assert_int_equal(rest.count, 1);
	assert_string_equal(rest.argv[0], "x.tare");
}

static void a_usage_error_names_the_nearest_option(void **state)
{
	static const struct {
		const char *given, *nearest;
	} cases[] = {
		{ "--prize", "--price" },
		{ "--ful", "--full" },
		{ "--outptu=x", "--output" },
		{ "--maxsize", "--max-size" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s\n", cases[i].given);
		if (PARSE(true, cases[i].given) == 0)
			continue; /* getopt takes an unambiguous beginning as the option itself */
		assert_non_null(strstr(err.msg, cases[i].given));
		assert_non_null(strstr(err.mend, cases[i].nearest));
	}
	assert_int_equal(PARSE(true, "--prize"), -EINVAL);
}

static void a_bad_value_names_option_value_and_what_it_takes(void **state)
{
	(void)state;
	assert_int_equal(PARSE(true, "--every", "10"), -EINVAL);
	assert_string_equal(err.msg, "cannot use '10' for --every");
	assert_non_null(strstr(err.mend, "10ms"));
	assert_int_equal(PARSE(true, "--price", "99999%"), -EINVAL);
	assert_non_null(strstr(err.msg, "too large"));
	assert_int_equal(PARSE(true, "--slots"), -EINVAL);
	assert_non_null(strstr(err.msg, "without a value"));
}

static void help_wins_over_what_follows(void **state)
{
	(void)state;
	assert_int_equal(PARSE(true, "-h", "--prize"), 0);
	assert_true(rest.wants_help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_are_read_as_a_user_would_type_them),
		cmocka_unit_test(long_short_and_joined_values_are_one_thing),
		cmocka_unit_test(options_end_where_the_command_begins),
		cmocka_unit_test(elsewhere_options_may_follow_files),
		cmocka_unit_test(a_usage_error_names_the_nearest_option),
		cmocka_unit_test(a_bad_value_names_option_value_and_what_it_takes),
		cmocka_unit_test(help_wins_over_what_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
