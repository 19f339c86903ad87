/* fakepg_canned.c - answers to what our PostgreSQL readings ask: by a piece of the question and the number of the column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fakepg.h"

static unsigned long long wall_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000;
}

static unsigned long long started_us(void)
{
	static unsigned long long at;

	if (at == 0)
		at = wall_us(CLOCK_REALTIME) - 3600000000ull;
	return at;
}

/* What the server is: pg_facts.c. */
static const char *fact(unsigned column)
{
	static const char *const facts[] = {
		"150006",
		"PostgreSQL 15.6 (fake)",
		"tare",
		"postgres",
		"5",
		"10",
		"f",
		"t",
		"t",
		"f",
		",datid,datname,numbackends,xact_commit,xact_rollback,blks_read,blks_hit,tup_"
		"returned,"
		"tup_fetched,tup_inserted,tup_updated,tup_deleted,conflicts,temp_files,temp_bytes,"
		"deadlocks,blk_read_time,blk_write_time,stats_reset,",
		NULL,
		"t",
		"t"
	};

	return column < sizeof(facts) / sizeof(facts[0]) ? facts[column] : NULL;
}

/* The n-th word of "{1,2,3}"; false: there is none. */
static bool word_of(const char *array, uint32_t n, char *out)
{
	const char *at = array + 1;

	for (; n > 0 && *at != '\0'; n--)
		at = *(at += strcspn(at, ",}")) == ',' ? at + 1 : "";
	if (*at == '\0' || *at == '}')
		return false;
	snprintf(out, CANNED_BYTES, "%.*s", (int)strcspn(at, ",}"), at);
	return true;
}

uint32_t canned_rows(const struct asking *a)
{
	char word[CANNED_BYTES];
	uint32_t rows = 0;

	if (strstr(a->sql, "pg_stat_statements(true)") != NULL) {
		while (a->params[2] != NULL && word_of(a->params[2], rows, word))
			rows++;
		return rows;
	}
	if (strstr(a->sql, "pg_stat_statements(false)") != NULL)
		return a->rows;
	if (strstr(a->sql, "pg_blocking_pids") != NULL || strstr(a->sql, "encoding = 0") != NULL ||
	    strstr(a->sql, "user_functions") != NULL || strstr(a->sql, "LIMIT 0") != NULL)
		return 0;
	if (strstr(a->sql, "server_version_num") != NULL)
		return 1;
	if (strstr(a->sql, "FROM pg_stat_activity") != NULL ||
	    strstr(a->sql, "FROM pg_stat_database") != NULL)
		return 5;
	return strstr(a->sql, "FROM pg_settings") != NULL ? 30 : 1;
}

static enum canned text_of(const struct asking *a, uint32_t row, unsigned column, char *out)
{
	static const char *const fixed[] = { "5",	 "10",	 NULL, "t",  "36", "f",
					     "postgres", "fake", NULL, NULL, NULL };

	if (column == 2)
		return a->params[2] != NULL && word_of(a->params[2], row, out) ? CANNED_TEXT
									       : CANNED_NULL;
	if (column == 8) {
		snprintf(out, CANNED_BYTES, "SELECT c%u, d%u FROM t WHERE id = $1", a->endpoint,
			 row);
		return CANNED_TEXT;
	}
	if (column >= sizeof(fixed) / sizeof(fixed[0]) || fixed[column] == NULL)
		return CANNED_NULL;
	snprintf(out, CANNED_BYTES, "%s", fixed[column]);
	return CANNED_TEXT;
}

static enum canned moment_of(unsigned column, char *out)
{
	static const char *const rest[] = { "f", "public", "1.10" };

	if (column == 0)
		snprintf(out, CANNED_BYTES, "%llu", wall_us(CLOCK_REALTIME));
	else if (column < 3)
		snprintf(out, CANNED_BYTES, "%llu", started_us());
	else if (column < 6)
		snprintf(out, CANNED_BYTES, "%s", rest[column - 3]);
	else if (column == 6)
		snprintf(out, CANNED_BYTES, ",%s,", statements_columns);
	else
		snprintf(out, CANNED_BYTES, "t");
	return CANNED_TEXT;
}

/* As PostgreSQL 15 tells the plan of a join with a sort: EXPLAIN (FORMAT JSON, VERBOSE, SETTINGS). */
static const char plan_format[] =
	"[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n      \"Parallel Aware\": "
	"false,\n"
	"      \"Async Capable\": false,\n      \"Startup Cost\": 35.50,\n      \"Total Cost\": "
	"36.12,\n"
	"      \"Plan Rows\": 250,\n      \"Plan Width\": 44,\n"
	"      \"Output\": [\"t.c%u\", \"t.v\", \"(t.v || 'x'::text)\"],\n"
	"      \"Sort Key\": [\"t.v\"],\n      \"Plans\": [\n        {\n"
	"          \"Node Type\": \"Index Scan\",\n          \"Parent Relationship\": \"Outer\",\n"
	"          \"Parallel Aware\": false,\n          \"Async Capable\": false,\n"
	"          \"Scan Direction\": \"Forward\",\n          \"Index Name\": \"t%u_pkey\",\n"
	"          \"Relation Name\": \"t%u\",\n          \"Schema\": \"public\",\n"
	"          \"Alias\": \"t\",\n          \"Startup Cost\": 0.28,\n"
	"          \"Total Cost\": 25.54,\n          \"Plan Rows\": 250,\n"
	"          \"Plan Width\": 44,\n          \"Output\": [\"t.c\", \"t.v\", \"(t.v || "
	"'x'::text)\"],\n"
	"          \"Index Cond\": \"(t.id = $1)\",\n          \"Filter\": \"(t.v <> "
	"'gone'::text)\"\n"
	"        }\n      ]\n    },\n    \"Settings\": {\n      \"search_path\": \"public\",\n"
	"      \"plan_cache_mode\": \"force_generic_plan\"\n    }\n  }\n]";

enum canned canned_value(const struct asking *a, uint32_t row, unsigned column, char *out)
{
	if (strstr(a->sql, "server_version_num") != NULL) {
		if (fact(column) == NULL)
			return CANNED_NULL;
		snprintf(out, CANNED_BYTES, "%s", fact(column));
		return CANNED_TEXT;
	}
	if (strstr(a->sql, "pg_control_system") != NULL) {
		snprintf(out, CANNED_BYTES, "%llu", 7000000000000000000ull + a->endpoint);
		return CANNED_TEXT;
	}
	if (strstr(a->sql, "pg_is_in_recovery()") != NULL)
		return moment_of(column, out);
	if (strstr(a->sql, "dealloc") != NULL) {
		snprintf(out, CANNED_BYTES, "%llu", column == 0 ? 0 : started_us());
		return CANNED_TEXT;
	}
	if (strstr(a->sql, "pg_stat_statements(true)") != NULL)
		return text_of(a, row, column, out);
	if (strstr(a->sql, "EXPLAIN") != NULL) {
		snprintf(out, CANNED_BYTES, plan_format, a->endpoint, a->endpoint, a->endpoint);
		return CANNED_TEXT;
	}
	return CANNED_NOT;
}
