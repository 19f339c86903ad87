/* visits.c - drives the body of a visit over a plain connection. */
#include "fleet/visits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <zstd.h>

void visits_open(struct visits *v, const struct stage *stage, const char *user,
		 const char *database)
{
	*v = (struct visits){ .drive = { .stage = stage, .user = user, .database = database },
			      .limits = VISIT_LIMITS_DEFAULT,
			      .readings = (1U << READING_COUNT) - 1,
			      .is_new = true };
	assert_int_equal(server_open(7, &v->server), 0);
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int visits_try(struct visits *v, enum cadence_answer capture, struct fleet_batch *out,
	       struct err *err)
{
	struct visit_settings settings = { .at = { wall_ns() + v->later_ns },
					   .cycle = ++v->cycle,
					   .capture = capture,
					   .readings = v->readings,
					   .limits = v->limits };
	struct script body = { 0 };
	int code;

	*out = FLEET_BATCH_EMPTY;
	code = pg_body_open(v->server, &settings, v->is_new, out, &body, err);
	if (code == 0)
		code = drive_script(&v->drive, &body, err);
	if (code == 0)
		code = pg_body_commit(&body, err);
	v->has_captured = code == 0 && pg_body_has_captured(&body);
	v->is_new = code != 0;
	pg_body_close(&body);
	if (code != 0)
		drive_close(&v->drive);
	return code;
}

void visits_go(struct visits *v, enum cadence_answer capture, struct fleet_batch *out)
{
	struct err err = ERR_EMPTY;

	if (visits_try(v, capture, out, &err) != 0)
		fail_msg("the visit failed: %s", err.msg);
}

void visits_close(struct visits *v)
{
	drive_close(&v->drive);
	server_close(v->server);
	v->server = NULL;
}

size_t count_of(const struct fleet_batch *b, const struct table *t, enum block_verb verb)
{
	const struct fleet_block *block = fleet_batch_block(b, t, verb);

	return block != NULL ? block->count : 0;
}

const void *row_of(const struct fleet_batch *b, const struct table *t, size_t i)
{
	return fleet_block_row(fleet_batch_block(b, t, BLOCK_PUT), i);
}

const struct run_row *run_of(const struct fleet_batch *b, enum reading_id reading)
{
	for (size_t i = 0; i < count_of(b, &table_run, BLOCK_PUT); i++) {
		const struct run_row *row = row_of(b, &table_run, i);

		if (row->reading == (uint32_t)reading)
			return row;
	}
	return NULL;
}

uint64_t sum_of(const struct fleet_batch *b, enum statement_counter counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count_of(b, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_of(b, &table_statement, i);

		if (IS_MEASURED(row->counters[counter]))
			sum += row->counters[counter].value;
	}
	return sum;
}

int64_t queryid_of(const struct stage *s, const char *database, const char *beginning)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT queryid FROM pg_stat_statements WHERE starts_with(query, '%s') "
		 "AND right(query, 10) <> '/* tare */' LIMIT 1",
		 beginning);
	return stage_number(s, database, sql);
}

const struct statement_row *statement_of(const struct fleet_batch *b, int64_t queryid)
{
	for (size_t i = 0; i < count_of(b, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_of(b, &table_statement, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

const struct query_row *query_of(const struct fleet_batch *b, int64_t queryid)
{
	for (size_t i = count_of(b, &table_query, BLOCK_PUT); i-- > 0;) {
		const struct query_row *row = row_of(b, &table_query, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

char *payload_of(const struct fleet_batch *b, const struct digest *digest)
{
	for (size_t i = 0; i < count_of(b, &table_payload, BLOCK_PUT); i++) {
		const struct payload_row *row = row_of(b, &table_payload, i);
		char *text;

		if (memcmp(&row->digest, digest, sizeof(*digest)) != 0)
			continue;
		text = calloc(1, row->size_bytes + 1);
		assert_non_null(text);
		assert_int_equal(ZSTD_decompress(text, row->size_bytes, row->content.bytes,
						 row->content.len),
				 row->size_bytes);
		return text;
	}
	return NULL;
}
