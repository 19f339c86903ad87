/* test_store_postgres_schema.c - who may open a store in PostgreSQL, and what it becomes: migrations, rights, secrets. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/store_postgres.h"
#include "store/fleet_postgres.h"

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

static void make_database(const char *name, const char *more)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "CREATE DATABASE %s %s", name, more);
	stage_run(&stage, NULL, sql);
}

static int open_as(const char *role, const char *database, enum fleet_access access, void **out,
		   struct err *err)
{
	char url[256];

	*out = NULL;
	*err = ERR_EMPTY;
	pg_place_url(&stage, role, database, url, sizeof(url));
	return fleet_store_postgres.open(url, access, out, err);
}

/* -- who is first -- */

struct opener {
	pthread_t thread;
	pthread_barrier_t *together;
	const char *database;
	int rc;
	struct err err;
};

static void *open_one(void *of)
{
	struct opener *o = of;
	void *db;

	pthread_barrier_wait(o->together);
	o->rc = open_as(NULL, o->database, FLEET_WRITE, &db, &o->err);
	fleet_store_postgres.close(db);
	return NULL;
}

static void of_openers_at_once_one_makes_the_schema_and_all_have_it(void **state)
{
	static const char *const databases[] = { "race1", "race2", "race3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
		struct opener openers[4];
		pthread_barrier_t together;

		make_database(databases[i], "");
		pthread_barrier_init(&together, NULL, ARRAY_LEN(openers));
		for (size_t k = 0; k < ARRAY_LEN(openers); k++) {
			openers[k] =
				(struct opener){ .together = &together, .database = databases[i] };
			pthread_create(&openers[k].thread, NULL, open_one, &openers[k]);
		}
		for (size_t k = 0; k < ARRAY_LEN(openers); k++)
			pthread_join(openers[k].thread, NULL);
		for (size_t k = 0; k < ARRAY_LEN(openers); k++)
			if (openers[k].rc != 0)
				fail_msg("%s", openers[k].err.msg);
		assert_int_equal(
			stage_number(&stage, databases[i], "SELECT count(*) FROM tare.migration"),
			1);
		pthread_barrier_destroy(&together);
	}
}

/* -- versions -- */

static void a_newer_schema_is_refused_and_says_which_tare_it_needs(void **state)
{
	struct fleet_batch batch;
	const struct fleet_batch *batches[] = { &batch };
	struct pg_place place;
	struct err err = ERR_EMPTY;
	bool was_there;
	void *db;

	(void)state;
	pg_place_open(&place, &stage, "newer");
	stage_run(&stage, "newer",
		  "INSERT INTO tare.migration (number, needs) VALUES (99, '7.8.9')");
	assert_int_equal(open_as(NULL, "newer", FLEET_WRITE, &db, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "tare 7.8.9"));
	assert_int_equal(open_as(NULL, "newer", FLEET_READ, &db, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "tare 7.8.9"));
	/* Who was there before finds out when he connects again, and his batches wait. */
	stage_run(&stage, "newer",
		  "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
		  "application_name = "
		  "'tare'");
	store_batch(&batch, 1, 1, DAWN_NS, 3);
	assert_int_equal(place.ops->put(place.db, batches, 1, &was_there, &err), -EHOSTUNREACH);
	assert_non_null(strstr(err.msg, "tare 7.8.9"));
	stage_run(&stage, "newer", "DELETE FROM tare.migration WHERE number = 99");
	assert_false(store_put(&place, &batch));
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

static int add_table(struct pg_store *p, struct err *err)
{
	return pg_command(&p->wire, "CREATE TABLE tare.two (x bigint)", err);
}

static int add_and_fail(struct pg_store *p, struct err *err)
{
	int rc = pg_command(&p->wire, "CREATE TABLE tare.three (x bigint)", err);

	return rc != 0 ? rc : pg_command(&p->wire, "SELECT 1 / 0", err);
}

static void an_older_schema_is_migrated_in_one_piece_or_not_at_all(void **state)
{
	const struct pg_migration steps[] = { pg_migrations[0],
					      { 2, add_table },
					      { 3, add_and_fail } };
	struct err err = ERR_EMPTY;
	struct pg_place place;
	void *reader;

	(void)state;
	pg_place_open(&place, &stage, "older");
	assert_int_equal(open_as(NULL, "older", FLEET_READ, &reader, &err), 0);
	assert_int_equal(pg_schema_open(reader, steps, 2, &err), -ENOTSUP);
	assert_non_null(strstr(err.mend, "collector"));
	assert_int_not_equal(pg_schema_open(place.db, steps, 3, &err), 0);
	assert_int_equal(stage_number(&stage, "older", "SELECT max(number) FROM tare.migration"),
			 1);
	assert_int_equal(stage_number(&stage, "older", "SELECT count(to_regclass('tare.two'))"), 0);
	if (pg_schema_open(place.db, steps, 2, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(stage_number(&stage, "older", "SELECT max(number) FROM tare.migration"),
			 2);
	assert_int_equal(stage_number(&stage, "older", "SELECT count(to_regclass('tare.two'))"), 1);
	assert_int_equal(pg_schema_open(reader, steps, 2, &err), 0);
	fleet_store_postgres.close(reader);
	pg_place_close(&place);
}

static void what_is_no_store_is_said_to_be_none(void **state)
{
	struct err err = ERR_EMPTY;
	struct pg_place place;
	void *db;

	(void)state;
	make_database("none", "");
	assert_int_equal(open_as(NULL, "none", FLEET_READ, &db, &err), -ENOENT);
	assert_non_null(strstr(err.mend, "collector"));
	assert_int_equal(stage_number(&stage, "none",
				      "SELECT count(*) FROM pg_namespace WHERE nspname = 'tare'"),
			 0);
	stage_run(&stage, "none", "CREATE SCHEMA tare; CREATE TABLE tare.run (mine text)");
	assert_int_equal(open_as(NULL, "none", FLEET_READ, &db, &err), -EBADMSG);
	assert_int_equal(open_as(NULL, "none", FLEET_WRITE, &db, &err), -EBADMSG);
	assert_int_equal(stage_number(&stage, "none",
				      "SELECT count(*) FROM pg_class WHERE relnamespace = "
				      "'tare'::regnamespace"),
			 1);
	pg_place_open(&place, &stage, "bent");
	pg_place_close(&place);
	stage_run(&stage, "bent", "ALTER TABLE tare.run DROP COLUMN reason");
	assert_int_equal(open_as(NULL, "bent", FLEET_WRITE, &db, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "table run has no column reason"));
	make_database("latin", "ENCODING 'LATIN1' TEMPLATE template0");
	assert_int_equal(open_as(NULL, "latin", FLEET_WRITE, &db, &err), -EBADMSG);
	assert_non_null(strstr(err.mend, "UTF8"));
}

/* -- rights -- */

/* Runs the SQL that a mend advises, as superuser: what stands between ": " and the end, or "; nothing". */
static void do_as_advised(const char *database, const char *mend)
{
	char sql[512];
	const char *from = strstr(mend, ": ");
	char *rest;

	if (from == NULL)
		fail_msg("there is no SQL in '%s'", mend);
	snprintf(sql, sizeof(sql), "%s", from + 2);
	rest = strstr(sql, "; nothing");
	if (rest != NULL)
		*rest = '\0';
	stage_run(&stage, database, sql);
}

static void a_role_without_rights_is_told_the_least_that_it_needs(void **state)
{
	struct err err = ERR_EMPTY;
	struct pg_place place = { .ops = &fleet_store_postgres };
	struct fleet_limits limits = FLEET_LIMITS_DEFAULT;
	struct fleet_tidied tidied;
	struct fleet_batch batch;

	(void)state;
	make_database("rights", "");
	stage_run(&stage, "rights", "CREATE ROLE \"poor one\" LOGIN");
	assert_int_equal(open_as("poor%20one", "rights", FLEET_WRITE, &place.db, &err), -EACCES);
	assert_non_null(strstr(err.msg, "\"poor one\""));
	assert_non_null(strstr(err.mend, "CREATE SCHEMA tare AUTHORIZATION \"poor one\""));
	do_as_advised("rights", err.mend);
	/* That is all it needs, for tidying too. */
	if (open_as("poor%20one", "rights", FLEET_WRITE, &place.db, &err) != 0)
		fail_msg("%s", err.msg);
	store_batch(&batch, 1, 1, DAWN_NS, 5);
	assert_false(store_put(&place, &batch));
	if (place.ops->tidy(place.db, (struct wall){ DAWN_NS + 20 * PG_DAY_NS }, &limits,
			    60 * NS_PER_S, &tidied, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(store_count(&place, &table_statement), 0);
	assert_int_equal(store_count(&place, &table_statement_day), 5);
	fleet_batch_free(&batch);
	pg_place_close(&place);
}

static void a_reader_needs_no_more_than_select_and_can_write_nothing(void **state)
{
	struct pg_place place, reader = { .ops = &fleet_store_postgres };
	struct err err = ERR_EMPTY;
	struct fleet_batch batch;
	const struct fleet_batch *batches[] = { &batch };
	bool was_there;

	(void)state;
	pg_place_open(&place, &stage, "reader");
	store_batch(&batch, 1, 1, DAWN_NS, 5);
	assert_false(store_put(&place, &batch));
	stage_run(&stage, "reader", "CREATE ROLE looker LOGIN");
	assert_int_equal(open_as("looker", "reader", FLEET_READ, &reader.db, &err), -EACCES);
	do_as_advised("reader", err.mend);
	if (open_as("looker", "reader", FLEET_READ, &reader.db, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(store_count(&reader, &table_statement), 5);
	fleet_store_postgres.close(reader.db);
	/* Not even the owner, when he only reads. */
	assert_int_equal(open_as(NULL, "reader", FLEET_READ, &reader.db, &err), 0);
	batch.cycle = 2;
	assert_int_not_equal(reader.ops->put(reader.db, batches, 1, &was_there, &err), 0);
	assert_int_equal(store_count(&reader, &table_statement), 5);
	fleet_batch_free(&batch);
	pg_place_close(&reader);
	pg_place_close(&place);
}

/* -- secrets, names -- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void no_password_is_in_any_message(void **state)
{
	static const char *const urls[] = {
		"postgresql://u:hunter2@127.0.0.1:1/x",
		"postgresql://u:hunter2@/x?host=/nowhere",
		"postgresql://u:hunter2@/x?hots=/tmp",
		"postgresql://u:hunter2@[::1/x",
		"postgresql://u:%zzhunter2@h/x",
		"postgresql://u@h/x?password=hunter2&hunter2",
		"postgresql://u@127.0.0.1:hunter2/x",
		"postgresql://u:a@hunter2@127.0.0.1/x",
		"postgresql://u:hunter2/x",
		"postgresql://u:hunter2@127.0.0.1:1/x?sslmode=hunter2",
		"postgres://u:hunter2@nosuch.invalid/x",
	};
	double began = seconds();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		struct err err = ERR_EMPTY;
		void *db = NULL;
		int rc = fleet_store_postgres.open(urls[i], FLEET_WRITE, &db, &err);

		print_message("%s\n", err.msg);
		assert_true(rc == -EINVAL || rc == -EHOSTUNREACH);
		assert_true(err.msg[0] != '\0');
		assert_null(strstr(err.msg, "hunter2"));
		assert_null(strstr(err.works, "hunter2"));
		assert_null(strstr(err.mend, "hunter2"));
	}
	assert_true(seconds() - began < 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_openers_at_once_one_makes_the_schema_and_all_have_it),
		cmocka_unit_test(a_newer_schema_is_refused_and_says_which_tare_it_needs),
		cmocka_unit_test(an_older_schema_is_migrated_in_one_piece_or_not_at_all),
		cmocka_unit_test(what_is_no_store_is_said_to_be_none),
		cmocka_unit_test(a_role_without_rights_is_told_the_least_that_it_needs),
		cmocka_unit_test(a_reader_needs_no_more_than_select_and_can_write_nothing),
		cmocka_unit_test(no_password_is_in_any_message),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
