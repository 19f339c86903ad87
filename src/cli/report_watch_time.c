/* report_watch_time.c - functions over the time of the run: what grew, and one function window by window. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/report_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"
#include "core/watchlist.h"

enum { MOST_COLUMNS = 7, ERROR_COLUMNS = 5, DATE_COLUMNS = 6 };

/* Where columns of the windows' table end; what has an error takes two, and `end` is behind it. */
struct layout {
	size_t calls, timed, one_in, p50, p99, end;
};

/* The last one has no room for how many were timed. */
static const struct layout layouts[] = {
	{ 22, 32, 40, 53, 71, 78 },
	{ 19, 28, 35, 46, 61, 68 },
	{ 19, 0, 26, 37, 53, 60 },
};

/* The widest that fits, in letters too. */
static struct layout layout_of(const struct screen *s, size_t shift)
{
	size_t i = 0;
	struct layout l;

	while (i + 1 < ARRAY_LEN(layouts) && layouts[i].end + shift + 2 > s->columns)
		i++;
	l = layouts[i];
	l.calls += shift;
	l.timed += l.timed > 0 ? shift : 0;
	l.one_in += shift;
	l.p50 += shift;
	l.p99 += shift;
	l.end += shift;
	return l;
}

void watch_put_second(struct text *t, const struct label *label, uint64_t at_ns)
{
	int64_t since_ns = at_ns < INT64_MAX / 2 ? (int64_t)at_ns : INT64_MAX / 2, wall_ns;
	bool has_date = label->elapsed_ns >= 24 * 3600 * NS_PER_S;
	char date[64];

	if (__builtin_add_overflow(label->started_wall_ns, since_ns, &wall_ns))
		wall_ns = label->started_wall_ns;
	units_format_wall((struct wall){ wall_ns }, date, sizeof(date));
	if (strlen(date) < 19)
		text_put(t, date);
	else if (has_date)
		text_add(t, date + 5, 14); /* "11-28 17:24:31" */
	else
		text_add(t, date + 11, 8);
}

static void print_growth(struct screen *s, const struct report *r, const struct watched_answer *row)
{
	SCOPED(text_free) struct text line = TEXT_EMPTY;

	watch_put_name(&line, row->row);
	text_put(&line, ": ");
	if (row->mean_growth.has_grown) {
		text_put(&line, "mean went ");
		watch_put_growth(&line, r->recording, &row->mean_growth);
	}
	if (row->mean_growth.has_grown && row->p99_growth.has_grown)
		text_put(&line, ", ");
	if (row->p99_growth.has_grown) {
		text_put(&line, "p99 went ");
		watch_put_growth(&line, r->recording, &row->p99_growth);
	}
	screen_wrap(s, text_chars(&line), 2);
	s->has_failed |= line.has_failed;
}

static bool has_grown(const struct watched_answer *row)
{
	return row->mean_growth.has_grown || row->p99_growth.has_grown;
}

void watch_grown(struct screen *s, const struct report *r)
{
	bool is_first = true;

	for (uint32_t i = 0; i < r->watch->watched; i++) {
		if (!has_grown(&r->watch->rows[i]))
			continue;
		if (is_first) {
			screen_put(s, "over time");
			screen_end(s);
		}
		is_first = false;
		print_growth(s, r, &r->watch->rows[i]);
	}
	if (!is_first)
		screen_end(s);
}

/* ---- one function, window by window ---- */

/* One window as it is printed. */
struct window {
	struct calls_row row; /* its histogram is borrowed */
	struct calls_estimate calls;
	struct percentile p50, p99;
	bool p50_below_floor, p99_below_floor;
};

static struct window window_of(const struct window_row *row, const struct watched_row *watched)
{
	uint64_t floor_ns = (watched->floor_ps + PS_PER_NS / 2) / PS_PER_NS;
	struct window w = { .row = watchlist_calls_row(row) };

	w.calls = calls_estimate(&w.row, floor_ns);
	w.p50 = calls_percentile(&w.row, 0.5, floor_ns, &w.p50_below_floor);
	w.p99 = calls_percentile(&w.row, 0.99, floor_ns, &w.p99_below_floor);
	return w;
}

/* The table while it is printed. */
struct table_at {
	struct screen *s;
	const struct report *r;
	const struct watched_row *watched;
	const struct window_row *windows;
	uint32_t count; /* of them */
	struct layout at;
	enum measured_unit unit; /* of both percentiles */
};

static void put_when(const struct table_at *t, uint32_t at)
{
	SCOPED(text_free) struct text when = TEXT_EMPTY;

	watch_put_second(&when, &t->r->recording->label,
			 watch_window_starts_ns(t->r->recording, &(struct window_row){ .at = at }));
	screen_put(t->s, text_chars(&when));
	t->s->has_failed |= when.has_failed;
}

static void put_count(const struct table_at *t, uint64_t count, size_t end)
{
	char text[40];

	units_format_exact(count, text, sizeof(text));
	screen_put_right(t->s, text, end);
}

/* Calls; of a window that was watched in part, an estimate. */
static void put_calls(const struct table_at *t, const struct window *w)
{
	SCOPED(text_free) struct text calls = TEXT_EMPTY;

	if (!w->calls.is_estimate) {
		put_count(t, w->row.calls + w->row.never_timed, t->at.calls);
		return;
	}
	watch_put_about(&calls, w->calls.calls + (double)w->row.never_timed);
	screen_put_right(t->s, text_chars(&calls), t->at.calls);
	t->s->has_failed |= calls.has_failed;
}

/* A number that has no error beside it may stand where that would. */
static void put_percentile(const struct table_at *t, const struct percentile *p,
			   bool is_below_floor, size_t end)
{
	struct text_share parts = measured_duration((double)(p->is_open ? p->low_ns : p->ns),
						    watch_percentile_error(p), t->unit);
	char words[64];

	if (parts.error[0] != '\0' && !is_below_floor) {
		screen_put_right(t->s, parts.number, end);
		screen_put(t->s, " ");
		screen_put(t->s, parts.error);
		return;
	}
	if (is_below_floor)
		snprintf(words, sizeof(words), "below floor");
	else if (p->is_open && p->low_ns == 0)
		snprintf(words, sizeof(words), "— cannot know");
	else
		snprintf(words, sizeof(words), "%s%s", p->is_open ? "over" TEXT_NBSP : "",
			 parts.number);
	screen_put_right(t->s, words, end + (t->at.end - t->at.p99));
}

static void print_window(const struct table_at *t, const struct window_row *row)
{
	struct window w = window_of(row, t->watched);
	char one_in[24];

	put_when(t, row->at);
	if (row->covered_ns == 0 && row->span_ns > 0) {
		screen_put_right(t->s, "— not watched", t->at.calls);
		screen_end(t->s);
		return;
	}
	put_calls(t, &w);
	if (t->at.timed > 0)
		put_count(t, w.calls.timed, t->at.timed);
	if (w.calls.timed == 0) {
		screen_to(t->s, t->at.one_in - 1);
		screen_put(t->s, row->calls + row->never_timed > 0 ? "– — not measured" : "");
		screen_end(t->s);
		return;
	}
	snprintf(one_in, sizeof(one_in), "%u", row->interval);
	screen_put_right(t->s, one_in, t->at.one_in);
	put_percentile(t, &w.p50, w.p50_below_floor, t->at.p50);
	put_percentile(t, &w.p99, w.p99_below_floor, t->at.p99);
	screen_end(t->s);
}

/* Windows without a row: it did not run, which is a measured 0. */
static void print_pause(const struct table_at *t, uint32_t from, uint32_t to)
{
	char line[64];

	put_when(t, from);
	screen_put_right(t->s, "0", t->at.calls);
	snprintf(line, sizeof(line), "   did not run, %u window%s", to - from,
		 to - from == 1 ? "" : "s");
	screen_put(t->s, line);
	screen_end(t->s);
}

/* What a column must hold. */
struct extent {
	double least_ns, most_ns, most_error_ns;
};

static void take_in(struct extent *e, const struct percentile *p, bool is_below_floor)
{
	double ns = (double)(p->is_open ? p->low_ns : p->ns);

	if (!p->is_known || is_below_floor || ns <= 0)
		return;
	if (e->least_ns <= 0 || ns < e->least_ns)
		e->least_ns = ns;
	e->most_ns = fmax(e->most_ns, ns);
	e->most_error_ns = fmax(e->most_error_ns, watch_percentile_error(p));
}

static void choose_unit(struct table_at *t)
{
	struct extent e = { .least_ns = 0 };
	enum measured_unit unit;

	for (uint32_t i = 0; i < t->count; i++) {
		struct window w = window_of(&t->windows[i], t->watched);

		take_in(&e, &w.p50, w.p50_below_floor);
		take_in(&e, &w.p99, w.p99_below_floor);
	}
	t->unit = measured_unit_for(e.least_ns, e.most_ns, MOST_COLUMNS);
	unit = measured_unit_for(e.least_ns, e.most_error_ns, ERROR_COLUMNS);
	if (unit > t->unit)
		t->unit = unit;
}

static void print_header(const struct table_at *t)
{
	char header[32];

	screen_put(t->s, "from");
	screen_put_right(t->s, "calls", t->at.calls);
	if (t->at.timed > 0)
		screen_put_right(t->s, "timed", t->at.timed);
	screen_put_right(t->s, "one in", t->at.one_in);
	snprintf(header, sizeof(header), "p50 %s", measured_unit_name(t->unit));
	screen_put_right(t->s, header, t->at.p50);
	snprintf(header, sizeof(header), "p99 %s", measured_unit_name(t->unit));
	screen_put_right(t->s, header, t->at.p99);
	screen_end(t->s);
}

uint32_t watch_rows_in(const struct recording *rec)
{
	uint64_t in_row = rec->watch.windows_in_row > 0 ? rec->watch.windows_in_row : 1;
	uint64_t rows = rec->watch.windows / in_row + (rec->watch.windows % in_row > 0);

	return rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

static void print_windows(struct screen *s, const struct report *r,
			  const struct watched_row *watched)
{
	const struct recording *rec = r->recording;
	struct table_at t = { .s = s, .r = r, .watched = watched };
	SCOPED(text_free) struct text when = TEXT_EMPTY;
	uint32_t next = 0;

	t.windows = watch_windows(rec, watched->id, &t.count);
	watch_put_second(&when, &rec->label, 0);
	t.at = layout_of(s, when.len > 8 ? DATE_COLUMNS : 0);
	choose_unit(&t);
	print_header(&t);
	for (uint32_t i = 0; i < t.count; i++) {
		const struct window_row *row = &t.windows[i];

		if (row->at > next)
			print_pause(&t, next, row->at);
		print_window(&t, row);
		next = row->at + 1;
	}
	if (next < watch_rows_in(rec))
		print_pause(&t, next, watch_rows_in(rec));
}

static bool is_named(const struct watched_answer *row, const char *name, bool is_part)
{
	struct str whole = row->row->name, plain = text_without_arguments(whole);
	size_t len = strlen(name);

	if (is_part)
		return whole.len > 0 && memmem(whole.bytes, whole.len, name, len) != NULL;
	return (whole.len == len && memcmp(whole.bytes, name, len) == 0) ||
	       (plain.len == len && memcmp(plain.bytes, name, len) == 0);
}

static uint32_t count_named(const struct watch_analysis *a, const char *name, bool is_part)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->count; i++)
		count += is_named(&a->rows[i], name, is_part);
	return count;
}

static int refuse_name(const struct watch_analysis *a, const char *name, uint32_t parts,
		       struct err *err)
{
	SCOPED(text_free) struct text shown = TEXT_EMPTY;
	SCOPED(text_free) struct text first = TEXT_EMPTY;

	text_put_cut(&shown, (struct str){ name, (uint32_t)strlen(name) }, 60);
	for (uint32_t i = 0; parts > 0 && i < a->count && first.len == 0; i++)
		if (is_named(&a->rows[i], name, true))
			text_put_cut(&first, a->rows[i].row->name, 60);
	if (shown.has_failed || first.has_failed)
		return err_set(err, -ENOMEM, "cannot look for a function: out of memory");
	if (parts == 0) {
		err_set(err, -ENOENT, "cannot find '%s' in this recording: it was not watched",
			text_chars(&shown));
		return err_mend(err, "what was watched: tare report --all");
	}
	err_set(err, -EINVAL, "cannot tell which function '%s' is: %u have it in their names",
		text_chars(&shown), parts);
	return err_mend(err, "give the whole name, such as '%s'", text_chars(&first));
}

int watch_over_time(struct screen *s, const struct report *r, const char *name, struct err *err)
{
	const struct watch_analysis *a = r->watch;
	bool is_part = count_named(a, name, false) == 0;
	uint32_t parts = is_part ? count_named(a, name, true) : 0;
	bool is_first = true;

	if (is_part && parts != 1)
		return refuse_name(a, name, parts, err);
	for (uint32_t i = 0; i < a->count; i++) {
		if (!is_named(&a->rows[i], name, is_part))
			continue;
		if (!is_first)
			screen_end(s);
		is_first = false;
		if (i < a->watched) {
			watch_table_one(s, r, &a->rows[i]);
			screen_end(s);
			print_windows(s, r, a->rows[i].row);
		} else {
			SCOPED(text_free) struct text why = TEXT_EMPTY;

			watch_put_why_not(&why, a->rows[i].row);
			screen_wrap(s, text_chars(&why), 2);
		}
	}
	return 0;
}
