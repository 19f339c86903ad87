/* watch_words.c - words that only a watch needs. */
#include "core/watch_words.h"

#include <math.h>
#include <string.h>

#include "core/measured.h"
#include "core/units.h"

#define DASH "\xe2\x80\x94"

uint64_t watch_whole(double value)
{
	if (!(value > 0))
		return 0;
	return value < 1e19 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

void watch_put_share(struct text *t, struct estimate e)
{
	if (e.is_known)
		measured_put_share(t, e.value, e.error, e.has_error);
	else
		text_put(t, DASH TEXT_NBSP "not measured");
}

void watch_put_at_most(struct text *t, double share)
{
	struct text_share parts = measured_share(share, 0, true);

	if (share > 0 && strncmp(parts.number, "under", strlen("under")) != 0)
		text_put(t, "at most ");
	text_put(t, parts.number);
}

void watch_put_change(struct text *t, double from_ns, double to_ns, double error_ns)
{
	enum measured_unit unit = measured_unit_of(fmax(from_ns, to_ns));
	struct text_share from = measured_duration(from_ns, error_ns, unit);
	struct text_share to = measured_duration(to_ns, error_ns, unit);

	text_printf(t, "from %s to %s" TEXT_NBSP "%s", from.number, to.number,
		    measured_unit_name(unit));
	if (to.error[0] != '\0')
		text_printf(t, TEXT_NBSP "%s", to.error);
}

struct str watch_counted_why(const struct watched_row *row)
{
	static const char counting[] = "counting: ";
	uint32_t len = sizeof(counting) - 1;

	if (row->mode.len <= len || memcmp(row->mode.bytes, counting, len) != 0)
		return STR_EMPTY;
	return (struct str){ row->mode.bytes + len, row->mode.len - len };
}

void watch_put_name(struct text *t, const struct watched_row *row)
{
	if (row->name.len == 0)
		text_put(t, "(no name)");
	text_put_function(t, text_without_arguments(row->name), WATCH_NAME_COLUMNS);
}

void watch_put_when(struct text *t, const struct recording *r, uint64_t at_ns)
{
	const struct window_row second = { .at = 1 };
	bool is_fine = watch_window_starts_ns(r, &second) < 60 * NS_PER_S;
	int64_t started_ns = r->label.started_wall_ns, wall_ns;
	char date[64];
	size_t day = strlen("2026-11-28 "), time = is_fine ? strlen("19:36:20") : strlen("19:36");

	if (at_ns > INT64_MAX || __builtin_add_overflow(started_ns, (int64_t)at_ns, &wall_ns))
		wall_ns = INT64_MAX;
	units_format_wall((struct wall){ wall_ns }, date, sizeof(date));
	if (r->label.elapsed_ns > 24 * 3600 * NS_PER_S)
		text_add(t, date, day);
	text_add(t, date + day, time);
}

void watch_put_growth(struct text *t, const struct recording *r, const struct growth *growth)
{
	watch_put_change(t, growth->from_ns, growth->to_ns, growth->error_ns);
	if (!growth->is_step) {
		text_put(t, " over the run");
		return;
	}
	text_put(t, " at ");
	watch_put_when(t, r, growth->at_ns);
}
