/* test_out_of_memory.c - the report's way through core, with the n-th allocation failing, n = 1 .. all: no crash, no
 * leak, and a failure is said. Linked with --wrap, so that only our own calls fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_recording.h"
#include "core/findings.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/verdict.h"

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);

/* Allocations still allowed, and blocks that are out. Tests have one thread. */
static long left = -1, blocks;

static int may_allocate(void)
{
	if (left == 0)
		return 0;
	if (left > 0)
		left--;
	return 1;
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *block = may_allocate() ? __real_calloc(count, size) : NULL;

	blocks += block != NULL;
	return block;
}

void *__wrap_realloc(void *old, size_t size)
{
	void *block = may_allocate() ? __real_realloc(old, size) : NULL;

	blocks += block != NULL && old == NULL;
	return block;
}

void __wrap_free(void *old)
{
	blocks -= old != NULL;
	__real_free(old);
}

/* The whole way; 0, or what failed. */
static int go(const struct build *b)
{
	SCOPED(analysis_free) struct analysis a = ANALYSIS_EMPTY;
	SCOPED(findings_free) struct findings f = { .count = 0 };
	SCOPED(text_free) struct text t = TEXT_EMPTY;
	struct err err = ERR_EMPTY;
	int code = analysis_open(&b->r, &a, &err);

	if (code == 0)
		code = findings_open(&b->r, &a, &f, &err);
	for (size_t i = 0; code == 0 && i < f.count; i++)
		assert_false(f.rows[i].title.has_failed || f.rows[i].evidence.has_failed ||
			     f.rows[i].look_next.has_failed);
	if (code == 0) {
		verdict_put(&t, &b->r, &a);
		text_make_ascii(&t);
		code = t.has_failed ? -ENOMEM : 0;
	} else {
		assert_non_null(strstr(err.msg, "out of memory"));
	}
	return code;
}

static void every_allocation_may_fail(void **state)
{
	SCOPED(build_free) struct build b;
	long before, failures = 0;
	int code;

	(void)state;
	build_begin(&b);
	build_context(&b, "job/1/1 > main > [libfoo.so+0x10]+libfoo.so", 60 * NS_PER_S, 60);
	build_context(&b, "job/1/1", 1 * NS_PER_S, 1);
	build_context(&b, "- > [broken] > f", 10 * NS_PER_S, 10);
	b.r.label.is_finished = false;
	b.r.label.save_pauses = 3;
	before = blocks;
	do {
		left = failures;
		code = go(&b);
		left = -1;
		assert_true(code == 0 || code == -ENOMEM);
		assert_int_equal(blocks, before);
		failures++;
	} while (code != 0 && failures < 1000);
	assert_int_equal(code, 0);
	assert_true(failures > 20);
	print_message("%ld allocations, each failed once\n", failures - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
