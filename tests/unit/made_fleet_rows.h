/* made_fleet_rows.h - rows of a small fleet, for tests of what is said of it. */
#ifndef TARE_TESTS_MADE_FLEET_ROWS_H
#define TARE_TESTS_MADE_FLEET_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/fleet_analysis.h"
#include "core/units.h"

#define S ((int64_t)NS_PER_S)

static const struct statement_key select_key = { 5, 10, -77, true };

static inline void take(struct fleet_analysis *a, const struct table *t, const void *row)
{
	assert_int_equal(fleet_analysis_take(a, t, row), 0);
}

/* A statement's row: calls and time, other counters not measured. */
static inline struct statement_row ran(uint32_t server, int64_t at_s, uint64_t calls,
				       uint64_t exec_ms)
{
	struct statement_row row = { .server = server,
				     .at_wall_ns = at_s * S,
				     .key = select_key,
				     .span_ns = 60 * NS_PER_S };

	for (int i = 0; i < STATEMENT_COUNTERS; i++)
		row.counters[i] = NOT_MEASURED;
	row.counters[STATEMENT_CALLS] = COUNTER(calls);
	row.counters[STATEMENT_EXEC_NS] = COUNTER(exec_ms * NS_PER_MS);
	return row;
}

static inline struct plan_row planned(uint8_t plan, uint8_t shape, int64_t first_s, int64_t seen_s)
{
	struct plan_row row = { .server = 1,
				.key = select_key,
				.first_wall_ns = first_s * S,
				.seen_wall_ns = seen_s * S };

	row.plan.bytes[0] = plan;
	row.shape.bytes[0] = shape;
	return row;
}

#endif
