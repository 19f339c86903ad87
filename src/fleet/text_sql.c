/* text_sql.c - the scanner: where tokens of PostgreSQL's SQL begin and end (backend/parser/scan.l is what it follows). */
#include "fleet/text_sql.h"

#include <string.h>
#include <strings.h>

#define BYTES_OF_MARKS "+-*/<>=~!@#%^&|`?,()[].;:"

/* How a constant in single quotes ends. */
enum quoting {
	QUOTING_PLAIN,	/* '' inside; a backslash is a byte like others, unless old settings hold */
	QUOTING_ESCAPE, /* E'': a backslash takes the next byte with it */
};

struct sql_scan sql_begin(const char *bytes, size_t len)
{
	return (struct sql_scan){ .bytes = bytes != NULL ? bytes : "", .len = len };
}

static bool is_one_of(const char *set, char byte)
{
	return byte != '\0' && strchr(set, byte) != NULL;
}

/* A blank, \t, \n, \v, \f and \r. */
static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool begins_word(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
	       (unsigned char)byte >= 0x80;
}

static bool is_in_word(char byte)
{
	return begins_word(byte) || is_digit(byte) || byte == '$';
}

/* The byte `ahead` of the scanner; NUL behind the end. */
static char peek(const struct sql_scan *s, size_t ahead)
{
	return ahead < s->len - s->at ? s->bytes[s->at + ahead] : '\0';
}

static void skip_line(struct sql_scan *s)
{
	while (s->at < s->len && s->bytes[s->at] != '\n' && s->bytes[s->at] != '\r')
		s->at++;
}

static enum sql_kind scan_block_comment(struct sql_scan *s)
{
	size_t depth = 1;

	s->at += 2;
	while (s->at < s->len) {
		if (peek(s, 0) == '/' && peek(s, 1) == '*') {
			depth++;
			s->at += 2;
		} else if (peek(s, 0) == '*' && peek(s, 1) == '/') {
			s->at += 2;
			if (--depth == 0)
				return SQL_COMMENT;
		} else {
			s->at++;
		}
	}
	return SQL_BAD;
}

/* A constant goes on behind a new line: 'a' NEWLINE 'b' is one. Moves behind the quote that opens again. */
static bool goes_on(struct sql_scan *s)
{
	struct sql_scan ahead = *s;
	bool has_line = false;

	for (;;) {
		if (is_space(peek(&ahead, 0))) {
			has_line |= peek(&ahead, 0) == '\n' || peek(&ahead, 0) == '\r';
			ahead.at++;
		} else if (peek(&ahead, 0) == '-' && peek(&ahead, 1) == '-') {
			skip_line(&ahead);
		} else {
			break;
		}
	}
	if (!has_line || peek(&ahead, 0) != '\'')
		return false;
	s->at = ahead.at + 1;
	return true;
}

/* From behind the opening quote to behind the closing one. */
static enum sql_kind scan_string(struct sql_scan *s, enum quoting quoting, bool *out_unsure)
{
	char before = '\0';

	while (s->at < s->len) {
		char byte = s->bytes[s->at++];

		if (byte == '\\' && quoting == QUOTING_ESCAPE) {
			s->at += s->at < s->len;
			continue;
		}
		if (byte == '\'' && before == '\\' && quoting == QUOTING_PLAIN)
			*out_unsure = true;
		before = byte;
		if (byte != '\'')
			continue;
		if (peek(s, 0) == '\'')
			s->at++;
		else if (!goes_on(s))
			return SQL_STRING;
		before = '\0';
	}
	return SQL_BAD;
}

static enum sql_kind scan_quoted_name(struct sql_scan *s)
{
	while (s->at < s->len) {
		if (s->bytes[s->at++] != '"')
			continue;
		if (peek(s, 0) != '"')
			return SQL_NAME;
		s->at++;
	}
	return SQL_BAD;
}

/* $1, $$...$$ or $tag$...$tag$. */
static enum sql_kind scan_dollar(struct sql_scan *s)
{
	size_t tag_len = 1;
	const char *end;

	if (is_digit(peek(s, 1))) {
		for (s->at++; is_digit(peek(s, 0));)
			s->at++;
		return SQL_PARAM;
	}
	if (begins_word(peek(s, 1)))
		while (is_in_word(peek(s, tag_len)) && peek(s, tag_len) != '$')
			tag_len++;
	if (peek(s, tag_len) != '$') {
		s->at++;
		return SQL_BAD;
	}
	tag_len++;
	end = memmem(s->bytes + s->at + tag_len, s->len - s->at - tag_len, s->bytes + s->at,
		     tag_len);
	if (end == NULL) {
		s->at = s->len;
		return SQL_BAD;
	}
	s->at = (size_t)(end - s->bytes) + tag_len;
	return SQL_STRING;
}

/* Takes what sticks to a number with it: of a constant nothing may be left over. */
static enum sql_kind scan_number(struct sql_scan *s)
{
	while (s->at < s->len) {
		char byte = s->bytes[s->at];

		if ((byte == '+' || byte == '-') && (s->bytes[s->at - 1] | 0x20) == 'e' &&
		    is_digit(peek(s, 1)))
			s->at++;
		else if (!is_in_word(byte) && !(byte == '.' && peek(s, 1) != '.'))
			break;
		s->at++;
	}
	return SQL_NUMBER;
}

/* A word, or a constant with a prefix: E'', B'', X'', N'', U&'', U&"". */
static enum sql_kind scan_word(struct sql_scan *s, bool *out_unsure)
{
	char first = (char)(peek(s, 0) | 0x20);

	if (peek(s, 1) == '\'' && is_one_of("ebxn", first)) {
		s->at += 2;
		return scan_string(s, first == 'e' ? QUOTING_ESCAPE : QUOTING_PLAIN, out_unsure);
	}
	if (first == 'u' && peek(s, 1) == '&' && (peek(s, 2) == '\'' || peek(s, 2) == '"')) {
		bool is_name = peek(s, 2) == '"';

		s->at += 3;
		return is_name ? scan_quoted_name(s) : scan_string(s, QUOTING_PLAIN, out_unsure);
	}
	while (is_in_word(peek(s, 0)))
		s->at++;
	return SQL_WORD;
}

static enum sql_kind scan_one(struct sql_scan *s, bool *out_unsure)
{
	char byte = peek(s, 0);

	if (is_space(byte)) {
		while (is_space(peek(s, 0)))
			s->at++;
		return SQL_SPACE;
	}
	if (byte == '-' && peek(s, 1) == '-') {
		skip_line(s);
		return SQL_COMMENT;
	}
	if (byte == '/' && peek(s, 1) == '*')
		return scan_block_comment(s);
	if (begins_word(byte))
		return scan_word(s, out_unsure);
	if (is_digit(byte) || (byte == '.' && is_digit(peek(s, 1)))) {
		s->at++;
		return scan_number(s);
	}
	if (byte == '$')
		return scan_dollar(s);
	s->at++;
	if (byte == '\'')
		return scan_string(s, QUOTING_PLAIN, out_unsure);
	if (byte == '"')
		return scan_quoted_name(s);
	return is_one_of(BYTES_OF_MARKS, byte) ? SQL_MARK : SQL_BAD;
}

struct sql_token sql_next(struct sql_scan *s)
{
	struct sql_token token = { .kind = SQL_END, .bytes = s->bytes + s->at };
	size_t from = s->at;

	if (s->at < s->len)
		token.kind = scan_one(s, &token.is_unsure);
	token.len = s->at - from;
	return token;
}

struct sql_token sql_next_solid(struct sql_scan *s)
{
	struct sql_token token;

	do
		token = sql_next(s);
	while (token.kind == SQL_SPACE || token.kind == SQL_COMMENT);
	return token;
}

bool sql_is(const struct sql_token *t, const char *keyword)
{
	return t->kind == SQL_WORD && strlen(keyword) == t->len &&
	       strncasecmp(t->bytes, keyword, t->len) == 0;
}

bool sql_is_mark(const struct sql_token *t, char mark)
{
	return t->kind == SQL_MARK && t->bytes[0] == mark;
}

uint32_t sql_params(const char *bytes, size_t len)
{
	struct sql_scan scan = sql_begin(bytes, len);
	uint32_t most = 0;

	for (;;) {
		struct sql_token token = sql_next(&scan);
		uint32_t number = 0;

		if (token.kind == SQL_END)
			return most;
		if (token.kind != SQL_PARAM)
			continue;
		for (size_t i = 1; i < token.len && number < 65536; i++)
			number = number * 10 + (uint32_t)(token.bytes[i] - '0');
		if (number > 65536)
			number = 65536;
		most = number > most ? number : most;
	}
}
