/* text_sql.h - PostgreSQL's SQL as tokens, as its own scanner cuts it: nested comments, dollar quotes, E'', U&'' and continued strings.
 * Any bytes; nothing is allocated, nothing recurses, every step moves on. Pure. */
#ifndef TARE_FLEET_TEXT_SQL_H
#define TARE_FLEET_TEXT_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frame.h"
#include "core/text.h"

enum sql_kind {
	SQL_END,
	SQL_SPACE,   /* blanks */
	SQL_COMMENT, /* one, nested ones inside */
	SQL_WORD,    /* a keyword, or a name without quotes */
	SQL_NAME,    /* a name in double quotes */
	SQL_STRING,  /* a constant in quotes of any kind, with its prefix */
	SQL_NUMBER,  /* a constant; with letters that stick to it */
	SQL_PARAM,   /* $1 */
	SQL_MARK,    /* one byte of an operator or of punctuation */
	SQL_BAD, /* no SQL: a quote or comment that does not end (all the rest), a byte that stands nowhere */
};

struct sql_token {
	enum sql_kind kind;
	const char *bytes; /* borrowed from the text */
	size_t len;
	bool is_unsure; /* a string that would end elsewhere if standard_conforming_strings were off */
};

struct sql_scan {
	const char *bytes; /* borrowed */
	size_t len, at;
};

/* Begins at the start of `text`. */
struct sql_scan sql_begin(const char *bytes, size_t len);

/* The next token; SQL_END at the end, again and again. */
struct sql_token sql_next(struct sql_scan *s);

/* The same, without blanks and comments. */
struct sql_token sql_next_solid(struct sql_scan *s);

/* Whether a token is this keyword (given in small letters). */
bool sql_is(const struct sql_token *t, const char *keyword);

/* Whether a token is this one byte of an operator or of punctuation. */
bool sql_is_mark(const struct sql_token *t, char mark);

/* The highest n of $n outside of quotes and comments; 0: there is none. At most 65536. */
uint32_t sql_params(const char *bytes, size_t len);

/* Appends SQL without its constants: strings become '?', numbers ?, comments a blank; names, keywords and $n stay. -EINVAL: this is not
 * surely SQL, nothing of it may be kept (`out` then holds a part: clear it). */
int sql_redact(const char *bytes, size_t len, struct text *out);

/* Appends a statement so that it parses again after its constants became parameters: "interval $1 day" as "$1::interval day", and so for
 * date, timestamp with time zone, s.type and every other type in front of a parameter. The rest byte by byte. */
void sql_rewrite_casts(const char *bytes, size_t len, struct text *out);

/* Calls `on_name` for each name that stands without a schema before it and nothing after its dot, folded as the server folds it and
 * without its quotes: what search_path may decide on. At most `most` calls. */
void sql_names(const char *bytes, size_t len, size_t most,
	       void (*on_name)(void *owner, const char *name, size_t name_len), void *owner);

/* Appends a name in double quotes, which no name can leave. */
void sql_put_name(struct text *out, const char *bytes, size_t len);

#endif
