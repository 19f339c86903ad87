/* text_rewrite.c - normalised texts made to parse again: type $1 becomes $1::type. And the names that search_path decides on. */
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/text_sql.h"

/* Types whose constants are written type 'value'. Others are taken when they are quoted or have a schema: in front of a
 * parameter nothing else can stand there. A bare word of others' making may be a keyword (LIMIT $1), so it is left. */
static const char *const types[] = {
	/* In the order of their bytes: they are searched. */
	"bigint",
	"bit",
	"bool",
	"boolean",
	"box",
	"bpchar",
	"bytea",
	"char",
	"character",
	"cidr",
	"circle",
	"citext",
	"date",
	"datemultirange",
	"daterange",
	"dec",
	"decimal",
	"double",
	"float",
	"float4",
	"float8",
	"geography",
	"geometry",
	"hstore",
	"inet",
	"int",
	"int2",
	"int4",
	"int4multirange",
	"int4range",
	"int8",
	"int8multirange",
	"int8range",
	"integer",
	"interval",
	"json",
	"jsonb",
	"jsonpath",
	"line",
	"lseg",
	"ltree",
	"macaddr",
	"macaddr8",
	"money",
	"name",
	"numeric",
	"nummultirange",
	"numrange",
	"oid",
	"path",
	"pg_lsn",
	"point",
	"polygon",
	"real",
	"regclass",
	"regconfig",
	"regnamespace",
	"regoper",
	"regproc",
	"regprocedure",
	"regrole",
	"regtype",
	"smallint",
	"text",
	"time",
	"timestamp",
	"timestamptz",
	"timetz",
	"tsmultirange",
	"tsquery",
	"tsrange",
	"tstzmultirange",
	"tstzrange",
	"tsvector",
	"uuid",
	"varbit",
	"varchar",
	"xid",
	"xml",
};

/* Words that may follow a type before its value: double precision, character varying, timestamp with time zone. */
static const char *const tails[] = { "precision", "varying", "with", "without", "time", "zone" };

static bool is_in(const struct sql_token *t, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sql_is(t, words[i]))
			return true;
	return false;
}

/* A word against a type's name, without regard to case: the names are in small letters. */
static int compare_type(const void *word, const void *type)
{
	const struct sql_token *t = word;
	const char *name = *(const char *const *)type;

	for (size_t i = 0; i < t->len; i++) {
		char byte = t->bytes[i];
		char small = byte >= 'A' && byte <= 'Z' ? (char)(byte + 'a' - 'A') : byte;

		if (small != name[i])
			return (unsigned char)small < (unsigned char)name[i] ? -1 : 1;
	}
	return name[t->len] == '\0' ? 0 : -1;
}

static bool is_type(const struct sql_token *t)
{
	return t->kind == SQL_WORD &&
	       bsearch(t, types, ARRAY_LEN(types), sizeof(types[0]), compare_type) != NULL;
}

/* Moves over (n) or (n, m). */
static bool skip_modifier(struct sql_scan *s)
{
	struct sql_scan ahead = *s;
	struct sql_token token = sql_next_solid(&ahead);

	if (!sql_is_mark(&token, '('))
		return true;
	do
		token = sql_next_solid(&ahead);
	while (token.kind == SQL_NUMBER || token.kind == SQL_PARAM || sql_is_mark(&token, ','));
	if (!sql_is_mark(&token, ')'))
		return false;
	*s = ahead;
	return true;
}

/* s.t and s."t": moves over what follows `first` and says whether there was a dot. */
static bool skip_qualified(struct sql_scan *s)
{
	bool has_dot = false;

	for (;;) {
		struct sql_scan ahead = *s;
		struct sql_token dot = sql_next_solid(&ahead);
		struct sql_token name = sql_next_solid(&ahead);

		if (!sql_is_mark(&dot, '.') || (name.kind != SQL_WORD && name.kind != SQL_NAME))
			return has_dot;
		has_dot = true;
		*s = ahead;
	}
}

/* A type from `first` on, the scanner behind it: moves behind the type. False: no type stands here. */
static bool skip_type(struct sql_scan *s, const struct sql_token *first)
{
	bool is_qualified;

	if (first->kind != SQL_WORD && first->kind != SQL_NAME)
		return false;
	is_qualified = skip_qualified(s);
	if (!is_qualified && first->kind == SQL_WORD && !is_type(first))
		return false;
	if (!skip_modifier(s))
		return false;
	for (;;) {
		struct sql_scan ahead = *s;
		struct sql_token tail = sql_next_solid(&ahead);

		if (!is_in(&tail, tails, ARRAY_LEN(tails)))
			return true;
		*s = ahead;
		if (!skip_modifier(s))
			return false;
	}
}

/* Writes $n::type for a type that `first` begins, when a parameter is what it stands in front of. */
static bool rewrite_cast(struct sql_scan *s, const struct sql_token *first, struct text *out)
{
	struct sql_scan ahead = *s;
	struct sql_token param;
	size_t type_end;

	if (!skip_type(&ahead, first))
		return false;
	type_end = ahead.at;
	param = sql_next_solid(&ahead);
	if (param.kind != SQL_PARAM)
		return false;
	if (out->len > 0 && strchr(" \n\t(,", out->bytes[out->len - 1]) == NULL)
		text_put(out, " "); /* a"t"$1: a quote parts words, a parameter does not */
	text_add(out, param.bytes, param.len);
	text_put(out, "::");
	text_add(out, first->bytes, (size_t)(s->bytes + type_end - first->bytes));
	if (ahead.at < ahead.len && ahead.bytes[ahead.at] != ' ')
		text_put(out, " "); /* $1$a$ would make one word of type and quote */
	*s = ahead;
	return true;
}

void sql_rewrite_casts(const char *bytes, size_t len, struct text *out)
{
	struct sql_scan scan = sql_begin(bytes, len);
	bool may_be_type = true; /* not behind a dot: there it is the end of a longer name */

	for (;;) {
		struct sql_token token = sql_next(&scan);

		if (token.kind == SQL_END)
			return;
		if (!may_be_type || !rewrite_cast(&scan, &token, out))
			text_add(out, token.bytes, token.len);
		if (token.kind != SQL_SPACE && token.kind != SQL_COMMENT)
			may_be_type = !sql_is_mark(&token, '.');
	}
}

/* Folds a name as the server does: small letters outside of quotes, doubled quotes inside. Returns its length, at most
 * NAMEDATALEN - 1 bytes; 0: not a plain name. */
static size_t fold(const struct sql_token *t, char out[64])
{
	size_t len = 0;
	bool is_quoted = t->kind == SQL_NAME;

	/* U&"": escapes are the server's to read; a NUL is no part of any name. */
	if ((is_quoted && t->bytes[0] != '"') || memchr(t->bytes, '\0', t->len) != NULL)
		return 0;
	for (size_t i = is_quoted; i < t->len - is_quoted && len < 63; i++) {
		char byte = t->bytes[i];

		if (!is_quoted && byte >= 'A' && byte <= 'Z')
			byte = (char)(byte + 'a' - 'A');
		out[len++] = byte;
		i += is_quoted && byte == '"';
	}
	return len;
}

void sql_names(const char *bytes, size_t len, size_t most,
	       void (*on_name)(void *owner, const char *name, size_t name_len), void *owner)
{
	struct sql_scan scan = sql_begin(bytes, len);
	bool is_behind_dot = false;

	while (most > 0) {
		struct sql_token token = sql_next_solid(&scan);
		struct sql_scan ahead = scan;
		struct sql_token next;
		char name[64];
		size_t name_len;

		if (token.kind == SQL_END)
			return;
		next = sql_next_solid(&ahead);
		if ((token.kind == SQL_WORD || token.kind == SQL_NAME) && !is_behind_dot &&
		    !sql_is_mark(&next, '.') && (name_len = fold(&token, name)) > 0) {
			on_name(owner, name, name_len);
			most--;
		}
		is_behind_dot = sql_is_mark(&token, '.');
	}
}

void sql_put_name(struct text *out, const char *bytes, size_t len)
{
	size_t from = 0;

	text_put(out, "\"");
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != '"')
			continue;
		text_add(out, bytes + from, i + 1 - from);
		from = i; /* the quote once more */
	}
	if (len > from)
		text_add(out, bytes + from, len - from);
	text_put(out, "\"");
}
