/* test_frame.c - the identity of a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/frame.h"
#include "core/scoped.h"

static const struct frame plain = {
	.kind = FRAME_NATIVE,
	.pid = 1,
	.tid = 2,
	.line = 3,
	.name = { "work_on_it", 10 },
	.module = { "libjob.so.1", 11 },
	.file = { "job.c", 5 },
};

static void everything_a_frame_says_is_in_its_key(void **state)
{
	struct frame others[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		others[i] = plain;
	others[0].kind = FRAME_KERNEL;
	others[1].pid = 9;
	others[2].tid = 9;
	others[3].line = 9;
	others[4].name = STR_LITERAL("work_on_iT");
	others[5].module = STR_LITERAL("libjob.so.2");
	others[6].file = STR_EMPTY;
	for (size_t i = 0; i < 7; i++)
		assert_true(frame_key(&others[i], 0) != frame_key(&plain, 0));
	assert_true(frame_key(&plain, 1) != frame_key(&plain, 0)); /* a thread's start time */
}

static void the_same_text_elsewhere_is_the_same_frame(void **state)
{
	char name[] = "work_on_it";
	struct frame same = plain;

	(void)state;
	same.name.bytes = name;
	same.key = 77; /* no part of itself */
	assert_true(frame_key(&same, 0) == frame_key(&plain, 0));
}

static void texts_do_not_run_into_each_other(void **state)
{
	struct frame a = { .name = STR_LITERAL("ab"), .module = STR_LITERAL("c") };
	struct frame b = { .name = STR_LITERAL("a"), .module = STR_LITERAL("bc") };
	struct frame c = { .name = STR_LITERAL("abc") };

	(void)state;
	assert_true(frame_key(&a, 0) != frame_key(&b, 0));
	assert_true(frame_key(&a, 0) != frame_key(&c, 0));
	assert_true(frame_key(&b, 0) != frame_key(&c, 0));
}

static void bytes_behind_a_nul_count(void **state)
{
	struct frame a = { .name = STR_LITERAL("class@anonymous\0one") };
	struct frame b = { .name = STR_LITERAL("class@anonymous\0two") };
	struct frame c = { .name = STR_LITERAL("class@anonymous") };
	struct frame d = { .name = STR_LITERAL("class@anonymous\0") };

	(void)state;
	assert_true(frame_key(&a, 0) != frame_key(&b, 0));
	assert_true(frame_key(&a, 0) != frame_key(&c, 0));
	assert_true(frame_key(&c, 0) != frame_key(&d, 0));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void no_key_is_0_and_similar_frames_do_not_collide(void **state)
{
	static uint64_t keys[50000];
	struct frame f = plain;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
		f.line = i % 250;
		f.tid = i / 250;
		keys[i] = frame_key(&f, 0);
	}
	qsort(keys, ARRAY_LEN(keys), sizeof(keys[0]), by_value);
	assert_true(keys[0] != 0);
	for (size_t i = 1; i < ARRAY_LEN(keys); i++)
		assert_true(keys[i] != keys[i - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_a_frame_says_is_in_its_key),
		cmocka_unit_test(the_same_text_elsewhere_is_the_same_frame),
		cmocka_unit_test(texts_do_not_run_into_each_other),
		cmocka_unit_test(bytes_behind_a_nul_count),
		cmocka_unit_test(no_key_is_0_and_similar_frames_do_not_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
