/* plan_string.c - strings and numbers of foreign JSON (RFC 8259), and how a string is written. */
#include "fleet/plan_string.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "core/scoped.h"

#define REPLACEMENT	"\xef\xbf\xbd"
#define NUMBER_MOST	64u
#define IS_SURROGATE(p) ((p) >= 0xd800 && (p) < 0xe000)

char plan_bytes_peek(const struct plan_bytes *b)
{
	return b->at < b->len ? b->json[b->at] : '\0';
}

void plan_bytes_skip(struct plan_bytes *b)
{
	while (b->at < b->len && memchr(" \t\n\r", b->json[b->at], 4) != NULL)
		b->at++;
}

/* Four hex digits. -1: they are not there. */
static int32_t hex4(struct plan_bytes *b)
{
	int32_t value = 0;

	if (b->len - b->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char byte = b->json[b->at++];
		char letter = (char)(byte | 0x20);

		if (byte >= '0' && byte <= '9')
			value = value * 16 + byte - '0';
		else if (letter >= 'a' && letter <= 'f')
			value = value * 16 + letter - 'a' + 10;
		else
			return -1;
	}
	return value;
}

static void put_point(struct text *out, uint32_t p)
{
	char bytes[4];
	size_t len = p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = len; i-- > 1; p >>= 6)
		bytes[i] = (char)(0x80 | (p & 0x3f));
	bytes[0] = (char)(first[len] | p);
	text_add(out, bytes, len);
}

/* What stands behind \u: one code point of one or two escapes. */
static int read_escaped_point(struct plan_bytes *b, struct text *out)
{
	int32_t high = hex4(b), low;
	struct plan_bytes ahead;

	if (high < 0)
		return -EBADMSG;
	if (!IS_SURROGATE(high)) {
		if (high != 0)
			put_point(out, (uint32_t)high);
		return 0;
	}
	ahead = *b;
	if (high < 0xdc00 && b->len - b->at >= 6 && memcmp(b->json + b->at, "\\u", 2) == 0) {
		ahead.at += 2;
		low = hex4(&ahead);
		if (low >= 0xdc00 && low < 0xe000) {
			*b = ahead;
			put_point(out, 0x10000 + ((uint32_t)(high - 0xd800) << 10) +
					       (uint32_t)(low - 0xdc00));
			return 0;
		}
	}
	text_put(out, REPLACEMENT);
	return 0;
}

static int read_escape(struct plan_bytes *b, struct text *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char byte = plan_bytes_peek(b);
	const char *found = byte != '\0' ? strchr(from, byte) : NULL;

	b->at++;
	if (byte == 'u')
		return read_escaped_point(b, out);
	if (found == NULL)
		return -EBADMSG;
	text_add(out, to + (found - from), 1);
	return 0;
}

/* One character of UTF-8, or the replacement for a byte that is none. */
static void read_wide(struct plan_bytes *b, struct text *out)
{
	uint32_t point;
	size_t used = text_decode(b->json + b->at, b->len - b->at, &point);

	if (used == 0)
		text_put(out, REPLACEMENT);
	else
		text_add(out, b->json + b->at, used);
	b->at += used == 0 ? 1 : used;
}

int plan_bytes_string(struct plan_bytes *b, struct text *out)
{
	text_clear(out);
	if (plan_bytes_peek(b) != '"')
		return -EBADMSG;
	for (b->at++; b->at < b->len;) {
		size_t from = b->at;
		unsigned char byte = '\0';

		while (b->at < b->len && (byte = (unsigned char)b->json[b->at]) >= 0x20 &&
		       byte < 0x80 && byte != '"' && byte != '\\')
			b->at++;
		text_add(out, b->json + from, b->at - from);
		if (b->at == b->len)
			break;
		if (byte == '"') {
			b->at++;
			return 0;
		}
		if (byte >= 0x80) {
			read_wide(b, out);
		} else if (byte == '\\') {
			b->at++;
			if (read_escape(b, out) != 0)
				return -EBADMSG;
		} else {
			return -EBADMSG; /* a control character stands in no JSON string */
		}
	}
	return -EBADMSG;
}

static size_t skip_digits(struct plan_bytes *b)
{
	size_t from = b->at;

	while (plan_bytes_peek(b) >= '0' && plan_bytes_peek(b) <= '9')
		b->at++;
	return b->at - from;
}

size_t plan_bytes_number(struct plan_bytes *b)
{
	size_t from = b->at, digits;
	bool begins_with_0;

	b->at += plan_bytes_peek(b) == '-';
	begins_with_0 = plan_bytes_peek(b) == '0';
	digits = skip_digits(b);
	if (digits == 0 || (begins_with_0 && digits > 1))
		return 0;
	if (plan_bytes_peek(b) == '.') {
		b->at++;
		if (skip_digits(b) == 0)
			return 0;
	}
	if ((plan_bytes_peek(b) | 0x20) == 'e') {
		b->at++;
		b->at += plan_bytes_peek(b) == '+' || plan_bytes_peek(b) == '-';
		if (skip_digits(b) == 0)
			return 0;
	}
	return b->at - from <= NUMBER_MOST ? b->at - from : 0;
}

char plan_bytes_word(struct plan_bytes *b)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i]);

		if (b->len - b->at >= len && memcmp(b->json + b->at, words[i], len) == 0) {
			b->at += len;
			return words[i][0];
		}
	}
	return '\0';
}

void plan_put_string(struct text *out, const char *bytes, size_t len)
{
	text_put(out, "\"");
	for (size_t at = 0; at < len;) {
		size_t from = at;
		char byte;

		while (at < len && (unsigned char)bytes[at] >= 0x20 && bytes[at] != '"' &&
		       bytes[at] != '\\')
			at++;
		text_add(out, bytes + from, at - from);
		if (at == len)
			break;
		byte = bytes[at++];
		if (byte == '"' || byte == '\\')
			text_printf(out, "\\%c", byte);
		else
			text_printf(out, "\\u%04x", (unsigned char)byte);
	}
	text_put(out, "\"");
}
