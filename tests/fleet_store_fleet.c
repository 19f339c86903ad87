/* fleet_store_fleet.c - seats: who joins, who leaves, who comes back; places of owed captures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/recording.h"
#include "core/rng.h"
#include "core/scoped.h"
#include "fleet_store_stage.h"

#define MOST 60

/* Names that are kept, so that rows can borrow them. */
static char names[MOST][16];

static struct server_row server_named(size_t i)
{
	snprintf(names[i], sizeof(names[i]), "db%zu", i);
	return (struct server_row){ .name = { names[i], (uint32_t)strlen(names[i]) },
				    .kind = STR_LITERAL("postgresql"),
				    .address = STR_LITERAL("host=x") };
}

/* Everybody has a seat below `count`, nobody two. */
static void seats_are_whole(const struct server_row *servers, size_t count)
{
	bool is_taken[MOST] = { false };

	for (size_t i = 0; i < count; i++) {
		assert_true(servers[i].seat < count);
		assert_false(is_taken[servers[i].seat]);
		is_taken[servers[i].seat] = true;
	}
}

static void who_joins_takes_the_lowest_seat_and_keeps_his_number(void **state)
{
	struct server_row servers[5];
	struct err err = ERR_EMPTY;
	uint32_t numbers[5];
	void *db = stage_fresh();

	(void)state;
	for (size_t i = 0; i < 5; i++)
		servers[i] = server_named(i);
	ok(suite->ops->enrol(db, servers, 5, &err), &err);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(servers[i].seat, i);
		assert_true(servers[i].server > 0);
		numbers[i] = servers[i].server;
	}
	suite->ops->close(db);
	/* A restart changes nothing, and neither does the order of the settings. */
	db = stage_open(FLEET_WRITE);
	for (size_t i = 0; i < 5; i++)
		servers[i] = server_named(4 - i);
	ok(suite->ops->enrol(db, servers, 5, &err), &err);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(servers[i].seat, 4 - i);
		assert_int_equal(servers[i].server, numbers[4 - i]);
	}
	suite->ops->close(db);
}

static void when_one_leaves_the_highest_seat_moves_into_the_hole(void **state)
{
	struct server_row servers[5];
	struct err err = ERR_EMPTY;
	uint32_t second;
	struct found found;
	void *db = stage_fresh();

	(void)state;
	for (size_t i = 0; i < 5; i++)
		servers[i] = server_named(i);
	ok(suite->ops->enrol(db, servers, 5, &err), &err);
	second = servers[1].server;
	servers[1] = server_named(4);
	ok(suite->ops->enrol(db, servers, 4, &err), &err);
	assert_int_equal(servers[0].seat, 0);
	assert_int_equal(servers[1].seat, 1); /* db4 had seat 4 */
	assert_int_equal(servers[2].seat, 2);
	assert_int_equal(servers[3].seat, 3);
	found = found_rows(db, &table_server, &FLEET_RANGE_ALL);
	assert_int_equal(found.count, 5);
	for (size_t i = 0; i < found.count; i++) {
		const struct server_row *row = &((struct server_row *)found.rows)[i];

		assert_int_equal(row->seat == NO_ID, row->server == second);
	}
	found_free(&found);
	/* He comes back as who he was, in the next free seat. */
	servers[4] = server_named(1);
	ok(suite->ops->enrol(db, servers, 5, &err), &err);
	assert_int_equal(servers[4].server, second);
	assert_int_equal(servers[4].seat, 4);
	suite->ops->close(db);
}

static void after_any_joins_and_leaves_seats_are_whole_and_few_have_moved(void **state)
{
	uint32_t seat_of[MOST], number_of[MOST];
	bool is_in[MOST] = { false };
	struct server_row servers[MOST];
	struct err err = ERR_EMPTY;
	struct rng r;
	void *db = stage_fresh();

	(void)state;
	rng_seed(&r, 11);
	memset(number_of, 0, sizeof(number_of));
	for (int round = 0; round < 60; round++) {
		size_t count = 0, leavers = 0, moved = 0, index[MOST];

		for (size_t i = 0; i < MOST; i++) {
			bool was_in = is_in[i];

			if (rng_below(&r, 5) == 0)
				is_in[i] = !is_in[i];
			leavers += was_in && !is_in[i];
			if (!is_in[i])
				seat_of[i] = NO_ID;
			if (is_in[i]) {
				index[count] = i;
				if (!was_in)
					seat_of[i] = NO_ID;
				servers[count++] = server_named(i);
			}
		}
		ok(suite->ops->enrol(db, servers, count, &err), &err);
		seats_are_whole(servers, count);
		for (size_t k = 0; k < count; k++) {
			size_t i = index[k];

			moved += seat_of[i] != NO_ID && seat_of[i] != servers[k].seat;
			seat_of[i] = servers[k].seat;
			if (number_of[i] != 0)
				assert_int_equal(servers[k].server, number_of[i]);
			number_of[i] = servers[k].server;
		}
		/* Only into holes that leavers left. */
		assert_true(moved <= leavers);
	}
	suite->ops->close(db);
}

static void a_fleet_with_two_of_a_name_is_refused_and_stays_as_it_was(void **state)
{
	struct server_row servers[3];
	struct err err = ERR_EMPTY;
	void *db = stage_fresh();

	(void)state;
	servers[0] = server_named(0);
	servers[1] = server_named(1);
	ok(suite->ops->enrol(db, servers, 2, &err), &err);
	/* Two that are known, two that are new, and one without a name. */
	servers[0] = server_named(0);
	servers[1] = server_named(0);
	assert_int_equal(suite->ops->enrol(db, servers, 2, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "db0"));
	servers[0] = server_named(5);
	servers[1] = server_named(5);
	assert_int_equal(suite->ops->enrol(db, servers, 2, &err), -EINVAL);
	servers[0].name.len = 0;
	assert_int_equal(suite->ops->enrol(db, servers, 1, &err), -EINVAL);
	assert_int_equal(count_rows(db, &table_server), 2);
	suite->ops->close(db);
}

static void a_visit_does_not_change_name_and_seat(void **state)
{
	struct server_row server = server_named(0);
	struct err err = ERR_EMPTY;
	struct fleet_batch b;
	struct found found;
	const struct server_row *row;
	void *db = stage_fresh();

	(void)state;
	ok(suite->ops->enrol(db, &server, 1, &err), &err);
	server = (struct server_row){ .server = server.server,
				      .seat = NO_ID,
				      .is_standby = true,
				      .first_wall_ns = BASE_NS,
				      .seen_wall_ns = BASE_NS,
				      .ahead_ns = -5 };
	b = batch_of(server.server, 1, &table_server, &server);
	put_one(db, &b);
	server.first_wall_ns = server.seen_wall_ns = BASE_NS + 1;
	b = batch_of(server.server, 2, &table_server, &server);
	put_one(db, &b);
	found = found_rows(db, &table_server, &FLEET_RANGE_ALL);
	row = (struct server_row *)found.rows;
	assert_int_equal(row->seat, 0);
	assert_int_equal(row->name.len, 3);
	assert_int_equal(row->address.len, 6);
	assert_true(row->is_standby);
	assert_int_equal(row->first_wall_ns, BASE_NS);
	assert_int_equal(row->seen_wall_ns, BASE_NS + 1);
	assert_int_equal(row->ahead_ns, -5);
	found_free(&found);
	/* And enrolling again does not change what the visit said. */
	server = server_named(0);
	ok(suite->ops->enrol(db, &server, 1, &err), &err);
	found = found_rows(db, &table_server, &FLEET_RANGE_ALL);
	assert_int_equal(((struct server_row *)found.rows)->seen_wall_ns, BASE_NS + 1);
	found_free(&found);
	suite->ops->close(db);
}

static uint32_t places_taken(void *db, uint32_t reading, int64_t slot, uint32_t allowance)
{
	struct err err = ERR_EMPTY;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < 10; i++) {
		bool has = false;

		ok(suite->ops->take_place(db, reading, slot, allowance, &has, &err), &err);
		taken += has;
	}
	return taken;
}

static void a_slot_gives_no_more_places_than_it_is_allowed(void **state)
{
	void *db = stage_fresh();

	(void)state;
	assert_int_equal(places_taken(db, 0, 500, 3), 3);
	assert_int_equal(places_taken(db, 0, 500, 3), 0);
	assert_int_equal(places_taken(db, 0, 501, 4), 4);
	assert_int_equal(places_taken(db, 1, 500, 1), 1);
	assert_int_equal(places_taken(db, 0, 502, 0), 0);
	/* Allowed more meanwhile: the rest. */
	assert_int_equal(places_taken(db, 0, 500, 5), 2);
	suite->ops->close(db);
	db = stage_open(FLEET_WRITE);
	assert_int_equal(places_taken(db, 0, 500, 5), 0);
	suite->ops->close(db);
}

int suite_fleet(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_joins_takes_the_lowest_seat_and_keeps_his_number),
		cmocka_unit_test(when_one_leaves_the_highest_seat_moves_into_the_hole),
		cmocka_unit_test(after_any_joins_and_leaves_seats_are_whole_and_few_have_moved),
		cmocka_unit_test(a_fleet_with_two_of_a_name_is_refused_and_stays_as_it_was),
		cmocka_unit_test(a_visit_does_not_change_name_and_seat),
		cmocka_unit_test(a_slot_gives_no_more_places_than_it_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
