/* readings_desk.h - a made server, its memory and the collector's clock, for tests of the readings. Included by one file a program. */
#ifndef TARE_TESTS_READINGS_DESK_H
#define TARE_TESTS_READINGS_DESK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/units.h"
#include "fleet/pg_body.h"
#include "made_server.h"

#define MINUTE_US (INT64_C(60) * 1000000)

/* A server, its memory and the collector's clock. */
struct desk {
	struct made_server made;
	struct server *server;
	struct visit_settings settings;
	struct fleet_batch b;
	bool is_new;
};

static inline int open_desk(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	made_init(&d->made);
	assert_int_equal(server_open(3, &d->server), 0);
	d->settings = (struct visit_settings){ .at = { INT64_C(1700000000) * 1000000000 },
					       .cycle = 10,
					       .capture = CADENCE_GATED,
					       .readings = (1U << READING_COUNT) - 1,
					       .limits = VISIT_LIMITS_DEFAULT };
	d->is_new = true;
	*state = d;
	return 0;
}

static inline int close_desk(void **state)
{
	struct desk *d = *state;

	fleet_batch_free(&d->b);
	server_close(d->server);
	free(d);
	return 0;
}

/* A minute goes by, and the server is visited. */
static inline int visit(struct desk *d, bool is_abandoned)
{
	int code;

	fleet_batch_free(&d->b);
	d->made.now_us += MINUTE_US;
	d->settings.at.ns += MINUTE_US * 1000;
	code = made_visit(&d->made, d->server, &d->settings, d->is_new, is_abandoned, &d->b);
	d->is_new = code != 0;
	return code;
}

static inline void go(struct desk *d)
{
	assert_int_equal(visit(d, false), 0);
}

static inline size_t count_of(const struct desk *d, const struct table *t, enum block_verb verb)
{
	const struct fleet_block *block = fleet_batch_block(&d->b, t, verb);

	return block != NULL ? block->count : 0;
}

static inline const void *row_at(const struct desk *d, const struct table *t, size_t i)
{
	return fleet_block_row(fleet_batch_block(&d->b, t, BLOCK_PUT), i);
}

static inline const struct run_row *run_of(const struct desk *d, enum reading_id reading)
{
	for (size_t i = 0; i < count_of(d, &table_run, BLOCK_PUT); i++) {
		const struct run_row *row = row_at(d, &table_run, i);

		if (row->reading == (uint32_t)reading)
			return row;
	}
	fail_msg("there is no run of %s", reading_name(reading));
	return NULL;
}

static inline const struct statement_row *statement_of(const struct desk *d, int64_t queryid)
{
	for (size_t i = 0; i < count_of(d, &table_statement, BLOCK_PUT); i++) {
		const struct statement_row *row = row_at(d, &table_statement, i);

		if (row->key.queryid == queryid)
			return row;
	}
	return NULL;
}

static inline bool says(const struct run_row *run, const char *word)
{
	return memmem(run->reason.bytes, run->reason.len, word, strlen(word)) != NULL;
}

static inline void bump(struct desk *d, size_t i, uint64_t by)
{
	for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
		d->made.statements[i].counters[c] += by * (c + 1);
}

#define DESK_TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)

#endif
