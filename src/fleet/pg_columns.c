/* pg_columns.c - SELECT lists from the columns that a view really has. */
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"
#include "fleet/cells.h"
#include "fleet/pg_body.h"

void pg_put_name(struct text *sql, const char *name)
{
	text_put(sql, "\"");
	for (const char *at = name; *at != '\0'; at++)
		text_add(sql, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
	text_put(sql, "\"");
}

bool pg_has_column(const char *there, const char *name)
{
	char between[80];

	snprintf(between, sizeof(between), ",%s,", name);
	return strstr(there, between) != NULL;
}

/* Names are ours: only whether they are there came from the server. */
static void put_column(struct text *sql, const struct pg_column *column, const char *there)
{
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_LEN(column->names) && column->names[i] != NULL; i++) {
		if (!pg_has_column(there, column->names[i]) || (column->is_first && count > 0))
			continue;
		text_put(sql, count++ > 0 ? " + " : ", ");
		text_put(sql, column->names[i]);
	}
	if (count == 0)
		text_put(sql, ", NULL");
}

void pg_ask_columns(struct text *sql, const struct pg_column *columns, size_t count,
		    const char *there)
{
	for (size_t i = 0; i < count; i++)
		put_column(sql, &columns[i], there);
}

void pg_put_moment(struct text *sql, const char *expression)
{
	text_printf(sql, ", (extract(epoch FROM %s) * 1000000)::int8", expression);
}

void pg_read_columns(const struct pg_column *columns, size_t count, const struct cell *cells,
		     struct counter *out)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = columns[i].is_ms ? cell_counter_ms(cells[i]) : cell_counter(cells[i]);
		/* One more than the largest that can be kept (remembered.h). */
		if (out[i].value == INT64_MAX)
			out[i] = NOT_MEASURED;
	}
}
