/* fleet_rules.c - sums and merges by table and column. */
#include "store/fleet_rules.h"

#include <string.h>

#include "core/scoped.h"
#include "store/fleet_store.h"

/* What a row of `cost` counts in the runs of its hour. */
static const struct {
	const char *column;
	struct fleet_sum_rule rule;
} cost_rules[] = {
	{ "runs", { SUM_ADD, "1" } },
	{ "captures", { SUM_ADD, "CASE WHEN capture IN (2, 3) THEN 1 ELSE 0 END" } },
	{ "failures", { SUM_ADD, "CASE WHEN outcome IN (1, 2, 3) THEN 1 ELSE 0 END" } },
	{ "skipped", { SUM_ADD, "CASE WHEN outcome = 4 THEN 1 ELSE 0 END" } },
	{ "longest_server_ns", { SUM_MOST, "server_ns" } },
};

/* Columns that are not added up, whatever the table. */
static const struct {
	const char *column;
	enum fleet_sum how;
} not_added[] = {
	{ "life", SUM_ZERO },	  { "longest_ns", SUM_MOST }, { "backends", SUM_MOST },
	{ "database", SUM_MOST }, { "name", SUM_MOST },
};

struct fleet_sum_rule fleet_sum_rule(const struct table *to, size_t column)
{
	const struct field *f = &to->fields[column];

	if (strcmp(f->name, "at_wall_ns") == 0)
		return (struct fleet_sum_rule){ SUM_TIME, f->name };
	if (f->is_key)
		return (struct fleet_sum_rule){ SUM_KEY, f->name };
	for (size_t i = 0; i < ARRAY_LEN(cost_rules) && to == &table_cost; i++)
		if (strcmp(cost_rules[i].column, f->name) == 0)
			return cost_rules[i].rule;
	for (size_t i = 0; i < ARRAY_LEN(not_added); i++)
		if (strcmp(not_added[i].column, f->name) == 0)
			return (struct fleet_sum_rule){ not_added[i].how, f->name };
	return (struct fleet_sum_rule){ SUM_ADD, f->name };
}

static const struct {
	const struct table *table;
	const char *column;
	enum fleet_merge rule;
} merges[] = {
	/* A visit knows what the server says of itself, not its name and seat in the fleet. */
	{ &table_server, "name", MERGE_STAY },
	{ &table_server, "kind", MERGE_STAY },
	{ &table_server, "address", MERGE_STAY },
	{ &table_server, "seat", MERGE_STAY },
	{ &table_server, "first_wall_ns", MERGE_FIRST },
	{ &table_query, "first_wall_ns", MERGE_FIRST },
	{ &table_plan, "first_wall_ns", MERGE_FIRST },
	{ &table_payload, "content", MERGE_FULL },
};

enum fleet_merge fleet_merge_rule(const struct table *t, size_t column)
{
	for (size_t i = 0; i < ARRAY_LEN(merges); i++)
		if (merges[i].table == t && strcmp(merges[i].column, t->fields[column].name) == 0)
			return merges[i].rule;
	return MERGE_NEW;
}

bool fleet_is_merged(const struct table *t)
{
	for (size_t i = 0; i < ARRAY_LEN(merges); i++)
		if (merges[i].table == t)
			return true;
	return false;
}

uint64_t fleet_keep_ns(enum fleet_keep keep, const struct fleet_limits *limits)
{
	switch (keep) {
	case KEEP_RAW:
		return limits->raw_ns;
	case KEEP_HOURLY:
		return limits->hourly_ns;
	case KEEP_DAILY:
		return limits->daily_ns;
	case KEEP_RUNS:
		return limits->runs_ns;
	case KEEP_STATE:
	case KEEP_PAYLOADS:
		break;
	}
	return 0;
}
