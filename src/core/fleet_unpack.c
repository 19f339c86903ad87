/* fleet_unpack.c - a batch from the bytes that fleet_pack.c describes; they are foreign until each was looked at. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc.h"
#include "core/fleet_batch.h"
#include "core/recording.h"
#include "core/scoped.h"

#define MAGIC	     "tarebat1"
#define HEADER_BYTES 16u
#define NAME_BYTES   64u

static uint32_t get_u32(const uint8_t *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

/* Foreign bytes being read. */
struct unpacking {
	const uint8_t *bytes;
	size_t at, len;
	struct fleet_batch *batch;
	struct err *err;
};

static int __attribute__((format(printf, 2, 3)))
bad(const struct unpacking *u, const char *fmt, ...)
{
	char what[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(u->err, -EBADMSG, "cannot read a packed batch: %s at byte %zu", what, u->at);
}

/* -1: cut off, over 64 bits, or not the shortest way to write it. */
static int get_number(struct unpacking *u, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 10 && u->at + i < u->len; i++) {
		uint8_t byte = u->bytes[u->at + i];

		if (i == 9 && byte > 1)
			return -1;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if ((byte & 0x80) != 0)
			continue;
		if (byte == 0 && i > 0)
			return -1;
		u->at += i + 1;
		*out = value;
		return 0;
	}
	return -1;
}

/* A number up to `most`. */
static int get_below(struct unpacking *u, uint64_t most, uint64_t *out)
{
	return get_number(u, out) != 0 || *out > most ? -1 : 0;
}

/* `len` bytes, borrowed from the input. */
static const void *get_bytes(struct unpacking *u, size_t len)
{
	const void *from = u->bytes + u->at;

	if (len > u->len - u->at)
		return NULL;
	u->at += len;
	return from;
}

static int get_sized(struct unpacking *u, const void **out, uint32_t most, uint32_t *out_len)
{
	uint64_t len;

	if (get_below(u, most, &len) != 0)
		return -1;
	*out = get_bytes(u, (size_t)len);
	*out_len = (uint32_t)len;
	return *out != NULL ? 0 : -1;
}

static int get_digest(struct unpacking *u, struct digest *out)
{
	uint64_t is_there;
	const void *from;

	if (get_below(u, 1, &is_there) != 0)
		return -1;
	if (!is_there)
		return 0;
	from = get_bytes(u, sizeof(out->bytes));
	if (from == NULL)
		return -1;
	memcpy(out->bytes, from, sizeof(out->bytes));
	return fleet_digest_is_none(out) ? -1 : 0;
}

static int get_f64(struct unpacking *u, double *out)
{
	const void *from = get_bytes(u, sizeof(*out));

	if (from == NULL)
		return -1;
	memcpy(out, from, sizeof(*out));
	return isfinite(*out) ? 0 : -1;
}

static int get_whole(struct unpacking *u, enum field_type type, void *at)
{
	uint64_t most = type == FIELD_U32    ? UINT32_MAX
			: type == FIELD_U64  ? INT64_MAX
			: type == FIELD_BOOL ? 1
			: type == FIELD_I64  ? UINT64_MAX
					     : (uint64_t)INT64_MAX + 1;
	uint64_t value;

	if (get_below(u, most, &value) != 0)
		return -1;
	if (type == FIELD_U32)
		*(uint32_t *)at = (uint32_t)value;
	else if (type == FIELD_BOOL)
		*(bool *)at = value != 0;
	else if (type == FIELD_I64)
		*(int64_t *)at = (int64_t)(value >> 1 ^ (~(value & 1) + 1));
	else if (type == FIELD_COUNTER)
		((struct counter *)at)->value = value - 1;
	else
		*(uint64_t *)at = value;
	return 0;
}

static int get_field(struct unpacking *u, enum field_type type, void *at)
{
	struct str *str = at;
	struct blob *blob = at;
	const void *bytes;

	switch (type) {
	case FIELD_STR:
		if (get_sized(u, &bytes, STR_MAX_BYTES, &str->len) != 0)
			return -1;
		str->bytes = bytes;
		return memchr(bytes, 0, str->len) == NULL ? 0 : -1;
	case FIELD_BLOB:
		return get_sized(u, &blob->bytes, FLEET_BATCH_MOST_BYTES, &blob->len);
	case FIELD_DIGEST:
		return get_digest(u, at);
	case FIELD_F64:
		return get_f64(u, at);
	case FIELD_U32:
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_BOOL:
	case FIELD_COUNTER:
		return get_whole(u, type, at);
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break;
	}
	return -1;
}

/* A row before any column is read: counters that a packed row does not have were not measured. */
static void row_begin(const struct table *t, void *row)
{
	memset(row, 0, t->row_bytes);
	for (size_t i = 0; i < t->field_count; i++)
		if (t->fields[i].type == FIELD_COUNTER)
			*(struct counter *)((char *)row + t->fields[i].offset) = NOT_MEASURED;
}

static void row_free(void **row)
{
	free(*row);
}

static int get_rows(struct unpacking *u, const struct table *t, enum block_verb verb,
		    size_t columns)
{
	SCOPED(row_free) void *row = malloc(t->row_bytes);
	uint64_t count;
	int rc = 0;

	if (row == NULL)
		return err_set(u->err, -ENOMEM, "out of memory");
	/* Every row takes a byte a column at least: a count that lies is seen before any memory is taken. */
	if (columns == 0 || get_below(u, (u->len - u->at) / columns, &count) != 0)
		return bad(u, "table %s has more rows than there are bytes", t->name);
	for (uint64_t i = 0; i < count && rc == 0; i++) {
		row_begin(t, row);
		for (size_t f = 0; f < columns; f++)
			if (get_field(u, t->fields[f].type, (char *)row + t->fields[f].offset) != 0)
				return bad(u, "table %s, column %s, row %llu: not such a value",
					   t->name, t->fields[f].name, (unsigned long long)i);
		if (u->batch->bytes > FLEET_BATCH_MOST_BYTES)
			return bad(u, "it would take too much memory");
		rc = fleet_batch_add(u->batch, t, verb, row);
	}
	if (rc == -ERANGE)
		return bad(u, "table %s: a value out of range", t->name);
	return rc == 0 ? 0 : err_set(u->err, rc, "out of memory");
}

/* The columns that were packed must be the first of those there are now, of the same types. */
static int get_columns(struct unpacking *u, const struct table *t, enum block_verb verb,
		       size_t *out_columns)
{
	size_t keys = fleet_key_count(t);
	size_t most = verb == BLOCK_DROP ? keys : t->field_count;
	uint64_t columns, type;

	if (get_number(u, &columns) != 0 || columns > most || columns < keys)
		return bad(u, "table %s has other columns", t->name);
	for (size_t i = 0; i < columns; i++)
		if (get_number(u, &type) != 0 || type != (uint64_t)t->fields[i].type)
			return bad(u, "table %s, column %s: of another kind", t->name,
				   t->fields[i].name);
	*out_columns = (size_t)columns;
	return 0;
}

static int get_block(struct unpacking *u)
{
	const struct fleet_table *t;
	const void *name;
	uint32_t name_len;
	uint64_t verb;
	size_t columns = 0;
	int rc;

	if (get_sized(u, &name, NAME_BYTES, &name_len) != 0)
		return bad(u, "no name of a table");
	t = fleet_table_find(name, name_len);
	if (t == NULL)
		return bad(u, "no table of a fleet");
	if (get_below(u, BLOCK_DROP, &verb) != 0)
		return bad(u, "table %s: neither put nor drop", t->table->name);
	rc = get_columns(u, t->table, (enum block_verb)verb, &columns);
	return rc != 0 ? rc : get_rows(u, t->table, (enum block_verb)verb, columns);
}

static int get_batch(struct unpacking *u)
{
	uint64_t server, cycle, cut, blocks;
	int rc = 0;

	if (get_below(u, NO_ID - 1, &server) != 0 || get_below(u, INT64_MAX, &cycle) != 0 ||
	    get_below(u, INT64_MAX, &cut) != 0 ||
	    get_below(u, 2 * (uint64_t)fleet_table_count, &blocks) != 0)
		return bad(u, "no head of a batch");
	u->batch->server = (uint32_t)server;
	u->batch->cycle = cycle;
	for (uint64_t i = 0; i < blocks && rc == 0; i++)
		rc = get_block(u);
	u->batch->cut_strs = cut;
	if (rc == 0 && u->at != u->len)
		rc = bad(u, "something follows its end");
	return rc;
}

int fleet_batch_unpack(const void *bytes, size_t len, struct fleet_batch *out, struct err *err)
{
	SCOPED(fleet_batch_free) struct fleet_batch batch = FLEET_BATCH_EMPTY;
	struct unpacking u = { bytes, HEADER_BYTES, len, &batch, err };
	const uint8_t *header = bytes;
	int rc;

	if (len < HEADER_BYTES || memcmp(bytes, MAGIC, 8) != 0)
		return err_set(err, -EBADMSG, "cannot read a packed batch: it is none");
	if (len > FLEET_BATCH_MOST_BYTES || get_u32(header + 8) != len - HEADER_BYTES)
		return err_set(err, -EBADMSG, "cannot read a packed batch: it is cut off");
	if (crc32_of(0, header + HEADER_BYTES, len - HEADER_BYTES) != get_u32(header + 12))
		return err_set(err, -EBADMSG, "cannot read a packed batch: its CRC is another");
	rc = get_batch(&u);
	if (rc != 0)
		return rc;
	*out = batch;
	batch = FLEET_BATCH_EMPTY;
	return 0;
}
