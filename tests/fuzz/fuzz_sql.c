/* fuzz_sql.c - texts of any bytes, as statements: tokens cover all of them, what is redacted has no constant left and redacts to itself. */
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/plans.h"
#include "fleet/text_sql.h"
#include "fuzz/fuzz.h"

static void check_tokens(const char *bytes, size_t size)
{
	struct sql_scan scan = sql_begin(bytes, size);
	size_t covered = 0;

	for (;;) {
		struct sql_token token = sql_next(&scan);

		if (token.kind == SQL_END)
			break;
		if (token.len == 0)
			abort();
		covered += token.len;
	}
	if (covered != size)
		abort();
}

/* Behind SubPlan and InitPlan a short number is a name; no other constant may be left. */
static void check_redacted(const struct text *redacted)
{
	struct sql_scan scan = sql_begin(redacted->bytes, redacted->len);
	struct sql_token token;

	while ((token = sql_next(&scan)).kind != SQL_END) {
		if (token.kind == SQL_COMMENT || token.kind == SQL_BAD)
			abort();
		if (token.kind == SQL_STRING &&
		    (token.len != 3 || memcmp(token.bytes, "'?'", 3) != 0))
			abort();
		if (token.kind == SQL_NUMBER && token.len > 3)
			abort();
	}
}

/* Whether it is SQL at all. */
static bool check_redaction(const char *bytes, size_t size)
{
	SCOPED(text_free) struct text once = TEXT_EMPTY, twice = TEXT_EMPTY;

	if (sql_redact(bytes, size, &once) != 0)
		return false;
	check_redacted(&once);
	if (sql_redact(once.bytes, once.len, &twice) != 0 || once.len != twice.len ||
	    (once.len > 0 && memcmp(once.bytes, twice.bytes, once.len) != 0))
		abort();
	return true;
}

static void count_name(void *owner, const char *name, size_t len)
{
	if (len == 0 || len > 63 || memchr(name, '\0', len) != NULL)
		abort();
	++*(size_t *)owner;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	SCOPED(text_free) struct text casts = TEXT_EMPTY;
	const char *chars = (const char *)bytes;
	struct str text = { chars, (uint32_t)size };
	char command[64] = "", *redacted = NULL;
	size_t len, names = 0;
	bool is_sql;

	check_tokens(chars, size);
	is_sql = check_redaction(chars, size);
	plan_classify(text, false, command, sizeof(command));
	if (strlen(command) < 2)
		abort();
	if (text_redact(text, &redacted, &len) == 0)
		free(redacted);
	sql_rewrite_casts(chars, size, &casts);
	if (is_sql && sql_params(text_chars(&casts), casts.len) != sql_params(chars, size))
		abort();
	sql_names(chars, size, 256, count_name, &names);
	return 0;
}
