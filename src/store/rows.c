/* rows.c - rows to and from SQLite, column by column as core/fields.c describes them. */
#include "store/rows.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc.h"
#include "core/fleet.h"
#include "core/recording.h"
#include "core/steps.h"
#include "store/batches.h"

static const void *member(const void *row, const struct field *f)
{
	return (const char *)row + f->offset;
}

static int bad(struct err *err, const struct table *t, const struct field *f, const char *what)
{
	return err_set(err, -EBADMSG, "table %s, column %s: %s", t->name, f->name, what);
}

int rows_names(const struct table *t, unsigned version, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < t->field_count; i++) {
		int len;

		if (t->fields[i].since > version)
			continue;
		len = snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
			       t->fields[i].name);
		if (len < 0 || (size_t)len >= size - used)
			return -ENAMETOOLONG;
		used += (size_t)len;
	}
	return 0;
}

/* Length of the UTF-8 sequence at s, 0 for none, NUL, an overlong one, a surrogate, or over U+10FFFF (RFC 3629). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] == 0 || s[0] > 0xf4 || len == 0 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static bool is_text(const struct str *s)
{
	for (size_t at = 0; at < s->len;) {
		size_t len = utf8_length((const unsigned char *)s->bytes + at, s->len - at);

		if (len == 0)
			return false;
		at += len;
	}
	return true;
}

static int bind_str(sqlite3_stmt *stmt, int at, const struct str *s)
{
	if (s->len == 0)
		return sqlite3_bind_text(stmt, at, "", 0, SQLITE_STATIC);
	if (is_text(s))
		return sqlite3_bind_text(stmt, at, s->bytes, (int)s->len, SQLITE_STATIC);
	return sqlite3_bind_blob(stmt, at, s->bytes, (int)s->len, SQLITE_STATIC);
}

/* Writes the CRC of the `len` bytes behind them, if there are any. Returns the length of both. */
static size_t add_crc(uint8_t *bytes, size_t len)
{
	uint32_t crc = crc32_of(0, bytes, len);

	for (size_t i = 0; i < ROWS_CRC_BYTES && len > 0; i++)
		bytes[len + i] = (uint8_t)(crc >> 8 * i);
	return len > 0 ? len + ROWS_CRC_BYTES : 0;
}

static int bind_batches(sqlite3_stmt *stmt, int at, const uint64_t *batch_ns)
{
	uint8_t bytes[BATCHES_MAX_BYTES + ROWS_CRC_BYTES];
	size_t len = batches_encode(batch_ns, bytes);

	if (len == SIZE_MAX)
		return SQLITE_TOOBIG;
	len = add_crc(bytes, len);
	return sqlite3_bind_blob(stmt, at, bytes, (int)len, SQLITE_TRANSIENT);
}

static int bind_steps(sqlite3_stmt *stmt, int at, const struct histogram *h)
{
	size_t len = steps_bytes(h);
	uint8_t *bytes = sqlite3_malloc64(len + ROWS_CRC_BYTES);

	if (bytes == NULL)
		return SQLITE_NOMEM;
	if (len > STEPS_MAX_BYTES || steps_encode(h, bytes) == SIZE_MAX) {
		sqlite3_free(bytes);
		return SQLITE_TOOBIG;
	}
	return sqlite3_bind_blob64(stmt, at, bytes, add_crc(bytes, len), sqlite3_free);
}

static int bind_f64(sqlite3_stmt *stmt, int at, double value)
{
	return isfinite(value) ? sqlite3_bind_double(stmt, at, value) : SQLITE_TOOBIG;
}

/* The words of the random generator are kept bit for bit; any other number is below 2^63. */
static bool is_any_bits(const struct table *t, const struct field *f)
{
	return t == &table_recording && strncmp(f->name, "rng_", 4) == 0;
}

static int bind_u64(sqlite3_stmt *stmt, int at, uint64_t value, bool any_bits)
{
	if (value > INT64_MAX && !any_bits)
		return SQLITE_TOOBIG;
	return sqlite3_bind_int64(stmt, at, (sqlite3_int64)value);
}

static int bind_u32(sqlite3_stmt *stmt, int at, uint32_t value)
{
	return value == NO_ID ? sqlite3_bind_null(stmt, at) : sqlite3_bind_int64(stmt, at, value);
}

static int bind_counter(sqlite3_stmt *stmt, int at, struct counter c)
{
	return IS_MEASURED(c) ? bind_u64(stmt, at, c.value, false) : sqlite3_bind_null(stmt, at);
}

static bool is_no_digest(const struct digest *d)
{
	static const struct digest none;

	return memcmp(d, &none, sizeof(none)) == 0;
}

static int bind_digest(sqlite3_stmt *stmt, int at, const struct digest *d)
{
	if (is_no_digest(d))
		return sqlite3_bind_null(stmt, at);
	return sqlite3_bind_blob(stmt, at, d->bytes, sizeof(d->bytes), SQLITE_STATIC);
}

static int bind_blob(sqlite3_stmt *stmt, int at, const struct blob *b)
{
	return sqlite3_bind_blob64(stmt, at, b->len > 0 ? b->bytes : "", b->len, SQLITE_STATIC);
}

int rows_bind(sqlite3_stmt *stmt, const struct table *t, const void *row, struct err *err)
{
	for (size_t i = 0; i < t->field_count; i++) {
		const struct field *f = &t->fields[i];
		const void *from = member(row, f);
		int at = (int)i + 1, rc = SQLITE_MISUSE;

		switch (f->type) {
		case FIELD_U32:
			rc = bind_u32(stmt, at, *(const uint32_t *)from);
			break;
		case FIELD_U64:
			rc = bind_u64(stmt, at, *(const uint64_t *)from, is_any_bits(t, f));
			break;
		case FIELD_I64:
			rc = sqlite3_bind_int64(stmt, at, *(const int64_t *)from);
			break;
		case FIELD_BOOL:
			rc = sqlite3_bind_int(stmt, at, *(const bool *)from);
			break;
		case FIELD_STR:
			rc = ((const struct str *)from)->len > STR_MAX_BYTES
				     ? SQLITE_TOOBIG
				     : bind_str(stmt, at, from);
			break;
		case FIELD_BATCHES:
			rc = bind_batches(stmt, at, from);
			break;
		case FIELD_F64:
			rc = bind_f64(stmt, at, *(const double *)from);
			break;
		case FIELD_STEPS:
			rc = bind_steps(stmt, at, from);
			break;
		case FIELD_COUNTER:
			rc = bind_counter(stmt, at, *(const struct counter *)from);
			break;
		case FIELD_DIGEST:
			rc = bind_digest(stmt, at, from);
			break;
		case FIELD_BLOB:
			rc = bind_blob(stmt, at, from);
			break;
		}
		if (rc != SQLITE_OK)
			return err_set(err, rc == SQLITE_NOMEM ? -ENOMEM : -ERANGE,
				       "cannot save table %s, column %s: %s", t->name, f->name,
				       rc == SQLITE_NOMEM ? "out of memory" : "out of range");
	}
	return 0;
}

/* Appends to the text and returns the offset; SIZE_MAX: out of memory. */
static size_t text_add(struct rows_text *text, const void *bytes, size_t len)
{
	size_t at = text->used;

	if (len > text->room - text->used) {
		size_t room = text->room * 2 > text->used + len ? text->room * 2
								: text->used + len + 4096;
		char *more = realloc(text->bytes, room);

		if (more == NULL)
			return SIZE_MAX;
		text->bytes = more;
		text->room = room;
	}
	memcpy(text->bytes + at, bytes, len);
	text->used += len;
	return at;
}

static int read_str(sqlite3_stmt *stmt, int at, struct str *out, struct rows_text *text)
{
	int type = sqlite3_column_type(stmt, at);
	const void *bytes = sqlite3_column_blob(stmt, at);
	size_t len = (size_t)sqlite3_column_bytes(stmt, at), offset;

	if ((type != SQLITE_TEXT && type != SQLITE_BLOB) || len > STR_MAX_BYTES ||
	    len > text->most - text->used)
		return -EBADMSG;
	if (len > 0 && bytes == NULL)
		return -ENOMEM;
	offset = len > 0 ? text_add(text, bytes, len) : 0;
	if (offset == SIZE_MAX)
		return -ENOMEM;
	*out = (struct str){ (const char *)offset, (uint32_t)len };
	return 0;
}

/* Checks and takes off the CRC at the end of a blob. -EBADMSG: it is another. */
static int take_crc(const struct rows_text *text, const uint8_t *bytes, size_t *len)
{
	uint32_t crc = 0;

	if (text->version < ROWS_CRC_SINCE || *len == 0)
		return 0;
	if (*len <= ROWS_CRC_BYTES)
		return -EBADMSG;
	*len -= ROWS_CRC_BYTES;
	for (size_t i = 0; i < ROWS_CRC_BYTES; i++)
		crc |= (uint32_t)bytes[*len + i] << 8 * i;
	return crc == crc32_of(0, bytes, *len) ? 0 : -EBADMSG;
}

static int read_batches(sqlite3_stmt *stmt, int at, uint64_t *out_ns, const struct rows_text *text)
{
	const void *bytes = sqlite3_column_blob(stmt, at);
	size_t len = (size_t)sqlite3_column_bytes(stmt, at);
	int rc;

	if (sqlite3_column_type(stmt, at) != SQLITE_BLOB)
		return -EBADMSG;
	if (len > 0 && bytes == NULL)
		return -ENOMEM;
	rc = take_crc(text, bytes, &len);
	return rc == 0 ? batches_decode(bytes, len, out_ns) : rc;
}

static int read_steps(sqlite3_stmt *stmt, int at, struct histogram *out, struct rows_text *text)
{
	const void *bytes = sqlite3_column_blob(stmt, at);
	size_t len = (size_t)sqlite3_column_bytes(stmt, at);
	int rc;

	if (sqlite3_column_type(stmt, at) != SQLITE_BLOB || len > text->most - text->steps)
		return -EBADMSG;
	if (len > 0 && bytes == NULL)
		return -ENOMEM;
	text->steps += len;
	rc = take_crc(text, bytes, &len);
	return rc == 0 ? steps_decode(bytes, len, out) : rc;
}

static int read_f64(sqlite3_stmt *stmt, int at, double *out)
{
	double value = sqlite3_column_double(stmt, at);

	if (sqlite3_column_type(stmt, at) != SQLITE_FLOAT || !isfinite(value))
		return -EBADMSG;
	*out = value;
	return 0;
}

/* A whole number from `low` to `high`. */
static int read_int(sqlite3_stmt *stmt, int at, int64_t low, int64_t high, int64_t *out)
{
	int64_t value = sqlite3_column_int64(stmt, at);

	if (sqlite3_column_type(stmt, at) != SQLITE_INTEGER || value < low || value > high)
		return -EBADMSG;
	*out = value;
	return 0;
}

static int read_u32(sqlite3_stmt *stmt, int at, bool may_be_null, uint32_t *out)
{
	int64_t value = NO_ID;
	int rc = 0;

	if (!may_be_null || sqlite3_column_type(stmt, at) != SQLITE_NULL)
		rc = read_int(stmt, at, 0, NO_ID - 1, &value);
	if (rc == 0)
		*out = (uint32_t)value;
	return rc;
}

static int read_number(sqlite3_stmt *stmt, int at, const struct table *t, const struct field *f,
		       void *out)
{
	int64_t value;
	int rc;

	if (f->type == FIELD_U32)
		return read_u32(stmt, at, !f->is_key, out);
	if (f->type == FIELD_BOOL) {
		rc = read_int(stmt, at, 0, 1, &value);
		if (rc == 0)
			*(bool *)out = value != 0;
		return rc;
	}
	rc = read_int(stmt, at, f->type == FIELD_I64 || is_any_bits(t, f) ? INT64_MIN : 0,
		      INT64_MAX, &value);
	if (rc == 0)
		*(int64_t *)out = value; /* an unsigned member has the same bits */
	return rc;
}

static int read_counter(sqlite3_stmt *stmt, int at, struct counter *out)
{
	int64_t value = 0;
	int rc = 0;

	if (sqlite3_column_type(stmt, at) == SQLITE_NULL) {
		*out = NOT_MEASURED;
		return 0;
	}
	rc = read_int(stmt, at, 0, INT64_MAX, &value);
	if (rc == 0)
		*out = COUNTER((uint64_t)value);
	return rc;
}

static int read_digest(sqlite3_stmt *stmt, int at, struct digest *out)
{
	const void *bytes = sqlite3_column_blob(stmt, at);

	if (sqlite3_column_type(stmt, at) == SQLITE_NULL) {
		memset(out, 0, sizeof(*out));
		return 0;
	}
	if (sqlite3_column_type(stmt, at) != SQLITE_BLOB ||
	    sqlite3_column_bytes(stmt, at) != (int)sizeof(out->bytes))
		return -EBADMSG;
	if (bytes == NULL)
		return -ENOMEM;
	memcpy(out->bytes, bytes, sizeof(out->bytes));
	return 0;
}

static int read_blob(sqlite3_stmt *stmt, int at, struct blob *out, struct rows_text *text)
{
	const void *bytes = sqlite3_column_blob(stmt, at);
	size_t len = (size_t)sqlite3_column_bytes(stmt, at), offset;

	if (sqlite3_column_type(stmt, at) != SQLITE_BLOB || len > text->most - text->used)
		return -EBADMSG;
	if (len > 0 && bytes == NULL)
		return -ENOMEM;
	offset = len > 0 ? text_add(text, bytes, len) : 0;
	if (offset == SIZE_MAX)
		return -ENOMEM;
	*out = (struct blob){ (const void *)offset, (uint32_t)len };
	return 0;
}

static int read_field(sqlite3_stmt *stmt, int at, const struct table *t, const struct field *f,
		      void *out_row, struct rows_text *text)
{
	void *to = (char *)out_row + f->offset;

	switch (f->type) {
	case FIELD_STR:
		return read_str(stmt, at, to, text);
	case FIELD_BATCHES:
		return read_batches(stmt, at, to, text);
	case FIELD_F64:
		return read_f64(stmt, at, to);
	case FIELD_STEPS:
		return read_steps(stmt, at, to, text);
	case FIELD_COUNTER:
		return read_counter(stmt, at, to);
	case FIELD_DIGEST:
		return read_digest(stmt, at, to);
	case FIELD_BLOB:
		return read_blob(stmt, at, to, text);
	case FIELD_U32:
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_BOOL:
		break;
	}
	return read_number(stmt, at, t, f, to);
}

int rows_read(sqlite3_stmt *stmt, const struct table *t, void *out_row, struct rows_text *text,
	      struct err *err)
{
	int at = 0;

	for (size_t i = 0; i < t->field_count; i++) {
		int rc;

		if (t->fields[i].since > text->version)
			continue;
		rc = read_field(stmt, at++, t, &t->fields[i], out_row, text);
		if (rc == -ENOMEM)
			return err_set(err, rc, "out of memory");
		if (rc != 0)
			return bad(err, t, &t->fields[i],
				   "the value is out of range or of another kind");
	}
	return 0;
}

void rows_drop(const struct table *t, void *row)
{
	for (size_t i = 0; i < t->field_count; i++) {
		void *at = (char *)row + t->fields[i].offset;

		if (t->fields[i].type == FIELD_STEPS)
			histogram_free(at);
	}
}

static void settle_str(struct str *s, const struct rows_text *text)
{
	s->bytes = s->len > 0 ? text->bytes + (size_t)s->bytes : "";
}

static void settle_blob(struct blob *b, const struct rows_text *text)
{
	b->bytes = b->len > 0 ? text->bytes + (size_t)b->bytes : "";
}

void rows_settle(const struct table *t, void *rows, size_t count, const struct rows_text *text)
{
	for (size_t i = 0; i < t->field_count; i++) {
		if (t->fields[i].type != FIELD_STR && t->fields[i].type != FIELD_BLOB)
			continue;
		for (size_t row = 0; row < count; row++) {
			char *at = (char *)rows + row * t->row_bytes + t->fields[i].offset;

			if (t->fields[i].type == FIELD_STR)
				settle_str((struct str *)at, text);
			else
				settle_blob((struct blob *)at, text);
		}
	}
}
