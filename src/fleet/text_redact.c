/* text_redact.c - SQL without its constants, for expressions of plans and for texts that are not normalised. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/scoped.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"

#define STRING_REDACTED "'?'"
#define NUMBER_REDACTED "?"

/* Constants that follow one another are one, as they may be read as one; u&$$a$$ must not get a prefix. */
static void put_string(struct text *out)
{
	size_t behind = out->len;

	while (behind > 0 && strchr(" \t\n\r\f\v", out->bytes[behind - 1]) != NULL)
		behind--;
	if (behind > 0 && out->bytes[behind - 1] == '\'')
		return;
	if (behind > 0 && behind == out->len && strchr("([,=|<>~", out->bytes[behind - 1]) == NULL)
		text_put(out, " ");
	text_put(out, STRING_REDACTED);
}

/* Appends one token without what it tells of constants. -EINVAL: not surely SQL. */
static int put_redacted(const struct sql_token *t, struct text *out)
{
	if (t->kind == SQL_BAD || t->is_unsure)
		return -EINVAL;
	if (t->kind == SQL_STRING)
		put_string(out);
	else if (t->kind == SQL_NUMBER)
		text_put(out, NUMBER_REDACTED);
	else if (t->kind == SQL_COMMENT)
		text_put(out, " ");
	else
		text_add(out, t->bytes, t->len);
	return 0;
}

static bool is_short_number(const struct sql_token *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->bytes[i] < '0' || t->bytes[i] > '9')
			return false;
	return t->len <= 3;
}

int sql_redact(const char *bytes, size_t len, struct text *out)
{
	struct sql_scan scan = sql_begin(bytes, len);
	bool is_named = false; /* behind SubPlan and InitPlan a number is a name */

	for (;;) {
		struct sql_token token = sql_next(&scan);

		if (token.kind == SQL_END)
			return 0;
		if (is_named && token.kind == SQL_NUMBER && is_short_number(&token))
			text_add(out, token.bytes, token.len);
		else if (put_redacted(&token, out) != 0)
			return -EINVAL;
		if (token.kind != SQL_SPACE)
			is_named = sql_is(&token, "subplan") || sql_is(&token, "initplan");
	}
}

/* A word that speaks of a secret wherever it stands in a utility statement. */
static bool is_of_secrets(const struct sql_token *t)
{
	static const char *const parts[] = { "password", "passwd", "secret", "credential",
					     "token" };

	if (t->kind != SQL_WORD && t->kind != SQL_NAME)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		size_t part_len = strlen(parts[i]);

		for (size_t at = 0; at + part_len <= t->len; at++)
			if (strncasecmp(t->bytes + at, parts[i], part_len) == 0)
				return true;
	}
	return false;
}

static bool is_dblink(const struct sql_token *t)
{
	return (t->kind == SQL_WORD && t->len >= 6 && strncasecmp(t->bytes, "dblink", 6) == 0) ||
	       (t->kind == SQL_NAME && t->len >= 7 && strncasecmp(t->bytes + 1, "dblink", 6) == 0);
}

/* CREATE or ALTER of what connects to other servers: the rest of such a statement is connection strings. */
static bool is_of_connections(struct sql_scan scan)
{
	struct sql_token verb = sql_next_solid(&scan), object = sql_next_solid(&scan);

	if (!sql_is(&verb, "create") && !sql_is(&verb, "alter"))
		return false;
	if (sql_is(&object, "user")) {
		struct sql_token next = sql_next_solid(&scan);

		return sql_is(&next, "mapping");
	}
	return sql_is(&object, "subscription") || sql_is(&object, "server");
}

/* Whether the text may hold a secret, so that nothing of it may be kept. A text that can be planned has its constants taken
 * out, and its words are names; a utility statement's words can be values. */
static bool may_hold_secret(struct str text, bool is_utility)
{
	struct sql_scan scan = sql_begin(text.bytes, text.len);

	if (is_utility && is_of_connections(scan))
		return true;
	for (;;) {
		struct sql_token token = sql_next_solid(&scan);

		if (token.kind == SQL_END)
			return false;
		if (is_dblink(&token) || (is_utility && is_of_secrets(&token)))
			return true;
	}
}

/* SET name = value, SET name TO value, SET TIME ZONE value: words behind =, TO or ZONE are constants without quotes. */
enum set_state { SET_NONE, SET_SEEN, SET_NAMED, SET_VALUE };

static enum set_state set_next(enum set_state state, const struct sql_token *t)
{
	if (t->kind == SQL_SPACE || t->kind == SQL_COMMENT)
		return state;
	if (sql_is_mark(t, ';'))
		return SET_NONE;
	if (state == SET_VALUE)
		return SET_VALUE;
	if (sql_is(t, "set"))
		return SET_SEEN;
	if (state == SET_SEEN && (t->kind == SQL_WORD || t->kind == SQL_NAME))
		return SET_NAMED;
	if (state != SET_NONE && (sql_is_mark(t, '=') || sql_is(t, "to") || sql_is(t, "zone")))
		return SET_VALUE;
	return state;
}

static int redact_utility(struct str text, struct text *out)
{
	struct sql_scan scan = sql_begin(text.bytes, text.len);
	enum set_state state = SET_NONE;

	for (;;) {
		struct sql_token token = sql_next(&scan);
		bool is_value = state == SET_VALUE;

		if (token.kind == SQL_END)
			return 0;
		state = set_next(state, &token);
		if (is_value && state == SET_VALUE &&
		    (token.kind == SQL_WORD || token.kind == SQL_NAME))
			text_put(out, NUMBER_REDACTED);
		else if (put_redacted(&token, out) != 0)
			return -EINVAL;
	}
}

int text_redact(struct str text, char **out, size_t *out_len)
{
	SCOPED(text_free) struct text redacted = TEXT_EMPTY;
	bool is_utility = plan_classify(text, false, NULL, 0) != PLAN_OK;

	if (may_hold_secret(text, is_utility))
		return -EPERM;
	text_add(&redacted, "", 0);
	if ((is_utility ? redact_utility(text, &redacted)
			: sql_redact(text.bytes, text.len, &redacted)) != 0)
		return -EINVAL;
	if (redacted.has_failed)
		return -ENOMEM;
	*out = redacted.bytes;
	*out_len = redacted.len;
	redacted = TEXT_EMPTY;
	return 0;
}
