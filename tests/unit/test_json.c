/* test_json.c - the streaming JSON writer, read back by a checker that shares no code with it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "format/json.h"

/* What was written, and when to fail. */
struct paper {
	char *bytes;
	size_t len, fail_after;
};

static int write_down(void *owner, const char *bytes, size_t len)
{
	struct paper *p = owner;

	if (p->fail_after != 0 && p->len + len > p->fail_after)
		return -ENOSPC;
	p->bytes = realloc(p->bytes, p->len + len + 1);
	assert_non_null(p->bytes);
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
	p->bytes[p->len] = '\0';
	return 0;
}

static void paper_free(struct paper *p)
{
	free(p->bytes);
}

/* Is it valid UTF-8 and, outside of strings, nothing but JSON's own letters? Strings: no byte below 0x20, escapes whole. */
static bool is_sound(const unsigned char *c)
{
	bool in_string = false;

	for (; *c != '\0'; c++) {
		unsigned more = *c < 0x80    ? 0
				: *c >= 0xf0 ? 3
				: *c >= 0xe0 ? 2
				: *c >= 0xc2 ? 1
					     : 9;

		if (!in_string && strchr("{}[]:, \n0123456789.+-eEtrufalsn\"", *c) == NULL)
			return false;
		if (*c == '"')
			in_string = !in_string;
		else if (in_string && *c == '\\') {
			c++;
			if (strchr("\"\\/bfnrtu", *c) == NULL || *c == '\0')
				return false;
			if (*c == 'u' && strspn((const char *)c + 1, "0123456789abcdef") < 4)
				return false;
		} else if (in_string && *c < 0x20) {
			return false;
		}
		for (; more > 0; more--)
			if (more == 9 || (*++c & 0xc0) != 0x80)
				return false;
	}
	return !in_string;
}

static void every_value_has_its_form(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
	struct json j;

	(void)state;
	json_begin(&j, write_down, &p, 0);
	json_open_object(&j);
	json_key(&j, "none");
	json_open_array(&j);
	json_close(&j);
	json_key(&j, "many");
	json_open_array(&j);
	json_u64(&j, UINT64_MAX);
	json_i64(&j, INT64_MIN);
	json_double(&j, 0.1);
	json_double(&j, 1.0 / 3);
	json_double(&j, NAN);
	json_double(&j, INFINITY);
	json_bool(&j, true);
	json_bool(&j, false);
	json_null(&j);
	json_chars(&j, "x");
	json_open_object(&j);
	json_close(&j);
	json_close(&j);
	json_close(&j);
	assert_int_equal(json_end(&j), 0);
	assert_string_equal(
		p.bytes, "{\"none\": [],\"many\": [18446744073709551615,-9223372036854775808,0.1,"
			 "0.3333333333333333,null,null,true,false,null,\"x\",{}]}\n");
}

static void lines_break_down_to_the_depth_that_was_asked_for(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
	struct json j;

	(void)state;
	json_begin(&j, write_down, &p, 2);
	json_open_object(&j);
	json_key(&j, "rows");
	json_open_array(&j);
	for (int i = 0; i < 2; i++) {
		json_open_object(&j);
		json_key(&j, "a");
		json_u64(&j, 1);
		json_key(&j, "b");
		json_u64(&j, 2);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	assert_int_equal(json_end(&j), 0);
	assert_string_equal(p.bytes,
			    "{\n \"rows\": [\n  {\"a\": 1,\"b\": 2},\n  {\"a\": 1,\"b\": 2}\n "
			    "]\n}\n");
}

static const struct {
	const char *name;
	struct str value;
	const char *want;
	uint64_t replaced;
} strings[] = {
	{ "quotes and backslashes are escaped", STR_LITERAL("\"a\\b\""), "\"\\\"a\\\\b\\\"\"", 0 },
	{ "controls have their short escapes", STR_LITERAL("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"",
	  0 },
	{ "NUL does not end a string", STR_LITERAL("a\0b"), "\"a\\u0000b\"", 0 },
	{ "ESC is escaped", STR_LITERAL("\x1b[2J"), "\"\\u001b[2J\"", 0 },
	{ "DEL and C1 are escaped", STR_LITERAL("\x7f\xc2\x9b"), "\"\\u007f\\u009b\"", 0 },
	{ "UTF-8 stays", STR_LITERAL("na\xc3\xafve \xf0\x9f\x90\x98"),
	  "\"na\xc3\xafve \xf0\x9f\x90\x98\"", 0 },
	{ "line separators are escaped", STR_LITERAL("\xe2\x80\xa8\xe2\x80\xa9"),
	  "\"\\u2028\\u2029\"", 0 },
	{ "each bad byte becomes U+FFFD and is counted",
	  STR_LITERAL("a\xff\xfe"
		      "b"),
	  "\"a\xef\xbf\xbd\xef\xbf\xbd"
	  "b\"",
	  2 },
	{ "an overlong form is no UTF-8", STR_LITERAL("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"",
	  2 },
	{ "a surrogate is no UTF-8", STR_LITERAL("\xed\xa0\x80"),
	  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", 3 },
	{ "a code point that is cut off is no UTF-8", STR_LITERAL("x\xe2\x80"),
	  "\"x\xef\xbf\xbd\xef\xbf\xbd\"", 2 },
	{ "nothing is an empty string", { NULL, 0 }, "\"\"", 0 },
};

static void any_bytes_become_a_valid_string(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
		struct json j;

		print_message("%s\n", strings[i].name);
		json_begin(&j, write_down, &p, 0);
		json_str(&j, strings[i].value);
		assert_int_equal(json_end(&j), 0);
		p.bytes[p.len - 1] = '\0';
		assert_string_equal(p.bytes, strings[i].want);
		assert_int_equal(j.replaced, strings[i].replaced);
	}
}

static void random_bytes_longer_than_the_buffer_stay_valid(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
	static char bytes[3 * JSON_BUFFER_BYTES];
	struct json j;
	uint32_t word = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		word = word * 1664525u + 1013904223u;
		bytes[i] = (char)(word >> 24);
	}
	json_begin(&j, write_down, &p, 0);
	json_str(&j, (struct str){ bytes, sizeof(bytes) });
	assert_int_equal(json_end(&j), 0);
	assert_true(j.replaced > sizeof(bytes) / 4);
	assert_true(is_sound((const unsigned char *)p.bytes));
}

static void the_first_failure_of_the_sink_is_kept(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 20000 };
	struct json j;

	(void)state;
	json_begin(&j, write_down, &p, 0);
	json_open_array(&j);
	for (int i = 0; i < 40000; i++)
		json_u64(&j, 7);
	json_close(&j);
	assert_int_equal(json_end(&j), -ENOSPC);
	assert_int_equal(p.len, JSON_BUFFER_BYTES);
}

static void a_failure_of_the_caller_is_kept_too(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
	struct json j;

	(void)state;
	json_begin(&j, write_down, &p, 0);
	json_null(&j);
	json_fail(&j, -ENOMEM);
	json_fail(&j, -EIO);
	assert_int_equal(json_end(&j), -ENOMEM);
}

enum call { OPEN_OBJECT, OPEN_ARRAY, CLOSE, KEY, VALUE, END_OF_CALLS };

static const struct {
	const char *name;
	enum call calls[6];
	int want;
} misuses[] = {
	{ "one value is a document", { VALUE, END_OF_CALLS }, 0 },
	{ "no value is none", { END_OF_CALLS }, -EINVAL },
	{ "two values are none", { VALUE, VALUE, END_OF_CALLS }, -EINVAL },
	{ "what is open is none", { OPEN_ARRAY, END_OF_CALLS }, -EINVAL },
	{ "a key needs its value", { OPEN_OBJECT, KEY, CLOSE, END_OF_CALLS }, -EINVAL },
	{ "a member needs its key", { OPEN_OBJECT, VALUE, CLOSE, END_OF_CALLS }, -EINVAL },
	{ "an array has no keys", { OPEN_ARRAY, KEY, VALUE, CLOSE, END_OF_CALLS }, -EINVAL },
	{ "only what is open can be closed", { VALUE, CLOSE, END_OF_CALLS }, -EINVAL },
};

static void call(struct json *j, enum call c)
{
	if (c == OPEN_OBJECT)
		json_open_object(j);
	else if (c == OPEN_ARRAY)
		json_open_array(j);
	else if (c == CLOSE)
		json_close(j);
	else if (c == KEY)
		json_key(j, "k");
	else
		json_null(j);
}

static void calls_that_make_no_whole_value_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(misuses); i++) {
		SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
		struct json j;

		print_message("%s\n", misuses[i].name);
		json_begin(&j, write_down, &p, 0);
		for (size_t c = 0; misuses[i].calls[c] != END_OF_CALLS; c++)
			call(&j, misuses[i].calls[c]);
		assert_int_equal(json_end(&j), misuses[i].want);
	}
}

static void too_deep_is_refused_and_does_no_harm(void **state)
{
	SCOPED(paper_free) struct paper p = { NULL, 0, 0 };
	struct json j;

	(void)state;
	json_begin(&j, write_down, &p, 0);
	for (unsigned i = 0; i < JSON_MAX_DEPTH + 10; i++)
		json_open_array(&j);
	assert_int_equal(json_end(&j), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_its_form),
		cmocka_unit_test(lines_break_down_to_the_depth_that_was_asked_for),
		cmocka_unit_test(any_bytes_become_a_valid_string),
		cmocka_unit_test(random_bytes_longer_than_the_buffer_stay_valid),
		cmocka_unit_test(the_first_failure_of_the_sink_is_kept),
		cmocka_unit_test(a_failure_of_the_caller_is_kept_too),
		cmocka_unit_test(calls_that_make_no_whole_value_are_refused),
		cmocka_unit_test(too_deep_is_refused_and_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
