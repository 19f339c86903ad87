/* report_watch_columns.c - columns that the table of a watch's functions has on a wide terminal only. */
#include "cli/report_watch.h"
#include "core/scoped.h"

static void put_mean(struct text *t, enum measured_unit unit, const struct watched_answer *row)
{
	const struct calls_estimate *e = &row->calls;
	struct text_share parts;

	if (!e->has_total || e->is_below_floor) {
		text_put(t, e->has_total ? "below floor" : "—");
		return;
	}
	parts = measured_duration(e->mean_ns, e->has_error ? e->mean_error_ns : MEASURED_NO_ERROR,
				  unit);
	text_put(t, parts.number);
	if (parts.error[0] != '\0')
		text_printf(t, TEXT_NBSP "%s", parts.error);
}

static void put_total(struct text *t, enum measured_unit unit, const struct watched_answer *row)
{
	(void)unit;
	watch_put_total(t, row);
}

static void put_max(struct text *t, enum measured_unit unit, const struct watched_answer *row)
{
	(void)unit;
	watch_put_max(t, row);
}

static void put_rate(struct text *t, enum measured_unit unit, const struct watched_answer *row)
{
	(void)unit;
	measured_put_number(t, row->a_second);
}

static void put_timed(struct text *t, enum measured_unit unit, const struct watched_answer *row)
{
	(void)unit;
	text_put_exact(t, row->calls.timed);
}

const struct watch_column watch_columns[] = {
	{ "mean", 17, true, put_mean },	   { "total", 18, false, put_total },
	{ "max", 13, false, put_max },	   { "a second", 13, false, put_rate },
	{ "timed", 13, false, put_timed },
};
const size_t watch_column_count = ARRAY_LEN(watch_columns);
