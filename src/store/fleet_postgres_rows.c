/* fleet_postgres_rows.c - rows to PostgreSQL's binary form and back. A string is kept as it is when it is valid UTF-8 without NUL
 * and does not begin with "\x"; else as "\x" and its bytes in hex, which `column::bytea` turns back. */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/recording.h"
#include "core/scoped.h"
#include "store/fleet_postgres.h"

#define KEY_MOST 2500u /* an index row has room for about 2,700 bytes */

void pg_bytes_free(struct pg_bytes *b)
{
	free(b->bytes);
	*b = (struct pg_bytes){ NULL, 0, 0, false };
}

/* Room for `len` more bytes, NULL: out of memory. */
static uint8_t *more(struct pg_bytes *b, size_t len)
{
	if (b->has_failed)
		return NULL;
	if (len > b->room - b->used) {
		size_t room = b->room * 2 > b->used + len ? b->room * 2 : b->used + len + 4096;
		uint8_t *bytes = realloc(b->bytes, room);

		if (bytes == NULL) {
			b->has_failed = true;
			return NULL;
		}
		b->bytes = bytes;
		b->room = room;
	}
	b->used += len;
	return b->bytes + b->used - len;
}

void pg_bytes_add(struct pg_bytes *b, const void *bytes, size_t len)
{
	uint8_t *at = more(b, len);

	if (at != NULL && len > 0)
		memcpy(at, bytes, len);
}

static void add_16(struct pg_bytes *b, uint16_t value)
{
	value = htobe16(value);
	pg_bytes_add(b, &value, sizeof(value));
}

static void add_32(struct pg_bytes *b, uint32_t value)
{
	value = htobe32(value);
	pg_bytes_add(b, &value, sizeof(value));
}

/* A value has its length before it; NULL is a length of -1. */
static void add_null(struct pg_bytes *b)
{
	add_32(b, UINT32_MAX);
}

static void add_value(struct pg_bytes *b, const void *bytes, size_t len)
{
	add_32(b, (uint32_t)len);
	pg_bytes_add(b, bytes, len);
}

static int add_i64(struct pg_bytes *b, int64_t value)
{
	uint64_t bits = htobe64((uint64_t)value);

	add_value(b, &bits, sizeof(bits));
	return 0;
}

static int add_u64(struct pg_bytes *b, uint64_t value)
{
	return value > INT64_MAX ? -ERANGE : add_i64(b, (int64_t)value);
}

static bool is_plain(const struct str *s)
{
	if (s->len >= 2 && s->bytes[0] == '\\' && s->bytes[1] == 'x')
		return false;
	for (size_t at = 0; at < s->len;) {
		uint32_t point;
		size_t len = text_decode(s->bytes + at, s->len - at, &point);

		if (len == 0 || point == 0)
			return false;
		at += len;
	}
	return true;
}

static int add_str(struct pg_bytes *b, const struct str *s, bool is_key)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *at;

	if (s->len > (is_key ? KEY_MOST / 2 : STR_MAX_BYTES))
		return -ERANGE;
	if (is_plain(s)) {
		add_value(b, s->bytes, s->len);
		return 0;
	}
	add_32(b, 2 + 2 * s->len);
	at = more(b, 2 + 2 * (size_t)s->len);
	if (at == NULL)
		return -ENOMEM;
	*at++ = '\\';
	*at++ = 'x';
	for (uint32_t i = 0; i < s->len; i++) {
		*at++ = (uint8_t)digits[(uint8_t)s->bytes[i] >> 4];
		*at++ = (uint8_t)digits[(uint8_t)s->bytes[i] & 15];
	}
	return 0;
}

static int add_digest(struct pg_bytes *b, const struct digest *d, bool is_key)
{
	static const struct digest none;

	if (!is_key && memcmp(d, &none, sizeof(none)) == 0)
		add_null(b);
	else
		add_value(b, d->bytes, sizeof(d->bytes));
	return 0;
}

static int add_f64(struct pg_bytes *b, double value)
{
	uint64_t bits;

	if (!isfinite(value))
		return -ERANGE;
	memcpy(&bits, &value, sizeof(bits));
	return add_i64(b, (int64_t)bits);
}

static int add_u32(struct pg_bytes *b, uint32_t value, bool is_key)
{
	if (value != NO_ID)
		return add_i64(b, value);
	if (is_key)
		return -ERANGE;
	add_null(b);
	return 0;
}

static int add_counter(struct pg_bytes *b, struct counter c)
{
	if (IS_MEASURED(c))
		return add_u64(b, c.value);
	add_null(b);
	return 0;
}

static int add_blob(struct pg_bytes *b, const struct blob *blob, bool is_key)
{
	if (is_key && blob->len > KEY_MOST)
		return -ERANGE;
	add_value(b, blob->bytes, blob->len);
	return 0;
}

static int add_field(struct pg_bytes *b, const struct field *f, const void *row)
{
	const void *from = (const char *)row + f->offset;

	switch (f->type) {
	case FIELD_U32:
		return add_u32(b, *(const uint32_t *)from, f->is_key);
	case FIELD_U64:
		return add_u64(b, *(const uint64_t *)from);
	case FIELD_I64:
		return add_i64(b, *(const int64_t *)from);
	case FIELD_BOOL:
		add_value(b, *(const bool *)from ? "\1" : "\0", 1);
		return 0;
	case FIELD_STR:
		return add_str(b, from, f->is_key);
	case FIELD_F64:
		return add_f64(b, *(const double *)from);
	case FIELD_COUNTER:
		return add_counter(b, *(const struct counter *)from);
	case FIELD_DIGEST:
		return add_digest(b, from, f->is_key);
	case FIELD_BLOB:
		return add_blob(b, from, f->is_key);
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break; /* a fleet has none */
	}
	return -ERANGE;
}

static int add_checked(struct pg_bytes *b, const struct table *t, const struct field *f,
		       const void *row, struct err *err)
{
	int rc = add_field(b, f, row);

	if (b->has_failed || rc == -ENOMEM)
		return err_set(err, -ENOMEM, "out of memory");
	if (rc != 0)
		return err_set(err, rc, "cannot save table %s, column %s: out of range", t->name,
			       f->name);
	return 0;
}

void pg_copy_begin(struct pg_bytes *out)
{
	static const char signature[] = "PGCOPY\n\377\r\n"; /* its NUL is part of it */

	pg_bytes_add(out, signature, sizeof(signature));
	add_32(out, 0); /* flags */
	add_32(out, 0); /* no more of a head */
}

void pg_copy_end(struct pg_bytes *out)
{
	add_16(out, UINT16_MAX);
}

int pg_rows_copy(struct pg_bytes *out, const struct table *t, const void *rows, size_t count,
		 struct err *err)
{
	for (size_t r = 0; r < count; r++) {
		const void *row = (const char *)rows + r * t->row_bytes;

		add_16(out, (uint16_t)t->field_count);
		for (size_t i = 0; i < t->field_count; i++) {
			int rc = add_checked(out, t, &t->fields[i], row, err);

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

int pg_rows_array(struct pg_bytes *out, const struct table *t, const struct field *f,
		  const void *rows, size_t count, struct err *err)
{
	add_32(out, count > 0 ? 1 : 0); /* dimensions */
	add_32(out, 1);			/* there may be NULLs */
	add_32(out, pg_type_of(f));
	if (count > 0) {
		add_32(out, (uint32_t)count);
		add_32(out, 1); /* the first one's number */
	}
	for (size_t r = 0; r < count; r++) {
		int rc = add_checked(out, t, f, (const char *)rows + r * t->row_bytes, err);

		if (rc != 0)
			return rc;
	}
	return out->has_failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_str(const char *from, size_t len, struct str *out, struct pg_bytes *text)
{
	uint8_t *to;

	if (len > 2 + 2 * (size_t)STR_MAX_BYTES)
		return -EBADMSG;
	if (len < 2 || from[0] != '\\' || from[1] != 'x') {
		*out = (struct str){ len > 0 ? from : "", (uint32_t)len };
		return 0;
	}
	if (len % 2 != 0)
		return -EBADMSG;
	to = more(text, len / 2 - 1);
	if (to == NULL)
		return -ENOMEM;
	*out = (struct str){ (const char *)to, (uint32_t)(len / 2 - 1) };
	for (size_t i = 2; i < len; i += 2) {
		int high = hex_digit(from[i]), low = hex_digit(from[i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		*to++ = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int read_number(const struct field *f, int64_t value, void *to)
{
	switch (f->type) {
	case FIELD_U32:
		if (value < 0 || value >= NO_ID)
			return -EBADMSG;
		*(uint32_t *)to = (uint32_t)value;
		return 0;
	case FIELD_U64:
		if (value < 0)
			return -EBADMSG;
		*(uint64_t *)to = (uint64_t)value;
		return 0;
	case FIELD_COUNTER:
		if (value < 0)
			return -EBADMSG;
		*(struct counter *)to = COUNTER((uint64_t)value);
		return 0;
	case FIELD_F64:
		memcpy(to, &value, sizeof(value));
		return isfinite(*(double *)to) ? 0 : -EBADMSG;
	default:
		*(int64_t *)to = value;
		return 0;
	}
}

static int read_null(const struct field *f, void *to)
{
	if (f->is_key)
		return -EBADMSG;
	switch (f->type) {
	case FIELD_U32:
		*(uint32_t *)to = NO_ID;
		return 0;
	case FIELD_COUNTER:
		*(struct counter *)to = NOT_MEASURED;
		return 0;
	case FIELD_DIGEST:
		memset(to, 0, sizeof(struct digest));
		return 0;
	default:
		return -EBADMSG;
	}
}

static int read_field(const PGresult *res, int at, int column, const struct field *f, void *to,
		      struct pg_bytes *text)
{
	const char *from = PQgetvalue(res, at, column);
	size_t len = (size_t)PQgetlength(res, at, column);

	if (PQgetisnull(res, at, column))
		return read_null(f, to);
	switch (f->type) {
	case FIELD_STR:
		return read_str(from, len, to, text);
	case FIELD_BLOB:
		*(struct blob *)to = (struct blob){ len > 0 ? from : "", (uint32_t)len };
		return 0;
	case FIELD_DIGEST:
		if (len != sizeof(struct digest))
			return -EBADMSG;
		memcpy(to, from, len);
		return 0;
	case FIELD_BOOL:
		if (len != 1)
			return -EBADMSG;
		*(bool *)to = from[0] != 0;
		return 0;
	case FIELD_BATCHES:
	case FIELD_STEPS:
		return -EBADMSG;
	default:
		return len == 8 ? read_number(f, pg_value_i64(res, at, column), to) : -EBADMSG;
	}
}

/* Bytes that all strings of a row take when they are turned back: no address may move while it is read. */
static int reserve(const PGresult *res, int at, const struct table *t, struct pg_bytes *text)
{
	size_t len = 0;

	text->used = 0;
	for (size_t i = 0; i < t->field_count; i++)
		if (t->fields[i].type == FIELD_STR)
			len += (size_t)PQgetlength(res, at, (int)i);
	if (more(text, len + 1) == NULL)
		return -ENOMEM;
	text->used = 0;
	return 0;
}

int pg_row_read(const PGresult *res, int at, const struct table *t, void *out_row,
		struct pg_bytes *text, struct err *err)
{
	memset(out_row, 0, t->row_bytes);
	if (reserve(res, at, t, text) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];
		int rc = read_field(res, at, (int)i, f, (char *)out_row + f->offset, text);

		if (rc == -ENOMEM)
			return err_set(err, rc, "out of memory");
		if (rc != 0)
			return err_set(err, rc,
				       "table %s, column %s: the value is out of range or of "
				       "another kind",
				       t->name, f->name);
	}
	return 0;
}
