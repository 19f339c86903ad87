/* fleet_sqlite_put.c - batches of visits in one transaction, each once. */
#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_sqlite.h"
#include "store/rows.h"

#define WAL_MOST_PAGES 131072 /* 512 MB of -wal: somebody sits on it */

/* One attempt to write batches. */
struct putting {
	struct fleet_sqlite *f;
	const struct fleet_table *table; /* of the block in hand */
	size_t place;
	uint32_t marked_server; /* the hour that was marked last */
	int64_t marked_ns;
	bool has_marked;
};

/* What can not be bound can never be written. */
static int bind_row(sqlite3_stmt *stmt, const struct table *t, const void *row, struct err *err)
{
	int rc = rows_bind(stmt, t, row, err);

	if (rc == -ERANGE)
		rc = err->code = -EINVAL;
	return rc;
}

static int put_bound(struct putting *p, sqlite3_stmt *stmt, const void *row, struct err *err)
{
	int rc = bind_row(stmt, p->table->table, row, err);

	return rc != 0 ? rc : fleet_step(p->f, stmt, "write", err);
}

static int put_raw(struct putting *p, const void *row, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt_of(p->f, p->place, TABLE_PUT, err);

	return stmt == NULL ? err->code : put_bound(p, stmt, row, err);
}

/* Onto the sum of its hour or day, since rows of its time are gone. */
static int add_late(struct putting *p, const void *row, enum table_stmt which, int64_t at_ns,
		    struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt_of(p->f, p->place, which, err);

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, (int)p->table->table->field_count + 1, at_ns);
	return put_bound(p, stmt, row, err);
}

static const struct horizon *horizon_of(const struct putting *p, const struct table *t)
{
	return &p->f->horizons[fleet_place(t)];
}

static int put_late(struct putting *p, const void *row, uint32_t server, int64_t at_ns,
		    struct err *err)
{
	int64_t hour_ns = fleet_floor_ns(at_ns, FLEET_HOUR_NS);
	int64_t day_ns = fleet_floor_ns(at_ns, FLEET_DAY_NS);
	int rc;

	if (hour_ns >= horizon_of(p, p->table->hourly)->before_ns) {
		rc = add_late(p, row, TABLE_ADD, hour_ns, err);
		if (rc == 0 && p->table->daily != NULL)
			rc = fleet_mark(p->f, 2, at_ns, p->place, server, err);
		return rc;
	}
	if (p->table->daily != NULL && day_ns >= horizon_of(p, p->table->daily)->before_ns)
		return add_late(p, row, TABLE_ADD_DAY, day_ns, err);
	return 0; /* older than anything is kept */
}

static int mark_hour(struct putting *p, uint32_t server, int64_t at_ns, struct err *err)
{
	int64_t hour_ns = fleet_floor_ns(at_ns, FLEET_HOUR_NS);

	if (p->has_marked && p->marked_server == server && p->marked_ns == hour_ns)
		return 0;
	p->has_marked = true;
	p->marked_server = server;
	p->marked_ns = hour_ns;
	return fleet_mark(p->f, 1, at_ns, p->place, server, err);
}

/* A row of a table that is summed. */
static int put_summed(struct putting *p, const void *row, struct err *err)
{
	int64_t at_ns = fleet_row_time(p->table->table, row);
	uint32_t server;
	int rc = 0;

	memcpy(&server, (const char *)row + p->table->table->fields[0].offset, sizeof(server));
	if (at_ns >= p->f->horizons[p->place].before_ns) {
		rc = mark_hour(p, server, at_ns, err);
		return rc != 0 ? rc : put_raw(p, row, err);
	}
	rc = put_late(p, row, server, at_ns, err);
	/* A run is kept in any case: by it a batch that comes again is known. */
	return rc == 0 && p->table->table == &table_run ? put_raw(p, row, err) : rc;
}

/* How the bytes of payloads change by this row. */
static int count_payload(struct putting *p, const struct payload_row *row, bool is_drop,
			 struct err *err)
{
	sqlite3_stmt *length = fleet_stmt(p->f, FLEET_PAYLOAD_LENGTH, err), *add;
	int64_t before = 0, after;

	if (length == NULL)
		return err->code;
	sqlite3_bind_int64(length, 1, row->server);
	sqlite3_bind_blob(length, 2, row->digest.bytes, sizeof(row->digest.bytes), SQLITE_STATIC);
	if (sqlite3_step(length) == SQLITE_ROW)
		before = sqlite3_column_int64(length, 0);
	sqlite3_reset(length);
	after = is_drop ? 0 : row->content.len > 0 ? row->content.len : before;
	if (after == before)
		return 0;
	add = fleet_stmt(p->f, FLEET_PAYLOAD_BYTES, err);
	if (add == NULL)
		return err->code;
	sqlite3_bind_int64(add, 1, after - before);
	return fleet_step(p->f, add, "write", err);
}

static int put_row(struct putting *p, const void *row, struct err *err)
{
	int rc = 0;

	if (p->table->hourly != NULL)
		return put_summed(p, row, err);
	if (p->table->table == &table_payload)
		rc = count_payload(p, row, false, err);
	return rc != 0 ? rc : put_raw(p, row, err);
}

static int bind_key(sqlite3_stmt *stmt, const struct table *t, const void *row, struct err *err)
{
	struct table key = *t;

	key.field_count = fleet_key_count(t);
	return bind_row(stmt, &key, row, err);
}

static int drop_row(struct putting *p, const void *row, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt_of(p->f, p->place, TABLE_DROP, err);
	int rc = 0;

	if (stmt == NULL)
		return err->code;
	if (p->table->table == &table_payload)
		rc = count_payload(p, row, true, err);
	if (rc == 0)
		rc = bind_key(stmt, p->table->table, row, err);
	return rc != 0 ? rc : fleet_step(p->f, stmt, "write", err);
}

static int put_block(struct fleet_sqlite *f, const struct fleet_block *block, struct err *err)
{
	struct putting p = { .f = f, .place = fleet_place(block->table) };
	int rc = 0;

	if (p.place == fleet_table_count)
		return err_set(err, -EINVAL, "cannot write table %s: it is none of a fleet's",
			       block->table->name);
	p.table = &fleet_tables[p.place];
	for (size_t i = 0; i < block->count && rc == 0; i++)
		rc = block->verb == BLOCK_DROP ? drop_row(&p, fleet_block_row(block, i), err)
					       : put_row(&p, fleet_block_row(block, i), err);
	return rc;
}

/* Strings that were cut on their way are counted in the store. */
static int count_cut(struct fleet_sqlite *f, uint64_t cut, struct err *err)
{
	sqlite3_stmt *stmt = cut > 0 ? fleet_stmt(f, FLEET_CUT, err) : NULL;

	if (cut == 0)
		return 0;
	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)(cut & INT64_MAX));
	return fleet_step(f, stmt, "write", err);
}

static int has_run(struct fleet_sqlite *f, const struct fleet_batch *b, bool *out, struct err *err)
{
	sqlite3_stmt *stmt = fleet_stmt(f, FLEET_HAS_RUN, err);
	int rc;

	if (stmt == NULL)
		return err->code;
	sqlite3_bind_int64(stmt, 1, b->server);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)b->cycle);
	rc = sqlite3_step(stmt);
	*out = rc == SQLITE_ROW;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fleet_fail(f, sqlite3_extended_errcode(f->db), "read", err);
	sqlite3_reset(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : err->code;
}

static int put_batch(struct fleet_sqlite *f, const struct fleet_batch *b, bool *out_was_there,
		     struct err *err)
{
	int rc = has_run(f, b, out_was_there, err);

	if (rc != 0 || *out_was_there)
		return rc;
	rc = count_cut(f, b->cut_strs, err);
	for (size_t i = 0; i < b->block_count && rc == 0; i++)
		rc = put_block(f, &b->blocks[i], err);
	return rc;
}

/* A reader that sits keeps -wal from being emptied, and it must not grow for ever. */
static int make_room(struct fleet_sqlite *f, struct err *err)
{
	int rc;

	if (f->wal_pages < WAL_MOST_PAGES)
		return 0;
	rc = sqlite3_wal_checkpoint_v2(f->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	if (rc == SQLITE_OK) {
		f->wal_pages = 0;
		return 0;
	}
	if ((rc & 0xff) != SQLITE_BUSY)
		return fleet_fail(f, rc, "write", err);
	err_set(err, -EBUSY,
		"cannot write '%s': a process reads it since long, and -wal has grown to %d MB",
		f->path, f->wal_pages / 256);
	err_works(err, "the store is as it was; what was to be written can be written later");
	err_mend(err, "end that reader (`fuser '%s'`)", f->path);
	return -EBUSY;
}

int fleet_sqlite_put(void *db, const struct fleet_batch *const *batches, size_t count,
		     bool *out_was_there, struct err *err)
{
	struct fleet_sqlite *f = db;
	int rc = make_room(f, err);

	if (rc == 0)
		rc = fleet_begin(f, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = put_batch(f, batches[i], &out_was_there[i], err);
	if (rc == 0)
		return fleet_commit(f, err);
	fleet_rollback(f);
	return rc;
}
