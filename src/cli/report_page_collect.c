/* report_page_collect.c - what a page of a fleet says before its script runs: the answer, its label, the ledger. */
#include "cli/report_fleet.h"
#include "cli/report_page.h"
#include "core/fleet_words.h"
#include "core/scoped.h"

static struct fleet_report *report_of(const struct page *p)
{
	return p->owner;
}

static void put_title(struct text *t, const struct page *p)
{
	text_put_counted(t, report_of(p)->a.server_count, "server");
}

static void put_what(struct text *t, const struct page *p)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put_counted(&words, report_of(p)->a.server_count, "server");
	page_put_text(t, text_chars(&words));
	t->has_failed |= words.has_failed;
}

static void put_verdict(struct text *t, const struct page *p)
{
	SCOPED(text_free) struct text verdict = TEXT_EMPTY;

	fleet_verdict_put(&verdict, &report_of(p)->a);
	page_put_words(t, text_chars(&verdict), NULL);
	t->has_failed |= verdict.has_failed;
}

static void put_leads(struct text *t, const struct page *p)
{
	page_put_lead_finding(t, p->findings);
}

static void put_label(struct text *t, const struct page *p)
{
	SCOPED(text_free) struct text words = TEXT_EMPTY;

	text_put(t, "<h2 id=\"label\">Label <span>tare · collect</span></h2><dl>\n");
	text_put_size(&words, report_of(p)->bytes);
	page_put_fact(t, "store", text_chars(&words));
	text_put(t, "</dl>");
	t->has_failed |= words.has_failed;
}

static void put_ledger(struct text *t, const struct page *p)
{
	(void)p;
	text_put(t, "<table></table>");
}

static int put_data(struct json *j, const struct page *p, struct err *err)
{
	(void)err;
	json_put_u64(j, "servers", report_of(p)->a.server_count);
	return 0;
}

static const struct page_kind kind = {
	.instrument = "collect",
	.proof = "What collecting took, by reading and by server.",
	.put_title = put_title,
	.put_what = put_what,
	.put_verdict = put_verdict,
	.put_leads = put_leads,
	.put_label = put_label,
	.put_ledger = put_ledger,
	.put_data = put_data,
};

int fleet_page(struct app *app, struct fleet_report *r, const struct report_opts *opts,
	       struct err *err)
{
	struct page page = { .kind = &kind, .owner = r, .findings = &r->findings, .path = r->path };

	return page_write(app, &page, opts, err);
}
