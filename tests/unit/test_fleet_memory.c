/* test_fleet_memory.c - the n-th allocation of a batch fails: it says so, and is as it was. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/fleet_batch.h"
#include "core/rng.h"
#include "fleet_rows.h"

void *__real_malloc(size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_reallocarray(void *at, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_reallocarray(void *at, size_t count, size_t size);

static uint64_t fails_at; /* 0: none; else so many more */

static bool fails(void)
{
	return fails_at > 0 && --fails_at == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return fails() ? NULL : __real_realloc(at, size);
}

void *__wrap_reallocarray(void *at, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(at, count, size);
}

#define ROWS 60

static struct made_row made[ROWS];

static const struct table *table_of(size_t i)
{
	return fleet_tables[i % fleet_table_count].table;
}

static void an_add_that_finds_no_memory_leaves_the_batch_as_it_was(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	uint64_t refused = 0;
	struct rng r;

	(void)state;
	rng_seed(&r, 5);
	for (size_t i = 0; i < ROWS; i++)
		made_row_fill(&made[i], table_of(i), 1, &r);
	for (size_t i = 0; i < ROWS; i++)
		for (uint64_t n = 3; n-- > 0;) {
			struct fleet_batch before = b;
			int rc;

			fails_at = n; /* the second, the first, none */
			rc = fleet_batch_add(&b, table_of(i), BLOCK_PUT, made[i].row);
			fails_at = 0;
			if (rc == 0)
				break;
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(b.block_count, before.block_count);
			assert_int_equal(b.bytes, before.bytes);
			refused++;
		}
	assert_true(refused > fleet_table_count);
	assert_int_equal(b.block_count, fleet_table_count);
	fleet_batch_free(&b);
}

static void packing_and_unpacking_without_memory_gives_nothing(void **state)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	int rc = -ENOMEM;
	void *bytes = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(fleet_batch_add(&b, table_of(i), BLOCK_PUT, made[i].row), 0);
	for (uint64_t n = 1; rc != 0; n++) {
		fails_at = n;
		rc = fleet_batch_pack(&b, &bytes, &len);
		fails_at = 0;
		assert_true(rc == 0 || (rc == -ENOMEM && bytes == NULL));
	}
	rc = -ENOMEM;
	for (uint64_t n = 1; rc != 0; n++) {
		struct fleet_batch back = FLEET_BATCH_EMPTY;
		struct err err = ERR_EMPTY;

		fails_at = n;
		rc = fleet_batch_unpack(bytes, len, &back, &err);
		fails_at = 0;
		assert_true(rc == 0 || (rc == -ENOMEM && back.blocks == NULL));
		fleet_batch_free(&back);
		assert_true(n < 10000);
	}
	free(bytes);
	fleet_batch_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_add_that_finds_no_memory_leaves_the_batch_as_it_was),
		cmocka_unit_test(packing_and_unpacking_without_memory_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
