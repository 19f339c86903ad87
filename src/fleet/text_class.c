/* text_class.c - what a statement is, by its leading words: whether it can have a plan, and its command in words of ours. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/scoped.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"

#define OBJECT_WORDS_MOST 3

/* Statements that the planner plans. */
static const char *const planned[] = { "select", "insert", "update", "delete",
				       "merge",	 "values", "table",  "with" };

/* The others, by their first word; what is not here is "other". */
static const char *const utilities[] = {
	"abort",    "alter",	"analyse",   "analyze",	 "begin",   "call",    "checkpoint",
	"close",    "cluster",	"comment",   "commit",	 "copy",    "create",  "deallocate",
	"declare",  "discard",	"do",	     "drop",	 "end",	    "execute", "explain",
	"fetch",    "grant",	"import",    "listen",	 "load",    "lock",    "move",
	"notify",   "prepare",	"reassign",  "refresh",	 "reindex", "release", "reset",
	"revoke",   "rollback", "savepoint", "security", "set",	    "show",    "start",
	"truncate", "unlisten", "vacuum",
};

/* What stands between a verb and its object and says nothing of it. */
static const char *const fillers[] = { "or",	     "replace",	  "unique",  "temp",
				       "temporary",  "global",	  "local",   "all",
				       "unlogged",   "recursive", "trusted", "procedural",
				       "constraint", "on",	  "label" };

/* Objects of CREATE, ALTER, DROP, COMMENT ON, REFRESH ...: names are never among them. */
static const char *const objects[] = {
	"access method",
	"aggregate",
	"cast",
	"collation",
	"conversion",
	"database",
	"default privileges",
	"domain",
	"event trigger",
	"extension",
	"foreign data wrapper",
	"foreign table",
	"function",
	"group",
	"index",
	"language",
	"large object",
	"materialized view",
	"operator class",
	"operator family",
	"operator",
	"policy",
	"procedure",
	"publication",
	"role",
	"routine",
	"rule",
	"schema",
	"sequence",
	"server",
	"statistics",
	"subscription",
	"system",
	"table",
	"tablespace",
	"text search",
	"transform",
	"trigger",
	"type",
	"user mapping",
	"user",
	"view",
};

static const char *word_of(const struct sql_token *t, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sql_is(t, words[i]))
			return words[i];
	return NULL;
}

/* Whether `object` ("event trigger") is what the tokens say. */
static bool is_object(const char *object, const struct sql_token *tokens, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(object, " ");

		if (tokens[i].kind != SQL_WORD || tokens[i].len != len ||
		    strncasecmp(object, tokens[i].bytes, len) != 0)
			return false;
		object += len;
		if (*object == '\0')
			return true;
		object++;
	}
	return false;
}

/* The object behind a verb; NULL: none of ours. */
static const char *object_of(struct sql_scan *s)
{
	struct sql_token tokens[OBJECT_WORDS_MOST];

	do
		tokens[0] = sql_next_solid(s);
	while (word_of(&tokens[0], fillers, ARRAY_LEN(fillers)) != NULL);
	for (size_t i = 1; i < OBJECT_WORDS_MOST; i++)
		tokens[i] = sql_next_solid(s);
	for (size_t i = 0; i < ARRAY_LEN(objects); i++)
		if (is_object(objects[i], tokens, OBJECT_WORDS_MOST))
			return objects[i];
	return NULL;
}

static void put_command(char *out, size_t size, const char *verb, const char *object)
{
	if (out == NULL || size == 0)
		return;
	snprintf(out, size, "%s%s%s", verb, object != NULL ? " " : "",
		 object != NULL ? object : "");
}

/* WITH ... is what stands behind its last parenthesis: the first verb outside of all of them. */
static const char *verb_of_with(struct sql_scan scan)
{
	size_t depth = 0;
	bool is_name = true; /* behind WITH, RECURSIVE and a comma: a name, be it as it may */

	for (;;) {
		struct sql_token token = sql_next_solid(&scan);
		const char *verb;

		if (token.kind == SQL_END || token.kind == SQL_BAD)
			return "with";
		if (sql_is_mark(&token, '('))
			depth++;
		else if (sql_is_mark(&token, ')'))
			depth -= depth > 0;
		verb = depth == 0 ? word_of(&token, planned, ARRAY_LEN(planned)) : NULL;
		if (verb != NULL && !is_name)
			return verb;
		is_name = sql_is(&token, "recursive") || sql_is_mark(&token, ',');
	}
}

/* What the text as a whole rules out: something behind a semicolon, or a quote that does not end. */
static enum plan_reason whole_of(struct sql_scan scan)
{
	bool has_ended = false;

	for (;;) {
		struct sql_token token = sql_next_solid(&scan);

		if (token.kind == SQL_END)
			return PLAN_OK;
		if (token.kind == SQL_BAD && scan.at == scan.len)
			return PLAN_NO_TEXT;
		if (has_ended && !sql_is_mark(&token, ';'))
			return PLAN_MANY;
		has_ended |= sql_is_mark(&token, ';');
	}
}

enum plan_reason plan_classify(struct str text, bool is_cut, char *out_command, size_t size)
{
	struct sql_scan scan = sql_begin(text.bytes, text.len);
	struct sql_token first;
	const char *verb;

	do
		first = sql_next_solid(&scan);
	while (sql_is_mark(&first, '(') || sql_is_mark(&first, ';'));
	verb = word_of(&first, utilities, ARRAY_LEN(utilities));
	if (verb != NULL) {
		put_command(out_command, size, verb, object_of(&scan));
		return PLAN_UTILITY;
	}
	verb = word_of(&first, planned, ARRAY_LEN(planned));
	if (verb == NULL) {
		put_command(out_command, size, "other", NULL);
		return is_cut || first.kind == SQL_END || first.kind == SQL_BAD ? PLAN_NO_TEXT
										: PLAN_UTILITY;
	}
	if (strcmp(verb, "with") == 0)
		verb = verb_of_with(scan);
	put_command(out_command, size, verb, NULL);
	if (is_cut || memchr(text.bytes, '\0', text.len) != NULL)
		return PLAN_NO_TEXT;
	return whole_of(sql_begin(text.bytes, text.len));
}
