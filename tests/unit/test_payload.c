/* test_payload.c - payloads: once by their digest, compressed, and only a size when they are too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "fleet/plans.h"

static void the_digest_is_sha256(void **state)
{
	(void)state;
	static const uint8_t abc[4] = { 0xba, 0x78, 0x16, 0xbf },
			     none[4] = { 0xe3, 0xb0, 0xc4, 0x42 };
	struct digest digest;

	assert_int_equal(payload_digest("abc", 3, &digest), 0);
	assert_memory_equal(digest.bytes, abc, sizeof(abc));
	assert_int_equal(payload_digest(NULL, 0, &digest), 0);
	assert_memory_equal(digest.bytes, none, sizeof(none));
}

static void nuls_are_stripped_before_anything(void **state)
{
	(void)state;
	struct payload_row row = { .server = 7, .kind = PAYLOAD_PLAN, .seen_wall_ns = 5 };
	struct digest digest;
	char back[16];

	assert_int_equal(payload_make(NULL, STR_LITERAL("a\0b\0c"), 100, &row), 0);
	payload_digest("abc", 3, &digest);
	assert_memory_equal(&row.digest, &digest, sizeof(digest));
	assert_int_equal(row.size_bytes, 3);
	assert_int_equal(row.server, 7);
	assert_int_equal(row.kind, PAYLOAD_PLAN);
	assert_int_equal(row.seen_wall_ns, 5);
	assert_int_equal(ZSTD_decompress(back, sizeof(back), row.content.bytes, row.content.len),
			 3);
	assert_memory_equal(back, "abc", 3);
	free((void *)row.content.bytes);
}

static void of_a_payload_over_the_cap_the_size_stays(void **state)
{
	(void)state;
	static char large[1001];
	struct payload_row row = { .server = 1, .kind = PAYLOAD_TEXT };

	memset(large, 'x', sizeof(large));
	assert_int_equal(payload_make(NULL, (struct str){ large, 1001 }, 1000, &row), 0);
	assert_int_equal(row.size_bytes, 1001);
	assert_int_equal(row.content.len, 0);
	assert_null(row.content.bytes);
	assert_int_equal(payload_make(NULL, (struct str){ large, 1000 }, 1000, &row), 0);
	assert_in_range(row.content.len, 1, 100);
	free((void *)row.content.bytes);
	row.content = (struct blob){ .bytes = NULL };
	assert_int_equal(payload_make(NULL, STR_EMPTY, 1000, &row), 0);
	assert_int_equal(row.size_bytes, 0);
	free((void *)row.content.bytes);
}

static void a_press_that_lasts_gives_the_same_bytes(void **state)
{
	static char bytes[5000];
	struct payload_press *press = NULL;

	(void)state;
	payload_press_close(NULL);
	assert_int_equal(payload_press_open(&press), 0);
	for (uint32_t len = 0; len <= sizeof(bytes); len += 250) {
		struct payload_row one = { .server = 1 }, other = { .server = 1 };

		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (char)('a' + i * i * (len + 7) % 23);
		assert_int_equal(payload_make(press, (struct str){ bytes, len }, 9000, &one), 0);
		assert_int_equal(payload_make(NULL, (struct str){ bytes, len }, 9000, &other), 0);
		assert_int_equal(one.content.len, other.content.len);
		assert_memory_equal(one.content.bytes, other.content.bytes, one.content.len);
		assert_memory_equal(&one.digest, &other.digest, sizeof(one.digest));
		free((void *)one.content.bytes);
		free((void *)other.content.bytes);
	}
	payload_press_close(press);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_digest_is_sha256),
		cmocka_unit_test(nuls_are_stripped_before_anything),
		cmocka_unit_test(of_a_payload_over_the_cap_the_size_stays),
		cmocka_unit_test(a_press_that_lasts_gives_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
