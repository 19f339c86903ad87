/* fleet_pack.c - a batch as bytes for a spool, and back.
 *
 * A header of 16 bytes: "tarebat1", length of the body, its CRC-32 (both little-endian). The body, numbers as LEB128:
 * server, cycle, cut strings, blocks; a block: length and bytes of the table's name, verb, columns, a byte of type each,
 * rows; then the rows, column by column. A real has its 8 bytes; a digest a byte 0, or 1 and its 32 bytes; a signed number
 * is folded (0, -1, 1, -2 ...: protobuf's zigzag), in ten bytes at most. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc.h"
#include "core/fleet_batch.h"

#define MAGIC	     "tarebat1"
#define HEADER_BYTES 16u

/* Bytes being written. `is_over`: out of memory, or too many. */
struct packing {
	uint8_t *bytes;
	size_t len, room;
	bool is_over;
};

static void put_bytes(struct packing *p, const void *bytes, size_t len)
{
	if (p->is_over || len > FLEET_BATCH_MOST_BYTES - p->len) {
		p->is_over = true;
		return;
	}
	if (p->len + len > p->room) {
		size_t room = p->room * 2 > p->len + len ? p->room * 2 : p->len + len + 4096;
		uint8_t *more = realloc(p->bytes, room);

		if (more == NULL) {
			p->is_over = true;
			return;
		}
		p->bytes = more;
		p->room = room;
	}
	if (len > 0)
		memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
}

static void put_number(struct packing *p, uint64_t value)
{
	uint8_t out[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		out[len++] = (uint8_t)(value | 0x80);
	out[len++] = (uint8_t)value;
	put_bytes(p, out, len);
}

static void put_sized(struct packing *p, const void *bytes, size_t len)
{
	put_number(p, len);
	put_bytes(p, bytes, len);
}

static void put_digest(struct packing *p, const struct digest *d)
{
	put_number(p, !fleet_digest_is_none(d));
	if (!fleet_digest_is_none(d))
		put_bytes(p, d->bytes, sizeof(d->bytes));
}

static void put_field(struct packing *p, enum field_type type, const void *at)
{
	int64_t number;

	switch (type) {
	case FIELD_U32:
		put_number(p, *(const uint32_t *)at);
		break;
	case FIELD_U64:
		put_number(p, *(const uint64_t *)at);
		break;
	case FIELD_I64:
		number = *(const int64_t *)at;
		put_number(p, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
		break;
	case FIELD_BOOL:
		put_number(p, *(const bool *)at);
		break;
	case FIELD_COUNTER: /* not measured is 2^64 - 1: becomes 0 */
		put_number(p, ((const struct counter *)at)->value + 1);
		break;
	case FIELD_F64: /* as this machine has it: a spool is read where it was written */
		put_bytes(p, at, sizeof(double));
		break;
	case FIELD_STR:
		put_sized(p, ((const struct str *)at)->bytes, ((const struct str *)at)->len);
		break;
	case FIELD_BLOB:
		put_sized(p, ((const struct blob *)at)->bytes, ((const struct blob *)at)->len);
		break;
	case FIELD_DIGEST:
		put_digest(p, at);
		break;
	case FIELD_BATCHES:
	case FIELD_STEPS:
		break; /* no table of a fleet has one */
	}
}

static size_t columns_of(const struct table *t, enum block_verb verb)
{
	return verb == BLOCK_DROP ? fleet_key_count(t) : t->field_count;
}

static void put_block(struct packing *p, const struct fleet_block *block)
{
	const struct table *t = block->table;
	size_t columns = columns_of(t, block->verb);

	put_sized(p, t->name, strlen(t->name));
	put_number(p, block->verb);
	put_number(p, columns);
	for (size_t i = 0; i < columns; i++)
		put_number(p, t->fields[i].type);
	put_number(p, block->count);
	for (size_t row = 0; row < block->count; row++)
		for (size_t i = 0; i < columns; i++)
			put_field(p, t->fields[i].type,
				  (const char *)fleet_block_row(block, row) + t->fields[i].offset);
}

static void put_u32(uint8_t *to, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

int fleet_batch_pack(const struct fleet_batch *b, void **out, size_t *out_len)
{
	struct packing p = { NULL };
	uint8_t header[HEADER_BYTES] = { 0 };

	put_bytes(&p, header, sizeof(header));
	put_number(&p, b->server);
	put_number(&p, b->cycle);
	put_number(&p, b->cut_strs);
	put_number(&p, b->block_count);
	for (size_t i = 0; i < b->block_count; i++)
		put_block(&p, &b->blocks[i]);
	if (p.is_over) {
		free(p.bytes);
		return b->bytes > FLEET_BATCH_MOST_BYTES / 2 ? -EFBIG : -ENOMEM;
	}
	memcpy(p.bytes, MAGIC, 8);
	put_u32(p.bytes + 8, (uint32_t)(p.len - HEADER_BYTES));
	put_u32(p.bytes + 12, crc32_of(0, p.bytes + HEADER_BYTES, p.len - HEADER_BYTES));
	*out = p.bytes;
	*out_len = p.len;
	return 0;
}
