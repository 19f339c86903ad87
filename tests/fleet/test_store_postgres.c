/* test_store_postgres.c - the PostgreSQL engine against real clusters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "fleet/stage.h"
#include "fleet/store_postgres.h"
#include "fleet_rows.h"

static struct stage stage = STAGE_EMPTY;

static int start(void **state)
{
	(void)state;
	stage_open(&stage, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static void what_is_put_comes_back(void **state)
{
	struct pg_place place;
	struct fleet_batch batch = FLEET_BATCH_EMPTY;
	const struct fleet_batch *batches[] = { &batch };
	struct err err = ERR_EMPTY;
	bool was_there = true;
	uint64_t size = 0;

	(void)state;
	pg_place_open(&place, &stage, "comes_back");
	store_batch(&batch, 7, 1000, NOON_NS, 40);
	if (place.ops->put(place.db, batches, 1, &was_there, &err) != 0)
		fail_msg("%s", err.msg);
	assert_false(was_there);
	if (place.ops->put(place.db, batches, 1, &was_there, &err) != 0)
		fail_msg("%s", err.msg);
	assert_true(was_there);
	assert_int_equal(store_count(&place, &table_statement, &FLEET_RANGE_ALL), 40);
	assert_int_equal(store_count(&place, &table_run, &FLEET_RANGE_ALL), 2);
	assert_int_equal(store_count(&place, &table_baseline, &FLEET_RANGE_ALL), 40);
	assert_int_equal(place.ops->size(place.db, &size, &err), 0);
	assert_true(size > 100000);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_comes_back),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
