/* fleet_batch.c - rows gathered: an array a table and verb, and pieces of memory that hold their strings. */
#include "core/fleet_batch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/recording.h"

#define PIECE_LEAST_BYTES 4096u
#define PIECE_MOST_BYTES  65536u
#define FIRST_ROWS	  4u

/* Memory for strings and blobs; the newest piece is the first. */
struct batch_piece {
	struct batch_piece *next;
	size_t used, room;
	char bytes[];
};

void fleet_batch_free(struct fleet_batch *b)
{
	for (size_t i = 0; i < b->block_count; i++)
		free(b->blocks[i].rows);
	free(b->blocks);
	while (b->pieces != NULL) {
		struct batch_piece *next = b->pieces->next;

		free(b->pieces);
		b->pieces = next;
	}
	*b = FLEET_BATCH_EMPTY;
}

static const void *member(const void *row, const struct field *f)
{
	return (const char *)row + f->offset;
}

/* Is the value one that every store can hold? */
static bool is_storable(const struct field *f, const void *at)
{
	switch (f->type) {
	case FIELD_U32:
		return !f->is_key || *(const uint32_t *)at != NO_ID;
	case FIELD_U64:
		return *(const uint64_t *)at <= INT64_MAX;
	case FIELD_COUNTER:
		return !IS_MEASURED(*(const struct counter *)at) ||
		       ((const struct counter *)at)->value <= INT64_MAX;
	case FIELD_F64:
		return isfinite(*(const double *)at);
	case FIELD_DIGEST:
		return !f->is_key || !fleet_digest_is_none(at);
	case FIELD_I64:
	case FIELD_BOOL:
	case FIELD_STR:
	case FIELD_BLOB:
		return true;
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break; /* no table of a fleet has one */
	}
	return false;
}

/* Bytes of a string that are kept: at most STR_MAX_BYTES, and no part of a character at the cut. */
static size_t kept_length(const struct str *s)
{
	size_t len = STR_MAX_BYTES;

	if (s->len <= STR_MAX_BYTES)
		return s->len;
	for (size_t back = 0; back < 4; back++)
		if (((unsigned char)s->bytes[len - back] & 0xc0) != 0x80)
			return len - back;
	return len; /* no UTF-8 */
}

/* Bytes that the strings and blobs of a row's first `fields` columns take, before NULs are left out. */
static size_t bytes_beside(const struct table *t, size_t fields, const void *row)
{
	size_t bytes = 0;

	for (size_t i = 0; i < fields; i++) {
		const void *at = member(row, &t->fields[i]);

		if (t->fields[i].type == FIELD_STR)
			bytes += kept_length(at);
		else if (t->fields[i].type == FIELD_BLOB)
			bytes += ((const struct blob *)at)->len;
	}
	return bytes;
}

/* Makes room for `len` bytes in the first piece. */
static int reserve_bytes(struct fleet_batch *b, size_t len)
{
	size_t room = b->pieces == NULL ? PIECE_LEAST_BYTES : b->pieces->room * 2;
	struct batch_piece *more;

	if (len == 0 || (b->pieces != NULL && b->pieces->room - b->pieces->used >= len))
		return 0;
	if (room > PIECE_MOST_BYTES)
		room = PIECE_MOST_BYTES;
	if (room < len)
		room = len;
	more = malloc(sizeof(*more) + room);
	if (more == NULL)
		return -ENOMEM;
	*more = (struct batch_piece){ .next = b->pieces, .room = room };
	b->pieces = more;
	return 0;
}

static struct fleet_block *find_block(const struct fleet_batch *b, const struct table *t,
				      enum block_verb verb)
{
	for (size_t i = 0; i < b->block_count; i++)
		if (b->blocks[i].table == t && b->blocks[i].verb == verb)
			return &b->blocks[i];
	return NULL;
}

/* Room for one more row in the block of `t` and `verb`; NULL: out of memory. A block without rows is not counted yet. */
static struct fleet_block *reserve_row(struct fleet_batch *b, const struct table *t,
				       enum block_verb verb)
{
	struct fleet_block *block = find_block(b, t, verb);
	size_t room;
	void *more;

	if (block == NULL) {
		more = reallocarray(b->blocks, b->block_count + 1, sizeof(*b->blocks));
		if (more == NULL)
			return NULL;
		b->blocks = more;
		block = &b->blocks[b->block_count];
		*block = (struct fleet_block){ .table = t, .verb = verb };
	}
	if (block->count < block->room)
		return block;
	room = block->room == 0 ? FIRST_ROWS : block->room * 2;
	more = reallocarray(block->rows, room, t->row_bytes);
	if (more == NULL)
		return NULL;
	block->rows = more;
	block->room = room;
	return block;
}

/* Copies a string into the first piece, which has room, without its NULs. */
static void keep_str(struct fleet_batch *b, struct str *s)
{
	size_t len = kept_length(s), kept = 0;
	char *to;

	if (s->len == 0) {
		*s = (struct str){ "", 0 };
		return;
	}
	to = b->pieces->bytes + b->pieces->used;
	for (size_t i = 0; i < len; i++)
		if (s->bytes[i] != '\0')
			to[kept++] = s->bytes[i];
	if (kept < s->len)
		b->cut_strs++;
	b->pieces->used += kept;
	b->bytes += kept;
	*s = (struct str){ to, (uint32_t)kept };
}

static void keep_blob(struct fleet_batch *b, struct blob *blob)
{
	char *to;

	if (blob->len == 0) {
		*blob = (struct blob){ "", 0 };
		return;
	}
	to = b->pieces->bytes + b->pieces->used;
	memcpy(to, blob->bytes, blob->len);
	b->pieces->used += blob->len;
	b->bytes += blob->len;
	blob->bytes = to;
}

/* The row is in its place; its strings and blobs are still borrowed, and those beyond `fields` are nobody's. */
static void keep_beside(struct fleet_batch *b, const struct table *t, size_t fields, void *row)
{
	for (size_t i = 0; i < t->field_count; i++) {
		void *at = (char *)row + t->fields[i].offset;

		if (t->fields[i].type == FIELD_STR && i >= fields)
			*(struct str *)at = (struct str){ "", 0 };
		else if (t->fields[i].type == FIELD_STR)
			keep_str(b, at);
		else if (t->fields[i].type == FIELD_BLOB && i >= fields)
			*(struct blob *)at = (struct blob){ "", 0 };
		else if (t->fields[i].type == FIELD_BLOB)
			keep_blob(b, at);
	}
}

size_t fleet_key_count(const struct table *t)
{
	size_t count = 0;

	while (count < t->field_count && t->fields[count].is_key)
		count++;
	return count;
}

bool fleet_digest_is_none(const struct digest *d)
{
	static const struct digest none;

	return memcmp(d, &none, sizeof(none)) == 0;
}

int fleet_batch_add(struct fleet_batch *b, const struct table *t, enum block_verb verb,
		    const void *row)
{
	size_t fields = verb == BLOCK_DROP ? fleet_key_count(t) : t->field_count;
	struct fleet_block *block;
	char *to;

	for (size_t i = 0; i < fields; i++)
		if (!is_storable(&t->fields[i], member(row, &t->fields[i])))
			return -ERANGE;
	if (reserve_bytes(b, bytes_beside(t, fields, row)) != 0)
		return -ENOMEM;
	block = reserve_row(b, t, verb);
	if (block == NULL)
		return -ENOMEM;
	if (block->count == 0)
		b->block_count++;
	to = (char *)block->rows + block->count++ * t->row_bytes;
	memcpy(to, row, t->row_bytes);
	keep_beside(b, t, fields, to);
	b->bytes += t->row_bytes;
	return 0;
}

const struct fleet_block *fleet_batch_block(const struct fleet_batch *b, const struct table *t,
					    enum block_verb verb)
{
	return find_block(b, t, verb);
}

const void *fleet_block_row(const struct fleet_block *block, size_t i)
{
	return (const char *)block->rows + i * block->table->row_bytes;
}

const struct fleet_table *fleet_table_find(const char *name, size_t len)
{
	for (size_t i = 0; i < fleet_table_count; i++)
		if (strlen(fleet_tables[i].table->name) == len &&
		    memcmp(fleet_tables[i].table->name, name, len) == 0)
			return &fleet_tables[i];
	return NULL;
}
