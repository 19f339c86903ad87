/* report_page_watch_tables.c - tables of a watch's page that need no script: functions and slow frames for readers who have none,
 * and the ledger. */
#include "cli/report_page_watch.h"

#include <stdlib.h>

#include "core/frames.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/units.h"
#include "core/watch_words.h"

static const struct report *report_of(const struct page *p)
{
	return p->owner;
}

/* What stands in a cell, in words of the report. */
typedef void (*put_words_fn)(struct text *t, const struct report *r,
			     const struct watched_answer *answer);

struct column {
	const char *header;
	put_words_fn put;
	bool is_left;
};

static void put_header(struct text *t, const char *caption, const struct column *columns,
		       size_t count)
{
	text_printf(t, "<table><caption>%s</caption><thead><tr>", caption);
	text_put(t, "<th scope=\"col\" class=\"l\">function</th>");
	for (size_t i = 0; i < count; i++)
		text_printf(t, "<th scope=\"col\"%s>%s</th>",
			    columns[i].is_left ? " class=\"l\"" : "", columns[i].header);
	text_put(t, "</tr></thead><tbody>\n");
}

static void put_row(struct text *t, const struct report *r, const struct watched_answer *answer,
		    const struct column *columns, size_t count)
{
	text_put(t, "<tr><th scope=\"row\">");
	page_put_function(t, text_without_arguments(answer->row->name), WATCH_NAME_COLUMNS);
	text_put(t, "</th>");
	for (size_t i = 0; i < count; i++) {
		SCOPED(text_free) struct text words = TEXT_EMPTY;

		columns[i].put(&words, r, answer);
		text_put(t, columns[i].is_left ? "<td class=\"l\">" : "<td>");
		page_put_words(t, text_chars(&words), NULL);
		text_put(t, "</td>");
		t->has_failed |= words.has_failed;
	}
	text_put(t, "</tr>\n");
}

/* Says how many are not in a table. */
static void put_left_out(struct text *t, uint32_t count, uint32_t columns)
{
	if (count > 0)
		text_printf(t,
			    "<tr><td class=\"l\" colspan=\"%u\">%u more: tare report --all"
			    "</td></tr>\n",
			    columns, count);
}

/* ---- functions ---- */

static void put_calls(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (answer->covered < 1)
		watch_put_about(t, answer->count.value);
	else
		text_put_exact(t, watch_whole(answer->count.value));
}

static void put_one_in(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (answer->calls.timed == 0)
		return;
	if (answer->interval_least == answer->interval_largest)
		text_printf(t, "%u", answer->interval_largest);
	else
		text_printf(t, "%u…%u", answer->interval_least, answer->interval_largest);
}

static bool was_called(const struct watched_answer *answer)
{
	return answer->count.value > 0;
}

static void put_p50(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (was_called(answer))
		watch_put_percentile(t, &answer->p50, answer->p50_below_floor);
}

static void put_p99(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (was_called(answer))
		watch_put_percentile(t, &answer->p99, answer->p99_below_floor);
}

static void put_total(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (answer->calls.timed > 0)
		watch_put_total(t, answer);
	else
		text_put(t, was_called(answer) ? "— not measured" : "0");
}

static void put_share(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	if (!was_called(answer))
		text_put(t, "0");
	else if (answer->calls.is_below_floor)
		watch_put_at_most(t, watch_frame_at_most(r->watch, answer));
	else
		watch_put_share(t, r->watch->has_frames && answer->share_of_frame.is_known
					   ? answer->share_of_frame
					   : answer->share_of_run);
}

static void put_functions(struct text *t, const struct report *r)
{
	const struct watch_analysis *a = r->watch;
	const struct column columns[] = {
		{ "calls", put_calls, false },
		{ "one in", put_one_in, false },
		{ "p50", put_p50, false },
		{ "p99", put_p99, false },
		{ "total", put_total, false },
		{ a->has_frames ? "of all frames" : "of the run", put_share, false },
	};
	uint32_t shown = a->functions < PAGE_PLAIN_ROWS ? a->functions : PAGE_PLAIN_ROWS;

	text_put(t, "<div class=\"sheet wide\">");
	put_header(t, "Functions", columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < shown; i++)
		put_row(t, r, &a->rows[i], columns, ARRAY_LEN(columns));
	put_left_out(t, a->functions - shown, ARRAY_LEN(columns) + 1);
	text_put(t, "</tbody></table></div>\n");
}

/* ---- slow frames ---- */

static const struct slow_part_row *largest_part(const struct recording *rec, uint32_t slow)
{
	for (uint32_t i = 0; i < rec->slow_part_count; i++)
		if (rec->slow_parts[i].slow == slow && rec->slow_parts[i].place == 0)
			return &rec->slow_parts[i];
	return NULL;
}

static void put_slow_row(struct text *t, const struct report *r, const struct slow_row *slow)
{
	const struct slow_part_row *part = largest_part(r->recording, slow->id);
	const struct watched_row *row =
		part != NULL ? recording_watched(r->recording, part->watched) : NULL;
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put(t, "<tr><th scope=\"row\">");
	watch_put_second(&words, &r->recording->label, slow->start_ns);
	page_put_text(t, text_chars(&words));
	text_clear(&words);
	text_put(t, "</th><td>");
	measured_put_duration(&words, (double)slow->duration_ns, MEASURED_NO_ERROR);
	page_put_text(t, text_chars(&words));
	text_clear(&words);
	text_put(t, "</td><td class=\"l\">");
	if (row != NULL)
		page_put_function(t, text_without_arguments(row->name), WATCH_NAME_COLUMNS);
	text_put(t, "</td><td>");
	if (row != NULL)
		watch_put_percent(&words, part->own_ns, slow->duration_ns);
	page_put_text(t, text_chars(&words));
	text_put(t, "</td></tr>\n");
	t->has_failed |= words.has_failed;
}

static void put_slow_frames(struct text *t, const struct report *r)
{
	const struct recording *rec = r->recording;
	const struct slow_row *longest[FRAMES_WORST];
	SCOPED(text_free) struct text counts = TEXT_EMPTY;
	uint32_t shown = 0;

	if (!r->watch->has_frames)
		return;
	for (uint32_t i = 0; i < rec->slow_count && shown < ARRAY_LEN(longest); i++)
		if (rec->slow[i].is_worst)
			longest[shown++] = &rec->slow[i];
	qsort(longest, shown, sizeof(longest[0]), watch_longest_first);
	watch_put_frames(&counts, rec);
	text_put(t, "<p>");
	page_put_words(t, text_chars(&counts), NULL);
	text_put(t, "</p>\n<div class=\"sheet wide\"><table><caption>The longest "
		    "frames</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">when</th><th scope=\"col\">length</th>"
		    "<th scope=\"col\" class=\"l\">largest part</th><th scope=\"col\">its part</th>"
		    "</tr></thead><tbody>\n");
	for (uint32_t i = 0; i < shown; i++)
		put_slow_row(t, r, longest[i]);
	if (rec->slow_count > shown)
		text_printf(t,
			    "<tr><td class=\"l\" colspan=\"4\">%u more kept: tare report --slow"
			    "</td></tr>\n",
			    rec->slow_count - shown);
	text_put(t, "</tbody></table></div>\n");
	t->has_failed |= counts.has_failed;
}

void watch_page_plain(struct text *t, const struct page *p)
{
	put_functions(t, report_of(p));
	put_slow_frames(t, report_of(p));
}

/* ---- ledger ---- */

static void put_rate(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	(void)r;
	if (answer->is_at_least)
		text_put(t, "at least ");
	measured_put_number(t, answer->a_second);
}

static void put_untimed(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	const struct watch_cost cost = watch_cost(answer->row);

	(void)r;
	measured_put_cost(t, cost.untimed_ps, cost.assumed_untimed_ps);
}

static void put_timed(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	const struct watch_cost cost = watch_cost(answer->row);
	struct str why = watch_counted_why(answer->row);

	(void)r;
	if (why.len > 0) {
		text_put(t, "counted only");
		return;
	}
	measured_put_cost(t, cost.timed_ps, cost.assumed_timed_ps);
}

static void put_interval(struct text *t, const struct report *r,
			 const struct watched_answer *answer)
{
	(void)r;
	if (watch_counted_why(answer->row).len > 0)
		return;
	text_printf(t, "one in" TEXT_NBSP "%u", answer->row->interval);
}

static void put_charged(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	text_put_exact_share(t, answer->row->charged_ps / PS_PER_NS,
			     r->recording->label.elapsed_ns);
}

/* "session, nop5, in slices, 31 % covered" */
static void put_mode(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	const struct watched_row *row = answer->row;

	(void)r;
	text_put_cut(t, row->mode, WATCH_NAME_COLUMNS);
	if (row->first.len > 0) {
		text_put(t, ", ");
		text_put_cut(t, row->first, 24);
	}
	if (answer->covered < 1 && was_called(answer)) {
		text_put(t, ", in slices, ");
		measured_put_share(t, answer->covered, 0, true);
		text_put(t, " covered");
	}
	if (watch_cost(row).timed_ps == 0)
		text_put(t, ", partly assumed");
}

static void put_costs(struct text *t, const struct report *r)
{
	static const struct column columns[] = {
		{ "calls a second", put_rate, false },	    { "untimed call", put_untimed, false },
		{ "timed call", put_timed, false },	    { "in force", put_interval, false },
		{ "share of one CPU", put_charged, false }, { "how known", put_mode, true },
	};
	const struct watch_analysis *a = r->watch;
	uint32_t shown = a->watched < PAGE_PLAIN_ROWS ? a->watched : PAGE_PLAIN_ROWS;

	put_header(t, "Calls", columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < shown; i++)
		put_row(t, r, &a->rows[i], columns, ARRAY_LEN(columns));
	put_left_out(t, a->watched - shown, ARRAY_LEN(columns) + 1);
	text_put(t, "</tbody></table>\n");
}

void watch_page_ledger(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);
	const struct label *label = &r->recording->label;
	const bool is_measured = !watch_price_is_unmeasured(r);
	const char *known = "our own CPU time, by the kernel";
	const struct page_part parts[] = {
		{ "calls, all functions", r->recording->watch.charged_ps / PS_PER_NS,
		  r->recording->watch.calls, watch_price_bound(r), is_measured },
		{ "reading what was counted", label->sample_ns, 0, known, is_measured },
		{ "saves", label->save_ns, label->saves, known, is_measured },
		{ "start-up", label->start_ns, 0, known, is_measured },
		{ "fixed: status, waiting", label->fixed_ns, 0, known, is_measured },
	};

	put_costs(t, r);
	page_put_parts(t, label, parts, ARRAY_LEN(parts));
}
