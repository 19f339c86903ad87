/* fleet_postgres_columns.c - the tables of core/fleet_fields.c, said in SQL. */
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_postgres.h"
#include "store/fleet_rules.h"

/* Numbers of 32 bits without a sign do not fit an integer. Text is what people and other tools read: fleet_postgres_rows.c
 * says what is done about bytes that are none. "C": the order of bytes, as everywhere else. */
static const struct {
	const char *name;
	Oid type, array;
} types[] = {
	[FIELD_U32] = { "bigint", PG_INT8, PG_INT8_ARRAY },
	[FIELD_U64] = { "bigint", PG_INT8, PG_INT8_ARRAY },
	[FIELD_I64] = { "bigint", PG_INT8, PG_INT8_ARRAY },
	[FIELD_COUNTER] = { "bigint", PG_INT8, PG_INT8_ARRAY },
	[FIELD_BOOL] = { "boolean", PG_BOOL, PG_BOOL_ARRAY },
	[FIELD_F64] = { "double precision", PG_FLOAT8, PG_FLOAT8_ARRAY },
	[FIELD_STR] = { "text", PG_TEXT, PG_TEXT_ARRAY },
	[FIELD_DIGEST] = { "bytea", PG_BYTEA, PG_BYTEA_ARRAY },
	[FIELD_BLOB] = { "bytea", PG_BYTEA, PG_BYTEA_ARRAY },
	[FIELD_BATCHES] = { "bytea", PG_BYTEA, PG_BYTEA_ARRAY },
	[FIELD_STEPS] = { "bytea", PG_BYTEA, PG_BYTEA_ARRAY },
};

const char *pg_type_name(const struct field *f)
{
	return types[f->type].name;
}

Oid pg_type_of(const struct field *f)
{
	return types[f->type].type;
}

Oid pg_array_of(const struct field *f)
{
	return types[f->type].array;
}

size_t pg_column(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

const struct fleet_table *pg_table(const struct table *t)
{
	for (size_t i = 0; i < fleet_table_count; i++)
		if (fleet_tables[i].table == t)
			return &fleet_tables[i];
	return NULL;
}

int64_t pg_part_ns(const struct fleet_table *ft)
{
	if (pg_column(ft->table, "at_wall_ns") == SIZE_MAX)
		return 0;
	switch (ft->keep) {
	case KEEP_RAW:
	case KEEP_HOURLY:
	case KEEP_RUNS:
		return PG_DAY_NS;
	case KEEP_DAILY:
		return 28 * PG_DAY_NS; /* five years of days would be 1,826 partitions */
	case KEEP_STATE:
	case KEEP_PAYLOADS:
		break;
	}
	return 0;
}

bool pg_is_key(const struct fleet_table *ft, const struct field *f)
{
	return f->is_key || (pg_part_ns(ft) > 0 && strcmp(f->name, "at_wall_ns") == 0);
}

void pg_put_columns(struct text *sql, const struct table *t, const char *before)
{
	for (size_t i = 0; i < t->field_count; i++)
		text_printf(sql, "%s%s\"%s\"", i > 0 ? ", " : "", before, t->fields[i].name);
}

void pg_put_keys(struct text *sql, const struct fleet_table *ft, const char *before)
{
	const struct table *t = ft->table;
	const char *comma = "";

	for (size_t i = 0; i < t->field_count; i++) {
		if (!pg_is_key(ft, &t->fields[i]))
			continue;
		text_printf(sql, "%s%s\"%s\"", comma, before, t->fields[i].name);
		comma = ", ";
	}
}

/* "unnest($1::bigint[], ...)" of all columns, or of keys only. */
static void put_unnest(struct text *sql, const struct table *t, bool is_keys_only)
{
	unsigned n = 0;

	text_put(sql, "unnest(");
	for (size_t i = 0; i < t->field_count; i++) {
		if (is_keys_only && !t->fields[i].is_key)
			continue;
		text_printf(sql, "%s$%u::%s[]", n > 0 ? ", " : "", n + 1,
			    pg_type_name(&t->fields[i]));
		n++;
	}
	text_put(sql, ")");
}

/* What a column becomes when its key was there (o: the old row). */
static void put_merge(struct text *sql, const struct table *t, size_t column)
{
	const char *name = t->fields[column].name;

	switch (fleet_merge_rule(t, column)) {
	case MERGE_NEW:
		text_printf(sql, "\"%s\" = EXCLUDED.\"%s\"", name, name);
		return;
	case MERGE_STAY:
		text_printf(sql, "\"%s\" = o.\"%s\"", name, name);
		return;
	case MERGE_FIRST:
		text_printf(sql,
			    "\"%s\" = CASE WHEN o.\"%s\" = 0 OR (EXCLUDED.\"%s\" > 0 AND "
			    "EXCLUDED.\"%s\" < o.\"%s\") THEN EXCLUDED.\"%s\" ELSE o.\"%s\" END",
			    name, name, name, name, name, name, name);
		return;
	case MERGE_FULL:
		text_printf(sql,
			    "\"%s\" = CASE WHEN length(EXCLUDED.\"%s\") > 0 THEN "
			    "EXCLUDED.\"%s\" ELSE o.\"%s\" END",
			    name, name, name, name);
		return;
	}
}

/* " ON CONFLICT (keys) DO UPDATE SET ..." */
static void put_conflict(struct text *sql, const struct fleet_table *ft)
{
	const struct table *t = ft->table;
	const char *verb = " DO UPDATE SET ";

	text_put(sql, " ON CONFLICT (");
	pg_put_keys(sql, ft, "");
	text_put(sql, ")");
	for (size_t i = 0; i < t->field_count; i++) {
		if (pg_is_key(ft, &t->fields[i]))
			continue;
		text_put(sql, verb);
		put_merge(sql, t, i);
		verb = ", ";
	}
	if (verb[0] == ' ')
		text_put(sql, " DO NOTHING");
}

void pg_put_unnest(struct text *sql, const struct table *t)
{
	put_unnest(sql, t, false);
	text_put(sql, " WITH ORDINALITY AS r(");
	pg_put_columns(sql, t, "");
	text_put(sql, ", its_place)");
}

void pg_put_upsert(struct text *sql, const struct fleet_table *ft)
{
	const struct table *t = ft->table;

	text_printf(sql, "INSERT INTO tare.\"%s\" AS o (", t->name);
	pg_put_columns(sql, t, "");
	text_put(sql, ") SELECT DISTINCT ON (");
	pg_put_keys(sql, ft, "r.");
	text_put(sql, ") ");
	pg_put_columns(sql, t, "r.");
	text_put(sql, " FROM ");
	pg_put_unnest(sql, t);
	text_put(sql, " ORDER BY ");
	pg_put_keys(sql, ft, "r.");
	for (size_t i = 0; i < t->field_count; i++)
		if (fleet_merge_rule(t, i) == MERGE_FULL)
			text_printf(sql, ", length(r.\"%s\") = 0", t->fields[i].name);
	text_put(sql, ", r.its_place DESC");
	put_conflict(sql, ft);
}

void pg_put_delete(struct text *sql, const struct table *t)
{
	const char *comma = "", *also = "";

	text_printf(sql, "DELETE FROM tare.\"%s\" o USING ", t->name);
	put_unnest(sql, t, true);
	text_put(sql, " AS u(");
	for (size_t i = 0; i < t->field_count; i++) {
		if (!t->fields[i].is_key)
			continue;
		text_printf(sql, "%s\"%s\"", comma, t->fields[i].name);
		comma = ", ";
	}
	text_put(sql, ") WHERE ");
	for (size_t i = 0; i < t->field_count; i++) {
		if (!t->fields[i].is_key)
			continue;
		text_printf(sql, "%so.\"%s\" = u.\"%s\"", also, t->fields[i].name,
			    t->fields[i].name);
		also = " AND ";
	}
}
