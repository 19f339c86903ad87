/* memory.c - malloc and its kin, with a counter in front. What is under them is the C library's, or the sanitizer's, so that
 * its leaks are found too. */
#include "fault/memory.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define UNDER(name) __interceptor_##name
#else
#define UNDER(name) __libc_##name
#endif

/* NOLINTBEGIN(bugprone-reserved-identifier): names of the C library */
void *UNDER(malloc)(size_t size);
void *UNDER(calloc)(size_t count, size_t size);
void *UNDER(realloc)(void *old, size_t size);
void UNDER(free)(void *block);
/* NOLINTEND(bugprone-reserved-identifier) */

static struct {
	uint64_t fails_at, seen, fired;
	int64_t held;
	bool is_sticky;
} memory;

void memory_set(uint64_t n, bool is_sticky)
{
	memory.fails_at = n;
	memory.is_sticky = is_sticky;
	memory.seen = memory.fired = 0;
}

uint64_t memory_seen(void)
{
	return memory.seen;
}

uint64_t memory_fired(void)
{
	return memory.fired;
}

/* The sanitizer's own strdup and the like do not come by here; it looks for leaks itself. */
int64_t memory_held(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return 0;
#else
	return memory.held;
#endif
}

/* Is it this allocation's turn to fail? Then errno is set. */
static bool fails(void)
{
	memory.seen++;
	if (memory.fails_at == 0 || memory.seen < memory.fails_at ||
	    (memory.seen > memory.fails_at && !memory.is_sticky))
		return false;
	memory.fired++;
	errno = ENOMEM;
	return true;
}

#define CALL(name) __asm__(name) __attribute__((visibility("default"), used))

void *memory_malloc(size_t size) CALL("malloc");
void *memory_calloc(size_t count, size_t size) CALL("calloc");
void *memory_realloc(void *old, size_t size) CALL("realloc");
void *memory_reallocarray(void *old, size_t count, size_t size) CALL("reallocarray");
void memory_free(void *block) CALL("free");

void *memory_malloc(size_t size)
{
	void *block = fails() ? NULL : UNDER(malloc)(size);

	memory.held += block != NULL;
	return block;
}

void *memory_calloc(size_t count, size_t size)
{
	void *block = fails() ? NULL : UNDER(calloc)(count, size);

	memory.held += block != NULL;
	return block;
}

void *memory_realloc(void *old, size_t size)
{
	void *block = fails() ? NULL : UNDER(realloc)(old, size);

	memory.held += block != NULL && old == NULL;
	memory.held -= block == NULL && old != NULL && size == 0;
	return block;
}

void *memory_reallocarray(void *old, size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return memory_realloc(old, count * size);
}

void memory_free(void *block)
{
	memory.held -= block != NULL;
	UNDER(free)(block);
}
