/* test_store_postgres_parts.c - partitions: made ahead and for late rows, dropped beside readers and writers, and what is left when that is
 * broken off. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/store_postgres.h"
#include "store/fleet_postgres.h"
#include "store/fleet_rules.h"

#define MINUTES(n) ((n)*INT64_C(60000000000))

static struct stage stage = STAGE_EMPTY;
static const struct fleet_limits two_days = { 2 * (uint64_t)PG_DAY_NS, 30 * (uint64_t)PG_DAY_NS,
					      400 * (uint64_t)PG_DAY_NS, 10 * (uint64_t)PG_DAY_NS,
					      UINT64_C(1) << 30 };

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

static void put_at(struct pg_place *p, uint32_t server, uint64_t cycle, int64_t at_wall_ns)
{
	struct fleet_batch batch;

	store_batch(&batch, server, cycle, at_wall_ns, 10);
	assert_false(store_put(p, &batch));
	fleet_batch_free(&batch);
}

static struct fleet_tidied tidy(struct pg_place *p, int64_t now_ns)
{
	struct fleet_tidied one = { 0 };
	struct err err = ERR_EMPTY;

	if (p->ops->tidy(p->db, (struct wall){ now_ns }, &two_days, 60 * NS_PER_S, &one, &err) != 0)
		fail_msg("%s", err.msg);
	return one;
}

/* Partitions of a table that begin with its name. */
static int64_t parts(const char *database, const char *name)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE "
		 "i.inhparent = 'tare.%s'::regclass AND c.relkind = 'r'",
		 name);
	return stage_number(&stage, database, sql);
}

/* Tables of the schema that look like partitions and are none. */
static int64_t left_overs(const char *database)
{
	return stage_number(
		&stage, database,
		"SELECT count(*) FROM pg_class WHERE relnamespace = 'tare'::regnamespace AND "
		"relkind = 'r' AND relname ~ '_p[0-9]{8}$' AND NOT relispartition");
}

static void days_get_partitions_ahead_and_when_rows_are_late(void **state)
{
	struct pg_place p;

	(void)state;
	pg_place_open(&p, &stage, "ahead");
	assert_int_equal(parts("ahead", "statement"), 0);
	tidy(&p, DAWN_NS + MINUTES(600));
	assert_int_equal(parts("ahead", "statement"), 2); /* today and tomorrow */
	assert_int_equal(parts("ahead", "statement_day"), 2);
	/* A put of today makes none. */
	put_at(&p, 1, 1, DAWN_NS + MINUTES(601));
	assert_int_equal(parts("ahead", "statement"), 2);
	assert_int_equal(
		stage_number(&stage, "ahead", "SELECT count(*) FROM tare.statement_p20261130"), 10);
	/* One of yesterday, and one of the next week, do. */
	put_at(&p, 1, 2, DAWN_NS - MINUTES(1));
	put_at(&p, 1, 3, DAWN_NS + 7 * PG_DAY_NS);
	assert_int_equal(parts("ahead", "statement"), 4);
	assert_int_equal(
		stage_number(&stage, "ahead", "SELECT count(*) FROM tare.statement_p20261129"), 10);
	assert_int_equal(store_count(&p, &table_statement), 30);
	assert_int_equal(
		stage_number(&stage, "ahead",
			     "SELECT count(*) FROM pg_class WHERE relname ~ 'default'  AND "
			     "relnamespace = 'tare'::regnamespace"),
		0);
	pg_place_close(&p);
}

static void old_partitions_go_whole_when_their_sums_are_kept(void **state)
{
	struct fleet_tidied tidied;
	struct pg_place p;
	uint64_t calls;

	(void)state;
	pg_place_open(&p, &stage, "drop");
	for (uint64_t day = 0; day < 4; day++)
		put_at(&p, 1, 1 + day, DAWN_NS + (int64_t)day * PG_DAY_NS);
	calls = store_sum(&p, &table_statement, STATEMENT_CALLS);
	assert_true(calls > 0);
	tidied = tidy(&p, DAWN_NS + 5 * PG_DAY_NS);
	assert_false(tidied.is_more);
	/* The 3rd day is two days old at midnight: it just stays. */
	assert_int_equal(store_count(&p, &table_statement), 10);
	assert_int_equal(parts("drop", "statement"), 3); /* and two ahead */
	assert_int_equal(left_overs("drop"), 0);
	assert_true(tidied.dropped_rows >= 30);
	assert_true(tidied.freed_bytes > 8192);
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), calls);
	assert_int_equal(store_sum(&p, &table_statement_day, STATEMENT_CALLS), calls);
	pg_place_close(&p);
}

static void a_reader_that_sits_keeps_his_rows_and_delays_nobody_else(void **state)
{
	struct fleet_tidied tidied;
	struct pg_place p;
	PGconn *reader;
	PGresult *rows;

	(void)state;
	pg_place_open(&p, &stage, "sits");
	put_at(&p, 1, 1, DAWN_NS);
	put_at(&p, 1, 2, DAWN_NS + 5 * PG_DAY_NS);
	reader = stage_connect(&stage, NULL, "sits");
	PQclear(PQexec(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
	rows = PQexec(reader, "SELECT count(*) FROM tare.statement");
	assert_string_equal(PQgetvalue(rows, 0, 0), "20");
	PQclear(rows);
	tidied = tidy(&p, DAWN_NS + 5 * PG_DAY_NS);
	assert_true(tidied.is_more); /* to be finished later */
	assert_int_equal(
		stage_number(&stage, "sits", "SELECT count(*) FROM tare.statement_p20261130"), 10);
	/* Puts go on meanwhile, and the reader still sees what he saw. */
	put_at(&p, 1, 3, DAWN_NS + 5 * PG_DAY_NS + 1);
	rows = PQexec(reader, "SELECT count(*) FROM tare.statement");
	assert_string_equal(PQgetvalue(rows, 0, 0), "20");
	PQclear(rows);
	PQfinish(reader);
	tidied = tidy(&p, DAWN_NS + 5 * PG_DAY_NS);
	assert_false(tidied.is_more);
	assert_int_equal(stage_number(&stage, "sits",
				      "SELECT count(to_regclass('tare.statement_p20261130'))"),
			 0);
	assert_int_equal(left_overs("sits"), 0);
	assert_int_equal(store_count(&p, &table_statement), 20);
	pg_place_close(&p);
}

static void what_is_left_of_a_dropping_that_was_broken_off_goes_later(void **state)
{
	struct pg_place p;

	(void)state;
	pg_place_open(&p, &stage, "broken");
	put_at(&p, 1, 1, DAWN_NS);
	put_at(&p, 1, 2, DAWN_NS + 5 * PG_DAY_NS);
	tidy(&p, DAWN_NS + MINUTES(60 * 25)); /* summed, not old */
	/* Taken out by hand: not ours to drop while its rows would stay; a late row brings it back. */
	stage_run(&stage, "broken",
		  "ALTER TABLE tare.statement DETACH PARTITION tare.statement_p20261130");
	pg_place_close(&p);
	p.ops->open(p.url, FLEET_WRITE, &p.db, &(struct err){ 0 });
	assert_non_null(p.db);
	tidy(&p, DAWN_NS + MINUTES(60 * 25));
	assert_int_equal(left_overs("broken"), 1);
	put_at(&p, 2, 3, DAWN_NS + 7);
	assert_int_equal(left_overs("broken"), 0);
	assert_int_equal(store_count(&p, &table_statement), 30);
	/* We were killed between taking it out and dropping it: the next tidying drops it. */
	stage_run(&stage, "broken",
		  "ALTER TABLE tare.statement DETACH PARTITION tare.statement_p20261130");
	tidy(&p, DAWN_NS + 5 * PG_DAY_NS);
	assert_int_equal(left_overs("broken"), 0);
	assert_int_equal(store_count(&p, &table_statement), 10);
	pg_place_close(&p);
}

static void a_partition_that_went_under_a_writer_is_made_again(void **state)
{
	struct pg_place p, other = { .ops = &fleet_store_postgres };
	struct err err = ERR_EMPTY;
	struct collector_row minute = { .collector = STR_LITERAL("one"), .at_wall_ns = DAWN_NS };
	struct fleet_batch batch = { .server = 0, .cycle = 1 };

	(void)state;
	pg_place_open(&p, &stage, "under");
	assert_int_equal(fleet_batch_add(&batch, &table_collector, BLOCK_PUT, &minute), 0);
	assert_false(store_put(&p, &batch));
	/* Another collector tidies it away; the first one does not know. */
	assert_int_equal(other.ops->open(p.url, FLEET_WRITE, &other.db, &err), 0);
	tidy(&other, DAWN_NS + 30 * PG_DAY_NS);
	assert_int_equal(store_count(&p, &table_collector), 0);
	assert_false(store_put(&p, &batch));
	assert_int_equal(store_count(&p, &table_collector), 1);
	/* And a row that is put again replaces the first. */
	assert_false(store_put(&p, &batch));
	assert_int_equal(store_count(&p, &table_collector), 1);
	fleet_batch_free(&batch);
	pg_place_close(&other);
	pg_place_close(&p);
}

/* -- who comes at the wrong moment -- */

struct slow_put {
	pthread_t thread;
	const char *url;
	uint64_t cycle;
	int64_t at_wall_ns;
	struct err err;
};

static void *put_slowly(void *of)
{
	struct slow_put *s = of;
	struct pg_place p = { .ops = &fleet_store_postgres };
	struct fleet_batch batch;
	const struct fleet_batch *batches[] = { &batch };
	bool was_there;

	if (p.ops->open(s->url, FLEET_WRITE, &p.db, &s->err) != 0)
		return NULL;
	store_batch(&batch, 1, s->cycle, s->at_wall_ns, 10);
	p.ops->put(p.db, batches, 1, &was_there, &s->err);
	fleet_batch_free(&batch);
	p.ops->close(p.db);
	return NULL;
}

/* From here on a put (not a tidying) sleeps in front of its commit, its rows and marks written; returns when it does. */
static void begin_slow_put(struct slow_put *s, const char *database)
{
	stage_run(
		&stage, database,
		"CREATE FUNCTION tare.wait_a_while() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
		"IF current_query() LIKE '%unnest%' THEN PERFORM pg_sleep(2); END IF; RETURN NULL; "
		"END $$; CREATE TRIGGER wait_a_while AFTER INSERT ON tare.to_sum FOR EACH "
		"STATEMENT "
		"EXECUTE FUNCTION tare.wait_a_while()");
	pthread_create(&s->thread, NULL, put_slowly, s);
	while (stage_number(&stage, database,
			    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") ==
	       0)
		;
}

static void end_slow_put(struct slow_put *s, const char *database)
{
	pthread_join(s->thread, NULL);
	if (s->err.code != 0)
		fail_msg("%s", s->err.msg);
	stage_run(&stage, database, "DROP FUNCTION tare.wait_a_while() CASCADE");
}

static void an_hour_is_summed_with_the_rows_of_a_put_on_its_way(void **state)
{
	struct slow_put slow = { .cycle = 2, .at_wall_ns = DAWN_NS + MINUTES(2) };
	struct pg_place p;
	uint64_t calls;

	(void)state;
	pg_place_open(&p, &stage, "on_its_way");
	put_at(&p, 1, 1, DAWN_NS + MINUTES(1));
	calls = store_sum(&p, &table_statement, STATEMENT_CALLS);
	slow.url = p.url;
	begin_slow_put(&slow, "on_its_way");
	tidy(&p, DAWN_NS + MINUTES(70));
	end_slow_put(&slow, "on_its_way");
	tidy(&p, DAWN_NS + MINUTES(70));
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), 2 * calls);
	pg_place_close(&p);
}

static void a_partition_does_not_go_under_a_put_on_its_way(void **state)
{
	struct slow_put slow = { .cycle = 2, .at_wall_ns = DAWN_NS + MINUTES(2) };
	struct pg_place p;
	uint64_t calls;

	(void)state;
	pg_place_open(&p, &stage, "under_it");
	put_at(&p, 7, 1, DAWN_NS + MINUTES(1));
	calls = store_sum(&p, &table_statement, STATEMENT_CALLS);
	slow.url = p.url;
	begin_slow_put(&slow, "under_it");
	while (tidy(&p, DAWN_NS + 5 * PG_DAY_NS).is_more)
		;
	end_slow_put(&slow, "under_it");
	while (tidy(&p, DAWN_NS + 5 * PG_DAY_NS).is_more)
		;
	assert_int_equal(store_count(&p, &table_statement), 0);
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), 2 * calls);
	pg_place_close(&p);
}

static void what_was_added_to_a_sum_is_not_summed_away(void **state)
{
	struct pg_place p;
	uint64_t calls;

	(void)state;
	pg_place_open(&p, &stage, "added");
	put_at(&p, 1, 1, DAWN_NS + MINUTES(9 * 60 + 10));
	calls = store_sum(&p, &table_statement, STATEMENT_CALLS);
	/* Raw rows are kept from 10:00 on; those of 9:10 still lie in the day's partition. */
	tidy(&p, DAWN_NS + 2 * PG_DAY_NS + MINUTES(10 * 60 + 30));
	assert_int_equal(store_count(&p, &table_statement), 10);
	/* His rows are late, his run is not, and has its hour summed again. */
	put_at(&p, 1, 2, DAWN_NS + MINUTES(9 * 60 + 30));
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), 2 * calls);
	tidy(&p, DAWN_NS + 2 * PG_DAY_NS + MINUTES(10 * 60 + 31));
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), 2 * calls);
	assert_int_equal(store_sum(&p, &table_statement_day, STATEMENT_CALLS), 2 * calls);
	pg_place_close(&p);
}

/* -- several collectors -- */

struct worker {
	pthread_t thread;
	const char *url;
	uint32_t number;
	bool is_tidier;
	struct err err;
};

/* Writes visits of its own servers over two days, or tidies all the while. */
static void *work(void *of)
{
	struct worker *w = of;
	struct pg_place p = { .ops = &fleet_store_postgres };
	struct fleet_tidied tidied;

	if (p.ops->open(w->url, FLEET_WRITE, &p.db, &w->err) != 0)
		return NULL;
	for (uint64_t i = 0; i < 60 && w->err.code == 0; i++) {
		struct fleet_batch batch;
		const struct fleet_batch *batches[] = { &batch };
		bool was_there;
		int64_t now_ns = DAWN_NS + (int64_t)i * PG_DAY_NS / 10;
		/* Every third one was written days ago and waited. */
		int64_t at_ns = i % 3 == 2 ? now_ns - 4 * PG_DAY_NS + MINUTES(7) : now_ns;

		if (w->is_tidier) {
			p.ops->tidy(p.db, (struct wall){ now_ns }, &two_days, NS_PER_S / 20,
				    &tidied, &w->err);
			continue;
		}
		store_batch(&batch, w->number, i, at_ns, 4);
		p.ops->put(p.db, batches, 1, &was_there, &w->err);
		fleet_batch_free(&batch);
	}
	p.ops->close(p.db);
	return NULL;
}

static void collectors_put_and_tidy_at_once_and_nothing_is_lost_or_doubled(void **state)
{
	struct worker workers[5];
	struct pg_place p;

	(void)state;
	pg_place_open(&p, &stage, "at_once");
	for (uint32_t i = 0; i < ARRAY_LEN(workers); i++) {
		workers[i] = (struct worker){ .url = p.url, .number = i + 1, .is_tidier = i >= 3 };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(workers); i++)
		pthread_join(workers[i].thread, NULL);
	for (size_t i = 0; i < ARRAY_LEN(workers); i++)
		if (workers[i].err.code != 0)
			fail_msg("%s", workers[i].err.msg);
	while (tidy(&p, DAWN_NS + 20 * PG_DAY_NS).is_more)
		;
	assert_int_equal(store_count(&p, &table_statement), 0);
	/* 3 collectors, 60 visits, 4 statements with 1, 11, 21 and 31 calls. */
	assert_int_equal(store_sum(&p, &table_statement_hour, STATEMENT_CALLS), 3 * 60 * 64);
	assert_int_equal(store_sum(&p, &table_statement_day, STATEMENT_CALLS), 3 * 60 * 64);
	assert_int_equal(stage_number(&stage, "at_once", "SELECT sum(runs) FROM tare.cost"),
			 3 * 60 * 2);
	pg_place_close(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_get_partitions_ahead_and_when_rows_are_late),
		cmocka_unit_test(old_partitions_go_whole_when_their_sums_are_kept),
		cmocka_unit_test(a_reader_that_sits_keeps_his_rows_and_delays_nobody_else),
		cmocka_unit_test(what_is_left_of_a_dropping_that_was_broken_off_goes_later),
		cmocka_unit_test(a_partition_that_went_under_a_writer_is_made_again),
		cmocka_unit_test(an_hour_is_summed_with_the_rows_of_a_put_on_its_way),
		cmocka_unit_test(a_partition_does_not_go_under_a_put_on_its_way),
		cmocka_unit_test(what_was_added_to_a_sum_is_not_summed_away),
		cmocka_unit_test(collectors_put_and_tidy_at_once_and_nothing_is_lost_or_doubled),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, start, stop);
}
