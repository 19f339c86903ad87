/* parser_code.c - asks the parser child about single names and addresses, and checks what it says. */
#include <errno.h>
#include <string.h>

#include "core/scoped.h"
#include "core/units.h"
#include "sense/parser.h"
#include "sense/parser_link.h"

#define LEAST_WAIT_NS (2 * NS_PER_MS) /* many times what such an answer takes */

/* FNV-1a: tells one question from another. */
static uint64_t hash_text(const char *bytes, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* As many of the names as fit, each with its NUL. Returns how many bytes they are. */
static size_t write_names(const struct parser_plain_names *names, char text[PARSER_MAX_TEXT],
			  size_t *out_done)
{
	size_t bytes = 0;

	for (*out_done = 0; *out_done < names->count; ++*out_done) {
		struct str s = names->mangled[*out_done];
		uint32_t len = s.len;

		if (len > STR_MAX_BYTES || (len > 0 && memchr(s.bytes, '\0', len) != NULL))
			len = 0; /* no name that anybody mangled */
		if (bytes + len + 1 > PARSER_MAX_TEXT)
			break;
		if (len > 0)
			memcpy(text + bytes, s.bytes, len);
		text[bytes + len] = '\0';
		bytes += len + 1;
	}
	return bytes;
}

static bool is_text(const struct parser_reply *r, uint32_t at, uint32_t bytes)
{
	return bytes <= STR_MAX_BYTES && (uint64_t)at + bytes <= r->answer.part_bytes[1];
}

static int give_plain(const struct parser_reply *r, const struct parser_plain_names *names,
		      size_t done)
{
	const struct parser_plain *items = r->parts[0];
	const char *text = r->parts[1];
	size_t count;

	if (!parser_reply_count(r, 0, sizeof(*items), &count) || count != done)
		return -EIO;
	for (size_t i = 0; i < count; i++) {
		if (items[i].bytes == 0)
			continue;
		if (!is_text(r, items[i].at, items[i].bytes))
			return -EIO;
		names->take(names->owner, i, (struct str){ text + items[i].at, items[i].bytes });
	}
	return 0;
}

int parser_read_plain(struct parser *p, const struct parser_plain_names *names, size_t *out_done)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_file none = { .fd = -1 };
	struct parser_ask question = { .question = { .kind = PARSER_PLAIN },
				       .most_bytes = PARSER_MAX_CODE_BYTES,
				       .least_wait_ns = LEAST_WAIT_NS };
	char text[PARSER_MAX_TEXT];
	size_t bytes = write_names(names, text, out_done);
	int rc;

	if (*out_done == 0)
		return 0;
	question.text = text;
	question.question.text_bytes = (uint32_t)bytes;
	question.question.address = hash_text(text, bytes);
	rc = parser_ask_file(p, &none, &question, &reply);
	return rc < 0 ? rc : give_plain(&reply, names, *out_done);
}

static int give_inlined(const struct parser_reply *r, const struct parser_inlined_at *at)
{
	const struct parser_inlined *items = r->parts[0];
	const char *text = r->parts[1];
	size_t count;

	if (!parser_reply_count(r, 0, sizeof(*items), &count) || count > PARSER_MAX_INLINED)
		return -EIO;
	for (size_t i = 0; i < count; i++)
		if (items[i].name_bytes == 0 ||
		    !is_text(r, items[i].name_at, items[i].name_bytes) ||
		    !is_text(r, items[i].file_at, items[i].file_bytes))
			return -EIO;
	for (size_t i = 0; i < count; i++) {
		const struct parser_inlined *item = &items[i];

		at->take(at->owner, (struct str){ text + item->name_at, item->name_bytes },
			 (struct str){ item->file_bytes > 0 ? text + item->file_at : NULL,
				       item->file_bytes },
			 item->line);
	}
	return 0;
}

int parser_read_inlined(struct parser *p, const struct parser_file *file,
			const struct parser_inlined_at *at)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	struct parser_file alone = { .id = file->id, .fd = file->fd };
	struct parser_ask question = { .question = { .kind = PARSER_INLINED,
						     .address = at->address },
				       .most_bytes = PARSER_MAX_CODE_BYTES,
				       .least_wait_ns = LEAST_WAIT_NS };
	int rc = parser_ask_file(p, &alone, &question, &reply);

	return rc < 0 ? rc : give_inlined(&reply, at);
}

static int check_jit(const struct parser_reply *r, size_t wanted)
{
	const struct parser_jit *items = r->parts[0];
	size_t count;

	if (!parser_reply_count(r, 0, sizeof(*items), &count) || count != wanted ||
	    r->answer.head_bytes != sizeof(r->head.jit))
		return -EIO;
	for (size_t i = 0; i < count; i++)
		if (!is_text(r, items[i].name_at, items[i].name_bytes) ||
		    !is_text(r, items[i].file_at, items[i].file_bytes))
			return -EIO;
	return 0;
}

static int give_jit(const struct parser_reply *r, const struct parser_jit_at *at)
{
	const struct parser_jit *items = r->parts[0];
	const char *text = r->parts[1];
	int rc = check_jit(r, at->count);

	for (size_t i = 0; rc == 0 && i < at->count; i++) {
		const struct parser_jit *item = &items[i];
		struct parser_jit_code code = { .start = item->start,
						.end = item->end,
						.since_ns = item->since_ns,
						.until_ns = item->until_ns,
						.line = item->line };

		if (item->name_bytes > 0 && at->addresses[i] >= item->start &&
		    at->addresses[i] < item->end)
			code.name = (struct str){ text + item->name_at, item->name_bytes };
		if (item->file_bytes > 0)
			code.file = (struct str){ text + item->file_at, item->file_bytes };
		at->take(at->owner, i, &code);
	}
	return rc;
}

int parser_read_jit(struct parser *p, const struct parser_file *file,
		    const struct parser_jit_at *at, uint64_t *out_rejected)
{
	SCOPED(parser_reply_free) struct parser_reply reply = { .head = { .bytes = { 0 } } };
	/* Its bytes and its time of change are another at each look. */
	struct parser_file alone = { .id = { .device = file->id.device, .inode = file->id.inode },
				     .fd = file->fd };
	uint64_t wanted[PARSER_MAX_JIT] = { at->at_ns };
	struct parser_ask question = { .question = { .kind = PARSER_JIT,
						     .wanted_count = (uint32_t)at->count + 1 },
				       .wanted = wanted,
				       .most_bytes = PARSER_MAX_CODE_BYTES,
				       .least_wait_ns = LEAST_WAIT_NS };
	int rc;

	if (at->count == 0 || at->count >= PARSER_MAX_JIT)
		return -EINVAL;
	memcpy(wanted + 1, at->addresses, at->count * sizeof(*wanted));
	question.question.address =
		hash_text((const char *)wanted, (at->count + 1) * sizeof(*wanted));
	rc = parser_ask_file(p, &alone, &question, &reply);
	if (rc == 0)
		rc = give_jit(&reply, at);
	if (rc == 0)
		*out_rejected = reply.head.jit.rejected;
	return rc;
}
