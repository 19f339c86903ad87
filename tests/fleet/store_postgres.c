/* store_postgres.c - places and visits for tests of the PostgreSQL engine. */
#include "fleet/store_postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"

void pg_place_url(const struct stage *stage, const char *role, const char *database, char *out,
		  size_t size)
{
	snprintf(out, size, "postgresql://%s@/%s?host=%s", role != NULL ? role : "postgres",
		 database, stage->sockets);
}

void pg_place_open(struct pg_place *out, const struct stage *stage, const char *name)
{
	struct err err = ERR_EMPTY;
	char sql[128];

	*out = (struct pg_place){ .ops = &fleet_store_postgres };
	snprintf(out->database, sizeof(out->database), "%s", name);
	snprintf(sql, sizeof(sql), "CREATE DATABASE \"%s\"", name);
	stage_run(stage, NULL, sql);
	pg_place_url(stage, NULL, name, out->url, sizeof(out->url));
	if (out->ops->open(out->url, FLEET_WRITE, &out->db, &err) != 0)
		fail_msg("%s", err.msg);
}

void pg_place_close(struct pg_place *p)
{
	p->ops->close(p->db);
	p->db = NULL;
}

static void add(struct fleet_batch *b, const struct table *t, const void *row)
{
	assert_int_equal(fleet_batch_add(b, t, BLOCK_PUT, row), 0);
}

static void add_statement(struct fleet_batch *b, uint32_t server, int64_t at_wall_ns, uint32_t n)
{
	const struct statement_key key = { 5, 10, (int64_t)(n * 0x9e3779b97f4a7c15u), true };
	struct statement_row row = { .server = server,
				     .at_wall_ns = at_wall_ns,
				     .key = key,
				     .span_ns = 60000000000,
				     .longest_ns = 1000000 + n };
	uint8_t packed[16] = { 0 };
	struct baseline_row baseline = { .server = server,
					 .reading = READING_STATEMENTS,
					 .key = { packed, sizeof(packed) },
					 .counters = { "\1\2\3\4\5\6\7\10", 8 } };
	struct query_row query = { .server = server,
				   .key = key,
				   .database = STR_LITERAL("shop"),
				   .user = STR_LITERAL("shopper"),
				   .command = STR_LITERAL("select"),
				   .text_bytes = 100 + n,
				   .first_wall_ns = at_wall_ns,
				   .seen_wall_ns = at_wall_ns };

	for (unsigned i = 0; i < STATEMENT_COUNTERS; i++)
		row.counters[i] = i == STATEMENT_JIT_NS ? NOT_MEASURED : COUNTER(n * 10 + i + 1);
	memcpy(packed, &key.queryid, sizeof(key.queryid));
	add(b, &table_statement, &row);
	add(b, &table_baseline, &baseline);
	add(b, &table_query, &query);
}

static void add_visit(struct fleet_batch *b, int64_t at_wall_ns)
{
	struct run_row run = { .server = b->server,
			       .reading = READING_STATEMENTS,
			       .at_wall_ns = at_wall_ns,
			       .cycle = b->cycle,
			       .server_ns = 1000000,
			       .rows = 40 };
	struct life_row life = { .server = b->server,
				 .at_wall_ns = at_wall_ns,
				 .at_server_ns = at_wall_ns,
				 .system_id = 7123456789012345678u,
				 .is_complete = true };
	struct wait_row waiting = { .server = b->server,
				    .at_wall_ns = at_wall_ns,
				    .dbid = 5,
				    .backend = STR_LITERAL("client backend"),
				    .state = STR_LITERAL("active"),
				    .seen = 3,
				    .looks = 5 };

	add(b, &table_run, &run);
	run.reading = READING_VISIT;
	add(b, &table_run, &run);
	add(b, &table_life, &life);
	add(b, &table_wait, &waiting);
}

void store_batch(struct fleet_batch *out, uint32_t server, uint64_t cycle, int64_t at_wall_ns,
		 uint32_t statements)
{
	struct payload_row text = { .server = server,
				    .digest = { { 1, 2, 3 } },
				    .size_bytes = 5,
				    .content = { "\0\1\2\3\4", 5 },
				    .seen_wall_ns = at_wall_ns };

	*out = FLEET_BATCH_EMPTY;
	out->server = server;
	out->cycle = cycle;
	add_visit(out, at_wall_ns);
	for (uint32_t n = 0; n < statements; n++)
		add_statement(out, server, at_wall_ns, n);
	add(out, &table_payload, &text);
}

bool store_put(struct pg_place *p, const struct fleet_batch *batch)
{
	struct err err = ERR_EMPTY;
	bool was_there = false;

	if (p->ops->put(p->db, &batch, 1, &was_there, &err) != 0)
		fail_msg("%s", err.msg);
	return was_there;
}

static int count_row(void *owner, const void *row)
{
	(void)row;
	++*(uint64_t *)owner;
	return 0;
}

uint64_t store_count(struct pg_place *p, const struct table *t)
{
	struct err err = ERR_EMPTY;
	uint64_t count = 0;

	if (p->ops->scan(p->db, t, &FLEET_RANGE_ALL, count_row, &count, &err) != 0)
		fail_msg("%s", err.msg);
	return count;
}

struct summing {
	unsigned counter;
	uint64_t sum;
};

static int sum_row(void *owner, const void *row)
{
	const struct statement_row *statement = row;
	struct summing *s = owner;

	if (IS_MEASURED(statement->counters[s->counter]))
		s->sum += statement->counters[s->counter].value;
	return 0;
}

uint64_t store_sum(struct pg_place *p, const struct table *t, unsigned counter)
{
	struct summing s = { counter, 0 };
	struct err err = ERR_EMPTY;

	if (p->ops->scan(p->db, t, &FLEET_RANGE_ALL, sum_row, &s, &err) != 0)
		fail_msg("%s", err.msg);
	return s.sum;
}
