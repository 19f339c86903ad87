/* fleet_postgres_states.c - the second half of a put: states block by block, late rows into their sums, marks, and the commit, sent
 * together. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres_put.h"
#include "store/fleet_rules.h"

void pg_mark_add(struct pg_bytes *marks, struct pg_mark mark)
{
	const struct pg_mark *all = (const struct pg_mark *)(const void *)marks->bytes;
	size_t count = marks->used / sizeof(mark);

	for (size_t i = count; i > 0 && count - i < 64; i--)
		if (memcmp(&all[i - 1], &mark, sizeof(mark)) == 0)
			return;
	pg_bytes_add(marks, &mark, sizeof(mark));
}

/* The arrays of a statement, all in one piece: they are bound by where they begin. */
struct arrays {
	struct pg_bytes bytes;
	size_t from[PG_ARGS_MOST];
	Oid types[PG_ARGS_MOST];
	size_t count;
};

static void arrays_free(struct arrays *a)
{
	pg_bytes_free(&a->bytes);
}

static int arrays_add(struct arrays *a, const struct table *t, const struct field *f,
		      const void *rows, size_t count, struct err *err)
{
	a->from[a->count] = a->bytes.used;
	a->types[a->count++] = pg_array_of(f);
	return pg_rows_array(&a->bytes, t, f, rows, count, err);
}

static struct pg_args arrays_args(const struct arrays *a)
{
	struct pg_args args = { .count = 0 };

	for (size_t i = 0; i < a->count; i++) {
		size_t to = i + 1 < a->count ? a->from[i + 1] : a->bytes.used;

		pg_arg_bytes(&args, a->types[i], a->bytes.bytes + a->from[i], to - a->from[i]);
	}
	return args;
}

int pg_pipe_add_rows(struct pg_store *p, const struct text *sql, const struct table *t,
		     const struct pg_rows *rows, struct err *err)
{
	SCOPED(arrays_free) struct arrays a = { { NULL, 0, 0, false }, { 0 }, { 0 }, 0 };
	struct pg_args args;

	if (sql->has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->field_count; i++) {
		int rc = rows->is_keys_only && !t->fields[i].is_key
				 ? 0
				 : arrays_add(&a, t, &t->fields[i], rows->rows, rows->count, err);

		if (rc != 0)
			return rc;
	}
	args = arrays_args(&a);
	return pg_pipe_add(&p->wire, text_chars(sql), &args, err);
}

static bool is_same(const struct field *f, const void *a, const void *b)
{
	const struct str *s = a, *t = b;
	const struct blob *x = a, *y = b;

	switch (f->type) {
	case FIELD_STR:
		return s->len == t->len && (s->len == 0 || memcmp(s->bytes, t->bytes, s->len) == 0);
	case FIELD_BLOB:
		return x->len == y->len && (x->len == 0 || memcmp(x->bytes, y->bytes, x->len) == 0);
	case FIELD_U32:
		return *(const uint32_t *)a == *(const uint32_t *)b;
	case FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case FIELD_DIGEST:
		return memcmp(a, b, sizeof(struct digest)) == 0;
	default:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	}
}

static bool has_same_key(const struct table *t, const char *a, const char *b)
{
	for (size_t i = 0; i < t->field_count && t->fields[i].is_key; i++)
		if (!is_same(&t->fields[i], a + t->fields[i].offset, b + t->fields[i].offset))
			return false;
	return true;
}

/* How many rows from `first` on have keys of their own: what merges with what is there must meet it in order. */
static size_t run_of_keys(const struct fleet_block *block, size_t first)
{
	const struct table *t = block->table;
	size_t n = first;

	if (!fleet_is_merged(t))
		return block->count - first;
	for (; n < block->count; n++)
		for (size_t i = first; i < n; i++)
			if (has_same_key(t, fleet_block_row(block, i), fleet_block_row(block, n)))
				return n - first;
	return n - first;
}

static int add_states(struct put *u, const struct fleet_block *block, struct err *err)
{
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	int rc = 0;

	pg_put_upsert(&sql, pg_table(block->table));
	for (size_t first = 0; rc == 0 && first < block->count;) {
		struct pg_rows rows = { fleet_block_row(block, first), run_of_keys(block, first),
					false };

		rc = pg_pipe_add_rows(u->p, &sql, block->table, &rows, err);
		first += rows.count;
	}
	return rc;
}

static bool is_late(const struct pg_store *p, const struct fleet_table *ft, const void *row)
{
	return ft->hourly != NULL && pg_row_time(ft->table, row) < p->before[ft - fleet_tables];
}

static int add_block(struct put *u, const struct fleet_batch *b, const struct fleet_block *block,
		     struct err *err)
{
	const struct fleet_table *ft = pg_table(block->table);
	struct pg_rows rows = { block->rows, block->count, false };
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	size_t first = 0;
	int rc = 0;

	if (block->verb == BLOCK_DROP) {
		pg_put_delete(&sql, block->table);
		rows.is_keys_only = true;
		return pg_pipe_add_rows(u->p, &sql, block->table, &rows, err);
	}
	if (pg_part_ns(ft) == 0)
		return add_states(u, block, err);
	if (pg_is_copied(u, b, ft))
		return 0;
	/* Events whose keys may be there: runs of rows that are not late. */
	pg_put_upsert(&sql, ft);
	for (size_t i = 0; rc == 0 && i <= block->count; i++) {
		if (i < block->count &&
		    pg_is_kept(ft, is_late(u->p, ft, fleet_block_row(block, i))))
			continue;
		rows = (struct pg_rows){ (const char *)block->rows +
						 first * block->table->row_bytes,
					 i - first, false };
		if (i > first)
			rc = pg_pipe_add_rows(u->p, &sql, block->table, &rows, err);
		first = i + 1;
	}
	return rc;
}

/* Where late rows are summed: by the hour; when even that has gone, by the day. NULL: nowhere any more. */
static const struct table *sums_of(const struct pg_store *p, const struct fleet_table *ft,
				   int64_t at_wall_ns, int64_t *out_span_ns)
{
	*out_span_ns = FLEET_HOUR_NS;
	if (ft->hourly != NULL && at_wall_ns >= p->before[pg_table(ft->hourly) - fleet_tables])
		return ft->hourly;
	*out_span_ns = FLEET_DAY_NS;
	if (ft->daily != NULL && at_wall_ns >= p->before[pg_table(ft->daily) - fleet_tables])
		return ft->daily;
	return NULL;
}

int pg_parts_of_block(struct pg_store *p, const struct fleet_block *block, struct err *err)
{
	const struct fleet_table *ft = pg_table(block->table);

	if (ft == NULL || block->verb != BLOCK_PUT || pg_part_ns(ft) == 0)
		return 0;
	for (size_t i = 0; i < block->count; i++) {
		const void *row = fleet_block_row(block, i);
		int64_t at = pg_row_time(block->table, row), span_ns;
		const struct table *sums = NULL;
		bool is_gone = is_late(p, ft, row);
		int rc = 0;

		if (is_gone)
			sums = sums_of(p, ft, at, &span_ns);
		if (sums != NULL)
			rc = pg_part_for(p, pg_table(sums), at, err);
		if (rc == 0 && pg_is_kept(ft, is_gone))
			rc = pg_part_for(p, ft, at, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Late rows of one table that are summed in one place, from row `*io_from` on. */
static int add_late(struct put *u, const struct later *l, size_t *io_from, struct err *err)
{
	const struct table *t = l->ft->table;
	const char *rows = (const char *)l->rows;
	SCOPED(text_free) struct text sql = TEXT_EMPTY;
	struct pg_sum sum = { .from = t, .is_added = true };
	struct pg_rows given;
	size_t from = *io_from, to = from;

	sum.to = sums_of(u->p, l->ft, pg_row_time(t, rows + from * t->row_bytes), &sum.span_ns);
	for (; to < l->count; to++) {
		const char *row = rows + to * t->row_bytes;
		int64_t at = pg_row_time(t, row), span_ns;

		if (sums_of(u->p, l->ft, at, &span_ns) != sum.to)
			break;
		if (l->ft->daily != NULL && sum.to == l->ft->hourly)
			pg_mark_add(&u->marks,
				    (struct pg_mark){ *(const uint32_t *)(const void *)row,
						      FLEET_DAY_NS,
						      fleet_floor_ns(at, FLEET_DAY_NS) });
	}
	*io_from = to;
	if (sum.to == NULL)
		return 0;
	pg_put_sum_head(&sql, &sum);
	pg_put_unnest(&sql, t);
	pg_put_sum_tail(&sql, &sum);
	given = (struct pg_rows){ rows + from * t->row_bytes, to - from, false };
	return pg_pipe_add_rows(u->p, &sql, t, &given, err);
}

/* Each mark is touched, not only made: who sums it then waits for this transaction. */
static int add_marks(struct put *u, struct err *err)
{
	static const struct field columns[] = {
		{ "server", FIELD_I64, offsetof(struct pg_mark, server), 1, NULL },
		{ "span_ns", FIELD_I64, offsetof(struct pg_mark, span_ns), 1, NULL },
		{ "from_wall_ns", FIELD_I64, offsetof(struct pg_mark, from_wall_ns), 1, NULL },
	};
	static const struct table marks = { "to_sum", NULL, columns, 3, sizeof(struct pg_mark) };
	size_t count = u->marks.used / sizeof(struct pg_mark);
	SCOPED(text_free) struct text sql = TEXT_EMPTY;

	if (count == 0)
		return 0;
	text_put(&sql,
		 "INSERT INTO tare.to_sum AS o (server, span_ns, from_wall_ns, puts) "
		 "SELECT server, span_ns, from_wall_ns, 1 FROM unnest($1, $2, $3) "
		 "AS u(server, span_ns, from_wall_ns) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 "
		 "ON CONFLICT (server, span_ns, from_wall_ns) DO UPDATE SET puts = o.puts + 1");
	return pg_pipe_add_rows(u->p, &sql, &marks,
				&(struct pg_rows){ u->marks.bytes, count, false }, err);
}

/* Strings that were cut on their way are counted. */
static int add_cut(struct put *u, struct err *err)
{
	struct pg_args args = { .count = 0 };
	uint64_t cut = 0;

	for (size_t i = 0; i < u->count; i++)
		cut += u->was_there[i] ? 0 : u->batches[i]->cut_strs;
	if (cut == 0)
		return 0;
	pg_arg_i64(&args, (int64_t)(cut & INT64_MAX));
	return pg_pipe_add(&u->p->wire, "UPDATE tare.about SET cut_strs = cut_strs + $1", &args,
			   err);
}

static int add_all(struct put *u, struct err *err)
{
	int rc = add_cut(u, err);

	if (rc != 0)
		return rc;

	for (size_t i = 0; i < u->count; i++)
		for (size_t n = 0; !u->was_there[i] && n < u->batches[i]->block_count; n++) {
			rc = add_block(u, u->batches[i], &u->batches[i]->blocks[n], err);
			if (rc != 0)
				return rc;
		}
	for (size_t i = 0; i < u->later_count; i++)
		for (size_t from = 0; rc == 0 && from < u->later[i].count;)
			rc = add_late(u, &u->later[i], &from, err);
	if (rc == 0 && u->marks.has_failed)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = add_marks(u, err);
	return rc != 0 ? rc : pg_pipe_add(&u->p->wire, "COMMIT", NULL, err);
}

int pg_put_states(struct put *u, struct err *err)
{
	int rc = pg_pipe_begin(&u->p->wire, err);

	if (rc == 0)
		rc = add_all(u, err);
	if (rc != 0)
		return rc; /* in the middle of a pipeline: pg_abandon lets go of the connection */
	return pg_pipe_end(&u->p->wire, NULL, 0, err);
}
