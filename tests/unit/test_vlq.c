/* test_vlq.c - whole numbers as letters, read back by a reader of five lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "format/vlq.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint64_t read_one(const char **at)
{
	uint64_t value = 0, digit;
	unsigned shift = 0;

	do {
		assert_non_null(memchr(letters, **at, 64));
		digit = (uint64_t)(strchr(letters, *(*at)++) - letters);
		value |= (digit & 31) << shift;
		shift += 5;
	} while (digit >= 32);
	return value;
}

static void numbers_come_back_one_after_another(void **state)
{
	static const uint64_t numbers[] = { 0,		1,	    31,		32,
					    1023,	1024,	    4294967295, INT64_MAX,
					    1ull << 63, UINT64_MAX, 0 };
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	const char *at;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		vlq_put(&t, numbers[i]);
	at = text_chars(&t);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		assert_true(read_one(&at) == numbers[i]);
	assert_int_equal(*at, '\0');
}

static void small_numbers_are_one_letter(void **state)
{
	SCOPED(text_free) struct text t = TEXT_EMPTY;

	(void)state;
	for (uint64_t i = 0; i < 32; i++)
		vlq_put(&t, i);
	assert_string_equal(text_chars(&t), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef");
}

static void the_sign_is_the_lowest_bit(void **state)
{
	static const int64_t numbers[] = { 0, -1, 1, -2, 2, INT64_MAX, INT64_MIN };
	static const uint64_t want[] = { 0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX };
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	const char *at;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		vlq_put_signed(&t, numbers[i]);
	at = text_chars(&t);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		assert_true(read_one(&at) == want[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back_one_after_another),
		cmocka_unit_test(small_numbers_are_one_letter),
		cmocka_unit_test(the_sign_is_the_lowest_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
