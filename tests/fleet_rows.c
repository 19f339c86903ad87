/* fleet_rows.c - rows by their descriptors. */
#include "fleet_rows.h"

#include <string.h>

#include "core/fleet.h"
#include "core/recording.h"

static uint64_t some_number(struct rng *r)
{
	switch (rng_below(r, 6)) {
	case 0:
		return 0;
	case 1:
		return INT64_MAX;
	case 2:
		return rng_below(r, 200);
	default:
		return rng_next(r) >> (1 + rng_below(r, 62));
	}
}

static struct str some_bytes(struct made_row *m, struct rng *r)
{
	size_t len = rng_below(r, 4) == 0 ? 0 : rng_below(r, 40);
	char *to = m->text + m->text_used;
	bool is_text = rng_below(r, 4) != 0;

	for (size_t i = 0; i < len; i++)
		to[i] = is_text ? (char)('a' + rng_below(r, 26)) : (char)(1 + rng_below(r, 255));
	m->text_used += len;
	return (struct str){ to, (uint32_t)len };
}

static void some_digest(struct digest *d, struct rng *r)
{
	for (size_t i = 0; i < sizeof(d->bytes); i++)
		d->bytes[i] = (uint8_t)rng_next(r);
}

static void fill_field(struct made_row *m, const struct field *f, struct rng *r)
{
	void *at = m->row + f->offset;
	struct str s;

	switch (f->type) {
	case FIELD_U32:
		*(uint32_t *)at = !f->is_key && rng_below(r, 5) == 0
					  ? NO_ID
					  : (uint32_t)(some_number(r) % NO_ID);
		break;
	case FIELD_U64:
		*(uint64_t *)at = some_number(r);
		break;
	case FIELD_I64:
		*(int64_t *)at = (int64_t)some_number(r) * (rng_below(r, 2) == 0 ? 1 : -1);
		break;
	case FIELD_BOOL:
		*(bool *)at = rng_below(r, 2) == 1;
		break;
	case FIELD_F64:
		*(double *)at = (double)some_number(r) / 8;
		break;
	case FIELD_COUNTER:
		*(struct counter *)at =
			rng_below(r, 4) == 0 ? NOT_MEASURED : COUNTER(some_number(r));
		break;
	case FIELD_STR:
		*(struct str *)at = some_bytes(m, r);
		break;
	case FIELD_BLOB:
		s = some_bytes(m, r);
		*(struct blob *)at = (struct blob){ s.bytes, s.len };
		break;
	case FIELD_DIGEST:
		if (f->is_key || rng_below(r, 3) != 0)
			some_digest(at, r);
		break;
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break;
	}
}

void made_row_fill(struct made_row *out, const struct table *t, uint32_t server, struct rng *r)
{
	memset(out->row, 0, sizeof(out->row));
	out->text_used = 0;
	for (size_t i = 0; i < t->field_count; i++)
		fill_field(out, &t->fields[i], r);
	memcpy(out->row + t->fields[0].offset, &server, sizeof(server));
}

static bool is_same(enum field_type type, const void *a, const void *b)
{
	const struct str *left = a, *right = b;
	const struct blob *from = a, *to = b;

	switch (type) {
	case FIELD_U32:
		return memcmp(a, b, sizeof(uint32_t)) == 0;
	case FIELD_BOOL:
		return memcmp(a, b, sizeof(bool)) == 0;
	case FIELD_STR:
		return left->len == right->len &&
		       (left->len == 0 || memcmp(left->bytes, right->bytes, left->len) == 0);
	case FIELD_BLOB:
		return from->len == to->len &&
		       (from->len == 0 || memcmp(from->bytes, to->bytes, from->len) == 0);
	case FIELD_DIGEST:
		return memcmp(a, b, sizeof(struct digest)) == 0;
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_F64:
	case FIELD_COUNTER:
		return memcmp(a, b, 8) == 0;
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break;
	}
	return false;
}

bool made_rows_equal(const struct table *t, size_t columns, const void *a, const void *b,
		     size_t *out_column)
{
	for (size_t i = 0; i < columns; i++) {
		if (is_same(t->fields[i].type, (const char *)a + t->fields[i].offset,
			    (const char *)b + t->fields[i].offset))
			continue;
		*out_column = i;
		return false;
	}
	return true;
}
