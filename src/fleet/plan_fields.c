/* plan_fields.c - which members of a plan's JSON are names, and which are not: PostgreSQL 13 to 18, commands/explain.c. */
#include <stdlib.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/plan_json.h"

static const struct known {
	const char *key;
	enum plan_field field;
} known[] = {
	/* In the order of their bytes: they are searched. */
	{ "Actual Loops", PLAN_FIELD_ASIDE },
	{ "Alias", PLAN_FIELD_NAME },
	{ "Async Capable", PLAN_FIELD_ASIDE },
	{ "CTE Name", PLAN_FIELD_NAME },
	{ "Cache Mode", PLAN_FIELD_NAME },
	{ "Command", PLAN_FIELD_NAME },
	{ "Conflict Arbiter Indexes", PLAN_FIELD_NAME },
	{ "Conflict Resolution", PLAN_FIELD_NAME },
	{ "Constraint Name", PLAN_FIELD_NAME },
	{ "Custom Plan Provider", PLAN_FIELD_NAME },
	{ "Foreign File", PLAN_FIELD_HIDDEN },
	{ "Foreign Program", PLAN_FIELD_HIDDEN },
	{ "Full-sort Groups", PLAN_FIELD_ASIDE },
	{ "Function Name", PLAN_FIELD_NAME },
	{ "Index Name", PLAN_FIELD_NAME },
	{ "JIT", PLAN_FIELD_ASIDE },
	{ "Join Type", PLAN_FIELD_NAME },
	{ "Node Type", PLAN_FIELD_NAME },
	{ "Operation", PLAN_FIELD_NAME },
	{ "Parent Relationship", PLAN_FIELD_NAME },
	{ "Partial Mode", PLAN_FIELD_NAME },
	{ "Planning", PLAN_FIELD_ASIDE },
	{ "Pre-sorted Groups", PLAN_FIELD_ASIDE },
	{ "Query Identifier", PLAN_FIELD_DROPPED },
	{ "Relation", PLAN_FIELD_NAME },
	{ "Relation Name", PLAN_FIELD_NAME },
	{ "Sampling Method", PLAN_FIELD_NAME },
	{ "Scan Direction", PLAN_FIELD_NAME },
	{ "Schema", PLAN_FIELD_NAME },
	{ "Settings", PLAN_FIELD_SETTINGS },
	{ "Sort Method", PLAN_FIELD_ASIDE },
	{ "Sort Space Type", PLAN_FIELD_ASIDE },
	{ "Storage", PLAN_FIELD_ASIDE },
	{ "Strategy", PLAN_FIELD_NAME },
	{ "Subplan Name", PLAN_FIELD_NAME },
	{ "Table Function Name", PLAN_FIELD_NAME },
	{ "Trigger Name", PLAN_FIELD_NAME },
	{ "Triggers", PLAN_FIELD_ASIDE },
	{ "Tuplestore Name", PLAN_FIELD_NAME },
	{ "Workers", PLAN_FIELD_ASIDE },
};

struct wanted {
	const char *bytes;
	size_t len;
};

static int compare(const void *wanted, const void *row)
{
	const struct wanted *w = wanted;
	const struct known *k = row;
	size_t len = strlen(k->key);
	int order = memcmp(w->bytes, k->key, w->len < len ? w->len : len);

	return order != 0 ? order : (w->len > len) - (w->len < len);
}

enum plan_field plan_field_of(const char *key, size_t len)
{
	struct wanted wanted = { key, len };
	const struct known *found =
		bsearch(&wanted, known, ARRAY_LEN(known), sizeof(known[0]), compare);

	return found != NULL ? found->field : PLAN_FIELD_SQL;
}
