/* test_text.c - foreign names made harmless, widths, and the words for a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "core/text.h"

#define NBSP "\xc2\xa0"
#define PM   NBSP "\xc2\xb1" NBSP
#define DOTS "\xe2\x80\xa6"

static const struct {
	const char *name;
	struct str value;
	const char *want;
} names[] = {
	{ "a plain name stays", STR_LITERAL("Parser::parse(char const*)"),
	  "Parser::parse(char const*)" },
	{ "a backslash stays", STR_LITERAL("some\\task::execute"), "some\\task::execute" },
	{ "an escape sequence is shown", STR_LITERAL("\x1b[2J"), "\\x1b[2J" },
	{ "a new line is shown", STR_LITERAL("a\nb\tc\rd"), "a\\nb\\tc\\rd" },
	{ "NUL is shown and does not end a name", STR_LITERAL("class@anonymous\0x"),
	  "class@anonymous\\x00x" },
	{ "DEL is shown", STR_LITERAL("a\x7f"), "a\\x7f" },
	{ "C1 as UTF-8 is shown",
	  STR_LITERAL("\xc2\x9b"
		      "2J"),
	  "\\u{9b}2J" },
	{ "C1 as a bare byte is shown",
	  STR_LITERAL("\x9b"
		      "2J"),
	  "\\x9b2J" },
	{ "bytes that are no UTF-8 are shown", STR_LITERAL("a\xff\xc0\xaf"), "a\\xff\\xc0\\xaf" },
	{ "a bidi override is shown",
	  STR_LITERAL("\xe2\x80\xae"
		      "gpj.exe"),
	  "\\u{202e}gpj.exe" },
	{ "a bidi isolate is shown", STR_LITERAL("\xe2\x81\xa6x"), "\\u{2066}x" },
	{ "an Arabic letter mark is shown", STR_LITERAL("\xd8\x9c"), "\\u{61c}" },
	{ "zero width is shown",
	  STR_LITERAL("a\xe2\x80\x8b"
		      "b\xef\xbb\xbf"),
	  "a\\u{200b}b\\u{feff}" },
	{ "a line separator is shown", STR_LITERAL("\xe2\x80\xa8"), "\\u{2028}" },
	{ "a tag character is shown", STR_LITERAL("\xf3\xa0\x80\xa0"), "\\u{e0020}" },
	{ "markup is none of the terminal's business", STR_LITERAL("</script>"), "</script>" },
	{ "letters of any script stay", STR_LITERAL("\xe5\x87\xbd\xe6\x95\xb0 na\xc3\xafve"),
	  "\xe5\x87\xbd\xe6\x95\xb0 na\xc3\xafve" },
	{ "three marks on a letter stay, the fourth is shown",
	  STR_LITERAL("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81"), "e\xcc\x81\xcc\x81\xcc\x81\\u{301}" },
	{ "a mark without a letter is shown",
	  STR_LITERAL("\xcc\x81"
		      "a"),
	  "\\u{301}a" },
};

static void foreign_names_are_made_harmless(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", names[i].name);
		text_put_name(&t, names[i].value);
		assert_string_equal(text_chars(&t), names[i].want);
	}
}

static void no_byte_that_a_terminal_obeys_comes_through(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	char bytes[4096];
	uint32_t word = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		word = word * 1664525u + 1013904223u;
		bytes[i] = (char)(word >> 24);
	}
	text_put_name(&t, (struct str){ bytes, sizeof(bytes) });
	for (size_t at = 0; at < t.len;) {
		uint32_t point = 0;
		size_t used = text_decode(t.bytes + at, t.len - at, &point);

		assert_true(used > 0);
		assert_true(text_point_columns(point) != TEXT_HIDDEN);
		at += used;
	}
}

static const struct {
	const char *name;
	struct str value;
	size_t columns;
	const char *want;
} cuts[] = {
	{ "what fits stays", STR_LITERAL("memcpy"), 6, "memcpy" },
	{ "what does not ends in an ellipsis", STR_LITERAL("memcpy"), 5, "memc" DOTS },
	{ "one column is the ellipsis", STR_LITERAL("memcpy"), 1, DOTS },
	{ "no column is nothing", STR_LITERAL("memcpy"), 0, "" },
	{ "a wide character counts two", STR_LITERAL("\xe5\x87\xbd\xe6\x95\xb0"), 3,
	  "\xe5\x87\xbd" DOTS },
	{ "a wide character is never halved", STR_LITERAL("\xe5\x87\xbd\xe6\x95\xb0"), 2, DOTS },
	{ "an escape is never halved",
	  STR_LITERAL("ab\x1b"
		      "c"),
	  5, "ab" DOTS },
	{ "a mark goes with its letter",
	  STR_LITERAL("e\xcc\x81"
		      "bcd"),
	  3,
	  "e\xcc\x81"
	  "b" DOTS },
};

static void a_cut_keeps_to_its_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", cuts[i].name);
		text_put_cut(&t, cuts[i].value, cuts[i].columns);
		assert_string_equal(text_chars(&t), cuts[i].want);
		assert_true(text_columns(text_chars(&t), t.len) <= cuts[i].columns);
	}
}

static const struct {
	const char *name;
	struct str value;
	size_t columns;
	const char *want;
} functions[] = {
	{ "whole when it fits", STR_LITERAL("Parser::parse(int) const"), 24,
	  "Parser::parse(int) const" },
	{ "then without its arguments", STR_LITERAL("Parser::parse(int) const"), 23,
	  "Parser::parse" },
	{ "then with template arguments in one sign",
	  STR_LITERAL("std::map<int, std::less<int> >::find(int const&)"), 17,
	  "std::map<" DOTS ">::find" },
	{ "then the last part", STR_LITERAL("std::map<int, long>::find(int const&)"), 12,
	  DOTS "find" },
	{ "the last part keeps to its columns too", STR_LITERAL("alpha::preg_replace_callback"), 10,
	  DOTS "preg_rep" DOTS },
	{ "an arrow closes no bracket", STR_LITERAL("run<decltype(a->b)>::go"), 10,
	  "run<" DOTS ">::go" },
	{ "an operator that is a bracket is cut", STR_LITERAL("Version::operator<(Version)"), 12,
	  DOTS "operator<" },
	{ "scopes within brackets are no scopes",
	  STR_LITERAL("Reader::read<std::allocator<char> >(int)"), 14, DOTS "read<" DOTS ">" },
	{ "a namespace of PHP is a scope", STR_LITERAL("some\\long\\task\\execute"), 10,
	  DOTS "execute" },
	{ "a name without scopes is cut", STR_LITERAL("preg_replace_callback"), 10,
	  "preg_repl" DOTS },
	{ "a call operator keeps its brackets", STR_LITERAL("Hash::operator()(int) const"), 17,
	  "Hash::operator()" },
	{ "a last part that does not fit is cut too", STR_LITERAL("Parser::parse_everything(int)"),
	  10, DOTS "parse_ev" DOTS },
	{ "also where it is the last part", STR_LITERAL("Hash::operator()"), 12,
	  DOTS "operator()" },
	{ "an anonymous namespace is no argument", STR_LITERAL("(anonymous namespace)::f()"), 10,
	  DOTS "f" },
	{ "a clone's note goes with the arguments", STR_LITERAL("f(int) [clone .cold]"), 8, "f" },
	{ "brackets that do not close are left alone", STR_LITERAL("a)b))"), 4, "a)b" DOTS },
};

static const struct {
	const char *name;
	struct str value;
	size_t used; /* 0: no UTF-8 */
	uint32_t point;
} decodings[] = {
	{ "a letter", STR_LITERAL("a"), 1, 'a' },
	{ "NUL", { "\0", 1 }, 1, 0 },
	{ "the first of two bytes", STR_LITERAL("\xc2\x80"), 2, 0x80 },
	{ "the first of three", STR_LITERAL("\xe0\xa0\x80"), 3, 0x800 },
	{ "the first of four", STR_LITERAL("\xf0\x90\x80\x80"), 4, 0x10000 },
	{ "the last there is", STR_LITERAL("\xf4\x8f\xbf\xbf"), 4, 0x10ffff },
	{ "one beyond", STR_LITERAL("\xf4\x90\x80\x80"), 0, 0 },
	{ "far beyond", STR_LITERAL("\xf5\x80\x80\x80"), 0, 0 },
	{ "overlong, two bytes", STR_LITERAL("\xc1\xbf"), 0, 0 },
	{ "overlong, three", STR_LITERAL("\xe0\x9f\xbf"), 0, 0 },
	{ "overlong, four", STR_LITERAL("\xf0\x8f\xbf\xbf"), 0, 0 },
	{ "the last before surrogates", STR_LITERAL("\xed\x9f\xbf"), 3, 0xd7ff },
	{ "a surrogate", STR_LITERAL("\xed\xa0\x80"), 0, 0 },
	{ "the last surrogate", STR_LITERAL("\xed\xbf\xbf"), 0, 0 },
	{ "cut short", { "\xe2\x82\xac", 2 }, 0, 0 },
	{ "a byte that only follows", STR_LITERAL("\x80"), 0, 0 },
	{ "a byte that does not follow", STR_LITERAL("\xe2\x82\xc0"), 0, 0 },
	{ "a letter that does not follow", STR_LITERAL("\xc3("), 0, 0 },
};

static void only_the_shortest_form_of_a_code_point_is_utf8(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(decodings); i++) {
		uint32_t point = 0;

		print_message("%s\n", decodings[i].name);
		assert_int_equal(
			text_decode(decodings[i].value.bytes, decodings[i].value.len, &point),
			decodings[i].used);
		assert_int_equal(point, decodings[i].point);
	}
}

static void a_function_is_shortened_before_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", functions[i].name);
		text_put_function(&t, functions[i].value, functions[i].columns);
		assert_string_equal(text_chars(&t), functions[i].want);
	}
}

static void a_name_of_four_kilobytes_is_cut_to_its_columns(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	char bytes[STR_MAX_BYTES];

	(void)state;
	memset(bytes, '\x1b', sizeof(bytes));
	text_put_function(&t, (struct str){ bytes, sizeof(bytes) }, 26);
	assert_int_equal(text_columns(text_chars(&t), t.len), 25);
	assert_string_equal(text_chars(&t) + 24, DOTS);
}

static const struct {
	const char *name;
	struct share share;
	uint64_t range_kept;
	const char *want;
} shares[] = {
	{ "an error of one and more: no digits",
	  { .value = 0.612, .error = 0.031 },
	  11000,
	  "61" NBSP "%" PM "3" },
	{ "an error of exactly one: no digits",
	  { .value = 0.0649, .error = 0.01 },
	  11000,
	  "6" NBSP "%" PM "1" },
	{ "an error below one: one digit",
	  { .value = 0.1243, .error = 0.008 },
	  11000,
	  "12.4" NBSP "%" PM "0.8" },
	{ "an error of 0.095: one digit",
	  { .value = 0.0211, .error = 0.00095 },
	  11000,
	  "2.1" NBSP "%" PM "0.1" },
	{ "an error below 0.095: two digits",
	  { .value = 0.0211, .error = 0.00091 },
	  11000,
	  "2.11" NBSP "%" PM "0.09" },
	{ "an error is rounded up, or the interval would be a smaller one",
	  { .value = 0.612, .error = 0.014 },
	  11000,
	  "61" NBSP "%" PM "2" },
	{ "unless hardly anything is cut off",
	  { .value = 0.612, .error = 0.0214 },
	  11000,
	  "61" NBSP "%" PM "2" },
	{ "no error rounds to 0",
	  { .value = 0.5, .error = 0.00001 },
	  11000,
	  "50.00" NBSP "%" PM "0.01" },
	{ "an error larger than its value: the upper end",
	  { .value = 0.0003, .error = 0.0005 },
	  11000,
	  "under 0.08" NBSP "%" },
	{ "the upper end is rounded up",
	  { .value = 0.0012, .error = 0.0019 },
	  11000,
	  "under 0.4" NBSP "%" },
	{ "the upper end is at most all",
	  { .value = 0.5, .error = 0.9 },
	  40,
	  "under 100" NBSP "%" },
	{ "nothing seen in n samples: 300/n",
	  { .value = 0, .error = 0 },
	  400,
	  "none seen, under 0.8" NBSP "%" },
	{ "nothing seen in many: two digits, rounded up",
	  { .value = 0, .error = 0 },
	  39950,
	  "none seen, under 0.01" NBSP "%" },
	{ "all seen in n samples: 100 - 300/n",
	  { .value = 1, .error = 0 },
	  400,
	  "over 99.2" NBSP "%" },
	{ "no samples: no number",
	  { .value = 0, .error = 1 },
	  0,
	  "\xe2\x80\x94" NBSP "cannot know" },
	{ "no way to know the error: no number",
	  { .value = 0.5, .error = 1 },
	  2,
	  "\xe2\x80\x94" NBSP "cannot know" },
};

static void a_share_has_never_more_digits_than_its_error_allows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		print_message("%s\n", shares[i].name);
		text_put_share(&t, shares[i].share, shares[i].range_kept);
		assert_string_equal(text_chars(&t), shares[i].want);
	}
}

static const struct {
	uint64_t part, whole;
	const char *want;
} exact[] = {
	{ 0, 100, "0" },
	{ 0, 0, "0" },
	{ 1, 5000, "0.02" NBSP "%" },
	{ 1, 1000000, "under" NBSP "0.01" NBSP "%" },
	{ 94, 100000, "0.09" NBSP "%" },
	{ 7, 1000, "0.7" NBSP "%" },
	{ 24, 1000, "2.4" NBSP "%" },
	{ 1, 3, "33.3" NBSP "%" },
	{ 987, 1000, "98.7" NBSP "%" },
	{ 99999, 100000, "over" NBSP "99.9" NBSP "%" },
	{ 7, 7, "100" NBSP "%" },
};

static void an_exact_share_has_no_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(exact); i++) {
		SCOPED(text_free) struct text t = TEXT_EMPTY;

		text_put_exact_share(&t, exact[i].part, exact[i].whole);
		assert_string_equal(text_chars(&t), exact[i].want);
	}
}

static void a_terminal_without_utf8_gets_letters(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	text_put(&t, "\xe2\x97\x8b \xe2\x97\x8f \xe2\x94\x81\xe2\x94\x9c\xe2\x94\x80\xe2\x94\xbc"
		     "\xe2\x94\xa4 12" NBSP "%" PM "1" DOTS " \xc3\xa9");
	text_make_ascii(&t);
	assert_string_equal(text_chars(&t), "o * =|-+| 12 % +- 1... \\u{e9}");
}

static void memory_that_runs_out_is_remembered(void **state)
{
	struct text t = TEXT_EMPTY;

	(void)state;
	text_put(&t, "kept");
	text_add(&t, "x", SIZE_MAX / 2);
	assert_true(t.has_failed);
	text_put(&t, "more");
	assert_string_equal(text_chars(&t), "kept");
	text_free(&t);
	text_free(&t);
	assert_string_equal(text_chars(&t), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_names_are_made_harmless),
		cmocka_unit_test(no_byte_that_a_terminal_obeys_comes_through),
		cmocka_unit_test(a_cut_keeps_to_its_columns),
		cmocka_unit_test(only_the_shortest_form_of_a_code_point_is_utf8),
		cmocka_unit_test(a_function_is_shortened_before_it_is_cut),
		cmocka_unit_test(a_name_of_four_kilobytes_is_cut_to_its_columns),
		cmocka_unit_test(a_share_has_never_more_digits_than_its_error_allows),
		cmocka_unit_test(an_exact_share_has_no_error),
		cmocka_unit_test(a_terminal_without_utf8_gets_letters),
		cmocka_unit_test(memory_that_runs_out_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
