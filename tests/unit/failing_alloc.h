/* failing_alloc.h - a program of tests in which the n-th allocation of ours fails: `fails_at`, counted by `allocations` (-1: none does).
 * To be linked with --wrap, included once. few_blocks.h is for those that want to know what is still out. */
#ifndef TARE_TESTS_FAILING_ALLOC_H
#define TARE_TESTS_FAILING_ALLOC_H

#include <stddef.h>

static long allocations, fails_at = -1;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap asks for these names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return allocations++ == fails_at ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocations++ == fails_at ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return allocations++ == fails_at ? NULL : __real_reallocarray(old, count, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
