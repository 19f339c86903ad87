/* fleet_store_suite.c - the suite's parts in order, and what they share. */
#include "fleet_store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet_store_stage.h"

const struct fleet_suite *suite;

static char stage_url[1024];

void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

void *stage_open(enum fleet_access access)
{
	struct err err = ERR_EMPTY;
	void *db = NULL;

	ok(suite->ops->open(stage_url, access, &db, &err), &err);
	assert_non_null(db);
	return db;
}

void *stage_fresh(void)
{
	snprintf(stage_url, sizeof(stage_url), "%s", suite->fresh());
	return stage_open(FLEET_WRITE);
}

void batch_add(struct fleet_batch *b, const struct table *t, const void *row)
{
	assert_int_equal(fleet_batch_add(b, t, BLOCK_PUT, row), 0);
}

struct fleet_batch batch_of(uint32_t server, uint64_t cycle, const struct table *t, const void *row)
{
	struct fleet_batch b = { .server = server, .cycle = cycle };

	batch_add(&b, t, row);
	return b;
}

void batch_add_run(struct fleet_batch *b, int64_t at_ns)
{
	struct run_row run = { .server = b->server,
			       .reading = READING_STATEMENTS,
			       .at_wall_ns = at_ns,
			       .cycle = b->cycle,
			       .capture = CAPTURE_GATED };

	batch_add(b, &table_run, &run);
}

bool put_one(void *db, struct fleet_batch *b)
{
	const struct fleet_batch *batches[] = { b };
	struct err err = ERR_EMPTY;
	bool was_there = false;

	ok(suite->ops->put(db, batches, 1, &was_there, &err), &err);
	fleet_batch_free(b);
	return was_there;
}

static int keep_row(void *owner, const void *row)
{
	struct found *f = owner;

	if (f->count == f->room) {
		f->room = f->room == 0 ? 64 : f->room * 2;
		f->rows = realloc(f->rows, f->room * f->table->row_bytes);
		assert_non_null(f->rows);
	}
	memcpy(f->rows + f->count++ * f->table->row_bytes, row, f->table->row_bytes);
	return 0;
}

struct found found_rows(void *db, const struct table *t, const struct fleet_range *range)
{
	struct found f = { .table = t };
	struct err err = ERR_EMPTY;

	ok(suite->ops->scan(db, t, range, keep_row, &f, &err), &err);
	return f;
}

void found_free(struct found *f)
{
	free(f->rows);
	*f = (struct found){ .table = f->table };
}

size_t count_rows(void *db, const struct table *t)
{
	struct found f = found_rows(db, t, &FLEET_RANGE_ALL);
	size_t count = f.count;

	found_free(&f);
	return count;
}

struct fleet_tidied tidy_all(void *db, int64_t now_ns, const struct fleet_limits *limits)
{
	struct fleet_tidied all = { .is_more = true };
	struct err err = ERR_EMPTY;

	for (int i = 0; i < 1000 && all.is_more; i++) {
		struct fleet_tidied one = { 0 };

		ok(suite->ops->tidy(db, (struct wall){ now_ns }, limits, 1000000000, &one, &err),
		   &err);
		all.summed_rows += one.summed_rows;
		all.dropped_rows += one.dropped_rows;
		all.dropped_payloads += one.dropped_payloads;
		all.freed_bytes += one.freed_bytes;
		all.is_more = one.is_more;
	}
	assert_false(all.is_more);
	return all;
}

int fleet_store_suite(const struct fleet_suite *of)
{
	suite = of;
	return suite_rows() + suite_fleet() + suite_sums() + suite_age();
}
