/* fleet_sqlite_sql.c - the engine's statements, made of the tables' descriptors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/scoped.h"
#include "store/fleet_sqlite.h"

void sql_add(struct sql *s, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(s->text + s->used, sizeof(s->text) - s->used, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(s->text) - s->used)
		s->is_over = true;
	else
		s->used += (size_t)len;
}

void sql_columns(struct sql *s, const struct table *t, const char *prefix)
{
	for (size_t i = 0; i < t->field_count; i++)
		sql_add(s, "%s%s%s", i > 0 ? ", " : "", prefix, t->fields[i].name);
}

size_t fleet_place(const struct table *t)
{
	size_t i = 0;

	while (i < fleet_table_count && fleet_tables[i].table != t)
		i++;
	return i;
}

size_t fleet_time_column(const struct table *t)
{
	size_t i = 0;

	while (i < t->field_count && strcmp(t->fields[i].name, "at_wall_ns") != 0)
		i++;
	return i;
}

int64_t fleet_row_time(const struct table *t, const void *row)
{
	int64_t at_ns;

	memcpy(&at_ns, (const char *)row + t->fields[fleet_time_column(t)].offset, sizeof(at_ns));
	return at_ns;
}

bool fleet_is_by_time(const struct table *t)
{
	return fleet_time_column(t) == 1 && t->fields[1].is_key;
}

/* "INSERT INTO t (columns) VALUES (?,?...)" */
static void sql_insert(struct sql *s, const struct table *t, const char *verb)
{
	sql_add(s, "%s INTO %s (", verb, t->name);
	sql_columns(s, t, "");
	sql_add(s, ") VALUES (");
	for (size_t i = 0; i < t->field_count; i++)
		sql_add(s, i > 0 ? ",?" : "?");
	sql_add(s, ")");
}

/* What a column of a row that is there becomes, when the row comes again. */
static void sql_merge(struct sql *s, const struct table *t, size_t column)
{
	const char *name = t->fields[column].name;

	switch (fleet_merge_rule(t, column)) {
	case MERGE_NEW:
		sql_add(s, "excluded.%s", name);
		break;
	case MERGE_STAY:
		sql_add(s, "%s", name);
		break;
	case MERGE_FIRST:
		sql_add(s,
			"CASE WHEN %s = 0 OR (excluded.%s > 0 AND excluded.%s < %s) "
			"THEN excluded.%s ELSE %s END",
			name, name, name, name, name, name);
		break;
	case MERGE_FULL:
		sql_add(s, "CASE WHEN length(excluded.%s) > 0 THEN excluded.%s ELSE %s END", name,
			name, name);
		break;
	}
}

/* Another look at a sum: what a late row adds to it. */
static void sql_onto(struct sql *s, const struct table *t, size_t column)
{
	const char *name = t->fields[column].name;

	switch (fleet_sum_rule(t, column).how) {
	case SUM_ADD:
		sql_add(s, "capped_add(%s, excluded.%s)", name, name);
		break;
	case SUM_MOST:
		sql_add(s, "max(ifnull(%s, excluded.%s), ifnull(excluded.%s, %s))", name, name,
			name, name);
		break;
	case SUM_KEY:
	case SUM_TIME:
	case SUM_ZERO:
		sql_add(s, "%s", name);
		break;
	}
}

static void sql_on_conflict(struct sql *s, const struct table *t,
			    void (*value)(struct sql *s, const struct table *t, size_t column))
{
	size_t keys = fleet_key_count(t);

	sql_add(s, " ON CONFLICT DO UPDATE SET ");
	for (size_t i = keys; i < t->field_count; i++) {
		sql_add(s, "%s%s = ", i > keys ? ", " : "", t->fields[i].name);
		value(s, t, i);
	}
}

static void sql_put(struct sql *s, const struct table *t)
{
	if (!fleet_is_merged(t)) {
		sql_insert(s, t, "INSERT OR REPLACE");
		return;
	}
	sql_insert(s, t, "INSERT");
	sql_on_conflict(s, t, sql_merge);
}

static void sql_drop(struct sql *s, const struct table *t)
{
	sql_add(s, "DELETE FROM %s WHERE ", t->name);
	for (size_t i = 0; i < fleet_key_count(t); i++)
		sql_add(s, "%s%s = ?", i > 0 ? " AND " : "", t->fields[i].name);
}

/* The value of a column of a sum, out of the rows that are summed; ?1 is the server, ?2 the start of the hour or day. */
static void sql_summed(struct sql *s, const struct table *to, size_t column)
{
	struct fleet_sum_rule rule = fleet_sum_rule(to, column);

	switch (rule.how) {
	case SUM_KEY:
		sql_add(s, "%s", column == 0 ? "?1" : rule.of);
		break;
	case SUM_TIME:
		sql_add(s, "?2");
		break;
	case SUM_ADD:
		sql_add(s, "capped_sum(%s)", rule.of);
		break;
	case SUM_MOST:
		sql_add(s, "max(%s)", rule.of);
		break;
	case SUM_ZERO:
		sql_add(s, "0");
		break;
	}
}

static void sql_sum(struct sql *s, const struct table *from, const struct table *to)
{
	bool is_first = true;

	sql_add(s, "INSERT OR REPLACE INTO %s (", to->name);
	sql_columns(s, to, "");
	sql_add(s, ") SELECT ");
	for (size_t i = 0; i < to->field_count; i++) {
		sql_add(s, i > 0 ? ", " : "");
		sql_summed(s, to, i);
	}
	sql_add(s, " FROM %s WHERE server = ?1 AND at_wall_ns >= ?2 AND at_wall_ns < ?3 GROUP BY ",
		from->name);
	for (size_t i = 1; i < fleet_key_count(to); i++) {
		if (fleet_sum_rule(to, i).how != SUM_KEY)
			continue;
		sql_add(s, "%s%s", is_first ? "" : ", ", to->fields[i].name);
		is_first = false;
	}
}

/* A raw row as the row of a sum, for `cost` counted out of one run: a SELECT of expressions over bound columns. */
static void sql_add_late(struct sql *s, const struct table *from, const struct table *to)
{
	sql_add(s, "INSERT INTO %s (", to->name);
	sql_columns(s, to, "");
	sql_add(s, ") SELECT ");
	for (size_t i = 0; i < to->field_count; i++) {
		struct fleet_sum_rule rule = fleet_sum_rule(to, i);

		sql_add(s, i > 0 ? ", " : "");
		if (rule.how == SUM_TIME)
			sql_add(s, "?%zu", from->field_count + 1);
		else
			sql_add(s, "%s", rule.how == SUM_ZERO ? "0" : rule.of);
	}
	sql_add(s, " FROM (SELECT ");
	for (size_t i = 0; i < from->field_count; i++)
		sql_add(s, "%s?%zu AS %s", i > 0 ? ", " : "", i + 1, from->fields[i].name);
	/* "WHERE true": else SQLite reads ON CONFLICT as a join's ON. */
	sql_add(s, ") WHERE true");
	sql_on_conflict(s, to, sql_onto);
}

static void sql_of_table(struct sql *s, size_t place, enum table_stmt which)
{
	const struct fleet_table *ft = &fleet_tables[place];
	const struct table *t = ft->table;
	bool has_time = fleet_time_column(t) < t->field_count;

	switch (which) {
	case TABLE_PUT:
		sql_put(s, t);
		break;
	case TABLE_DROP:
		sql_drop(s, t);
		break;
	case TABLE_ADD:
		sql_add_late(s, t, ft->hourly);
		break;
	case TABLE_SUM:
		sql_sum(s, t, ft->hourly);
		break;
	case TABLE_ADD_DAY:
		sql_add_late(s, t, ft->daily);
		break;
	case TABLE_SUM_DAY:
		sql_sum(s, ft->hourly, ft->daily);
		break;
	case TABLE_OLDEST:
		sql_add(s, "SELECT at_wall_ns FROM %s WHERE server = ? ORDER BY at_wall_ns LIMIT 1",
			t->name);
		break;
	case TABLE_FORGET:
		/* Its readings by name: else all hours of five years are looked at. */
		sql_add(s, "DELETE FROM %s WHERE server = ?%s%s", t->name,
			has_time ? " AND at_wall_ns < ?" : "",
			t == &table_cost ? " AND reading IN (0, 1, 2, 3, 4, 5, 6, 7, 100)" : "");
		break;
	case TABLE_SERVER:
		sql_add(s, "SELECT server FROM %s WHERE server > ? ORDER BY server LIMIT 1",
			t->name);
		break;
	case TABLE_STMTS:
		break;
	}
}

static const char *const fixed_sql[FLEET_STMTS] = {
	[FLEET_BEGIN] = "BEGIN IMMEDIATE",
	[FLEET_COMMIT] = "COMMIT",
	[FLEET_ROLLBACK] = "ROLLBACK",
	[FLEET_HAS_RUN] = "SELECT 1 FROM run WHERE server = ? AND cycle = ? LIMIT 1",
	[FLEET_MARK] = "INSERT OR IGNORE INTO unsummed (level, at_wall_ns, name, server) "
		       "VALUES (?, ?, ?, ?)",
	[FLEET_NEXT_MARK] = "SELECT at_wall_ns, name, server FROM unsummed WHERE level = ? AND "
			    "at_wall_ns <= ? ORDER BY at_wall_ns, name, server LIMIT 1",
	[FLEET_UNMARK] = "DELETE FROM unsummed WHERE level = ? AND at_wall_ns = ? AND name = ? AND "
			 "server = ?",
	[FLEET_HAS_MARK] = "SELECT 1 FROM unsummed WHERE level = ? AND name = ? AND at_wall_ns < ? "
			   "LIMIT 1",
	[FLEET_PAYLOAD_LENGTH] =
		"SELECT length(content) FROM payload WHERE server = ? AND digest = ?",
	[FLEET_PAYLOAD_BYTES] = "UPDATE about SET payload_bytes = payload_bytes + ?",
	[FLEET_CUT] = "UPDATE about SET cut_strs = cut_strs + ?",
	[FLEET_HORIZON] =
		"INSERT INTO horizon (name, before_wall_ns, gone_wall_ns) VALUES (?, ?, 0) "
		"ON CONFLICT DO UPDATE SET before_wall_ns = excluded.before_wall_ns",
	[FLEET_GONE] = "UPDATE horizon SET gone_wall_ns = ? WHERE name = ?",
};

static sqlite3_stmt *prepare(struct fleet_sqlite *f, const char *sql, sqlite3_stmt **out,
			     struct err *err)
{
	int rc = sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);

	if (rc != SQLITE_OK)
		fleet_fail(f, rc, "use", err);
	return *out;
}

sqlite3_stmt *fleet_stmt_of(struct fleet_sqlite *f, size_t place, enum table_stmt which,
			    struct err *err)
{
	sqlite3_stmt **stmt = &f->of_table[place][which];
	struct sql sql = { "" };

	if (*stmt != NULL)
		return *stmt;
	sql_of_table(&sql, place, which);
	if (sql.is_over) {
		err_set(err, -ENAMETOOLONG, "table %s has too many columns",
			fleet_tables[place].table->name);
		return NULL;
	}
	return prepare(f, sql.text, stmt, err);
}

sqlite3_stmt *fleet_stmt(struct fleet_sqlite *f, enum fleet_stmt which, struct err *err)
{
	if (f->fixed[which] != NULL)
		return f->fixed[which];
	return prepare(f, fixed_sql[which], &f->fixed[which], err);
}

void fleet_finalize(struct fleet_sqlite *f)
{
	for (size_t i = 0; i < FLEET_TABLES_MOST; i++)
		for (size_t which = 0; which < TABLE_STMTS; which++) {
			sqlite3_finalize(f->of_table[i][which]);
			f->of_table[i][which] = NULL;
		}
	for (size_t i = 0; i < FLEET_STMTS; i++) {
		sqlite3_finalize(f->fixed[i]);
		f->fixed[i] = NULL;
	}
}
