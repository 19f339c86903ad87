/* report_page_watch_head.c - the answer of a watch's page: verdict, the sentences under it, and the five largest parts. */
#include <stdlib.h>

#include "cli/report_page_watch.h"
#include "core/measured.h"
#include "core/scoped.h"
#include "core/watch_verdict.h"
#include "core/watch_words.h"

#define SCALE_WIDTH    720u
#define FIRST_WIDTH    190u
#define MOST_SENTENCES 3u

static const struct report *report_of(const struct page *p)
{
	return p->owner;
}

/* The name as sentences have it, so that it is set in the type of names. */
static void put_name_of(struct text *t, const struct watched_answer *answer)
{
	if (answer != NULL)
		watch_put_name(t, answer->row);
}

void watch_page_verdict(struct text *t, const struct page *p)
{
	const struct report *r = report_of(p);
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(text_free) struct text name = TEXT_EMPTY;
	struct watch_said said;

	watch_verdict_tell(&verdict, r->recording, r->watch, &said);
	put_name_of(&name, said.place);
	page_put_words(t, text_chars(&verdict), text_chars(&name));
	t->has_failed |= verdict.has_failed || name.has_failed;
}

static struct watch_said said_of(const struct report *r)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	struct watch_said said;

	watch_verdict_tell(&verdict, r->recording, r->watch, &said);
	return said;
}

/* Shares of several threads may be over 1. */
static void put_whisker(struct text *t, const struct estimate *share, double axis, unsigned width,
			const char *colour)
{
	const struct page_whisker w = {
		.value = 100 * share->value,
		.error = share->has_error ? 100 * share->error : 0,
		.axis = 100 * axis,
		.colour = colour,
		.width = width,
	};

	page_put_whisker(t, &w);
}

void watch_page_scale(struct text *t, const struct page *p)
{
	const struct watch_said said = said_of(report_of(p));
	double upper = said.share.value + said.share.error;

	if (said.share.is_known)
		put_whisker(t, &said.share, upper > 1 ? upper : 1, SCALE_WIDTH,
			    said.place != NULL ? "run" : "edge");
}

/* ---- sentences ---- */

static const struct estimate *share_of(const struct report *r, const struct watched_answer *answer)
{
	return r->watch->has_frames ? &answer->share_of_frame : &answer->share_of_run;
}

static const char *whole_of(const struct report *r)
{
	return r->watch->has_frames ? " of all frames" : " of the run";
}

static void put_lead(struct text *t, struct text *words, const struct watched_answer *answer)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	put_name_of(&name, answer);
	text_put(t, "<li>");
	page_put_words(t, text_chars(words), text_chars(&name));
	text_put(t, "</li>\n");
	t->has_failed |= words->has_failed || name.has_failed;
}

static void put_share(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	if (answer->calls.is_below_floor)
		watch_put_at_most(t, watch_frame_at_most(r->watch, answer));
	else
		watch_put_share(t, *share_of(r, answer));
	text_put(t, whole_of(r));
}

/* Can anything be said of its share? */
static bool has_share(const struct report *r, const struct watched_answer *answer)
{
	const struct estimate *share = share_of(r, answer);

	return share->is_known && (share->has_error || answer->calls.is_below_floor);
}

static bool has_grown(const struct watched_answer *answer)
{
	return answer->mean_growth.has_grown || answer->p99_growth.has_grown;
}

static void put_growth(struct text *t, const struct report *r, const struct watched_answer *answer)
{
	bool is_p99 = answer->p99_growth.has_grown;

	text_put(t, is_p99 ? "Its p99 went " : "A call of it went ");
	watch_put_growth(t, r->recording, is_p99 ? &answer->p99_growth : &answer->mean_growth);
	text_put(t, ".");
}

/* "Over the whole run Pathfinder::findPath takes 18.6 % ± 0.4 of all frames. Its p99 went ..." */
static bool lead_of_largest(struct text *t, const struct report *r,
			    const struct watched_answer **out_answer)
{
	const struct watched_answer *largest = watch_slow_largest(r->watch);

	if (largest == NULL || !has_share(r, largest))
		return false;
	text_put(t, "Over the whole run ");
	watch_put_name(t, largest->row);
	text_put(t, " takes ");
	put_share(t, r, largest);
	text_put(t, ".");
	if (has_grown(largest)) {
		text_put(t, " ");
		put_growth(t, r, largest);
	}
	*out_answer = largest;
	return true;
}

/* The one that takes most of what the verdict does not name. */
static bool lead_of_next(struct text *t, const struct report *r,
			 const struct watched_answer **out_answer)
{
	const struct watched_answer *told = said_of(r).place;

	for (uint32_t i = 0; i < r->watch->timed; i++) {
		const struct watched_answer *answer = &r->watch->rows[i];

		if (answer == told || answer->cannot_rank || !has_share(r, answer))
			continue;
		watch_put_name(t, answer->row);
		text_put(t, told != NULL ? " comes next: " : " takes ");
		put_share(t, r, answer);
		text_put(t, ".");
		if (has_grown(answer)) {
			text_put(t, " ");
			put_growth(t, r, answer);
		}
		*out_answer = answer;
		return true;
	}
	return false;
}

/* "Script::onMovement is called most often, 202 million times. It takes 13.1 % ± 0.1 of all frames." */
static bool lead_of_calls(struct text *t, const struct report *r,
			  const struct watched_answer **out_answer)
{
	const struct watched_answer *most = NULL;

	for (uint32_t i = 0; i < r->watch->called; i++)
		if (most == NULL || r->watch->rows[i].count.value > most->count.value)
			most = &r->watch->rows[i];
	if (most == NULL || r->watch->called < 2 || most == *out_answer)
		return false;
	watch_put_name(t, most->row);
	text_put(t, " is called most often, ");
	watch_put_about(t, most->count.value);
	text_put(t, TEXT_NBSP "times.");
	if (has_share(r, most)) {
		text_put(t, " It takes ");
		put_share(t, r, most);
		text_put(t, ".");
	}
	*out_answer = most;
	return true;
}

static bool lead_of_frames(struct text *t, const struct report *r,
			   const struct watched_answer **out_answer)
{
	(void)out_answer;
	if (!r->watch->has_frames)
		return false;
	watch_put_frames(t, r->recording);
	return true;
}

void watch_page_leads(struct text *t, const struct page *p)
{
	static bool (*const leads[])(struct text *, const struct report *,
				     const struct watched_answer **) = {
		lead_of_frames, lead_of_largest, lead_of_next, lead_of_calls
	};
	const struct watched_answer *told = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_LEN(leads) && count < MOST_SENTENCES; i++) {
		SCOPED(text_free) struct text words = TEXT_EMPTY;

		if (told != NULL && leads[i] == lead_of_next)
			continue; /* it is another's turn */
		if (!leads[i](&words, report_of(p), &told))
			continue;
		put_lead(t, &words, told);
		count++;
	}
	if (count < MOST_SENTENCES)
		page_put_lead_finding(t, p->findings);
}

/* ---- the five largest ---- */

/* A row of it. */
struct first {
	const struct watched_answer *answer; /* NULL: what is in no watched function */
	struct estimate share;
	bool is_at_most; /* its calls are under the timing floor */
};

static int largest_first(const void *a, const void *b)
{
	const struct first *x = a, *y = b;

	return (x->share.value < y->share.value) - (x->share.value > y->share.value);
}

static bool is_of_slow(const struct watch_analysis *a)
{
	return a->has_frames && a->slow.kept > 0;
}

/* Its share of slow frames, of all frames, or of the run: what of these there is. */
static struct first first_of(const struct watch_analysis *a, const struct watched_answer *answer)
{
	struct first row = { .answer = answer, .share = answer->share_of_run };

	if (is_of_slow(a))
		row.share = answer->slow_share;
	else if (a->has_frames)
		row.share = answer->share_of_frame;
	if (!is_of_slow(a) && row.share.is_known && answer->calls.is_below_floor) {
		row.is_at_most = true;
		row.share.value = watch_frame_at_most(a, answer);
	}
	return row;
}

/* Returns how many there are; `out` has room for one more than functions. */
static uint32_t choose_first(const struct watch_analysis *a, struct first *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->functions; i++) {
		struct first row = first_of(a, &a->rows[i]);

		if (row.share.is_known && row.share.value > 0 && !row.answer->cannot_rank)
			out[count++] = row;
	}
	if (is_of_slow(a) && a->slow.unnamed.is_known)
		out[count++] = (struct first){ .share = a->slow.unnamed };
	qsort(out, count, sizeof(*out), largest_first);
	return count < PAGE_FIRST ? count : PAGE_FIRST;
}

static void put_first_row(struct text *t, const struct first *row, double axis)
{
	SCOPED(text_free) struct text share = TEXT_EMPTY;

	text_put(t, "<tr><th scope=\"row\">");
	if (row->answer != NULL)
		page_put_function(t, text_without_arguments(row->answer->row->name),
				  PAGE_LEAD_NAME);
	else
		text_put(t, "in no watched function");
	text_put(t, "</th><td>");
	if (row->is_at_most)
		watch_put_at_most(&share, row->share.value);
	else
		watch_put_share(&share, row->share);
	page_put_words(t, text_chars(&share), NULL);
	text_put(t, "</td><td class=\"w\">");
	if (!row->is_at_most && row->share.has_error)
		put_whisker(t, &row->share, axis, FIRST_WIDTH,
			    row->answer != NULL ? "run" : "edge");
	text_put(t, "</td></tr>\n");
	t->has_failed |= share.has_failed;
}

void watch_page_first(struct text *t, const struct page *p)
{
	const struct watch_analysis *a = report_of(p)->watch;
	struct first *rows = calloc((size_t)a->functions + 1, sizeof(*rows));
	uint32_t count;

	if (rows == NULL) {
		t->has_failed = true;
		return;
	}
	count = choose_first(a, rows);
	text_printf(t,
		    "<table><caption class=\"vh\">The largest parts</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">%s</th><th scope=\"col\">share</th>"
		    "<th scope=\"col\" class=\"w\"><span class=\"vh\">share, drawn</span></th>"
		    "</tr></thead><tbody>\n",
		    is_of_slow(a)   ? "part of a slow frame"
		    : a->has_frames ? "part of all frames"
				    : "part of the run");
	for (uint32_t i = 0; i < count; i++)
		put_first_row(t, &rows[i], 1.12 * (rows[0].share.value + rows[0].share.error));
	if (count == 0)
		text_put(t, "<tr><th scope=\"row\">No function has a time of its own here.</th>"
			    "<td></td><td class=\"w\"></td></tr>\n");
	text_put(t, "</tbody></table>");
	free(rows);
}
