/* test_fleet_sampler.c - looks at waits and locks, by made rows: sums over the looks of a visit, chains, and hostile rows. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/pg_look.h"
#include "fleet/script.h"

struct look {
	const char *waits[4][7];
	size_t wait_count;
	const char *blocks[8][9];
	size_t block_count;
	uint32_t columns_less;
	const char *state; /* of the activity's question; NULL: it goes well */
};

static void give(struct script *s, const char *const *texts, uint32_t count, uint32_t less)
{
	struct cell cells[16];
	const char *names[16] = { "a" };

	count -= less;
	for (uint32_t i = 0; i < count; i++)
		cells[i] = (struct cell){ texts[i],
					  texts[i] != NULL ? (uint32_t)strlen(texts[i]) : 0 };
	if (s->columns(s->self, names, count) == 0)
		s->row(s->self, cells, count);
}

/* One look. Returns what the script returned. */
static int look(struct script *s, const struct look *l)
{
	static const char *const session[] = { "", "", "", "", "t", "t" };
	struct err err = ERR_EMPTY;
	struct ask ask;
	int code;

	while ((code = s->next(s->self, &ask, &err)) > 0) {
		struct answer a = { .is_ok = true, .elapsed_ns = 1000, .rows = 1 };

		if (strstr(ask.sql, "set_config") != NULL)
			give(s, session, 6, 0);
		else if (strstr(ask.sql, "pg_blocking_pids") != NULL)
			for (size_t i = 0; i < l->block_count; i++)
				give(s, l->blocks[i], 9, 0);
		else if (l->state != NULL)
			a.is_ok = snprintf(a.sqlstate, sizeof(a.sqlstate), "%s", l->state) < 0;
		else
			for (size_t i = 0; i < l->wait_count; i++)
				give(s, l->waits[i], 7, l->columns_less);
		code = s->ended(s->self, &a, &err);
		if (code != 0)
			return code;
	}
	return code;
}

struct desk {
	struct server *server;
	struct script script;
	struct fleet_batch b;
};

static int open_desk(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));
	struct visit_settings settings = { .at = { 1000 },
					   .cycle = 4,
					   .readings = (1U << READING_COUNT) - 1,
					   .limits = VISIT_LIMITS_DEFAULT };
	struct err err = ERR_EMPTY;

	assert_non_null(d);
	assert_int_equal(server_open(3, &d->server), 0);
	assert_int_equal(pg_sampler_open(d->server, &settings, &d->script, &err), 0);
	*state = d;
	return 0;
}

static int close_desk(void **state)
{
	struct desk *d = *state;

	pg_sampler_close(&d->script);
	fleet_batch_free(&d->b);
	server_close(d->server);
	free(d);
	return 0;
}

static void end(struct desk *d)
{
	struct err err = ERR_EMPTY;

	assert_int_equal(pg_sampler_end(&d->script, &d->b, &err), 0);
}

static const void *row_at(const struct desk *d, const struct table *t, size_t i)
{
	return fleet_block_row(fleet_batch_block(&d->b, t, BLOCK_PUT), i);
}

static size_t count_of(const struct desk *d, const struct table *t)
{
	const struct fleet_block *block = fleet_batch_block(&d->b, t, BLOCK_PUT);

	return block != NULL ? block->count : 0;
}

static void waits_of_all_looks_of_a_visit_are_added_up(void **state)
{
	static const struct look one = {
		.waits = { { "5", "11", "client backend", "active", "Lock", "relation", "3" },
			   { "5", "12", "client backend", "active", NULL, NULL, "1" } },
		.wait_count = 2
	};
	struct desk *d = *state;
	const struct wait_row *row;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(look(&d->script, &one), 0);
		pg_sampler_again(&d->script);
	}
	end(d);
	assert_int_equal(count_of(d, &table_wait), 2);
	row = row_at(d, &table_wait, 0);
	assert_int_equal(row->seen, 9);
	assert_int_equal(row->looks, 3);
	assert_int_equal(row->queryid, 11);
	row = row_at(d, &table_wait, 1);
	assert_int_equal(row->seen, 3);
	assert_int_equal(row->wait_type.len, 0);
	assert_int_equal(count_of(d, &table_run), 2);
}

static void a_chain_counts_all_that_wait_behind_each(void **state)
{
	/* 1 holds; 2 waits for 1, 3 and 4 for 2, 5 for 4 and for 3. */
	static const struct look one = {
		.blocks = { { "2", "1", "20", "10", "relation", "RowLock", "public.t",
			      "idle in transaction", "5000000" },
			    { "3", "2", "0", "20", "tuple", "x", NULL, "active", "4" },
			    { "4", "2", "0", "20", "tuple", "x", NULL, "active", "-4" },
			    { "5", "4", "0", "0", "tuple", "x", NULL, NULL, NULL },
			    { "5", "3", "0", "0", "tuple", "x", NULL, NULL, "NaN" } },
		.block_count = 5
	};
	static const uint32_t behind[] = { 3, 1, 1, 0, 0 };
	struct desk *d = *state;
	const struct blocking_row *row;

	assert_int_equal(look(&d->script, &one), 0);
	end(d);
	assert_int_equal(count_of(d, &table_blocking), 5);
	for (size_t i = 0; i < 5; i++) {
		row = row_at(d, &table_blocking, i);
		assert_int_equal(row->blocked_behind, behind[i]);
		assert_int_equal(row->waited_ns, i == 0 ? UINT64_C(5000000000) : i == 1 ? 4000 : 0);
	}
	row = row_at(d, &table_blocking, 0);
	assert_memory_equal(row->relation.bytes, "public.t", 8);
	assert_memory_equal(row->blocker_state.bytes, "idle in transaction", 19);
}

static void a_ring_of_waits_ends(void **state)
{
	static const struct look one = {
		.blocks = { { "1", "2", "0", "0", "x", "x", NULL, NULL, NULL },
			    { "2", "3", "0", "0", "x", "x", NULL, NULL, NULL },
			    { "3", "1", "0", "0", "x", "x", NULL, NULL, NULL },
			    { "4", "4", "0", "0", "x", "x", NULL, NULL, NULL } },
		.block_count = 4
	};
	struct desk *d = *state;

	assert_int_equal(look(&d->script, &one), 0);
	end(d);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(((const struct blocking_row *)row_at(d, &table_blocking, i))
					 ->blocked_behind,
				 i < 3 ? 2 : 0);
}

static void rows_that_cannot_be_read_are_left_out_and_the_run_says_what_failed(void **state)
{
	static const struct look bad = { .waits = { { "x", "1", "a", "b", NULL, NULL, "1" },
						    { "1", "99999999999999999999", "a", "b", NULL,
						      NULL, "1" },
						    { "1", "1", "a", "b", NULL, NULL, "-1" } },
					 .wait_count = 3 };
	static const struct look other_shape = { .waits = { { "1", "1", "a", "b", NULL, NULL,
							      "1" } },
						 .wait_count = 1,
						 .columns_less = 2 };
	static const struct look refused = { .state = "42501" };
	static const struct look lost = { .state = "57P01" };
	struct desk *d = *state;
	const struct run_row *run;

	assert_int_equal(look(&d->script, &bad), 0);
	pg_sampler_again(&d->script);
	assert_int_equal(look(&d->script, &refused), 0);
	pg_sampler_again(&d->script);
	assert_int_equal(look(&d->script, &other_shape), -ECONNRESET);
	end(d);
	assert_int_equal(count_of(d, &table_wait), 0);
	run = row_at(d, &table_run, 0);
	assert_int_equal(run->outcome, RUN_PERMISSIONS);
	pg_sampler_again(&d->script);
	assert_int_equal(look(&d->script, &lost), -ECONNRESET);
}

static void what_is_hidden_is_said_to_be(void **state)
{
	static const struct look one = { .waits = { { "5", "0", NULL, NULL, NULL, NULL, "3" } },
					 .wait_count = 1 };
	struct desk *d = *state;
	const struct wait_row *row;

	assert_int_equal(look(&d->script, &one), 0);
	end(d);
	row = row_at(d, &table_wait, 0);
	assert_memory_equal(row->state.bytes, "[no privilege]", row->state.len);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)
	const struct CMUnitTest tests[] = {
		TEST(waits_of_all_looks_of_a_visit_are_added_up),
		TEST(a_chain_counts_all_that_wait_behind_each),
		TEST(a_ring_of_waits_ends),
		TEST(rows_that_cannot_be_read_are_left_out_and_the_run_says_what_failed),
		TEST(what_is_hidden_is_said_to_be),
	};

	return cmocka_run_group_tests_name("fleet_sampler", tests, NULL, NULL);
}
