/* test_fleet_bytes.c - what a server takes in a fleet's store: idle statements nothing, busy ones a row a visit, and every row
 * no more than is stated in docs/format-fleet.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "core/scoped.h"
#include "fault/place.h"
#include "store/fleet_store.h"

#define BASE_NS	  (INT64_C(20786) * 86400 * 1000000000)
#define MINUTE_NS INT64_C(60000000000)
#define CYCLES	  60
#define READINGS  8

/* Stated in docs/format-fleet.md: bytes of a row in the file, pages and all, when visits come one after the other. */
#define STATEMENT_BYTES	     120u
#define STATEMENT_MOST_BYTES 300u
#define RUN_BYTES	     85u
#define BEGUN_PAGES_BYTES    (2 * 4096u)

static struct place place;

static void ok(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s | %s | %s", rc, err->msg, err->works, err->mend);
}

static void add(struct fleet_batch *b, const struct table *t, const void *row)
{
	assert_int_equal(fleet_batch_add(b, t, BLOCK_PUT, row), 0);
}

/* A name of a statement as the server makes them: any 64 bits. */
static int64_t queryid_of(uint32_t number)
{
	struct rng r;

	rng_seed(&r, number);
	return (int64_t)rng_next(&r);
}

static void add_baseline(struct fleet_batch *b, uint32_t number, uint8_t value)
{
	int64_t queryid = queryid_of(number);
	uint8_t key[17] = { 0 }, counters[64];
	struct baseline_row row = { .server = 1,
				    .key = { key, sizeof(key) },
				    .counters = { counters, sizeof(counters) } };

	memcpy(key, &queryid, sizeof(queryid));
	memset(counters, value, sizeof(counters));
	add(b, &table_baseline, &row);
}

/* How large the numbers of a busy statement are. */
enum size { USUAL, LARGEST };

static void add_statement(struct fleet_batch *b, uint32_t number, int64_t at_ns, enum size size)
{
	struct statement_row row = { .server = 1,
				     .at_wall_ns = at_ns,
				     .key = { 16384, 10, queryid_of(number), true },
				     .span_ns = (uint64_t)MINUTE_NS,
				     .longest_ns = 123456789 };

	for (size_t i = 0; i < STATEMENT_COUNTERS; i++) {
		/* Usual: half of the counters do not move in a minute. */
		uint64_t value = size == LARGEST ? INT64_MAX - i : i % 2 == 0 ? 0 : 1000 * i * i;

		row.counters[i] = COUNTER(value);
	}
	add(b, &table_statement, &row);
}

static void add_runs(struct fleet_batch *b, int64_t at_ns)
{
	for (uint32_t i = 0; i < READINGS; i++) {
		struct run_row run = { .server = 1,
				       .reading = i,
				       .at_wall_ns = at_ns,
				       .cycle = b->cycle,
				       .rows = 150,
				       .bytes = 40000,
				       .server_ns = 2345678,
				       .own_ns = 345678,
				       .wall_ns = 3456789 };

		add(b, &table_run, &run);
	}
}

/* First sight of all statements: baselines, nothing else. */
static void first_visit(void *db, uint32_t statements)
{
	struct fleet_batch b = { .server = 1, .cycle = 1000 };
	const struct fleet_batch *all[] = { &b };
	struct err err = ERR_EMPTY;
	bool was_there;

	for (uint32_t i = 0; i < statements; i++)
		add_baseline(&b, i, 1);
	add_runs(&b, BASE_NS);
	ok(fleet_store_sqlite.put(db, all, 1, &was_there, &err), &err);
	fleet_batch_free(&b);
}

static void visit(void *db, int number, uint32_t busy, enum size size)
{
	int64_t at_ns = BASE_NS + (number + 1) * MINUTE_NS;
	struct fleet_batch b = { .server = 1, .cycle = 1001 + (uint64_t)number };
	const struct fleet_batch *all[] = { &b };
	struct err err = ERR_EMPTY;
	bool was_there;

	for (uint32_t i = 0; i < busy; i++) {
		add_statement(&b, i, at_ns, size);
		add_baseline(&b, i, (uint8_t)number);
	}
	add_runs(&b, at_ns);
	ok(fleet_store_sqlite.put(db, all, 1, &was_there, &err), &err);
	fleet_batch_free(&b);
}

/* Bytes by which 60 visits make a store larger that knows so many statements. */
static uint64_t growth(uint32_t statements, uint32_t busy, enum size size)
{
	struct err err = ERR_EMPTY;
	uint64_t before = 0, after = 0;
	void *db = NULL;
	char path[2 * PLACE_BYTES];

	snprintf(path, sizeof(path), "%s", place_file(&place, "bytes.tare"));
	remove(path);
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	first_visit(db, statements);
	fleet_store_sqlite.close(db);
	before = place_bytes(&place, "bytes.tare");
	ok(fleet_store_sqlite.open(path, FLEET_WRITE, &db, &err), &err);
	for (int i = 0; i < CYCLES; i++)
		visit(db, i, busy, size);
	fleet_store_sqlite.close(db);
	after = place_bytes(&place, "bytes.tare");
	assert_true(after >= before);
	return after - before;
}

static void idle_statements_take_nothing(void **state)
{
	uint64_t with_idle = growth(5010, 10, USUAL), without = growth(10, 10, USUAL);

	(void)state;
	print_message(
		"60 visits, 10 busy statements: %llu bytes beside 5,000 idle ones, %llu without\n",
		(unsigned long long)with_idle, (unsigned long long)without);
	/* A page more or less. */
	assert_true(with_idle <= without + 2 * 4096);
	assert_true(with_idle <=
		    CYCLES * (10 * STATEMENT_BYTES + READINGS * RUN_BYTES) + BEGUN_PAGES_BYTES);
	print_message("a day of a minute's cycle: %llu KB a server\n",
		      (unsigned long long)(without * 24 / 1024));
}

static void a_busy_statement_takes_no_more_than_is_stated(void **state)
{
	uint64_t few = growth(200, 0, USUAL), usual = growth(200, 200, USUAL),
		 largest = growth(200, 200, LARGEST);
	uint64_t rows = 200 * CYCLES;

	(void)state;
	print_message("a run takes %llu bytes, a statement %llu, at most %llu\n",
		      (unsigned long long)(few / CYCLES / READINGS),
		      (unsigned long long)((usual - few) / rows),
		      (unsigned long long)((largest - few) / rows));
	assert_true((usual - few) / rows <= STATEMENT_BYTES);
	assert_true((largest - few) / rows <= STATEMENT_MOST_BYTES);
	assert_true(few <= CYCLES * READINGS * RUN_BYTES + BEGUN_PAGES_BYTES);
	/* And a bound that holds for less than it says would be no bound. */
	assert_true((largest - few) / rows > STATEMENT_MOST_BYTES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_statements_take_nothing),
		cmocka_unit_test(a_busy_statement_takes_no_more_than_is_stated),
	};
	int failed;

	if (!place_make(&place))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	place_remove(&place);
	return failed;
}
