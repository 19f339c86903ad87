/* fleet_postgres_enrol.c - seats of the fleet, places of a slot, and the store's size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cadence.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_postgres.h"

/* A server that the store knows. */
struct known {
	uint32_t server, seat;
	char *name; /* owned */
	uint32_t name_len;
};

struct enrol {
	struct pg_store *p;
	struct server_row *servers; /* the fleet as it is to be */
	size_t count;
	struct known *known; /* owned */
	size_t known_count;
	uint32_t next; /* the next number */
};

static void enrol_free(struct enrol *e)
{
	for (size_t i = 0; i < e->known_count; i++)
		free(e->known[i].name);
	free(e->known);
	e->known = NULL;
	e->known_count = 0;
}

static bool is_named(const struct server_row *s, const char *name, uint32_t len)
{
	return s->name.len == len && memcmp(s->name.bytes, name, len) == 0;
}

static int check_names(const struct server_row *servers, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (servers[i].name.len == 0)
			return err_set(err, -EINVAL, "cannot enrol a server without a name");
		for (size_t j = 0; j < i; j++)
			if (is_named(&servers[i], servers[j].name.bytes, servers[j].name.len))
				return err_set(err, -EINVAL,
					       "cannot enrol two servers of one name: %.*s",
					       (int)servers[i].name.len, servers[i].name.bytes);
	}
	return 0;
}

/* Reads the servers that are known. */
static int load(struct enrol *e, struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	SCOPED(pg_result_free) PGresult *res = NULL;
	SCOPED(pg_bytes_free) struct pg_bytes text = { NULL, 0, 0, false };
	int rc;

	text_put(&sql, "SELECT ");
	pg_put_columns(&sql, &table_server, "");
	text_put(&sql, " FROM tare.server ORDER BY server FOR UPDATE");
	if (sql.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	rc = pg_query(&e->p->wire, text_chars(&sql), NULL, &res, err);
	if (rc != 0)
		return rc;
	e->known = calloc((size_t)PQntuples(res) + 1, sizeof(*e->known));
	e->next = 1;
	for (int i = 0; e->known != NULL && i < PQntuples(res); i++) {
		struct known *k = &e->known[e->known_count];
		struct server_row row;

		rc = pg_row_read(res, i, &table_server, &row, &text, err);
		if (rc != 0)
			return rc;
		*k = (struct known){ row.server, row.seat, malloc(row.name.len + 1), row.name.len };
		if (k->name == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		memcpy(k->name, row.name.bytes, row.name.len);
		e->known_count++;
		if (row.server >= e->next)
			e->next = row.server + 1;
	}
	return e->known != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Numbers of all, and seats of those that stay: NO_ID for who is new or back. */
static void recognise(struct enrol *e)
{
	for (size_t i = 0; i < e->count; i++) {
		struct server_row *s = &e->servers[i];
		size_t k = 0;

		while (k < e->known_count && !is_named(s, e->known[k].name, e->known[k].name_len))
			k++;
		s->seat = k < e->known_count ? e->known[k].seat : NO_ID;
		s->server = k < e->known_count ? e->known[k].server : e->next++;
	}
}

/* Seats: who has none takes the lowest free one; then the highest moves into a hole while there is one. -ENOMEM. */
static int seat(struct enrol *e)
{
	uint32_t *seats = calloc(e->count + 1, sizeof(*seats));
	size_t taken = 0;

	if (seats == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < e->count; i++)
		if (e->servers[i].seat != NO_ID)
			seats[taken++] = e->servers[i].seat;
	for (size_t i = 0; i < e->count; i++)
		if (e->servers[i].seat == NO_ID) {
			seats[taken] = e->servers[i].seat = cadence_free_seat(seats, taken);
			taken++;
		}
	for (size_t i = 0; i < e->count; i++)
		seats[i] = e->servers[i].seat;
	for (;;) {
		uint32_t hole = cadence_free_seat(seats, e->count);
		size_t mover = cadence_fill_hole(seats, e->count, hole);

		if (mover == e->count)
			break;
		seats[mover] = e->servers[mover].seat = hole;
	}
	free(seats);
	return 0;
}

static int write_all(struct enrol *e, struct err *err)
{
	static const char gone[] = "UPDATE tare.server SET seat = NULL WHERE seat IS NOT NULL AND "
				   "server <> ALL ($1)";
	static const struct field number = { "server", FIELD_U32,
					     offsetof(struct server_row, server), 1, NULL };
	static const struct table numbers = { "server", NULL, &number, 1,
					      sizeof(struct server_row) };
	const struct pg_rows rows = { e->servers, e->count, false };
	SCOPED(text_free) struct text sql = TEXT_EMPTY, members = TEXT_EMPTY;
	int rc = pg_pipe_begin(&e->p->wire, err);

	text_put(&members, gone);
	text_put(&sql, "INSERT INTO tare.server AS o (");
	pg_put_columns(&sql, &table_server, "");
	text_put(&sql, ") SELECT ");
	pg_put_columns(&sql, &table_server, "r.");
	text_put(&sql, " FROM ");
	pg_put_unnest(&sql, &table_server);
	text_put(&sql,
		 " ON CONFLICT (server) DO UPDATE SET name = EXCLUDED.name, kind = EXCLUDED.kind, "
		 "address = EXCLUDED.address, seat = EXCLUDED.seat");
	if (rc == 0)
		rc = pg_pipe_add_rows(e->p, &members, &numbers, &rows, err);
	if (rc == 0)
		rc = pg_pipe_add_rows(e->p, &sql, &table_server, &rows, err);
	if (rc == 0)
		rc = pg_pipe_add(&e->p->wire, "COMMIT", NULL, err);
	return rc != 0 ? rc : pg_pipe_end(&e->p->wire, NULL, 0, err);
}

static int enrol_once(struct enrol *e, struct err *err)
{
	struct pg_args lock = { .count = 0 };
	int rc = pg_command(&e->p->wire, "BEGIN", err);

	pg_arg_i64(&lock, PG_LOCK_CLASS);
	pg_arg_i64(&lock, PG_LOCK_FLEET);
	if (rc == 0)
		rc = pg_query(&e->p->wire, "SELECT pg_advisory_xact_lock($1::int, $2::int)", &lock,
			      NULL, err);
	if (rc == 0)
		rc = load(e, err);
	if (rc != 0)
		return rc;
	recognise(e);
	if (seat(e) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	return write_all(e, err);
}

int pg_enrol(void *db, struct server_row *servers, size_t count, struct err *err)
{
	struct pg_store *p = db;
	struct server_row *copy;
	int rc = check_names(servers, count, err);

	if (rc == 0)
		rc = pg_call(p, PG_CALL_MS, err);
	if (rc != 0)
		return rc;
	copy = calloc(count + 1, sizeof(*copy));
	if (copy == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (int tries = 0; tries < 3; tries++) {
		SCOPED(enrol_free) struct enrol e = { p, copy, count, NULL, 0, 1 };

		if (count > 0)
			memcpy(copy, servers, count * sizeof(*copy));
		*err = ERR_EMPTY;
		rc = enrol_once(&e, err);
		if (rc != 0)
			pg_abandon(p);
		if (rc != -EAGAIN || p->wire.conn == NULL)
			break;
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		servers[i].server = copy[i].server;
		servers[i].seat = copy[i].seat;
	}
	free(copy);
	return pg_answer(rc, err);
}

int pg_take_place(void *db, uint32_t reading, int64_t slot, uint32_t allowance, bool *out_has,
		  struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	struct pg_args args = { .count = 0 };
	struct pg_store *p = db;
	int rc = pg_call(p, PG_CALL_MS, err);

	if (rc != 0)
		return rc;
	pg_arg_i64(&args, reading);
	pg_arg_i64(&args, slot);
	pg_arg_i64(&args, allowance);
	rc = pg_query(&p->wire,
		      "INSERT INTO tare.place AS o (reading, slot, taken) "
		      "SELECT $1, $2, 1 WHERE $3 > 0 ON CONFLICT (reading, slot) "
		      "DO UPDATE SET taken = o.taken + 1 WHERE o.taken < $3 RETURNING taken",
		      &args, &res, err);
	if (rc == 0)
		*out_has = PQntuples(res) == 1;
	return pg_answer(rc, err);
}

int pg_size(void *db, uint64_t *out_bytes, struct err *err)
{
	SCOPED(pg_result_free) PGresult *res = NULL;
	struct pg_store *p = db;
	int rc = pg_call(p, PG_CALL_MS, err);

	if (rc == 0)
		rc = pg_query(&p->wire,
			      "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM "
			      "pg_class "
			      "WHERE relnamespace = 'tare'::regnamespace AND relkind IN ('r', 'p')",
			      NULL, &res, err);
	if (rc == 0)
		*out_bytes = (uint64_t)pg_value_i64(res, 0, 0);
	return pg_answer(rc, err);
}
