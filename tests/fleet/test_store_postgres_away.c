/* test_store_postgres_away.c - the store's server is killed, stopped, stuck or busy: what was acknowledged is there, once and whole, and no
 * call waits for longer than its deadline. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/rng.h"
#include "core/scoped.h"
#include "fleet/store_postgres.h"
#include "store/fleet_postgres.h"

static struct stage stage = STAGE_EMPTY;

static int start(void **state)
{
	(void)state;
	/* What is acknowledged must be there after a kill. */
	stage_open(&stage, "synchronous_commit = on");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	stage_close(&stage);
	return 0;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* -- killed in the middle -- */

#define CYCLES	   4000
#define STATEMENTS 30
#define ROUNDS	   6

struct writer {
	struct pg_place place;
	atomic_bool is_over;
	unsigned char was_told[CYCLES]; /* 1: written, or there already */
	atomic_uint told;
	uint64_t failures;
	struct err odd; /* a failure of another kind than "away" */
};

/* Puts cycle after cycle; what failed is put again before what comes after it, as from a spool. */
static void *write_all(void *of)
{
	struct writer *w = of;

	for (uint64_t cycle = 1; cycle < CYCLES && !atomic_load(&w->is_over); cycle++) {
		struct fleet_batch batch;
		const struct fleet_batch *batches[] = { &batch };

		store_batch(&batch, 1 + cycle % 3, cycle, DAWN_NS + (int64_t)cycle * 1000000000,
			    STATEMENTS);
		while (!w->was_told[cycle] && !atomic_load(&w->is_over)) {
			struct err err = ERR_EMPTY;
			bool was_there;
			int rc = w->place.ops->put(w->place.db, batches, 1, &was_there, &err);

			w->was_told[cycle] = rc == 0;
			w->failures += rc != 0;
			if (rc != 0 && rc != -EHOSTUNREACH)
				w->odd = err;
			if (rc != 0)
				pause_ms(20);
		}
		atomic_fetch_add(&w->told, w->was_told[cycle]);
		fleet_batch_free(&batch);
	}
	return NULL;
}

static void every_acknowledged_batch_is_there_once_and_whole(struct writer *w)
{
	uint64_t told = 0;

	for (uint64_t cycle = 1; cycle < CYCLES; cycle++)
		told += w->was_told[cycle];
	print_message("%llu batches told, %llu puts failed meanwhile\n", (unsigned long long)told,
		      (unsigned long long)w->failures);
	assert_true(told > 0);
	/* Not half of one: two runs, so many statements, one of waits. The last one may be there untold. */
	assert_in_range(
		stage_number(&stage, "killed", "SELECT count(DISTINCT cycle) FROM tare.run"), told,
		told + 1);
	assert_int_equal(
		stage_number(&stage, "killed",
			     "SELECT count(*) FROM (SELECT cycle FROM tare.run GROUP BY cycle "
			     "HAVING count(*) <> 2) AS odd"),
		0);
	assert_int_equal(
		stage_number(&stage, "killed",
			     "SELECT count(*) FROM (SELECT at_wall_ns FROM tare.statement GROUP "
			     "BY at_wall_ns HAVING count(*) <> 30) AS odd"),
		0);
	assert_int_equal(
		stage_number(&stage, "killed",
			     "SELECT count(*) - (SELECT count(DISTINCT cycle) FROM tare.run) FROM "
			     "tare.wait"),
		0);
	assert_int_equal(
		stage_number(
			&stage, "killed",
			"SELECT count(DISTINCT at_wall_ns) - (SELECT count(DISTINCT cycle) FROM "
			"tare.run) FROM tare.statement"),
		0);
}

static void a_server_killed_in_the_middle_of_puts_has_each_batch_once_or_not(void **state)
{
	struct writer *w = calloc(1, sizeof(*w));
	pthread_t thread;
	struct rng r;

	(void)state;
	rng_seed(&r, 4);
	pg_place_open(&w->place, &stage, "killed");
	pthread_create(&thread, NULL, write_all, w);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned before = atomic_load(&w->told);

		for (int n = 0; n < 500 && atomic_load(&w->told) < before + 3; n++)
			pause_ms(10);
		pause_ms((long)rng_below(&r, 120));
		stage_stop(&stage, 'k');
		stage_start(&stage);
	}
	pause_ms(300);
	atomic_store(&w->is_over, true);
	pthread_join(thread, NULL);
	if (w->odd.code != 0)
		fail_msg("%s", w->odd.msg);
	assert_true(w->failures > 0);
	every_acknowledged_batch_is_there_once_and_whole(w);
	pg_place_close(&w->place);
	free(w);
}

/* -- away -- */

static int nobody(void *owner, const void *row)
{
	(void)owner;
	(void)row;
	return 0;
}

/* Every call says that the store is away, each within `most_s`. */
static void all_say_away(struct pg_place *p, const struct fleet_batch *batch, double most_s)
{
	struct fleet_limits limits = FLEET_LIMITS_DEFAULT;
	struct server_row server = { .name = STR_LITERAL("a"), .kind = STR_LITERAL("postgresql") };
	struct fleet_tidied tidied;
	struct err err = ERR_EMPTY;
	bool was_there = true, has = true;
	uint64_t bytes;
	double began = seconds();
	int codes[] = {
		p->ops->put(p->db, &batch, 1, &was_there, &err),
		p->ops->take_place(p->db, 0, 1, 1, &has, &err),
		p->ops->enrol(p->db, &server, 1, &err),
		p->ops->scan(p->db, &table_run, &FLEET_RANGE_ALL, nobody, NULL, &err),
		p->ops->size(p->db, &bytes, &err),
		p->ops->tidy(p->db, (struct wall){ DAWN_NS }, &limits, NS_PER_S, &tidied, &err),
	};
	size_t count = ARRAY_LEN(codes);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(codes[i], -EHOSTUNREACH);
	assert_true(was_there && has); /* untouched */
	assert_non_null(strstr(err.msg, "cannot reach the store"));
	assert_true(err.works[0] != '\0');
	assert_true(seconds() - began < most_s * (double)count);
}

static void
a_store_that_is_away_says_so_at_once_and_the_next_call_after_it_is_back_works(void **state)
{
	struct pg_place place;
	struct fleet_batch batch;

	(void)state;
	pg_place_open(&place, &stage, "away");
	store_batch(&batch, 1, 1, DAWN_NS, 5);
	stage_stop(&stage, 'f');
	all_say_away(&place, &batch, 1);
	stage_start(&stage);
	assert_false(store_put(&place, &batch));
	/* Hung up on between two calls: nothing is lost, and nobody has to know. */
	stage_run(&stage, "away",
		  "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
		  "application_name = 'tare'");
	assert_true(store_put(&place, &batch));
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

static void a_server_that_does_not_answer_is_given_up_at_the_deadline(void **state)
{
	const double most_s = (double)PG_CALL_MS / 1000;
	struct pg_place place;
	struct fleet_batch batch;
	const struct fleet_batch *batches[] = { &batch };
	struct err err = ERR_EMPTY;
	bool was_there;
	double began;
	int pid, rc;

	(void)state;
	pg_place_open(&place, &stage, "stuck");
	store_batch(&batch, 1, 1, DAWN_NS, 2000);
	pid = PQbackendPID(((struct pg_store *)place.db)->wire.conn);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	began = seconds();
	rc = place.ops->put(place.db, batches, 1, &was_there, &err);
	began = seconds() - began;
	assert_int_equal(rc, -EHOSTUNREACH);
	assert_true(began < most_s + 3);
	/* It is another backend that answers now. */
	assert_false(store_put(&place, &batch));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(store_count(&place, &table_statement), 2000);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

static void who_holds_a_table_for_long_delays_a_put_no_longer_than_its_deadline(void **state)
{
	PGconn *other;
	struct pg_place place;
	struct fleet_batch batch;
	const struct fleet_batch *batches[] = { &batch };
	struct err err = ERR_EMPTY;
	double began = seconds();
	bool was_there;

	(void)state;
	pg_place_open(&place, &stage, "held");
	store_batch(&batch, 1, 1, DAWN_NS, 3);
	other = stage_connect(&stage, NULL, "held");
	PQclear(PQexec(other, "BEGIN; LOCK TABLE tare.life IN ACCESS EXCLUSIVE MODE"));
	assert_int_equal(place.ops->put(place.db, batches, 1, &was_there, &err), -EHOSTUNREACH);
	assert_true(seconds() - began < (double)PG_CALL_MS / 1000 + 3);
	PQfinish(other);
	assert_false(store_put(&place, &batch));
	assert_int_equal(store_count(&place, &table_run), 2);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_killed_in_the_middle_of_puts_has_each_batch_once_or_not),
		cmocka_unit_test(
			a_store_that_is_away_says_so_at_once_and_the_next_call_after_it_is_back_works),
		cmocka_unit_test(a_server_that_does_not_answer_is_given_up_at_the_deadline),
		cmocka_unit_test(
			who_holds_a_table_for_long_delays_a_put_no_longer_than_its_deadline),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
