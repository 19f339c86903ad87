/* fleet_postgres_sums.c - SQL that sums rows by hour and day, as fleet_rules.h says of each column. */
#include <inttypes.h>

#include "core/scoped.h"
#include "store/fleet_postgres.h"
#include "store/fleet_rules.h"

/* The most that a column can hold. */
static const char *most(const struct field *f)
{
	return f->type == FIELD_U32 ? "4294967294" : "9223372036854775807";
}

/* The rule's expression over a row `r` of `from`. */
static void put_of(struct text *sql, const struct table *from, const char *of)
{
	if (pg_column(from, of) != SIZE_MAX)
		text_printf(sql, "r.\"%s\"", of);
	else
		text_printf(sql, "(%s)", of);
}

static void put_summed(struct text *sql, const struct pg_sum *s, size_t column)
{
	const struct field *f = &s->to->fields[column];
	struct fleet_sum_rule rule = fleet_sum_rule(s->to, column);

	switch (rule.how) {
	case SUM_KEY:
		put_of(sql, s->from, rule.of);
		return;
	case SUM_TIME:
		text_printf(sql, "r.at_wall_ns - r.at_wall_ns %% %" PRId64, s->span_ns);
		return;
	case SUM_ADD:
		text_put(sql, "(CASE WHEN sum(");
		put_of(sql, s->from, rule.of);
		text_printf(sql, ") > %s THEN %s ELSE sum(", most(f), most(f));
		put_of(sql, s->from, rule.of);
		text_put(sql, ") END)::bigint"); /* least() would take NULL for no limit */
		return;
	case SUM_MOST:
		text_put(sql, "max(");
		put_of(sql, s->from, rule.of);
		text_put(sql, ")");
		return;
	case SUM_ZERO:
		text_put(sql, "0");
		return;
	}
}

/* What becomes of a sum that is there: it is replaced, or added to. */
static void put_met(struct text *sql, const struct pg_sum *s, size_t column)
{
	const struct field *f = &s->to->fields[column];
	const char *name = f->name;

	switch (s->is_added ? fleet_sum_rule(s->to, column).how : SUM_ZERO) {
	case SUM_ADD:
		text_printf(sql,
			    "coalesce(least(o.\"%s\"::numeric + EXCLUDED.\"%s\", CASE WHEN "
			    "o.\"%s\" + EXCLUDED.\"%s\"::numeric IS NOT NULL THEN %s END), "
			    "o.\"%s\", EXCLUDED.\"%s\")::bigint",
			    name, name, name, name, most(f), name, name);
		return;
	case SUM_MOST:
		text_printf(sql, "greatest(o.\"%s\", EXCLUDED.\"%s\")", name, name);
		return;
	default:
		text_printf(sql, "EXCLUDED.\"%s\"", name);
		return;
	}
}

void pg_put_sum_head(struct text *sql, const struct pg_sum *s)
{
	text_printf(sql, "INSERT INTO tare.\"%s\" AS o (", s->to->name);
	pg_put_columns(sql, s->to, "");
	text_put(sql, ") SELECT ");
	for (size_t i = 0; i < s->to->field_count; i++) {
		text_put(sql, i > 0 ? ", " : "");
		put_summed(sql, s, i);
	}
	text_put(sql, " FROM ");
}

void pg_put_sum_tail(struct text *sql, const struct pg_sum *s)
{
	const struct fleet_table *to = pg_table(s->to);
	const char *before = " GROUP BY ";

	for (size_t i = 0; i < s->to->field_count; i++) {
		if (!pg_is_key(to, &s->to->fields[i]))
			continue;
		text_printf(sql, "%s%zu", before, i + 1);
		before = ", ";
	}
	text_put(sql, " ON CONFLICT (");
	pg_put_keys(sql, to, "");
	text_put(sql, ")");
	before = " DO UPDATE SET ";
	for (size_t i = 0; i < s->to->field_count; i++) {
		if (pg_is_key(to, &s->to->fields[i]))
			continue;
		text_printf(sql, "%s\"%s\" = ", before, s->to->fields[i].name);
		put_met(sql, s, i);
		before = ", ";
	}
}
