/* fleet_sqlite_enrol.c - who is in the fleet, and in which seat; places of owed captures. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cadence.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/rows.h"
#include "store/sqlite.h"

/* A server that the store knows. */
struct known {
	uint32_t server, seat;
	char *name; /* owned */
	uint32_t name_len;
	bool stays;
};

/* The fleet as it was, and as it is to be. */
struct fleet {
	struct fleet_sqlite *f;
	struct known *known; /* owned */
	size_t count, room;
	struct server_row *servers; /* borrowed: who is to be in it */
	size_t server_count;
	uint32_t newest; /* highest number ever given */
	uint32_t *seats; /* owned: of `servers` */
	struct err *err;
};

static void fleet_drop(struct fleet *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->known[i].name);
	free(e->known);
	free(e->seats);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "cannot enrol the fleet: out of memory");
}

static int know(void *owner, const void *server)
{
	const struct server_row *row = server;
	struct fleet *e = owner;

	if (e->count == e->room) {
		size_t room = e->room == 0 ? 64 : e->room * 2;
		void *more = reallocarray(e->known, room, sizeof(*e->known));

		if (more == NULL)
			return no_memory(e->err);
		e->known = more;
		e->room = room;
	}
	e->known[e->count] =
		(struct known){ row->server, row->seat, malloc((size_t)row->name.len + 1),
				row->name.len, false };
	if (e->known[e->count].name == NULL)
		return no_memory(e->err);
	memcpy(e->known[e->count].name, row->name.bytes, row->name.len);
	e->newest = row->server > e->newest ? row->server : e->newest;
	e->count++;
	return 0;
}

static bool is_name(const struct known *k, const struct str *name)
{
	return k->name_len == name->len && memcmp(k->name, name->bytes, name->len) == 0;
}

/* Each row gets its old number, and its seat if it is still in it. */
static int recognise(struct fleet *e)
{
	for (size_t i = 0; i < e->server_count; i++) {
		struct server_row *row = &e->servers[i];

		if (row->name.len == 0 || row->name.len > STR_MAX_BYTES)
			return err_set(e->err, -EINVAL, "cannot enrol server %zu: it has no name",
				       i + 1);
		row->server = row->seat = NO_ID;
		for (size_t k = 0; k < e->count; k++) {
			if (!is_name(&e->known[k], &row->name))
				continue;
			if (e->known[k].stays)
				return err_set(e->err, -EINVAL,
					       "cannot enrol '%.*s': there are two of this name",
					       (int)row->name.len, row->name.bytes);
			e->known[k].stays = true;
			row->server = e->known[k].server;
			row->seat = e->known[k].seat;
			break;
		}
	}
	return 0;
}

static bool is_same_name(const struct server_row *a, const struct server_row *b)
{
	return a->name.len == b->name.len && memcmp(a->name.bytes, b->name.bytes, a->name.len) == 0;
}

/* New ones are told from each other too. */
static int number_new(struct fleet *e)
{
	for (size_t i = 0; i < e->server_count; i++) {
		struct server_row *row = &e->servers[i];

		if (row->server != NO_ID)
			continue;
		for (size_t k = 0; k < i; k++)
			if (is_same_name(row, &e->servers[k]))
				return err_set(e->err, -EINVAL,
					       "cannot enrol '%.*s': there are two of this name",
					       (int)row->name.len, row->name.bytes);
		row->server = ++e->newest;
	}
	return 0;
}

/* Who has none takes the lowest free seat; then holes are filled from the top. */
static int seat_all(struct fleet *e)
{
	size_t seated = 0;

	e->seats = calloc(e->server_count + 1, sizeof(*e->seats));
	if (e->seats == NULL)
		return no_memory(e->err);
	for (size_t i = 0; i < e->server_count; i++)
		if (e->servers[i].seat != NO_ID)
			e->seats[seated++] = e->servers[i].seat;
	for (size_t i = 0; i < e->server_count; i++) {
		if (e->servers[i].seat != NO_ID)
			continue;
		e->servers[i].seat = cadence_free_seat(e->seats, seated);
		e->seats[seated++] = e->servers[i].seat;
	}
	for (size_t i = 0; i < e->server_count; i++)
		e->seats[i] = e->servers[i].seat;
	for (;;) {
		uint32_t hole = cadence_free_seat(e->seats, e->server_count);
		size_t mover;

		if (hole >= e->server_count)
			return 0;
		mover = cadence_fill_hole(e->seats, e->server_count, hole);
		if (mover == e->server_count)
			return 0;
		e->seats[mover] = e->servers[mover].seat = hole;
	}
}

static int run_bound(struct fleet_sqlite *f, sqlite3_stmt *stmt, struct err *err)
{
	int rc = fleet_step(f, stmt, "write", err);

	sqlite3_clear_bindings(stmt);
	return rc;
}

static int unseat(struct fleet *e)
{
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(e->f->db, "UPDATE server SET seat = NULL WHERE server = ?", -1,
				    &stmt, NULL);

	if (rc != SQLITE_OK)
		return fleet_fail(e->f, rc, "write", e->err);
	for (size_t i = 0; i < e->count; i++) {
		if (e->known[i].stays || e->known[i].seat == NO_ID)
			continue;
		sqlite3_bind_int64(stmt, 1, e->known[i].server);
		rc = run_bound(e->f, stmt, e->err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Name, kind, address and seat are the settings'; what the server says of itself stays. */
static int write_seats(struct fleet *e)
{
	static const char sql_end[] =
		" ON CONFLICT DO UPDATE SET name = excluded.name, kind = excluded.kind, "
		"address = excluded.address, seat = excluded.seat";
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	struct sql sql = { "" };
	int rc;

	sql_add(&sql, "INSERT INTO server (");
	sql_columns(&sql, &table_server, "");
	sql_add(&sql, ") VALUES (");
	for (size_t i = 0; i < table_server.field_count; i++)
		sql_add(&sql, i > 0 ? ",?" : "?");
	sql_add(&sql, ")%s", sql_end);
	rc = sqlite3_prepare_v2(e->f->db, sql.text, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return fleet_fail(e->f, rc, "write", e->err);
	for (size_t i = 0; i < e->server_count; i++) {
		struct server_row row = { .server = e->servers[i].server,
					  .name = e->servers[i].name,
					  .kind = e->servers[i].kind,
					  .address = e->servers[i].address,
					  .seat = e->servers[i].seat };

		rc = rows_bind(stmt, &table_server, &row, e->err);
		if (rc == 0)
			rc = run_bound(e->f, stmt, e->err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int fleet_sqlite_enrol(void *db, struct server_row *servers, size_t count, struct err *err)
{
	SCOPED(fleet_drop)
	struct fleet e = { .f = db, .servers = servers, .server_count = count, .err = err };
	struct fleet_range all = FLEET_RANGE_ALL;
	int rc = fleet_begin(e.f, err);

	if (rc == 0)
		rc = fleet_sqlite_scan(db, &table_server, &all, know, &e, err);
	if (rc == 0)
		rc = recognise(&e);
	if (rc == 0)
		rc = number_new(&e);
	if (rc == 0)
		rc = seat_all(&e);
	if (rc == 0)
		rc = unseat(&e);
	if (rc == 0)
		rc = write_seats(&e);
	if (rc == 0)
		return fleet_commit(e.f, err);
	fleet_rollback(e.f);
	return rc;
}

int fleet_sqlite_take_place(void *db, uint32_t reading, int64_t slot, uint32_t allowance,
			    bool *out_has, struct err *err)
{
	static const char sql[] =
		"INSERT INTO place (reading, slot, taken) SELECT ?1, ?2, 1 WHERE ?3 > 0 "
		"ON CONFLICT DO UPDATE SET taken = taken + 1 WHERE taken < ?3";
	SCOPED(sqlite_finalize_scoped) sqlite3_stmt *stmt = NULL;
	struct fleet_sqlite *f = db;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return fleet_fail(f, rc, "write", err);
	sqlite3_bind_int64(stmt, 1, reading);
	sqlite3_bind_int64(stmt, 2, slot);
	sqlite3_bind_int64(stmt, 3, allowance);
	rc = fleet_step(f, stmt, "write", err);
	if (rc == 0)
		*out_has = sqlite3_changes(f->db) > 0;
	return rc;
}
