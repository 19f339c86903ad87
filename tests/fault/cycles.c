/* cycles.c - a made-up collector's work. */
#include "fault/cycles.h"

#include <string.h>

#include "core/scoped.h"

#define HOUR_NS	   INT64_C(3600000000000)
#define DAY_NS	   (24 * HOUR_NS)
#define BASE_NS	   (INT64_C(20786) * DAY_NS)
#define CYCLE_NS   (37 * INT64_C(60000000000))
#define STATEMENTS 5

const struct fleet_limits cycles_limits = { (uint64_t)(2 * DAY_NS), (uint64_t)(5 * DAY_NS),
					    (uint64_t)(4000 * DAY_NS), (uint64_t)(4000 * DAY_NS),
					    UINT64_C(1) << 30 };

int64_t cycles_wall_ns(uint64_t cycle)
{
	return BASE_NS + (int64_t)cycle * CYCLE_NS;
}

static uint64_t calls_of(uint64_t cycle)
{
	return 1 + cycle * 7 % 13;
}

static int fill(struct fleet_batch *b, int64_t at_ns)
{
	struct run_row run = { .server = b->server, .cycle = b->cycle, .at_wall_ns = at_ns };
	int rc = 0;

	for (int64_t i = 0; i < STATEMENTS && rc == 0; i++) {
		struct statement_row row = { .server = b->server,
					     .at_wall_ns = at_ns,
					     .key = { 1, 2, i, true },
					     .span_ns = 1 };

		for (size_t c = 0; c < STATEMENT_COUNTERS; c++)
			row.counters[c] = NOT_MEASURED;
		row.counters[STATEMENT_CALLS] = COUNTER(calls_of(b->cycle));
		rc = fleet_batch_add(b, &table_statement, BLOCK_PUT, &row);
	}
	return rc != 0 ? rc : fleet_batch_add(b, &table_run, BLOCK_PUT, &run);
}

int cycles_batch(uint64_t cycle, struct fleet_batch *out, struct err *err)
{
	struct fleet_batch b = { .server = 1 + (uint32_t)(cycle % 3), .cycle = cycle };
	int64_t at_ns = cycles_wall_ns(cycle);
	int rc;

	if (cycle % 11 == 10 && cycle > 240)
		at_ns -= (int64_t)(cycle % 7) * DAY_NS;
	rc = fill(&b, at_ns);
	if (rc != 0) {
		fleet_batch_free(&b);
		return err_set(err, rc, "cannot make a batch");
	}
	*out = b;
	return 0;
}

int cycles_put(void *db, uint64_t cycle, struct err *err)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	const struct fleet_batch *all[] = { &b };
	bool was_there;
	int rc = cycles_batch(cycle, &b, err);

	if (rc == 0)
		rc = fleet_store_sqlite.put(db, all, 1, &was_there, err);
	fleet_batch_free(&b);
	return rc;
}

int cycles_spool(struct spool *s, uint64_t cycle, struct err *err)
{
	struct fleet_batch b = FLEET_BATCH_EMPTY;
	int rc = cycles_batch(cycle, &b, err);

	if (rc == 0)
		rc = spool_add(s, &b, err);
	fleet_batch_free(&b);
	return rc;
}

/* Up to three batches; *out_has false: there are no more. */
static int drain_some(void *db, struct spool *s, bool *out_has, struct err *err)
{
	struct fleet_batch batches[3];
	const struct fleet_batch *all[3];
	bool was_there[3];
	size_t count = 0;
	int rc = 0;

	*out_has = true;
	while (rc == 0 && count < ARRAY_LEN(batches) && *out_has) {
		rc = spool_next(s, &batches[count], out_has, err);
		if (rc == 0 && *out_has) {
			all[count] = &batches[count];
			count++;
		}
	}
	if (rc == 0 && count > 0)
		rc = fleet_store_sqlite.put(db, all, count, was_there, err);
	for (size_t i = 0; i < count; i++)
		fleet_batch_free(&batches[i]);
	return rc;
}

int cycles_drain(void *db, struct spool *s, struct err *err)
{
	bool has = true;
	int rc = 0;

	while (rc == 0 && has) {
		rc = drain_some(db, s, &has, err);
		if (rc == 0)
			spool_done(s);
		else
			spool_again(s);
	}
	return rc;
}

static int count_run(void *owner, const void *row)
{
	const struct run_row *run = row;
	struct cycles_counted *c = owner;

	c->runs += !c->has_run[run->cycle];
	c->has_run[run->cycle] = true;
	return 0;
}

static int count_calls(void *owner, const void *row)
{
	const struct statement_row *statement = row;
	struct cycles_counted *c = owner;

	c->calls += statement->counters[STATEMENT_CALLS].value;
	return 0;
}

static int tidy_to_the_end(void *db, struct err *err)
{
	struct fleet_tidied tidied = { .is_more = true };
	struct wall end = { cycles_wall_ns(CYCLES_MOST) };
	int rc = 0;

	while (rc == 0 && tidied.is_more)
		rc = fleet_store_sqlite.tidy(db, end, &cycles_limits, 1000000000, &tidied, err);
	return rc;
}

int cycles_count(const char *store, const char *spool, struct cycles_counted *out, struct err *err)
{
	struct spool *s = NULL;
	void *db = NULL;
	int rc = fleet_store_sqlite.open(store, FLEET_WRITE, &db, err);

	memset(out, 0, sizeof(*out));
	if (rc == 0)
		rc = spool_open(spool, SPOOL_BYTES_LEAST, &s, err);
	if (rc == 0)
		rc = cycles_drain(db, s, err);
	if (rc == 0)
		rc = tidy_to_the_end(db, err);
	if (rc == 0)
		rc = fleet_store_sqlite.scan(db, &table_run, &FLEET_RANGE_ALL, count_run, out, err);
	if (rc == 0)
		rc = fleet_store_sqlite.scan(db, &table_statement_day, &FLEET_RANGE_ALL,
					     count_calls, out, err);
	fleet_store_sqlite.close(db);
	spool_close(s);
	return rc;
}

uint64_t cycles_calls(const struct cycles_counted *counted)
{
	uint64_t calls = 0;

	for (uint64_t i = 0; i < CYCLES_MOST; i++)
		calls += counted->has_run[i] ? STATEMENTS * calls_of(i) : 0;
	return calls;
}
