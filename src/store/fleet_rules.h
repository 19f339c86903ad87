/* fleet_rules.h - what every engine does with the columns of a fleet's tables, said once: how a column is summed, and what
 * becomes of a row that is put over another. Engines make their SQL of it. Pure tables. */
#ifndef TARE_STORE_FLEET_RULES_H
#define TARE_STORE_FLEET_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fleet.h"

#define FLEET_HOUR_NS INT64_C(3600000000000)
#define FLEET_DAY_NS  (24 * FLEET_HOUR_NS)

/* How a column of a sum comes from the rows that are summed. */
enum fleet_sum {
	SUM_KEY,  /* rows with the same value are summed together */
	SUM_TIME, /* the same, by the start of their hour or day */
	SUM_ADD, /* added up; NULL is left out, only NULLs stay NULL; what has no room in 63 bits is 2^63 - 1 */
	SUM_MOST, /* the largest; NULL is left out, only NULLs stay NULL */
	SUM_ZERO, /* 0: it has no meaning in a sum */
};

struct fleet_sum_rule {
	enum fleet_sum how;
	const char *
		of; /* an expression over a row that is summed, in any SQL: a column, or what `cost` counts in a run */
};

/* The rule for a column of `to`, a table that others are summed in (hourly or daily in fleet_tables). */
struct fleet_sum_rule fleet_sum_rule(const struct table *to, size_t column);

/* What a put does to a column of a row whose key is there already. */
enum fleet_merge {
	MERGE_NEW,   /* the new value */
	MERGE_STAY,  /* what is there stays: only enrolling changes it */
	MERGE_FIRST, /* the earlier of both; 0 is none */
	MERGE_FULL, /* the new value, unless it is empty: who says "seen again" need not have the bytes */
};

/* The rule for a column of `t`. */
enum fleet_merge fleet_merge_rule(const struct table *t, size_t column);

/* Has `t` a column whose rule is not MERGE_NEW? */
bool fleet_is_merged(const struct table *t);

/* How long rows of a table stay in ns, by the limits; 0: as long as their server, or by no time. */
struct fleet_limits;
uint64_t fleet_keep_ns(enum fleet_keep keep, const struct fleet_limits *limits);

/* The start of the hour (FLEET_HOUR_NS) or day (FLEET_DAY_NS) of a time, which is not before 1970. */
static inline int64_t fleet_floor_ns(int64_t at_ns, int64_t span_ns)
{
	return at_ns / span_ns * span_ns;
}

#endif
