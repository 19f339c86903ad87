/* few_blocks.h - a program of tests in which the n-th allocation of ours fails: `left` of them are still allowed (-1: all), and
 * `blocks` are out. To be linked with --wrap (wrapped_all_dep), included once. */
#ifndef TARE_TESTS_FEW_BLOCKS_H
#define TARE_TESTS_FEW_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap asks for these names */
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void __real_free(void *old);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *old);

/* Allocations still allowed, and blocks that are out. */
static long left = -1, blocks;

static bool may_allocate(void)
{
	if (left == 0)
		return false;
	if (left > 0)
		left--;
	return true;
}

static void *count(void *block, bool is_new)
{
	blocks += block != NULL && is_new;
	return block;
}

void *__wrap_calloc(size_t count_of, size_t size)
{
	return count(may_allocate() ? __real_calloc(count_of, size) : NULL, true);
}

void *__wrap_realloc(void *old, size_t size)
{
	return count(may_allocate() ? __real_realloc(old, size) : NULL, old == NULL);
}

void *__wrap_reallocarray(void *old, size_t count_of, size_t size)
{
	return count(may_allocate() ? __real_reallocarray(old, count_of, size) : NULL, old == NULL);
}

void __wrap_free(void *old)
{
	blocks -= old != NULL;
	__real_free(old);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
