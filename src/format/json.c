/* json.c - a streaming JSON writer. RFC 8259. */
#include "format/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

static void flush(struct json *j)
{
	if (j->code == 0 && j->used > 0)
		j->code = j->sink(j->owner, j->buffer, j->used);
	j->used = 0;
}

static void put(struct json *j, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t fits = sizeof(j->buffer) - j->used;

		if (fits > len)
			fits = len;
		memcpy(j->buffer + j->used, bytes, fits);
		j->used += fits;
		bytes += fits;
		len -= fits;
		if (j->used == sizeof(j->buffer))
			flush(j);
	}
}

void json_fail(struct json *j, int code)
{
	if (j->code == 0)
		j->code = code;
}

static void misuse(struct json *j)
{
	json_fail(j, -EINVAL);
}

static bool is_array(const struct json *j)
{
	return j->depth > 0 && (j->arrays >> j->depth & 1) != 0;
}

static bool is_filled(const struct json *j)
{
	return (j->filled >> j->depth & 1) != 0;
}

static void new_line(struct json *j)
{
	static const char blanks[] = "                                ";

	if (j->depth > j->line_depth)
		return;
	put(j, "\n", 1);
	put(j, blanks, j->depth < sizeof(blanks) ? j->depth : sizeof(blanks) - 1);
}

/* The comma and the line before a member: a key, or a value in an array. */
static void separate(struct json *j)
{
	if (is_filled(j))
		put(j, ",", 1);
	j->filled |= UINT64_C(1) << j->depth;
	if (j->depth > 0)
		new_line(j);
}

/* Everything that stands before a value. */
static void before_value(struct json *j)
{
	if (j->has_key) {
		j->has_key = false;
		return;
	}
	if ((j->depth > 0 && !is_array(j)) || (j->depth == 0 && is_filled(j)))
		misuse(j); /* a member without a key, or a second root */
	separate(j);
}

/* Bytes of `value` from `at` on that need no escape. */
static size_t plain_run(struct str value, size_t at)
{
	size_t from = at;

	while (at < value.len) {
		unsigned char c = (unsigned char)value.bytes[at];

		if (c < 0x20 || c == '"' || c == '\\' || c >= 0x7f)
			break;
		at++;
	}
	return at - from;
}

/* One character that may need an escape; returns how many bytes of the value it took. U+2028, U+2029 and DEL are
 * escaped too: they are valid, but not everywhere. */
static size_t put_special(struct json *j, struct str value, size_t at)
{
	static const char shorts[] = "\b\f\n\r\t\"\\";
	static const char letters[] = "bfnrt\"\\";
	uint32_t point = 0;
	size_t used = text_decode(value.bytes + at, value.len - at, &point);
	const char *found = used == 1 && point != 0 ? strchr(shorts, (int)point) : NULL;
	char escape[8];

	if (used == 0) {
		put(j, "\xef\xbf\xbd", 3);
		j->replaced++;
		return 1;
	}
	if (found != NULL) {
		put(j, "\\", 1);
		put(j, &letters[found - shorts], 1);
	} else if (point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 ||
		   point == 0x2029) {
		snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)point & 0xffff);
		put(j, escape, 6);
	} else {
		put(j, value.bytes + at, used);
	}
	return used;
}

static void put_quoted(struct json *j, struct str value)
{
	put(j, "\"", 1);
	for (size_t at = 0; at < value.len;) {
		size_t run = plain_run(value, at);

		put(j, value.bytes + at, run);
		at += run;
		if (at < value.len)
			at += put_special(j, value, at);
	}
	put(j, "\"", 1);
}

static struct str str_of(const char *chars)
{
	return (struct str){ chars, (uint32_t)strlen(chars) };
}

void json_begin(struct json *j, json_sink_fn sink, void *owner, unsigned line_depth)
{
	memset(j, 0, offsetof(struct json, buffer));
	j->sink = sink;
	j->owner = owner;
	j->line_depth = line_depth;
}

int json_to_file(void *owner, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, (FILE *)owner) == len ? 0 : -EIO;
}

int json_end(struct json *j)
{
	if (j->depth != 0 || j->has_key || !is_filled(j))
		misuse(j);
	put(j, "\n", 1);
	flush(j);
	return j->code;
}

static void open_value(struct json *j, bool as_array)
{
	before_value(j);
	put(j, as_array ? "[" : "{", 1);
	if (j->depth == JSON_MAX_DEPTH) {
		misuse(j);
		return;
	}
	j->depth++;
	j->filled &= ~(UINT64_C(1) << j->depth);
	j->arrays &= ~(UINT64_C(1) << j->depth);
	j->arrays |= (uint64_t)as_array << j->depth;
}

void json_open_object(struct json *j)
{
	open_value(j, false);
}

void json_open_array(struct json *j)
{
	open_value(j, true);
}

void json_close(struct json *j)
{
	bool was_array = is_array(j), was_filled = is_filled(j);

	if (j->depth == 0 || j->has_key) {
		misuse(j);
		return;
	}
	j->depth--;
	if (was_filled && j->depth + 1 <= j->line_depth)
		new_line(j);
	put(j, was_array ? "]" : "}", 1);
}

void json_key(struct json *j, const char *key)
{
	if (j->depth == 0 || is_array(j) || j->has_key)
		misuse(j);
	separate(j);
	put_quoted(j, str_of(key));
	put(j, ": ", 2);
	j->has_key = true;
}

void json_str(struct json *j, struct str value)
{
	before_value(j);
	put_quoted(j, value);
}

void json_chars(struct json *j, const char *value)
{
	json_str(j, str_of(value));
}

void json_u64(struct json *j, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	before_value(j);
	put(j, digits, (size_t)len);
}

void json_i64(struct json *j, int64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIi64, value);

	before_value(j);
	put(j, digits, (size_t)len);
}

/* The fewest digits that read back as the same number, with a point in every locale. */
void json_double(struct json *j, double value)
{
	char digits[40];
	int len = 0;

	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	for (int precision = 6; precision <= 17; precision++) {
		len = snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	for (char *c = digits; *c != '\0'; c++)
		if (*c == ',')
			*c = '.';
	before_value(j);
	put(j, digits, (size_t)len);
}

void json_bool(struct json *j, bool value)
{
	before_value(j);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *j)
{
	before_value(j);
	put(j, "null", 4);
}

void json_put_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

void json_put_i64(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_i64(j, value);
}

void json_put_double(struct json *j, const char *key, double value)
{
	json_key(j, key);
	json_double(j, value);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

void json_put_chars(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_chars(j, value);
}

void json_put_str(struct json *j, const char *key, struct str value)
{
	json_key(j, key);
	json_str(j, value);
}
