/* text.c - a growing string, and foreign names made harmless. */
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"

#define MARKS_A_CHARACTER 3u
#define ELLIPSIS	  "\xe2\x80\xa6"

void text_free(struct text *t)
{
	free(t->bytes);
	*t = TEXT_EMPTY;
}

void text_clear(struct text *t)
{
	t->len = 0;
	if (t->bytes != NULL)
		t->bytes[0] = '\0';
}

const char *text_chars(const struct text *t)
{
	return t->bytes != NULL ? t->bytes : "";
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct text *t, size_t more)
{
	size_t room = t->room < 64 ? 64 : t->room;
	char *bytes;

	if (t->has_failed || more >= SIZE_MAX / 4 - t->len) {
		t->has_failed = true;
		return false;
	}
	while (room <= t->len + more)
		room *= 2;
	if (room == t->room)
		return true;
	bytes = realloc(t->bytes, room);
	if (bytes == NULL) {
		t->has_failed = true;
		return false;
	}
	t->bytes = bytes;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t len)
{
	if (!reserve(t, len))
		return;
	if (len > 0)
		memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

void text_put(struct text *t, const char *chars)
{
	text_add(t, chars, strlen(chars));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list args, again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		t->has_failed = true;
	else if (reserve(t, (size_t)len)) {
		vsnprintf(t->bytes + t->len, (size_t)len + 1, fmt, again);
		t->len += (size_t)len;
	}
	va_end(again);
}

void text_blanks(struct text *t, size_t columns)
{
	for (; columns > 0; columns--)
		text_add(t, " ", 1);
}

size_t text_decode(const char *bytes, size_t len, uint32_t *out_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)bytes[0];
	size_t need = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t point = need == 1 ? first : first & (0xffu >> (need + 1));

	if (need == 0 || first > 0xf4 || need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		unsigned char next = (unsigned char)bytes[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (next & 0x3f);
	}
	if (point < least[need] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*out_point = point;
	return need;
}

size_t text_columns(const char *bytes, size_t len)
{
	size_t columns = 0;

	for (size_t at = 0; at < len;) {
		uint32_t point = 0;
		size_t used = text_decode(bytes + at, len - at, &point);
		int width = used > 0 ? text_point_columns(point) : 1;

		columns += width > 0 ? (size_t)width : 0;
		at += used > 0 ? used : 1;
	}
	return columns;
}

/* One piece of a shown name: a code point as it is, or its escape. */
struct piece {
	char bytes[16];
	size_t len, columns;
};

static size_t escape_point(uint32_t point, char *out, size_t size)
{
	static const char letters[] = "abtnvfr"; /* 0x07 .. 0x0d */
	int len;

	if (point >= 0x07 && point <= 0x0d)
		len = snprintf(out, size, "\\%c", letters[point - 0x07]);
	else if (point < 0x80)
		len = snprintf(out, size, "\\x%02x", (unsigned)point);
	else
		len = snprintf(out, size, "\\u{%x}", (unsigned)point);
	return (size_t)len;
}

/* Takes the next piece of `name` from `*at` on. `*marks` counts marks in a row. */
static struct piece next_piece(struct str name, size_t *at, unsigned *marks)
{
	struct piece piece = { .len = 0 };
	uint32_t point = 0;
	size_t used = text_decode(name.bytes + *at, name.len - *at, &point);
	int columns = used > 0 ? text_point_columns(point) : TEXT_HIDDEN;

	*marks = columns == 0 ? *marks + 1 : 0;
	if (used == 0) {
		piece.len = (size_t)snprintf(piece.bytes, sizeof(piece.bytes), "\\x%02x",
					     (unsigned char)name.bytes[*at]);
		used = 1;
	} else if (columns == TEXT_HIDDEN ||
		   (columns == 0 && (*at == 0 || *marks > MARKS_A_CHARACTER))) {
		piece.len = escape_point(point, piece.bytes, sizeof(piece.bytes));
		columns = TEXT_HIDDEN;
	} else {
		memcpy(piece.bytes, name.bytes + *at, used);
		piece.len = used;
	}
	piece.columns = columns == TEXT_HIDDEN ? piece.len : (size_t)columns;
	*at += used;
	return piece;
}

void text_put_name(struct text *t, struct str name)
{
	unsigned marks = 0;

	for (size_t at = 0; at < name.len;) {
		struct piece piece = next_piece(name, &at, &marks);

		text_add(t, piece.bytes, piece.len);
	}
}

/* Is the shown name at most `columns` wide? Looks no further than it must. */
static bool fits(struct str name, size_t columns)
{
	unsigned marks = 0;
	size_t used = 0;

	for (size_t at = 0; at < name.len && used <= columns;)
		used += next_piece(name, &at, &marks).columns;
	return used <= columns;
}

void text_put_cut(struct text *t, struct str name, size_t columns)
{
	unsigned marks = 0;
	size_t left = columns;

	if (fits(name, columns)) {
		text_put_name(t, name);
		return;
	}
	if (columns == 0)
		return;
	left--; /* for the "…" */
	for (size_t at = 0; at < name.len;) {
		struct piece piece = next_piece(name, &at, &marks);

		if (piece.columns > left)
			break;
		text_add(t, piece.bytes, piece.len);
		left -= piece.columns;
	}
	text_put(t, ELLIPSIS);
}

/* The name's length without a trailing " const", " volatile", "&" or " [clone .cold]". */
static size_t without_qualifiers(struct str name)
{
	static const char *const ends[] = { " const", " volatile", "&", " noexcept" };
	size_t len = name.len;
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
			size_t end = strlen(ends[i]);

			if (len <= end || memcmp(name.bytes + len - end, ends[i], end) != 0)
				continue;
			len -= end;
			has_changed = true;
		}
	}
	if (len > 0 && name.bytes[len - 1] == ']') {
		for (size_t i = len - 1; i-- > 0;)
			if (name.bytes[i] == '[')
				return i > 0 && name.bytes[i - 1] == ' ' ? i - 1 : len;
	}
	return len;
}

struct str text_without_arguments(struct str name)
{
	size_t len = without_qualifiers(name);
	size_t depth = 0;
	static const char operator_word[] = "operator";
	size_t word = sizeof(operator_word) - 1;

	if (len == 0 || name.bytes[len - 1] != ')')
		return name;
	for (size_t i = len; i-- > 0;) {
		if (name.bytes[i] == ')')
			depth++;
		else if (name.bytes[i] == '(' && --depth == 0) {
			bool is_call = i >= word &&
				       memcmp(name.bytes + i - word, operator_word, word) == 0;

			return i == 0 || is_call ? name : (struct str){ name.bytes, (uint32_t)i };
		}
	}
	return name;
}

/* The part after the last "::" or "\" that stands outside of brackets; empty: there is none. */
static struct str last_part(struct str name)
{
	size_t depth = 0;

	for (size_t i = name.len; i-- > 0;) {
		char c = name.bytes[i];
		bool is_scope = c == '\\' || (c == ':' && i > 0 && name.bytes[i - 1] == ':');

		if (c == ')' || c == '>' || c == '}')
			depth++;
		else if ((c == '(' || c == '<' || c == '{') && depth > 0)
			depth--;
		else if (depth == 0 && is_scope && i + 1 < name.len)
			return (struct str){ name.bytes + i + 1, (uint32_t)(name.len - i - 1) };
	}
	return STR_EMPTY;
}

/* The name with its outermost template arguments as "<...>", in one sign. False: brackets that do not close. */
static bool collapse(struct text *t, struct str name)
{
	size_t depth = 0;

	for (uint32_t i = 0; i < name.len; i++) {
		char c = name.bytes[i];
		bool is_arrow = c == '>' && i > 0 && name.bytes[i - 1] == '-';

		if (c == '<' && depth++ == 0)
			text_put(t, "<" ELLIPSIS ">");
		else if (depth == 0)
			text_add(t, &c, 1);
		else if (c == '>' && !is_arrow)
			depth--;
	}
	return depth == 0;
}

void text_put_function(struct text *t, struct str name, size_t columns)
{
	SCOPED(text_free) struct text collapsed = TEXT_EMPTY;
	struct str shorter = text_without_arguments(name);
	struct str last;

	if (fits(name, columns)) {
		text_put_name(t, name);
		return;
	}
	if (!fits(shorter, columns) && collapse(&collapsed, shorter))
		shorter = (struct str){ text_chars(&collapsed), (uint32_t)collapsed.len };
	t->has_failed |= collapsed.has_failed;
	if (fits(shorter, columns)) {
		text_put_name(t, shorter);
		return;
	}
	last = last_part(shorter);
	if (last.len == 0 || columns < 2) {
		text_put_cut(t, shorter, columns);
		return;
	}
	text_put(t, ELLIPSIS);
	text_put_cut(t, last, columns - 1);
}

/* What stands for a code point where there is no UTF-8. */
static const struct {
	uint32_t point;
	char letters[4];
} ascii[] = {
	{ 0x00a0, " " },   { 0x00b1, "+-" }, { 0x00b5, "u" },  { 0x00b7, "-" }, { 0x2014, "-" },
	{ 0x2026, "..." }, { 0x2190, "<-" }, { 0x2192, "->" }, { 0x2298, "x" }, { 0x2500, "-" },
	{ 0x2504, "." },   { 0x2501, "=" },  { 0x251c, "|" },  { 0x2524, "|" }, { 0x253c, "+" },
	{ 0x25cb, "o" },   { 0x25cf, "*" },  { 0x25d0, "~" },  { 0x00d7, "x" }, { 0x2013, "-" },
};

static void put_ascii(struct text *t, uint32_t point)
{
	char escape[16];

	for (size_t i = 0; i < ARRAY_LEN(ascii); i++)
		if (ascii[i].point == point) {
			text_put(t, ascii[i].letters);
			return;
		}
	text_add(t, escape, escape_point(point, escape, sizeof(escape)));
}

void text_make_ascii(struct text *t)
{
	struct text plain = { .has_failed = t->has_failed };

	for (size_t at = 0; at < t->len;) {
		uint32_t point = 0;
		size_t used = text_decode(t->bytes + at, t->len - at, &point);

		if (used == 1)
			text_add(&plain, t->bytes + at, 1);
		else
			put_ascii(&plain, used > 0 ? point : 0xfffd);
		at += used > 0 ? used : 1;
	}
	text_free(t);
	*t = plain;
}
