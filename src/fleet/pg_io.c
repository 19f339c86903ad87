/* pg_io.c - reads and writes by kind of backend, by pg_stat_io: PostgreSQL 16 and later. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

static const struct pg_column columns[IO_COUNTERS] = {
	[IO_READS] = { { "reads" }, false, true },
	[IO_READ_BYTES] = { { "read_bytes", "reads * op_bytes" }, false, true },
	[IO_READ_NS] = { { "read_time" }, true, true },
	[IO_WRITES] = { { "writes" }, false, true },
	[IO_WRITE_BYTES] = { { "write_bytes", "writes * op_bytes" }, false, true },
	[IO_WRITE_NS] = { { "write_time" }, true, true },
	[IO_EXTENDS] = { { "extends" }, false, true },
	[IO_EXTEND_NS] = { { "extend_time" }, true, true },
	[IO_HITS] = { { "hits" }, false, true },
	[IO_EVICTIONS] = { { "evictions" }, false, true },
	[IO_REUSES] = { { "reuses" }, false, true },
	[IO_FSYNCS] = { { "fsyncs" }, false, true },
	[IO_FSYNC_NS] = { { "fsync_time" }, true, true },
};

enum io_column {
	IO_COLUMN_BACKEND,
	IO_COLUMN_OBJECT,
	IO_COLUMN_CONTEXT,
	IO_COLUMN_SINCE,
	IO_COLUMN_COUNT
};

/* Before PostgreSQL 18 bytes are counts of one size. */
static void put_columns(struct pg_body *b)
{
	bool is_of_one_size = pg_has_column(b->io_columns, "op_bytes");
	char there[sizeof(b->io_columns) + 48];

	snprintf(there, sizeof(there), "%s%s", b->io_columns,
		 is_of_one_size ? "reads * op_bytes,writes * op_bytes," : "");
	pg_ask_columns(&b->sql, columns, IO_COUNTERS, there);
}

static int io_ask(struct pg_body *b, struct ask *out, struct err *err)
{
	(void)err;
	if (!pg_body_wants(b, READING_IO) || b->phase > 0)
		return 0;
	if (b->io_columns[0] == '\0') {
		pg_body_fail(b, READING_IO, RUN_SKIPPED, "", "this release has no pg_stat_io");
		return 0;
	}
	counted_begin(b, COUNTED_IO, 0, EVICTIONS_UNKNOWN);
	text_clear(&b->sql);
	text_put(&b->sql, "SELECT " PG_MARK " backend_type, object, context");
	pg_put_moment(&b->sql, "stats_reset");
	put_columns(b);
	text_put(&b->sql, " FROM pg_stat_io");
	return pg_body_ask(b, out, IO_COLUMN_COUNT + IO_COUNTERS);
}

static size_t pack_key(char *out, size_t size, const struct io_row *row)
{
	const struct str parts[] = { row->backend, row->object, row->context };
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i].len + 1 > size - len)
			return 0;
		if (parts[i].len > 0)
			memcpy(out + len, parts[i].bytes, parts[i].len);
		len += parts[i].len;
		out[len++] = '\0';
	}
	return len;
}

static int io_row(struct pg_body *b, const struct cell *cells, uint32_t count)
{
	const struct counted_memory *m = &b->server->counted[COUNTED_IO];
	struct counter counters[IO_COUNTERS];
	char key[REMEMBERED_KEY_MOST];
	struct io_row out = { .server = b->server->id,
			      .at_wall_ns = b->settings.at.ns,
			      .backend = cell_str(cells[IO_COLUMN_BACKEND]),
			      .object = cell_str(cells[IO_COLUMN_OBJECT]),
			      .context = cell_str(cells[IO_COLUMN_CONTEXT]) };
	struct counted_row row = { (const uint8_t *)key,
				   pack_key(key, sizeof(key), &out),
				   cell_time_ns(cells[IO_COLUMN_SINCE]),
				   counters,
				   IO_COUNTERS,
				   m->has_before ? &m->before : NULL,
				   true };
	struct remembered *here;
	struct delta delta;
	int code;

	(void)count;
	if (row.key_len == 0) {
		b->now[COUNTED_IO].bad_rows++;
		return 0;
	}
	pg_read_columns(columns, IO_COUNTERS, cells + IO_COLUMN_COUNT, counters);
	code = counted_take(b, COUNTED_IO, &row, &delta, out.counters, &here);
	if (code <= 0)
		return code;
	out.life = delta.life;
	out.span_ns = delta.span_ns;
	return fleet_batch_add(b->batch, &table_io, BLOCK_PUT, &out);
}

static int io_ended(struct pg_body *b, const struct answer *a, struct err *err)
{
	(void)err;
	b->phase++;
	if (!a->is_ok) {
		counted_drop(b, COUNTED_IO);
		return 0;
	}
	b->now[COUNTED_IO].visit.is_complete = a->rows <= b->settings.limits.rows;
	return counted_end(b, COUNTED_IO, NULL, NULL);
}

const struct pg_step pg_step_io = { READING_IO, io_ask, NULL, io_row, io_ended };
