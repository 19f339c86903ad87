/* report_page_collect.c - what a page of a fleet says before its script runs: the answer, leads, the first five, tables without a
 * script, the ledger. */
#include "cli/report_page_collect.h"

#include <inttypes.h>
#include <string.h>

#include "cli/report_page.h"
#include "core/fleet_words.h"
#include "core/recording.h"
#include "core/scoped.h"
#include "core/units.h"

#define PAGE_PLANS_BYTES (2500u * 1000u) /* of a page that shows plans, what draws them included */

static struct collect_page *page_of(const struct page *p)
{
	return p->owner;
}

static const struct fleet_analysis *analysis_of(const struct page *p)
{
	return &page_of(p)->r->a;
}

static uint64_t measured(struct counter c)
{
	return IS_MEASURED(c) ? c.value : 0;
}

/* Puts words that may hold foreign names into HTML, and frees them. */
static void put_words(struct text *t, struct text *words)
{
	page_put_words(t, text_chars(words), NULL);
	t->has_failed |= words->has_failed;
	text_free(words);
}

static void put_server(struct text *t, const struct page *p, uint32_t server)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	fleet_put_server(&name, analysis_of(p), server);
	text_put(t, "<code>");
	page_put_text(t, text_chars(&name));
	text_put(t, "</code>");
	t->has_failed |= name.has_failed;
}

static void put_statement(struct text *t, const struct fleet_statement *s, size_t columns)
{
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	fleet_put_statement(&name, s, columns);
	text_put(t, "<code>");
	page_put_text(t, text_chars(&name));
	text_put(t, "</code>");
	t->has_failed |= name.has_failed;
}

static void put_title(struct text *t, const struct page *p)
{
	text_put(t, "fleet, ");
	text_put_counted(t, analysis_of(p)->server_count, "server");
}

static void put_what(struct text *t, const struct page *p)
{
	const struct fleet_analysis *a = analysis_of(p);
	const struct collector_row *minute = fleet_newest_minute(a);
	uint64_t cycle_ns = fleet_beat_cycle_ns(&page_of(p)->beat);
	struct text words = TEXT_EMPTY;
	char from[64], to[64];

	text_put_counted(&words, a->server_count, "server");
	if (minute != NULL && minute->collector.len > 0) {
		text_put(&words, ", collector ");
		text_put_cut(&words, minute->collector, PAGE_LEAD_NAME);
	}
	if (a->first_wall_ns != 0) {
		units_format_wall((struct wall){ a->first_wall_ns }, from, sizeof(from));
		units_format_wall((struct wall){ a->last_wall_ns }, to, sizeof(to));
		text_printf(&words, ", %s to %s", from, to);
	}
	if (cycle_ns > 0) {
		text_put(&words, ", one cycle each ");
		text_put_duration(&words, cycle_ns);
	}
	put_words(t, &words);
}

/* The statement that the verdict is about; NULL: about none. */
static const struct fleet_statement *answer(const struct fleet_analysis *a)
{
	const struct fleet_statement *changed = fleet_worst_change(a);

	return changed != NULL ? changed : a->exec_ns > 0 ? &a->statements[0] : NULL;
}

static void put_verdict(struct text *t, const struct page *p)
{
	const struct fleet_statement *s = answer(analysis_of(p));
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;
	SCOPED(text_free) struct text name = TEXT_EMPTY;

	fleet_verdict_put(&verdict, analysis_of(p));
	if (s != NULL)
		fleet_put_statement(&name, s, FLEET_VERDICT_COLUMNS);
	page_put_words(t, text_chars(&verdict), text_chars(&name));
	t->has_failed |= verdict.has_failed || name.has_failed;
}

static struct share share_of(const struct page *p, const struct fleet_statement *s)
{
	return collect_page_share(page_of(p), (size_t)(s - analysis_of(p)->statements));
}

static void put_share(struct text *t, struct share share)
{
	struct text words = TEXT_EMPTY;

	fleet_time_put_share(&words, share);
	put_words(t, &words);
}

static void put_share_whisker(struct text *t, struct share share, double axis, unsigned width)
{
	if (share.error >= 1)
		return;
	page_put_whisker(t, &(struct page_whisker){ .value = 100 * share.value,
						    .error = 100 * share.error,
						    .axis = axis,
						    .colour = "run",
						    .width = width });
}

static void put_scale(struct text *t, const struct page *p)
{
	const struct fleet_statement *s = answer(analysis_of(p));

	if (s != NULL)
		put_share_whisker(t, share_of(p, s), 100, 720);
}

/* ---- leads ---- */

static void lead_share(struct text *t, const struct page *p)
{
	const struct fleet_statement *s = answer(analysis_of(p));

	if (s == NULL)
		return;
	text_put(t, "<li>");
	put_statement(t, s, PAGE_LEAD_NAME);
	text_put(t, " takes ");
	put_share(t, share_of(p, s));
	text_put(t, " of all statement time. <a href=\"#when\">When.</a></li>\n");
}

static void lead_servers(struct text *t, const struct page *p)
{
	const struct fleet_analysis *a = analysis_of(p);
	const struct fleet_server_sum *owed = NULL;
	uint64_t visits = 0, well = 0;
	int64_t since_ns = 0;

	for (size_t i = 0; i < a->server_count; i++) {
		visits += a->servers[i].visits + a->servers[i].skipped;
		well += a->servers[i].well;
		if (owed == NULL && collect_page_is_owed(page_of(p), i, &since_ns))
			owed = &a->servers[i];
	}
	if (visits == 0)
		return;
	text_put(t, "<li>");
	text_put_exact(t, well);
	text_put(t, " of ");
	text_put_counted(t, visits, "visit");
	text_put(t, " went well.");
	if (owed != NULL) {
		char at[64];

		units_format_wall((struct wall){ since_ns }, at, sizeof(at));
		text_put(t, " ");
		put_server(t, p, owed->server);
		text_printf(t, " owes a capture since %s.", at);
	}
	text_put(t, " <a href=\"#servers\">Servers.</a></li>\n");
}

static void put_leads(struct text *t, const struct page *p)
{
	lead_share(t, p);
	page_put_lead_finding(t, p->findings);
	lead_servers(t, p);
}

/* ---- tables ---- */

/* The end of the column's axis: a lone giant is broken off, so that the rest can be read. */
static double axis_of(const struct page *p, size_t count)
{
	double first = count > 0 ? collect_page_share(page_of(p), 0).value : 0;
	double second = count > 1 ? collect_page_share(page_of(p), 1).value : 0;

	return 112 * (second > 0 && first > 5 * second ? 1.5 * second : first);
}

static void put_first(struct text *t, const struct page *p)
{
	const struct fleet_analysis *a = analysis_of(p);
	size_t count = a->statement_count < PAGE_FIRST ? a->statement_count : PAGE_FIRST;

	if (a->exec_ns == 0)
		return;
	text_put(t, "<table><caption class=\"vh\">The five dearest statements</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">most statement time</th>"
		    "<th scope=\"col\" class=\"l\">server</th><th scope=\"col\">share</th>"
		    "<th scope=\"col\"><span class=\"vh\">interval, drawn</span></th></tr></thead>"
		    "<tbody>\n");
	for (size_t i = 0; i < count; i++) {
		text_put(t, "<tr><th scope=\"row\">");
		put_statement(t, &a->statements[i], PAGE_LEAD_NAME);
		text_put(t, "</th><td class=\"l\">");
		put_server(t, p, a->statements[i].server);
		text_put(t, "</td><td>");
		put_share(t, share_of(p, &a->statements[i]));
		text_put(t, "</td><td>");
		put_share_whisker(t, share_of(p, &a->statements[i]), axis_of(p, count), 190);
		text_put(t, "</td></tr>\n");
	}
	text_put(t, "</tbody></table>");
}

static void plain_statement(struct text *t, const struct page *p, const struct fleet_statement *s)
{
	struct text words = TEXT_EMPTY;
	uint64_t exec_ns = measured(s->sums[STATEMENT_EXEC_NS]);
	uint64_t calls = measured(s->sums[STATEMENT_CALLS]);

	text_put(t, "<tr><th scope=\"row\">");
	put_statement(t, s, PAGE_MOST_NAME);
	text_put(t, "</th><td class=\"l\">");
	put_server(t, p, s->server);
	text_put(t, "</td><td>");
	put_share(t, share_of(p, s));
	text_put(t, "</td><td>");
	text_put_duration(&words, exec_ns);
	put_words(t, &words);
	text_put(t, "</td><td>");
	text_put_exact(t, calls);
	text_put(t, "</td><td>");
	text_put_duration(&words, fleet_mean_ns(exec_ns, calls));
	put_words(t, &words);
	text_printf(t, "</td><td class=\"l\">%s</td></tr>\n", fleet_plan_word(analysis_of(p), s));
}

static void plain_more(struct text *t, size_t left, unsigned columns)
{
	if (left > 0)
		text_printf(t,
			    "<tr><td class=\"l\" colspan=\"%u\">%zu more: tare report --all</td>"
			    "</tr>\n",
			    columns, left);
}

static void plain_servers(struct text *t, const struct page *p)
{
	const struct fleet_analysis *a = analysis_of(p);
	size_t count = a->server_count < PAGE_PLAIN_ROWS ? a->server_count : PAGE_PLAIN_ROWS;

	text_put(t, "<div class=\"sheet wide\"><table><caption>Servers</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">server</th><th scope=\"col\">visits</th>"
		    "<th scope=\"col\">went well</th><th scope=\"col\">statement time</th></tr>"
		    "</thead><tbody>\n");
	for (size_t i = 0; i < count; i++) {
		const struct fleet_server_sum *s = &a->servers[i];
		struct text words = TEXT_EMPTY;

		text_put(t, "<tr><th scope=\"row\">");
		put_server(t, p, s->server);
		text_printf(t, "</th><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>", s->visits,
			    s->well);
		if (s->well > 0)
			text_put_duration(&words, s->exec_ns);
		else
			text_put(&words, "— not measured");
		put_words(t, &words);
		text_put(t, "</td></tr>\n");
	}
	plain_more(t, a->server_count - count, 4);
	text_put(t, "</tbody></table></div>\n");
}

static void put_plain(struct text *t, const struct page *p)
{
	const struct fleet_analysis *a = analysis_of(p);
	size_t count = page_of(p)->time.statement_count;

	count = count < PAGE_PLAIN_ROWS ? count : PAGE_PLAIN_ROWS;
	text_put(t, "<div class=\"sheet wide\"><table><caption>Statements</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">statement</th>"
		    "<th scope=\"col\" class=\"l\">server</th><th scope=\"col\">share</th>"
		    "<th scope=\"col\">time</th><th scope=\"col\">calls</th>"
		    "<th scope=\"col\">a call</th><th scope=\"col\" class=\"l\">plan</th></tr>"
		    "</thead><tbody>\n");
	for (size_t i = 0; i < count; i++)
		plain_statement(t, p, &a->statements[i]);
	plain_more(t, a->statement_count - count, 7);
	text_put(t, "</tbody></table></div>\n");
	plain_servers(t, p);
}

/* ---- ledger ---- */

static void ledger_row(struct text *t, const struct fleet_reading *r)
{
	struct text words = TEXT_EMPTY;

	text_printf(t, "<tr><th scope=\"row\">%s</th><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>",
		    reading_name(r->reading), r->runs, r->failures);
	text_put_duration(&words, r->server_ns);
	put_words(t, &words);
	text_put(t, "</td><td>");
	text_put_duration(&words, fleet_mean_ns(r->server_ns, r->runs));
	put_words(t, &words);
	text_put(t, "</td><td>");
	text_put_duration(&words, r->longest_server_ns);
	put_words(t, &words);
	text_put(t, "</td><td>");
	text_put_duration(&words, r->own_ns);
	put_words(t, &words);
	text_put(t, "</td><td>");
	text_put_size(&words, r->bytes);
	put_words(t, &words);
	text_put(t, "</td></tr>\n");
}

static bool has_run(const struct fleet_reading sums[READING_COUNT])
{
	for (size_t i = 0; i < READING_COUNT; i++)
		if (sums[i].runs > 0)
			return true;
	return false;
}

static void put_ledger(struct text *t, const struct page *p)
{
	struct fleet_reading sums[READING_COUNT];

	fleet_costs_sum(analysis_of(p), sums);
	if (!has_run(sums)) {
		text_put(t, "<p class=\"read\">No reading was begun yet.</p>");
		return;
	}
	text_put(t, "<table><caption class=\"vh\">Cost of collecting</caption><thead><tr>"
		    "<th scope=\"col\" class=\"l\">reading</th><th scope=\"col\">runs</th>"
		    "<th scope=\"col\">failed</th><th scope=\"col\">on servers</th>"
		    "<th scope=\"col\">a run</th><th scope=\"col\">longest</th>"
		    "<th scope=\"col\">our CPU</th><th scope=\"col\">bytes</th></tr></thead>"
		    "<tbody>\n");
	for (uint32_t i = 0; i < READING_COUNT; i++) {
		sums[i].reading = i;
		if (sums[i].runs > 0)
			ledger_row(t, &sums[i]);
	}
	text_put(t, "</tbody></table>");
}

static int put_data(struct json *j, const struct page *p, struct err *err)
{
	struct collect_page *page = page_of(p);

	page->halvings = p->halvings;
	collect_page_put_time(j, page);
	collect_page_put_lines(j, page);
	collect_page_put_servers(j, page);
	collect_page_put_turns(j, page);
	collect_page_put_costs(j, page);
	collect_page_put_runs(j, page);
	collect_page_put_waits(j, page);
	return collect_page_put_plans(j, page, err);
}

#define FRAME                                                                                   \
	.instrument = "collect",                                                                \
	.proof = "What collecting took, by reading. Measured there, without the way there and " \
		 "back.",                                                                       \
	.put_title = put_title, .put_what = put_what, .put_verdict = put_verdict,               \
	.put_scale = put_scale, .put_leads = put_leads, .put_first = put_first,                 \
	.put_label = collect_page_put_label, .put_plain = put_plain, .put_ledger = put_ledger,  \
	.put_data = put_data

static const struct page_kind without_plans = { FRAME };
static const struct page_kind with_plans = { FRAME, .script = "plans",
					     .most_bytes = PAGE_PLANS_BYTES };

int fleet_page(struct app *app, struct fleet_report *r, const struct report_opts *opts,
	       struct err *err)
{
	SCOPED(collect_page_close) struct collect_page owner = COLLECT_PAGE_EMPTY;
	struct page page = { .owner = &owner, .findings = &r->findings, .path = r->path };
	int code = collect_page_open(r, &owner, err);

	if (code != 0)
		return code;
	page.kind = collect_page_has_plans(&owner) ? &with_plans : &without_plans;
	return page_write(app, &page, opts, err);
}
