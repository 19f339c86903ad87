/* fleet_postgres_put.c - batches in one transaction: what is an event goes by COPY, a table each; what is a state by one INSERT a block from
 * arrays. Six answers of the server and one more for each table of events, however many rows there are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres.h"
#include "store/fleet_postgres_put.h"
#include "store/fleet_rules.h"

static void put_free(struct put *u)
{
	for (size_t i = 0; u->copies != NULL && i < fleet_table_count; i++)
		pg_bytes_free(&u->copies[i]);
	free(u->copies);
	pg_bytes_free(&u->marks);
	for (size_t i = 0; i < u->later_count; i++)
		free(u->later[i].rows);
	free(u->later);
	*u = (struct put){ .p = NULL };
}

int64_t pg_row_time(const struct table *t, const void *row)
{
	size_t column = pg_column(t, "at_wall_ns");

	return *(const int64_t *)(const void *)((const char *)row + t->fields[column].offset);
}

/* Arrays of numbers, to be bound. */
static void numbers(struct pg_bytes *out, const int64_t *values, size_t count)
{
	static const struct field number = { "number", FIELD_I64, 0, 0, NULL };
	static const struct table rows = { "numbers", NULL, &number, 1, sizeof(int64_t) };
	struct err unheard = ERR_EMPTY;

	(void)pg_rows_array(out, &rows, &number, values, count, &unheard);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* -- first: are they there? -- */

static void free_numbers(int64_t **n)
{
	free(*n);
}

/* Locks in the order of servers, so that two writers never wait for each other. */
static int add_locks(struct put *u, struct err *err)
{
	SCOPED(free_numbers) int64_t *servers = calloc(u->count, sizeof(*servers));
	SCOPED(pg_bytes_free) struct pg_bytes array = { NULL, 0, 0, false };
	struct pg_args args = { .count = 0 };

	if (servers == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < u->count; i++)
		servers[i] = u->batches[i]->server & INT32_MAX;
	qsort(servers, u->count, sizeof(*servers), by_number);
	numbers(&array, servers, u->count);
	if (array.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	pg_arg_i64(&args, PG_LOCK_CLASS);
	pg_arg_i64(&args, PG_LOCK_PUTS);
	pg_arg_bytes(&args, PG_INT8_ARRAY, array.bytes, array.used);
	return pg_pipe_add(&u->p->wire,
			   "SELECT pg_advisory_xact_lock_shared($1::int, $2::int), (SELECT "
			   "count(pg_advisory_xact_lock($1::int, s::int)) FROM unnest($3) AS s)",
			   &args, err);
}

/* The times of a batch's own runs: only their partitions are looked at. False: it has none. */
static bool run_times(const struct fleet_batch *b, int64_t *out_from, int64_t *out_to)
{
	const struct fleet_block *runs = fleet_batch_block(b, &table_run, BLOCK_PUT);

	*out_from = INT64_MAX;
	*out_to = INT64_MIN;
	for (size_t i = 0; runs != NULL && i < runs->count; i++) {
		const struct run_row *run = fleet_block_row(runs, i);

		if (run->server != b->server || run->cycle != b->cycle)
			continue;
		*out_from = run->at_wall_ns < *out_from ? run->at_wall_ns : *out_from;
		*out_to = run->at_wall_ns > *out_to ? run->at_wall_ns : *out_to;
	}
	return *out_from <= *out_to;
}

/* A run of one (server, cycle) within a day of what is given: a cycle's number comes again only when the cycle's length
 * changes, years away. */
static int add_check(struct put *u, struct err *err)
{
	SCOPED(pg_bytes_free) struct pg_bytes servers = { NULL, 0, 0, false };
	SCOPED(pg_bytes_free) struct pg_bytes cycles = { NULL, 0, 0, false };
	SCOPED(pg_bytes_free) struct pg_bytes readings = { NULL, 0, 0, false };
	SCOPED(free_numbers) int64_t *pairs = calloc(u->count, 2 * sizeof(*pairs));
	int64_t every[READING_COUNT + 1], first = INT64_MAX, last = INT64_MIN;
	struct pg_args args = { .count = 0 };

	for (int i = 0; i < READING_COUNT; i++)
		every[i] = i;
	every[READING_COUNT] = READING_VISIT;
	if (pairs == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < u->count; i++) {
		int64_t from, to;

		pairs[i] = u->batches[i]->server;
		pairs[u->count + i] = (int64_t)u->batches[i]->cycle;
		if (!run_times(u->batches[i], &from, &to)) {
			from = PG_DAY_NS; /* it may be of any time */
			to = INT64_MAX - PG_DAY_NS;
		}
		first = from < first ? from : first;
		last = to > last ? to : last;
	}
	numbers(&servers, pairs, u->count);
	numbers(&cycles, pairs + u->count, u->count);
	numbers(&readings, every, ARRAY_LEN(every));
	if (servers.has_failed || cycles.has_failed || readings.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	pg_arg_bytes(&args, PG_INT8_ARRAY, servers.bytes, servers.used);
	pg_arg_bytes(&args, PG_INT8_ARRAY, cycles.bytes, cycles.used);
	pg_arg_bytes(&args, PG_INT8_ARRAY, readings.bytes, readings.used);
	pg_arg_i64(&args, first < PG_DAY_NS ? 0 : first - PG_DAY_NS);
	pg_arg_i64(&args, last > INT64_MAX - PG_DAY_NS ? INT64_MAX : last + PG_DAY_NS);
	return pg_pipe_add(
		&u->p->wire,
		"SELECT i - 1 FROM unnest($1, $2) WITH ORDINALITY AS b(server, cycle, i) "
		"WHERE EXISTS (SELECT 1 FROM tare.run r WHERE r.server = b.server AND "
		"r.reading = ANY($3) AND r.cycle = b.cycle AND r.at_wall_ns BETWEEN $4 AND "
		"$5)",
		&args, err);
}

int pg_take_horizons(struct pg_store *p, const PGresult *res)
{
	memset(p->before, 0, fleet_table_count * sizeof(*p->before));
	for (int i = 0; i < PQntuples(res); i++) {
		const char *name = PQgetvalue(res, i, 0);
		const struct fleet_table *ft = fleet_table_find(name, strlen(name));

		if (ft != NULL)
			p->before[ft - fleet_tables] = pg_value_i64(res, i, 1);
	}
	return 0;
}

/* Begins the transaction: after it nobody else writes for these servers, and no partition that we may write into goes. */
static int begin(struct put *u, struct err *err)
{
	SCOPED(pg_result_free) PGresult *there = NULL;
	SCOPED(pg_result_free) PGresult *horizons = NULL;
	struct pg_want wants[] = { { 2, &there }, { 3, &horizons } };
	struct pg_wire *w = &u->p->wire;
	int rc = pg_pipe_begin(w, err);

	if (rc == 0)
		rc = pg_pipe_add(w, "BEGIN", NULL, err);
	if (rc == 0)
		rc = add_locks(u, err);
	if (rc == 0)
		rc = add_check(u, err);
	if (rc == 0)
		rc = pg_pipe_add(w, PG_HORIZONS, NULL, err);
	if (rc == 0)
		rc = pg_pipe_end(w, wants, ARRAY_LEN(wants), err);
	if (rc != 0)
		return rc;
	u->left = u->count;
	for (size_t i = 0; i < u->count; i++)
		u->was_there[i] = false;
	for (int i = 0; i < PQntuples(there); i++) {
		int64_t n = pg_value_i64(there, i, 0);

		if (n < 0 || n >= (int64_t)u->count || u->was_there[n])
			continue;
		u->was_there[n] = true;
		u->left--;
	}
	return pg_take_horizons(u->p, horizons);
}

/* The same (server, cycle) twice in one call: the second one finds the first. */
static void find_twins(struct put *u)
{
	for (size_t i = 1; i < u->count; i++) {
		int64_t from, to;

		for (size_t j = 0; j < i && !u->was_there[i]; j++) {
			if (u->batches[i]->server != u->batches[j]->server ||
			    u->batches[i]->cycle != u->batches[j]->cycle || u->was_there[j] ||
			    !run_times(u->batches[j], &from, &to))
				continue;
			u->was_there[i] = true;
			u->left--;
		}
	}
}

/* -- then: events by COPY -- */

/* Notes that an hour of a server has rows to be summed. */
static void mark(struct put *u, uint32_t server, int64_t at_wall_ns)
{
	struct pg_mark m = { server, FLEET_HOUR_NS, fleet_floor_ns(at_wall_ns, FLEET_HOUR_NS) };

	pg_mark_add(&u->marks, m);
}

static int to_copy(struct put *u, const struct fleet_table *ft, const void *row, struct err *err)
{
	struct pg_bytes *copy = &u->copies[ft - fleet_tables];

	if (copy->used == 0)
		pg_copy_begin(copy);
	return pg_rows_copy(copy, ft->table, row, 1, err);
}

/* Rows of a time that is gone: kept aside, to be added to their sums. */
static int to_sums(struct put *u, const struct fleet_table *ft, const void *row, struct err *err)
{
	struct later *l = u->later_count > 0 ? &u->later[u->later_count - 1] : NULL;

	if (l == NULL || l->ft != ft) {
		struct later *more = reallocarray(u->later, u->later_count + 1, sizeof(*u->later));

		if (more == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		u->later = more;
		l = &u->later[u->later_count++];
		*l = (struct later){ .ft = ft };
	}
	if (l->count == l->room) {
		size_t room = l->room * 2 + 64;
		void *rows = reallocarray(l->rows, room, ft->table->row_bytes);

		if (rows == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		l->rows = rows;
		l->room = room;
	}
	memcpy((char *)l->rows + l->count++ * ft->table->row_bytes, row, ft->table->row_bytes);
	return 0;
}

bool pg_is_copied(const struct put *u, const struct fleet_batch *b, const struct fleet_table *ft)
{
	return pg_part_ns(ft) > 0 && !u->p->has_doubles[ft - fleet_tables] &&
	       fleet_batch_block(b, ft->table, BLOCK_DROP) == NULL;
}

bool pg_is_kept(const struct fleet_table *ft, bool is_late)
{
	return !is_late || ft->table == &table_run;
}

static int sort_block(struct put *u, const struct fleet_batch *b, const struct fleet_block *block,
		      struct err *err)
{
	const struct fleet_table *ft = pg_table(block->table);
	int64_t before;
	int rc = 0;

	if (ft == NULL)
		return err_set(err, -EINVAL, "cannot save table %s: it is none of a fleet's",
			       block->table->name);
	if (block->verb != BLOCK_PUT || pg_part_ns(ft) == 0)
		return 0;
	before = u->p->before[ft - fleet_tables];
	for (size_t i = 0; rc == 0 && i < block->count; i++) {
		const void *row = fleet_block_row(block, i);
		bool is_late;

		is_late = ft->hourly != NULL && pg_row_time(block->table, row) < before;
		if (is_late)
			rc = to_sums(u, ft, row, err);
		else if (ft->hourly != NULL)
			mark(u, *(const uint32_t *)row, pg_row_time(block->table, row));
		if (rc == 0 && pg_is_copied(u, b, ft) && pg_is_kept(ft, is_late))
			rc = to_copy(u, ft, row, err);
	}
	return rc;
}

static int sort_rows(struct put *u, struct err *err)
{
	for (size_t i = 0; i < u->count; i++) {
		const struct fleet_batch *b = u->batches[i];

		for (size_t n = 0; !u->was_there[i] && n < b->block_count; n++) {
			int rc = sort_block(u, b, &b->blocks[n], err);

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int copy_tables(struct put *u, struct err *err)
{
	for (size_t i = 0; i < fleet_table_count; i++) {
		SCOPED(text_free) struct text sql = TEXT_EMPTY;
		int rc;

		if (u->copies[i].used == 0)
			continue;
		pg_copy_end(&u->copies[i]);
		text_printf(&sql, "COPY tare.\"%s\" (", fleet_tables[i].table->name);
		pg_put_columns(&sql, fleet_tables[i].table, "");
		text_put(&sql, ") FROM STDIN (FORMAT binary)");
		if (sql.has_failed || u->copies[i].has_failed)
			return err_set(err, -ENOMEM, "out of memory");
		rc = pg_copy(&u->p->wire, text_chars(&sql), u->copies[i].bytes, u->copies[i].used,
			     err);
		if (rc == -EEXIST) {
			u->p->has_doubles[i] = true;
			return -EAGAIN;
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* -- the whole -- */

/* Partitions for all rows: before the transaction, since making one needs a lock on the whole table. */
static int make_parts(struct put *u, struct err *err)
{
	for (size_t i = 0; i < u->count; i++)
		for (size_t n = 0; n < u->batches[i]->block_count; n++) {
			int rc = pg_parts_of_block(u->p, &u->batches[i]->blocks[n], err);

			if (rc != 0)
				return rc;
		}
	return 0;
}

static int put_once(struct pg_store *p, const struct fleet_batch *const *batches, size_t count,
		    bool *was_there, struct err *err)
{
	SCOPED(put_free) struct put u = { p, batches, count, was_there, count };
	int rc;

	u.copies = calloc(fleet_table_count, sizeof(*u.copies));
	if (u.copies == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = make_parts(&u, err);
	if (rc == 0)
		rc = begin(&u, err);
	if (rc != 0)
		return rc;
	find_twins(&u);
	if (u.left == 0)
		return pg_command(&p->wire, "ROLLBACK", err);
	rc = sort_rows(&u, err);
	if (rc == 0)
		rc = copy_tables(&u, err);
	return rc == 0 ? pg_put_states(&u, err) : rc;
}

/* Each table of events may show once that its keys were there, each partition that it has gone. */
static int put_until_done(struct pg_store *p, const struct fleet_batch *const *batches,
			  size_t count, bool *was_there, struct err *err)
{
	int rc = -EAGAIN;

	for (size_t tries = 0; tries < fleet_table_count + 3; tries++) {
		*err = ERR_EMPTY; /* of the try before */
		rc = put_once(p, batches, count, was_there, err);
		if (rc != 0)
			pg_abandon(p);
		if (rc == -ENOENT)
			p->part_count = 0;
		if ((rc != -EAGAIN && rc != -ENOENT) || p->wire.conn == NULL)
			break;
	}
	return rc;
}

int pg_put(void *db, const struct fleet_batch *const *batches, size_t count, bool *out_was_there,
	   struct err *err)
{
	bool *there = calloc(count + 1, sizeof(*there));
	struct pg_store *p = db;
	int rc = 0;

	if (there == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	if (count > 0)
		rc = pg_call(p, PG_CALL_MS, err);
	if (rc == 0 && count > 0)
		rc = put_until_done(p, batches, count, there, err);
	if (rc == 0)
		memcpy(out_was_there, there, count * sizeof(*there));
	free(there);
	if (rc == -ERANGE)
		return err->code = -EINVAL;
	if (rc == -EACCES)
		return err->code = -EHOSTUNREACH; /* rights come back */
	return pg_answer(rc, err);
}
