/* test_places_pattern.c - what patterns take, piece by piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "sense/places_glob.h"
#include "sense/places_nearest.h"
#include "sense/places_pattern.h"
#include "sense/places_refused.h"
#include "sense/places_types.h"

static struct str text(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

static void a_glob_means_the_whole_name(void **state)
{
	static const struct {
		const char *glob, *name;
		bool want;
	} cases[] = {
		{ "abc", "abc", true },
		{ "abc", "abcd", false },
		{ "", "", true },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "a*c", "abbc", true },
		{ "a*c", "abcb", false },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[!a-c]x", "ax", false },
		{ "[]a]", "]", true },
		{ "[a", "a", false },
		{ "[a-]", "-", true },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "a\\", "a\\", true },
		{ "**a**", "bab", true },
		{ "*a*b*c", "xaxbxc", true },
		{ "*ab", "aab", true },
		{ "*ab*cd", "ababcd", true },
	};
	static char many[256], longest[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s %s\n", cases[i].glob, cases[i].name);
		assert_int_equal(pattern_glob(text(cases[i].glob), text(cases[i].name)),
				 cases[i].want);
	}
	/* Would take for ever if every star were taken back. */
	for (size_t i = 0; i < sizeof(many) - 1; i++)
		many[i] = i % 2 == 0 ? '*' : 'a';
	many[sizeof(many) - 2] = 'b';
	memset(longest, 'a', sizeof(longest) - 1);
	assert_false(pattern_glob(text(many), text(longest)));
}

static void a_file_is_meant_with_or_without_its_version(void **state)
{
	static const struct {
		const char *pattern, *path, *alias;
		bool want;
	} cases[] = {
		{ "libc.so.6:f", "/usr/lib/libc.so.6", "", true },
		{ "libc.so:f", "/usr/lib/libc.so.6", "", true },
		{ "libc:f", "/usr/lib/libc.so.6", "", true },
		{ "lib:f", "/usr/lib/libc.so.6", "", false },
		{ "libc.so.7:f", "/usr/lib/libc.so.6", "", false },
		{ "libc:f", "/lib/libc-2.31.so", "", true },
		{ "libc:f", "/lib/libcrypt.so.1", "", false },
		{ "php:f", "/usr/bin/php8.2", "", true },
		{ "php8.2:f", "/usr/bin/php8.2", "", true },
		{ "php7:f", "/usr/bin/php8.2", "", false },
		{ "editor:f", "/usr/bin/vim.basic", "editor", true },
		{ "libs*:f", "/usr/lib/libssl.so.3", "", true },
		{ "/usr/lib/libc.so.6:f", "/usr/lib/libc.so.6", "", true },
		{ "/usr/*/libc.so.6:f", "/usr/lib/libc.so.6", "", true },
		{ "/opt/libc.so.6:f", "/usr/lib/libc.so.6", "", false },
		{ "/usr/lib/libc.so.6:/f/", "/usr/lib/libc.so.6", "", true },
		{ "f", "/usr/lib/libc.so.6", "", true },
		{ "a::f", "/usr/lib/libc.so.6", "", true },
		{ "/a:b/", "/usr/lib/libc.so.6", "", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pattern p;

		print_message("%s %s\n", cases[i].pattern, cases[i].path);
		assert_int_equal(pattern_parse(cases[i].pattern, &p, NULL), 0);
		assert_int_equal(pattern_takes_file(&p, text(cases[i].path), text(cases[i].alias)),
				 cases[i].want);
		pattern_free(&p);
		pattern_free(&p);
	}
}

static void of_a_glob_the_name_that_is_it_letter_by_letter_goes_first(void **state)
{
	static struct forms forms;
	struct pattern p;

	(void)state;
	assert_int_equal(pattern_parse("app::Parser::operator*", &p, NULL), 0);
	forms_set(&forms, text("_ZN3app6ParsermlEi")); /* operator*(int) */
	assert_int_equal(pattern_takes_name(&p, &forms), PATTERN_LITERAL);
	forms_set(&forms, text("_ZN3app6ParserltEi")); /* operator<(int) */
	assert_int_equal(pattern_takes_name(&p, &forms), PATTERN_YES);
	pattern_free(&p);
}

static void what_looks_like_a_glob_may_be_a_pointer(void **state)
{
	static const struct {
		const char *pattern;
		enum pattern_kind want;
	} cases[] = {
		{ "f(char*)", PATTERN_EXACT },
		{ "f(char *, int)", PATTERN_EXACT },
		{ "f(a<b>*&)", PATTERN_EXACT },
		{ "f(char**)", PATTERN_EXACT },
		{ "f(char* const)", PATTERN_EXACT },
		{ "f(*)", PATTERN_GLOB },
		{ "f(char*", PATTERN_GLOB },
		{ "f*(char)", PATTERN_GLOB },
		{ "f(char, *)", PATTERN_GLOB },
		{ "f(int*t)", PATTERN_GLOB },
		{ "f", PATTERN_EXACT },
		{ "a::operator[]", PATTERN_EXACT },
		{ "f[abc]", PATTERN_GLOB },
		{ "f?", PATTERN_GLOB },
		{ "f(int?)", PATTERN_GLOB },
		{ "/f/", PATTERN_REGEX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pattern p;

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(pattern_parse(cases[i].pattern, &p, NULL), 0);
		assert_int_equal(p.kind, cases[i].want);
		pattern_free(&p);
	}
}

static void names_whose_letters_are_not_in_the_symbol_are_found(void **state)
{
	static const struct {
		const char *pattern, *symbol;
	} cases[] = {
		{ "std::string::append", "_ZNSs6appendEPKc" },
		{ "std::allocator<char>::allocator", "_ZNSaIcEC1Ev" },
		{ "std::*string*::append", "_ZNSs6appendEPKc" },
		{ "operator new", "_Znwm" },
		{ "operator new(unsigned long)", "_Znwm" },
		{ "operator delete[]", "_ZdaPv" },
		{ "operator*", "_Znwm" },
		{ "main::{lambda(int)#1}::operator()", "_ZZ4mainENKUliE_clEi" },
		{ "f(unsigned int*)", "_Z1fPj" },
	};
	static struct forms forms;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pattern p;

		print_message("%s\n", cases[i].pattern);
		assert_int_equal(pattern_parse(cases[i].pattern, &p, NULL), 0);
		forms_set(&forms, text(cases[i].symbol));
		assert_int_not_equal(pattern_takes_name(&p, &forms), PATTERN_NO);
		pattern_free(&p);
	}
}

static void an_expression_that_takes_too_long_is_given_up(void **state)
{
	static struct forms forms;
	struct pattern p;

	(void)state;
	assert_int_equal(pattern_parse("/^a.c$/", &p, NULL), 0);
	forms_set(&forms, text("abc"));
	for (size_t i = 0; i < 20000; i++) /* its automaton is begun anew on the way */
		assert_int_equal(pattern_takes_name(&p, &forms), PATTERN_YES);
	assert_false(p.regex.is_over);
	p.regex.spent_ns = REGEX_MAX_NS + 1;
	(void)pattern_takes_name(&p, &forms);
	assert_true(p.regex.is_over);
	assert_int_equal(pattern_takes_name(&p, &forms), PATTERN_NO);
	pattern_free(&p);
}

static void const_stands_behind_its_type(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "f(const char*)", "f(char const*)" },
		{ "f(const char *, const a::b<c, const d>& )",
		  "f(char const *, a::b<c, const d> const& )" },
		{ "f(const unsigned long)", "f(unsigned long const)" },
		{ "f( const  x)", "f( x const)" },
		{ "const_cast", "const_cast" },
		{ "f() const", "f() const" },
		{ "f(constant x)", "f(constant x)" },
		{ "f<const x>", "f<x const>" },
		{ "f(const", "f(const" },
		{ "f(const ", "f( const" },
		{ "f(const a<", "f(a< const" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[64];
		uint32_t len = types_move_const(text(cases[i].name), out);

		print_message("%s\n", cases[i].name);
		assert_int_equal(len, strlen(cases[i].want));
		assert_memory_equal(out, cases[i].want, len);
	}
}

static void names_are_as_far_apart_as_letters_must_change(void **state)
{
	static const struct {
		const char *a, *b;
		uint32_t most, want;
	} cases[] = {
		{ "abc", "abc", 3, 0 },
		{ "abc", "abd", 3, 1 },
		{ "abc", "ab", 3, 1 },
		{ "abc", "xabc", 3, 1 },
		{ "abc", "acb", 3, 1 },
		{ "abc", "bca", 3, 2 },
		{ "abcdef", "badcfe", 3, 3 },
		{ "abc", "xyz", 2, 3 },
		{ "abcdef", "a", 2, 3 },
		{ "kitten", "sitting", 3, 3 },
		{ "abcdefgh", "bcdefghi", 2, 2 },
		{ "a", "", 1, 1 },
		{ "", "abcd", 3, 4 },
		{ "ab", "ba", 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("%s %s\n", cases[i].a, cases[i].b);
		assert_int_equal(
			nearest_distance(text(cases[i].a), text(cases[i].b), cases[i].most),
			cases[i].want);
		assert_int_equal(
			nearest_distance(text(cases[i].b), text(cases[i].a), cases[i].most),
			cases[i].want);
	}
}

static void the_nearest_names_are_kept_each_once(void **state)
{
	static const char *const names[] = {
		"parse_all_of_it", "pasre", "Parser::parse", "parse1", "pasre", "elephant", "PARSE"
	};
	struct nearest n = { .count = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		nearest_offer(&n, text("parse"), text(names[i]));
	assert_int_equal(n.count, 3);
	assert_memory_equal(n.names[0], "PARSE", 5);
	assert_memory_equal(n.names[1], "Parser::parse", 13);
	assert_memory_equal(n.names[2], "pasre", 5);
}

static void what_a_return_probe_would_break_is_known(void **state)
{
	static const char *const broken[] = { "_start", "_setjmp",     "__sigsetjmp",
					      "vfork",	"swapcontext", "_Unwind_Resume",
					      "dlsym",	"__cxa_throw", "_dl_runtime_resolve_xsave",
					      "mcount" };
	static const char *const fine[] = { "start",   "malloc",  "longjmp", "fork",
					    "vforker", "_Unwind", "main" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		assert_true(refused_why(text(broken[i])).len > 0);
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		assert_int_equal(refused_why(text(fine[i])).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_glob_means_the_whole_name),
		cmocka_unit_test(a_file_is_meant_with_or_without_its_version),
		cmocka_unit_test(of_a_glob_the_name_that_is_it_letter_by_letter_goes_first),
		cmocka_unit_test(what_looks_like_a_glob_may_be_a_pointer),
		cmocka_unit_test(names_whose_letters_are_not_in_the_symbol_are_found),
		cmocka_unit_test(an_expression_that_takes_too_long_is_given_up),
		cmocka_unit_test(const_stands_behind_its_type),
		cmocka_unit_test(names_are_as_far_apart_as_letters_must_change),
		cmocka_unit_test(the_nearest_names_are_kept_each_once),
		cmocka_unit_test(what_a_return_probe_would_break_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
