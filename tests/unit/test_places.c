/* test_places.c - functions that users name, found in files made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "core/scoped.h"
#include "sense/places.h"
#include "traced.h"

/* Finds what one pattern means in a target. */
static int find_in(const char *target, const char *pattern, struct places *out)
{
	char path[PATH_MAX];
	char *patterns[] = { (char *)pattern };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 1, .most = PLACES_MOST
	};
	struct err err;

	traced_path(target, path);
	return places_find(&settings, out, &err);
}

static bool is_text(struct str s, const char *want)
{
	return s.len == strlen(want) && memcmp(s.bytes, want, s.len) == 0;
}

static bool has_text(struct str s, const char *want)
{
	return memmem(s.bytes, s.len, want, strlen(want)) != NULL;
}

/* The names of the rows that can be watched, in order, with blanks between. */
static void names_of(const struct places *p, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < p->count && len < size; i++)
		if (p->rows[i].why_not.len == 0)
			len += (size_t)snprintf(out + len, size - len, "%s%.*s", len > 0 ? " " : "",
						(int)p->rows[i].name.len, p->rows[i].name.bytes);
}

static void a_pattern_means_what_the_user_wrote(void **state)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {
		{ "plain", "plain" },
		{ "libnames.so:strong", "strong" },
		{ "libnames:strong", "strong" },
		{ "lib*:strong", "strong" },
		{ "other.so:strong", "" },
		{ "s*ng", "strong" },
		{ "/^st.*g$/", "strong" },
		{ "libnames.so:/^(strong|use)$/", "strong use" },
		{ "hidden", "hidden" },
		{ "space::thing::run", "space::thing::run(int)" },
		{ "space::thing::run(int)", "space::thing::run(int)" },
		{ "space::thing::run( int )", "space::thing::run(int)" },
		{ "space::thing::run(long)", "" },
		{ "space::thing::*", "space::thing::run(int)" },
		{ "_ZN5space5thing3runEi", "space::thing::run(int)" },
		{ "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt" },
		{ "foo::example_function", "foo::example_function" },
		{ "run", "" },
		{ "nothing*", "" },
		{ "puts", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct places p = PLACES_EMPTY;
		char names[256];

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(find_in("libnames.so", cases[i].pattern, &p), 0);
		names_of(&p, names, sizeof(names));
		assert_string_equal(names, cases[i].want);
		assert_true(p.count > 0); /* or why not */
		assert_true(is_text(p.rows[0].pattern, cases[i].pattern));
		places_free(&p);
		places_free(&p);
	}
}

static void names_of_one_address_are_one_row(void **state)
{
	static const char *const aliases[] = { "plain", "_plain", "__plain", "pl" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		struct places p = PLACES_EMPTY;

		assert_int_equal(find_in("libnames.so", aliases[i], &p), 0);
		assert_int_equal(p.count, 1);
		assert_true(is_text(p.rows[0].name, "plain"));
		assert_true(is_text(p.rows[0].module, "libnames.so"));
		assert_int_equal(p.rows[0].why_not.len, 0);
		places_free(&p);
	}
}

static void what_cannot_be_found_says_where_was_looked(void **state)
{
	struct places p = PLACES_EMPTY;

	(void)state;
	assert_int_equal(find_in("walker", "no_such_function", &p), 0);
	assert_int_equal(p.count, 1);
	assert_true(is_text(p.rows[0].name, "no_such_function"));
	assert_true(has_text(p.rows[0].why_not, "not found: no function of walker or its "));
	places_free(&p);
	assert_int_equal(find_in("no_such_program", "main", &p), -ENOENT);
}

static void a_program_brings_its_libraries(void **state)
{
	struct places p = PLACES_EMPTY;

	(void)state;
	assert_int_equal(find_in("walker", "libc.so:malloc", &p), 0);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.rows[0].why_not.len, 0);
	assert_int_not_equal(p.rows[0].offset, 0);
	places_free(&p);
}

static void no_more_than_the_most_are_watched_and_the_rest_is_listed(void **state)
{
	char path[PATH_MAX], *patterns[] = { (char *)"*", (char *)"strong" };
	struct places_settings settings = {
		.program = path, .patterns = patterns, .pattern_count = 2, .most = 2
	};
	struct places p = PLACES_EMPTY;
	struct err err;
	size_t watched = 0, beyond = 0;

	(void)state;
	traced_path("libnames.so", path);
	assert_int_equal(places_find(&settings, &p, &err), 0);
	for (size_t i = 0; i < p.count; i++) {
		watched += p.rows[i].why_not.len == 0;
		beyond += has_text(p.rows[i].why_not, "more than 2 functions");
	}
	assert_int_equal(watched, 2);
	assert_true(beyond > 5);
	places_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_means_what_the_user_wrote),
		cmocka_unit_test(names_of_one_address_are_one_row),
		cmocka_unit_test(what_cannot_be_found_says_where_was_looked),
		cmocka_unit_test(a_program_brings_its_libraries),
		cmocka_unit_test(no_more_than_the_most_are_watched_and_the_rest_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
